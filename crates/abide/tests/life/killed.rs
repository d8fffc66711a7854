//! Guards and hosts that are killed: the program never notices, and what was seen stays exact.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;

use abide_testkit::deadline::until;
use abide_testkit::namespace::drill;
use abide_testkit::{Ending, Ran};
use rustix::process::Signal;
use serde_json::Value;

use crate::common::{Life, World, agent, data, ends_are_kept, outcome, streamed};

/// A program that prints without pause until it is told to end, and then says how much it printed.
struct Stream {
    until: String,
    said: String,
}

impl Stream {
    fn new(world: &World) -> Self {
        Self { until: world.beside("until"), said: world.beside("said") }
    }

    fn step(&self) -> String {
        format!("stream {} {}", self.until, self.said)
    }

    /// Tells it to end, and gives what a terminal was given of it.
    fn end(&self, life: &Life<'_>) -> String {
        std::fs::File::create(&self.until).expect("there is room");
        until("the stream has ended", || Path::new(&self.said).exists() || !life.program.0.lives());
        let mut lines = None;
        until("the program has said how much", || {
            lines = std::fs::read_to_string(&self.said).ok().and_then(|text| text.parse().ok());
            lines.is_some()
        });
        streamed(lines.expect("it was read"))
    }
}

/// Kills a helper many times, each as soon as it is on record.
fn kill_often(world: &World, life: &Life<'_>, who: &str, times: usize) {
    let fact = if who == "host" { "hosted" } else { "guarded" };
    let on_record = || world.facts(&life.id).iter().filter(|told| told["fact"] == fact).count();
    for _ in 0..times {
        let helper = life.helper(who, None);
        let before = on_record();
        helper.signal(Signal::KILL);
        helper.await_end();
        until("the next one is on record", || on_record() > before);
    }
}

/// The last lines of what was shown, as a screen of 24 rows has them.
fn on_screen(shown: &str) -> Vec<&str> {
    let lines: Vec<&str> = shown.lines().collect();
    lines[lines.len().saturating_sub(23)..].to_vec()
}

fn check_screen(world: &World, life: &Life<'_>, shown: &str) {
    let told = data(&world.abide.run(&["snapshot", "--json", &life.id]));
    let rows: Vec<&str> = told["lines"].as_array().expect("rows").iter().filter_map(Value::as_str).collect();
    assert_eq!(&rows[..23], on_screen(shown), "the screen is not what the program showed");
}

/// Alters one byte of the first fact of this name on the disk.
fn damage(world: &World, id: &str, fact: &str) {
    let path = world.dir(id).join("evidence");
    let record = std::fs::read(&path).expect("it is there");
    let name = format!("\"{fact}\"");
    let at = record.windows(name.len()).position(|bytes| bytes == name.as_bytes()).expect("it is on record");
    let file = std::fs::OpenOptions::new().write(true).open(&path).expect("it is ours");
    std::os::unix::fs::FileExt::write_all_at(&file, b"x", at as u64 + 1).expect("there is room");
}

#[test]
fn a_session_that_lives_and_is_damaged_can_be_ended_as_the_refusal_says() {
    let world = World::new();
    let life = world.live(&["hang"]);
    let (guard, host) = (life.helper("guard", None), life.helper("host", None));
    ["launched", "started"].iter().for_each(|fact| damage(&world, &life.id, fact));
    assert_eq!(life.inspect()["status"], "unknown");
    let way_out = format!("hint: `kill {}` has its guard stop the session in order", guard.pid());
    for refused in [&["stop", &life.id][..], &["signal", "TERM", &life.id], &["rm", "--force", &life.id]] {
        let ran = world.abide.run(refused);
        assert!(ran.code() == Some(5) && ran.stderr.contains(&way_out), "{ran:?}");
    }
    guard.signal(Signal::TERM);
    [guard, host].iter().for_each(abide_testkit::Observer::await_end);
    assert!(!life.program.0.lives());
    assert_eq!(world.wait(&life.id).0, Some(143), "the end that it recorded counts");
    assert_eq!(world.abide.run(&["rm", "--force", &life.id]).code(), Some(0));
}

