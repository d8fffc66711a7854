//! What was asked for on the command line.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::row::{ROWS, Row};

/// How long the session of `soak` prints unless told otherwise.
const SOAK_S: u64 = 60;

#[derive(Debug)]
pub struct Options {
    /// While others keep every processor and the disk busy.
    pub load: bool,
    /// A tenth of the work, to see whether all of it runs.
    pub quick: bool,
    pub soak_s: u64,
    /// The binary to be measured, if it is not to be built.
    pub binary: Option<PathBuf>,
    /// Where the table goes.
    pub to: PathBuf,
    names: Vec<String>,
}

impl Options {
    pub fn parse(words: &[&str]) -> io::Result<Self> {
        let to = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/benchmarks");
        let mut options =
            Self { load: false, quick: false, soak_s: SOAK_S, binary: None, to, names: Vec::new() };
        let mut words = words.iter();
        while let Some(&word) = words.next() {
            let mut value = || words.next().ok_or_else(|| refused(&format!("{word} needs a value")));
            match word {
                "--load" => options.load = true,
                "--quick" => options.quick = true,
                "--soak" => options.soak_s = seconds(value()?)?,
                "--release-binary" => options.binary = Some(std::path::absolute(value()?)?),
                "--to" => options.to = std::path::absolute(value()?)?,
                _ if word.starts_with('-') => return Err(refused(&format!("there is no option {word}"))),
                _ => options.names.push(word.to_owned()),
            }
        }
        options.rows()?;
        Ok(options)
    }

    /// The rows that were named, or all, in the table's order.
    pub fn rows(&self) -> io::Result<Vec<&'static Row>> {
        let unknown = self.names.iter().find(|name| ROWS.iter().all(|row| row.name != **name));
        if let Some(unknown) = unknown {
            let names: Vec<&str> = ROWS.iter().map(|row| row.name).collect();
            return Err(refused(&format!("there is no row {unknown}, only {}", names.join(" "))));
        }
        let wanted = |row: &&Row| self.names.is_empty() || self.names.iter().any(|name| name == row.name);
        Ok(ROWS.iter().filter(wanted).collect())
    }
}

fn refused(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why)
}

/// `90`, `90s`, `10m`, `1h`.
fn seconds(text: &str) -> io::Result<u64> {
    let (number, times) = match text.char_indices().last() {
        Some((at, 's')) => (&text[..at], 1),
        Some((at, 'm')) => (&text[..at], 60),
        Some((at, 'h')) => (&text[..at], 3600),
        _ => (text, 1),
    };
    let number: Option<u64> = number.parse().ok().filter(|number| *number > 0);
    number.map(|number| number * times).ok_or_else(|| refused(&format!("{text} is no duration")))
}

pub fn help() -> io::Result<ExitCode> {
    let mut out = io::stdout();
    writeln!(
        out,
        "bench [--load] [--quick] [--soak DURATION] [--release-binary PATH] [--to DIR] [ROW...]\n\n\
         --load                  while every processor and the disk are busy: the second table\n\
         --quick                 a tenth of the work, nothing written\n\
         --soak DURATION         how long the session of `soak` prints [default: 60s]\n\
         --release-binary PATH   this abide, and not one that is built now\n\
         --to DIR                where table and chart go [default: docs/benchmarks]\n\nRows:"
    )?;
    for row in ROWS {
        writeln!(out, "  {:<12}{}", row.name, row.work)?;
    }
    Ok(ExitCode::SUCCESS)
}
