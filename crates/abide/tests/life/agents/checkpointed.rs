//! The transcript of an agent that works is saved into its session: in time, on every signal, at the end, and never once
//! its turn is over.

use std::fs::{self, OpenOptions};
use std::io::Write;

use abide_testkit::Observer;
use abide_testkit::deadline::until;
use rustix::process::Signal;
use serde_json::Value;

use super::{done, launched, transcript, until_it};
use crate::common::{World, data, kill_at_once};

/// A home whose checkpoints are made this often, and an agent in it that works without end.
fn working(every: &str) -> (World, String) {
    let world = World::new();
    let _path = world.home.config(&format!("[checkpoint]\nevery = '{every}'\n"));
    let id = launched(&world);
    done(&world, &["prompt", &id, "please HANG"]);
    (world, id)
}

/// Adds a line to the transcript, as its agent would; all of it then.
fn write_on(world: &World, text: &str) -> String {
    let path = transcript(world);
    let mut file = OpenOptions::new().append(true).open(&path).expect("a transcript");
    file.write_all(format!("{{\"type\":\"{text}\"}}\n").as_bytes()).expect("there is room");
    fs::read_to_string(path).expect("a transcript")
}

fn saved(world: &World, id: &str) -> Vec<Value> {
    world.told(id, "checkpointed")
}

/// Waits until the last checkpoint has so many bytes, and gives why it was made.
fn until_saved(world: &World, id: &str, text: &str) -> Value {
    let mut last = Value::Null;
    until("the transcript is saved", || {
        last = saved(world, id).pop().unwrap_or_default();
        last["size"] == text.len()
    });
    last["reason"].take()
}

/// What the last checkpoint gives back.
fn restored(world: &World, id: &str) -> String {
    let to = world.beside("restored");
    let _ = fs::remove_file(&to);
    done(world, &["checkpoint", "restore", id, "--to", &to]);
    fs::read_to_string(to).expect("it was restored")
}

#[test]
fn a_file_that_is_not_there_is_not_saved_and_the_way_out_is_to_name_another() {
    let world = World::new();
    let life = world.live(&["hang"]);
    let ran = world.abide.run(&["checkpoint", "--json", &life.id, "--file", "/no/such/file"]);
    let error = &ran.json()["error"];
    assert_eq!(ran.code(), Some(1), "{error}");
    assert!(error["hint"].as_str().is_some_and(|hint| hint.starts_with("name a file")), "{error}");
}

/// A turn may be open before anything is written of it: what there is then is saved as soon as there is.
#[test]
fn the_first_of_a_transcript_is_saved_at_once_however_late_it_is_written() {
    let world = World::new();
    let _path = world.home.config("[checkpoint]\nevery = '1h'\n");
    let id = launched(&world);
    done(&world, &["prompt", &id, "LATE, please HANG"]);
    until_it(&world, &id, &["--turn", "working"]);
    until("it is saved", || !saved(&world, &id).is_empty());
    assert_eq!(saved(&world, &id)[0]["reason"], "interval");
    done(&world, &["stop", &id]);
}

/// Some agents keep all their conversations in one database: an old one in its place would cost all that came since.
#[test]
fn a_database_of_an_agent_is_given_back_beside_the_one_that_is_there_and_never_in_its_place() {
    let (world, id) = working("1h");
    let at = transcript(&world);
    let database = concat!(env!("CARGO_MANIFEST_DIR"), "/../agents/fixtures/opencode-1.18.33/killed.db");
    fs::copy(database, &at).expect("there is room");
    done(&world, &["checkpoint", &id]);
    done(&world, &["stop", &id]);
    let mut other = OpenOptions::new().write(true).truncate(true).open(&at).expect("it is there");
    other.write_all(b"another by now").expect("there is room");
    let file = at.display().to_string();
    for to in [&["--force"][..], &["--force", "--to", &file], &[]] {
        let ran = world.abide.run(&[&["checkpoint", "restore", "--json", &id], to].concat());
        let error = &ran.json()["error"];
        assert_eq!((ran.code(), &error["code"]), (Some(6), &"would_overwrite".into()), "{error}");
        assert!(!error["hint"].to_string().contains("--force"), "{error}");
    }
    assert_eq!(fs::read_to_string(&at).expect("it is there"), "another by now");
    let to = world.beside("restored.db");
    done(&world, &["checkpoint", "restore", &id, "--to", &to]);
    assert!(fs::read(to).expect("it was restored").starts_with(b"SQLite format 3"));
    fs::remove_file(&at).expect("it is there");
    done(&world, &["checkpoint", "restore", &id]);
}

