//! A recording that is not whole is never shown as one that is: cut while the program runs, or cut, emptied, removed or
//! damaged afterwards.

use std::fs;
use std::path::Path;

use abide_core::recording::{Kind, Next, next};
use abide_testkit::Ran;
use abide_testkit::deadline::until;
use serde_json::Value;

use crate::common::{Gate, World, data};

fn list(value: &Value, name: &str) -> usize {
    value[name].as_array().map_or(0, Vec::len)
}

fn doctor(world: &World) -> (Ran, Vec<String>) {
    let ran = world.abide.run(&["doctor", "--json"]);
    let checks = data(&ran)["checks"].as_array().expect("checks").clone();
    let of_recordings = checks.iter().filter(|check| check["name"] == "recording");
    let healths = of_recordings.map(|check| check["health"].as_str().expect("a word").to_owned());
    let healths = healths.collect();
    (ran, healths)
}

#[test]
fn a_recording_that_was_cut_says_so_to_everybody_while_the_program_runs() {
    let world = World::new();
    let paths = ["gate", "end"].map(|name| world.beside(name));
    let [gate, end] = paths.each_ref().map(|path| Gate::new(path));
    let script = "echo first; read go < \"$0\"; seq 1 100000; echo last; read go < \"$1\"";
    let command = ["sh", "-c", script, &paths[0], &paths[1]];
    let life = world.observe(world.launch(&["--max-recording", "200K"], &command));
    life.until_shown("first");
    gate.open();
    until("it is cut", || !world.told(&life.id, "cut").is_empty());
    until("the live screen goes on", || {
        data(&world.abide.run(&["snapshot", "--json", &life.id]))["lines"].to_string().contains("last")
    });
    let (id, picture) = (life.id.as_str(), world.beside("picture.png"));
    let cast = world.beside("export.cast");
    for args in [
        &["snapshot", "--json", "--at", "-0s", id][..],
        &["export", "--json", "-o", &cast, id],
        &["screenshot", "--json", "-o", &picture, "--at", "-0s", id],
    ] {
        let told = data(&world.abide.run(args));
        assert_eq!(list(&told, "gaps"), 1, "{args:?}: {told}");
    }
    let diff = world.abide.run(&["diff", id, "--from", "#1", "--to", "-0s"]);
    assert!(diff.stderr.contains("the recording was cut"), "{diff:?}");
    // What came and is not on record is told as missing, and what has not come as that.
    let now = data(&world.abide.run(&["snapshot", "--json", id]));
    for at in [format!("seq:{}", now["seq"]), "#5000".to_owned()] {
        let told = data(&world.abide.run(&["snapshot", "--json", "--at", &at, id]));
        assert_eq!(list(&told, "gaps"), 1, "{at}: {told}");
    }
    let ahead = world.abide.run(&["snapshot", "--at", "+99h", id]);
    assert!(ahead.code() == Some(2) && ahead.stderr.contains("has not come to that time"), "{ahead:?}");
    assert!(world.abide.run(&["logs", id]).stdout.contains("was cut here"));
    let whole = data(&world.abide.run(&["snapshot", "--json", "--at", "#2", id]));
    assert_eq!(list(&whole, "gaps"), 0, "what came before it is whole: {whole}");
    let found = world.abide.run(&["search", "--json", "first"]);
    assert_eq!((list(&data(&found), "hits"), list(&data(&found), "incomplete")), (1, 1), "{found:?}");
    assert!(found.stderr.contains("not searched whole"), "{found:?}");
    assert_eq!(world.inspect(id)["recording"]["complete"], false);
    assert_eq!(doctor(&world).1, ["weak"], "it was asked for");
    // A mark is a fact, also where there is no room for it in the recording.
    let set = data(&world.abide.run(&["mark", "--json", id, "beyond"]));
    assert_eq!(set["instant"]["seq"], told_in_all(&world, id), "{set}");
    let listed = data(&world.abide.run(&["marks", "--json", id]));
    assert_eq!((&listed["marks"][0]["name"], list(&listed, "marks")), (&"beyond".into(), 1), "{listed}");
    assert_eq!(listed["marks"][0]["instant"], set["instant"]);
    let seen = data(&world.abide.run(&["snapshot", "--json", "--at", "mark:beyond", id]));
    assert_eq!(list(&seen, "gaps"), 1, "{seen}");
    end.open();
    assert_eq!(world.wait(id).0, Some(0));
    assert!(world.abide.run(&["logs", id]).stdout.contains("was cut here"));
}

