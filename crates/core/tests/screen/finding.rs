//! Whatever a search finds was on the screen, or above it: opened at its instant, it is there, however it came and went.

use abide_core::instant::Instant;
use abide_core::recording::Kind;
use abide_core::screen::{Screen, Size};
use abide_core::search::harvest::Harvest;
use abide_core::search::{Lines, lines};
use proptest::prelude::*;
use regex::Regex;

use crate::common::{Stream, fed, feed, screen, size, stream};

const CASES: u32 = if cfg!(debug_assertions) { 30 } else { 20_000 };

/// Output and other sizes, each an entry of its own, so many ms apart, and searches in between.
#[derive(Clone)]
pub(crate) enum Step {
    Output(Vec<u8>),
    Size(Size),
    Search,
}

impl std::fmt::Debug for Step {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Output(bytes) => write!(out, "b\"{}\"", bytes.escape_ascii()),
            Self::Size(Size { cols, rows }) => write!(out, "{cols}x{rows}"),
            Self::Search => out.write_str("a search"),
        }
    }
}

/// What is found, each line with the instants at which it was first and last there.
fn found(begin: Size, steps: &[(u64, Step)]) -> Vec<(String, [Instant; 2])> {
    let (text, rest) = harvested(begin, steps).columns();
    let found = lines::read(&text, &rest).expect("they were written");
    found.iter().map(|line| (line.text.to_owned(), [line.first, line.last])).collect()
}

/// What is found, each line with how often it came.
pub(crate) fn counted(begin: Size, steps: &[(u64, Step)]) -> Vec<(String, u64)> {
    let (text, rest) = harvested(begin, steps).columns();
    let found = lines::read(&text, &rest).expect("they were written");
    found.iter().map(|line| (line.text.to_owned(), line.count)).collect()
}

fn harvested(begin: Size, steps: &[(u64, Step)]) -> Lines {
    let mut screen = screen(begin.cols, begin.rows);
    screen.watch(&mut |_| 0);
    let (mut harvest, mut all) = (Harvest::default(), Lines::default());
    let (mut position, mut micros, mut last) = (0, 0, Instant::default());
    for (entry, (ms, step)) in (1..).zip(steps) {
        micros += ms * 1000;
        let at = |position| Instant { entry, position, micros, ..Instant::default() };
        match step {
            Step::Output(bytes) => {
                harvest.before(Kind::Output, micros, &mut screen, &mut all);
                feed(&mut screen, bytes);
                position += bytes.len() as u64;
                harvest.during(at(position), Some, &mut screen, &mut all);
            }
            Step::Size(size) => {
                harvest.before(Kind::Resize, micros, &mut screen, &mut all);
                screen.resize(*size);
            }
            Step::Search => {
                harvest.rest(last, &mut screen, &mut all);
                harvest = Harvest::resume(&harvest.keep()).expect("it was kept");
                screen = Screen::thaw(&screen.freeze()).expect("it was frozen");
                let (text, rest) = all.columns();
                all = Lines::from_columns(&text, &rest).expect("they were written");
                screen.watch(&mut |text| all.name_of(text));
                continue;
            }
        }
        last = at(position);
        harvest.after(last, &mut screen, &mut all);
    }
    harvest.rest(last, &mut screen, &mut all);
    all
}

/// The screen at an instant, as who opens it replays it.
fn opened(begin: Size, steps: &[(u64, Step)], at: Instant) -> Screen {
    let mut screen = screen(begin.cols, begin.rows);
    let mut left = if at.within { at.position } else { u64::MAX };
    for (_, step) in steps.iter().take(usize::try_from(at.entry).expect("few")) {
        match step {
            Step::Output(bytes) => {
                let taken = bytes.len().min(usize::try_from(left).unwrap_or(usize::MAX));
                feed(&mut screen, &bytes[..taken]);
                left -= taken as u64;
            }
            Step::Size(size) => screen.resize(*size),
            Step::Search => {}
        }
    }
    screen
}

/// Rows of a line that is wrapped follow each other; blanks at the end of a row are none.
fn letters(text: &str) -> String {
    text.chars().filter(|ch| !ch.is_whitespace()).collect()
}

