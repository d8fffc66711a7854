//! Any file as the transcript of any agent, and any text as its title and screen: reading does not panic, and a transcript
//! that grows is told as a whole one.
//!
//! The input: a byte that says whose it is, one that says where to cut, then the file.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use abide_agents::{ALL, Adapter, Story, asks};
use abide_testkit::ScratchDir;

/// Any input.
///
/// # Panics
/// If something that must hold does not.
pub fn run(input: &[u8]) {
    thread_local! {
        static SCRATCH: ScratchDir = ScratchDir::new();
    }
    let [whose, cut, bytes @ ..] = input else { return };
    let adapter = ALL[usize::from(*whose) % ALL.len()];
    SCRATCH.with(|scratch| check(adapter, *cut, bytes, &scratch.join("transcript")));
    let text = String::from_utf8_lossy(bytes);
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let _ = (adapter.screen(&lines), adapter.takes_input(&lines), asks(&lines));
    let _ = lines.first().map(|line| adapter.title(line));
    let argv: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
    let _ =
        (adapter.named_in(&argv), adapter.launch(&argv, "ID"), adapter.resume(&argv, "ID", Some("go on")));
}

fn check(adapter: &'static dyn Adapter, cut: u8, bytes: &[u8], path: &Path) {
    let whole = story(adapter, path, &[bytes]);
    // A database is no file of lines.
    if adapter.name() != "opencode" {
        let at = bytes.len() * usize::from(cut) / 256;
        assert_eq!(story(adapter, path, &[&bytes[..at], bytes]), whole, "{}: it grew", adapter.name());
    }
}

/// What is told of a file that has these contents one after the other.
fn story(adapter: &'static dyn Adapter, path: &Path, contents: &[&[u8]]) -> Option<Story> {
    let mut told = None;
    let path = PathBuf::from(path);
    let mut reader = adapter.reader(&path, "");
    for bytes in contents {
        // It stays the same file.
        put(&path, bytes);
        told = reader.read_on().ok().map(|_| reader.story().clone());
    }
    // One agent tells no times: its turns were opened when somebody first saw them open.
    let timeless = adapter.name() == "aider";
    if let Some(turn) = told.as_mut().filter(|_| timeless).and_then(|story| story.turn.as_mut()) {
        turn.opened_at = None;
    }
    told
}

fn put(path: &Path, bytes: &[u8]) {
    use std::io::Write;
    let file = fs::OpenOptions::new().create(true).write(true).truncate(true).open(path);
    let written = file.and_then(|mut file| {
        file.write_all(bytes)?;
        // One agent tells no times, and so that of its file stands for them.
        file.set_modified(SystemTime::UNIX_EPOCH)
    });
    written.expect("there is room");
}
