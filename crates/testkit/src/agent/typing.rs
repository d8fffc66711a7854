//! The steps that read a terminal key by key, as full-screen programs do.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::path::Path;

use abide_sys::signal::{self, Signals};
use abide_sys::{poll, pty};
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};

/// Ends what `keep_keys` takes.
const FULL_STOP: u8 = b'.';

/// Asks for the cursor's position from another place each time: an answer that is missing, wrong or doubled is
/// found at the next one, and the last one by the question that follows it.
pub(super) fn ask_cursor(times: u16) -> io::Result<()> {
    raw()?;
    for number in 0..times {
        let (row, col) = (number % 20 + 1, number % 70 + 1);
        ask(&format!("\x1b[{row};{col}H\x1b[6n"), &format!("\x1b[{row};{col}R"))?;
    }
    ask("\x1b[5n", "\x1b[0n")
}

fn ask(question: &str, expected: &str) -> io::Result<()> {
    io::stdout().lock().write_all(question.as_bytes())?;
    io::stdout().flush()?;
    let mut answer = vec![0; expected.len()];
    io::stdin().lock().read_exact(&mut answer)?;
    if answer == expected.as_bytes() {
        return Ok(());
    }
    Err(io::Error::other(format!("asked {question:?}, was answered {:?}", String::from_utf8_lossy(&answer))))
}

/// Every key is in the file as soon as it was read.
pub(super) fn keep_keys(file: &Path) -> io::Result<()> {
    raw()?;
    let mut file = File::create(file)?;
    super::perform::say("ready\r")?;
    let mut keys = [0; 4096];
    loop {
        let length = io::stdin().lock().read(&mut keys)?;
        let keys = &keys[..length];
        file.write_all(keys)?;
        if length == 0 || keys.contains(&FULL_STOP) {
            return Ok(());
        }
    }
}

/// Every size that the terminal has, as the kernel tells it.
pub(super) fn tell_size() -> io::Result<()> {
    let changes = Signals::of(&[signal::WINCH])?;
    loop {
        let size = pty::size(io::stdin()).ok_or(io::ErrorKind::InvalidInput)?;
        super::perform::say(&format!("size {}x{}", size.cols, size.rows))?;
        let ready = poll::readable(&[io::stdin().as_fd(), changes.as_fd()], None);
        if ready[0] {
            return Ok(());
        }
        while changes.next().is_some() {}
    }
}

pub(super) fn raw() -> io::Result<()> {
    let mut mode = tcgetattr(io::stdin())?;
    mode.make_raw();
    Ok(tcsetattr(io::stdin(), OptionalActions::Now, &mode)?)
}
