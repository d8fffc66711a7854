//! Any bytes in the place of any file of a session: every reader answers, whatever it finds, and changes no file that is
//! evidence or the recording.
//!
//! The input: a byte of choices, then the file. With `CHECKSUM` set, what has one at its beginning gets a right one.

use std::fs;
use std::path::Path;

use abide_core::evidence::How;
use abide_core::instant::{Span, Time};
use abide_core::recording::{HEADER, MARK};
use abide_core::search::{Kind, Query, Reading, Strictness};
use abide_engine::{Searching, Sessions};
use abide_testkit::scene::{Scene, dead};
use abide_testkit::{ScratchHome, Tape};

/// The files that somebody reads.
const FILES: [&str; 9] = [
    "recording",
    "recording.packed",
    "keyframes",
    "index",
    "index-lines",
    "view",
    "result.toml",
    "outcome",
    "evidence",
];
const CHECKSUM: u8 = 0x80;
/// Behind the mark of a packed block, its numbers; behind that of an index, how far it goes.
const PACKED_SUM: usize = 4 + 8 + 8 + 4 + 4;
const INDEX_SUM: usize = 8 + 16;

/// Any input.
///
/// # Panics
/// If something that must hold does not.
pub fn run(input: &[u8]) {
    thread_local! {
        static STAGE: Stage = Stage::new();
    }
    let [choices, bytes @ ..] = input else { return };
    let name = FILES[usize::from(choices & !CHECKSUM) % FILES.len()];
    let mut bytes = bytes.to_vec();
    if choices & CHECKSUM != 0 {
        mend(name, &mut bytes);
    }
    STAGE.with(|stage| stage.check(name, &bytes));
}

struct Stage {
    home: ScratchHome,
    scene: Scene,
    evidence: Vec<u8>,
    recording: Vec<u8>,
}

impl Stage {
    fn new() -> Self {
        let home = ScratchHome::new();
        let gone = dead();
        let scene = Scene::new(&home.path(), "planted0").served(&gone, &gone, &gone);
        let scene = scene.ended(How::Exited { code: 3 });
        let tape = Tape::new(40, 6).output("one\r\n\x1b[31mtwo\x1b[0m\r\n").at(50_000).typed("ls\r");
        let tape = tape.at(90_000).mark("here").resize(30, 5).output("\x1b[?1049hthree\x1b]2;title\x07");
        let evidence = scene.bytes();
        Self { home, scene, evidence, recording: tape.bytes().to_vec() }
    }

    fn check(&self, name: &str, bytes: &[u8]) {
        let dir = self.scene.dir();
        for known in FILES {
            let _ = fs::remove_file(dir.join(known));
        }
        put(&dir.join("evidence"), &self.evidence);
        put(&dir.join("outcome"), &[b'\n'; 4096]);
        // Where there is one that is not packed, nobody looks for another.
        if name != "recording.packed" {
            put(&dir.join("recording"), &self.recording);
        }
        put(&dir.join(name), bytes);
        let before = ["evidence", "recording", name].map(|name| fs::read(dir.join(name)).ok());
        let wanted = self.ask();
        let kept: &[&str] =
            if wanted { &["evidence", "recording"] } else { &["evidence", "recording", name] };
        for (known, before) in kept.iter().zip(before) {
            assert!(fs::read(dir.join(known)).ok() == before, "reading changed {known}");
        }
    }

    /// Asks all that can be asked of a session that is over. True if an index was made of it.
    fn ask(&self) -> bool {
        let sessions = Sessions::open(&self.home.path()).expect("the home is sound");
        let Ok(session) = sessions.find("planted0") else { return false };
        let _ = (sessions.list(), sessions.view(&session), session.verdict.codes);
        let _ = sessions.logs(&session, false, &mut |_| true);
        let _ = sessions.snapshot(&session, None).map(|snapshot| snapshot.screen.visible_text());
        if let Ok(mut replay) = sessions.replay(&session, &Span::default(), false) {
            while let Ok(Some(_)) = replay.next() {}
        }
        let query = Query::parse("t", Reading::Words, Strictness::default()).expect("a query");
        let (from, to) = (Time::Wall(i64::MIN), Time::Wall(i64::MAX));
        let searching = Searching { query, kind: Kind::Shown, from, to, limit: 10, every: true };
        let _ = sessions.search(&[session], &searching, &|_| {});
        true
    }
}

fn put(path: &Path, bytes: &[u8]) {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    let file = fs::OpenOptions::new().create(true).write(true).truncate(true).mode(0o600).open(path);
    file.and_then(|mut file| file.write_all(bytes)).expect("there is room");
}

fn mend(name: &str, bytes: &mut [u8]) {
    if name == "recording" {
        return mend_frames(bytes);
    }
    let (at, covered) = match name {
        "index" => (INDEX_SUM, INDEX_SUM + 4),
        "recording.packed" => (PACKED_SUM, PACKED_SUM + 4),
        _ => return,
    };
    let Some((before, behind)) = bytes.split_at_mut_checked(covered) else { return };
    before[at..].copy_from_slice(&crc32fast::hash(behind).to_le_bytes());
}

/// Gives every frame of a recording that has a sane length the checksum that belongs to it.
fn mend_frames(mut bytes: &mut [u8]) {
    const SUM: usize = HEADER - 4;
    while bytes.len() >= HEADER {
        let length = u32::from_le_bytes(std::array::from_fn(|index| bytes[8 + index])) as usize;
        let length = if bytes.starts_with(&MARK) && HEADER + length <= bytes.len() { length } else { 0 };
        if bytes.starts_with(&MARK) {
            let mut sum = crc32fast::Hasher::new();
            sum.update(&bytes[MARK.len()..SUM]);
            sum.update(&bytes[HEADER..HEADER + length]);
            let sum = sum.finalize().to_le_bytes();
            bytes[SUM..HEADER].copy_from_slice(&sum);
            bytes = &mut bytes[HEADER + length..];
        } else {
            bytes = &mut bytes[1..];
        }
    }
}
