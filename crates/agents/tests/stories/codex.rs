//! Codex CLI.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use abide_agents::{By, Held, How, Kin, Level, Place, Running};
use abide_testkit::scratch::ScratchDir;

use crate::{adapter, fixture, grows_alike, kin, screen, story, words};

const ANSWERED: &str = "codex-0.166.0/answered.jsonl";
const KILLED: &str = "codex-0.166.0/killed.jsonl";
const RESUMED: &str = "codex-0.166.0/resumed.jsonl";
const INTERRUPTED: &str = "codex-0.166.0/interrupted.jsonl";
const REFUSED: &str = "codex-0.166.0/refused.jsonl";
const FAILED: &str = "codex-0.166.0/failed.jsonl";

const NATIVE: &str = "/opt/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex";
const DAY: &str = ".codex/sessions/2026/11/17";
/// Of the conversation that was killed and resumed.
const ID: &str = "01a1e6e4-aa23-78d2-99d5-e2bef540e7a4";

#[test]
fn an_answered_turn_with_a_tool_call_is_told() {
    let story = story("codex", ANSWERED);
    let turn = story.turn.expect("a turn");
    assert_eq!(turn.closed.map(|(_, how)| how), Some(How::Answered));
    assert_eq!(turn.id.as_deref(), Some("01a1e6e4-a616-7170-9106-d46e9c1a5624"));
    assert!(turn.opened_at < turn.closed.map(|(at, _)| at));
    assert_eq!((story.prompts, story.turns, story.unanswered.len(), story.unreadable), (1, 1, 0, 0));
    assert_eq!(story.tools.get("exec_command"), Some(&1));
    assert_eq!((story.tokens.input, story.tokens.output), (22, 10));
    assert_eq!((story.version.as_deref(), story.model.as_deref()), (Some("0.166.0"), Some("gpt-5-codex")));
    assert_eq!(story.cwd.as_deref(), Some(Path::new("/home/me/work")));
}

#[test]
fn a_killed_turn_is_open_with_its_call_unanswered() {
    let story = story("codex", KILLED);
    assert_eq!(story.turn.expect("a turn").closed, None);
    let [call] = story.unanswered.as_slice() else { panic!("{:?}", story.unanswered) };
    assert_eq!((call.tool.as_str(), call.with.as_str()), ("exec_command", "sleep 77"));
}

#[test]
fn what_a_resume_left_behind_is_not_waited_for() {
    let story = story("codex", RESUMED);
    assert_eq!(story.turn.expect("a turn").closed.map(|(_, how)| how), Some(How::Answered));
    assert_eq!(story.unanswered, []);
    assert_eq!(story.conversation.as_deref(), Some(ID));
    assert_eq!((story.prompts, story.turns), (2, 1));
    // The response that was cut off counts too.
    assert_eq!(story.tokens.input, 22);
}

#[test]
fn an_interrupted_turn_and_a_failed_one_are_closed() {
    for (path, how) in [(INTERRUPTED, How::Interrupted), (REFUSED, How::Interrupted), (FAILED, How::Failed)] {
        let story = story("codex", path);
        assert_eq!(story.turn.expect("a turn").closed.map(|(_, how)| how), Some(how), "{path}");
        assert_eq!(story.unanswered, [], "{path}");
    }
    assert_eq!(story("codex", REFUSED).turns, 2);
}

#[test]
fn a_growing_transcript_is_told_as_a_whole_one() {
    for path in [ANSWERED, KILLED, RESUMED, INTERRUPTED, REFUSED, FAILED] {
        grows_alike("codex", path, 97);
    }
}

#[test]
fn damage_and_lines_of_another_kind_change_nothing_else() {
    let scratch = ScratchDir::new();
    let mut text = std::fs::read_to_string(fixture(KILLED)).expect("a transcript");
    text.push_str(
        "{\"type\":\"event_msg\",\"payl\n\u{0}\n[]\n{\"type\":\"of_another_time\",\"payload\":7}\n",
    );
    text.push_str(
        "{\"type\":\"event_msg\",\"payload\":{\"type\":\"token_count\",\"info\":null}}\n{\"type\":\"resp",
    );
    let path = scratch.file("damaged.jsonl", &text);
    let mut reader = adapter("codex").reader(&path, "");
    reader.read_on().expect("read");
    let mut damaged = reader.story().clone();
    assert_eq!(std::mem::take(&mut damaged.unreadable), 3);
    assert_eq!(damaged, story("codex", KILLED));
}

