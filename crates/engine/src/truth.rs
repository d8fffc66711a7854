//! Evidence + kernel -> what is true of a session now, or was at an instant. The only caller of the probe.
//! Reads in an order that cannot lie: whoever was found dead had written all it would ever write.

mod file;
mod processes;
mod share;

use std::fs::File;
use std::path::PathBuf;

use abide_core::evidence::fold::{Evidence, Told};
use abide_core::evidence::frame::{Damage, Flaw};
use abide_core::evidence::{Role, Witness};
use abide_core::id::SessionId;
use abide_core::identity::{Death, Doubt, FileId, Here, Identity, Liveness, Lock, Qualifier};
use abide_core::verdict::{
    Now, Seen, Verdict, deny, derive, hindsight, owner_of_open_turn, program_of, witnessed, wrapper_of,
};
use abide_sys::clock;
use abide_sys::disk::{self, Untrusted};
use abide_sys::lock::Holder;
use abide_sys::probe::{About, InFront, Probe};
pub(crate) use abide_sys::probe::{Relative, Spent};

use self::file::{Record, ask, is_half_removed, note_copy};
use crate::declared;
use crate::store::{Home, Reading, SessionDir, unopened};

/// How often evidence is read again because it grew, or because its end was being written.
const ROUNDS: u32 = 64;

/// Asks the kernel, and derives verdicts.
#[derive(Debug)]
pub struct Truth {
    probe: Probe,
    /// Nobody wants to know how living processes stand, and of sessions whose end is on record which are there.
    brief: bool,
}

/// A session as it was found, with the proof.
#[derive(Debug, Clone)]
pub struct Session {
    pub id: SessionId,
    pub evidence: Evidence,
    pub seen: Seen,
    pub verdict: Verdict,
    pub asked: Now,
    /// The pid namespace that was asked from, if it is known: numbers of processes mean something else in any other.
    pub whence: Option<FileId>,
    /// Its removal began, and whoever began it is not at it any more.
    pub half_removed: bool,
    /// Its directory, if that was not opened because it is not to be trusted.
    pub untrusted: Option<PathBuf>,
}

/// What the kernel shows of processes here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Features {
    pub machine_id: bool,
    pub boot_id: bool,
    pub time_namespaces: bool,
    pub birth_ticks: bool,
    /// The inode that no two processes of a boot share.
    pub pidfs: bool,
}

impl Truth {
    #[must_use]
    pub fn new() -> Self {
        Self { probe: Probe::new(), brief: false }
    }

    /// The same for one who only lists.
    pub(crate) fn in_brief(&self) -> Self {
        Self { probe: self.probe.clone(), brief: true }
    }

    /// Where we are.
    #[must_use]
    pub const fn here(&self) -> &Here {
        self.probe.here()
    }

    /// The identity of a living process.
    ///
    /// # Errors
    /// If not enough can be learnt to know it again.
    pub fn identify(&self, pid: u32) -> Result<Identity, Doubt> {
        self.probe.identify(pid)
    }

    /// Is this very process alive?
    #[must_use]
    pub fn is_alive(&self, who: &Identity) -> Liveness {
        self.liveness(Some(who), Lock::Silent)
    }

    /// The number of this very process, if it means that process here: where it is proved by a lock alone it may be another's.
    pub(crate) fn pid_here(&self, who: &Identity) -> Option<u32> {
        self.is_alive(who).is_alive().then_some(who.pid)
    }

    /// Which means to tell processes apart this kernel gives us.
    #[must_use]
    pub fn features(&self) -> Features {
        let own = self.identify(std::process::id()).ok();
        Features {
            machine_id: self.here().machine.is_some(),
            boot_id: self.here().boot.is_some(),
            time_namespaces: self.here().time_ns.is_some(),
            birth_ticks: own.is_some_and(|own| own.start_ticks.is_some()),
            pidfs: own.is_some_and(|own| own.pidfs.is_some()),
        }
    }

