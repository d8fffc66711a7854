//! Whole lives of sessions: the real binary, real programs, real faults, and an observer of the test's own.
//! Each test names the row of the truth table that it stands for.

mod attached;
mod common;
mod completing;
mod configured;
mod crowds;
mod disk;
mod driving;
mod ends;
mod killed;
mod launcher;
mod namespaces;
mod orders;
mod place;
mod screens;
mod signals;
mod statuses;
mod stopped;
mod typing;
