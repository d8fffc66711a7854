//! The faults: what is done to programs, helpers, files, clients and the home. Each is noted in the book before it is done.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::thread::{self, JoinHandle};

use abide_core::evidence::Size;
use abide_sys::pty::Pty;
use abide_sys::{clock, poll, signal};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use serde_json::Value;

use super::{Run, readers, sweep};
use crate::judge::Kind;
use crate::schedule::{Blow, Manner, Spoiling, Target, Victim};
use crate::site::ask;
use crate::truth::{Ending, Truth};

pub(super) const KILL: i32 = 9;
pub(super) const STOP: i32 = 19;
pub(super) const CONT: i32 = 18;
const HUP: i32 = 1;
const TERM: i32 = 15;
const SIZE: Size = Size { cols: 80, rows: 24 };
/// How often a number is tried to be given away again.
const REUSE_ATTEMPTS: u32 = 40;

/// What goes on beside a fault that was done; none if there was nobody and nothing to do it to.
pub(super) type Done = Option<Vec<JoinHandle<()>>>;

/// Sends a signal to a process that we started and have not reaped.
pub(super) fn strike(process: &Child, number: i32) {
    if let Some(pidfd) = hold(process.id()) {
        let _ = signal::send(&pidfd, number);
    }
}

fn hold(pid: u32) -> Option<OwnedFd> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw)?;
    pidfd_open(pid, PidfdFlags::empty()).ok()
}

/// Hits the processes of a session. What must be lifted again is, in a thread that is given back.
pub(super) fn hit(run: &Arc<Run>, tag: u32, (victim, blow): (Victim, Blow), ms: u64) -> Done {
    let helpers = match victim {
        Victim::Guard | Victim::Host | Victim::Helpers | Victim::Everyone => Helpers::of(run, tag),
        Victim::Program | Victim::Waiter => Helpers::default(),
    };
    let program = || run.ledger.pidfd(tag);
    let hit: Vec<Arc<OwnedFd>> = match victim {
        Victim::Program => program().into_iter().collect(),
        Victim::Guard => helpers.guard.clone().into_iter().collect(),
        Victim::Host => helpers.host.clone().into_iter().collect(),
        Victim::Helpers => helpers.guard.iter().chain(&helpers.host).cloned().collect(),
        Victim::Everyone => helpers.guard.iter().chain(&helpers.host).cloned().chain(program()).collect(),
        Victim::Waiter => {
            run.waiters.lock().unwrap_or_else(PoisonError::into_inner).remove(&tag).into_iter().collect()
        }
    };
    if hit.is_empty() {
        return None;
    }
    run.ledger.note(tag, |truth| expect(truth, victim, blow, helpers.host.is_some()));
    let number = match blow {
        Blow::Kill => KILL,
        Blow::Stop => STOP,
        Blow::Hup => HUP,
        Blow::Term => TERM,
    };
    for process in &hit {
        let _ = signal::send(process.as_ref(), number);
    }
    if blow != Blow::Stop {
        return Some(Vec::new());
    }
    let run = Arc::clone(run);
    Some(vec![thread::spawn(move || {
        run.pause(ms);
        for process in &hit {
            let _ = signal::send(process.as_ref(), CONT);
        }
        run.ledger.note(tag, |truth| truth.held_until = clock::boot_micros());
    })])
}

/// Notes what may come of it.
fn expect(truth: &mut Truth, victim: Victim, blow: Blow, has_host: bool) {
    let (guard, host) = match victim {
        Victim::Guard => (true, false),
        Victim::Host => (false, true),
        Victim::Helpers | Victim::Everyone => (true, true),
        Victim::Program | Victim::Waiter => (false, false),
    };
    match blow {
        Blow::Kill | Blow::Term => {
            truth.harm.guard |= guard && blow == Blow::Kill;
            // A guard that goes before its host is there leaves nobody who holds the terminal.
            truth.harm.host |= host || guard && !has_host;
        }
        Blow::Stop if victim != Victim::Waiter => truth.held_until = u64::MAX,
        Blow::Stop | Blow::Hup => {}
    }
    if guard && blow == Blow::Term {
        truth.asked_to_stop(clock::boot_micros());
    }
    if truth.abandoned() {
        truth.may_end(Ending::Signaled(1));
    }
    if matches!(victim, Victim::Program | Victim::Everyone) {
        match blow {
            Blow::Kill => truth.may_end(Ending::Signaled(9)),
            Blow::Term if truth.polite => truth.may_end(Ending::Exited(0)),
            Blow::Hup => truth.may_end(Ending::Signaled(1)),
            Blow::Term | Blow::Stop => {}
        }
        if blow == Blow::Term {
            truth.may_end(Ending::Signaled(15));
        }
    }
}

/// Guard and host of a session, held.
#[derive(Default)]
struct Helpers {
    guard: Option<Arc<OwnedFd>>,
    host: Option<Arc<OwnedFd>>,
}

