//! Prompts: a turn is proved, or it is said why there is none.

use abide_testkit::deadline::until;
use abide_testkit::{Ending, Observer};
use rustix::process::Signal;

use super::{claude, done, launched, until_it};
use crate::common::{Gate, World, data};

#[test]
fn a_prompt_opens_a_turn_and_waits_for_its_end() {
    let world = World::new();
    let id = launched(&world);
    let told = data(&world.abide.run(&["prompt", "--json", "--wait", &id, "first line\nsecond line"]));
    assert_eq!(
        (&told["agent"], &told["turn"], &told["attention"]),
        (&"claude".into(), &"settled".into(), &"none".into())
    );
    let turns = world.told(&id, "turn_opened");
    assert_eq!(turns.iter().filter(|turn| turn["turn"] == told["turn_id"]).count(), 1, "{turns:?}");
    let text = std::fs::read_to_string(super::transcript(&world)).expect("a transcript");
    assert!(text.contains("first line\\nsecond line"), "{text}");
    done(&world, &["stop", &id]);
}

#[test]
fn an_agent_is_prompted_also_where_its_guard_was_killed_and_another_follows_it() {
    let world = World::new();
    let id = launched(&world);
    until_it(&world, &id, &["--turn", "settled"]);
    let life = world.observe(id);
    life.replace("guard");
    let told = data(&world.abide.run(&["prompt", "--json", "--wait", &life.id, "hello"]));
    assert_eq!((&told["agent"], &told["turn"]), (&"claude".into(), &"settled".into()));
}

#[test]
fn a_turn_of_which_only_the_transcript_told_while_it_was_open_is_not_missed() {
    let world = World::new();
    let id = launched(&world);
    let told = data(&world.abide.run(&["prompt", "--json", "--wait", &id, "UNLISTED"]));
    assert_eq!((&told["turn"], &told["queued"]), (&"settled".into(), &false.into()));
    let closed = world.told(&id, "turn_closed").pop().expect("it is closed");
    assert_eq!((&closed["turn"], &closed["reason"]), (&told["turn_id"], &"answered".into()), "{closed}");
    done(&world, &["stop", &id]);
}

/// Many agents are scripts: what runs them stands in the terminal first.
#[test]
fn a_prompt_waits_for_an_agent_that_is_still_being_started() {
    let world = World::new();
    let gate = Gate::new(&world.beside("gate"));
    let agent = claude(&world);
    std::fs::create_dir(world.beside("bin")).expect("a directory");
    let script = format!("#!/bin/sh\nread go < {}\nexec {agent}\n", world.beside("gate"));
    let script = world.home.around().script("bin/claude", &script).display().to_string();
    let id = world.launch(&["--cwd", &world.beside("")], &[&script]);
    let mut prompt = world.start(&["prompt", &id, "hello"]);
    until("it waits, or is over", || !prompt.observer().lives() || sleeps(prompt.pid()));
    gate.open();
    assert_eq!(prompt.reap(), Ending::Exited(0));
    done(&world, &["stop", &id]);
}

/// Whether a process waits for something.
fn sleeps(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| stat.contains(") S "))
}

#[test]
fn a_prompt_waits_until_the_input_of_an_agent_that_starts_is_there() {
    let world = World::new();
    let id = world.launch(&["--cwd", &world.beside("")], &[&claude(&world), "--slow"]);
    until_it(&world, &id, &["--turn", "settled"]);
    let told = data(&world.abide.run(&["prompt", "--json", "--timeout", "15s", &id, "not to be lost"]));
    assert_eq!((&told["agent"], &told["queued"]), (&"claude".into(), &false.into()));
    let text = std::fs::read_to_string(super::transcript(&world)).expect("a transcript");
    assert!(text.contains("\"not to be lost\""), "{text}");
    done(&world, &["stop", &id]);
}

/// It may repaint something else before it has taken in what was pasted, and Enter is lost on it until then.
#[test]
fn a_prompt_is_submitted_once_the_agent_has_shown_it() {
    let world = World::new();
    let id = world.launch(&["--cwd", &world.beside("")], &[&claude(&world), "--slow-paste"]);
    until_it(&world, &id, &["--turn", "settled"]);
    done(&world, &["prompt", &id, "--wait", "hello"]);
    // The same once more: it stands on the screen already.
    done(&world, &["prompt", &id, "--wait", "hello"]);
    done(&world, &["stop", &id]);
}

