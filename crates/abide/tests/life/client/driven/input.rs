//! Text, keys and pastes: all of it arrives, in its order, as a terminal would send it now.

use std::fs;
use std::io::Write;

use super::{met, shell, type_line};
use crate::common::{Life, World, data};

#[test]
fn a_line_that_is_typed_is_read_as_one_and_its_answer_has_a_baseline() {
    let world = World::new();
    let life = shell(&world);
    let since = type_line(&world, &life, "echo one; echo t'w'o");
    let told = met(&world, &["--text", "two", "--since", &since, &life.id]);
    assert_eq!((told["met"].as_bool(), told["ended"].as_bool()), (Some(true), Some(false)), "{told}");
    let none = world.abide.run(&["type", "--json", &life.id, ""]);
    assert_eq!((none.code(), &none.json()["error"]["code"]), (Some(2), &"usage".into()));
    let file = world.abide.run(&["type", &life.id, "--file", "/nowhere", "x"]);
    assert_eq!(file.code(), Some(2), "not both: {file:?}");
}

/// Text of so many lines that are all alike.
fn lines(word: &str, count: usize) -> String {
    format!("{word}\n").repeat(count)
}

fn put(world: &World, name: &str, text: &str) -> String {
    let path = world.beside(name);
    let file = fs::File::create(&path);
    file.and_then(|mut file| file.write_all(text.as_bytes())).expect("there is room");
    path
}

/// Has all that is typed written to a file, up to its end, which is said to be `done`. The shell asks for nothing any more.
fn reads_into(world: &World, life: &Life<'_>, to: &str) {
    type_line(world, life, &format!("stty -echo; echo 'rea'dy; cat > {to}; echo 'do'ne"));
    met(world, &["--text", "ready", &life.id]);
}

#[test]
fn megabytes_that_are_pasted_arrive_whole_while_another_looks_on() {
    let world = World::new();
    let life = shell(&world);
    let text: String = (0..130_000).map(|number| format!("{number:015}\n")).collect();
    let (from, to) = (put(&world, "from", &text), world.beside("to"));
    reads_into(&world, &life, &to);
    std::thread::scope(|scope| {
        let pasted = scope.spawn(|| world.abide.run(&["paste", "--json", &life.id, "--file", &from]));
        while !pasted.is_finished() {
            let looked = world.abide.run(&["snapshot", "--json", &life.id]);
            assert_eq!(data(&looked)["source"], "live", "{looked:?}");
        }
        let pasted = pasted.join().expect("it was run");
        assert_eq!(data(&pasted)["bytes"], text.len(), "{pasted:?}");
    });
    assert_eq!(world.abide.run(&["keys", &life.id, "Ctrl-D"]).code(), Some(0));
    met(&world, &["--text", "done", &life.id]);
    assert!(fs::read_to_string(to).expect("it was written") == text, "something was lost");
}

#[test]
fn what_two_paste_at_once_is_not_mixed() {
    let world = World::new();
    let life = shell(&world);
    let to = world.beside("to");
    let both = ["one", "two"].map(|word| lines(word, 60_000));
    let files = [put(&world, "a", &both[0]), put(&world, "b", &both[1])];
    reads_into(&world, &life, &to);
    std::thread::scope(|scope| {
        for file in &files {
            let (world, life) = (&world, &life);
            scope
                .spawn(move || assert_eq!(world.abide.run(&["paste", &life.id, "-f", file]).code(), Some(0)));
        }
    });
    assert_eq!(world.abide.run(&["keys", &life.id, "ctrl+d"]).code(), Some(0));
    met(&world, &["--text", "done", &life.id]);
    let text = fs::read_to_string(to).expect("it was written");
    let [one, two] = both;
    assert!(text == format!("{one}{two}") || text == format!("{two}{one}"), "they are mixed");
}

/// A program that shows in hex so many bytes of what is typed, after it has told its terminal something.
fn hex(world: &World, told: &str, bytes: usize) -> String {
    let script = format!(
        "stty raw -echo; printf '{told}'; printf ready; dd bs=1 count={bytes} 2>/dev/null | od -An -tx1"
    );
    let id = world.launch(&[], &["sh", "-c", &script]);
    met(world, &["--text", "ready", &id]);
    id
}