fn check(begin: Size, steps: &[(u64, Step)]) -> Result<usize, String> {
    let all = found(begin, steps);
    for (line, instants) in &all {
        for at in instants {
            let screen = opened(begin, steps, *at);
            let shown = screen.visible_text();
            let above: String = screen.scrollback().map(|line| line.part(screen.size().cols)).collect();
            let there = |text: &str| letters(text).contains(&letters(line));
            if !there(&shown) && !there(&(above + &screen.main().text())) {
                return Err(format!("{line:?} is not there at {at:?}:\n{shown}"));
            }
        }
    }
    Ok(all.len())
}

/// One program's output in one piece, on a screen of five rows.
fn instants(output: &str) -> Vec<(String, u64, bool)> {
    let (begin, steps) = (Size { cols: 20, rows: 5 }, [(0, Step::Output(output.into()))]);
    check(begin, &steps).unwrap_or_else(|why| panic!("{output:?}: {why}"));
    let found = found(begin, &steps).into_iter();
    found.map(|(line, [first, _])| (line, first.position, first.within)).collect()
}

#[test]
fn a_line_that_leaves_within_one_entry_is_found_where_it_was_last_to_be_seen() {
    for (leaves, name) in [
        ("\x1b[3S", "SU"),
        ("\x1b[5;1H\n\n\n", "a line feed in the last row"),
        ("\x1b[5;1H\x1bD\x1bD", "IND in the last row"),
        ("\x1b[1;1H\x1b[2M", "DL"),
        ("\x1b[5T", "SD"),
        ("\x1b[1;1H\x1b[5L", "IL"),
        ("\x1b[1;1H\x1bM\x1bM\x1bM\x1bM\x1bM", "RI in the first row"),
        ("\x1b[1;3r\x1b[3;1H\n", "a region that scrolls"),
        ("\x1b[?7h\x1b[5;1Hfour times twenty columns are more than one row", "a line that is wrapped"),
    ] {
        for begin in ["", "\x1b[?1049h\x1b[H"] {
            for end in ["", "\x1b[2J", "\x1b[?1049l", "\x1b[?1049h", "\x1b[?2026h", "\x1bc"] {
                let before = format!("{begin}findme\r\n");
                let output = format!("{before}{leaves}{end}done");
                let found = instants(&output);
                let hits: Vec<_> = found.iter().filter(|(line, ..)| line == "findme").collect();
                let [(_, position, true)] = hits[..] else { panic!("{name}, {output:?}: {found:?}") };
                let left = before.len()..before.len() + leaves.len();
                let position = usize::try_from(*position).expect("little");
                assert!(left.contains(&position), "{name}: {position} is not in {left:?} of {output:?}");
            }
        }
    }
}

#[test]
fn what_is_still_there_when_its_entry_is_over_is_found_behind_the_entry() {
    assert_eq!(instants("one\r\ntwo"), [("one".to_owned(), 8, false), ("two".to_owned(), 8, false)]);
    assert_eq!(instants("rubbed out\r\x1b[K\x1b[2J"), [], "and what was rubbed out at once was not seen");
}

#[test]
fn what_was_there_before_an_update_that_let_it_scroll_away_is_found_before_it() {
    let steps =
        |texts: &[&str]| texts.iter().map(|text| (1, Step::Output((*text).into()))).collect::<Vec<_>>();
    let size = Size { cols: 20, rows: 5 };
    for texts in [
        &["findme\r\n\x1b[?2026h\x1b[5S\x1b[?2026ldone"][..],
        &["findme\r\n\x1b[?2026h", "\x1b[5S\x1b[?2026ldone"],
        &["findme\r\n", "\x1b[?2026h\x1b[5S\x1b[?2026l", "done"],
    ] {
        let steps = steps(texts);
        assert_eq!(check(size, &steps), Ok(2), "{texts:?}");
    }
}

/// What is found of one program's output, on a screen of four rows.
fn texts(cols: u16, output: &str) -> Vec<String> {
    let found = found(Size { cols, rows: 4 }, &[(0, Step::Output(output.into()))]);
    found.into_iter().map(|(line, _)| line).collect()
}

#[test]
fn what_stays_of_a_line_that_an_update_takes_rows_of_is_found_above_them_too() {
    for taken in ["\x1b[2;1H\x1b[M", "\x1b[2;4r\x1b[4;1H\n", "\x1b[3T\x1b[3S", "\x1b[2;1H\x1b[3L"] {
        let output = format!("\x1b[?2026h\x1b[1;1Habove-----below{taken}\x1b[?2026l");
        let below = if taken.ends_with('S') { "above-----b" } else { "above-----" };
        assert!(texts(10, &output).iter().any(|line| below.starts_with(line.as_str())), "{output:?}");
    }
}

