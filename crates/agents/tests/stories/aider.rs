//! Aider.

use std::fs::OpenOptions;
use std::io::Write;

use abide_agents::{By, How, Place, Running, Story};
use abide_testkit::scratch::ScratchDir;

use crate::{adapter, fixture, story};

const ADDED: &str = "aider-0.86.2/added.md";
const ANSWERED: &str = "aider-0.86.2/answered.md";
const CANCELLED: &str = "aider-0.86.2/cancelled.md";
const KILLED: &str = "aider-0.86.2/killed.md";
const RESUMED: &str = "aider-0.86.2/resumed.md";
const RETRYING: &str = "aider-0.86.2/retrying.md";

fn closed(story: &Story) -> Option<How> {
    story.turn.as_ref().expect("a turn").closed.map(|(_, how)| how)
}

#[test]
fn an_answered_turn_is_told() {
    let story = story("aider", ANSWERED);
    assert_eq!(closed(&story), Some(How::Answered));
    assert_eq!((story.prompts, story.turns, story.unreadable), (1, 1, 0));
    assert_eq!((story.tokens.input, story.tokens.output), (592, 4));
    assert_eq!((story.version.as_deref(), story.model.as_deref()), (Some("0.86.2"), Some("openai/fm")));
    assert_eq!(story.conversation, Some(fixture(ANSWERED).to_string_lossy().into_owned()));
}

#[test]
fn a_killed_turn_is_open_till_aider_begins_anew() {
    assert_eq!(closed(&story("aider", KILLED)), None);
    let resumed = story("aider", RESUMED);
    assert_eq!(closed(&resumed), Some(How::Answered));
    assert_eq!((resumed.prompts, resumed.turns), (2, 2));
}

#[test]
fn a_cancelled_turn_is_interrupted_and_commands_are_no_turns() {
    let story = story("aider", CANCELLED);
    assert_eq!(closed(&story), Some(How::Interrupted));
    assert_eq!((story.prompts, story.turns), (2, 2));
}

#[test]
fn a_turn_that_is_tried_again_is_open() {
    assert_eq!(closed(&story("aider", RETRYING)), None);
}

#[test]
fn a_turn_goes_on_when_a_person_lets_it_look_at_a_file_that_the_model_named() {
    let scratch = ScratchDir::new();
    let whole = std::fs::read_to_string(fixture(ADDED)).expect("a history");
    let closed_behind = |mark: &str| {
        let end = whole.find(mark).expect("it stands there") + mark.len();
        let path = scratch.path().join("history.md");
        std::fs::File::create(&path).expect("a file").write_all(&whole.as_bytes()[..end]).expect("written");
        let mut reader = adapter("aider").reader(&path, "");
        reader.read_on().expect("read");
        closed(reader.story())
    };
    assert_eq!(closed_behind("> Tokens: 771 sent, 4 received.  \n"), Some(How::Answered));
    assert_eq!(closed_behind("[Yes]: y  \n"), None);
    let story = story("aider", ADDED);
    assert_eq!((closed(&story), story.prompts, story.turns), (Some(How::Answered), 1, 1));
    assert_eq!(story.tokens.input, 771 + 761);
}

#[test]
fn headings_and_quotes_of_the_model_are_no_prompts_and_no_remarks() {
    let scratch = ScratchDir::new();
    let path = scratch.path().join("history.md");
    let text = "\n# aider chat started at 2026-11-17 00:29:07\n\n#### one  \n#### two  \n\n#### A heading\n> Tokens: 5 sent\n";
    std::fs::File::create(&path).expect("a file").write_all(text.as_bytes()).expect("written");
    let mut reader = adapter("aider").reader(&path, "");
    reader.read_on().expect("read");
    assert_eq!((reader.story().prompts, closed(reader.story())), (1, None));
}

#[test]
fn a_growing_history_is_told_as_a_whole_one_and_tells_when_its_turn_was_opened() {
    let timeless = |story: &Story| {
        let mut story = Story { conversation: None, cwd: None, last_at: None, ..story.clone() };
        if let Some(turn) = &mut story.turn {
            (turn.opened_at, turn.closed) = (None, turn.closed.map(|(_, how)| (0, how)));
        }
        story
    };
    for path in [ADDED, ANSWERED, CANCELLED, KILLED, RESUMED, RETRYING] {
        let scratch = ScratchDir::new();
        let growing = scratch.path().join("growing.md");
        let mut file = OpenOptions::new().create(true).append(true).open(&growing).expect("a file");
        let mut reader = adapter("aider").reader(&growing, "");
        for piece in std::fs::read(fixture(path)).expect("a history").chunks(7) {
            file.write_all(piece).expect("written");
            reader.read_on().expect("read");
        }
        let whole = story("aider", path);
        assert_eq!(timeless(reader.story()), timeless(&whole), "{path}");
        assert!(reader.story().turn.as_ref().expect("a turn").opened_at.is_some(), "{path}");
    }
}

#[test]
fn the_history_of_a_directory_is_that_of_its_repository() {
    let scratch = ScratchDir::new();
    let below = scratch.path().join("src/deep");
    std::fs::create_dir_all(&below).expect("directories");
    std::fs::create_dir(scratch.path().join(".git")).expect("a directory");
    let history = scratch.path().join(".aider.chat.history.md");
    std::fs::copy(fixture(ANSWERED), &history).expect("a copy");
    let place = Place { cwd: below.clone(), ..Place::default() };
    let aider = adapter("aider");
    let conversation = history.to_string_lossy().into_owned();
    assert_eq!(aider.latest(&place), Some(conversation.clone()));
    assert_eq!(aider.transcript(&place, &conversation), Some(history.clone()));
    let held = |started_ms: i64, argv: &[String]| {
        let running = Running { pid: 1, argv, start_ticks: None, started_ms, open: &[], place: &place };
        aider.conversation(&running).map(|held| (held.conversation, held.transcript, held.by))
    };
    let named = ["aider", "--chat-history-file", "own.md"].map(str::to_owned);
    assert_eq!(held(0, &named[..1]), Some((conversation, Some(history), By::Newest)));
    assert_eq!(held(i64::MAX, &named[..1]), None);
    let own = below.join("own.md").to_string_lossy().into_owned();
    assert_eq!(held(0, &named), Some((own, None, By::Argument)));
}
