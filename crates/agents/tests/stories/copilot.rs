//! Copilot CLI.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use abide_agents::{By, Held, How, Kin, Level, Place, Running, Story};
use abide_core::verdict::Attention;
use abide_testkit::scratch::ScratchDir;

use crate::{adapter, fixture, grows_alike, kin, screen, story, words};

const ANSWERED: &str = "copilot-1.0.102/answered.jsonl";
const KILLED: &str = "copilot-1.0.102/killed.jsonl";
const RESUMED: &str = "copilot-1.0.102/resumed.jsonl";
const REFUSED: &str = "copilot-1.0.102/refused.jsonl";
const TERMINATED: &str = "copilot-1.0.102/terminated.jsonl";
const FAILED: &str = "copilot-1.0.102/failed.jsonl";

const NATIVE: &str = "/usr/lib/node_modules/@github/copilot-linux-x64/copilot";
const ID: &str = "11111111-2222-4333-8444-555555555552";
const OTHER: &str = "11111111-2222-4333-8444-555555555559";

#[test]
fn an_answered_turn_with_a_tool_call_is_told() {
    let story = story("copilot", ANSWERED);
    let turn = story.turn.expect("a turn");
    assert_eq!(turn.closed.map(|(_, how)| how), Some(How::Answered));
    assert!(turn.id.is_some() && turn.opened_at < turn.closed.map(|(at, _)| at));
    assert_eq!((story.prompts, story.turns, story.unanswered.len(), story.unreadable), (1, 1, 0, 0));
    assert_eq!(story.tools.get("bash"), Some(&1));
    assert_eq!((story.tokens.input, story.tokens.output), (22, 10));
    assert_eq!((story.version.as_deref(), story.model.as_deref()), (Some("1.0.102"), Some("fm")));
    assert_eq!(story.cwd.as_deref(), Some(Path::new("/home/me/work")));
}

#[test]
fn a_killed_turn_is_open_with_its_call_unanswered() {
    let story = story("copilot", KILLED);
    assert_eq!(story.turn.expect("a turn").closed, None);
    let [call] = story.unanswered.as_slice() else { panic!("{:?}", story.unanswered) };
    assert_eq!((call.tool.as_str(), call.with.as_str()), ("bash", "sleep 77"));
}

#[test]
fn what_a_resume_left_behind_is_not_waited_for() {
    let story = story("copilot", RESUMED);
    assert_eq!(story.turn.expect("a turn").closed.map(|(_, how)| how), Some(How::Answered));
    assert_eq!(story.unanswered, []);
    assert_eq!(story.conversation.as_deref(), Some(ID));
    assert_eq!((story.prompts, story.turns), (2, 1));
}

#[test]
fn refused_failed_and_ended_turns_are_closed() {
    let closed = |story: &Story| story.turn.as_ref().and_then(|turn| turn.closed).map(|(_, how)| how);
    let refused = story("copilot", REFUSED);
    assert_eq!((closed(&refused), refused.turns, refused.prompts), (Some(How::Interrupted), 4, 4));
    assert_eq!((refused.unanswered, refused.wants), (vec![], None));
    assert_eq!(closed(&story("copilot", FAILED)), Some(How::Failed));
    // It ended in order, and left its call without a result.
    let terminated = story("copilot", TERMINATED);
    assert_eq!((closed(&terminated), terminated.unanswered.len()), (Some(How::Interrupted), 1));
}

#[test]
fn a_permission_is_wanted_until_it_is_given_or_refused() {
    let text = std::fs::read_to_string(fixture(REFUSED)).expect("a transcript");
    let scratch = ScratchDir::new();
    let mut wanted = Vec::new();
    let mut so_far = String::new();
    for line in text.split_inclusive('\n') {
        so_far.push_str(line);
        let path = scratch.file("growing.jsonl", &so_far);
        let mut reader = adapter("copilot").reader(&path, "");
        reader.read_on().expect("read");
        let story = reader.story();
        if story.wants.is_some() {
            assert_eq!(story.turn.as_ref().expect("a turn").closed, None);
            wanted.push((story.wants, story.unanswered[0].with.clone()));
        }
    }
    let approval = |with: &str| (Some(Attention::Approval), with.to_owned());
    assert_eq!(wanted, [approval("touch made.txt; sleep 5"), approval("sleep 50"), approval("touch zz")]);
}

