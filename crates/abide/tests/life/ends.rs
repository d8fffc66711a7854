//! How programs end, and what is said of it: codes, signals, programs that never ran, ends that come early.

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::process::Stdio;

use abide_sys::lock::{self, Holder};
use abide_testkit::deadline::{Deadline, until};
use abide_testkit::observer::Doomed;
use abide_testkit::trace::{calls, first_of, is_stopped, traced};
use abide_testkit::{Ending, Observer, Running};
use rustix::process::{Resource, Signal, getrlimit};
use serde_json::Value;

use crate::common::{Gate, World, data, kill_at_once, observer, outcome, waits};

// TRUTH 1
#[test]
fn a_program_that_exits_passes_on_its_very_code() {
    let world = World::new();
    for code in [0, 1, 3, 255] {
        let id = world.run(&[], &["print all of it", &format!("exit {code}")]);
        let (exit, told) = world.wait(&id);
        assert_eq!((exit, outcome(&told)), (Some(code), ("exited", Some(code.into()), None)), "{told}");
        assert_eq!(told["outcome"]["observed_by"], "guard");
        assert_eq!(world.shown(&id), "all of it\r\n", "the recording is complete when the wait is over");
        let bytes = world.told(&id, "drained");
        assert_eq!(bytes.first().map(|told| &told["bytes"]), Some(&11.into()), "{bytes:?}");
        let session = world.inspect(&id);
        assert_eq!((&session["exit_code"], &session["wait_code"]), (&code.into(), &code.into()));
    }
}

// TRUTH 2
#[test]
fn a_program_that_dies_by_a_signal_has_that_signal_and_no_code() {
    let world = World::new();
    for signal in [Signal::KILL, Signal::TERM, Signal::SEGV] {
        let life = world.observe(world.launch(&[], &["cat"]));
        life.program.0.signal(signal);
        let (exit, told) = world.wait(&life.id);
        let number = i64::from(signal.as_raw());
        assert_eq!(exit, Some(128 + signal.as_raw()), "{told}");
        assert_eq!(outcome(&told), ("exited", None, Some(number)), "{told}");
        assert_eq!((&told["outcome"]["kind"], &told["exit_code"]), (&"signaled".into(), &Value::Null));
        let Some(Ending::Signaled { core, .. }) = life.program.0.ending() else {
            panic!("the observer saw another end: {:?}", life.program.0.ending());
        };
        assert_eq!(told["outcome"]["core"], core, "{told}");
    }
}

// TRUTH 2
#[test]
fn a_dumped_core_is_told_where_the_machine_allows_one() {
    let world = World::new();
    let around = world.beside("");
    let id = world.run(&["--cwd", &around], &["print ready", "wait-line", "abort-core"]);
    let life = world.observe(id);
    let allowed = getrlimit(Resource::Core).maximum != Some(0);
    let mut attached = abide_testkit::Terminal::start(&world.abide.command(&["attach", &life.id]));
    attached.until("ready");
    attached.type_in(b"\r");
    let (_, told) = world.wait(&life.id);
    let ending = life.program.0.ending();
    let Some(Ending::Signaled { signal: 6, core }) = ending else { panic!("another end: {ending:?}") };
    assert!(allowed || !core, "a core where none is allowed");
    assert_eq!((&told["outcome"]["signal"], &told["outcome"]["core"]), (&6.into(), &core.into()), "{told}");
}

// TRUTH 3
#[test]
fn a_program_that_cannot_run_is_failed_with_the_reason_and_leaves_nothing() {
    let world = World::new();
    let plain = world.home.around().file("plain", "#!/bin/sh\n");
    let garbage = world.home.around().script("garbage", "\u{7f}ELF and nothing else");
    let (plain, garbage) = (plain.to_str().unwrap(), garbage.to_str().unwrap());
    for (program, errno, code) in [
        ("/no/such/program", 2, 127),
        ("no-such-program-anywhere", 2, 127),
        ("", 2, 127),
        (plain, 13, 126),
        (garbage, 8, 126),
    ] {
        let ran = world.abide.run(&["run", "-d", "--json", "--", program]);
        let told = data(&ran);
        assert_eq!((ran.code(), outcome(&told)), (Some(code), ("failed", None, None)), "{program}: {told}");
        assert_eq!((&told["exit_code"], &told["wait_code"]), (&Value::Null, &code.into()), "{told}");
        let id = told["id"].as_str().unwrap();
        assert_eq!(world.told(id, "exec_failed")[0]["errno"], errno);
        assert_eq!(world.wait(id).0, Some(code));
        for who in ["guard", "program"] {
            let gone = || world.inspect(id)["processes"][who]["liveness"] == "dead";
            until(&format!("the {who} of {program} is gone"), gone);
        }
        assert!(world.inspect(id)["processes"]["host"]["pid"].is_null(), "{told}");
    }
}

