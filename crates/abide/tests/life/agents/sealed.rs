//! Agents and programs that end without a word: told at once, and put on record once, by whoever writes next.

use std::fs::File;
use std::io::Read;
use std::process::Stdio;

use abide_testkit::deadline::until;
use abide_testkit::{Observer, Running};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::hooked::{hook, telling};
use super::{claude, done, launched, scribe, stands, until_it};
use crate::common::{Gate, World, data, kill_at_once, observer};

/// An agent in a session, in the middle of a turn.
fn working(world: &World, prompt: &str) -> String {
    let id = world.launch(&["--cwd", &world.beside("")], &[&claude(world), "-p", prompt]);
    until_it(world, &id, &["--turn", "working"]);
    id
}

/// The processes of a session, its scribe among them if it has one.
fn all_of(world: &World, id: &str, with_scribe: bool) -> Vec<Observer> {
    let session = world.inspect(id);
    let mut all: Vec<_> = ["guard", "host", "program"].map(|who| observer(&session, who)).into();
    all.extend(with_scribe.then(|| scribe(world, id)));
    all
}

/// A session of which nothing is left and nobody was there to say so.
fn lost(world: &World, options: &[&str]) -> String {
    let id = world.observe(world.run(options, &["print begun", "hang"]));
    id.until_shown("begun");
    id.helper("host", None);
    kill_at_once(&all_of(world, &id.id, false));
    assert_eq!(world.inspect(&id.id)["status"], "lost");
    id.id.clone()
}

fn seals(world: &World, id: &str) -> usize {
    world.told(id, "sealed").len()
}

/// Row 44.
#[test]
fn an_agent_that_ends_in_the_middle_of_a_turn_is_over_at_once_whatever_ended_it() {
    let world = World::new();
    let signals = [Signal::KILL, Signal::ABORT, Signal::HUP];
    let ids: Vec<String> = (0..5).map(|_| working(&world, "please HANG")).collect();
    for (number, id) in ids.iter().enumerate() {
        let life = world.observe(id.clone());
        match signals.get(number) {
            Some(signal) => life.program.0.signal(*signal),
            None if number == 3 => done(&world, &["type", id, "/exit", "--enter"]),
            None => done(&world, &["keys", id, "Ctrl-D"]),
        }
        life.program.0.await_end();
        let listed = data(&world.abide.run(&["ls", "-a", "--json"]));
        let told = listed["sessions"].as_array().and_then(|all| all.iter().find(|one| one["id"] == **id));
        assert_ne!(told.expect("it is listed")["turn"], "working", "{number}: {listed}");
        let over = world.abide.run(&["wait", "--strict", "--cap", "1s", id]);
        assert_ne!(over.code(), Some(124), "{number}: {over:?}");
        assert_eq!(stands(&world, id), ("settled".to_owned(), "none".to_owned()));
    }
    let ends = ids.iter().map(|id| world.inspect(id)["outcome"].clone());
    let ends: Vec<_> = ends.map(|end| (end["signal"].as_i64(), end["code"].as_i64())).collect();
    let [killed, crashed, hung_up] = [9, 6, 1].map(|signal| (Some(signal), None));
    assert_eq!(ends, [killed, crashed, hung_up, (None, Some(0)), (None, Some(0))]);
    let healthy = data(&world.abide.run(&["doctor", "--json"]));
    assert!(!healthy.to_string().contains("\"seal\""), "{healthy}");
}

/// Row 44, and nobody is left to say what it left.
#[test]
fn an_agent_that_is_killed_with_all_who_served_it_is_sealed_once_and_its_call_is_named() {
    let world = World::new();
    let tool = world.beside("tool");
    let id = working(&world, &format!("go TOOL:[echo $$ > {tool}; exec sleep 1000]"));
    until("the tool runs", || std::fs::read_to_string(&tool).is_ok_and(|text| text.ends_with('\n')));
    kill_at_once(&all_of(&world, &id, true));
    let last = world.facts(&id).pop().expect("facts");
    let told = world.inspect(&id);
    assert_eq!((&told["status"], &told["turn"]), (&"lost".into(), &"settled".into()), "{told}");
    assert_eq!(seals(&world, &id), 0, "looking seals nothing");
    for _ in 0..2 {
        done(&world, &["doctor", "--fix"]);
        assert_eq!(seals(&world, &id), 1);
    }
    let sealed = world.told(&id, "sealed").remove(0);
    assert_eq!(sealed["cause"], "helpers_died", "{sealed}");
    assert_eq!(sealed["last_seen"]["wall"], last["wall"], "{sealed} {last}");
    let closed = world.told(&id, "turn_closed").pop().expect("its turn is closed");
    assert!(closed["reason"].to_string().contains("unanswered: Bash echo"), "{closed}");
    assert!(world.told(&id, "summary")[0]["unanswered"][0].to_string().contains("sleep 1000"));
    let tool = std::fs::read_to_string(&tool).expect("its pid").trim().parse().expect("a pid");
    Observer::of(tool).signal(Signal::KILL);
}

