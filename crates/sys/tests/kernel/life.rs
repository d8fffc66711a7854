//! What the probe says of real processes here: living, stopped, traced, ended, reaped; with every means and without.
//! The truth is the observer's.

use std::os::unix::process::CommandExt;
use std::process::Command;

use abide_core::identity::{Death, Doubt, Identity, Liveness, Lock, Qualifier, SystemId};
use abide_sys::drill::stop_by_trace;
use abide_sys::probe::Probe;
use abide_sys::signal;
use abide_testkit::drill::{MEANS, ask, identify, said};
use abide_testkit::namespace::{drill, start_drill};
use abide_testkit::observer::Doomed;
use abide_testkit::{Ending, Observer, Running, bin};
use rustix::process::Signal;

const ALIVE: Liveness = Liveness::Alive(None);

/// Asks about a process with each of the means.
#[track_caller]
fn check(identity: &Identity, expected: Liveness) {
    for (name, means) in MEANS {
        let probe = Probe::with(means);
        assert_eq!(probe.liveness(identity, Lock::Silent), expected, "with {name}");
        let lives = probe.lives(identity, Lock::Silent);
        // It may leave out how a living process stands, and nothing else.
        let same = lives == expected || (lives, expected.is_alive()) == (ALIVE, true);
        assert!(same, "{lives:?}, not {expected:?}, with {name}");
        let stands = if let Liveness::Alive(qualifier) = expected { qualifier } else { None };
        assert_eq!(probe.qualifier(identity), stands, "with {name}");
    }
}

#[test]
fn a_process_that_runs_is_alive() {
    let agent = Running::agent(&["say-ready", "hang"]).ready();
    let identity = identify(agent.pid());
    check(&identity, ALIVE);
    assert!(agent.observer().lives());
}

#[test]
fn a_process_that_ended_and_was_not_reaped_is_dead() {
    let agent = Running::agent(&["say-ready", "hang"]).ready();
    let identity = identify(agent.pid());
    agent.signal(Signal::KILL);
    agent.observer().await_end();
    check(&identity, Liveness::Dead(Death::Exited));
    assert_eq!(agent.observer().ending(), Some(Ending::Signaled { signal: 9, core: false }));
}

#[test]
fn a_process_that_was_reaped_is_gone() {
    let mut agent = Running::agent(&["say-ready", "wait-line", "exit 3"]).ready();
    let identity = identify(agent.pid());
    agent.tell("go");
    assert_eq!(agent.reap(), Ending::Exited(3));
    check(&identity, Liveness::Dead(Death::Gone));
}

#[test]
fn a_process_whose_number_still_names_its_group_is_dead() {
    let mut command = Command::new(bin("sys-drill"));
    let agent = bin("fake-agent");
    let start = format!("start {} hang", agent.display());
    let mut leader = Running::start(command.args([start.as_str(), "wait-line"]).process_group(0));
    let started = leader.until("started");
    let member = Doomed(Observer::of(started.rsplit_once(' ').unwrap().1.parse().unwrap()));
    let identity = identify(leader.pid());
    leader.kill();
    for (name, means) in MEANS {
        let liveness = Probe::with(means).liveness(&identity, Lock::Silent);
        assert!(liveness.is_dead(), "{liveness:?} with {name}");
    }
    assert!(member.0.lives());
}

#[test]
fn a_process_whose_first_thread_ended_is_alive_as_long_as_another_runs() {
    let mut agent = Running::agent(&["leader-exit", "say-ready", "wait-line", "exit 5"]).ready();
    let identity = identify(agent.pid());
    check(&identity, ALIVE);
    assert!(agent.observer().lives());
    agent.tell("go");
    agent.observer().await_end();
    check(&identity, Liveness::Dead(Death::Exited));
    assert_eq!(agent.reap(), Ending::Exited(5));
}

#[test]
fn a_stopped_process_is_alive_and_stopped() {
    let mut agent = Running::agent(&["say-ready", "stop-self", "say-ready", "hang"]).ready();
    agent.observer().await_stop();
    let identity = identify(agent.pid());
    check(&identity, Liveness::Alive(Some(Qualifier::Stopped)));
    agent.signal(Signal::CONT);
    agent.until("ready");
    check(&identity, ALIVE);
}

#[test]
fn a_traced_process_is_alive_and_traced() {
    let agent = Running::agent(&["say-ready", "hang"]).ready();
    let identity = identify(agent.pid());
    stop_by_trace(agent.pid()).expect("a test may trace what it started (kernel.yama.ptrace_scope below 2)");
    check(&identity, Liveness::Alive(Some(Qualifier::Traced)));
}

#[test]
fn a_process_stays_itself_when_it_becomes_another_program() {
    let become_drill = format!("exec {} identify wait-line", bin("sys-drill").display());
    let mut agent =
        Running::start(Command::new(bin("fake-agent")).args(["say-ready", "wait-line", &become_drill]));
    agent.until("ready");
    let before = identify(agent.pid());
    agent.tell("go");
    let after: Identity = said(&agent.until("{"));
    check(&before, ALIVE);
    check(&after, ALIVE);
    assert_ne!(before.exe, after.exe);
    assert_eq!((before.pid, before.pidfs, before.start_ticks), (after.pid, after.pidfs, after.start_ticks));
}

