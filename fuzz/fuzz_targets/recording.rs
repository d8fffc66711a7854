//! `abide_fuzz::recording`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| abide_fuzz::recording::run(input));
