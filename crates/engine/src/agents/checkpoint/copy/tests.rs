//! Copies against real writers: one that appends, one that replaces, one that starts over in place.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver};

use abide_testkit::scratch::ScratchDir;

use super::*;

/// Copies in a directory of their own, and what facts would say of the file.
struct Kept {
    scratch: ScratchDir,
    copies: Copies,
    told: Vec<Checkpointed>,
    highest: u64,
}

impl Kept {
    fn new() -> Self {
        let scratch = ScratchDir::new();
        let copies = Copies(PrivateDir::ensure(&scratch.join("checkpoints")).expect("a directory"));
        Self { scratch, copies, told: Vec::new(), highest: 0 }
    }

    /// Saves it again, and gives what was saved.
    fn take(&mut self, file: &Path) -> io::Result<Vec<u8>> {
        let copied = self.copies.take(file, self.told.last(), self.highest + 1)?;
        self.highest = self.highest.max(copied.number);
        let path = format!("checkpoints/{}", copied.number);
        let Copied { size, new, sum, patched, .. } = copied;
        self.told.push(Checkpointed { path, size, new, sum, patched, ..Checkpointed::default() });
        Ok(self.bytes(self.told.len() - 1))
    }

    /// What a checkpoint holds, proved by its sum.
    fn bytes(&self, at: usize) -> Vec<u8> {
        let told = &self.told[at];
        let file = self.copies.proved(told).expect("it is sound");
        let mut bytes = vec![0; usize::try_from(told.size).expect("it is small")];
        file.read_exact_at(&mut bytes, 0).expect("it is there");
        bytes
    }

    fn stored(&self) -> u64 {
        self.told.iter().map(|told| told.new).sum()
    }
}

fn write(path: &Path, bytes: &[u8]) {
    File::create(path).and_then(|mut file| file.write_all(bytes)).expect("there is room");
}

/// Takes checkpoints for as long as a writer in another thread is at it, and once more. The writer can wait for a look
/// to be over, so that there are several however the threads are scheduled.
fn race(
    kept: &mut Kept,
    file: &Path,
    writer: impl FnOnce(Receiver<()>) + Send,
    mut check: impl FnMut(&[u8]),
) {
    let over = &AtomicBool::new(false);
    let (looked, looks) = mpsc::sync_channel(0);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            writer(looks);
            over.store(true, Ordering::Release);
        });
        loop {
            let last = over.load(Ordering::Acquire);
            match kept.take(file) {
                Ok(bytes) => check(&bytes),
                Err(error) => assert_eq!(error.kind(), io::ErrorKind::WouldBlock, "{error}"),
            }
            // Whoever does not wait is not told.
            let _ = looked.try_send(());
            if last {
                break;
            }
        }
    });
}

#[test]
fn a_file_that_is_appended_to_is_saved_in_whole_lines_and_costs_its_growth() {
    let mut kept = Kept::new();
    let file = kept.scratch.join("transcript");
    write(&file, b"");
    let line = |n: usize| format!("{n} {}\n", "x".repeat(n * 37 % 9_000));
    let all: String = (0..1_500).map(line).collect();
    let writer = |looks: Receiver<()>| {
        let mut out = std::fs::OpenOptions::new().append(true).open(&file).expect("it is there");
        for n in 0..1_500 {
            out.write_all(line(n).as_bytes()).expect("there is room");
            if n % 200 == 0 {
                looks.recv().expect("it is looked at");
            }
        }
    };
    race(&mut kept, &file, writer, |bytes| assert!(all.as_bytes().starts_with(bytes)));
    assert!(kept.told.len() > 3, "{} looks", kept.told.len());
    assert_eq!(kept.bytes(kept.told.len() - 1), all.as_bytes());
    assert_eq!((kept.highest, kept.stored()), (1, all.len() as u64), "each byte is stored once");
    // What was saved before has not changed.
    for at in 0..kept.told.len() {
        assert!(all.as_bytes().starts_with(&kept.bytes(at)));
    }
}

#[test]
fn a_file_that_is_replaced_all_the_time_is_one_or_the_other_and_never_both() {
    let mut kept = Kept::new();
    let (file, next) = (kept.scratch.join("state"), kept.scratch.join("next"));
    let whole = |n: usize| format!("{n}:{}", format!("{n} ").repeat(n * 131 % 40_000));
    write(&file, whole(0).as_bytes());
    let writer = |looks: Receiver<()>| {
        for n in 1..600 {
            write(&next, whole(n).as_bytes());
            std::fs::rename(&next, &file).expect("it is replaced");
            if n % 100 == 0 {
                looks.recv().expect("it is looked at");
            }
        }
    };
    race(&mut kept, &file, writer, |bytes| {
        let text = String::from_utf8_lossy(bytes);
        let number = text.split(':').next().and_then(|number| number.parse().ok()).expect("a number");
        assert!(text == whole(number), "version {number} is not whole");
    });
    assert_eq!(kept.bytes(kept.told.len() - 1), whole(599).as_bytes());
    assert!(kept.highest > 3, "{} versions", kept.highest);
}

