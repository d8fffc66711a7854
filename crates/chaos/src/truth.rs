//! What is true of a session, as far as we know it ourselves: never from abide's words. Pure; times are microseconds of
//! the boot clock. Everything is recorded before it is done, so a copy that is taken after an answer explains it.

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ending {
    Exited(u8),
    Signaled(u8),
}

/// What was done to a session that may cost it more than it costs abide's honesty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Harm {
    /// A guard was killed, or a host: at least once.
    pub guard: bool,
    pub host: bool,
    /// Files that its status rests on were deleted or damaged.
    pub evidence: bool,
    /// The recording was damaged, or there was no room for it.
    pub recording: bool,
    /// What waiters hold was deleted.
    pub waiters: bool,
    /// It was launched with fewer descriptors or processes than it needs, or its launcher was hurt.
    pub launch: bool,
    /// Its clients' way in was deleted.
    pub socket: bool,
}

/// What is true of one session.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Truth {
    pub tag: u32,
    /// Since when its launcher, or its program, has said that it is there.
    pub launched: Option<u64>,
    pub id: Option<String>,
    pub pid: Option<u32>,
    /// When the program was surely there, by its own word.
    pub born: Option<u64>,
    /// When it was surely gone, and the last instant at which it was surely there, by our own pidfd.
    pub dead: Option<u64>,
    pub alive_at: u64,
    /// The ways in which it may end, by what we told it or sent it; and the kernel's word, where it has one.
    pub endings: Vec<Ending>,
    pub ending: Option<Ending>,
    pub output: Output,
    pub harm: Harm,
    /// Until when somebody who should note the end was kept from it.
    pub held_until: u64,
    pub stop_asked: Option<u64>,
    pub removal: Option<u64>,
    /// It answers a TERM by exiting with 0.
    pub polite: bool,
}

/// The numbered lines of a program.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Output {
    /// How many it was told to print in all.
    pub told: u64,
    /// How many it says it has printed, and when it said so; the newest last.
    pub printed: Vec<(u64, u64)>,
}

impl Output {
    /// How many lines were surely printed by then.
    #[must_use]
    pub fn by(&self, instant: u64) -> u64 {
        self.printed.iter().rev().find(|(when, _)| *when <= instant).map_or(0, |(_, count)| *count)
    }

    /// Notes what the program says.
    pub fn says(&mut self, now: u64, count: u64) {
        self.printed.push((now, count));
    }
}

impl Truth {
    /// Notes a way in which it may end from now on.
    pub fn may_end(&mut self, ending: Ending) {
        if !self.endings.contains(&ending) {
            self.endings.push(ending);
        }
    }

    /// Notes that it is asked to stop, by somebody who goes on to kill it.
    pub fn asked_to_stop(&mut self, now: u64) {
        self.stop_asked = self.stop_asked.or(Some(now));
        [1, 9, 15].into_iter().for_each(|signal| self.may_end(Ending::Signaled(signal)));
        if self.polite {
            self.may_end(Ending::Exited(0));
        }
    }

    /// Notes that it answers a TERM by exiting with 0, also one that is on its way.
    pub fn become_polite(&mut self) {
        self.polite = true;
        if self.endings.contains(&Ending::Signaled(15)) {
            self.may_end(Ending::Exited(0));
        }
    }

    /// Whether it may have ended in this way.
    #[must_use]
    pub fn allows(&self, ending: Ending) -> bool {
        self.ending.map_or_else(|| self.endings.contains(&ending), |exact| exact == ending)
    }

    /// Whether its guard or its host was hit, or both were not given what they need.
    #[must_use]
    pub const fn hit(&self) -> bool {
        self.harm.guard || self.harm.host || self.harm.launch || self.harm.evidence
    }

    /// Whether nobody was left to see its end, or to keep its terminal.
    #[must_use]
    pub const fn abandoned(&self) -> bool {
        self.harm.guard && self.harm.host
    }
}
