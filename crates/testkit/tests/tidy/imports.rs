//! The import table: who may never name what. Crate lines first, then modules.

use crate::scan::{calls_macro, tokens};
use crate::workspace::{Offender, Source, check, crates, expect_none, paper};

/// One row: sources under `who`, but for `except`, never name what falls under `never`.
struct Row {
    who: &'static str,
    except: &'static str,
    never: &'static [&'static str],
    way_out: &'static str,
}

const TABLE: &[Row] = &[
    Row {
        who: "crates/core/src/",
        except: "",
        never: &[
            "std::env",
            "std::fs",
            "std::net",
            "std::os",
            "std::process",
            "std::thread",
            "std::time::Instant",
            "std::time::SystemTime",
            "abide_sys",
            "abide_engine",
            "abide_testkit",
        ],
        way_out: "the core touches nothing: let sys or engine ask, and take the answer as an argument",
    },
    Row {
        who: "crates/sys/src/",
        except: "",
        never: &["abide_engine", "abide_testkit"],
        way_out: "sys holds no policy: move the decision up to engine or down to core",
    },
    Row {
        who: "crates/agents/src/",
        except: "",
        never: &[
            "std::env",
            "std::net",
            "std::process",
            "std::thread",
            "std::time::Instant",
            "std::time::SystemTime",
            "abide_sys",
            "abide_engine",
            "abide_testkit",
        ],
        way_out: "adapters read agents' files and nothing else: take the rest as an argument",
    },
    Row {
        who: "crates/engine/src/",
        except: "",
        never: &["abide_testkit"],
        way_out: "what is shipped does not need the test kit",
    },
    Row {
        who: "crates/engine/src/",
        except: "crates/engine/src/truth.rs",
        never: &["abide_sys::probe"],
        way_out: "ask engine::truth: one question about a process has one place of answer",
    },
    Row {
        who: "crates/picture/src/",
        except: "",
        never: &[
            "std::env",
            "std::net",
            "std::process",
            "std::thread",
            "std::time::Instant",
            "std::time::SystemTime",
            "abide_sys",
            "abide_engine",
            "abide_testkit",
        ],
        way_out: "pictures are made of a screen and of font files: take the rest as an argument",
    },
    Row {
        who: "crates/picture/src/",
        except: "crates/picture/src/font/system.rs",
        never: &["std::fs", "std::os"],
        way_out: "only font::system reads files; what is written goes to the writer that was given",
    },
    Row {
        who: "crates/engine/src/",
        except: "",
        never: &["abide_picture"],
        way_out: "guard and host draw nothing: pictures are made by the binary's commands",
    },
    Row {
        who: "crates/chaos/src/",
        except: "",
        never: &["abide_engine", "abide_agents", "abide_picture", "abide_testkit", "abide_sys::probe"],
        way_out: "an independent judge knows abide by its command line only, and asks the kernel itself",
    },
    Row {
        who: "crates/chaos/src/judge",
        except: "",
        never: &[
            "std::fs",
            "std::process",
            "std::thread",
            "abide_sys",
            "abide_core::status",
            "abide_core::verdict",
        ],
        way_out: "the judge is pure and reads abide's words by a table of its own",
    },
    Row {
        who: "crates/engine/src/",
        except: "",
        never: &["abide_chaos"],
        way_out: "guard and host do not test themselves",
    },
    Row {
        who: "crates/abide/src/",
        except: "",
        never: &["abide_sys", "abide_engine::store", "abide_engine::recording", "abide_testkit"],
        way_out: "a front knows engine::Sessions and the types of core: add what it needs to `Sessions`",
    },
];

/// The fronts share `show` and never use each other, nor does `show` use them.
const FRONTS: [&str; 4] = ["cmd", "dash", "web", "mcp"];
const SHARED: &str = "show";

/// What each crate's own `[dependencies]` may hold of ours.
const CRATE_LINES: [(&str, &[&str]); 7] = [
    ("core", &[]),
    ("sys", &["abide-core"]),
    ("agents", &["abide-core"]),
    ("engine", &["abide-agents", "abide-core", "abide-sys"]),
    ("picture", &["abide-core"]),
    ("chaos", &["abide-core", "abide-sys"]),
    ("abide", &["abide-chaos", "abide-core", "abide-engine", "abide-picture"]),
];

const PRINTERS: [&str; 5] = ["print", "println", "eprint", "eprintln", "dbg"];
const SILENT: [&str; 6] = ["core", "sys", "agents", "engine", "picture", "chaos"];

fn against_row(row: &Row, source: &Source) -> Vec<Offender> {
    if !source.path.starts_with(row.who) || source.path == row.except {
        return Vec::new();
    }
    let named = source.production_paths();
    let forbidden = named.filter(|path| row.never.iter().any(|never| path.falls_under(never)));
    forbidden
        .map(|path| Offender::at(&source.path, path.line, &format!("{} ({})", path.text, row.way_out)))
        .collect()
}

