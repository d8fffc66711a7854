//! Runs the tests of every row of docs/truth.md and says which rows hold: `truth`. Fails if one does not.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

fn main() -> ExitCode {
    check().unwrap_or_else(|error| {
        let _ = writeln!(io::stderr(), "truth: {error}");
        ExitCode::FAILURE
    })
}

fn check() -> io::Result<ExitCode> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let table = std::fs::read_to_string(root.join("docs/truth.md"))?;
    let rows: Vec<Row<'_>> = table.lines().filter_map(Row::parse).collect();
    let mut names: Vec<&str> = rows.iter().flat_map(|row| row.tests.iter().copied()).collect();
    names.sort_unstable();
    names.dedup();
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["test", "--workspace", "--no-fail-fast", "--"]).args(&names).current_dir(root);
    let ran = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output()?;
    let said = String::from_utf8_lossy(&ran.stdout);
    let held: BTreeMap<&str, bool> = said.lines().filter_map(result).collect();
    let mut out = io::stdout().lock();
    let mut broken = 0;
    for row in &rows {
        let holds = row.tests.iter().all(|name| held.get(name) == Some(&true));
        broken += usize::from(!holds);
        writeln!(
            out,
            "{:>2} {} {}: {}",
            row.number,
            if holds { "ok " } else { "NOT" },
            row.given,
            row.answer
        )?;
        for name in row.tests.iter().filter(|name| held.get(*name) != Some(&true)) {
            writeln!(
                out,
                "       {name}: {}",
                if held.contains_key(name) { "failed" } else { "did not run" }
            )?;
        }
    }
    writeln!(out, "{} rows, {} tests, {broken} rows do not hold", rows.len(), names.len())?;
    Ok(if broken == 0 && !rows.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

struct Row<'a> {
    number: u32,
    given: &'a str,
    answer: &'a str,
    tests: Vec<&'a str>,
}

impl<'a> Row<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let cells: Vec<&str> = line.strip_prefix("| ")?.strip_suffix(" |")?.split(" | ").collect();
        let [number, given, answer, tests] = cells[..] else { return None };
        Some(Self {
            number: number.parse().ok()?,
            given,
            answer,
            tests: tests.split('`').skip(1).step_by(2).collect(),
        })
    }
}

/// The name of a test and whether it passed, of a line of its harness.
fn result(line: &str) -> Option<(&str, bool)> {
    let (path, how) = line.strip_prefix("test ")?.split_once(" ... ")?;
    Some((path.rsplit("::").next()?, how == "ok"))
}
