//! What was recorded of real sessions: shown, marked, exported and played again while they run, after their end and
//! after a crash.

mod cut;
mod exported;
mod honest;
mod instants;
mod keeping;
mod lines;
mod pictured;
mod played;
