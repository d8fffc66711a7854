//! A session whose recording is cut while its program lives: the live screen is as good as any other, in its size and for
//! those who wait for something on it.

use abide_testkit::Terminal;
use abide_testkit::deadline::until;
use abide_testkit::trace::calls;
use serde_json::Value;

use crate::common::{Life, World, data, waits};

/// A shell whose recording was cut.
fn cut_shell(world: &World) -> Life<'_> {
    let shell = ["env", "PS1=% ", "bash", "--norc"];
    let life = world.observe(world.launch(&["--max-recording", "3K"], &shell));
    type_line(world, &life, "seq 800");
    until("it is cut", || !world.told(&life.id, "cut").is_empty());
    until("the shell waits", || screen(world, &life)["lines"].to_string().contains("\"800\",\"%"));
    life
}

/// Types a line, and gives the position before it.
fn type_line(world: &World, life: &Life<'_>, line: &str) -> String {
    data(&world.abide.run(&["type", "--json", &life.id, line, "--enter"]))["seq"].to_string()
}

fn screen(world: &World, life: &Life<'_>) -> Value {
    data(&world.abide.run(&["snapshot", "--json", &life.id]))
}

#[test]
fn a_size_that_is_not_on_record_is_the_screens_and_that_of_the_next_host() {
    let world = World::new();
    let life = cut_shell(&world);
    let resized = world.abide.run(&["resize", &life.id, "60x20"]);
    assert_eq!(resized.code(), Some(0), "{resized:?}");
    let size = || {
        let screen = screen(&world, &life);
        assert_eq!(screen["source"], "live", "{screen}");
        (screen["cols"].as_u64(), screen["rows"].as_u64())
    };
    assert_eq!(size(), (Some(60), Some(20)));
    type_line(&world, &life, "stty size");
    until("the program has it", || screen(&world, &life)["lines"].to_string().contains("20 60"));
    life.replace("host");
    assert_eq!(size(), (Some(60), Some(20)), "nobody has it on record");
    life.replace("guard");
    let wide = abide_core::screen::Size { cols: 120, rows: 40 };
    let mut attached = Terminal::of_size(wide, &world.abide.command(&["attach", &life.id]));
    until("the session takes the size of who attached", || size() == (Some(120), Some(40)));
    let line = "x".repeat(110);
    attached.type_in(format!("echo {line}\r").as_bytes());
    attached
        .until_screen("a line of its width", |screen| screen.visible_text().contains(&format!("\n{line}")));
    assert!(screen(&world, &life)["lines"].to_string().contains(&format!("\"{line}\"")));
}

/// Waits until conditions are met.
fn met(world: &World, conditions: &[&str]) {
    let ran = world.abide.run(&[&["wait", "--timeout", "30s"], conditions].concat());
    assert_eq!(ran.code(), Some(0), "{conditions:?}: {ran:?}");
}

#[test]
fn what_is_waited_for_is_seen_on_the_screen_also_behind_the_cut() {
    let world = World::new();
    let life = cut_shell(&world);
    let id = life.id.as_str();
    met(&world, &["--text", "800", id]);
    met(&world, &["--idle", "50ms", id]);
    for conditions in [&["--text", "nothing-such"][..], &["--gone", "800"], &["--idle", "10s"]] {
        let ran = world.abide.run(&[&["wait", "--timeout", "50ms"], conditions, &[id]].concat());
        assert_eq!(ran.code(), Some(124), "{conditions:?}: {ran:?}");
    }
    // What stood there before is no answer, what has scrolled by since is one.
    let since = type_line(&world, &life, "seq 900 1000; read x");
    met(&world, &["--regex", "^901$", "--since", &since, id]);
    met(&world, &["--text", "1000", "--gone", "901", "--since", &since, id]);
    let stale = world.abide.run(&["wait", "--text", "800", "--since", &since, "--timeout", "50ms", id]);
    assert_eq!(stale.code(), Some(124), "{stale:?}");
    // Whoever waits already hears what comes, whoever serves it then.
    let mut waiting = world.start(&["wait", "--text", "later", id]);
    until("it waits", || waits(&waiting));
    life.replace("host");
    type_line(&world, &life, "x");
    type_line(&world, &life, "echo l'a'ter");
    assert_eq!(waiting.reap(), abide_testkit::Ending::Exited(0));
    met(&world, &["--text", "later", "--since", "0", id]);
}

