//! What hooks tell is written down, with the agent that ran them; an agent started elsewhere gets a session of its own.

use std::process::Stdio;

use abide_testkit::deadline::until;
use abide_testkit::{Ending, Ran, Running, Terminal};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::{claude, done, listed, stands};
use crate::common::{Gate, World, data, ends_are_kept, observer, pid};

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
    let told = || world.told(&id, "turn_opened").into_iter().find(|turn| turn["turn"] == "prompt-1");
    until("the turn that its hook told of is on record", || told().is_some());
    assert_eq!(told().expect("a turn")["owner"]["pid"], agent.pid());
    // While it lives nothing seals it.
    done(&world, &["doctor", "--fix"]);
    assert!(world.told(&id, "sealed").is_empty());
    // Nobody is left who could tell of its end.
    let watcher = observer(&world.inspect(&id), "watcher");
    watcher.signal(Signal::KILL);
    watcher.await_end();
    agent.observer().signal(Signal::KILL);
    agent.observer().await_end();
    assert_eq!(stands(&world, &id).0, "settled");
    assert_eq!(world.inspect(&id)["status"], "lost");
    done(&world, &["doctor", "--fix"]);
    assert_eq!(world.told(&id, "sealed").len(), 1);
}

/// Not every agent runs a hook when a person stops a turn: Claude Code does not where a permission is refused.
#[test]
fn an_agent_known_by_its_hooks_is_followed_and_what_they_do_not_tell_is_seen() {
    let world = World::new();
    let opened = telling(&world, "opened.json", &json!({ "prompt": "go", "prompt_id": "prompt-1" }));
    let asked =
        telling(&world, "asked.json", &json!({ "tool_name": "Bash", "tool_input": { "command": "x" } }));
    let [opened, asked] =
        [hook(&world, "UserPromptSubmit", &opened), hook(&world, "PermissionRequest", &asked)];
    let mut command = std::process::Command::new(claude(&world));
    command.env("HOME", world.beside("")).env("TERM", "xterm").current_dir(world.beside(""));
    let mut agent = Terminal::start(&command);
    agent.until("? for shortcuts");
    agent.type_in(format!("go TOOL:[{opened}; {asked}]\r").as_bytes());
    agent.until("1. Yes");
    agent.type_in(b"\r");
    agent.until("fake-reply");
    let session = sessions(&world).remove(0);
    let id = session["id"].as_str().expect("an ID");
    assert_eq!(world.told(id, "attention")[0]["wants"], "approval");
    let settled = ("settled".to_owned(), "none".to_owned());
    until("it is seen that it waits for nothing", || stands(&world, id) == settled);
    let told = listed(&world, agent.observer().pid()).expect("it lives");
    assert_eq!(
        (&told["turn"], &told["attention"], &told["session"]),
        (&"settled".into(), &"none".into(), &id.into())
    );
    // Its end is told by whoever follows it.
    agent.type_in(&[4]);
    assert_eq!(agent.reap(), Ending::Exited(0));
    assert_eq!(world.wait(id).0, Some(if ends_are_kept() { 0 } else { 125 }));
}

/// Whoever stands between a hook and its agent; and a turn whose owner cannot be told has none, whoever had the one before.
#[test]
fn the_owner_of_a_turn_is_found_behind_shells_and_scripts_and_is_nobody_where_it_cannot_be_told() {
    let world = World::new();
    let nest = "n=$1; shift; if test $n = 0; then \"$@\"; else sh nest $((n-1)) \"$@\"; fi; true";
    let _ = world.home.around().file("nest", nest);
    let cases = [
        ("env X=1 sh -c 'HOOK; true'", true),
        ("timeout 20 sh -c 'HOOK; true'", true),
        ("bash -c 'printf %s \"npm run lint\" > /proc/$$/comm; HOOK; true'", true),
        ("bash -c 'printf %s MainThread > /proc/$$/comm; HOOK; true'", true),
        ("cp /bin/sh ksh; ./ksh -c 'HOOK; true'", true),
        ("sh nest 4 sh -c 'HOOK; true'", true),
        ("sh nest 12 sh -c 'HOOK; true'", false),
        ("cp /bin/sh editor; ./editor -c 'HOOK; true'", false),
        ("sh -c 'HOOK; true'", true),
        ("(setsid sh -c 'read go < gate; HOOK; echo > over' &)", false),
    ];
    let mut script = String::new();
    for (at, (case, _)) in cases.iter().enumerate() {
        let told = telling(
            &world,
            &format!("{at}.json"),
            &json!({ "prompt": "go", "prompt_id": format!("case-{at}") }),
        );
        script.push_str(&case.replace("HOOK", &hook(&world, "UserPromptSubmit", &told)));
        script.push('\n');
    }
    let gates = ["gate", "over", "end"].map(|name| Gate::new(&world.beside(name)));
    let script = world.home.around().file("script", &format!("{script}echo > ran\nread go < end\n"));
    let prompt = format!("TOOL:[sh {}]", script.display());
    let id = world.launch(&["--no-tty", "--cwd", &world.beside("")], &[&claude(&world), "-p", &prompt]);
    until("the script has run", || std::path::Path::new(&world.beside("ran")).exists());
    gates[0].open();
    let _ = std::fs::read(world.beside("over"));
    let agent = pid(&world.inspect(&id), "program");
    let turns = world.told(&id, "turn_opened");
    for (at, (case, is_told)) in cases.iter().enumerate() {
        let turn = turns.iter().find(|turn| turn["turn"] == format!("case-{at}")).expect("it is on record");
        let owner = if *is_told { agent.into() } else { Value::Null };
        assert_eq!(turn["owner"]["pid"], owner, "{case}");
    }
    gates[2].open();
    let _ = world.wait(&id);
}

/// Hooks may be run side by side.
#[test]
fn hooks_that_are_run_at_once_make_one_session() {
    let world = World::new();
    let began = telling(&world, "began.json", &json!({ "source": "startup" }));
    let began = hook(&world, "SessionStart", &began);
    let all = vec![format!("({began}) &"); 6].join(" ");
    let mut command = std::process::Command::new(claude(&world));
    command
        .args(["-p", &format!("TOOL:[{all} wait]")])
        .env("HOME", world.beside(""))
        .current_dir(world.beside(""));
    let mut agent = Running::start(command.stdin(Stdio::piped()).stdout(Stdio::null()));
    let _ = agent.reap();
    assert_eq!(sessions(&world).len(), 1);
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