#[test]
fn a_wait_for_what_nobody_is_left_to_tell_ends_at_once_whatever_was_damaged() {
    let world = World::new();
    let facts: [&[&str]; 4] =
        [&["guarded"], &["guarded", "hosted"], &["guarded", "launched"], &["hosted", "launched", "started"]];
    for facts in facts {
        let life = world.live(&["hang"]);
        life.kill_helpers();
        life.program.0.signal(Signal::KILL);
        life.program.0.await_end();
        facts.iter().for_each(|fact| damage(&world, &life.id, fact));
        let (code, told) = world.wait(&life.id);
        assert_eq!((code, &told["status"]), (Some(125), &"unknown".into()), "{facts:?}: {told}");
    }
}

#[test]
fn a_wait_for_what_lives_goes_on_though_all_of_its_record_is_gone() {
    let world = World::new();
    let life = world.live(&["trap-exit USR1 3", "print ready", "hang"]);
    life.until_shown("ready");
    std::fs::File::create(world.dir(&life.id).join("evidence")).expect("it is ours");
    assert_eq!(world.abide.run(&["rm", "--force", &life.id]).code(), Some(5), "it lives");
    let mut waiting = world.start(&["wait", &life.id]);
    until("it waits", || crate::common::waits(&waiting));
    life.program.0.signal(Signal::USR1);
    assert_eq!(waiting.reap(), Ending::Exited(3), "what its guard recorded afterwards counts");
}

#[test]
fn a_session_whose_record_is_cut_or_gone_is_not_called_healthy_and_can_be_ended_as_the_refusal_says() {
    let world = World::new();
    for left in [Some(100), Some(0), None] {
        let life = world.live(&["hang"]);
        let (guard, host) = (life.helper("guard", None), life.helper("host", None));
        let evidence = world.dir(&life.id).join("evidence");
        match left {
            Some(bytes) => {
                std::fs::OpenOptions::new().write(true).open(&evidence).and_then(|f| f.set_len(bytes))
            }
            None => std::fs::remove_file(&evidence),
        }
        .expect("it is ours");
        let capped = world.abide.run(&["wait", "--json", "--cap", "1ms", &life.id]);
        let told = data(&capped);
        assert_eq!((capped.code(), &told["status"]), (Some(124), &"unknown".into()), "{left:?}: {told}");
        assert!(told["alive"].is_null(), "{left:?}: {told}");
        let capped = world.abide.run(&["wait", "--cap", "1ms", &life.id]);
        assert_eq!(capped.code(), Some(124), "{left:?}: {capped:?}");
        let reason = capped.stderr.contains("the record of its launch cannot be read");
        assert!(reason && !capped.stderr.contains("healthy"), "{left:?}: {capped:?}");
        let way_out = format!("hint: `kill {}` has its guard stop the session in order", guard.pid());
        for refused in [&["stop", &life.id][..], &["signal", "TERM", &life.id], &["rm", "--force", &life.id]]
        {
            let ran = world.abide.run(refused);
            assert!(ran.code() == Some(5) && ran.stderr.contains(&way_out), "{left:?}: {ran:?}");
        }
        guard.signal(Signal::TERM);
        [guard, host].iter().for_each(abide_testkit::Observer::await_end);
        assert!(!life.program.0.lives(), "{left:?}");
        assert_eq!(world.abide.run(&["rm", "--force", &life.id]).code(), Some(0), "{left:?}");
    }
}

