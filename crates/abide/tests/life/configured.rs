//! The values of the config file where they matter: in what commands do, and nowhere in guard and host.

use std::mem::MaybeUninit;
use std::path::Path;

use abide_testkit::{Ending, Ran};
use rustix::fd::OwnedFd;
use rustix::fs::inotify::{self, CreateFlags, Reader, WatchFlags};
use rustix::process::Signal;

use crate::common::{Gate, World, agent, data};

/// Counts how often a file is opened.
struct Opens(OwnedFd);

impl Opens {
    fn of(path: &Path) -> Self {
        let watch = inotify::init(CreateFlags::NONBLOCK).expect("files can be watched");
        inotify::add_watch(&watch, path, WatchFlags::OPEN).expect("it is there");
        Self(watch)
    }

    /// How often since it was last asked.
    fn count(&self) -> usize {
        let mut room = [MaybeUninit::uninit(); 4096];
        let mut reader = Reader::new(&self.0, &mut room);
        std::iter::from_fn(|| reader.next().ok().map(drop)).count()
    }
}

#[test]
fn a_session_whose_time_is_up_has_the_patience_of_the_file_to_end_well() {
    let world = World::new();
    let _path = world.home.config("grace = '10m'\n");
    let gate = Gate::new(&world.beside("gate"));
    let script = "trap 'echo asked; read go < \"$0\"; exit 4' TERM; echo ready; while :; do sleep 0.05; done";
    let id = world.launch(&["--timeout", "300ms"], &["sh", "-c", script, &world.beside("gate")]);
    let life = world.observe(id);
    life.until_shown("asked");
    assert_eq!(world.told(&life.id, "launched")[0]["terms"]["grace_ms"], 600_000);
    let asked = &world.told(&life.id, "stop_asked")[0];
    assert_eq!((&asked["by"], &asked["grace_ms"]), (&"its time limit".into(), &600_000.into()), "{asked}");
    let capped = world.abide.run(&["wait", "--cap", "3s", &life.id]);
    assert_eq!((capped.code(), life.program.0.lives()), (Some(0), true), "{capped:?}");
    gate.open();
    let (code, told) = world.wait(&life.id);
    assert_eq!((code, &told["outcome"]["cause"]), (Some(4), &"timeout".into()), "{told}");
}

#[test]
fn the_next_guard_goes_on_with_a_time_limit_that_is_on_record_and_does_not_record_it_again() {
    let world = World::new();
    let gate = Gate::new(&world.beside("gate"));
    let script = "trap 'echo asked; read go < \"$0\"; exit 4' TERM; echo ready; while :; do sleep 0.05; done";
    let _path = world.home.config("grace = '10m'\n");
    let id = world.launch(&["--timeout", "300ms"], &["sh", "-c", script, &world.beside("gate")]);
    let life = world.observe(id);
    life.until_shown("asked");
    let guard = life.helper("guard", None);
    guard.signal(Signal::KILL);
    guard.await_end();
    let _next = life.helper("guard", Some(guard.pid()));
    assert_eq!(world.inspect(&life.id)["stopping"], true);
    gate.open();
    let (_, told) = world.wait(&life.id);
    assert_eq!(told["outcome"]["cause"], "timeout", "{told}");
    assert_eq!(world.told(&life.id, "stop_asked").len(), 1);
}

#[test]
fn a_stop_has_the_patience_of_the_file_and_a_flag_has_more_say() {
    let world = World::new();
    let _path = world.home.config("grace = '30s'\n");
    for (flags, grace_ms) in [(&[][..], 30_000), (&["--grace", "20s"], 20_000)] {
        let life = world.live(&["hang"]);
        let stop = world.abide.run(&[&["stop"], flags, &[&life.id]].concat());
        assert_eq!(stop.code(), Some(0), "{stop:?}");
        assert_eq!(world.told(&life.id, "stop_asked")[0]["grace_ms"], grace_ms);
    }
    let life = world.live(&["hang"]);
    let evidence = world.dir(&life.id).join("evidence");
    let kept = std::fs::File::open(&evidence).expect("it is there");
    let removed = world.abide.run(&["rm", "--force", &life.id]);
    assert_eq!(removed.code(), Some(0), "{removed:?}");
    let told = std::io::read_to_string(kept).expect("a removed file can still be read");
    assert!(told.contains("\"grace_ms\":30000"), "{told}");
}

#[test]
fn a_session_has_the_size_of_the_file_and_a_flag_has_more_say() {
    let world = World::new();
    let _path = world.home.config("size = '100x30'\n");
    for (flags, size) in [(&[][..], (100, 30)), (&["--size", "90x20"], (90, 20))] {
        let life = world.observe(world.run(flags, &["hang"]));
        let screen = &life.inspect()["screen"];
        assert_eq!((&screen["cols"], &screen["rows"]), (&size.0.into(), &size.1.into()), "{screen}");
    }
}

