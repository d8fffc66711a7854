//! Who a process is, and whether that very process is alive. A pid is never an identity.
//! Pure: `sys::probe` makes the sighting, `judge` decides what it proves.

mod stat;

use std::fmt;

use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

pub use stat::{Belonging, Spent, Stat};

/// A 128-bit id that the system keeps as text: of a machine or of a boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(into = "String")]
pub struct SystemId(u128);

impl SystemId {
    /// From 32 hex digits, dashes ignored. `None` for anything else, and for the all-zero id.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim_end_matches('\n');
        if text.contains('-') && !text.contains('\n') {
            return Self::parse(&text.replace('-', ""));
        }
        // Of both halves, since a sign in front of either is no digit.
        let half = |range: std::ops::Range<usize>| {
            text.get(range).filter(|half| half.bytes().all(|byte| byte.is_ascii_hexdigit()))
        };
        let number = |half: &str| u64::from_str_radix(half, 16).ok();
        let (high, low) = (number(half(0..16)?)?, number(half(16..32)?)?);
        let value = u128::from(high) << 64 | u128::from(low);
        (text.len() == 32 && value != 0).then_some(Self(value))
    }

    /// The first eight hex digits: enough to tell boots apart in a fact's witness.
    #[must_use]
    pub const fn short(self) -> u32 {
        (self.0 >> 96) as u32
    }
}

impl<'de> Deserialize<'de> for SystemId {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_str(Digits)
    }
}

/// Reads an id where its digits stand: each identity on record has two.
struct Digits;

impl Visitor<'_> for Digits {
    type Value = SystemId;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("a 128-bit id")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<SystemId, E> {
        SystemId::parse(text).ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
    }
}

impl From<SystemId> for String {
    fn from(id: SystemId) -> Self {
        format!("{:032x}", id.0)
    }
}

/// A file as the kernel knows it. Namespaces are files too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FileId {
    pub dev: u64,
    pub ino: u64,
}

/// Everything that tells one process from every other process that ever was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine: Option<SystemId>,
    pub boot: SystemId,
    /// The boot id is the kernel's own, not one that a container was given. Unsaid before abide could tell.
    #[serde(default, skip_serializing_if = "is_false")]
    pub kernel_boot: bool,
    pub pid_ns: FileId,
    /// None on kernels without time namespaces.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_ns: Option<FileId>,
    /// The thread group's id, as seen in `pid_ns`.
    pub pid: u32,
    /// Birth in clock ticks since boot, as seen in `time_ns`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_ticks: Option<u64>,
    /// The tick in which this identity was taken from the living process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seen_ticks: Option<u64>,
    /// The pidfs inode: unique within a boot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pidfs: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uid: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exe: Option<FileId>,
}

/// Where the question is asked from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Here {
    pub machine: Option<SystemId>,
    pub boot: Option<SystemId>,
    /// The boot id is the kernel's own, not one that a container was given.
    pub kernel_boot: bool,
    pub pid_ns: Option<FileId>,
    pub time_ns: Option<FileId>,
}

/// What the kernel shows of a pid at this instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sighting {
    /// The kernel said that no process has this number.
    Absent,
    /// The number belongs to a thread of some other process now.
    Thread,
    /// The question could not be asked.
    Failed(Doubt),
    /// A process with this number was there.
    Present { pidfs: Option<u64>, exited: Option<bool>, stat: Result<Stat, Doubt> },
}

/// What is known of the lifetime lock that the process would hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lock {
    /// Somebody holds it: the process lives, wherever it is.
    Held,
    /// Nobody holds it, it cannot be read, or the file is not the recorded one. Proves nothing.
    Silent,
}

/// The answer to the one question about a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Liveness {
    Alive(Option<Qualifier>),
    Dead(Death),
    Unknown(Doubt),
}

/// What is special about a living process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Qualifier {
    Stopped,
    Traced,
    /// The process on record is dead; who holds its lock now has not said yet who it is.
    Restarting,
}