#[test]
fn a_program_that_is_not_there_is_told_of_once_to_whoever_would_have_seen_it() {
    let world = World::new();
    let mut run = abide_testkit::Terminal::start(&world.abide.command(&["run", "--", "cluade"]));
    run.until("hint: nothing in PATH has that name");
    assert_eq!(run.reap(), Ending::Exited(127));
    let shown = run.screen().visible_text();
    assert_eq!((shown.matches("cluade").count(), shown.matches("abide").count()), (1, 1), "{shown}");
}

// TRUTH 4
#[test]
fn programs_that_end_before_run_returns_are_not_missed() {
    let world = World::new();
    let ends: Vec<(u8, String)> = std::thread::scope(|scope| {
        let world = &world;
        let one = |code: u8| move || (code, world.run(&[], &[&format!("exit {code}")]));
        let runs: Vec<_> = (0..40).map(|code| scope.spawn(one(code))).collect();
        runs.into_iter().map(|run| run.join().expect("it ran")).collect()
    });
    for (code, id) in ends {
        let (exit, told) = world.wait(&id);
        assert_eq!((exit, told["status"].as_str()), (Some(code.into()), Some("exited")), "{told}");
        assert_eq!(told["outcome"]["observed_by"], "guard");
    }
}

// TRUTH 15
#[test]
fn what_a_program_leaves_behind_is_named_and_not_waited_for() {
    let world = World::new();
    let running = world.live(&["fork hang", "hang"]);
    running.until_shown("\r\n");
    let forked = world.shown(&running.id);
    let forked: u32 = forked.trim().strip_prefix("forked ").expect("it said whom it forked").parse().unwrap();
    let _forked = Doomed(Observer::of(forked));
    assert_eq!(running.inspect()["survivors"], Value::Array(Vec::new()), "its program has not ended");
    let id = world.run(&[], &["daemon hang", "exit 0"]);
    let (exit, told) = world.wait(&id);
    assert_eq!((exit, outcome(&told)), (Some(0), ("exited", Some(0), None)), "{told}");
    let shown = world.shown(&id);
    let pid: u32 = shown.trim().strip_prefix("daemon ").expect("it said whom it left").parse().unwrap();
    let left = Doomed(Observer::of(pid));
    let session = world.inspect(&id);
    let survivors: Vec<_> = session["survivors"].as_array().unwrap().iter().map(|s| &s["pid"]).collect();
    assert_eq!(survivors, [&Value::from(pid)], "{session}");
    assert!(left.0.lives(), "a survivor was harmed");
    left.0.signal(Signal::KILL);
    left.0.await_end();
    let session = world.inspect(&id);
    assert_eq!(session["survivors"], Value::Array(Vec::new()), "it is dead: {session}");
    let recorded = world.told(&id, "ended")[0]["survivors"][0]["process"]["pid"].clone();
    assert_eq!(recorded, pid, "what lived at the end is still on record");
}

#[test]
fn arguments_too_long_to_record_reach_the_program_whole_and_are_told_to_be_cut() {
    let world = World::new();
    let long = "x".repeat(60_000);
    let id = world.launch(&[], &["sh", "-c", "echo ${#0}; exit 5", &long, "more"]);
    assert_eq!((world.wait(&id).0, world.shown(&id).as_str()), (Some(5), "60000\r\n"));
    let session = world.inspect(&id);
    let expected: Vec<Value> = ["sh", "-c", "echo ${#0}; exit 5"].map(Value::from).to_vec();
    assert_eq!(
        (&session["argv"], &session["argv_cut"]),
        (&Value::Array(expected), &true.into()),
        "{session}"
    );
    let text = world.abide.run(&["inspect", &id]).stdout;
    assert!(text.contains("sh -c 'echo ${#0}; exit 5' ...") && text.contains("too long to record"), "{text}");
}

