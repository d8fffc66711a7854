//! Pictures and films of real sessions: what they show is what the session showed, live, at an instant and after the end.

use std::fs;
use std::path::Path;

use abide_testkit::deadline::until;
use abide_testkit::{Ending, Running, Terminal};

use crate::common::{World, data};

/// A cell at the usual font size, and the usual padding, in pixels.
const CELL: (u64, u64) = (10, 22);
const PADDING: u64 = 12;

/// Draws the screen of a session into a file, and gives the answer and the file.
fn draw(world: &World, name: &str, options: &[&str], id: &str) -> (serde_json::Value, Vec<u8>) {
    let path = world.beside(name);
    let ran = world.abide.run(&[&["screenshot", "--json", "-o", &path], options, &[id]].concat());
    assert_eq!(ran.code(), Some(0), "{ran:?}");
    (data(&ran), fs::read(path).expect("the file is there"))
}

#[test]
fn a_picture_is_the_same_live_and_after_the_end() {
    let world = World::new();
    let (life, gate) = world.gated_by(&[
        "sh",
        "-c",
        "printf '\\033[31mred\\033[0m \\342\\224\\200\\342\\224\\220 text'; read x",
    ]);
    gate.open();
    life.until_shown("text");
    let (told, live) = draw(&world, "live.png", &[], &life.id);
    let seen = data(&world.abide.run(&["snapshot", "--json", &life.id]));
    assert_eq!(
        (&told["hash"], &told["seq"], &told["source"]),
        (&seen["hash"], &seen["seq"], &serde_json::json!("live"))
    );
    let side = |name: &str| seen[name].as_u64().expect("a number");
    let sides = [side("cols") * CELL.0 + 2 * PADDING, side("rows") * CELL.1 + 2 * PADDING];
    assert_eq!([told["width"].as_u64(), told["height"].as_u64()], sides.map(Some));
    assert_eq!(told["bytes"], live.len());
    assert!(live.starts_with(b"\x89PNG") && live.ends_with(b"IEND\xaeB`\x82"));
    let stopped = world.abide.run(&["stop", "--grace", "0s", &life.id]);
    assert_eq!(stopped.code(), Some(0), "{stopped:?}");
    let (told, after) = draw(&world, "after.png", &[], &life.id);
    assert_eq!((told["source"].as_str(), after == live), (Some("replay"), true));
    let (_, other) =
        draw(&world, "other.png", &["--theme", "light", "--window", "--font-size", "20"], &life.id);
    assert_ne!(other, live);
}

#[test]
fn whoever_follows_a_terminal_that_grows_is_told_what_the_film_lacks() {
    let world = World::new();
    let options = ["--size", "60x10"];
    let life = world.observe(world.launch(&options, &["sh", "-c", "echo here; read x"]));
    life.until_shown("here");
    let (film, words) = (world.beside("film.svg"), world.beside("words"));
    let mut command = world.abide.command(&["export", "--follow", "-o", &film, &life.id]);
    let mut following = Running::start(command.stderr(fs::File::create(&words).expect("there is room")));
    let folder = world.beside("");
    until("it waits", || {
        let there = fs::read_dir(&folder).expect("it is ours").flatten();
        there.into_iter().any(|entry| entry.file_name().to_string_lossy().ends_with(".part"))
    });
    assert_eq!(world.abide.run(&["resize", &life.id, "70x12"]).code(), Some(0));
    assert_eq!(world.abide.run(&["stop", "--grace", "0s", &life.id]).code(), Some(0));
    assert_eq!(following.reap(), Ending::Exited(0));
    let words = fs::read_to_string(&words).expect("text");
    assert!(words.contains("grew to 70x12") && words.contains("shows 60x10 of it"), "{words}");
    let ran = world.abide.run(&["export", "--follow", "-o", &film, &life.id]);
    assert_eq!((ran.code(), ran.stderr.as_str()), (Some(0), ""), "nothing is missing now");
}

