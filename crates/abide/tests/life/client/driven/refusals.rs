//! What cannot be driven: each refusal with its code, its words and its way out, the same for people and for programs.

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};

use abide_core::wire::{CLIENTS, Message, ToClient};
use abide_testkit::Ran;
use abide_testkit::deadline::until;
use abide_testkit::scene::{Scene, identity, idle};
use rustix::process::Signal;

use super::{met, shell};
use crate::common::{Gate, World};

/// What is refused, and in which words; `ID` stands for the session, `PID` for a number.
pub(super) struct Golden {
    pub(super) exit: i32,
    pub(super) code: &'static str,
    pub(super) message: &'static str,
    pub(super) hint: &'static str,
    pub(super) status: Option<&'static str>,
}

/// Asks twice, once as a program does, and holds both answers against the words.
pub(super) fn check(world: &World, (id, command): (&str, &[&str]), golden: &Golden) {
    let verb: Vec<&str> = command.iter().map(|word| if *word == "ID" { id } else { word }).collect();
    check_text(id, &world.abide.run(&verb), golden);
    check_json((id, command[0]), &world.abide.run(&[&["--json"], verb.as_slice()].concat()), golden);
}

/// What was said, as it is said of every session.
fn words(id: &str, text: &str) -> String {
    let known = text.replace(id, "ID");
    match known.split_once("(pid ") {
        Some((before, behind)) => {
            let behind = behind.trim_start_matches(|c: char| c.is_ascii_digit());
            format!("{before}(pid PID{behind}")
        }
        None => known,
    }
}

fn check_text(id: &str, ran: &Ran, golden: &Golden) {
    let expected = format!("abide: {}\nhint: {}\n", golden.message, golden.hint);
    assert_eq!((ran.stdout.as_str(), words(id, &ran.stderr)), ("", expected), "{ran:?}");
}

fn check_json((id, verb): (&str, &str), ran: &Ran, golden: &Golden) {
    let (code, answer) = (ran.code(), ran.json());
    assert_eq!((code, &answer["ok"], &answer["command"]), (Some(golden.exit), &false.into(), &verb.into()));
    let error = &answer["error"];
    let told = ["message", "hint"].map(|field| words(id, error[field].as_str().unwrap_or_default()));
    assert_eq!(told, [golden.message, golden.hint]);
    assert_eq!(error["code"], golden.code, "{answer}");
    let session = golden.status.map(|_| id);
    assert_eq!((error["status"].as_str(), error["session"].as_str()), (golden.status, session), "{answer}");
}

#[test]
fn who_is_over_or_has_no_terminal_is_not_driven_and_the_refusal_says_so() {
    let world = World::new();
    let over = world.launch(&[], &["true"]);
    assert_eq!(world.wait(&over).0, Some(0));
    for command in [
        &["type", "ID", "x"][..],
        &["keys", "ID", "Enter"],
        &["paste", "ID", "x"],
        &["resize", "ID", "90x20"],
    ] {
        let golden = Golden {
            exit: 5,
            code: "not_commandable",
            message: "session ID is exited: its program is over, and how it ended is on record",
            hint: "`abide why ID` shows the proof",
            status: Some("exited"),
        };
        check(&world, (&over, command), &golden);
    }
    let piped = world.observe(world.run(&["--no-tty"], &["hang"]));
    for command in [&["type", "ID", "x"][..], &["keys", "ID", "Enter"], &["resize", "ID", "90x20"]] {
        let golden = Golden {
            exit: 5,
            code: "no_terminal",
            message: "session ID has no terminal, only pipes",
            hint: "run the program without --no-tty",
            status: Some("running"),
        };
        check(&world, (&piped.id, command), &golden);
    }
}

