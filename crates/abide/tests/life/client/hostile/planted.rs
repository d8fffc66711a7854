//! Anything in the place of any file that a reader opens: no command hangs, follows, or takes more memory than it should,
//! and what the session says stays true or becomes `unknown`.

use std::fs::{self, File};
use std::os::unix::net::UnixListener;
use std::path::Path;

use abide_core::evidence::How;
use abide_testkit::scene::{Scene, dead};
use abide_testkit::{Ran, Tape};
use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};

use super::put;
use crate::common::World;

/// Far more than could be read while anybody waits.
const HUGE: u64 = 1 << 40;
/// No reader may need more, in KiB.
const MEMORY_KIB: u32 = 1 << 20;
/// Who reads what is evidence of a session.
const JUDGES: &[&[&str]] = &[
    &["ls", "-a"],
    &["inspect", "planted0"],
    &["why", "planted0"],
    &["events", "planted0"],
    &["wait", "--cap", "100ms", "planted0"],
    &["doctor", "--fix"],
];
/// Who reads what it showed.
const VIEWERS: &[&[&str]] = &[
    &["inspect", "planted0"],
    &["logs", "planted0"],
    &["logs", "--tail", "3", "planted0"],
    &["snapshot", "planted0"],
    &["snapshot", "--at", "+1s", "planted0"],
    &["search", "one"],
    &["export", "--format", "txt", "planted0"],
    &["gc", "--pack", "0s", "--older", "1000d"],
    &["logs", "planted0"],
];
/// Who reads what else is there.
const CALLERS: &[&[&str]] =
    &[&["inspect", "planted0"], &["snapshot", "planted0"], &["type", "planted0", "x"], &["gc", "--dry-run"]];

/// What a reader opens in a session, and who does.
const FILES: &[(&str, &[&[&str]])] = &[
    ("evidence", JUDGES),
    ("outcome", JUDGES),
    ("result.toml", JUDGES),
    ("alive", JUDGES),
    ("recording", VIEWERS),
    ("recording.packed", VIEWERS),
    ("keyframes", VIEWERS),
    ("index", VIEWERS),
    ("index-lines", VIEWERS),
    ("view", CALLERS),
    (".view", CALLERS),
    ("socket", CALLERS),
    ("checkpoints", CALLERS),
    ("notify", CALLERS),
    ("ssh-agent", CALLERS),
    ("prompt", CALLERS),
];

/// A session that is over, with a recording, and all that a reader may have put away of it.
fn session(world: &World) -> Scene {
    let gone = dead();
    let scene = Scene::new(&world.home.path(), "planted0").served(&gone, &gone, &gone);
    let scene = scene.ended(How::Exited { code: 3 });
    Tape::new(40, 6).output("one\r\ntwo\r\n").at(2_000_000).mark("here").output("three").put(scene.dir());
    scene
}

/// Asks everything, with no more memory than there should be need of.
fn ask(world: &World, plant: &str, readers: &[&[&str]]) {
    for reader in readers {
        let script = format!("ulimit -v {MEMORY_KIB}; exec \"$0\" \"$@\"");
        let ran = Ran::of(&mut world.bash(&script, reader));
        let code = ran.code().unwrap_or_else(|| panic!("{plant}: {reader:?} was killed: {ran:?}"));
        assert!(code < 128 && code != 101, "{plant}: {reader:?}: {ran:?}");
        assert!(!ran.stderr.contains("panicked"), "{plant}: {reader:?}: {ran:?}");
    }
    let told = world.inspect("planted0");
    let honest = told["status"] == "exited" && told["exit_code"] == 3 || told["status"] == "unknown";
    assert!(honest, "{plant}: {told}");
}

fn check(what: &str, plant: impl Fn(&Path)) {
    let world = World::new();
    let scene = session(&world);
    for (name, readers) in FILES {
        let path = scene.dir().join(name);
        let kept = scene.dir().with_file_name("kept");
        let had = fs::rename(&path, &kept).is_ok();
        plant(&path);
        ask(&world, &format!("{what} as {name}"), readers);
        // Whoever makes something anew may have done so.
        let _ = fs::remove_dir_all(&path);
        let _ = fs::remove_file(&path);
        if had {
            fs::rename(&kept, &path).expect("it is put back");
        }
    }
}

