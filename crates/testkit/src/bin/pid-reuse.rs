//! Forces pid reuse again and again, as far as possible within one clock tick, and counts who takes the stranger for
//! the process: `pid-reuse [ROUNDS] [--thread]`. Fails if abide was wrong once.

use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use abide_core::identity::Liveness;
use abide_testkit::drill::MEANS;
use abide_testkit::namespace::unshare;
use abide_testkit::reuse::{Stranger, round};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let done = match args.first().map(String::as_str) {
        Some(IDLE) => idle(),
        Some(INSIDE) => count(&args[1..]),
        Some(_) | None => go_inside(&args),
    };
    done.unwrap_or_else(|error| {
        let _ = writeln!(io::stderr(), "pid-reuse: {error}");
        ExitCode::FAILURE
    })
}

/// What this program is started with again: as the process that does nothing, and in its own namespaces.
const IDLE: &str = "--idle";
const INSIDE: &str = "--inside";

fn idle() -> ! {
    loop {
        rustix::event::pause();
    }
}

fn go_inside(args: &[String]) -> io::Result<ExitCode> {
    let us = std::env::current_exe()?;
    Err(unshare(&["--pid", "--mount-proc"], &us).arg(INSIDE).args(args).exec())
}

/// How often each of the means was right, wrong or silent.
#[derive(Default)]
struct Figures {
    same_ticks: u32,
    wrong: [u32; 3],
    unknown: [u32; 3],
}

fn count(args: &[String]) -> io::Result<ExitCode> {
    let rounds: u32 = match args.iter().find(|arg| !arg.starts_with("--")) {
        Some(rounds) => rounds.parse().map_err(io::Error::other)?,
        None => 1000,
    };
    let stranger =
        if args.iter().any(|arg| arg == "--thread") { Stranger::Thread } else { Stranger::Process };
    let mut idle = Command::new(std::env::current_exe()?);
    idle.arg(IDLE);
    let mut figures = Figures::default();
    for _ in 0..rounds {
        let round = round(stranger, &mut idle)?;
        figures.same_ticks += u32::from(round.same_ticks);
        for each in 0..MEANS.len() {
            let wrong = round.alive[each].is_dead() || round.reused[each].is_alive() || round.held[each];
            let unknown = matches!(round.reused[each], Liveness::Unknown(_));
            figures.wrong[each] += u32::from(wrong);
            figures.unknown[each] += u32::from(unknown);
        }
    }
    print(&figures, rounds)?;
    Ok(ExitCode::from(u8::from(figures.wrong != [0; 3])))
}

fn print(figures: &Figures, rounds: u32) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "forced reuses: {rounds}")?;
    writeln!(out, "pid and start ticks alone say the same process: {}", figures.same_ticks)?;
    for (each, (name, _)) in MEANS.iter().enumerate() {
        writeln!(out, "abide with {name}: wrong {}, unknown {}", figures.wrong[each], figures.unknown[each])?;
    }
    Ok(())
}