#[test]
fn a_record_that_tells_nothing_is_removed_with_a_warning_that_its_program_may_live() {
    let world = World::new();
    let scratch = abide_testkit::ScratchCgroup::new();
    let mut command =
        world.abide.command(&["run", "-d", "--", &agent(), "ignore HUP", "print ready", "hang"]);
    if let Some(scratch) = &scratch {
        command = abide_testkit::cgroup::inside(scratch.cgroup(), &command);
    }
    let life = world.observe(Ran::of(&mut command).stdout.trim().to_owned());
    life.until_shown("ready");
    life.kill_helpers();
    std::fs::File::create(world.dir(&life.id).join("evidence")).expect("it is ours");
    let refused = world.abide.run(&["rm", &life.id]);
    assert!(refused.code() == Some(5) && refused.stderr.contains("its program may be alive"), "{refused:?}");
    let removed = world.abide.run(&["rm", "--force", "--json", &life.id]);
    let warnings = removed.json()["warnings"].to_string();
    assert!(removed.code() == Some(0) && warnings.contains("may have been alive"), "{removed:?}");
    assert!(removed.stderr.contains("may have been alive"), "{removed:?}");
    // By descent nobody can find it any more; by its cgroup it is found wherever that is.
    let named = warnings.contains(&format!("live on: {} (", life.program.0.pid()));
    assert_eq!(named, scratch.is_some(), "{removed:?}");
    assert!(life.program.0.lives());
}

#[test]
fn a_guard_that_follows_on_a_damaged_record_goes_on_with_terminal_and_program() {
    let world = World::new();
    for emptied in [false, true] {
        let life = world.live(&["trap-exit USR1 7", "print ready", "wait-line", "exit 7"]);
        life.until_shown("ready");
        let guard = life.helper("guard", None);
        match emptied {
            true => drop(std::fs::File::create(world.dir(&life.id).join("evidence")).expect("it is ours")),
            false => damage(&world, &life.id, "launched"),
        }
        guard.signal(Signal::KILL);
        guard.await_end();
        until("the next guard is on record", || {
            life.inspect()["processes"]["guard"]["pid"]
                .as_u64()
                .is_some_and(|pid| pid != u64::from(guard.pid()))
        });
        if emptied {
            // What its status is cannot be told any more, so nobody is let in.
            life.program.0.signal(Signal::USR1);
        } else {
            let mut attached = abide_testkit::Terminal::start(&world.abide.command(&["attach", &life.id]));
            attached.until("ready");
            attached.type_in(b"go\r");
            attached.reap();
        }
        life.program.0.await_end();
        let (code, told) = world.wait(&life.id);
        let kept = ends_are_kept();
        assert!(code == Some(7) || !kept, "emptied: {emptied}: {told}");
    }
}

#[test]
fn a_program_that_ends_while_guard_after_guard_is_killed_is_still_told_to_its_end() {
    const TIMES: usize = 12;
    let world = World::new();
    let (life, gate) = world.gated(&["print last words", "exit 9"]);
    kill_often(&world, &life, "guard", TIMES - 1);
    let last = life.helper("guard", None);
    last.signal(Signal::KILL);
    last.await_end();
    // Guards come back ever later: the program ends when there is none.
    gate.open();
    let expected = if ends_are_kept() { Some(9) } else { Some(125) };
    assert_eq!(world.wait(&life.id).0, expected);
    assert_eq!(world.shown(&life.id), "last words\r\n");
}

#[test]
fn a_host_that_can_raise_no_guard_goes_when_the_program_is_dead() {
    let world = World::new();
    let life = world.live(&["hang"]);
    let (guard, host) = (life.helper("guard", None), life.helper("host", None));
    host.signal(Signal::STOP);
    until("it stands still", || life.inspect()["processes"]["host"]["qualifier"] == "stopped");
    std::fs::File::create(world.dir(&life.id).join("evidence")).expect("it is ours");
    guard.signal(Signal::KILL);
    life.program.0.signal(Signal::KILL);
    life.program.0.await_end();
    guard.await_end();
    host.signal(Signal::CONT);
    host.await_end();
    assert_eq!(world.wait(&life.id).0, Some(125), "nobody is left to tell");
}

