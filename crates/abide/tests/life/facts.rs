//! Facts as they come: all of them, in order, of old sessions and new ones, whatever the system gives as hints.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use abide_testkit::deadline::until;
use abide_testkit::namespace::unshare;
use abide_testkit::{Ending, Ran, Running};
use rustix::process::Signal;
use serde_json::Value;

use crate::common::{Gate, Life, World, kill_at_once, observer};

/// The next facts that a follower shows, up to and with one of this name.
fn shown_until(follower: &mut Running, fact: &str) -> Vec<(String, String, u64)> {
    let mut shown = Vec::new();
    loop {
        let mut line: Value = serde_json::from_str(&follower.line()).expect("JSON");
        let mut told = |name: &str| line["data"][name].take();
        let (session, name, seq) = (told("session"), told("fact"), told("seq"));
        let text = |value: &Value| value.as_str().expect("a word").to_owned();
        shown.push((text(&session), text(&name), seq.as_u64().expect("a number")));
        if name == fact {
            return shown;
        }
    }
}

/// The facts of a session as its evidence has them.
fn on_record(world: &World, id: &str) -> Vec<(String, String, u64)> {
    let fact = |told: &Value| {
        let name = told["fact"].as_str().expect("a name").to_owned();
        (id.to_owned(), name, told["n"].as_u64().expect("a number"))
    };
    world.facts(id).iter().map(fact).collect()
}

#[test]
fn a_follower_sees_what_was_what_comes_and_what_goes() {
    let world = World::new();
    let old = world.live(&["trap-exit USR1 7", "print ready", "hang"]);
    old.helper("host", None);
    old.until_shown("ready");
    let mut follower = world.start(&["events", "-f", "--json"]);
    let mut seen = shown_until(&mut follower, "hosted");
    let new = world.observe(world.run(&["--name", "new"], &["trap-exit USR1 3", "print ready", "hang"]));
    new.until_shown("ready");
    seen.extend(shown_until(&mut follower, "hosted"));
    for life in [&old, &new] {
        life.program.0.signal(Signal::USR1);
        seen.extend(shown_until(&mut follower, "ended"));
    }
    for life in [&old, &new] {
        let shown: Vec<_> = seen.iter().filter(|(session, ..)| *session == life.id).cloned().collect();
        // The end may have been told from the slot, before the log had it.
        until("its end is in the log", || !world.told(&life.id, "ended").is_empty());
        assert_eq!(shown, on_record(&world, &life.id), "each once, in the order of the file");
        assert_eq!(world.abide.run(&["rm", &life.id]).code(), Some(0));
        let gone = shown_until(&mut follower, "removed");
        assert!(gone.iter().any(|(session, fact, _)| *session == life.id && fact == "removing"), "{gone:?}");
    }
    follower.signal(Signal::TERM);
    assert_eq!(follower.reap(), Ending::Signaled { signal: 15, core: false });
}

