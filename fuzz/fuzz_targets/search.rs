//! `abide_fuzz::search`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| abide_fuzz::search::run(input));
