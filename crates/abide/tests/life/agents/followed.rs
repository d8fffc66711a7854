//! What an agent in a session does and wants is written down as it happens, and what it left undone when it is killed.

use abide_testkit::deadline::until;
use rustix::process::Signal;

use super::{claude, done, launched, listed, stands, until_it};
use crate::common::{Gate, World, ends_are_kept, outcome, pid};

#[test]
fn a_turn_is_seen_to_work_to_ask_and_to_settle() {
    let world = World::new();
    let id = launched(&world);
    until_it(&world, &id, &["--turn", "settled"]);
    assert_eq!(world.inspect(&id)["agent"], "claude");
    done(&world, &["type", &id, "go TOOL:[true]", "--enter"]);
    until_it(&world, &id, &["--attention", "approval"]);
    assert_eq!(stands(&world, &id), ("working".to_owned(), "approval".to_owned()));
    done(&world, &["keys", &id, "Enter"]);
    until_it(&world, &id, &["--turn", "settled"]);
    assert_eq!(stands(&world, &id), ("settled".to_owned(), "none".to_owned()));
    done(&world, &["keys", &id, "Ctrl-D"]);
    assert_eq!(world.wait(&id).0, Some(0));
    until("its summary is on record", || !world.told(&id, "summary").is_empty());
    let summary = &world.told(&id, "summary")[0];
    assert_eq!(
        (&summary["prompts"], &summary["turns"], &summary["tools"]["Bash"]),
        (&1.into(), &1.into(), &1.into())
    );
}

/// Row 44.
#[test]
fn an_agent_that_is_killed_in_a_tool_is_over_at_once_and_its_call_is_named() {
    let world = World::new();
    let id = launched(&world);
    let tool = world.beside("tool");
    done(&world, &["prompt", &id, &format!("go TOOL:[echo $$ > {tool}; exec sleep 1000]")]);
    until_it(&world, &id, &["--attention", "approval"]);
    done(&world, &["keys", &id, "Enter"]);
    until("the tool runs", || std::fs::read_to_string(&tool).is_ok_and(|text| text.ends_with('\n')));
    let life = world.observe(id.clone());
    life.program.0.signal(Signal::KILL);
    life.program.0.await_end();
    until("it is over", || world.inspect(&id)["status"] == "exited");
    assert_eq!(stands(&world, &id), ("settled".to_owned(), "none".to_owned()));
    assert_eq!(outcome(&world.inspect(&id)), ("exited", None, Some(9)));
    until("its summary is on record", || !world.told(&id, "summary").is_empty());
    let call = &world.told(&id, "summary")[0]["unanswered"][0];
    assert!(call.as_str().is_some_and(|call| call.starts_with("Bash echo")), "{call}");
    let survivors = world.inspect(&id)["survivors"].clone();
    let left = std::fs::read_to_string(&tool).expect("its pid");
    let named = survivors
        .as_array()
        .expect("a list")
        .iter()
        .find(|one| one["pid"].as_u64() == left.trim().parse().ok());
    assert!(named.is_some(), "{survivors}");
    let tool: u32 = left.trim().parse().expect("a pid");
    abide_testkit::Observer::of(tool).signal(Signal::KILL);
}

#[test]
fn a_scribe_that_is_killed_is_replaced_and_misses_nothing_for_good() {
    let world = World::new();
    let id = launched(&world);
    until_it(&world, &id, &["--turn", "settled"]);
    let witness =
        world.facts(&id).into_iter().rev().find(|fact| fact["fact"] == "turn_closed").expect("by a scribe");
    let scribe = witness["w"].as_str().and_then(|text| text.split([':', '@']).nth(1)?.parse().ok());
    let scribe = abide_testkit::Observer::of(scribe.expect("a pid"));
    scribe.signal(Signal::KILL);
    scribe.await_end();
    let ran = world.abide.run(&["prompt", &id, "--wait", "hello"]);
    assert_eq!(ran.code(), Some(0), "{ran:?}");
    assert_eq!(stands(&world, &id), ("settled".to_owned(), "none".to_owned()));
    done(&world, &["stop", &id]);
}

/// Row 46: a wrapper's end says nothing about the agent. On a terminal the kernel hangs up all whom its leader leaves.
#[test]
fn an_agent_whose_wrapper_is_killed_goes_on_and_its_own_code_is_told() {
    let world = World::new();
    let gate = Gate::new(&world.beside("gate"));
    let prompt = format!("go TOOL:[read go < {}; exit 7]", world.beside("gate"));
    let options = ["--no-tty", "--cwd", &world.beside("")];
    let id = world.launch(&options, &[&claude(&world), "--wrap", "-p", &prompt]);
    let wrapper = world.told(&id, "started")[0]["program"]["pid"].clone();
    until("the agent is known", || world.inspect(&id)["processes"]["program"]["pid"] != wrapper);
    until_it(&world, &id, &["--turn", "working"]);
    let wrapper = wrapper.as_u64().and_then(|pid| u32::try_from(pid).ok()).expect("a pid");
    let wrapper = abide_testkit::Observer::of(wrapper);
    wrapper.signal(Signal::KILL);
    wrapper.await_end();
    until("the guard follows the agent", || {
        world.told(&id, "noted").iter().any(|note| note["text"].to_string().contains("goes on"))
    });
    let life = world.observe(id.clone());
    // Whoever serves it later knows whom it is about.
    life.replace("guard");
    let told = listed(&world, pid(&life.inspect(), "program")).expect("it lives");
    assert_eq!((&told["session"], &told["turn"]), (&id.as_str().into(), &"working".into()));
    gate.open();
    let expected = if ends_are_kept() { Some(7) } else { Some(125) };
    assert_eq!(world.wait(&id).0, expected);
}
