//! What is written about the code agrees with it: module docs, README, the code map. No machine's paths.

use std::process::{Command, Stdio};

use crate::workspace::{Offender, Source, check, expect_none, files, numbered, paper, root};

const RUN_COMMAND: &str = "cargo run --release -- demo";
const TEST_COMMAND: &str = "cargo test --workspace";
const ARCHITECTURE_LINES: usize = 250;
/// The crates whose modules the code map names one by one.
const MAPPED: [&str; 5] = ["core", "sys", "engine", "picture", "chaos"];
/// What others promise, and which test asks it of us; what we promise whoever means harm, and under every fault.
const CLAIMS: [&str; 3] = ["docs/rivals.md", "docs/SECURITY.md", "docs/truth.md"];
/// Folders of the machines that people work on. Written so that this file does not contain them.
const MACHINE_PATHS: [&str; 2] = [concat!("/wo", "rk/"), concat!("/ro", "ot/")];

fn without_doc(source: &Source) -> Option<Offender> {
    let mut lines = source.text.lines().filter(|line| !line.is_empty() && !line.starts_with("#!["));
    let documented = lines.next().is_some_and(|line| line.starts_with("//! "));
    (!documented).then(|| Offender::at(&source.path, 1, "no module doc"))
}

/// The code map: the paths in the first column of its table, each with its line.
fn code_map(architecture: &str) -> Vec<(usize, &str)> {
    let from = numbered(architecture)
        .skip_while(|(_, line)| !(line.starts_with("## ") && line.contains("Code map")));
    let section = from.skip(1).take_while(|(_, line)| !line.starts_with("## "));
    let cells = section.filter_map(|(line, text)| Some((line, text.strip_prefix("| ")?.split('|').next()?)));
    // Every second piece between backticks stands inside them.
    cells.flat_map(|(line, cell)| cell.split('`').skip(1).step_by(2).map(move |path| (line, path))).collect()
}

/// `crates/core/src/evidence/fold.rs` and `crates/core/src/evidence.rs` belong to the module `core/evidence`.
fn top_module(path: &str) -> Option<String> {
    let parts: Vec<&str> = path.split('/').collect();
    let ["crates", krate, "src", module, ..] = parts[..] else { return None };
    let name = module.trim_end_matches(".rs");
    (MAPPED.contains(&krate) && name != "lib").then(|| format!("{krate}/{name}"))
}

/// Modules that the map does not name, and names on the map that nothing bears.
fn off_the_map(architecture: &str, paths: &[String]) -> Vec<Offender> {
    let map = code_map(architecture);
    let named = |module: &str| {
        map.iter().any(|(_, on_map)| on_map.trim_end_matches(".rs").trim_end_matches('/') == module)
    };
    let mut modules: Vec<String> = paths.iter().filter_map(|path| top_module(path)).collect();
    modules.dedup();
    let missing = modules.iter().filter(|module| !named(module));
    let missing = missing
        .map(|module| Offender::of("ARCHITECTURE.md", &format!("the code map does not name {module}.rs")));
    let exists = |on_map: &str| {
        let (krate, inside) = on_map.split_once('/').unwrap_or((on_map, ""));
        let (in_src, in_crate) = (format!("crates/{krate}/src/{inside}"), format!("crates/{krate}/{inside}"));
        paths.iter().any(|path| path.starts_with(&in_src) || path.starts_with(&in_crate))
    };
    let stale = map.iter().filter(|(_, on_map)| !exists(on_map));
    let stale = stale
        .map(|(line, on_map)| Offender::at("ARCHITECTURE.md", *line, &format!("{on_map} does not exist")));
    missing.chain(stale).collect()
}

/// What git tracks; without git, every file that is not built.
fn tracked() -> Vec<String> {
    let listed =
        Command::new("git").arg("-C").arg(root()).args(["ls-files", "-z"]).stderr(Stdio::null()).output();
    match listed {
        Ok(output) if output.status.success() && !output.stdout.is_empty() => {
            let names = String::from_utf8_lossy(&output.stdout);
            names.split_terminator('\0').map(str::to_owned).collect()
        }
        Ok(_) | Err(_) => files(&["."]),
    }
}

fn machine_paths(path: &str, text: &str) -> Vec<Offender> {
    let lines = numbered(text).filter(|(_, line)| MACHINE_PATHS.iter().any(|machine| line.contains(machine)));
    lines.map(|(line, text)| Offender::at(path, line, text.trim())).collect()
}

#[test]
fn every_file_says_what_it_owns() {
    check(without_doc, "start it with `//! `: what it owns, what it must not know");
}

