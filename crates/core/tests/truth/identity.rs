//! Is this process alive? The whole small space of inputs against the laws, then the laws as single cases.

use abide_core::identity::{
    Death, Doubt, FileId, Here, Identity, Liveness, Lock, Qualifier, Sighting, Stat, SystemId, judge,
};

use crate::common::{PROGRAM, boot_id, machine_id, process};

const BORN: u64 = PROGRAM as u64 * 10;
const INODE: u64 = PROGRAM as u64 + 1_000_000;
const OTHER_NS: FileId = FileId { dev: 4, ino: 1 };

#[test]
fn only_positive_evidence_yields_dead_or_alive_anywhere_in_the_input_space() {
    let (wants, heres, sightings) = (every_want(), every_here(), every_sighting());
    let mut counts = [0_u32; 3];
    for want in &wants {
        for here in &heres {
            let there = is_here(want, here);
            let (rebooted, perhaps) = (is_rebooted(want, here), may_be_rebooted(want, here));
            for seen in &sightings {
                let liveness = judge(want, here, seen, Lock::Silent);
                let died = proves_death(want, here, seen);
                let dies = rebooted || ((there || perhaps) && died);
                let lives = there && proves_life(want, here, seen);
                assert!(!(dies && lives), "the laws contradict each other");
                let expected = (lives, dies);
                let got = (liveness.is_alive(), liveness.is_dead());
                assert_eq!(got, expected, "{want:?}\n{here:?}\n{seen:?}\n{liveness:?}");
                assert_eq!(liveness == Liveness::Dead(Death::Reboot), rebooted);
                counts[usize::from(dies) + 2 * usize::from(lives)] += 1;
                assert!(judge(want, here, seen, Lock::Held).is_alive(), "a held lock proves life");
            }
        }
    }
    assert!(counts.iter().all(|&count| count > 1_000), "each answer was given: {counts:?}");
}

/// A pid means here what it meant where it was recorded.
fn is_here(want: &Identity, here: &Here) -> bool {
    let one_kernel = here.boot == Some(want.boot);
    let other_machine = want.machine.zip(here.machine).is_some_and(|(theirs, ours)| theirs != ours);
    one_kernel && !other_machine && here.pid_ns == Some(want.pid_ns)
}

/// Started again since, and provably the same machine.
fn is_rebooted(want: &Identity, here: &Here) -> bool {
    let same_machine = want.machine.is_some() && want.machine == here.machine;
    same_machine && want.kernel_boot && here.kernel_boot && here.boot.is_some_and(|boot| boot != want.boot)
}

/// A boot id that is not the kernel's says that it was, where pids mean the same: whoever is dead there is dead anyway, and
/// of what is not told.
fn may_be_rebooted(want: &Identity, here: &Here) -> bool {
    let same_machine = want.machine.is_some() && want.machine == here.machine;
    let given = !(want.kernel_boot && here.kernel_boot) && here.pid_ns == Some(want.pid_ns);
    same_machine && given && here.boot.is_some_and(|boot| boot != want.boot)
}

fn proves_death(want: &Identity, here: &Here, seen: &Sighting) -> bool {
    match *seen {
        Sighting::Absent | Sighting::Thread => true,
        Sighting::Failed(_) => false,
        Sighting::Present { pidfs, exited, stat } => {
            let ready = exited == Some(true);
            let marks = Marks::compare(want, here, pidfs, stat);
            let corpse = stat.is_ok_and(|stat| stat.letter == b'Z' && stat.threads == 1);
            ready || marks == Marks::Differ || (exited.is_none() && corpse)
        }
    }
}

fn proves_life(want: &Identity, here: &Here, seen: &Sighting) -> bool {
    let Sighting::Present { pidfs, exited, stat } = *seen else {
        return false;
    };
    let running = match (exited, stat) {
        (Some(exited), _) => !exited,
        // Without a pidfd, a zombie lives only in its other threads.
        (None, Ok(stat)) => stat.letter != b'Z' || stat.threads > 1,
        (None, Err(_)) => false,
    };
    running && Marks::compare(want, here, pidfs, stat) == Marks::Same
}

/// What the marks of two processes with one pid say.
#[derive(PartialEq)]
enum Marks {
    Same,
    Differ,
    Nothing,
}

