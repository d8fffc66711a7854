//! What sequences draw: a table a feature, each line a size, a stream, and the rows it leaves.

use crate::common::fed;

/// Feeds each stream to a screen of its size and compares the rows up to the last that is not empty.
#[track_caller]
fn check(table: &[(u16, u16, &str, &[&str])]) {
    for (cols, rows, stream, expected) in table {
        let text = fed(*cols, *rows, stream).visible_text();
        let mut shown: Vec<&str> = text.lines().collect();
        while shown.last().is_some_and(|row| row.is_empty()) {
            shown.pop();
        }
        assert_eq!(shown, *expected, "{}", stream.escape_debug());
    }
}

/// The same for cursors: row and column from zero.
#[track_caller]
fn check_cursor(table: &[(u16, u16, &str, (u16, u16))]) {
    for (cols, rows, stream, expected) in table {
        let cursor = fed(*cols, *rows, stream).view().cursor();
        assert_eq!((cursor.row, cursor.col), *expected, "{}", stream.escape_debug());
    }
}

#[test]
fn text_wraps_only_when_another_character_comes() {
    check(&[
        (4, 3, "abcd", &["abcd"]),
        (4, 3, "abcde", &["abcd", "e"]),
        (4, 3, "abcd\r\ne", &["abcd", "e"]),
        (4, 3, "abcd\re", &["ebcd"]),
        (4, 3, "abcd\x08e", &["abed"]),
        (4, 3, "abcd\te", &["abcd", "e"]),
        (4, 3, "abcd\x1b[Ke", &["abcd", "e"]),
        (4, 3, "abcd\x1b[Je", &["abcd", "e"]),
        (4, 3, "abcd\x1b[1Ke", &["   e"]),
        (4, 3, "abcd\x1b[Xe", &["abce"]),
        (4, 3, "abcd\x1b[Pe", &["abce"]),
        (4, 3, "abcd\x1b[De", &["abed"]),
        (4, 3, "abcd\x1b[Ce", &["abce"]),
        (4, 3, "abcd\x1b[me", &["abcd", "e"]),
        (4, 3, "\x1b[?7labcdef", &["abcf"]),
        (4, 3, "abcd\x1b7\x1b[H\x1b8e", &["abcd", "e"]),
    ]);
    check_cursor(&[(4, 3, "abcd", (0, 3)), (4, 3, "abcde", (1, 1))]);
}

#[test]
fn the_cursor_moves_and_stays_within_the_screen() {
    check_cursor(&[
        (10, 5, "\x1b[3;4H", (2, 3)),
        (10, 5, "\x1b[99;99H", (4, 9)),
        (10, 5, "\x1b[3;4f\x1b[A", (1, 3)),
        (10, 5, "\x1b[3;4H\x1b[2B\x1b[9B", (4, 3)),
        (10, 5, "\x1b[3;4H\x1b[3C", (2, 6)),
        (10, 5, "\x1b[3;4H\x1b[9D", (2, 0)),
        (10, 5, "\x1b[3;4H\x1b[E", (3, 0)),
        (10, 5, "\x1b[3;4H\x1b[F", (1, 0)),
        (10, 5, "\x1b[3;4H\x1b[8G", (2, 7)),
        (10, 5, "\x1b[3;4H\x1b[5d", (4, 3)),
        (10, 5, "\x1b[3;4H\x1b[2a\x1b[1e", (3, 5)),
        (10, 5, "\x1b[3;4H\r", (2, 0)),
        (10, 5, "\x1b[3;4H\n", (3, 3)),
        (10, 5, "\x1b[20h\x1b[3;4H\n", (3, 0)),
        (10, 5, "\x1b[3;4H\x1bE", (3, 0)),
        (10, 5, "\x1b[3;4H\x1bM", (1, 3)),
        (10, 5, "\x1b[3;4H\x1b7\x1b[H\x1b8", (2, 3)),
        (10, 5, "\x1b[3;4H\x1b[s\x1b[H\x1b[u", (2, 3)),
        (10, 5, "\x1b[3;4H\x1b7\x1b[H\x1b[?1049l", (2, 3)),
    ]);
}

