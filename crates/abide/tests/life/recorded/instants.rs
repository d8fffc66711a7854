//! Instants of sessions that run, are over or crashed; marks; keyframes that are never missed for long.

use std::fs;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::Path;

use abide_core::evidence::frame::{body_from_line, body_to_line};
use abide_core::recording::{Entry, Next, Start, header, next};
use abide_sys::clock;
use abide_testkit::deadline::until;
use serde_json::Value;

use crate::common::{World, data};

fn snapshot(world: &World, options: &[&str], id: &str) -> Value {
    data(&world.abide.run(&[&["snapshot", "--json"], options, &[id]].concat()))
}

#[test]
fn an_instant_looks_the_same_while_the_session_runs_after_a_crash_and_with_a_torn_end() {
    let world = World::new();
    let life = world.live(&["print first", "flood 1600000", "print last", "hang"]);
    until("all of it is taken in", || {
        let lines = snapshot(&world, &[], &life.id)["lines"].to_string();
        lines.contains("last")
    });
    let live = snapshot(&world, &[], &life.id);
    assert_eq!(live["source"], "live");
    let entry = live["entry"].to_string();
    for at in [&format!("entry:{entry}"), live["since"].as_str().expect("an offset")] {
        let then = snapshot(&world, &["--at", at], &life.id);
        let named = [&then["seq"], &then["entry"], &then["hash"]];
        assert_eq!(named, [&live["seq"], &live["entry"], &live["hash"]], "at {at}");
    }
    let total = live["seq"].as_u64().expect("a position");
    let positions: Vec<String> =
        [0, 7, total / 3, total / 2, total - 1, total].map(|seq| format!("seq:{seq}")).to_vec();
    let hashes = || {
        let seen = positions.iter().map(|at| snapshot(&world, &["--at", at], &life.id));
        seen.map(|seen| (seen["seq"].clone(), seen["hash"].clone())).collect::<Vec<_>>()
    };
    let running = hashes();
    assert_eq!(running.last(), Some(&(live["seq"].clone(), live["hash"].clone())), "as the host shows it");
    life.replace("host");
    assert_eq!(hashes(), running, "with another host");
    life.kill_helpers();
    life.program.0.await_end();
    assert_eq!(hashes(), running, "after the crash");
    let recording = world.dir(&life.id).join("recording");
    let mut torn = fs::OpenOptions::new().append(true).open(&recording).expect("it is ours");
    torn.write_all(b"\xabid\x01o, and no more").expect("there is room");
    assert_eq!(hashes(), running, "with a torn end");
    fs::remove_file(world.dir(&life.id).join("keyframes")).expect("they are ours");
    assert_eq!(hashes(), running, "without keyframes");
    let last = snapshot(&world, &[], &life.id);
    assert_eq!((&last["hash"], last["gaps"].as_array().map(Vec::len)), (&live["hash"], Some(1)), "{last}");
    assert_eq!(last["entry"], live["entry"], "as the host counted it");
}

/// Makes a recording say that its wall clock was an hour behind when it began: what a clock leaves that was set since.
fn set_back(recording: &Path) {
    let bytes = fs::read(recording).expect("it is ours");
    let Next::Entry(entry, _) = next(&bytes) else { panic!("it has begun") };
    let start: Start = body_from_line(entry.payload).expect("a start");
    let payload =
        body_to_line(&Start { wall_ms: start.wall_ms - 3_600_000, ..start }).expect("it can be stored");
    assert_eq!(payload.len(), entry.payload.len(), "a number of as many digits");
    let changed = [&header(&Entry { payload: &payload, ..entry })[..], &payload].concat();
    let file = fs::OpenOptions::new().write(true).open(recording).expect("it is ours");
    file.write_all_at(&changed, 0).expect("there is room");
}