impl Marks {
    /// Inodes decide where both are known. Ticks can only differ, or be equal after the tick of the birth.
    fn compare(want: &Identity, here: &Here, pidfs: Option<u64>, stat: Result<Stat, Doubt>) -> Self {
        if let (Some(then), Some(now)) = (want.pidfs, pidfs) {
            return if then == now { Self::Same } else { Self::Differ };
        }
        let (Some(then), Ok(now)) = (want.start_ticks, stat.map(|stat| stat.start_ticks)) else {
            return Self::Nothing;
        };
        if want.time_ns != here.time_ns {
            return Self::Nothing;
        }
        match want.seen_ticks {
            _ if then != now => Self::Differ,
            Some(seen) if seen > then => Self::Same,
            Some(_) | None => Self::Nothing,
        }
    }
}

fn every_want() -> Vec<Identity> {
    let mut wants = Vec::new();
    for machine in [None, Some(machine_id())] {
        for time_ns in [None, process(PROGRAM).time_ns] {
            for pidfs in [None, Some(INODE)] {
                for (start_ticks, seen_ticks) in
                    [(None, None), (Some(BORN), None), (Some(BORN), Some(BORN)), (Some(BORN), Some(BORN + 1))]
                {
                    wants.extend([false, true].map(|kernel_boot| Identity {
                        machine,
                        kernel_boot,
                        time_ns,
                        pidfs,
                        start_ticks,
                        seen_ticks,
                        ..process(PROGRAM)
                    }));
                }
            }
        }
    }
    wants
}

fn every_here() -> Vec<Here> {
    let mut heres = Vec::new();
    for machine in [None, Some(machine_id()), Some(other_id())] {
        for boot in [None, Some(boot_id()), Some(other_id())] {
            for pid_ns in [None, Some(process(PROGRAM).pid_ns), Some(OTHER_NS)] {
                for time_ns in [None, process(PROGRAM).time_ns, Some(OTHER_NS)] {
                    for kernel_boot in [false, true] {
                        heres.push(Here { machine, boot, kernel_boot, pid_ns, time_ns });
                    }
                }
            }
        }
    }
    heres
}

fn every_sighting() -> Vec<Sighting> {
    let mut stats = vec![Err(Doubt::Hidden), Err(Doubt::Refused(24))];
    for start_ticks in [BORN, BORN + 1] {
        for (letter, threads) in [(b'R', 1), (b'T', 1), (b'Z', 1), (b'Z', 2)] {
            stats.push(Ok(Stat { letter, parent: 1, terminal: 0, threads, start_ticks }));
        }
    }
    let failures = [Doubt::Hidden, Doubt::Unsupported, Doubt::Refused(1)];
    let mut sightings = vec![Sighting::Absent, Sighting::Thread];
    sightings.extend(failures.map(Sighting::Failed));
    for pidfs in [None, Some(INODE), Some(INODE + 1)] {
        for exited in [None, Some(false), Some(true)] {
            sightings.extend(stats.iter().map(|&stat| Sighting::Present { pidfs, exited, stat }));
        }
    }
    sightings
}

#[test]
fn another_boot_is_death_on_the_same_machine_and_unknown_elsewhere() {
    let rebooted = Here { boot: Some(other_id()), ..here() };
    let elsewhere = Here { machine: Some(other_id()), ..rebooted };
    let nameless = Here { machine: None, ..rebooted };
    let bootless = Here { boot: None, ..here() };
    for seen in every_sighting() {
        check(&rebooted, seen, Liveness::Dead(Death::Reboot));
        check(&elsewhere, seen, Liveness::Unknown(Doubt::OtherMachine));
        check(&nameless, seen, Liveness::Unknown(Doubt::NoMachineId));
        check(&bootless, seen, Liveness::Unknown(Doubt::NoBootId));
    }
}

#[test]
fn equal_boot_ids_are_one_kernel_with_or_without_a_machine_id() {
    check(&Here { machine: None, ..here() }, present(Some(false), b'S', 1), Liveness::Alive(None));
    check(&Here { machine: None, ..here() }, Sighting::Absent, Liveness::Dead(Death::Gone));
}

#[test]
fn in_another_pid_namespace_a_pid_says_nothing() {
    for pid_ns in [None, Some(OTHER_NS)] {
        for seen in every_sighting() {
            check(&Here { pid_ns, ..here() }, seen, Liveness::Unknown(Doubt::OtherPidNamespace));
        }
    }
}

