//! What killed launches and removals leave behind: never shown, never taken from anyone, cleared when it is nobody's.

use std::path::Path;
use std::process::Stdio;

use abide_testkit::deadline::until;
use abide_testkit::observer::Doomed;
use abide_testkit::scene::Scene;
use abide_testkit::scene::dead;
use abide_testkit::trace::{first_of, is_stopped, traced};
use abide_testkit::{Observer, Running};
use rustix::process::Signal;
use serde_json::Value;

use crate::common::{World, data};

/// What the doctor says of leftovers.
fn told(world: &World, options: &[&str]) -> Vec<(String, String)> {
    let answer = data(&world.abide.run(&[&["doctor", "--json"], options].concat()));
    let checks = answer["checks"].as_array().expect("checks").iter();
    let leftovers = checks.filter(|check| check["name"] == "leftover");
    let text = |check: &Value, name: &str| check[name].as_str().unwrap_or_default().to_owned();
    leftovers.map(|check| (text(check, "health"), text(check, "detail"))).collect()
}

/// Where a launch is interfered with: with its guard on record only, and with the program at its gate too.
const GUARDED: (&str, &str) = ("inject=listen:signal=STOP", "guarded");
const LAUNCHED: (&str, &str) = ("inject=write:signal=STOP:when=3", "launched");

/// A launch that stands still before its session gets its name, and its guard.
fn half_a_launch(world: &World, (fault, fact): (&str, &str)) -> (Running, Doomed) {
    let command = world.abide.command(&["run", "-d", "--", "touch", &world.beside("ran")]);
    let options = ["-e", "trace=listen,write", "-e", fault];
    let mut tracer = traced(&command, &options, &world.home.around().join("calls"));
    let tracer = Running::start(tracer.stderr(Stdio::null()));
    let mut guard = None;
    until("the guard has come so far", || {
        let drafts =
            if world.home.path().join("sessions").exists() { world.in_sessions() } else { Vec::new() };
        let begun =
            |name: &&String| world.dir(name).join("evidence").exists() && !world.told(name, fact).is_empty();
        let draft = drafts.iter().find(begun);
        guard = draft.and_then(|draft| world.told(draft, "guarded")[0]["guard"]["pid"].as_u64());
        guard.is_some()
    });
    let guard = guard.and_then(|pid| u32::try_from(pid).ok()).expect("a pid");
    (tracer, Doomed(Observer::of(guard)))
}

fn kill(processes: &[&Observer]) {
    for process in processes {
        process.signal(Signal::KILL);
        process.await_end();
    }
}

#[test]
fn a_launch_that_goes_on_is_nobody_elses_to_clear() {
    let world = World::new();
    let (mut launcher, guard) = half_a_launch(&world, GUARDED);
    assert_eq!(told(&world, &["--fix"]), []);
    assert_eq!(data(&world.abide.run(&["gc", "--json"]))["removed"], Value::Array(Vec::new()));
    assert_eq!(world.abide.run(&["ls", "-aq"]).stdout, "", "a draft is shown");
    until("the guard stands still", || is_stopped(&world.home.around().join("calls")));
    guard.0.signal(Signal::CONT);
    let id = launcher.line();
    assert_eq!(world.wait(&id).0, Some(0));
    assert!(Path::new(&world.beside("ran")).exists());
}

#[test]
fn a_launch_that_was_killed_half_way_is_never_shown_and_cleared_on_demand() {
    for (fault, fix) in [(GUARDED, &["doctor", "--fix"][..]), (LAUNCHED, &["gc"])] {
        let world = World::new();
        let (tracer, guard) = half_a_launch(&world, fault);
        kill(&[&first_of(&tracer), &guard.0]);
        drop(tracer);
        let there = world.in_sessions();
        assert!(there.len() == 1 && there[0].starts_with(".new-"), "{there:?}");
        assert_eq!(world.abide.run(&["ls", "-aq"]).stdout, "");
        until("its waiting program is gone too", || told(&world, &[])[0].1.contains("is nobody's"));
        assert_eq!(world.in_sessions(), there, "looking changes nothing");
        assert_eq!(world.abide.run(&[fix, &["--json"]].concat()).code(), Some(0));
        assert_eq!((world.in_sessions(), told(&world, &[])), (Vec::new(), Vec::new()));
        assert!(!Path::new(&world.beside("ran")).exists(), "it ran");
    }
}

#[test]
fn what_was_never_more_than_a_draft_or_is_no_session_any_more_is_cleared() {
    let world = World::new();
    let id = world.launch(&[], &["true"]);
    assert_eq!(world.wait(&id).0, Some(0));
    let sessions = world.home.path().join("sessions");
    let scene = |name: &str| Scene::new(&world.home.path(), name);
    let _guarded = scene("guarded0").guarded(&dead());
    std::fs::rename(sessions.join("guarded0"), sessions.join(".new-guarded0")).expect("it is there");
    // A removal that is killed as soon as the session has lost its name.
    let stop = ["-e", "trace=renameat2", "-e", "inject=renameat2:signal=STOP"];
    let mut removal = traced(&world.abide.command(&["rm", &id]), &stop, &world.home.around().join("calls"));
    let removal = Running::start(removal.stderr(Stdio::null()));
    until("the session has lost its name", || !world.in_sessions().contains(&id));
    kill(&[&first_of(&removal)]);
    drop(removal);
    std::fs::create_dir(sessions.join(".new-nothing0")).expect("there is room");
    let mut told_before = told(&world, &[]);
    told_before.sort();
    let expected = [
        (format!(".gone-{id}"), "its removal was on record before it got this name"),
        (".new-guarded0".to_owned(), "its guard died before the program could start"),
        (".new-nothing0".to_owned(), "its launcher died before there was anything to record"),
    ];
    let expected = expected.map(|(name, why)| ("weak".to_owned(), format!("{name} is nobody's: {why}")));
    assert_eq!(told_before, expected);
    let mended = told(&world, &["--fix"]);
    assert!(mended.len() == 3 && mended.iter().all(|(health, _)| health == "mended"), "{mended:?}");
    assert_eq!(world.in_sessions(), [""; 0]);
}
