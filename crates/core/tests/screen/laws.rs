//! Laws that hold for any bytes, sizes and cuts.

use abide_core::screen::{InputModes, Screen, Size};
use proptest::prelude::*;

use crate::common::{SCROLLBACK, feed, size, stream};

/// A release build, as nightly runs use, tries many more.
const CASES: u32 = if cfg!(debug_assertions) { 100 } else { 20_000 };

/// What must be true of every screen, whatever was done to it.
fn assert_sound(screen: &Screen) {
    let Size { cols, rows } = screen.size();
    for view in [screen.view(), screen.live()] {
        let cursor = view.cursor();
        assert!(cursor.row < rows && cursor.col < cols, "{cursor:?} outside of {cols}x{rows}");
        for row in 0..rows {
            let width: u32 = view.cells(row).map(|cell| u32::from(cell.width)).sum();
            assert!(width <= u32::from(cols), "row {row} is {width} wide of {cols}");
            assert!(!view.cells(row).any(|cell| cell.ch.is_control()));
        }
        assert_eq!(view.text().lines().count(), usize::from(rows));
    }
    let (lines, _) = screen.scrollback_len();
    assert!(lines <= SCROLLBACK);
    assert!(screen.scrollback().all(|line| {
        line.cells().map(|cell| usize::from(cell.width)).sum::<usize>() <= usize::from(cols)
    }));
}

fn fed(size: Size, stream: &[u8]) -> Screen {
    let mut screen = Screen::new(size, SCROLLBACK);
    feed(&mut screen, stream);
    screen
}

/// Says where two screens first differ, not all that they hold.
#[track_caller]
fn assert_same(a: &Screen, b: &Screen) {
    if a == b {
        return;
    }
    assert_eq!(a.live().text(), b.live().text());
    let (a, b) = (format!("{a:#?}"), format!("{b:#?}"));
    let lines = || a.lines().zip(b.lines()).enumerate();
    let at: Vec<String> =
        lines().filter(|(_, (a, b))| a != b).take(8).map(|(n, (a, b))| format!("{n}: {a} | {b}")).collect();
    panic!("screens differ: {at:#?}");
}

