//! How a guard comes up: lock, record, gate, publish, exec. No program runs without a record of its launch.

use std::ffi::{CString, OsStr};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use abide_core::evidence::frame::{body_from_line, body_to_line};
use abide_core::evidence::{Body, ExecFailed, Guarded, Launched, Observer, Role, Size, Started};
use abide_core::guard::{Guard, Orders, Timeout};
use abide_core::id::SessionId;
use abide_core::recording::{Kind, Start};
use abide_sys::cgroup::Cgroup;
use abide_sys::disk::{self, PrivateDir};
use abide_sys::lock::{self, Holder};
use abide_sys::pty::Pty;
use abide_sys::signal::Signals;
use abide_sys::spawn::{self, Gated, Image, Stdio, Step};
use abide_sys::{clock, reap};

use super::link::Link;
use super::recorder::Recorder;
use super::{Keeper, PUBLISHED, Program};
use crate::notify;
use crate::spill::Spill;
use crate::store::{Home, Progress, SessionDir, Writer, read_evidence};
use crate::truth::Truth;
use crate::{agents, place};

/// What the launcher handed over.
struct Parcel {
    launched: Launched,
    image: Image,
    /// Where the program is to be born.
    cgroup: Option<Cgroup>,
}

/// What was called, and where.
struct Called {
    path: String,
    /// The executable that this means.
    found: String,
    cwd: String,
}

/// What the program's descriptors are on our side.
struct Ends {
    outputs: Vec<(Kind, File)>,
    slave: Option<OwnedFd>,
    /// Where it was born.
    cgroup: Option<Cgroup>,
}

/// Brings up the guard and its program. None if the program never ran: then that is on record, or the launcher
/// has been told why there is no record.
pub(super) fn bring_up() -> io::Result<Option<Keeper>> {
    let fds = spawn::inherited(6)?;
    let Ok([parcel, report, sessions, dir, names, input]) = <[OwnedFd; 6]>::try_from(fds) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let mut report = File::from(report);
    let home = Home::from_trusted(PrivateDir::from_trusted(sessions));
    let dir = SessionDir::from_trusted(PrivateDir::from_trusted(dir));
    match launch(File::from(parcel), &home, dir, input) {
        Ok((keeper, gated)) => {
            drop(names);
            let keeper = keeper.pass_the_gate(gated);
            // A launcher that died meanwhile need not be told: the session is on record, and its program runs.
            let _ = report.write_all(PUBLISHED.as_bytes());
            drop(report);
            // Where there is no other processor for it, it is let go first: the host can wait, and whoever launched does.
            std::thread::yield_now();
            match keeper {
                Ok(keeper) => Ok(Some(keeper)),
                Err(dir) => {
                    // Nobody waits for this.
                    let _ = dir.flush();
                    Ok(None)
                }
            }
        }
        Err(error) => {
            let told = report.write_all(error.to_string().as_bytes());
            // The cgroup of a launch that came to nothing. A launcher that lives removes it too.
            let id = std::env::args().nth(2).as_deref().and_then(SessionId::parse);
            id.iter().for_each(place::discard);
            told.map(|()| None)
        }
    }
}