fn against_other_fronts(source: &Source) -> Vec<Offender> {
    let inside = source.path.strip_prefix("crates/abide/src/").unwrap_or_default();
    let module = inside.split('/').next().unwrap_or_default().trim_end_matches(".rs");
    if !FRONTS.contains(&module) && module != SHARED {
        return Vec::new();
    }
    let others = FRONTS.iter().filter(|front| **front != module).map(|front| format!("abide::{front}"));
    let others: Vec<String> = others.collect();
    let named = source.production_paths();
    let forbidden = named.filter(|path| others.iter().any(|other| path.falls_under(other)));
    forbidden.map(|path| Offender::at(&source.path, path.line, &path.text)).collect()
}

/// The places where a macro of the list is called, outside tests.
fn prints(source: &Source) -> Vec<Offender> {
    let silent = source.is_production() && SILENT.contains(&source.krate());
    let lines = source.production(&source.layers.code).filter(|_| silent);
    let calls = lines.filter(|(_, line)| PRINTERS.iter().any(|name| calls_macro(line, name)));
    calls.map(|(line, text)| Offender::at(&source.path, line, text.trim())).collect()
}

fn unsafe_words(source: &Source) -> Vec<Offender> {
    let tokens = tokens(&source.layers.code);
    let found = tokens.iter().filter(|token| token.text == "unsafe" && source.krate() != "sys");
    found.map(|token| Offender::at(&source.path, token.line, "unsafe")).collect()
}

#[test]
fn the_core_touches_nothing_and_each_crate_knows_only_those_below() {
    let rule = |source: &Source| TABLE.iter().flat_map(|row| against_row(row, source)).collect::<Vec<_>>();
    check(rule, "the one in brackets; the crates and their lines stand in ARCHITECTURE.md");
}

#[test]
fn the_manifests_draw_the_same_crate_lines() {
    let mut offenders = Vec::new();
    for (krate, allowed) in CRATE_LINES {
        let path = format!("crates/{krate}/Cargo.toml");
        let manifest = paper(&path).unwrap_or_default();
        let ours =
            crate::supply::dependencies(&manifest).into_iter().filter(|(_, name)| name.starts_with("abide"));
        for (line, name) in ours.filter(|(_, name)| !allowed.contains(&name.as_str())) {
            offenders.push(Offender::at(&path, line, &name));
        }
    }
    let known = |krate: &String| krate == "testkit" || CRATE_LINES.iter().any(|(name, _)| name == krate);
    for krate in crates().iter().filter(|krate| !known(krate)) {
        offenders.push(Offender::of(&format!("crates/{krate}"), "not in the table of crate lines"));
    }
    expect_none(
        &offenders,
        "a crate uses only those below it: abide > engine > sys > core, abide > picture > core, abide > chaos > sys; testkit is for tests",
    );
}

#[test]
fn no_front_imports_another_front() {
    check(against_other_fronts, "what two fronts share belongs to abide::show or to engine::Sessions");
}

#[test]
fn only_the_binary_prints() {
    check(prints, "return what there is to say; the fronts print it");
}

#[test]
fn unsafe_code_stands_in_sys_only() {
    check(unsafe_words, "give sys a safe function that does it, with the reason why it is sound");
}

#[test]
fn the_import_rules_find_what_breaks_them() {
    let core = Source::new("crates/core/src/id.rs", "use std::{fmt, fs as f};\nfn x() { f::read(\"\") }\n");
    assert_eq!(against_row(&TABLE[0], &core).len(), 2);
    let tests = Source::new("crates/core/src/id.rs", "#[cfg(test)]\nmod tests {\n    use std::fs;\n}\n");
    assert!(against_row(&TABLE[0], &tests).is_empty());

    let probing = "use abide_sys::*;\nfn x() { abide_sys::probe::probe(1) }\n";
    let row = TABLE.iter().find(|row| row.except.ends_with("truth.rs")).expect("the row of the probe");
    assert_eq!(against_row(row, &Source::new("crates/engine/src/seal.rs", probing)).len(), 2);
    assert!(against_row(row, &Source::new("crates/engine/src/truth.rs", probing)).is_empty());

    let front = Source::new("crates/abide/src/cmd/ls.rs", "use crate::show::Row;\nuse crate::dash::Pane;\n");
    assert_eq!(against_other_fronts(&front).len(), 1);
    let shared = Source::new("crates/abide/src/show.rs", "use super::cmd::ls;\n");
    assert_eq!(against_other_fronts(&shared).len(), 1);
    let main = Source::new("crates/abide/src/main.rs", "use crate::dash::Pane;\n");
    assert!(against_other_fronts(&main).is_empty());

    let loud = "fn f() {\n    println!(\"x\");\n    writeln!(f, \"println!\")\n}\n";
    assert_eq!(prints(&Source::new("crates/engine/src/seal.rs", loud)).len(), 1);
    assert!(prints(&Source::new("crates/abide/src/main.rs", loud)).is_empty());

    let risky = "// unsafe\nfn f() { unsafe { g() } }\nlet unsafe_home = \"unsafe\";\n";
    assert_eq!(unsafe_words(&Source::new("crates/testkit/src/lib.rs", risky)).len(), 1);
    assert!(unsafe_words(&Source::new("crates/sys/src/lib.rs", risky)).is_empty());
}
