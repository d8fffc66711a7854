//! Waiting for what is shown: never for what stood there before, also for what has scrolled by, and not beyond the end.

use abide_testkit::trace::calls;
use rustix::process::Signal;

use super::{met, shell, type_line};
use crate::common::{World, data};

#[test]
fn what_stood_on_the_screen_before_is_no_answer() {
    let world = World::new();
    let life = shell(&world);
    let first = type_line(&world, &life, "echo d'on'e");
    met(&world, &["--text", "done", "--since", &first, &life.id]);
    let since = type_line(&world, &life, "read x");
    let stale =
        world.abide.run(&["wait", "--text", "done", "--since", &since, "--timeout", "200ms", &life.id]);
    assert_eq!(stale.code(), Some(124), "{stale:?}");
    met(&world, &["--text", "done", &life.id]);
}

#[test]
fn what_has_scrolled_by_was_shown() {
    let world = World::new();
    let life = shell(&world);
    let since = type_line(&world, &life, "seq 1 5000; echo e'n'd");
    met(&world, &["--text", "end", "--since", &since, &life.id]);
    met(&world, &["--regex", "^1234$", "--since", &since, &life.id]);
    let never =
        world.abide.run(&["wait", "--regex", "^5001$", "--since", &since, "--timeout", "1ms", &life.id]);
    assert_eq!(never.code(), Some(124), "{never:?}");
}

#[test]
fn all_conditions_hold_at_once_and_with_any_one_is_enough() {
    let world = World::new();
    let life = shell(&world);
    let since = type_line(&world, &life, "printf '\\033[2J\\033[5;3Hm'enu; read x");
    let all =
        ["--text", "menu", "--cursor", "4,6", "--gone", "printf", "--changed", "--since", &since, &life.id];
    met(&world, &all);
    met(&world, &["--any", "--text", "never", "--text", "menu", &life.id]);
    let both = world.abide.run(&["wait", "--text", "never", "--text", "menu", "--timeout", "50ms", &life.id]);
    assert_eq!(both.code(), Some(124), "{both:?}");
    met(&world, &["--idle", "50ms", &life.id]);
}

#[test]
fn what_an_update_that_never_ends_held_back_is_met_once_it_is_shown() {
    let world = World::new();
    let life = shell(&world);
    let since = type_line(&world, &life, "printf '\\033[?2026h'; printf h'el'd; read x");
    met(&world, &["--text", "held", "--since", &since, &life.id]);
}

#[test]
fn a_session_that_ends_first_ends_the_wait_at_once_with_its_outcome() {
    let world = World::new();
    let (life, gate) = world.gated(&["print last", "exit 7"]);
    let mut waiting = world.start(&["wait", "--text", "never", &life.id]);
    life.helper("host", None);
    gate.open();
    assert_eq!(waiting.reap(), abide_testkit::Ending::Exited(125));
    let told = world.abide.run(&["wait", "--json", "--text", "never", &life.id]);
    let data = data(&told);
    assert_eq!((told.code(), &data["met"], &data["outcome"]["code"]), (Some(125), &false.into(), &7.into()));
    met(&world, &["--text", "last", "--since", "0", &life.id]);
}

#[test]
fn with_any_a_session_that_ends_first_leaves_the_wait_to_the_others() {
    let world = World::new();
    let (ends, gate) = world.gated(&["print last", "exit 7"]);
    let life = shell(&world);
    let mut waiting =
        world.start(&["wait", "--any", &ends.id, &life.id, "--text", "found", "--timeout", "30s"]);
    gate.open();
    assert_eq!(world.wait(&ends.id).0, Some(7));
    let none = ["wait", "--any", &ends.id, &life.id, "--text", "never", "--timeout", "100ms"];
    assert_eq!(world.abide.run(&none).code(), Some(124), "one of them could still");
    type_line(&world, &life, "echo f'ou'nd");
    assert_eq!(waiting.reap(), abide_testkit::Ending::Exited(0));
    assert_eq!(world.abide.run(&["wait", "--any", &ends.id, &ends.id, "--text", "never"]).code(), Some(125));
}

#[test]
fn a_wait_with_little_time_is_not_kept_by_a_host_that_stands_still() {
    let world = World::new();
    let life = shell(&world);
    let host = life.helper("host", None);
    host.signal(Signal::STOP);
    let wait = world.abide.command(&["wait", "--text", "never", "--timeout", "200ms", &life.id]);
    let log = world.home.around().join("calls");
    let (ran, polls) = calls(&wait, &["-e", "trace=poll,ppoll"], &log);
    assert_eq!(ran.code(), Some(124), "{ran:?}");
    let (first, last) = (polls.first().expect("it polls").at, polls.last().expect("it polls").at);
    assert!(last - first < 0.8, "a host has a second where there is time: {}", last - first);
    host.signal(Signal::CONT);
}

#[test]
fn what_is_waited_for_may_begin_with_a_hyphen() {
    let world = World::new();
    let life = shell(&world);
    type_line(&world, &life, "echo '-x --json'");
    for flag in ["--text", "--regex"] {
        met(&world, &[flag, "-x --json", &life.id]);
    }
    met(&world, &["--gone", "--y", &life.id]);
}

/// The kernel takes its time to close what watches files, and everybody who waited would wait for that.
#[test]
fn a_wait_for_what_is_shown_watches_no_file() {
    let world = World::new();
    let life = shell(&world);
    let log = world.home.around().join("calls");
    for (condition, code, watches) in [
        (["--text", "% "], 0, 0),
        (["--text", "never"], 124, 0),
        (["--idle", "10s"], 124, 0),
        (["--attention", "any"], 124, 1),
    ] {
        let asked = [&["wait", "--timeout", "50ms", &life.id], &condition[..]].concat();
        let (ran, seen) = calls(&world.abide.command(&asked), &["-e", "trace=inotify_init1"], &log);
        assert_eq!((ran.code(), seen.len()), (Some(code), watches), "{condition:?} {ran:?} {seen:?}");
    }
}

#[test]
fn conditions_that_make_no_sense_are_refused() {
    let world = World::new();
    let life = shell(&world);
    let cases: [&[&str]; 6] = [
        &["--regex", "("],
        &["--cursor", "5"],
        &["--since", "5"],
        &["--text", "x", "--cap", "1s"],
        &["--timeout", "1s"],
        &["--text", "x", "--since", "999999"],
    ];
    for flags in cases {
        let ran = world.abide.run(&[&["wait", "--json"], flags, &[&life.id]].concat());
        let error = &ran.json()["error"];
        let code = error["code"].as_str().unwrap_or_default();
        assert!(ran.code() == Some(125) && ["usage", "bad_time"].contains(&code), "{flags:?}: {ran:?}");
        assert!(error["hint"].is_string(), "{flags:?}: {ran:?}");
    }
}
