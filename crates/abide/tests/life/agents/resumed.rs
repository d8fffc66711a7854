//! The same conversation in a new session: refused while it is written, told what was left, and nothing repaired.

use std::io::Write;
use std::process::Stdio;

use abide_testkit::deadline::until;
use abide_testkit::{Ran, Running, Terminal};
use rustix::process::Signal;
use serde_json::Value;

use super::hooked::{hearing, telling};
use super::{claude, done, launched, transcript, until_it};
use crate::common::{Gate, World, data};
use crate::namespaces::run_inside;

/// Row 49, of an agent that a person started: what it started is nobody's descendant any more.
#[test]
fn a_tool_that_outlives_an_agent_which_was_started_elsewhere_is_named_when_that_is_resumed() {
    let world = World::new();
    let (gate, tool) = (Gate::new(&world.beside("gate")), world.beside("tool"));
    let held = gate.hold();
    let prompt = format!("go TOOL:[echo $$ > {tool}; read go < {}]", world.beside("gate"));
    let mut command = std::process::Command::new(claude(&world));
    command.args(["-p", &prompt]).env("HOME", world.beside("")).current_dir(world.beside(""));
    let agent = Running::start(command.stdin(Stdio::null()).stdout(Stdio::null()));
    until("the tool runs", || std::fs::read_to_string(&tool).is_ok_and(|text| text.ends_with('\n')));
    let adopted = data(&world.abide.run(&["adopt", "--json", &agent.pid().to_string()]));
    let id = adopted["id"].as_str().expect("an ID");
    until_it(&world, id, &["--turn", "working"]);
    agent.observer().signal(Signal::KILL);
    agent.observer().await_end();
    until("its end is on record", || world.inspect(id)["status"] != "unattended");
    let told = data(&world.abide.run(&["resume", "--json", "-d", id]));
    let pid = std::fs::read_to_string(&tool).expect("it runs");
    assert!(told["unanswered"].to_string().contains("read go"), "{told}");
    assert!(told["survivors"].to_string().contains(pid.trim()), "{told}");
    drop(held);
}

/// Codex leaves the writing to a process in the background, which locks what it writes to.
#[test]
fn a_conversation_that_a_process_in_the_background_goes_on_with_is_not_resumed_and_its_turn_is_not_over() {
    const ID: &str = "0a1b2c3d-0000-4000-8000-000000000001";
    let world = World::new();
    world.home.around().program("codex", "/bin/sh");
    std::fs::create_dir_all(world.beside(".codex/thread-writer-locks")).expect("a directory");
    let lock = world.beside(&format!(".codex/thread-writer-locks/{ID}.lock"));
    let writer = Running::start(
        std::process::Command::new("sh")
            .args(["-c", &format!("exec 9> {lock}; echo ready; exec sleep 1000")]),
    );
    let writer = writer.ready();
    let told = telling(&world, "told.json", &serde_json::json!({ "prompt": "go", "turn_id": "turn" }));
    let script = format!("{} < {told}; sleep 1000", hearing(&world, "codex", "UserPromptSubmit"));
    let script = world.home.around().file("script", &script).display().to_string();
    let id = world.launch(&["--cwd", &world.beside("")], &[&world.beside("codex"), &script]);
    until_it(&world, &id, &["--turn", "working"]);
    let stopped = world.abide.run(&["stop", &id]);
    let note = format!("process {} goes on with conversation {ID}", writer.pid());
    assert!(stopped.code() == Some(0) && stopped.stderr.contains(&note), "{stopped:?}");
    until("its turn is closed on record", || !world.told(&id, "turn_closed").is_empty());
    let closed = world.told(&id, "turn_closed").pop().expect("its turn is closed");
    let (pid, reason) = (writer.pid().to_string(), closed["reason"].to_string());
    assert!(reason.contains("goes on in process") && reason.contains(&pid), "{closed}");
    let refused = world.abide.run(&["resume", "--json", "-d", &id]);
    let error = refused.json()["error"].clone();
    assert_eq!((refused.code(), &error["code"]), (Some(6), &"conversation_in_use".into()), "{error}");
    assert!(error["message"].to_string().contains(&pid), "{error}");
    writer.observer().signal(Signal::KILL);
    writer.observer().await_end();
    let refused = world.abide.run(&["resume", "--json", "-d", &id]);
    assert_ne!(refused.json()["error"]["code"], "conversation_in_use", "{refused:?}");
}

