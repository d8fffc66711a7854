//! Figures about whole lives of sessions, on the released binary: how soon a wait returns, what a killed helper costs,
//! what idle sessions take, how soon the past is found. Says what it saw; whoever reads judges.

use std::io::{self, Write};
use std::process::ExitCode;

use abide_testkit::bench::{killing, memory, past, recording, stopping, upgrading, waiting};

fn main() -> ExitCode {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let all = ["wait", "memory", "record", "past", "search", "stop", "upgrade", "kill-host", "kill-guard"]
        .map(str::to_owned);
    let wanted = if wanted.is_empty() { all.to_vec() } else { wanted };
    for one in wanted {
        if let Err(error) = bench(&one) {
            let _ = writeln!(io::stderr(), "bench-life: {one}: {error}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn bench(what: &str) -> io::Result<()> {
    let mut out = io::stdout();
    match what {
        "wait" => waiting::run(&mut out),
        "memory" => memory::run(&mut out),
        "record" => recording::run(&mut out),
        "past" => past::run(&mut out),
        "search" => past::search(&mut out),
        "stop" => stopping::run(&mut out),
        "upgrade" => upgrading::run(&mut out),
        "kill-host" => killing::run("host", &mut out),
        "kill-guard" => killing::run("guard", &mut out),
        _ => Err(io::Error::other("there is no such figure")),
    }
}