#[test]
fn a_follower_whose_reader_is_gone_ends_quietly_without_waiting_for_a_fact() {
    let world = World::new();
    let life = world.live(&["hang"]);
    let ran = Ran::of(&mut world.bash(r#""$0" events -f | head -n 1; echo "${PIPESTATUS[0]}""#, &[]));
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!((lines.len(), lines[1], ran.stderr.as_str()), (2, "0", ""), "{ran:?}");
    assert!(life.program.0.lives());
}

#[test]
fn a_follower_of_named_sessions_ends_when_they_are_removed() {
    let world = World::new();
    let life = world.live(&["trap-exit USR1 7", "print ready", "hang"]);
    life.until_shown("ready");
    let mut follower = world.start(&["events", "-f", "--json", &life.id]);
    shown_until(&mut follower, "started");
    let _other = world.live(&["hang"]);
    life.program.0.signal(Signal::USR1);
    assert_eq!(world.wait(&life.id).0, Some(7));
    assert_eq!(world.abide.run(&["rm", &life.id]).code(), Some(0));
    let seen = shown_until(&mut follower, "removed");
    assert!(seen.iter().all(|(session, ..)| *session == life.id), "another's facts: {seen:?}");
    assert_eq!(follower.reap(), Ending::Exited(0));
}

#[test]
fn without_a_home_or_hints_new_facts_are_found_all_the_same() {
    let world = World::new();
    let command = world.abide.command(&["events", "-f", "--json"]);
    let script = "echo 0 > /proc/sys/user/max_inotify_instances; exec \"$0\" \"$@\"";
    let mut shell = unshare(&[], "bash".as_ref());
    shell.args(["-c", script]).arg(command.get_program()).args(command.get_args());
    shell.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let mut follower = Running::start(shell.stderr(Stdio::null()));
    let id = world.run(&[], &["exit 3"]);
    let seen = shown_until(&mut follower, "ended");
    assert!(seen.len() >= 4 && seen.iter().all(|(session, ..)| *session == id), "{seen:?}");
}

// TRUTH 40
#[test]
fn a_declared_success_is_passed_on_beside_the_exit_status_whatever_the_times_of_its_file() {
    let world = World::new();
    for touch in ["touch -d 1990-01-01", "touch -d 2090-01-01", ":"] {
        let script = format!(
            "f=$ABIDE_SESSION_DIR/result.toml; printf 'status = \"success\"\\nexit_code = 0\\n' > \"$f\"; \
             {touch} \"$f\"; exit 17"
        );
        let id = world.launch(&[], &["sh", "-c", &script]);
        let (code, told) = world.wait(&id);
        assert_eq!((code, &told["agrees"]), (Some(0), &false.into()), "{touch}: {told}");
        assert_eq!(
            (&told["outcome"]["code"], &told["declared"]["exit_code"]),
            (&17.into(), &0.into()),
            "{told}"
        );
    }
}

/// One byte of the fact that holds the word is altered, or the log ends before it: the end tells the word once more.
#[test]
fn a_declared_failure_is_passed_on_also_where_the_fact_that_holds_it_is_damaged() {
    let world = World::new();
    let left = "printf 'status = \"failure\"\nexit_code = 3\n' > \"$ABIDE_SESSION_DIR/result.toml\"; exit 0";
    let said = "\"$0\" result set failure --exit-code 3 && exit 0";
    for script in [left, said] {
        let id = world.launch(&[], &["sh", "-c", script, env!("CARGO_BIN_EXE_abide")]);
        assert_eq!(world.wait(&id).0, Some(3));
        let log = world.dir(&id).join("evidence");
        let whole = fs::read(&log).expect("it is there");
        let name = b"\"fact\":\"declared\"";
        let at = whole.windows(name.len()).position(|there| there == name).expect("it is on record");
        let line = whole[..at].iter().rposition(|&byte| byte == b'\n').expect("a line starts");
        let mut flipped = whole.clone();
        flipped[at] ^= 1;
        for (what, bytes) in [("flipped", &flipped[..]), ("cut", &whole[..line])] {
            let written = File::create(&log).and_then(|mut log| log.write_all(bytes));
            written.expect("it is ours");
            let (code, told) = world.wait(&id);
            assert_eq!((code, &told["declared"]["status"]), (Some(3), &"failure".into()), "{what}: {told}");
            assert_eq!((&told["outcome"]["code"], &told["agrees"]), (&0.into(), &false.into()), "{what}");
        }
    }
}

/// The record was damaged, cut or emptied while the program ran: what it had declared counts all the same, and where it had
/// declared nothing, what was observed does.
#[test]
fn a_declared_failure_outlives_a_log_that_is_damaged_before_the_end() {
    let world = World::new();
    let said = "\"$1\" result set failure --exit-code 3; echo said; read go < \"$0\"; exit 0";
    let silent = "echo said; read go < \"$0\"; exit 0";
    for (script, code) in [(said, 3), (silent, 0)] {
        for left in ["damaged", "cut", "nothing"] {
            let gate = Gate::new(&world.beside(&format!("gate-{code}-{left}")));
            let path = world.beside(&format!("gate-{code}-{left}"));
            let id = world.launch(&[], &["sh", "-c", script, &path, env!("CARGO_BIN_EXE_abide")]);
            let life = world.observe(id);
            life.until_shown("said");
            let log = world.dir(&life.id).join("evidence");
            let mut bytes = fs::read(&log).expect("it is there");
            let name = if code == 0 { "\"started\"" } else { "\"declared\"" };
            let at = bytes
                .windows(name.len())
                .position(|there| there == name.as_bytes())
                .expect("it is on record");
            match left {
                "damaged" => bytes[at] ^= 1,
                "cut" => bytes.truncate(bytes[..at].iter().rposition(|&byte| byte == b'\n').expect("a line")),
                _ => bytes.clear(),
            }
            // In place, for its guard holds the file open and appends to it.
            let written = File::create(&log).and_then(|mut log| log.write_all(&bytes));
            written.expect("it is ours");
            gate.open();
            let (told_code, told) = world.wait(&life.id);
            assert_eq!(told_code, Some(code), "{left}, {name}: {told}");
        }
    }
}

/// A program that declares success, then failure with the code 3, and exits with 0 once its gate is opened.
fn declare_twice(world: &World) -> (Life<'_>, Gate) {
    let gate = Gate::new(&world.beside("gate"));
    let script = "\"$1\" result set success; \"$1\" result set failure --exit-code 3; echo said; read go < \"$0\"; exit 0";
    let id = world.launch(&[], &["sh", "-c", script, &world.beside("gate"), env!("CARGO_BIN_EXE_abide")]);
    let life = world.observe(id);
    life.until_shown("said");
    (life, gate)
}

/// What a file holds from now on.
fn put(file: &Path, text: &str) {
    let written = File::create(file).and_then(|mut file| file.write_all(text.as_bytes()));
    written.expect("it is ours");
}

fn kill_everyone(life: &Life<'_>) {
    let [guard, host] = ["guard", "host"].map(|who| life.helper(who, None));
    kill_at_once(&[guard, host, observer(&life.inspect(), "program")]);
}

/// The log ends cleanly before the word that was declared last, before the session is over or after all of it was killed.
fn cut_off_the_last_word(world: &World, life: &Life<'_>, ends: &str) {
    if ends == "killed" {
        kill_everyone(life);
    }
    let log = world.dir(&life.id).join("evidence");
    let mut bytes = fs::read(&log).expect("it is there");
    let name = b"\"fact\":\"declared\"";
    let at = bytes.windows(name.len()).rposition(|there| there == name).expect("it is on record");
    bytes.truncate(bytes[..at].iter().rposition(|&byte| byte == b'\n').expect("a line"));
    // In place, for its guard holds the file open and appends to it.
    let written = File::create(&log).and_then(|mut log| log.write_all(&bytes));
    written.expect("it is ours");
}

#[test]
fn an_older_word_does_not_stand_for_one_that_was_cut_off_a_log() {
    for ends in ["killed", "seen"] {
        let world = World::new();
        let (life, gate) = declare_twice(&world);
        cut_off_the_last_word(&world, &life, ends);
        if ends == "seen" {
            gate.open();
        }
        let (code, told) = world.wait(&life.id);
        assert_eq!(code, Some(3), "{ends}: {told}");
    }
}

/// What is left beside the log does not tell which word was the last, be it empty, garbage or gone: the log may have been cut.
#[test]
fn where_nothing_tells_which_word_was_the_last_no_code_is_passed_on_before_and_after_sealing() {
    for (left, ends) in [
        ("", "killed"),
        ("noise", "killed"),
        ("", "seen"),
        ("noise", "seen"),
        ("gone", "killed"),
        ("gone", "seen"),
    ] {
        let world = World::new();
        let (life, gate) = declare_twice(&world);
        cut_off_the_last_word(&world, &life, ends);
        let kept = world.dir(&life.id).join("declared");
        match left {
            "gone" => fs::remove_file(kept).expect("it is there"),
            left => put(&kept, left),
        }
        if ends == "seen" {
            gate.open();
        }
        for when in ["at first", "once sealed"] {
            let (code, told) = world.wait(&life.id);
            assert_eq!(code, Some(125), "{left:?}, {ends}, {when}: {told}");
            let why = world.abide.run(&["why", &life.id]).stdout;
            assert!(why.contains("no code is passed on"), "{left:?}, {ends}, {when}: {why}");
            let _ = world.abide.run(&["doctor", "--fix"]);
        }
    }
}

/// A file that is no result does not take the place of the word that was declared last and is cut off the log.
#[test]
fn what_is_no_result_hides_no_word_that_was_cut_off_before_and_after_sealing() {
    for ends in ["killed", "seen"] {
        let world = World::new();
        let (life, gate) = declare_twice(&world);
        put(&world.dir(&life.id).join("result.toml"), "garbage");
        cut_off_the_last_word(&world, &life, ends);
        if ends == "seen" {
            gate.open();
        }
        for when in ["at first", "once sealed"] {
            assert_eq!(world.wait(&life.id).0, Some(3), "{ends}, {when}");
            let _ = world.abide.run(&["doctor", "--fix"]);
        }
        let noted = world.told(&life.id, "noted");
        let says = |note: &Value| note["text"].as_str().is_some_and(|text| text.contains("is no result"));
        assert!(noted.iter().any(says), "{ends}: {noted:?}");
    }
}

#[test]
fn an_end_in_the_record_of_a_program_that_lives_is_not_believed() {
    let world = World::new();
    let over = world.launch(&[], &["sh", "-c", "exit 3"]);
    assert_eq!(world.wait(&over).0, Some(3));
    let life = world.live(&["trap-exit USR1 7", "print ready", "hang"]);
    life.until_shown("ready");
    fs::copy(world.dir(&over).join("outcome"), world.dir(&life.id).join("outcome")).expect("there is room");
    let told = life.inspect();
    assert_eq!((&told["status"], &told["wait_code"]), (&"running".into(), &Value::Null), "{told}");
    let why = world.abide.run(&["why", &life.id]).stdout;
    assert!(why.contains("the outcome file is another session's"), "{why}");
    let listed = world.abide.run(&["ls", "--json"]).json();
    let running = |one: &Value| one["id"] == life.id.as_str() && one["status"] == "running";
    assert!(listed["data"]["sessions"].as_array().is_some_and(|all| all.iter().any(running)), "{listed}");
    assert_eq!(world.abide.run(&["rm", &life.id]).code(), Some(5), "who lives is not removed");
    life.program.0.signal(Signal::USR1);
    assert_eq!(world.wait(&life.id).0, Some(7), "its own end is written over the other");
}

/// Both end with all their processes, and the one that is lost gets a file of the one whose end was seen.
#[test]
fn an_end_that_belongs_to_another_session_is_not_believed_of_a_lost_one() {
    let world = World::new();
    let over = world.launch(&[], &["sh", "-c", "exit 0"]);
    assert_eq!(world.wait(&over).0, Some(0));
    for (file, says) in
        [("outcome", "the outcome file is another session's"), ("evidence", "another session's record")]
    {
        let life = world.live(&["hang"]);
        kill_everyone(&life);
        fs::copy(world.dir(&over).join(file), world.dir(&life.id).join(file)).expect("there is room");
        for when in ["at first", "once the doctor was there"] {
            let (code, told) = world.wait(&life.id);
            assert_eq!((code, &told["status"]), (Some(125), &"unknown".into()), "{file}, {when}: {told}");
            let why = world.abide.run(&["why", &life.id]).stdout;
            assert!(why.contains(says), "{file}, {when}: {why}");
            let _ = world.abide.run(&["doctor", "--fix"]);
        }
        assert_eq!(world.abide.run(&["rm", "--force", &life.id]).code(), Some(0), "{file}");
    }
    assert_eq!(world.wait(&over).0, Some(0), "it is what it was");
    let missing = world.beside("no-such-program");
    assert_eq!(world.abide.run(&["run", "-d", "--name", "failed", "--", &missing]).code(), Some(127));
    let life = world.live(&["print ready", "hang"]);
    life.until_shown("ready");
    kill_everyone(&life);
    let failed = world.inspect("failed")["id"].as_str().expect("it has one").to_owned();
    fs::copy(world.dir(&failed).join("outcome"), world.dir(&life.id).join("outcome")).expect("there is room");
    assert_eq!(world.wait(&life.id).0, Some(125), "what has started has not failed to");
}

#[test]
fn a_program_whose_log_ends_with_its_launch_runs_and_is_typed_into() {
    let world = World::new();
    let life = world.live(&["print ready", "hang"]);
    life.until_shown("ready");
    life.helper("host", None);
    let log = world.dir(&life.id).join("evidence");
    let bytes = fs::read(&log).expect("it is there");
    let name = b"\"fact\":\"started\"";
    let at = bytes.windows(name.len()).position(|there| there == name).expect("it is on record");
    let line = bytes[..at].iter().rposition(|&byte| byte == b'\n').expect("a line");
    let cut = File::options().write(true).open(&log).and_then(|log| log.set_len(line as u64));
    cut.expect("it is ours");
    assert_eq!(life.inspect()["status"], "running");
    let typed = world.abide.run(&["type", &life.id, "x"]);
    assert_eq!(typed.code(), Some(0), "{typed:?}");
}
