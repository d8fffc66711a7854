//! What the build script of the binary says to linkers: a small program that is built with it comes up.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
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

/// Has it say something. The linker is one that looks into each library once, in order; these tools are found first.
#[track_caller]
fn expect_to_say(package: &ScratchDir, word: &str, first: Option<&Path>) {
    let _source = package.file("src/main.rs", &format!("fn main() {{ println!(\"{word}\"); }}\n"));
    let searched = std::env::var_os("PATH").unwrap_or_default();
    let path = first.map(Path::to_path_buf).into_iter().chain(std::env::split_paths(&searched));
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(["run", "--quiet", "--offline", "--target-dir"]).arg(package.join("target"));
    command.current_dir(package.path()).env("CARGO_ENCODED_RUSTFLAGS", "-Clink-arg=-fuse-ld=bfd");
    command.env("PATH", std::env::join_paths(path).expect("they came out of one"));
    let ran = command.output().expect("cargo runs");
    assert_eq!(String::from_utf8_lossy(&ran.stdout).trim(), word, "{ran:?}");
}

#[test]
fn a_linker_that_looks_into_each_library_once_finds_all_that_it_needs() {
    expect_to_say(&package(), "linked", None);
}

/// A compiler that has its libraries elsewhere.
const ELSEWHERE: &str = r#"#!/bin/sh
PATH='SEARCHED'
case $1 in -print-file-name=*)
    real=$(cc "$1") && [ -e "$real" ] && ln -sf "$real" 'LIBRARIES/' && exec echo "LIBRARIES/${1#*=}"
    exec echo "${1#*=}"
esac
exec cc "$@"
"#;

#[test]
fn what_was_linked_with_libraries_that_are_gone_is_linked_with_others() {
    let package = package();
    let (tools, libraries) = (package.join("tools"), package.join("libraries"));
    std::fs::create_dir(&tools).and_then(|()| std::fs::create_dir(&libraries)).expect("it is ours");
    let cc = ELSEWHERE.replace("SEARCHED", &std::env::var("PATH").unwrap_or_default());
    let cc = package.file("tools/cc", &cc.replace("LIBRARIES", &libraries.display().to_string()));
    std::fs::set_permissions(cc, Permissions::from_mode(0o700)).expect("it is ours");
    expect_to_say(&package, "before", Some(&tools));
    std::fs::remove_dir_all(&libraries).expect("it is ours");
    expect_to_say(&package, "after", Some(&tools));
}
