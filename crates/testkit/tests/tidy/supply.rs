//! What we depend on: how much, and from where. Licences are cargo-deny's question (deny.toml).

use crate::workspace::{Offender, crates, expect_none, numbered, paper};

/// The most direct dependencies of each crate, ours included.
const CEILINGS: [(&str, usize); 5] = [("core", 6), ("sys", 5), ("engine", 12), ("picture", 6), ("abide", 22)];

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
}
