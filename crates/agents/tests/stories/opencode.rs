//! OpenCode.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use abide_agents::{By, How, Kin, Level, Place, Process, Running, Story};
use abide_testkit::scratch::ScratchDir;
use rusqlite::Connection;

use crate::{adapter, fixture, known, put};

const KILLED: &str = "opencode-1.18.33/killed.db";
const RESUMED: &str = "opencode-1.18.33/resumed.db";
const REFUSED: &str = "opencode-1.18.33/refused.db";
/// One turn with a tool call; the one that was killed and resumed; four turns in the terminal interface.
const ANSWERED_ID: &str = "ses_e19181d2bffevpc8TIfZM6CoyL";
const KILLED_ID: &str = "ses_e191781f2ffeJcuzAMefWed7dI";
const REFUSED_ID: &str = "ses_e191cf8dfffecOBjE1B6XfckcQ";

fn story(path: &Path, conversation: &str) -> Story {
    let mut reader = adapter("opencode").reader(path, conversation);
    reader.read_on().expect("a conversation");
    reader.story().clone()
}

/// A database to write to.
fn copy(scratch: &ScratchDir, of: &str) -> PathBuf {
    let path = scratch.path().join("opencode.db");
    std::fs::copy(fixture(of), &path).expect("a copy");
    path
}

fn write(path: &Path, sql: &str) {
    Connection::open(path).expect("a database").execute_batch(sql).expect("written");
}

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn an_answered_turn_with_a_tool_call_is_told() {
    let story = story(&fixture(RESUMED), ANSWERED_ID);
    let turn = story.turn.expect("a turn");
    assert_eq!(turn.closed.map(|(_, how)| how), Some(How::Answered));
    assert!(turn.id.is_some() && turn.opened_at < turn.closed.map(|(at, _)| at));
    assert!(story.last_at >= turn.closed.map(|(at, _)| at));
    assert_eq!((story.prompts, story.turns, story.unanswered.len(), story.unreadable), (1, 1, 0, 0));
    assert_eq!(story.tools.get("bash"), Some(&1));
    assert_eq!(story.files.iter().collect::<Vec<_>>(), ["/home/me/src/made.txt"]);
    assert_eq!((story.tokens.input, story.tokens.output), (22, 10));
    assert_eq!((story.version.as_deref(), story.model.as_deref()), (Some("1.18.33"), Some("fm")));
    assert_eq!(story.cwd.as_deref(), Some(Path::new("/home/me/src")));
    assert_eq!(story.conversation.as_deref(), Some(ANSWERED_ID));
}

#[test]
fn a_killed_turn_is_open_with_its_call_unanswered() {
    let story = story(&fixture(KILLED), KILLED_ID);
    assert_eq!(story.turn.expect("a turn").closed, None);
    let [call] = story.unanswered.as_slice() else { panic!("{:?}", story.unanswered) };
    assert_eq!((call.tool.as_str(), call.with.as_str()), ("bash", "sleep 77"));
    assert!(call.at.is_some() && !call.id.is_empty());
}

#[test]
fn what_a_resume_left_running_for_ever_is_not_waited_for() {
    let story = story(&fixture(RESUMED), KILLED_ID);
    assert_eq!(story.turn.expect("a turn").closed.map(|(_, how)| how), Some(How::Answered));
    assert_eq!(story.unanswered, []);
    assert_eq!((story.prompts, story.turns), (2, 1));
}

#[test]
fn turns_that_a_person_refused_or_interrupted_are_closed() {
    let scratch = ScratchDir::new();
    let path = copy(&scratch, REFUSED);
    let at = |prompts: u64| {
        let whole = story(&path, REFUSED_ID);
        assert_eq!((whole.prompts, whole.turns, whole.unanswered.len()), (prompts, prompts, 0));
        whole.turn.expect("a turn").closed.map(|(_, how)| how)
    };
    assert_eq!(at(4), Some(How::Answered), "a tool call");
    let undo =
        "DELETE FROM message WHERE id >= (SELECT max(id) FROM message WHERE data LIKE '%\"role\":\"user\"%')";
    write(&path, undo);
    assert_eq!(at(3), Some(How::Interrupted), "stopped while it answered");
    write(&path, undo);
    assert_eq!(at(2), Some(How::Interrupted), "refused a permission");
    write(&path, undo);
    assert_eq!(at(1), Some(How::Answered));
}

