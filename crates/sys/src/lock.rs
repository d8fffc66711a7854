//! Lifetime locks: OFD locks on byte ranges of the evidence file, far behind its end.
//! A held lock proves that its holder lives, from any namespace; a free one proves nothing.
//! The files are close-on-exec, so a program never inherits a lock.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use abide_core::evidence::notification::Receiver;
use abide_core::identity::Lock;

/// Whose lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holder {
    Guard,
    Host,
    /// Whoever closes the session in another's stead, one at a time.
    Sealer,
    /// Whoever follows the agent in the session, one at a time.
    Scribe,
    /// Whoever follows a program that nobody serves, one at a time.
    Watcher,
    /// Whoever keeps trying to deliver notifications to this receiver, one at a time.
    Courier(Receiver),
    /// Whoever delivers one to it, for as long as that and its record take.
    Delivery(Receiver),
    /// Whoever goes on with a conversation, from asking who is at it until that is to be seen; one at a time in a home.
    Resumer,
    /// Whoever declares the program's word, or records the end that it belongs to; one at a time.
    Declarer,
}

const BASE: i64 = 1 << 62;
/// Behind the last of them.
const END: i64 = Holder::Delivery(Receiver::Webhook).offset() + 1;

impl Holder {
    const fn offset(self) -> i64 {
        match self {
            Self::Guard => BASE,
            Self::Host => BASE + 1,
            Self::Sealer => BASE + 2,
            Self::Scribe => BASE + 3,
            Self::Watcher => BASE + 4,
            Self::Courier(Receiver::Command) => BASE + 5,
            Self::Delivery(Receiver::Command) => BASE + 6,
            Self::Resumer => BASE + 7,
            Self::Declarer => BASE + 8,
            Self::Courier(Receiver::Webhook) => BASE + 9,
            Self::Delivery(Receiver::Webhook) => BASE + 10,
        }
    }
}

/// Takes the lock until it is given back or the file is closed everywhere. False if another holds it.
///
/// # Errors
/// If the file cannot be locked at all.
pub fn take(file: &File, holder: Holder) -> io::Result<bool> {
    match fcntl(file, libc::F_OFD_SETLK, &mut range(holder)) {
        Ok(()) => Ok(true),
        Err(error) if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EACCES)) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Takes the lock, waiting for whoever holds it.
///
/// # Errors
/// If the file cannot be locked, or a signal came.
pub fn take_in_turn(file: &File, holder: Holder) -> io::Result<()> {
    fcntl(file, libc::F_OFD_SETLKW, &mut range(holder))
}

/// Gives the lock back at once. Closing the file alone would leave it held for as long as a process that another
/// thread has just forked, and that has not exec'd yet, has the file open too.
pub fn give_back(file: &File, holder: Holder) {
    let mut range = libc::flock { l_type: libc::F_UNLCK as libc::c_short, ..range(holder) };
    // Unlocking what is ours cannot fail; closing the file would give it back all the same.
    let _ = fcntl(file, libc::F_OFD_SETLK, &mut range);
}

/// Asks whether anyone holds the lock, without disturbing anyone.
#[must_use]
pub fn ask(file: &File, holder: Holder) -> Lock {
    let mut found = range(holder);
    let asked = fcntl(file, libc::F_OFD_GETLK, &mut found);
    // Anyone may lock all of the file in another way; ours are of this form. The kernel joins neighbours that one file holds.
    let of_our_form = (found.l_type, found.l_pid) == (libc::F_WRLCK as libc::c_short, -1)
        && (BASE..=holder.offset()).contains(&found.l_start)
        && (holder.offset() + 1..=END).contains(&found.l_start.saturating_add(found.l_len));
    if asked.is_ok() && of_our_form { Lock::Held } else { Lock::Silent }
}

const fn range(holder: Holder) -> libc::flock {
    libc::flock {
        l_type: libc::F_WRLCK as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: holder.offset(),
        l_len: 1,
        // OFD locks demand zero here.
        l_pid: 0,
    }
}

fn fcntl(file: &File, command: libc::c_int, range: &mut libc::flock) -> io::Result<()> {
    // SAFETY: the descriptor is open for the length of the call, and the kernel writes only into `range`,
    // which is a valid `flock` that outlives the call.
    let answer = unsafe { libc::fcntl(file.as_raw_fd(), command, std::ptr::from_mut(range)) };
    if answer == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
