//! abide, the command line: a table of contents. Only `main` ends the process.

mod args;
mod cmd;
mod config;
mod design;
mod environment;
mod export;
mod output;
mod show;
mod target;
mod when;

use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some(helped) = abide_engine::help_a_session(std::env::args_os().nth(1)) {
        return if helped { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    ExitCode::from(match args::parse(std::env::args_os()) {
        Ok(cli) => cmd::perform(cli),
        Err(refused) => refused.tell(),
    })
}