#[test]
fn a_zombie_is_dead_because_its_pidfd_is_ready() {
    check(&here(), present(Some(true), b'Z', 1), Liveness::Dead(Death::Exited));
    check(&here(), present(Some(true), b'S', 1), Liveness::Dead(Death::Exited));
}

#[test]
fn a_process_whose_first_thread_is_gone_lives_on_in_its_others() {
    check(&here(), present(Some(false), b'Z', 3), Liveness::Alive(None));
    check(&here(), present(None, b'Z', 3), Liveness::Alive(None));
    check(&here(), present(None, b'Z', 1), Liveness::Dead(Death::Exited));
}

#[test]
fn a_stopped_or_traced_process_is_alive_and_says_so() {
    check(&here(), present(Some(false), b'T', 1), Liveness::Alive(Some(Qualifier::Stopped)));
    check(&here(), present(Some(false), b't', 1), Liveness::Alive(Some(Qualifier::Traced)));
    let held = judge(&process(PROGRAM), &here(), &present(Some(false), b'T', 1), Lock::Held);
    assert_eq!(held, Liveness::Alive(Some(Qualifier::Stopped)), "a lock does not hide it");
}

#[test]
fn a_reboot_is_one_although_namespaces_are_on_another_device_then() {
    let before = Identity { boot: machine_id(), ..process(PROGRAM) };
    let mut here = here();
    here.pid_ns = here.pid_ns.map(|ns| FileId { dev: ns.dev + 1, ..ns });
    assert_eq!(judge(&before, &here, &Sighting::Absent, Lock::Silent), Liveness::Dead(Death::Reboot));
}

#[test]
fn no_pid_namespace_outlives_a_boot_and_a_boot_id_that_a_container_was_given_is_none() {
    let before = Identity { boot: machine_id(), ..process(PROGRAM) };
    let given = |identity: &Identity| Identity { kernel_boot: false, ..*identity };
    let here = Here { pid_ns: Some(OTHER_NS), ..here() };
    let asked = |want: &Identity, here: &Here| judge(want, here, &Sighting::Absent, Lock::Silent);
    assert_eq!(asked(&before, &here), Liveness::Dead(Death::Reboot));
    let elsewhere = Liveness::Unknown(Doubt::OtherPidNamespace);
    assert_eq!(asked(&given(&before), &here), elsewhere, "or it was recorded before abide could tell");
    assert_eq!(asked(&before, &Here { kernel_boot: false, ..here }), elsewhere);
    assert_eq!(asked(&process(PROGRAM), &here), elsewhere, "in one boot it may live");
}

#[test]
fn a_boot_id_that_is_not_the_kernel_s_own_ends_nobody_who_is_still_there() {
    let before = Identity { boot: machine_id(), ..process(PROGRAM) };
    let planted = Here { kernel_boot: false, ..here() };
    let recorded = Identity { kernel_boot: false, ..before };
    let doubt = Liveness::Unknown(Doubt::GivenBootId);
    for (want, here) in [(&before, &planted), (&recorded, &here()), (&recorded, &planted)] {
        let asked = |seen| judge(want, here, &seen, Lock::Silent);
        assert_eq!(asked(present(Some(false), b'S', 1)), doubt);
        assert_eq!(asked(Sighting::Failed(Doubt::Hidden)), doubt);
        let ends = [(Sighting::Absent, Death::Gone), (present(Some(true), b'Z', 1), Death::Exited)];
        for (seen, death) in ends.into_iter().chain([(Sighting::Thread, Death::Reused)]) {
            assert_eq!(asked(seen), Liveness::Dead(death), "dead in any boot, and no reboot is proved");
        }
    }
}

#[test]
fn a_lock_that_outlives_its_holder_is_its_successor_s() {
    for seen in [Sighting::Absent, Sighting::Thread, present(Some(true), b'Z', 1)] {
        let held = judge(&process(PROGRAM), &here(), &seen, Lock::Held);
        assert_eq!(held, Liveness::Alive(Some(Qualifier::Restarting)), "{seen:?}");
    }
    let elsewhere = Here { pid_ns: None, ..here() };
    let held = judge(&process(PROGRAM), &elsewhere, &Sighting::Absent, Lock::Held);
    assert_eq!(held, Liveness::Alive(None), "from elsewhere the holder itself cannot be seen");
}

