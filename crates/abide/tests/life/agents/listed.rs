//! Agents that nobody started here are found by their processes, and believed only as long as those live.

use std::process::Stdio;

use abide_testkit::Running;
use abide_testkit::deadline::until;
use rustix::process::Signal;

use super::{claude, listed, transcript};
use crate::common::World;

/// Row 45.
#[test]
fn an_agent_started_elsewhere_is_listed_with_its_turn_and_gone_when_it_is_killed() {
    let world = World::new();
    let mut command = std::process::Command::new(claude(&world));
    command.args(["-p", "please HANG"]).env("HOME", world.beside("")).current_dir(world.beside(""));
    let agent = Running::start(command.stdin(Stdio::piped()).stdout(Stdio::null()));
    until("it is at its turn", || {
        listed(&world, agent.pid()).is_some_and(|agent| agent["turn"] == "working")
    });
    let told = listed(&world, agent.pid()).expect("it lives");
    assert_eq!(
        (&told["agent"], &told["liveness"], &told["session"]),
        (&"claude".into(), &"alive".into(), &().into())
    );
    let name = transcript(&world).file_stem().map(|stem| stem.to_string_lossy().into_owned());
    assert_eq!(told["conversation"].as_str(), name.as_deref());
    agent.observer().signal(Signal::KILL);
    agent.observer().await_end();
    // Its entry says still what it said.
    let entry = world.beside(&format!(".claude/sessions/{}.json", agent.pid()));
    assert!(std::path::Path::new(&entry).exists());
    assert_eq!(listed(&world, agent.pid()), None);
}
