//! `abide exec` of lines by chance in every shell that it knows: codes and outputs, byte by byte.

use std::io::{self, Write};

use abide_sys::clock;

use super::{Bench, Tally};
use crate::lines::{Dice, Line, SHELLS};
use crate::tools::needed;

pub const TIMES: usize = 200;
const LARGEST: u64 = 1 << 20;

/// Runs so many lines in each shell, those of a seed if there is one.
///
/// # Errors
/// If a shell is not installed, or a code or an output was not that of its line.
pub fn run(times: usize, seed: Option<usize>, out: &mut impl Write) -> io::Result<()> {
    needed(&SHELLS.map(|command| command[0]))?;
    let random = u32::from_ne_bytes(clock::random_bytes()?);
    let seed = seed.map_or(random.into(), |seed| seed as u64);
    writeln!(out, "{times} lines a shell of at most {LARGEST} bytes (`exec {times} {seed}` has them again)")?;
    let told = SHELLS.map(|command| {
        let bench = Bench::new()?;
        let id = bench.launch(command)?;
        let (mut dice, mut tally, mut bytes) = (Dice(seed), Tally::default(), 0);
        for _ in 0..times {
            let line = dice.line(LARGEST);
            bytes += line.output.len();
            tally.round(|| exec(&bench, &id, &line));
        }
        tally.tell(&format!("{:<4} {:>3} MB", command[0], bytes / 1_000_000), out)
    });
    told.into_iter().collect()
}

fn exec(bench: &Bench, id: &str, line: &Line) -> io::Result<()> {
    let mut command = bench.abide.command(&["exec", "--timeout", "60s", id, "--", &line.text]);
    let ran = command.output()?;
    let (seen, wanted) = (&ran.stdout, &line.output);
    let from = seen.iter().zip(wanted).position(|(a, b)| a != b).unwrap_or(seen.len().min(wanted.len()));
    let exact = seen == wanted && ran.status.code() == Some(line.code.into()) && ran.stderr.is_empty();
    let piece =
        |bytes: &[u8]| bytes[from..].iter().take(40).copied().collect::<Vec<_>>().escape_ascii().to_string();
    exact.then_some(()).ok_or_else(|| {
        io::Error::other(format!(
            "{}\n  {} and not {}; {} bytes and not {}; from byte {from} on \"{}\" and not \"{}\"; {}",
            line.text,
            ran.status,
            line.code,
            seen.len(),
            wanted.len(),
            piece(seen),
            piece(wanted),
            String::from_utf8_lossy(&ran.stderr)
        ))
    })
}
