//! abide, the command line: a table of contents. Only `main` ends the process.

mod args;
mod cmd;
mod output;
mod show;
mod when;

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(match args::parse(std::env::args_os()) {
        Ok(cli) => cmd::perform(cli),
        Err(refused) => refused.tell(),
    })
}