#[test]
fn a_patch_names_the_files_that_it_writes_to() {
    let scratch = ScratchDir::new();
    let input = "*** Begin Patch\\n*** Add File: a.rs\\n+*** Add File: none\\n*** Update File: b c.rs\\n*** End Patch";
    let line = format!(
        "{{\"type\":\"response_item\",\"payload\":{{\"type\":\"custom_tool_call\",\"call_id\":\"1\",\
         \"name\":\"apply_patch\",\"input\":\"{input}\"}}}}\n"
    );
    let path = scratch.file("patch.jsonl", &line);
    let mut reader = adapter("codex").reader(&path, "");
    reader.read_on().expect("read");
    let files: Vec<&str> = reader.story().files.iter().map(String::as_str).collect();
    assert_eq!(files, ["a.rs", "b c.rs"]);
}

#[test]
fn the_script_is_a_wrapper_and_the_program_the_agent() {
    let node = "/usr/bin/node";
    let line = "/opt/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex -a on-request -s read-only";
    assert_eq!(kin("node /usr/bin/codex -a on-request -s read-only", node), Some(("codex", Kin::Wrapper)));
    assert_eq!(
        kin("node /usr/lib/node_modules/@openai/codex/bin/codex.js", node),
        Some(("codex", Kin::Wrapper))
    );
    assert_eq!(kin(line, NATIVE), Some(("codex", Kin::Agent)));
    assert_eq!(kin(&format!("{NATIVE} exec --json go"), NATIVE), Some(("codex", Kin::Agent)));
    assert_eq!(kin(&format!("codex -m o3 resume {ID}"), NATIVE), Some(("codex", Kin::Agent)));
    assert_eq!(kin("codex -m login", NATIVE), Some(("codex", Kin::Agent)));
}

#[test]
fn what_is_no_conversation_is_no_agent() {
    for rest in [
        "app-server --listen unix:// --analytics-default-enabled --managed-daemon",
        "app-server daemon pid-update-loop",
        "-c model=\"o3\" login",
        "--version",
        "mcp list",
        "agents",
    ] {
        assert_eq!(kin(&format!("{NATIVE} {rest}"), NATIVE), None, "{rest}");
        assert_eq!(kin(&format!("node /usr/bin/codex {rest}"), "/usr/bin/node"), None, "{rest}");
    }
    assert_eq!(kin("bash -c codex -a on-request", "/bin/bash"), None);
    assert_eq!(kin("tmux new-session -d codex", "/usr/bin/tmux"), None);
    assert_eq!(kin("vim codex", "/usr/bin/vim"), None);
    assert_eq!(kin("codex", "/usr/bin/vim"), None);
    assert_eq!(kin("node /x/other.js codex", "/usr/bin/node"), None);
}

#[test]
fn the_title_tells_work_and_what_is_required() {
    let title = |text: &str| adapter("codex").title(text);
    assert_eq!(title("⠋ w"), Some(Level::WORKING));
    assert_eq!(title("[ ! ] Action Required | w"), Some(Level::APPROVAL));
    assert_eq!(title("[ . ] Action Required | w"), Some(Level::APPROVAL));
    assert_eq!((title("w"), title("")), (None, None));
}

#[test]
fn the_screen_tells_work_approval_and_rest() {
    let level = |text: &str| adapter("codex").screen(&screen(text));
    let working = "• Working (4s • esc to interrupt) · 1 background terminal running · /ps to view · /stop to close\n\
                   \n\n› Ask Codex to do anything\n\n  gpt-5-codex default · /home/me/work\n  ← for agents · ? for shortcuts";
    let approval = "  Would you like to run the following command?\n\n  Environment: local\n\n\
                    \x20 Reason: `/bin/bash -lc 'touch xx'` requires approval by policy\n\n  $ touch xx\n\n\n\
                    › 1. Yes, proceed (y)\n  2. No, and tell Codex what to do differently (esc)\n\n\
                    \x20 Press enter to confirm or esc to cancel";
    let rest = "■ Conversation interrupted - use /feedback if something went wrong\n\n\n\
                › Ask Codex to do anything\n\n  gpt-5-codex default · /home/me/work\n\
                \x20 ← for agents · ? for shortcuts                              ⚠ 2 warnings · f2 to view";
    assert_eq!(level(working), Some(Level::WORKING));
    assert_eq!(level(approval), Some(Level::APPROVAL));
    assert_eq!(level(rest), Some(Level::SETTLED));
    assert_eq!(level(""), None);
    let long_ago = format!("{working}{}", "\n".repeat(20));
    assert_eq!(level(&long_ago), None);
}

