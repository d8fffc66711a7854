//! Agents: found, followed, prompted. The agent is a stand-in that keeps its files as Claude Code keeps them.

mod adopted;
mod begun;
mod checkpointed;
mod followed;
mod hooked;
mod listed;
mod named;
mod notified;
mod prompted;
mod resumed;
mod sealed;

use std::path::{Path, PathBuf};

use abide_testkit::Observer;
use serde_json::Value;

use crate::common::{World, agent, data};

/// The stand-in under the agent's name.
fn claude(world: &World) -> String {
    let path = world.beside("claude");
    if !Path::new(&path).exists() {
        world.home.around().program("claude", agent());
    }
    path
}

/// Launches it in a terminal.
fn launched(world: &World) -> String {
    world.launch(&["--cwd", &world.beside("")], &[&claude(world)])
}

/// What `agents` says of one process; none if it is not listed.
fn listed(world: &World, pid: u32) -> Option<Value> {
    let told = data(&world.abide.run(&["agents", "--json"]));
    told["agents"].as_array()?.iter().find(|agent| agent["pid"] == pid).cloned()
}

/// How `inspect` says that it stands.
fn stands(world: &World, id: &str) -> (String, String) {
    let told = world.inspect(id);
    let word = |field: &str| told[field].as_str().unwrap_or_default().to_owned();
    (word("turn"), word("attention"))
}

/// Waits until an agent is at something, and asserts that it came to that.
fn until_it(world: &World, id: &str, condition: &[&str]) {
    let ran = world.abide.run(&[&["wait", id], condition, &["--timeout", "30s"]].concat());
    assert_eq!(ran.code(), Some(0), "{ran:?}");
}

/// Runs a command that must do what it is told.
fn done(world: &World, args: &[&str]) {
    let ran = world.abide.run(args);
    assert_eq!(ran.code(), Some(0), "{ran:?}");
}

/// The scribe that wrote last of a session's turns.
fn scribe(world: &World, id: &str) -> Observer {
    let is_its = |fact: &Value| fact["w"].as_str().is_some_and(|witness| witness.starts_with("adapter"));
    let fact = world.facts(id).into_iter().rev().find(is_its).expect("by a scribe");
    let pid = fact["w"].as_str().and_then(|text| text.split([':', '@']).nth(1)?.parse().ok());
    Observer::of(pid.expect("a pid"))
}

/// The one transcript that was written.
fn transcript(world: &World) -> PathBuf {
    let projects = PathBuf::from(world.beside(".claude/projects"));
    let project =
        std::fs::read_dir(projects).expect("it wrote one").flatten().next().expect("of one directory");
    let file = std::fs::read_dir(project.path()).expect("a directory").flatten().next();
    file.expect("a transcript").path()
}
