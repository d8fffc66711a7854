//! What is left of a session: every process that descends from its guard, whatever session or group it chose.
//! Our host is no part of it, and other guards are sessions of their own.

use abide_core::evidence::Survivor;
use abide_sys::signal;

use crate::host;
use crate::truth::Truth;

/// So many survivors are named on record.
pub(super) const NAMED: usize = 400;
/// So much of each one's command line.
const COMMAND: usize = 120;

/// The living processes of this guard's session, itself not counted.
pub(super) fn left(truth: &Truth) -> Vec<Survivor> {
    let mut family = truth.descendants(std::process::id());
    // Elders come before their descendants, so one pass finds every guard's whole family.
    let mut foreign = Vec::new();
    family.retain(|member| {
        let helper = member.command.get(1).is_some_and(|argument| is_helper(argument.as_bytes()));
        let belongs = !helper && !foreign.contains(&member.parent);
        if !belongs {
            foreign.push(member.pid);
        }
        belongs
    });
    let alive = family.into_iter().filter_map(|member| {
        let process = truth.identify(member.pid).ok()?;
        let mut command = member.command.join(" ");
        command.truncate(command.floor_char_boundary(COMMAND));
        Some(Survivor { process, command })
    });
    alive.collect()
}

fn is_helper(argument: &[u8]) -> bool {
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