#[test]
fn how_long_ago_something_was_shown_is_told_by_a_clock_that_nobody_sets() {
    let world = World::new();
    let life = world.observe(world.launch(&[], &["sh", "-c", "echo one; read x; echo two; read y"]));
    let id = life.id.as_str();
    let ran = |args: &[&str]| world.abide.run(&[args, &[id]].concat()).stdout;
    life.until_shown("one");
    assert_eq!(world.abide.run(&["wait", "--idle", "1s", "--timeout", "30s", id]).code(), Some(0));
    let between = clock::now().boot - 500;
    assert_eq!(world.abide.run(&["type", "--enter", id, "x"]).code(), Some(0));
    life.until_shown("two");
    assert_eq!(world.abide.run(&["wait", "--idle", "300ms", "--timeout", "30s", id]).code(), Some(0));
    set_back(&world.dir(id).join("recording"));
    let ago = || format!("{}ms", clock::now().boot - between);
    let then = ran(&["snapshot", "--at", &format!("-{}", ago())]);
    assert!(then.contains("one") && !then.contains("two"), "{then}");
    let changed = ran(&["diff", "--from", &format!("{} ago", ago())]);
    assert!(changed.contains("two"), "{changed}");
    let logged = ran(&["logs", "--since", &ago()]);
    assert!(logged.contains("two") && !logged.contains("one"), "{logged}");
    let found = |word: &str| {
        let since = ["search", "--json", word, "--since", &ago(), "--session"].map(str::to_owned);
        let args: Vec<&str> = since.iter().map(String::as_str).chain([id]).collect();
        data(&world.abide.run(&args))["hits"].as_array().map(Vec::len)
    };
    assert_eq!((found("two"), found("one")), (Some(1), Some(0)));
    // Behind the last entry it stands as it does, and the time is the one that was asked for.
    let last = snapshot(&world, &["--at", "-100ms"], id);
    let entry = snapshot(&world, &["--at", &format!("entry:{}", last["entry"])], id);
    let micros = |told: &Value| {
        let since = told["since"].as_str().expect("an offset").strip_prefix('+').expect("from the start");
        abide_core::instant::micros(since).expect("a duration")
    };
    assert!(micros(&last) >= micros(&entry) + 200_000, "{last} {entry}");
}

#[test]
fn a_mark_names_its_instant_for_good_and_needs_somebody_to_set_it() {
    let world = World::new();
    let (life, gate) = world.gated(&["print after", "exit 0"]);
    let set = data(&world.abide.run(&["mark", "--json", &life.id, " before it all "]));
    assert_eq!((&set["name"], &set["instant"]["seq"]), (&"before it all".into(), &0.into()));
    gate.open();
    assert_eq!(world.wait(&life.id).0, Some(0));
    let before = snapshot(&world, &["--at", "before it all"], &life.id);
    assert!(!before["lines"].to_string().contains("after"), "{before}");
    assert_eq!(before["entry"], set["instant"]["entry"]);
    let listed = data(&world.abide.run(&["marks", "--json", &life.id]));
    assert_eq!(listed["marks"][0]["instant"], set["instant"]);
    assert_eq!(world.told(&life.id, "marked").len(), 1, "it is a fact too");
    for (name, code) in [("late", Some(5)), ("", Some(2)), ("a\u{1b}b", Some(2))] {
        let ran = world.abide.run(&["mark", &life.id, name]);
        assert_eq!(ran.code(), code, "{name:?}: {ran:?}");
    }
}

#[test]
fn a_flood_has_its_keyframes_soon_after_its_end_and_doctor_makes_them_anew() {
    let world = World::new();
    let id = world.run(&[], &["flood 4500000", "print over", "exit 0"]);
    assert_eq!(world.wait(&id).0, Some(0));
    let complains = || world.abide.run(&["doctor"]).stdout.contains("keyframes");
    world.until_nobody_serves(&id);
    assert!(!complains());
    let keyframes = world.dir(&id).join("keyframes");
    let at = ["--at", "seq:3500000"];
    let (seen, whole) = (snapshot(&world, &at, &id), fs::read(&keyframes).expect("there are some"));
    assert!(whole.len() > 50_000, "one a MiB: {}", whole.len());
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 1;
    for damaged in [&whole[..whole.len() / 3], b"", &flipped] {
        fs::File::create(&keyframes).and_then(|mut file| file.write_all(damaged)).expect("they are ours");
        assert!(complains());
        assert_eq!(snapshot(&world, &at, &id), seen, "slowly, but the same");
        let ran = world.abide.run(&["doctor", "--fix"]);
        assert!(ran.stdout.contains(&format!("those of session {id} were made anew")), "{ran:?}");
        assert!(!complains());
        assert_eq!(snapshot(&world, &at, &id), seen);
    }
    // Keyframes of another recording count for nothing.
    let other = world.run(&[], &["print other", "flood 4500000", "exit 0"]);
    assert_eq!(world.wait(&other).0, Some(0));
    fs::copy(world.dir(&other).join("recording"), world.dir(&id).join("recording")).expect("they are ours");
    assert_eq!(snapshot(&world, &at, &id)["hash"], snapshot(&world, &at, &other)["hash"]);
    assert!(complains());
}
