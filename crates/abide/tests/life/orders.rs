//! What is asked of a session: stops, signals to guard, host and program, and programs in odd positions.

use std::process::Command;

use abide_sys::drill;
use abide_testkit::deadline::until;
use abide_testkit::observer::Doomed;
use abide_testkit::tools::need;
use abide_testkit::{Ending, Observer, Running, Terminal};
use rustix::process::Signal;
use serde_json::Value;

use crate::common::{Gate, World, agent, data, ends_are_kept, outcome, pid, waits};

// TRUTH 10
#[test]
fn a_hangup_is_noted_and_a_terminated_host_is_replaced() {
    let world = World::new();
    let life = world.live(&["hang"]);
    let (guard, host) = (life.helper("guard", None), life.helper("host", None));
    for (who, helper) in [("guard", &guard), ("host", &host)] {
        let before = world.told(&life.id, "noted").len();
        helper.signal(Signal::HUP);
        until("the hangup is noted", || world.told(&life.id, "noted").len() > before);
        let told =
            world.facts(&life.id).into_iter().rfind(|told| told["fact"] == "noted").expect("it was found");
        assert!(told["w"].as_str().unwrap().starts_with(&format!("{who}:{}@", helper.pid())), "{told}");
        assert!(told["body"]["text"].as_str().unwrap().contains("hangup"), "{told}");
        assert!(helper.lives() && life.inspect()["status"] == "running");
    }
    host.signal(Signal::TERM);
    host.await_end();
    let _next = life.helper("host", Some(host.pid()));
    let session = life.inspect();
    assert_eq!(
        (&session["status"], &session["host"]["generation"]),
        (&"running".into(), &2.into()),
        "{session}"
    );
    assert!(guard.lives() && life.program.0.lives());
}

// TRUTH 11
#[test]
fn a_terminated_guard_stops_its_session_in_order() {
    let world = World::new();
    let life = world.live(&["trap-exit TERM 8", "print ready", "hang"]);
    life.until_shown("ready");
    let (guard, host) = (life.helper("guard", None), life.helper("host", None));
    guard.signal(Signal::TERM);
    [guard, host].iter().for_each(Observer::await_end);
    let told = life.inspect();
    assert_eq!(outcome(&told), ("exited", Some(8), None), "{told}");
    assert_eq!(told["outcome"]["cause"], "asked", "{told}");
    assert_eq!(life.program.0.ending(), Some(Ending::Exited(8)));
    let asked = &world.told(&life.id, "stop_asked")[0];
    assert!(asked["by"].as_str().unwrap().contains(&format!("pid {} ", std::process::id())), "{asked}");
}

// TRUTH 12
#[test]
fn a_program_that_ignores_the_asking_is_killed_after_the_grace() {
    let world = World::new();
    let life = world.live(&["ignore TERM", "print ready", "hang"]);
    life.until_shown("ready");
    let stop = world.abide.run(&["stop", "--grace", "1s", &life.id]);
    assert_eq!(stop.code(), Some(0), "{stop:?}");
    assert_eq!(life.program.0.ending(), Some(Ending::Signaled { signal: 9, core: false }));
    let told = life.inspect();
    assert_eq!(outcome(&told), ("exited", None, Some(9)), "{told}");
    assert_eq!((&told["outcome"]["cause"], &told["wait_code"]), (&"asked".into(), &137.into()), "{told}");
    let facts = world.facts(&life.id);
    let at = |fact: &str, signal: Option<i64>| {
        let found = facts.iter().find(|told| {
            told["fact"] == fact && signal.is_none_or(|number| told["body"]["signal"] == number)
        });
        found.and_then(|told| told["boot"].as_u64()).unwrap_or_else(|| panic!("no {fact} {signal:?}"))
    };
    let steps =
        [at("stop_asked", None), at("signalled", Some(15)), at("signalled", Some(9)), at("ended", None)];
    assert!(steps.is_sorted(), "intent comes before the act: {steps:?}");
    assert!(steps[2] - steps[0] >= 1_000, "the grace was not given, from the asking on: {steps:?}");
}

