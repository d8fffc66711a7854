//! Gemini CLI.

use std::io::Write;
use std::path::PathBuf;

use abide_agents::{By, How, Place, Running};
use abide_testkit::scratch::ScratchDir;

use crate::{adapter, fixture, grows_alike, story};

const ANSWERED: &str = "gemini-0.61.0/answered.jsonl";
const APPROVED: &str = "gemini-0.61.0/approved.jsonl";
const DENIED: &str = "gemini-0.61.0/denied.jsonl";
const KILLED: &str = "gemini-0.61.0/killed.jsonl";
const RESUMED: &str = "gemini-0.61.0/resumed.jsonl";
const ID: &str = "11111111-2222-4333-8444-555555555555";
const OTHER_ID: &str = "22222222-2222-4333-8444-555555555555";

/// How the last turn was closed after so many lines of a transcript.
fn closed_after(path: &str, lines: usize) -> Option<How> {
    let scratch = ScratchDir::new();
    let whole = std::fs::read_to_string(fixture(path)).expect("a transcript");
    let cut = scratch.path().join("cut.jsonl");
    let mut file = std::fs::File::create(&cut).expect("a file");
    for line in whole.lines().take(lines) {
        writeln!(file, "{line}").expect("written");
    }
    let mut reader = adapter("gemini").reader(&cut, "");
    reader.read_on().expect("read");
    reader.story().turn.as_ref().and_then(|turn| turn.closed).map(|(_, how)| how)
}

#[test]
fn an_answered_turn_with_a_tool_call_is_told() {
    let story = story("gemini", ANSWERED);
    let turn = story.turn.expect("a turn");
    assert_eq!(turn.closed.map(|(_, how)| how), Some(How::Answered));
    assert!(turn.opened_at < turn.closed.map(|(at, _)| at));
    assert_eq!((story.prompts, story.turns, story.unanswered.len(), story.unreadable), (1, 1, 0, 0));
    assert_eq!(story.tools.get("run_shell_command"), Some(&1));
    assert_eq!((story.tokens.input, story.tokens.output), (22, 10));
    assert_eq!(story.model.as_deref(), Some("gemini-2.5-flash"));
    assert_eq!(story.conversation.as_deref(), Some(ID));
}

#[test]
fn a_turn_is_open_while_its_tool_runs_and_till_the_model_had_its_last_word() {
    assert_eq!(closed_after(APPROVED, 6), None);
    assert_eq!(closed_after(APPROVED, 8), None);
    assert_eq!(story("gemini", APPROVED).turns, 2);
}

#[test]
fn a_killed_turn_is_open_and_its_call_not_to_be_seen() {
    let story = story("gemini", KILLED);
    assert_eq!(story.turn.expect("a turn").closed, None);
    assert_eq!(story.unanswered, []);
}

#[test]
fn a_resumed_conversation_that_is_told_anew_is_not_counted_twice() {
    let story = story("gemini", RESUMED);
    assert_eq!(story.turn.expect("a turn").closed.map(|(_, how)| how), Some(How::Answered));
    assert_eq!(story.unanswered, []);
    assert_eq!(story.tools.get("run_shell_command"), Some(&2));
    assert_eq!(story.prompts, 4);
}

#[test]
fn a_stopped_tool_and_a_refused_one_end_their_turns() {
    assert_eq!((closed_after(DENIED, 10), closed_after(DENIED, 18)), (None, None));
    for lines in [11, 13, 14, 20, 21] {
        assert_eq!(closed_after(DENIED, lines), Some(How::Interrupted), "after {lines} lines");
    }
    let story = story("gemini", DENIED);
    assert_eq!(story.turn.expect("a turn").closed.map(|(_, how)| how), Some(How::Interrupted));
    assert_eq!((story.unanswered.len(), story.tools.get("run_shell_command")), (0, Some(&2)));
}

#[test]
fn a_growing_transcript_is_told_as_a_whole_one() {
    for path in [ANSWERED, APPROVED, DENIED, KILLED, RESUMED] {
        grows_alike("gemini", path, 97);
    }
}

#[test]
fn damage_and_strange_records_are_passed_over() {
    let scratch = ScratchDir::new();
    let path = scratch.path().join("session.jsonl");
    let mut file = std::fs::File::create(&path).expect("a file");
    file.write_all(b"{\"sessionId\":\"x\"}\n{\"id\":\"1\",\"type\":\"us\n[1]\n{\"$new\":1}\n{\"$rewindTo\":\"gone\"}\n{\"id\":\"2\",\"type\":\"odd\"}\n")
        .expect("written");
    let mut reader = adapter("gemini").reader(&path, "");
    reader.read_on().expect("read");
    assert_eq!((reader.story().unreadable, reader.story().turn.clone()), (2, None));
}

