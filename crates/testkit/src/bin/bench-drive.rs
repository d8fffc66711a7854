//! Figures about programs that other programs drive, on the released binary, each with what was checked: a figure of
//! something that went wrong is a failure.

use std::io::{self, Write};
use std::process::ExitCode;

use abide_testkit::bench::{batches, crowds, executing, latency, pasting, soaking};

const ALL: [&str; 5] = ["batch", "paste", "exec", "latency", "crowd"];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words = if words.is_empty() { ALL.map(str::to_owned).to_vec() } else { words };
    let mut failed = false;
    for asked in words.chunk_by(|_, next| number(next).is_some()) {
        let numbers: Vec<usize> = asked[1..].iter().filter_map(|word| number(word)).collect();
        if let Err(error) = bench(&asked[0], &numbers) {
            let _ = writeln!(io::stderr(), "bench-drive: {}: {error}", asked[0]);
            failed = true;
        }
    }
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn number(word: &str) -> Option<usize> {
    word.parse().ok()
}

fn bench(what: &str, numbers: &[usize]) -> io::Result<()> {
    let mut out = io::stdout();
    let given = |place: usize, otherwise| numbers.get(place).copied().unwrap_or(otherwise);
    match what {
        "batch" => batches::run(given(0, batches::TIMES), &mut out),
        "paste" => pasting::run(&mut out),
        "latency" => latency::run(&mut out),
        "crowd" => crowds::run(given(0, crowds::SESSIONS), given(1, crowds::SECONDS), &mut out),
        "soak" => soaking::run(given(0, soaking::SESSIONS), given(1, soaking::SECONDS), &mut out),
        "exec" => executing::run(given(0, executing::TIMES), numbers.get(1).copied(), &mut out),
        _ => Err(io::Error::other("there is no such figure")),
    }
}
