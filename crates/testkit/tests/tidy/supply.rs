//! What we depend on: how much, from where, under which licences, in which versions, and what never. `deny.toml` is the rule
//! book: cargo-deny reads it too, where there is one, and knows the advisories of the day.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

use crate::workspace::{Offender, crates, expect_none, numbered, paper, root};

/// The most direct dependencies of each crate, ours included.
const CEILINGS: [(&str, usize); 6] =
    [("core", 6), ("sys", 5), ("engine", 12), ("picture", 6), ("chaos", 5), ("abide", 22)];

const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// The entries of a manifest's dependency tables that end up in the product, each with its line.
pub(crate) fn dependencies(manifest: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut inside = false;
    for (line, text) in numbered(manifest) {
        let text = text.trim();
        if let Some(table) = text.strip_prefix('[') {
            let table = table.trim_end_matches(']');
            let of_target = table.starts_with("target.") && table.ends_with(".dependencies");
            inside = table == "dependencies" || table == "build-dependencies" || of_target;
            // `[dependencies.name]` is an entry of its own.
            found.extend(table.strip_prefix("dependencies.").map(|name| (line, name.to_owned())));
        } else if inside && text.contains('=') && !text.starts_with('#') {
            let name = text.split(['.', '=', ' ']).next().unwrap_or_default();
            found.push((line, name.to_owned()));
        }
    }
    found
}

/// Packages of a lock file that are neither ours nor of crates.io.
fn strangers(lock: &str, ours: &[String]) -> Vec<Offender> {
    let mut found = Vec::new();
    for package in lock.split("[[package]]").skip(1) {
        let field = |name: &str| {
            let line = package.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(" = "));
            line.map(|value| value.trim_matches('"').to_owned())
        };
        let name = field("name").unwrap_or_default();
        let source = field("source");
        let known = match &source {
            Some(source) => source == CRATES_IO,
            None => ours.contains(&name),
        };
        if !known {
            found.push(Offender::of(
                "Cargo.lock",
                &format!("{name} comes from {}", source.as_deref().unwrap_or("a path")),
            ));
        }
    }
    found
}

/// What `deny.toml` says.
struct Rules {
    licences: BTreeSet<String>,
    /// Versions that may stand beside another of the same crate.
    twice: BTreeSet<String>,
    /// What is never used.
    banned: BTreeSet<String>,
}

impl Rules {
    fn read(text: &str) -> Self {
        let book: toml::Table = text.parse().expect("deny.toml is TOML");
        let list = |table: &str, key: &str| book[table][key].as_array().expect("a list").clone();
        let reasoned = |key: &str| -> BTreeSet<String> {
            let named = |row: &toml::Value| {
                let reason = row["reason"].as_str().unwrap_or_default();
                assert!(reason.len() > 10, "a row of `{key}` gives no reason: {row:?}");
                row["crate"].as_str().expect("a crate").to_owned()
            };
            list("bans", key).iter().map(named).collect()
        };
        let licences =
            list("licenses", "allow").iter().filter_map(|name| Some(name.as_str()?.to_owned())).collect();
        Self { licences, twice: reasoned("skip"), banned: reasoned("deny") }
    }

    fn of_the_workspace() -> Self {
        Self::read(&paper("deny.toml").expect("deny.toml"))
    }

    /// Whether an SPDX expression of ORs, ANDs and parentheses can be met with what is allowed.
    fn allow(&self, expression: &str) -> bool {
        let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
        let words: Vec<&str> = spaced.split_whitespace().collect();
        let mut rest = words.as_slice();
        let met = self.any(&mut rest);
        met && rest.is_empty()
    }

    fn any(&self, rest: &mut &[&str]) -> bool {
        let mut met = self.all(rest);
        while let ["OR", later @ ..] = *rest {
            *rest = later;
            met |= self.all(rest);
        }
        met
    }

    fn all(&self, rest: &mut &[&str]) -> bool {
        let mut met = self.one(rest);
        while let ["AND", later @ ..] = *rest {
            *rest = later;
            met &= self.one(rest);
        }
        met
    }