#[test]
fn a_file_that_is_written_anew_in_place_spoils_no_earlier_checkpoint() {
    let mut kept = Kept::new();
    let file = kept.scratch.join("state");
    let whole = |n: u8| vec![b'a' + n % 26; 3_000 + usize::from(n) * 700];
    write(&file, &whole(0));
    kept.take(&file).expect("saved");
    let writer = |_| (1..120).for_each(|n| write(&file, &whole(n)));
    // It may be found half written, and never mixed.
    race(&mut kept, &file, writer, |bytes| {
        assert!(bytes.windows(2).all(|pair| pair[0] == pair[1]), "two versions in one");
    });
    assert_eq!(kept.bytes(0), whole(0));
    assert_eq!(kept.bytes(kept.told.len() - 1), whole(119));
}

#[test]
fn what_a_killed_writer_left_beyond_the_last_fact_does_not_count() {
    let mut kept = Kept::new();
    let file = kept.scratch.join("log");
    write(&file, b"one\n");
    kept.take(&file).expect("saved");
    // It had copied more, and a new copy, when it was killed.
    let copies = kept.scratch.join("checkpoints");
    let mut torn = std::fs::OpenOptions::new().append(true).open(copies.join("1")).expect("a copy");
    torn.write_all(b"not on record").expect("there is room");
    write(&copies.join("2"), b"nor this");
    write(&copies.join(DRAFT), b"nor that");
    assert_eq!(kept.bytes(0), b"one\n");
    write(&file, b"one\ntwo\n");
    assert_eq!(kept.take(&file).expect("saved"), b"one\ntwo\n");
    write(&file, b"three\n");
    assert_eq!(kept.take(&file).expect("saved"), b"three\n");
    assert_eq!((kept.stored(), kept.highest), (14, 2));
    assert_eq!((kept.bytes(0), kept.bytes(1)), (b"one\n".to_vec(), b"one\ntwo\n".to_vec()));
}

#[test]
fn a_copy_that_was_changed_is_refused_and_one_that_is_gone_is_made_anew() {
    let mut kept = Kept::new();
    let file = kept.scratch.join("log");
    write(&file, b"one\n");
    kept.take(&file).expect("saved");
    let copy = kept.scratch.join("checkpoints").join("1");
    assert_eq!(copy.metadata().expect("a file").permissions().mode() & 0o777, 0o600);
    write(&copy, b"0ne\n");
    assert_eq!(kept.copies.proved(&kept.told[0]).unwrap_err().kind(), io::ErrorKind::InvalidData);
    // The file does not begin with that, so it is stored again.
    assert_eq!(kept.take(&file).expect("saved"), b"one\n");
    std::fs::remove_file(kept.scratch.join("checkpoints").join("2")).expect("it was there");
    assert!(!kept.copies.holds(&kept.told[1]));
    assert_eq!(kept.take(&file).expect("saved"), b"one\n");
    assert_eq!(kept.highest, 3);
}

#[test]
fn what_is_no_file_or_not_there_or_too_long_is_refused_at_once() {
    let mut kept = Kept::new();
    let (pipe, long) = (kept.scratch.join("pipe"), kept.scratch.join("long"));
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.is_ok_and(|made| made.success()));
    File::create(&long).and_then(|file| file.set_len(LONGEST + 1)).expect("it has no blocks");
    let why = |kept: &mut Kept, path: &Path| kept.take(path).unwrap_err().kind();
    assert_eq!(why(&mut kept, &pipe), io::ErrorKind::InvalidInput);
    assert_eq!(why(&mut kept, &long), io::ErrorKind::FileTooLarge);
    let gone = kept.scratch.join("gone");
    assert_eq!(why(&mut kept, &gone), io::ErrorKind::NotFound);
    let link = kept.scratch.join("link");
    write(&gone, b"come");
    std::os::unix::fs::symlink("gone", &link).expect("a link");
    assert_eq!(kept.take(&link).expect("saved"), b"come");
}

#[test]
fn of_many_copies_the_latest_stay_and_of_large_ones_two() {
    let kept = Kept::new();
    let stay = |copies: &[(u64, u64)]| -> Vec<u64> {
        for (number, _) in copies {
            write(&kept.scratch.join("checkpoints").join(number.to_string()), b"");
        }
        let told = abide_core::evidence::fold::Told {
            witness: abide_core::evidence::Witness {
                role: abide_core::evidence::Role::Adapter,
                pid: 1,
                boot: 1,
            },
            at: clock::now(),
            order: 0,
            body: Checkpointed::default(),
        };
        kept.copies.prune(&Saved { latest: told, named: false, copies: copies.to_vec() });
        let left = |number: &u64| kept.scratch.join("checkpoints").join(number.to_string()).exists();
        copies.iter().map(|(number, _)| *number).filter(left).collect()
    };
    let small: Vec<(u64, u64)> = (1..=20).map(|number| (number, 10)).collect();
    assert_eq!(stay(&small), (5..=20).collect::<Vec<_>>());
    assert_eq!(stay(&[(1, 10), (2, 40 << 20), (3, 40 << 20)]), [2, 3]);
    assert_eq!(stay(&[(1, 20 << 20), (2, 20 << 20), (3, 20 << 20)]), [1, 2, 3]);
}