    /// This instant, as verdicts want it.
    #[must_use]
    pub fn now(&self) -> Now {
        let boot = self.here().boot.map_or(0, |boot| boot.short());
        Now { at: clock::now(), boot, time_ns: self.here().time_ns }
    }

    /// What is true of a session now.
    #[must_use]
    pub fn of(&self, home: &Home, id: &SessionId) -> Session {
        self.told(home, id, home.session(id), true)
    }

    /// Asks about many sessions, on as many cores as there are once it pays, and keeps of each what is wanted. Waits for nobody.
    pub(crate) fn of_each<T: Send>(
        &self,
        home: &Home,
        ids: &[SessionId],
        keep: &(impl Fn(Session) -> T + Sync),
    ) -> Vec<T> {
        // A session that is removed meanwhile is no session any more.
        share::among_cores(ids, &|id| self.listed(home, id, false).map(keep))
    }

    /// The same of one that was listed; none if it has been removed since.
    #[must_use]
    pub fn of_listed(&self, home: &Home, id: &SessionId) -> Option<Session> {
        self.listed(home, id, true)
    }

    fn listed(&self, home: &Home, id: &SessionId, patient: bool) -> Option<Session> {
        match home.session(id) {
            Err(Untrusted::NotThere) => None,
            dir => {
                let session = self.told(home, id, dir, patient);
                // What was removed while it was read looks damaged, and is gone.
                let whole = !session.evidence.is_damaged();
                (whole || home.has(id)).then_some(session)
            }
        }
    }

    /// What evidence that is held says of a session that may not be found any more.
    pub(crate) fn of_held(&self, id: &SessionId, mut evidence: Evidence, file: Option<&File>) -> Session {
        let seen = self.look(&mut evidence, file.and_then(Record::of));
        deny(&mut evidence, seen.program);
        self.as_seen(id, evidence, seen)
    }

    /// How a session ended, where evidence that is held tells all of it; else more must be asked. What was read of it was sound,
    /// whatever became of it in the file since.
    pub(crate) fn end_of_held(&self, id: &SessionId, evidence: Evidence, file: &File) -> Option<Session> {
        let closing = &evidence.closing;
        let stays = closing.removing.is_none() && closing.removed.is_none() && disk::has_name(file);
        let whole = !evidence.is_damaged() && evidence.id() == Some(id.as_str());
        let closed = evidence.is_closed() && !evidence.wants_slot();
        let told = (stays && whole && closed).then(|| self.ended(evidence, Some(file), true));
        told.map(|(evidence, seen)| self.as_seen(id, evidence, seen)).filter(Session::has_ended)
    }

    fn as_seen(&self, id: &SessionId, evidence: Evidence, seen: Seen) -> Session {
        let asked = self.now();
        let (id, verdict, whence) = (id.clone(), derive(&evidence, &seen, asked), self.here().pid_ns);
        Session { id, evidence, seen, verdict, asked, whence, half_removed: false, untrusted: None }
    }

    fn told(
        &self,
        home: &Home,
        id: &SessionId,
        dir: Result<SessionDir, Untrusted>,
        patient: bool,
    ) -> Session {
        let untrusted = dir.is_err().then(|| home.session_path(id.as_str()));
        let (evidence, seen, half_removed) = match dir {
            Ok(dir) => {
                let mut reading = dir.read();
                let mut told = self.settle(&mut reading);
                self.hear_last_word(&mut told, &mut reading, &dir, patient);
                let (evidence, seen) = told;
                let half_removed = is_half_removed(&evidence, reading.file());
                (evidence, seen, half_removed)
            }
            Err(untrusted) => {
                let mut evidence = Evidence::default();
                evidence.damaged(unopened(&untrusted));
                let seen = self.look(&mut evidence, None);
                (evidence, seen, false)
            }
        };
        Session { half_removed, untrusted, ..self.as_seen(id, evidence, seen) }
    }