#[test]
fn the_same_pid_born_in_the_same_tick_is_told_apart_only_by_its_inode() {
    let no_inode = Sighting::Present { pidfs: None, exited: Some(false), stat: stat(b'S', 1) };
    let another = Sighting::Present { pidfs: Some(INODE + 1), exited: Some(false), stat: stat(b'S', 1) };
    let young = Identity { seen_ticks: Some(BORN), ..process(PROGRAM) };
    assert_eq!(judge(&young, &here(), &no_inode, Lock::Silent), Liveness::Unknown(Doubt::SameTick));
    assert_eq!(judge(&young, &here(), &another, Lock::Silent), Liveness::Dead(Death::Reused));
    check(&here(), no_inode, Liveness::Alive(None));
}

#[test]
fn a_pid_given_to_another_process_or_thread_is_a_death() {
    let later = Stat { letter: b'S', parent: 1, terminal: 0, threads: 1, start_ticks: BORN + 9 };
    let stranger = Sighting::Present { pidfs: None, exited: Some(false), stat: Ok(later) };
    check(&here(), stranger, Liveness::Dead(Death::Reused));
    check(&here(), Sighting::Thread, Liveness::Dead(Death::Reused));
}

#[test]
fn hidden_and_refused_are_doubts_and_never_deaths() {
    for doubt in [Doubt::Hidden, Doubt::Unsupported, Doubt::Refused(1), Doubt::Refused(24)] {
        check(&here(), Sighting::Failed(doubt), Liveness::Unknown(doubt));
        let hidden = Sighting::Present { pidfs: None, exited: Some(false), stat: Err(doubt) };
        check(&here(), hidden, Liveness::Unknown(doubt));
    }
    let seen_by_inode =
        Sighting::Present { pidfs: Some(INODE), exited: Some(false), stat: Err(Doubt::Hidden) };
    check(&here(), seen_by_inode, Liveness::Alive(None));
}

#[test]
fn an_identity_is_read_back_from_its_json_and_tolerates_what_it_does_not_know() {
    for want in every_want() {
        let json = serde_json::to_string(&want).unwrap();
        assert_eq!(serde_json::from_str::<Identity>(&json).unwrap(), want);
        assert!(!json.contains("null"), "what is not known is not written: {json}");
    }
    let longer = serde_json::to_string(&process(PROGRAM)).unwrap().replacen('{', "{\"shoe_size\":44,", 1);
    assert_eq!(serde_json::from_str::<Identity>(&longer).unwrap(), process(PROGRAM));
}

#[test]
fn an_id_of_a_machine_or_boot_is_128_bits_in_hex_and_not_zero() {
    let dashed = SystemId::parse("0a1b2c3d-4e5f-4a6b-8c7d-9e0f1a2b3c4d\n");
    assert_eq!(dashed, SystemId::parse("0a1b2c3d4e5f4a6b8c7d9e0f1a2b3c4d"));
    assert_eq!(dashed.unwrap().short(), 0x0a1b_2c3d);
    assert_eq!(String::from(dashed.unwrap()), "0a1b2c3d4e5f4a6b8c7d9e0f1a2b3c4d");
    let zero = "0".repeat(32);
    for bad in [
        "",
        "uninitialized",
        "0a1b",
        &zero,
        "+a1b2c3d4e5f4a6b8c7d9e0f1a2b3c4d",
        "0a1b2c3d4e5f4a6b8c7d9e0f1a2b3c4dé",
    ] {
        assert_eq!(SystemId::parse(bad), None, "{bad:?}");
    }
}

fn check(here: &Here, seen: Sighting, expected: Liveness) {
    assert_eq!(judge(&process(PROGRAM), here, &seen, Lock::Silent), expected, "{here:?}\n{seen:?}");
    assert!(!expected.says().is_empty() && !expected.name().is_empty());
}

/// A process with our inode was there.
fn present(exited: Option<bool>, letter: u8, threads: u64) -> Sighting {
    Sighting::Present { pidfs: Some(INODE), exited, stat: stat(letter, threads) }
}

const fn stat(letter: u8, threads: u64) -> Result<Stat, Doubt> {
    Ok(Stat { letter, parent: 1, terminal: 0, threads, start_ticks: BORN })
}

fn here() -> Here {
    let us = process(1);
    Here {
        machine: us.machine,
        boot: Some(us.boot),
        kernel_boot: us.kernel_boot,
        pid_ns: Some(us.pid_ns),
        time_ns: us.time_ns,
    }
}

fn other_id() -> SystemId {
    SystemId::parse("ffffffffffffffffffffffffffffffff").unwrap()
}
