//! Pi.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use abide_agents::{By, Held, How, Kin, Level, Place, Process, Running};
use abide_testkit::scratch::ScratchDir;

use crate::{adapter, fixture, grows_alike, known, put, story};

const ANSWERED: &str = "pi-0.73.1/answered.jsonl";
const KILLED: &str = "pi-0.73.1/killed.jsonl";
const RESUMED: &str = "pi-0.73.1/resumed.jsonl";
const INTERRUPTED: &str = "pi-0.73.1/interrupted.jsonl";
const ANSWERED_ID: &str = "01a1e6e9-4f03-7365-abb7-c05a3ef32f20";
const RESUMED_ID: &str = "01a1e6e9-735b-702b-a32c-fb7b92a70866";

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn an_answered_turn_with_a_tool_call_is_told() {
    let story = story("pi", ANSWERED);
    let turn = story.turn.expect("a turn");
    assert_eq!(turn.closed.map(|(_, how)| how), Some(How::Answered));
    assert!(turn.id.is_some() && turn.opened_at < turn.closed.map(|(at, _)| at));
    assert_eq!((story.prompts, story.turns, story.unanswered.len(), story.unreadable), (1, 1, 0, 0));
    assert_eq!(story.tools.get("bash"), Some(&1));
    assert_eq!((story.tokens.input, story.tokens.output), (22, 10));
    assert_eq!((story.conversation.as_deref(), story.model.as_deref()), (Some(ANSWERED_ID), Some("fm")));
    assert_eq!(story.cwd.as_deref(), Some(Path::new("/home/me/work")));
}

#[test]
fn a_killed_turn_is_open_with_its_call_unanswered() {
    let story = story("pi", KILLED);
    assert_eq!(story.turn.expect("a turn").closed, None);
    let [call] = story.unanswered.as_slice() else { panic!("{:?}", story.unanswered) };
    assert_eq!((call.tool.as_str(), call.with.as_str()), ("bash", "sleep 77"));
}

#[test]
fn what_a_resume_left_behind_is_not_waited_for() {
    let story = story("pi", RESUMED);
    assert_eq!(story.turn.expect("a turn").closed.map(|(_, how)| how), Some(How::Answered));
    assert_eq!((story.unanswered.len(), story.prompts, story.turns), (0, 2, 1));
}

#[test]
fn a_turn_that_a_person_interrupted_is_closed_so() {
    let story = story("pi", INTERRUPTED);
    assert_eq!(story.turn.expect("a turn").closed.map(|(_, how)| how), Some(How::Interrupted));
    assert_eq!((story.prompts, story.turns), (2, 2));
}

#[test]
fn a_growing_transcript_is_told_as_a_whole_one() {
    for path in [ANSWERED, KILLED, RESUMED, INTERRUPTED] {
        grows_alike("pi", path, 97);
    }
}

#[test]
fn lines_that_make_no_sense_are_counted_and_those_of_another_branch_are_not_waited_for() {
    let scratch = ScratchDir::new();
    let path = scratch.path().join("x.jsonl");
    let mut text = std::fs::read_to_string(fixture(KILLED)).expect("a transcript");
    text.push_str(
        "{\"type\":\"mess\n\u{0}\u{0}\n{\"type\":\"oracle\",\"id\":\"o\",\"parentId\":\"81eb60bf\"}\n",
    );
    text.push_str("{\"type\":\"message\",\"id\":\"u\",\"parentId\":\"o\",\"message\":{\"role\":\"user\",\"content\":\"x\"}}\n{\"type\":\"mess");
    put(&path, text);
    let mut reader = adapter("pi").reader(&path, "");
    reader.read_on().expect("read");
    let story = reader.story();
    assert_eq!((story.unreadable, story.prompts, story.unanswered.len()), (2, 2, 0));
    assert_eq!(story.turn.as_ref().and_then(|turn| turn.id.as_deref()), Some("u"));
}

/// A home with the conversations of one directory.
fn home(scratch: &ScratchDir) -> (Place, PathBuf) {
    let directory = scratch.path().join(".pi/agent/sessions/--home-me-work--");
    std::fs::create_dir_all(&directory).expect("a directory");
    let variables = BTreeMap::from([("HOME".to_owned(), scratch.path().to_string_lossy().into_owned())]);
    (Place { cwd: PathBuf::from("/home/me/work"), variables }, directory)
}

fn held(place: &Place, line: &str, started_ms: i64) -> Option<Held> {
    let argv = words(line);
    let running = Running { pid: 1, argv: &argv, start_ticks: None, started_ms, open: &[], place };
    adapter("pi").conversation(&running)
}

#[test]
fn the_conversation_of_a_process_is_the_one_it_names_or_the_only_one_written_to_since() {
    let scratch = ScratchDir::new();
    let (place, directory) = home(&scratch);
    assert_eq!(held(&place, "pi", 0), None, "no file yet");
    let file = directory.join(format!("2026-11-17T00-30-12-230Z_{ANSWERED_ID}.jsonl"));
    std::fs::copy(fixture(ANSWERED), &file).expect("a copy");
    let only = held(&place, "pi", 0).expect("the only one");
    assert_eq!((only.conversation.as_str(), only.by), (ANSWERED_ID, By::Newest));
    assert_eq!(only.transcript.as_ref(), Some(&file));
    assert_eq!(held(&place, "pi", i64::MAX), None, "not written to since");
    let other = directory.join(format!("2026-11-17T00-30-21-532Z_{RESUMED_ID}.jsonl"));
    std::fs::copy(fixture(RESUMED), &other).expect("a copy");
    assert_eq!(held(&place, "pi", 0), None, "two were written to");
    let named = |line: &str| held(&place, line, 0).map(|held| (held.conversation, held.by));
    let argument = Some((ANSWERED_ID.to_owned(), By::Argument));
    assert_eq!(named("pi --session 01a1e6e9-4f -p go"), argument);
    assert_eq!(named(&format!("node /usr/bin/pi --session {}", file.display())), argument);
    assert_eq!(adapter("pi").transcript(&place, RESUMED_ID), Some(other));
    assert_eq!(adapter("pi").transcript(&place, "none"), None);
}