    /// Whoever seals a session takes the word that its program left. Until then that word counts all the same, or
    /// sealing would change what has been told. So does one that was declared last and is cut off the log.
    fn hear_last_word(
        &self,
        told: &mut (Evidence, Seen),
        reading: &mut Reading<'_>,
        dir: &SessionDir,
        patient: bool,
    ) {
        let is_left = |(evidence, seen): &(Evidence, Seen)| {
            !evidence.is_closed() && derive(evidence, seen, self.now()).rule.closing().is_some()
        };
        if !is_left(told) {
            return;
        }
        let has_come = reading.file().is_none_or(|file| declared::wait_for_word(file, patient));
        if reading.more() {
            *told = self.settle(reading);
        }
        if !is_left(told) {
            return;
        }
        let (evidence, _) = told;
        let last = declared::last(evidence, dir);
        // One that is there already counts, whoever stands still before it is in the log too.
        evidence.work.word_is_unclear |= last.is_unclear || (!has_come && last.unlogged.is_none());
        if let Some(body) = last.unlogged {
            let now = self.now();
            let witness = Witness { role: Role::Sealer, pid: std::process::id(), boot: now.boot };
            let order = evidence.record.facts;
            evidence.work.declared = Some(Told { witness, at: now.at, order, body });
        }
    }

    /// What was true of a session at an instant, as far as anyone can prove it.
    #[must_use]
    pub fn at(&self, home: &Home, id: &SessionId, wall: i64) -> Session {
        let present = self.of(home, id);
        let (mut past, untrusted) = match home.session(id) {
            Ok(dir) => (dir.past(wall), None),
            Err(untrusted) => {
                let mut past = Evidence::default();
                past.damaged(unopened(&untrusted));
                (past, Some(home.session_path(id.as_str())))
            }
        };
        let seen = hindsight(&past, &present.evidence, &present.seen);
        deny(&mut past, seen.program);
        let asked = Now::past(wall);
        let verdict = derive(&past, &seen, asked);
        let (evidence, whence) = (past, self.here().pid_ns);
        Session { id: id.clone(), verdict, evidence, seen, asked, whence, half_removed: false, untrusted }
    }

    /// Reads and looks until what was read is at least as new as any death that was seen.
    fn settle(&self, reading: &mut Reading<'_>) -> (Evidence, Seen) {
        if let Some(evidence) = reading.closed() {
            return self.ended(evidence, reading.file(), self.brief);
        }
        let mut round = 0;
        loop {
            let mut evidence = reading.evidence();
            let record = reading.file().and_then(Record::of);
            note_copy(&mut evidence, record, self.here().boot);
            let mut seen = self.look(&mut evidence, record);
            deny(&mut evidence, seen.program);
            if evidence.is_damaged() && evidence.helpers.guarded.is_none() {
                // Who the guard is cannot be read, but whether there is one can be told.
                seen.guard = match reading.is_held() {
                    Some(true) => Liveness::Alive(None),
                    // A lock that is free proves no death; it only says that nobody will add to this very record.
                    Some(false) => Liveness::Unknown(Doubt::NotHeld),
                    None => seen.guard,
                };
            }
            let helpers = [seen.guard, seen.host, seen.watcher];
            let someone_dead = seen.program.is_dead() || helpers.iter().any(|helper| helper.is_dead());
            let being_written = reading.is_mid_line() && round < ROUNDS;
            let rests_on_reading = someone_dead && !evidence.is_closed();
            round += 1;
            if !(being_written || rests_on_reading || reading.outgrows(&evidence)) {
                return (evidence, seen);
            }
            if round > 2 * ROUNDS {
                // It grows faster than it can be read: the end may be in what was not.
                evidence.damaged(Damage { offset: 0, length: 0, flaw: Flaw::Torn });
                return (evidence, seen);
            }
            if !reading.more() && !being_written {
                // Nothing was added after the deaths were seen, except perhaps to the slot.
                let mut evidence = reading.evidence();
                note_copy(&mut evidence, reading.file().and_then(Record::of), self.here().boot);
                self.fall_back(&mut evidence);
                if evidence.is_closed() {
                    // By the slot, after it was seen.
                    seen.program = self.program(&evidence);
                    deny(&mut evidence, seen.program);
                }
                if !reading.outgrows(&evidence) {
                    return (evidence, seen);
                }
            }
            std::thread::yield_now();
        }
    }

