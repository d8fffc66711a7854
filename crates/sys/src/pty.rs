//! Pseudo-terminals: opened without becoming anyone's controlling terminal, sized, read without blocking.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use abide_core::evidence::Size;
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// Both ends of a terminal. The slave is kept open so that a program that closes its own does not end it.
#[derive(Debug)]
pub struct Pty {
    pub master: OwnedFd,
    pub slave: OwnedFd,
}

impl Pty {
    /// A new terminal of this size.
    ///
    /// # Errors
    /// If the system has no terminal to give.
    pub fn open(size: Size) -> io::Result<Self> {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = openpt(flags)?;
        grantpt(&master)?;
        unlockpt(&master)?;
        let slave = ioctl_tiocgptpeer(&master, flags)?;
        resize(&master, size)?;
        rustix::io::ioctl_fionbio(&master, true)?;
        Ok(Self { master, slave })
    }
}

/// The slave of a terminal whose master is held.
///
/// # Errors
/// If it is no terminal's master.
pub fn slave_of(master: impl AsFd) -> io::Result<OwnedFd> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    Ok(ioctl_tiocgptpeer(&master, flags)?)
}

/// Gives the terminal another size; its programs are told by the kernel.
///
/// # Errors
/// If it is no terminal.
pub fn resize(terminal: impl AsFd, size: Size) -> io::Result<()> {
    let size = Winsize { ws_row: size.rows, ws_col: size.cols, ws_xpixel: 0, ws_ypixel: 0 };
    Ok(tcsetwinsize(terminal, size)?)
}

/// The size of a terminal; none if it is not one.
#[must_use]
pub fn size(terminal: impl AsFd) -> Option<Size> {
    let size = rustix::termios::tcgetwinsize(terminal).ok()?;
    (size.ws_col > 0 && size.ws_row > 0).then_some(Size { cols: size.ws_col, rows: size.ws_row })
}