#[test]
fn an_agent_that_waits_for_a_person_or_works_is_not_prompted() {
    let world = World::new();
    let id = launched(&world);
    let refused = |arguments: &[&str]| {
        let ran = world.abide.run(&[&["prompt", "--json", &id], arguments].concat());
        (ran.code(), ran.json()["error"]["code"].as_str().unwrap_or_default().to_owned())
    };
    let asks = data(&world.abide.run(&["prompt", "--json", "--wait", &id, "go TOOL:[true]"]));
    assert_eq!(asks["attention"], "approval");
    assert_eq!(refused(&["more"]), (Some(5), "wants_person".to_owned()));
    done(&world, &["keys", &id, "Enter"]);
    until_it(&world, &id, &["--turn", "settled"]);
    done(&world, &["prompt", &id, "please HANG"]);
    assert_eq!(refused(&["more"]), (Some(6), "busy".to_owned()));
    done(&world, &["stop", &id]);
}

#[test]
fn a_question_that_nobody_knows_is_not_answered_by_a_prompt() {
    let world = World::new();
    let id = world.launch(&["--cwd", &world.beside("")], &[&claude(&world), "--untrusted"]);
    until_it(&world, &id, &["--text", "trust this folder"]);
    let ran = world.abide.run(&["prompt", "--json", "--timeout", "5s", &id, "hello"]);
    assert_eq!((ran.code(), &ran.json()["error"]["code"]), (Some(5), &"wants_person".into()), "{ran:?}");
    let shown = world.abide.run(&["snapshot", &id]);
    assert!(!shown.stdout.contains("hello"), "{shown:?}");
    done(&world, &["keys", &id, "Enter"]);
    until_it(&world, &id, &["--turn", "settled"]);
    done(&world, &["prompt", "--wait", &id, "hello"]);
    done(&world, &["stop", &id]);
}

#[test]
fn a_prompt_for_an_agent_that_is_gone_is_not_typed_into_its_shell() {
    let world = World::new();
    let id = world.launch(&["--cwd", &world.beside("")], &["bash", "--norc", "--noprofile"]);
    done(&world, &["type", "--enter", &id, &claude(&world)]);
    until_it(&world, &id, &["--text", "❯"]);
    let told = data(&world.abide.run(&["prompt", "--json", "--wait", &id, "hello"]));
    assert_eq!((&told["agent"], &told["turn"]), (&"claude".into(), &"settled".into()));
    done(&world, &["keys", &id, "Ctrl-D"]);
    until_it(&world, &id, &["--idle", "300ms"]);
    let sign = world.beside("sign");
    let ran = world.abide.run(&["prompt", "--json", "--timeout", "2s", &id, &format!("touch {sign}")]);
    assert_eq!((ran.code(), &ran.json()["error"]["code"]), (Some(5), &"no_agent".into()), "{ran:?}");
    assert!(!std::path::Path::new(&sign).exists());
    done(&world, &["stop", "--grace", "0s", &id]);
}

#[test]
fn where_no_agent_runs_or_none_answers_a_prompt_says_so() {
    let world = World::new();
    let shell = world.run(&[], &["hang"]);
    let ran = world.abide.run(&["prompt", "--json", &shell, "hello"]);
    assert_eq!((ran.code(), &ran.json()["error"]["code"]), (Some(5), &"no_agent".into()));
    done(&world, &["stop", &shell]);
    let id = launched(&world);
    until_it(&world, &id, &["--turn", "settled"]);
    // Stopped, it reads nothing.
    done(&world, &["signal", "STOP", &id]);
    let ran = world.abide.run(&["prompt", "--json", "--timeout", "1s", &id, "hello"]);
    assert_eq!((ran.code(), &ran.json()["error"]["code"]), (Some(124), &"no_turn".into()), "{ran:?}");
    done(&world, &["stop", &id]);
}

#[test]
fn a_turn_that_was_over_before_the_baseline_is_no_answer_to_what_was_typed_since() {
    let world = World::new();
    let id = launched(&world);
    until_it(&world, &id, &["--turn", "settled"]);
    let since = |args: &[&str]| data(&world.abide.run(args))["seq"].to_string();
    let typed = since(&["type", "--json", &id, "hello"]);
    for condition in [["--turn", "settled"], ["--attention", "none"]] {
        let asked = [&["wait", &id, "--since", &typed, "--timeout", "100ms"], &condition[..]].concat();
        assert_eq!(world.abide.run(&asked).code(), Some(124), "{condition:?}: nothing was sent off");
    }
    let sent = since(&["keys", "--json", &id, "Enter"]);
    until_it(&world, &id, &["--turn", "settled", "--since", &sent]);
    let turns = world.told(&id, "turn_opened").len();
    assert_eq!((turns, world.told(&id, "turn_closed").len()), (1, 2), "one, and the wait for it");
    until_it(&world, &id, &["--attention", "none", "--since", &typed]);
    done(&world, &["stop", &id]);
}