#[test]
fn keys_are_sent_as_the_program_asked_for_them() {
    let world = World::new();
    let cases = [
        ("", &["Up", "F5"][..], "1b 5b 41 1b 5b 31 35 7e"),
        ("\\033[?1h", &["Up", "Ctrl-Up"], "1b 4f 41 1b 5b 31 3b 35 41"),
        ("\\033[>1u", &["Ctrl-a", "a"], "1b 5b 39 37 3b 35 75 61"),
        ("\\033[?1000h\\033[?1006h", &["click:1,2"], "1b 5b 3c 30 3b 33 3b 32 4d 1b 5b 3c 30 3b 33 3b 32 6d"),
    ];
    for (told, keys, wanted) in cases {
        let id = hex(&world, told, wanted.split(' ').count());
        let ran = world.abide.run(&[&["keys", &id], keys].concat());
        assert_eq!(ran.code(), Some(0), "{ran:?}");
        world.wait(&id);
        let shown = world.shown(&id).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(shown.ends_with(wanted), "{keys:?} after {told:?}: {shown}");
    }
}

#[test]
fn a_key_that_ends_its_program_was_pressed() {
    let world = World::new();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..10 {
                    let id = hex(&world, "", 1);
                    let ran = world.abide.run(&["keys", &id, "x"]);
                    assert_eq!(ran.code(), Some(0), "{ran:?}");
                }
            });
        }
    });
}

#[test]
fn a_paste_is_in_brackets_only_where_the_program_asked_and_never_ends_them_itself() {
    let world = World::new();
    let cases = [("", "61 0d 62"), ("\\033[?2004h", "1b 5b 32 30 30 7e 61 0d 62 1b 5b 32 30 31 7e")];
    for (told, wanted) in cases {
        let id = hex(&world, told, wanted.split(' ').count());
        let text = if told.is_empty() { "a\nb" } else { "a\n\x1b[201~b" };
        assert_eq!(world.abide.run(&["paste", &id, text]).code(), Some(0));
        world.wait(&id);
        let shown = world.shown(&id).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(shown.ends_with(wanted), "{shown}");
    }
}

#[test]
fn what_cannot_be_pressed_is_refused_and_nothing_is_sent() {
    let world = World::new();
    let life = shell(&world);
    for keys in [&["x", "NoSuchKey"][..], &["x", "click:0,0"]] {
        let ran = world.abide.run(&[&["keys", "--json", &life.id], keys].concat());
        assert_eq!((ran.code(), &ran.json()["error"]["code"]), (Some(2), &"bad_key".into()), "{ran:?}");
    }
    let since = type_line(&world, &life, "echo s'ti'll");
    met(&world, &["--regex", "^still$", "--since", &since, &life.id]);
    assert!(!world.shown(&life.id).contains('x'), "nothing was typed before");
}

#[test]
fn options_behind_keys_are_options_and_a_hyphen_is_a_key() {
    let world = World::new();
    let life = shell(&world);
    let told = data(&world.abide.run(&["keys", &life.id, "x", "Ctrl-U", "--json", "--timeout", "1s"]));
    assert_eq!(told["bytes"], 2, "{told}");
    let told = data(&world.abide.run(&[
        "keys",
        "--json",
        &life.id,
        "-",
        "Ctrl-U",
        "--home",
        world.home.path().to_str().expect("it is text"),
    ]));
    assert_eq!(told["bytes"], 2, "{told}");
    let help = world.abide.run(&["keys", &life.id, "x", "--help"]);
    assert!(help.code() == Some(0) && help.stdout.starts_with("Examples:"), "{help:?}");
}

#[test]
fn a_text_that_cannot_be_read_is_named() {
    let world = World::new();
    let life = shell(&world);
    for verb in ["type", "paste", "batch"] {
        let ran = world.abide.run(&[verb, "--json", &life.id, "--file", "/nowhere/at all"]);
        let error = ran.json()["error"].clone();
        assert_eq!((ran.code(), &error["code"]), (Some(1), &"io".into()), "{error}");
        let hint = error["hint"].as_str().unwrap_or_default();
        assert!(hint.contains("/nowhere/at all") && !hint.contains("doctor"), "{error}");
    }
}