#[test]
fn sealing_changes_no_code_that_was_told_before() {
    let world = World::new();
    let life = world.live(&["hang"]);
    let file = std::fs::File::create(world.dir(&life.id).join("result.toml"));
    file.and_then(|mut file| file.write_all(b"status = \"success\"\n")).expect("it is ours");
    life.kill_helpers();
    life.program.0.signal(Signal::KILL);
    life.program.0.await_end();
    let (code, told) = world.wait(&life.id);
    assert_eq!((code, &told["status"]), (Some(0), &"lost".into()), "{told}");
    assert_eq!(world.abide.run(&["doctor", "--fix"]).code(), Some(0));
    assert_eq!(world.told(&life.id, "sealed").len(), 1);
    assert_eq!(world.wait(&life.id).0, Some(0));
}

#[test]
fn a_guard_that_stands_still_over_an_end_is_told_with_the_way_on() {
    let world = World::new();
    let life = world.live(&["hang"]);
    let guard = life.helper("guard", None);
    guard.signal(Signal::STOP);
    until("it stands still", || life.inspect()["processes"]["guard"]["qualifier"] == "stopped");
    life.program.0.signal(Signal::KILL);
    until("the program is dead", || life.inspect()["status"] == "exiting");
    let way_on = format!("`kill -CONT {}`", guard.pid());
    for asked in [&["wait", "--cap", "1ms", &life.id][..], &["rm", &life.id]] {
        let ran = world.abide.run(asked);
        assert!(ran.stderr.contains(&way_on), "{ran:?}");
    }
    guard.signal(Signal::CONT);
    assert_eq!(world.wait(&life.id).0, Some(137));
}

#[test]
fn a_session_whose_launch_was_damaged_on_the_disk_runs_on_and_passes_on_its_code() {
    let world = World::new();
    let (life, gate) = world.gated(&["print here", "exit 3"]);
    life.helper("host", None);
    damage(&world, &life.id, "launched");
    let told = life.inspect();
    assert_eq!((&told["status"], &told["argv"]), (&"running".into(), &Value::Null), "{told}");
    let capped = world.abide.run(&["wait", "--cap", "1ms", &life.id]);
    assert_eq!(capped.code(), Some(0), "it is provably alive: {capped:?}");
    let listed = world.abide.run(&["ls"]);
    assert!(listed.code() == Some(0) && listed.stdout.contains(&life.id), "{listed:?}");
    gate.open();
    let (code, told) = world.wait(&life.id);
    assert_eq!((code, outcome(&told)), (Some(3), ("exited", Some(3), None)), "{told}");
    assert_eq!(world.shown(&life.id), "here\r\n");
    assert_eq!(world.abide.run(&["rm", &life.id]).code(), Some(0));
}

// TRUTH 5
#[test]
fn hosts_can_be_killed_again_and_again_and_not_one_byte_is_lost_or_doubled() {
    const TIMES: usize = 10;
    let world = World::new();
    let stream = Stream::new(&world);
    let life = world.live(&["trap-exit USR1 42", &stream.step(), "hang"]);
    let guard = life.helper("guard", None);
    kill_often(&world, &life, "host", TIMES);
    let session = life.inspect();
    assert_eq!(
        (&session["status"], &session["host"]["generation"]),
        (&"running".into(), &(TIMES + 1).into())
    );
    assert!(guard.lives() && life.program.0.lives(), "only hosts were killed");
    let shown = stream.end(&life);
    until("all of it is on record", || world.shown(&life.id).len() >= shown.len());
    assert!(world.shown(&life.id) == shown, "what was recorded is not what the program wrote");
    check_screen(&world, &life, &shown);
    life.program.0.signal(Signal::USR1);
    let (exit, told) = world.wait(&life.id);
    assert_eq!((exit, outcome(&told)), (Some(42), ("exited", Some(42), None)), "{told}");
    assert_eq!(told["outcome"]["observed_by"], "guard");
    assert_eq!(life.program.0.ending(), Some(Ending::Exited(42)));
    assert!(world.shown(&life.id) == shown, "the end changed the recording");
}