// TRUTH 13
#[test]
fn a_program_that_ends_well_when_asked_has_ended_well() {
    let world = World::new();
    let life = world.live(&["trap-exit TERM 0", "print ready", "hang"]);
    life.until_shown("ready");
    let mut stop = world.start(&["stop", "--json", &life.id]);
    let (by, answer) = (stop.pid(), stop.line());
    assert_eq!(stop.reap(), Ending::Exited(0), "{answer}");
    let told = life.inspect();
    assert_eq!(outcome(&told), ("exited", Some(0), None), "{told}");
    assert_eq!((&told["outcome"]["cause"], &told["stopping"]), (&"asked".into(), &false.into()), "{told}");
    let asked = &world.told(&life.id, "stop_asked")[0];
    assert!(asked["by"].as_str().unwrap().contains(&format!("pid {by} ")), "{asked}");
    assert_eq!(world.wait(&life.id).0, Some(0));
}

#[test]
fn an_agent_is_first_asked_by_the_signal_that_it_ends_in_order_on() {
    let world = World::new();
    let codex = world.beside("codex");
    std::os::unix::fs::symlink(agent(), &codex).expect("there is room");
    for is_attended in [true, false] {
        let steps = ["trap-exit INT 4", "ignore TERM", "print ready", "hang"];
        let life = world.observe(world.launch(&["--no-tty"], &[&[codex.as_str()], &steps[..]].concat()));
        life.until_shown("ready");
        life.replace("guard");
        if !is_attended {
            life.kill_helpers();
        }
        let stop = world.abide.run(&["stop", "--grace", "5s", &life.id]);
        assert_eq!(stop.code(), Some(0), "{stop:?}");
        let sent: Vec<Value> =
            world.told(&life.id, "signalled").into_iter().map(|mut told| told["signal"].take()).collect();
        assert_eq!(sent, [2, 18], "an interrupt is enough, and what stands still is woken to hear it");
        let ended_well = || life.program.0.ending() == Some(Ending::Exited(4));
        until("it has ended of that, and is reaped", || ended_well() || !ends_are_kept());
    }
}

// TRUTH 14
#[test]
fn a_stop_ends_everything_that_the_program_started_wherever_it_hid() {
    const MANY: usize = 20;
    let world = World::new();
    let mut steps = vec!["fork ignore TERM HUP INT ; print here ; hang"; MANY];
    steps.extend(["print all started", "hang"]);
    let life = world.live(&steps);
    until("all of them ignore what they are asked", || world.shown(&life.id).matches("here").count() == MANY);
    life.until_shown("all started");
    let shown = world.shown(&life.id);
    let hidden: Vec<Doomed> = shown
        .lines()
        .filter_map(|line| line.strip_prefix("forked "))
        .map(|pid| Doomed(Observer::of(pid.parse().expect("a pid"))))
        .collect();
    assert_eq!(hidden.len(), MANY, "{shown}");
    let stop = world.abide.run(&["stop", "--json", "--grace", "1s", &life.id]);
    assert_eq!(
        (stop.code(), &stop.json()["data"]["survivors"]),
        (Some(0), &Value::Array(Vec::new())),
        "{stop:?}"
    );
    assert!(!life.program.0.lives());
    let left: Vec<u32> = hidden.iter().filter(|one| one.0.lives()).map(|one| one.0.pid()).collect();
    assert!(left.is_empty(), "the stop left {left:?}");
}

// TRUTH 26
#[test]
fn a_stopped_program_runs_and_is_told_to_be_stopped() {
    let world = World::new();
    let life = world.live(&["trap-exit USR1 4", "print ready", "hang"]);
    life.until_shown("ready");
    let qualifier = || life.inspect()["processes"]["program"]["qualifier"].clone();
    life.program.0.signal(Signal::STOP);
    until("it is told", || qualifier() == "stopped");
    assert_eq!(life.inspect()["status"], "running");
    life.program.0.signal(Signal::CONT);
    until("it is told", || qualifier().is_null());
    life.program.0.signal(Signal::USR1);
    assert_eq!(world.wait(&life.id).0, Some(4));
}

// TRUTH 26
#[test]
fn a_traced_program_runs_and_is_told_to_be_traced() {
    let world = World::new();
    let life = world.live(&["hang"]);
    drill::stop_by_trace(life.program.0.pid())
        .expect("a test may trace what abide started (kernel.yama.ptrace_scope 0, or root)");
    let told = life.inspect();
    assert_eq!(told["status"], "running", "{told}");
    assert_eq!(told["processes"]["program"]["qualifier"], "traced", "{told}");
}

