//! Other sizes, scrollback, and what a screen costs.

use abide_core::screen::{LONGEST_SIDE, Screen, Size};

use crate::common::{fed, feed, screen};

fn rows(screen: &Screen) -> Vec<String> {
    let text = screen.visible_text();
    text.trim_end_matches('\n').lines().map(str::to_owned).collect()
}

fn lines(screen: &Screen) -> Vec<String> {
    screen.scrollback().map(|line| line.text()).collect()
}

#[test]
fn wrapped_lines_are_wrapped_anew() {
    for (stream, from, to, expected) in [
        ("abcdef", (3, 4), (6, 4), &["abcdef"][..]),
        ("abcdef", (6, 4), (4, 4), &["abcd", "ef"]),
        ("abcdef\r\nxy", (6, 4), (4, 4), &["abcd", "ef", "xy"]),
        ("漢字漢", (5, 4), (6, 4), &["漢字漢"]),
        ("漢字漢", (6, 4), (3, 4), &["漢", "字", "漢"]),
        ("ab\r\n\r\ncd", (6, 4), (3, 4), &["ab", "", "cd"]),
        ("ab    cd", (4, 4), (8, 4), &["ab    cd"]),
        ("漢a", (4, 4), (1, 4), &["", "", "a"]),
    ] {
        let mut screen = fed(from.0, from.1, stream);
        screen.resize(Size { cols: to.0, rows: to.1 });
        assert_eq!(rows(&screen), expected, "{stream} {from:?} {to:?}");
    }
}

#[test]
fn there_and_back_is_where_it_was() {
    let stream =
        "one line that is long enough to wrap\r\nshort\r\n\x1b[31mcolour that goes on and on\x1b[m\r\n$ ";
    for cols in 1..60 {
        let before = fed(40, 6, stream);
        let mut after = before.clone();
        after.resize(Size { cols, rows: 6 });
        after.resize(Size { cols: 40, rows: 6 });
        if cols > 2 {
            let text = |screen: &Screen| [lines(screen), rows(screen)].concat();
            assert_eq!(text(&after), text(&before), "{cols}");
        }
    }
}

#[test]
fn the_cursor_stays_on_its_text() {
    for (stream, from, to, expected) in [
        ("abcdef\x1b[3D", (6, 4), (4, 4), (0, 2)),
        ("abcdef", (6, 4), (4, 4), (1, 2)),
        ("abcdef", (6, 4), (3, 4), (1, 2)),
        ("abcdef", (4, 4), (9, 4), (0, 6)),
        ("a\r\nb\r\nc\r\nd", (4, 4), (4, 2), (1, 1)),
        ("a\r\nb\r\nc\r\nd\x1b[1;1H", (4, 4), (4, 2), (0, 0)),
        ("a\r\nb", (4, 2), (4, 4), (1, 1)),
    ] {
        let mut screen = fed(from.0, from.1, stream);
        screen.resize(Size { cols: to.0, rows: to.1 });
        let cursor = screen.view().cursor();
        assert_eq!((cursor.row, cursor.col), expected, "{stream} {from:?} {to:?}");
    }
}

#[test]
fn a_taller_screen_takes_lines_back_from_the_scrollback() {
    let mut screen = fed(4, 2, "a\r\nb\r\nc\r\nd");
    assert_eq!(lines(&screen), ["a", "b"]);
    screen.resize(Size { cols: 4, rows: 3 });
    assert_eq!(
        (lines(&screen), rows(&screen)),
        (vec!["a".to_owned()], vec!["b".into(), "c".into(), "d".into()])
    );
    screen.resize(Size { cols: 4, rows: 1 });
    assert_eq!((lines(&screen).len(), rows(&screen)), (3, vec!["d".to_owned()]));
    // But not onto a screen that was cleared.
    let mut cleared = fed(4, 2, "a\r\nb\r\nc\x1b[2J\x1b[H$");
    cleared.resize(Size { cols: 4, rows: 4 });
    assert_eq!(rows(&cleared), ["$"]);
}

#[test]
fn the_alternate_screen_is_cut_and_the_main_one_behind_it_rewrapped() {
    let mut screen = fed(6, 2, "abcdef\x1b[?1049h\x1b[Huvwxyz");
    screen.resize(Size { cols: 4, rows: 2 });
    assert_eq!(rows(&screen), ["uvwx"]);
    feed(&mut screen, "\x1b[?1049l!");
    assert_eq!(rows(&screen), ["abcd", "ef!"]);
}

