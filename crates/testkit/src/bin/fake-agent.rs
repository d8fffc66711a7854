//! A program that does what its script says: see `abide_testkit::agent`.

use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    abide_testkit::agent::main(&args)
}
