//! Who watches a screen misses nothing that is to be seen, and is told of nothing twice.

use abide_core::screen::{Screen, Size};
use proptest::prelude::*;

use crate::common::{feed, screen, size, stream};

const CASES: u32 = if cfg!(debug_assertions) { 100 } else { 20_000 };

fn watched(cols: u16, rows: u16) -> Screen {
    let mut screen = screen(cols, rows);
    screen.watch(&mut |_| 0);
    screen
}

/// What a look gives: text, since which note, and what the line was called.
fn look(screen: &mut Screen) -> Vec<(String, Option<u32>, u32)> {
    let mut seen = Vec::new();
    screen.look(&mut |line| {
        seen.push((String::from_utf8(line.text.clone()).expect("text"), line.since(), line.line));
        seen.len() as u32
    });
    seen
}

fn gone(screen: &mut Screen) -> Vec<String> {
    screen.gone().map(|line| String::from_utf8(line.text).expect("text")).collect()
}

fn texts(screen: &mut Screen) -> Vec<String> {
    look(screen).into_iter().map(|(text, ..)| text).collect()
}

#[test]
fn only_lines_that_changed_are_given_with_the_note_since_which_they_are_there() {
    let mut screen = watched(20, 4);
    feed(&mut screen, "one\r\ntwo");
    screen.note(1);
    feed(&mut screen, "\r\nthree");
    screen.note(2);
    let expected = [("one", Some(1), 0), ("two", Some(1), 0), ("three", Some(2), 0)];
    assert_eq!(look(&mut screen), expected.map(|(text, since, line)| (text.to_owned(), since, line)));
    assert_eq!(look(&mut screen), []);
    feed(&mut screen, "\x1b[2;1HTWO\x1b[4;1H");
    screen.note(1);
    assert_eq!(look(&mut screen), [("TWO".to_owned(), Some(1), 2)], "it was called 2");
}

#[test]
fn what_scrolls_away_unseen_is_given_once_and_what_was_seen_is_not() {
    let mut screen = watched(20, 3);
    feed(&mut screen, "seen\r\n");
    screen.note(1);
    assert_eq!(texts(&mut screen), ["seen"]);
    for number in 0..1000 {
        feed(&mut screen, format!("line {number}\r\n"));
    }
    let mut all = gone(&mut screen);
    screen.note(1);
    all.extend(texts(&mut screen));
    assert_eq!(all, (0..1000).map(|number| format!("line {number}")).collect::<Vec<_>>());
    assert_eq!(gone(&mut screen), [""; 0]);
}

#[test]
fn what_editors_scroll_away_unseen_is_given_too() {
    let mut screen = watched(20, 4);
    feed(&mut screen, "\x1b[?1049ha\r\nb\r\nc\r\nd\x1b[1;1H\x1b[M\x1b[4;1He");
    assert_eq!(gone(&mut screen), ["a"], "a line was deleted");
    feed(&mut screen, "\x1b[1;1H\x1bMf");
    assert_eq!(gone(&mut screen), ["e"], "text went down");
    feed(&mut screen, "\x1b[2;3r\x1b[3;1H\ng");
    assert_eq!(gone(&mut screen), ["b"], "a region scrolled");
}

#[test]
fn a_line_over_several_rows_is_one_line_as_far_as_it_stands_there() {
    let mut screen = watched(10, 3);
    feed(&mut screen, "a phrase that goes on");
    screen.note(1);
    assert_eq!(texts(&mut screen), ["a phrase that goes on"]);
    feed(&mut screen, " over and over");
    screen.note(1);
    assert_eq!(texts(&mut screen), ["hat goes on over and over"], "some of it has left, which was seen");
    assert_eq!(gone(&mut screen), [""; 0]);
    feed(&mut screen, "\r\n\r\n\r\n\r\n");
    assert_eq!(gone(&mut screen), [""; 0], "it was seen");
    feed(&mut screen, format!("{}\r\n\r\n\r\n\r\n", "漢字 漢字 漢字"));
    assert_eq!(gone(&mut screen), ["漢字 漢字 漢字"], "wide characters leave columns out");
}

#[test]
fn a_line_without_end_is_given_in_pieces_that_stood_there_and_overlap() {
    let mut screen = watched(100, 3);
    let words: String = (0..5000).map(|number| format!("{number:09} ")).collect();
    feed(&mut screen, &words);
    let pieces = gone(&mut screen);
    assert!((200..300).contains(&pieces.len()), "{}", pieces.len());
    assert!(pieces.iter().all(|piece| piece.len() <= 300));
    for number in (0..4900).step_by(7) {
        let phrase = format!("{number:09} {:09}", number + 1);
        assert!(pieces.iter().any(|piece| piece.contains(&phrase)), "{phrase}");
    }
}

