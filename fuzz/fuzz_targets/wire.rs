//! `abide_fuzz::wire`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| abide_fuzz::wire::run(input));
