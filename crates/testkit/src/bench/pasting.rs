//! Megabytes pasted into `cat > file` while another client reads snapshots: every byte arrives once, in its order.
//! Two terminals: one as it comes, which echoes and gives out lines, so lines are shorter than the 4,095 bytes that it
//! keeps of one; and a raw one without echo, for any bytes. No new line among those: a terminal sends Enter for it.

use std::fs::{self, File};
use std::io::{self, Write};

use abide_sys::clock;

use super::{Bench, Tally, same};
use crate::deadline::until;
use crate::lines::Dice;

const BYTES: usize = 10 << 20;

/// # Errors
/// If something was lost, or a snapshot failed meanwhile.
pub fn run(out: &mut impl Write) -> io::Result<()> {
    let (bench, mut dice) = (Bench::new()?, Dice(7));
    let mut text = String::new();
    for number in 0.. {
        if text.len() >= BYTES {
            break;
        }
        text += &format!("{number} é漢 {}\n", "x".repeat(usize::from(dice.byte())));
    }
    let to = bench.beside("text");
    let id = bench.ready(&format!("echo ready; exec cat > {to}"))?;
    paste(&bench, &id, text.as_bytes(), ("lines, with echo", out))?;
    bench.done(&["keys", &id, "Ctrl-D"])?;
    bench.done(&["wait", &id])?;
    compare(&to, text.as_bytes(), out)?;

    let bytes: Vec<u8> =
        (0..BYTES).map(|_| dice.byte()).map(|byte| if byte == b'\n' { 0 } else { byte }).collect();
    let to = bench.beside("bytes");
    let id = bench.ready(&format!("stty raw -echo; echo ready; exec cat > {to}"))?;
    paste(&bench, &id, &bytes, ("any bytes, raw", out))?;
    until("cat has written it", || fs::metadata(&to).is_ok_and(|file| file.len() >= bytes.len() as u64));
    bench.done(&["stop", &id])?;
    compare(&to, &bytes, out)
}

/// Pastes, and reads snapshots until that is done.
fn paste(bench: &Bench, id: &str, bytes: &[u8], (what, out): (&str, &mut impl Write)) -> io::Result<()> {
    let from = bench.beside("from");
    File::create(&from)?.write_all(bytes)?;
    let mut looks = Tally::default();
    let began = clock::boot_micros();
    let took = std::thread::scope(|scope| {
        let pasted = scope.spawn(|| {
            let ran = bench.abide.command(&["paste", "--json", id, "--file", &from]).output()?;
            let took = clock::boot_micros() - began;
            same("the end of the paste", ran.status.code(), Some(0)).map(|()| took)
        });
        while !pasted.is_finished() {
            looks.round(|| {
                let looked = bench.done(&["snapshot", "--json", id])?.json();
                same("the source", looked["data"]["source"].as_str(), Some("live"))
            });
        }
        pasted.join().expect("it ends")
    })? as f64;
    let megabytes = bytes.len() as f64 / 1e6;
    writeln!(
        out,
        "{megabytes:.1} MB pasted, {what}: {:.2} s, {:.1} MB/s",
        took / 1e6,
        megabytes * 1e6 / took
    )?;
    looks.tell("  snapshots meanwhile", out)
}

fn compare(file: &str, wanted: &[u8], out: &mut impl Write) -> io::Result<()> {
    let seen = fs::read(file)?;
    let other = seen.iter().zip(wanted).position(|(a, b)| a != b);
    same("(bytes in the file, the first that differs)", (seen.len(), other), (wanted.len(), None))?;
    writeln!(out, "  {} bytes in the file, each as it was pasted", seen.len())
}
