//! A screen that is fed a recording, by the host as by anyone else: the same function of the same bytes.

use abide_core::evidence::frame::body_from_line;
use abide_core::recording::kept::Kept;
use abide_core::recording::veil::{Tag, Unveiled, Veil};
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
    /// When somebody typed last, if nothing was shown since.
    pub(crate) typed: Option<u64>,
    /// How many entries came; whoever takes one whole counts it.
    pub(crate) entries: u64,
    /// What was missing before a keyframe that was made of a recording with gaps.
    pub(crate) gaps: Vec<Gap>,
    /// The program writes to a terminal, which has a size, and not to pipes.
    pub(crate) has_terminal: bool,
    /// What keeps the mechanism of `exec` out of sight.
    pub(crate) veil: Veil,
    /// What is shown of the last entry, where that is not its payload.
    pub(crate) veiled: Option<Vec<u8>>,
    pub(crate) track: Track,
}

/// Where in the recording that stands which the screen was fed of the last entry.
#[derive(Debug)]
pub(crate) struct Track(Vec<(u64, Option<u64>)>);

impl Track {
    /// The position of what came when the screen had been fed so much; none if that is no output of the last entry.
    pub(crate) fn position(&self, fed: u64) -> Option<u64> {
        let (begin, position) = self.0.iter().rev().find(|(begin, _)| *begin <= fed)?;
        Some((*position)? + (fed - begin))
    }
}

impl Replayed {
    pub(crate) fn new() -> Self {
        Self::of(Screen::new(Size { cols: 80, rows: 24 }, SCROLLBACK), Veil::default())
    }

    /// With the screen and the veil that a cache kept.
    pub(crate) const fn of(screen: Screen, veil: Veil) -> Self {
        let gaps = Vec::new();
        let track = Track(Vec::new());
        let (position, typed) = (0, None);
        Self {
            screen,
            position,
            time: 0,
            typed,
            entries: 0,
            gaps,
            has_terminal: false,
            veil,
            veiled: None,
            track,
        }
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
        self.screen.elapse(entry.time);
        self.miss(entry.position);
        let mut notices = Vec::new();
        let (screen, track) = (&mut self.screen, &mut self.track.0);
        track.clear();
        let mut feed = |at: Option<u64>, bytes: &[u8]| {
            let fed = screen.fed();
            track.push((fed, at));
            for mut notice in screen.feed(bytes) {
                notice.at = at.unwrap_or(entry.position) + (notice.at - fed);
                notices.push(notice);
            }
        };
        self.veiled = unveil(&mut self.veil, entry, &mut feed);
        self.go_behind(entry);
        match entry.kind {
            Kind::Start => {
                self.start(body_from_line::<Start>(entry.payload).ok().and_then(|start| start.size));
            }
            Kind::Resize => {
                if let Some(size) = parse_resize(entry.payload) {
                    self.screen.resize(size);
                }
            }
            Kind::Screen => self.restore(entry),
            Kind::Output
            | Kind::Errors
            | Kind::Input
            | Kind::Hidden
            | Kind::Answer
            | Kind::Lines
            | Kind::Mark
            | Kind::Exec
            | Kind::Cut
            | Kind::Shed => {}
        }
        notices
    }

    /// Behind what was let go, the screen that stood there: whatever was missing before it lacks it no more, but for what it
    /// says itself.
    fn restore(&mut self, entry: &Entry<'_>) {
        let Some(kept) = Kept::of(entry.payload) else { return };
        self.screen.restore(&kept.screen);
        self.veil = kept.exec.map_or_else(Veil::default, Veil::running);
        self.gaps = kept.gaps.into_iter().map(Gap::of_stored).collect();
    }

    /// Goes behind the next entry without a look at the screen.
    pub(crate) fn pass(&mut self, entry: &Entry<'_>) {
        self.miss(entry.position);
        self.veiled = unveil(&mut self.veil, entry, &mut |_, _| ());
        self.go_behind(entry);
        if entry.kind == Kind::Screen {
            self.restore(entry);
        }
    }