#[test]
fn scrollback_is_bounded_and_what_left_it_is_counted() {
    let mut screen = Screen::new(Size { cols: 9, rows: 2 }, 3);
    for line in 0..10 {
        feed(&mut screen, format!("{line}\r\n"));
    }
    assert_eq!((lines(&screen).join(" "), screen.scrollback_len()), ("6 7 8".to_owned(), (3, 6)));
    feed(&mut screen, "\x1b[3J");
    assert_eq!(screen.scrollback_len().0, 0);
    let mut none = Screen::new(Size { cols: 9, rows: 2 }, 0);
    feed(&mut none, "1\r\n2\r\n3");
    assert_eq!(none.scrollback_len(), (0, 1));
}

#[test]
fn only_what_leaves_at_the_very_top_is_scrollback() {
    assert_eq!(lines(&fed(4, 3, "a\r\nb\r\nc\x1b[2;3r\x1b[3H\n\n")), [""; 0]);
    assert_eq!(lines(&fed(4, 3, "a\r\nb\r\nc\x1b[1;2r\x1b[2H\n")), ["a"]);
    assert_eq!(lines(&fed(4, 3, "a\r\nb\r\nc\x1b[H\x1b[2M")), [""; 0]);
}

#[test]
fn scrollback_keeps_its_looks() {
    let stream = "\x1b[1;31m漢e\u{301}\x1b]8;;https://example.org/\x07link\x1b]8;;\x07\x1b[m plain\r\n\n\n";
    let screen = fed(30, 2, stream);
    let mut tall = fed(30, 4, stream);
    let line = screen.scrollback().next().expect("a line");
    feed(&mut tall, "");
    let kept: Vec<String> = line.cells().map(|cell| format!("{cell:?}")).collect();
    let shown: Vec<String> = tall.view().cells(0).map(|cell| format!("{cell:?}")).collect();
    assert_eq!(kept, shown);
}

#[test]
fn impossible_sizes_are_taken_as_the_nearest_possible() {
    let mut screen = screen(0, 0);
    assert_eq!(screen.size(), Size { cols: 1, rows: 1 });
    feed(&mut screen, "abc漢\x1b[2;2H\x1b[L\x1b[M\x1b[@\x1b[P\x1b[S\x1b[T\x1bM");
    screen.resize(Size { cols: u16::MAX, rows: u16::MAX });
    assert_eq!(screen.size(), Size { cols: LONGEST_SIDE, rows: LONGEST_SIDE });
    feed(&mut screen, "\x1b[999;999Hx\x1b#8");
    screen.resize(Size { cols: 1, rows: 1 });
    assert_eq!(rows(&screen), ["E"]);
}

#[test]
fn the_hash_is_of_the_text_and_stays_what_it_is() {
    let plain = fed(5, 2, "ab");
    assert_eq!(plain.visible_text(), "ab\n\n");
    assert_eq!(plain.hash(), fed(5, 2, "\x1b[31mab\x1b[?25l").hash());
    assert_ne!(plain.hash(), fed(5, 2, "ac").hash());
    // FNV-1a of "ab\n\n", so that a hash on record means the same in every version.
    assert_eq!(plain.hash(), 0xfd3f_6f83_ef02_985e);
}

#[test]
fn what_was_to_be_joined_is_not_joined_to_another_cell_after_a_resize() {
    for page in ["", "\x1b[?1047h"] {
        let mut screen = fed(80, 24, format!("{page}00Aa a    AAAA 0aa\u{6f22}\u{200d}"));
        screen.resize(Size { cols: 2, rows: 1 });
        let _ = screen.feed("\u{1f468}".as_bytes());
        assert_eq!(screen.view().row_text(0), "\u{1f468}");
    }
}

#[test]
fn a_dump_is_right_where_a_cursor_at_the_end_of_a_line_comes_from_the_other_page() {
    let stream = "\u{e9}\u{1f468}\x1b[?1047h\x1b[?7l\x1b[HA \x1b[?1047l";
    let screen = fed(2, 11, stream);
    let mut copy = self::screen(2, 11);
    let _ = copy.feed(&screen.dump(usize::MAX));
    assert!(screen == copy);
}