// TRUTH 26
#[test]
fn a_program_that_is_traced_and_not_stopped_is_told_to_be_traced_too() {
    let world = World::new();
    let life = world.live(&["hang"]);
    let mut strace = Command::new(need("strace"));
    strace.args(["-qq", "-o", &world.beside("trace"), "-p", &life.program.0.pid().to_string()]);
    let tracer = Running::start(&mut strace);
    let qualifier = || life.inspect()["processes"]["program"]["qualifier"].clone();
    until("it is told", || qualifier() == "traced");
    for verb in [&["ls"][..], &["inspect", &life.id]] {
        let text = world.abide.run(verb).stdout;
        assert!(text.contains("running, traced"), "{verb:?}: {text}");
    }
    tracer.signal(Signal::TERM);
    until("it is told no more", || qualifier().is_null());
}

// TRUTH 28
#[test]
fn a_program_that_becomes_another_is_the_same_session_and_both_images_are_named() {
    let world = World::new();
    // A shell that executes the agent.
    let (life, gate) = world.gated(&["trap-exit USR1 4", "print ready", "hang"]);
    life.helper("host", None);
    gate.open();
    until("what it became is told", || !world.told(&life.id, "image_changed").is_empty());
    let session = life.inspect();
    assert_eq!((&session["status"], pid(&session, "program")), (&"running".into(), life.program.0.pid()));
    let image = |path: &str| std::fs::canonicalize(path).expect("it is there").display().to_string();
    let proof = session["because"].to_string();
    for said in [format!("runs {}", image("/bin/sh")), format!("became {}", image(&agent()))] {
        assert!(proof.contains(&said), "{said}: {proof}");
    }
    life.replace("host");
    life.program.0.signal(Signal::USR1);
    assert_eq!(world.wait(&life.id).0, Some(4));
    assert_eq!(world.told(&life.id, "image_changed").len(), 1, "it became another once");
}

// TRUTH 27
#[test]
fn a_program_that_lets_go_of_its_terminal_runs_on() {
    let world = World::new();
    let sign = world.beside("sign");
    let id = world
        .run(&[], &["print ready", "trap-exit USR1 6", "close-tty", &format!("write {sign} gone"), "hang"]);
    let life = world.observe(id);
    until("it has let go", || std::fs::exists(&sign).unwrap_or(false));
    let _helpers = (life.helper("guard", None), life.helper("host", None));
    assert_eq!(life.inspect()["status"], "running");
    let capped = world.abide.run(&["wait", "--cap", "200ms", &life.id]);
    assert_eq!(capped.code(), Some(0), "{capped:?}");
    assert_eq!(life.inspect()["status"], "running", "silence is no death");
    life.program.0.signal(Signal::USR1);
    assert_eq!(world.wait(&life.id).0, Some(6));
    assert_eq!(world.shown(&life.id), "ready\r\n");
}

/// Asks a session to stop and is killed as soon as that is on record.
fn stop_and_die(world: &World, id: &str, grace: &str) {
    let mut stop = world.start(&["stop", "--grace", grace, id]);
    until("the stop is on record", || !world.told(id, "stop_asked").is_empty());
    stop.kill();
}

// TRUTH 56
#[test]
fn a_stop_whose_asker_was_killed_is_completed_by_the_guard() {
    let world = World::new();
    let gate = Gate::new(&world.beside("gate"));
    let script = "trap 'echo asked; read go < \"$0\"; exit 4' TERM; echo ready; while :; do sleep 0.05; done";
    let id = world.launch(&["--name", "nightly"], &["sh", "-c", script, &world.beside("gate")]);
    let life = world.observe(id);
    life.until_shown("ready");
    stop_and_die(&world, &life.id, "10m");
    life.until_shown("asked");
    let told = life.inspect();
    assert_eq!((&told["status"], &told["stopping"]), (&"running".into(), &true.into()), "{told}");
    let again = ["run", "-d", "--json", "--name", "nightly", "--", "true"];
    let refused = world.abide.run(&again);
    assert_eq!((refused.code(), &refused.json()["error"]["code"]), (Some(6), &"name_in_use".into()));
    gate.open();
    let (exit, told) = world.wait(&life.id);
    assert_eq!((exit, outcome(&told)), (Some(4), ("exited", Some(4), None)), "{told}");
    assert_eq!(told["outcome"]["cause"], "asked", "{told}");
    assert_eq!(world.abide.run(&again).code(), Some(0), "the name is free");
}

