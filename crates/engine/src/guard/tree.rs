//! What is left of a session: every process that descends from its guard, whatever session or group it chose.
//! Our hosts are no part of it, and other guards are sessions of their own.

use abide_core::evidence::Survivor;
use abide_sys::{signal, spawn};

use crate::host;
use crate::truth::Truth;

/// The living processes of this guard's session, itself and its own hosts not counted. A host is known by its pid:
/// nobody but us reaps it, and what it shows of itself comes and goes while it starts.
pub(super) fn left(truth: &Truth, hosts: &[u32]) -> Vec<Survivor> {
    let mut family = truth.descendants(std::process::id());
    // Elders come before their descendants, so one pass finds every guard's whole family.
    let mut foreign = Vec::new();
    family.retain(|member| {
        let helper = hosts.contains(&member.pid) || is_helper(&member.name, &member.command);
        let belongs = !helper && !foreign.contains(&member.parent);
        if !belongs {
            foreign.push(member.pid);
        }
        belongs
    });
    let alive = family.into_iter().filter_map(|member| {
        let process = truth.identify(member.pid).ok()?;
        Some(Survivor { process, command: member.command.join(" ") })
    });
    alive.collect()
}

/// Another session's guard or host: by its name from its first instant until its exec, by its arguments from then on.
pub(crate) fn is_helper(name: &str, command: &[String]) -> bool {
    let started = || command.get(1).is_some_and(|word| is_role(word.as_bytes()));
    name.as_bytes() == spawn::HELPER.to_bytes() || started()
}

fn is_role(argument: &[u8]) -> bool {
    argument == super::ARGUMENT.to_bytes() || argument == host::ARGUMENT.to_bytes()
}

/// Signals each of them, if it is still the same process.
pub(super) fn signal_all(truth: &Truth, left: &[Survivor], number: i32) {
    for survivor in left {
        if let Ok(pidfd) = truth.hold(&survivor.process) {
            // One that ends meanwhile needs no signal.
            let _ = signal::send(&pidfd, number);
        }
    }
}