// TRUTH 41
#[test]
fn a_result_that_is_written_in_part_is_no_word_at_all() {
    let world = World::new();
    let half = "status = \"success\"\nexit_code = ";
    // The whole file, and half of it: what counts is what it holds when the program is gone.
    for (rest, code, declared) in [("4\n", 4, Value::from("success")), ("", 17, Value::Null)] {
        let gate = Gate::new(&world.beside(&format!("gate{code}")));
        let script = "printf %s \"$1\" > \"$ABIDE_SESSION_DIR/result.toml\"; echo half; read go < \"$0\"; \
            printf %s \"$2\" >> \"$ABIDE_SESSION_DIR/result.toml\"; exit 17";
        let command = ["sh", "-c", script, &world.beside(&format!("gate{code}")), half, rest];
        let life = world.observe(world.launch(&[], &command));
        life.until_shown("half");
        let mut waiting = world.start(&["wait", "--json", &life.id]);
        until("it waits", || waits(&waiting));
        let capped = world.abide.run(&["wait", "--json", "--cap", "100ms", &life.id]);
        let told = data(&capped);
        assert_eq!(
            (capped.code(), &told["ended"], &told["declared"]),
            (Some(0), &false.into(), &Value::Null)
        );
        gate.open();
        let told: Value = serde_json::from_str(&waiting.line()).expect("JSON");
        assert_eq!(waiting.reap(), Ending::Exited(code), "{told}");
        let told = &told["data"];
        assert_eq!(
            (&told["declared"]["status"], &told["outcome"]["code"]),
            (&declared, &17.into()),
            "{told}"
        );
        assert_eq!(life.program.0.ending(), Some(Ending::Exited(17)));
    }
}

#[test]
fn what_is_no_result_is_not_taken_and_a_fact_says_why() {
    let world = World::new();
    for (left, why) in [
        ("status = \"weird\"", "`weird` alone stands for no exit code"),
        ("status = \"success\"\nexit_code = 300", "invalid value: integer `300`"),
        ("status", "result.toml is no result: "),
        ("status = \"failure\"\nexit_code = 0", "`failure` cannot have the exit code 0"),
    ] {
        let script = "printf %s \"$0\" > \"$ABIDE_SESSION_DIR/result.toml\"; exit 17";
        let id = world.launch(&[], &["sh", "-c", script, left]);
        let (code, told) = world.wait(&id);
        assert_eq!((code, &told["declared"]), (Some(17), &Value::Null), "{left}: {told}");
        let noted = world.told(&id, "noted");
        let says = |note: &Value| note["text"].as_str().is_some_and(|text| text.contains(why));
        assert!(noted.iter().any(says), "{left}: {noted:?}");
    }
    let left = "status = \"weird\"\nexit_code = 4";
    let script = "printf %s \"$0\" > \"$ABIDE_SESSION_DIR/result.toml\"; exit 17";
    let id = world.launch(&[], &["sh", "-c", script, left]);
    assert_eq!(world.wait(&id).0, Some(4), "with a code any word will do");
}

/// The end is observed by its guard, or by nobody and told by whoever asks first.
#[test]
fn a_result_that_the_end_overtakes_does_not_count_and_is_told_so() {
    for (ends, code, status) in [("seen", 3, "exited"), ("unseen", 125, "lost")] {
        let world = World::new();
        let (life, gate) = world.gated(&["exit 3"]);
        let helpers = ["guard", "host"].map(|who| life.helper(who, None));
        let log =
            File::options().append(true).open(world.dir(&life.id).join("evidence")).expect("it is there");
        assert!(
            lock::take(&log, Holder::Declarer).expect("it can be locked"),
            "nobody declares anything yet"
        );
        // It has seen the session run, and waits for its turn.
        let mut setting = world.start(&["result", "set", "success", "--json", "--session", &life.id]);
        let inode = log.metadata().expect("it is open").ino();
        until("it is about to declare", || is_waited_for(inode));
        if ends == "unseen" {
            let [guard, host] = &helpers;
            kill_at_once(&[guard, host, &life.program.0].map(|one| Observer::of(one.pid())));
        } else {
            gate.open();
        }
        assert_eq!(world.wait(&life.id).0, Some(code), "{ends}");
        lock::give_back(&log, Holder::Declarer);
        let told: Value = serde_json::from_str(&setting.line()).expect("JSON");
        let error = &told["error"];
        assert_eq!((setting.reap(), &error["code"]), (Ending::Exited(5), &"not_active".into()), "{told}");
        assert_eq!((&error["status"], error["hint"].is_string()), (&status.into(), true), "{told}");
        let (again, waited) = world.wait(&life.id);
        let declared = &waited["declared"];
        assert_eq!(
            (again, declared),
            (Some(code), &Value::Null),
            "an answer that was given stands: {waited}"
        );
    }
}

