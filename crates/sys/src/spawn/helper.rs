//! Helpers: started from our own image or another one, known for what they are from their first instant on.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use rustix::pipe::{PipeFlags, pipe_with};

use super::{Image, block_all, exec, failure, fresh_signals, give_up, held, place, pointers, restore};

/// The name of a process that is to become a helper, until it is one.
pub const HELPER: &CStr = c"abide-helper";

/// Starts a helper that nobody waits for: in a session of its own, a descendant of nobody, with the given
/// descriptors as 3, 4, ... and no others.
///
/// # Errors
/// If no process can be made.
pub fn detached(image: &Image, fds: &[BorrowedFd<'_>]) -> io::Result<()> {
    let (pid, report, birth) = start(image, fds, true)?;
    // Says so once nobody can say anything more: then nobody is in our memory either, whoever was killed meanwhile.
    let failed = failure(&report);
    drop(birth);
    let mut status = 0;
    // SAFETY: waits for the process that was just made; `status` outlives the call.
    while unsafe { libc::waitpid(pid, &raw mut status, 0) } == -1 {
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    match failed {
        Some((errno, _)) => Err(io::Error::from_raw_os_error(errno)),
        None => Ok(()),
    }
}

/// Starts a helper of ours and holds it: in a session of its own, with the given descriptors as 3, 4, ... and no others. It gets
/// a copy of our memory: who serves a program does not stand still until another process has come up.
///
/// # Errors
/// If no process can be made.
pub fn helper(image: &Image, fds: &[BorrowedFd<'_>]) -> io::Result<(u32, OwnedFd)> {
    let (pid, _, _) = start(image, fds, false)?;
    Ok((pid.cast_unsigned(), held(pid)?))
}

/// What a process needs that is to become a helper.
struct Birth<'a> {
    image: &'a Image,
    argv: Vec<*const libc::c_char>,
    env: Vec<*const libc::c_char>,
    wanted: Vec<RawFd>,
    lifted: Vec<RawFd>,
    report: RawFd,
    /// It only starts the one that becomes the helper, and ends.
    twice: bool,
    stacks: Stacks,
}

/// A process that was just made, where it says why it could not come up, and what it needs until it has.
type Started<'a> = (i32, OwnedFd, Box<Birth<'a>>);

/// Starts a helper: its pid, or, if it is made in our memory, that of the one that starts it.
fn start<'a>(image: &'a Image, fds: &[BorrowedFd<'_>], twice: bool) -> io::Result<Started<'a>> {
    let (report, report_out) = pipe_with(PipeFlags::CLOEXEC)?;
    let null =
        rustix::fs::open("/dev/null", rustix::fs::OFlags::RDWR | rustix::fs::OFlags::CLOEXEC, 0.into())?;
    let mut wanted = vec![null.as_raw_fd(); 3];
    wanted.extend(fds.iter().map(AsRawFd::as_raw_fd));
    // Behind them, and open until the exec.
    wanted.push(report_out.as_raw_fd());
    let mut birth = Box::new(Birth {
        image,
        argv: pointers(&image.argv),
        env: pointers(&image.env),
        lifted: vec![-1; wanted.len()],
        wanted,
        report: report_out.as_raw_fd(),
        twice,
        stacks: Stacks::new()?,
    });
    let stack = birth.stacks.top(0);
    let mask = block_all();
    // SAFETY: the new process calls only async-signal-safe functions on what `birth` holds: on a copy of it, or on it, and then
    // `detached` keeps it until there is nobody left who could need it.
    let pid = unsafe { born(first, stack, &raw mut *birth, if twice { SHARED } else { 0 }) };
    let failed = io::Error::last_os_error();
    restore(&mask);
    if pid < 0 { Err(failed) } else { Ok((pid, report, birth)) }
}

/// In our memory until it execs or ends, and until then we stand still: nothing is copied for what would be thrown away at once.
const SHARED: libc::c_int = libc::CLONE_VM | libc::CLONE_VFORK;

/// A process on a stack of its own.
///
/// # Safety
/// `does` must not return, and must leave our memory as it may be.
unsafe fn born(
    does: extern "C" fn(*mut libc::c_void) -> libc::c_int,
    stack: *mut libc::c_void,
    birth: *mut Birth<'_>,
    sharing: libc::c_int,
) -> libc::pid_t {
    // SAFETY: the stack is as large as what `does` needs, and nobody else's; the caller answers for the rest.
    unsafe { libc::clone(does, stack, sharing | libc::SIGCHLD, birth.cast()) }
}

extern "C" fn first(birth: *mut libc::c_void) -> libc::c_int {
    // SAFETY: `start` made it, and stands still or has its own; all calls are async-signal-safe.
    unsafe {
        let birth = &mut *birth.cast::<Birth<'_>>();
        // Inherited by the second process, so that one is known for what it is from its first instant on.
        libc::prctl(libc::PR_SET_NAME, HELPER.as_ptr());
        libc::setsid();
        if !birth.twice {
            second((&raw mut *birth).cast());
        }
        if born(second, birth.stacks.top(1), &raw mut *birth, SHARED) == -1 {
            give_up(birth.report);
        }
        libc::_exit(0)
    }
}

extern "C" fn second(birth: *mut libc::c_void) -> libc::c_int {
    // SAFETY: as in `first`, which stands still too if this is another process.
    unsafe {
        let birth = &mut *birth.cast::<Birth<'_>>();
        if !place(&birth.wanted, &mut birth.lifted) {
            give_up(birth.report);
        }
        let report = birth.wanted.len() as RawFd - 1;
        libc::fcntl(report, libc::F_SETFD, libc::FD_CLOEXEC);
        fresh_signals();
        let failed = exec(birth.image, &birth.argv, &birth.env);
        // Of one that is held, its end is heard of.
        if birth.twice {
            libc::write(report, failed.as_ptr().cast(), failed.len());
        }
        libc::_exit(127)
    }
}

/// Two stacks, one below the other.
struct Stacks(*mut libc::c_void);

impl Stacks {
    const EACH: usize = 64 * 1024;

    fn new() -> io::Result<Self> {
        let (access, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
        // SAFETY: a new mapping, wherever there is room.
        let room = unsafe { mmap_anonymous(std::ptr::null_mut(), 2 * Self::EACH, access, flags) };
        Ok(Self(room?))
    }

    /// Where one of the two begins, from where it grows down.
    const fn top(&self, number: usize) -> *mut libc::c_void {
        // SAFETY: within the mapping, or just behind it.
        unsafe { self.0.byte_add((number + 1) * Self::EACH) }
    }
}

impl Drop for Stacks {
    fn drop(&mut self) {
        // SAFETY: our own mapping, which nobody uses any more.
        let _ = unsafe { munmap(self.0, 2 * Self::EACH) };
    }
}
