//! What commands say of living sessions, where the words depend on what happens.

use abide_testkit::observer::Doomed;
use abide_testkit::{Ending, Observer, Ran, Terminal};

use crate::common::{World, data};

#[test]
fn a_session_whose_id_could_not_be_printed_is_named_all_the_same() {
    let world = World::new();
    for (script, code) in
        [("\"$0\" run -d -- true > /dev/full", 1), ("\"$0\" run -d --json -- true > /dev/full", 1)]
    {
        let ran = Ran::of(&mut world.bash(script, &[]));
        assert_eq!(ran.code(), Some(code), "{ran:?}");
        let latest = data(&world.abide.run(&["inspect", "--json", "@last"]));
        let id = latest["id"].as_str().expect("an ID");
        let told = format!("abide: session {id} was started: cannot write to standard output: No space left");
        assert!(ran.stderr.contains(&told), "{ran:?}");
        assert!(ran.stderr.contains(&format!("hint: `abide inspect {id}` shows how it stands")), "{ran:?}");
    }
}

#[test]
fn an_answer_that_is_longer_than_memory_is_one_object_all_the_same() {
    let world = World::new();
    let say =
        "yes 'a line of some eighty characters, which is what most logs have on most days' | head -c 3000000";
    let said = world.abide.run(&["run", "--wait", "--no-tty", "--name", "long", "--", "sh", "-c", say]);
    assert_eq!(said.code(), Some(0), "{said:?}");
    // The lines alone would not fit into what it may allocate.
    let ran = Ran::of(&mut world.bash("ulimit -d 2000; \"$0\" logs --json long", &[]));
    assert_eq!((ran.code(), ran.stderr.as_str(), ran.stdout.lines().count()), (Some(0), "", 1));
    let answer = data(&ran);
    let lines = answer["lines"].as_array().expect("a list");
    let bytes: usize = lines.iter().map(|line| line["text"].as_str().unwrap_or_default().len() + 1).sum();
    assert_eq!(bytes, 3_000_001, "the last line has no end");
}

#[test]
fn who_lives_on_is_named_when_a_session_is_removed() {
    let world = World::new();
    let id = world.run(&[], &["daemon hang", "exit 0"]);
    assert_eq!(world.wait(&id).0, Some(0));
    let survivors = world.inspect(&id)["survivors"].clone();
    let pid = survivors[0]["pid"].as_u64().and_then(|pid| u32::try_from(pid).ok()).expect("it lives on");
    let survivor = Doomed(Observer::of(pid));
    let ran = world.abide.run(&["rm", "--json", &id]);
    let answer = ran.json();
    let warned = answer["warnings"][0].as_str().expect("a warning");
    assert!(warned.starts_with(&format!("processes of session {id} live on: {pid} (")), "{warned}");
    assert!(ran.stderr.contains(&format!("abide: warning: {warned}")), "{ran:?}");
    assert!(ran.stderr.contains(&format!("hint: `kill {pid}` asks them to end")), "{ran:?}");
    assert_eq!((ran.code(), &answer["data"]["removed"][0]), (Some(0), &id.as_str().into()));
    assert!(survivor.0.lives(), "it was only told");
}

#[test]
fn a_program_that_runs_is_no_survivor_of_itself() {
    let world = World::new();
    let life = world.live(&["hang"]);
    assert_eq!(life.inspect()["survivors"], serde_json::json!([]));
}

#[test]
fn the_last_line_of_an_attached_terminal_says_how_it_ended() {
    let world = World::new();
    let life = world.live(&["print ready", "wait-line", "exit 3"]);
    let mut attached = Terminal::start(&world.abide.command(&["attach", &life.id]));
    attached.until("ready");
    attached.type_in(b"\r");
    attached.until(&format!("abide: session {} is over: exited with code 3", life.id));
    assert_eq!(attached.reap(), Ending::Exited(3));
    let life = world.live(&["print ready", "wait-line", "exit 4"]);
    let mut attached = Terminal::start(&world.abide.command(&["attach", "--json", &life.id]));
    attached.until("ready");
    attached.type_in(b"\r");
    attached.until(&format!("\"data\":{{\"id\":\"{}\",\"left\":\"ended\",\"wait_code\":4}}", life.id));
    assert_eq!(attached.reap(), Ending::Exited(4));
}

#[test]
fn tabs_are_printed_as_tabs_and_told_exactly() {
    let world = World::new();
    let id = world.launch(&["--no-tty"], &["printf", "a\\tb\\033[31m\\tc\\n"]);
    assert_eq!(world.wait(&id).0, Some(0));
    assert_eq!(world.abide.run(&["logs", &id]).stdout, "a\tb\tc\n");
    let told = data(&world.abide.run(&["logs", "--json", &id]));
    assert_eq!(told["lines"][0]["text"], "a\tb\tc", "{told}");
}

#[test]
fn a_name_that_is_the_id_of_a_session_is_refused() {
    let world = World::new();
    let id = world.run(&[], &["exit 0"]);
    let ran = world.abide.run(&["run", "-d", "--json", "--name", &id, "--", "true"]);
    let error = &ran.json()["error"];
    assert_eq!((ran.code(), &error["code"], &error["session"]), (Some(6), &"name_in_use".into(), &id.into()));
    assert_eq!(world.in_sessions().len(), 1);
}

#[test]
fn a_session_that_is_this_version_already_is_told_so() {
    let world = World::new();
    let life = world.live(&["hang"]);
    life.helper("host", None);
    let before = world.facts(&life.id).len();
    let told = data(&world.abide.run(&["upgrade", "--json", &life.id]));
    assert_eq!((&told["already"][0], &told["upgraded"]), (&life.id.as_str().into(), &serde_json::json!([])));
    assert_eq!(world.facts(&life.id).len(), before, "nobody was disturbed");
}

#[test]
fn a_title_that_was_never_set_is_null_wherever_it_is_shown() {
    let world = World::new();
    let life = world.live(&["print ready", "hang"]);
    life.until_shown("ready");
    let snapshot = data(&world.abide.run(&["snapshot", "--json", &life.id]));
    assert!(snapshot["title"].is_null() && life.inspect()["screen"]["title"].is_null(), "{snapshot}");
}
