//! The rows of the table: a name, the work, and what takes it. Each has a file below `rows/`.

use std::io;

use crate::figure::Line;
use crate::place::Place;
use crate::rows;

#[derive(Debug)]
pub struct Row {
    pub name: &'static str,
    pub work: &'static str,
    /// How the figures come about, for who reads the table.
    pub method: &'static str,
    pub take: fn(&Place) -> io::Result<Vec<Line>>,
}

pub const ROWS: &[Row] = &[
    rows::start::ROW,
    rows::cold::ROW,
    rows::list::ROW,
    rows::history::ROW,
    rows::memory::ROW,
    rows::output::ROW,
    rows::wait::ROW,
    rows::echo::ROW,
    rows::snapshot::ROW,
    rows::attach::ROW,
    rows::past::ROW,
    rows::screenshot::ROW,
    rows::thousand::ROW,
    rows::soak::ROW,
];
