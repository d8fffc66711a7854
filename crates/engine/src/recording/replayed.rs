//! A screen that is fed a recording, by the host as by anyone else: the same function of the same bytes.

use abide_core::evidence::frame::body_from_line;
use abide_core::recording::{Entry, Kind, Start, parse_resize};
use abide_core::screen::{Notice, Screen, Size};

use super::damage::Gap;
use super::file::RecordingFile;
use super::limit::read_start;
use crate::truth::Session;

/// Lines of scrollback that are kept; older ones are in the recording.
pub(crate) const SCROLLBACK: usize = 1_000;
/// Makes a line feed begin a new line.
const NEW_LINES: &[u8] = b"\x1b[20h";

/// What a recording makes of a screen, up to some entry.
#[derive(Debug)]
pub(crate) struct Replayed {
    pub(crate) screen: Screen,
    pub(crate) position: u64,
    /// When the last entry came, in microseconds of boot time.
    pub(crate) time: u64,
    /// How many entries came; whoever takes one whole counts it.
    pub(crate) entries: u64,
    /// What was missing before a keyframe that was made of a recording with gaps.
    pub(crate) gaps: Vec<Gap>,
    /// The program writes to a terminal, which has a size, and not to pipes.
    pub(crate) has_terminal: bool,
}

impl Replayed {
    pub(crate) fn new() -> Self {
        let screen = Screen::new(Size { cols: 80, rows: 24 }, SCROLLBACK);
        Self { screen, position: 0, time: 0, entries: 0, gaps: Vec::new(), has_terminal: false }
    }

    /// Before the first entry; where that one cannot be read, with what the evidence says in its stead.
    pub(crate) fn begun(recording: &RecordingFile, session: &Session) -> Self {
        let mut replayed = Self::new();
        if read_start(recording).is_none() {
            replayed.start(session.evidence.beginning.launched.as_ref().and_then(|told| told.body.size));
        }
        replayed
    }

    /// Gives it the terminal that the program was started with, if it has one.
    pub(crate) fn start(&mut self, size: Option<Size>) {
        match size {
            Some(size) => {
                self.screen.resize(size);
                self.has_terminal = true;
            }
            // On pipes nobody puts a carriage return before a line feed.
            None => drop(self.screen.feed(NEW_LINES)),
        }
    }

    /// Takes the next entry, and gives what the program told beside the screen, at positions of its output.
    #[must_use = "notices hold the answers that the program waits for"]
    pub(crate) fn take(&mut self, entry: &Entry<'_>) -> Vec<Notice> {
        self.pass(entry);
        self.screen.elapse(entry.time);
        match entry.kind {
            Kind::Start => {
                self.start(body_from_line::<Start>(entry.payload).ok().and_then(|start| start.size));
            }
            Kind::Output | Kind::Errors => {
                let fed = self.screen.fed();
                let mut notices = self.screen.feed(entry.payload);
                for notice in &mut notices {
                    notice.at = entry.position + (notice.at - fed);
                }
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

    /// Goes behind the next entry without a look at the screen.
    pub(crate) const fn pass(&mut self, entry: &Entry<'_>) {
        self.time = entry.time;
        self.position = match entry.kind {
            Kind::Output | Kind::Errors => entry.position + entry.payload.len() as u64,
            Kind::Start
            | Kind::Input
            | Kind::Hidden
            | Kind::Answer
            | Kind::Resize
            | Kind::Mark
            | Kind::Cut => entry.position,
        };
    }
}
