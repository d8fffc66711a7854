//! Launches: who may die meanwhile, what programs are given, what is left, and what is removed afterwards.

mod crowds;
mod durable;
mod launcher;
mod leftovers;
mod limits;
mod pipes;
mod points;
mod removal;