impl Helpers {
    /// Only abide knows them, so its word is taken, and checked: nobody is hit who does not have the session's files open.
    /// The number of a dead helper may be that of another session's by now.
    fn of(run: &Run, tag: u32) -> Self {
        let Some(id) = run.ledger.truth(tag).id else { return Self::default() };
        let answered = readers::answer(run, tag, &["inspect", "--json", &id]);
        let Some((_, Ok(data))) = answered else { return Self::default() };
        let held = |role: &str| {
            let pid = data.get("processes")?.get(role)?.get("pid")?.as_u64()?;
            let pid = u32::try_from(pid).ok()?;
            let pidfd = hold(pid)?;
            is_ours(pid, &run.site.session(&id)).then(|| Arc::new(pidfd))
        };
        Self { guard: held("guard"), host: held("host") }
    }
}

/// Whether this is a helper that has something below this directory open.
pub(super) fn is_ours(pid: u32, dir: &Path) -> bool {
    let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let helps = command.split(|byte| *byte == 0).nth(1).is_some_and(|word| word.starts_with(b"__"));
    let open = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    helps && open.filter_map(|fd| fs::read_link(fd.path()).ok()).any(|path| path.starts_with(dir))
}

/// Asks for a stop. Where it says that the program is gone, it must be.
pub(super) fn stop(run: &Run, tag: u32, grace_ms: u64) -> Done {
    let id = run.ledger.truth(tag).id?;
    run.ledger.note(tag, |truth| truth.asked_to_stop(clock::boot_micros()));
    let patience = format!("{grace_ms}ms");
    let answered = readers::answer(run, tag, &["stop", "--json", "--grace", &patience, &id]);
    let (said, answered) = answered?;
    run.report().count("stop", 1);
    let truth = run.ledger.truth(tag);
    readers::judged(run, said.asked, &truth, &answered);
    if said.code == Some(0) && truth.born.is_some() && truth.dead.is_none() {
        let says = format!("`stop` exited with 0, and the program lives: {}", said.out);
        run.lie(Kind::FalseDeath.about(tag, says));
    }
    if said.code == Some(0) && truth.born.is_some() {
        let left = sweep::of_session(&id);
        if !left.is_empty() {
            let says = format!("`stop` exited with 0, and these are left: {left:?}; it said {}", said.out);
            run.lie(Kind::LeftOver.about(tag, says));
        }
    }
    Some(Vec::new())
}

pub(super) fn kill_program(run: &Run, tag: u32) {
    run.ledger.note(tag, |truth| truth.may_end(Ending::Signaled(9)));
    if let Some(program) = run.ledger.pidfd(tag) {
        let _ = signal::send(program.as_ref(), KILL);
    }
}

/// Deletes or damages a file of a session.
pub(super) fn spoil(run: &Run, tag: u32, (target, spoiling): (Target, Spoiling), place: u64) -> Done {
    let id = run.ledger.truth(tag).id?;
    run.ledger.note(tag, |truth| {
        let harm = &mut truth.harm;
        match target {
            Target::Evidence | Target::Outcome => harm.evidence = true,
            Target::Recording => harm.recording = true,
            Target::Alive => harm.waiters = true,
            Target::Socket => harm.socket = true,
            Target::Keyframes | Target::View => {}
            Target::Whole => {
                harm.evidence = true;
                harm.recording = true;
                harm.waiters = true;
            }
        }
        if truth.abandoned() {
            truth.may_end(Ending::Signaled(1));
        }
    });
    let folder = run.site.session(&id);
    let file = folder.join(target.word());
    let spoilt = match (target, spoiling) {
        (Target::Whole, _) => fs::remove_dir_all(&folder),
        (_, Spoiling::Delete) => fs::remove_file(&file),
        (_, Spoiling::Truncate) => shorten(&file, place),
        (_, Spoiling::Flip) => flip(&file, place),
        (_, Spoiling::Append) => append(&file),
    };
    spoilt.is_ok().then(Vec::new)
}

fn shorten(path: &Path, place: u64) -> io::Result<()> {
    let file = OpenOptions::new().write(true).open(path)?;
    let length = file.metadata()?.len();
    file.set_len(place.min(length))
}

fn flip(path: &Path, place: u64) -> io::Result<()> {
    let mut file = OpenOptions::new().read(true).write(true).open(path)?;
    let length = file.metadata()?.len().max(1);
    let mut byte = [0];
    file.seek(SeekFrom::Start(place % length))?;
    file.read_exact(&mut byte)?;
    file.seek(SeekFrom::Start(place % length))?;
    file.write_all(&[byte[0] ^ 0x40])
}

fn append(path: &Path) -> io::Result<()> {
    OpenOptions::new().append(true).open(path)?.write_all(b"\n\x00 not of ours {\"v\":1}\n")
}

/// A client that does not behave, for so many ms.
pub(super) fn client(run: &Arc<Run>, tag: u32, manner: Manner, ms: u64) -> Done {
    let id = run.ledger.truth(tag).id?;
    let terminal = Pty::open(SIZE).ok()?;
    let end = || terminal.slave.try_clone().map(Stdio::from);
    let mut command = run.site.abide(&["attach", &id]);
    command.env("TERM", "xterm-256color");
    let (input, output) = (end().ok()?, end().ok()?);
    let mut process = command.stdin(input).stdout(output).stderr(Stdio::null()).spawn().ok()?;
    let run = Arc::clone(run);
    Some(vec![thread::spawn(move || {
        if manner == Manner::Stopped {
            strike(&process, STOP);
        }
        run.pause(ms);
        // Its terminal goes last: a client that is killed leaves no word behind.
        let _ = process.kill().and_then(|()| process.wait());
        drop(terminal);
    })])
}

