//! The facts: what was witnessed, by whom, when. Only facts are stored; every status is derived from them.
//! `ending` is how a program ended, `work` what agents do, `checkpointed` what was saved, `frame` their stored form, `says`
//! their words (`number` those of the kernel's numbers), `fold` what a verdict needs of them.

mod begun;
mod checkpointed;
mod ending;
pub mod fold;
pub mod frame;
pub mod notification;
pub mod number;
mod says;
mod terms;
mod work;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

pub use begun::Begun;
pub use checkpointed::{Checkpointed, Patched, Reason};
pub use ending::{Cause, Ended, How, Observer, Outcome, Resources, Survivor, Word};
pub use terms::Terms;
pub use work::{Attention, Summary, TurnClosed, TurnOpened, Wants};

use crate::identity::{FileId, Identity};
use crate::moment::Moment;

/// The version of the stored form. A reader refuses newer frames and says where they are.
pub const SCHEMA: u32 = 1;

/// One thing that was witnessed.
#[derive(Debug, Clone, PartialEq)]
pub struct Fact {
    pub witness: Witness,
    /// Counts the facts of this witness from 1, so that a missing one is noticed.
    pub seq: u64,
    pub at: Moment,
    pub body: Body,
}

/// Who wrote a fact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Witness {
    pub role: Role,
    pub pid: u32,
    /// The first digits of the boot id that the fact's boot-time clock belongs to.
    pub boot: u32,
}

macro_rules! roles {
    ($($role:ident $name:literal,)+) => {
        /// In which role a witness speaks.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Role { $($role,)+ }

        impl Role {
            pub const ALL: &'static [Self] = &[$(Self::$role,)+];

            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$role => $name,)+ }
            }
        }
    };
}

roles! {
    Guard "guard",
    Host "host",
    Client "client",
    Hook "hook",
    Adapter "adapter",
    Watcher "watcher",
    Courier "courier",
    Sealer "sealer",
    Other "other",
}

impl fmt::Display for Witness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}@{:08x}", self.role.name(), self.pid, self.boot)
    }
}

impl Witness {
    /// The inverse of `Display`. A role of a later abide is read as `other`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (role, rest) = text.split_once(':')?;
        let (pid, boot) = rest.split_once('@')?;
        Some(Self {
            role: Role::ALL.iter().copied().find(|known| known.name() == role).unwrap_or(Role::Other),
            pid: pid.parse().ok()?,
            boot: u32::from_str_radix(boot, 16).ok()?,
        })
    }
}

macro_rules! bodies {
    ($($variant:ident($body:ty) $name:literal,)+) => {
        /// What was witnessed.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Body {
            $($variant($body),)+
            /// A fact of a later abide: kept, shown, and never decisive.
            Other { name: String, body: String },
        }

        impl Body {
            /// The names of all facts this version knows.
            pub const NAMES: &'static [&'static str] = &[$($name,)+];

            #[must_use]
            pub fn name(&self) -> &str {
                match self {
                    $(Self::$variant(_) => $name,)+
                    Self::Other { name, .. } => name,
                }
            }

            /// The same, for who keeps it when the fact is gone.
            fn kept_name(&self) -> Cow<'static, str> {
                match self {
                    $(Self::$variant(_) => Cow::Borrowed($name),)+
                    Self::Other { name, .. } => Cow::Owned(name.clone()),
                }
            }

            /// The body as JSON.
            pub(crate) fn to_json(&self) -> serde_json::Result<String> {
                match self {
                    $(Self::$variant(body) => serde_json::to_string(body),)+
                    Self::Other { body, .. } => Ok(body.clone()),
                }
            }

            /// The inverse of `to_json`, out of whatever is being read.
            pub(crate) fn read<'de, D: Deserializer<'de>>(name: &str, from: D) -> Result<Self, D::Error> {
                match name {
                    $($name => Deserialize::deserialize(from).map(Self::$variant),)+
                    _ => {
                        let body = <&RawValue>::deserialize(from)?.get().to_owned();
                        Ok(Self::Other { name: name.to_owned(), body })
                    }
                }
            }
        }
    };
}

