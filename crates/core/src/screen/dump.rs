//! Dump: a screen as the bytes that bring a fresh terminal of the same size to it, and those that undo its modes.
//! Not carried over: the last printed character (for REP, and for what would join it), tab stops beyond the last
//! column, the view that a synchronized update holds back (the live one is drawn, and the update goes on). Behind a
//! character that some terminals give other columns than we do, it says where it goes on.

use super::LONGEST_SIDE;
use super::Screen;
use super::act::sgr_text;
use super::cluster::{columns, joins, may_join, width};
use super::cursor::{Charset, Cursor, Pen, Tabs};
use super::grid::cell::{Cell, Color, Extra, Link, Style};
use super::grid::row::Row;
use super::grid::{Grid, Region};
use super::modes::{KeyFlags, Mode, Modes, Mouse, MouseEncoding, Switches};
use super::palette::{Palette, Slot, rgb_text};
use super::term::Term;
use super::title::Names;

/// To a known beginning: soft reset, then what that leaves to taste; an empty screen.
const BEGIN: &str = "\x1b[!p\x1b[?6l\x1b[?7h\x1b[4l\x1b[20l\x1b[r\x1b(B\x1b)B\x1b*B\x1b+B\x0f\x1b[0m\x1b]8;;\x1b\\\x1b[H\x1b[2J";
const CLEAR: &str = "\x1b[0m\x1b[H\x1b[2J";
/// A wide blank: in the last column it must wrap. A sequence before it keeps it from joining the character there.
const WIDE_BLANK: &str = "\x1b(B\u{3000}\x1b[G\x1b[0m\x1b[K";

impl Screen {
    /// Bytes that show this screen on a terminal of the same size, with the last `scrollback` lines above it, and
    /// leave that terminal as the program left this one, in the middle of a sequence too.
    #[must_use]
    pub fn dump(&self, scrollback: usize) -> Vec<u8> {
        let mut bytes = self.dump_whole(scrollback);
        bytes.extend(self.parser.unfinished());
        bytes
    }

    /// The same without the beginning of what is not whole.
    pub(super) fn dump_whole(&self, scrollback: usize) -> Vec<u8> {
        self.painted(scrollback, true)
    }

    /// The same for whoever only looks on: keys, mouse and pasted text stay as they are, nothing is held back, and what is
    /// not whole is left out.
    #[must_use]
    pub fn dump_for_viewers(&self, scrollback: usize) -> Vec<u8> {
        self.painted(scrollback, false)
    }

    fn painted(&self, scrollback: usize, input: bool) -> Vec<u8> {
        let term = &self.term;
        let mut painter = Painter::begun(BEGIN);
        painter.titles(term);
        for (slot, rgb) in term.palette.changed() {
            painter.say(&format!("\x1b]{};{}\x1b\\", slot.osc(), rgb_text(rgb)));
        }
        painter.tabs(&term.tabs, term.cols());
        if !term.pages.alternate {
            painter.saved(&term.saved[0], &term.pages.main);
        }
        let history = term.pages.history.iter();
        let skipped = history.len().saturating_sub(scrollback);
        let above: Vec<Row> = history.skip(skipped).map(|line| line.row()).collect();
        painter.grid(&term.pages.main, &above);
        if input {
            painter.keys(&term.modes.keys[0]);
        }
        if term.pages.alternate {
            painter.cursor(&term.saved[0], &term.pages.main, None);
            painter.say("\x1b[?1049h");
            painter.fresh_page();
            painter.saved(&term.saved[1], &term.pages.alt);
            painter.grid(&term.pages.alt, &[]);
            if input {
                painter.keys(&term.modes.keys[1]);
            }
        }
        painter.modes(&term.modes, input);
        if term.region != Region::whole(term.size) {
            painter.say(&format!("\x1b[{};{}r", term.region.top + 1, term.region.bottom + 1));
        }
        painter.cursor(&term.cursor, term.pages.grid(), Some(term.region));
        painter.link(term.link.as_deref());
        painter.late_modes(&term.modes.switches, input);
        painter.out
    }

