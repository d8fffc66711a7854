//! The manual: a page for every verb, from the same declarations as everything else, and roff that others read.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use abide_core::failure::Kind;
use abide_testkit::{Ran, ScratchDir};

use crate::common::Stage;
use crate::usage::verbs;

/// The requests that a page may use, and how many words each takes.
const REQUESTS: [(&str, usize); 7] =
    [(".TH", 5), (".SH", 1), (".SS", 1), (".PP", 0), (".TP", 0), (".nf", 0), (".fi", 0)];

/// Holds a page against the language: known requests, sections that hold something, escapes that exist.
fn check_structure(name: &str, page: &str) {
    let mut literal = false;
    let mut sections = Vec::new();
    for line in page.lines() {
        if line.starts_with(['.', '\'']) {
            let (request, rest) = line.split_once(' ').unwrap_or((line, ""));
            let known = REQUESTS.iter().find(|(known, _)| *known == request);
            let (_, words) = known.unwrap_or_else(|| panic!("{name}: {line}"));
            assert_eq!(rest.matches('"').count(), words * 2, "{name}: {line}");
            match request {
                ".SH" => sections.push(rest.trim_matches('"').to_owned()),
                ".nf" | ".fi" => {
                    assert_ne!(literal, request == ".nf", "{name}: {line}");
                    literal = !literal;
                }
                _ => {}
            }
        } else {
            assert!(!line.is_empty(), "{name}: an empty line is a request too");
        }
        let escapes = line.split('\\').skip(1);
        for escape in escapes {
            let known = ["e", "-", "&", "(aq", "(ga", "(ha", "(ti", "(dq", "fB", "fR"];
            assert!(known.iter().any(|known| escape.starts_with(known)), "{name}: {line}");
        }
        assert_eq!(line.matches("\\fB").count(), line.matches("\\fR").count(), "{name}: {line}");
        assert!(line.is_ascii(), "{name}: {line}");
    }
    assert!(!literal, "{name}: ends within lines as they are");
    assert!(page.starts_with(".TH "), "{name}");
    assert_eq!(&sections[..4], ["NAME", "SYNOPSIS", "EXAMPLES", "DESCRIPTION"], "{name}");
    assert!(sections.contains(&"OPTIONS".to_owned()), "{name}");
}

/// What programs that read manuals say of a page; those that are there.
fn readers() -> Vec<Vec<&'static str>> {
    let all = [
        vec!["groff", "-man", "-ww", "-z", "-Tutf8"],
        vec!["mandoc", "-T", "lint", "-W", "error"],
        vec!["man", "--warnings", "-l"],
    ];
    all.into_iter().filter(|reader| Path::new("/usr/bin").join(reader[0]).exists()).collect()
}

/// A page without escapes.
fn plain(page: &str) -> String {
    let plain = page.replace("\\fB", "").replace("\\fR", "").replace("\\-", "-").replace("\\(aq", "'");
    let plain = plain.replace("\\(ti", "~").replace("\\(dq", "\"").replace("\\(ha", "^").replace("\\&", "");
    plain.replace("\\(ga", "`").replace("\\e", "\\")
}

/// A page as a person reads it: without requests, each item on one line.
fn items(page: &str) -> BTreeSet<String> {
    plain(page).split("\n.TP\n").map(|item| item.lines().take(2).collect::<Vec<_>>().join(": ")).collect()
}

#[test]
fn every_verb_has_a_page_with_examples_that_readers_of_manuals_accept() {
    let stage = Stage::new();
    let folder = ScratchDir::new();
    let out = folder.join("man1");
    let written = stage.text(&["man", "--out", out.to_str().expect("it is text")]);
    let mut expected: Vec<String> = verbs(&stage).iter().map(|verb| format!("abide-{verb}.1")).collect();
    expected.push("abide.1".to_owned());
    assert_eq!(written.lines().count(), expected.len(), "{written}");
    for name in &expected {
        let path = out.join(name);
        let page = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        check_structure(name, &page);
        let verb = name.trim_end_matches(".1").trim_start_matches("abide").trim_start_matches('-');
        let args: Vec<&str> = ["man", verb].into_iter().filter(|word| !word.is_empty()).collect();
        assert_eq!(stage.text(&args), page, "{name}");
        for reader in readers() {
            let ran = Ran::of(Command::new(reader[0]).args(&reader[1..]).arg(&path).env("MANWIDTH", "100"));
            assert_eq!((ran.code(), ran.stderr.as_str()), (Some(0), ""), "{reader:?} {name}");
        }
    }
}

