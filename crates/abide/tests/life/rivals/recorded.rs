//! Recordings: every byte as it came, whatever it is and however much, and looking leaves no trace.

use std::fs;

use abide_core::evidence::How;
use abide_testkit::Tape;
use abide_testkit::scene::{Scene, dead};
use abide_testkit::tools::need;

use crate::common::{World, data};

#[test]
fn bytes_that_are_no_text_are_kept_as_they_came() {
    let world = World::new();
    let octal: String = (0..=255).map(|byte| format!("\\\\{byte:03o}")).collect();
    let id = world.launch(&[], &["sh", "-c", &format!("stty raw; printf \"{octal}\"")]);
    assert_eq!(world.wait(&id).0, Some(0));
    let every: Vec<u8> = (0..=255).collect();
    let raw = world.abide.command(&["logs", "--raw", &id]).output().expect("it runs");
    assert_eq!(raw.stdout, every);
    for twice in [&["export", "--format", "cast", &id][..], &["export", "--format", "txt", &id]] {
        let [first, second] = [(); 2].map(|()| world.abide.command(twice).output().expect("it runs").stdout);
        assert!(!first.is_empty() && first == second, "{twice:?}");
    }
}

/// More entries and more bytes than others can read. A screen that is fed so much takes its time, unoptimised: shorter ones are
/// shown in other tests.
#[test]
fn a_long_recording_is_given_out_to_the_last_byte() {
    const ENTRIES: u64 = 260_000;
    let world = World::new();
    let gone = dead();
    let scene = Scene::new(&world.home.path(), "longlong").served(&gone, &gone, &gone);
    let line = "x".repeat(200);
    let tape =
        (0..ENTRIES).fold(Tape::new(80, 24), |tape, number| tape.output(format!("{number:08}{line}\r\n")));
    tape.put(scene.dir());
    let scene = scene.ended(How::Exited { code: 0 });
    let raw = world.abide.command(&["logs", "--raw", scene.id()]).output().expect("it runs").stdout;
    let size = usize::try_from(ENTRIES).expect("it is small") * 210;
    assert!(size > 50 << 20 && raw.len() == size, "{}", raw.len());
    assert!(raw.ends_with(format!("{:08}{line}\r\n", ENTRIES - 1).as_bytes()));
}

#[test]
fn looking_leaves_no_file_behind() {
    let world = World::new();
    let id = world.launch(&[], &["echo", "here"]);
    assert_eq!(world.wait(&id).0, Some(0));
    let listed = || {
        let there = fs::read_dir(world.dir(&id)).expect("it is there").flatten();
        let mut there: Vec<_> =
            there.map(|entry| (entry.file_name(), entry.metadata().expect("it is ours").len())).collect();
        there.sort();
        there
    };
    world.until_nobody_serves(&id);
    let before = listed();
    for look in [
        &["snapshot"][..],
        &["snapshot", "--at", "+0s"],
        &["screenshot", "-o", "-"],
        &["export", "--format", "gif"],
        &["logs"],
        &["marks"],
        &["diff", "--from", "+0s"],
        &["wait", "--text", "here"],
        &["events"],
        &["why"],
    ] {
        let looked = world.abide.command(&[look, &[&id]].concat()).output().expect("it runs");
        assert_eq!(looked.status.code(), Some(0), "{look:?} {looked:?}");
    }
    assert_eq!(listed(), before);
}

#[test]
fn a_shell_that_marks_unended_lines_finds_none_where_its_terminal_begins() {
    let _ = need("zsh");
    let world = World::new();
    let life = world.observe(world.launch(&["--env", "PS1=ready> "], &["zsh", "-f"]));
    let met = world.abide.run(&["wait", "--json", "--text", "ready>", "--timeout", "30s", &life.id]);
    assert_eq!(met.code(), Some(0), "{met:?}");
    let shown = data(&world.abide.run(&["snapshot", "--json", &life.id]));
    assert_eq!((&shown["lines"][0], &shown["lines"][1]), (&"ready>".into(), &"".into()), "{shown}");
}
