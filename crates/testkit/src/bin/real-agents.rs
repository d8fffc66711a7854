//! Installs real agents and holds the released binary against them: `real-agents [AGENT...]`. Exits with 1 if a check fails.

use std::io::{self, Write};
use std::process::ExitCode;

fn main() -> ExitCode {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    match abide_testkit::real::run(&wanted, &mut io::stdout()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            let _ = writeln!(io::stderr(), "real-agents: {error}");
            ExitCode::FAILURE
        }
    }
}