/// Somebody who has nothing to do with us, and waits for the end of his input.
pub(super) fn stranger() -> io::Result<Child> {
    Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).env_clear().spawn()
}

/// Gives the number of a dead program to a stranger, and has abide asked to stop the session. He must not notice.
pub(super) fn reuse(run: &Run, tag: u32, ms: u64) -> Done {
    let truth = run.ledger.truth(tag);
    let (Some(id), Some(pid), Some(_)) = (truth.id, truth.pid, truth.dead) else { return None };
    if !run.walled {
        run.skip("pid reuse", "needs a pid namespace of our own");
        return None;
    }
    let mut taken = None;
    for _ in 0..REUSE_ATTEMPTS {
        let last = File::options().write(true).open("/proc/sys/kernel/ns_last_pid");
        let set = last.and_then(|mut file| file.write_all((pid - 1).to_string().as_bytes()));
        if let Err(error) = set {
            run.skip("pid reuse", &error.to_string());
            return None;
        }
        let mut process = stranger().ok()?;
        if process.id() == pid {
            taken = Some(process);
            break;
        }
        let _ = process.kill().and_then(|()| process.wait());
    }
    let mut process = taken?;
    let _ = stop(run, tag, 0);
    readers::stated(run, "inspect", tag, &["inspect", "--json", &id]);
    run.pause(ms);
    if let Ok(Some(status)) = process.try_wait() {
        run.lie(Kind::SignalledStranger.about(tag, format!("{pid} was another's, and ended: {status}")));
    }
    let _ = process.kill().and_then(|()| process.wait());
    Some(Vec::new())
}

/// Many sealers at once; nothing may be sealed twice.
pub(super) fn seal(run: &Arc<Run>, sealers: u64) {
    let sealing: Vec<JoinHandle<()>> = (0..sealers)
        .map(|_| {
            let run = Arc::clone(run);
            thread::spawn(move || {
                if readers::answer(&run, 0, &["doctor", "--fix", "--json"]).is_some() {
                    run.report().count("doctor --fix", 1);
                }
            })
        })
        .collect();
    for one in sealing {
        let _ = one.join();
    }
    let Some((_, Ok(data))) = readers::answer(run, 0, &["events", "--json"]) else { return };
    run.report().count("events", 1);
    let mut sealed = std::collections::BTreeMap::<String, u32>::new();
    for fact in data.get("events").and_then(Value::as_array).into_iter().flatten() {
        let text = |part: &str| fact.get(part).and_then(Value::as_str).unwrap_or_default().to_owned();
        if text("fact") == "sealed" {
            *sealed.entry(text("session")).or_default() += 1;
        }
    }
    for (id, times) in sealed.into_iter().filter(|(_, times)| *times > 1) {
        run.lie(Kind::Contradiction.about(0, format!("{id} was sealed {times} times")));
    }
}

/// All sessions become another copy of the executable. Another process copies it: a fork of ours must not hold it open.
pub(super) fn upgrade(run: &Run) -> Done {
    let copy = run.copy_name();
    let copied = ask(Command::new("cp").arg(run.site.exe()).arg(&copy));
    if !copied.is_ok_and(|said| said.code == Some(0)) {
        run.skip("upgrade", "there is no room for a copy of the executable");
        return None;
    }
    let args = ["upgrade", "--json"];
    if let Ok(said) = ask(&mut run.site.with_exe(&copy).abide(&args))
        && readers::examine(run, 0, &args, said).is_some()
    {
        run.report().count("upgrade", 1);
    }
    Some(Vec::new())
}

/// Takes all room of the home, for so many ms.
pub(super) fn fill(run: &Run, ms: u64) -> Done {
    if !run.walled {
        run.skip("full disk", "needs a mount namespace of our own");
        return None;
    }
    run.full.store(true, Ordering::SeqCst);
    run.ledger.note_all(|truth| truth.harm.recording = true);
    let path = run.site.home().join("filler");
    if let Ok(mut file) = File::create(&path) {
        for piece in [65_536, 4_096, 512, 1] {
            let zeros = vec![0; piece];
            while file.write(&zeros).is_ok_and(|written| written > 0) {}
        }
    }
    run.pause(ms);
    let _ = fs::remove_file(path);
    // Who was launched meanwhile may not have been noted yet.
    run.full.store(false, Ordering::SeqCst);
    Some(Vec::new())
}

/// Waits until a process that we hold is gone, so long at most.
pub(super) fn is_gone(pidfd: &OwnedFd, ms: u64) -> bool {
    poll::readable(&[pidfd.as_fd()], Some(ms)) == [true]
}

pub(super) fn hold_process(pid: u32) -> Option<OwnedFd> {
    hold(pid)
}