    /// Bytes that take back everything a program set on the terminal it was shown on: for when the viewer leaves.
    #[must_use]
    pub fn reset_modes(&self) -> Vec<u8> {
        let term = &self.term;
        // First end what may be unfinished: CAN breaks off any sequence.
        let mut painter = Painter::begun("\x18");
        if term.pages.alternate {
            painter.pop_keys(&term.modes.keys[1]);
            painter.say("\x1b[?1049l");
        }
        painter.pop_keys(&term.modes.keys[0]);
        // Terminals begin with different ones of the clusters' mode: it is left alone unless the program touched it.
        for mode in Mode::ALL.iter().filter(|mode| **mode != Mode::Clusters || !term.modes.has(**mode)) {
            painter.switch(*mode, Switches::default().has(*mode));
        }
        for number in
            Mouse::ALL.map(Mouse::number).into_iter().chain(MouseEncoding::ALL.map(MouseEncoding::number))
        {
            if number > 0 {
                painter.say(&format!("\x1b[?{number}l"));
            }
        }
        painter.say("\x1b[>4m\x1b[0 q\x1b[?6l\x1b[r\x1b(B\x1b)B\x1b*B\x1b+B\x0f\x1b[0m\x1b]8;;\x1b\\");
        if term.palette.changed().len() > 0 {
            painter.say("\x1b]104\x1b\\\x1b]110\x1b\\\x1b]111\x1b\\\x1b]112\x1b\\");
        }
        if (0..term.cols()).any(|col| term.tabs.has(col) != Tabs::default().has(col)) {
            painter.say("\x1b[3g");
            (0..term.cols()).step_by(8).for_each(|col| painter.say(&format!("\x1b[{}G\x1bH", col + 1)));
        }
        term.titles.stack.iter().for_each(|_| painter.say("\x1b[23;0t"));
        // The margins' reset took the cursor home; it belongs where the text ends.
        let row = if term.pages.alternate { term.saved[0].row } else { term.cursor.row };
        painter.say(&format!("\x1b[{};1H", row + 1));
        painter.out
    }
}

/// Writes sequences, and knows the pen and the link that the terminal has after them.
pub(super) struct Painter {
    pub(super) out: Vec<u8>,
    pen: Pen,
    link: Option<Link>,
    /// No mode is touched, and a colour that the program redefined, here, is said as what it is.
    pub(super) still: Option<Palette>,
}

impl Painter {
    /// After bytes that leave the terminal with the plain pen and no link.
    pub(super) fn begun(bytes: &str) -> Self {
        Self { out: bytes.as_bytes().to_vec(), pen: Pen::default(), link: None, still: None }
    }

