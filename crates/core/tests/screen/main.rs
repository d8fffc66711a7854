//! The screen: tables a feature, laws that hold for any bytes, and recorded programs against another emulator.

mod common;
mod corpus;
mod drawing;
mod finding;
mod laws;
mod looks;
mod sizes;
mod telling;
mod updates;
mod watching;