/// A home as Gemini leaves it: its list of projects, and the file that each start of a conversation makes.
fn home(scratch: &ScratchDir) -> (Place, PathBuf) {
    let root = scratch.path().join(".gemini");
    let chats = root.join("tmp/short/chats");
    std::fs::create_dir_all(&chats).expect("directories");
    let write = |path: PathBuf, text: &[u8]| {
        std::fs::File::create(path).expect("a file").write_all(text).expect("written");
    };
    write(root.join("projects.json"), b"{\"projects\":{\"/home/me/work\":\"short\"}}");
    let whole = chats.join("session-2026-11-17T00-36-11111111.jsonl");
    write(whole.clone(), &std::fs::read(fixture(ANSWERED)).expect("a transcript"));
    let home = scratch.path().to_string_lossy().into_owned();
    let variables = [("HOME".to_owned(), home)].into();
    (Place { cwd: "/home/me/work".into(), variables }, whole)
}

#[test]
fn a_conversation_is_found_by_its_name_and_by_being_the_only_one() {
    let scratch = ScratchDir::new();
    let (place, whole) = home(&scratch);
    let gemini = adapter("gemini");
    assert_eq!(gemini.transcript(&place, ID), Some(whole.clone()));
    assert_eq!(gemini.transcript(&place, "11111111-other"), None);
    assert_eq!(gemini.latest(&place).as_deref(), Some(ID));
    let held = |started_ms: i64, argv: &[String]| {
        let running = Running { pid: 1, argv, start_ticks: None, started_ms, open: &[], place: &place };
        gemini.conversation(&running).map(|held| (held.conversation, held.by))
    };
    let named = ["gemini".to_owned(), "--session-id".to_owned(), ID.to_owned()];
    assert_eq!(held(i64::MAX, &named), Some((ID.to_owned(), By::Argument)));
    assert_eq!(held(0, &named[..1]), Some((ID.to_owned(), By::Newest)));
    assert_eq!(held(i64::MAX, &named[..1]), None);
    // One that began elsewhere is found too; two that were written to are not told apart.
    let other = fixture(KILLED);
    std::fs::copy(other, whole.with_file_name("session-2026-11-17T00-37-22222222.jsonl")).expect("a copy");
    assert_eq!(held(0, &named[..1]), None);
    // Behind `/clear` it is at another one than it was told, and nothing but what is written tells of it.
    let file = std::fs::File::options().write(true).open(&whole).expect("a file");
    let long_ago = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1);
    file.set_modified(long_ago).expect("its own file");
    assert_eq!(held(0, &named), Some((ID.to_owned(), By::Overtaken)));
    assert_eq!(held(2_000, &named[..1]).map(|(_, by)| by), Some(By::Newest));
    let elsewhere = Place { cwd: "/else".into(), ..place.clone() };
    assert_eq!(gemini.transcript(&elsewhere, ID), Some(whole));
    assert_eq!(gemini.latest(&elsewhere), None);
}

#[test]
fn a_summary_that_the_next_agent_adds_to_the_conversation_before_is_no_word_of_that_one() {
    let scratch = ScratchDir::new();
    let (place, before) = home(&scratch);
    let gemini = adapter("gemini");
    let now = before.with_file_name("session-2026-11-17T00-37-22222222.jsonl");
    std::fs::copy(fixture(KILLED), now).expect("a copy");
    let mut file = std::fs::File::options().append(true).open(&before).expect("a file");
    let summary = br#"{"$set":{"summary":"all is well","memoryScratchpad":{"version":1}}}"#;
    file.write_all(&[summary, &b"\n"[..]].concat()).expect("written");
    let argv = ["gemini".to_owned()];
    let started_ms = story("gemini", ANSWERED).last_at.expect("it says when it was written to last") + 1;
    let running = Running { pid: 1, argv: &argv, start_ticks: None, started_ms, open: &[], place: &place };
    let held = gemini.conversation(&running).expect("the only one that was written to since");
    assert_eq!((held.conversation.as_str(), held.by), (OTHER_ID, By::Newest));
    assert_eq!(gemini.latest(&place).as_deref(), Some(OTHER_ID));
}
