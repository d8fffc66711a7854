//! What cannot be driven: each refusal with its code, its words and its way out, the same for people and for programs.

use abide_testkit::Ran;
use abide_testkit::deadline::until;
use rustix::process::Signal;

use super::shell;
use crate::common::World;

/// What is refused, and in which words; `ID` stands for the session, `PID` for a number.
struct Golden {
    exit: i32,
    code: &'static str,
    message: &'static str,
    hint: &'static str,
    status: Option<&'static str>,
}

/// Asks twice, once as a program does, and holds both answers against the words.
fn check(world: &World, (id, command): (&str, &[&str]), golden: &Golden) {
    let words = |text: &str| {
        let mut known = text.replace(id, "ID");
        if let Some((before, behind)) = known.split_once("(pid ") {
            let behind = behind.trim_start_matches(|c: char| c.is_ascii_digit());
            known = format!("{before}(pid PID{behind}");
        }
        known
    };
    let verb: Vec<&str> = command.iter().map(|word| if *word == "ID" { id } else { word }).collect();
    let Ran { stdout, stderr, .. } = &world.abide.run(&verb);
    let expected = format!("abide: {}\nhint: {}\n", golden.message, golden.hint);
    assert_eq!((stdout.as_str(), words(stderr)), ("", expected), "{verb:?}");
    let ran = world.abide.run(&[&["--json"], verb.as_slice()].concat());
    let (code, answer) = (ran.code(), ran.json());
    assert_eq!(
        (code, &answer["ok"], &answer["command"]),
        (Some(golden.exit), &false.into(), &command[0].into())
    );
    let error = &answer["error"];
    let told = ["message", "hint"].map(|field| words(error[field].as_str().unwrap_or_default()));
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
    check(&world, (&life.id, &["type", "ID", "x"]), &golden);
    host.signal(Signal::CONT);
}
