//! Refusals on their way from a host to whoever asked: each code with its words, its way out and its exit code, as people and
//! as programs are told.

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};

use abide_core::failure::{Code, Failure};
use abide_core::status::{Column, Status};
use abide_core::wire::{Attendance, Inbox, LONGEST, Message, ToClient, ToHostFromClient, VERSION};
use abide_testkit::scene::{Scene, identity, idle};

use super::shell;
use crate::common::{Gate, World};

/// Every code, and what a command exits with that is refused so.
const CODES: &[(&str, i32)] = &[
    ("internal", 1),
    ("io", 1),
    ("unsafe_home", 1),
    ("permission", 1),
    ("unhealthy", 1),
    ("usage", 2),
    ("bad_time", 2),
    ("bad_config", 2),
    ("bad_key", 2),
    ("bad_settings", 2),
    ("line_too_long", 2),
    ("no_such_session", 3),
    ("no_such_process", 3),
    ("ambiguous", 4),
    ("name_in_use", 6),
    ("busy", 6),
    ("conversation_in_use", 6),
    ("already_followed", 6),
    ("checkpoint_newer", 6),
    ("would_overwrite", 6),
    ("no_checkpoint", 2),
    ("damaged", 7),
    ("inside_itself", 5),
    ("no_terminal", 5),
    ("no_shell", 5),
    ("no_agent", 5),
    ("another_conversation", 5),
    ("wants_person", 5),
    ("no_turn", 124),
    ("interrupted", 5),
    ("outdated", 5),
    ("read_only", 5),
    ("no_answer", 8),
    ("unresponsive", 8),
    ("timed_out", 124),
    ("not_active", 5),
    ("not_terminal", 5),
    ("not_commandable", 5),
    ("not_stoppable", 5),
    ("no_live_host", 5),
    ("no_offline_replay", 5),
    ("not_collectable", 5),
    ("not_destroyed", 5),
];

/// A host that refuses whoever comes with one code after the other, each as often as it is asked.
fn refuse(listener: &UnixListener, codes: &[Code]) {
    for code in codes {
        let failure = Failure::new(*code, format!("{}: it is \"so\"\n\u{1b}[2J", code.name()));
        let failure = failure.hint("do \u{e4} instead").about("elsewhere").in_status(Status::ALL[0]);
        let said = ToClient::Refused(failure).to_stream();
        for _ in 0..2 {
            let (mut client, _) = listener.accept().expect("somebody comes");
            client.write_all(&said).expect("it hears");
            let _ = client.read_to_end(&mut Vec::new());
        }
    }
}

#[test]
fn every_code_that_a_host_sends_is_told_with_all_its_fields_as_text_and_as_json() {
    let world = World::new();
    let living = [idle(), idle(), idle()];
    let [guard, host, program] = living.each_ref().map(identity);
    let scene = Scene::new(&world.home.path(), "refuses0").served(&guard, &host, &program);
    let alive = Gate::new(scene.dir().join("alive").to_str().expect("it is text"));
    let _held = alive.hold();
    let listener = UnixListener::bind(scene.dir().join("socket")).expect("there is room");
    let columns = Column::ALL.iter().map(|column| Code::Column(*column));
    let codes: Vec<Code> = Code::ALL.iter().copied().chain(columns).collect();
    let names: Vec<&str> = codes.iter().map(|code| code.name()).collect();
    assert_eq!(names, CODES.iter().map(|(name, _)| *name).collect::<Vec<_>>(), "each has its golden");
    let refusing = std::thread::spawn(move || refuse(&listener, &codes));
    for (name, exit) in CODES {
        let text = world.abide.run(&["type", "refuses0", "x"]);
        // People see no control character of it.
        let told =
            format!("abide: session refuses0: {name}: it is \"so\"\\n\\x1b[2J\nhint: do \u{e4} instead\n");
        assert_eq!(
            (text.code(), text.stdout.as_str(), text.stderr.as_str()),
            (Some(*exit), "", told.as_str())
        );
        let json = world.abide.run(&["type", "--json", "refuses0", "x"]);
        let told = format!(
            "{{\"schema\":\"abide/1\",\"ok\":false,\"command\":\"type\",\"error\":{{\"code\":\"{name}\",\
             \"message\":\"session refuses0: {name}: it is \\\"so\\\"\\n\\u001b[2J\",\
             \"hint\":\"do \u{e4} instead\",\"session\":\"refuses0\",\"status\":\"running\"}}}}\n"
        );
        assert_eq!(
            (json.code(), json.stdout.as_str(), json.stderr.as_str()),
            (Some(*exit), told.as_str(), "")
        );
    }
    refusing.join().expect("all were asked");
}

/// What a host says to one who speaks to it as a client does, up to its first refusal.
fn refused_by(socket: &std::path::Path, said: &[ToHostFromClient]) -> Failure {
    let mut host = UnixStream::connect(socket).expect("it listens");
    for message in said {
        host.write_all(&message.to_stream()).expect("it hears");
    }
    let mut inbox = Inbox::new(LONGEST);
    loop {
        let mut bytes = [0; 4096];
        let length = host.read(&mut bytes).expect("it answers");
        assert_ne!(length, 0, "it hung up");
        inbox.feed(&bytes[..length]);
        while let Some(message) = inbox.take::<ToClient>().expect("it makes sense") {
            if let ToClient::Refused(failure) = message {
                return failure;
            }
        }
    }
}

#[test]
fn who_looks_on_and_types_all_the_same_is_refused_by_the_host() {
    let world = World::new();
    let life = shell(&world);
    let size = abide_core::evidence::Size { cols: 80, rows: 24 };
    let tagged = abide_core::wire::Tagged { client: 7, seq: 1, tag: b"{}".to_vec(), bytes: b"x".to_vec() };
    for typed in [
        ToHostFromClient::Input { seq: 1, bytes: b"never".to_vec() },
        ToHostFromClient::Resize(size),
        ToHostFromClient::Exec { seen: 0, tagged },
    ] {
        let said = [
            ToHostFromClient::Hello { version: VERSION, client: 7 },
            ToHostFromClient::Attach { size, role: Attendance::first(true) },
            typed,
        ];
        let refusal = Failure::new(Code::ReadOnly, "this client is attached read-only");
        let expected = refusal.hint("attach without --read-only to type");
        assert_eq!(refused_by(&world.dir(&life.id).join("socket"), &said), expected);
    }
    assert!(!world.shown(&life.id).contains("never"));
}

#[test]
fn who_would_show_a_session_inside_itself_is_refused_with_the_way_out() {
    let world = World::new();
    let life = shell(&world);
    let command = world.abide.command(&[]);
    let program = command.get_program().to_str().expect("it is text").to_owned();
    let inner = format!("{program} attach {}", life.id);
    let text = world.abide.run(&["exec", &life.id, "--", &inner]);
    let told = format!(
        "abide: this runs inside session {id}, which cannot be shown inside itself\nhint: `abide attach {id}` in a \
         terminal outside of it; `abide logs {id}` reads it here\n",
        id = life.id
    );
    assert_eq!((text.code(), text.stdout.as_str()), (Some(5), told.as_str()), "{text:?}");
    let json = world.abide.run(&["exec", &life.id, "--", &format!("{inner} --json")]);
    let told: serde_json::Value = serde_json::from_str(&json.stdout).expect("an answer");
    let error = &told["error"];
    assert_eq!((json.code(), &error["code"]), (Some(5), &"inside_itself".into()), "{told}");
    assert_eq!(
        (&error["session"], &error["status"]),
        (&life.id.as_str().into(), &"running".into()),
        "{told}"
    );
}