#[test]
fn tab_stops_are_every_eighth_column_until_changed() {
    check_cursor(&[
        (40, 2, "\t", (0, 8)),
        (40, 2, "a\t\t", (0, 16)),
        (40, 2, "\x1b[3I", (0, 24)),
        (40, 2, "\t\t\t\t\t\t", (0, 39)),
        (40, 2, "\x1b[20G\x1b[Z", (0, 16)),
        (40, 2, "\x1b[4G\x1bH\r\t", (0, 3)),
        (40, 2, "\x1b[9G\x1b[g\r\t", (0, 16)),
        (40, 2, "\x1b[3g\t", (0, 39)),
        (40, 2, "\x1b[4G\x1bH\x1b[3g\x1b[?5W\r\t", (0, 8)),
    ]);
}

#[test]
fn erasing_blanks_what_it_names_and_nothing_else() {
    check(&[
        (5, 3, "abcde\r\nfghij\r\nklmno\x1b[2;3H\x1b[K", &["abcde", "fg", "klmno"]),
        (5, 3, "abcde\r\nfghij\r\nklmno\x1b[2;3H\x1b[1K", &["abcde", "   ij", "klmno"]),
        (5, 3, "abcde\r\nfghij\r\nklmno\x1b[2;3H\x1b[2K", &["abcde", "", "klmno"]),
        (5, 3, "abcde\r\nfghij\r\nklmno\x1b[2;3H\x1b[J", &["abcde", "fg"]),
        (5, 3, "abcde\r\nfghij\r\nklmno\x1b[2;3H\x1b[1J", &["", "   ij", "klmno"]),
        (5, 3, "abcde\r\nfghij\r\nklmno\x1b[2J", &[]),
        (5, 3, "abcde\r\nfghij\x1b[1;5HX\x1b[J", &["abcdX"]),
        (5, 3, "abcde\x1b[2G\x1b[2X", &["a  de"]),
        (5, 3, "abcde\x1b[2G\x1b[2P", &["ade"]),
        (5, 3, "abcde\x1b[2G\x1b[2@", &["a  bc"]),
        (5, 3, "abcde\x1b[2G\x1b[4hXY", &["aXYbc"]),
    ]);
}

#[test]
fn lines_are_inserted_and_deleted_within_the_margins() {
    let four = "a\r\nb\r\nc\r\nd";
    let with = |rest: &str| format!("{four}{rest}");
    check(&[
        (3, 4, &with("\x1b[2;2H\x1b[L"), &["a", "", "b", "c"]),
        (3, 4, &with("\x1b[2;2H\x1b[M"), &["a", "c", "d"]),
        (3, 4, &with("\x1b[2;3r\x1b[2H\x1b[L"), &["a", "", "b", "d"]),
        (3, 4, &with("\x1b[2;3r\x1b[2H\x1b[M"), &["a", "c", "", "d"]),
        (3, 4, &with("\x1b[2;3r\x1b[H\x1b[M"), &["a", "b", "c", "d"]),
        (3, 4, &with("\x1b[S"), &["b", "c", "d"]),
        (3, 4, &with("\x1b[T"), &["", "a", "b", "c"]),
        (3, 4, &with("\x1b[2;3r\x1b[S"), &["a", "c", "", "d"]),
        (3, 4, &with("\x1b[2;3r\x1b[3H\nx"), &["a", "c", "x", "d"]),
        (3, 4, &with("\x1b[2;3r\x1b[2H\x1bMx"), &["a", "x", "b", "d"]),
        (3, 4, &with("\x1b[2;3r\x1b[4H\n\nx"), &["a", "b", "c", "x"]),
    ]);
}

#[test]
fn origin_mode_counts_rows_from_the_top_margin() {
    check_cursor(&[
        (5, 6, "\x1b[2;4r\x1b[?6h", (1, 0)),
        (5, 6, "\x1b[2;4r\x1b[?6h\x1b[2;2H", (2, 1)),
        (5, 6, "\x1b[2;4r\x1b[?6h\x1b[9;2H", (3, 1)),
        (5, 6, "\x1b[2;4r\x1b[?6h\x1b[?6l", (0, 0)),
        (5, 6, "\x1b[2;4r\x1b[?6l\x1b[6;1H\x1b[9A", (1, 0)),
    ]);
}