// TRUTH 56
#[test]
fn a_shell_at_its_prompt_is_asked_to_end_with_a_hangup_and_one_that_runs_a_script_as_ever() {
    let world = World::new();
    let first = |id: &str| {
        let stop = world.abide.run(&["stop", "--grace", "1m", id]);
        assert_eq!(stop.code(), Some(0), "{stop:?}");
        world.told(id, "signalled")[0]["signal"].clone()
    };
    let shell = world.launch(&[], &["bash", "--norc"]);
    assert_eq!(world.abide.run(&["exec", &shell, "--", "true"]).code(), Some(0));
    assert_eq!(first(&shell), 1, "it ends of it without the minute");
    let script = "trap 'exit 3' TERM; echo ready; while :; do read line; done";
    let life = world.observe(world.launch(&[], &["bash", "-c", script]));
    life.until_shown("ready");
    assert_eq!((first(&life.id), world.wait(&life.id).0), (15.into(), Some(3)));
}

#[test]
fn a_stop_that_takes_its_time_says_on_a_terminal_what_it_waits_for() {
    let world = World::new();
    let life =
        world.observe(world.launch(&[], &["sh", "-c", "trap '' TERM; echo ready; while :; do read l; done"]));
    life.until_shown("ready");
    let mut stop = Terminal::start(&world.abide.command(&["stop", "--grace", "3s", &life.id]));
    stop.until("abide: asked to end with SIGTERM; SIGKILL in 2s");
    stop.until("killed by SIGKILL");
    assert_eq!(stop.reap(), Ending::Exited(0));
}

#[test]
fn a_stop_whose_asker_was_killed_still_ends_in_a_kill() {
    let world = World::new();
    let life = world.live(&["ignore TERM", "print ready", "hang"]);
    life.until_shown("ready");
    stop_and_die(&world, &life.id, "300ms");
    life.program.0.await_end();
    assert_eq!(world.wait(&life.id).0, Some(137));
    assert_eq!(life.program.0.ending(), Some(Ending::Signaled { signal: 9, core: false }));
}

#[test]
fn a_stop_and_a_forced_removal_outlast_the_guard_that_dies_over_them() {
    let world = World::new();
    let _path = world.home.config("grace = '1s'\n");
    for asked in [&["stop", "--json"][..], &["rm", "--force", "--json"]] {
        let life = world.live(&["ignore TERM", "print ready", "hang"]);
        life.until_shown("ready");
        let (guard, _) = (life.helper("guard", None), life.helper("host", None));
        let mut stopping = world.start(&[asked, &[life.id.as_str()]].concat());
        until("the stop is on record", || !world.told(&life.id, "stop_asked").is_empty());
        guard.signal(Signal::KILL);
        let told: Value = serde_json::from_str(&stopping.line()).expect("JSON");
        assert_eq!((stopping.reap(), &told["ok"]), (Ending::Exited(0), &true.into()), "{told}");
        assert!(!life.program.0.lives(), "{told}");
        if asked[0] == "stop" {
            let kept = if ends_are_kept() { ("exited", None, Some(9)) } else { ("lost", None, None) };
            assert_eq!(outcome(&told["data"]), kept, "{told}");
        } else {
            assert_eq!(told["data"]["removed"][0], life.id.as_str(), "{told}");
        }
    }
}

#[test]
fn a_stop_that_finds_the_guard_dead_is_done_by_the_next_one() {
    let world = World::new();
    let life = world.live(&["trap-exit TERM 6", "print ready", "hang"]);
    life.until_shown("ready");
    let (guard, host) = (life.helper("guard", None), life.helper("host", None));
    // No guard follows before the stop has looked.
    host.signal(Signal::STOP);
    guard.signal(Signal::KILL);
    guard.await_end();
    let mut stopping = world.start(&["stop", "--json", &life.id]);
    until("it follows the session", || waits(&stopping));
    host.signal(Signal::CONT);
    let told: Value = serde_json::from_str(&stopping.line()).expect("JSON");
    assert_eq!(stopping.reap(), Ending::Exited(0), "{told}");
    let kept = if ends_are_kept() { ("exited", Some(6), None) } else { ("lost", None, None) };
    assert_eq!(outcome(&told["data"]), kept, "{told}");
}

