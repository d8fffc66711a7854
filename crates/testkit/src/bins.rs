//! Finds the test kit's own programs for tests of any crate. Cargo names a package's programs only to its own tests,
//! so they are built here, once a test process; cargo does nothing if they are fresh.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// The path of one of the test kit's programs: `fake-agent`, `sys-drill`, `pid-reuse`, ...
///
/// # Panics
/// If it cannot be built, or there is none of this name.
#[must_use]
pub fn bin(name: &str) -> PathBuf {
    static BUILT: OnceLock<BTreeMap<String, PathBuf>> = OnceLock::new();
    let built = BUILT.get_or_init(build);
    built.get(name).unwrap_or_else(|| panic!("the test kit has no program {name}, only {built:?}")).clone()
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

/// The profile of the running test, from where cargo has put it: `target/PROFILE/deps/TEST`.
fn profile() -> String {
    let test = std::env::current_exe().expect("a test knows its own path");
    let folder = test.ancestors().nth(2).and_then(Path::file_name).and_then(|name| name.to_str());
    match folder {
        Some("debug") | None => "dev".to_owned(),
        Some(profile) => profile.to_owned(),
    }
}
