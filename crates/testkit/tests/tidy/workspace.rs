//! The workspace as the rules see it: its sources, read once, and its papers. Knows no rule.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::items::{Item, items, test_lines};
use crate::paths::{self, paths};
use crate::scan::{Layers, tokens};

/// One Rust file.
pub(crate) struct Source {
    /// From the root of the workspace, with `/`.
    pub path: String,
    pub text: String,
    pub layers: Layers,
    pub items: Vec<Item>,
    /// Of each line; all of them in a file of tests.
    tests: Vec<bool>,
    /// The paths it names, in full.
    paths: Vec<paths::Path>,
}

/// Folders that hold nothing anybody wrote.
const NOT_OURS: [&str; 4] = ["target", ".git", "corpus", "artifacts"];

/// The crate whose code is never shipped.
const NEVER_SHIPPED: &str = "testkit";

impl Source {
    pub(crate) fn new(path: &str, text: &str) -> Self {
        let layers = Layers::of(text);
        let whole = path.contains("/tests/") || path.ends_with("/tests.rs");
        let tokens = tokens(&layers.code);
        let tests = if whole { vec![true; text.lines().count()] } else { test_lines(&tokens) };
        let (items, paths) = (items(&tokens), paths(&tokens, &module(path)));
        Self { path: path.to_owned(), text: text.to_owned(), layers, items, tests, paths }
    }

    /// The crate's folder: `core`, `sys`, ...
    pub(crate) fn krate(&self) -> &str {
        krate(&self.path)
    }

    /// Whether some of it is shipped.
    pub(crate) fn is_production(&self) -> bool {
        let shipped = self.path.split('/').nth(2) == Some("src") && self.krate() != NEVER_SHIPPED;
        shipped && !self.path.ends_with("/tests.rs")
    }

    pub(crate) fn is_test_line(&self, line: usize) -> bool {
        self.tests.get(line - 1).copied().unwrap_or(false)
    }

    /// The numbered lines of a layer that are not tests.
    pub(crate) fn production<'a>(&'a self, layer: &'a str) -> impl Iterator<Item = (usize, &'a str)> {
        numbered(layer).filter(|(line, _)| !self.is_test_line(*line))
    }

    /// The paths that shipped code names.
    pub(crate) fn production_paths(&self) -> impl Iterator<Item = &paths::Path> {
        self.paths.iter().filter(|path| self.is_production() && !self.is_test_line(path.line))
    }

    /// The paths that any code names.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &paths::Path> {
        self.paths.iter()
    }
}

fn krate(path: &str) -> &str {
    path.split('/').nth(1).unwrap_or_default()
}

/// The full path of a file's module: `crates/core/src/evidence/fold.rs` is `abide_core::evidence::fold`.
fn module(path: &str) -> String {
    let root = match krate(path) {
        "abide" => "abide".to_owned(),
        folder => format!("abide_{folder}"),
    };
    let inside = path.splitn(4, '/').nth(3).unwrap_or_default().trim_end_matches(".rs");
    let names = inside.split('/').filter(|name| !matches!(*name, "lib" | "main" | "mod"));
    [root.as_str()].into_iter().chain(names).collect::<Vec<_>>().join("::")
}

/// The lines of a text, counted from 1.
pub(crate) fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(index, line)| (index + 1, line))
}

pub(crate) fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// Every Rust file of the crates and the fuzz targets.
pub(crate) fn sources() -> &'static [Source] {
    static SOURCES: OnceLock<Vec<Source>> = OnceLock::new();
    SOURCES.get_or_init(|| {
        let rust = files(&["crates", "fuzz"]).into_iter().filter(|path| path.ends_with(".rs"));
        rust.filter_map(|path| Some(Source::new(&path, &paper(&path)?))).collect()
    })
}

/// A text file, if it is there.
pub(crate) fn paper(path: &str) -> Option<String> {
    let bytes = std::fs::read(root().join(path)).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The folders of the crates.
pub(crate) fn crates() -> Vec<String> {
    let mut names: Vec<String> =
        entries(&root().join("crates")).iter().filter_map(|path| name(path)).collect();
    names.retain(|name| root().join("crates").join(name).join("Cargo.toml").is_file());
    names
}

/// All files below some folders, as paths from the root, without what is built.
pub(crate) fn files(folders: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    let mut open: Vec<String> = folders.iter().map(ToString::to_string).collect();
    while let Some(folder) = open.pop() {
        for path in entries(&root().join(&folder)) {
            let Some(name) = name(&path) else { continue };
            let below = if folder == "." { name.clone() } else { format!("{folder}/{name}") };
            if path.is_file() {
                found.push(below);
            } else if path.is_dir() && !NOT_OURS.contains(&name.as_str()) {
                open.push(below);
            }
        }
    }
    found.sort();
    found
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut found: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    found.sort();
    found
}

fn name(path: &Path) -> Option<String> {
    Some(path.file_name()?.to_str()?.to_owned())
}

/// A place that breaks a rule.
#[derive(Debug)]
pub(crate) struct Offender(String);

impl Offender {
    pub(crate) fn at(path: &str, line: usize, what: &str) -> Self {
        Self(format!("{path}:{line}: {what}"))
    }

    pub(crate) fn of(path: &str, what: &str) -> Self {
        Self(format!("{path}: {what}"))
    }
}

/// Holds every source against a rule.
#[track_caller]
pub(crate) fn check<Found: IntoIterator<Item = Offender>>(rule: impl Fn(&Source) -> Found, way_out: &str) {
    let offenders: Vec<Offender> = sources().iter().flat_map(rule).collect();
    expect_none(&offenders, way_out);
}

/// Fails with every offender and the way out.
#[track_caller]
pub(crate) fn expect_none(offenders: &[Offender], way_out: &str) {
    let list: String = offenders.iter().map(|offender| format!("  {}\n", offender.0)).collect();
    assert!(offenders.is_empty(), "\n{list}way out: {way_out}\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_workspace_is_found_from_here() {
        assert!(sources().iter().any(|source| source.path == "crates/core/src/status.rs"));
        assert!(crates().contains(&"testkit".to_owned()));
    }

    #[test]
    fn a_file_knows_its_crate_its_module_and_its_tests() {
        let text = "use super::x;\n#[cfg(test)]\nmod tests {\n}\n";
        let source = Source::new("crates/core/src/evidence/fold.rs", text);
        assert!(source.is_production() && source.krate() == "core");
        assert_eq!(module(&source.path), "abide_core::evidence::fold");
        assert_eq!(source.production(text).map(|(line, _)| line).collect::<Vec<_>>(), [1]);
        assert_eq!(module("crates/abide/src/main.rs"), "abide");
        assert!(!Source::new("crates/core/tests/policy.rs", "").is_production());
        assert!(!Source::new("crates/testkit/src/lib.rs", "").is_production());
    }
}
