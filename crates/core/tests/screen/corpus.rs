//! Recorded programs, 80x24: the bytes they wrote, and what tmux 3.3a showed when it was fed the same bytes.
//! `NAME.txt` is its `capture-pane -p -e` without colours and without blanks at the ends of rows, line drawing letters
//! shown as lines; cursors are tmux's too.

use abide_core::screen::{Screen, Size};

use crate::common::{fed, feed};

/// How far apart the tried places are; a release build tries more of them.
const STEP: usize = if cfg!(debug_assertions) { 769 } else { 13 };

struct Recorded {
    name: &'static str,
    bytes: &'static [u8],
    text: &'static str,
    cursor: (u16, u16),
    alternate: bool,
}

macro_rules! corpus {
    ($($name:literal $row:literal $col:literal $alternate:literal,)+) => {
        &[$(Recorded {
            name: $name,
            bytes: include_bytes!(concat!("corpus/", $name, ".bin")),
            text: include_str!(concat!("corpus/", $name, ".txt")),
            cursor: ($row, $col),
            alternate: $alternate,
        },)+]
    };
}

const CORPUS: &[Recorded] = corpus! {
    "bash" 10 2 false,
    "curses" 19 35 true,
    "ink" 23 51 false,
    "less" 23 32 true,
    "tmux" 22 2 true,
    "vim" 5 52 true,
    "vimquit" 0 0 false,
};

#[test]
fn recorded_programs_look_as_in_tmux() {
    for Recorded { name, bytes, text, cursor, alternate } in CORPUS {
        let screen = fed(80, 24, bytes);
        assert_eq!(screen.visible_text(), *text, "{name}");
        let seen = screen.view().cursor();
        assert_eq!((seen.row, seen.col, screen.alternate()), (cursor.0, cursor.1, *alternate), "{name}");
    }
}

#[test]
fn recorded_programs_survive_a_keyframe_and_a_dump_anywhere() {
    for Recorded { name, bytes, .. } in CORPUS {
        let whole = fed(80, 24, bytes);
        let mut first = Screen::new(Size { cols: 80, rows: 24 }, crate::common::SCROLLBACK);
        for at in (0..bytes.len()).step_by(STEP) {
            feed(&mut first, &bytes[at.saturating_sub(STEP)..at]);
            let mut thawed = Screen::thaw(&first.freeze()).expect("a keyframe of ours");
            feed(&mut thawed, &bytes[at..]);
            assert!(thawed == whole, "{name}: a keyframe at {at}");
            let mut shown = fed(80, 24, first.dump(crate::common::SCROLLBACK));
            assert!(shown == first, "{name}: a dump at {at}");
            feed(&mut shown, &bytes[at..]);
            assert_eq!(shown.visible_text(), whole.visible_text(), "{name}: what follows a dump at {at}");
        }
    }
}