#[test]
fn another_directory_of_the_same_short_name_has_conversations_of_its_own() {
    let scratch = ScratchDir::new();
    let (place, directory) = home(&scratch);
    std::fs::copy(fixture(ANSWERED), directory.join(format!("t_{ANSWERED_ID}.jsonl"))).expect("a copy");
    assert_eq!(adapter("pi").latest(&place).as_deref(), Some(ANSWERED_ID));
    let alike = Place { cwd: PathBuf::from("/home/me-work"), ..place.clone() };
    assert_eq!(adapter("pi").latest(&alike), None);
    let mut one_for_all = place;
    let named = directory.to_string_lossy().into_owned();
    one_for_all.variables = BTreeMap::from([("PI_CODING_AGENT_SESSION_DIR".to_owned(), named)]);
    assert_eq!(adapter("pi").latest(&one_for_all).as_deref(), Some(ANSWERED_ID));
}

#[test]
fn its_processes_are_known_though_it_writes_over_its_command_line() {
    let scratch = ScratchDir::new();
    let kin = |argv: &[&str], image: Option<&Path>, name: &str| {
        let argv: Vec<String> = argv.iter().map(|word| (*word).to_owned()).collect();
        known(&Process { argv: &argv, image, name })
    };
    let node = Some(Path::new("/usr/bin/node"));
    let agent = Some(("pi", Kin::Agent));
    assert_eq!(kin(&["node", "/tmp/agents/bin/pi", "--provider", "fake", "-p", "go"], node, "node"), agent);
    assert_eq!(kin(&["node", "/x/@mariozechner/pi-coding-agent/dist/cli.js"], node, "node"), agent);
    assert_eq!(kin(&["pi", "", "", "", ""], node, "pi"), agent, "padded with what it wrote over");
    assert_eq!(kin(&["pi"], node, "pi"), agent);
    assert_eq!(kin(&["pi", "--model", "x"], None, ""), agent, "before it runs");
    assert_eq!(kin(&["node", "/tmp/agents/bin/pi", "list"], node, "node"), None);
    assert_eq!(kin(&["pi", "--version"], None, ""), None);
    assert_eq!(kin(&["bash", "-c", "pi"], Some(Path::new("/usr/bin/bash")), "bash"), None);
    assert_eq!(kin(&["node", "/srv/api"], node, "node"), None);
    assert_eq!(kin(&["node", "server.js", "/usr/bin/pi"], node, "node"), None);
    let program = scratch.path().join("pi");
    assert_eq!(kin(&["pi", "1000"], Some(&program), "pi"), None, "another program of that name");
    put(&scratch.path().join("package.json"), "{\"name\":\"@mariozechner/pi-coding-agent\"}");
    assert_eq!(kin(&["pi"], Some(&program), "pi"), agent, "its own, in one file");
}

#[test]
fn it_is_resumed_as_it_was_begun() {
    let again = |line: &str, prompt: Option<&str>| adapter("pi").resume(&words(line), "ID", prompt).join(" ");
    assert_eq!(
        again("pi --provider fake --model fm -p first --mode json", Some("go on")),
        "pi --provider fake --model fm -p --mode json --session ID go on"
    );
    assert_eq!(
        again("node /usr/bin/pi -c --thinking high", None),
        "node /usr/bin/pi --thinking high --session ID"
    );
    assert_eq!(again("pi --session other first", None), "pi --session ID");
    assert_eq!(adapter("pi").named_in(&words("pi --fork other")), None);
    assert_eq!(adapter("pi").launch(&words("pi"), "ID"), None);
}

const EDGE: &str =
    "────────────────────────────────────────────────────────────────────────────────────────────────────";

fn level(lines: &[&str]) -> Option<Level> {
    let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
    adapter("pi").screen(&lines)
}

#[test]
fn its_screen_tells_work_and_rest() {
    let foot = "↑11 ↓5 0.0%/100k (auto)                                                                           fm";
    let cwd = "/home/me/work (master)";
    let working = [" $ sleep 6", " Elapsed 1.0s", "", "", " ⠙ Working...", "", EDGE, "", EDGE, cwd, foot, ""];
    assert_eq!(level(&working), Some(Level::WORKING));
    let settled = [" Took 6.1s", "", " fake-reply: ok", "", EDGE, "", EDGE, cwd, foot];
    assert_eq!(level(&settled), Some(Level::SETTLED));
    let interrupted = [" please HANG", "", " Operation aborted", "", EDGE, "half a prompt", EDGE, cwd, foot];
    assert_eq!(level(&interrupted), Some(Level::SETTLED));
    let said = [" ⠙ Working...", " it said", " that was all", EDGE, "⠙ Working...", EDGE, cwd, foot];
    assert_eq!(level(&said), Some(Level::SETTLED), "what was said or is typed is no sign");
    assert_eq!(level(&["$ ls", "x"]), None);
    assert_eq!(adapter("pi").title("π - work"), None);
}