/// It may show something only when it is done, and whoever waits may come only then.
#[test]
fn a_turn_that_was_told_before_anything_was_shown_is_the_answer_to_what_was_typed() {
    let world = World::new();
    let id = launched(&world);
    until_it(&world, &id, &["--turn", "settled"]);
    let _typed = data(&world.abide.run(&["type", "--json", &id, "HANG UNSHOWN"]));
    done(&world, &["wait", &id, "--text", "HANG UNSHOWN", "--timeout", "15s"]);
    let sent = data(&world.abide.run(&["keys", "--json", &id, "Enter"]))["seq"].to_string();
    until("it is told to work", || world.inspect(&id)["turn"] == "working");
    until_it(&world, &id, &["--turn", "working", "--since", &sent]);
    done(&world, &["stop", &id]);
}

/// Kills the agent of a session once its turn is open.
fn kill_at_work(world: &World, id: &str) {
    until("it works", || world.inspect(id)["turn"] == "working");
    let told = data(&world.abide.run(&["agents", "--json"]));
    let agents = told["agents"].as_array().cloned().unwrap_or_default();
    let agent = agents.iter().find(|agent| agent["session"] == *id).expect("it is listed");
    Observer::of(agent["pid"].as_u64().and_then(|pid| u32::try_from(pid).ok()).expect("it has a pid"))
        .signal(Signal::KILL);
}

#[test]
fn a_turn_whose_agent_is_killed_in_the_middle_of_it_was_not_done() {
    let world = World::new();
    let id = launched(&world);
    until_it(&world, &id, &["--turn", "settled"]);
    std::thread::scope(|scope| {
        let prompted = scope.spawn(|| world.abide.run(&["prompt", "--json", "--wait", &id, "please HANG"]));
        until("a turn is open", || !world.told(&id, "turn_opened").is_empty());
        let waited = scope.spawn(|| world.abide.run(&["wait", "--json", "--turn", "settled", &id]));
        kill_at_work(&world, &id);
        let (prompted, waited) = (prompted.join().expect("it ran"), waited.join().expect("it ran"));
        let told = prompted.json()["error"].clone();
        assert_eq!((prompted.code(), &told["code"]), (Some(5), &"not_commandable".into()), "{told}");
        let told = data(&waited);
        assert_eq!((waited.code(), &told["met"]), (Some(125), &false.into()), "{told}");
        assert_eq!(told["outcome"]["signal"], 9, "{told}");
    });
    // However late it is asked.
    let closed = world.told(&id, "turn_closed").pop().expect("it is closed");
    assert_eq!((&closed["broken_off"], world.inspect(&id)["turn"].as_str()), (&true.into(), Some("settled")));
    assert_eq!(world.abide.run(&["wait", "--turn", "settled", &id]).code(), Some(125));
}

#[test]
fn a_turn_that_was_done_before_its_session_ended_was_done() {
    let world = World::new();
    let id = launched(&world);
    done(&world, &["prompt", "--wait", &id, "hello"]);
    done(&world, &["stop", &id]);
    until_it(&world, &id, &["--turn", "settled"]);
}

#[test]
fn a_prompt_whose_agent_is_killed_in_a_shell_that_lives_on_was_interrupted() {
    let world = World::new();
    let id = world.launch(&["--cwd", &world.beside("")], &["bash", "--norc", "--noprofile"]);
    done(&world, &["type", "--enter", &id, &claude(&world)]);
    until_it(&world, &id, &["--text", "❯"]);
    std::thread::scope(|scope| {
        let prompted = scope.spawn(|| world.abide.run(&["prompt", "--json", "--wait", &id, "please HANG"]));
        kill_at_work(&world, &id);
        let prompted = prompted.join().expect("it ran");
        let told = prompted.json()["error"].clone();
        assert_eq!((prompted.code(), &told["code"]), (Some(5), &"interrupted".into()), "{told}");
    });
    until_it(&world, &id, &["--turn", "settled"]);
    done(&world, &["stop", "--grace", "0s", &id]);
}
