//! Whole lives of sessions: the real binary, real programs, real faults, and an observer of the test's own.
//! Each test names the row of the truth table that it stands for.

mod agents;
mod client;
mod common;
mod completing;
mod configured;
mod disk;
mod ends;
mod facts;
mod killed;
mod launch;
mod namespaces;
mod orders;
mod place;
mod recorded;
mod rivals;
mod statuses;
mod stopped;
mod upgrade;
mod words;
