//! Screens: the same bytes to our emulator, to tmux and to alacritty's, and every cell compared. The bytes are what real
//! programs wrote in sessions of the released binary, and the recordings of `crates/core/tests/screen/corpus`. They are
//! compared at many instants, and so is what our dump makes of them. Whoever differs must be explained in `known.rs`.
//!
//! `screens [NAME...]` compares; `--keep NAME...` also writes recording and expectation into the corpus.

mod alacritty;
mod difference;
mod known;
mod program;
mod seen;
mod table;
mod tmux;

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use abide_testkit::bench::Bench;

use crate::program::{PROGRAMS, record};
use crate::table::{Row, Table};
use crate::tmux::Tmux;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let done = match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--feed", path, channel] => tmux::feed(&PathBuf::from(path), channel).map(|()| true),
        ["--keep", ref names @ ..] => run(names, true),
        ref names => run(names, false),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            let _ = writeln!(io::stderr(), "screens: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Compares what is named, or everything; false if anything differs without an explanation.
fn run(names: &[&str], keep: bool) -> io::Result<bool> {
    let wanted = |name: &str| names.is_empty() || names.contains(&name);
    let mut table = Table::new(Tmux::new())?;
    let mut corpus = corpus()?;
    let bench = Bench::new()?;
    for program in PROGRAMS.iter().filter(|program| wanted(program.name)) {
        if let Some(lacking) = program.lacks() {
            table.left_out(program.name, &lacking)?;
            continue;
        }
        let recorded = record(&bench, program)?;
        table.compare(Row {
            name: program.name,
            bytes: &recorded.bytes,
            same_hash: Some(recorded.same_hash),
        })?;
        if keep {
            corpus.insert(program.name.to_owned(), recorded.bytes);
        }
    }
    for (name, bytes) in corpus.iter().filter(|(name, _)| wanted(name)) {
        let shown = table.compare(Row { name: &format!("{name}.bin"), bytes, same_hash: None })?;
        if keep && table.all_explained() {
            let path = folder().join(name);
            write(&path.with_extension("bin"), bytes)?;
            write(&path.with_extension("ansi"), shown.ansi().as_bytes())?;
        }
    }
    table.end()?;
    Ok(table.all_explained())
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/core/tests/screen/corpus")
}

/// The recordings that the tests of the core know.
fn corpus() -> io::Result<BTreeMap<String, Vec<u8>>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder())? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "bin") {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            found.insert(name, std::fs::read(&path)?);
        }
    }
    Ok(found)
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    std::fs::File::create(path)?.write_all(bytes)
}