#[test]
fn a_line_that_the_terminal_would_cut_is_refused() {
    let world = World::new();
    let life = world.observe(world.launch(&[], &["cat"]));
    let long = "x".repeat(5_000);
    let ran = world.abide.run(&["type", "--json", "--enter", &life.id, &long]);
    assert_eq!((ran.code(), &ran.json()["error"]["code"]), (Some(2), &"line_too_long".into()), "{ran:?}");
    assert_eq!(world.abide.run(&["type", "--enter", &life.id, &long[..4_000]]).code(), Some(0));
}

#[test]
fn a_line_that_grows_too_long_over_several_commands_is_refused_too() {
    let world = World::new();
    let to = world.beside("to");
    let life = world.observe(world.launch(&[], &["sh", "-c", &format!("exec cat >{to}")]));
    let (some, batch) = ("a".repeat(3_000), format!("type {}", "b".repeat(3_000)));
    let run = |args: &[&str]| world.abide.run(args).code();
    assert_eq!(run(&["type", &life.id, &some]), Some(0));
    for command in [&["type", &life.id, &some][..], &["paste", &life.id, &some], &["batch", &life.id, &batch]]
    {
        let ran = world.abide.run(&[command, &["--json"]].concat());
        assert!(ran.code() == Some(2) && ran.stdout.contains("\"line_too_long\""), "{ran:?}");
        assert!(ran.stdout.contains("6000 are too many, 3000 of them typed before"), "{ran:?}");
    }
    // Both ways out lead out of it.
    assert_eq!(run(&["keys", &life.id, "Enter"]), Some(0));
    assert_eq!(run(&["type", &life.id, &some]), Some(0));
    assert_eq!(run(&["keys", &life.id, "Ctrl-U"]), Some(0));
    assert_eq!(run(&["type", "--enter", &life.id, &some]), Some(0));
    assert_eq!(run(&["keys", &life.id, "Ctrl-D"]), Some(0));
    assert_eq!(world.wait(&life.id).0, Some(0));
    let whole = format!("{some}\n").repeat(2);
    assert_eq!(fs::read_to_string(&to).expect("it was written").len(), whole.len());
}

#[test]
fn a_program_that_does_not_read_is_told_of_with_what_it_took() {
    let world = World::new();
    let life = world.observe(world.launch(&[], &["sh", "-c", "stty -echo; echo ready; exec sleep 1000"]));
    met(&world, &["--text", "ready", &life.id]);
    let file = put(&world, "much", &lines("much", 1_000_000));
    let ran = world.abide.run(&["paste", "--json", "--timeout", "300ms", &life.id, "--file", &file]);
    assert_eq!((ran.code(), &ran.json()["error"]["code"]), (Some(124), &"timed_out".into()), "{ran:?}");
}

#[test]
fn a_terminal_has_its_new_size_when_a_resize_returns() {
    let world = World::new();
    let life = shell(&world);
    let told = data(&world.abide.run(&["resize", "--json", &life.id, "100x30"]));
    assert_eq!((&told["cols"], &told["rows"]), (&100.into(), &30.into()));
    let since = type_line(&world, &life, "stty size");
    met(&world, &["--text", "30 100", "--since", &since, &life.id]);
    type_line(&world, &life, "exit");
    assert_eq!(world.wait(&life.id).0, Some(0));
    let size = || ["cols", "rows"].map(|side| world.inspect(&life.id)["screen"][side].clone());
    world.until_nobody_serves(&life.id);
    assert_eq!(size(), [100, 30], "as it was in the end");
    let piped = world.observe(world.run(&["--no-tty"], &["hang"]));
    let ran = world.abide.run(&["resize", "--json", &piped.id, "100x30"]);
    assert_eq!((ran.code(), &ran.json()["error"]["code"]), (Some(5), &"no_terminal".into()), "{ran:?}");
}

#[test]
fn what_has_ended_takes_no_keys_and_says_what_it_is() {
    let world = World::new();
    let id = world.run(&[], &["exit 3"]);
    world.wait(&id);
    for verb in [&["type", "x"][..], &["paste", "x"], &["keys", "x"], &["resize", "80x24"]] {
        let ran = world.abide.run(&[verb[0], "--json", &id, verb[1]]);
        let error = &ran.json()["error"];
        assert_eq!((ran.code(), &error["code"]), (Some(5), &"not_commandable".into()), "{verb:?}: {ran:?}");
        assert_eq!((&error["session"], &error["status"]), (&id.as_str().into(), &"exited".into()), "{ran:?}");
    }
}
