//! Every command on every status: it acts or refuses as its column of the table says.

use std::fs::OpenOptions;
use std::io::Write;

use abide_core::evidence::frame::encode;
use abide_core::evidence::{Body, Fact, Noted, Role, Witness};
use abide_core::status::{Column, Status};
use abide_sys::clock;
use abide_testkit::deadline::until;
use abide_testkit::scene::everything;
use abide_testkit::{Ending, Terminal};
use rustix::process::Signal;
use serde_json::Value;

use crate::common::{Life, World, data, outcome};

/// The commands that a column decides on, with what they are told beside the session.
const DECIDED: [(&[&str], Column); 4] = [
    (&["stop", "--grace", "0s"], Column::Stoppable),
    (&["signal", "USR1"], Column::Stoppable),
    (&["attach"], Column::LiveHost),
    (&["rm"], Column::Collectable),
];

fn status(name: &str) -> Status {
    *Status::ALL.iter().find(|status| status.name() == name).expect("it is in the table")
}

// TRUTH 53
#[test]
fn a_command_that_the_status_does_not_allow_is_refused_with_session_status_and_way_out() {
    let world = World::new();
    let everything = everything(&world.home.path());
    assert_eq!(everything.scenes.len(), Status::ALL.len());
    // What is over is sealed before a command that writes refuses anything: that is done here.
    assert_eq!(world.abide.run(&["stop", "lost0000"]).code(), Some(5));
    for (name, scene) in &everything.scenes {
        for (command, column) in DECIDED {
            if column.holds(status(name)) {
                continue;
            }
            let before = scene.bytes();
            let ran = world.abide.run(&[command, &["--json", scene.id()]].concat());
            let error = &ran.json()["error"];
            assert_eq!(
                (ran.code(), error["code"].as_str()),
                (Some(5), Some(column.refusal())),
                "{name}: {ran:?}"
            );
            assert_eq!(
                (&error["session"], &error["status"]),
                (&scene.id().into(), &Value::from(*name)),
                "{error}"
            );
            assert!(error["hint"].as_str().is_some_and(|hint| hint.contains(scene.id())), "{error}");
            let text = world.abide.run(&[command, &[scene.id()]].concat());
            let says = format!("abide: session {} is {name}: ", scene.id());
            assert_eq!((text.code(), text.stdout.as_str()), (Some(5), ""), "{text:?}");
            assert!(text.stderr.starts_with(&says) && text.stderr.contains("\nhint: "), "{text:?}");
            assert_eq!(scene.bytes(), before, "a refusal writes nothing");
        }
    }
    assert!(everything.living.iter().all(|process| process.observer().lives()), "a refusal signals nobody");
}

// TRUTH 53
#[test]
fn commands_that_only_look_answer_whatever_the_status() {
    let world = World::new();
    let everything = everything(&world.home.path());
    for (name, scene) in &everything.scenes {
        for command in [&["inspect"][..], &["why"], &["wait", "--cap", "0s"]] {
            let ran = world.abide.run(&[command, &["--json", scene.id()]].concat());
            assert_eq!(data(&ran)["status"], *name, "{command:?}: {ran:?}");
        }
        let waited = world.abide.run(&["wait", "--cap", "0s", scene.id()]);
        let succeeds =
            matches!(*name, "starting" | "running" | "unattended" | "exiting" | "destroying" | "destroyed");
        assert!(succeeds || waited.code() != Some(0), "{name}: {waited:?}");
    }
}

// TRUTH 53
#[test]
fn a_command_that_the_status_allows_acts() {
    let world = World::new();
    let life = world.live(&["trap-exit USR1 9", "print ready", "hang"]);
    life.until_shown("ready");
    life.helper("host", None);
    let mut attached = Terminal::start(&world.abide.command(&["attach", &life.id]));
    attached.until("ready");
    assert_eq!(world.abide.run(&["signal", "USR1", &life.id]).code(), Some(0));
    assert_eq!((world.wait(&life.id).0, attached.reap()), (Some(9), Ending::Exited(9)));
    assert_eq!(life.program.0.ending(), Some(Ending::Exited(9)));
    // Of an unattended one nobody can tell how it ended, but it can be ended.
    let unattended = unattended(&world);
    let stop = world.abide.run(&["stop", "--grace", "5s", "--json", &unattended.id]);
    assert_eq!((stop.code(), outcome(&data(&stop))), (Some(0), ("lost", None, None)), "{stop:?}");
    assert!(!unattended.program.0.lives());
    for id in [&life.id, &unattended.id] {
        assert_eq!(world.abide.run(&["rm", id]).code(), Some(0));
        assert_eq!(world.abide.run(&["inspect", id]).code(), Some(3));
        assert!(!world.dir(id).exists(), "something is left of {id}");
    }
}

