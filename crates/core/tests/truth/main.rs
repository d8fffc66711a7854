//! What is true of a session, tested from the stored bytes up to the verdict.

#![cfg(test)]

mod agent;
mod bodies;
mod checkpoints;
mod codes;
mod common;
mod damage;
mod fold;
mod frame;
mod hindsight;
mod identity;
mod laws;
mod notification;
mod properties;
mod stat;
mod verdict;
