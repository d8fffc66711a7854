//! Difference: where two screens are not the same, cell by cell, in what both can hold.

use std::fmt;

use abide_core::screen::{Color, Underline};

use crate::seen::{Cell, Look, Seen};

/// Who else was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reference {
    Tmux,
    Alacritty,
}

/// One place that is not the same.
#[derive(Debug, Clone)]
pub struct Difference {
    pub reference: Reference,
    /// Of our dump, not of the stream itself.
    pub of_dump: bool,
    pub row: usize,
    pub col: usize,
    pub ours: String,
    pub theirs: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { reference, row, col, ours, theirs, .. } = self;
        write!(out, "row {row} column {col}: ours {ours}, {reference:?} {theirs}")
    }
}

/// Every cell that differs, and the cursor as one more.
pub fn differences(ours: &Seen, theirs: &Seen, reference: Reference, of_dump: bool) -> Vec<Difference> {
    let mut found = Vec::new();
    for (row, (our_row, their_row)) in ours.rows.iter().zip(&theirs.rows).enumerate() {
        for col in 0..our_row.len().max(their_row.len()) {
            let told = |cell: Option<&Cell>| cell.map_or("nothing".to_owned(), |cell| says(cell, reference));
            let (ours, theirs) = (told(our_row.get(col)), told(their_row.get(col)));
            if ours != theirs {
                found.push(Difference { reference, of_dump, row, col, ours, theirs });
            }
        }
    }
    let (row, col) = ours.cursor;
    let (ours, theirs) = (cursor_says(ours), cursor_says(theirs));
    if ours != theirs {
        found.push(Difference { reference, of_dump, row, col, ours, theirs });
    }
    found
}

fn cursor_says(seen: &Seen) -> String {
    let (row, col) = seen.cursor;
    let hidden = if seen.cursor_visible { "" } else { ", hidden" };
    let page = if seen.alternate { "alternate" } else { "main" };
    format!("cursor at {row},{col}{hidden} on the {page} page")
}

/// A cell in words, as far as the other emulator can hold it.
fn says(cell: &Cell, reference: Reference) -> String {
    let mut look = cell.look.clone();
    match reference {
        // Version 3.3 has no links.
        Reference::Tmux => look.link.clear(),
        // It has neither blinking nor a line above.
        Reference::Alacritty => [5, 53].into_iter().for_each(|number| look.put(number, false)),
    }
    let Look { fg, bg, underline, underline_color, link, .. } = &look;
    let mut said = format!("{:?}/{}", cell.text, cell.width);
    for (name, color) in [("fg", fg), ("bg", bg), ("line", underline_color)] {
        match color {
            Color::Default => {}
            Color::Indexed(index) => said += &format!(" {name}={index}"),
            Color::Rgb(r, g, b) => said += &format!(" {name}=#{r:02x}{g:02x}{b:02x}"),
        }
    }
    if *underline != Underline::None {
        said += &format!(" {underline:?}");
    }
    for word in [look.flag_names(), link.clone()] {
        if !word.is_empty() {
            said += &format!(" {word}");
        }
    }
    said
}
