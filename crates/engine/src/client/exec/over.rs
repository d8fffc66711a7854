//! A line that is over although nobody said how it ended: how that is known, and what is told of it. Where the kernel shows
//! how a shell sleeps, it sleeps at its prompt as it did when the line was typed there; elsewhere the screen must show a
//! prompt like that one.

use abide_core::failure::{Code, Failure};
use abide_core::keys::half::is_alike;
use abide_core::verdict::program_of;

use super::super::drive::Driver;
use super::listening::{Listening, without_prompt};
use super::{Run, Unfinished};

/// A line that was run at a prompt, which was shown so.
#[derive(Clone, Copy)]
pub(super) struct Before<'a> {
    pub(super) run: &'a Run<'a>,
    pub(super) prompt: &'a str,
}

impl Driver<'_> {
    /// Why the line is over: its shell is gone, or waits at a prompt like the one before, and has not told its end.
    pub(super) fn why_over(
        &mut self,
        listening: &Listening,
        before: Before<'_>,
    ) -> Result<Option<&'static str>, Failure> {
        let why = self.why_left(listening, before)?;
        // What it told and nobody has recorded yet comes, where anything does.
        let comes = |it: &Self| before.run.dir.has_told_exec(before.run.nonce) && it.cut().is_none();
        Ok(why.filter(|_| !comes(self)))
    }

    fn why_left(
        &mut self,
        listening: &Listening,
        Before { run: Run { at, .. }, prompt }: Before<'_>,
    ) -> Result<Option<&'static str>, Failure> {
        if let Some(who) = at.who.filter(|who| self.truth().is_alive(who).is_dead()) {
            // The end of the session itself is on record soon, and says more.
            let is_program = program_of(&self.session().evidence).is_some_and(|one| one.pid == who.pid);
            return Ok((!is_program).then_some("its shell has ended, and did not say how the line did"));
        }
        let Some(found) = self.at_prompt(at.pid) else { return Ok(None) };
        if found.is_another_than(at) {
            return Ok(Some(
                "another shell has taken the place of the one that ran the line, and says no code",
            ));
        }
        let back = match found.sleeps_as(at) {
            Some(same) => same,
            None => listening.broken || is_alike(&self.look()?.0.live().before_cursor(), prompt),
        };
        let why = match (listening.others, listening.broken) {
            (true, _) => {
                "another exec began before it had told its end, as one does in a shell below it, so that its end could \
                not be told"
            }
            (false, true) => "the line was broken off by Ctrl-C",
            (false, false) => {
                "its shell is at a prompt again and did not say how the line ended: a command of it was broken off as by \
                Ctrl-C, or another shell is in its place"
            }
        };
        Ok(back.then_some(why))
    }

    pub(super) fn is_over(&self, listening: &Listening, why: &str) -> Unfinished {
        if self.cut().is_some() {
            return Unfinished { failure: self.not_recorded(), begun: true, output: self.written(listening) };
        }
        let way_out = format!("`abide snapshot {}` shows what is there", self.session().id);
        let failure = self.refusal(Code::Interrupted, why, &way_out);
        Unfinished { failure, begun: true, output: without_prompt(self.written(listening)) }
    }

    /// The time is up, and nothing proves that the line is over. A shell that waits may wait for an answer that the line wants.
    pub(super) fn out_of_time(&self, run: &Run<'_>) -> Failure {
        let id = &self.session().id;
        let waits = self.at_prompt(run.at.pid).is_some();
        let (why, way_out) = if run.dir.has_told_exec(run.nonce) {
            let way_out = format!("`abide why {id}` shows who serves it");
            ("the line has ended, and how is not on record yet", way_out)
        } else if waits {
            let why = "nobody has told the line's end yet, and its shell waits: at its prompt again, or for an answer \
                that the line wants";
            (
                why,
                format!("`abide snapshot {id}` shows what is there, `abide keys {id} Ctrl-C` breaks it off"),
            )
        } else {
            let way_out =
                format!("`abide snapshot {id}` shows what it does, `abide keys {id} Ctrl-C` ends it");
            ("the line has not ended yet, and goes on", way_out)
        };
        self.refusal(Code::TimedOut, why, &way_out)
    }
}