/// What keys and mouse send to this screen's program from a terminal that others draw on: the end of a line is
/// drawn, not sent, and that terminal is on its main screen, where its wheel is no key.
fn screen_modes(screen: &Screen) -> InputModes {
    InputModes { new_line: false, alternate_scroll: false, ..screen.input_modes() }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_stream_leaves_a_sound_screen(size in size(), stream in stream()) {
        assert_sound(&fed(size, &stream));
    }

    #[test]
    fn any_bytes_leave_a_sound_screen(size in size(), bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        assert_sound(&fed(size, &bytes));
    }

    #[test]
    fn where_the_stream_is_cut_makes_no_difference(size in size(), stream in stream(), step in 1..9_usize) {
        let mut whole = Screen::new(size, SCROLLBACK);
        let notices = feed(&mut whole, &*stream);
        let mut cut = Screen::new(size, SCROLLBACK);
        let parts: Vec<_> = stream.chunks(step).flat_map(|chunk| feed(&mut cut, chunk)).collect();
        prop_assert_eq!(notices, parts);
        assert_same(&whole, &cut);
        prop_assert_eq!(whole.freeze(), cut.freeze());
    }

    #[test]
    fn a_dump_brings_a_fresh_screen_to_the_same(size in size(), stream in stream()) {
        let screen = fed(size, &stream);
        let copy = fed(size, &screen.dump(SCROLLBACK));
        assert_same(&screen, &copy);
    }

    #[test]
    fn a_dump_also_works_on_a_used_terminal(size in size(), before in stream(), stream in stream()) {
        let screen = fed(size, &stream);
        let mut used = fed(size, &before);
        let reset = used.reset_modes();
        feed(&mut used, reset);
        feed(&mut used, screen.dump(0));
        prop_assert_eq!(screen.live().text(), used.live().text());
        prop_assert_eq!(screen.input_modes(), used.input_modes());
        prop_assert_eq!(screen.live().cursor(), used.live().cursor());
    }

    #[test]
    fn a_keyframe_goes_on_where_the_screen_stopped(size in size(), stream in stream(), at in any::<prop::sample::Index>()) {
        let whole = fed(size, &stream);
        let at = at.index(stream.len() + 1);
        let first = fed(size, &stream[..at]);
        let mut second = Screen::thaw(&first.freeze()).expect("a keyframe of ours");
        prop_assert_eq!(first.freeze(), second.freeze());
        prop_assert_eq!(first.view().text(), second.view().text());
        feed(&mut second, &stream[at..]);
        assert_same(&whole, &second);
        prop_assert_eq!(whole.freeze(), second.freeze());
    }

    #[test]
    fn a_likeness_goes_on_where_the_screen_stopped(size in size(), stream in stream(), at in any::<prop::sample::Index>()) {
        let at = at.index(stream.len() + 1);
        let (whole, first) = (fed(size, &stream), fed(size, &stream[..at]));
        let mut second = Screen::new(Size { cols: 9, rows: 9 }, SCROLLBACK);
        feed(&mut second, b"before\x1b[?1049h\x1b[5");
        second.restore(&first.likeness(SCROLLBACK));
        assert_same(&first, &second);
        feed(&mut second, &stream[at..]);
        assert_same(&whole, &second);
        prop_assert_eq!(whole.scrollback_len(), second.scrollback_len());
    }

    #[test]
    fn a_damaged_keyframe_is_refused_or_sound(
        size in size(), stream in stream(), at in any::<prop::sample::Index>(), byte in any::<u8>(), more in stream(),
    ) {
        let mut bytes = fed(size, &stream).freeze();
        let at = at.index(bytes.len());
        prop_assert!(Screen::thaw(&bytes[..at]).is_none());
        bytes[at] = byte;
        if let Some(mut screen) = Screen::thaw(&bytes) {
            feed(&mut screen, &*more);
            let _ = (screen.dump(SCROLLBACK), screen.freeze(), screen.visible_text(), screen.scrollback().count());
            screen.resize(Size { cols: 7, rows: 3 });
        }
    }

    #[test]
    fn garbage_is_no_keyframe_or_sound(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let bytes = [&[1][..], &bytes].concat();
        if let Some(screen) = Screen::thaw(&bytes) {
            let _ = screen.visible_text();
        }
    }

    #[test]
    fn resize_storms_leave_a_sound_screen(steps in proptest::collection::vec((size(), stream()), 1..6)) {
        let mut screen = Screen::new(Size { cols: 80, rows: 24 }, SCROLLBACK);
        for (size, stream) in steps {
            screen.resize(size);
            assert_sound(&screen);
            feed(&mut screen, &*stream);
            assert_sound(&screen);
            let copy = fed(screen.size(), &screen.dump(SCROLLBACK));
            assert_same(&screen, &copy);
        }
    }

    #[test]
    fn after_a_reset_of_modes_nothing_of_the_program_is_left(size in size(), stream in stream()) {
        let mut screen = fed(size, &stream);
        let reset = screen.reset_modes();
        feed(&mut screen, reset);
        let fresh = Screen::new(size, 0);
        prop_assert_eq!(screen.input_modes(), fresh.input_modes());
        prop_assert!(!screen.alternate() && screen.live().cursor().visible && screen.live().cursor().style == 0);
        // With text and titles gone, and the saved cursor of which nobody is in need, it is a fresh one.
        let wiped = b"\x1b[H\x1b[2J\x1b[3J\x1b7\x1b]0;\x07";
        feed(&mut screen, wiped);
        assert_same(&screen, &fed(size, wiped));
    }

    #[test]
    fn a_clipped_screen_shows_what_there_is_room_for_on_any_terminal(
        (own, other) in (size(), size()), (stream, before) in (stream(), stream()),
    ) {
        let screen = fed(own, &stream);
        let mut used = fed(other, &before);
        let reset = used.reset_modes();
        feed(&mut used, reset);
        for terminal in [&mut Screen::new(other, 0), &mut used] {
            // Twice: each picture is whole, and needs nothing of the one before.
            feed(terminal, screen.clipped(other));
            feed(terminal, screen.clipped(other));
            let (there, here) = (terminal.view(), screen.view());
            let top = (here.cursor().row + 1).saturating_sub(other.rows);
            for row in 0..other.rows {
                let cells = here.cells(top + row).scan(0, |col, cell| {
                    *col += u16::from(cell.width);
                    (*col <= other.cols).then_some(cell)
                });
                let text: String = cells.flat_map(|cell| [cell.ch.to_string(), cell.marks.to_owned()]).collect();
                prop_assert_eq!(there.row_text(row), text.trim_end_matches(' '), "row {}", row);
            }
            prop_assert_eq!(terminal.input_modes(), screen_modes(&screen));
            let (seen, cursor) = (there.cursor(), here.cursor());
            prop_assert_eq!((seen.row, seen.visible), (cursor.row - top, cursor.visible));
            prop_assert_eq!(seen.col, cursor.col.min(other.cols - 1));
            prop_assert!(terminal.scrollback_len().0 == 0 || !before.is_empty(), "nothing scrolls");
        }
    }
}
