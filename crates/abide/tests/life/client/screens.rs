//! The screen is one and the same, whoever derives it and from wherever on.

use std::fs;
use std::io::Write;

use abide_core::screen::{Screen, Size};
use abide_testkit::deadline::until;
use rustix::process::Signal;
use serde_json::Value;

use crate::common::{World, data};

/// The lines, and how much of the recording they stand for; and where they came from.
fn seen(world: &World, id: &str) -> ([Value; 4], Value) {
    let mut told = data(&world.abide.run(&["snapshot", "--json", "--scrollback", id]));
    (["lines", "scrolled", "seq", "entry"].map(|field| told[field].take()), told["source"].take())
}

// TRUTH 5, 8, 22
#[test]
fn a_screen_is_the_same_live_after_a_killed_host_replayed_and_from_damaged_keyframes_or_none() {
    let world = World::new();
    let life = world.live(&["print first", "flood 2400000", "print last", "hang"]);
    until("all of it is taken in", || {
        let ([lines, ..], _) = seen(&world, &life.id);
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

/// Where the recordings of real programs are.
const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../core/tests/screen/corpus");

/// A program that writes a recording as it is and then, if told so, waits to be ended.
fn player(path: &str, then: &str) -> [String; 4] {
    ["sh", "-c", &format!("stty raw -echo; cat \"$0\"; {then}"), path].map(str::to_owned)
}

/// All that is told of a screen: in words, and as a picture with every look in it; and its source.
fn told(world: &World, id: &str) -> (Value, Vec<u8>, String) {
    let mut told = data(&world.abide.run(&["snapshot", "--json", "--scrollback", id]));
    let source = told["source"].take().as_str().expect("a source").to_owned();
    let fields = ["seq", "hash", "lines", "cursor", "title", "alternate", "cols", "rows"];
    let known = fields.iter().map(|field| ((*field).to_owned(), told[*field].take())).collect();
    let ansi = world.abide.command(&["snapshot", "--format", "ansi", "--scrollback", id]).output();
    (Value::Object(known), ansi.expect("abide runs").stdout, source)
}

// TRUTH 5, 6, 8
#[test]
fn a_recorded_tui_has_one_screen_live_after_every_kill_and_restart_offline_and_at_the_end() {
    for name in ["opencode", "emoji", "vim", "vttest-screen"] {
        let path = format!("{CORPUS}/{name}.bin");
        let bytes = fs::read(&path).expect("the recording is there");
        let mut here = Screen::new(Size { cols: 80, rows: 24 }, 1_000);
        let _ = here.feed(&bytes);
        let world = World::new();
        let launch = |then: &str| {
            let player = player(&path, then);
            world.launch(&["--size", "80x24"], &player.each_ref().map(String::as_str))
        };
        let life = world.observe(launch("trap '' HUP; exec sleep 1000"));
        until("all of it is shown", || told(&world, &life.id).0["seq"] == bytes.len());
        let live = told(&world, &life.id);
        let hash = format!("{:016x}", here.hash());
        assert_eq!(
            (&live.0["hash"], &*live.2),
            (&hash.into(), "live"),
            "{name}: another screen than in this process"
        );
        assert!(live.1 == here.in_lines(usize::MAX), "{name}: another picture than in this process");
        let same = |when: &str, source: &str| {
            let now = told(&world, &life.id);
            assert!(
                now == (live.0.clone(), live.1.clone(), source.to_owned()),
                "{name}: {when}: {} {}",
                now.0,
                now.2
            );
        };
        life.replace("host");
        same("after kill -9 of the host", "live");
        let host = life.helper("host", None);
        host.signal(Signal::TERM);
        host.await_end();
        life.helper("host", Some(host.pid()));
        same("after a restart of the host", "live");
        life.replace("guard");
        same("after kill -9 of the guard", "live");
        life.kill_helpers();
        same("with nobody to serve it", "replay");
        let ended = launch("true");
        assert_eq!(world.wait(&ended).0, Some(0));
        assert!(
            told(&world, &ended) == (live.0.clone(), live.1.clone(), "replay".to_owned()),
            "{name}: at the end"
        );
    }
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
