//! `abide_fuzz::identity`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| abide_fuzz::identity::run(input));