#[test]
fn a_growing_transcript_is_told_as_a_whole_one() {
    for path in [ANSWERED, KILLED, RESUMED, REFUSED, TERMINATED, FAILED] {
        grows_alike("copilot", path, 97);
    }
}

#[test]
fn damage_and_lines_of_another_kind_change_nothing_else() {
    let scratch = ScratchDir::new();
    let mut text = std::fs::read_to_string(fixture(KILLED)).expect("a transcript");
    text.push_str(
        "{\"type\":\"abort\",\"da\n\u{0}\n7\n{\"type\":\"of.another_time\",\"data\":7}\n{\"type\":\"abort\"",
    );
    let path = scratch.file("damaged.jsonl", &text);
    let mut reader = adapter("copilot").reader(&path, "");
    reader.read_on().expect("read");
    let mut damaged = reader.story().clone();
    assert_eq!(std::mem::take(&mut damaged.unreadable), 3);
    assert_eq!(damaged, story("copilot", KILLED));
}

#[test]
fn a_prompt_that_was_taken_back_is_forgotten() {
    // It writes the transcript anew without it, as another file in the same place.
    let scratch = ScratchDir::new();
    let path = scratch.path().join("events.jsonl");
    std::fs::copy(fixture(RESUMED), &path).expect("copied");
    let mut reader = adapter("copilot").reader(&path, "");
    reader.read_on().expect("read");
    let rewritten = scratch.path().join("rewritten");
    std::fs::copy(fixture(KILLED), &rewritten).expect("copied");
    std::fs::rename(&rewritten, &path).expect("replaced");
    assert!(reader.read_on().expect("read"));
    assert_eq!(reader.story(), &story("copilot", KILLED));
}

#[test]
fn the_script_is_a_wrapper_and_the_program_the_agent() {
    let node = "/usr/bin/node";
    assert_eq!(kin("node /usr/bin/copilot", node), Some(("copilot", Kin::Wrapper)));
    let loader = "node /usr/lib/node_modules/@github/copilot/npm-loader.js -p hello";
    assert_eq!(kin(loader, node), Some(("copilot", Kin::Wrapper)));
    assert_eq!(kin(NATIVE, NATIVE), Some(("copilot", Kin::Agent)));
    let print = format!("{NATIVE} --allow-all -p login --session-id {ID} --output-format json");
    assert_eq!(kin(&print, NATIVE), Some(("copilot", Kin::Agent)));
    assert_eq!(kin(&format!("{NATIVE} --allow-tool shell login"), NATIVE), Some(("copilot", Kin::Agent)));
}

#[test]
fn what_is_no_conversation_is_no_agent() {
    for rest in ["--binary-version", "--version", "login", "mcp list", "--log-level debug help environment"] {
        assert_eq!(kin(&format!("{NATIVE} {rest}"), NATIVE), None, "{rest}");
        assert_eq!(kin(&format!("node /usr/bin/copilot {rest}"), "/usr/bin/node"), None, "{rest}");
    }
    assert_eq!(kin("bash -c copilot", "/bin/bash"), None);
    assert_eq!(kin("tmux new-session -d copilot", "/usr/bin/tmux"), None);
    assert_eq!(kin("copilot", "/usr/bin/vim"), None);
}

#[test]
fn the_screen_tells_work_approval_and_rest() {
    let level = |text: &str| adapter("copilot").screen(&screen(text));
    let input = " /home/me/work [⎇ master]\n╻▄▄▄▄▄▄\n┃\n╹▀▀▀▀▀▀\n";
    assert_eq!(
        level(&format!("{input} ● Working · 93 B esc esc interrupt             fm")),
        Some(Level::WORKING)
    );
    assert_eq!(
        level(&format!("{input} ○ Working esc esc edit prompt                  fm")),
        Some(Level::WORKING)
    );
    let rest =
        " ← open sidebar · Interactive · Manual Approval · / commands · ? help · tab next tab        fm";
    assert_eq!(level(&format!("{input}{rest}")), Some(Level::SETTLED));
    let approval = "│ Do you want to run this command?   │\n│            │\n│ ❯ 1. Yes         │\n\
                    │   2. Yes, and don't ask again for `sleep` in this repo (/home/me/work) │\n\
                    │   3. No, and tell Copilot what to do differently (Esc to stop)   │\n│       │\n\
                    │ ↑/↓ to navigate · enter to select · esc to cancel   │\n╰────────╯";
    assert_eq!(level(approval), Some(Level::APPROVAL));
    let trust = approval.replace("want to run this command", "trust the files in this folder");
    assert_eq!(level(&trust), Some(Level::APPROVAL));
    assert_eq!((level(""), level(input)), (None, None));
    assert_eq!(adapter("copilot").title("hello - GitHub Copilot"), None);
}