#[test]
fn gc_keeps_what_the_file_says_unless_a_limit_is_given() {
    let world = World::new();
    let ids: Vec<String> = (0..3).map(|_| world.launch(&[], &["true"])).collect();
    ids.iter().for_each(|id| assert_eq!(world.wait(id).0, Some(0)));
    let removable = |flags: &[&str]| {
        let ran = world.abide.run(&[&["gc", "--json", "--dry-run"], flags].concat());
        data(&ran)["removed"].as_array().expect("a list").len()
    };
    assert_eq!(removable(&[]), 0, "nothing is a week old");
    for (text, count) in [
        ("gc.keep = 1\n", 2),
        ("gc.older = '0s'\n", 3),
        ("[gc]\nolder = 'none'\nmax_bytes = 0\n", 3),
        ("gc.older = 'none'\n", 0),
    ] {
        let _path = world.home.config(text);
        assert_eq!(removable(&[]), count, "{text}");
    }
    let _path = world.home.config("gc.keep = 0\n");
    assert_eq!((removable(&["--keep", "2"]), removable(&["--older", "1d"])), (1, 0), "a limit stands alone");
}

#[test]
fn gc_removes_the_oldest_first_however_small_they_are() {
    let world = World::new();
    let ended = |script: &str| {
        let id = world.launch(&[], &["sh", "-c", script]);
        assert_eq!(world.wait(&id).0, Some(0));
        id
    };
    let (oldest, large, latest) = (ended("echo small"), ended("seq 1 100000"), ended("echo latest"));
    let collected = |limit: &str| {
        let args = ["gc", "--json", "--dry-run", "--max-bytes", limit];
        let removed = data(&world.abide.run(&args))["removed"].clone();
        let ids = removed.as_array().expect("a list").iter().map(|one| one["id"].as_str().map(str::to_owned));
        let mut ids: Vec<String> = ids.collect::<Option<_>>().expect("ids");
        ids.sort_unstable();
        ids
    };
    let mut older = vec![oldest, large];
    older.sort_unstable();
    assert_eq!(collected("300K"), older, "all that is older than what does not fit, and not {latest}");
    assert_eq!(collected("10M"), [""; 0], "all of them fit");
}

#[test]
fn a_size_that_no_screen_can_have_is_refused_with_the_limit() {
    let world = World::new();
    for size in ["65535x65535", "1001x24", "80x1001"] {
        let ran = world.abide.run(&["run", "-d", "--size", size, "--", "true"]);
        assert_eq!((ran.code(), ran.stderr.contains("neither above 1000")), (Some(2), true), "{ran:?}");
    }
    let _path = world.home.config("size = '65535x65535'\n");
    let ran = world.abide.run(&["run", "-d", "--", "true"]);
    assert!(ran.code() != Some(0) && ran.stderr.contains("neither above 1000"), "{ran:?}");
}

#[test]
fn a_cap_in_the_file_is_refused_and_caps_no_wait() {
    let world = World::new();
    let (life, gate) = world.gated(&["exit 7"]);
    let _path = world.home.config("cap = '1ms'\n[wait]\ncap = '1ms'\nstrict = false\n");
    let mut wait = world.start(&["wait", "--json", &life.id]);
    let capped = world.abide.run(&["wait", "--cap", "300ms", &life.id]);
    assert_eq!(capped.code(), Some(0), "{capped:?}");
    assert!(capped.stderr.starts_with("abide: warning: ") && capped.stderr.contains("`cap` is no key"));
    assert!(wait.observer().lives(), "a wait of {} ended early", wait.pid());
    gate.open();
    assert_eq!(wait.reap(), Ending::Exited(7));
}

#[test]
fn a_program_can_declare_its_result_whatever_stands_in_the_file() {
    let world = World::new();
    let abide = env!("CARGO_BIN_EXE_abide");
    let _path = world.home.config("");
    let (life, gate) = world.gated_by(&[abide, "result", "set", "failure", "--exit-code", "9"]);
    let _path = world.home.config("this is no config\n");
    gate.open();
    assert_eq!(world.wait(&life.id).0, Some(9));
}

#[test]
fn guard_and_host_never_open_the_file() {
    let world = World::new();
    // Named to the launching command alone, so that what the test asks later does not open it.
    let path = world.home.around().file("watched.toml", "");
    let opens = Opens::of(&path);
    let agent = agent();
    let mut launch = world.abide.command(&["run", "-d", "--", &agent, "hang"]);
    let ran = Ran::of(launch.env("ABIDE_CONFIG", &path));
    assert_eq!(ran.code(), Some(0), "{ran:?}");
    let life = world.observe(ran.stdout.trim_end().to_owned());
    assert_eq!(opens.count(), 1, "the launching command reads it once");
    let _host = life.replace("host");
    let guard = life.replace("guard");
    life.program.0.signal(Signal::KILL);
    guard.await_end();
    assert_eq!((world.wait(&life.id).0, opens.count()), (Some(137), 0));
}
