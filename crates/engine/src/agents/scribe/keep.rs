//! What a scribe saves: the transcript of the agent that it follows, and the files that were named. When, is decided by
//! `core::verdict::checkpoint`.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use abide_core::evidence::fold::Saved;
use abide_core::evidence::{Body, Checkpointed, Reason};
use abide_core::verdict::checkpoint::{Schedule, is_at_work};
use abide_sys::clock;

use super::Scribe;
use crate::agents::checkpoint::copy::Stand;
use crate::agents::checkpoint::{self, Wanted};
use crate::agents::following::Following;

/// What a scribe knows of the files that it saves.
pub(super) struct Keeping {
    schedule: Schedule,
    /// How each stood when it was saved, if it had not just been written to.
    stood: BTreeMap<PathBuf, (Stand, Option<Stand>)>,
    /// Why one could not be saved the last time, so that it is told once.
    failed: BTreeMap<PathBuf, String>,
    /// What is not on the disk yet.
    unflushed: Vec<Checkpointed>,
}

impl Keeping {
    pub(super) const fn new(schedule: Schedule) -> Self {
        Self { schedule, stood: BTreeMap::new(), failed: BTreeMap::new(), unflushed: Vec::new() }
    }
}

impl Scribe<'_> {
    /// Saves what is due, and sees to it that what was saved is on the disk.
    pub(super) fn keep(&mut self) {
        let due = self.keeping.schedule.due(clock::now().boot, &self.ending.session.evidence);
        if let Some(reason) = due {
            self.save(reason, self.following.as_ref().and_then(Wanted::transcript));
        }
        let unflushed = std::mem::take(&mut self.keeping.unflushed);
        // What a failing disk lost is told by its sum to whoever reads it.
        let _ = checkpoint::flush(self.dir, &unflushed);
    }

    /// When the next one is due because of the time, in ms of boot time.
    pub(super) fn keep_at(&self) -> Option<u64> {
        self.keeping.schedule.wake_at(&self.session().evidence)
    }

    /// Saves the transcript that it follows and what was named, unless no turn is open.
    pub(super) fn save_now(&mut self, reason: Reason) {
        self.save(reason, self.following.as_ref().and_then(Wanted::transcript));
    }

    /// The same, of an agent that is gone.
    pub(super) fn save_last(&mut self, gone: &Following) {
        self.save(Reason::End, Wanted::transcript(gone));
    }

    fn save(&mut self, reason: Reason, transcript: Option<Wanted>) {
        let evidence = &self.session().evidence;
        if !is_at_work(evidence) {
            return;
        }
        let work = &evidence.work;
        let named = work.saved.iter().filter(|saved| saved.named).map(Wanted::again);
        // One that never saw the agent knows its transcript from the one before.
        let at = work.turn.as_ref().and_then(|told| told.body.conversation.as_ref());
        let is_at = |saved: &&Saved| at.is_some() && saved.latest.body.conversation.as_ref() == at;
        let known = || work.saved.iter().find(is_at).map(Wanted::again);
        let wanted: Vec<Wanted> = transcript.or_else(known).into_iter().chain(named).collect();
        if wanted.is_empty() {
            self.keeping.schedule.nothing_yet();
        }
        let mut again = false;
        for one in wanted {
            let stands = Stand::settled(&one.file);
            let unchanged = stands.is_some() && stands.as_ref() == self.keeping.stood.get(&one.file);
            if unchanged && !reason.is_always_told() {
                continue;
            }
            let saved = checkpoint::save(self.dir, &mut self.pen, &one, reason);
            self.keeping.stood.remove(&one.file);
            match saved {
                Ok(told) => {
                    self.keeping.failed.remove(&one.file);
                    self.keeping.stood.extend(stands.map(|stands| (one.file, stands)));
                    self.keeping.unflushed.extend(told);
                }
                // Whoever writes it is done in a moment.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && reason == Reason::Interval => {
                    again = true;
                }
                Err(error) => self.tell_failed(one.file, &error),
            }
        }
        if again {
            self.keeping.schedule.again();
        }
        self.ending.look_again(self.truth, self.home);
    }

    fn tell_failed(&mut self, file: PathBuf, error: &io::Error) {
        let text = format!("{} was not saved: {error}", file.display());
        if self.keeping.failed.get(&file) != Some(&text) {
            // Where there is no room to say it either, the next one says it.
            let told = self.pen.add(clock::now(), Body::Noted(text.as_str().into()));
            self.keeping.failed.extend(told.is_ok().then_some((file, text)));
        }
    }
}