/// The scribe, by the last fact that it wrote.
fn scribe(world: &World, id: &str) -> Observer {
    let told = world.facts(id).into_iter().rev().find(|fact| fact["w"].to_string().starts_with("\"adapter"));
    let pid = told.and_then(|told| told["w"].as_str()?.split([':', '@']).nth(1)?.parse().ok());
    Observer::of(pid.expect("a scribe wrote something"))
}

#[test]
fn a_blocked_turn_is_saved_at_intervals_and_nothing_is_saved_once_it_is_closed() {
    let (world, id) = working("150ms");
    for text in ["first", "second"] {
        let all = write_on(&world, text);
        assert_eq!(until_saved(&world, &id, &all), "interval");
        assert_eq!(restored(&world, &id), all);
    }
    let told = saved(&world, &id);
    let new: u64 = told.iter().filter_map(|one| one["new"].as_u64()).sum();
    assert_eq!(Some(new), told.last().and_then(|one| one["size"].as_u64()), "only what is new is stored");
    // Any key ends the turn.
    done(&world, &["keys", &id, "x"]);
    until_it(&world, &id, &["--turn", "settled"]);
    write_on(&world, "beside a turn");
    done(&world, &["prompt", &id, "--wait", "hello"]);
    let facts = world.facts(&id);
    let names: Vec<&str> = facts.iter().filter_map(|fact| fact["fact"].as_str()).collect();
    let closed = names.iter().position(|name| *name == "turn_closed");
    let opened = names.iter().rposition(|name| *name == "turn_opened").expect("there were two");
    let first = names.iter().position(|name| *name == "turn_opened").expect("there was one");
    let closed =
        names.iter().skip(first).position(|name| *name == "turn_closed").map(|at| at + first).or(closed);
    let between = &names[closed.expect("it was closed")..opened];
    assert!(!between.contains(&"checkpointed"), "{names:?}");
    let last = names.iter().rposition(|name| *name == "checkpointed").expect("the next turn is saved");
    assert!(last > opened && last < names.iter().rposition(|name| *name == "turn_closed").expect("closed"));
    assert_eq!(restored(&world, &id), fs::read_to_string(transcript(&world)).expect("a transcript"));
    done(&world, &["stop", &id]);
}

/// Must show 5.
#[test]
fn of_a_turn_whose_processes_are_all_killed_the_checkpoint_stays_and_can_be_read() {
    let (world, id) = working("150ms");
    let all = write_on(&world, "work");
    until_saved(&world, &id, &all);
    let life = world.observe(id.clone());
    let program = Observer::of(life.program.0.pid());
    kill_at_once(&[scribe(&world, &id), life.helper("guard", None), life.helper("host", None), program]);
    let listed = data(&world.abide.run(&["checkpoint", "ls", "--json", &id]));
    let last = listed["checkpoints"].as_array().and_then(|all| all.last()).expect("there is one");
    assert_eq!((&last["kept"], &last["bytes"]), (&true.into(), &all.len().into()), "{last}");
    let told = data(&world.abide.run(&["checkpoint", "show", "--json", &id]));
    assert_eq!(told["checkpoints"][0]["since"], "same", "{told}");
    assert_eq!(restored(&world, &id), all);
}

#[test]
fn every_hangup_and_every_order_to_go_is_a_checkpoint_and_so_are_stop_and_end() {
    // Nothing is saved just because time has passed.
    let (world, id) = working("none");
    until("a scribe follows it", || !world.told(&id, "turn_opened").is_empty());
    let life = world.observe(id.clone());
    let first = scribe(&world, &id);
    for (who, signal, reason) in [
        (life.helper("guard", None), Signal::HUP, "hangup"),
        (life.helper("host", None), Signal::HUP, "hangup"),
        (Observer::of(first.pid()), Signal::HUP, "hangup"),
        (life.helper("host", None), Signal::TERM, "terminate"),
        (Observer::of(first.pid()), Signal::TERM, "terminate"),
    ] {
        let all = write_on(&world, reason);
        who.signal(signal);
        assert_eq!(until_saved(&world, &id, &all), reason);
    }
    first.await_end();
    // What was written last is saved by whoever comes next.
    let all = write_on(&world, "the end");
    done(&world, &["stop", &id]);
    let reason = until_saved(&world, &id, &all);
    assert!(["stop", "end"].contains(&reason.as_str().unwrap_or_default()), "{reason}");
    assert_eq!(restored(&world, &id), all);
}

