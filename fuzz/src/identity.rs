//! Any stat line, any identity in JSON, any sighting: parsing and judging do not panic, and without positive
//! evidence nobody is dead.
//!
//! The input: eight bytes of choices, then a line that is a stat line, an identity in JSON, or neither.

use abide_core::identity::{
    Death, Doubt, FileId, Here, Identity, Liveness, Lock, Sighting, Stat, SystemId, judge,
};

/// Any input.
///
/// # Panics
/// If something that must hold does not.
pub fn run(input: &[u8]) {
    let Some((choices, text)) = input.split_first_chunk::<8>() else {
        return;
    };
    let parsed = Stat::parse(text);
    check_name(text, parsed);
    let want = serde_json::from_slice(text).unwrap_or_else(|_| recorded(choices));
    check_json(&want);
    let here = here(&want, choices);
    let seen = sighting(&want, choices, parsed);
    check_judgement(&want, &here, &seen);
}

fn check_judgement(want: &Identity, here: &Here, seen: &Sighting) {
    assert!(judge(want, here, seen, Lock::Held).is_alive(), "a held lock proves life");
    let liveness = judge(want, here, seen, Lock::Silent);
    assert!(!liveness.says().is_empty());
    let same_machine = want.machine.is_some() && want.machine == here.machine;
    let other_boot = here.boot.is_some_and(|boot| boot != want.boot);
    let same_pids = here.pid_ns.is_some_and(|ns| ns.ino == want.pid_ns.ino);
    match liveness {
        Liveness::Dead(Death::Reboot) => assert!(same_machine && other_boot),
        Liveness::Dead(_) | Liveness::Alive(_) => {
            let is_here = here.boot == Some(want.boot) && here.pid_ns == Some(want.pid_ns);
            // Whoever is gone where pids mean the same is dead in either boot.
            let in_either = same_machine && other_boot && same_pids && liveness.is_dead();
            assert!(is_here || in_either, "judged from elsewhere");
            assert!(!matches!(seen, Sighting::Failed(_)), "a failed question proves nothing");
        }
        Liveness::Unknown(_) => {}
    }
    if let Sighting::Present { exited: Some(ready), .. } = seen {
        assert!(!(*ready && liveness.is_alive()), "a ready pidfd is a death");
    }
}

/// A name before the last parenthesis changes nothing.
fn check_name(line: &[u8], parsed: Option<Stat>) {
    let Some(close) = line.iter().rposition(|&b| b == b')') else {
        assert_eq!(parsed, None);
        return;
    };
    assert_eq!(Stat::parse(&[b"1 (a", &line[close..]].concat()), parsed);
    assert_eq!(Stat::parse(&[b"1 () Z 9 9\n(\xff", &line[close..]].concat()), parsed);
}

fn check_json(want: &Identity) {
    let json = serde_json::to_vec(want).expect("an identity can be written");
    assert_eq!(serde_json::from_slice::<Identity>(&json).expect("and read back"), *want);
}

fn here(want: &Identity, choices: &[u8; 8]) -> Here {
    let id = |byte: u8, same| match byte % 3 {
        0 => same,
        1 => None,
        _ => SystemId::parse("000000000000000000000000000000ff"),
    };
    let ns = |byte: u8, same| match byte % 3 {
        0 => same,
        1 => None,
        _ => Some(FileId { dev: 4, ino: 9 }),
    };
    Here {
        machine: id(choices[0], want.machine),
        boot: id(choices[1], Some(want.boot)),
        kernel_boot: choices[1] & 64 == 0,
        pid_ns: ns(choices[2], Some(want.pid_ns)),
        time_ns: ns(choices[3], want.time_ns),
    }
}

fn sighting(want: &Identity, choices: &[u8; 8], parsed: Option<Stat>) -> Sighting {
    let pidfs = match choices[5] % 3 {
        0 => want.pidfs,
        1 => None,
        _ => Some(u64::from(choices[5])),
    };
    let exited = [None, Some(false), Some(true)][usize::from(choices[6] % 3)];
    let stat = match choices[7] % 3 {
        0 => parsed.ok_or(Doubt::Hidden),
        1 => Err(Doubt::Refused(i32::from(choices[7]))),
        _ => {
            let start_ticks = want.start_ticks.unwrap_or_default();
            Ok(Stat {
                letter: choices[7],
                parent: 1,
                terminal: 0,
                threads: u64::from(choices[6]),
                start_ticks,
            })
        }
    };
    match choices[4] % 6 {
        0 => Sighting::Absent,
        1 => Sighting::Thread,
        2 => Sighting::Failed(Doubt::Unsupported),
        _ => Sighting::Present { pidfs, exited, stat },
    }
}

/// An identity for inputs that hold none.
fn recorded(choices: &[u8; 8]) -> Identity {
    let id = SystemId::parse("0a1b2c3d4e5f4a6b8c7d9e0f1a2b3c4d");
    let mark = |byte: u8| (byte & 1 == 0).then_some(u64::from(byte));
    Identity {
        machine: id.filter(|_| choices[0] & 4 == 0),
        boot: id.expect("an id"),
        kernel_boot: choices[1] & 128 == 0,
        pid_ns: FileId { dev: 4, ino: 1 },
        time_ns: Some(FileId { dev: 4, ino: 2 }),
        pid: 300,
        start_ticks: mark(choices[5]),
        seen_ticks: mark(choices[6]),
        pidfs: mark(choices[7]),
        uid: None,
        exe: None,
    }
}