/// Whether somebody waits for a lock on this file.
fn is_waited_for(inode: u64) -> bool {
    let locks = std::fs::read_to_string("/proc/locks").expect("procfs");
    let ours = |line: &str| line.contains("->") && line.contains(&format!(":{inode} "));
    locks.lines().any(ours)
}

/// Has the session's result declared by one who stands still before it calls this for the first time.
fn stands_still(world: &World, id: &str, call: &str) -> Running {
    let log = world.home.around().join("calls");
    let [trace, inject] = [format!("trace={call}"), format!("inject={call}:error=EINTR:signal=STOP:when=1")];
    let command = world.abide.command(&["result", "set", "success", "--json", "--session", id]);
    let setting =
        Running::start(traced(&command, &["-e", &trace, "-e", &inject], &log).stderr(Stdio::null()));
    until("it stands still", || is_stopped(&log));
    setting
}

/// Nobody waits without end for what is being declared, and nobody passes on a code that it may yet change.
#[test]
fn no_code_is_passed_on_where_whoever_declares_another_stands_still_and_nobody_saw_the_end() {
    let world = World::new();
    let life = world.live(&["hang"]);
    let [guard, host] = ["guard", "host"].map(|who| life.helper(who, None));
    let set = world.abide.run(&["result", "set", "failure", "--exit-code", "3", "--session", &life.id]);
    assert_eq!(set.code(), Some(0), "{set:?}");
    let mut setting = stands_still(&world, &life.id, "pwrite64");
    kill_at_once(&[&guard, &host, &life.program.0].map(|one| Observer::of(one.pid())));
    let (code, told) = world.wait(&life.id);
    assert_eq!((code, &told["status"], &told["ended"]), (Some(125), &"lost".into(), &true.into()), "{told}");
    assert!(told["hint"].as_str().is_some_and(|hint| hint.contains("`abide doctor --fix`")), "{told}");
    // Who lists waits for nobody, however many there are: it asks of processes only how they are now.
    let log = world.home.around().join("looks");
    let list = world.abide.command(&["ls", "-a", "--json"]);
    let (ran, looks) = calls(&list, &["-e", "trace=poll,ppoll"], &log);
    assert_eq!(data(&ran)["sessions"][0]["wait_code"], 125, "{ran:?}");
    let waits: Vec<_> = looks.iter().filter(|look| look.text.contains("poll([], 0")).collect();
    assert!(waits.is_empty() && !looks.is_empty(), "{looks:?}");
    first_of(&setting).signal(Signal::CONT);
    assert_eq!(setting.reap(), Ending::Exited(0));
    assert_eq!(world.wait(&life.id).0, Some(0));
}

/// It stands still in the middle of it, and nobody waits for it without end.
#[test]
fn a_result_that_is_being_declared_at_the_end_counts_and_is_told_so() {
    for ends in ["seen", "unseen"] {
        let world = World::new();
        let (life, gate) = world.gated(&["exit 3"]);
        let helpers = ["guard", "host"].map(|who| life.helper(who, None));
        // It is about to write it into the log.
        let mut setting = stands_still(&world, &life.id, "write");
        if ends == "unseen" {
            let [guard, host] = &helpers;
            kill_at_once(&[guard, host, &life.program.0].map(|one| Observer::of(one.pid())));
        } else {
            gate.open();
        }
        assert_eq!(world.wait(&life.id).0, Some(0), "{ends}");
        first_of(&setting).signal(Signal::CONT);
        let told: Value = serde_json::from_str(&setting.line()).expect("JSON");
        assert_eq!((setting.reap(), &told["ok"]), (Ending::Exited(0), &true.into()), "{told}");
        assert_eq!(world.wait(&life.id).0, Some(0), "{ends}");
    }
}

// TRUTH 4
#[test]
fn whoever_runs_and_waits_has_the_code_though_others_remove_the_session_at_once() {
    const RUNS: usize = 40;
    let world = World::new();
    world.wait(&world.run(&[], &["exit 0"]));
    let over = world.beside("over");
    let mut remover = world.bash("while [ ! -e \"$1\" ]; do \"$0\" gc --older 0s; done", &[&over]);
    let mut remover = Running::start(remover.stdout(Stdio::null()).stderr(Stdio::null()));
    for run in 0..RUNS {
        let ran = world.abide.run(&["run", "--wait", "--", "sh", "-c", "exit 7"]);
        assert_eq!(ran.code(), Some(7), "{run}: {ran:?}");
    }
    let _over = world.home.around().file("over", "");
    assert_eq!(remover.reap(), Ending::Exited(0));
}

