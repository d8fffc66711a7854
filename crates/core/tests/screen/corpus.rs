//! Recorded programs, 80x24: the bytes they wrote, and what they look like. `NAME.ansi` has a line about the cursor,
//! then the rows with SGR: `cat` shows it. `just screens --keep NAME` records both, and writes the second only if tmux and
//! alacritty show the same cells, or it is known why not; `just screens` says so of all of them.

use abide_core::screen::{CellView, Color, Screen, Size, Style};

use crate::common::{fed, feed};

/// How far apart the tried places are; a release build tries more of them.
const STEP: usize = if cfg!(debug_assertions) { 769 } else { 13 };

struct Recorded {
    name: &'static str,
    bytes: &'static [u8],
    looks: &'static str,
}

macro_rules! corpus {
    ($($name:literal)+) => {
        &[$(Recorded {
            name: $name,
            bytes: include_bytes!(concat!("corpus/", $name, ".bin")),
            looks: include_str!(concat!("corpus/", $name, ".ansi")),
        },)+]
    };
}

const CORPUS: &[Recorded] = corpus! {
    "bash" "claude" "codex" "curses" "dialog" "emacs" "emoji" "git-log" "grep" "htop" "ink" "less" "looks" "mc" "nano"
    "opencode" "tmux" "top" "tput" "vim" "vimquit" "vttest-colours" "vttest-cursor" "vttest-edit" "vttest-erase"
    "vttest-repeat" "vttest-screen" "vttest-sets"
};

/// All that is to be seen of a cell; the id of a link is not.
fn looks_of(cell: &CellView<'_>) -> (String, u8, Style, Color, Option<String>) {
    let link = cell.link.map(|link| link.uri.clone());
    (format!("{}{}", cell.ch, cell.marks), cell.width, cell.style, cell.underline_color, link)
}

#[test]
fn recorded_programs_look_as_in_other_terminals() {
    for Recorded { name, bytes, looks } in CORPUS {
        let screen = fed(80, 24, bytes);
        let (about, rows) = looks.split_once('\n').expect("a line about the cursor");
        let seen = screen.live().cursor();
        let visible = if seen.visible { "shown" } else { "hidden" };
        let page = if screen.alternate() { "alternate" } else { "main" };
        assert_eq!(format!("{} {} {visible} {page}", seen.row, seen.col), about, "{name}");
        let drawn = fed(80, 24, rows.trim_end_matches('\n').replace('\n', "\r\n"));
        for row in 0..24 {
            let cells = |of: &Screen| of.live().cells(row).map(|cell| looks_of(&cell)).collect::<Vec<_>>();
            assert_eq!(cells(&screen), cells(&drawn), "{name}: row {row}");
        }
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
