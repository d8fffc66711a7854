//! The screen is one and the same, whoever derives it and from wherever on.

use std::fs;
use std::io::Write;

use abide_testkit::deadline::until;
use serde_json::Value;

use crate::common::{World, data};

/// The screen's hash and where it came from.
fn seen(world: &World, id: &str) -> (Value, Value) {
    let mut told = data(&world.abide.run(&["snapshot", "--json", "--scrollback", id]));
    (told["lines"].take(), told["source"].take())
}

// TRUTH 5, 8, 22
#[test]
fn a_screen_is_the_same_live_after_a_killed_host_replayed_and_from_damaged_keyframes_or_none() {
    let world = World::new();
    let life = world.live(&["print first", "flood 6400000", "print last", "hang"]);
    until("all of it is taken in", || {
        let (lines, _) = seen(&world, &life.id);
        lines.as_array().is_some_and(|lines| lines.iter().any(|line| line == "last"))
    });
    let keyframes = world.dir(&life.id).join("keyframes");
    assert!(fs::metadata(&keyframes).expect("there are keyframes").len() > 10_000);
    let (live, source) = seen(&world, &life.id);
    assert_eq!(source, "live");
    life.replace("host");
    assert!(seen(&world, &life.id) == (live.clone(), "live".into()), "a new host shows another screen");
    life.kill_helpers();
    life.program.0.await_end();
    let replayed = |from: &str| {
        let (lines, source) = seen(&world, &life.id);
        assert_eq!(source, "replay");
        assert!(lines == live, "{from}: another screen");
    };
    replayed("from the last keyframe");
    let whole = fs::read(&keyframes).expect("they are ours");
    for damaged in [whole[..whole.len() - 1].to_vec(), whole[7..].to_vec(), flipped(&whole), vec![0; 9]] {
        let mut file = fs::File::create(&keyframes).expect("they are ours");
        file.write_all(&damaged).expect("there is room");
        replayed("from damaged keyframes");
    }
    fs::remove_file(&keyframes).expect("they are ours");
    replayed("from the start");
}

/// With every hundredth byte wrong.
fn flipped(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().enumerate().map(|(at, byte)| if at % 100 == 50 { !byte } else { *byte }).collect()
}

#[test]
fn the_title_and_the_size_of_now_are_told_while_a_host_lives_and_no_longer() {
    let world = World::new();
    let title = "print \u{1b}]2;some of it\u{7}\u{1b}]2;all of it\u{7}";
    let life = world.live(&["ignore HUP", title, "hang"]);
    until("the title is told", || life.inspect()["screen"]["title"] == "all of it");
    let first = life.helper("host", None);
    life.replace("host");
    until("the next host tells it too", || life.inspect()["screen"]["title"] == "all of it");
    assert!(!first.lives());
    life.kill_helpers();
    assert_eq!(life.inspect()["screen"]["title"], Value::Null, "nobody knows it any more");
}

#[test]
fn lines_of_a_program_on_pipes_begin_at_the_left() {
    let world = World::new();
    let id = world.launch(&["--no-tty"], &["sh", "-c", "echo out; echo err >&2; echo more"]);
    assert_eq!(world.wait(&id).0, Some(0));
    let told = data(&world.abide.run(&["snapshot", "--json", &id]));
    let mut lines: Vec<&str> =
        told["lines"].as_array().expect("rows").iter().filter_map(Value::as_str).collect();
    lines.retain(|line| !line.is_empty());
    lines.sort_unstable();
    assert_eq!(lines, ["err", "more", "out"], "{told}");
}
