//! Pane: an attached terminal as a value: what it shows of a session, and what must be undone when it is left.
//! Of the session's own size it gets the program's own bytes; of any other a clipped picture, until it drives.
//! Everything that is written to the terminal comes from here, so what was set on it is known exactly.

use crate::screen::{Screen, Size};

/// Lines of scrollback that are kept, and given to the terminal when it shows the session for the first time.
const SCROLLBACK: usize = 1_000;
/// What is the caller's own is put aside: titles, the flags of the keyboard, and whether it joins emoji, which we do.
const BEGIN: &[u8] = b"\x1b[22;0t\x1b[>0u\x1b[?2027s\x1b[?2027h";
/// What no screen undoes: how the terminal itself joined emoji.
const BACK: &[u8] = b"\x1b[?2027r";
/// What the screen does not know, and some terminals do.
const END: &[u8] = b"\x1b[?1047l\x1b[?47l\x1b[?2048l\x1b[?2026l";

/// How the terminal shows the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Showing {
    Nothing,
    /// The program's own bytes.
    Whole,
    /// What there is room for.
    Clipped,
}

/// An attached terminal.
#[derive(Debug, Clone)]
pub struct Pane {
    own: Size,
    /// The size that the session's output is made for, once the host says.
    stage: Option<Size>,
    drives: bool,
    session: Screen,
    /// What was written to the terminal, to know what is set on it.
    terminal: Screen,
    showing: Showing,
    /// The terminal has the scrollback.
    told_history: bool,
    /// The clipped picture is not the latest.
    stale: bool,
}

impl Pane {
    /// A terminal of this size that shows nothing yet.
    #[must_use]
    pub fn new(own: Size) -> Self {
        Self {
            own,
            stage: None,
            drives: false,
            session: Screen::new(own, SCROLLBACK),
            terminal: Screen::new(own, 0),
            showing: Showing::Nothing,
            told_history: false,
            stale: false,
        }
    }

    /// Whether this is the screen that the session is known to have.
    #[must_use]
    pub fn shows(&self, screen: &Screen) -> bool {
        self.showing != Showing::Nothing && self.session.hash() == screen.hash()
    }

    /// Whether the session takes this terminal's size.
    #[must_use]
    pub const fn drives(&self) -> bool {
        self.drives
    }

    /// What follows is made for this size. Gives what to write to the terminal, as everything here does.
    #[must_use = "the terminal must be told"]
    pub fn staged(&mut self, size: Size, drives: bool) -> Vec<u8> {
        self.stage = Some(size);
        self.drives = drives;
        self.session.resize(size);
        self.stale = true;
        self.settle()
    }

    /// The terminal has another size.
    #[must_use = "the terminal must be told"]
    pub fn resized(&mut self, own: Size) -> Vec<u8> {
        self.own = own;
        self.terminal.resize(own);
        self.stale = true;
        self.settle()
    }

    /// The whole screen came.
    #[must_use = "the terminal must be told"]
    pub fn painted(&mut self, picture: &[u8]) -> Vec<u8> {
        let now = self.session.now();
        self.session = Screen::new(self.stage.unwrap_or(self.own), SCROLLBACK);
        self.session.elapse(now);
        let _ = self.session.feed(picture);
        self.stale = true;
        if !self.fits() {
            return self.enter(Showing::Clipped, &[]);
        }
        self.told_history = true;
        self.enter(Showing::Whole, picture)
    }

    /// The program showed more.
    #[must_use = "the terminal must be told"]
    pub fn output(&mut self, bytes: &[u8]) -> Vec<u8> {
        let _ = self.session.feed(bytes);
        self.stale = true;
        match self.showing {
            Showing::Whole => self.write(bytes.to_vec()),
            Showing::Nothing | Showing::Clipped => Vec::new(),
        }
    }

    /// It is so late now, in microseconds.
    pub fn elapsed(&mut self, now: u64) {
        let was_held = self.session.is_held();
        self.session.elapse(now);
        self.stale |= was_held && !self.session.is_held();
    }

    /// When there may be another clipped picture without more from the program.
    #[must_use]
    pub fn wake_at(&self) -> Option<u64> {
        self.session.hold_ends().filter(|_| self.showing == Showing::Clipped)
    }

    /// The latest clipped picture, if the terminal does not show it already.
    #[must_use = "the terminal must be told"]
    pub fn refreshed(&mut self) -> Vec<u8> {
        if self.showing != Showing::Clipped || !self.stale {
            return Vec::new();
        }
        self.stale = false;
        let picture = self.session.clipped(self.own);
        self.write(picture)
    }

