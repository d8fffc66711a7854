//! What was started elsewhere is followed from when it is adopted: its life and end are told as they are, whoever is killed.

use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use abide_testkit::deadline::until;
use abide_testkit::observer::Ending;
use abide_testkit::{Observer, Ran, Running};
use rustix::process::Signal;
use serde_json::Value;

use super::{claude, done, listed, stands};
use crate::common::{Gate, World, data, ends_are_kept, observer, outcome, pid, waits};

/// A process that abide did not start.
fn stranger(script: &str) -> Running {
    Running::start(Command::new("sh").args(["-c", &format!("echo ready; {script}")])).ready()
}

/// Adopts a process, and gives its session.
fn adopted(world: &World, process: &str) -> String {
    let ran = world.abide.run(&["adopt", process]);
    assert_eq!(ran.code(), Some(0), "{ran:?}");
    ran.stdout.trim_end().to_owned()
}

fn refused(world: &World, process: &str) -> (Option<i32>, Value) {
    let ran = world.abide.run(&["adopt", "--json", process]);
    (ran.code(), ran.json()["error"].take())
}

/// What everyone is told of a process that ended with this code, if anyone can learn it.
fn exited(code: i64) -> (&'static str, Option<i64>, Option<i64>) {
    if ends_are_kept() { ("exited", Some(code), None) } else { ("lost", None, None) }
}

#[test]
fn the_end_of_an_adopted_process_is_told_exactly_and_to_whoever_waits() {
    let world = World::new();
    let mut process = stranger("read go; exit 7");
    let id = adopted(&world, &process.pid().to_string());
    let told = world.inspect(&id);
    assert_eq!((&told["status"], pid(&told, "program")), (&"unattended".into(), process.pid()), "{told}");
    assert_eq!((&told["processes"]["watcher"]["liveness"], &told["agent"]), (&"alive".into(), &().into()));
    // Nobody has a terminal of its, and nobody claims one.
    let typed = world.abide.run(&["type", "--json", &id, "x"]);
    assert_eq!((typed.code(), &typed.json()["error"]["code"]), (Some(5), &"not_commandable".into()));
    let watcher = observer(&told, "watcher");
    let mut waiter = world.start(&["wait", &id]);
    until("it waits", || waits(&waiter));
    process.tell("go");
    assert_eq!(process.reap(), Ending::Exited(7));
    let expected = if ends_are_kept() { 7 } else { 125 };
    assert_eq!(waiter.reap(), Ending::Exited(expected));
    watcher.await_end();
    let told = world.inspect(&id);
    assert_eq!(outcome(&told), exited(7), "{told}");
    assert!(world.told(&id, "sealed").is_empty());
    let mut killed = stranger("read go");
    let id = adopted(&world, &killed.pid().to_string());
    killed.signal(Signal::SEGV);
    let _ = killed.reap();
    let (_, told) = world.wait(&id);
    let expected = if ends_are_kept() { ("exited", None, Some(11)) } else { ("lost", None, None) };
    assert_eq!(outcome(&told), expected);
}

/// What its agent does is on record without a recording.
#[test]
fn turn_and_attention_of_an_adopted_agent_are_waited_for_and_that_nothing_is_recorded_is_said() {
    let world = World::new();
    let gate = Gate::new(&world.beside("gate"));
    let _held = gate.hold();
    let mut command = Command::new(claude(&world));
    command.args(["-p", &format!("TOOL:[read go < {}]", world.beside("gate"))]);
    let mut agent = Running::start(
        command
            .env("HOME", world.beside(""))
            .current_dir(world.beside(""))
            .stdin(Stdio::piped())
            .stdout(Stdio::null()),
    );
    until("it is listed", || listed(&world, agent.pid()).is_some());
    let id = adopted(&world, &agent.pid().to_string());
    super::until_it(&world, &id, &["--turn", "working"]);
    super::until_it(&world, &id, &["--attention", "none"]);
    let asks: [&[&str]; 4] = [
        &["snapshot"],
        &["logs"],
        &["wait", "--text", "x"],
        &["export", "--format", "txt", "-o", "/dev/null"],
    ];
    for ask in asks {
        let ran = world.abide.run(&[ask, &["--json", &id]].concat());
        let error = &ran.json()["error"];
        assert_eq!(error["code"], "no_terminal", "{ask:?} {ran:?}");
        assert!(error["message"].to_string().contains("has no recording"), "{error}");
    }
    // Nor is anyone sent to look at what is not there.
    let vain = world.abide.run(&["wait", "--json", "--attention", "any", "--timeout", "100ms", &id]);
    let hint = data(&vain)["hint"].to_string();
    assert!(hint.contains(&format!("abide inspect {id}")), "{hint}");
    let mut waiter = world.start(&["wait", "--turn", "settled", &id]);
    until("it waits", || waits(&waiter));
    gate.open();
    let _ = agent.reap();
    assert_eq!(waiter.reap(), Ending::Exited(0));
}

