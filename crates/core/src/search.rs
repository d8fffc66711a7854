//! Search: the lines that a session showed, as they were seen, and which of them are meant. `harvest` takes them out of
//! a recording, `point` is where that stands, `lines` holds them, `query` finds some of them, `sieve` says where not to
//! look. Knows nothing of files.

pub mod harvest;
pub mod lines;
mod point;
pub mod query;
mod sieve;
mod typed;

pub use harvest::Harvest;
pub use lines::{Kind, Line, Lines};
pub use point::{Place, Point};
pub use query::{Query, Reading, Strictness};
pub use sieve::Sieve;