    /// Gives the terminal back as it was.
    #[must_use = "the terminal must be told"]
    pub fn left(&mut self) -> Vec<u8> {
        if self.showing == Showing::Nothing {
            return Vec::new();
        }
        self.showing = Showing::Nothing;
        let undone = [self.terminal.reset_modes().as_slice(), BACK, END].concat();
        let mut undone = self.write(undone);
        // What is shown stays, and what is said next stands below it.
        let below = format!("\x1b[{};1H\r\n", self.terminal.used().max(1));
        undone.extend(self.write(below.into_bytes()));
        undone
    }

    /// Moves what stands on the terminal up into its own scrollback, down to the line of the cursor and no further.
    fn lifted(&self) -> Vec<u8> {
        // As many blanks as there are columns: whoever was in the middle of a line is in the next one then.
        let blanks = " ".repeat(usize::from(self.own.cols));
        let feeds = "\n".repeat(usize::from(self.own.rows).saturating_sub(1));
        format!("{blanks}\r{feeds}").into_bytes()
    }

    fn fits(&self) -> bool {
        self.stage.is_none_or(|size| size == self.own)
    }

    /// Whoever drives is of the session's size as soon as the session has followed, and need not change over.
    fn settle(&mut self) -> Vec<u8> {
        match self.showing {
            Showing::Whole if !self.fits() && !self.drives => self.enter(Showing::Clipped, &[]),
            Showing::Clipped if self.fits() => {
                let history = if std::mem::replace(&mut self.told_history, true) { 0 } else { SCROLLBACK };
                let picture = self.session.dump(history);
                self.enter(Showing::Whole, &picture)
            }
            Showing::Nothing | Showing::Whole | Showing::Clipped => Vec::new(),
        }
    }

    /// Begins to show in this way, after undoing what was set before.
    fn enter(&mut self, showing: Showing, picture: &[u8]) -> Vec<u8> {
        let undone = match self.showing {
            Showing::Nothing => self.lifted(),
            Showing::Whole | Showing::Clipped => [self.terminal.reset_modes().as_slice(), BACK].concat(),
        };
        self.showing = showing;
        self.stale = true;
        self.write([undone.as_slice(), BEGIN, picture].concat())
    }