#[test]
fn a_conversation_that_grows_row_by_row_is_told_as_a_whole_one() {
    for (of, conversation) in [(RESUMED, KILLED_ID), (REFUSED, REFUSED_ID)] {
        let scratch = ScratchDir::new();
        let path = copy(&scratch, of);
        write(
            &path,
            "CREATE TABLE m AS SELECT * FROM message; CREATE TABLE p AS SELECT * FROM part; DELETE FROM message; DELETE FROM part",
        );
        let ids: Vec<String> = {
            let database = Connection::open(&path).expect("a database");
            let mut ids =
                database.prepare("SELECT id FROM m WHERE session_id = ?1 ORDER BY id").expect("asked");
            ids.query_map([conversation], |row| row.get(0))
                .expect("rows")
                .map(|id| id.expect("an ID"))
                .collect()
        };
        let mut reader = adapter("opencode").reader(&path, conversation);
        let mut reads = |sql: &str| {
            write(&path, sql);
            reader.read_on().expect("read");
            reader.story().clone()
        };
        for id in ids {
            let open = "json_remove(data, '$.time.completed', '$.finish', '$.error')";
            reads(&format!(
                "INSERT INTO message SELECT id, session_id, time_created, time_updated, {open} FROM m WHERE id = '{id}'"
            ));
            let running = "json_set(data, '$.state.status', 'running')";
            let early = format!(
                "INSERT INTO part SELECT id, message_id, session_id, time_created, time_updated, CASE WHEN data LIKE '%\"callID\"%' THEN {running} ELSE data END FROM p WHERE message_id = '{id}'"
            );
            let story = reads(&early);
            assert_eq!(story.turn.expect("a turn").closed, None);
            reads(&format!(
                "UPDATE part SET data = (SELECT data FROM p WHERE p.id = part.id) WHERE message_id = '{id}'; UPDATE message SET data = (SELECT data FROM m WHERE m.id = message.id) WHERE id = '{id}'"
            ));
        }
        assert_eq!(reader.story(), &story(&fixture(of), conversation), "{of}");
    }
}

#[test]
fn what_is_taken_back_or_put_in_its_place_is_told_no_more() {
    let scratch = ScratchDir::new();
    let path = copy(&scratch, REFUSED);
    let mut reader = adapter("opencode").reader(&path, REFUSED_ID);
    assert!(reader.read_on().expect("read"));
    write(&path, "DELETE FROM message WHERE id IN (SELECT id FROM message ORDER BY id LIMIT 2)");
    assert!(reader.read_on().expect("read"));
    assert_eq!((reader.story().prompts, reader.story()), (3, &story(&path, REFUSED_ID)));
    let other = scratch.path().join("other.db");
    std::fs::copy(fixture(REFUSED), &other).expect("a copy");
    std::fs::rename(&other, &path).expect("put in its place");
    assert!(reader.read_on().expect("read"));
    assert_eq!(reader.story().prompts, 4);
}

#[test]
fn rows_that_make_no_sense_are_counted_and_passed_over() {
    let scratch = ScratchDir::new();
    let path = copy(&scratch, REFUSED);
    write(
        &path,
        "UPDATE part SET data = '{\"type\":\"tool' WHERE data LIKE '%callID%';
         UPDATE message SET data = x'ff00' WHERE id = (SELECT min(id) FROM message);
         INSERT INTO message SELECT 'msg_z', session_id, time_created + 1000000000, time_updated, '{\"role\":\"oracle\"}' FROM message LIMIT 1",
    );
    let story = story(&path, REFUSED_ID);
    assert_eq!((story.unreadable, story.prompts, story.tools.len()), (3, 3, 0));
    assert_eq!(story.turn.expect("a turn").closed.map(|(_, how)| how), Some(How::Answered));
}

#[test]
fn what_is_no_database_or_not_in_it_is_refused() {
    let scratch = ScratchDir::new();
    let read = |path: &Path, conversation: &str| adapter("opencode").reader(path, conversation).read_on();
    assert!(read(&scratch.path().join("none.db"), KILLED_ID).is_err());
    assert!(read(scratch.path(), KILLED_ID).is_err());
    let text = scratch.path().join("text.db");
    put(&text, "no database at all ".repeat(400));
    assert!(read(&text, KILLED_ID).is_err());
    let half = scratch.path().join("half.db");
    let bytes = std::fs::read(fixture(KILLED)).expect("a database");
    for length in [0, 99, 512, 5_000, bytes.len() / 2, bytes.len() - 512] {
        put(&half, &bytes[..length]);
        let _may_be_an_error = read(&half, KILLED_ID);
    }
    assert!(read(&fixture(KILLED), "ses_none").is_err());
}