#[test]
fn who_waits_in_vain_for_one_of_two_conditions_sleeps() {
    let world = World::new();
    let life = cut_shell(&world);
    let log = world.home.around().join("calls");
    let asked = ["wait", "--idle", "1ms", "--text", "nothing-such", "--timeout", "500ms", &life.id];
    let (ran, seen) = calls(&world.abide.command(&asked), &["-e", "trace=poll,ppoll"], &log);
    assert_eq!(ran.code(), Some(124), "{ran:?}");
    assert!(seen.len() < 100, "{} times: {seen:?}", seen.len());
}

#[test]
fn a_line_whose_tag_has_no_room_is_refused_with_the_cut_as_the_reason_and_never_typed() {
    let world = World::new();
    // Cut by what was shown; and by the tag itself, all that was shown being on record.
    let whole = world.observe(world.launch(&["--max-recording", "2K"], &["env", "PS1=% ", "bash", "--norc"]));
    met(&world, &["--text", "% ", &whole.id]);
    let long = format!("echo ran; : {}", "x".repeat(2500));
    for (life, line) in [(cut_shell(&world), "echo ran"), (whole, &long)] {
        let ran = world.abide.run(&["exec", "--json", &life.id, "--", line]);
        let error = &ran.json()["error"];
        assert_eq!((ran.code(), error["code"].as_str()), (Some(125), Some("io")), "{ran:?}");
        let message = error["message"].as_str().unwrap_or_default();
        assert!(message.contains("its recording was cut (it is as long as it may be)"), "{ran:?}");
        assert_eq!(world.told(&life.id, "cut").len(), 1, "it is told");
        type_line(&world, &life, "echo st'i'll");
        met(&world, &["--regex", "^still$", &life.id]);
        assert!(!screen(&world, &life)["lines"].to_string().contains("exec"), "nothing was typed");
    }
}

#[test]
fn a_line_whose_output_has_no_room_says_so_once_its_shell_is_at_the_prompt_again() {
    let world = World::new();
    let life = world.observe(world.launch(&["--max-recording", "8K"], &["env", "PS1=% ", "bash", "--norc"]));
    met(&world, &["--text", "% ", &life.id]);
    let ran = world.abide.run(&["exec", "--json", &life.id, "--", "seq 100; seq 100000 200000"]);
    let error = &ran.json()["error"];
    assert_eq!((ran.code(), error["code"].as_str()), (Some(125), Some("io")), "{ran:?}");
    assert!(error["message"].as_str().unwrap_or_default().contains("could not be recorded"), "{ran:?}");
}

#[test]
fn a_line_is_never_told_not_to_have_run_though_there_was_room_for_its_tag_alone() {
    let world = World::new();
    let shell = |most: &str| {
        let life =
            world.observe(world.launch(&["--max-recording", most], &["env", "PS1=% ", "bash", "--norc"]));
        met(&world, &["--text", "% ", &life.id]);
        life
    };
    let bytes = |life: &Life<'_>| {
        let inspected = data(&world.abide.run(&["inspect", "--json", &life.id]));
        inspected["recording"]["bytes"].as_u64().expect("a recording has a length")
    };
    let measured = shell("1M");
    let before = bytes(&measured);
    assert_eq!(world.abide.run(&["exec", &measured.id, "--", "true"]).code(), Some(0));
    // The tag holds what is typed, which is echoed behind it: a little more than half is the tag.
    let most = before + (bytes(&measured) - before) * 3 / 5;
    let life = shell(&most.to_string());
    let ran = world.abide.run(&["exec", "--json", &life.id, "--", "echo st'i'll"]);
    let error = &ran.json()["error"];
    assert_eq!((ran.code(), error["code"].as_str()), (Some(125), Some("io")), "{ran:?}");
    assert!(error["message"].as_str().unwrap_or_default().contains("could not be recorded"), "{ran:?}");
    met(&world, &["--regex", "^still$", "--since", "0", &life.id]);
}