    pub(super) fn say(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    /// Back to the plain pen.
    pub(super) fn plain(&mut self) {
        self.ink(&Pen::default(), None);
    }

    fn titles(&mut self, term: &Term) {
        let titles = &term.titles;
        let set = |painter: &mut Self, names: &Names| {
            painter.say(&format!("\x1b]1;{}\x1b\\\x1b]2;{}\x1b\\", names.icon, names.window));
        };
        for names in &titles.stack {
            set(self, names);
            self.say("\x1b[22;0t");
        }
        if titles.current != titles.stack.last().cloned().unwrap_or_default() {
            set(self, &titles.current);
        }
    }

    fn tabs(&mut self, tabs: &Tabs, cols: usize) {
        let mut there = Tabs::default();
        // Beyond the last column they are as they were, or all cleared.
        if (cols..usize::from(LONGEST_SIDE)).all(|col| !tabs.has(col)) && *tabs != there {
            self.say("\x1b[3g");
            there.clear();
        }
        for col in (0..cols).filter(|col| tabs.has(*col) != there.has(*col)) {
            let act = if tabs.has(col) { "\x1bH" } else { "\x1b[g" };
            self.say(&format!("\x1b[{}G{act}", col + 1));
        }
        self.say("\x1b[H");
    }

    /// A saved cursor, set up on the empty screen, which is empty again afterwards.
    fn saved(&mut self, saved: &Cursor, grid: &Grid) {
        if *saved != Cursor::default() {
            let blank = Grid::new(super::Size { cols: grid.cols() as u16, rows: grid.rows().len() as u16 });
            self.cursor(saved, &blank, None);
            self.say("\x1b7");
            self.fresh_page();
        }
    }

    /// Back to the plain beginning after a cursor has been set up.
    fn fresh_page(&mut self) {
        self.say("\x1b[?6l\x1b(B\x1b)B\x1b*B\x1b+B\x0f");
        self.say(CLEAR);
        self.pen = Pen::default();
    }

    /// The lines above and the rows of the screen, from the top left corner on.
    fn grid(&mut self, grid: &Grid, above: &[Row]) {
        let shown = if above.is_empty() { grid.used() } else { grid.rows().len() };
        let rows: Vec<&Row> = above.iter().chain(grid.rows().iter().take(shown)).collect();
        for (index, row) in rows.iter().enumerate() {
            self.row(row, grid.cols());
            match row.continues() {
                (true, false) => {
                    // A blank in the next row makes this one a wrapped one. It is written in the plain pen, for a line
                    // that scrolls in takes the pen's background. A carriage return could part the two.
                    self.ink(&Pen::default(), None);
                    self.say(" \x08");
                }
                (true, true) => {
                    let bg = row.cell(grid.cols() - 1).style.bg;
                    self.ink(&Pen { style: Style { bg, ..Style::default() }, ..Pen::default() }, None);
                    self.say(WIDE_BLANK);
                    self.pen = Pen::default();
                }
                (false, _) if index + 1 < rows.len() => {
                    self.ink(&Pen::default(), None);
                    let continued = index > 0 && rows[index - 1].wrapped;
                    self.say(if continued { "\x1b[G\n" } else { "\r\n" });
                }
                (false, _) => {}
            }
        }
        self.ink(&Pen::default(), None);
    }

    fn row(&mut self, row: &Row, cols: usize) {
        let len = match row.continues() {
            (false, _) => row.used(),
            (true, short) => cols - usize::from(short),
        };
        self.cells(row, len, cols);
    }

    /// The first `len` cells of a row, on a terminal of so many columns; a wide one that would stick out is left out.
    pub(super) fn cells(&mut self, row: &Row, len: usize, cols: usize) {
        let mut end = None;
        for col in 0..len {
            let cell = row.cell(col);
            if cell.is_tail() || (cell.is_wide() && col + 2 > len) {
                continue;
            }
            if end.is_some_and(|end| may_join(end, cell.ch)) {
                // Any sequence keeps it from joining the character before it.
                self.say("\x1b(B");
            }
            self.cell(row, &cell);
            let next = col + 1 + usize::from(cell.is_wide());
            let marks = row.extra(&cell).map_or("", |extra| &extra.marks);
            end = marks.chars().last().or(Some(cell.ch));
            if !marks.is_empty() && next < cols && by_characters(cell.ch, marks) != Some(next - col) {
                self.say(&format!("\x1b[{}G", next + 1));
                end = None;
                if next >= len {
                    // What stands there now is of a terminal that counts otherwise.
                    self.plain();
                    self.say("\x1b[K");
                }
            }
        }
    }

    fn cell(&mut self, row: &Row, cell: &Cell) {
        let none = Extra::default();
        let extra = row.extra(cell).unwrap_or(&none);
        let style = Style { attrs: cell.style.attrs.of_pen(), ..cell.style };
        self.ink(&Pen { style, underline: extra.underline }, extra.link.as_deref());
        let mut text = cell.ch.to_string();
        text.push_str(&extra.marks);
        let plain = extra.marks.is_empty() || as_cluster(&text) == Some(1 + usize::from(cell.is_wide()));
        if plain || self.still.is_some() {
            self.say(&text);
        } else {
            self.say(&format!("\x1b[?2027l{text}\x1b[?2027h"));
        }
    }

    fn ink(&mut self, pen: &Pen, link: Option<&Link>) {
        if self.pen != *pen {
            let said = self.still.as_ref().map_or(*pen, |palette| as_redefined(pen, palette));
            self.say(&format!("\x1b[{}m", sgr_text(&said)));
            self.pen = *pen;
        }
        self.link(link);
    }

    fn link(&mut self, link: Option<&Link>) {
        if self.link.as_ref() == link {
            return;
        }
        match link {
            Some(Link { id, uri }) if id.is_empty() => self.say(&format!("\x1b]8;;{uri}\x1b\\")),
            Some(Link { id, uri }) => self.say(&format!("\x1b]8;id={id};{uri}\x1b\\")),
            None => self.say("\x1b]8;;\x1b\\"),
        }
        self.link = link.cloned();
    }

    /// The cursor with everything DECSC saves. A pending wrap is made by writing the last column again.
    fn cursor(&mut self, cursor: &Cursor, grid: &Grid, region: Option<Region>) {
        let mut top = 0;
        if cursor.origin {
            self.say("\x1b[?6h");
            top = region.map_or(0, |region| region.top);
        }
        let row = grid.row(cursor.row);
        let tail = cursor.pending && row.cell(cursor.col).is_tail();
        let col = cursor.col - usize::from(tail);
        self.say(&format!("\x1b[{};{}H", cursor.row + 1 - top, col + 1));
        if cursor.pending {
            self.cell(row, &row.cell(col));
        }
        self.ink(&cursor.pen, None);
        for (opening, set) in ['(', ')', '*', '+'].into_iter().zip(cursor.sets) {
            if set != Charset::Ascii {
                self.say(&format!("\x1b{opening}{}", char::from(set.byte())));
            }
        }
        self.say(["", "\x0e", "\x1bn", "\x1bo"][usize::from(cursor.shift)]);
        self.say(["", "", "\x1bN", "\x1bO"][usize::from(cursor.single)]);
    }

    fn keys(&mut self, keys: &KeyFlags) {
        for (index, flags) in keys.all().iter().enumerate() {
            match (index, flags) {
                (0, 0) => {}
                (0, flags) => self.say(&format!("\x1b[={flags};1u")),
                (_, flags) => self.say(&format!("\x1b[>{flags}u")),
            }
        }
    }

    fn pop_keys(&mut self, keys: &KeyFlags) {
        match keys.all().len() - 1 {
            0 => {}
            pushed => self.say(&format!("\x1b[<{pushed}u")),
        }
        // Below what was pushed may be someone else's, which is left alone.
        if keys.all()[0] != 0 {
            self.say("\x1b[=0;1u");
        }
    }

    /// The modes that do not change how the rest is written.
    fn modes(&mut self, modes: &Modes, input: bool) {
        for mode in Mode::ALL.iter().filter(|mode| !is_late(**mode) && (input || mode.is_for_viewers())) {
            if modes.has(*mode) != Switches::default().has(*mode) {
                self.switch(*mode, modes.has(*mode));
            }
        }
        for number in [modes.mouse.number(), modes.encoding.number()].into_iter().filter(|_| input) {
            if number > 0 {
                self.say(&format!("\x1b[?{number}h"));
            }
        }
        if modes.modify_other_keys > 0 && input {
            self.say(&format!("\x1b[>4;{}m", modes.modify_other_keys));
        }
        if modes.cursor_style > 0 {
            self.say(&format!("\x1b[{} q", modes.cursor_style));
        }
    }

    fn late_modes(&mut self, switches: &Switches, input: bool) {
        for mode in Mode::ALL.iter().filter(|mode| is_late(**mode) && (input || mode.is_for_viewers())) {
            if switches.has(*mode) != Switches::default().has(*mode) {
                self.switch(*mode, switches.has(*mode));
            }
        }
    }

    pub(super) fn switch(&mut self, mode: Mode, on: bool) {
        if mode == Mode::AppKeypad {
            // Older than its number, and known to more terminals.
            return self.say(if on { "\x1b=" } else { "\x1b>" });
        }
        let private = if mode.is_ansi() { "" } else { "?" };
        let last = if on { 'h' } else { 'l' };
        self.say(&format!("\x1b[{private}{}{last}", mode.number()));
    }
}

/// A pen whose colours mean the same where the palette is another.
fn as_redefined(pen: &Pen, palette: &Palette) -> Pen {
    let meant = |color: Color| match color {
        Color::Indexed(index) => {
            let redefined = palette.redefined(Slot::Indexed(index));
            redefined.map_or(color, |[red, green, blue]| Color::Rgb(red, green, blue))
        }
        Color::Default | Color::Rgb(..) => color,
    };
    let style = Style { fg: meant(pen.style.fg), bg: meant(pen.style.bg), ..pen.style };
    Pen { style, underline: meant(pen.underline) }
}

/// Whether a mode would spoil what is written after it.
const fn is_late(mode: Mode) -> bool {
    match mode {
        Mode::Insert | Mode::AutoWrap | Mode::NewLine | Mode::Synchronized | Mode::Clusters => true,
        Mode::AppCursor
        | Mode::ReverseVideo
        | Mode::CursorBlinks
        | Mode::CursorVisible
        | Mode::ColumnChange
        | Mode::AppKeypad
        | Mode::Focus
        | Mode::AlternateScroll
        | Mode::BracketedPaste
        | Mode::ColorScheme => false,
    }
}

/// How many columns a character and its marks take where each counts for itself.
fn by_characters(ch: char, marks: &str) -> Option<usize> {
    std::iter::once(ch).chain(marks.chars()).map(width).sum()
}

/// How many columns a text takes as one picture; `None` if it is not one.
fn as_cluster(text: &str) -> Option<usize> {
    let mut marks = text.char_indices().skip(1);
    let one = marks.all(|(at, mark)| width(mark) == Some(0) || joins(&text[..at], mark));
    one.then(|| columns(text))
}