/// Rows 48 and 49.
#[test]
fn a_conversation_is_resumed_once_nobody_writes_it_and_its_unanswered_call_is_told() {
    let world = World::new();
    let id = launched(&world);
    let tool = world.beside("tool");
    done(&world, &["prompt", &id, &format!("go TOOL:[echo $$ > {tool}; exec sleep 1000]")]);
    until_it(&world, &id, &["--attention", "approval"]);
    done(&world, &["keys", &id, "Enter"]);
    until("the tool runs", || std::fs::read_to_string(&tool).is_ok_and(|text| text.ends_with('\n')));
    let life = world.observe(id.clone());
    let refused = world.abide.run(&["resume", "--json", "-d", &id]);
    let (code, error) = (refused.code(), refused.json()["error"].clone());
    assert_eq!((code, &error["code"]), (Some(6), &"conversation_in_use".into()), "{error}");
    assert!(error["message"].to_string().contains(&life.program.0.pid().to_string()), "{error}");
    life.program.0.signal(Signal::KILL);
    life.program.0.await_end();
    until("its summary is on record", || !world.told(&id, "summary").is_empty());
    let before = std::fs::read(transcript(&world)).expect("a transcript");
    let told = data(&world.abide.run(&["resume", "--json", "-d", &id]));
    assert_eq!((&told["from"], &told["came_back"]), (&id.as_str().into(), &true.into()));
    assert!(told["unanswered"][0].to_string().contains("sleep 1000"), "{told}");
    assert!(told["survivors"].to_string().contains("sleep 1000"), "{told}");
    assert_eq!(std::fs::read(transcript(&world)).expect("a transcript"), before);
    let again = told["id"].as_str().expect("an ID");
    done(&world, &["prompt", "--wait", again, "hello"]);
    let turns = world.told(again, "turn_opened");
    assert_eq!(turns[0]["conversation"], told["conversation"]);
    // One that is live is not resumed twice.
    let refused = world.abide.run(&["resume", "--json", "-d", again]);
    assert_eq!(refused.code(), Some(6), "{refused:?}");
    let forced = data(&world.abide.run(&["resume", "--json", "-d", "--force", again]));
    assert_eq!((&forced["from"], &forced["came_back"]), (&again.into(), &true.into()), "{forced}");
    done(&world, &["stop", forced["id"].as_str().expect("an ID")]);
    done(&world, &["stop", again]);
    let tool = std::fs::read_to_string(&tool).expect("its pid").trim().parse().expect("a pid");
    abide_testkit::Observer::of(tool).signal(Signal::KILL);
}

/// A conversation that was begun, answered and left.
fn left(world: &World) -> String {
    let id = launched(world);
    done(world, &["prompt", "--wait", &id, "hello"]);
    done(world, &["keys", &id, "Ctrl-D"]);
    assert_eq!(world.wait(&id).0, Some(0));
    until("its summary is on record", || !world.told(&id, "summary").is_empty());
    id
}

