//! Sessions told by their evidence alone: a test plays every witness, names real processes, and chooses the fault.
//! Writes what a guard, a host or a sealer would write, without any of them; the test itself can hold their locks.

use std::collections::{BTreeMap, HashMap};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use abide_core::evidence::frame::encode;
use abide_core::evidence::{
    Attention, Body, Cause, Closing, Declared, Ended, ExecFailed, Fact, Guarded, Hosted, How, Launched,
    Noted, Observer, Outcome, Role, Sealed, Size, Started, StopAsked, Terms, TurnOpened, Wants, Witness,
    Word,
};
use abide_core::identity::{Identity, Lock, SystemId};
use abide_core::moment::Moment;
use abide_sys::lock::{self, Holder};
use abide_sys::probe::Probe;
use abide_sys::{clock, disk};

use crate::running::Running;

/// How long ago the first fact of a scene is.
const BEGAN_MS: u64 = 60_000;
const SLOT: usize = disk::Slot::SIZE;

/// One session of a home, being told.
#[derive(Debug)]
pub struct Scene {
    dir: PathBuf,
    id: String,
    log: File,
    told: HashMap<Witness, u64>,
    /// When the next fact is witnessed.
    at: Moment,
    boot: u32,
    guard: u32,
    /// What was declared last.
    word: Option<Declared>,
    held: Vec<(File, Holder)>,
}

impl Scene {
    /// A session that has a directory, an empty log and an empty slot.
    ///
    /// # Panics
    /// If it cannot be made.
    #[must_use]
    pub fn new(home: &Path, id: &str) -> Self {
        let dir = home.join("sessions").join(id);
        DirBuilder::new().mode(0o700).recursive(true).create(&dir).expect("a session directory can be made");
        let mut new = OpenOptions::new();
        new.mode(0o600).create_new(true).read(true).append(true);
        let log = new.open(dir.join("evidence")).expect("the session is new");
        let mut slot = new.open(dir.join("outcome")).expect("the session is new");
        slot.write_all(&[b'\n'; SLOT]).expect("there is room");
        let now = clock::now();
        let began = i64::try_from(BEGAN_MS).expect("a minute");
        let at = Moment { wall: now.wall - began, boot: now.boot.saturating_sub(BEGAN_MS) };
        let boot = Probe::new().here().boot.map_or(0, SystemId::short);
        let id = id.to_owned();
        Self { dir, id, log, told: HashMap::new(), at, boot, guard: 0, word: None, held: Vec::new() }
    }

    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The session's directory.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The file with the facts.
    #[must_use]
    pub fn evidence(&self) -> PathBuf {
        self.dir.join("evidence")
    }