#[test]
fn wide_characters_take_two_columns_and_leave_together() {
    check(&[
        (6, 2, "漢字x", &["漢字x"]),
        (5, 2, "漢字漢", &["漢字", "漢"]),
        (5, 2, "\x1b[?7l漢字漢", &["漢 漢"]),
        (6, 2, "漢字\x1b[2GX", &[" X字"]),
        (6, 2, "漢字\x1b[1GX", &["X 字"]),
        (6, 2, "漢字\x1b[2G\x1b[K", &[""][..0]),
        (6, 2, "漢字\x1b[2G\x1b[P", &[" 字"]),
        (6, 2, "a漢字\x1b[1G\x1b[@", &[" a漢字"]),
        (5, 2, "漢字\x1b[1G\x1b[2@", &["  漢"]),
        (1, 2, "漢a", &["a"]),
    ]);
    check_cursor(&[(6, 2, "漢", (0, 2)), (5, 2, "漢字漢", (1, 2))]);
}

#[test]
fn marks_join_the_character_before_them() {
    check(&[
        (6, 2, "e\u{301}x", &["e\u{301}x"]),
        (3, 2, "abe\u{301}x", &["abe\u{301}", "x"]),
        (6, 2, "漢\u{301}x", &["漢\u{301}x"]),
        (6, 2, "\u{301}x", &["x"]),
        (6, 2, "👨\u{200d}👩\u{200d}👧x", &["👨\u{200d}👩\u{200d}👧x"]),
        (6, 2, "❤\u{fe0f}x", &["❤\u{fe0f}x"]),
    ]);
    check_cursor(&[
        (9, 2, "e\u{301}", (0, 1)),
        (9, 2, "a\u{ad}b", (0, 3)),
        (9, 2, "\u{1112}\u{1161}\u{11ab}", (0, 2)),
    ]);
}

/// The text of each cell with its width.
fn cells(stream: &str) -> Vec<(String, u8)> {
    let screen = fed(20, 1, stream);
    screen.view().cells(0).map(|cell| (format!("{}{}", cell.ch, cell.marks), cell.width)).collect()
}

#[test]
fn what_unicode_shows_as_one_picture_is_one_cell_of_two_columns() {
    for cluster in [
        "👨\u{200d}👩\u{200d}👧",
        "👍🏽",
        "☝🏽",
        "👩🏽\u{200d}🚀",
        "🏃\u{200d}♂\u{fe0f}",
        "🏃🏿\u{200d}♀\u{fe0f}",
        "❤\u{fe0f}",
        "❤\u{fe0f}\u{200d}🔥",
        "👁\u{fe0f}\u{200d}🗨\u{fe0f}",
        "⚠\u{fe0f}",
        "1\u{fe0f}\u{20e3}",
        "🇩🇪",
        "🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
    ] {
        let alone = (cluster.to_owned(), 2);
        let x = ("x".to_owned(), 1);
        assert_eq!(
            cells(&format!("x{cluster}x{cluster}")),
            [x.clone(), alone.clone(), x, alone],
            "{cluster}"
        );
    }
}