#[test]
fn an_adopted_process_is_stopped_and_how_it_took_that_is_told() {
    let world = World::new();
    let mut process = stranger("trap 'exit 3' TERM; sleep 1000 & wait");
    let id = adopted(&world, &process.pid().to_string());
    let mut stop = world.start(&["stop", &id]);
    assert_eq!(process.reap(), Ending::Exited(3));
    assert_eq!(stop.reap(), Ending::Exited(0));
    let told = world.inspect(&id);
    assert_eq!((outcome(&told), &told["outcome"]["cause"]), (exited(3), &"asked".into()), "{told}");
    let facts: Vec<Value> = world.facts(&id).into_iter().map(|mut fact| fact["fact"].take()).collect();
    let place = |name: &str| facts.iter().position(|fact| fact == name);
    assert!(place("stop_asked") < place("signalled") && place("signalled") < place("ended"), "{facts:?}");
}

#[test]
fn whoever_kills_a_watcher_costs_the_code_and_never_the_truth() {
    let world = World::new();
    let mut process = stranger("read go; exit 0");
    let number = process.pid().to_string();
    let id = adopted(&world, &number);
    // Told to go, it lets go and leaves the process alone.
    for signal in [Signal::TERM, Signal::KILL, Signal::KILL] {
        let watcher = observer(&world.inspect(&id), "watcher");
        watcher.signal(signal);
        watcher.await_end();
        let told = world.inspect(&id);
        assert_eq!((&told["status"], process.observer().lives()), (&"unattended".into(), true), "{told}");
        assert_eq!(told["processes"]["watcher"]["liveness"], "dead");
        assert_eq!(adopted(&world, &number), id, "the same session goes on");
        assert_eq!(world.inspect(&id)["processes"]["watcher"]["liveness"], "alive");
    }
    let watcher = observer(&world.inspect(&id), "watcher");
    watcher.signal(Signal::STOP);
    process.tell("go");
    assert_eq!(process.reap(), Ending::Exited(0));
    let told = world.inspect(&id);
    assert_eq!((&told["status"], &told["wait_code"]), (&"exiting".into(), &().into()), "{told}");
    watcher.signal(Signal::KILL);
    watcher.await_end();
    let told = world.inspect(&id);
    assert_eq!((outcome(&told), &told["wait_code"]), (("lost", None, None), &125.into()), "{told}");
    assert_eq!(told["outcome"]["cause"], "not_ours");
    done(&world, &["doctor", "--fix"]);
    assert_eq!((world.told(&id, "sealed").len(), world.inspect(&id)["status"].as_str()), (1, Some("lost")));
}