    /// What the file with the facts holds.
    ///
    /// # Panics
    /// If it cannot be read.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        std::fs::read(self.evidence()).expect("the evidence can be read")
    }

    /// Lets the next facts be witnessed at this instant, and a ms later each.
    #[must_use]
    pub const fn at(mut self, at: Moment) -> Self {
        self.at = at;
        self
    }

    /// When the next fact is witnessed.
    #[must_use]
    pub const fn next_at(&self) -> Moment {
        self.at
    }

    /// Lets the next facts be witnessed on another boot than this one.
    #[must_use]
    pub fn on_boot_of(mut self, identity: &Identity) -> Self {
        self.boot = identity.boot.short();
        self
    }

    /// Adds a fact of any witness.
    ///
    /// # Panics
    /// If it cannot be written.
    #[must_use]
    pub fn tell(mut self, role: Role, pid: u32, body: Body) -> Self {
        let fact = self.fact(role, pid, body);
        self.bytes_added(&encode(&fact).expect("facts can be stored"))
    }

    /// Adds bytes that need not be facts.
    ///
    /// # Panics
    /// If they cannot be written.
    #[must_use]
    pub fn bytes_added(mut self, bytes: &[u8]) -> Self {
        self.log.write_all(bytes).expect("there is room");
        self
    }

    fn fact(&mut self, role: Role, pid: u32, body: Body) -> Fact {
        let witness = Witness { role, pid, boot: self.boot };
        let seq = self.told.entry(witness).or_default();
        *seq += 1;
        let at = self.at;
        self.at = Moment { wall: at.wall.saturating_add(1), boot: at.boot + 1 };
        Fact { witness, seq: *seq, at, body }
    }

    fn guard(self, body: Body) -> Self {
        let pid = self.guard;
        self.tell(Role::Guard, pid, body)
    }

    /// A guard took over: from now on it is the witness of what a guard witnesses.
    ///
    /// # Panics
    /// If the log has no identity.
    #[must_use]
    pub fn guarded(mut self, guard: &Identity) -> Self {
        self.guard = guard.pid;
        let lock = disk::file_id(&self.log).expect("the log is a file");
        self.guard(Body::Guarded(Guarded { guard: *guard, lock, version: "0.1.0".into() }))
    }

    /// It was launched, as `launch` has it.
    #[must_use]
    pub fn launched(self, program: &Identity) -> Self {
        let launched = launch(&self.id, program);
        self.launched_as(launched)
    }

    /// It was launched in a particular way.
    #[must_use]
    pub fn launched_as(self, launched: Launched) -> Self {
        self.guard(Body::Launched(Box::new(launched)))
    }

    /// The first host took over.
    #[must_use]
    pub fn hosted(self, host: &Identity) -> Self {
        let hosted = Hosted { host: *host, generation: 1, version: "0.1.0".into() };
        self.tell(Role::Host, host.pid, Body::Hosted(hosted))
    }

    #[must_use]
    pub fn started(self, program: &Identity) -> Self {
        let image = "/usr/bin/make".to_owned();
        self.guard(Body::Started(Started { program: *program, image, cgroup: None }))
    }

    /// All that is told of a session whose program runs.
    #[must_use]
    pub fn served(self, guard: &Identity, host: &Identity, program: &Identity) -> Self {
        self.guarded(guard).launched(program).hosted(host).started(program)
    }

    #[must_use]
    pub fn exec_failed(self, errno: i32) -> Self {
        let path = "/usr/bin/make".into();
        self.guard(Body::ExecFailed(ExecFailed { errno, path, directory: None, session: None }))
    }

    #[must_use]
    pub fn stop_asked(self, by: &str) -> Self {
        self.guard(Body::StopAsked(StopAsked { by: by.into(), grace_ms: 10_000, time_is_up: false }))
    }

    /// The guard observed the end.
    #[must_use]
    pub fn ended(self, how: How) -> Self {
        let word = Word { declared: self.word.clone(), unclear: false };
        self.guard(ended(how, Some(word)))
    }

    /// The guard observed the end and could write it into the slot only.
    ///
    /// # Panics
    /// If the slot cannot be written.
    #[must_use]
    pub fn ended_in_slot(mut self, how: How) -> Self {
        let word = Word { declared: self.word.clone(), unclear: false };
        let fact = self.fact(Role::Guard, self.guard, ended(how, Some(word)));
        let slot = OpenOptions::new().write(true).open(self.dir.join("outcome")).expect("the slot is there");
        slot.write_all_at(&encode(&fact).expect("facts can be stored"), 0).expect("the slot has room");
        self
    }

    /// The guard observed the end, and was of an abide that did not tell which word counted.
    #[must_use]
    pub fn ended_wordless(self, how: How) -> Self {
        self.guard(ended(how, None))
    }

    #[must_use]
    pub fn declared(mut self, status: &str, exit_code: u8) -> Self {
        let word = Declared { status: status.into(), exit_code, summary: None };
        self.word = Some(word.clone());
        self.guard(Body::Declared(word))
    }

    /// Its agent took up a request.
    #[must_use]
    pub fn turn_opened(self, owner: Option<Identity>) -> Self {
        let turn = TurnOpened {
            turn: "t1".into(),
            agent: None,
            conversation: None,
            owner,
            cwd: "/srv/app".into(),
            branch: None,
            head: None,
        };
        self.guard(Body::TurnOpened(Box::new(turn)))
    }

    /// Its agent wants something of a person.
    #[must_use]
    pub fn wants(self, wants: Wants) -> Self {
        self.guard(Body::Attention(Attention { wants, text: None }))
    }

    /// A sealer closed it.
    #[must_use]
    pub fn sealed(self, status: Closing, cause: Cause) -> Self {
        let sealed = Sealed { status, cause: Some(cause), last_seen: None, word_unclear: false };
        self.tell(Role::Sealer, std::process::id(), Body::Sealed(Box::new(sealed)))
    }

    #[must_use]
    pub fn removing(self) -> Self {
        self.tell(Role::Client, std::process::id(), Body::Removing(Noted::default()))
    }

    #[must_use]
    pub fn removed(self) -> Self {
        self.tell(Role::Client, std::process::id(), Body::Removed(Noted::default()))
    }

    /// Holds a lifetime lock as long as the scene is there: this process plays its holder.
    ///
    /// # Panics
    /// If another holds it.
    #[must_use]
    pub fn held(mut self, holder: Holder) -> Self {
        let file =
            OpenOptions::new().read(true).append(true).open(self.evidence()).expect("the log is there");
        assert!(lock::take(&file, holder).expect("the log can be locked"), "{holder:?} has a lock already");
        assert_eq!(lock::ask(&self.log, holder), Lock::Held);
        self.held.push((file, holder));
        self
    }
}

