//! A chain of relays from a keyboard to a program: each waits, reads and writes, in both directions. Between two of them is a
//! socket; behind the last, a terminal.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use abide_sys::tty::Raw;
use rustix::event::{PollFd, PollFlags, poll};

use crate::bare::Bare;

/// So many, of which this is the first.
pub fn chain(count: usize, program: &[&str]) -> io::Result<()> {
    // Only the first stands at a terminal.
    let _raw = Raw::standard_input();
    if count > 1 {
        let (here, there) = UnixStream::pair()?;
        let there = OwnedFd::from(there);
        let mut next = super::relayed(count - 1, program)?;
        next.stdin(there.try_clone()?).stdout(there).spawn()?;
        drop(next);
        relay(here.as_fd())
    } else {
        relay(Bare::start(program, None)?.terminal())
    }
}

/// Until either side is gone.
fn relay(there: BorrowedFd<'_>) -> io::Result<()> {
    let (input, output) = (io::stdin(), io::stdout());
    let mut bytes = [0; 4096];
    loop {
        let mut fds = [input.as_fd(), there].map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
        poll(&mut fds, None)?;
        let ready = fds.map(|fd| !fd.revents().is_empty());
        for (is_ready, from, to) in [(ready[0], input.as_fd(), there), (ready[1], there, output.as_fd())] {
            if is_ready && !pass(from, to, &mut bytes) {
                return Ok(());
            }
        }
    }
}

/// False if there is nothing more to come, or nobody to take it.
pub fn pass(from: BorrowedFd<'_>, to: BorrowedFd<'_>, bytes: &mut [u8]) -> bool {
    let Ok(length) = rustix::io::read(from, &mut *bytes) else { return false };
    let mut left = &bytes[..length];
    while !left.is_empty() {
        let Ok(written) = rustix::io::write(to, left) else { return false };
        left = &left[written..];
    }
    length > 0
}
