//! Lines that come to nothing, or to no code: nothing is hidden afterwards, and what they wrote is told.

use abide_testkit::deadline::until;
use rustix::process::Signal;

use super::{BASH, exec, shell, shells};
use crate::common::World;

#[test]
fn a_line_that_a_stopped_guard_did_not_take_never_runs_and_hides_nothing() {
    std::thread::scope(|scope| {
        for command in shells() {
            scope.spawn(|| check_stopped_guard(command));
        }
    });
}

fn check_stopped_guard(command: &[&str]) {
    let world = World::new();
    let life = shell(&world, command);
    assert_eq!(exec(&world, &life, "echo first").stdout, "first\n", "{command:?}");
    let guard = life.helper("guard", None);
    guard.signal(Signal::STOP);
    until("it stands still", || life.inspect()["processes"]["guard"]["qualifier"] == "stopped");
    let file = world.beside("ran");
    let ran = world.abide.run(&["exec", "--json", &life.id, "--", &format!("echo ran >{file}")]);
    let told = ran.json()["error"].clone();
    assert_eq!((ran.code(), &told["code"]), (Some(125), &"unresponsive".into()), "{told}");
    let message = told["message"].as_str().unwrap_or_default();
    assert!(message.contains(&format!("guard (pid {}: is alive, stopped)", guard.pid())), "{message}");
    guard.signal(Signal::CONT);
    // Whatever the guard types now of the line that was withdrawn, nobody is kept from seeing what follows.
    let ran = world.abide.run(&["type", &life.id, "echo visi'ble'", "--enter"]);
    assert_eq!(ran.code(), Some(0), "{ran:?}");
    let ran = world.abide.run(&["wait", &life.id, "--text", "visible", "--timeout", "50s"]);
    assert_eq!(ran.code(), Some(0), "{command:?}: {ran:?}");
    assert!(world.shown(&life.id).contains("visible"), "{command:?}");
    until("a line runs again", || exec(&world, &life, "echo again").stdout == "again\n");
    assert!(!std::path::Path::new(&file).exists(), "{command:?}: it ran");
}

#[test]
fn what_a_line_wrote_that_ended_its_shell_is_told_in_every_form() {
    for (form, line) in [("exec", "echo hi; exit 3"), ("batch", "exec -- 'echo hi; exit 3'")] {
        let world = World::new();
        let life = shell(&world, BASH);
        let dashes: &[&str] = if form == "exec" { &["--"] } else { &[] };
        let ran = world.abide.run(&[&[form, "--json", &life.id], dashes, &[line]].concat());
        let told = ran.json();
        let told = if form == "exec" { told } else { told["data"]["steps"][0].clone() };
        assert_eq!((ran.code(), &told["error"]["code"]), (Some(125), &"not_commandable".into()), "{told}");
        assert_eq!(told["data"]["output"], "hi\nexit\n", "{told}");
    }
}
