//! What hooks tell is written down, with the agent that ran them; an agent started elsewhere gets a session of its own.

use std::process::Stdio;

use abide_testkit::deadline::until;
use abide_testkit::{Ran, Running};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::{claude, done, stands};
use crate::common::{Gate, World, data};

/// What the agent tells its hooks, as a file.
pub(super) fn telling(world: &World, name: &str, more: &Value) -> String {
    let mut told = json!({ "session_id": "0a1b2c3d-0000-4000-8000-000000000001", "transcript_path": "/none",
        "cwd": world.beside("") });
    for (key, value) in more.as_object().expect("an object") {
        told[key] = value.clone();
    }
    world.home.around().file(name, &told.to_string()).display().to_string()
}

pub(super) fn hook(world: &World, occasion: &str, told: &str) -> String {
    let command = world.abide.command(&[]);
    let (exe, home) =
        (command.get_program().to_string_lossy().into_owned(), world.home.path().display().to_string());
    format!("ABIDE_HOME={home} {exe} hook claude {occasion} < {told}")
}

/// The sessions that `ls -a` lists.
fn sessions(world: &World) -> Vec<Value> {
    data(&world.abide.run(&["ls", "-a", "--json"]))["sessions"].as_array().cloned().unwrap_or_default()
}

/// Rows 44 and 47 for an agent that abide did not start.
#[test]
fn an_agent_started_elsewhere_has_a_session_by_its_hooks_which_is_over_when_it_is_killed() {
    let world = World::new();
    let gate = Gate::new(&world.beside("gate"));
    let _held = gate.hold();
    let opened = telling(&world, "opened.json", &json!({ "prompt": "go", "prompt_id": "prompt-1" }));
    let prompt =
        format!("TOOL:[{}; read go < {}]", hook(&world, "UserPromptSubmit", &opened), world.beside("gate"));
    let mut command = std::process::Command::new(claude(&world));
    command.args(["-p", &prompt]).env("HOME", world.beside("")).current_dir(world.beside(""));
    let agent = Running::start(command.stdin(Stdio::piped()).stdout(Stdio::null()));
    until("its hook was heard", || !sessions(&world).is_empty());
    let session = sessions(&world).remove(0);
    let id = session["id"].as_str().expect("an ID").to_owned();
    until("its turn is open", || stands(&world, &id).0 == "working");
    assert_eq!((&session["agent"], &session["status"]), (&"claude".into(), &"unattended".into()));
    assert_eq!(session["processes"]["program"]["pid"], agent.pid());
    let turn = &world.told(&id, "turn_opened")[0];
    assert_eq!((&turn["owner"]["pid"], &turn["turn"]), (&agent.pid().into(), &"prompt-1".into()));
    // While it lives nothing seals it.
    done(&world, &["doctor", "--fix"]);
    assert!(world.told(&id, "sealed").is_empty());
    agent.observer().signal(Signal::KILL);
    agent.observer().await_end();
    assert_eq!(stands(&world, &id).0, "settled");
    assert_eq!(world.inspect(&id)["status"], "lost");
    done(&world, &["doctor", "--fix"]);
    assert_eq!(world.told(&id, "sealed").len(), 1);
}

#[test]
fn a_hook_never_fails_and_says_what_came_of_it_only_where_that_is_asked() {
    let world = World::new();
    for args in [["hook", "claude", "Nonsense"], ["hook", "nobody", "Stop"], ["hook", "claude", "Stop"]] {
        let hook = |args: &[&str]| Ran::of(world.abide.command(args).stdin(Stdio::null()));
        let ran = hook(&args);
        assert_eq!((ran.code(), ran.stdout.as_str(), ran.stderr.as_str()), (Some(0), "", ""), "{ran:?}");
        let told = data(&hook(&[&["--json"], &args[..]].concat()));
        assert_eq!(told["session"], Value::Null);
    }
    assert!(!world.home.path().join("sessions").exists());
}
