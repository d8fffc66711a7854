//! Finds the test kit's own programs for tests of any crate. Cargo names a package's programs only to its own tests;
//! so they are looked for beside the running test, and built, once a test process, if a source is newer. Others' programs are `tools`.

pub mod tools;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::SystemTime;

/// The path of one of the test kit's programs: `fake-agent`, `sys-drill`, `pid-reuse`, ...
///
/// # Panics
/// If it cannot be built, or there is none of this name.
#[must_use]
pub fn bin(name: &str) -> PathBuf {
    static BUILT: OnceLock<BTreeMap<String, PathBuf>> = OnceLock::new();
    static SOURCES: OnceLock<io::Result<SystemTime>> = OnceLock::new();
    let beside = profile_dir().join(name);
    let newest = SOURCES.get_or_init(|| newest(Path::new(SOURCE_ROOT)));
    let is_fresh = |built: SystemTime| newest.as_ref().is_ok_and(|newest| *newest < built);
    if fs::metadata(&beside).and_then(|file| file.modified()).is_ok_and(is_fresh) {
        return beside;
    }
    let built = BUILT.get_or_init(build);
    built.get(name).unwrap_or_else(|| panic!("the test kit has no program {name}, only {built:?}")).clone()
}

/// The crates, of which a change in any may change the programs.
const SOURCE_ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// When the youngest file below a directory was changed.
fn newest(dir: &Path) -> io::Result<SystemTime> {
    let mut newest = SystemTime::UNIX_EPOCH;
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let is_dir = entry.file_type()?.is_dir();
        let changed = if is_dir { self::newest(&entry.path())? } else { entry.metadata()?.modified()? };
        newest = newest.max(changed);
    }
    Ok(newest)
}

fn build() -> BTreeMap<String, PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| env!("CARGO").into());
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
    let output = Command::new(cargo)
        .args(["build", "--offline", "--bins", "--message-format=json-render-diagnostics", "--profile"])
        .arg(profile())
        .arg("--manifest-path")
        .arg(manifest)
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .output()
        .expect("cargo runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cannot build the test kit's programs:\n{said}");
    output.stdout.split(|&byte| byte == b'\n').filter_map(program).collect()
}

/// The program that a line of cargo's report tells of.
fn program(line: &[u8]) -> Option<(String, PathBuf)> {
    let report: serde_json::Value = serde_json::from_slice(line).ok()?;
    let path = PathBuf::from(report.get("executable")?.as_str()?);
    let name = report.get("target")?.get("name")?.as_str()?;
    Some((name.to_owned(), path))
}

/// Where cargo has put the running test: it is `PROFILE/deps/TEST`.
fn profile_dir() -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its own path");
    test.ancestors().nth(2).expect("a test has two directories above it").to_owned()
}

fn profile() -> String {
    match profile_dir().file_name().and_then(|name| name.to_str()) {
        Some("debug") | None => "dev".to_owned(),
        Some(profile) => profile.to_owned(),
    }
}
