//! What the papers call a command is one. The blocks of the guides are run by other tests; here is what stands in sentences,
//! and what no test could run.

use std::path::{Path, PathBuf};

use clap::Parser;
use clap::error::ErrorKind;

use super::Cli;

/// Every paper of a directory and of those below it.
fn papers(dir: &Path, below: bool) -> Vec<PathBuf> {
    let all = std::fs::read_dir(dir).expect("it is there").map(|entry| entry.expect("it is told").path());
    let papers = |path: PathBuf| match path.is_dir() {
        true if below => papers(&path, true),
        true => Vec::new(),
        false => Vec::from_iter(Some(path).filter(|path| path.extension().is_some_and(|end| end == "md"))),
    };
    all.flat_map(papers).collect()
}

/// What a paper calls a command: between backticks, or a line of a block that needs no shell to be read.
fn commands(paper: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, part) in paper.split("```").enumerate() {
        let typed = |line: &str| line.split("  ").next().unwrap_or_default().trim().to_owned();
        found.extend(match at % 2 {
            0 => part.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>(),
            _ => part
                .lines()
                .map(typed)
                .filter(|line| !line.contains(['\'', '"', '|', '$', '>', '─']))
                .collect(),
        });
    }
    found.retain(|command| command.starts_with("abide "));
    found
}

#[test]
fn every_command_that_a_paper_names_is_one() {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let papers = [papers(root, false), papers(&root.join("docs"), true)].concat();
    let (mut count, mut wrong) = (0, Vec::new());
    for paper in papers {
        let text = std::fs::read_to_string(&paper).expect("it is there");
        for command in commands(&text) {
            count += 1;
            // Brackets are around what may be left out, and any command is one.
            let typed = command.replace(['[', ']'], "").replace("abide COMMAND ", "abide ls ");
            let read = Cli::try_parse_from(typed.split_whitespace()).map_err(|error| error.kind());
            let cut = command.split_whitespace().last().is_some_and(|last| last.starts_with("--"));
            // Who speaks of a command need not say all that it must be given.
            let enough = [
                ErrorKind::MissingRequiredArgument,
                ErrorKind::MissingSubcommand,
                ErrorKind::DisplayHelp,
                ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand,
            ];
            let names = |kind: &ErrorKind| enough.contains(kind) || cut && *kind == ErrorKind::InvalidValue;
            if let Some(kind) = read.err().filter(|kind| !names(kind)) {
                wrong.push(format!("{}: {command}: {kind:?}", paper.display()));
            }
        }
    }
    assert!(count > 50 && wrong.is_empty(), "{count}: {wrong:#?}");
}