bodies! {
    Launched(Box<Launched>) "launched",
    Guarded(Guarded) "guarded",
    Hosted(Hosted) "hosted",
    Started(Started) "started",
    ExecFailed(ExecFailed) "exec_failed",
    StopAsked(StopAsked) "stop_asked",
    Signalled(Signalled) "signalled",
    Ended(Box<Ended>) "ended",
    Cut(Cut) "cut",
    Drained(Drained) "drained",
    Declared(Declared) "declared",
    TurnOpened(Box<TurnOpened>) "turn_opened",
    TurnClosed(TurnClosed) "turn_closed",
    Attention(Attention) "attention",
    Marked(Marked) "marked",
    Checkpointed(Checkpointed) "checkpointed",
    Adopted(Box<Adopted>) "adopted",
    Watched(Watched) "watched",
    ImageChanged(ImageChanged) "image_changed",
    Noted(Noted) "noted",
    Notified(Box<Notified>) "notified",
    Summary(Box<Summary>) "summary",
    Sealed(Box<Sealed>) "sealed",
    Removing(Noted) "removing",
    Removed(Noted) "removed",
}

/// The session exists; its program waits at the gate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Launched {
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    pub argv: Vec<String>,
    /// The arguments were too long to record whole.
    #[serde(default, skip_serializing_if = "is_false")]
    pub argv_cut: bool,
    pub cwd: String,
    /// The names of the environment variables, joined by `=`, which no name can hold; never their values.
    #[serde(default)]
    pub env_names: String,
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// The terminal's size; none when the program runs on pipes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Size>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launcher: Option<Identity>,
    /// The process at the gate, which becomes the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<Identity>,
    /// The adapter that the command belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The conversation that the agent was told to begin, and the words that tell it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begun: Option<Begun>,
    /// What was handed to the program as its input; none for a terminal, or for nothing to read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdin: Option<String>,
    #[serde(default, skip_serializing_if = "Terms::is_usual")]
    pub terms: Terms,
}

/// A terminal's size in cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Size {
    pub cols: u16,
    pub rows: u16,
}

/// A guard holds the lifetime lock and serves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Guarded {
    pub guard: Identity,
    /// The file that the locks are on.
    pub lock: FileId,
    pub version: String,
}

/// A host serves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hosted {
    pub host: Identity,
    pub generation: u32,
    pub version: String,
}

/// The exec succeeded: the program runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Started {
    pub program: Identity,
    pub image: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cgroup: Option<String>,
}

/// The exec failed: the program never ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecFailed {
    pub errno: i32,
    pub path: String,
    /// The directory that could not be entered, if it came no further than that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// In the slot: the session that it is the end of, as an end says it there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

/// Somebody asked for the session's end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StopAsked {
    pub by: String,
    pub grace_ms: u64,
    /// Nobody but its own time limit asked.
    #[serde(default, skip_serializing_if = "is_false")]
    pub time_is_up: bool,
}

impl StopAsked {
    /// What an end is put down to that comes after it.
    #[must_use]
    pub const fn cause(&self) -> Cause {
        if self.time_is_up { Cause::Timeout } else { Cause::Asked }
    }
}

/// A signal is about to be sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signalled {
    pub signal: i32,
    pub pids: Vec<u32>,
    pub by: String,
}

/// The recording stops here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cut {
    pub offset: u64,
    pub reason: String,
}

/// All that the terminal held is on record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drained {
    pub bytes: u64,
}

/// The program's own word on its work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Declared {
    pub status: String,
    pub exit_code: u8,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
}

/// An instant of the recording got a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marked {
    pub name: String,
    pub offset: u64,
}

/// A process that was started elsewhere became the program of this session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Adopted {
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    pub program: Identity,
    pub argv: Vec<String>,
    pub cwd: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

/// A watcher follows the program, which nobody serves, and will record its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Watched {
    pub watcher: Identity,
    /// The file that its lock is on.
    pub lock: FileId,
    pub version: String,
}

/// The program exec'd another image.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageChanged {
    pub image: String,
}

/// Something worth knowing. It decides nothing, but for who was found dead.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Noted {
    pub text: String,
    /// The signal that a helper heard, if that is what is noted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heard: Option<i32>,
    /// The program that a host found dead while its guard recorded no end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gone: Option<Box<Identity>>,
}

impl<T: Into<String>> From<T> for Noted {
    fn from(text: T) -> Self {
        Self { text: text.into(), ..Self::default() }
    }
}

/// It was tried to tell the user of something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notified {
    /// Of which notification.
    pub key: String,
    /// Whom: `command` or `webhook`.
    pub to: String,
    pub delivered: bool,
    /// Why it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// The session was closed by someone who did not observe its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sealed {
    pub status: Closing,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// The last thing any witness recorded before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_seen: Option<Moment>,
    /// A word of the program may be lost, and the sealer could not tell which was the last.
    #[serde(default, skip_serializing_if = "is_false")]
    pub word_unclear: bool,
}

/// What a sealer may conclude.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Closing {
    /// It ran and is over.
    Lost,
    /// It never ran.
    NeverRan,
}

const fn is_false(value: &bool) -> bool {
    !*value
}
