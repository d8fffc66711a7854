//! Attacks abide with real faults while a book of our own keeps the truth, and holds every answer against it. Knows abide
//! only by its command line and its JSON, never by the engine, so that it is an independent judge. Read from the top:
//! `schedule` (what is done), `truth` and `judge` (pure), `ledger` (who knows the truth), `site` and `run` (the real thing),
//! `walls`, `torture`, `shrink` and `report`.

pub mod judge;
pub mod ledger;
pub mod random;
pub mod report;
pub mod run;
pub mod schedule;
pub mod shrink;
pub mod site;
pub mod torture;
pub mod truth;
pub mod walls;
