//! The laws of the verdict over every combination of beginning, liveness, damage and closing fact. Each law is
//! stated on its own, by what the specification says and not by how the rules decide.

use abide_core::evidence::fold::Evidence;
use abide_core::evidence::{Body, Closing, How, Outcome, Role};
use abide_core::identity::Liveness;
use abide_core::status::Status;
use abide_core::verdict::{Rule, Seen, Verdict, derive};

use crate::bodies::{adopted, exec_failed, noted, sealed, turn_opened, watched};
use crate::common::{
    ALIVE, DAMAGE, DEAD, HOST, Story, UNKNOWN, UNNAMED, WATCHER, ended, guarded, hosted, launched, now,
    running, seen,
};

const EXITED: How = How::Exited { code: 3 };
const SIGNALED: How = How::Signaled { signal: 9, core: false };
const ENOENT: i32 = 2;
const HOOK: u32 = 600;
const LIVENESSES: [Liveness; 4] = [ALIVE, DEAD, UNKNOWN, UNNAMED];

#[derive(Debug, Clone, Copy, PartialEq)]
enum Begun {
    Nothing,
    Guarded,
    Launched,
    Hosted,
    Started,
    Adopted,
    Watched,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Closed {
    No,
    Exited,
    Signaled,
    Unseen,
    ExecFailed,
    SealedLost,
    SealedNever,
    Removing,
    Removed,
}

#[derive(Debug, Clone, Copy)]
struct Given {
    begun: Begun,
    closed: Closed,
    damaged: bool,
    /// A turn is open, and its owner is on record.
    turn: bool,
    seen: Seen,
}

type Law = (&'static str, fn(&Given, &Verdict) -> bool);

const LAWS: &[Law] = &[
    ("the rule and the status belong together", |_, v| v.rule.status() == v.status),
    ("a removal on record decides everything, and nothing else removes", |g, v| {
        (v.status == Status::Destroyed) == (g.closed == Closed::Removed)
            && (v.status == Status::Destroying) == (g.closed == Closed::Removing)
    }),
    ("a recorded end stands, whatever lives and whatever else was lost", |g, v| {
        g.recorded_status().is_none_or(|status| v.status == status)
    }),
    ("exited only by an end on record", |g, v| v.status != Status::Exited || g.observed().is_some()),
    ("only positive evidence ends a session", |g, v| {
        let by_record = g.closed != Closed::No;
        !v.status.is_terminal() || by_record || (g.nobody_can_live() && !g.damaged)
    }),
    ("lost without a record only if its program is dead", |g, v| {
        v.status != Status::Lost || g.closed != Closed::No || (g.seen.program.is_dead() && g.has_gate())
    }),
    ("never ran only if nothing was at the gate", |g, v| v.rule != Rule::NeverRan || !g.has_gate()),
    ("a living program is never over while no end is on record", |g, v| {
        !(g.is_open() && g.has_gate() && g.seen.program.is_alive())
            || is_one_of(v, &[Status::Starting, Status::Running, Status::Unattended, Status::Unknown])
    }),
    ("a dead program never runs", |g, v| {
        !(g.is_open() && g.has_gate() && g.seen.program.is_dead())
            || is_one_of(v, &[Status::Exiting, Status::Lost, Status::Unknown])
            || (v.status == Status::Unattended && g.has_living_agent())
    }),
    ("an agent at work is never sealed away, nor one that may be", |g, v| {
        !g.turn || g.seen.owner.is_dead() || v.rule.closing() != Some(Closing::Lost)
    }),
    ("starting only under a living guard, and not after the start", |g, v| {
        let unstarted = !matches!(g.begun, Begun::Started | Begun::Adopted | Begun::Watched);
        v.status != Status::Starting || (g.seen.guard.is_alive() && unstarted && !g.damaged)
    }),
    ("running only if life is proved, or vouched for by a living helper", |g, v| {
        let vouched = !g.seen.program.is_dead() && g.is_served();
        v.status != Status::Running || vouched
    }),
    ("unattended only if the program or its agent lives and no helper does", |g, v| {
        let lives = g.seen.program.is_alive() || g.has_living_agent();
        v.status != Status::Unattended || (lives && !g.is_served())
    }),
    ("exiting only if the program is dead and one lives who records its end", |g, v| {
        v.status != Status::Exiting || (g.seen.program.is_dead() && (g.is_served() || g.is_watched()))
    }),
    ("a damaged record without an end is never terminal", |g, v| {
        !(g.damaged && g.is_open() && v.status.is_terminal())
    }),
    ("a damaged record without a beginning is unknown, unless its end is on record", |g, v| {
        g.has_legible_beginning() || !g.is_open() || v.status == Status::Unknown
    }),
    ("an undamaged record of processes that can all be judged is never unknown", |g, v| {
        g.damaged || !g.has_gate() || !g.all_are_judged() || v.status != Status::Unknown
    }),
    ("a code to wait for exactly when it is over", |_, v| v.codes.wait.is_some() == v.status.is_terminal()),
    ("no code that no fact holds", |g, v| {
        let (exit, wait) = match g.observed() {
            Some(EXITED) => (Some(3), 3),
            Some(SIGNALED) => (None, 137),
            Some(How::ExecFailed { errno: ENOENT }) => (None, 127),
            Some(_) | None => (None, 125),
        };
        v.codes.exit.is_none_or(|code| Some(code) == exit) && v.codes.wait.is_none_or(|code| code == wait)
    }),
    ("an observed outcome only from the fact that holds it", |g, v| {
        let how = v.outcome.as_ref().map_or(How::Lost, |Outcome { how, .. }| *how);
        how == How::Lost || Some(how) == g.observed()
    }),
    ("what is over says how", |g, v| {
        !v.status.is_terminal() || v.outcome.is_some() || g.closed == Closed::Removed
    }),
    ("what is sealed was over and open", |g, v| {
        v.rule.closing().is_none() || (v.status.is_terminal() && g.is_open() && !g.damaged)
    }),
    ("what a rule says of the program is what the kernel says", |g, v| {
        let says = |text: &str| v.rule.says().starts_with(text);
        let (alive, dead) = (g.seen.program.is_alive(), g.seen.program.is_dead());
        (alive || !says("the program is alive")) && (dead || !says("the program is dead"))
    }),
    ("unknown names its doubt", |g, v| {
        let doubt = g.damaged || !g.all_are_judged();
        v.status != Status::Unknown || doubt || g.begun == Begun::Nothing
    }),
    ("commands only where the program is proved or vouched for", |g, v| {
        !v.status.is_commandable() || (g.is_served() && !g.seen.program.is_dead())
    }),
];

impl Given {
    fn is_open(&self) -> bool {
        self.closed == Closed::No
    }

    /// A process is on record that runs or ran the program.
    fn has_gate(&self) -> bool {
        !matches!(self.begun, Begun::Nothing | Begun::Guarded)
    }

    /// What began it can be read, or cannot have been lost.
    fn has_legible_beginning(&self) -> bool {
        self.has_gate() || !self.damaged
    }

    fn has_living_agent(&self) -> bool {
        self.turn && self.seen.owner.is_alive()
    }

    fn is_served(&self) -> bool {
        self.seen.guard.is_alive() || self.seen.host.is_alive()
    }

    fn is_watched(&self) -> bool {
        self.seen.watcher.is_alive()
    }

    /// Each process is dead, or was never there as far as an undamaged record says.
    fn nobody_can_live(&self) -> bool {
        let Seen { program, guard, host, watcher, .. } = self.seen;
        let guard_known = !matches!(self.begun, Begun::Nothing | Begun::Adopted | Begun::Watched);
        let host_known = matches!(self.begun, Begun::Hosted | Begun::Started);
        let gone = |liveness: Liveness, known: bool| liveness.is_dead() || (!known && liveness == UNNAMED);
        // Without a launch there is no program, and a host comes after it.
        let helpers_gone = gone(guard, guard_known) && (gone(host, host_known) || !self.has_gate());
        let watcher_gone = gone(watcher, self.begun == Begun::Watched) || !self.has_gate();
        let agent_gone = !self.turn || self.seen.owner.is_dead() || !self.has_gate();
        helpers_gone && watcher_gone && agent_gone && (program.is_dead() || !self.has_gate())
    }

    fn all_are_judged(&self) -> bool {
        let Seen { program, guard, host, owner, watcher } = self.seen;
        let owner = self.turn.then_some(owner);
        let watcher = (self.begun == Begun::Watched).then_some(watcher);
        [program, guard, host]
            .into_iter()
            .chain(owner)
            .chain(watcher)
            .all(|one| one.is_alive() || one.is_dead())
    }

    fn observed(&self) -> Option<How> {
        match self.closed {
            Closed::Exited => Some(EXITED),
            Closed::Signaled => Some(SIGNALED),
            Closed::ExecFailed => Some(How::ExecFailed { errno: ENOENT }),
            Closed::No | Closed::Unseen | Closed::SealedLost | Closed::SealedNever => None,
            Closed::Removing | Closed::Removed => None,
        }
    }

    fn recorded_status(&self) -> Option<Status> {
        match self.closed {
            Closed::No => None,
            Closed::Exited | Closed::Signaled => Some(Status::Exited),
            Closed::Unseen | Closed::SealedLost => Some(Status::Lost),
            Closed::ExecFailed | Closed::SealedNever => Some(Status::Failed),
            Closed::Removing => Some(Status::Destroying),
            Closed::Removed => Some(Status::Destroyed),
        }
    }

    fn evidence(&self) -> Evidence {
        let story = tell_beginning(self.begun);
        let story = if self.turn { story.tell(Role::Hook, HOOK, turn_opened("t1")) } else { story };
        let story = match self.closed {
            Closed::No => story,
            Closed::Exited => story.guard(ended(EXITED)),
            Closed::Signaled => story.guard(ended(SIGNALED)),
            Closed::Unseen => story.guard(ended(How::Lost)),
            Closed::ExecFailed => story.guard(exec_failed(ENOENT)),
            Closed::SealedLost => story.client(sealed(Closing::Lost)),
            Closed::SealedNever => story.client(sealed(Closing::NeverRan)),
            Closed::Removing => story.client(Body::Removing(noted())),
            Closed::Removed => story.client(Body::Removing(noted())).client(Body::Removed(noted())),
        };
        let mut evidence = story.evidence();
        if self.damaged {
            evidence.damaged(DAMAGE);
        }
        evidence
    }
}

fn tell_beginning(begun: Begun) -> Story {
    let story = Story::default();
    match begun {
        Begun::Nothing => story,
        Begun::Guarded => story.guard(guarded()),
        Begun::Launched => story.guard(guarded()).guard(launched()),
        Begun::Hosted => story.guard(guarded()).guard(launched()).tell(Role::Host, HOST, hosted()),
        Begun::Started => running(),
        Begun::Adopted => story.client(adopted()),
        Begun::Watched => story.client(adopted()).tell(Role::Watcher, WATCHER, watched()),
    }
}

fn is_one_of(verdict: &Verdict, statuses: &[Status]) -> bool {
    statuses.contains(&verdict.status)
}

/// Every record, with what the kernel may say of its processes.
fn for_each(mut visit: impl FnMut(&Given, &Evidence)) {
    use Begun::{Adopted, Guarded, Hosted, Launched, Nothing, Started, Watched};
    use Closed::{ExecFailed, Exited, No, Removed, Removing, SealedLost, SealedNever, Signaled, Unseen};
    for begun in [Nothing, Guarded, Launched, Hosted, Started, Adopted, Watched] {
        for closed in [No, Exited, Signaled, Unseen, ExecFailed, SealedLost, SealedNever, Removing, Removed] {
            for (damaged, turn) in [(false, false), (true, false), (false, true), (true, true)] {
                let unseen = seen(UNNAMED, UNNAMED, UNNAMED);
                let mut given = Given { begun, closed, damaged, turn, seen: unseen };
                let evidence = given.evidence();
                // Nobody else has a watcher.
                for picks in 0..if begun == Watched { 1024 } else { 256 } {
                    let pick = |shift: usize| LIVENESSES[(picks >> shift) & 3];
                    let who = seen(pick(0), pick(2), pick(4));
                    given.seen = Seen {
                        owner: pick(6),
                        watcher: if begun == Watched { pick(8) } else { UNNAMED },
                        ..who
                    };
                    visit(&given, &evidence);
                }
            }
        }
    }
}

#[test]
fn every_law_holds_in_every_case() {
    let mut cases = 0;
    let mut statuses = std::collections::HashSet::new();
    let mut rules = std::collections::HashSet::new();
    for_each(|given, evidence| {
        let verdict = derive(evidence, &given.seen, now());
        for (law, holds) in LAWS {
            assert!(holds(given, &verdict), "{law}\n{given:?}\n{verdict:#?}");
        }
        cases += 1;
        statuses.insert(verdict.status);
        rules.insert(verdict.rule);
    });
    assert_eq!(cases, 9 * 2 * 2 * (6 * 256 + 1024));
    assert_eq!(statuses.len(), Status::ALL.len(), "every status was reached");
    assert_eq!(rules.len(), Rule::ALL.len(), "every rule was reached: {rules:?}");
}

#[test]
fn what_is_terminal_stays_so_whatever_a_doubt_turns_out_to_be() {
    for_each(|given, evidence| {
        let verdict = derive(evidence, &given.seen, now());
        if !verdict.status.is_terminal() {
            return;
        }
        let resolved = |liveness: Liveness, to: Liveness| if liveness == UNKNOWN { to } else { liveness };
        for to in [ALIVE, DEAD] {
            let Seen { program, guard, host, owner, watcher } = given.seen;
            let later = seen(resolved(program, to), resolved(guard, to), resolved(host, to));
            let later = Seen { owner, watcher: resolved(watcher, to), ..later };
            assert_eq!(derive(evidence, &later, now()).status, verdict.status, "{given:?}");
        }
    });
}

#[test]
fn what_is_terminal_stays_so_when_processes_die() {
    for_each(|given, evidence| {
        let verdict = derive(evidence, &given.seen, now());
        if !verdict.status.is_terminal() {
            return;
        }
        let died = |liveness: Liveness| if liveness.is_alive() { DEAD } else { liveness };
        let Seen { program, guard, host, owner, watcher } = given.seen;
        for later in [
            seen(died(program), guard, host),
            seen(program, died(guard), host),
            seen(program, guard, died(host)),
        ] {
            let later = Seen { owner: died(owner), watcher: died(watcher), ..later };
            let after = derive(evidence, &later, now());
            assert_eq!(after.status, verdict.status, "{given:?}\n{later:?}");
        }
    });
}

#[test]
fn damage_only_ever_makes_a_verdict_more_careful() {
    for_each(|given, evidence| {
        if given.damaged {
            return;
        }
        let whole = derive(evidence, &given.seen, now()).status;
        let mut damaged = evidence.clone();
        damaged.damaged(DAMAGE);
        let careful = derive(&damaged, &given.seen, now()).status;
        // A lost `started` may be among the damage: then what lives at the gate runs.
        let past_the_gate = whole == Status::Starting && !careful.is_terminal();
        assert!(careful == whole || careful == Status::Unknown || past_the_gate, "{given:?}: {careful:?}");
    });
}
