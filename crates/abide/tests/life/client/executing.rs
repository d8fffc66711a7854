//! A line in the session's own shell: its code and its output are exact, and nothing else of it is ever seen.

mod habits;
mod prompts;
mod withdrawn;

use abide_testkit::deadline::until;
use abide_testkit::lines::{Dice, SHELLS};
use abide_testkit::tools::need;
use abide_testkit::{Ending, Ran, Terminal};

use crate::common::{Life, World, data};

const BASH: &[&str] = SHELLS[0];

fn shells() -> impl Iterator<Item = &'static [&'static str]> {
    SHELLS.into_iter()
}

fn shell<'a>(world: &'a World, command: &[&str]) -> Life<'a> {
    let _ = need(command[0]);
    let history = format!("HISTFILE={}", world.beside("history"));
    let life = world.observe(world.launch(&["--env", &history], command));
    life.helper("host", None);
    life
}

fn exec(world: &World, life: &Life<'_>, line: &str) -> Ran {
    world.abide.run(&["exec", &life.id, "--", line])
}

/// How often this stands in what is recorded.
fn recorded(world: &World, id: &str, piece: &[u8]) -> usize {
    let recording = std::fs::read(world.dir(id).join("recording")).expect("it is there");
    recording.windows(piece.len()).filter(|bytes| *bytes == piece).count()
}

fn check_random_lines(command: &[&str]) {
    const LINES: u32 = 12;
    const LARGEST: u64 = 8_000;
    let world = World::new();
    let life = shell(&world, command);
    let mut dice = Dice(7);
    for number in 0..LINES {
        let line = dice.line(LARGEST);
        let (ran, shown) = (exec(&world, &life, &line.text), String::from_utf8_lossy(&line.output));
        assert_eq!(
            (ran.code(), ran.stdout.as_str()),
            (Some(i32::from(line.code)), &*shown),
            "{number}: {}\n{}",
            line.text,
            ran.stderr
        );
        if number % 6 == 0 {
            let ran = exec(&world, &life, ")");
            assert!(ran.code().is_some_and(|code| (1..124).contains(&code)), "{ran:?}");
            assert_eq!(ran.stderr, "", "its shell complains, not abide");
        }
    }
    assert_unseen(&world, &life);
}

