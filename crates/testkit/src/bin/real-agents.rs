//! Installs real agents and holds the released binary against them: `real-agents [--check NAME] [AGENT...]`, all checks
//! without a name. With `--accuracy` first it measures how often and how soon abide is right about them instead. Exits with
//! 1 if a check fails.

use std::io::{self, Write};
use std::process::ExitCode;

use abide_testkit::real;

fn main() -> ExitCode {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let done = match wanted.as_slice() {
        [first, rest @ ..] if first == "--accuracy" => real::measure(rest, &mut io::stdout()),
        [first, name, rest @ ..] if first == "--check" => real::run(Some(name), rest, &mut io::stdout()),
        all => real::run(None, all, &mut io::stdout()),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            let _ = writeln!(io::stderr(), "real-agents: {error}");
            ExitCode::FAILURE
        }
    }
}
