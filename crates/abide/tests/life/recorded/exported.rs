//! Exports of real sessions, played by an emulator: the last screen is the session's own.

use std::fs;
use std::io::Write;

use abide_core::screen::{Screen, Size};
use abide_testkit::deadline::until;
use abide_testkit::{Ending, Running, Terminal};
use rustix::process::Signal;
use serde_json::Value;

use crate::common::{World, data};

/// What a player of a cast shows at its end.
fn played(cast: &str) -> Screen {
    let mut lines = cast.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let header = lines.next().expect("a header");
    let side = |name: &str| header["term"][name].as_u64().and_then(|side| u16::try_from(side).ok());
    let size = Size { cols: side("cols").expect("columns"), rows: side("rows").expect("rows") };
    let mut screen = Screen::new(size, 1_000);
    for piece in lines {
        let text = piece[2].as_str().expect("text");
        match piece[1].as_str() {
            Some("o") => drop(screen.feed(text.as_bytes())),
            Some("r") => {
                let (cols, rows) = text.split_once('x').expect("a size");
                screen
                    .resize(Size { cols: cols.parse().expect("columns"), rows: rows.parse().expect("rows") });
            }
            Some("i" | "m" | "x") => {}
            other => panic!("{other:?}"),
        }
    }
    screen
}

/// The cast of a span shows at its end what a snapshot shows.
fn check(world: &World, id: &str, span: &[&str]) {
    let ran = world.abide.run(&[&["export"], span, &[id]].concat());
    assert_eq!(ran.code(), Some(0), "{ran:?}");
    let seen = data(&world.abide.run(&["snapshot", "--json", id]));
    assert_eq!(format!("{:016x}", played(&ran.stdout).hash()), seen["hash"], "{span:?}");
}

const SHOW: &str = "stty cols 40 rows 10; i=0; while [ $i -lt 60 ]; do i=$((i+1)); \
    printf '\\033[3%dmline %d \\303\\274n\\303\\257 \\346\\274\\242\\n' $((i % 8)) $i; done; \
    printf 'bad \\377 \\342\\202'; printf '\\254 \\033[1'; printf ';31mred\\033[0m\\033]2;title\\007 end'; ";

#[test]
fn the_cast_of_a_finished_session_ends_with_its_last_screen_from_wherever_it_begins() {
    let world = World::new();
    let id = world.launch(&["--size", "60x12"], &["sh", "-c", SHOW]);
    assert_eq!(world.wait(&id).0, Some(0));
    for span in [
        &[][..],
        &["--from", "seq:400"],
        &["--from", "seq:1205"],
        &["--from", "+0s"],
        &["--idle-limit", "1ms"],
    ] {
        check(&world, &id, span);
    }
    let text = world.abide.run(&["export", "--format", "txt", &id]).stdout;
    assert_eq!(text.lines().count(), 61, "{text}");
    assert!(text.ends_with("bad \u{fffd} € red end\n"), "{text}");
}

#[test]
fn the_cast_of_a_crashed_session_ends_with_what_is_left_of_it() {
    let world = World::new();
    let life = world.live(&["flood 300000", "print last", "hang"]);
    life.until_shown("last");
    life.kill_helpers();
    life.program.0.await_end();
    let recording = world.dir(&life.id).join("recording");
    let mut torn = fs::OpenOptions::new().append(true).open(&recording).expect("it is ours");
    torn.write_all(b"\xabid\x01o and no more").expect("there is room");
    check(&world, &life.id, &[]);
    let ran = world.abide.run(&["export", &life.id]);
    assert!(ran.stderr.contains("cannot be read"), "{}", ran.stderr);
}

#[test]
fn a_session_is_followed_to_its_end_and_whoever_reads_it_reads_at_once() {
    let world = World::new();
    let (life, gate) = world.gated_by(&["sh", "-c", "printf 'first\\n'; read x; printf 'second\\n'"]);
    let mut following = Running::start(&mut world.abide.command(&["export", "--follow", &life.id]));
    gate.open();
    following.until("\"o\", \"first");
    let mut terminal = Terminal::start(&world.abide.command(&["attach", &life.id]));
    terminal.until("first");
    terminal.type_in(b"\r");
    following.until("second");
    following.until("\"x\", \"0\"]");
    assert_eq!(following.reap(), Ending::Exited(0));
}

#[test]
fn a_signal_ends_what_is_followed_and_leaves_a_whole_cast_up_to_there() {
    let world = World::new();
    let life = world.live(&["print here", "hang"]);
    life.until_shown("here");
    let folder = world.beside("made");
    fs::create_dir(&folder).expect("there is room");
    for signal in [Signal::HUP, Signal::INT, Signal::TERM] {
        let path = format!("{folder}/live.cast");
        let mut following = world.start(&["export", "--follow", "-o", &path, &life.id]);
        until("it waits", || names(&folder).iter().any(|name| name.ends_with(".part")));
        following.signal(signal);
        assert_eq!(following.reap(), Ending::Exited(128 + signal.as_raw()), "{signal:?}");
        assert_eq!(names(&folder), ["live.cast"], "{signal:?}");
        assert!(played(&fs::read_to_string(&path).expect("it is there")).size().cols > 0, "{signal:?}");
        fs::remove_file(&path).expect("it is ours");
        assert!(life.program.0.lives(), "{signal:?}");
    }
}

fn names(folder: &str) -> Vec<String> {
    let there = fs::read_dir(folder).expect("it is ours").flatten();
    there.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}
