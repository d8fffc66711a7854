//! The rules of a verdict: which status follows from each, what is left of it where facts may be missing, and what a sealer may
//! record.

use super::Seen;
use crate::evidence::Closing;
use crate::evidence::fold::Evidence;
use crate::identity::{Doubt, Liveness};
use crate::status::Status;

macro_rules! rules {
    ($($rule:ident $name:literal $status:ident $damaged:ident $closing:expr, $says:literal,)+) => {
        /// The rule that decided.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Rule { $(#[doc = $says] $rule,)+ }

        impl Rule {
            pub const ALL: &'static [Self] = &[$(Self::$rule,)+];

            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$rule => $name,)+ }
            }

            /// The status that follows.
            #[must_use]
            pub const fn status(self) -> Status {
                match self { $(Self::$rule => Status::$status,)+ }
            }

            /// What is left of the conclusion where facts may be missing: absence proves nothing then.
            pub(super) const fn if_damaged(self) -> Self {
                match self { $(Self::$rule => Self::$damaged,)+ }
            }

            /// What a sealer may record; none where the end is recorded already or cannot be told.
            #[must_use]
            pub const fn closing(self) -> Option<Closing> {
                match self { $(Self::$rule => $closing,)+ }
            }

            #[must_use]
            pub const fn says(self) -> &'static str {
                match self { $(Self::$rule => $says,)+ }
            }
        }
    };
}

rules! {
    // rule        name              status     if damaged     a sealer may record
    Removed        "removed"         Destroyed  Removed        None, "its removal is on record",
    Removing       "removing"        Destroying Removing       None, "its removal has begun",
    ExecFailed     "exec_failed"     Failed     ExecFailed     None, "the exec failed, so the program never ran",
    Ended          "ended"           Exited     Ended          None, "the end of the program was observed and recorded",
    EndedUnseen    "ended_unseen"    Lost       EndedUnseen    None, "the program is over and its witness could not learn how it ended",
    SealedLost     "sealed_lost"     Lost       SealedLost     None, "it was sealed: over, and nobody observed how",
    SealedNeverRan "sealed_never"    Failed     SealedNeverRan None, "it was sealed: the program never ran",
    NoBeginning    "no_beginning"    Unknown    NoBeginning    None, "the record of its launch cannot be read",
    Launching      "launching"       Starting   Launching      None, "its guard is alive and has not started the program yet",
    Served         "served"          Running    Served         None, "the program is alive and served",
    Vouched        "vouched"         Running    CannotTell     None, "the program cannot be seen from here; a living guard or host has recorded no end",
    Unserved       "unserved"        Unattended ServiceUnclear None, "the program is alive, guard and host are dead",
    Watched        "watched"         Unattended ServiceUnclear None, "the program is alive, guard and host are not there, and its watcher will record its end",
    AgentLives     "agent_lives"     Unattended EndUnclear     None, "the program is dead, but the agent of its open turn is alive",
    Finishing      "finishing"       Exiting    EndUnclear     None, "the program is dead, a living guard, host or watcher has yet to record how it ended",
    NeverRan       "never_ran"       Failed     Damaged        Some(Closing::NeverRan), "its guard died before the program could start",
    AllDead        "all_dead"        Lost       Damaged        Some(Closing::Lost), "program, guard and host are dead and no end is on record",
    Damaged        "damaged"         Unknown    Damaged        None, "no end is on record, but the record is damaged and may have held one",
    ServiceUnclear "service_unclear" Unknown    ServiceUnclear None, "the program is alive, but whether it is served cannot be told",
    AgentUnclear   "agent_unclear"   Unknown    AgentUnclear   None, "the program is dead, but whether the agent of its open turn is alive cannot be told",
    EndUnclear     "end_unclear"     Unknown    EndUnclear     None, "the program is dead, but whether someone recorded its end cannot be told",
    CannotTell     "cannot_tell"     Unknown    CannotTell     None, "whether the program is alive cannot be told from here",
}

impl Rule {
    /// Nothing that can still happen would tell how the session ended: its record is damaged and nobody lives
    /// who could add to it. What could not be read just now may be read later.
    #[must_use]
    pub fn is_beyond_telling(self, evidence: &Evidence, seen: &Seen) -> bool {
        let passes = evidence.record.damage.iter().any(|damage| damage.flaw.passes());
        // A host that lives holds its lock, whether or not it is on record.
        let deserted = self == Self::EndUnclear
            && evidence.is_damaged()
            && (seen.guard.is_dead() || seen.guard == Liveness::Unknown(Doubt::NotHeld))
            && !seen.watcher.is_alive();
        // Whoever lives will still record the end, and that will count.
        let served = seen.guard.is_alive() || seen.host.is_alive() || seen.watcher.is_alive();
        let beginless = self == Self::NoBeginning && !served;
        (beginless || self == Self::Damaged || deserted) && !passes
    }
}