/// Everything up to the published record; the program waits at the gate.
fn launch(
    parcel: File,
    home: &Home,
    mut dir: SessionDir,
    input: OwnedFd,
) -> io::Result<(Keeper, (Gated, Called))> {
    let Parcel { mut launched, image, cgroup } = unpack(parcel)?;
    let id = SessionId::parse(&launched.id).ok_or(io::ErrorKind::InvalidInput)?;
    let signals = Signals::of(&super::SIGNALS)?;
    reap::become_subreaper()?;
    let truth = Truth::new();
    dir.keep_evidence(None);
    let mut evidence = take_lock(&truth, &dir)?;
    evidence.add(clock::now(), guarded(&truth, evidence.file())?)?;
    let mut recorder = Recorder::new(dir.create_recording()?, Spill::new()?, launched.terms.cut_at());
    recorder.add(Kind::Start, &start_entry(&launched)?);
    if launched.terms.shed_at().is_some() {
        recorder.leave_room()?;
    }
    let waiters = dir.hold()?;
    let link = Link::new(&dir)?;
    let (gated, ends) = start(&image, launched.size, input, cgroup)?;
    let identity = match truth.identify(gated.pid) {
        Ok(identity) => identity,
        Err(doubt) => return Err(gated.close().unwrap_or_else(|| io::Error::other(doubt.says()))),
    };
    launched.program = Some(identity);
    let timeout = Timeout::of(&launched.terms, clock::now().boot);
    let path = launched.argv.first().cloned().unwrap_or_default();
    let found = spawn::found(&image);
    let command = Called { found: found.unwrap_or_else(|| path.clone()), path, cwd: launched.cwd.clone() };
    let asking = agents::asking(launched.agent.as_deref(), Some(&launched));
    let orders = Orders { asking, timeout, remove: launched.terms.remove };
    let durable = launched.terms.durable;
    evidence.add(clock::now(), Body::Launched(Box::new(launched)))?;
    home.publish(&id)?;
    if durable && let Err(error) = dir.flush() {
        // Its name was given away for nothing.
        return home.unpublish(&id).and(Err(error));
    }
    let program = Program {
        session: Some(id.to_string()),
        ..Program::new(identity, gated.pidfd.try_clone()?, true, ends.cgroup)
    };
    let keeper = Keeper {
        truth,
        mind: Guard::new(orders),
        dir,
        evidence,
        recorder,
        signals,
        outputs: ends.outputs,
        slave: ends.slave,
        link,
        program,
        observer: Some(Observer::Guard),
        waiters: Some(waiters),
        unsaid: None,
        told: Progress::default(),
        ordered: false,
    };
    Ok((keeper, (gated, command)))
}

impl Keeper {
    /// Opens the gate and records what came of it. Only the directory is left of a program that never ran.
    fn pass_the_gate(mut self, (gated, command): (Gated, Called)) -> Result<Self, SessionDir> {
        let opened = gated.open();
        let at = clock::now();
        match opened {
            Ok(()) => {
                // If it has ended already, the identity from the gate is the same process.
                let program = self.truth.identify(self.program.identity.pid).unwrap_or(self.program.identity);
                self.program.started_boot = at.boot;
                let cgroup = self.program.cgroup.as_ref().map(|cgroup| cgroup.path().to_owned());
                self.note(Body::Started(Started { program, image: command.found, cgroup }));
                Ok(self)
            }
            Err((errno, step)) => {
                let directory = (step == Step::Chdir).then_some(command.cwd);
                let failed = ExecFailed { errno, path: command.path, directory, session: None };
                let session = read_evidence(self.evidence.file()).id().map(str::to_owned);
                let in_slot = Body::ExecFailed(ExecFailed { session, ..failed.clone() });
                let failed = Body::ExecFailed(failed);
                let fact = self.evidence.draft(at, 1, in_slot);
                // Either record is enough, and there is nobody left to try again for.
                let _ = self.dir.fill_slot(&[fact]);
                self.note(failed);
                notify::call(&self.dir);
                if let Some(cgroup) = &self.program.cgroup {
                    place::remove(cgroup);
                }
                Err(self.dir)
            }
        }
    }
}

/// The recording's first entry: whose it is, and how its clock stands to wall time.
fn start_entry(launched: &Launched) -> io::Result<Vec<u8>> {
    let start = Start {
        version: 1,
        session: launched.id.clone(),
        size: launched.size,
        wall_ms: clock::now().wall,
        boot_us: clock::boot_micros(),
    };
    Ok(body_to_line(&start)?)
}

/// Takes the guard's lifetime lock, on the evidence that it will write.
pub(super) fn take_lock(truth: &Truth, dir: &SessionDir) -> io::Result<Writer> {
    let evidence = dir.write(Role::Guard, truth.now().boot)?;
    if !lock::take(evidence.file(), Holder::Guard)? {
        return Err(io::Error::other("another guard is alive"));
    }
    Ok(evidence)
}

