//! What is on the disk when: the calls that put it there, as the kernel saw them.

use abide_testkit::Running;
use abide_testkit::deadline::until;
use abide_testkit::trace::{Call, calls, seen, traced};
use rustix::process::Signal;

use crate::common::{World, agent};

const WATCHED: &str = "trace=fsync,fdatasync,execve,write";

/// Runs a program that ends at once, and gives the calls of everyone up to its exec, and from there on.
fn run(world: &World, options: &[&str], program: &str) -> (String, Vec<Call>, Vec<Call>) {
    let command = world.abide.command(&[&["run", "-d"], options, &["--", program]].concat());
    let log = world.home.around().join("calls");
    let (ran, mut before) = calls(&command, &["-e", WATCHED], &log);
    let id = ran.stdout.trim_end().to_owned();
    let exec = format!("execve(\"{program}\"");
    let at = before.iter().position(|call| call.text.starts_with(&exec)).expect("it was executed");
    let after = before.split_off(at);
    (id, before, after)
}

/// When each of the names below the home was first flushed.
fn flushed(world: &World, calls: &[Call], names: &[&str]) -> Vec<Option<f64>> {
    let when = |name: &&str| {
        let path = format!("{}>", world.home.path().join(name).display());
        let flushes = |call: &&Call| {
            (call.text.starts_with("fsync(") || call.text.starts_with("fdatasync("))
                && call.text.contains(&path)
        };
        calls.iter().find(flushes).map(|call| call.at)
    };
    names.iter().map(when).collect()
}

#[test]
fn a_durable_launch_is_on_the_disk_before_the_exec_and_a_plain_one_flushes_nothing_before() {
    let world = World::new();
    for (options, flushes) in [(&["--durable"][..], true), (&[], false)] {
        let (id, before, _) = run(&world, options, "/bin/true");
        let session = format!("sessions/{id}");
        let (evidence, outcome) = (format!("{session}/evidence"), format!("{session}/outcome"));
        let names = [evidence.as_str(), &outcome, &session, "sessions", ""];
        let seen = flushed(&world, &before, &names[..4]);
        assert!(seen.iter().all(|at| at.is_some() == flushes), "{options:?}: {seen:?} of {names:?}");
        let own = &world.told(&id, "launched")[0]["terms"]["durable"];
        assert_eq!(own.as_bool().unwrap_or(false), flushes);
    }
}

/// What takes no more than a second by itself does so at least once, also where processors are scarce.
fn within_a_second(what: &str, mut takes: impl FnMut() -> f64) {
    const TRIES: usize = 10;
    let mut took = Vec::new();
    while took.last().is_none_or(|took| *took >= 1.0) {
        assert!(took.len() < TRIES, "{what} reached the disk after {took:?} s");
        took.push(takes());
    }
}

#[test]
fn an_end_is_on_the_disk_within_a_second_however_short_the_life_and_also_if_there_was_none() {
    let world = World::new();
    for (program, fact) in [("/bin/true", "ended"), ("/no/such/program", "exec_failed")] {
        within_a_second(fact, || {
            let (id, _, after) = run(&world, &[], program);
            let says = |call: &Call| call.text.contains(&format!("\\\"{fact}\\\""));
            let written = after.iter().position(says).expect("an end");
            let session = format!("sessions/{id}");
            let (evidence, outcome) = (format!("{session}/evidence"), format!("{session}/outcome"));
            let names = [evidence.as_str(), &outcome, &session, "sessions"];
            let flushed = flushed(&world, &after[written..], &names);
            let last = flushed.into_iter().map(|at| at.expect("it was flushed")).fold(0.0, f64::max);
            last - after[written].at
        });
    }
}

#[test]
fn facts_of_a_session_that_says_nothing_reach_the_disk_within_a_second_too() {
    let world = World::new();
    let log = world.home.around().join("calls");
    let command = world.abide.command(&["run", "-d", "--", &agent(), "hang"]);
    let mut tracer = Running::start(&mut traced(&command, &["-e", WATCHED], &log));
    let id = tracer.line();
    let life = world.observe(id.clone());
    let evidence = format!("sessions/{id}/evidence");
    let flush = |since: usize| flushed(&world, &seen(&log)[since..], &[&evidence])[0];
    until("its launch is on the disk", || flush(0).is_some());
    let guard = life.helper("guard", None);
    within_a_second("a hangup", || {
        let before = seen(&log).len();
        guard.signal(Signal::HUP);
        until("the hangup is on the disk", || flush(before).is_some());
        let calls = seen(&log);
        let says = |call: &Call| call.text.contains("hangup");
        let noted = before + calls[before..].iter().position(says).expect("it was noted");
        flush(noted).expect("it was flushed after it was written") - calls[noted].at
    });
    drop(life);
    tracer.reap();
}

#[test]
fn a_durable_launch_on_a_disk_that_fails_starts_nothing() {
    let world = World::new();
    // Each process counts for itself: the launcher has two flushes to make, its guard four.
    for when in ["1", "2", "3", "4"] {
        let mark = world.beside("ran");
        let command = world.abide.command(&["run", "-d", "--json", "--durable", "--", "touch", &mark]);
        let fault = format!("inject=fsync:error=EIO:when={when}+");
        let log = world.home.around().join("calls");
        let (ran, _) = calls(&command, &["-e", "trace=fsync", "-e", &fault], &log);
        let told = ran.json();
        assert_eq!((ran.code(), &told["ok"]), (Some(1), &false.into()), "{when}: {ran:?}");
        assert!(told["error"]["message"].as_str().unwrap().contains("Input/output error"), "{told}");
        assert!(!std::path::Path::new(&mark).exists(), "it ran");
        assert_eq!(world.in_sessions(), [""; 0], "something is left");
    }
}
