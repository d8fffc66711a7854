//! The screen of a session: from the living host, or replayed from the recording. Both are the same function of
//! the same bytes, so both give the same answer.

use std::os::fd::AsFd;

use abide_core::evidence::frame::body_from_line;
use abide_core::failure::Failure;
use abide_core::recording::{Entry, Kind, Start, parse_resize};
use abide_core::screen::{Notice, Screen, Size};
use abide_core::wire::ToClient;
use abide_sys::{clock, poll};

use crate::client::Client;
use crate::recording::keyframes::Point;
use crate::recording::{Found, Reader};
use crate::store::{Home, SessionDir};
use crate::truth::Session;

/// Lines of scrollback that are kept; older ones are in the recording.
pub(crate) const SCROLLBACK: usize = 1_000;
/// Makes a line feed begin a new line.
const NEW_LINES: &[u8] = b"\x1b[20h";
/// A host that has not answered by then is not waited for.
const ANSWER_MS: u64 = 1_000;

/// A screen, and where it comes from.
#[derive(Debug)]
pub struct Snapshot {
    pub screen: Screen,
    /// How many bytes of output it stands for.
    pub position: u64,
    pub source: Source,
}

/// Where a screen comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    Live,
    Replay,
    /// The host did not answer in time, so the recording was replayed.
    ReplayInstead,
}

pub(crate) fn snapshot(home: &Home, session: &Session) -> Result<Snapshot, Failure> {
    let id = &session.id;
    let failed = |e: std::io::Error| Failure::io("read the screen of session", id, &e).about(id.as_str());
    let open = || home.session(id).map_err(|untrusted| failed(std::io::Error::other(untrusted.says())));
    let live = session.verdict.status.has_live_host();
    if live && let Some(snapshot) = ask(open()?) {
        return Ok(snapshot);
    }
    let source = if live { Source::ReplayInstead } else { Source::Replay };
    replay(&open()?, source).map_err(failed)
}

fn ask(dir: SessionDir) -> Option<Snapshot> {
    let mut client = Client::connect(dir).ok()?;
    client.ask_snapshot().ok()?;
    let deadline = clock::now().boot.saturating_add(ANSWER_MS);
    loop {
        let left = deadline.saturating_sub(clock::now().boot);
        if left == 0 || !poll::readable(&[client.as_fd()], Some(left)).contains(&true) {
            return None;
        }
        let heard = client.hear().ok()?;
        let answer = heard.into_iter().find_map(|message| match message {
            ToClient::Snapshot { position, frozen } => Some((position, frozen)),
            ToClient::Welcome { .. }
            | ToClient::Stage { .. }
            | ToClient::Paint(_)
            | ToClient::Output(_)
            | ToClient::Applied { .. }
            | ToClient::Ended
            | ToClient::Refused { .. } => None,
        });
        if let Some((position, frozen)) = answer {
            return Some(Snapshot { screen: Screen::thaw(&frozen)?, position, source: Source::Live });
        }
    }
}

pub(crate) fn replay(dir: &SessionDir, source: Source) -> std::io::Result<Snapshot> {
    let recording = dir.recording()?;
    let Point { offset, mut replayed, .. } = Point::latest(dir, &recording, |_| true);
    let mut reader = Reader::new(recording, offset)?;
    let mut take = |found: Found<'_>| {
        if let Found::Entry(entry) = found {
            let _ = replayed.take(&entry);
        }
    };
    while reader.advance(&mut take)? {}
    reader.finish(&mut take);
    Ok(Snapshot { screen: replayed.screen, position: replayed.position, source })
}

/// A screen that is fed a recording, by the host as by anyone else.
#[derive(Debug)]
pub(crate) struct Replayed {
    pub(crate) screen: Screen,
    pub(crate) position: u64,
    /// When the last of its output came, in microseconds of boot time.
    pub(crate) time: u64,
    /// The program writes to a terminal, which has a size, and not to pipes.
    pub(crate) has_terminal: bool,
}

impl Replayed {
    pub(crate) fn new() -> Self {
        let screen = Screen::new(Size { cols: 80, rows: 24 }, SCROLLBACK);
        Self { screen, position: 0, time: 0, has_terminal: false }
    }

    /// Takes the next entry, and gives what the program told beside the screen, at positions of its output.
    #[must_use = "notices hold the answers that the program waits for"]
    pub(crate) fn take(&mut self, entry: &Entry<'_>) -> Vec<Notice> {
        match entry.kind {
            Kind::Start => {
                match body_from_line::<Start>(entry.payload).ok().and_then(|start| start.size) {
                    Some(size) => {
                        self.screen.resize(size);
                        self.has_terminal = true;
                    }
                    // On pipes nobody puts a carriage return before a line feed.
                    None => drop(self.screen.feed(NEW_LINES)),
                }
            }
            Kind::Output | Kind::Errors => {
                let fed = self.screen.fed();
                let mut notices = self.screen.feed(entry.payload);
                for notice in &mut notices {
                    notice.at = entry.position + (notice.at - fed);
                }
                self.position = entry.position + entry.payload.len() as u64;
                self.time = entry.time;
                return notices;
            }
            Kind::Resize => {
                if let Some(size) = parse_resize(entry.payload) {
                    self.screen.resize(size);
                }
            }
            Kind::Input | Kind::Hidden | Kind::Answer | Kind::Mark | Kind::Cut => {}
        }
        Vec::new()
    }
}
