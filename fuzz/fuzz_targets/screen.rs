//! `abide_fuzz::screen`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| abide_fuzz::screen::run(input));