#[test]
fn a_page_says_what_help_says() {
    let stage = Stage::new();
    for verb in verbs(&stage) {
        let help = stage.text(&[&verb, "--help"]);
        let page = stage.text(&["man", &verb]);
        let listed = items(&page).into_iter().collect::<Vec<_>>().join("\n");
        for flag in help.split_whitespace().filter(|word| word.starts_with("--") && word.len() > 2) {
            let flag = flag.trim_end_matches(|c: char| !c.is_alphanumeric());
            assert!(listed.contains(flag), "{verb}: {flag}");
        }
        // All that stands behind the options of the help is described.
        let told = help.rsplit("is heeded]\n").next().unwrap_or_default().replace('`', "");
        let page = plain(&page).replace('`', "");
        let words = page.split_whitespace().filter(|word| *word != ".PP").collect::<Vec<_>>().join(" ");
        for sentence in told.split_whitespace().collect::<Vec<_>>().chunks(8) {
            assert!(words.contains(&sentence.join(" ")), "{verb}: {sentence:?}: {words}");
        }
    }
}

#[test]
fn the_manual_has_the_commands_in_the_groups_of_the_help() {
    let stage = Stage::new();
    let verbs = verbs(&stage);
    let page = plain(&stage.text(&["man"]));
    let told = page.split(".SH ").find(|section| section.starts_with("\"COMMANDS\"")).expect("it is there");
    let group = |line: &str| Some(line.strip_prefix(".SS \"")?.trim_end_matches('"').to_owned());
    let verb = |line: &str| Some(line.strip_prefix("abide-")?.strip_suffix("(1)")?.to_owned());
    let told: Vec<String> = told.lines().filter_map(|line| group(line).or_else(|| verb(line))).collect();
    let help = stage.text(&["--help"]);
    let shown = help.lines().filter_map(|line| {
        let verb = line.strip_prefix("  ").and_then(|line| line.split(' ').next());
        let verb = verb.filter(|verb| verbs.iter().any(|known| known == verb));
        let group = line.strip_suffix(':').filter(|title| !["Examples", "Options"].contains(title));
        verb.or(group).map(str::to_owned)
    });
    assert_eq!(told, shown.collect::<Vec<_>>());
}

#[test]
fn the_manual_lists_every_exit_code_of_the_code() {
    let stage = Stage::new();
    let told = items(&stage.text(&["man"]));
    for kind in Kind::ALL {
        assert!(told.contains(&format!("{}: {}", kind.exit_code(), kind.says())), "{kind:?}: {told:#?}");
    }
    for (code, says) in [
        (125, "there is no code to pass on"),
        (126, "the program cannot be executed"),
        (127, "the program was not found"),
    ] {
        assert!(told.iter().any(|item| item.starts_with(&format!("{code}: {says}"))), "{code}: {told:#?}");
    }
    for (args, code) in [
        (&["run", "--wait", "--", "/etc/passwd"][..], 126),
        (&["run", "--wait", "--", "/no/such/program"], 127),
        (&["wait", "nobody"], 125),
    ] {
        assert_eq!(stage.abide.run(args).code(), Some(code), "{args:?}");
    }
}

#[test]
fn the_manual_names_the_files_and_variables_that_there_are() {
    let stage = Stage::new();
    let told = items(&stage.text(&["man"]));
    let names = |prefix: &str| -> BTreeSet<String> {
        let terms = told.iter().filter_map(|item| item.split(": ").next()?.strip_prefix(prefix));
        terms.map(str::to_owned).collect()
    };
    let ran = stage.abide.run(&["run", "--wait", "--name", "printer", "--", "env"]);
    assert_eq!(ran.code(), Some(0), "{ran:?}");
    let shown = stage.text(&["logs", "printer"]);
    let set = shown.lines().filter_map(|line| line.strip_prefix("ABIDE_")?.split('=').next());
    let set: BTreeSet<String> = set.map(str::to_owned).collect();
    assert_eq!(set.len(), 4, "{shown}");
    assert!(set.is_subset(&names("ABIDE_")), "{set:?} {:?}", names("ABIDE_"));

    let id = stage.inspect("printer")["id"].as_str().expect("an ID").to_owned();
    let files = std::fs::read_dir(stage.path().join("sessions").join(id)).expect("it is there");
    let mut files: BTreeSet<String> =
        files.map(|file| file.expect("it is there").file_name().to_string_lossy().into_owned()).collect();
    // Some are there only in longer lives.
    files.extend(
        ["declared", "result.toml", "keyframes", "index", "index-lines", "view", "ssh-agent"]
            .map(str::to_owned),
    );
    assert_eq!(names("HOME/sessions/ID/"), files);
    for key in stage.abide.json(&["config"])["data"]["values"].as_array().expect("a list") {
        let key = key["key"].as_str().expect("a key");
        assert!(told.iter().any(|item| item.starts_with(&format!("{key}: "))), "{key}");
    }
}
