//! Forces the kernel to give a pid away again, at once. Works only as root of the own pid namespace, where nobody
//! else starts processes: `ns_last_pid` decides which number comes next.

use std::io;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;

use abide_core::identity::{Doubt, Identity, Liveness, Lock};
use abide_sys::probe::Probe;

use crate::drill::MEANS;
use crate::running::start_ticks;

/// Who gets the number of the process that is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stranger {
    Process,
    /// A thread of ours: threads and processes share their numbers.
    Thread,
}

/// What was found in one forced reuse. One answer for each of `MEANS`.
#[derive(Debug)]
pub struct Round {
    /// Whether pid and start ticks are those of the process that is over.
    pub same_ticks: bool,
    /// What the probe said while the process was alive.
    pub alive: [Liveness; 3],
    /// What it said when the number belonged to the stranger.
    pub reused: [Liveness; 3],
    /// Whether it then took hold of the stranger instead of refusing.
    pub held: [bool; 3],
}

/// Starts a process, ends it, gives its number to a stranger, and asks about the process before and after.
/// `idle` starts a process that does nothing.
///
/// # Errors
/// If the number could not be given away again.
pub fn round(stranger: Stranger, idle: &mut Command) -> io::Result<Round> {
    let probes = MEANS.map(|(_, means)| Probe::with(means));
    let mut process = Idle(idle.stdin(Stdio::null()).spawn()?);
    let pid = process.0.id();
    let identities = probes.each_ref().map(|probe| probe.identify(pid));
    let ask = || std::array::from_fn(|each| answer(&probes[each], &identities[each]));
    let hold = || {
        let held = |each: usize| identities[each].is_ok_and(|identity| probes[each].hold(&identity).is_ok());
        std::array::from_fn(held)
    };
    let alive = ask();
    let ticks = start_ticks(pid);
    process.end()?;
    next_pid(pid)?;
    let look = || (ask(), hold(), start_ticks(pid));
    let (reused, held, stranger_ticks) = match stranger {
        Stranger::Process => {
            let stranger = Idle(idle.spawn()?);
            check_number(pid, stranger.0.id())?;
            look()
        }
        Stranger::Thread => with_thread(|tid| check_number(pid, tid).map(|()| look()))?,
    };
    Ok(Round { same_ticks: ticks.is_some() && ticks == stranger_ticks, alive, reused, held })
}

/// Does steps in a process whose number is the same in this pid namespace and in that of `/proc`.
///
/// # Errors
/// If the two numbers could not be made to meet.
pub fn coincide(steps: &str) -> io::Result<()> {
    let mut guess = 0_u32;
    for _ in 0..ATTEMPTS {
        next_pid(guess + 1)?;
        let mut again = Command::new(std::env::current_exe()?);
        let output = again.arg("if-coincident").args(steps.split(" ; ")).stderr(Stdio::inherit()).output()?;
        if output.status.success() {
            return io::Write::write_all(&mut io::stdout(), &output.stdout);
        }
        let number = String::from_utf8_lossy(&output.stdout).trim().parse();
        guess = number.map_err(|_| io::Error::other("a step failed where the numbers met"))?;
    }
    Err(io::Error::other("others start processes too fast for the numbers to meet"))
}

/// The other side of `coincide`: says our number in the namespace of `/proc` if it is another one here.
///
/// # Errors
/// If the numbers differ.
pub fn end_unless_coincident() -> io::Result<()> {
    let outside = std::fs::read_link("/proc/self")?;
    if outside.to_str() == Some(std::process::id().to_string().as_str()) {
        return Ok(());
    }
    io::Write::write_all(&mut io::stdout(), outside.to_string_lossy().as_bytes())?;
    Err(io::Error::other("not yet"))
}

const ATTEMPTS: u32 = 500;

/// A process that waits to be killed. Ends with this value at the latest.
struct Idle(Child);

impl Idle {
    fn end(&mut self) -> io::Result<()> {
        self.0.kill()?;
        self.0.wait().map(drop)
    }
}

impl Drop for Idle {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

fn answer(probe: &Probe, identity: &Result<Identity, Doubt>) -> Liveness {
    match identity {
        // A stranger must not pass for it in either way to ask.
        Ok(identity) => match probe.liveness(identity, Lock::Silent) {
            alive @ Liveness::Alive(_) => alive,
            Liveness::Dead(_) | Liveness::Unknown(_) => probe.lives(identity, Lock::Silent),
        },
        Err(doubt) => Liveness::Unknown(*doubt),
    }
}

/// Makes the kernel give out this number next, if it is free.
fn next_pid(pid: u32) -> io::Result<()> {
    let mut last = std::fs::OpenOptions::new().write(true).open("/proc/sys/kernel/ns_last_pid")?;
    io::Write::write_all(&mut last, (pid - 1).to_string().as_bytes())
}

fn check_number(wanted: u32, got: u32) -> io::Result<()> {
    let message = || format!("{got} was given out instead of {wanted}: somebody else starts processes here");
    if wanted == got { Ok(()) } else { Err(io::Error::other(message())) }
}

/// Does something while one more thread is there, whose number it gets.
fn with_thread<T>(act: impl FnOnce(u32) -> io::Result<T>) -> io::Result<T> {
    let (says, hears) = mpsc::channel();
    let (end, until_end) = mpsc::channel::<()>();
    let thread = std::thread::spawn(move || {
        let told = says.send(rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned());
        // The other side never sends: it lets go when it is done.
        told.map(|()| until_end.recv())
    });
    let done = hears.recv().map_err(io::Error::other).and_then(act);
    drop(end);
    let _ = thread.join();
    done
}
