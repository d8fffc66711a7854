//! Whole lives of sessions: the real binary, real programs, real faults, and an observer of the test's own.
//! Each test names the row of the truth table that it stands for.

mod common;
mod crowds;
mod disk;
mod durable;
mod ends;
mod facts;
mod killed;
mod launcher;
mod leftovers;
mod limits;
mod namespaces;
mod orders;
mod pipes;
mod removal;
mod statuses;
mod stopped;
mod typing;
mod upgrade;