/// The positive ground for calling a process dead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Death {
    /// The kernel has no such process.
    Gone,
    /// Its number belongs to another process now.
    Reused,
    /// It has ended and waits to be reaped, or ended while we looked.
    Exited,
    /// The machine has been started again since.
    Reboot,
    /// It cannot be seen from here, and its host recorded that it is dead.
    Witnessed,
}

/// Why nothing can be said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doubt {
    /// No identity is on record.
    NoIdentity,
    /// The same, and nobody holds what it would hold: that proves nothing, for it may hold another copy.
    NotHeld,
    OtherMachine,
    OtherPidNamespace,
    OtherTimeNamespace,
    /// Another boot id, and somebody who was there before holds a lock: there was no reboot.
    OtherBootId,
    /// Another boot id, one of the two is not the kernel's own, and the process may still be there.
    GivenBootId,
    /// Another boot, and no machine id to say whether of this machine.
    NoMachineId,
    NoBootId,
    /// `/proc` does not show the process, and nothing else identifies it.
    Hidden,
    /// `/proc` was not asked, for something else identifies it.
    NotAsked,
    /// Same pid and same tick of birth, which two processes can share.
    SameTick,
    /// Neither inode nor ticks are on record.
    NoMark,
    /// This system cannot be asked.
    Unsupported,
    /// The kernel refused the question with this errno.
    Refused(i32),
    /// Only the past was asked about, and nobody proves it.
    NoWitness,
}

/// Is the process that `want` names alive? Only positive evidence yields `Dead`.
#[must_use]
pub fn judge(want: &Identity, here: &Here, seen: &Sighting, lock: Lock) -> Liveness {
    let by_kernel = match (place(want, here), sight(want, here, seen)) {
        (Place::Same, liveness) | (Place::Elsewhere(liveness), _) => liveness,
        // Dead in this boot, or of another one: dead in any case, and nothing proves a reboot.
        (Place::PerhapsRebooted, Liveness::Dead(death)) => Liveness::Dead(death),
        (Place::PerhapsRebooted, Liveness::Alive(_) | Liveness::Unknown(_)) => {
            Liveness::Unknown(Doubt::GivenBootId)
        }
    };
    match (lock, by_kernel) {
        (Lock::Held, Liveness::Alive(qualifier)) => Liveness::Alive(qualifier),
        // Its successor takes the lock before it can say who it is.
        (Lock::Held, Liveness::Dead(Death::Gone | Death::Reused | Death::Exited | Death::Witnessed)) => {
            Liveness::Alive(Some(Qualifier::Restarting))
        }
        (Lock::Held, Liveness::Dead(Death::Reboot) | Liveness::Unknown(_)) => Liveness::Alive(None),
        (Lock::Silent, liveness) => liveness,
    }
}

/// Whether a pid means the same thing here as where the identity was taken.
enum Place {
    Same,
    /// Another boot id, which proves nothing alone; if it tells the truth, whoever had the pid is dead.
    PerhapsRebooted,
    /// The pid says nothing here, and this is the answer.
    Elsewhere(Liveness),
}

/// Another boot id is a reboot where both are the kernel's own: a file may be put over what the kernel shows, as
/// containers do. Then it can only be one in the same pid namespace; the device that namespaces are on may have another
/// number after it. The kernel's own tells it in every pid namespace, for none outlives a boot.
fn place(want: &Identity, here: &Here) -> Place {
    let unknown = |doubt| Place::Elsewhere(Liveness::Unknown(doubt));
    let Some(boot) = here.boot else { return unknown(Doubt::NoBootId) };
    let other_boot = want.boot != boot;
    match (want.machine, here.machine) {
        (Some(recorded), Some(ours)) if recorded != ours => return unknown(Doubt::OtherMachine),
        (None, _) | (_, None) if other_boot => return unknown(Doubt::NoMachineId),
        (Some(_) | None, Some(_) | None) => {}
    }
    if other_boot && want.kernel_boot && here.kernel_boot {
        return Place::Elsewhere(Liveness::Dead(Death::Reboot));
    }
    match here.pid_ns {
        Some(ns) if other_boot && ns.ino == want.pid_ns.ino => Place::PerhapsRebooted,
        Some(ns) if !other_boot && ns == want.pid_ns => Place::Same,
        Some(_) | None => unknown(Doubt::OtherPidNamespace),
    }
}