fn unattended(world: &World) -> Life<'_> {
    let life = world.live(&["ignore HUP", "print ready", "hang"]);
    life.until_shown("ready");
    life.helper("host", None);
    life.kill_helpers();
    assert_eq!(life.inspect()["status"], "unattended");
    life
}

/// Adds a fact of ours to a session's evidence.
fn tell(world: &World, id: &str, seq: u64, body: Body) {
    let witness = Witness { role: Role::Client, pid: std::process::id(), boot: 0 };
    let fact = Fact { witness, seq, at: clock::now(), body };
    let log = OpenOptions::new().append(true).open(world.dir(id).join("evidence"));
    log.and_then(|mut log| log.write_all(&encode(&fact).expect("it can be stored"))).expect("there is room");
}

/// One real session of each status that can be staged, but `starting`, which is over in a moment.
fn real_ones(world: &World) -> Vec<(&'static str, String, Option<Life<'_>>)> {
    let ended = || {
        let id = world.run(&[], &["print ready"]);
        assert_eq!(world.wait(&id).0, Some(0));
        id
    };
    let lost = || {
        let life = unattended(world);
        life.program.0.signal(Signal::KILL);
        life.program.0.await_end();
        life.id
    };
    let running = world.live(&["print ready", "hang"]);
    running.until_shown("ready");
    running.helper("host", None);
    let unattended = unattended(world);
    let exiting = world.live(&["print ready", "hang"]);
    exiting.until_shown("ready");
    exiting.helper("host", None);
    exiting.helper("guard", None).signal(Signal::STOP);
    exiting.program.0.signal(Signal::KILL);
    exiting.program.0.await_end();
    let failed = data(&world.abide.run(&["run", "-d", "--json", "--", "/no/such/program"]));
    let failed = failed["id"].as_str().expect("an ID").to_owned();
    let (unknown, destroying, destroyed) = (lost(), ended(), ended());
    let mut damaged =
        OpenOptions::new().append(true).open(world.dir(&unknown).join("evidence")).expect("it is ours");
    damaged.write_all(b"\ngarbage\n").expect("there is room");
    tell(world, &destroying, 1, Body::Removing(Noted::default()));
    tell(world, &destroyed, 1, Body::Removing(Noted::default()));
    tell(world, &destroyed, 2, Body::Removed(Noted::default()));
    vec![
        ("running", running.id.clone(), Some(running)),
        ("unattended", unattended.id.clone(), Some(unattended)),
        ("exiting", exiting.id.clone(), Some(exiting)),
        ("exited", ended(), None),
        ("failed", failed, None),
        ("lost", lost(), None),
        ("unknown", unknown, None),
        ("destroying", destroying, None),
        ("destroyed", destroyed, None),
    ]
}

// TRUTH 52
#[test]
fn every_status_has_one_screen_source_for_all_commands() {
    let world = World::new();
    let sessions = real_ones(&world);
    assert_eq!(sessions.len(), Status::ALL.len() - 1);
    for (name, id, life) in sessions {
        let told = world.inspect(&id);
        assert_eq!(told["status"], name, "{told}");
        let source = if status(name).has_live_host() { "live" } else { "replay" };
        assert_eq!(told["screen"]["source"], source, "{told}");
        let snapshot = data(&world.abide.run(&["snapshot", "--json", &id]));
        assert_eq!(snapshot["source"], source, "{name}: {snapshot}");
        let line = if name == "failed" { "" } else { "ready" };
        assert_eq!(snapshot["lines"][0], line, "{name}: {snapshot}");
        if name == "exiting" {
            let life = life.expect("it has a guard");
            let guard = life.helper("guard", None);
            guard.signal(Signal::CONT);
            guard.await_end();
            until("the end is told", || world.inspect(&id)["status"] == "exited");
        }
    }
}
