//! Errors: a code for programs, a message and a hint for people. The code gives the exit code.
//! Nobody but `main` turns a failure into an exit.

use std::borrow::Cow;
use std::fmt;
use std::io::ErrorKind;

use serde::{Deserialize, Serialize};

use crate::evidence::frame::{body_from_line, body_to_line};
use crate::status::{Column, Status};

macro_rules! kinds {
    ($($kind:ident $exit_code:literal $says:literal,)+) => {
        /// The classes of failure, one exit code each.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Kind { $(#[doc = $says] $kind,)+ }

        impl Kind {
            /// Every class, in the order of the table.
            pub const ALL: &'static [Self] = &[$(Self::$kind,)+];

            #[must_use]
            pub const fn exit_code(self) -> u8 {
                match self { $(Self::$kind => $exit_code,)+ }
            }

            /// What it means, for people.
            #[must_use]
            pub const fn says(self) -> &'static str {
                match self { $(Self::$kind => $says,)+ }
            }
        }
    };
}

kinds! {
    Internal  1   "abide failed",
    Usage     2   "what was typed or configured makes no sense",
    NoSession 3   "no such session, or no such process",
    Ambiguous 4   "more than one session can be meant",
    Refused   5   "the session's status does not allow it",
    Conflict  6   "a conflict: the name is in use, or another is at it already",
    Damaged   7   "the record is damaged",
    NoAnswer  8   "the host did not answer in time",
    TimedOut  124 "the time was up",
}

macro_rules! codes {
    ($($code:ident $name:literal $kind:ident,)+) => {
        /// What went wrong, precisely. The names are part of the JSON promise.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Code {
            $($code,)+
            /// The status' column says no.
            Column(Column),
        }

        impl Code {
            /// Every code but the refusals, which are named by their columns.
            pub const ALL: &'static [Self] = &[$(Self::$code,)+];

            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$code => $name,)+
                    Self::Column(column) => column.refusal(),
                }
            }

            /// The code of this name.
            #[must_use]
            pub fn parse(name: &str) -> Option<Self> {
                let columns = Column::ALL.iter().map(|column| Self::Column(*column));
                Self::ALL.iter().copied().chain(columns).find(|code| code.name() == name)
            }

            #[must_use]
            pub const fn kind(self) -> Kind {
                match self {
                    $(Self::$code => Kind::$kind,)+
                    Self::Column(_) => Kind::Refused,
                }
            }
        }
    };
}

codes! {
    Internal      "internal"        Internal,
    Io            "io"              Internal,
    UnsafeHome    "unsafe_home"     Internal,
    Permission    "permission"      Internal,
    Unhealthy     "unhealthy"       Internal,
    Usage         "usage"           Usage,
    BadTime       "bad_time"        Usage,
    BadConfig     "bad_config"      Usage,
    BadKey        "bad_key"         Usage,
    BadSettings   "bad_settings"    Usage,
    LineTooLong   "line_too_long"   Usage,
    NoSuchSession "no_such_session" NoSession,
    NoSuchProcess "no_such_process" NoSession,
    Ambiguous     "ambiguous"       Ambiguous,
    NameInUse     "name_in_use"     Conflict,
    Busy          "busy"            Conflict,
    ConversationInUse "conversation_in_use" Conflict,
    AlreadyFollowed "already_followed" Conflict,
    CheckpointNewer "checkpoint_newer" Conflict,
    WouldOverwrite "would_overwrite" Conflict,
    NoCheckpoint "no_checkpoint" Usage,
    Damaged       "damaged"         Damaged,
    InsideItself  "inside_itself"   Refused,
    NoTerminal    "no_terminal"     Refused,
    NoShell       "no_shell"        Refused,
    NoAgent       "no_agent"        Refused,
    AnotherConversation "another_conversation" Refused,
    WantsPerson   "wants_person"    Refused,
    NoTurn        "no_turn"         TimedOut,
    Interrupted   "interrupted"     Refused,
    Outdated      "outdated"        Refused,
    ReadOnly      "read_only"       Refused,
    NoAnswer      "no_answer"       NoAnswer,
    Unresponsive  "unresponsive"    NoAnswer,
    TimedOut      "timed_out"       TimedOut,
}

/// A refusal or an error. Names the session, its status, the reason and the way out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    pub code: Code,
    pub message: String,
    pub hint: Option<String>,
    pub session: Option<String>,
    pub status: Option<Status>,
}

