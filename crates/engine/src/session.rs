//! What can be asked of a session that was found.

use abide_core::evidence::Size;
use abide_core::evidence::frame::Flaw;
use abide_core::failure::{Failure, admit};
use abide_core::identity::{Doubt, Identity, Liveness, Qualifier};
use abide_core::moment::Moment;
use abide_core::status::Column;
use abide_core::verdict::{Ground, Now, Rule, Seen, because, last_seen, program_of};

use crate::Session;
use crate::act::stop;

impl Session {
    /// The proof of the verdict.
    #[must_use]
    pub fn because(&self) -> Vec<Ground> {
        because(self.verdict.rule, &self.evidence, &self.seen, self.asked)
    }

    /// The signals that ask its program to end, politest first, before it is killed.
    #[must_use]
    pub fn asking(&self) -> Vec<i32> {
        stop::asking(self)
    }

    /// When it last gave a sign of life, if nobody saw its end.
    #[must_use]
    pub fn last_seen(&self) -> Option<Moment> {
        last_seen(self.verdict.rule, &self.evidence)
    }

    /// The terminal's size at the launch; of a program on pipes, what a terminal usually has.
    #[must_use]
    pub fn size(&self) -> Size {
        let launched = self.evidence.beginning.launched.as_ref();
        launched.and_then(|told| told.body.size).unwrap_or(Size { cols: 80, rows: 24 })
    }

    /// Whether its program was given a terminal, not pipes.
    #[must_use]
    pub fn has_terminal(&self) -> bool {
        let launched = self.evidence.beginning.launched.as_ref();
        launched.is_none_or(|told| told.body.size.is_some())
    }

    /// Its program was started elsewhere, so that there never was a recording.
    #[must_use]
    pub const fn is_unrecorded(&self) -> bool {
        let beginning = &self.evidence.beginning;
        beginning.adopted.is_some() && beginning.launched.is_none()
    }