// TRUTH 6
#[test]
fn guards_can_be_killed_again_and_again_and_every_byte_and_the_code_are_still_exact() {
    const TIMES: usize = 10;
    let world = World::new();
    let stream = Stream::new(&world);
    let life = world.live(&["trap-exit USR1 43", &stream.step(), "hang"]);
    kill_often(&world, &life, "guard", TIMES);
    assert_eq!(life.inspect()["status"], "running");
    let written = stream.end(&life);
    until("all of it is on record", || world.shown(&life.id).len() >= written.len());
    let shown = world.shown(&life.id);
    let same = shown.bytes().zip(written.bytes()).take_while(|(a, b)| a == b).count();
    assert!(
        shown == written,
        "{} bytes written, {} on record, the same up to {same}",
        written.len(),
        shown.len()
    );
    check_screen(&world, &life, &written);
    life.program.0.signal(Signal::USR1);
    let (exit, told) = world.wait(&life.id);
    // Its parent is dead, so only a corpse that is still there or a kernel that keeps ends can tell.
    if told["status"] == "lost" && !ends_are_kept() {
        assert_eq!((exit, told["exit_code"].as_i64()), (Some(125), None), "{told}");
        return;
    }
    assert_eq!((exit, outcome(&told)), (Some(43), ("exited", Some(43), None)), "{told}");
    let observed_by = told["outcome"]["observed_by"].as_str();
    assert!(matches!(observed_by, Some("pidfd" | "procfs")), "{told}");
}

// TRUTH 6
#[test]
fn a_session_of_a_second_guard_is_typed_into_and_stopped_like_any_other() {
    let world = World::new();
    let life = world.live(&["print ready", "wait-line", "print heard", "hang"]);
    life.until_shown("ready");
    let next = life.replace("guard");
    let mut attached = abide_testkit::Terminal::start(&world.abide.command(&["attach", &life.id]));
    attached.until("ready");
    attached.type_in(b"go on\r");
    attached.until("heard");
    let stop = world.abide.run(&["stop", "--grace", "5s", &life.id]);
    assert_eq!(stop.code(), Some(0), "{stop:?}");
    assert!(!life.program.0.lives());
    next.await_end();
    let told = life.inspect();
    assert_eq!(outcome(&told), ("exited", None, Some(15)), "{told}");
    assert_eq!(told["outcome"]["cause"], "asked", "{told}");
    assert_eq!(attached.reap(), Ending::Exited(143));
}

// TRUTH 7
#[test]
fn without_guard_and_host_a_session_is_unattended_and_then_lost() {
    let world = World::new();
    for (ending, signal) in [("a code", Signal::USR1), ("a signal", Signal::KILL)] {
        let life = world.live(&["ignore HUP", "trap-exit USR1 0", "print ready", "hang"]);
        life.until_shown("ready");
        life.helper("host", None);
        life.kill_helpers();
        assert!(life.program.0.lives());
        let told = life.inspect();
        assert_eq!((&told["status"], &told["wait_code"]), (&"unattended".into(), &Value::Null), "{told}");
        let mut waiting = world.start(&["wait", &life.id]);
        life.program.0.signal(signal);
        life.program.0.await_end();
        assert_eq!(waiting.reap(), Ending::Exited(125), "it ended with {ending} that nobody observed");
        let told = life.inspect();
        assert_eq!(outcome(&told), ("lost", None, None), "{told}");
        assert_eq!((&told["exit_code"], &told["outcome"]["kind"]), (&Value::Null, &"lost".into()), "{told}");
    }
}

// TRUTH 8
#[test]
fn a_session_whose_processes_all_died_is_lost_with_its_cause_and_its_recording() {
    let world = World::new();
    let life = world.live(&["print the last words", "hang"]);
    life.until_shown("the last words");
    life.helper("host", None);
    life.program.0.signal(Signal::STOP);
    life.kill_helpers();
    life.program.0.signal(Signal::KILL);
    life.program.0.await_end();
    let told = life.inspect();
    assert_eq!(outcome(&told), ("lost", None, None), "{told}");
    assert_eq!(told["outcome"]["cause"], "helpers_died", "{told}");
    let file = world.dir(&life.id).join("recording").metadata().expect("there is a recording");
    assert_eq!(told["recording"]["bytes"], file.len(), "{told}");
    assert_eq!(world.shown(&life.id), "the last words\r\n");
    assert_eq!(world.wait(&life.id).0, Some(125));
}