#[test]
fn the_conversation_of_a_process_is_the_one_it_names_or_the_only_one_written_to_since() {
    let scratch = ScratchDir::new();
    let opencode = adapter("opencode");
    let data = scratch.path().join("data");
    std::fs::create_dir_all(data.join("opencode")).expect("a directory");
    let path = data.join("opencode/opencode.db");
    std::fs::copy(fixture(RESUMED), &path).expect("a copy");
    let variables = BTreeMap::from([("XDG_DATA_HOME".to_owned(), data.to_string_lossy().into_owned())]);
    let place = Place { cwd: PathBuf::from("/home/me/src"), variables };
    assert_eq!(opencode.latest(&place).as_deref(), Some(KILLED_ID));
    assert_eq!(opencode.transcript(&place, ANSWERED_ID), Some(path.clone()));
    assert_eq!(opencode.transcript(&place, "ses_none"), None);
    let elsewhere = Place { cwd: PathBuf::from("/home/me"), ..place.clone() };
    assert_eq!(opencode.latest(&elsewhere), None);

    let updated = |id: &str| story(&path, id).turn.expect("a turn").opened_at.expect("a time");
    let held = |line: &str, started_ms: i64, open: &[PathBuf]| {
        let argv = words(line);
        let running = Running { pid: 1, argv: &argv, start_ticks: None, started_ms, open, place: &place };
        opencode.conversation(&running).map(|held| (held.conversation, held.by))
    };
    let named = Some((ANSWERED_ID.to_owned(), By::Argument));
    assert_eq!(held(&format!("opencode -s {ANSWERED_ID}"), 0, &[]), named);
    assert_eq!(held("opencode", updated(KILLED_ID), &[]), Some((KILLED_ID.to_owned(), By::Newest)));
    assert_eq!(held("opencode", 0, &[]), None, "two were written to");
    assert_eq!(held("opencode", i64::MAX, &[]), None, "none was written to");
    let other = scratch.path().join("opencode-dev.db");
    std::fs::copy(fixture(KILLED), &other).expect("a copy");
    write(&other, &format!("DELETE FROM session WHERE id = '{ANSWERED_ID}'"));
    let of_its_own = [PathBuf::from("/dev/null"), other.clone(), path.clone()];
    assert_eq!(
        held("opencode", 0, &of_its_own),
        Some((KILLED_ID.to_owned(), By::Newest)),
        "the one it holds"
    );
}

#[test]
fn its_processes_are_told_from_what_only_mentions_it() {
    let kin = |line: &str, image: Option<&str>, name: &str| {
        known(&Process { argv: &words(line), image: image.map(Path::new), name })
    };
    let native = Some("/opt/node_modules/opencode-linux-x64/bin/opencode");
    let agent = Some(("opencode", Kin::Agent));
    assert_eq!(kin("opencode", native, "opencode"), agent);
    assert_eq!(kin("opencode", None, ""), agent);
    assert_eq!(kin("opencode run --format json go", native, "opencode"), agent);
    assert_eq!(kin("opencode --log-level DEBUG run models", native, "opencode"), agent);
    assert_eq!(
        kin("opencode -s ses_1", Some("/usr/lib/node_modules/opencode-ai/bin/opencode.exe"), "opencode"),
        agent
    );
    let wrapper =
        kin("node /usr/lib/node_modules/opencode-ai/bin/opencode run hello", Some("/usr/bin/node"), "node");
    assert_eq!(wrapper, Some(("opencode", Kin::Wrapper)));
    for line in [
        "opencode serve --port 1",
        "opencode --version",
        "opencode models",
        "opencode attach http://x",
        "opencode --log-level INFO auth login",
    ] {
        assert_eq!(kin(line, native, "opencode"), None, "{line}");
    }
    assert_eq!(kin("bash -c opencode", Some("/usr/bin/bash"), "bash"), None);
    assert_eq!(kin("opencode", Some("/usr/bin/bash"), "opencode"), None, "a script of that name");
    assert_eq!(kin("vim /src/opencode", Some("/usr/bin/vim"), "vim"), None);
    assert_eq!(kin("node /src/opencode/server.js", Some("/usr/bin/node"), "node"), None);
}