#[test]
fn a_scribe_that_is_told_to_go_with_its_guard_stays_for_the_end() {
    let (world, id) = working("none");
    until("a scribe follows it", || !world.told(&id, "turn_opened").is_empty());
    let life = world.observe(id.clone());
    // As at a shutdown: everyone is told to go at once.
    let told = [scribe(&world, &id), life.helper("host", None), life.helper("guard", None)];
    let all = write_on(&world, "shutdown");
    told.iter().for_each(|process| process.signal(Signal::TERM));
    let _ = world.wait(&id);
    assert_eq!(restored(&world, &id), all);
    assert_eq!(saved(&world, &id).pop().expect("there is one")["reason"], "end");
}

#[test]
fn a_transcript_that_was_cut_short_is_not_resumed_unless_that_is_wanted() {
    let world = World::new();
    let id = launched(&world);
    done(&world, &["prompt", "--wait", &id, "hello"]);
    done(&world, &["keys", &id, "Ctrl-D"]);
    assert_eq!(world.wait(&id).0, Some(0));
    until("its summary is on record", || !world.told(&id, "summary").is_empty());
    let path = transcript(&world);
    let all = fs::read_to_string(&path).expect("a transcript");
    let short = all.split_inclusive('\n').next().expect("a line");
    fs::remove_file(&path).expect("it was there");
    let refused = |args: &[&str]| {
        let ran = world.abide.run(&[args, &["--json"]].concat());
        (ran.code(), ran.json()["error"].clone())
    };
    let (code, error) = refused(&["resume", "-d", &id]);
    assert_eq!((code, &error["code"]), (Some(6), &"checkpoint_newer".into()), "{error}");
    assert!(error["message"].to_string().contains("is gone"), "{error}");
    OpenOptions::new()
        .create_new(true)
        .write(true)
        .open(&path)
        .and_then(|mut file| file.write_all(short.as_bytes()))
        .expect("there is room");
    let (code, error) = refused(&["resume", "-d", &id]);
    assert_eq!((code, &error["code"]), (Some(6), &"checkpoint_newer".into()), "{error}");
    // Nothing was repaired, and nothing is overwritten without being told.
    assert_eq!(fs::read_to_string(&path).expect("it is there"), short);
    let (code, error) = refused(&["checkpoint", "restore", &id]);
    assert_eq!((code, &error["code"]), (Some(6), &"would_overwrite".into()), "{error}");
    done(&world, &["checkpoint", "restore", "--force", &id]);
    assert_eq!(fs::read_to_string(&path).expect("it is there"), all);
    let told = data(&world.abide.run(&["resume", "--json", "-d", &id]));
    assert_eq!(told["came_back"], true, "{told}");
    let again = told["id"].as_str().expect("an ID");
    // A living agent's transcript is not replaced, whatever is wanted.
    let (code, error) = refused(&["checkpoint", "restore", "--force", &id]);
    assert_eq!((code, &error["code"]), (Some(6), &"conversation_in_use".into()), "{error}");
    done(&world, &["stop", again]);
}

/// Who names the session in which a conversation began means the conversation, and that went on since.
#[test]
fn what_a_later_session_saved_of_a_conversation_counts_when_an_earlier_one_is_resumed() {
    let world = World::new();
    let id = launched(&world);
    let take_turn = |id: &str| {
        done(&world, &["prompt", "--wait", id, "hello"]);
        done(&world, &["keys", id, "Ctrl-D"]);
        assert_eq!(world.wait(id).0, Some(0));
        until("its summary is on record", || !world.told(id, "summary").is_empty());
    };
    take_turn(&id);
    let path = transcript(&world);
    let earlier = fs::read(&path).expect("a transcript");
    let told = data(&world.abide.run(&["resume", "--json", "-d", &id]));
    let later = told["id"].as_str().expect("an ID");
    take_turn(later);
    let all = fs::read(&path).expect("a transcript");
    OpenOptions::new()
        .write(true)
        .truncate(true)
        .open(&path)
        .and_then(|mut file| file.write_all(&earlier))
        .expect("there is room");
    let refused = world.abide.run(&["resume", "--json", "-d", &id]);
    let error = &refused.json()["error"];
    assert_eq!((refused.code(), &error["code"]), (Some(6), &"checkpoint_newer".into()), "{refused:?}");
    let hint = error["hint"].as_str().expect("a way out");
    assert!(hint.contains(&format!("abide checkpoint restore {later} -n")), "{hint}");
    done(&world, &["checkpoint", "restore", "--force", later]);
    assert_eq!(fs::read(&path).expect("a transcript"), all);
}
