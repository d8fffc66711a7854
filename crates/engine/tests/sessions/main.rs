//! `Sessions` on evidence that the test writes and processes that it knows.

mod find;
mod replay;
mod seal;
mod truth;
mod wait;