    fn write(&mut self, bytes: Vec<u8>) -> Vec<u8> {
        let _ = self.terminal.feed(&bytes);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: Size = Size { cols: 20, rows: 5 };
    const LARGE: Size = Size { cols: 40, rows: 10 };
    const EVERYTHING: &[u8] = b"\x1b[?1049h\x1b[?1002h\x1b[?1006h\x1b[?1004h\x1b[?2004h\x1b[?2031h\x1b[?1h\x1b[?5h\x1b=\
        \x1b[?25l\x1b[?7l\x1b[4h\x1b[>5u\x1b[>1u\x1b[>4;2m\x1b[3 q\x1b[2;4r\x1b[?6h\x1b[1;31m\x1b(0\x1b]2;mine\x07\
        \x1b[22;0t\x1b]11;#123456\x07\x1b]4;1;#654321\x07\x1b]8;;http://x\x07\x1b[3g\x1b[?2026hhalf\x1b]2;unfin";

    /// A terminal that shows what a pane gives it, and was used before.
    fn terminal(own: Size) -> Screen {
        let mut terminal = Screen::new(own, 0);
        let _ = terminal.feed(b"\x1b]2;caller\x07\x1b[>3u$ abide attach\r\n");
        terminal
    }

    fn feed(terminal: &mut Screen, bytes: &[u8]) {
        let _ = terminal.feed(bytes);
    }

    /// As the caller left it, but for the text and for the position of the cursor.
    fn assert_given_back(mut terminal: Screen, own: Size) {
        let mut before = self::terminal(own);
        for screen in [&mut terminal, &mut before] {
            feed(screen, b"\x1b[H\x1b[2J\x1b7");
        }
        assert!(terminal == before, "{terminal:#?} {before:#?}");
        assert_eq!((terminal.title(), terminal.input_modes().key_flags), ("caller", 3));
    }

    #[test]
    fn everything_that_a_program_can_set_is_undone_however_it_was_shown() {
        for (stage, drives) in [(SMALL, true), (LARGE, true), (LARGE, false)] {
            let (mut pane, mut terminal) = (Pane::new(SMALL), terminal(SMALL));
            feed(&mut terminal, &pane.staged(stage, drives));
            feed(&mut terminal, &pane.painted(&Screen::new(stage, 0).dump(0)));
            feed(&mut terminal, &pane.output(EVERYTHING));
            feed(&mut terminal, &pane.refreshed());
            assert_ne!(terminal.input_modes(), self::terminal(SMALL).input_modes(), "it was set");
            feed(&mut terminal, &pane.left());
            assert_given_back(terminal, SMALL);
            assert_eq!(pane.left(), b"", "it was given back");
        }
    }

    #[test]
    fn what_stood_on_the_terminal_goes_into_its_scrollback_and_what_is_said_next_stands_below_the_session() {
        let long: String = (1..=9).map(|n| format!("KEEP {n}\r\n")).collect();
        let middle = "KEEP 1\r\nKEEP 2\r\nKEEP in the middle".to_owned();
        for (before, kept) in [(String::new(), 0), ("KEEP\r\n".to_owned(), 1), (middle, 3), (long, 9)] {
            for (stage, session) in
                [(SMALL, "one\r\ntwo"), (LARGE, "one\r\ntwo"), (SMALL, "main\x1b[?1049halt")]
            {
                let mut terminal = Screen::new(SMALL, 100);
                feed(&mut terminal, before.as_bytes());
                let mut screen = Screen::new(stage, 0);
                let _ = screen.feed(session.as_bytes());
                let mut pane = Pane::new(SMALL);
                feed(&mut terminal, &pane.staged(stage, false));
                for _ in 0..2 {
                    feed(&mut terminal, &pane.painted(&screen.dump(0)));
                    feed(&mut terminal, &pane.refreshed());
                }
                assert!(!terminal.visible_text().contains("KEEP"));
                feed(&mut terminal, &pane.left());
                feed(&mut terminal, b"said next");
                let above = terminal.scrollback().map(|line| line.text().trim_end().to_owned());
                let above: Vec<String> = above.collect();
                assert_eq!(above.len(), kept, "{above:?}");
                assert!(above.iter().all(|line| line.starts_with("KEEP")), "{above:?}");
                let shown = if session.contains("main") { "main\nsaid next" } else { "one\ntwo\nsaid next" };
                assert_eq!(terminal.visible_text().trim_end(), shown);
            }
        }
    }

    #[test]
    fn a_picture_that_comes_again_leaves_no_more_to_undo_than_one() {
        let (mut pane, mut terminal) = (Pane::new(SMALL), terminal(SMALL));
        let mut session = Screen::new(SMALL, 0);
        let _ = session.feed(EVERYTHING);
        for _ in 0..3 {
            feed(&mut terminal, &pane.painted(&session.dump(0)));
            assert_eq!(terminal.live().text(), session.live().text());
            assert_eq!(terminal.input_modes(), session.input_modes());
        }
        feed(&mut terminal, &pane.left());
        assert_given_back(terminal, SMALL);
    }

    #[test]
    fn an_update_that_is_not_ended_is_shown_in_a_clipped_picture_after_a_while() {
        let (mut pane, mut terminal) = (Pane::new(SMALL), terminal(SMALL));
        pane.elapsed(1_000);
        feed(&mut terminal, &pane.staged(LARGE, false));
        feed(&mut terminal, &pane.painted(&Screen::new(LARGE, 0).dump(0)));
        feed(&mut terminal, &pane.output(b"before\x1b[?2026h\rafter"));
        feed(&mut terminal, &pane.refreshed());
        assert!(terminal.visible_text().contains("before"));
        let wake_at = pane.wake_at().expect("it is under way");
        pane.elapsed(wake_at);
        feed(&mut terminal, &pane.refreshed());
        assert!(terminal.visible_text().contains("aftere"));
        assert_eq!(pane.wake_at(), None);
    }

    #[test]
    fn another_size_is_clipped_until_the_session_follows() {
        let (mut pane, mut terminal) = (Pane::new(SMALL), terminal(SMALL));
        let mut session = Screen::new(LARGE, 0);
        let _ = session.feed(b"0123456789012345678901234567890\r\nsecond\x1b[9;35Hlow");
        feed(&mut terminal, &pane.staged(LARGE, false));
        feed(&mut terminal, &pane.painted(&session.dump(0)));
        feed(&mut terminal, &pane.refreshed());
        assert_eq!(terminal.visible_text(), "\n\n\n\n\n", "the rows around the cursor, cut at the right");
        assert_eq!(pane.refreshed(), b"", "nothing is new");
        feed(&mut terminal, &pane.output(b"\x1b[2;1H"));
        feed(&mut terminal, &pane.refreshed());
        assert_eq!(terminal.visible_text(), "01234567890123456789\nsecond\n\n\n\n");
        assert_eq!(pane.staged(LARGE, true), b"", "the session has not followed yet");
        feed(&mut terminal, &pane.staged(SMALL, true));
        feed(&mut terminal, &pane.output(b"\x1b[2J\x1b[HXYZ"));
        assert_eq!((terminal.visible_text().as_str(), pane.refreshed()), ("XYZ\n\n\n\n\n", Vec::new()));
        // While a driver's window is dragged, the session is always a little behind.
        assert_eq!(pane.resized(LARGE), b"");
        feed(&mut terminal, &pane.left());
        terminal.resize(SMALL);
        assert_given_back(terminal, SMALL);
    }
}
