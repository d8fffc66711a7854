//! `abide_fuzz::evidence`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| abide_fuzz::evidence::run(input));
