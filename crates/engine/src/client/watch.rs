//! Watching: this terminal shows something anew every now and then, until somebody leaves it.

use std::io;
use std::os::fd::AsFd;

use abide_core::failure::{Code, Failure};
use abide_core::recording::player::Key;
use abide_core::screen::Size;
use abide_sys::clock;
use abide_sys::poll::{self, Interest};
use abide_sys::signal::{self, Signals};
use abide_sys::tty::{self, Raw};

use super::terminal::{Terminal, own_size, typed};

const BEGIN: &str = "\x1b[?1049h\x1b[?25l";
const END: &str = "\x1b[0m\x1b[?25h\x1b[?1049l";

/// Waits for so long, and does nothing else.
pub fn pause(ms: u64) {
    let until = clock::now().boot.saturating_add(ms);
    while let left @ 1.. = until.saturating_sub(clock::now().boot) {
        let _ = poll::wait(&[], Some(left));
    }
}

/// Shows lines that are made anew each time: `first_ms` from now, then every so often, and when the terminal changes its
/// size. Gives the signal that ended that, if one did.
///
/// # Errors
/// If there is no terminal, or no lines could be made.
pub fn watch(
    first_ms: u64,
    every_ms: u64,
    lines: &mut dyn FnMut() -> Result<String, Failure>,
) -> Result<Option<i32>, Failure> {
    if !tty::is_terminal(io::stdin()) || !tty::is_terminal(io::stdout()) {
        return Err(Failure::new(Code::Usage, "watching needs a terminal"));
    }
    let failed = |e: io::Error| Failure::io("use", &"this terminal", &e);
    let numbers = [signal::WINCH, signal::TERM, signal::HUP, signal::INT];
    let signals = Signals::of(&numbers).map_err(failed)?;
    let mut terminal = Terminal::new().map_err(failed)?;
    let raw = Raw::standard_input().map_err(failed)?;
    terminal.add(BEGIN.as_bytes());
    let left = show(&mut terminal, &signals, (first_ms, every_ms), lines);
    terminal.add(END.as_bytes());
    terminal.drain();
    drop(raw);
    left
}

fn show(
    terminal: &mut Terminal,
    signals: &Signals,
    (first_ms, every_ms): (u64, u64),
    lines: &mut dyn FnMut() -> Result<String, Failure>,
) -> Result<Option<i32>, Failure> {
    let mut due = clock::now().boot.saturating_add(first_ms);
    loop {
        let left = wait_ms(due, clock::now().boot, terminal.took_all());
        let stdin = io::stdin();
        let reading = [Interest::reading(signals.as_fd()), Interest::reading(stdin.as_fd())];
        let ready = poll::wait(&[&reading[..], &[terminal.interest()]].concat(), left);
        while let Some(caught) = signals.next() {
            if caught.number != signal::WINCH {
                return Ok(Some(caught.number));
            }
            due = 0;
        }
        if ready[1].read && typed().is_none_or(|keys| keys.contains(&Key::Quit)) {
            return Ok(None);
        }
        if terminal.write().is_err() {
            return Ok(None);
        }
        if wait_ms(due, clock::now().boot, terminal.took_all()) == Some(0) {
            terminal.add(&picture(&lines()?, own_size()));
            due = clock::now().boot.saturating_add(every_ms);
        }
    }
}

/// How long until the next lines are made. For a terminal that has yet to take the last ones none are made: it would be
/// shown what is long over.
const fn wait_ms(due: u64, now: u64, took_all: bool) -> Option<u64> {
    if took_all { Some(due.saturating_sub(now)) } else { None }
}

/// As many of the lines as there is room for, written over what stood there.
fn picture(lines: &str, size: Size) -> Vec<u8> {
    let shown = lines.lines().take(usize::from(size.rows.max(1)));
    let shown: Vec<String> = shown.map(|line| format!("{line}\x1b[0m\x1b[K")).collect();
    format!("\x1b[?2026h\x1b[H{}\x1b[J\x1b[?2026l", shown.join("\r\n")).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn for_a_terminal_that_takes_nothing_nothing_is_made_and_no_time_ends_the_waiting() {
        assert_eq!(
            [wait_ms(7, 5, true), wait_ms(7, 7, true), wait_ms(7, 9, true)],
            [Some(2), Some(0), Some(0)]
        );
        assert_eq!([wait_ms(7, 5, false), wait_ms(7, 9, false)], [None, None]);
    }

    #[test]
    fn a_picture_is_no_higher_than_its_terminal_and_leaves_nothing_of_the_one_before() {
        let shown = String::from_utf8(picture("a\nb\nc\n", Size { cols: 10, rows: 2 })).unwrap();
        assert_eq!(shown, "\x1b[?2026h\x1b[Ha\x1b[0m\x1b[K\r\nb\x1b[0m\x1b[K\x1b[J\x1b[?2026l");
    }
}