/// How much output there was, recorded or not.
fn told_in_all(world: &World, id: &str) -> Value {
    data(&world.abide.run(&["snapshot", "--json", id]))["seq"].clone()
}

/// Where the last entry with output begins.
fn last_output(recording: &[u8]) -> usize {
    let (mut at, mut last) = (0, 0);
    while let Next::Entry(entry, length) = next(&recording[at..]) {
        if entry.kind == Kind::Output {
            last = at;
        }
        at += length;
        if at == recording.len() {
            break;
        }
    }
    last
}

#[test]
fn whatever_becomes_of_a_recording_afterwards_is_told_by_everybody() {
    let world = World::new();
    let script = "echo first words; read go < \"$0\"; echo last words";
    let gate = Gate::new(&world.beside("gate"));
    let life = world.observe(world.launch(&[], &["sh", "-c", script, &world.beside("gate")]));
    life.until_shown("first words");
    gate.open();
    assert_eq!(world.wait(&life.id).0, Some(0));
    let id = life.id.as_str();
    let (path, index) = (world.dir(id).join("recording"), world.dir(id).join("index"));
    let sound = fs::read(&path).expect("it is ours");
    assert_eq!((doctor(&world).1.len(), &world.inspect(id)["recording"]["complete"]), (0, &true.into()));
    let last = last_output(&sound);
    let mut flipped = sound.clone();
    flipped[last + 40] ^= 1;
    // What stands there instead, and what is told.
    let cases: [(&str, &[u8], &str); 4] = [
        ("cut between two entries", &sound[..last], "12 bytes of output are missing"),
        ("cut within one", &sound[..last + 35], "cannot be read"),
        ("emptied", b"", "bytes of output"),
        ("flipped", &flipped, "cannot be read"),
    ];
    for (name, bytes, says) in cases {
        put(&path, bytes);
        let _ = fs::remove_file(&index);
        let logs = world.abide.run(&["logs", id]);
        assert!(logs.stdout.contains(says), "{name}: {logs:?}");
        let marks = world.abide.run(&["marks", "--json", id]).json();
        assert!(list(&marks, "warnings") > 0, "{name}: {marks}");
        let told = data(&world.abide.run(&["snapshot", "--json", id]));
        assert!(list(&told, "gaps") > 0, "{name}: {told}");
        assert_eq!(world.inspect(id)["recording"]["complete"], false, "{name}");
        let (ran, healths) = doctor(&world);
        assert_eq!((ran.code(), healths.as_slice()), (Some(1), &["bad".to_owned()][..]), "{name}: {ran:?}");
        let found = world.abide.run(&["search", "--json", "last"]);
        let answer = data(&found);
        assert_eq!((list(&answer, "hits"), list(&answer, "incomplete")), (0, 1), "{name}: {found:?}");
        assert!(found.stderr.contains("not searched whole"), "{name}: {found:?}");
    }
    fs::remove_file(&path).expect("it is ours");
    assert_eq!(world.abide.run(&["logs", id]).code(), Some(7));
    assert_eq!(world.inspect(id)["recording"]["complete"], false);
    assert_eq!(doctor(&world).1, ["bad"]);
    let found = world.abide.run(&["search", "--json", "words"]);
    assert_eq!(list(&data(&found), "incomplete"), 1, "{found:?}");
    assert!(found.stderr.contains("is gone"), "{found:?}");
}

