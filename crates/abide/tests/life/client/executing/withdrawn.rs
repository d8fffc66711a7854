//! Lines that come to nothing, or to no code: nothing is hidden afterwards, and what they wrote is told.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;

use abide_core::recording::veil::{self, Tag};
use abide_core::wire::{Message, Tagged, ToHostFromClient, VERSION};
use abide_testkit::Ending;
use abide_testkit::deadline::until;
use abide_testkit::tools::need;
use rustix::process::Signal;

use super::{BASH, assert_unseen, exec, recorded, shell, shells};
use crate::common::{Gate, Life, World};

#[test]
fn a_line_that_a_stopped_guard_did_not_take_never_runs_and_hides_nothing() {
    std::thread::scope(|scope| {
        for command in shells() {
            scope.spawn(|| check_stopped_guard(command));
        }
    });
}

fn check_stopped_guard(command: &[&str]) {
    let world = World::new();
    let life = shell(&world, command);
    assert_eq!(exec(&world, &life, "echo first").stdout, "first\n", "{command:?}");
    let guard = life.helper("guard", None);
    guard.signal(Signal::STOP);
    until("it stands still", || life.inspect()["processes"]["guard"]["qualifier"] == "stopped");
    let file = world.beside("ran");
    let ran = world.abide.run(&["exec", "--json", &life.id, "--", &format!("echo ran >{file}")]);
    let told = ran.json()["error"].clone();
    assert_eq!((ran.code(), &told["code"]), (Some(125), &"unresponsive".into()), "{told}");
    let message = told["message"].as_str().unwrap_or_default();
    assert!(message.contains(&format!("guard (pid {}: is alive, stopped)", guard.pid())), "{message}");
    guard.signal(Signal::CONT);
    // The guard types nothing of the line that was withdrawn, and nobody is kept from seeing what follows.
    let ran = world.abide.run(&["type", &life.id, "echo visi'ble'", "--enter"]);
    assert_eq!(ran.code(), Some(0), "{ran:?}");
    let ran = world.abide.run(&["wait", &life.id, "--text", "visible", "--timeout", "50s"]);
    assert_eq!(ran.code(), Some(0), "{command:?}: {ran:?}");
    let shown = world.shown(&life.id);
    assert!(shown.contains("visible") && !shown.contains("^C"), "{command:?}: {shown}");
    assert_unseen(&world, &life);
    until("a line runs again", || exec(&world, &life, "echo again").stdout == "again\n");
    assert!(!std::path::Path::new(&file).exists(), "{command:?}: it ran");
}

/// A client that its host knows.
fn client(world: &World, life: &Life<'_>, client: u64) -> UnixStream {
    let mut stream = UnixStream::connect(world.dir(&life.id).join("socket")).expect("it is served");
    stream.write_all(&ToHostFromClient::Hello { version: VERSION, client }.to_stream()).expect("it hears");
    stream.read_exact(&mut [0]).expect("it is welcome");
    stream
}

/// Types what runs a line.
fn types(client: u64, nonce: &str, (line, typed): (&str, &str)) -> Vec<u8> {
    let tag = Tag { nonce: nonce.to_owned(), line: line.to_owned(), ..Tag::begin() };
    let tagged = Tagged { client, seq: 1, tag: tag.to_bytes(), bytes: format!("{typed}\r").into_bytes() };
    ToHostFromClient::Exec { seen: u64::MAX, tagged }.to_stream()
}

/// It goes, and the host knows that: it has heard all once it hangs up.
fn leaves(mut client: UnixStream) {
    let _ = client.shutdown(Shutdown::Write);
    let _ = client.read_to_end(&mut Vec::new());
}

