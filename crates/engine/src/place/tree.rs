//! What is left of a session: every process that descends from its guard, its program or a stray, whatever session or
//! group it chose, and every process in its cgroup, whoever its parent is by now. Its host is no part of it; other guards,
//! and whoever was born in another session, are sessions of their own.

use std::ffi::CStr;

use abide_core::evidence::Survivor;
use abide_core::identity::Identity;
use abide_sys::cgroup::{Cgroup, Member};
use abide_sys::{signal, spawn};

use crate::agents::{scribe, watcher};
use crate::truth::{Relative, Truth};
use crate::{guard, host, notify};

/// So many survivors are named on record.
pub(crate) const NAMED: usize = 200;
/// So much of each one's command line.
const COMMAND: usize = 60;

/// What tells a session's processes from those of others.
#[derive(Clone, Copy, Default)]
pub(crate) struct Marks<'a> {
    /// Its ID, which they were born with.
    pub(crate) session: Option<&'a str>,
    pub(crate) cgroup: Option<&'a Cgroup>,
}

/// The living processes below `top`, which is not counted itself, in the session's cgroup, and those that are known to be
/// kin, with all below them. Our own hosts are known by their pids: nobody but us reaps them, and what they show of
/// themselves comes and goes while they start. Whoever asks is not counted either.
pub(crate) fn left(
    truth: &Truth,
    marks: Marks<'_>,
    top: Option<u32>,
    kin: &[Identity],
    hosts: &[u32],
) -> Vec<Survivor> {
    let members = marks.cgroup.map(Cgroup::members).unwrap_or_default();
    let mut family = top.map(|top| truth.descendants_but(top, hosts)).unwrap_or_default();
    for one in kin.iter().filter(|one| Some(one.pid) != top) {
        let new = truth.process(one.pid).into_iter().chain(truth.descendants(one.pid));
        let new: Vec<_> = new.filter(|new| family.iter().all(|known| known.pid != new.pid)).collect();
        // Asked last: else they may be the family of another who has its number now.
        if truth.is_alive(one).is_alive() {
            family.extend(new);
        }
    }
    // Who lost its parent to a killed guard descends from nobody here: only the cgroup still knows it.
    for member in members.iter().filter(|member| !member.nested && Some(member.pid) != top) {
        if !family.iter().any(|known| known.pid == member.pid) {
            family.extend(truth.process(member.pid));
        }
    }
    let mut foreign: Vec<u32> =
        members.iter().filter(|member| member.nested).map(|member| member.pid).collect();
    let helpers = family.iter().filter(|member| is_helper(&member.name, &member.command));
    foreign.extend(helpers.map(|member| member.pid));
    // Their guard was killed, and what it kept fell to us.
    let strangers =
        family.iter().filter(|one| marks.session.is_some_and(|id| is_of_another(truth, one.pid, id)));
    foreign.extend(strangers.map(|member| member.pid));
    foreign.extend(hosts);
    // A guard's whole family is foreign, in whatever order they are found.
    let mut known = 0;
    while known < foreign.len() {
        known = foreign.len();
        let theirs = family.iter().filter(|member| foreign.contains(&member.parent)).map(|member| member.pid);
        let new: Vec<u32> = theirs.filter(|pid| !foreign.contains(pid)).collect();
        foreign.extend(new);
    }
    family.retain(|member| !foreign.contains(&member.pid) && member.pid != std::process::id());
    let alive = family.into_iter().filter_map(|member| {
        let known = kin.iter().find(|one| one.pid == member.pid).copied();
        let process = known.or_else(|| truth.identify(member.pid).ok())?;
        Some(survivor(process, &member))
    });
    alive.collect()
}

/// A process as it is named.
pub(crate) fn survivor(process: Identity, as_seen: &Relative) -> Survivor {
    let mut command = as_seen.command.join(" ");
    command.truncate(command.floor_char_boundary(COMMAND));
    Survivor { process, command }
}

/// A process that says that it was born in another session than this one.
pub(crate) fn is_of_another(truth: &Truth, pid: u32, session: &str) -> bool {
    truth.born_in(pid).is_some_and(|id| id != session)
}