    /// The session is over and all was taken: what the veil kept back is shown, as if it were one more piece of output. Gives
    /// it, if there is any.
    pub(crate) fn finish(&mut self) -> Option<&[u8]> {
        let rest = self.veil.finish();
        self.show(rest)
    }

    /// All was taken that came up to this time, and nothing may follow for long: what the veil does not keep back any more is
    /// shown, as if it were one more piece of output. Gives it, if there is any.
    pub(crate) fn unveil_by(&mut self, time: u64) -> Option<&[u8]> {
        self.veil.elapse(time);
        let owed = self.veil.take_owed();
        self.show(owed)
    }

    fn show(&mut self, kept: Vec<u8>) -> Option<&[u8]> {
        if kept.is_empty() {
            return None;
        }
        self.track.0.clear();
        // Whoever asked the terminal something did so long ago.
        drop(self.screen.feed(&kept));
        self.veiled = Some(kept);
        self.veiled.as_deref()
    }

    /// The last screen stands until this time; without one, for good. True if that shows what an update or the veil held back.
    pub(crate) fn stand(&mut self, until: Option<u64>) -> bool {
        let unveiled = until.is_some_and(|time| self.unveil_by(time).is_some());
        let was_held = self.screen.is_held();
        match until {
            Some(time) => self.screen.elapse(time),
            None => self.screen.let_go(),
        }
        unveiled || was_held && !self.screen.is_held()
    }

    /// What came up to this position and was not taken is missing.
    pub(crate) fn miss(&mut self, position: u64) {
        if position > self.position {
            self.position = position;
            self.veil.miss();
        }
    }

    /// What is shown of the entry that was taken last.
    pub(crate) fn shown<'a>(&'a self, entry: &Entry<'a>) -> &'a [u8] {
        self.veiled.as_deref().unwrap_or(entry.payload)
    }

    const fn go_behind(&mut self, entry: &Entry<'_>) {
        self.time = entry.time;
        self.typed = match entry.kind {
            Kind::Input | Kind::Hidden | Kind::Exec => Some(entry.time),
            Kind::Output | Kind::Errors | Kind::Screen => None,
            Kind::Start | Kind::Answer | Kind::Lines | Kind::Resize | Kind::Mark | Kind::Cut | Kind::Shed => {
                self.typed
            }
        };
        self.position = match entry.kind {
            Kind::Output | Kind::Errors => entry.position + entry.payload.len() as u64,
            Kind::Start
            | Kind::Input
            | Kind::Hidden
            | Kind::Answer
            | Kind::Lines
            | Kind::Resize
            | Kind::Mark
            | Kind::Exec
            | Kind::Cut
            | Kind::Shed
            | Kind::Screen => entry.position,
        };
    }
}

/// Gives what is shown of an entry, each piece with the position that it stands at; and all of it, where that is not the
/// entry's payload.
fn unveil(veil: &mut Veil, entry: &Entry<'_>, shown: &mut impl FnMut(Option<u64>, &[u8])) -> Option<Vec<u8>> {
    veil.elapse(entry.time);
    match entry.kind {
        Kind::Output | Kind::Errors => {}
        Kind::Exec => {
            if let Some(tag) = Tag::of(entry.payload) {
                veil.tag(&tag, entry.time);
            }
            return None;
        }
        Kind::Start
        | Kind::Input
        | Kind::Hidden
        | Kind::Answer
        | Kind::Lines
        | Kind::Resize
        | Kind::Mark
        | Kind::Cut
        | Kind::Shed
        | Kind::Screen => return None,
    }
    if veil.is_idle() {
        shown(Some(entry.position), entry.payload);
        return None;
    }
    let mut all = Vec::with_capacity(entry.payload.len());
    veil.pass(entry.position, entry.payload, &mut |unveiled| match unveiled {
        Unveiled::Shown { at, bytes } => {
            all.extend_from_slice(&bytes);
            shown(at, &bytes);
        }
        Unveiled::Own { at, bytes } => {
            all.extend_from_slice(&bytes);
            shown(Some(at), &bytes);
        }
        Unveiled::Begun | Unveiled::Ended(_) => {}
    });
    Some(all)
}
