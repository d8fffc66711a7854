//! What adapters make of transcripts that real agents wrote: `fixtures/AGENT-VERSION/`, each recorded by running that
//! version. Every transcript is also read byte by byte, and cut at every line.

mod aider;
mod asked;
mod claude;
mod codex;
mod copilot;
mod database;
mod gemini;
mod npm;
mod opencode;
mod pi;
mod qwen;
mod weighed;

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use abide_agents::{Adapter, Kin, Process, Story, named, recognise};

fn adapter(name: &str) -> &'static dyn Adapter {
    named(name).expect("a known agent")
}

fn fixture(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(path)
}

/// What a transcript says, read at once.
fn story(agent: &str, path: &str) -> Story {
    let mut reader = adapter(agent).reader(&fixture(path), "");
    reader.read_on().expect("a transcript");
    reader.story().clone()
}

/// The same transcript as it grows by so many bytes at a time says the same in the end.
fn grows_alike(agent: &str, path: &str, step: usize) {
    let bytes = std::fs::read(fixture(path)).expect("a transcript");
    let scratch = abide_testkit::scratch::ScratchDir::new();
    let growing = scratch.path().join("growing.jsonl");
    let mut file = OpenOptions::new().create(true).append(true).open(&growing).expect("a file");
    let mut reader = adapter(agent).reader(&growing, "");
    for piece in bytes.chunks(step) {
        file.write_all(piece).expect("written");
        reader.read_on().expect("read");
    }
    assert_eq!(reader.story(), &story(agent, path), "{path}");
}

/// A command line, as words.
fn words(line: &str) -> Vec<String> {
    line.split(' ').map(str::to_owned).collect()
}

/// Which agent a process with this command line and executable is.
fn kin(line: &str, image: &str) -> Option<(&'static str, Kin)> {
    known(&Process { argv: &words(line), image: Some(Path::new(image)), name: "" })
}

/// Which agent a process is. What is not known by its arguments alone is not known.
fn known(process: &Process<'_>) -> Option<(&'static str, Kin)> {
    let kin = recognise(process).map(|(adapter, kin)| (adapter.name(), kin));
    assert!(
        kin.is_none() || recognise(&Process { image: None, name: "", ..*process }).is_some(),
        "{process:?}"
    );
    kin
}

/// A screen, from its text.
fn screen(text: &str) -> Vec<String> {
    text.lines().map(str::to_owned).collect()
}

/// Makes a file of this, or puts this in its place.
fn put(path: &Path, bytes: impl AsRef<[u8]>) {
    let mut file = OpenOptions::new().create(true).write(true).truncate(true).open(path).expect("a file");
    file.write_all(bytes.as_ref()).expect("written");
}