#[test]
fn it_is_resumed_as_it_was_begun() {
    let again = |line: &str, prompt: Option<&str>| {
        adapter("opencode").resume(&words(line), "ses_2", prompt).join(" ")
    };
    assert_eq!(
        again("opencode run --format json -m fake/fm first", Some("go on")),
        "opencode run --format json -m fake/fm --session ses_2 go on"
    );
    assert_eq!(
        again("opencode /home/me/src --agent plan --prompt first -c", None),
        "opencode /home/me/src --agent plan --session ses_2"
    );
    assert_eq!(again("opencode -s ses_1 --fork", Some("go")), "opencode --session ses_2 --prompt go");
    let named = |line: &str| adapter("opencode").named_in(&words(line));
    assert_eq!(named("opencode run --session=ses_1 go").as_deref(), Some("ses_1"));
    assert_eq!(named("opencode -s ses_1 --fork"), None, "a fork is another one");
    assert_eq!(adapter("opencode").launch(&words("opencode"), "ses_2"), None);
}

const EDGE: &str =
    "  ╹▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀";

fn level(lines: &[&str]) -> Option<Level> {
    let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
    adapter("opencode").screen(&lines)
}

#[test]
fn its_screen_tells_work_and_rest() {
    let working =
        "   ■■⬝⬝⬝⬝⬝⬝  esc interrupt                                             tab agents  ctrl+p commands";
    let again =
        "   ⬝⬝⬝⬝⬝⬝⬝⬝  esc again to interrupt                                            16  ctrl+p commands";
    let beside = "   ⬝⬝⬝⬝⬝⬝⬝⬝  esc interrupt            tab agents  ctrl+p commands    • OpenCode 1.18.33";
    for foot in [working, again, beside] {
        assert_eq!(level(&["  ┃  Build · fm fake", EDGE, foot, ""]), Some(Level::WORKING), "{foot}");
    }
    let settled =
        "   /home/me/src                                                               16  ctrl+p commands";
    let wide = "   /home/me/src                                16  ctrl+p commands    • OpenCode 1.18.33";
    for foot in [settled, wide] {
        assert_eq!(
            level(&["     ▣  Build · fm · interrupted", EDGE, foot, ""]),
            Some(Level::SETTLED),
            "{foot}"
        );
        assert_eq!(
            level(&["   esc interrupt", EDGE, foot]),
            Some(Level::SETTLED),
            "what was said is no sign"
        );
        assert_eq!(level(&[EDGE, foot, "", "  ┃  something else"]), None);
    }
    let home = [
        "             ┃  Build · fm fake",
        "             ╹▀▀▀▀▀▀▀▀▀▀▀▀▀",
        "                 tab agents  ctrl+p commands",
        "",
        "",
        "  /home/me/src:master                                    1.18.33",
        "",
    ];
    assert_eq!(level(&home), Some(Level::SETTLED));
    assert_eq!(level(&[""]), None);
    assert_eq!(adapter("opencode").title("OC | fake-reply: ok"), None);
}

#[test]
fn its_screen_tells_what_it_wants_to_be_allowed() {
    let asks = [
        "     $ touch x",
        "  ┃",
        "  ┃  △ Permission required",
        "  ┃    ← Access external directory /home/me",
        "  ┃",
        "  ┃  Patterns",
        "  ┃",
        "  ┃  - /home/me/*",
        "  ┃",
        "  ┃",
        "  ┃   Allow once   Allow always   Reject             ctrl+f fullscreen  ⇆ select  enter confirm",
        "  ┃",
        "",
    ];
    assert_eq!(level(&asks), Some(Level::APPROVAL));
    let always = [
        "  ┃  △ Always allow",
        "  ┃",
        "  ┃  This will allow the following patterns until OpenCode is restarted",
        "  ┃",
        "  ┃  - /home/me/*",
        "  ┃",
        "  ┃   Confirm   Cancel                                                  ⇆ select  enter confirm",
        "  ┃",
        "",
    ];
    assert_eq!(level(&always), Some(Level::APPROVAL));
    let wide = [
        "  ┃  △ Permission required",
        "  ┃    # Shell command",
        "  ┃  $ sleep 6",
        "  ┃                                                        /home/me/src:master",
        "  ┃   Allow once   Allow always   Reject      ctrl+f fullscreen  ⇆ select  enter confirm",
        "  ┃                                                        • OpenCode 1.18.33",
    ];
    assert_eq!(level(&wide), Some(Level::APPROVAL));
    let said =
        ["  ┃  △ Permission required", "  ┃", EDGE, "   /home/me/src                   16  ctrl+p commands"];
    assert_eq!(level(&said), Some(Level::SETTLED), "what was said is no sign");
}