/// Who guards the session now.
pub(super) fn guarded(truth: &Truth, evidence: &File) -> io::Result<Body> {
    let guard = truth.identify(std::process::id()).map_err(|doubt| io::Error::other(doubt.says()))?;
    let lock = disk::file_id(evidence)?;
    let version = env!("CARGO_PKG_VERSION").to_owned();
    Ok(Body::Guarded(Guarded { guard, lock, version }))
}

/// Nothing of the program's own descriptors is kept here: what it closes is closed.
fn start(
    image: &Image,
    size: Option<Size>,
    input: OwnedFd,
    cgroup: Option<Cgroup>,
) -> io::Result<(Gated, Ends)> {
    if let Some(size) = size {
        let pty = Pty::open(size)?;
        let (gated, cgroup) = bear(image, Stdio::Terminal(pty.slave.as_fd()), cgroup)?;
        let outputs = vec![(Kind::Output, File::from(pty.master))];
        return Ok((gated, Ends { outputs, slave: Some(pty.slave), cgroup }));
    }
    let (output, program_output) = spawn::reading_pipe()?;
    let (errors, program_errors) = spawn::reading_pipe()?;
    let stdio = Stdio::Pipes([input.as_fd(), program_output.as_fd(), program_errors.as_fd()]);
    let (gated, cgroup) = bear(image, stdio, cgroup)?;
    let outputs = vec![(Kind::Output, File::from(output)), (Kind::Errors, File::from(errors))];
    Ok((gated, Ends { outputs, slave: None, cgroup }))
}

/// Starts the program in its cgroup; where the kernel refuses that, without one.
fn bear(image: &Image, stdio: Stdio<'_>, cgroup: Option<Cgroup>) -> io::Result<(Gated, Option<Cgroup>)> {
    if let Some(cgroup) = cgroup {
        let born = cgroup.open().and_then(|dir| spawn::gated(image, stdio, Some(dir.as_fd())));
        if let Ok(gated) = born {
            return Ok((gated, Some(cgroup)));
        }
        let _ = cgroup.remove();
    }
    spawn::gated(image, stdio, None).map(|gated| (gated, None))
}

/// The cgroup by its name and by its directory, and the working directory: what comes before the arguments.
const OF_SESSION: usize = 3;

fn unpack(mut parcel: File) -> io::Result<Parcel> {
    let mut bytes = Vec::new();
    parcel.read_to_end(&mut bytes)?;
    let mut lines = bytes.splitn(3, |&b| b == b'\n');
    let mut line = || lines.next().ok_or(io::ErrorKind::UnexpectedEof);
    let launched: Launched = body_from_line(line()?)?;
    let counts = std::str::from_utf8(line()?).map_err(io::Error::other)?;
    let counts =
        counts.split_once(' ').and_then(|(argc, envc)| Some((argc.parse().ok()?, envc.parse().ok()?)));
    let (argc, envc): (usize, usize) = counts.ok_or(io::ErrorKind::InvalidData)?;
    let mut strings = line()?.split(|&b| b == 0).map(CString::new).collect::<Result<Vec<_>, _>>()?;
    // The launcher may have been killed over it: only what is whole ends with the last of its nulls.
    let ends = strings.pop().is_some_and(|rest| rest.is_empty());
    if !ends || strings.len() != OF_SESSION + argc + envc {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let env = strings.split_off(OF_SESSION + argc);
    let argv = strings.split_off(OF_SESSION);
    let [path, below, cwd] =
        <[CString; OF_SESSION]>::try_from(strings).map_err(|_| io::ErrorKind::InvalidData)?;
    let path = path.into_string().map_err(io::Error::other)?;
    let cgroup =
        (!path.is_empty()).then(|| Cgroup::known(path, Path::new(OsStr::from_bytes(below.to_bytes()))));
    let command = argv.first().ok_or(io::ErrorKind::InvalidInput)?;
    let search = env.iter().find_map(|entry| entry.to_bytes().strip_prefix(b"PATH="));
    let paths = spawn::candidates(command, search.unwrap_or(b"/usr/local/bin:/usr/bin:/bin"));
    Ok(Parcel { launched, image: Image { paths, argv, env, cwd }, cgroup })
}
