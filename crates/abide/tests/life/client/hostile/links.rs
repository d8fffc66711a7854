//! Links, symbolic and hard, in the places of a session's files: nothing outside is read, written, cut, moved or removed
//! through one, by any reader, writer, guard or host.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use abide_testkit::deadline::until;
use abide_testkit::scene::{Scene, dead};
use abide_testkit::{Ran, Tape};
use rustix::process::Signal;

use super::put;
use crate::common::{Gate, World};

const SECRET: &str = "the victim's own words";

/// A file of the user's that is none of abide's business.
struct Victim(PathBuf);

impl Victim {
    fn new(world: &World) -> Self {
        let path = PathBuf::from(world.beside("victim"));
        put(&path, SECRET);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("it is ours");
        Self(path)
    }

    fn is_untouched(&self, plant: &str) {
        let there = fs::metadata(&self.0).unwrap_or_else(|error| panic!("{plant}: {error}"));
        assert_eq!(fs::read_to_string(&self.0).expect("it is ours"), SECRET, "{plant}");
        assert_eq!(there.mode() & 0o777, 0o644, "{plant}");
    }
}

const FILES: &[&str] = &[
    "evidence",
    "outcome",
    "recording",
    "recording.packed",
    "keyframes",
    "index",
    "index-lines",
    "view",
    "alive",
    "result.toml",
    "socket",
    "checkpoints",
    "notify",
    ".view",
    ".index",
    ".keyframes",
    ".recording.packed",
];

const ALL: &[&[&str]] = &[
    &["ls", "-a"],
    &["inspect", "linked00"],
    &["why", "linked00"],
    &["logs", "linked00"],
    &["logs", "--raw", "linked00"],
    &["snapshot", "linked00"],
    &["search", "words"],
    &["search", "recorded"],
    &["events", "linked00"],
    &["export", "--format", "txt", "linked00"],
    &["type", "linked00", "x"],
    &["wait", "--cap", "10ms", "linked00"],
    &["result", "set", "linked00", "success"],
    &["doctor", "--fix"],
    &["gc", "--pack", "0s", "--older", "1000d"],
];

fn told(ran: Ran) -> String {
    ran.stdout + &ran.stderr
}

/// A session whose guard, host and program are dead and whose end nobody recorded: whoever seals it writes.
fn lost(world: &World) -> Scene {
    let gone = dead();
    let scene = Scene::new(&world.home.path(), "linked00").served(&gone, &gone, &gone);
    Tape::new(40, 6).output("recorded\r\n").put(scene.dir());
    scene
}

#[test]
fn a_symbolic_link_in_the_place_of_any_file_of_a_session_leads_nobody_out() {
    for name in FILES {
        let world = World::new();
        let victim = Victim::new(&world);
        let scene = lost(&world);
        let _ = fs::remove_file(scene.dir().join(name));
        symlink(&victim.0, scene.dir().join(name)).expect("there is room");
        for args in ALL {
            let told = told(world.abide.run(args));
            assert!(!told.contains(SECRET) && !told.contains("panicked"), "{name}: {args:?}: {told}");
            victim.is_untouched(name);
        }
        let removed = world.abide.run(&["rm", "--force", "linked00"]);
        victim.is_untouched(name);
        // Where the evidence itself cannot be read, nobody removes what may live.
        assert!(removed.code() == Some(0) || *name == "evidence", "{name}: {removed:?}");
    }
}

/// A hard link is the file itself, so what is planted so is read; what is written is written elsewhere, but for the facts and
/// frames that are appended to what stands there. So only what is replaced or cut is at stake here.
#[test]
fn another_name_of_a_file_is_not_written_through_where_a_file_is_replaced() {
    for name in ["view", ".view", "index", ".index", ".keyframes", ".recording.packed", "recording.packed"] {
        let world = World::new();
        let victim = Victim::new(&world);
        let scene = lost(&world);
        let _ = fs::remove_file(scene.dir().join(name));
        fs::hard_link(&victim.0, scene.dir().join(name)).expect("they are on one file system");
        for args in ALL {
            let told = told(world.abide.run(args));
            assert!(!told.contains("panicked"), "{name}: {args:?}: {told}");
            victim.is_untouched(name);
        }
        let removed = world.abide.run(&["rm", "--force", "linked00"]);
        assert_eq!(removed.code(), Some(0), "{name}: {removed:?}");
        victim.is_untouched(name);
    }
}