impl Failure {
    #[must_use]
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: None, session: None, status: None }
    }

    /// The act failed on the object for the reason that the system gave, which also gives the way out.
    #[must_use]
    pub fn io(act: &str, object: &dyn fmt::Display, error: &std::io::Error) -> Self {
        let denied = error.kind() == ErrorKind::PermissionDenied;
        let code = if denied { Code::Permission } else { Code::Io };
        Self::new(code, format!("cannot {act} {object}: {error}")).hint(way_out(error))
    }

    /// As a host sends it.
    #[must_use]
    pub fn to_line(&self) -> Vec<u8> {
        let Self { code, message, hint, session, status } = self;
        let said = Said {
            code: code.name().into(),
            message: message.into(),
            hint: hint.as_deref().map(Into::into),
            session: session.as_deref().map(Into::into),
            status: status.map(|status| status.name().into()),
        };
        body_to_line(&said).unwrap_or_default()
    }

    /// As a host sent it; a host before version 2 says code and message only.
    #[must_use]
    pub fn from_line(line: &[u8]) -> Option<Self> {
        if let Some((code, message)) = std::str::from_utf8(line).ok()?.split_once('\n') {
            return Some(Self::new(Code::parse(code).unwrap_or(Code::Internal), message));
        }
        let said: Said<'_> = body_from_line(line).ok()?;
        let named = |name: Cow<'_, str>| Status::ALL.iter().copied().find(|status| status.name() == name);
        Some(Self {
            code: Code::parse(&said.code).unwrap_or(Code::Internal),
            message: said.message.into_owned(),
            hint: said.hint.map(Cow::into_owned),
            session: said.session.map(Cow::into_owned),
            status: said.status.and_then(named),
        })
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    #[must_use]
    pub fn about(mut self, session: impl Into<String>) -> Self {
        self.session = Some(session.into());
        self
    }

    #[must_use]
    pub const fn in_status(mut self, status: Status) -> Self {
        self.status = Some(status);
        self
    }
}

/// A refusal on its way from a host.
#[derive(Serialize, Deserialize)]
struct Said<'a> {
    code: Cow<'a, str>,
    message: Cow<'a, str>,
    hint: Option<Cow<'a, str>>,
    session: Option<Cow<'a, str>>,
    status: Option<Cow<'a, str>>,
}

/// What helps against an error of the system, where whoever met it knows nothing better.
fn way_out(error: &std::io::Error) -> &'static str {
    const EAGAIN: i32 = 11;
    const ENFILE: i32 = 23;
    const EMFILE: i32 = 24;
    match (error.raw_os_error(), error.kind()) {
        (_, ErrorKind::ReadOnlyFilesystem) => {
            "that file system is read-only: make it writable, or choose another home with --home DIR"
        }
        (_, ErrorKind::PermissionDenied) => "ask as the owner, or choose another home with --home DIR",
        (_, ErrorKind::StorageFull | ErrorKind::QuotaExceeded) => {
            "free some space, for instance with `abide gc --older 7d`, or choose another home with --home DIR"
        }
        (_, ErrorKind::FileTooLarge) => {
            "files may not be so large here: allow more with `ulimit -f unlimited`"
        }
        (Some(EMFILE | ENFILE), _) => "close some files, or allow more with `ulimit -n 4096`",
        (Some(EAGAIN), _) | (_, ErrorKind::OutOfMemory) => {
            "end some processes, or allow more with `ulimit -u`, and try again"
        }
        _ => "`abide doctor` says what is wrong with this machine and this home",
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

/// Whether the session's status has a yes in the column that a command needs.
///
/// # Errors
/// Names session, status and the way out if it has not.
pub fn admit(session: &str, status: Status, column: Column) -> Result<(), Failure> {
    if column.holds(status) {
        return Ok(());
    }
    let message = format!("session {session} is {}: {}", status.name(), status.when());
    Err(Failure::new(Code::Column(column), message)
        .hint(format!("`abide why {session}` shows the proof"))
        .about(session)
        .in_status(status))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_of_every_code_and_status_comes_over_the_wire_with_all_its_fields() {
        let columns = Column::ALL.iter().map(|column| Code::Column(*column));
        for code in Code::ALL.iter().copied().chain(columns) {
            let bare = Failure::new(code, "it is \"so\"\u{1b}");
            assert_eq!(Failure::from_line(&bare.to_line()), Some(bare.clone()));
            for status in Status::ALL {
                let full = bare.clone().hint("do this").about("k3v9q2zr").in_status(*status);
                assert_eq!(Failure::from_line(&full.to_line()), Some(full));
            }
        }
        assert_eq!(Failure::from_line(b"busy\nno"), Some(Failure::new(Code::Busy, "no")), "an older host");
        assert_eq!(Failure::from_line(b"{"), None);
    }

    #[test]
    fn every_error_of_the_system_has_a_way_out_that_fits_it() {
        for (errno, code, way_out) in [
            (30, "io", "read-only: make it writable, or choose another home"),
            (13, "permission", "ask as the owner"),
            (28, "io", "`abide gc --older 7d`"),
            (122, "io", "`abide gc --older 7d`"),
            (24, "io", "`ulimit -n 4096`"),
            (23, "io", "`ulimit -n 4096`"),
            (11, "io", "end some processes"),
            (12, "io", "end some processes"),
            (5, "io", "`abide doctor`"),
        ] {
            let error = std::io::Error::from_raw_os_error(errno);
            let failure = Failure::io("write to", &"it", &error);
            let hint = failure.hint.unwrap_or_default();
            assert_eq!(failure.code.name(), code);
            assert!(hint.contains(way_out), "{error}: {hint}");
        }
        let own = Failure::io("write to", &"it", &std::io::Error::other("why")).hint("mine");
        assert_eq!(own.hint.as_deref(), Some("mine"), "whoever knows better says so");
    }
}
