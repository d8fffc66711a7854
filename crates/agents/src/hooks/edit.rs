//! Adding one thing to an object or an array and taking it out again, so that what was before is there again to the byte.
//!
//! What is added to others stands behind the last of them, with the comma right at that one's end; what is added where
//! nothing was stands right behind the opening bracket, in front of the white space that was there. Only brackets that we
//! make ourselves have white space in front of what is first in them. So the text itself says what was there before.

use std::ops::Range;

use super::scan::{Node, comment, is_blank, is_space};

/// How a text breaks its lines.
#[derive(Debug)]
pub(crate) struct Style {
    newline: &'static str,
    unit: String,
}

impl Style {
    /// As in this text, whose root is this.
    pub(crate) fn of(text: &str, root: &Node) -> Self {
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let first = root.items().first();
        let lead = first.map_or("", |item| &text[root.start + 1..item.start]);
        let unit = lead.rsplit_once('\n').map_or("", |(_, unit)| unit);
        let is_plain = !unit.is_empty() && is_blank(unit);
        Self { newline, unit: if is_plain { unit } else { "  " }.to_owned() }
    }

    /// As we write a text of our own.
    pub(crate) fn plain() -> Self {
        Self { newline: "\n", unit: "  ".to_owned() }
    }

    /// A new line, so deep.
    pub(crate) fn line(&self, depth: usize) -> String {
        format!("{}{}", self.newline, self.unit.repeat(depth))
    }
}

/// Adds to an object or an array, on a line of its own.
pub(crate) fn add(text: &str, to: &Node, added: &str, line: &str) -> String {
    let behind = to.items().last().map(|last| behind_comments(text, last.value.end));
    add_behind(text, to, behind, &format!("{line}{added}"))
}

/// The same behind what we added before, which has no comments of its own.
pub(crate) fn add_at_once(text: &str, to: &Node, added: &str, line: &str) -> String {
    let behind = to.items().last().map(|last| last.value.end);
    add_behind(text, to, behind, &format!("{line}{added}"))
}

fn add_behind(text: &str, to: &Node, behind: Option<usize>, added: &str) -> String {
    let mut made = text.to_owned();
    match (to.items().last(), behind) {
        (Some(last), Some(behind)) => {
            made.insert_str(behind, added);
            made.insert(last.value.end, ',');
        }
        (None, _) | (_, None) => made.insert_str(to.start + 1, added.trim_start()),
    }
    made
}

/// A comment on the same line belongs to what is in front of it.
fn behind_comments(text: &str, from: usize) -> usize {
    let (mut behind, mut at) = (from, from);
    loop {
        match comment(text, at) {
            Some(Ok(end)) => (behind, at) = (end, end),
            Some(Err(_)) => return behind,
            None if text[at..].starts_with([' ', '\t']) => at += 1,
            None => return behind,
        }
    }
}

/// Takes one thing out of an object or an array. None if nothing but that was in brackets that we made: then they go too.
pub(crate) fn remove(text: &str, from: &Node, at: usize) -> Option<String> {
    let items = from.items();
    let item = &items[at];
    let (start, end) = (item.start, item.value.end);
    let mut cut: Vec<Range<usize>> = Vec::new();
    match (at.checked_sub(1).map(|before| &items[before]), item.comma) {
        (None, None) => {
            let (before, behind) = (&text[from.start + 1..start], &text[end..from.end - 1]);
            if !before.is_empty() && is_blank(before) && is_blank(behind) {
                return None;
            }
            cut.push(start..end);
        }
        // What is next takes its place.
        (_, Some(comma)) => {
            let white = text[comma + 1..].bytes().take_while(|byte| is_space(*byte)).count();
            cut.extend([start..end, comma..comma + 1 + white]);
        }
        (Some(before), None) => {
            cut.extend(before.comma.map(|comma| comma..comma + 1));
            let white = text[..start].bytes().rev().take_while(|byte| is_space(*byte)).count();
            cut.push(start - white..end);
        }
    }
    let mut left = text.to_owned();
    for part in cut.into_iter().rev() {
        left.replace_range(part, "");
    }
    Some(left)
}