    fn one(&self, rest: &mut &[&str]) -> bool {
        match *rest {
            ["(", later @ ..] => {
                *rest = later;
                let met = self.any(rest);
                *rest = rest.strip_prefix(&[")"]).unwrap_or_default();
                met
            }
            // An exception only ever allows more, but is not on our list.
            [_, "WITH", _, later @ ..] => {
                *rest = later;
                false
            }
            [licence, later @ ..] => {
                *rest = later;
                self.licences.contains(*licence)
            }
            [] => false,
        }
    }
}

/// The packages of a lock file, as `(name, version)`.
fn locked(lock: &str) -> Vec<(String, String)> {
    let field = |package: &str, name: &str| {
        let line = package.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(" = "));
        line.map(|value| value.trim_matches('"').to_owned())
    };
    let packages = lock.split("[[package]]").skip(1);
    packages.filter_map(|package| Some((field(package, "name")?, field(package, "version")?))).collect()
}

/// Versions beside another that no rule allows, banned crates, and rules that nothing needs any more.
fn breaches(packages: &[(String, String)], rules: &Rules) -> Vec<String> {
    let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, version) in packages {
        versions.entry(name).or_default().push(version);
    }
    let mut found = Vec::new();
    let mut needed = BTreeSet::new();
    for (name, versions) in versions {
        if rules.banned.contains(name) {
            found.push(format!("{name} is banned"));
        }
        let spec = |version: &&str| format!("{name}@{version}");
        let beyond: Vec<String> =
            versions.iter().map(spec).filter(|spec| !rules.twice.contains(spec)).collect();
        if versions.len() > 1 {
            needed.extend(versions.iter().map(spec));
        }
        if beyond.len() > 1 {
            found.push(format!("{} stand side by side", beyond.join(" and ")));
        }
    }
    let idle = rules.twice.iter().filter(|spec| !needed.contains(*spec));
    found.extend(idle.map(|spec| format!("{spec} stands beside no other any more")));
    found
}

/// What cargo knows of the packages that are built on this machine; it has them all, or this test would not run.
fn metadata(manifest: &str) -> Vec<Value> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let told = Command::new("rustc").arg("-vV").output().expect("rustc runs");
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    let host = told.lines().find_map(|line| line.strip_prefix("host: ")).expect("rustc names its host");
    let mut command = Command::new(cargo);
    command.args(["metadata", "--offline", "--locked", "--format-version", "1", "--filter-platform", host]);
    let ran = command.arg("--manifest-path").arg(root().join(manifest)).output().expect("cargo runs");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let told: Value = serde_json::from_slice(&ran.stdout).expect("cargo speaks JSON");
    told["packages"].as_array().expect("cargo lists packages").clone()
}

#[test]
fn every_package_has_a_licence_that_a_binary_of_ours_may_hold() {
    let rules = Rules::of_the_workspace();
    let packages = metadata("Cargo.toml");
    let offenders: Vec<Offender> = packages
        .iter()
        .filter_map(|package| {
            let licence = package["license"].as_str().unwrap_or("none");
            let name = package["name"].as_str().unwrap_or_default();
            (!rules.allow(licence)).then(|| Offender::of("Cargo.lock", &format!("{name} is under {licence}")))
        })
        .collect();
    assert!(packages.len() > 50, "only {} packages", packages.len());
    expect_none(
        &offenders,
        "use another crate, or allow the licence in deny.toml if a binary of ours may hold it",
    );
}

#[test]
fn no_crate_stands_twice_or_is_banned_without_a_reason_in_the_rule_book() {
    let rules = Rules::of_the_workspace();
    let packages = locked(&paper("Cargo.lock").expect("Cargo.lock"));
    let found = breaches(&packages, &rules);
    let offenders: Vec<Offender> = found.iter().map(|what| Offender::of("Cargo.lock", what)).collect();
    expect_none(&offenders, "depend on one version, or give the reason in deny.toml under `skip`");
}