#[test]
fn without_inodes_a_program_is_known_again_once_the_tick_of_its_birth_is_over() {
    let world = World::new();
    let abide = env!("CARGO_BIN_EXE_abide");
    let run = format!(
        "run {abide} run -d --no-tty --home {} --name old -- {} hang",
        world.home.path().display(),
        agent()
    );
    let said = drill(&["no-pidfs", &run]);
    assert_eq!(said.last().map(String::as_str), Some("exit status: 0"), "{said:?}");
    let id = world.inspect("old")["id"].as_str().expect("an ID").to_owned();
    let life = world.observe(id);
    until("the program was seen after the tick of its birth", || {
        let program = &world.told(&life.id, "started").pop().expect("it is told")["program"];
        assert_eq!(program["pidfs"], Value::Null, "the guard saw no inode");
        program["seen_ticks"].as_u64() > program["start_ticks"].as_u64()
    });
    life.kill_helpers();
    assert_eq!(life.inspect()["status"], "unattended");
}

#[test]
fn a_guard_that_can_start_no_host_says_so_and_nobody_is_told_that_there_is_one() {
    let world = World::new();
    let life = world.live(&["print ready", "hang"]);
    life.until_shown("ready");
    let [guard, host] = ["guard", "host"].map(|who| life.helper(who, None));
    // As many descriptors as it has: there is none for a line to the next one.
    let allow = |files: &str| {
        let limit = ["--pid", &guard.pid().to_string(), &format!("--nofile={files}")];
        assert_eq!(Ran::of(Command::new("prlimit").args(limit)).code(), Some(0));
    };
    allow("3:4096");
    host.signal(Signal::KILL);
    until("it is on record", || {
        let noted = world.told(&life.id, "noted");
        noted.iter().any(|fact| fact.to_string().contains("no host could be started"))
    });
    let told = life.inspect();
    let served = &told["processes"]["host"];
    assert_eq!(
        (&told["status"], &served["liveness"], &served["qualifier"], &told["screen"]["source"]),
        (&"running".into(), &"dead".into(), &"restarting".into(), &"replay".into()),
        "{told}"
    );
    let seen = data(&world.abide.run(&["snapshot", "--json", &life.id]));
    assert_eq!(seen["source"], "replay", "{seen}");
    let examined = world.abide.run(&["doctor"]);
    assert!(examined.stdout.contains(&format!("session {} has no host now", life.id)), "{examined:?}");
    allow("1024:4096");
    life.helper("host", Some(host.pid()));
    let noted = world.told(&life.id, "noted");
    let failures = noted.iter().filter(|fact| fact.to_string().contains("no host could be started"));
    assert_eq!(failures.count(), 1, "it is said once: {noted:?}");
}

#[test]
fn clients_leave_a_host_the_descriptors_that_it_takes_to_start_a_guard() {
    let world = World::new();
    let life = world.live(&["print ready", "hang"]);
    life.until_shown("ready");
    let [guard, host] = ["guard", "host"].map(|who| life.helper(who, None));
    // As few as a launch is content with.
    let limit = ["--pid", &guard.pid().to_string(), "--nofile=64:4096"];
    assert_eq!(Ran::of(Command::new("prlimit").args(limit)).code(), Some(0));
    host.signal(Signal::KILL);
    life.helper("host", Some(host.pid()));
    let socket = world.dir(&life.id).join("socket");
    let clients: Vec<UnixStream> =
        (0..64).map(|_| UnixStream::connect(&socket).expect("it listens")).collect();
    let mut refused = Vec::new();
    (&clients[63]).read_to_end(&mut refused).expect("the last is answered, and let go");
    let refused = String::from_utf8_lossy(&refused);
    assert!(refused.contains("16 clients are connected"), "{refused:?}");
    guard.signal(Signal::KILL);
    life.helper("guard", Some(guard.pid()));
}
