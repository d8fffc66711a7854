//! Agents that nobody started here are found by their processes, and believed only as long as those live.

use std::process::Stdio;

use abide_testkit::Running;
use abide_testkit::deadline::until;
use rustix::process::Signal;
use serde_json::Value;

use super::{claude, done, launched, listed, transcript};
use crate::common::{Gate, World, data};

/// An agent that was started by hand, in the middle of a turn.
fn by_hand(world: &World) -> Running {
    let mut command = std::process::Command::new(claude(world));
    command.args(["-p", "please HANG"]).env("HOME", world.beside("")).current_dir(world.beside(""));
    let agent = Running::start(command.stdin(Stdio::piped()).stdout(Stdio::null()));
    until("it is at its turn", || listed(world, agent.pid()).is_some_and(|agent| agent["turn"] == "working"));
    agent
}

/// The path of what its own list says of an agent.
fn entry(world: &World, agent: &Running) -> String {
    world.beside(&format!(".claude/sessions/{}.json", agent.pid()))
}

/// Changes what its own list says of an agent; gives what that says now.
fn change_entry(world: &World, agent: &Running, changes: &[(&str, &str)]) -> Value {
    let text = std::fs::read_to_string(entry(world, agent)).expect("its entry");
    let mut says: Value = serde_json::from_str(&text).expect("an entry");
    for (name, value) in changes {
        says[*name] = (*value).into();
    }
    let _ = world.home.around().file(&format!(".claude/sessions/{}.json", agent.pid()), &says.to_string());
    says
}

/// Row 45.
#[test]
fn an_agent_started_elsewhere_is_listed_with_its_turn_and_gone_when_it_is_killed() {
    let world = World::new();
    let agent = by_hand(&world);
    let told = listed(&world, agent.pid()).expect("it lives");
    assert_eq!(
        (&told["agent"], &told["liveness"], &told["session"]),
        (&"claude".into(), &"alive".into(), &().into())
    );
    let name = transcript(&world).file_stem().map(|stem| stem.to_string_lossy().into_owned());
    assert_eq!(told["conversation"].as_str(), name.as_deref());
    // As one in a terminal that works.
    let _ = change_entry(&world, &agent, &[("status", "busy")]);
    agent.observer().signal(Signal::KILL);
    agent.observer().await_end();
    let says = std::fs::read_to_string(entry(&world, &agent)).expect("its entry is left");
    assert!(says.contains("\"busy\""), "{says}");
    assert_eq!(listed(&world, agent.pid()), None);
}

#[test]
fn a_kind_of_agent_that_is_not_known_is_refused_and_those_that_are_are_named() {
    let world = World::new();
    let ran = world.abide.run(&["agents", "--json", "cladue"]);
    let error = &ran.json()["error"];
    assert_eq!((ran.code(), &error["code"]), (Some(2), &"usage".into()), "{error}");
    let hint = error["hint"].as_str().expect("a way out");
    assert!(hint.starts_with("`claude`?") && hint.contains("codex"), "{hint}");
}

/// Row 45, where the pid was given away again: the entry is about another process than the one that has its pid.
#[test]
fn what_an_agents_own_list_says_of_an_earlier_process_with_its_pid_is_not_believed() {
    let world = World::new();
    let agent = by_hand(&world);
    let another = "0a1b2c3d-0000-4000-8000-000000000009";
    let told =
        change_entry(&world, &agent, &[("procStart", "1"), ("sessionId", another), ("status", "waiting")]);
    let listed = listed(&world, agent.pid()).expect("it lives");
    assert_ne!(listed["conversation"], told["sessionId"]);
    assert_ne!(listed["attention"], "answer", "{listed}");
}

#[test]
fn all_that_is_listed_includes_agents_in_no_session_and_a_fifo_holds_nothing_up() {
    let world = World::new();
    let agent = by_hand(&world);
    let inside = launched(&world);
    let ours = |listed: &Value| {
        let agents = listed["agents"].as_array().expect("they were asked for").clone();
        agents.into_iter().find(|one| one["pid"] == agent.pid())
    };
    // What is looked for has little time, so that nothing holds a list up.
    let look = || data(&world.abide.run(&["ls", "-a", "--json"]));
    let mut all = look();
    until("it is listed", || {
        all = look();
        ours(&all).is_some()
    });
    let told = ours(&all).expect("it is listed");
    assert_eq!((&told["agent"], &told["turn"]), (&"claude".into(), &"working".into()), "{told}");
    assert_eq!(all["sessions"][0]["id"], *inside);
    let program = &all["sessions"][0]["processes"]["program"]["pid"];
    let twice = all["agents"].as_array().is_some_and(|all| all.iter().any(|one| one["pid"] == *program));
    assert!(!twice, "what is in a session is not listed again: {all}");
    until("people are told of it too", || {
        let text = world.abide.run(&["ls", "-a"]).stdout;
        text.lines().any(|line| line.contains(&format!(" {} ", agent.pid())))
    });
    // Only who asks for all pays for it.
    let plain = data(&world.abide.run(&["ls", "--json"]));
    assert_eq!((&plain["agents"], plain["sources"].as_array().map(Vec::len)), (&Value::Null, Some(1)));
    // Whoever reads this entry as a file waits for a writer that never comes.
    std::fs::remove_file(entry(&world, &agent)).expect("its entry");
    let _never = Gate::new(&entry(&world, &agent));
    until("it is still listed", || ours(&look()).is_some());
    done(&world, &["stop", &inside]);
}

#[test]
fn an_agent_in_a_session_of_another_home_is_told_with_that_home_and_how_to_ask_it() {
    let world = World::new();
    let home = world.beside("another home");
    let other = world.abide.at(std::path::Path::new(&home));
    let ran = other.run(&["run", "-d", "--cwd", &world.beside(""), "--", &claude(&world)]);
    let id = ran.stdout.trim_end().to_owned();
    let agent = |abide: &abide_testkit::Abide| {
        let told = data(&abide.run(&["agents", "--json"]));
        told["agents"].as_array()?.iter().find(|agent| agent["session"] == *id).cloned()
    };
    // A busy machine may not show its agents in time: that is said, and each is asked again.
    until("its home is told", || agent(&world.abide).is_some_and(|agent| agent["home"] == *home));
    until("there it is no other", || agent(&other).is_some_and(|agent| agent["home"] == Value::Null));
    until("people are told of it", || {
        let said = world.abide.run(&["agents"]).stdout;
        said.contains("  other home  ") && said.contains("\nhint: `abide --home ")
    });
    until("it is listed beside no sessions", || {
        let all = world.abide.run(&["ls", "-a"]);
        assert_eq!(all.stderr.lines().next(), Some("no sessions"), "{all:?}");
        all.stdout.starts_with("\nAgents elsewhere on this machine\nAGENT ")
    });
    assert_eq!(world.abide.run(&["--home", &home, "inspect", &id]).code(), Some(0));
    assert_eq!(other.run(&["stop", "--grace", "0s", &id]).code(), Some(0));
}
