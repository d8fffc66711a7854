//! What an agent in a session does and wants is written down as it happens, and what it left undone when it is killed.

use abide_testkit::Observer;
use abide_testkit::deadline::until;
use rustix::process::Signal;

use super::{claude, done, launched, listed, scribe, stands, until_it};
use crate::common::{Gate, World, ends_are_kept, observer, outcome, pid, waits};

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
    let told = &world.inspect(&id)["summary"];
    assert_eq!((&told["prompts"], &told["tools"]["Bash"]), (&1.into(), &1.into()), "{told}");
    let page = world.abide.run(&["inspect", &id]).stdout;
    assert!(page.contains("prompts 1, turns 1, tools Bash 1, tokens "), "{page}");
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
    Observer::of(tool).signal(Signal::KILL);
}

#[test]
fn a_turn_that_a_person_stops_before_any_answer_is_told_interrupted() {
    let world = World::new();
    let id = launched(&world);
    done(&world, &["prompt", &id, "please HANG"]);
    done(&world, &["keys", &id, "Escape"]);
    until_it(&world, &id, &["--turn", "settled"]);
    let closed = world.told(&id, "turn_closed").pop().expect("it is closed");
    assert_eq!(closed["reason"], "interrupted", "{closed}");
    done(&world, &["stop", &id]);
}

#[test]
fn a_scribe_that_is_killed_is_replaced_and_misses_nothing_for_good() {
    let world = World::new();
    let id = launched(&world);
    until_it(&world, &id, &["--turn", "settled"]);
    let scribe = scribe(&world, &id);
    scribe.signal(Signal::KILL);
    scribe.await_end();
    let ran = world.abide.run(&["prompt", &id, "--wait", "hello"]);
    assert_eq!(ran.code(), Some(0), "{ran:?}");
    assert_eq!(stands(&world, &id), ("settled".to_owned(), "none".to_owned()));
    done(&world, &["stop", &id]);
}

/// An agent behind a wrapper, at work in a tool until the gate is opened, and then to exit with 7.
struct Wrapped<'a> {
    world: &'a World,
    id: String,
    wrapper: Observer,
    gate: Gate,
}

impl<'a> Wrapped<'a> {
    fn launch(world: &'a World, flags: &[&str]) -> Self {
        Self::within(world, &world.beside(""), &[&[claude(world).as_str()], flags].concat())
    }

    fn within(world: &'a World, cwd: &str, command: &[&str]) -> Self {
        let gate = Gate::new(&world.beside("gate"));
        let prompt = format!("go TOOL:[read go < {}; exit 7]", world.beside("gate"));
        let options = ["--no-tty", "--cwd", cwd];
        let id = world.launch(&options, &[command, &["-p", &prompt]].concat());
        let started = &world.told(&id, "started")[0];
        let wrapper = Observer::of(pid(&serde_json::json!({ "processes": started }), "program"));
        Self { world, id, wrapper, gate }
    }

    /// Waits until the agent itself is on record as the program, and works.
    fn until_known(&self) {
        let known = || pid(&self.world.inspect(&self.id), "program") != self.wrapper.pid();
        until("the agent is known", known);
        until_it(self.world, &self.id, &["--turn", "working"]);
    }

    fn kill_wrapper(&self) {
        self.wrapper.signal(Signal::KILL);
        self.wrapper.await_end();
    }

    /// Waits until the guard has noticed that the wrapper is dead.
    fn until_it_goes_on(&self) {
        until("the guard follows the agent", || {
            let notes = self.world.told(&self.id, "noted");
            notes.iter().any(|note| note["text"].to_string().contains("its wrapper"))
        });
    }

    /// The agent lives and is served, and its own code is told.
    fn ends_as_it_says(&self) {
        let session = self.world.inspect(&self.id);
        assert_eq!(session["status"], "running", "{session}");
        let told = listed(self.world, pid(&session, "program")).expect("it lives");
        assert_eq!((&told["session"], &told["turn"]), (&self.id.as_str().into(), &"working".into()));
        self.gate.open();
        let expected = if ends_are_kept() { Some(7) } else { Some(125) };
        assert_eq!(self.world.wait(&self.id).0, expected);
    }
}