#[test]
fn a_line_that_is_typed_just_as_its_client_goes_shows_nothing_of_what_runs_it() {
    const LOOKS: usize = 2_000;
    let world = World::new();
    let life = shell(&world, BASH);
    assert_eq!(exec(&world, &life, "seq 5000").code(), Some(0));
    for number in 10..20 {
        let path = world.beside(&format!("gate-{number}"));
        let gate = Gate::new(&path);
        let _held = gate.hold();
        let nonce = format!("0123456789abcdef01{number}");
        let printed = |sequence: String| sequence.replace('\x1b', "\\033").replace('\x07', "\\007");
        let [begins, ends] = [veil::begins(&nonce), veil::ends(&nonce)].map(printed);
        let line = format!("echo line-{number}");
        let typed = format!("read <{path}; printf '{begins}'; {line}; printf '{ends}0\\007'");
        let mut it = client(&world, &life, number);
        // What is no message has its host let go of it, in the same turn and behind all the rest: so the host cannot know yet
        // that the line is typed.
        let looks = ToHostFromClient::Snapshot.to_stream().repeat(LOOKS);
        let bytes = [types(number, &nonce, (&line, &typed)), looks, vec![0xff; 16]].concat();
        it.write_all(&bytes).expect("it hears");
        leaves(it);
        gate.open();
        until("a line runs again", || exec(&world, &life, "echo again").stdout == "again\n");
        let shown = world.shown(&life.id);
        assert!(!shown.contains("printf"), "{}", &shown[shown.len().saturating_sub(900)..]);
    }
}

#[test]
fn a_line_that_a_stopped_guard_did_not_take_before_its_client_was_gone_never_runs_and_hides_nothing() {
    let world = World::new();
    let life = shell(&world, BASH);
    assert_eq!(exec(&world, &life, "echo first").stdout, "first\n");
    let guard = life.helper("guard", None);
    guard.signal(Signal::STOP);
    until("it stands still", || life.inspect()["processes"]["guard"]["qualifier"] == "stopped");
    let file = world.beside("ran");
    let line = format!("echo ran >{file}");
    let mut it = client(&world, &life, 7);
    it.write_all(&types(7, "0123456789abcdef0123", (&line, &line))).expect("it hears");
    leaves(it);
    guard.signal(Signal::CONT);
    let ran = world.abide.run(&["type", &life.id, "echo visi'ble'", "--enter"]);
    assert_eq!(ran.code(), Some(0), "{ran:?}");
    let ran = world.abide.run(&["wait", &life.id, "--text", "visible", "--timeout", "15s"]);
    assert_eq!(ran.code(), Some(0), "{ran:?}");
    assert!(!std::path::Path::new(&file).exists(), "it ran: {}", world.shown(&life.id));
    until("a line runs again", || exec(&world, &life, "echo again").stdout == "again\n");
}

#[test]
fn a_line_whose_end_a_stopped_guard_has_not_recorded_yet_is_not_taken_for_broken_off() {
    std::thread::scope(|scope| {
        for command in shells() {
            scope.spawn(|| check_unrecorded_end(command));
        }
    });
}

fn check_unrecorded_end(command: &[&str]) {
    let world = World::new();
    let life = shell(&world, command);
    let gate = Gate::new(&world.beside("gate"));
    let line = format!("echo waits; sh -c 'read go <{}; exit 7'", world.beside("gate"));
    let mut client = world.start(&["exec", "--json", "--timeout", "8s", &life.id, "--", &line]);
    life.until_shown("waits\r\n");
    let guard = life.helper("guard", None);
    guard.signal(Signal::STOP);
    until("it stands still", || life.inspect()["processes"]["guard"]["qualifier"] == "stopped");
    gate.open();
    let told: serde_json::Value = serde_json::from_str(&client.line()).expect("an answer");
    assert_eq!(client.reap(), Ending::Exited(124), "{command:?} {told}");
    let message = told["error"]["message"].as_str().unwrap_or_default();
    assert!(message.ends_with("the line has ended, and how is not on record yet"), "{command:?} {told}");
    guard.signal(Signal::CONT);
}

