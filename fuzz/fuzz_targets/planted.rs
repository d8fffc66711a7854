//! `abide_fuzz::planted`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| abide_fuzz::planted::run(input));
