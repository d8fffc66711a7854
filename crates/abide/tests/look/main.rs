//! What the commands that look say, held against evidence that the test wrote and processes that it knows.

mod common;
mod config;
mod damage;
mod exports;
mod golden;
mod hooks;
mod manual;
mod places;
mod recorded;
mod refusals;
mod safety;
mod schema;
mod sealing;
mod search;
mod statuses;
mod truth;
mod usage;
mod waiting;
mod ways_out;