#[test]
fn only_pictures_are_joined_and_only_when_nothing_came_between() {
    for (stream, expected) in [
        ("🇩🇪🇫🇷🇮", &[("🇩🇪", 2), ("🇫🇷", 2), ("🇮", 1)][..]),
        ("🇩\x1b[m🇪", &[("🇩", 1), ("🇪", 1)]),
        ("👍\x1b[m🏽", &[("👍", 2), ("🏽", 2)]),
        ("a🏽", &[("a", 1), ("🏽", 2)]),
        ("a\u{200d}b", &[("a\u{200d}", 1), ("b", 1)]),
        ("漢\u{200d}字", &[("漢\u{200d}", 2), ("字", 2)]),
        ("क्ष", &[("क्", 1), ("ष", 1)]),
        ("❤\x1b[m\u{fe0f}x", &[("❤\u{fe0f}", 1), ("x", 1)]),
        ("a\u{fe0f}x", &[("a\u{fe0f}", 1), ("x", 1)]),
        ("⌚\u{fe0e}x", &[("⌚\u{fe0e}", 2), ("x", 1)]),
        ("\x1b[?2027l🇩🇪", &[("🇩", 1), ("🇪", 1)]),
        ("\x1b[?2027l👍🏽", &[("👍", 2), ("🏽", 2)]),
        ("\x1b[?2027l👨\u{200d}👩", &[("👨\u{200d}", 2), ("👩", 2)]),
        ("\x1b[?2027l❤\u{fe0f}x", &[("❤\u{fe0f}", 1), ("x", 1)]),
        ("\x1b[?2027l\x1b[?2027h🇩🇪", &[("🇩🇪", 2)]),
    ] {
        let expected: Vec<(String, u8)> =
            expected.iter().map(|(text, width)| ((*text).to_owned(), *width)).collect();
        assert_eq!(cells(stream), expected, "{}", stream.escape_debug());
    }
}

#[test]
fn a_picture_that_grows_pushes_nothing_aside_and_needs_room() {
    check(&[
        (6, 2, "abcdef\r❤\u{fe0f}", &["❤\u{fe0f}cdef"]),
        (6, 2, "ab漢ef\x1b[2G❤\u{fe0f}", &["a❤\u{fe0f} ef"]),
        (6, 2, "abcdef\r\x1b[4h❤\u{fe0f}", &["❤\u{fe0f}abcd"]),
        (3, 2, "ab❤\u{fe0f}c", &["ab❤\u{fe0f}", "c"]),
        (3, 2, "ab🇩🇪", &["ab🇩", "🇪"]),
        (3, 2, "a🇩🇪b", &["a🇩🇪", "b"]),
        (3, 2, "ab☝🏽", &["ab☝", "🏽"]),
    ]);
    check_cursor(&[(3, 2, "ab❤\u{fe0f}", (0, 2)), (3, 2, "a❤\u{fe0f}", (0, 2)), (9, 2, "❤\u{fe0f}", (0, 2))]);
}

#[test]
fn invalid_bytes_become_one_replacement_each() {
    for (bytes, expected) in [
        (&b"a\xffb"[..], "a\u{fffd}b"),
        (b"a\xc3b", "a\u{fffd}b"),
        (b"a\xe6\xbcb", "a\u{fffd}b"),
        (b"a\xf0\x9f\x91b", "a\u{fffd}b"),
        (b"\xc0\x80", "\u{fffd}\u{fffd}"),
        (b"\xed\xa0\x80", "\u{fffd}\u{fffd}\u{fffd}"),
        (b"a\xe6\x1b[1mb", "a\u{fffd}b"),
    ] {
        assert_eq!(fed(9, 1, bytes).view().row_text(0), expected, "{}", bytes.escape_ascii());
    }
}

#[test]
fn every_character_is_read_as_what_it_is() {
    let edges = [
        0x80, 0x7FF, 0x800, 0xFFF, 0x1000, 0xCFFF, 0xD7FF, 0xE000, 0xFFFD, 0x1_0000, 0x3_FFFD, 0x4_0000,
        0x10_FFFD,
    ];
    let printed = (0x80..=0x10_FFFF_u32).step_by(37).chain(edges).filter_map(char::from_u32);
    for ch in printed.filter(|ch| unicode_width::UnicodeWidthChar::width(*ch) > Some(0)) {
        assert_eq!(
            fed(2, 1, ch.to_string()).view().row_text(0),
            ch.to_string().trim_end_matches(' '),
            "{:x}",
            u32::from(ch)
        );
    }
}

