//! Claude Code.

use abide_agents::How;

use crate::{adapter, fixture, grows_alike, put, story, words};

const APPROVED: &str = "claude-2.1.197/approved.jsonl";
const KILLED: &str = "claude-2.1.197/killed.jsonl";
const RESUMED: &str = "claude-2.1.197/resumed.jsonl";
const DISORDERED: &str = "claude-2.1.197/disordered.jsonl";

#[test]
fn two_answered_turns_with_a_tool_call_are_told() {
    let story = story("claude", APPROVED);
    let turn = story.turn.expect("a turn");
    assert_eq!(turn.closed.map(|(_, how)| how), Some(How::Answered));
    assert!(turn.id.is_some() && turn.opened_at < turn.closed.map(|(at, _)| at));
    assert_eq!((story.prompts, story.turns, story.unanswered.len(), story.unreadable), (2, 2, 0, 0));
    assert_eq!(story.tools.get("Bash"), Some(&1));
    assert_eq!(story.version.as_deref(), Some("2.1.197"));
    assert!(story.tokens.output > 0 && story.tokens.input > story.tokens.cached);
}

#[test]
fn a_killed_turn_is_open_with_its_call_unanswered() {
    let story = story("claude", KILLED);
    assert_eq!(story.turn.expect("a turn").closed, None);
    let [call] = story.unanswered.as_slice() else { panic!("{:?}", story.unanswered) };
    assert_eq!((call.tool.as_str(), call.with.as_str()), ("Bash", "sleep 77"));
}

/// Row 49: its first turn of a new conversation is sometimes written in another order than it happened.
#[test]
fn a_reply_that_stands_before_its_prompt_is_what_the_conversation_is_at() {
    let story = story("claude", DISORDERED);
    assert_eq!(story.turn.expect("a turn").closed, None);
    let [call] = story.unanswered.as_slice() else { panic!("{:?}", story.unanswered) };
    assert_eq!((call.tool.as_str(), call.with.as_str()), ("Bash", "sleep 77"));
}

#[test]
fn what_a_resume_left_behind_is_not_waited_for() {
    let story = story("claude", RESUMED);
    assert_eq!(story.turn.expect("a turn").closed.map(|(_, how)| how), Some(How::Answered));
    assert_eq!(story.unanswered, []);
    assert_eq!(story.conversation.as_deref(), Some("11111111-2222-4333-8444-555555555555"));
}

#[test]
fn a_growing_transcript_is_told_as_a_whole_one() {
    for path in [APPROVED, KILLED, RESUMED, DISORDERED] {
        grows_alike("claude", path, 97);
    }
}

#[test]
fn a_transcript_that_is_emptied_or_replaced_by_an_empty_one_tells_nothing_any_more() {
    let scratch = abide_testkit::scratch::ScratchDir::new();
    let path = scratch.path().join("its.jsonl");
    let whole = std::fs::read(fixture(KILLED)).expect("a transcript");
    for replaces in [false, true] {
        put(&path, &whole);
        let mut reader = adapter("claude").reader(&path, "");
        assert!(reader.read_on().expect("read") && reader.story().turn.is_some());
        if replaces {
            std::fs::remove_file(&path).expect("it is there");
        }
        put(&path, "");
        assert!(reader.read_on().expect("read"));
        assert_eq!(reader.story(), &abide_agents::Story::default());
        assert!(!reader.read_on().expect("read"), "that is no news a second time");
    }
}

#[test]
fn it_is_told_which_conversation_to_begin_unless_it_was_told_another_or_begins_none() {
    let launch = |line: &str| adapter("claude").launch(&words(line), "ID").map(|argv| argv.join(" "));
    assert_eq!(launch("claude").as_deref(), Some("claude --session-id ID"));
    assert_eq!(launch("/x/claude -p hello").as_deref(), Some("/x/claude --session-id ID -p hello"));
    for line in [
        "claude --resume x",
        "claude -c",
        "claude --session-id=x",
        "claude -p hello --no-session-persistence",
        "claude mcp",
    ] {
        assert_eq!(launch(line), None, "{line}");
    }
}