/// A guard, a host, a scribe, a watcher or a courier: by its name from its first instant until its exec, by its arguments
/// from then on.
pub(crate) fn is_helper(name: &str, command: &[String]) -> bool {
    let is = |at: usize, argument: &CStr| {
        command.get(at).is_some_and(|word| word.as_bytes() == argument.to_bytes())
    };
    let roles = [guard::ARGUMENT, host::ARGUMENT, scribe::ARGUMENT, watcher::ARGUMENT];
    let started = roles.into_iter().any(|role| is(1, role));
    let [verb, option] = notify::ARGUMENTS;
    name.as_bytes() == spawn::HELPER.to_bytes() || started || (is(1, verb) && is(2, option))
}

/// Somebody of the session is in its cgroup, and neither one of another nor whoever asks: also one who forks faster than can be listed.
pub(crate) fn holds_some(truth: &Truth, cgroup: Option<&Cgroup>) -> bool {
    let is_ours = |member: &Member, cgroup: &Cgroup| {
        !member.nested
            && member.pid != std::process::id()
            && truth.born_in(member.pid).is_none_or(|id| cgroup.is_of_session(&id))
            && truth.process(member.pid).is_none_or(|process| !is_helper(&process.name, &process.command))
    };
    let some = cgroup.filter(|cgroup| cgroup.is_populated() == Some(true));
    some.is_some_and(|cgroup| cgroup.members().iter().all(|member| is_ours(member, cgroup)))
}

/// Signals each of them, if it is still the same process. A kill reaches the whole cgroup at once, if it is the
/// session's alone, so that nobody escapes by forking.
pub(crate) fn signal_all(truth: &Truth, left: &[Survivor], cgroup: Option<&Cgroup>, number: i32) {
    for survivor in left {
        if let Ok(pidfd) = truth.hold(&survivor.process) {
            // One that ends meanwhile needs no signal.
            let _ = signal::send(&pidfd, number);
        }
    }
    if let Some(cgroup) = cgroup.filter(|_| number == signal::KILL && holds_some(truth, cgroup)) {
        // Before Linux 5.14 each has been killed by itself.
        let _ = cgroup.kill();
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use abide_sys::reap;
    use abide_sys::spawn::Image;
    use std::sync::{Mutex, PoisonError};

    /// Whoever counts those below us holds this, and so do other tests that start processes.
    pub(crate) static ALONE: Mutex<()> = Mutex::new(());

    /// A helper whose exec takes its time: it looks for its image in many places in vain, and then ends.
    fn slow(arguments: &[&CStr]) -> Image {
        Image {
            paths: vec![c"/no/such/image".to_owned(); 200_000],
            argv: arguments.iter().map(|argument| (*argument).to_owned()).collect(),
            env: Vec::new(),
            cwd: c"/".to_owned(),
        }
    }

    #[test]
    fn helpers_are_nobodys_survivors_from_their_first_instant_on() {
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        reap::become_subreaper().unwrap();
        let truth = Truth::new();
        let us = std::process::id();
        let mut seen = 0;
        // One that was never looked at while it started proves nothing: there is always another.
        while seen < 2 {
            std::thread::scope(|scope| {
                // Another session's guard: adopted by us, and until its exec a copy of us. Whoever starts it stands still.
                let starts = scope.spawn(|| spawn::detached(&slow(&[c"abide", guard::ARGUMENT]), &[]));
                while !starts.is_finished() {
                    let below = truth.descendants(us);
                    // The first thing that it does is to say what it is.
                    if below.iter().any(|one| one.name.as_bytes() == spawn::HELPER.to_bytes()) {
                        let left = left(&truth, Marks::default(), Some(us), &[], &[]);
                        assert!(left.is_empty(), "{left:?}");
                        seen += 1;
                    }
                }
            });
            while reap::reap().is_some() {}
        }
        // A process of the session that is none of these counts.
        let mut other =
            std::process::Command::new("cat").stdin(std::process::Stdio::piped()).spawn().unwrap();
        let found: Vec<u32> = left(&truth, Marks::default(), Some(us), &[], &[])
            .iter()
            .map(|survivor| survivor.process.pid)
            .collect();
        assert_eq!(found, [other.id()]);
        drop(other.stdin.take());
        other.wait().unwrap();
    }
}