#[test]
fn nobody_is_adopted_who_is_gone_foreign_followed_or_one_of_abides_own() {
    let world = World::new();
    let mut gone = stranger("exit 0");
    let _ = gone.reap();
    let (code, error) = refused(&world, &gone.pid().to_string());
    assert_eq!((code, &error["code"]), (Some(3), &"no_such_process".into()), "{error}");
    assert_eq!(refused(&world, "no-such-conversation").0, Some(3));
    let root = rustix::process::getuid().is_root();
    let foreign = root.then(|| Running::start(Command::new("cat").uid(65_534).gid(65_534)));
    let (code, error) = refused(&world, &foreign.as_ref().map_or(1, Running::pid).to_string());
    assert_eq!((code, &error["code"]), (Some(1), &"permission".into()), "{error}");
    // Of other users they are refused as theirs.
    let kernel = std::fs::read_link("/proc/2/exe").is_err().then_some("2");
    for number in ["1"].into_iter().chain(kernel).filter(|_| root) {
        let (code, error) = refused(&world, number);
        assert_eq!((code, &error["code"]), (Some(2), &"usage".into()), "{error}");
    }
    let ran = Ran::of(&mut world.bash("exec \"$0\" adopt --json $$", &[]));
    assert_eq!((ran.code(), &ran.json()["error"]["code"]), (Some(2), &"usage".into()), "{ran:?}");
    let life = world.live(&["hang"]);
    for helper in ["guard", "host"].map(|who| life.helper(who, None)) {
        let (code, error) = refused(&world, &helper.pid().to_string());
        assert_eq!((code, &error["code"]), (Some(2), &"usage".into()), "{error}");
    }
    let (code, error) = refused(&world, &life.program.0.pid().to_string());
    assert_eq!((code, &error["code"]), (Some(6), &"already_followed".into()), "{error}");
    assert_eq!((&error["session"], &error["status"]), (&life.id.as_str().into(), &"running".into()));
    let process = stranger("read go");
    let id = adopted(&world, &process.pid().to_string());
    let (code, error) = refused(&world, &process.pid().to_string());
    assert_eq!((code, &error["session"]), (Some(6), &id.as_str().into()), "{error}");
    let watcher = pid(&world.inspect(&id), "watcher");
    assert_eq!(refused(&world, &watcher.to_string()).0, Some(2));
    let left = world.in_sessions();
    assert_eq!(left.len(), 2, "nothing is left of a refusal: {left:?}");
    done(&world, &["stop", "--grace", "0s", &life.id]);
}

#[test]
fn of_many_who_adopt_one_process_at_once_one_does_and_all_others_name_its_session() {
    let world = World::new();
    let process = stranger("read go");
    let number = process.pid().to_string();
    let ask = || Running::start(world.abide.command(&["adopt", "--json", &number]).stderr(Stdio::null()));
    let mut answers: Vec<Value> = Vec::new();
    for mut asked in (0..6).map(|_| ask()).collect::<Vec<_>>() {
        answers.push(serde_json::from_str(&asked.line()).expect("JSON"));
        let _ = asked.reap();
    }
    let (won, lost): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer["ok"] == true);
    assert_eq!(won.len(), 1, "{answers:?}");
    let id = &won[0]["data"]["id"];
    assert!(lost.iter().all(|answer| &answer["error"]["session"] == id), "{answers:?}");
    assert_eq!(world.in_sessions().len(), 1);
}

#[test]
fn an_agent_started_elsewhere_is_adopted_by_its_conversation_and_its_turns_are_followed() {
    let world = World::new();
    let gate = Gate::new(&world.beside("gate"));
    let mut command = Command::new(claude(&world));
    let prompt = format!("go TOOL:[read go < {}; exit 7]", world.beside("gate"));
    command.args(["-p", &prompt]).env("HOME", world.beside("")).current_dir(world.beside(""));
    let mut agent = Running::start(command.stdin(Stdio::piped()).stdout(Stdio::null()));
    until("it is at its turn", || listed(&world, agent.pid()).is_some_and(|one| one["turn"] == "working"));
    let conversation = listed(&world, agent.pid()).expect("it lives")["conversation"].clone();
    let told =
        data(&world.abide.run(&["adopt", "--json", "--name", "fix", conversation.as_str().expect("one")]));
    assert_eq!((&told["agent"], &told["pid"]), (&"claude".into(), &agent.pid().into()), "{told}");
    assert_eq!((&told["conversation"], &told["terminal"]), (&conversation, &false.into()));
    let id = told["id"].as_str().expect("an ID");
    until("its scribe has told of its turn", || stands(&world, "fix").0 == "working");
    assert_eq!(listed(&world, agent.pid()).expect("it lives")["session"], id);
    // A scribe that is killed is followed by another, which goes on where it was.
    let turn = world.facts(id).into_iter().find(|fact| fact["fact"] == "turn_opened").expect("a turn");
    let scribe = turn["w"].as_str().and_then(|text| text.split([':', '@']).nth(1)?.parse().ok());
    let scribe = Observer::of(scribe.expect("a pid"));
    scribe.signal(Signal::KILL);
    scribe.await_end();
    gate.open();
    let ended = agent.reap();
    let (code, told) = world.wait(id);
    let Ending::Exited(expected) = ended else { panic!("it ended with {ended:?}") };
    assert_eq!(code, Some(if ends_are_kept() { expected } else { 125 }), "{told}");
    assert_eq!(stands(&world, id), ("settled".to_owned(), "none".to_owned()));
}
