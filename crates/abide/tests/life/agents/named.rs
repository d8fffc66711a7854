//! Files that somebody names are saved, in sessions without an agent too; what cannot be saved changes nothing else.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use abide_testkit::deadline::until;
use rustix::process::Signal;
use serde_json::Value;

use crate::common::{World, data, outcome};

/// A home whose checkpoints are made often.
fn world() -> World {
    let world = World::new();
    let _path = world.home.config("[checkpoint]\nevery = '150ms'\n");
    world
}

fn write(path: &str, text: &str) {
    let next = format!("{path}.next");
    fs::File::create(&next)
        .and_then(|mut file| std::io::Write::write_all(&mut file, text.as_bytes()))
        .and_then(|()| fs::rename(&next, path))
        .expect("there is room");
}

fn until_saved(world: &World, id: &str, file: &str, text: &str) -> Value {
    let mut found = None;
    until("it is saved", || {
        let told = world.told(id, "checkpointed");
        found = told.into_iter().rev().find(|one| one["file"] == file && one["size"] == text.len());
        found.is_some()
    });
    found.expect("it was found")
}

fn restored(world: &World, id: &str, args: &[&str]) -> String {
    let to = world.beside("restored");
    let _ = fs::remove_file(&to);
    let ran = world.abide.run(&[&["checkpoint", "restore", id, "--to", &to], args].concat());
    assert_eq!(ran.code(), Some(0), "{ran:?}");
    fs::read_to_string(to).expect("it was restored")
}

fn mode(path: &Path) -> u32 {
    path.metadata().expect("it is there").permissions().mode() & 0o777
}

#[test]
fn a_named_file_is_saved_from_then_on_by_a_scribe_that_is_replaced_and_at_the_end() {
    let world = world();
    let life = world.live(&["hang"]);
    let (id, plan) = (life.id.as_str(), world.beside("plan"));
    write(&plan, "one\n");
    let told = data(&world.abide.run(&["checkpoint", "--json", id, "--file", &plan]));
    assert_eq!(
        (&told["checkpoints"][0]["reason"], &told["checkpoints"][0]["bytes"]),
        (&"asked".into(), &4.into())
    );
    write(&plan, "one\ntwo\n");
    let told = until_saved(&world, id, &plan, "one\ntwo\n");
    assert_eq!(
        (&told["reason"], &told["new"], &told["path"]),
        (&"interval".into(), &4.into(), &"checkpoints/1".into())
    );
    write(&plan, "another\n\n");
    let told = until_saved(&world, id, &plan, "another\n\n");
    assert_eq!((&told["new"], &told["path"]), (&9.into(), &"checkpoints/2".into()));
    let dir = world.dir(id).join("checkpoints");
    assert_eq!((mode(&dir), mode(&dir.join("1")), mode(&dir.join("2"))), (0o700, 0o600, 0o600));
    // All that was ever saved is there.
    for (number, text) in [("1", "one\n"), ("2", "one\ntwo\n"), ("3", "another\n\n")] {
        assert_eq!(restored(&world, id, &["-n", number]), text);
    }
    life.program.0.signal(Signal::KILL);
    let (_, ended) = world.wait(id);
    assert_eq!(outcome(&ended).2, Some(9));
    let listed = data(&world.abide.run(&["checkpoint", "ls", "--json", id]));
    let last = listed["checkpoints"].as_array().and_then(|all| all.last()).expect("there is one").clone();
    assert_eq!((&last["reason"], &last["new_bytes"]), (&"end".into(), &0.into()), "{last}");
    let refused = world.abide.run(&["checkpoint", "--json", id, "--file", &plan]);
    assert_eq!((refused.code(), &refused.json()["error"]["code"]), (Some(5), &"not_active".into()));
}

#[test]
fn a_program_names_a_file_of_its_own_session_and_one_of_several_must_be_meant() {
    let world = world();
    let life = world.live(&["hang"]);
    let (id, one, two) = (life.id.as_str(), world.beside("one"), world.beside("two"));
    write(&one, "1");
    write(&two, "22");
    for file in [&one, &two] {
        let mut inside = world.abide.command(&["checkpoint", "--json", "--file", file]);
        let ran = abide_testkit::Ran::of(inside.env("ABIDE_SESSION", id));
        assert_eq!(ran.code(), Some(0), "{ran:?}");
    }
    let refused = |args: &[&str]| {
        let ran = world.abide.run(&[&["checkpoint"], args, &["--json"]].concat());
        (ran.code(), ran.json()["error"]["code"].as_str().unwrap_or_default().to_owned())
    };
    assert_eq!(refused(&["show", id]), (Some(4), "ambiguous".to_owned()));
    assert_eq!(refused(&["show", id, "-n", "9"]), (Some(2), "no_checkpoint".to_owned()));
    assert_eq!(refused(&["--file", &one]), (Some(2), "usage".to_owned()));
    assert_eq!(refused(&[id, "--file", &world.beside("none")]), (Some(1), "io".to_owned()));
    assert_eq!(restored(&world, id, &["--file", &two]), "22");
    // What is damaged is not given.
    fs::OpenOptions::new()
        .write(true)
        .open(world.dir(id).join("checkpoints/1"))
        .and_then(|mut file| std::io::Write::write_all(&mut file, b"x"))
        .expect("it is ours");
    assert_eq!(refused(&["show", id, "-n", "1"]), (Some(7), "damaged".to_owned()));
    let bare = world.live(&["hang"]);
    assert_eq!(refused(&[&bare.id]), (Some(5), "no_agent".to_owned()));
}

#[test]
fn a_file_that_vanished_is_told_once_and_saved_when_it_is_back() {
    let world = world();
    let life = world.live(&["hang"]);
    let (id, plan) = (life.id.as_str(), world.beside("plan"));
    write(&plan, "one");
    assert_eq!(world.abide.run(&["checkpoint", id, "--file", &plan]).code(), Some(0));
    fs::remove_file(&plan).expect("it was there");
    let notes = || {
        world
            .told(id, "noted")
            .iter()
            .filter(|note| note["text"].to_string().contains("was not saved"))
            .count()
    };
    until("that is told", || notes() == 1);
    write(&plan, "back again");
    until_saved(&world, id, &plan, "back again");
    assert_eq!((notes(), world.inspect(id)["status"].as_str()), (1, Some("running")));
}
