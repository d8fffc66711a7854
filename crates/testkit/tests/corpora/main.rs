//! Every file of `fuzz/corpus/`, seeds and what was once found to break something, through the function that is fuzzed.

#[expect(unreachable_pub, reason = "the fuzz targets use it as a crate")]
#[path = "../../../../fuzz/src/lib.rs"]
mod fuzzed;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The config is the binary's own; its unit tests run this corpus.
const ELSEWHERE: &str = "config";

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus")
}

fn names(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

#[test]
fn every_file_of_every_corpus_holds() {
    for (target, run) in fuzzed::TARGETS {
        for name in names(&corpus().join(target)) {
            // Told before, so that a panic says which it was.
            eprintln!("{target}/{name}");
            run(&fs::read(corpus().join(target).join(name)).expect("it is in the tree"));
        }
    }
}

#[test]
fn every_target_has_a_corpus_and_a_binary_and_nothing_else_has() {
    let mut expected: BTreeSet<String> = fuzzed::TARGETS.iter().map(|(name, _)| (*name).to_owned()).collect();
    expected.insert(ELSEWHERE.to_owned());
    assert_eq!(names(&corpus()), expected);
    let binaries = names(&corpus().join("../fuzz_targets"));
    let binaries: BTreeSet<String> =
        binaries.iter().map(|name| name.trim_end_matches(".rs").to_owned()).collect();
    assert_eq!(binaries, expected);
    for target in &expected {
        assert!(!names(&corpus().join(target)).is_empty(), "{target} has no seeds");
    }
}

#[test]
fn corpora_stay_small_enough_to_be_run_with_every_change() {
    const MOST_FILES: usize = 60;
    const MOST_BYTES: u64 = 256 << 10;
    for target in names(&corpus()) {
        let folder = corpus().join(&target);
        let files = names(&folder);
        let sizes = files.iter().filter_map(|name| fs::metadata(folder.join(name)).ok());
        let bytes: u64 = sizes.map(|meta| meta.len()).sum();
        assert!(
            files.len() <= MOST_FILES && bytes <= MOST_BYTES,
            "{target}: {} files, {bytes} bytes",
            files.len()
        );
    }
}