#[test]
fn the_readme_names_the_commands_and_ci_runs_its_tests() {
    let readme = paper("README.md");
    let missing = [RUN_COMMAND, TEST_COMMAND].into_iter().filter(|command| {
        // Before there is a README there is nothing to hold it to.
        readme.as_ref().is_some_and(|readme| !readme.contains(command))
    });
    let mut offenders: Vec<Offender> =
        missing.map(|command| Offender::of("README.md", &format!("does not say `{command}`"))).collect();
    if !paper(".ci/run").unwrap_or_default().contains(TEST_COMMAND) {
        offenders.push(Offender::of(".ci/run", &format!("does not run `{TEST_COMMAND}`")));
    }
    expect_none(
        &offenders,
        "one command shows it, one command tests it; both stand in the README, and CI runs the second",
    );
}

#[test]
fn the_architecture_stays_short_enough_to_be_read() {
    let lines = paper("ARCHITECTURE.md").expect("ARCHITECTURE.md").lines().count();
    assert!(lines <= ARCHITECTURE_LINES, "ARCHITECTURE.md has {lines} lines, {ARCHITECTURE_LINES} allowed");
}

#[test]
fn the_code_map_names_every_module_and_nothing_else() {
    let architecture = paper("ARCHITECTURE.md").expect("ARCHITECTURE.md");
    expect_none(&off_the_map(&architecture, &files(&["crates"])), "edit the code map of ARCHITECTURE.md");
}

/// The tests that a paper names in the last column of its tables, each with its line.
fn named_tests(text: &str) -> Vec<(usize, &str)> {
    let cells = numbered(text).filter_map(|(line, row)| {
        let cells = row.strip_prefix("| ")?.strip_suffix(" |")?;
        Some((line, cells.rsplit(" | ").next()?))
    });
    cells.flat_map(|(line, cell)| cell.split('`').skip(1).step_by(2).map(move |name| (line, name))).collect()
}

#[test]
fn every_test_that_is_named_for_a_behaviour_exists() {
    let paths = files(&["crates"]).into_iter().filter(|path| path.ends_with(".rs"));
    let sources: Vec<String> = paths.filter_map(|path| paper(&path)).collect();
    let mut missing = Vec::new();
    for claims in CLAIMS {
        let text = paper(claims).expect(claims);
        let named = named_tests(&text);
        assert!(!named.is_empty(), "{claims} has no table with tests");
        let is_test = |name: &str| {
            let within = ["#[test]\n", "#[test]\n    "].map(|before| format!("{before}fn {name}()"));
            sources.iter().any(|source| within.iter().any(|test| source.contains(test)))
        };
        let is_fuzzed = |name: &str| paper(&format!("fuzz/fuzz_targets/{name}.rs")).is_some();
        let unknown = named.into_iter().filter(|(_, name)| !is_test(name) && !is_fuzzed(name));
        missing.extend(
            unknown.map(|(line, name)| Offender::at(claims, line, &format!("there is no test {name}"))),
        );
    }
    expect_none(&missing, "name the test that asks it now");
}

#[test]
fn no_tracked_file_holds_a_path_of_some_machine() {
    let mut offenders = Vec::new();
    for path in tracked() {
        offenders.extend(machine_paths(&path, &paper(&path).unwrap_or_default()));
    }
    expect_none(&offenders, "name it from the root of the repository, or use an invented path");
}

#[test]
fn the_rules_about_papers_find_what_breaks_them() {
    assert!(without_doc(&Source::new("crates/core/src/x.rs", "use a;\n//! late\n")).is_some());
    assert!(without_doc(&Source::new("crates/core/src/x.rs", "#![no_main]\n\n//! Owns x.\n")).is_none());

    let map = "`core/zero.rs`\n## 5. Code map\n| where | what |\n|---|---|\n\
               | `core/a.rs`, `core/b/` | `core/c.rs` |\n| `sys/old.rs` | x |\n## 6\n";
    let paths = [
        "core/src/a.rs",
        "core/src/b/mod.rs",
        "core/src/b/x.rs",
        "core/src/c.rs",
        "core/src/lib.rs",
        "abide/src/z.rs",
    ];
    let found = off_the_map(map, &paths.map(|path| format!("crates/{path}")));
    let found = format!("{found:?}");
    assert!(found.contains("core/c.rs") && found.contains("sys/old.rs does not exist"), "{found}");
    assert!(!found.contains("core/a") && !found.contains("core/b") && !found.contains("lib"), "{found}");

    let table = "| what | `theirs` | test |\n|---|---|---|\n| a | `b` | `c_d`, `e_f` |\ng `h`\n";
    assert_eq!(named_tests(table), [(3, "c_d"), (3, "e_f")]);

    let text = format!("a\nsee {}x\n", MACHINE_PATHS[0]);
    assert_eq!(machine_paths("README.md", &text).len(), 1);
    assert_eq!(machine_paths("README.md", "network/x and chroot/y").len(), 0);
}

/// The README's first command names no package.
#[test]
fn cargo_run_runs_abide() {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.toml");
    let manifest = std::fs::read_to_string(manifest).expect("it is there");
    assert!(
        manifest.contains("\ndefault-members = [\"crates/abide\"]\n"),
        "cargo run has several programs to choose from"
    );
}
