//! The outcome and the codes that are passed on. Never a code that no fact holds.

use super::{Rule, Seen};
use crate::evidence::fold::{Evidence, Told};
use crate::evidence::number::{Errno, Signal};
use crate::evidence::{Cause, Closing, How, Observer, Outcome, Sealed};
use crate::identity::{Death, Liveness};
use crate::status::Status;

/// What commands pass on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Codes {
    /// The declared code, else an observed exit code.
    pub exit: Option<u8>,
    /// What `wait` exits with; none while nothing says that the program is over.
    pub wait: Option<u8>,
    /// Whether the declared result and the exit status say the same; none unless both are there.
    pub agrees: Option<bool>,
    /// What is left of a damaged record does not tell which word of the program counted, so there is no code.
    pub unclear: bool,
}

impl Codes {
    /// Why there is none, where a code may be lost.
    pub const UNCLEAR: &'static str = "facts from before its end are damaged, missing or yet to come, and what the program declared may be among them: no code is passed on";
}

/// `wait` has no code to pass on.
const NO_CODE: u8 = 125;
/// What a wait for a program that cannot be executed exits with.
pub const NOT_EXECUTABLE: u8 = 126;
/// What a wait for a program that is not found exits with.
pub const NOT_FOUND: u8 = 127;
const ENOENT: i32 = 2;

pub(super) fn of(rule: Rule, evidence: &Evidence, seen: &Seen) -> Option<Outcome> {
    let closing = &evidence.closing;
    let asked = closing.stop_asked.as_ref().map(|told| told.body.cause());
    if let Some(failed) = &closing.exec_failed {
        let how = How::ExecFailed { errno: failed.body.errno };
        return Some(Outcome { how, observed_by: Some(Observer::Guard), cause: None });
    }
    match (&closing.ended, &closing.sealed) {
        (Some(ended), sealed) if ended.body.outcome.how != How::Lost || sealed.is_none() => {
            let mut outcome = ended.body.outcome.clone();
            outcome.cause = outcome.cause.or(asked);
            Some(outcome)
        }
        (_, Some(sealed)) => {
            Some(Outcome { how: How::Lost, observed_by: Some(Observer::Sealed), cause: sealed.body.cause })
        }
        (Some(_) | None, None) => inferred_cause(rule, evidence, seen).map(|cause| Outcome {
            how: How::Lost,
            observed_by: None,
            cause: Some(cause),
        }),
    }
}

/// What a sealer would record.
fn inferred_cause(rule: Rule, evidence: &Evidence, seen: &Seen) -> Option<Cause> {
    if rule == Rule::NeverRan {
        return Some(Cause::LaunchBroke);
    }
    if rule != Rule::AllDead {
        return None;
    }
    Some(if seen.program == Liveness::Dead(Death::Reboot) {
        Cause::Reboot
    } else if let Some(asked) = &evidence.closing.stop_asked {
        asked.body.cause()
    } else if evidence.beginning.adopted.is_some() {
        Cause::NotOurs
    } else if evidence.beginning.started.is_none() {
        Cause::LaunchBroke
    } else {
        Cause::HelpersDied
    })
}

pub(super) fn codes(status: Status, outcome: Option<&Outcome>, evidence: &Evidence) -> Codes {
    // Who removes what has ended takes nothing from its end.
    let leaving = status == Status::Destroying && evidence.closing.is_recorded();
    if !status.is_terminal() && !leaving {
        return Codes::default();
    }
    // A directory that is missing says nothing of the program.
    let failed = evidence.closing.exec_failed.as_ref();
    let came_to_exec = failed.is_none_or(|told| told.body.directory.is_none());
    let observed = outcome.map_or(NO_CODE, |outcome| match outcome.how {
        How::Exited { code } => code,
        How::Signaled { signal, .. } => signal.saturating_add(128),
        How::ExecFailed { errno: ENOENT } if came_to_exec => NOT_FOUND,
        How::ExecFailed { .. } => NOT_EXECUTABLE,
        How::Lost => NO_CODE,
    });
    let exited = outcome.and_then(|outcome| match outcome.how {
        How::Exited { code } => Some(code),
        How::Signaled { .. } | How::ExecFailed { .. } | How::Lost => None,
    });
    let seen = outcome.is_some_and(|outcome| outcome.how != How::Lost);
    if never_ran(status, outcome, evidence) {
        return Codes { exit: exited, wait: Some(observed), ..Codes::default() };
    }
    let endless = evidence.is_damaged() && !evidence.closing.is_recorded();
    if evidence.work.word_is_unclear || endless {
        return Codes { wait: Some(NO_CODE), unclear: true, ..Codes::default() };
    }
    match &evidence.work.declared {
        Some(declared) => {
            let code = declared.body.exit_code;
            let agrees = seen.then_some(exited == Some(code));
            Codes { exit: Some(code), wait: Some(code), agrees, unclear: false }
        }
        None => Codes { exit: exited, wait: Some(observed), ..Codes::default() },
    }
}

/// Whoever never ran has nothing to declare, nor has it when it is removed.
fn never_ran(status: Status, outcome: Option<&Outcome>, evidence: &Evidence) -> bool {
    let seen = outcome.is_some_and(|outcome| outcome.how != How::Lost);
    let sealed_unrun = |told: &Told<Box<Sealed>>| told.body.status == Closing::NeverRan;
    status == Status::Failed
        || outcome.is_some_and(|outcome| matches!(outcome.how, How::ExecFailed { .. }))
        || (!seen && evidence.closing.sealed.as_ref().is_some_and(sealed_unrun))
}

impl Outcome {
    /// As the end of a sentence that starts with the program.
    #[must_use]
    pub fn says(&self) -> String {
        let how = match self.how {
            How::Exited { code } => format!("exited with code {code}"),
            How::Signaled { signal, core } => {
                let signal = Signal(i32::from(signal));
                format!("killed by {signal}{}", if core { ", core dumped" } else { "" })
            }
            How::ExecFailed { errno } => format!("exec failed: {}", Errno(errno)),
            How::Lost => "over, and nobody observed how".to_owned(),
        };
        match (self.cause, self.how) {
            (Some(cause), How::Lost) => format!("{how}: {}", cause.says()),
            (Some(cause), How::Exited { .. } | How::Signaled { .. } | How::ExecFailed { .. }) => {
                format!("{how}, {}", cause.says())
            }
            (None, _) => how,
        }
    }
}

impl Sealed {
    /// As the end of a sentence that starts with the sealer.
    #[must_use]
    pub fn says(&self) -> String {
        let closed = match self.status {
            Closing::Lost => "over, and nobody observed how",
            Closing::NeverRan => "never ran",
        };
        self.cause.map_or_else(|| closed.to_owned(), |cause| format!("{closed}: {}", cause.says()))
    }
}

impl Cause {
    #[must_use]
    pub const fn says(self) -> &'static str {
        match self {
            Self::Asked => "a stop was asked for",
            Self::Oom => "out of memory",
            Self::Timeout => "its time was up",
            Self::Reboot => "the machine was rebooted",
            Self::HelpersDied => "guard and host died first",
            Self::LaunchBroke => "its guard died during the launch",
            Self::NotOurs => "it was not started by abide",
            Self::Other => "for a reason that a newer abide knows",
        }
    }
}
