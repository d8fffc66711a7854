//! `abide_fuzz::keyframes`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| abide_fuzz::keyframes::run(input));