/// Nothing of what runs a line is in any view, nor in what the shell remembers.
fn assert_unseen(world: &World, life: &Life<'_>) {
    let exports: [&[&str]; 8] = [
        &["--format", "cast", "--input"],
        &["--format", "cast", "--cast-version", "2", "--input", "--redact"],
        &["--format", "cast", "--from", "#5"],
        &["--format", "txt"],
        &["--format", "txt", "--redact"],
        &["--format", "html"],
        &["--format", "svg"],
        &["--format", "html", "--redact"],
    ];
    let file = world.beside("exported");
    let exports = exports.map(|flags| {
        let ran = world.abide.run(&[&["export", &life.id, "-o", &file], flags].concat());
        assert_eq!(ran.code(), Some(0), "{flags:?} {ran:?}");
        ("export", std::fs::read_to_string(&file).expect("it was written"))
    });
    let history = exec(world, life, "history 2>/dev/null | cat; true");
    let mut views = vec![("history", history.stdout)];
    let now = format!("seq:{}", data(&world.abide.run(&["snapshot", "--json", &life.id]))["seq"]);
    for view in [
        &["snapshot", "--scrollback"][..],
        &["snapshot", "--at", &now, "--scrollback"],
        &["logs", "--raw"],
        &["logs"],
        &["marks"],
        &["diff", "--from", "+0s"],
        &["search", "--typed", "abide"],
        &["search", "exec-"],
    ] {
        let at: Vec<&str> =
            if view[0] == "search" { view.to_vec() } else { [view, &[life.id.as_str()]].concat() };
        let ran = world.abide.run(&at);
        assert!(ran.code() == Some(0) || view[0] == "search", "{ran:?}");
        views.push((view[0], ran.stdout));
    }
    views.push(("file of the history", std::fs::read_to_string(world.beside("history")).unwrap_or_default()));
    views.extend(exports);
    for (view, shown) in views {
        for secret in ["exec-", ";B\u{7}", r";B\u0007", "__abide", "builtin"] {
            assert!(!shown.contains(secret), "{view} shows {secret}: {shown}");
        }
    }
    let left = std::fs::read_dir(world.dir(&life.id)).expect("it is there").flatten();
    let left: Vec<_> =
        left.filter(|entry| entry.file_name().to_string_lossy().starts_with("exec-")).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn exec_of_many_random_lines_is_exact_in_every_shell() {
    std::thread::scope(|scope| {
        for command in shells() {
            scope.spawn(|| check_random_lines(command));
        }
    });
}

#[test]
fn exec_changes_its_shell_and_sees_the_code_before() {
    for command in shells() {
        let world = World::new();
        let life = shell(&world, command);
        let status = if command[0] == "fish" { "$status" } else { "$?" };
        assert_eq!(exec(&world, &life, "cd /; export A=7; sh -c 'exit 9'").code(), Some(9), "{command:?}");
        let ran = exec(&world, &life, &format!("echo {status} $A; pwd"));
        assert_eq!((ran.code(), ran.stdout.as_str()), (Some(0), "9 7\n/\n"), "{command:?}");
        let told = data(&world.abide.run(&["exec", "--json", &life.id, "--", "printf", r"'\377x'"]));
        assert_eq!((&told["exit_code"], &told["output_base64"]), (&0.into(), &"/3g=".into()), "{told}");
    }
}

#[test]
fn exec_of_a_line_with_a_secret_is_exported_without_it_and_as_if_typed() {
    let world = World::new();
    let life = shell(&world, BASH);
    assert_eq!(exec(&world, &life, "TOKEN=ghp_0123456789abcdef true").code(), Some(0));
    let file = world.beside("cast");
    for (flags, seen) in [(&["--input"][..], 2), (&["--input", "--redact"], 0)] {
        let export = [&["export", &life.id, "--format", "cast", "-o", &file], flags].concat();
        assert_eq!(world.abide.run(&export).code(), Some(0));
        let cast = std::fs::read_to_string(&file).expect("it was written");
        assert_eq!(cast.matches("ghp_01234").count(), seen, "{cast}");
        assert_eq!(cast.matches("\"i\", \"TOKEN=").count(), 1, "{cast}");
    }
}

#[test]
fn exec_is_refused_where_no_shell_waits() {
    for command in [&["cat"][..], &["python3", "-q"], &["vim", "-u", "NONE"], &["sh", "-c", "sleep 1000"]] {
        let world = World::new();
        let life = shell(&world, command);
        let ran = world.abide.run(&["exec", "--json", &life.id, "--", "echo no"]);
        let told = ran.json();
        assert_eq!(
            (ran.code(), &told["error"]["code"]),
            (Some(125), &"no_shell".into()),
            "{command:?} {told}"
        );
        assert!(told["error"]["message"].as_str().is_some_and(|why| why.contains(command[0])), "{told}");
        assert!(!world.shown(&life.id).contains("echo no"));
    }
}

#[test]
fn exec_of_what_ends_the_shell_says_so_at_once() {
    for command in shells() {
        let world = World::new();
        let life = shell(&world, command);
        let ran = world.abide.run(&["exec", "--json", &life.id, "--", "exit 3"]);
        let told = ran.json();
        assert_eq!(
            (ran.code(), &told["error"]["code"]),
            (Some(125), &"not_commandable".into()),
            "{command:?} {told}"
        );
        assert_eq!(told["error"]["status"], "exited", "{told}");
        assert_eq!(world.wait(&life.id).0, Some(3));
    }
}

#[test]
fn exec_of_what_ends_a_shell_inside_another_says_so_and_the_other_goes_on() {
    let world = World::new();
    let life = shell(&world, BASH);
    let inner = world.abide.run(&["exec", &life.id, "--timeout", "300ms", "--", "bash --norc"]);
    assert_eq!(inner.code(), Some(124), "{inner:?}");
    assert_eq!(exec(&world, &life, "echo inside").stdout, "inside\n");
    let ran = world.abide.run(&["exec", "--json", "--timeout", "20s", &life.id, "--", "echo bye; exit 3"]);
    let told = ran.json();
    assert_eq!((ran.code(), &told["error"]["code"]), (Some(125), &"interrupted".into()), "{told}");
    let message = told["error"]["message"].as_str().expect("text");
    assert!(message.ends_with("its shell has ended, and did not say how the line did"), "{told}");
    assert_eq!(told["data"]["output"], "bye\nexit\n", "{told}");
    assert_eq!(exec(&world, &life, "echo outside").stdout, "outside\n");
    assert_unseen(&world, &life);
}

#[test]
fn exec_that_takes_too_long_goes_on_unseen_and_another_is_refused() {
    let world = World::new();
    let life = shell(&world, BASH);
    let gate = crate::common::Gate::new(&world.beside("gate"));
    let line = format!("echo waits; read go < {}; echo gone", world.beside("gate"));
    let ran = world.abide.run(&["exec", &life.id, "--timeout", "300ms", "--", &line]);
    assert_eq!((ran.code(), ran.stdout.as_str()), (Some(124), "waits\n"), "{ran:?}");
    let at_once = || world.abide.run(&["snapshot", "--json", &life.id]);
    let live = data(&at_once());
    let at = live["seq"].to_string();
    let past = data(&world.abide.run(&["snapshot", "--json", "--at", &format!("seq:{at}"), &life.id]));
    assert_eq!((&live["hash"], &live["source"]), (&past["hash"], &"live".into()), "in the middle of a line");
    let other = world.abide.run(&["exec", "--json", &life.id, "--", "echo other"]);
    assert_eq!((other.code(), &other.json()["error"]["code"]), (Some(125), &"no_shell".into()), "{other:?}");
    gate.open();
    life.until_shown("gone");
    until("the next one runs", || exec(&world, &life, "echo next").stdout == "next\n");
    assert_unseen(&world, &life);
}

#[test]
fn exec_is_shown_to_whoever_is_attached_as_if_it_were_typed() {
    for command in shells() {
        let world = World::new();
        let life = shell(&world, command);
        assert_eq!(exec(&world, &life, "echo first").code(), Some(0));
        let mut attached = Terminal::start(&world.abide.command(&["attach", &life.id]));
        attached.until("echo first");
        assert_eq!(exec(&world, &life, "echo sec''ond").stdout, "second\n");
        let shown = attached.until("second\r\n");
        assert!(shown.contains("echo sec''ond\r\n"), "{command:?} {shown:?}");
        assert!(!shown.contains("exec-") && !shown.contains("7717"), "{command:?} {shown:?}");
        let (live, at) = (data(&world.abide.run(&["snapshot", "--json", &life.id])), "seq:");
        let past =
            world.abide.run(&["snapshot", "--json", "--at", &format!("{at}{}", live["seq"]), &life.id]);
        assert_eq!(live["lines"], data(&past)["lines"]);
        attached.type_in(b"\x1c\x1c");
        assert_eq!(attached.reap(), Ending::Exited(0));
    }
}

#[test]
fn exec_is_in_no_picture_film_or_playing() {
    std::thread::scope(|scope| {
        for command in shells() {
            scope.spawn(|| check_pictures(command));
        }
    });
}

fn check_pictures(command: &[&str]) {
    let world = World::new();
    let life = shell(&world, command);
    for line in ["echo first", "sh -c 'exit 3'", "echo last"] {
        assert!(exec(&world, &life, line).code().is_some(), "{command:?} {line}");
    }
    assert_eq!(world.abide.run(&["stop", "--grace", "0s", &life.id]).code(), Some(0));
    let drawn = |verb: &[&str], file: &str| {
        let path = world.beside(file);
        let ran = world.abide.run(&[verb, &["--json", "-o", &path, &life.id]].concat());
        assert_eq!(ran.code(), Some(0), "{command:?} {ran:?}");
        std::fs::read(path).expect("it was written")
    };
    let text = |file: Vec<u8>| String::from_utf8(file).expect("SVG is text");
    let entries =
        data(&world.abide.run(&["snapshot", "--json", &life.id]))["entry"].as_u64().expect("a count");
    let at = |entry: u64| text(drawn(&["screenshot", "--at", &format!("#{entry}")], "screen.svg"));
    let mut seen: Vec<String> = (1..=entries).map(at).collect();
    assert!(seen.last().is_some_and(|last| last.contains("echo last")), "{command:?} {seen:?}");
    seen.push(text(drawn(&["export"], "film.svg")));
    // What is in the others is what they are painted from.
    for (file, begins) in [("film.gif", &b"GIF89a"[..]), ("film.png", b"\x89PNG")] {
        assert!(drawn(&["export"], file).starts_with(begins), "{command:?} {file}");
    }
    let play = ["play", "--speed", "100", "--idle-limit", "10ms", &life.id];
    seen.push(Terminal::start(&world.abide.command(&play)).rest());
    for shown in seen {
        for secret in ["exec-", "7717", "__abide", "builtin", "history"] {
            assert!(!shown.contains(secret), "{command:?} shows {secret}: {shown}");
        }
    }
}

#[test]
fn exec_of_what_kills_the_shell_before_the_line_hides_none_of_its_last_words() {
    let world = World::new();
    let settings = world.beside("settings");
    let dies = "trap 'printf \"last %s\\n\" words; kill -9 $$' DEBUG\n";
    std::fs::File::create(&settings)
        .and_then(|mut file| std::io::Write::write_all(&mut file, dies.as_bytes()))
        .expect("there is room");
    let life = shell(&world, &["bash", "--rcfile", &settings]);
    let ran = world.abide.run(&["exec", "--json", &life.id, "--", "echo never"]);
    let error = &ran.json()["error"];
    assert_eq!((ran.code(), &error["code"]), (Some(125), &"not_commandable".into()), "{ran:?}");
    assert_eq!(world.wait(&life.id).0, Some(137));
    for view in [
        &["snapshot"][..],
        &["snapshot", "--at", "+1h"],
        &["logs"],
        &["logs", "--raw"],
        &["export", "--format", "txt"],
        &["export", "--format", "cast"],
        &["export", "--format", "cast", "--redact"],
        &["export", "--format", "svg"],
        &["search", "last words", "--session"],
        &["wait", "--text", "last words"],
    ] {
        let ran = world.abide.run(&[view, &[&life.id]].concat());
        let told = view[0] == "wait" || ran.stdout.contains("last words");
        assert!(ran.code() == Some(0) && told, "{view:?} {ran:?}");
    }
}

#[test]
fn exec_twice_at_once_runs_one_and_refuses_the_other_or_runs_both_in_turn() {
    let world = World::new();
    let life = shell(&world, BASH);
    assert_eq!(exec(&world, &life, "true").code(), Some(0));
    let lines = ["echo one; sleep 0.2", "echo two; sleep 0.2"];
    let both = std::thread::scope(|scope| {
        let started = lines.map(|line| scope.spawn(|| exec(&world, &life, line)));
        started.map(|one| one.join().expect("it ends"))
    });
    for (ran, shown) in both.iter().zip(["one\n", "two\n"]) {
        let done = (ran.code(), ran.stdout.as_str()) == (Some(0), shown);
        let refused = (ran.code(), ran.stdout.as_str()) == (Some(125), "");
        assert!(done || refused, "{ran:?}");
    }
    assert!(both.iter().any(|ran| ran.code() == Some(0)), "{both:?}");
}
