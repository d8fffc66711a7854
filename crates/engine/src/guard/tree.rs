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

#[cfg(test)]
mod tests {
    use super::*;
    use abide_sys::reap;
    use abide_sys::spawn::Image;

    /// A helper whose exec takes its time: it looks for its image in many places in vain, and then ends.
    fn slow(arguments: &[&std::ffi::CStr]) -> Image {
        Image {
            paths: vec![c"/no/such/image".to_owned(); 200_000],
            argv: arguments.iter().map(|argument| (*argument).to_owned()).collect(),
            env: Vec::new(),
            cwd: c"/".to_owned(),
        }
    }

    #[test]
    fn helpers_are_nobodys_survivors_from_their_first_instant_on() {
        reap::become_subreaper().unwrap();
        let truth = Truth::new();
        let us = std::process::id();
        // Another session's guard: adopted by us, and until its exec a copy of us.
        spawn::detached(&slow(&[c"abide", super::super::ARGUMENT]), &[]).unwrap();
        let (host, _held) = spawn::helper(&slow(&[c"abide", host::ARGUMENT]), &[]).unwrap();
        let mut seen = 0;
        loop {
            let below: Vec<u32> = truth.descendants(us).iter().map(|member| member.pid).collect();
            let left = left(&truth, &[host]);
            assert!(left.is_empty(), "{left:?}");
            if below.is_empty() {
                break;
            }
            seen += usize::from(below.iter().any(|pid| *pid != host));
            while reap::reap().is_some() {}
        }
        assert!(seen > 1, "the guard was seen before its exec");
        // A process of the session that is none of these counts.
        let mut other =
            std::process::Command::new("cat").stdin(std::process::Stdio::piped()).spawn().unwrap();
        let found: Vec<u32> = left(&truth, &[]).iter().map(|survivor| survivor.process.pid).collect();
        assert_eq!(found, [other.id()]);
        drop(other.stdin.take());
        other.wait().unwrap();
    }
}