/// Secrets in what an agent was asked to run, and in what it left running, are nobody's to read.
#[test]
fn no_secret_is_shown_of_what_an_agent_is_at_or_has_left() {
    let world = World::new();
    let (token, bearer) = ("ghp_abcdefghijklmnopqrstuvwxyz0123456789", "sk-ant-REDACTED");
    let left = world.beside("left");
    // It waits by itself: whoever ends it ends all of it.
    let never = world.beside("never");
    let _gate = Gate::new(&never);
    let waits = format!("read hangs <> {never}; : \"Bearer {bearer}\"");
    let command = format!("echo $$ > {left}; exec sh -c '{waits}' --token={token}");
    let options = ["--no-tty", "--cwd", &world.beside("")];
    let id = world.launch(&options, &[&claude(&world), "-p", &format!("go TOOL:[{command}]")]);
    until_it(&world, &id, &["--turn", "working"]);
    until("the tool runs", || std::fs::read_to_string(&left).is_ok_and(|text| text.ends_with('\n')));
    let mut said = vec![world.abide.run(&["agents", "--json"]).stdout];
    assert!(said[0].contains("a turn is open, at Bash"), "{said:?}");
    let life = world.observe(id.clone());
    life.program.0.signal(Signal::KILL);
    life.program.0.await_end();
    until("its summary is on record", || !world.told(&id, "summary").is_empty());
    for json in [&["--json"][..], &[]] {
        let ran = world.abide.run(&[&["resume", "-d", &id, "hello"], json].concat());
        assert!(ran.stdout.contains("read hangs") || ran.stderr.contains("read hangs"), "{ran:?}");
        said.extend([ran.stdout, ran.stderr]);
        said.push(world.abide.run(&["inspect", &id]).stdout);
        let again = world.abide.run(&["ls", "-aq"]).stdout.lines().next().expect("a session").to_owned();
        // Nobody can type there, and so it goes by itself.
        let _ = world.wait(&again);
    }
    assert!(said.iter().all(|text| !text.contains(token) && !text.contains(bearer)), "{said:#?}");
    let left = std::fs::read_to_string(&left).expect("its pid").trim().parse().expect("a pid");
    abide_testkit::Observer::of(left).signal(Signal::KILL);
}

/// Row 48, where nobody writes it yet.
#[test]
fn of_many_who_resume_one_conversation_at_once_one_does() {
    let world = World::new();
    let id = left(&world);
    let ask = || Running::start(world.abide.command(&["resume", "-d", "--json", &id]).stderr(Stdio::null()));
    let mut answers: Vec<Value> = Vec::new();
    for mut asked in (0..4).map(|_| ask()).collect::<Vec<_>>() {
        answers.push(serde_json::from_str(&asked.line()).expect("JSON"));
        let _ = asked.reap();
    }
    let (won, lost): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer["ok"] == true);
    assert_eq!(won.len(), 1, "{answers:?}");
    assert!(lost.iter().all(|answer| answer["error"]["code"] == "conversation_in_use"), "{answers:?}");
    done(&world, &["stop", won[0]["data"]["id"].as_str().expect("an ID")]);
}

/// What we told an agent proves nothing: it may know nothing of the conversation.
#[test]
fn an_agent_that_only_was_told_a_conversation_is_not_said_to_be_at_it() {
    let world = World::new();
    let id = left(&world);
    let real = claude(&world);
    std::fs::rename(&real, world.beside("claude.real")).expect("it is there");
    // A program under the agent's name that says no, and goes.
    world.home.around().program("claude", "/bin/sh");
    let told = data(&world.abide.run(&["resume", "-d", "--json", &id]));
    assert_eq!(told["came_back"], Value::Null, "{told}");
    let _ = world.wait(told["id"].as_str().expect("an ID"));
}

#[test]
fn without_a_session_the_conversation_that_was_written_to_last_is_gone_on_with() {
    let world = World::new();
    let id = left(&world);
    let by_hand = |prompt: &str| {
        let mut command = std::process::Command::new(claude(&world));
        command.args(["-p", prompt]).env("HOME", world.beside("")).current_dir(world.beside(""));
        let ran = Ran::of(command.stdin(Stdio::null()));
        assert_eq!(ran.code(), Some(0), "{ran:?}");
    };
    let resume = || {
        let mut command = world.abide.command(&["resume", "-d", "--json"]);
        // What was started by hand is found as a shell finds it.
        command.env("PATH", format!("{}:/usr/bin:/bin", world.beside("")));
        let told = data(&Ran::of(command.current_dir(world.beside(""))));
        done(&world, &["stop", told["id"].as_str().expect("an ID")]);
        told
    };
    let told = resume();
    assert_eq!(told["from"], id, "{told}");
    let old = told["conversation"].clone();
    by_hand("hello");
    let told = resume();
    assert_eq!((&told["from"], &told["came_back"]), (&Value::Null, &true.into()), "{told}");
    assert_ne!(told["conversation"], old);
}

