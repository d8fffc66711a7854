//! Whatever was to be seen before, in between and after synchronized updates is found as often as it came, and nothing else is,
//! whoever searched meanwhile.

use std::collections::BTreeSet;

use abide_core::screen::{Screen, Size, View};
use proptest::prelude::*;

use crate::common::{feed, screen};
use crate::finding::{Step, counted};

const CASES: u32 = if cfg!(debug_assertions) { 200 } else { 20_000 };
/// After so many ms a screen has been seen.
const SEEN: u64 = 30;

/// No few words fill a row to its end: one that an update goes on behind, and parts from again, has come twice.
const COLUMNS: &[u16] = &[11, 13, 20];
/// Words are of one length.
const FIRST: usize = 10;
/// So many in a line, which no screen is too low for: one that is longer than the screen is told in pieces.
const LONGEST: usize = 4;
/// A word of its own wherever one is to be written.
const WORD: char = '\u{1}';

fn word(number: usize) -> String {
    format!("<{number}.{number}>")
}

/// The words that are whole in a text.
fn words(text: &str) -> BTreeSet<usize> {
    let told = text.split('<').skip(1).filter_map(|part| part.split_once('>')?.0.split_once('.'));
    told.filter(|(one, other)| one == other).filter_map(|(number, _)| number.parse().ok()).collect()
}

fn on(view: &View<'_>) -> BTreeSet<usize> {
    let row = |row| view.row_part(row) + if view.is_wrapped(row) { "" } else { "\n" };
    words(&(0..view.size().rows).map(row).collect::<String>())
}

/// What is above the main page, with what of a line is on it if told so.
fn above(screen: &Screen, goes_on: bool) -> BTreeSet<usize> {
    let line = |line: abide_core::screen::Line| {
        line.part(screen.size().cols) + if line.is_wrapped() { "" } else { "\n" }
    };
    let mut text: String = screen.scrollback().map(line).collect();
    let main = screen.main();
    let mut rows = 0..main.size().rows;
    let mut wrapped = goes_on && !text.is_empty() && !text.ends_with('\n');
    while let Some(row) = rows.next().filter(|_| wrapped) {
        text.push_str(&main.row_part(row));
        wrapped = main.is_wrapped(row);
    }
    words(&text)
}

/// What must be found of steps, what may be, and what may be found again.
#[derive(Debug, Default)]
struct Shown {
    must: BTreeSet<usize>,
    may: BTreeSet<usize>,
    again: BTreeSet<usize>,
}

impl Shown {
    fn of(begin: Size, steps: &[(u64, Step)]) -> Self {
        let mut shown = Self::default();
        let mut screen = screen(begin.cols, begin.rows);
        for (number, (_, step)) in steps.iter().enumerate() {
            match step {
                Step::Output(bytes) => {
                    for byte in bytes {
                        let before = (screen.is_held(), screen.scrollback_len());
                        feed(&mut screen, [*byte]);
                        shown.may.extend(on(&screen.view()));
                        if before != (screen.is_held(), screen.scrollback_len()) {
                            shown.look_above(&screen);
                        }
                    }
                }
                Step::Size(size) => {
                    // An update is over before that: what scrolled by in it was to be seen, and may come back on the screen.
                    shown.may.extend(above(&screen, true));
                    if screen.is_held() {
                        shown.again.extend(above(&screen, true));
                    }
                    screen.resize(*size);
                    shown.may.extend(on(&screen.view()));
                    shown.look_above(&screen);
                }
                // Nobody knows then how an update ends, nor what of the other page was seen: a line that goes on behind the edge may
                // be another one then.
                Step::Search => {
                    shown.may.extend(above(&screen, true));
                    if screen.is_held() || screen.alternate() {
                        shown.again.extend(above(&screen, true));
                    }
                }
            }
            if steps.get(number + 1).is_none_or(|(ms, _)| *ms >= SEEN) {
                shown.must.extend(on(&screen.view()));
            }
        }
        shown
    }

    fn look_above(&mut self, screen: &Screen) {
        if !screen.is_held() {
            self.must.extend(above(screen, false));
            self.may.extend(above(screen, true));
        }
    }
}

/// What a program writes, with words to be numbered. Nothing scrolls down, no region does, and no first row is deleted or
/// erased: that parts lines, and joins them to others.
fn written() -> impl Strategy<Value = String> {
    let sequences = [
        "\x1b[?2026h",
        "\x1b[?2026h",
        "\x1b[?2026l",
        "\x1b[?2026l",
        "\x1b[3J",
        "\x1b[H\x1b[2J",
        "\x1b[?1049h\x1b[H",
        "\x1b[?1049l",
        "\x1b[2;1H\x1b[M",
        "\x1b[2S",
        "\x1bc",
    ];
    let some = |text: &'static str| (1..6_usize).prop_map(move |count| text.repeat(count));
    let part = prop_oneof![
        3 => Just("\u{1}\r\n".to_owned()),
        2 => some("\u{1}"),
        2 => some("\u{1}\r\n"),
        1 => some("\r\n"),
        6 => proptest::sample::select(sequences.to_vec()).prop_map(str::to_owned),
    ];
    proptest::collection::vec(part, 1..9).prop_map(|parts| parts.concat())
}

fn steps() -> impl Strategy<Value = Vec<(u64, Step)>> {
    let ms = prop_oneof![Just(1), Just(SEEN), Just(150)];
    let size = (proptest::sample::select(COLUMNS), 3..8_u16);
    let step = prop_oneof![
        8 => written().prop_map(|text| Step::Output(text.into())),
        1 => size.prop_map(|(cols, rows)| Step::Size(Size { cols, rows })),
        1 => Just(Step::Search),
    ];
    proptest::collection::vec((ms, step), 1..6).prop_map(|mut steps| {
        let (mut number, mut line) = (FIRST, 0);
        for (_, step) in &mut steps {
            let Step::Output(bytes) = step else { continue };
            let mut text = String::new();
            for ch in String::from_utf8_lossy(bytes).chars() {
                if ch != WORD {
                    line = if ch == '\n' { 0 } else { line };
                    text.push(ch);
                    continue;
                }
                if line == LONGEST {
                    (line, text) = (0, text + "\r\n");
                }
                (line, number) = (line + 1, number + 1);
                text.push_str(&word(number));
            }
            *bytes = text.into();
        }
        steps.push((150, Step::Output(b"\x1b[?2026l".to_vec())));
        steps
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_was_to_be_seen_is_found_as_often_as_it_came_and_nothing_else(
        cols in proptest::sample::select(COLUMNS), rows in 3..7_u16, steps in steps()
    ) {
        let begin = Size { cols, rows };
        let found = counted(begin, &steps);
        let Shown { must, may, again } = Shown::of(begin, &steps);
        let mut all = BTreeSet::new();
        for (line, count) in &found {
            let there = words(line);
            prop_assert!(*count == 1 || there.is_subset(&again), "{line:?} is found {count} times");
            all.extend(there);
        }
        let missed: Vec<_> = must.difference(&all).collect();
        prop_assert!(missed.is_empty(), "{missed:?} are not in {found:?}");
        let never: Vec<_> = all.difference(&may).collect();
        prop_assert!(never.is_empty(), "{never:?} were never shown: {found:?}");
    }
}