#[test]
fn a_number_without_a_process_has_no_identity() {
    let mut agent = Running::agent(&["say-ready", "hang"]).ready();
    let pid = identify(agent.pid()).pid;
    agent.signal(Signal::KILL);
    agent.observer().await_end();
    let tid = rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned();
    for (name, means) in MEANS {
        let probe = Probe::with(means);
        assert_eq!(probe.identify(pid), Err(Doubt::NoIdentity), "a zombie with {name}");
        assert_eq!(probe.identify(u32::MAX), Err(Doubt::NoIdentity), "no pid at all with {name}");
        if means.pidfd {
            assert_eq!(probe.identify(tid), Err(Doubt::NoIdentity), "a thread with {name}");
        }
    }
    agent.reap();
    check_no_identity(pid);
}

#[track_caller]
fn check_no_identity(pid: u32) {
    for (name, means) in MEANS {
        assert_eq!(Probe::with(means).identify(pid), Err(Doubt::NoIdentity), "with {name}");
    }
}

#[test]
fn without_a_file_descriptor_left_nothing_is_judged_or_recorded() {
    let agent = Running::agent(&["say-ready", "hang"]).ready();
    let ask = ask(&identify(agent.pid()));
    let identify = format!("identify {}", agent.pid());
    for (name, _) in MEANS {
        let said = drill(&["no-files", &format!("means {name}"), &ask, &identify]);
        assert_eq!(said, ["Unknown(Refused(24))", "Refused(24)"], "with {name}");
    }
}

#[test]
fn another_user_sees_the_same_life_and_the_same_death() {
    if !rustix::process::geteuid().is_root() {
        // Pid 1 is another user's for us, and we are another user for it.
        check(&identify(1), ALIVE);
        return;
    }
    let mut agent = Running::agent(&["say-ready", "hang"]).ready();
    let ask = ask(&identify(agent.pid()));
    let steps = ["user 65534", &ask, "means no-pidfs", &ask, "means no-pidfd", &ask];
    assert_eq!(drill(&steps), ["Alive(None)"; 3]);
    agent.kill();
    assert_eq!(drill(&steps), ["Dead(Gone)"; 3]);
}

#[test]
fn a_corpse_tells_how_it_ended_only_to_those_who_may_look() {
    let users: &[&str] = if rustix::process::geteuid().is_root() { &["0", "65534"] } else { &[] };
    let mut steps: Vec<Vec<String>> = users.iter().map(|user| vec![format!("user {user}")]).collect();
    steps.push(Vec::new());
    for mut steps in steps {
        let mut agent = Running::agent(&["trap-exit TERM 8", "say-ready", "hang"]).ready();
        let may_look = !steps.contains(&"user 65534".to_owned());
        steps.push(ask(&identify(agent.pid())).replacen("ask", "end", 1));
        let steps: Vec<&str> = steps.iter().map(String::as_str).collect();
        let mut drill = start_drill(&steps);
        drill.until("held");
        agent.signal(Signal::TERM);
        agent.observer().await_end();
        drill.tell("go");
        let expected = if may_look { "Some((Exited { code: 8 }, Procfs))" } else { "None" };
        assert_eq!(drill.line(), expected, "{steps:?}");
        assert_eq!(agent.reap(), Ending::Exited(8));
    }
}

#[test]
fn only_a_process_that_is_proved_alive_can_be_held() {
    let mut agent = Running::agent(&["trap-exit TERM 8", "say-ready", "hang"]).ready();
    let identity = identify(agent.pid());
    let mut other_machine = identity;
    other_machine.machine = SystemId::parse("00000000000040008000000000000001");
    let probe = Probe::new();
    assert_eq!(probe.hold(&other_machine).err(), Some(Liveness::Unknown(Doubt::OtherMachine)));
    let pidfd = probe.hold(&identity).unwrap();
    signal::send(&pidfd, signal::TERM).unwrap();
    agent.observer().await_end();
    assert_eq!(probe.hold(&identity).err(), Some(Liveness::Dead(Death::Exited)));
    assert_eq!(agent.reap(), Ending::Exited(8));
    assert_eq!(probe.hold(&identity).err(), Some(Liveness::Dead(Death::Gone)));
    assert!(signal::send(&pidfd, signal::TERM).is_err());
}

#[test]
fn who_was_born_with_a_variable_is_found_by_it_and_nobody_else() {
    let own = format!("PROBED={}", std::process::id());
    let mut command = Command::new("cat");
    let born = Running::start(command.env_clear().envs([("A", "b"), ("PROBED", &own[7..]), ("Z", "")]));
    let found = |entry: &str| Probe::new().carriers(entry).iter().map(|one| one.0.pid).collect::<Vec<_>>();
    assert_eq!(found(&own), [born.pid()]);
    assert_eq!(
        [&own[..own.len() - 1], &own[1..], &format!("{own}0")].map(found),
        [const { Vec::<u32>::new() }; 3]
    );
}

#[test]
fn descendants_are_found_in_sessions_of_their_own() {
    let mut agent = Running::agent(&["fork hang", "say-ready", "hang"]);
    let forked = agent.until("forked");
    let forked = Doomed(Observer::of(forked.rsplit_once(' ').unwrap().1.parse().unwrap()));
    let found = Probe::new().descendants(agent.pid());
    let found: Vec<_> = found.iter().map(|one| (one.pid, one.parent)).collect();
    assert_eq!(found, [(forked.0.pid(), agent.pid())]);
}
