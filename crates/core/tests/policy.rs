//! The policy table against the specification: each column as the set of statuses that have a yes in it, and a
//! proof by the compiler that exactly the cells that a rule speaks of cannot be flipped.

#![cfg(test)]

use std::collections::BTreeSet;
use std::io::Write;
use std::process::{Command, Stdio};

use abide_core::failure::{Kind, admit};
use abide_core::status::{Column, Status};

/// The table's source, of which altered copies are compiled.
const SOURCE: &str = include_str!("../src/status.rs");

const STATUSES: [&str; 10] = [
    "starting",
    "running",
    "unattended",
    "exiting",
    "exited",
    "failed",
    "lost",
    "unknown",
    "destroying",
    "destroyed",
];

/// Each column, and the statuses that have a yes in it.
const COLUMNS: [(&str, &[&str]); 8] = [
    ("active", &["starting", "running", "unattended", "exiting", "unknown", "destroying"]),
    ("terminal", &["exited", "failed", "lost", "destroyed"]),
    ("commandable", &["running"]),
    ("stoppable", &["starting", "running", "unattended"]),
    ("live_host", &["starting", "running", "exiting"]),
    ("offline_replay", &["unattended", "exited", "failed", "lost", "unknown", "destroying", "destroyed"]),
    ("collectable", &["exited", "failed", "lost", "destroyed"]),
    ("destroyed", &["destroyed"]),
];

#[test]
fn the_list_of_statuses_is_complete_and_in_order() {
    let names: Vec<&str> = Status::ALL.iter().map(|status| status.name()).collect();
    assert_eq!(names, STATUSES);
    let distinct: BTreeSet<&str> = names.into_iter().collect();
    assert_eq!(distinct.len(), STATUSES.len(), "two statuses share a name");
    // A status that is not in the list would stop this build.
    for &status in Status::ALL {
        match status {
            Status::Starting | Status::Running | Status::Unattended | Status::Exiting | Status::Exited => {}
            Status::Failed | Status::Lost | Status::Unknown | Status::Destroying | Status::Destroyed => {}
        }
        assert!(!status.when().is_empty());
    }
}

#[test]
fn each_column_is_the_set_of_statuses_that_the_specification_names() {
    let names: Vec<&str> = Column::ALL.iter().map(|column| column.name()).collect();
    assert_eq!(names, COLUMNS.map(|(name, _)| name));
    for (column, (name, expected)) in Column::ALL.iter().zip(COLUMNS) {
        let holds = Status::ALL.iter().filter(|&&status| column.holds(status)).map(|status| status.name());
        assert_eq!(holds.collect::<Vec<_>>(), expected, "column {name}");
    }
}

#[test]
fn the_named_questions_and_the_row_say_what_the_column_says() {
    for &status in Status::ALL {
        let row = status.policy();
        let questions = [
            (Column::Active, status.is_active(), row.active),
            (Column::Terminal, status.is_terminal(), row.terminal),
            (Column::Commandable, status.is_commandable(), row.commandable),
            (Column::Stoppable, status.is_stoppable(), row.stoppable),
            (Column::LiveHost, status.has_live_host(), row.live_host),
            (Column::OfflineReplay, status.replays_offline(), row.offline_replay),
            (Column::Collectable, status.is_collectable(), row.collectable),
            (Column::Destroyed, status.is_destroyed(), row.destroyed),
        ];
        assert_eq!(questions.len(), Column::ALL.len());
        for (column, question, cell) in questions {
            let held = column.holds(status);
            assert_eq!((question, cell), (held, held), "{} of {}", column.name(), status.name());
        }
    }
}

#[test]
fn a_refusal_names_the_session_the_status_the_reason_and_the_way_out() {
    let codes: BTreeSet<&str> = Column::ALL.iter().map(|column| column.refusal()).collect();
    assert_eq!(codes.len(), Column::ALL.len(), "two columns share an error code");
    for &status in Status::ALL {
        for &column in Column::ALL {
            let Err(failure) = admit("k3v9q2zr", status, column) else {
                assert!(column.holds(status));
                continue;
            };
            assert!(!column.holds(status));
            assert_eq!(failure.code.name(), column.refusal());
            assert_eq!(failure.code.kind().exit_code(), Kind::Refused.exit_code());
            assert!(failure.message.contains("k3v9q2zr") && failure.message.contains(status.name()));
            assert!(failure.message.contains(status.when()));
            assert!(failure.hint.is_some_and(|hint| hint.contains("k3v9q2zr")));
            assert_eq!((failure.session.as_deref(), failure.status), (Some("k3v9q2zr"), Some(status)));
        }
    }
}

