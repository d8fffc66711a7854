//! One word, one meaning: what GLOSSARY.md says not to say is not said in what is shipped.
//! The list is the glossary's own last column; only foreign names are excepted, here and with a reason.

use crate::scan::Layers;
use crate::workspace::{Offender, Source, check, paper};

/// Foreign names that contain a refused word: exactly as they are written, and why they must be.
const FOREIGN: &[(&str, &str)] = &[
    ("\"jobs\"", "the shells' command"),
    ("\"events\"", "the command that shows facts, by the name that docker gave it"),
    (".local/state", "the XDG default for what we keep"),
    ("\"state\"", "a field of `sources`, promised in the JSON form"),
    ("--kill-child", "a flag of util-linux's unshare"),
    ("/task", "a folder of procfs"),
    ("Child", "std::process::Child"),
    ("PR_SET_CHILD_SUBREAPER", "the kernel's name for what a guard becomes"),
    ("State:", "a line of /proc/PID/status"),
    ("StateDirectory", "systemd's name"),
    ("Timestamp", "jiff::Timestamp"),
    ("XDG_STATE_HOME", "the XDG variable"),
    ("/task", "a directory of /proc"),
    ("abide events", "the command that shows facts, by the name that docker gave it"),
    ("cgroup.events", "a file of a cgroup"),
    ("`jobs`", "the shells' command"),
    ("builtin jobs", "the shells' command"),
    ("job control", "the shell's feature"),
    ("memory.events", "a file of a cgroup"),
    ("rename = \"state\"", "a field of `sources`, promised in the JSON form"),
    ("rename = \"timestamp\"", "a field of asciicast"),
    ("rustix::event", "the module of poll"),
    ("session supervisor", "what abide is; the glossary refuses it for the guard"),
    ("set_child_subreaper", "rustix's name for PR_SET_CHILD_SUBREAPER"),
];

/// The refused words and the word to use instead.
fn refused(glossary: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for line in glossary.lines() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let &[_, word, _, not, _] = cells.as_slice() else { continue };
        if matches!(word, "word" | "---") {
            continue;
        }
        let words = without_remarks(not).to_lowercase();
        let words = words.split(',').map(str::trim).filter(|word| !word.is_empty());
        found.extend(words.map(|refused| (refused.to_owned(), word.to_owned())));
    }
    found
}

fn without_remarks(cell: &str) -> String {
    let mut depth = 0_usize;
    let outside = |c: &char| {
        depth = if *c == '(' { depth + 1 } else { depth };
        let keep = depth == 0;
        depth = if *c == ')' { depth.saturating_sub(1) } else { depth };
        keep
    };
    cell.chars().filter(outside).collect()
}

/// The words of a line: also the parts of `snake_case` and `CamelCase`, in lower case.
fn words(line: &str) -> Vec<String> {
    let mut found = Vec::new();
    for run in line.split(|c: char| !c.is_alphabetic()) {
        let letters: Vec<char> = run.chars().collect();
        let mut word = String::new();
        for (at, letter) in letters.iter().enumerate() {
            let after_small = at > 0 && letters[at - 1].is_lowercase();
            let before_small = at > 0 && letters.get(at + 1).is_some_and(|next| next.is_lowercase());
            if letter.is_uppercase() && (after_small || before_small) && !word.is_empty() {
                found.push(std::mem::take(&mut word));
            }
            word.extend(letter.to_lowercase());
        }
        found.push(word);
    }
    found
}

/// The line without the foreign names that stand in it as whole names.
fn without_foreign(line: &str) -> String {
    let mut line = line.to_owned();
    for (name, _) in FOREIGN {
        let joins = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        let mut from = 0;
        while let Some(at) = line[from..].find(name).map(|at| from + at) {
            let end = at + name.len();
            let starts_inside = joins(name.chars().next()) && joins(line[..at].chars().next_back());
            if !starts_inside && !joins(line[end..].chars().next()) {
                line.replace_range(at..end, &" ".repeat(name.len()));
            }
            from = end;
        }
    }
    line
}

fn said(source: &Source, refused: &[(String, String)]) -> Vec<Offender> {
    let mut found = Vec::new();
    // What an adapter quotes is the agents' own.
    let Layers { code, comments, .. } = &source.layers;
    let layers = if source.krate() == "agents" { vec![code, comments] } else { vec![&source.text] };
    let lines = layers.into_iter().flat_map(|layer| source.production(layer));
    for (line, text) in lines.filter(|_| source.is_production()) {
        let lower = text.to_lowercase();
        if !refused.iter().any(|(word, _)| lower.contains(word)) {
            continue;
        }
        let words = words(&without_foreign(text));
        for (word, instead) in refused {
            if words.iter().any(|said| said == word || said.strip_suffix('s') == Some(word)) {
                let what = format!("`{word}` (the glossary has `{instead}`): {}", text.trim());
                found.push(Offender::at(&source.path, line, &what));
            }
        }
    }
    found
}

#[test]
fn words_that_the_glossary_refuses_are_not_said() {
    let refused = refused(&paper("GLOSSARY.md").expect("GLOSSARY.md"));
    assert!(!refused.is_empty(), "GLOSSARY.md has no table with the columns word, means, not");
    check(
        |source| said(source, &refused),
        "say it with a word of GLOSSARY.md; a foreign name is excepted in crates/testkit/tests/tidy/words.rs",
    );
}

#[test]
fn the_glossary_table_is_read_without_its_remarks() {
    let table = "| word | means | not |\n|---|---|---|\n| guard | x | daemon, Supervisor |\n| home | x | |\n\
                 | recording | x | transcript (an agent's, own) |\n";
    let words: Vec<String> =
        refused(table).into_iter().map(|(refused, word)| format!("{refused}>{word}")).collect();
    assert_eq!(words, ["daemon>guard", "supervisor>guard", "transcript>recording"]);
}

#[test]
fn refused_words_are_found_in_names_comments_and_strings() {
    let refused =
        vec![("state".to_owned(), "evidence".to_owned()), ("child".to_owned(), "program".to_owned())];
    let count = |line: &str| said(&Source::new("crates/core/src/x.rs", line), &refused).len();
    for line in [
        "let state = 1;",
        "// its State",
        "\"bad states\"",
        "save_state()",
        "GuardState",
        "STATE_DIR",
        "HTTPState",
    ] {
        assert_eq!(count(line), 1, "{line}");
    }
    for line in
        ["a statement", "stateless", "understate", "ChildMinder2", "std::process::Child", "$XDG_STATE_HOME"]
    {
        let expected = usize::from(line.starts_with("ChildM"));
        assert_eq!(count(line), expected, "{line}");
    }
    assert_eq!(count("#[cfg(test)]\nmod tests {\n    // state\n}\n"), 0);
}
