//! What hooks tell is written down, with the agent that ran them; an agent started elsewhere gets a session of its own.

use std::process::Stdio;

use abide_sys::clock;
use abide_testkit::deadline::until;
use abide_testkit::{Ending, Observer, Ran, Running, Terminal};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::{claude, done, launched, listed, scribe, stands, until_it};
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
    format!("{} < {told}", hearing(world, "claude", occasion))
}

/// What an agent's settings have it run.
pub(super) fn hearing(world: &World, agent: &str, occasion: &str) -> String {
    let command = world.abide.command(&[]);
    let (exe, home) =
        (command.get_program().to_string_lossy().into_owned(), world.home.path().display().to_string());
    format!("ABIDE_HOME={home} {exe} hook {agent} {occasion}")
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
    let conversation = "0a1b2c3d-0000-4000-8000-000000000001";
    let command = [&claude(&world), "--session-id", conversation, "-p", &prompt];
    let id = world.launch(&["--no-tty", "--cwd", &world.beside("")], &command);
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

/// How often a process has waited for something.
fn waits(process: &Observer) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", process.pid())).expect("it lives");
    let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
    line.and_then(|count| count.trim().parse().ok()).expect("a count")
}

/// Waits until the scribe has looked at everything, however often it waits for that.
fn until_looked(scribe: &Observer) {
    let before = waits(scribe);
    until("the scribe has looked again", || waits(scribe) > before + 6);
}

/// An agent changes its list of sessions and its title only once its hooks have run, and they may take their time.
#[test]
fn a_turn_that_hooks_tell_of_is_told_once_and_not_taken_back_by_a_list_from_before() {
    let world = World::new();
    let gates =
        ["began", "go", "done", "end"].map(|name| (Gate::new(&world.beside(name)), world.beside(name)));
    let hooks = |occasion: &str, reached: usize| {
        let [reached, gate] = [&gates[reached].1, &gates[reached + 1].1];
        let commands = [hearing(&world, "claude", occasion), format!("echo > {reached}; read go < {gate}")];
        json!([{ "hooks": commands.map(|command| json!({ "type": "command", "command": command })) }])
    };
    let settings =
        json!({ "hooks": { "UserPromptSubmit": hooks("UserPromptSubmit", 0), "Stop": hooks("Stop", 2) } });
    std::fs::create_dir(world.beside(".claude")).expect("a directory");
    let _ = world.home.around().file(".claude/settings.json", &settings.to_string());
    let id = launched(&world);
    until_it(&world, &id, &["--turn", "settled"]);
    let scribe = scribe(&world, &id);
    done(&world, &["type", &id, "hello", "--enter"]);
    for (reached, turn) in [(0, "working"), (2, "settled")] {
        let _ = std::fs::read(&gates[reached].1);
        until_looked(&scribe);
        assert_eq!(stands(&world, &id), (turn.to_owned(), "none".to_owned()));
        gates[reached + 1].0.open();
    }
    until_looked(&scribe);
    done(&world, &["keys", &id, "Ctrl-D"]);
    assert_eq!(world.wait(&id).0, Some(0));
    let told = |fact: &str| {
        let named = |body: &Value| body["turn"] != "";
        world.told(&id, fact).into_iter().filter(named).collect::<Vec<_>>()
    };
    let (opened, closed) = (told("turn_opened"), told("turn_closed"));
    assert_eq!((opened.len(), closed.len()), (1, 1), "{opened:?} {closed:?}");
    assert_eq!((&closed[0]["turn"], &closed[0]["reason"]), (&opened[0]["turn"], &"answered".into()));
}