/// Row 46: a wrapper's end says nothing about the agent. On a terminal the kernel hangs up all whom its leader leaves.
#[test]
fn an_agent_whose_wrapper_is_killed_goes_on_and_its_own_code_is_told() {
    let world = World::new();
    let wrapped = Wrapped::launch(&world, &["--wrap"]);
    wrapped.until_known();
    wrapped.kill_wrapper();
    wrapped.until_it_goes_on();
    // Whoever serves it later knows whom it is about.
    let life = world.observe(wrapped.id.clone());
    life.replace("guard");
    wrapped.ends_as_it_says();
}

/// The same of npm, which has a shell start the agent. A shell of that name stands in for it: what it is asked to run is
/// a script with the agent's name.
#[test]
fn an_agent_behind_npm_goes_on_without_it_and_its_own_code_is_told() {
    let world = World::new();
    let npx = world.home.around().program("npx", "/bin/bash").display().to_string();
    let agent = claude(&world);
    let script = format!("sh -c '\"$0\" \"$@\"; exit $?' {agent} \"$@\"; exit $?");
    let scripts = world.beside("scripts");
    std::fs::create_dir(&scripts).expect("a directory");
    let _ = world.home.around().file("scripts/claude", &script);
    let wrapped = Wrapped::within(&world, &scripts, &[&npx, "claude"]);
    wrapped.until_known();
    wrapped.kill_wrapper();
    wrapped.until_it_goes_on();
    wrapped.ends_as_it_says();
}

/// Nothing is ever shown there that would tell the host to look.
#[test]
fn an_agent_below_a_shell_without_a_terminal_is_followed() {
    let world = World::new();
    let gate = Gate::new(&world.beside("gate"));
    let line = format!("{} -p 'TOOL:[read go < {}]'; exit 3", claude(&world), world.beside("gate"));
    let id = world.launch(&["--no-tty", "--cwd", &world.beside("")], &["sh", "-c", &line]);
    until("it is seen to work", || stands(&world, &id).0 == "working");
    gate.open();
    assert_eq!(world.wait(&id).0, Some(3));
    assert_eq!(stands(&world, &id).0, "settled");
}

/// It may be gone before anybody has looked.
#[test]
fn of_an_agent_that_nobody_saw_alive_a_summary_is_told_all_the_same() {
    let world = World::new();
    let gate = Gate::new(&world.beside("gate"));
    let agent = claude(&world);
    std::fs::create_dir(world.beside("bin")).expect("a directory");
    let script = format!("#!/bin/sh\nread go < {}\n{agent} \"$@\"\nexit 0\n", world.beside("gate"));
    let script = world.home.around().script("bin/claude", &script).display().to_string();
    let options = ["--no-tty", "--begin", "--cwd", &world.beside("")];
    let id = world.launch(&options, &[&script, "-p", "hello"]);
    until("a scribe has looked and found no agent", || follows(&id));
    let scribe = Observer::of(scribes(&id)[0]);
    scribe.signal(Signal::STOP);
    gate.open();
    assert_eq!(world.wait(&id).0, Some(0));
    scribe.signal(Signal::CONT);
    until("its summary is on record", || !world.told(&id, "summary").is_empty());
    let told = &world.inspect(&id)["summary"];
    assert_eq!((&told["prompts"], &told["turns"]), (&1.into(), &1.into()), "{told}");
}

/// What a wrapper starts may end and be started again, and an agent may start another one of its kind.
#[test]
fn a_wrapper_that_outlives_its_agent_is_the_program_again() {
    let world = World::new();
    let wrapped = Wrapped::launch(&world, &["--wrap"]);
    wrapped.until_known();
    // It does not notice, and so does not end.
    wrapped.wrapper.signal(Signal::STOP);
    let agent = observer(&world.inspect(&wrapped.id), "program");
    agent.signal(Signal::KILL);
    until("the agent is dead", || !agent.lives());
    let session = world.inspect(&wrapped.id);
    assert_eq!((&session["status"], pid(&session, "program")), (&"running".into(), wrapped.wrapper.pid()));
    let life = world.observe(wrapped.id.clone());
    life.kill_helpers();
    let session = world.inspect(&wrapped.id);
    assert_eq!((&session["status"], pid(&session, "program")), (&"unattended".into(), wrapped.wrapper.pid()));
    let mut waiting = world.start(&["wait", &wrapped.id]);
    until("it waits", || waits(&waiting));
    done(&world, &["stop", &wrapped.id]);
    wrapped.wrapper.await_end();
    waiting.reap();
}

