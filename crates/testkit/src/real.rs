//! Real agents under the released binary, with a model of ours in their back: what adapters say of files is one thing, what
//! the agents of today write is another. Not a test that runs every time: it installs what others publish.

mod accuracy;
mod checks;
mod elsewhere;
mod kinds;
mod place;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use checks::CHECKS;
use kinds::{KINDS, Kind};
use place::Place;

/// Runs the checks of these agents, of all without a name, and prints what was seen; one check only, if it is named. False
/// if a check failed.
///
/// # Errors
/// If there is no such agent or check, or it cannot be installed.
pub fn run(check: Option<&String>, wanted: &[String], out: &mut impl Write) -> io::Result<bool> {
    let kinds = chosen(wanted)?;
    let checks = CHECKS.iter().filter(|(name, _)| check.is_none_or(|check| check == name));
    let checks: Vec<_> = checks.collect();
    if checks.is_empty() {
        return Err(io::Error::other("there is no such check"));
    }
    let programs = install(&kinds)?;
    let abide = crate::bench::built()?;
    let mut rows = Vec::new();
    for kind in kinds {
        let place = Place::new(kind, &abide, &programs)?;
        let mut row = vec![kind.name.to_owned(), version(&place)];
        for (name, check) in &checks {
            let seen = check(&place);
            writeln!(out, "{} {name}: {}", kind.name, seen.as_ref().err().map_or("ok", String::as_str))?;
            row.push(if seen.is_ok() { "ok" } else { "failed" }.to_owned());
        }
        rows.push(row);
    }
    let heads = ["agent", "version"].into_iter().chain(checks.iter().map(|(name, _)| *name));
    table(&heads.map(str::to_owned).collect::<Vec<_>>(), &rows, out)?;
    Ok(rows.iter().flatten().all(|cell| cell != "failed"))
}

/// Measures how often and how soon abide is right about these agents, and prints the table. False if one could not be
/// measured.
///
/// # Errors
/// As `run`.
pub fn measure(wanted: &[String], out: &mut impl Write) -> io::Result<bool> {
    let kinds = chosen(wanted)?;
    let programs = install(&kinds)?;
    let abide = crate::bench::built()?;
    let (mut rows, mut whole) = (Vec::new(), true);
    for kind in kinds {
        let place = Place::new(kind, &abide, &programs)?;
        match accuracy::rows(&place, &version(&place), out) {
            Ok(measured) => rows.extend(measured),
            Err(why) => {
                whole = false;
                writeln!(out, "{} could not be measured: {why}", kind.name)?;
            }
        }
    }
    table(&accuracy::HEADS.map(str::to_owned), &rows, out)?;
    Ok(whole)
}

fn chosen(wanted: &[String]) -> io::Result<Vec<&'static Kind>> {
    let find = |name: &String| {
        let kind = KINDS.iter().find(|kind| kind.name == *name);
        kind.ok_or_else(|| io::Error::other(format!("there is no agent {name}")))
    };
    if wanted.is_empty() { Ok(KINDS.iter().collect()) } else { wanted.iter().map(find).collect() }
}

/// Installs what is not there yet, and gives the directory of the programs.
fn install(kinds: &[&Kind]) -> io::Result<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let agents = match std::env::var_os("ABIDE_REAL_AGENTS") {
        Some(elsewhere) => PathBuf::from(elsewhere),
        None => here.join("../../target/agents"),
    };
    let names = kinds.iter().map(|kind| kind.name);
    let status = Command::new(here.join("agents/install.sh")).arg(&agents).args(names).status()?;
    if status.success() {
        agents.join("bin").canonicalize()
    } else {
        Err(io::Error::other("the agents could not be installed"))
    }
}

/// What an agent says of itself: the first word with a digit.
fn version(place: &Place) -> String {
    let said = place.ask_agent(&["--version"]);
    let is_version = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.');
    let found = said.split_whitespace().find(is_version).unwrap_or("?");
    found.trim_end_matches('.').to_owned()
}

fn table(heads: &[String], rows: &[Vec<String>], out: &mut impl Write) -> io::Result<()> {
    let all: Vec<&[String]> = std::iter::once(heads).chain(rows.iter().map(Vec::as_slice)).collect();
    let width = |column: usize| all.iter().map(|row| row[column].len()).max().unwrap_or(0);
    writeln!(out)?;
    for row in &all {
        let cells = row.iter().enumerate().map(|(column, cell)| format!("{cell:<0$}", width(column)));
        writeln!(out, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
    }
    Ok(())
}
