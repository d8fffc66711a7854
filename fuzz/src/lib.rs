//! What is fuzzed, as plain functions: `fuzz_targets/` hands them to libFuzzer, and the test `corpora` of the test kit runs
//! every file of `corpus/` through them. Each takes any bytes and panics if something that must hold does not.

pub mod evidence;
pub mod identity;
pub mod keyframes;
pub mod planted;
pub mod recording;
pub mod screen;
pub mod search;
pub mod transcripts;
pub mod wire;

/// Takes any bytes.
pub type Target = fn(&[u8]);

/// Every target by its name, which is also that of its folder in `corpus/`. `config` stands apart: it is the binary's own.
pub const TARGETS: &[(&str, Target)] = &[
    ("evidence", evidence::run),
    ("identity", identity::run),
    ("keyframes", keyframes::run),
    ("planted", planted::run),
    ("recording", recording::run),
    ("screen", screen::run),
    ("search", search::run),
    ("transcripts", transcripts::run),
    ("wire", wire::run),
];
