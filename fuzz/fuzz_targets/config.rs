//! Any text as the config file. The binary's own modules, by their paths: nobody else may use them.

#![no_main]
#![allow(dead_code, reason = "only what reads the config is wanted")]

#[path = "../../crates/abide/src"]
mod binary {
    pub(crate) mod config;
    pub(crate) mod environment;
    pub(crate) mod when;
}
#[path = "../src/config.rs"]
mod fuzzed;

use binary::{config, environment, when};

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzzed::run(input));