#[test]
fn a_guard_that_stands_still_is_woken_to_do_what_a_stop_asks_of_it() {
    let world = World::new();
    let life = world.live(&["print ready", "hang"]);
    life.until_shown("ready");
    let guard = life.helper("guard", None);
    guard.signal(Signal::STOP);
    until("it stands still", || life.inspect()["processes"]["guard"]["qualifier"] == "stopped");
    let stop = world.abide.run(&["stop", "--json", "--grace", "1s", &life.id]);
    assert_eq!(stop.code(), Some(0), "{stop:?}");
    assert_eq!(outcome(&data(&stop)), ("exited", None, Some(15)), "it recorded the end: {stop:?}");
    assert!(!life.program.0.lives());
}

#[test]
fn a_program_that_stands_still_is_woken_to_hear_that_it_is_asked_to_end() {
    let world = World::new();
    for attended in [true, false] {
        let life = world.live(&["ignore HUP", "trap-exit TERM 6", "print ready", "hang"]);
        life.until_shown("ready");
        life.helper("host", None);
        if !attended {
            life.kill_helpers();
        }
        life.program.0.signal(Signal::STOP);
        until("it stands still", || life.inspect()["processes"]["program"]["qualifier"] == "stopped");
        let stop = world.abide.run(&["stop", "--grace", "5s", &life.id]);
        assert_eq!(stop.code(), Some(0), "{stop:?}");
        let signals: Vec<Value> =
            world.told(&life.id, "signalled").iter().map(|told| told["signal"].clone()).collect();
        assert_eq!(signals, [15, 18], "attended: {attended}");
        if attended {
            assert_eq!(outcome(&life.inspect()), ("exited", Some(6), None));
        }
    }
}

#[test]
fn several_sessions_are_stopped_at_once_whatever_becomes_of_one_of_them() {
    let world = World::new();
    let (one, other) = (world.live(&["hang"]), world.live(&["hang"]));
    let over = world.launch(&[], &["true"]);
    assert_eq!(world.wait(&over).0, Some(0));
    let ran = world.abide.run(&["stop", "--json", &one.id, &over, &other.id, &one.id]);
    let told = data(&ran);
    let of =
        |list: &str| told[list].as_array().unwrap().iter().map(|one| one["id"].clone()).collect::<Vec<_>>();
    assert_eq!(
        (ran.code(), of("sessions")),
        (Some(5), vec![one.id.as_str().into(), other.id.as_str().into()])
    );
    assert_eq!(
        (of("failed"), &told["failed"][0]["code"]),
        (vec![over.as_str().into()], &"not_stoppable".into())
    );
    assert_eq!(told["failed"][0]["status"], "exited");
    assert!(told["failed"][0]["hint"].is_string(), "there is a way out: {told}");
    for life in [&one, &other] {
        assert_eq!(
            life.program.0.ending(),
            Some(Ending::Signaled { signal: Signal::TERM.as_raw(), core: false })
        );
        assert_eq!(life.inspect()["outcome"]["cause"], "asked");
    }
    let nobody = world.abide.run(&["stop", "nobody", &over]);
    assert_eq!(nobody.code(), Some(3), "{nobody:?}");
}

#[test]
fn a_session_that_takes_long_to_stop_keeps_none_of_the_others_waiting() {
    let world = World::new();
    let long = world.live(&["ignore TERM", "print ready", "hang"]);
    long.until_shown("ready");
    let others = [(); 3].map(|()| world.live(&["hang"]));
    // There are descriptors for two at once.
    let script = r#"ulimit -n 56; exec "$0" --json stop --grace 1h "$@""#;
    let ids: Vec<&str> = [&long].into_iter().chain(&others).map(|life| life.id.as_str()).collect();
    let mut stopping = Running::start(&mut world.bash(script, &ids));
    for other in &others {
        until("it is over", || other.inspect()["status"] == "exited");
    }
    assert!(long.program.0.lives());
    long.program.0.signal(Signal::KILL);
    let told: Value = serde_json::from_str(&stopping.line()).expect("JSON");
    assert_eq!(stopping.reap(), Ending::Exited(0), "{told}");
    let stopped = told["data"]["sessions"].as_array().expect("a list").iter().map(|one| &one["id"]);
    assert_eq!(stopped.collect::<Vec<_>>(), ids, "in the order in which they were named");
}