#[test]
fn a_huge_file_in_the_place_of_any_holds_nobody_up() {
    check("a huge file", |path| {
        File::create(path).and_then(|file| file.set_len(HUGE)).expect("it takes no room");
    });
}

#[test]
fn a_fifo_in_the_place_of_any_file_holds_nobody_up() {
    check("a FIFO", |path| {
        mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("there is room");
    });
}

#[test]
fn a_directory_in_the_place_of_any_file_is_told_as_damage_or_passed_over() {
    check("a directory", |path| {
        fs::create_dir(path)
            .and_then(|()| File::create(path.join("within")).map(drop))
            .expect("there is room");
    });
}

#[test]
fn a_socket_in_the_place_of_any_file_is_told_as_damage_or_passed_over() {
    check("a socket", |path| drop(UnixListener::bind(path).expect("there is room")));
}

#[test]
fn garbage_in_the_place_of_any_file_is_told_as_damage_or_passed_over() {
    let noise: Vec<u8> = (0..100_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 23) as u8).collect();
    check("garbage", |path| put(path, &noise));
    check("an empty file", |path| drop(File::create(path).expect("there is room")));
}

/// Only root can make one, and only root need fear one.
#[test]
fn a_device_in_the_place_of_any_file_is_never_read() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    // It gives zeros without end.
    let zero =
        |path: &Path| mknodat(CWD, path, FileType::CharacterDevice, Mode::RUSR | Mode::WUSR, makedev(1, 5));
    let scratch = abide_testkit::ScratchDir::new();
    if zero(&scratch.join("zero")).is_err() {
        // Not in every container may it.
        return;
    }
    check("a device", |path| zero(path).expect("it could be made before"));
}

#[test]
fn what_is_planted_among_the_names_and_sessions_is_no_session_and_harms_none() {
    let world = World::new();
    let _scene = session(&world);
    let sessions = world.home.path().join("sessions");
    let names = world.home.path().join("names");
    fs::create_dir(&names).expect("there is room");
    fs::set_permissions(&names, std::os::unix::fs::PermissionsExt::from_mode(0o700)).expect("it is ours");
    for (number, dir) in [&sessions, &names].into_iter().enumerate() {
        for name in ["fifo0000", ".lock", ".new-fifo0000", ".gone-fifo0001"] {
            if number == 0 || name != ".new-fifo0000" {
                mknodat(CWD, dir.join(name), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)
                    .expect("there is room");
            }
        }
        put(dir.join("file0000"), "x");
        std::os::unix::fs::symlink("/", dir.join("link0000")).expect("there is room");
        std::os::unix::fs::symlink("..", dir.join("up000000")).expect("there is room");
    }
    ask(&world, "names and sessions", &[JUDGES, VIEWERS, CALLERS].concat());
    // A name cannot be given where its lock is none, and that is said.
    let refused = world.abide.run(&["run", "-d", "--name", "x", "--", "true"]);
    assert_eq!(refused.code(), Some(1), "{refused:?}");
    assert!(refused.stderr.contains("not a regular file"), "{refused:?}");
}

#[test]
fn a_fifo_as_the_config_is_told_and_not_waited_for() {
    let world = World::new();
    let config = world.beside("config");
    mknodat(CWD, &config, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("there is room");
    for args in [&["ls"][..], &["config"], &["doctor"]] {
        let ran = Ran::of(world.abide.command(args).env("ABIDE_CONFIG", &config));
        let all = ran.stdout + &ran.stderr;
        assert!(all.contains("cannot be read: it is a FIFO"), "{args:?}: {all}");
    }
}

/// The next host looks at what the program was started from, to tell whether it has become something else.
#[test]
fn a_fifo_in_the_place_of_the_programs_own_image_holds_up_no_host() {
    let world = World::new();
    let image = world.home.around().program("image", crate::common::agent()).display().to_string();
    let life = world.observe(world.launch(&[], &[&image, "print ready", "hang"]));
    life.until_shown("ready");
    fs::remove_file(&image).expect("it is ours");
    mknodat(CWD, &image, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("there is room");
    life.replace("host");
    let told = world.abide.run(&["snapshot", "--json", &life.id]).json();
    assert_eq!(told["data"]["source"], "live", "{told}");
}