#[test]
fn what_no_program_there_could_take_is_refused_with_the_reason() {
    let world = World::new();
    let cat = world.observe(world.launch(&[], &["cat"]));
    cat.helper("host", None);
    let long = "x".repeat(5_000);
    let goldens: [(&[&str], Golden); 4] = [
        (
            &["exec", "ID", "--", "true"],
            Golden {
                exit: 125,
                code: "no_shell",
                message: "cannot run a line in session ID: no shell waits at its prompt: `cat` runs there",
                hint: "`abide snapshot ID` shows what is there; `abide type ID` types into any program",
                status: Some("running"),
            },
        ),
        (
            &["keys", "ID", "NoKey"],
            Golden {
                exit: 2,
                code: "bad_key",
                message: "`NoKey` is no key",
                hint: "`abide keys --help` names them; `abide type` takes text",
                status: None,
            },
        ),
        (
            &["keys", "ID", "click:1,1"],
            Golden {
                exit: 2,
                code: "bad_key",
                message: "click:1,1 cannot be pressed in session ID now: the program does not listen to the mouse",
                hint: "`abide snapshot ID` shows what is there; nothing was sent",
                status: Some("running"),
            },
        ),
        (
            &["type", "ID", &long],
            Golden {
                exit: 2,
                code: "line_too_long",
                message: "the program of session ID reads whole lines, and a terminal keeps 4095 bytes of one: 5000 are too many",
                hint: "send shorter lines, or hand the text over in a file",
                status: Some("running"),
            },
        ),
    ];
    for (command, golden) in &goldens {
        check(&world, (&cat.id, command), golden);
    }
}

#[test]
fn who_attaches_without_a_terminal_is_told_how_the_session_stands() {
    let world = World::new();
    let life = shell(&world);
    let golden = Golden {
        exit: 2,
        code: "usage",
        message: "attaching needs a terminal",
        hint: "use `abide logs -f` or `abide wait` where there is none",
        status: Some("running"),
    };
    check(&world, (&life.id, &["attach", "ID"]), &golden);
}

#[test]
fn a_host_that_stands_still_is_called_unresponsive_with_the_way_on() {
    let world = World::new();
    let life = shell(&world);
    let host = life.helper("host", None);
    host.signal(Signal::STOP);
    until("it stands still", || life.inspect()["processes"]["host"]["qualifier"] == "stopped");
    let golden = Golden {
        exit: 8,
        code: "unresponsive",
        message: "the host of session ID (pid PID: is alive, stopped) does not answer",
        hint: "the program goes on: `abide logs ID` and `abide snapshot ID` do without the host; once it is continued or \
               killed, try again",
        status: Some("running"),
    };
    for command in [&["type", "ID", "x"][..], &["mark", "ID", "here"]] {
        check(&world, (&life.id, command), &golden);
    }
    host.signal(Signal::CONT);
}

#[test]
fn a_guard_that_stands_still_is_named_and_not_the_program_or_the_host() {
    let world = World::new();
    let life = shell(&world);
    life.helper("host", None);
    let guard = life.helper("guard", None);
    guard.signal(Signal::STOP);
    until("it stands still", || life.inspect()["processes"]["guard"]["qualifier"] == "stopped");
    let commands: [(&[&str], &str); 3] = [
        (
            &["type", "ID", "x", "--timeout", "200ms"],
            "the guard of session ID (pid PID: is alive, stopped) does not answer; at least 0 of 1 bytes are in its \
             terminal, and more may follow",
        ),
        (&["mark", "ID", "here"], "the guard of session ID (pid PID: is alive, stopped) does not answer"),
        (&["resize", "ID", "90x30"], "the guard of session ID (pid PID: is alive, stopped) does not answer"),
    ];
    for (command, message) in commands {
        let golden = Golden {
            exit: 8,
            code: "unresponsive",
            message,
            hint: "the program goes on: `abide logs ID` and `abide snapshot ID` do without the guard; once it is continued \
                   or killed, try again",
            status: Some("running"),
        };
        check(&world, (&life.id, command), &golden);
    }
    guard.signal(Signal::CONT);
}

#[test]
fn who_comes_when_nobody_more_is_served_is_told_that_it_is_busy() {
    let world = World::new();
    let life = shell(&world);
    life.helper("host", None);
    let socket = world.dir(&life.id).join("socket");
    let _others: Vec<UnixStream> =
        (0..CLIENTS).map(|_| UnixStream::connect(&socket).expect("it listens")).collect();
    let golden = Golden {
        exit: 6,
        code: "busy",
        message: "session ID: 256 clients are connected, and no more are served",
        hint: "try again when fewer clients are connected",
        status: Some("running"),
    };
    check(&world, (&life.id, &["type", "ID", "x"]), &golden);
}