fn sight(want: &Identity, here: &Here, seen: &Sighting) -> Liveness {
    let (pidfs, exited, stat) = match *seen {
        Sighting::Absent => return Liveness::Dead(Death::Gone),
        Sighting::Thread => return Liveness::Dead(Death::Reused),
        Sighting::Failed(doubt) => return Liveness::Unknown(doubt),
        Sighting::Present { pidfs, exited, stat } => (pidfs, exited, stat),
    };
    let same = match (want.pidfs, pidfs) {
        (Some(recorded), Some(now)) => Ok(recorded == now),
        (Some(_) | None, Some(_) | None) => same_by_ticks(want, here, stat),
    };
    // A ready pidfd or a corpse is a death whoever it was: the process itself, or one that came after it.
    match (same, exited) {
        (Ok(false), _) => Liveness::Dead(Death::Reused),
        (Ok(true) | Err(_), Some(true)) => Liveness::Dead(Death::Exited),
        (Ok(true) | Err(_), None) if stat.is_ok_and(Stat::is_corpse) => Liveness::Dead(Death::Exited),
        (Err(doubt), Some(false) | None) => Liveness::Unknown(doubt),
        (Ok(true), Some(false)) => Liveness::Alive(stat.ok().and_then(Stat::qualifier)),
        (Ok(true), None) => match stat {
            Ok(stat) => Liveness::Alive(stat.qualifier()),
            Err(doubt) => Liveness::Unknown(doubt),
        },
    }
}

/// Different ticks are different processes. Equal ticks are one process only if it was still there after the
/// tick of its birth: until then the number can be given away again within the same tick.
fn same_by_ticks(want: &Identity, here: &Here, stat: Result<Stat, Doubt>) -> Result<bool, Doubt> {
    let recorded = want.start_ticks.ok_or(Doubt::NoMark)?;
    if want.time_ns != here.time_ns {
        return Err(Doubt::OtherTimeNamespace);
    }
    if stat?.start_ticks != recorded {
        return Ok(false);
    }
    want.outlived_its_tick().then_some(true).ok_or(Doubt::SameTick)
}

impl Identity {
    /// Whether both are of one process, whenever each was taken.
    #[must_use]
    pub fn is(&self, other: &Self) -> bool {
        let marks = |one: &Self| (one.machine, one.boot, one.pid_ns, one.pid, one.start_ticks, one.pidfs);
        marks(self) == marks(other)
    }

    /// Both are of one boot and one clock, and this one was not born before the other.
    #[must_use]
    pub fn is_no_older_than(&self, other: &Self) -> bool {
        let place = |one: &Self| (one.machine, one.boot, one.pid_ns, one.time_ns);
        let born = self.start_ticks.zip(other.start_ticks);
        place(self) == place(other) && born.is_some_and(|(ours, theirs)| ours >= theirs)
    }

    /// No other process can ever be taken for this one.
    #[must_use]
    pub fn is_unmistakable(&self) -> bool {
        self.pidfs.is_some() || self.outlived_its_tick()
    }

    fn outlived_its_tick(&self) -> bool {
        self.start_ticks.zip(self.seen_ticks).is_some_and(|(born, seen)| seen > born)
    }
}

impl Liveness {
    #[must_use]
    pub const fn is_alive(self) -> bool {
        matches!(self, Self::Alive(_))
    }

    #[must_use]
    pub const fn is_dead(self) -> bool {
        matches!(self, Self::Dead(_))
    }