#[test]
fn each_crate_depends_on_few_others() {
    let mut offenders = Vec::new();
    for (krate, ceiling) in CEILINGS {
        let path = format!("crates/{krate}/Cargo.toml");
        let count = dependencies(&paper(&path).expect("the manifest")).len();
        if count > ceiling {
            offenders.push(Offender::of(&path, &format!("{count} dependencies, {ceiling} allowed")));
        }
    }
    expect_none(&offenders, "write the few lines yourself, or drop another one");
}

#[test]
fn every_package_is_ours_or_comes_from_crates_io() {
    let manifests = crates().into_iter().filter_map(|krate| paper(&format!("crates/{krate}/Cargo.toml")));
    let names = manifests.filter_map(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("name = ").map(str::to_owned))?;
        Some(line.trim_matches('"').to_owned())
    });
    let ours: Vec<String> = names.collect();
    let offenders = strangers(&paper("Cargo.lock").expect("Cargo.lock"), &ours);
    expect_none(&offenders, "depend on a published version");
}

#[test]
fn a_release_says_what_it_lacks_before_it_builds_anything() {
    let ran =
        Command::new("/bin/bash").arg(root().join(".ci/release")).env("PATH", "").output().expect("it runs");
    let said = String::from_utf8_lossy(&ran.stderr);
    assert_eq!((ran.status.code(), ran.stdout.len()), (Some(1), 0), "{said}");
    for tool in ["cargo", "rustc", "cc", "readelf", "git", "tar", "sha256sum"] {
        assert!(said.contains(&format!(".ci/release: missing: {tool} (")), "{tool}: {said}");
    }
}

#[test]
fn the_supply_rules_find_what_breaks_them() {
    let manifest = "[package]\nname = \"x\"\n[dependencies]\na = \"1\"\n# b = 1\nc.workspace = true\n\
                    [dev-dependencies]\nd = \"1\"\n[target.'cfg(unix)'.dependencies]\n\
                    e = { version = \"1\" }\n[dependencies.f]\nversion = \"1\"\n";
    let names: Vec<String> = dependencies(manifest).into_iter().map(|(_, name)| name).collect();
    assert_eq!(names, ["a", "c", "e", "f"]);

    let lock = format!(
        "version = 4\n[[package]]\nname = \"abide\"\n[[package]]\nname = \"a\"\nsource = \"{CRATES_IO}\"\n\
         [[package]]\nname = \"b\"\nsource = \"git+https://example.org/b\"\n[[package]]\nname = \"c\"\n"
    );
    assert_eq!(strangers(&lock, &["abide".to_owned()]).len(), 2);

    let book = "[licenses]\nallow = ['MIT', 'Unicode-3.0']\n[bans]\nskip = [{ crate = 'a@1', reason = 'an old friend' }]\n\
                deny = [{ crate = 'evil', reason = 'nobody mends it' }]\n";
    let rules = Rules::read(book);
    for (expression, allowed) in [
        ("MIT", true),
        ("MIT/Apache-2.0", true),
        ("GPL-3.0 OR MIT", true),
        ("(MIT OR Apache-2.0) AND Unicode-3.0", true),
        ("MIT AND GPL-3.0", false),
        ("(MIT OR GPL-3.0) AND NCSA", false),
        ("Apache-2.0 WITH LLVM-exception OR MIT", true),
        ("none", false),
        ("", false),
    ] {
        assert_eq!(rules.allow(expression), allowed, "{expression}");
    }
    let package = |name: &str, version: &str| (name.to_owned(), version.to_owned());
    assert_eq!(breaches(&[package("a", "1"), package("a", "2")], &rules), [""; 0]);
    assert_eq!(breaches(&[package("a", "2"), package("a", "3"), package("a", "1")], &rules).len(), 1);
    assert_eq!(breaches(&[package("a", "1")], &rules), ["a@1 stands beside no other any more"]);
    let evil = [package("a", "1"), package("a", "2"), package("evil", "1")];
    assert_eq!(breaches(&evil, &rules), ["evil is banned"]);
}