#[test]
fn a_recording_that_somebody_empties_under_a_running_program_is_followed_on_and_told_of() {
    let world = World::new();
    let script = "seq 100; echo first words; read go < \"$0\"; echo second words; read go < \"$1\"";
    let gates = [world.beside("one"), world.beside("two")];
    let [first, second] = [Gate::new(&gates[0]), Gate::new(&gates[1])];
    let life = world.observe(world.launch(&[], &["sh", "-c", script, &gates[0], &gates[1]]));
    life.until_shown("first words");
    put(&world.dir(&life.id).join("recording"), b"");
    first.open();
    let live = || data(&world.abide.run(&["snapshot", "--json", &life.id]));
    until("the host shows what came next", || live()["lines"].to_string().contains("second words"));
    assert_eq!(live()["source"], "live");
    second.open();
    assert_eq!(world.wait(&life.id).0, Some(0));
    assert_eq!(world.inspect(&life.id)["recording"]["complete"], false);
    let logs = world.abide.run(&["logs", &life.id]).stdout;
    assert!(logs.contains("second words") && logs.contains("missing"), "{logs}");
}

#[test]
fn a_recording_without_its_beginning_says_so_though_no_output_is_missing() {
    let world = World::new();
    let id = world.run(&[], &["print words", "exit 0"]);
    assert_eq!(world.wait(&id).0, Some(0));
    let path = world.dir(&id).join("recording");
    let sound = fs::read(&path).expect("it is ours");
    let Next::Entry(_, first) = next(&sound) else { panic!("it begins with an entry") };
    put(&path, &sound[first..]);
    let logs = world.abide.run(&["logs", &id]);
    assert!(logs.stdout.contains("the beginning of the recording is missing"), "{logs:?}");
    assert!(logs.stdout.contains("words"), "{logs:?}");
    let told = data(&world.abide.run(&["snapshot", "--json", &id]));
    assert_eq!(list(&told, "gaps"), 1, "{told}");
    assert_eq!(doctor(&world).1, ["bad"]);
}

#[test]
fn output_that_is_gone_counts_also_after_the_host_and_the_guard_that_knew_of_it() {
    let world = World::new();
    let gate = Gate::new(&world.beside("gate"));
    let script = "echo first words; read go < \"$0\"; echo second words";
    let life = world.observe(world.launch(&[], &["sh", "-c", script, &world.beside("gate")]));
    life.until_shown("first words");
    put(&world.dir(&life.id).join("recording"), b"");
    life.replace("host");
    life.replace("guard");
    gate.open();
    world.wait(&life.id);
    let drained = world.told(&life.id, "drained");
    assert_eq!(drained[0]["bytes"], "first words\r\nsecond words\r\n".len(), "{drained:?}");
    let logs = world.abide.run(&["logs", &life.id]);
    assert!(logs.stdout.contains("second words"), "{logs:?}");
    assert!(logs.stdout.contains("13 bytes of output are missing"), "{logs:?}");
    let told = data(&world.abide.run(&["snapshot", "--json", &life.id]));
    assert_eq!(list(&told, "gaps"), 1, "{told}");
    assert_eq!(doctor(&world).1.len(), 1);
}

fn put(path: &Path, bytes: &[u8]) {
    let file = fs::OpenOptions::new().write(true).truncate(true).open(path);
    file.and_then(|mut file| std::io::Write::write_all(&mut file, bytes)).expect("it is ours");
}

#[test]
fn entries_have_their_numbers_whoever_writes_them() {
    let world = World::new();
    let script = "echo first; read go < \"$0\"; echo second; read go < \"$1\"; echo third";
    let paths = ["one", "two"].map(|name| world.beside(name));
    let [one, two] = paths.each_ref().map(|path| Gate::new(path));
    let life = world.observe(world.launch(&[], &["sh", "-c", script, &paths[0], &paths[1]]));
    life.until_shown("first");
    life.replace("guard");
    one.open();
    life.until_shown("second");
    let ran = world.abide.run(&["upgrade", &life.id]);
    assert_eq!(ran.code(), Some(0), "{ran:?}");
    two.open();
    assert_eq!(world.wait(&life.id).0, Some(0));
    let recording = fs::read(world.dir(&life.id).join("recording")).expect("it is ours");
    let (mut at, mut numbers) = (0, Vec::new());
    while let Next::Entry(entry, length) = next(&recording[at..]) {
        numbers.push(entry.number);
        at += length;
        if at == recording.len() {
            break;
        }
    }
    assert_eq!(at, recording.len(), "all of it was read");
    assert!(numbers.len() >= 4, "{numbers:?}");
    assert!(numbers.iter().zip(1..).all(|(number, counted)| *number == counted), "{numbers:?}");
}
