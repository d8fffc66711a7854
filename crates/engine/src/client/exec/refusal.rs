//! Why a line was not run in a session's shell, or came to no code: each with the way out.

use abide_core::failure::{Code, Failure};
use abide_core::status::Column;

use super::Driver;

impl Driver<'_> {
    pub(super) fn ended_first(&self) -> Failure {
        let now = self.truth().of(self.home(), &self.session().id);
        let id = now.id.as_str();
        let how = now.verdict.outcome.as_ref().map_or_else(
            || now.verdict.status.name().to_owned(),
            |_| {
                now.verdict
                    .codes
                    .wait
                    .map_or_else(|| now.verdict.status.name().to_owned(), |code| format!("code {code}"))
            },
        );
        Failure::new(
            Code::Column(Column::Commandable),
            format!("session {id} ended before the line did, with {how}: the line ended its shell"),
        )
        .hint(format!("`abide why {id}` shows the proof"))
        .about(id)
        .in_status(now.verdict.status)
    }

    pub(super) fn no_shell(&self, why: &str) -> Failure {
        let id = &self.session().id;
        self.refusal(
            Code::NoShell,
            &format!("no shell waits at its prompt: {why}"),
            &format!("`abide snapshot {id}` shows what is there; `abide type {id}` types into any program"),
        )
    }

    /// A shell sleeps elsewhere than at its prompt.
    pub(super) fn in_the_middle(&self, what: &str) -> Failure {
        let why =
            format!("no shell waits at its prompt: `{what}` waits for more of a command, or for an answer");
        let way_out = format!("`abide keys {} Ctrl-C` breaks that off; nothing was typed", self.session().id);
        self.refusal(Code::NoShell, &why, &way_out)
    }

    /// The shell in front stands still; only of the session's own program a signal is ours to send.
    pub(super) fn shell_stopped(&self, what: &str, pid: u32, program: u32) -> Failure {
        let way_out = match pid == program {
            true => format!("`abide signal CONT {}` makes it go on", self.session().id),
            false => format!("`kill -CONT {pid}` makes it go on"),
        };
        self.refusal(
            Code::NoShell,
            &format!("no shell waits at its prompt: `{what}` (pid {pid}) is a shell that is stopped"),
            &way_out,
        )
    }

    pub(super) fn not_recorded(&self) -> Failure {
        self.refusal(Code::Io, "its output could not be recorded", "`abide doctor` says why")
    }

    /// It ran to its end, which whoever only lacks its code must know.
    pub(super) fn not_all_recorded(&self, code: u8) -> Failure {
        let id = &self.session().id;
        let said =
            format!("the line in session {id} ended with code {code}; not all that it wrote is on record");
        Failure::new(Code::Io, said)
            .hint(format!("`abide logs {id}` shows what is there"))
            .about(id.as_str())
            .in_status(self.session().verdict.status)
    }

    /// Why nothing more is recorded, if that is so.
    pub(super) fn cut(&self) -> Option<String> {
        let now = self.truth().of(self.home(), &self.session().id);
        now.evidence.record.cut.map(|told| told.body.reason)
    }

    /// The line was not typed. Where its tag has no room, nothing that it wrote would have been recorded.
    pub(super) fn not_taken(&self) -> Failure {
        let Some(reason) = self.cut() else { return self.outdated() };
        self.refusal(
            Code::Io,
            &format!("its recording was cut ({reason}), and what a line writes is read from there"),
            &format!("`abide type {}` types into it all the same", self.session().id),
        )
    }

    /// The host took the line, and nobody said that it was typed: the guard does that.
    pub(super) fn unanswered(&mut self) -> Failure {
        if let Err(failure) = self.look() {
            return failure;
        }
        let now = self.truth().of(self.home(), &self.session().id);
        let Some(guarded) = now.evidence.helpers.guarded.as_ref().map(|told| &told.body) else {
            return self.outdated();
        };
        if guarded.version != env!("CARGO_PKG_VERSION") {
            return self.outdated();
        }
        let (pid, says) = (guarded.guard.pid, self.truth().is_alive(&guarded.guard).says());
        let id = &self.session().id;
        self.refusal(
            Code::Unresponsive,
            &format!("its guard (pid {pid}: {says}) does not type it; the line was withdrawn"),
            &format!("the program goes on; once its guard is continued or killed, try again: `abide why {id}` shows who serves it"),
        )
    }

    pub(super) fn outdated(&self) -> Failure {
        let id = &self.session().id;
        self.refusal(
            Code::Outdated,
            "whoever serves it did not take the line, and may be of a version before exec",
            &format!("`abide upgrade {id}` makes it go on as this version"),
        )
    }

    pub(super) fn refusal(&self, code: Code, why: &str, way_out: &str) -> Failure {
        let session = self.session();
        Failure::new(code, format!("cannot run a line in session {}: {why}", session.id))
            .hint(way_out)
            .about(session.id.as_str())
            .in_status(session.verdict.status)
    }
}
