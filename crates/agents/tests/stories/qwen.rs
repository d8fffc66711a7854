//! Qwen Code.

use abide_agents::{By, How, Place, Running};
use abide_testkit::scratch::ScratchDir;

use crate::{adapter, fixture, grows_alike, story};

const ANSWERED: &str = "qwen-0.15.10/answered.jsonl";
const APPROVED: &str = "qwen-0.15.10/approved.jsonl";
const CANCELLED: &str = "qwen-0.15.10/cancelled.jsonl";
const DENIED: &str = "qwen-0.15.10/denied.jsonl";
const FAILED: &str = "qwen-0.15.10/failed.jsonl";
const KILLED: &str = "qwen-0.15.10/killed.jsonl";
const RESUMED: &str = "qwen-0.15.10/resumed.jsonl";
const STOPPED: &str = "qwen-0.15.10/stopped.jsonl";

fn closed(path: &str) -> Option<How> {
    story("qwen", path).turn.expect("a turn").closed.map(|(_, how)| how)
}

#[test]
fn two_answered_turns_with_a_tool_call_are_told() {
    let story = story("qwen", APPROVED);
    let turn = story.turn.expect("a turn");
    assert_eq!(turn.closed.map(|(_, how)| how), Some(How::Answered));
    assert!(turn.id.is_some() && turn.opened_at < turn.closed.map(|(at, _)| at));
    assert_eq!((story.prompts, story.turns, story.unanswered.len(), story.unreadable), (2, 2, 0, 0));
    assert_eq!(story.tools.get("run_shell_command"), Some(&1));
    assert_eq!((story.tokens.input, story.tokens.output), (33, 15));
    assert_eq!(story.version.as_deref(), Some("0.15.10"));
    assert_eq!(story.cwd.as_deref(), Some("/home/me/work".as_ref()));
    assert_eq!(closed(ANSWERED), Some(How::Answered));
}

#[test]
fn a_killed_turn_is_open_with_its_call_unanswered() {
    let story = story("qwen", KILLED);
    assert_eq!(story.turn.expect("a turn").closed, None);
    let [call] = story.unanswered.as_slice() else { panic!("{:?}", story.unanswered) };
    assert_eq!((call.tool.as_str(), call.with.as_str()), ("run_shell_command", "echo x; sleep 77"));
}

#[test]
fn what_a_resume_left_behind_is_not_waited_for() {
    let story = story("qwen", RESUMED);
    assert_eq!(story.turn.expect("a turn").closed.map(|(_, how)| how), Some(How::Answered));
    assert_eq!(story.unanswered, []);
}

#[test]
fn turns_that_a_person_or_a_signal_stopped_are_interrupted() {
    for path in [CANCELLED, DENIED, STOPPED] {
        assert_eq!(closed(path), Some(How::Interrupted), "{path}");
        assert_eq!(story("qwen", path).unanswered, [], "{path}");
    }
}

#[test]
fn a_turn_whose_model_was_not_reached_has_failed() {
    assert_eq!(closed(FAILED), Some(How::Failed));
}

#[test]
fn a_growing_transcript_is_told_as_a_whole_one() {
    for path in [ANSWERED, APPROVED, CANCELLED, DENIED, FAILED, KILLED, RESUMED, STOPPED] {
        grows_alike("qwen", path, 97);
    }
}

#[test]
fn a_conversation_is_found_by_its_name_and_by_being_the_only_one() {
    let scratch = ScratchDir::new();
    let chats = scratch.path().join("projects/-home-me-work-it/chats");
    std::fs::create_dir_all(&chats).expect("directories");
    let id = "11111111-2222-4333-8444-555555555555";
    let path = chats.join(format!("{id}.jsonl"));
    std::fs::copy(fixture(ANSWERED), &path).expect("a copy");
    let variables = [("QWEN_HOME".to_owned(), scratch.path().to_string_lossy().into_owned())].into();
    let place = Place { cwd: "/home/me/work.it".into(), variables };
    let qwen = adapter("qwen");
    assert_eq!(qwen.transcript(&place, id), Some(path.clone()));
    assert_eq!(qwen.latest(&place).as_deref(), Some(id));
    let argv = ["qwen".to_owned()];
    let held = |started_ms: i64| {
        let running =
            Running { pid: 1, argv: &argv, start_ticks: None, started_ms, open: &[], place: &place };
        qwen.conversation(&running).map(|held| (held.conversation, held.transcript, held.by))
    };
    assert_eq!(held(0), Some((id.to_owned(), Some(path), By::Newest)));
    assert_eq!(held(i64::MAX), None);
}