    /// The word in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Alive(_) => "alive",
            Self::Dead(_) => "dead",
            Self::Unknown(_) => "unknown",
        }
    }

    /// The ground, as the end of a sentence that starts with the process.
    #[must_use]
    pub fn says(self) -> String {
        match self {
            Self::Alive(None) => "is alive".to_owned(),
            Self::Alive(Some(Qualifier::Restarting)) => "is dead; its successor holds its lock".to_owned(),
            Self::Alive(Some(qualifier)) => format!("is alive, {}", qualifier.name()),
            Self::Dead(death) => format!("is dead: {}", death.says()),
            Self::Unknown(doubt) => format!("cannot be judged: {}", doubt.says()),
        }
    }
}

impl Qualifier {
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Stopped => "stopped",
            Self::Traced => "traced",
            Self::Restarting => "restarting",
        }
    }
}

impl Death {
    #[must_use]
    pub const fn says(self) -> &'static str {
        match self {
            Self::Gone => "the kernel has no such process",
            Self::Reused => "its pid belongs to another process now",
            Self::Exited => "it has ended",
            Self::Reboot => "the machine has been rebooted since",
            Self::Witnessed => "its host saw that, and it cannot be seen from here",
        }
    }
}

impl Doubt {
    /// From where the question can be answered, on this machine and in this boot; none if from nowhere.
    #[must_use]
    pub const fn elsewhere(self) -> Option<&'static str> {
        match self {
            Self::OtherPidNamespace => Some("from the pid namespace that it was started in"),
            Self::OtherTimeNamespace => Some("from the time namespace that it was started in"),
            Self::OtherBootId | Self::GivenBootId => {
                Some("where /proc shows the boot id that it was started under")
            }
            Self::NoBootId => Some("where /proc is mounted (`mount -t proc proc /proc`)"),
            Self::Hidden | Self::Refused(_) => Some("as root, where /proc shows every process"),
            Self::NoIdentity
            | Self::NotHeld
            | Self::NotAsked
            | Self::OtherMachine
            | Self::NoMachineId
            | Self::SameTick
            | Self::NoMark
            | Self::Unsupported
            | Self::NoWitness => None,
        }
    }

    /// The place from which it can be answered may be gone for good, as a container's is that was started anew.
    #[must_use]
    pub const fn outlasts_its_place(self) -> bool {
        matches!(self, Self::OtherPidNamespace | Self::OtherTimeNamespace)
    }

    #[must_use]
    pub fn says(self) -> String {
        match self {
            Self::NoIdentity => "no identity is on record".to_owned(),
            Self::NotHeld => "no identity is on record, and nobody holds its directory".to_owned(),
            Self::OtherMachine => "it belongs to another machine".to_owned(),
            Self::OtherPidNamespace => "it belongs to another pid namespace".to_owned(),
            Self::OtherTimeNamespace => "it belongs to another time namespace".to_owned(),
            Self::OtherBootId => {
                "the boot id is another here, but a lock of its session is held, so there was no reboot"
                    .to_owned()
            }
            Self::GivenBootId => {
                "the boot id is another here, but not the kernel's own, so it proves no reboot".to_owned()
            }
            Self::NoMachineId => "another boot, and no machine id to compare".to_owned(),
            Self::NoBootId => "the boot id cannot be read".to_owned(),
            Self::Hidden => "/proc hides it".to_owned(),
            Self::NotAsked => "/proc was not asked".to_owned(),
            Self::SameTick => "another process can have the same pid and birth tick".to_owned(),
            Self::NoMark => "neither inode nor birth tick is on record".to_owned(),
            Self::Unsupported => "processes cannot be probed on this system".to_owned(),
            Self::Refused(errno) => format!("the kernel refused the question (errno {errno})"),
            Self::NoWitness => "nobody witnessed that instant".to_owned(),
        }
    }
}

const fn is_false(value: &bool) -> bool {
    !*value
}