/// The next one has none of the variables that say where the agent's files are.
#[test]
fn the_turn_of_an_agent_that_died_together_with_its_scribe_is_closed_by_the_next_one_and_its_call_named() {
    let world = World::new();
    let tool = world.beside("tool");
    let call = format!("echo $$ > {tool}; exec sleep 1000");
    let script = format!("{} -p 'go TOOL:[{call}]'; echo left; read go", claude(&world));
    let id = world.launch(&["--cwd", &world.beside("")], &["sh", "-c", &script]);
    until_it(&world, &id, &["--turn", "working"]);
    until("the tool runs", || std::fs::read_to_string(&tool).is_ok_and(|text| text.ends_with('\n')));
    until("its transcript is saved", || !world.told(&id, "checkpointed").is_empty());
    let owner = world.told(&id, "turn_opened")[0]["owner"]["pid"].as_u64();
    let agent = Observer::of(owner.and_then(|pid| u32::try_from(pid).ok()).expect("a pid"));
    kill_at_once(&[scribe(&world, &id), agent]);
    assert_eq!(stands(&world, &id), ("settled".to_owned(), "none".to_owned()));
    until("its turn is closed on record", || !world.told(&id, "turn_closed").is_empty());
    let closed = world.told(&id, "turn_closed").pop().expect("its turn is closed");
    assert!(closed["reason"].to_string().contains("unanswered: Bash echo"), "{closed}");
    assert_eq!((seals(&world, &id), &world.inspect(&id)["status"]), (0, &"running".into()));
    let tool = std::fs::read_to_string(&tool).expect("its pid").trim().parse().expect("a pid");
    Observer::of(tool).signal(Signal::KILL);
    done(&world, &["stop", &id]);
}

#[test]
fn commands_that_write_first_seal_what_they_touch() {
    let world = World::new();
    let stopped = lost(&world, &[]);
    let ran = world.abide.run(&["stop", "--json", &stopped]);
    assert_eq!((ran.code(), &ran.json()["error"]["status"]), (Some(5), &"lost".into()), "{ran:?}");
    assert_eq!(seals(&world, &stopped), 1);
    let named = lost(&world, &["--name", "box"]);
    let next = world.observe(world.run(&["--name", "box"], &["hang"]));
    assert_eq!((seals(&world, &named), next.inspect()["name"].as_str()), (1, Some("box")));
    let packed = lost(&world, &[]);
    done(&world, &["gc", "--pack", "0s"]);
    assert_eq!(seals(&world, &packed), 1);
    for remove in [["rm", "@last"].as_slice(), &["gc", "--older", "0s"]] {
        let removed = lost(&world, &[]);
        let mut evidence = File::open(world.dir(&removed).join("evidence")).expect("it is there");
        done(&world, remove);
        assert!(!world.dir(&removed).exists());
        let mut left = String::new();
        evidence.read_to_string(&mut left).expect("it is held");
        let at = |fact: &str| left.find(&format!("\"fact\":\"{fact}\""));
        assert!(at("sealed").is_some() && at("sealed") < at("removing"), "{left}");
    }
}

#[test]
fn resume_and_hooks_seal_the_session_that_the_conversation_was_in() {
    let world = World::new();
    let (resumed, heard) = (launched(&world), working(&world, "please HANG"));
    done(&world, &["prompt", &resumed, "please HANG"]);
    for id in [&resumed, &heard] {
        kill_at_once(&all_of(&world, id, true));
        assert_eq!((&world.inspect(id)["status"], seals(&world, id)), (&"lost".into(), 0));
    }
    let again = data(&world.abide.run(&["resume", "--json", "-d", &resumed]));
    assert_eq!((seals(&world, &resumed), &again["came_back"]), (1, &Value::from(true)), "{again}");
    let conversation = world.told(&heard, "turn_opened")[0]["conversation"].clone();
    let opened = json!({ "prompt": "go", "prompt_id": "prompt-1", "session_id": conversation });
    let opened = telling(&world, "opened.json", &opened);
    let gate = Gate::new(&world.beside("gate"));
    let _held = gate.hold();
    let hook = hook(&world, "UserPromptSubmit", &opened);
    let mut command = std::process::Command::new(claude(&world));
    command.args(["-p", &format!("TOOL:[{hook}; read go < {}]", world.beside("gate"))]);
    command.env("HOME", world.beside("")).current_dir(world.beside(""));
    let _agent = Running::start(command.stdin(Stdio::piped()).stdout(Stdio::null()));
    until("its hook was heard", || seals(&world, &heard) == 1);
    done(&world, &["stop", again["id"].as_str().expect("an ID")]);
}
