//! OpenCode's database while another process writes it: what is read is whole, and reading leaves no trace.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use abide_agents::{Reader, copy_database};
use abide_testkit::deadline::Deadline;
use abide_testkit::scratch::ScratchDir;
use rusqlite::Connection;

use crate::{adapter, fixture};

const CONVERSATION: &str = "ses_e191cf8dfffecOBjE1B6XfckcQ";
const DATABASE: &str = "ABIDE_TEST_DATABASE";
const TURNS: u64 = 300;

/// Another process that runs the same test, and there a part of its own, until it is killed.
struct Other(Child);

impl Other {
    /// Starts it, and waits until it has written.
    fn start(test: &str, database: &Path) -> Self {
        let mut command = Command::new(std::env::current_exe().expect("our own path"));
        command.args(["--exact", test, "--nocapture"]).env(DATABASE, database);
        let mut other = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a process");
        let lines = BufReader::new(other.stdout.take().expect("its output")).lines();
        assert!(lines.map_while(Result::ok).any(|line| line.contains("has written")), "{test} wrote nothing");
        Self(other)
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The database of another process' test, if this is the process that it started.
fn for_another() -> Option<Connection> {
    std::env::var_os(DATABASE).map(|path| Connection::open(path).expect("a database"))
}

/// One turn more, in one transaction; its text is as long as a page or several.
fn write_turn(database: &Connection, turn: u64) {
    let sql = format!(
        "BEGIN IMMEDIATE;
         INSERT INTO message VALUES ('msg_x{turn:08}u', '{CONVERSATION}', 1800000000000 + {turn}, 1, '{{\"role\":\"user\"}}');
         INSERT INTO part VALUES ('prt_x{turn:08}t', 'msg_x{turn:08}u', '{CONVERSATION}', 1, 1,
             json_object('type', 'text', 'text', hex(zeroblob({length}))));
         INSERT INTO message VALUES ('msg_x{turn:08}v', '{CONVERSATION}', 1800000000000 + {turn}, 1,
             '{{\"role\":\"assistant\",\"finish\":\"stop\",\"time\":{{\"completed\":1800000000000}},\"tokens\":{{\"input\":100,\"output\":1}}}}');
         COMMIT;",
        length = turn % 7 * 700,
    );
    database.execute_batch(&sql).expect("written");
}

/// Tells the process that started this one.
fn has_written() {
    std::io::stdout().write_all(b"has written\n").expect("told");
}

/// Turn after turn; the log is begun anew in its place, and deleted with each connection's end.
fn writes_on(mut connection: Connection) {
    for turn in 0_u64.. {
        write_turn(&connection, turn);
        if turn % 40 == 39 {
            connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).expect("asked");
            connection.close().expect("closed");
            connection = for_another().expect("a database");
            connection
                .execute_batch("PRAGMA synchronous = OFF; PRAGMA wal_autocheckpoint = 20")
                .expect("set");
        }
        if turn == 40 {
            has_written();
        }
    }
}

fn writes_once_and_stays(connection: &Connection) {
    (0..5).for_each(|turn| write_turn(connection, turn));
    has_written();
    let _ = std::io::stdin().read(&mut [0]);
}

/// All files of a directory: what is in them, and when they were written to.
fn files(directory: &Path) -> BTreeMap<String, (Vec<u8>, i64, i64)> {
    let entries = std::fs::read_dir(directory).expect("a directory").map(|entry| entry.expect("an entry"));
    let written = |of: Metadata| (of.mtime(), of.mtime_nsec());
    entries
        .map(|entry| {
            let (seconds, nanos) = written(entry.metadata().expect("a file"));
            let name = entry.file_name().to_string_lossy().into_owned();
            (name, (std::fs::read(entry.path()).expect("a file"), seconds, nanos))
        })
        .collect()
}

fn scratch() -> (ScratchDir, PathBuf) {
    let scratch = ScratchDir::new();
    let path = scratch.path().join("a #1 %?&.db");
    std::fs::copy(fixture("opencode-1.18.33/refused.db"), &path).expect("a copy");
    (scratch, path)
}

/// Reads it, anew and on; how many turns it tells.
fn reads_without_a_trace(directory: &Path, path: &Path) -> u64 {
    let before = files(directory);
    let mut reader = adapter("opencode").reader(path, CONVERSATION);
    let turns = |reader: &dyn Reader| reader.story().turns;
    reader.read_on().expect("read");
    let first = turns(reader.as_ref());
    reader.read_on().expect("read");
    assert_eq!(turns(reader.as_ref()), first);
    let after = files(directory);
    assert_eq!(before.keys().collect::<Vec<_>>(), after.keys().collect::<Vec<_>>());
    for (name, before) in &before {
        assert!(after[name] == *before, "{name} is another");
    }
    first
}

#[test]
fn reading_leaves_database_log_and_index_as_they_are() {
    if let Some(connection) = for_another() {
        return writes_once_and_stays(&connection);
    }
    let (scratch, path) = scratch();
    assert_eq!(reads_without_a_trace(scratch.path(), &path), 4, "nobody has it open, and there is no log");
    let other = Other::start("database::reading_leaves_database_log_and_index_as_they_are", &path);
    assert_eq!(files(scratch.path()).len(), 3, "database, log and index");
    assert_eq!(reads_without_a_trace(scratch.path(), &path), 9, "another process has it open");
    drop(other);
    assert_eq!(files(scratch.path()).len(), 3, "database, log and index");
    assert_eq!(reads_without_a_trace(scratch.path(), &path), 9, "who had it open was killed");
}

#[test]
fn a_log_whose_index_is_gone_is_not_read_as_if_it_were_empty() {
    if let Some(connection) = for_another() {
        return writes_once_and_stays(&connection);
    }
    let (scratch, path) = scratch();
    drop(Other::start("database::a_log_whose_index_is_gone_is_not_read_as_if_it_were_empty", &path));
    std::fs::remove_file(scratch.path().join("a #1 %?&.db-shm")).expect("removed");
    let before = files(scratch.path());
    assert!(adapter("opencode").reader(&path, CONVERSATION).read_on().is_err());
    assert_eq!(files(scratch.path()), before);
}

#[test]
fn a_database_that_is_written_all_the_time_is_read_whole() {
    if let Some(connection) = for_another() {
        return writes_on(connection);
    }
    let (scratch, path) = scratch();
    let _other = Other::start("database::a_database_that_is_written_all_the_time_is_read_whole", &path);
    let deadline = Deadline::start();
    let mut reader = adapter("opencode").reader(&path, CONVERSATION);
    let mut turns = 0;
    while turns < TURNS {
        assert!(!deadline.is_over(), "{turns} turns");
        reader.read_on().expect("read");
        let story = reader.story();
        assert!(story.turns >= turns, "{} after {turns}", story.turns);
        turns = story.turns;
        assert_eq!((story.prompts, story.unanswered.len(), story.unreadable), (turns, 0, 0));
        assert_eq!(story.tokens.input, if turns == 0 { 0 } else { 44 + (turns - 4) * 100 });
        let entries = std::fs::read_dir(scratch.path()).expect("a directory").flatten();
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.retain(|name| !["a #1 %?&.db", "a #1 %?&.db-wal", "a #1 %?&.db-shm"].contains(&name.as_str()));
        assert_eq!(names, [""; 0]);
    }
}

/// How many turns a copy tells; it has no log beside it.
fn copied(path: &Path, copy: &Path) -> u64 {
    std::fs::File::create(copy).expect("a file of ours");
    copy_database(path, copy).expect("copied");
    let whole =
        Connection::open_with_flags(copy, rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY).expect("a database");
    let checked: String = whole.query_row("PRAGMA integrity_check", [], |row| row.get(0)).expect("checked");
    assert_eq!(checked, "ok");
    drop(whole);
    let mut reader = adapter("opencode").reader(copy, CONVERSATION);
    reader.read_on().expect("read");
    let story = reader.story();
    assert_eq!((story.prompts, story.unanswered.len(), story.unreadable), (story.turns, 0, 0));
    story.turns
}

#[test]
fn a_copy_leaves_database_log_and_index_as_they_are() {
    if let Some(connection) = for_another() {
        return writes_once_and_stays(&connection);
    }
    let ((scratch, path), ours) = (scratch(), ScratchDir::new());
    let before = files(scratch.path());
    assert_eq!(copied(&path, &ours.join("1")), 4);
    assert_eq!(files(scratch.path()), before);
    let other = Other::start("database::a_copy_leaves_database_log_and_index_as_they_are", &path);
    let before = files(scratch.path());
    assert_eq!(
        (before.len(), copied(&path, &ours.join("2"))),
        (3, 9),
        "what is only in the log is copied too"
    );
    assert_eq!(files(scratch.path()), before);
    drop(other);
    assert_eq!(copied(&path, &ours.join("3")), 9, "who had it open was killed");
    assert_eq!(files(scratch.path()), before);
    assert_eq!(
        std::fs::read(ours.join("2")).expect("a copy"),
        std::fs::read(ours.join("3")).expect("a copy")
    );
}

#[test]
fn a_database_that_is_written_all_the_time_is_copied_whole() {
    if let Some(connection) = for_another() {
        return writes_on(connection);
    }
    let ((_scratch, path), ours) = (scratch(), ScratchDir::new());
    let _other = Other::start("database::a_database_that_is_written_all_the_time_is_copied_whole", &path);
    let deadline = Deadline::start();
    let mut turns = 0;
    while turns < TURNS {
        assert!(!deadline.is_over(), "{turns} turns");
        let copy = ours.join("copy");
        std::fs::File::create(&copy).expect("a file of ours");
        match copy_database(&path, &copy) {
            Ok(()) => {
                let now = copied(&copy, &ours.join("again"));
                assert!(now >= turns, "{now} after {turns}");
                turns = now;
            }
            Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock, "{error}"),
        }
    }
}

#[test]
fn what_a_writer_left_half_done_is_not_copied() {
    let ((_scratch, path), ours) = (scratch(), ScratchDir::new());
    let journal = path.with_file_name("a #1 %?&.db-journal");
    std::fs::File::create(ours.join("copy")).expect("a file of ours");
    let journal = std::fs::File::create(journal).and_then(|mut file| file.write_all(&[0xd9, 0xd5]));
    journal.expect("written");
    let refused = copy_database(&path, &ours.join("copy")).expect_err("it is half done");
    assert_eq!(refused.kind(), std::io::ErrorKind::WouldBlock);
}