#[test]
fn what_a_synchronized_update_covers_is_seen_when_it_ends() {
    let mut screen = watched(20, 3);
    feed(&mut screen, "before\x1b[?2026h\x1b[2J\x1b[Hhalf");
    screen.note(1);
    assert_eq!(texts(&mut screen), ["before"]);
    feed(&mut screen, " drawn");
    screen.note(1);
    assert_eq!(texts(&mut screen), [""; 0]);
    feed(&mut screen, "\x1b[?2026l");
    screen.note(1);
    assert_eq!(look(&mut screen), [("half drawn".to_owned(), Some(1), 0)]);
}

#[test]
fn what_another_page_covers_is_seen_when_that_is_left() {
    let mut screen = watched(20, 3);
    feed(&mut screen, "covered\x1b[?1049h\x1b[Hediting");
    screen.note(1);
    assert_eq!(texts(&mut screen), ["editing"]);
    let mut thawed = Screen::thaw(&screen.freeze()).expect("it was frozen");
    thawed.watch(&mut |_| 0);
    for mut screen in [screen, thawed] {
        feed(&mut screen, "\x1b[?1049l");
        screen.note(1);
        assert_eq!(texts(&mut screen), ["covered"]);
    }
}

#[test]
fn a_wide_character_that_found_no_room_leaves_no_blank_in_its_line_whatever_the_colour() {
    for colour in ["", "\x1b[44m"] {
        let mut screen = watched(10, 3);
        feed(&mut screen, format!("{colour}123456789\u{4e16}\u{754c} and\x1b[m\r\n"));
        screen.note(1);
        assert_eq!(texts(&mut screen), ["123456789\u{4e16}\u{754c} and"]);
        let view = screen.view();
        assert_eq!((view.row_part(0).as_str(), view.is_wrapped(0)), ("123456789", true), "{colour:?}");
        feed(&mut screen, format!("{colour}ab        cd\x1b[m"));
        assert_eq!(screen.view().row_part(2), "cd");
    }
}

#[test]
fn another_size_hides_nothing_that_was_not_looked_at_and_tells_nothing_anew() {
    let mut screen = watched(10, 3);
    feed(&mut screen, "some words that are wrapped");
    screen.note(1);
    assert_eq!(texts(&mut screen), ["some words that are wrapped"]);
    screen.resize(Size { cols: 20, rows: 3 });
    screen.note(1);
    assert_eq!(texts(&mut screen), [""; 0]);
    feed(&mut screen, "\x1b[?2026h\x1b[H\x1b[Jcovered");
    screen.resize(Size { cols: 30, rows: 5 });
    screen.note(1);
    assert_eq!(texts(&mut screen), ["covered"], "an update that was under way is shown");
}

#[test]
fn what_a_synchronized_update_left_of_a_line_on_the_screen_is_seen_when_it_ends() {
    let update = |modes: &str, then: &str| {
        let mut screen = watched(5, 3);
        feed(&mut screen, format!("{modes}\x1b[?2026hfirstotherthird\r\nend{then}\x1b[?2026l"));
        screen.note(1);
        (gone(&mut screen), texts(&mut screen))
    };
    let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
    assert_eq!(update("", ""), (words(&["firstotherthird"]), words(&["end"])), "all of it stands there");
    let rest = (words(&[]), words(&["otherthird", "end"]));
    assert_eq!(update("\x1b[?1049h", ""), rest, "in a page without a history");
    assert_eq!(update("", "\x1b[3J"), rest, "the history was erased");
    let mut screen = watched(5, 3);
    feed(&mut screen, "\x1b[?1049hone\r\ntwo");
    screen.note(1);
    assert_eq!(texts(&mut screen), ["one", "two"]);
    feed(&mut screen, "\x1b[?2026h\x1b[1;1HONE\x1b[3;1H\n\x1b[?2026l");
    screen.note(1);
    assert_eq!(texts(&mut screen), [""; 0], "a line below one that left is no part of it");
    let scrolled = (words(&["firstotherthird"]), words(&["end"]));
    assert_eq!(update("", "\x1b[1;1H\x1b[2S\x1b[1;1Hend"), scrolled, "it is told once, row for row");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_to_be_seen_at_a_look_was_given_by_then(
        size in size(), parts in proptest::collection::vec(stream(), 1..4)
    ) {
        let mut screen = watched(size.cols, size.rows);
        let mut given = String::new();
        for stream in parts {
            feed(&mut screen, &*stream);
            screen.note(1);
            let told = gone(&mut screen).into_iter().chain(texts(&mut screen));
            told.for_each(|text| {
                given.push_str(&text);
                given.push('\n');
            });
            let view = screen.view();
            for row in 0..screen.size().rows {
                let text = view.row_text(row);
                prop_assert!(given.contains(text.trim()), "{text:?} is not in {given:?}");
            }
            prop_assert_eq!(look(&mut screen), vec![], "given twice");
        }
    }
}