#[test]
fn it_is_resumed_as_it_was_begun() {
    let resume = |line: &str, prompt| adapter("codex").resume(&words(line), "ID", prompt).join(" ");
    assert_eq!(resume("codex -a never fix", None), "codex -a never resume ID");
    assert_eq!(resume("codex -a never resume --last", Some("on")), "codex -a never resume ID on");
    assert_eq!(
        resume("node /usr/bin/codex -p fast exec --json -i a.png -C /w go", Some("on")),
        "node /usr/bin/codex -p fast exec --json -C /w resume ID on"
    );
    assert_eq!(resume("codex exec resume --last --json go", Some("on")), "codex exec --json resume ID on");
}

/// A home of Codex' with these conversations, each the killed one under another ID.
fn home(ids: &[&str]) -> (ScratchDir, Place, Vec<PathBuf>) {
    let scratch = ScratchDir::new();
    std::fs::create_dir_all(scratch.path().join(DAY)).expect("made");
    let text = std::fs::read_to_string(fixture(KILLED)).expect("a transcript");
    let file = |id: &&str| {
        let name = format!("{DAY}/rollout-2026-11-17T00-25-07-{id}.jsonl");
        scratch.file(&name, &text.replace(ID, id))
    };
    let paths = ids.iter().map(file).collect();
    let home = scratch.path().to_string_lossy().into_owned();
    let variables = BTreeMap::from([("HOME".to_owned(), home)]);
    (scratch, Place { cwd: PathBuf::from("/home/me/work"), variables }, paths)
}

fn held(line: &str, place: &Place, open: &[PathBuf], started_ms: i64) -> Option<Held> {
    let argv = words(line);
    let running = Running { pid: 1, argv: &argv, start_ticks: None, started_ms, open, place };
    adapter("codex").conversation(&running)
}

#[test]
fn the_lock_that_a_process_holds_names_its_conversation() {
    let other = ID.replace("aa23", "bb34");
    let (scratch, place, paths) = home(&[ID, &other]);
    let lock = scratch.path().join(format!(".codex/thread-writer-locks/{ID}.lock"));
    let open = [lock, scratch.path().join(".codex/thread-writer-locks/.coordination.lock")];
    let transcript = Some(paths[0].clone());
    let by = By::Registry;
    assert_eq!(held("codex", &place, &open, 0), Some(Held { conversation: ID.to_owned(), transcript, by }));
    let transcript = Some(paths[1].clone());
    let open = &paths[1..];
    assert_eq!(
        held("codex", &place, open, 0),
        Some(Held { conversation: other, transcript, by: By::OpenFile })
    );
}

#[test]
fn a_conversation_is_inferred_only_if_there_is_no_other() {
    let other = ID.replace("aa23", "bb34");
    let (_scratch, place, paths) = home(&[ID]);
    let by = |held: Option<Held>| held.map(|held| (held.conversation, held.by));
    assert_eq!(by(held("codex", &place, &[], 0)), Some((ID.to_owned(), By::Newest)));
    assert_eq!(held("codex", &place, &[], i64::MAX), None);
    let elsewhere = Place { cwd: PathBuf::from("/elsewhere"), ..place.clone() };
    assert_eq!(held("codex", &elsewhere, &[], 0), None);
    let second = paths[0].to_string_lossy().replace(ID, &other);
    std::fs::copy(&paths[0], second).expect("copied");
    assert_eq!(held("codex", &place, &[], 0), None);
    let named = format!("codex exec --json resume {ID} on");
    assert_eq!(by(held(&named, &place, &[], 0)), Some((ID.to_owned(), By::Argument)));
    assert_eq!(adapter("codex").named_in(&words("codex resume --last")), None);
}

#[test]
fn the_latest_conversation_of_a_directory_is_found() {
    let (_scratch, place, paths) = home(&[ID]);
    assert_eq!(adapter("codex").latest(&place).as_deref(), Some(ID));
    assert_eq!(adapter("codex").transcript(&place, ID).as_ref(), Some(&paths[0]));
    let elsewhere = Place { cwd: PathBuf::from("/elsewhere"), ..place };
    assert_eq!(adapter("codex").latest(&elsewhere), None);
}