#[test]
fn what_stood_above_the_screen_when_an_update_was_over_is_found_whatever_follows() {
    let printed = "\x1b[?2026hone\r\ntwo\r\nthree\r\nfour\r\nfive\r\nsix";
    for end in ["\x1b[?2026l", "\x1bc"] {
        for then in ["\x1b[3J", "\x1b[?2026h\x1b[3J\x1b[?2026l", "\x1b[?2026h\x1b[3J", "\x1bc\x1b[3J"] {
            let steps = [(0, Step::Output(format!("{printed}{end}{then}").into()))];
            let size = Size { cols: 10, rows: 4 };
            let found = found(size, &steps);
            for line in ["one", "two"] {
                let [(_, [first, last])] =
                    found.iter().filter(|(text, _)| text == line).collect::<Vec<_>>()[..]
                else {
                    panic!("{line} of {end:?}, {then:?}: {found:?}");
                };
                assert_eq!((first, first.within), (last, true));
                let above: Vec<_> =
                    opened(size, &steps, *first).scrollback().map(|line| line.part(10)).collect();
                assert_eq!(above, ["one", "two"], "opened at its instant");
            }
        }
    }
}

#[test]
fn a_line_that_an_update_let_scroll_away_is_found_as_it_stood_when_that_was_over() {
    let printed = "\x1b[?2026hfirst-----restofit\r\nx\r\ny\r\nz";
    assert_eq!(texts(10, &format!("{printed}\x1b[1;1H\x1b[2Jend\x1b[?2026l")), ["first-----end"]);
    let rest = ["restofit", "x", "y", "z"];
    assert_eq!(texts(10, &format!("{printed}\x1b[?1049h\x1b[3J\x1b[?1049l\x1b[?2026l")), rest);
    assert_eq!(texts(10, &format!("{printed}\x1b[H\x1bM\x1b[3J\x1b[?2026l")), rest[..3]);
    let evicted = format!("\x1b[?2026h{:04000}", 7) + &"\r\nx".repeat(4) + "\x1b[?2026l";
    assert_eq!(texts(10, &evicted), [&format!("{:0500}", 7), "x"], "what the history has room for");
}

#[test]
fn what_another_size_puts_above_the_screen_unseen_is_found_there() {
    let printed = "one is long\r\ntwo\r\nthree\r\nfour\r\nfive\r\n";
    for covered in ["\x1b[?1049hvim", "\x1b[?2026h\x1b[2J", "\x1b[?2026h"] {
        for cols in [8, 9, 20, 30] {
            let begin = Size { cols: 20, rows: 8 };
            let shown = if covered.starts_with("\x1b[?1049h") {
                [printed, covered].concat()
            } else {
                [covered, printed].concat()
            };
            let steps = [
                (0, Step::Output(shown.clone().into())),
                (50, Step::Size(Size { cols, rows: 3 })),
                (50, Step::Output("\x1b[?1049ldone".into())),
            ];
            let found = found(begin, &steps);
            for line in ["one is long", "two", "three", "four", "five"] {
                let hits: Vec<_> = found.iter().filter(|(text, _)| text == line).collect();
                assert_eq!(hits.len(), 1, "{line} of {shown:?} at {cols}: {found:?}");
            }
        }
    }
}

/// How often each line is found of output that comes so slowly that every screen is seen, with searches in between if told so.
fn counts(outputs: &[&str], searched: bool) -> Vec<(String, u64)> {
    let mut steps = Vec::new();
    for output in outputs {
        steps.push((50, Step::Output((*output).into())));
        steps.extend(searched.then_some((50, Step::Search)));
    }
    counted(Size { cols: 20, rows: 5 }, &steps)
}

