//! Ceilings. They guard, they do not design: when one is hit, first ask which concept is missing.

use std::collections::BTreeMap;

use crate::items::{Item, Kind};
use crate::workspace::{Offender, Source, check, expect_none, files};

/// A ratchet: the largest shipped file of today, rounded up. It goes down when that file does, and up
/// only with a reason in the commit, never above `FILE_CEILING`.
const LARGEST_FILE: usize = 450;
const FILE_CEILING: usize = 600;
const _: () = assert!(LARGEST_FILE <= FILE_CEILING);

const FUNCTION_LINES: usize = 70;
const PARAMETERS: usize = 5;
const FIELDS: usize = 15;
const VARIANTS: usize = 30;
const FILES_PER_FOLDER: usize = 20;

/// Flat tables that may be longer: the path, or the path and the item as `path#item`, and the reason.
const FLAT: &[(&str, &str)] = &[];

fn is_flat(path: &str, item: &str) -> bool {
    let full = format!("{path}#{item}");
    FLAT.iter().any(|(name, _)| *name == path || *name == full)
}

fn long_file(source: &Source) -> Option<Offender> {
    let (lines, ceiling) = if source.is_production() {
        (source.production(&source.text).count(), LARGEST_FILE)
    } else {
        (source.text.lines().count(), FILE_CEILING)
    };
    let offends = lines > ceiling && !is_flat(&source.path, "");
    offends.then(|| Offender::of(&source.path, &format!("{lines} lines, {ceiling} allowed")))
}

/// The lines of code of an item, blank lines and comments not counted.
fn lines(source: &Source, item: &Item) -> usize {
    let code = source.layers.code.lines().zip(source.layers.literals.lines());
    let inside = code.skip(item.first_line - 1).take(item.last_line + 1 - item.first_line);
    inside.filter(|(code, literal)| !code.trim().is_empty() || !literal.trim().is_empty()).count()
}

fn large_items(source: &Source) -> Vec<Offender> {
    let mut found = Vec::new();
    for item in source.items.iter().filter(|item| !is_flat(&source.path, &item.name)) {
        let (what, size, ceiling) = match item.kind {
            Kind::Function => ("parameters", item.parts, PARAMETERS),
            // What the command line takes is as long as the command line.
            Kind::Struct if is_command_line(item) => continue,
            Kind::Struct => ("fields", item.parts, FIELDS),
            Kind::Enum => ("variants", item.parts, VARIANTS),
        };
        let mut complain = |what: &str, size: usize, ceiling: usize| {
            if size > ceiling {
                let what = format!("{} has {size} {what}, {ceiling} allowed", item.name);
                found.push(Offender::at(&source.path, item.first_line, &what));
            }
        };
        complain(what, size, ceiling);
        if item.kind == Kind::Function {
            complain("lines", lines(source, item), FUNCTION_LINES);
        }
    }
    found
}

fn is_command_line(item: &Item) -> bool {
    let derives = item.attributes.iter().filter_map(|attribute| attribute.strip_prefix("derive"));
    let mut names = derives.flat_map(|list| list.split(['(', ',', ')', ':']));
    names.any(|name| name == "Args" || name == "Parser")
}

fn full_folders(paths: &[String]) -> Vec<Offender> {
    let mut folders: BTreeMap<&str, usize> = BTreeMap::new();
    for (folder, _) in paths.iter().filter_map(|path| path.rsplit_once('/')) {
        *folders.entry(folder).or_default() += 1;
    }
    let full = folders.into_iter().filter(|(_, files)| *files > FILES_PER_FOLDER);
    full.map(|(folder, files)| Offender::of(folder, &format!("{files} files, {FILES_PER_FOLDER} allowed")))
        .collect()
}

#[test]
fn no_file_is_longer_than_the_longest_we_accepted() {
    check(
        long_file,
        "find the concept that wants a file of its own; for a file that must grow, move LARGEST_FILE in \
         crates/testkit/tests/tidy/sizes.rs and say why",
    );
}

#[test]
fn functions_structs_and_enums_stay_small() {
    check(large_items, "name the part that stands for itself, or the type that the parts make up");
}

#[test]
fn no_folder_is_a_heap_of_files() {
    let sources: Vec<String> = files(&["crates"]).into_iter().filter(|path| path.ends_with(".rs")).collect();
    expect_none(&full_folders(&sources), "group them by a word of the glossary");
}

#[test]
fn the_ceilings_find_what_is_above_them() {
    let production = |text: &str| Source::new("crates/core/src/x.rs", text);
    let lines = |count: usize| "let x = 1;\n".repeat(count);
    assert!(long_file(&production(&lines(LARGEST_FILE + 1))).is_some());
    let tests = format!("{}#[cfg(test)]\nmod tests {{\n{}}}\n", lines(LARGEST_FILE), lines(90));
    assert!(long_file(&production(&tests)).is_none());
    assert!(long_file(&Source::new("crates/core/tests/x.rs", &lines(FILE_CEILING + 1))).is_some());

    let function = |count: usize| format!("fn f() {{\n\n// x\n{}}}\n", lines(count));
    assert_eq!(large_items(&production(&function(FUNCTION_LINES - 1))).len(), 1);
    assert_eq!(large_items(&production(&function(FUNCTION_LINES - 2))).len(), 0);
    assert_eq!(large_items(&production("fn f(a: A, b: B, c: C, d: D, e: E, g: G) {}")).len(), 1);

    let parts = |count: usize| (0..count).map(|i| format!("    p{i}: u8,\n")).collect::<String>();
    assert_eq!(large_items(&production(&format!("struct S {{\n{}}}", parts(FIELDS + 1)))).len(), 1);
    assert_eq!(
        large_items(&production(&format!("#[derive(Debug, clap::Args)]\nstruct S {{\n{}}}", parts(20))))
            .len(),
        0
    );
    assert_eq!(large_items(&production(&format!("enum E {{\n{}}}", parts(VARIANTS + 1)))).len(), 1);

    let heap: Vec<String> = (0..=FILES_PER_FOLDER).map(|i| format!("crates/x/src/f{i}.rs")).collect();
    assert_eq!(full_folders(&heap).len(), 1);
    assert_eq!(full_folders(&heap[1..]).len(), 0);
}