#[test]
fn it_is_launched_under_an_id_and_resumed_as_it_was_begun() {
    let launch = |line: &str| adapter("copilot").launch(&words(line), "ID").map(|argv| argv.join(" "));
    assert_eq!(launch("copilot -p hello").as_deref(), Some("copilot --session-id ID -p hello"));
    assert_eq!(launch("node /usr/bin/copilot").as_deref(), Some("node /usr/bin/copilot --session-id ID"));
    assert_eq!(
        (launch("copilot --resume=x"), launch("copilot --continue"), launch("copilot login")),
        (None, None, None)
    );
    let resume = |line: &str, prompt| adapter("copilot").resume(&words(line), "ID", prompt).join(" ");
    assert_eq!(resume("copilot --resume --model fm", None), "copilot --model fm --resume=ID");
    assert_eq!(
        resume("copilot --allow-tool shell write --yolo -p hello --session-id x", Some("on")),
        "copilot --allow-tool=shell --allow-tool=write --yolo --resume=ID -p on"
    );
    assert_eq!(
        resume("node /usr/bin/copilot -i hello", Some("on")),
        "node /usr/bin/copilot --resume=ID -i on"
    );
}

/// A home of Copilot's with these conversations.
fn home(ids: &[&str]) -> (ScratchDir, Place, PathBuf) {
    let scratch = ScratchDir::new();
    let all = scratch.path().join(".copilot/session-state");
    for id in ids {
        std::fs::create_dir_all(all.join(id)).expect("made");
        std::fs::copy(fixture(KILLED), all.join(id).join("events.jsonl")).expect("copied");
        let place = format!("id: {id}\ncwd: /home/me/work\n");
        let _ = scratch.file(&format!(".copilot/session-state/{id}/workspace.yaml"), &place);
    }
    let variables = BTreeMap::from([("HOME".to_owned(), scratch.path().to_string_lossy().into_owned())]);
    (scratch, Place { cwd: PathBuf::from("/home/me/work"), variables }, all)
}

fn held(line: &str, place: &Place, open: &[PathBuf], started_ms: i64) -> Option<(String, By)> {
    let argv = words(line);
    let running = Running { pid: 19529, argv: &argv, start_ticks: None, started_ms, open, place };
    let Held { conversation, transcript, by } = adapter("copilot").conversation(&running)?;
    assert_eq!(transcript, adapter("copilot").transcript(place, &conversation));
    Some((conversation, by))
}

#[test]
fn the_lock_that_names_a_process_names_its_conversation() {
    let (scratch, place, all) = home(&[ID, OTHER]);
    let hold = all.join(ID).join("inuse.19529.hold");
    assert_eq!(held("copilot", &place, &[hold], 0), Some((ID.to_owned(), By::Registry)));
    assert_eq!(held("copilot", &place, &[all.join(ID).join("inuse.7.hold")], 0), None);
    let _ = scratch.file(&format!(".copilot/session-state/{OTHER}/inuse.19529.lock"), "19529");
    assert_eq!(held("copilot", &place, &[], 0), Some((OTHER.to_owned(), By::Registry)));
    // Another process had that pid before.
    assert_eq!(held("copilot", &place, &[], i64::MAX), None);
    let named = format!("copilot --resume={ID}");
    assert_eq!(held(&named, &place, &[], i64::MAX), Some((ID.to_owned(), By::Argument)));
    assert_eq!(held("copilot --resume=fix-it", &place, &[], i64::MAX), None);
}

#[test]
fn the_latest_conversation_of_a_directory_is_found() {
    let (_scratch, place, all) = home(&[ID, OTHER]);
    let older =
        std::fs::File::options().write(true).open(all.join(OTHER).join("events.jsonl")).expect("opened");
    older.set_modified(std::time::SystemTime::UNIX_EPOCH).expect("set");
    assert_eq!(adapter("copilot").latest(&place).as_deref(), Some(ID));
    let elsewhere = Place { cwd: PathBuf::from("/elsewhere"), ..place };
    assert_eq!(adapter("copilot").latest(&elsewhere), None);
}