#[test]
fn what_an_update_leaves_as_it_was_has_not_come_again_when_that_is_over() {
    let once = |lines: &[&str]| lines.iter().map(|line| ((*line).to_owned(), 1)).collect::<Vec<_>>();
    for searched in [false, true] {
        for (outputs, lines) in [
            (&["one\x1b[?2026h", "\x1b[?2026l"][..], &["one"][..]),
            (&["one\r\n\x1b[?2026h\x1b[5S", "two", "\x1b[?2026l"], &["one", "two"]),
            (&["\x1b[3;1Hone\x1b[?2026h\x1b[2S", "\rtwo", "\x1b[?2026l"], &["one", "two"]),
            (&["one\x1b[?2026h", "\x1b[1;1Hone", "\x1b[5S\x1b[?2026l"], &["one"]),
            (&["one\x1b[?1049h\x1b[?2026h", "two", "\x1b[?1049l\x1b[?2026l"], &["one"]),
            (&["\x1b[?2026hone\x1b[?1049h", "\x1b[?1049l\x1b[?2026l"], &["one"]),
            (&["one", "\x1b[?1049h", "\rtwo", "\x1b[?1049l"], &["one", "two"]),
        ] {
            assert_eq!(counts(outputs, searched), once(lines), "{outputs:?}, searched: {searched}");
        }
    }
}

#[test]
fn what_another_size_brings_back_from_above_the_screen_has_not_come_again() {
    let begin = Size { cols: 20, rows: 3 };
    let steps = [
        (0, Step::Output("one\r\ntwo\r\nthree\r\nfour\r\nfive".into())),
        (50, Step::Output("\r\nsix\x1b[?2026h".into())),
        (1, Step::Size(Size { cols: 30, rows: 8 })),
    ];
    let found = counted(begin, &steps);
    assert!(found.iter().all(|(_, count)| *count == 1), "{found:?}");
    assert_eq!(found.len(), 6, "{found:?}");
}

#[test]
fn a_line_that_is_longer_than_the_screen_is_found_in_pieces_that_stood_there() {
    let words: String = (0..500).map(|number| format!("{number:04} ")).collect();
    let found = instants(&format!("before\r\n{words}\r\nbehind"));
    for number in 0..499 {
        let phrase = format!("{number:04} {:04}", number + 1);
        let holding = found.iter().filter(|(line, ..)| line.contains(&phrase)).count();
        assert!((1..=2).contains(&holding), "{phrase} is found {holding} times");
    }
    assert!(found.len() < 40, "{} pieces", found.len());
}

/// Without what no instant shows: what an update covers, what one sequence brings and takes, and what a character is taken
/// for that the next one breaks off.
fn openly(Stream(bytes): Stream) -> Vec<u8> {
    let mut text = String::from_utf8_lossy(&bytes).into_owned();
    let hiding =
        Regex::new(r"\x1b\[(\?[0-9;]*2026[0-9;]*[hl]|[0-9;\x00-\x1a\x1c-\x1f\x7f]*b)").expect("a pattern");
    while hiding.is_match(&text) {
        text = hiding.replace_all(&text, "").into_owned();
    }
    text.into_bytes()
}

fn step() -> impl Strategy<Value = (u64, Step)> {
    let ms = prop_oneof![Just(1), Just(30), Just(150)];
    let what = prop_oneof![
        5 => stream().prop_map(|stream| Step::Output(openly(stream))),
        1 => size().prop_map(Step::Size),
    ];
    (ms, what)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_found_is_on_the_screen_that_its_instant_opens(
        begin in size(), steps in proptest::collection::vec(step(), 1..5)
    ) {
        if let Err(why) = check(begin, &steps) {
            prop_assert!(false, "{}", why);
        }
    }
}

#[test]
fn a_row_that_a_shell_came_to_by_writing_blanks_begins_a_line_of_its_own() {
    let lines = |stream: &str| -> Vec<String> {
        let lines = fed(20, 6, stream).lines(false).into_iter();
        lines
            .map(|(_, line)| String::from_utf8(line.text).expect("text"))
            .filter(|line| !line.is_empty())
            .collect()
    };
    // As zsh and fish do it behind output without a new line, of any length.
    for length in [1, 5, 17, 18, 19, 20, 21, 40] {
        let text = "x".repeat(length);
        let mark = if length % 20 == 0 { "" } else { "%" };
        assert_eq!(lines(&format!("{text}%{:19}\r \r\x1b[J$ ls", "")), [&format!("{text}{mark}"), "$ ls"]);
    }
    // As bash does it within a long line, and anyone who writes on.
    assert_eq!(lines("0123456789012345678  \rlast"), ["0123456789012345678 last"]);
    assert_eq!(lines("0123456789          \x1b[Klast"), ["0123456789          last"]);
}