/// The program itself plants them while guard and host live, where they write next.
#[test]
fn guard_and_host_write_through_no_link_that_their_program_plants() {
    let world = World::new();
    let victim = Victim::new(&world);
    let go = world.beside("go");
    let gate = Gate::new(&go);
    let script = "cd \"$ABIDE_SESSION_DIR\"; for f in view .view keyframes .keyframes result.toml checkpoints index; do
        rm -rf $f; ln -s \"$0\" $f; done
        ln \"$0\" .notify; printf '\\033]2;new title\\007planted\\n'; read line <\"$1\"; exit 3";
    let id = world.launch(&[], &["sh", "-c", script, victim.0.to_str().expect("it is text"), &go]);
    let life = world.observe(id.clone());
    life.until_shown("planted");
    until("the host has published its title all the same", || {
        life.inspect()["screen"]["title"] == "new title"
    });
    victim.is_untouched("while it runs");
    life.replace("host");
    life.replace("guard");
    victim.is_untouched("under the next host and guard");
    gate.open();
    let (code, told) = world.wait(&id);
    assert_eq!(code, Some(3), "what is declared through a link is no result: {told}");
    assert_eq!(told["declared"], serde_json::Value::Null);
    victim.is_untouched("after the end");
    assert_eq!(world.abide.run(&["rm", &id]).code(), Some(0));
    victim.is_untouched("after the removal");
}

#[test]
fn links_in_the_places_of_directories_and_names_lead_nobody_out() {
    let world = World::new();
    let outside = PathBuf::from(world.beside("outside"));
    fs::create_dir_all(outside.join("names")).expect("there is room");
    put(outside.join("file"), SECRET);
    let snapshot = |path: &Path| -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(path)
            .expect("it is ours")
            .flatten()
            .map(|e| e.file_name().to_string_lossy().into())
            .collect();
        names.sort();
        names
    };
    let before = snapshot(&outside);
    // The directory of sessions.
    fs::create_dir(world.home.path()).expect("there is room");
    fs::set_permissions(world.home.path(), fs::Permissions::from_mode(0o700)).expect("it is ours");
    symlink(&outside, world.home.path().join("sessions")).expect("there is room");
    for args in [&["run", "-d", "--", "true"][..], &["ls"], &["doctor", "--fix"], &["gc"]] {
        let ran = world.abide.run(args);
        assert_eq!(ran.code(), Some(1), "{args:?}: {ran:?}");
    }
    fs::remove_file(world.home.path().join("sessions")).expect("it is ours");
    // That of names, and names that lead elsewhere than to a session.
    symlink(outside.join("names"), world.home.path().join("names")).expect("there is room");
    let ran = world.abide.run(&["run", "-d", "--name", "x", "--", "true"]);
    assert_eq!(ran.code(), Some(1), "{ran:?}");
    fs::remove_file(world.home.path().join("names")).expect("it is ours");
    let life = world.live(&["hang"]);
    let names = world.home.path().join("names");
    let _ = fs::create_dir(&names);
    fs::set_permissions(&names, fs::Permissions::from_mode(0o700)).expect("it is ours");
    symlink("../../outside", names.join("evil")).expect("there is room");
    symlink("../outside", world.home.path().join("sessions/outer000")).expect("there is room");
    for args in
        [&["inspect", "evil"][..], &["rm", "--force", "evil"], &["stop", "evil"], &["stop", "outer000"]]
    {
        let ran = world.abide.run(args);
        assert!(ran.code().is_some_and(|code| code != 0), "{args:?}: {ran:?}");
    }
    let named = world.abide.run(&["run", "-d", "--name", "evil", "--", "true"]);
    assert_eq!(named.code(), Some(0), "a name that means nothing is free: {named:?}");
    assert_eq!(snapshot(&outside), before);
    assert_eq!(fs::read_to_string(outside.join("file")).expect("it is ours"), SECRET);
    life.program.0.signal(Signal::KILL);
}

/// What a program leaves in its session's directory is removed with it, whatever it is called and however deep it is.
#[test]
fn a_session_is_removed_with_whatever_its_program_left_there() {
    let world = World::new();
    // Deeper than there are descriptors, as deep as one path may be.
    let leave = "cd \"$ABIDE_SESSION_DIR\"; ln -s / root; mkfifo fifo; touch \"$(printf 'a\\377b')\"
        mkdir -p \"$(printf 'd\\377')/x\" \"$(printf 'd/%.0s' $(seq 1900))\"; echo deep";
    let id = world.launch(&[], &["sh", "-c", leave]);
    assert_eq!(world.wait(&id).0, Some(0), "{}", world.shown(&id));
    let removed = world.abide.run(&["rm", &id]);
    assert_eq!(removed.code(), Some(0), "{removed:?}");
    assert!(!world.dir(&id).exists());
    assert_eq!(world.in_sessions(), Vec::<String>::new());
}
