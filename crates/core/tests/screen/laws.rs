//! Laws that hold for any bytes, sizes and cuts.

use abide_core::screen::{Screen, Size};
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
    }
}