#[test]
fn line_drawing_characters_stand_for_small_letters() {
    check(&[
        (6, 1, "\x1b(0lqk\x1b(Bx", &["┌─┐x"]),
        (6, 1, "\x1b)0a\x0eqx\x0fq", &["a─│q"]),
        (6, 1, "\x1b(A#", &["£"]),
        (6, 1, "\x1b(0\x1b7\x1b(B\x1b8q", &["─"]),
        (6, 1, "\x1b*0\x1bnqq\x0fq", &["──q"]),
        (6, 1, "\x1b+0\x1boq\x1b(B\x0fq", &["─q"]),
        (6, 1, "\x1b*0\x1bNqq", &["─q"]),
        (6, 1, "\x1b+0\x1bOq\x1bOqq", &["──q"]),
        (6, 1, "\x1b*0\x1bN漢q", &["漢q"]),
        (6, 1, "\x1bNq\x1b*0q", &["qq"]),
        (6, 1, "\x1bN\x1b(0qq", &["q─"]),
        (6, 1, "\x1b*0\x1bN\x1b7q\x1b8q", &["─"]),
        (6, 1, "\x1b*0\x1bN\x0fq", &["q"]),
        (6, 1, "\x1b)0\x0e\x1b[!pq", &["q"]),
    ]);
}

#[test]
fn the_last_character_is_repeated_on_demand() {
    check(&[
        (6, 2, "ab\x1b[3b", &["abbbb"]),
        (6, 2, "ab\x1b[9b", &["abbbbb", "bbbbb"]),
        (6, 1, "漢\x1b[b", &["漢漢"]),
        (6, 1, "\x1b[3b", &[]),
    ]);
}

#[test]
fn sequences_that_nobody_knows_leave_no_trace() {
    check(&[
        (9, 1, "a\x1bPsixel or so\x1b\\b", &["ab"]),
        (9, 1, "a\x1b_kitty graphics\x1b\\b", &["ab"]),
        (9, 1, "a\x1b^private\x1b\\b\x1bXstart\x1b\\c", &["abc"]),
        (9, 1, "a\x1b[1;2;3yb\x1b[?9999hc", &["abc"]),
        (9, 1, "a\x1b]9999;x\x07b", &["ab"]),
        (9, 1, "a\x1b[12\x18b", &["ab"]),
        (9, 1, "a\x1b]0;x\x1b[1mb", &["ab"]),
        (9, 1, "\x1b[3\rCb", &["   b"]),
        (9, 2, "a\x1b#8\x1bcb", &["b"]),
        (9, 1, "a\u{9b}1mb\u{85}c", &["a1mbc"]),
        (9, 1, "a\x1b[?1001sb\x1b[?1001rc", &["abc"]),
        (9, 1, "a\x1b[1;2;3'zb\x1b[1\"qc", &["abc"]),
    ]);
    let long = format!("a\x1b[{}mb\x1bP{}\x1b\\c", "1;".repeat(5000), "x".repeat(100_000));
    check(&[(9, 1, &long, &["abc"])]);
}

#[test]
fn another_count_of_columns_clears_the_screen_only_where_it_is_allowed() {
    check(&[
        (9, 3, "a\r\nb\x1b[?3hc", &["a", "bc"]),
        (9, 3, "a\r\nb\x1b[?40h\x1b[?3hc", &["c"]),
        (9, 3, "a\r\nb\x1b[?40h\x1b[2;3r\x1b[?3lc\r\n\n\nd", &["", "", "d"]),
        (9, 3, "a\r\nb\x1b[?40h\x1b[?40l\x1b[?3lc", &["a", "bc"]),
    ]);
}

#[test]
fn the_alternate_screen_hides_the_main_one_and_gives_it_back() {
    check(&[
        (9, 2, "main\x1b[?1049h\x1b[Halt", &["alt"]),
        (9, 2, "main\x1b[?1049h\x1b[Halt\x1b[?1049l!", &["main!"]),
        (9, 2, "main\x1b[?47h\x1b[Halt\x1b[?47l", &["main"]),
        (9, 2, "main\x1b[?1047h\x1b[Halt\x1b[?1047l\x1b[?1047h", &[]),
        (9, 2, "main\x1b[?1049h\r\n\n\n\n\x1b[?1049l", &["main"]),
    ]);
    let screen = fed(9, 2, "a\r\nb\x1b[?1049h1\r\n2\r\n3\r\n4");
    assert!(screen.alternate());
    assert_eq!(screen.scrollback_len(), (0, 0), "the alternate screen leaves no scrollback");
}
