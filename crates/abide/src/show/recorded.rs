//! What was recorded, for people and programs: instants, gaps, screens cell by cell, as pages, and line by line.

pub(crate) mod diff;
pub(crate) mod gap;
pub(crate) mod html;
pub(crate) mod instant;
pub(crate) mod runs;