/// A database with so many rows of a kilobyte, all alike.
fn database(path: &Path, rows: u32) -> rusqlite::Connection {
    let database = rusqlite::Connection::open(path).expect("a database");
    let schema = "PRAGMA journal_mode = WAL; CREATE TABLE said (id INTEGER PRIMARY KEY, text TEXT)";
    database.execute_batch(schema).expect("a table");
    let fill = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
                INSERT INTO said SELECT i, printf('%1000d', i) FROM n";
    database.execute(fill, [rows]).expect("rows");
    database
}

#[test]
fn a_database_costs_the_parts_that_changed_and_every_checkpoint_of_it_can_be_read() {
    let mut kept = Kept::new();
    let file = kept.scratch.join("agent.db");
    let database = database(&file, 1_000);
    let mut seen = vec![kept.take(&file).expect("saved")];
    for round in 0..20 {
        database.execute("UPDATE said SET text = 'anew' WHERE id = ?1", [40 * round + 1]).expect("a row");
        let text = "x".repeat(900);
        database.execute("INSERT INTO said (text) VALUES (?1)", [text]).expect("a row");
        seen.push(kept.take(&file).expect("saved"));
    }
    // Nothing is new.
    seen.push(kept.take(&file).expect("saved"));
    assert_eq!(kept.told.last().map(|told| told.new), Some(0));
    database.execute_batch("DELETE FROM said WHERE id > 700; VACUUM").expect("it shrinks");
    seen.push(kept.take(&file).expect("saved"));
    assert!(seen[0].len() > 1_000_000 && kept.stored() < 4_000_000, "{} bytes", kept.stored());
    for (at, bytes) in seen.iter().enumerate() {
        assert!(kept.bytes(at) == *bytes, "checkpoint {at} is another one now");
        let copy = kept.scratch.join("copy.db");
        write(&copy, bytes);
        let opened = rusqlite::Connection::open(&copy).expect("a database");
        let sound: String =
            opened.query_row("PRAGMA integrity_check", [], |row| row.get(0)).expect("it answers");
        assert_eq!(sound, "ok", "checkpoint {at}");
    }
    let count = |at: usize| {
        let copy = kept.scratch.join("copy.db");
        write(&copy, &seen[at]);
        let opened = rusqlite::Connection::open(&copy).expect("a database");
        opened.query_row("SELECT count(*) FROM said", [], |row| row.get::<_, u32>(0)).expect("it answers")
    };
    assert_eq!([count(0), count(7), count(20), count(22)], [1_000, 1_007, 1_020, 700]);
}

#[test]
fn a_copy_with_patches_that_was_changed_is_refused_and_what_is_beyond_the_last_fact_does_not_count() {
    let mut kept = Kept::new();
    let file = kept.scratch.join("agent.db");
    let database = database(&file, 200);
    let add = |text: &str| database.execute("INSERT INTO said (text) VALUES (?1)", [text]).expect("a row");
    kept.take(&file).expect("saved");
    add("one");
    let one = kept.take(&file).expect("saved");
    let copy = kept.scratch.join("checkpoints").join("1");
    // A writer that was killed left half of a patch.
    let half = File::options().append(true).open(&copy).and_then(|mut file| file.write_all(&[7; 5_000]));
    half.expect("there is room");
    assert!(kept.bytes(1) == one);
    add("two");
    let two = kept.take(&file).expect("saved");
    assert!(kept.bytes(1) == one && kept.bytes(2) == two && kept.highest == 1);
    // Damage at any place is never given as if it were sound, and costs later checkpoints nothing.
    let sound = std::fs::read(&copy).expect("a copy");
    for at in (0..sound.len()).step_by(977) {
        let mut bytes = sound.clone();
        bytes[at] ^= 0x5a;
        write(&copy, &bytes);
        let given = kept.copies.proved(&kept.told[2]);
        assert!(given.is_err() || kept.bytes(2) == two, "byte {at}");
        let next = kept.copies.take(&file, kept.told.last(), kept.highest + 1).expect("saved");
        let told = Checkpointed {
            path: format!("checkpoints/{}", next.number),
            size: next.size,
            sum: next.sum,
            patched: next.patched,
            ..Checkpointed::default()
        };
        // Where the damage is in what nobody needs any more, it is the same checkpoint still.
        assert!(next.new == 0 || kept.copies.proved(&told).is_ok(), "byte {at}");
    }
}