#[test]
fn a_picture_of_an_instant_shows_that_instant() {
    let world = World::new();
    let id = world.launch(&["--size", "40x6"], &["sh", "-c", "printf first; printf '\\033[2J\\033[Hsecond'"]);
    assert_eq!(world.wait(&id).0, Some(0));
    let (told, then) = draw(&world, "then.svg", &["--at", "seq:5"], &id);
    let (_, last) = draw(&world, "last.svg", &[], &id);
    let seen = data(&world.abide.run(&["snapshot", "--json", "--at", "seq:5", &id]));
    assert_eq!((&told["hash"], &told["at"]), (&seen["hash"], &seen["at"]));
    let text = |file: Vec<u8>| String::from_utf8(file).expect("SVG is text");
    assert!(text(then).contains(">first</text>"));
    assert!(text(last).contains(">second</text>"));
}

#[test]
fn films_are_made_by_the_name_of_their_file_and_end_with_the_last_screen() {
    let world = World::new();
    let show =
        "i=0; while [ $i -lt 30 ]; do i=$((i+1)); printf '\\033[3%dmline %d\\033[0m\\n' $((i % 8)) $i; done";
    let id = world.launch(&["--size", "40x8"], &["sh", "-c", show]);
    assert_eq!(world.wait(&id).0, Some(0));
    let made = |name: &str, begins: &[u8]| {
        let path = world.beside(name);
        let ran = world.abide.run(&["export", "--json", "-o", &path, &id]);
        assert_eq!(ran.code(), Some(0), "{ran:?}");
        let (told, file) = (data(&ran), fs::read(&path).expect("the file is there"));
        assert_eq!(
            told["format"],
            Path::new(name).extension().and_then(|name| name.to_str()).expect("an ending")
        );
        assert_eq!(
            (told["bytes"].as_u64(), told["path"].as_str()),
            (Some(file.len() as u64), Some(path.as_str()))
        );
        assert!(file.starts_with(begins), "{name}");
        file
    };
    made("film.gif", b"GIF89a");
    assert_eq!(&made("film.mp4", &[])[4..8], b"ftyp");
    let svg = String::from_utf8(made("film.svg", b"<svg ")).expect("SVG is text");
    assert!(svg.contains(">line 30</text>"));
    let (_, last) = draw(&world, "last.png", &[], &id);
    assert_eq!(made("film.png", b"\x89PNG"), last);
    // Standard output is as good as a file.
    let ran = world.abide.command(&["export", "--format", "png", &id]).output().expect("it runs");
    assert_eq!(ran.stdout, last);
}

#[test]
fn what_looks_like_a_secret_is_not_in_a_film_that_is_to_be_shared() {
    let world = World::new();
    let secret = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
    let id = world.launch(&[], &["echo", &format!("token {secret} shown")]);
    assert_eq!(world.wait(&id).0, Some(0));
    let film = |options: &[&str]| {
        world.abide.run(&[&["export", "--format", "svg"], options, &[&id]].concat()).stdout
    };
    assert!(film(&[]).contains(secret));
    let shared = film(&["--redact"]);
    assert!(!shared.contains(secret) && shared.contains("shown"), "{shared}");
}

#[test]
fn what_cannot_be_drawn_is_refused_with_a_way_out() {
    let world = World::new();
    let id = world.launch(&[], &["true"]);
    assert_eq!(world.wait(&id).0, Some(0));
    let table: [(&[&str], &str); 3] = [
        (&["screenshot", "-o", "x.jpg", &id], "end it in .png or .svg"),
        (&["screenshot", "--json", "-o", "-", &id], "abide screenshot --json -o FILE.png ID"),
        (&["screenshot", "-o", "/dev/null/x.png", &id], ""),
    ];
    for (args, hint) in table {
        let ran = world.abide.run(args);
        assert_ne!(ran.code(), Some(0), "{ran:?}");
        assert!(format!("{}{}", ran.stdout, ran.stderr).contains(hint), "{ran:?}");
    }
    let mut terminal = Terminal::start(&world.abide.command(&["export", "--format", "gif", &id]));
    terminal.until(&format!("abide export -o FILE.gif {id}"));
}
