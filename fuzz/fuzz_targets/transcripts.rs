//! `abide_fuzz::transcripts`.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| abide_fuzz::transcripts::run(input));
