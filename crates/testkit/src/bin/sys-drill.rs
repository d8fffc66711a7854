//! Asks `abide_sys` from awkward positions: see `abide_testkit::drill`.

use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    abide_testkit::drill::main(&args)
}