    /// Where the end is on record. In brief, nobody is looked at whose life changes nothing about it.
    fn ended(&self, mut evidence: Evidence, file: Option<&File>, brief: bool) -> (Evidence, Seen) {
        // What an open turn came to is told by who is left of it.
        let matters = !brief || (evidence.work.turn.is_some() && !evidence.work.turn_closed);
        let mut seen = match matters {
            true => self.look(&mut evidence, None),
            false => Seen { program: self.program(&evidence), ..Seen::NOBODY },
        };
        let program = seen.program;
        if deny(&mut evidence, program) {
            // It may end while the others are looked at; and then it has not denied its end.
            seen = Seen { program, ..self.look(&mut evidence, file.and_then(Record::of)) };
        }
        (evidence, seen)
    }

    /// An agent that its wrapper outlives was not the program after all: the wrapper is, and may start another.
    fn fall_back(&self, evidence: &mut Evidence) {
        let Some(wrapper) = wrapper_of(evidence).copied().filter(|_| !evidence.is_closed()) else { return };
        let is_dead = self.liveness(program_of(evidence), Lock::Silent).is_dead();
        if let Some(started) = evidence.beginning.started.as_mut()
            && is_dead
            && self.liveness(Some(&wrapper), Lock::Silent).is_alive()
        {
            started.body.program = wrapper;
        }
    }

    fn look(&self, evidence: &mut Evidence, record: Option<Record<'_>>) -> Seen {
        self.fall_back(evidence);
        let guard = evidence.helpers.guarded.as_ref().map(|told| &told.body.guard);
        let host = evidence.helpers.hosted.as_ref().map(|told| &told.body.host);
        let owner = owner_of_open_turn(evidence);
        // The program first: a guard that is found alive afterwards was alive when its program was found dead.
        let program = self.program(evidence);
        let guarded = evidence.helpers.guarded.as_ref().map(|told| told.body.lock);
        let watched = evidence.helpers.watched.as_ref();
        let (guard_lock, host_lock) =
            (ask(guarded, record, Holder::Guard), ask(guarded, record, Holder::Host));
        let watcher_lock = ask(watched.map(|told| told.body.lock), record, Holder::Watcher);
        let held = [guard_lock, host_lock, watcher_lock].contains(&Lock::Held);
        Seen {
            // Whoever holds a lock has not been through a reboot, so the boot id that we see here is another's.
            program: match held && program == Liveness::Dead(Death::Reboot) {
                true => Liveness::Unknown(Doubt::OtherBootId),
                false => program,
            },
            guard: self.liveness(guard, guard_lock),
            host: self.liveness(host, host_lock),
            owner: self.liveness(owner, Lock::Silent),
            watcher: self.liveness(watched.map(|told| &told.body.watcher), watcher_lock),
        }
    }

    /// How this very process stands, if it is alive and that is special.
    pub(crate) fn qualifier(&self, who: &Identity) -> Option<Qualifier> {
        self.probe.qualifier(who)
    }

    /// What became of the program, by the kernel, or by who saw it where it cannot be seen from here.
    fn program(&self, evidence: &Evidence) -> Liveness {
        witnessed(evidence, self.liveness(program_of(evidence), Lock::Silent))
    }

    fn liveness(&self, who: Option<&Identity>, lock: Lock) -> Liveness {
        match (who, lock) {
            (Some(who), lock) if self.brief => self.probe.lives(who, lock),
            (Some(who), lock) => self.probe.liveness(who, lock),
            (None, Lock::Held) => Liveness::Alive(None),
            (None, Lock::Silent) => Liveness::Unknown(Doubt::NoIdentity),
        }
    }
}

impl Default for Truth {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests;