impl Drop for Scene {
    /// A lock ends with its holder: also while another test forks, whose child has the file open too until it execs.
    fn drop(&mut self) {
        for (file, holder) in &self.held {
            lock::give_back(file, *holder);
        }
    }
}

/// How a session of this ID is launched unless a test wants it otherwise.
#[must_use]
pub fn launch(id: &str, program: &Identity) -> Launched {
    Launched {
        id: id.to_owned(),
        name: None,
        argv: vec!["make".into(), "test".into()],
        argv_cut: false,
        cwd: "/srv/app".into(),
        env_names: "PATH=TERM".into(),
        labels: BTreeMap::new(),
        size: Some(Size { cols: 80, rows: 24 }),
        launcher: None,
        program: Some(*program),
        agent: None,
        begun: None,
        stdin: None,
        terms: Terms::default(),
    }
}

fn ended(how: How, word: Option<Word>) -> Body {
    let outcome = Outcome { how, observed_by: Some(Observer::Guard), cause: None };
    Body::Ended(Box::new(Ended { word, ..Ended::of(outcome) }))
}

/// A session that is over, of processes of another boot: none is started for it, so that whoever counts processes may.
///
/// # Panics
/// If it cannot be told.
#[must_use]
pub fn over(home: &Path, id: &str) -> Scene {
    let us = Probe::new().identify(std::process::id()).expect("we live");
    let gone = before_reboot(&us);
    Scene::new(home, id).served(&gone, &gone, &gone).ended(How::Exited { code: 0 })
}

/// A process that lives as long as the value does, and does nothing.
#[must_use]
pub fn idle() -> Running {
    Running::start(&mut Command::new("cat"))
}

/// Who a living process is.
///
/// # Panics
/// If it is not there.
#[must_use]
pub fn identity(process: &Running) -> Identity {
    let found = Probe::new().identify(process.pid());
    found.unwrap_or_else(|doubt| panic!("cannot identify {}: {}", process.pid(), doubt.says()))
}

/// Who a process was that is dead and reaped.
#[must_use]
pub fn dead() -> Identity {
    let mut process = idle();
    let identity = identity(&process);
    process.kill();
    identity
}

/// Who an earlier process with the pid of this living one would have been.
#[must_use]
pub fn earlier(stranger: &Running) -> Identity {
    let now = identity(stranger);
    let start_ticks = now.start_ticks.map(|ticks| ticks.saturating_sub(1000));
    Identity {
        start_ticks,
        seen_ticks: start_ticks.map(|t| t + 5),
        pidfs: now.pidfs.map(|ino| ino - 1),
        ..now
    }
}

/// The same process on another boot of this machine.
///
/// # Panics
/// Never.
#[must_use]
pub fn before_reboot(identity: &Identity) -> Identity {
    let boot = SystemId::parse("0a1b2c3d4e5f4a6b8c7d9e0f1a2b3c4d").expect("an id");
    Identity { boot, ..*identity }
}

/// One session of every status, each with the name of its status.
#[derive(Debug)]
pub struct Everything {
    pub scenes: Vec<(&'static str, Scene)>,
    /// Processes that the statuses rest on.
    pub living: [Running; 3],
}

/// Tells a session of every status in a home.
#[must_use]
pub fn everything(home: &Path) -> Everything {
    let living = [idle(), idle(), idle()];
    let [guard, host, program] = living.each_ref().map(identity);
    let gone = dead();
    let over = |id| Scene::new(home, id).served(&gone, &gone, &gone);
    let scenes = vec![
        ("starting", Scene::new(home, "starting").guarded(&guard).launched(&program)),
        ("running", Scene::new(home, "running0").served(&guard, &host, &program)),
        ("unattended", Scene::new(home, "unattend").served(&gone, &gone, &program)),
        ("exiting", Scene::new(home, "exiting0").served(&guard, &host, &gone)),
        ("exited", over("exited00").ended(How::Exited { code: 3 })),
        ("failed", Scene::new(home, "failed00").guarded(&gone).launched(&gone).exec_failed(2)),
        ("lost", over("lost0000")),
        ("unknown", over("unknown0").bytes_added(b"\ngarbage\n")),
        // Whoever removes it is at it.
        ("destroying", over("removing").ended(How::Exited { code: 0 }).removing().held(Holder::Sealer)),
        ("destroyed", over("removed0").ended(How::Exited { code: 0 }).removing().removed()),
    ];
    Everything { scenes, living }
}
