//! Sessions of real programs are searched while they run and afterwards; what nobody was to see is never found.

use std::process::Command;

use abide_testkit::Terminal;
use abide_testkit::deadline::until;

use crate::common::{Gate, World, data};

fn found(world: &World, args: &[&str]) -> Vec<String> {
    let answer = data(&world.abide.run(&[&["search", "--json"], args].concat()));
    let hits = answer["hits"].as_array().expect("hits").clone();
    hits.iter().map(|hit| hit["line"].as_str().expect("a line").to_owned()).collect()
}

#[test]
fn a_session_is_searched_while_it_runs_and_what_it_shows_next_is_found_next() {
    let world = World::new();
    let script =
        "echo first words; read go < \"$0\"; printf '\\033[?1049h\\033[3;4Hsecond words'; read go < \"$1\"";
    let paths = ["gate", "end"].map(|name| world.beside(name));
    let [gate, end] = paths.each_ref().map(|path| Gate::new(path));
    let id = world.launch(&[], &["sh", "-c", script, &paths[0], &paths[1]]);
    let life = world.observe(id);
    life.until_shown("first words");
    assert_eq!(found(&world, &["words"]), ["first words"]);
    gate.open();
    life.until_shown("second words");
    assert_eq!(found(&world, &["words"]), ["   second words", "first words"]);
    end.open();
    assert_eq!(world.wait(&life.id).0, Some(0));
    assert_eq!(found(&world, &["words"]), ["   second words", "first words"]);
}

#[test]
fn what_stood_there_when_a_session_ended_within_an_update_is_found() {
    let world = World::new();
    let id =
        world.launch(&[], &["sh", "-c", "printf 'before words\\033[?2026h\\033[2J\\033[3;3Hlast words'"]);
    assert_eq!(world.wait(&id).0, Some(0));
    assert_eq!(found(&world, &["words"]), ["  last words", "before words"]);
}

#[test]
fn what_another_size_shows_or_puts_above_the_screen_is_found_before_anything_follows() {
    let world = World::new();
    let script = "printf '1 words\\r\\n2 words\\r\\n3 words\\r\\n4 words\\033[?1049h\\033[Heditor'; read go < \"$0\"; \
        printf '\\033[?2026h\\r\\nheld words'; read go < \"$1\"";
    let paths = ["gate", "end"].map(|name| world.beside(name));
    let [gate, end] = paths.each_ref().map(|path| Gate::new(path));
    let id = world.launch(&["--size", "20x5"], &["sh", "-c", script, &paths[0], &paths[1]]);
    let life = world.observe(id);
    life.until_shown("editor");
    assert_eq!(world.abide.run(&["resize", &life.id, "20x3"]).code(), Some(0));
    assert_eq!(found(&world, &["words"]), ["1 words"], "the others are below the editor");
    let position = || data(&world.abide.run(&["snapshot", "--json", &life.id]))["seq"].as_u64();
    let before = position();
    gate.open();
    until("the update is on record", || position() > before);
    assert_eq!(world.abide.run(&["resize", &life.id, "20x4"]).code(), Some(0));
    assert_eq!(found(&world, &["words"]), ["held words", "1 words"]);
    end.open();
    assert_eq!(world.wait(&life.id).0, Some(0));
}

#[test]
fn what_was_typed_openly_is_found_and_a_password_never() {
    let world = World::new();
    let script = "read -p name: name; read -s -p word: word; echo; echo got ${#word}";
    let life = world.observe(world.launch(&[], &["bash", "-c", script]));
    let mut attached = Terminal::start(&world.abide.command(&["attach", &life.id]));
    attached.until("name:");
    attached.type_in(b"visible Quokka\r");
    attached.until("word:");
    attached.type_in(b"hunter2-Zebra\r");
    attached.until("got 13");
    attached.reap();
    assert_eq!(world.wait(&life.id).0, Some(0));
    assert_eq!(found(&world, &["--typed", "quokka"]), ["visible Quokka"]);
    assert_eq!(found(&world, &["quokka"]), ["name:visible Quokka"], "it was shown too, while it was typed");
    for args in [&["zebra"][..], &["--typed", "zebra"], &["--typed", "hunter2"]] {
        assert_eq!(found(&world, args), [""; 0], "{args:?}");
    }
    let grep = Command::new("grep").args(["-rlia", "zebra"]).arg(world.home.path()).output();
    assert_eq!(String::from_utf8_lossy(&grep.expect("there is grep").stdout), "", "it is on the disk");
}

#[test]
fn a_packed_recording_needs_no_new_index() {
    let world = World::new();
    let id = world.launch(&[], &["sh", "-c", "echo packed words"]);
    assert_eq!(world.wait(&id).0, Some(0));
    assert_eq!(found(&world, &["words"]), ["packed words"]);
    let index = world.dir(&id).join("index");
    let made = || std::fs::metadata(&index).and_then(|meta| meta.modified()).expect("it was made");
    let before = made();
    until("it is packed", || {
        let told = data(&world.abide.run(&["gc", "--json", "--pack", "0s"]));
        told["packed"].as_array().is_some_and(|all| all.iter().any(|one| one["id"] == id.as_str()))
    });
    assert_eq!(found(&world, &["words"]), ["packed words"]);
    assert_eq!(made(), before);
    std::fs::remove_file(&index).expect("it is ours");
    assert_eq!(found(&world, &["words"]), ["packed words"], "and is made of a packed one");
}

#[test]
fn an_update_that_is_never_ended_hides_nothing_from_looks_and_searches_live_or_not() {
    let world = World::new();
    let script = "echo one; printf '\\033[?2026h'; read go < \"$0\"; echo panic: first; read go < \"$1\"; \
        printf '\\033[?2026h'; echo panic: last";
    let paths = ["gate", "end"].map(|name| world.beside(name));
    let [gate, end] = paths.each_ref().map(|path| Gate::new(path));
    let life = world.observe(world.launch(&[], &["sh", "-c", script, &paths[0], &paths[1]]));
    let look = |options: &[&str]| {
        let seen = data(&world.abide.run(&[&["snapshot", "--json"], options, &[&life.id]].concat()));
        seen["lines"].to_string()
    };
    life.until_shown("one");
    gate.open();
    life.until_shown("panic: first");
    // Time goes on without the program: the host's screen, that of its recording and the search agree.
    until("the live screen shows it", || look(&[]).contains("panic: first"));
    assert!(look(&["--at", "-0s"]).contains("panic: first"), "as it is now");
    assert_eq!(found(&world, &["panic"]), ["panic: first"]);
    end.open();
    assert_eq!(world.wait(&life.id).0, Some(0));
    assert!(look(&[]).contains("panic: last"));
    assert_eq!(found(&world, &["panic"]), ["panic: last", "panic: first"]);
    let answer = data(&world.abide.run(&["search", "--json", "panic"]));
    for hit in answer["hits"].as_array().expect("hits") {
        let line = hit["line"].as_str().expect("a line");
        let named = |name: &str| hit[name].as_str().expect("a name").to_owned();
        for at in [named("at"), named("open"), format!("seq:{}", hit["seq"])] {
            assert!(look(&["--at", &at]).contains(line), "{line} at {at}");
        }
    }
}