/// The end on record is that of the process which is on record with it, and how the agent ended is told beside it.
#[test]
fn the_end_of_a_wrapper_that_outlived_its_agent_is_told_as_its_own() {
    let world = World::new();
    let wrapped = Wrapped::launch(&world, &["--wrap"]);
    wrapped.until_known();
    wrapped.wrapper.signal(Signal::STOP);
    let agent = observer(&world.inspect(&wrapped.id), "program");
    agent.signal(Signal::KILL);
    until("how it ended is on record", || {
        let notes = world.told(&wrapped.id, "noted");
        let told = format!("the agent {} is over: killed by SIGKILL", agent.pid());
        notes.iter().any(|note| note["text"].to_string().contains(&told))
    });
    wrapped.wrapper.signal(Signal::CONT);
    let (code, _) = world.wait(&wrapped.id);
    let session = world.inspect(&wrapped.id);
    assert_eq!(pid(&session, "program"), wrapped.wrapper.pid(), "{session}");
    assert_eq!((&session["outcome"]["kind"], &session["exit_code"]), (&"exited".into(), &code.into()));
}

#[test]
fn a_stop_asks_the_agent_and_its_wrapper_and_is_over_when_both_are() {
    let world = World::new();
    let wrapped = Wrapped::launch(&world, &["--wrap"]);
    wrapped.until_known();
    let agent = observer(&world.inspect(&wrapped.id), "program");
    done(&world, &["stop", &wrapped.id]);
    assert!(!agent.lives() && !wrapped.wrapper.lives());
    let asked = &world.told(&wrapped.id, "signalled")[0];
    assert_eq!(asked["pids"], serde_json::json!([agent.pid(), wrapped.wrapper.pid()]), "{asked}");
}

#[test]
fn a_guard_that_was_raised_while_the_wrapper_lived_knows_whom_it_is_about() {
    let world = World::new();
    let wrapped = Wrapped::launch(&world, &["--wrap"]);
    wrapped.until_known();
    let life = world.observe(wrapped.id.clone());
    life.replace("guard");
    wrapped.kill_wrapper();
    wrapped.until_it_goes_on();
    wrapped.ends_as_it_says();
}

#[test]
fn a_guard_that_became_another_version_knows_a_wrapper_from_its_agent() {
    let world = World::new();
    let wrapped = Wrapped::launch(&world, &["--wrap"]);
    wrapped.until_known();
    let other = world.abide.copied_to(&world.home.around().join("abide-new"));
    assert_eq!(other.run(&["upgrade"]).code(), Some(0));
    wrapped.kill_wrapper();
    wrapped.until_it_goes_on();
    wrapped.ends_as_it_says();
}

/// The host that holds only the wrapper raises the next guard: it takes hold of the agent itself.
#[test]
fn a_guard_that_is_killed_before_the_next_host_holds_the_agent_leaves_it_to_the_next_guard() {
    let world = World::new();
    let wrapped = Wrapped::launch(&world, &["--wrap"]);
    wrapped.until_known();
    let life = world.observe(wrapped.id.clone());
    let (guard, host) = (life.helper("guard", None), life.helper("host", None));
    host.signal(Signal::STOP);
    wrapped.kill_wrapper();
    wrapped.until_it_goes_on();
    guard.signal(Signal::KILL);
    guard.await_end();
    host.signal(Signal::CONT);
    life.helper("guard", Some(guard.pid()));
    wrapped.ends_as_it_says();
}

#[test]
fn an_agent_that_its_wrapper_starts_late_is_found() {
    let world = World::new();
    let late = Gate::new(&world.beside("late"));
    let wrapped = Wrapped::launch(&world, &["--wrap-behind", &world.beside("late")]);
    until("a scribe has looked and found the wrapper", || follows(&wrapped.id));
    late.open();
    wrapped.until_known();
    wrapped.ends_as_it_says();
}

/// The scribes of a session.
fn scribes(id: &str) -> Vec<u32> {
    let is_scribe = |pid: &u32| {
        let command = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        command.ends_with(format!("\0__scribe\0{id}\0").as_bytes())
    };
    let all = std::fs::read_dir("/proc").expect("there is one").flatten();
    all.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(is_scribe).collect()
}

/// Whether a scribe of this session waits for news of what it follows.
fn follows(id: &str) -> bool {
    let waits = |pid: u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.contains(") S ")
    };
    scribes(id).into_iter().any(waits)
}
