//! The terminal of whoever runs a command: put into raw mode, and always given back as it was.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::termios::{
    InputModes, LocalModes, OptionalActions, OutputModes, Termios, isatty, tcgetattr, tcsetattr,
};

/// A terminal in raw mode until this is dropped.
#[derive(Debug)]
pub struct Raw {
    terminal: OwnedFd,
    before: Termios,
}

impl Raw {
    /// Puts standard input into raw mode.
    ///
    /// # Errors
    /// If it is no terminal.
    pub fn standard_input() -> io::Result<Self> {
        let terminal = io::stdin().as_fd().try_clone_to_owned()?;
        let before = tcgetattr(&terminal)?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(&terminal, OptionalActions::Flush, &raw)?;
        Ok(Self { terminal, before })
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        // A terminal that is gone needs no mode.
        let _ = tcsetattr(&self.terminal, OptionalActions::Drain, &self.before);
    }
}

/// Standard output once more, opened anew so that writing to it never blocks: a terminal may stop taking anything.
///
/// # Errors
/// If it cannot be opened.
pub fn unblocked_output() -> io::Result<OwnedFd> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    Ok(rustix::fs::open("/proc/self/fd/1", flags, Mode::empty())?)
}

/// Writes what it takes now. None if it takes nothing now.
///
/// # Errors
/// If it is gone.
pub fn write_some(terminal: impl AsFd, bytes: &[u8]) -> io::Result<Option<usize>> {
    match rustix::io::write(terminal, bytes) {
        Ok(written) => Ok(Some(written)),
        Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

/// The number of a terminal, as `/proc` has it; none for what is no terminal.
#[must_use]
pub fn number(terminal: impl AsFd) -> Option<u32> {
    let device = rustix::fs::fstat(&terminal).ok().filter(|_| isatty(&terminal))?.st_rdev;
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    Some((minor & 0xff) | (major << 8) | ((minor & !0xff) << 12))
}

/// Whether this is a terminal.
#[must_use]
pub fn is_terminal(fd: impl AsFd) -> bool {
    isatty(fd)
}

/// Whether what is typed now at this terminal is a password: whole lines are read, and nothing is echoed.
/// A line editor reads single keys, so it is not taken for one.
#[must_use]
pub fn hides_input(terminal: impl AsFd) -> bool {
    let modes = tcgetattr(terminal).map(|modes| modes.local_modes);
    modes.is_ok_and(|modes| modes.contains(LocalModes::ICANON) && !modes.contains(LocalModes::ECHO))
}

/// Whether who reads this terminal now gets whole lines, and what comes is echoed: nobody reads keys there yet.
#[must_use]
pub fn echoes_lines(terminal: impl AsFd) -> bool {
    tcgetattr(terminal).is_ok_and(|modes| modes.local_modes.contains(LocalModes::ICANON | LocalModes::ECHO))
}

/// Whether whoever reads this terminal, named by its number in `/proc`, gets whole lines. False where that cannot be
/// told.
#[must_use]
pub fn reads_lines(number: u32) -> bool {
    modes(number).is_some_and(|modes| modes.local_modes.contains(LocalModes::ICANON))
}

/// Whether this terminal, named by its number, gives a line feed where Enter was pressed: no line editor of readline's
/// kind has it so. False where that cannot be told.
#[must_use]
pub fn takes_returns(number: u32) -> bool {
    modes(number).is_some_and(|modes| modes.input_modes.contains(InputModes::ICRNL))
}

/// Whether this terminal, named by its number, puts a carriage return before each line feed. True where that cannot be
/// told: as good as all do.
#[must_use]
pub fn returns_carriage(number: u32) -> bool {
    let both = OutputModes::OPOST | OutputModes::ONLCR;
    modes(number).is_none_or(|modes| modes.output_modes.contains(both))
}

fn modes(number: u32) -> Option<Termios> {
    use rustix::fs::{Mode, OFlags};
    let (major, minor) = (number >> 8 & 0xfff, number & 0xff | number >> 12 & 0xfff00);
    if !(136..144).contains(&major) {
        return None;
    }
    let index = (major - 136) * 256 + minor;
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let terminal = rustix::fs::open(format!("/dev/pts/{index}"), flags, Mode::empty());
    let same = |terminal: &OwnedFd| self::number(terminal) == Some(number);
    terminal.ok().filter(same).and_then(|terminal| tcgetattr(terminal).ok())
}
