//! How fast a program may write: into a session, with recording, screen and keyframes, beside a terminal that somebody
//! only reads. In turns, the best of several: what the machine does meanwhile must not decide.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::process::{Command, Stdio};

use abide_core::evidence::Size;
use abide_sys::clock;
use abide_sys::poll::{self, Interest};
use abide_sys::pty::Pty;

use super::Bench;
use crate::running::cpu_ticks;

const TURNS: usize = 5;
const MEGABYTES: usize = 100;

/// # Errors
/// If something cannot be started.
pub fn run(out: &mut impl Write) -> io::Result<()> {
    for (name, line) in [("plain", plain as fn(usize) -> String), ("colourful", colourful)] {
        let bench = Bench::new()?;
        let path = bench.beside(name);
        let mut text = String::with_capacity((MEGABYTES << 20) + 256);
        for number in 0.. {
            if text.len() >= MEGABYTES << 20 {
                break;
            }
            text.push_str(&line(number));
        }
        File::create(&path)?.write_all(text.as_bytes())?;
        let script = format!("cat {path}");
        let mut best = [f64::MIN; 2];
        let (mut guard, mut host) = (0, 0);
        for _ in 0..TURNS {
            best[0] = best[0].max(text.len() as f64 / bare(&script)?);
            let (took, ticks) = session(&bench, &script)?;
            best[1] = best[1].max(text.len() as f64 / took);
            [guard, host] = ticks;
        }
        // Hundredths of a second for so many megabytes.
        let each = |ticks: u64| ticks as f64 * 10.0 / MEGABYTES as f64;
        writeln!(
            out,
            "{name:>9}: a bare terminal takes {:.0} MB/s, a session {:.0} MB/s, ratio {:.2}; guard {:.2} ms, host {:.2} ms \
             of processor a MB",
            best[0],
            best[1],
            best[1] / best[0],
            each(guard),
            each(host)
        )?;
    }
    Ok(())
}

fn plain(number: usize) -> String {
    format!("{number:>10} the quick brown fox jumps over the lazy dog and then over the next one\n")
}

fn colourful(number: usize) -> String {
    let (red, green) = (number % 256, number / 7 % 256);
    format!(
        "\x1b[1;3{}m{number}\x1b[0m \x1b[38;2;{red};{green};99mcolour\x1b[4m under\x1b[0m \x1b[48;5;{red}mback\x1b[m\n",
        number % 8
    )
}

/// Microseconds until a terminal has shown all of it to one who only reads.
fn bare(script: &str) -> io::Result<f64> {
    let pty = Pty::open(Size { cols: 80, rows: 24 })?;
    let slave = || pty.slave.try_clone().map(Stdio::from);
    let began = clock::boot_micros();
    let mut writer = Command::new("setsid")
        .args(["--ctty", "sh", "-c", script])
        .stdin(slave()?)
        .stdout(slave()?)
        .spawn()?;
    drop(pty.slave);
    let mut master = File::from(pty.master);
    let mut bytes = vec![0; 64 * 1024];
    loop {
        let _ = poll::wait(&[Interest::reading(master.as_fd())], None);
        match master.read(&mut bytes) {
            Ok(0) => break,
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => break,
        }
    }
    writer.wait()?;
    Ok((clock::boot_micros() - began) as f64)
}

/// Microseconds from the launch of a session until its program has written all, and the processor time of guard and host.
fn session(bench: &Bench, script: &str) -> io::Result<(f64, [u64; 2])> {
    let [done, go] = ["done", "go"].map(|name| bench.beside(name));
    let script = format!("{script}; echo done > {done}; read go < {go}");
    Command::new("mkfifo").args([&done, &go]).status()?;
    let began = clock::boot_micros();
    let id = bench.launch(&["sh", "-c", &script])?;
    // Blocks until the program opens it too, and takes no time from anyone meanwhile.
    let mut said = String::new();
    File::open(&done)?.read_to_string(&mut said)?;
    let took = (clock::boot_micros() - began) as f64;
    let _ = bench.abide.run(&["snapshot", &id]);
    let ticks = ["guard", "host"].map(|who| bench.process(&id, who).map_or(0, |one| cpu_ticks(one.pid())));
    File::options().write(true).open(&go)?.write_all(b"go\n")?;
    let _ = bench.abide.run(&["wait", &id]);
    let _ = bench.abide.run(&["rm", &id]);
    std::fs::remove_file(&done)?;
    std::fs::remove_file(&go)?;
    Ok((took, ticks))
}
