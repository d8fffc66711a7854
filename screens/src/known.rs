//! Known: differences that are explained, each with the reason why ours is right. Where one emulator is said to be
//! alone, the other one must agree with us about that very cell.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::difference::{Difference, Reference};
use crate::seen::Seen;

/// An explanation.
pub struct Known {
    pub id: &'static str,
    of: &'static [Reference],
    /// The only streams that it explains; none for all of them.
    streams: &'static [&'static str],
    /// The other emulator must agree with us.
    alone: bool,
    is: fn(&Difference, &Seen) -> bool,
    pub why: &'static str,
}

const TMUX: &[Reference] = &[Reference::Tmux];
const ALACRITTY: &[Reference] = &[Reference::Alacritty];
const BOTH: &[Reference] = &[Reference::Tmux, Reference::Alacritty];

pub const KNOWN: &[Known] = &[
    Known {
        id: "erased",
        of: TMUX,
        streams: &[],
        alone: true,
        is: |it, _| it.ours.starts_with("\" \"/1 bg=") && it.theirs == "\" \"/1",
        why: "capture-pane leaves out cells that were erased, not written, behind the last one of a row, whatever their \
              background",
    },
    Known {
        id: "clusters",
        of: BOTH,
        streams: &[],
        alone: false,
        is: |it, ours| {
            let clusters: Vec<bool> = ours.rows[it.row].iter().map(|cell| is_cluster(&cell.text)).collect();
            // A dump says where it goes on, so that only the emoji itself looks other. But tmux does not tell where
            // the columns of its cells are.
            let exact = it.of_dump && it.reference == Reference::Alacritty;
            let near = if exact { it.col.saturating_sub(1)..it.col + 1 } else { 0..clusters.len() };
            clusters[near].contains(&true)
        },
        why: "an emoji of several characters takes two columns, as the programs that write it count (mode 2027); these two \
              count each character by itself, and the rest of the row stands elsewhere",
    },
    Known {
        id: "margin",
        of: TMUX,
        streams: &["vttest-cursor"],
        alone: true,
        is: |_, _| true,
        why: "behind a full row tmux has its cursor one column beyond the last, so that a backspace goes to the last column; \
              in xterm and in DEC's terminals it goes to the one before",
    },
    Known {
        id: "repeat",
        of: TMUX,
        streams: &["vttest-repeat"],
        alone: true,
        is: |_, _| true,
        why: "REP repeats the last character also after the cursor was moved; tmux forgets it then",
    },
    Known {
        id: "british",
        of: BOTH,
        streams: &["vttest-sets"],
        alone: false,
        is: |it, _| it.ours.starts_with("\"£\"") && it.theirs.starts_with("\"#\""),
        why: "the British set has a pound sign in the place of #; these two do not know the set",
    },
    Known {
        id: "drawing",
        of: TMUX,
        streams: &["vttest-sets"],
        alone: true,
        is: |it, _| it.ours.starts_with("\" \"") && it.theirs.starts_with("\"_\""),
        why: "in the line drawing set the underscore is a blank",
    },
    Known {
        id: "invalid",
        of: BOTH,
        streams: &["vttest-sets"],
        alone: false,
        is: |it, ours| ours.rows[it.row].iter().any(|cell| cell.text == "\u{fffd}"),
        why: "bytes that are no UTF-8 are shown as replacement characters, as Unicode recommends; tmux leaves them out, \
              and alacritty those that would be C1 controls",
    },
    Known {
        id: "origin",
        of: ALACRITTY,
        streams: &["vttest-screen"],
        alone: true,
        is: |_, _| true,
        why: "in origin mode a move up or down begins where the cursor is; alacritty adds the top margin to it",
    },
    Known {
        id: "delete-many",
        of: ALACRITTY,
        streams: &["vttest-edit"],
        alone: true,
        is: |_, _| true,
        why: "DCH of more characters than there are to the right erases nothing to the left of the cursor; alacritty does",
    },
    Known {
        id: "sgr-21",
        of: ALACRITTY,
        streams: &["looks"],
        alone: true,
        is: |it, _| it.ours.contains("Double"),
        why: "SGR 21 is a double underline, as in ECMA-48 and xterm; alacritty takes it for the end of bold",
    },
    Known {
        id: "sgr-range",
        of: BOTH,
        streams: &["looks"],
        alone: false,
        is: |it, _| it.theirs == format!("{} bold", it.ours),
        why: "a colour of which a number is out of range is none, but its numbers are no attributes; these two take the \
              last ones for bold",
    },
    Known {
        id: "marks",
        of: TMUX,
        streams: &["emoji"],
        alone: true,
        is: |it, _| {
            text(&it.ours).len() > text(&it.theirs).len() && text(&it.ours).starts_with(text(&it.theirs))
        },
        why: "a cell may have more marks than the 21 bytes that tmux has room for",
    },
    Known {
        id: "joiner",
        of: TMUX,
        streams: &["emoji"],
        alone: false,
        is: |it, ours| ours.rows[it.row].iter().any(|cell| cell.text.ends_with('\u{200d}')),
        why: "a joiner joins pictures, not letters, and the rest of the row stands elsewhere; tmux joins whatever follows it",
    },
    Known {
        id: "soft-hyphen",
        of: ALACRITTY,
        streams: &["emoji"],
        alone: true,
        is: |it, ours| ours.rows[it.row].iter().any(|cell| cell.text == "\u{ad}"),
        why: "a soft hyphen takes a column, as in libc and xterm; alacritty gives it none",
    },
];

/// The explanation of a difference; `agrees` says whether the other emulator has the same as we in that place.
pub fn explain(stream: &str, it: &Difference, ours: &Seen, agrees: bool) -> Option<&'static Known> {
    KNOWN.iter().find(|known| {
        let meant = known.streams.is_empty() || known.streams.contains(&stream);
        meant && known.of.contains(&it.reference) && (agrees || !known.alone) && (known.is)(it, ours)
    })
}

/// The text of a cell that was put in words.
fn text(cell: &str) -> &str {
    cell.rsplit_once("\"/").map_or(cell, |(text, _)| text)
}

/// Whether a text takes other columns than its characters do one by one.
fn is_cluster(text: &str) -> bool {
    text.chars().filter_map(UnicodeWidthChar::width).sum::<usize>() != text.width()
        || text.chars().filter(|ch| ch.width().unwrap_or(0) > 0).count() > 1
}