#[test]
fn the_compiler_refuses_exactly_the_flips_that_break_a_rule() {
    let mut source = String::new();
    let mut copies = vec![add_copy(&mut source, "as_it_is", SOURCE)];
    for (row, column) in every_cell() {
        copies.push(add_copy(&mut source, &cell_name(row, column), &flipped(row, column)));
    }
    let refused: BTreeSet<String> =
        refused_lines(&source).into_iter().map(|line| owner_of(&copies, line).to_owned()).collect();

    let breaks = |&(row, column): &(usize, usize)| {
        let mut cells = cells_of(row);
        cells[column] = !cells[column];
        breaks_a_rule(cells)
    };
    let expected: BTreeSet<String> =
        every_cell().filter(breaks).map(|(row, column)| cell_name(row, column)).collect();
    assert!(expected.len() > 40 && expected.len() < 80, "the rules speak of some cells, not of all");
    assert_eq!(refused, expected);
}

fn every_cell() -> impl Iterator<Item = (usize, usize)> {
    (0..STATUSES.len()).flat_map(|row| (0..COLUMNS.len()).map(move |column| (row, column)))
}

fn cell_name(row: usize, column: usize) -> String {
    format!("{}_{}", STATUSES[row], COLUMNS[column].0)
}

/// The specification's row of a status.
fn cells_of(row: usize) -> [bool; 8] {
    COLUMNS.map(|(_, statuses)| statuses.contains(&STATUSES[row]))
}

/// The rules between the columns, as the specification has them.
fn breaks_a_rule(cells: [bool; 8]) -> bool {
    let [active, terminal, commandable, stoppable, live_host, offline_replay, collectable, destroyed] = cells;
    let one_of = |a: bool, b: bool| a ^ b;
    let implies = |a: bool, b: bool| !a || b;
    let rules = [
        one_of(active, terminal),
        implies(collectable, terminal),
        implies(commandable, active),
        implies(commandable, live_host),
        implies(stoppable, active),
        one_of(live_host, offline_replay),
        implies(destroyed, collectable),
    ];
    rules.contains(&false)
}

/// The table's source with one cell flipped.
fn flipped(row: usize, column: usize) -> String {
    let name = format!("\"{}\"", STATUSES[row]);
    let is_row = |line: &&str| line.contains(&name) && line.contains('[');
    let line = SOURCE.lines().find(is_row).unwrap_or_else(|| panic!("no row {name}"));
    let (open, close) = (line.find('[').unwrap(), line.find(']').unwrap());
    let digits: Vec<usize> = (open..close).filter(|&at| line.as_bytes()[at].is_ascii_digit()).collect();
    assert_eq!(digits.len(), COLUMNS.len(), "row {name}");
    let cell = digits[column]..=digits[column];
    let was = if cells_of(row)[column] { "1" } else { "0" };
    assert_eq!(&line[cell.clone()], was, "cell {} of {name}", COLUMNS[column].0);
    let mut altered = line.to_owned();
    altered.replace_range(cell, if was == "1" { "0" } else { "1" });
    SOURCE.replacen(line, &altered, 1)
}

/// One altered copy within the source that is compiled: its name and the line behind it.
type Copy = (String, usize);

fn add_copy(source: &mut String, name: &str, text: &str) -> Copy {
    source.push_str(&format!("pub mod {name} {{\n{text}\n}}\n"));
    (name.to_owned(), source.lines().count())
}

fn owner_of(copies: &[Copy], line: usize) -> &str {
    let copy = copies.iter().find(|(_, last)| line <= *last);
    copy.map_or_else(|| panic!("line {line} is behind all copies"), |(name, _)| name)
}

/// The lines of the source that the compiler refuses to evaluate.
fn refused_lines(source: &str) -> Vec<usize> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let spawned = Command::new(&rustc)
        .args(["--edition", "2024", "--crate-type", "lib", "--crate-name", "altered", "--emit=metadata"])
        .args(["--error-format=json", "--out-dir", env!("CARGO_TARGET_TMPDIR"), "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn();
    let mut compiler = spawned.unwrap_or_else(|error| {
        panic!("cannot prove the table: the compiler {rustc:?} cannot be run ({error}); set RUSTC or PATH")
    });
    compiler.stdin.take().unwrap().write_all(source.as_bytes()).unwrap();
    let output = compiler.wait_with_output().unwrap();
    let messages = String::from_utf8(output.stderr).unwrap();
    messages.lines().filter_map(refused_line).collect()
}

/// The line of a failed assertion. Any other error says that the test itself is wrong.
fn refused_line(message: &str) -> Option<usize> {
    let message: serde_json::Value = serde_json::from_str(message).unwrap_or_else(|_| panic!("{message}"));
    let code = message["code"]["code"].as_str();
    // The last words of the compiler ("aborting due to ...") have no place.
    if message["level"] != "error" || message["spans"].as_array().is_none_or(Vec::is_empty) {
        return None;
    }
    assert_eq!(code, Some("E0080"), "not a failed assertion: {}", message["rendered"]);
    // The panic stands in the library; the assertion that led there is at the root of the expansions.
    let mut span = &message["spans"][0];
    while !span["expansion"].is_null() {
        span = &span["expansion"]["span"];
    }
    let line = span["line_start"].as_u64().unwrap();
    Some(usize::try_from(line).unwrap())
}