#[test]
fn a_line_while_another_is_about_to_run_is_told_that_it_is_busy() {
    let world = World::new();
    let settings = world.beside("settings");
    // Enter does nothing there, so no line ever begins; and whoever sent the first one is killed, and does not take it back.
    let deaf = File::create(&settings).and_then(|mut file| file.write_all(b"bind -r '\\C-m'\nPS1='% '\n"));
    deaf.expect("there is room");
    let life = world.observe(world.launch(&[], &["bash", "--rcfile", &settings]));
    met(&world, &["--text", "% ", &life.id]);
    let mut first = world.start(&["exec", &life.id, "--", "true"]);
    let recording = world.dir(&life.id).join("recording");
    let is_tagged = || {
        let bytes = std::fs::read(&recording).expect("there is one");
        bytes.windows(15).any(|some| some == b"\"phase\":\"begin\"")
    };
    until("its tag is on record", is_tagged);
    first.kill();
    let golden = Golden {
        exit: 125,
        code: "busy",
        message: "session ID: another exec is in the middle",
        hint: "try again when it is over",
        status: Some("running"),
    };
    check(&world, (&life.id, &["exec", "ID", "--", "true"]), &golden);
}

#[test]
fn what_is_not_done_in_time_is_told_with_what_goes_on() {
    let world = World::new();
    let golden = Golden {
        exit: 124,
        code: "timed_out",
        message: "cannot run a line in session ID: the line has not ended yet, and goes on",
        hint: "`abide snapshot ID` shows what it does, `abide keys ID Ctrl-C` ends it",
        status: Some("running"),
    };
    let late = |flags: &[&str]| {
        let life = shell(&world);
        let line = ["exec", "--timeout", "100ms", &life.id, "--", "sleep 1000"];
        let ran = world.abide.run(&[flags, &line].concat());
        assert_eq!(ran.code(), Some(golden.exit), "{ran:?}");
        (life, ran)
    };
    let (life, ran) = late(&[]);
    check_text(&life.id, &ran, &golden);
    let (life, ran) = late(&["--json"]);
    check_json((&life.id, "exec"), &ran, &golden);
}

#[test]
fn a_line_that_is_broken_off_is_told_to_be_interrupted() {
    let world = World::new();
    let golden = Golden {
        exit: 125,
        code: "interrupted",
        message: "cannot run a line in session ID: the line was broken off by Ctrl-C",
        hint: "`abide snapshot ID` shows what is there",
        status: Some("running"),
    };
    let broken = |flags: &[&str]| {
        let life = shell(&world);
        let line = [flags, &["exec", &life.id, "--", "printf '\\033]2;begun\\007'; sleep 1000"]].concat();
        let ran = std::thread::scope(|scope| {
            let running = scope.spawn(|| world.abide.run(&line));
            until("it runs", || life.inspect()["screen"]["title"] == "begun");
            assert_eq!(world.abide.run(&["keys", &life.id, "Ctrl-C"]).code(), Some(0));
            running.join().expect("it was run")
        });
        (life, ran)
    };
    let (life, ran) = broken(&[]);
    // Nobody says where the line ended, so what its terminal showed of the key is printed too.
    let plain = Ran { stdout: String::new(), ..ran };
    check_text(&life.id, &plain, &golden);
    let (life, ran) = broken(&["--json"]);
    check_json((&life.id, "exec"), &ran, &golden);
}

/// The test plays the host: one of before `exec` was known.
#[test]
fn a_host_of_an_older_version_is_called_outdated_with_the_way_on() {
    let world = World::new();
    let living = [idle(), idle(), idle()];
    let [guard, host, program] = living.each_ref().map(identity);
    let scene = Scene::new(&world.home.path(), "older000").served(&guard, &host, &program);
    let alive = Gate::new(scene.dir().join("alive").to_str().expect("it is text"));
    let _held = alive.hold();
    let listener = UnixListener::bind(scene.dir().join("socket")).expect("there is room");
    let golden = Golden {
        exit: 125,
        code: "outdated",
        message: "cannot run a line in session ID: whoever serves it did not take the line, and may be of a version before exec",
        hint: "`abide upgrade ID` makes it go on as this version",
        status: Some("running"),
    };
    std::thread::spawn(move || {
        let welcome = ToClient::Welcome { version: 2, generation: 1 }.to_stream();
        for mut client in listener.incoming().flatten() {
            client.write_all(&welcome).expect("it hears");
            // Until it leaves.
            let _ = client.read_to_end(&mut Vec::new());
        }
    });
    check(&world, (scene.id(), &["exec", "ID", "--", "true"]), &golden);
}