/// Row 48.
#[test]
fn a_conversation_is_not_resumed_while_one_of_several_agents_that_are_not_told_apart_may_be_at_it() {
    let world = World::new();
    // An aider is known by its name; what it is at only by being the only one in its directory.
    let aider = world.home.around().program("aider", "/bin/sleep");
    let start = || {
        let mut command = std::process::Command::new(&aider);
        Running::start(command.arg("1000").current_dir(world.beside("")).stdin(Stdio::null()))
    };
    let just_made = world.home.around().file("before", "");
    let before = std::fs::metadata(just_made).and_then(|file| file.modified()).expect("its own file");
    let both = [start(), start()];
    let resume = || {
        let mut command = world.abide.command(&["resume", "-d", "--json"]);
        command.env("PATH", format!("{}:/usr/bin:/bin", world.beside("")));
        Ran::of(command.current_dir(world.beside("")))
    };
    let history = world.beside(".aider.chat.history.md");
    let said = "\n# aider chat started at 2026-11-17 00:29:07\n\n#### hello  \n";
    std::fs::File::create(&history).and_then(|mut file| file.write_all(said.as_bytes())).expect("written");
    // A file's time may seem older than who wrote to it.
    let file = std::fs::File::options().write(true).open(&history).expect("a file");
    file.set_modified(before - std::time::Duration::from_millis(100)).expect("its own file");
    let pids = both.each_ref().map(|agent| agent.pid().to_string());
    // A busy machine may not show its agents in time: refused all the same.
    until("who may be at it is told", || {
        let refused = resume();
        let error = &refused.json()["error"];
        assert_eq!((refused.code(), &error["code"]), (Some(6), &"conversation_in_use".into()), "{error}");
        pids.iter().any(|pid| error["message"].to_string().contains(pid))
    });
    // Whoever began since it was written to last is at another one.
    let long_ago = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1);
    file.set_modified(long_ago).expect("its own file");
    let mut id = None;
    until("it is resumed", || {
        id = resume().json()["data"]["id"].as_str().map(str::to_owned);
        id.is_some()
    });
    let _ = world.wait(&id.expect("an ID"));
}

#[test]
fn an_adopted_agent_is_resumed_as_it_was_started_and_where_it_was() {
    let world = World::new();
    let adopted = || {
        let mut command = std::process::Command::new(claude(&world));
        command.env("HOME", world.beside("")).env("TERM", "xterm");
        let mut agent = Terminal::start(&command);
        agent.until("? for shortcuts");
        let id =
            world.abide.run(&["adopt", &agent.observer().pid().to_string()]).stdout.trim_end().to_owned();
        (agent, id)
    };
    let resume = |id: &str| world.abide.run(&["resume", "-d", "--json", id]).json();
    // Its conversation is known before it has taken a turn, and there is nothing of it.
    let (mut agent, id) = adopted();
    assert_eq!(resume(&id)["error"]["code"], "conversation_in_use");
    until("its scribe follows it", || super::stands(&world, &id).0 == "settled");
    agent.type_in(&[4]);
    let _ = agent.reap();
    until("its summary is on record", || !world.told(&id, "summary").is_empty());
    let error = &resume(&id)["error"];
    assert!(error["message"].to_string().contains("nothing is found of conversation"), "{error}");
    let (mut agent, id) = adopted();
    agent.type_in(b"hello\r");
    agent.until("fake-reply");
    until("its turn is on record", || !world.told(&id, "turn_opened").is_empty());
    agent.type_in(&[4]);
    let _ = agent.reap();
    let _ = world.wait(&id);
    let told = &resume(&id)["data"];
    assert_eq!((&told["from"], &told["came_back"]), (&id.as_str().into(), &true.into()), "{told}");
    let again = told["id"].as_str().expect("an ID");
    let session = world.inspect(again);
    assert_eq!(session["cwd"], world.inspect(&id)["cwd"]);
    // Where the number of its process means another one, its session is named.
    let refused = run_inside(&world, &["resume", "-d", "--json", &id]).json();
    let error = &refused["error"];
    assert_eq!(error["code"], "conversation_in_use", "{refused}");
    let message = error["message"].as_str().unwrap_or_default();
    assert!(message.contains(&format!("session {again} goes on with it")), "{refused}");
    let own = run_inside(&world, &["resume", "-d", "--json", again]).json();
    assert_eq!(own["error"]["session"], again, "{own}");
    done(&world, &["stop", again]);
}
