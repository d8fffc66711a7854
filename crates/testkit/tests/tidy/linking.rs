//! What the build script of the binary says to linkers: a small program that is built with it comes up.

use std::process::Command;

use abide_testkit::scratch::ScratchDir;

use crate::workspace::paper;

const MANIFEST: &str = "[package]\nname = \"small\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[workspace]\n";

/// A package with our build script and nothing else of ours.
fn package() -> ScratchDir {
    let dir = ScratchDir::new();
    let _manifest = dir.file("Cargo.toml", MANIFEST);
    let _script = dir.file("build.rs", &paper("crates/abide/build.rs").expect("the build script"));
    std::fs::create_dir(dir.join("src")).expect("it is ours");
    dir
}

/// Has it say something. The linker is one that looks into each library once, in order.
#[track_caller]
fn expect_to_say(package: &ScratchDir, word: &str) {
    let _source = package.file("src/main.rs", &format!("fn main() {{ println!(\"{word}\"); }}\n"));
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(["run", "--quiet", "--offline", "--target-dir"]).arg(package.join("target"));
    command.current_dir(package.path()).env("CARGO_ENCODED_RUSTFLAGS", "-Clink-arg=-fuse-ld=bfd");
    let ran = command.output().expect("cargo runs");
    assert_eq!(String::from_utf8_lossy(&ran.stdout).trim(), word, "{ran:?}");
}

#[test]
fn a_linker_that_looks_into_each_library_once_finds_all_that_it_needs() {
    expect_to_say(&package(), "linked");
}