#[test]
fn what_a_line_wrote_that_ended_its_shell_is_told_in_every_form() {
    for (form, line) in [("exec", "echo hi; exit 3"), ("batch", "exec -- 'echo hi; exit 3'")] {
        let world = World::new();
        let life = shell(&world, BASH);
        let dashes: &[&str] = if form == "exec" { &["--"] } else { &[] };
        let ran = world.abide.run(&[&[form, "--json", &life.id], dashes, &[line]].concat());
        let told = ran.json();
        let told = if form == "exec" { told } else { told["data"]["steps"][0].clone() };
        assert_eq!((ran.code(), &told["error"]["code"]), (Some(125), &"not_commandable".into()), "{told}");
        assert_eq!(told["data"]["output"], "hi\nexit\n", "{told}");
    }
}

#[test]
fn what_a_killed_exec_had_begun_to_type_is_in_nobodys_way_and_hides_nothing() {
    let world = World::new();
    let life = shell(&world, &[need("zsh"), "-f"]);
    // What is awaited before the rest is typed never comes.
    let line = "bindkey -s '^X*' x; bindkey -s '^I' y";
    assert_eq!(exec(&world, &life, line).code(), Some(0));
    let mut killed = world.abide.command(&["exec", &life.id, "--", "echo ki''lled"]);
    let mut killed = killed.spawn().expect("it starts");
    until("it has begun", || recorded(&world, &life.id, b"\"echo ki''lled\"") > 0);
    killed.kill().expect("it is ours");
    let _ = killed.wait();
    let ran = world.abide.run(&["type", &life.id, "echo visi'ble'", "--enter"]);
    assert_eq!(ran.code(), Some(0), "{ran:?}");
    let ran = world.abide.run(&["wait", &life.id, "--text", "visible", "--timeout", "15s"]);
    assert_eq!(ran.code(), Some(0), "{ran:?} {}", world.shown(&life.id));
    assert!(!world.shown(&life.id).contains("\nkilled"));
}

#[test]
fn exec_in_zsh_sees_what_it_typed_whatever_else_is_shown_meanwhile() {
    let world = World::new();
    let life = shell(&world, &[need("zsh"), "-f"]);
    assert_eq!(exec(&world, &life, "(while echo noise; do sleep 0.01; done) &").code(), Some(0));
    for number in 1..=5 {
        let ran = exec(&world, &life, "true");
        assert_eq!(ran.code(), Some(0), "{ran:?}");
        assert_eq!(recorded(&world, &life.id, b"\"phase\":\"more\""), number + 1, "it is typed in two steps");
    }
}

#[test]
fn what_runs_in_the_background_is_shown_whole_however_many_lines_are_run_meanwhile() {
    for command in [BASH, &["dash"]] {
        let world = World::new();
        let life = shell(&world, command);
        let (stop, said) = (world.beside("stop"), world.beside("said"));
        let noise = format!(
            "n=0; while ! test -e {stop}; do n=$((n+1)); echo noise $n; sleep 0.002; done; echo $n >{said}"
        );
        assert_eq!(exec(&world, &life, &format!("sh -c '{noise}' &")).code(), Some(0), "{command:?}");
        for number in 0..15 {
            let ran = exec(&world, &life, &format!("true {number}"));
            assert_eq!(ran.code(), Some(0), "{command:?} {ran:?}");
        }
        drop(std::fs::File::create(&stop).expect("there is room"));
        let mut last = String::new();
        until("all of it is said", || {
            last = std::fs::read_to_string(&said).unwrap_or_default();
            last.ends_with('\n')
        });
        life.until_shown(&format!("noise {}", last.trim_end()));
        let logs = world.abide.run(&["logs", "--raw", &life.id]).stdout;
        let number = |line: &str| line.chars().take_while(char::is_ascii_digit).collect::<String>().parse();
        let lines: Vec<u64> = logs.split("noise ").skip(1).filter_map(|line| number(line).ok()).collect();
        let all: Vec<u64> = (1..=last.trim_end().parse().expect("a number")).collect();
        let missing = all.iter().filter(|number| !lines.contains(number)).count();
        assert_eq!((missing, lines.len()), (0, all.len()), "{command:?}");
        assert_unseen(&world, &life);
    }
}
