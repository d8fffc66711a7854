//! Alacritty's emulator, as a library, fed the same bytes. It holds no blinking and no line above text.

use abide_core::screen::{Color, Size, Underline};
use alacritty_terminal::event::VoidListener;
use alacritty_terminal::grid::Dimensions;
use alacritty_terminal::index::{Column, Line};
use alacritty_terminal::term::cell::{Cell as Theirs, Flags};
use alacritty_terminal::term::{Config, Term, TermMode};
use alacritty_terminal::vte::ansi::{Color as TheirColor, NamedColor, Processor, StdSyncHandler};

use crate::seen::{Cell, Look, Seen, push};

/// The size of a terminal in their terms.
struct Sized(Size);

impl Dimensions for Sized {
    fn total_lines(&self) -> usize {
        self.screen_lines()
    }

    fn screen_lines(&self) -> usize {
        usize::from(self.0.rows)
    }

    fn columns(&self) -> usize {
        usize::from(self.0.cols)
    }
}

/// What it shows after these bytes.
pub fn show(size: Size, bytes: &[u8]) -> Seen {
    let config = Config { scrolling_history: 1_000, kitty_keyboard: true, ..Config::default() };
    let mut term = Term::new(config, &Sized(size), VoidListener);
    let mut processor: Processor<StdSyncHandler> = Processor::new();
    processor.advance(&mut term, bytes);
    processor.stop_sync(&mut term);
    let grid = term.grid();
    let rows = (0..i32::from(size.rows)).map(|row| {
        let mut cells = Vec::new();
        for col in 0..usize::from(size.cols) {
            let theirs = &grid[Line(row)][Column(col)];
            let is_tail = theirs.flags.contains(Flags::WIDE_CHAR_SPACER);
            if !is_tail {
                push(&mut cells, cell(theirs));
            } else if cells.len() == col {
                // A second half without a first one.
                cells.push(Cell::tail(look(theirs)));
            }
        }
        cells.truncate(usize::from(size.cols));
        cells
    });
    let point = grid.cursor.point;
    Seen {
        rows: rows.collect(),
        cursor: (usize::try_from(point.line.0).unwrap_or(0), point.column.0),
        cursor_visible: term.mode().contains(TermMode::SHOW_CURSOR),
        alternate: term.mode().contains(TermMode::ALT_SCREEN),
    }
}

fn cell(theirs: &Theirs) -> Cell {
    // It keeps a tab in the cell where it was printed; that is a blank to see.
    let ch = if theirs.c == '\t' { ' ' } else { theirs.c };
    let mut text = ch.to_string();
    text.extend(theirs.zerowidth().into_iter().flatten());
    let width = 1 + u8::from(theirs.flags.contains(Flags::WIDE_CHAR));
    Cell { text, width, look: look(theirs) }
}

fn look(theirs: &Theirs) -> Look {
    let mut look = Look {
        fg: color(theirs.fg),
        bg: color(theirs.bg),
        underline_color: theirs.underline_color().map_or(Color::Default, color),
        link: theirs.hyperlink().map_or_else(String::new, |link| link.uri().to_owned()),
        ..Look::default()
    };
    let flags = [
        (Flags::BOLD, 1),
        (Flags::DIM, 2),
        (Flags::ITALIC, 3),
        (Flags::INVERSE, 7),
        (Flags::HIDDEN, 8),
        (Flags::STRIKEOUT, 9),
    ];
    for (flag, number) in flags {
        look.put(number, theirs.flags.contains(flag));
    }
    let underlines = [
        (Flags::UNDERLINE, Underline::Single),
        (Flags::DOUBLE_UNDERLINE, Underline::Double),
        (Flags::UNDERCURL, Underline::Curly),
        (Flags::DOTTED_UNDERLINE, Underline::Dotted),
        (Flags::DASHED_UNDERLINE, Underline::Dashed),
    ];
    for (flag, underline) in underlines {
        if theirs.flags.contains(flag) {
            look.underline = underline;
        }
    }
    look
}

fn color(theirs: TheirColor) -> Color {
    match theirs {
        TheirColor::Indexed(index) => Color::Indexed(index),
        TheirColor::Spec(rgb) => Color::Rgb(rgb.r, rgb.g, rgb.b),
        TheirColor::Named(NamedColor::Foreground | NamedColor::Background) => Color::Default,
        TheirColor::Named(named) => u8::try_from(named as usize).map_or(Color::Default, Color::Indexed),
    }
}
