//! Rules about the tests: files that are run, names that are sentences, helpers that stand once.

use std::collections::BTreeMap;

use crate::items::Kind;
use crate::scan::tokens;
use crate::workspace::{Offender, Source, check, crates, expect_none, files, sources};

const WORDS_OF_A_SENTENCE: usize = 3;
/// A shorter body may stand twice.
const LINES_OF_A_HELPER: usize = 5;

fn short_names(source: &Source) -> Vec<Offender> {
    let tests = source.items.iter().filter(|item| item.kind == Kind::Function && item.is_test());
    let short = tests
        .filter(|test| test.name.split('_').filter(|word| !word.is_empty()).count() < WORDS_OF_A_SENTENCE);
    short.map(|test| Offender::at(&source.path, test.first_line, &test.name)).collect()
}

/// Files directly in a `tests` folder are test targets, so each must be Rust and hold a test.
fn idle_targets(paths: &[String], has_test: impl Fn(&str) -> bool) -> Vec<Offender> {
    let targets = paths.iter().filter(|path| is_target(path));
    let idle = targets.filter(|path| !path.ends_with(".rs") || !has_test(path));
    idle.map(|path| Offender::of(path, "holds no #[test]")).collect()
}

/// `crates/x/tests/y.rs` or `crates/x/tests/y/main.rs`.
fn is_target(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    parts.get(2) == Some(&"tests") && (parts.len() == 4 || parts.len() == 5 && parts[4] == "main.rs")
}

/// Whether the target of this path runs a test: in its file, or in a file beside its `main.rs`.
fn runs_a_test(path: &str) -> bool {
    let folder = path.strip_suffix("main.rs");
    let mine = sources().iter().filter(|source| match folder {
        Some(folder) => source.path.starts_with(folder),
        None => source.path == path,
    });
    mine.flat_map(|source| &source.items).any(|item| item.is_test())
}

/// Files that no `mod` of their crate declares are never compiled.
fn undeclared(sources: &[&Source]) -> Vec<Offender> {
    let mut declared = Vec::new();
    for source in sources {
        let tokens = tokens(&source.layers.code);
        for pair in tokens.windows(2).filter(|pair| pair[0].text == "mod" && pair[1].is_word()) {
            declared.push(pair[1].text.to_owned());
        }
    }
    let modules = sources.iter().filter_map(|source| {
        let parts: Vec<&str> = source.path.split('/').collect();
        let root = is_target(&source.path)
            || matches!(
                parts[2..],
                ["src", "lib.rs" | "main.rs"]
                    | ["src", "bin", _]
                    | ["build.rs"]
                    | ["benches" | "examples", _]
            );
        let name = match parts[parts.len() - 1] {
            "mod.rs" => parts[parts.len() - 2],
            file => file.trim_end_matches(".rs"),
        };
        (!root).then_some((source, name))
    });
    let orphans = modules.filter(|(_, name)| !declared.iter().any(|known| known == name));
    orphans
        .map(|(source, name)| Offender::of(&source.path, &format!("no `mod {name}` in its crate")))
        .collect()
}

/// Functions in test code that stand in more than one file: same name, same body, long enough to matter.
fn copies(sources: &[&Source]) -> Vec<Offender> {
    let mut bodies: BTreeMap<(String, String), Vec<(&str, usize)>> = BTreeMap::new();
    for source in sources {
        let helpers = source.items.iter().filter(|item| {
            item.kind == Kind::Function && !item.is_test() && source.is_test_line(item.first_line)
        });
        for helper in helpers {
            let lines =
                source.text.lines().skip(helper.first_line).take(helper.last_line - helper.first_line);
            let body: Vec<&str> = lines.map(str::trim).collect();
            if body.len() > LINES_OF_A_HELPER {
                let places = bodies.entry((helper.name.clone(), body.join("\n"))).or_default();
                places.push((&source.path, helper.first_line));
            }
        }
    }
    let mut found = Vec::new();
    for ((name, _), places) in bodies {
        let elsewhere = places.iter().filter(|place| place.0 != places[0].0);
        found.extend(elsewhere.map(|(path, line)| {
            Offender::at(path, *line, &format!("{name} stands in {}:{} too", places[0].0, places[0].1))
        }));
    }
    found
}

#[test]
fn test_names_are_sentences() {
    check(short_names, "say what holds, in at least three words: a_stopped_guard_is_alive");
}

#[test]
fn every_file_in_a_tests_folder_is_a_test() {
    let offenders = idle_targets(&files(&["crates"]), runs_a_test);
    expect_none(
        &offenders,
        "helpers go to abide-testkit or to a folder such as tests/common/, data to a folder too",
    );
}

#[test]
fn every_source_file_is_compiled() {
    let mut offenders = Vec::new();
    for krate in crates() {
        let mine: Vec<&Source> = sources().iter().filter(|source| source.krate() == krate).collect();
        offenders.extend(undeclared(&mine));
    }
    expect_none(&offenders, "declare it with `mod`, or delete it");
}

#[test]
fn test_helpers_stand_once() {
    let all: Vec<&Source> = sources().iter().collect();
    expect_none(&copies(&all), "move it to abide-testkit");
}

#[test]
fn the_rules_about_tests_find_what_breaks_them() {
    let names = Source::new(
        "crates/core/tests/a.rs",
        "#[test]\nfn it_works() {}\n#[test]\nfn it_works_well() {}\nfn x() {}\n",
    );
    assert_eq!(short_names(&names).len(), 1);

    let paths = ["tests/a.rs", "tests/b.txt", "tests/c/main.rs", "tests/common/mod.rs", "src/lib.rs"];
    let paths = paths.map(|path| format!("crates/core/{path}"));
    assert_eq!(idle_targets(&paths, |_| true).len(), 1);
    assert_eq!(idle_targets(&paths, |_| false).len(), 3);

    let declaring = Source::new("crates/core/src/lib.rs", "mod used;\n");
    let (used, orphan) =
        (Source::new("crates/core/src/used.rs", ""), Source::new("crates/core/src/old/mod.rs", ""));
    assert_eq!(undeclared(&[&declaring, &used, &orphan]).len(), 1);

    let helper =
        |first: &str| format!("fn wait() {{\n    {first};\n    b();\n    c();\n    d();\n    e();\n}}\n");
    let source = |path: &str, first: &str| Source::new(path, &helper(first));
    let (one, two) = (source("crates/core/tests/a.rs", "a()"), source("crates/sys/tests/b.rs", "a()"));
    assert_eq!(copies(&[&one, &two]).len(), 1);
    assert_eq!(copies(&[&one, &source("crates/sys/tests/b.rs", "z()")]).len(), 0);
    assert_eq!(copies(&[&one, &source("crates/sys/src/b.rs", "a()")]).len(), 0);
}