    /// It has ended, or nothing that can still happen would tell how.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.has_ended() || self.is_beyond_telling() || self.half_removed
    }

    /// Its end is known, whether or not it is being removed.
    #[must_use]
    pub const fn has_ended(&self) -> bool {
        self.verdict.codes.wait.is_some()
    }

    /// The death of its program is proved, whether or not its end is on record.
    #[must_use]
    pub fn is_proved_dead(&self) -> bool {
        self.verdict.status.is_terminal() || self.verdict.rule == Rule::Finishing
    }

    /// It has not ended as far as anyone knows, and nothing that can still happen would tell.
    #[must_use]
    pub fn is_beyond_telling(&self) -> bool {
        self.verdict.rule.is_beyond_telling(&self.evidence, &self.seen)
    }

    /// Its directory is not there any more, and nothing that was in it.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        self.evidence.record.damage.iter().any(|damage| damage.flaw == Flaw::Gone)
    }

    /// Its record could be read, damaged or not: nothing was lacking at this moment.
    #[must_use]
    pub(crate) fn is_readable(&self) -> bool {
        !self.evidence.record.damage.iter().any(|damage| damage.flaw.passes())
    }

    /// Its program or its agent is alive, or a living guard, host or watcher still works for it.
    #[must_use]
    pub fn is_provably_alive(&self) -> bool {
        let Seen { program, owner, guard, host, watcher } = self.seen;
        let seen = [program, owner, guard, host, watcher];
        self.verdict.status.is_active() && seen.iter().any(|one| one.is_alive())
    }

    /// The same, and the record is good enough to tell how it stands: to wait on is right.
    #[must_use]
    pub fn is_healthy(&self) -> bool {
        let status = self.verdict.status;
        self.is_provably_alive() && (status.is_stoppable() || status.has_live_host())
    }

    /// It lives, and not enough can be read of it to end it.
    pub(crate) fn is_out_of_reach(&self) -> bool {
        self.is_provably_alive() && !self.is_healthy() && self.verdict.rule != Rule::Removing
    }

    /// Whether it may be removed; with `force`, also what cannot be told over.
    ///
    /// # Errors
    /// If its status does not allow it.
    pub fn admits_removal(&self, force: bool) -> Result<(), Failure> {
        let (id, status) = (self.id.as_str(), self.verdict.status);
        // Whoever began to remove it was allowed to.
        let elsewhere = self.doubt_of_elsewhere();
        // Where the place to ask from may be gone for good, whoever forces it is only warned.
        let stays = elsewhere.is_some_and(|doubt| !doubt.outlasts_its_place());
        if (force && !self.is_provably_alive() && !stays) || self.half_removed {
            return Ok(());
        }
        let kill = self.kill();
        let way_out = if status.is_stoppable() {
            format!("`abide stop {id}` first, or `abide rm --force {id}`")
        } else if self.verdict.rule == Rule::Removing {
            format!("another removes it; if it stays, `abide rm {id}` removes it to its end")
        } else if let Some(way_on) = self.way_on().or_else(|| self.way_in()) {
            way_on
        } else if let Some(kill) = kill {
            format!("{kill}, then `abide rm --force {id}`")
        } else if self.is_provably_alive() {
            format!("`abide wait {id}` first")
        } else if let Some(way_out) = self.judged_elsewhere() {
            format!("its program may be alive; {way_out}")
        } else {
            format!("its program may be alive; `abide rm --force {id}` removes the record all the same")
        };
        admit(id, status, Column::Collectable).map_err(|failure| failure.hint(way_out))
    }

    /// From where it can be told whether it is over, and what is left to do where nobody can ask from there any more.
    fn judged_elsewhere(&self) -> Option<String> {
        let doubt = self.doubt_of_elsewhere()?;
        let ask = ask_elsewhere(doubt.elsewhere()?);
        let id = &self.id;
        Some(match doubt.outlasts_its_place() {
            true => {
                format!("{ask}; if that is gone, `abide rm --force {id}` removes the record all the same")
            }
            false => ask,
        })
    }

    /// Its record is sound, and whether it is over could be told from elsewhere.
    fn doubt_of_elsewhere(&self) -> Option<Doubt> {
        let (rule, seen) = (self.verdict.rule, &self.seen);
        let program = (rule == Rule::CannotTell).then_some(seen.program);
        let agent = (rule == Rule::AgentUnclear).then_some(seen.owner);
        match program.or(agent)? {
            Liveness::Unknown(doubt) if !self.evidence.is_damaged() => {
                Some(doubt).filter(|doubt| doubt.elsewhere().is_some())
            }
            Liveness::Unknown(_) | Liveness::Alive(_) | Liveness::Dead(_) => None,
        }
    }

    /// What is to be said of a session that is removed although nobody can tell whether it is over; none if it is.
    #[must_use]
    pub fn removal_doubt(&self) -> Option<String> {
        let (id, verdict) = (&self.id, &self.verdict);
        let doubtful = !verdict.status.is_terminal() && !self.half_removed && !self.is_provably_alive();
        doubtful.then(|| format!("session {id} may have been alive: {}", verdict.rule.says()))
    }

    /// Whether its program may be ended or signalled.
    ///
    /// # Errors
    /// If its status does not allow it.
    pub(crate) fn admits_stop(&self) -> Result<(), Failure> {
        let refused = admit(self.id.as_str(), self.verdict.status, Column::Stoppable);
        let elsewhere = || self.judged_elsewhere();
        let way_on = self.way_on().or_else(|| self.way_in());
        refused.map_err(|failure| match way_on.or_else(|| self.kill()).or_else(elsewhere) {
            Some(way_out) => failure.hint(way_out),
            None => failure,
        })
    }

    /// What ends a session that lives and of which we cannot tell enough to end it: a plain signal to its guard, which is
    /// an orderly stop, or to its program where no guard lives.
    fn kill(&self) -> Option<String> {
        if !self.is_out_of_reach() {
            return None;
        }
        // A lock proves its life from anywhere, and one that is held again before it is known whose it is.
        let itself = |who: &Identity| {
            let successor = Liveness::Alive(Some(Qualifier::Restarting));
            self.seen.guard.is_alive() && self.seen.guard != successor && self.whence == Some(who.pid_ns)
        };
        let guard = self.evidence.helpers.guarded.as_ref().map(|told| &told.body.guard);
        if let Some(guard) = guard.filter(|guard| itself(guard)) {
            return Some(kill_guard(guard.pid));
        }
        let program = program_of(&self.evidence).filter(|_| self.seen.program.is_alive())?;
        Some(format!("`kill {}` asks its program to end", program.pid))
    }

    /// What makes a session readable again whose directory is not to be trusted; none if that is not what it lacks.
    #[must_use]
    pub fn way_in(&self) -> Option<String> {
        let (id, path) = (&self.id, self.untrusted.as_ref()?.display());
        let flaw = self.evidence.record.damage.first()?.flaw;
        if let Flaw::Open(_) = flaw {
            Some(format!("`chmod go-w {path}` makes it yours alone again"))
        } else if let Flaw::Foreign(uid) = flaw {
            Some(format!("ask as uid {uid}, or make {path} yours"))
        } else if flaw == Flaw::Link {
            Some(format!("`abide rm --force {id}` removes what stands at {path}; what it leads to stays"))
        } else {
            None
        }
    }

    /// Somebody lives who will record its end.
    #[must_use]
    pub const fn has_witness(&self) -> bool {
        self.seen.guard.is_alive() || self.seen.host.is_alive() || self.seen.watcher.is_alive()
    }

    /// What lets a guard, host or watcher go on that stands still, where nobody else can record the end.
    #[must_use]
    pub fn way_on(&self) -> Option<String> {
        let (still, helpers) = (Liveness::Alive(Some(Qualifier::Stopped)), &self.evidence.helpers);
        let awaited = self.verdict.rule == Rule::Finishing;
        let guard = helpers.guarded.as_ref().filter(|_| self.seen.guard == still);
        let host = helpers.hosted.as_ref().filter(|_| self.seen.host == still && !self.seen.guard.is_alive());
        let guard = guard.map(|told| ("guard", told.body.guard.pid));
        let host = host.map(|told| ("host", told.body.host.pid));
        let watcher = helpers.watched.as_ref().filter(|_| self.seen.watcher == still);
        let watcher = watcher.map(|told| ("watcher", told.body.watcher.pid));
        let (who, pid) = guard.or(host).or(watcher).filter(|_| awaited)?;
        Some(format!("its {who} stands still and has yet to record the end: `kill -CONT {pid}` lets it"))
    }

    /// Where a picture of its screen comes from now: a host that stands still does not answer, nor one that is gone before
    /// the next one is there.
    #[must_use]
    pub fn has_answering_host(&self) -> bool {
        let answers = match self.seen.host {
            Liveness::Alive(Some(Qualifier::Stopped | Qualifier::Traced)) | Liveness::Dead(_) => false,
            Liveness::Alive(Some(Qualifier::Restarting) | None) | Liveness::Unknown(_) => true,
        };
        self.verdict.status.has_live_host() && answers
    }

    /// Its host is gone, and its guard is to start the next one.
    #[must_use]
    pub fn awaits_host(&self) -> bool {
        self.verdict.status.has_live_host() && self.seen.host.is_dead() && self.seen.guard.is_alive()
    }

    /// The name that a person gave it.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        let beginning = &self.evidence.beginning;
        let launched = beginning.launched.as_ref().and_then(|told| told.body.name.as_deref());
        launched.or_else(|| beginning.adopted.as_ref().and_then(|told| told.body.name.as_deref()))
    }

    /// The wall time of its end; where nobody saw that, of the last sign of life.
    #[must_use]
    pub fn ended_at(&self) -> i64 {
        self.end().map_or_else(|| self.launched_at(), |at| at.wall)
    }

    /// Whether it ended before another: by the boot-time clock where they share one, else by wall time.
    #[must_use]
    pub fn ended_before(&self, other: &Self) -> bool {
        let clock = |session: &Self| {
            let guard = session.evidence.helpers.guarded.as_ref()?;
            Some((guard.body.guard.boot, guard.body.guard.time_ns))
        };
        match (self.end(), other.end()) {
            (Some(end), Some(others)) if clock(self).is_some() && clock(self) == clock(other) => {
                end.boot < others.boot
            }
            (Some(_) | None, _) => self.ended_at() < other.ended_at(),
        }
    }

    /// When it ended; where nobody saw that, when it last gave a sign of life.
    fn end(&self) -> Option<Moment> {
        let closing = &self.evidence.closing;
        let ended = closing.ended.as_ref().map(|told| told.at);
        let failed = || closing.exec_failed.as_ref().map(|told| told.at);
        let last = || self.evidence.record.last.as_ref().map(|told| told.at);
        ended.or_else(failed).or_else(last)
    }

    /// Orders sessions by their launch: those of this boot by its clock, which nobody can set, after all others.
    pub(crate) fn recency(&self, now: Now) -> (bool, i64) {
        let beginning = &self.evidence.beginning;
        let launched =
            beginning.launched.as_ref().map(|told| (now.shares_clock(&self.evidence, told), told.at));
        let adopted =
            || beginning.adopted.as_ref().map(|told| (now.shares_clock(&self.evidence, told), told.at));
        let started =
            || beginning.started.as_ref().map(|told| (now.shares_clock(&self.evidence, told), told.at));
        match launched.or_else(adopted).or_else(started) {
            Some((true, at)) => (true, at.boot.cast_signed()),
            Some((false, at)) => (false, at.wall),
            None => (false, 0),
        }
    }

    /// The wall time at which it came to be; zero if that cannot be read.
    #[must_use]
    pub fn launched_at(&self) -> i64 {
        let beginning = &self.evidence.beginning;
        let launched = beginning.launched.as_ref().map(|told| told.at.wall);
        let adopted = || beginning.adopted.as_ref().map(|told| told.at.wall);
        // The launch itself may be among what is damaged.
        let started = || beginning.started.as_ref().map(|told| told.at.wall);
        launched.or_else(adopted).or_else(started).unwrap_or(0)
    }
}

/// A plain signal to a guard is an orderly stop.
pub(crate) fn kill_guard(pid: u32) -> String {
    format!("`kill {pid}` has its guard stop the session in order")
}

/// What cannot be judged here can be elsewhere.
pub(crate) fn ask_elsewhere(whence: &str) -> String {
    format!("ask {whence}: there it can be told")
}