// TRUTH 15
#[test]
fn many_survivors_hold_up_nobody_and_are_counted() {
    let world = World::new();
    let gate = Gate::new(&world.beside("gate"));
    // They end as soon as nobody can write to the gate any more.
    let _open = gate.hold();
    let leave = "i=0; while [ $i -lt 500 ]; do setsid cat \"$0\" >/dev/null & i=$((i+1)); done; exit 3";
    let id = world.launch(&["--no-tty"], &["sh", "-c", leave, &world.beside("gate")]);
    let (exit, told) = world.wait(&id);
    assert_eq!((exit, outcome(&told)), (Some(3), ("exited", Some(3), None)), "{told}");
    let ended = &world.told(&id, "ended")[0];
    let named = ended["survivors"].as_array().expect("a list").len() as u64;
    assert_eq!(named + ended["more_survivors"].as_u64().unwrap_or(0), 500);
}

// TRUTH 42
#[test]
fn a_capped_wait_on_a_living_session_is_no_failure_and_the_next_one_gets_the_code() {
    let world = World::new();
    let life = world.live(&["trap-exit USR1 9", "print ready", "hang"]);
    life.until_shown("ready");
    let capped = world.abide.run(&["wait", "--json", "--cap", "100ms", &life.id]);
    let told = data(&capped);
    assert_eq!((capped.code(), &told["ended"], &told["status"]), (Some(0), &false.into(), &"running".into()));
    assert!(
        told["hint"].as_str().unwrap().contains(&format!("`abide wait --cap 100ms --json {}`", life.id)),
        "{told}"
    );
    assert!(
        told["exit_code"].is_null() && told["wait_code"].is_null() && told["outcome"].is_null(),
        "{told}"
    );
    let strict = world.abide.run(&["wait", "--cap", "100ms", "--strict", &life.id]);
    assert_eq!(strict.code(), Some(124), "{strict:?}");
    assert!(life.program.0.lives(), "nobody waited it to death");
    let mut waiting = world.start(&["wait", &life.id]);
    life.program.0.signal(Signal::USR1);
    assert_eq!(waiting.reap(), Ending::Exited(9));
    assert_eq!(life.program.0.ending(), Some(Ending::Exited(9)));
}

// TRUTH 43
#[test]
fn a_wait_on_what_is_over_answers_at_once_and_asks_nobody() {
    let world = World::new();
    let id = world.run(&[], &["exit 4"]);
    assert_eq!(world.wait(&id).0, Some(4));
    let life = world.live(&["hang"]);
    life.helper("host", None);
    life.program.0.signal(Signal::STOP);
    life.kill_helpers();
    life.program.0.signal(Signal::KILL);
    life.program.0.await_end();
    let deadline = Deadline::start();
    let (exit, told) = world.wait(&id);
    assert_eq!((exit, &told["exit_code"], &told["wait_code"]), (Some(4), &4.into(), &4.into()), "{told}");
    let (exit, told) = world.wait(&life.id);
    assert_eq!((exit, outcome(&told)), (Some(125), ("lost", None, None)), "{told}");
    assert_eq!((&told["ended"], &told["wait_code"]), (&true.into(), &125.into()), "{told}");
    assert!(told.as_object().unwrap().contains_key("exit_code") && told["exit_code"].is_null(), "{told}");
    assert!(!deadline.is_over());
}

// TRUTH 51
#[test]
fn a_recorded_end_stands_whatever_becomes_of_guard_and_host() {
    let world = World::new();
    // What is left keeps the guard sweeping, with the end on record.
    let steps = ["fork ignore TERM ; hang", "trap-exit TERM 6", "print ready", "hang"];
    let id = world.run(&[], &steps);
    let life = world.observe(id);
    life.until_shown("ready");
    life.helper("host", None);
    let session = life.inspect();
    let helpers = ["guard", "host"].map(|who| observer(&session, who));
    let mut stopping = world.start(&["stop", "--grace", "5s", &life.id]);
    until("the end is on record", || !world.told(&life.id, "ended").is_empty());
    kill_at_once(&helpers);
    let survivor = world.told(&life.id, "ended")[0]["survivors"][0]["process"]["pid"].as_u64().unwrap();
    let _left = Doomed(Observer::of(u32::try_from(survivor).unwrap()));
    let (exit, told) = world.wait(&life.id);
    assert_eq!((exit, outcome(&told)), (Some(6), ("exited", Some(6), None)), "{told}");
    assert_eq!(life.program.0.ending(), Some(Ending::Exited(6)));
    stopping.reap();
}