/// What it leaves painted when it ends says that it works.
#[test]
fn an_agent_that_said_that_it_ends_opens_no_turn_and_asks_for_nobody() {
    let world = World::new();
    let said = telling(&world, "said.json", &json!({ "reason": "other" }));
    let id = world.launch(
        &["--cwd", &world.beside("")],
        &[&claude(&world), "--session-id", "0a1b2c3d-0000-4000-8000-000000000001"],
    );
    until_it(&world, &id, &["--turn", "settled"]);
    done(&world, &["prompt", &id, "please HANG"]);
    until_it(&world, &id, &["--turn", "working"]);
    let mut ending = std::process::Command::new("sh");
    ending
        .args(["-c", &hook(&world, "SessionEnd", &said)])
        .env("ABIDE_SESSION", &id)
        .env("HOME", world.beside(""));
    assert_eq!(Ran::of(&mut ending).code(), Some(0));
    assert_eq!(stands(&world, &id), ("settled".to_owned(), "none".to_owned()));
    let scribe = scribe(&world, &id);
    // Its title is older than what it said for a while, and stands there for longer.
    let told = clock::now().boot;
    until("its title counts again", || clock::now().boot > told + 1_200);
    done(&world, &["mark", &id, "here"]);
    until_looked(&scribe);
    assert_eq!((stands(&world, &id).0.as_str(), world.told(&id, "turn_opened").len()), ("settled", 1));
    done(&world, &["stop", &id]);
    assert_eq!(world.told(&id, "turn_opened").len(), 1);
}

/// An agent may start another one to do its work, and what serves several in the background has the variables of one.
#[test]
fn what_an_agent_of_another_conversation_tells_is_not_of_the_session_that_its_variables_name() {
    let world = World::new();
    world.home.around().program("codex", "/bin/sh");
    let other = json!({ "session_id": "0a1b2c3d-0000-4000-8000-000000000002", "prompt": "x", "prompt_id": "other",
        "tool_name": "Bash", "tool_input": { "command": "x" }, "reason": "exit" });
    let other = telling(&world, "other.json", &other);
    let all = |agent: &str, occasions: &[&str]| {
        let hooks =
            occasions.iter().map(|occasion| format!("{} < {other}; ", hearing(&world, agent, occasion)));
        hooks.collect::<String>()
    };
    let inner = all("codex", &["UserPromptSubmit", "PermissionRequest", "PostToolUse", "Stop", "SessionEnd"]);
    let script = world.home.around().file("inner", &inner).display().to_string();
    let outside = all("claude", &["UserPromptSubmit", "PermissionRequest", "Stop"]);
    let outside = world.home.around().file("outside", &outside).display().to_string();
    let [go, _told, end] = ["go", "told", "end"].map(|name| Gate::new(&world.beside(name)));
    let [codex, go_on, told, over] = ["codex", "go", "told", "end"].map(|name| world.beside(name));
    let tool = format!("TOOL:[read go < {go_on}; {codex} {script}; echo > {told}; read go < {over}]");
    let id = world.launch(&["--no-tty", "--cwd", &world.beside("")], &[&claude(&world), "-p", &tool]);
    until_it(&world, &id, &["--turn", "working"]);
    // As one that some other session started, and that outlives it, would.
    let mut daemon = std::process::Command::new("sh");
    daemon.arg(&outside).env("ABIDE_SESSION", &id).env("HOME", world.beside(""));
    assert_eq!(Ran::of(&mut daemon).code(), Some(0));
    go.open();
    let _ = std::fs::read(&told);
    assert_eq!(stands(&world, &id), ("working".to_owned(), "none".to_owned()));
    for fact in ["turn_opened", "turn_closed", "attention"] {
        let by_hook = |fact: &&Value| fact["w"].as_str().is_some_and(|by| by.starts_with("hook"));
        let facts = world.facts(&id);
        let told: Vec<_> = facts.iter().filter(|one| one["fact"] == fact).filter(by_hook).collect();
        assert!(told.is_empty(), "{told:?}");
    }
    end.open();
    assert_eq!(world.wait(&id).0, Some(0));
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
    for args in
        [["hook", "claude"].as_slice(), &["hook"], &["hook", "claude", "Stop", "more"], &["hook", "--none"]]
    {
        let ran = Ran::of(world.abide.command(args).stdin(Stdio::null()));
        assert_eq!((ran.code(), ran.stderr.is_empty()), (Some(0), false), "{args:?} {ran:?}");
    }
}
