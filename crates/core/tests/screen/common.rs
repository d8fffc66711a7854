//! What the tests of the screen share: feeding, looking, and streams that look like a terminal's.

use abide_core::screen::{Notice, Screen, Size};
use proptest::prelude::*;

pub(crate) const SCROLLBACK: usize = 50;

pub(crate) fn screen(cols: u16, rows: u16) -> Screen {
    Screen::new(Size { cols, rows }, SCROLLBACK)
}

/// Feeds and drops the notices.
pub(crate) fn feed(screen: &mut Screen, bytes: impl AsRef<[u8]>) -> Vec<Notice> {
    screen.feed(bytes.as_ref())
}

pub(crate) fn fed(cols: u16, rows: u16, bytes: impl AsRef<[u8]>) -> Screen {
    let mut screen = screen(cols, rows);
    feed(&mut screen, bytes);
    screen
}

/// One piece of a stream: text, a control, a sequence, or garbage.
pub(crate) fn piece() -> impl Strategy<Value = Vec<u8>> {
    let number = || {
        prop_oneof![4 => Just(String::new()), 6 => (0..12_u16).prop_map(|n| n.to_string()),
        1 => (0..=u16::MAX).prop_map(|n| n.to_string())]
    };
    let numbers = move || proptest::collection::vec(number(), 0..4).prop_map(|list| list.join(";"));
    let text = |text: String| text.into_bytes();
    prop_oneof![
        8 => "[ -~]{0,30}".prop_map(text),
        4 => proptest::collection::vec(proptest::sample::select(vec![
            "漢", "字", "é", "e\u{301}", "\u{301}", "👨\u{200d}👩\u{200d}👧", "❤\u{fe0f}", "─", "ﾞ", "\u{200d}", "😀", "한",
            "\u{fe0f}", "👍🏽", "🏽", "🇩", "♂", "☝", "👩",
        ]), 1..8).prop_map(move |list| text(list.concat())),
        6 => "[\\x00-\\x1f]{1,3}".prop_map(text),
        3 => "(\r\n){1,4}".prop_map(text),
        10 => (numbers(), "[@A-Za-z`^]").prop_map(move |(n, last)| text(format!("\x1b[{n}{last}"))),
        4 => sgr().prop_map(move |sgr| text(format!("\x1b[{sgr}m"))),
        5 => (mode(), "[hl]").prop_map(move |(mode, last)| text(format!("\x1b[{mode}{last}"))),
        2 => (numbers(), "[<=>?]", "[cmnqu]").prop_map(move |(n, mark, last)| text(format!("\x1b[{mark}{n}{last}"))),
        2 => "\x1b[78=>DEMHcnoNO]".prop_map(text),
        1 => "\x1b[()*+][0AB]".prop_map(text),
        1 => Just(b"\x1b#8".to_vec()),
        1 => (0..=6_u8).prop_map(move |style| text(format!("\x1b[{style} q"))),
        2 => osc().prop_map(move |osc| text(format!("\x1b]{osc}\x1b\\"))),
        1 => osc().prop_map(move |osc| text(format!("\x1b]{osc}\x07"))),
        1 => "\x1b(P|X|\\^|_)[ -~]{0,9}\x1b\\\\".prop_map(text),
        1 => proptest::collection::vec(any::<u8>(), 0..12),
        // Something unfinished.
        1 => "\x1b(\\[|\\]|P|_)?[0-9;?]{0,4}".prop_map(text),
    ]
}

fn mode() -> impl Strategy<Value = String> {
    proptest::sample::select(vec![
        "4", "20", "?1", "?3", "?5", "?6", "?7", "?9", "?12", "?25", "?40", "?47", "?66", "?1000", "?1002",
        "?1003", "?1004", "?1005", "?1006", "?1007", "?1015", "?1016", "?1047", "?1048", "?1049", "?2004",
        "?2026", "?2027", "?2031",
    ])
    .prop_map(str::to_owned)
}

fn sgr() -> impl Strategy<Value = String> {
    proptest::sample::select(vec![
        "",
        "1",
        "2",
        "3",
        "4",
        "4:3",
        "5",
        "7",
        "8",
        "9",
        "21",
        "22",
        "24",
        "31",
        "44",
        "97",
        "105",
        "38;5;200",
        "48;2;1;2;3",
        "38:2::9:8:7",
        "58:5:3",
        "58;2;1;2;3",
        "59",
        "53",
        "49",
        "0;7",
        "39;49",
    ])
    .prop_map(str::to_owned)
}

fn osc() -> impl Strategy<Value = String> {
    proptest::sample::select(vec![
        "0;title",
        "1;icon",
        "2;window",
        "4;1;rgb:ff/00/80",
        "4;1;?",
        "10;#123456",
        "11;?",
        "104",
        "110",
        "7;file:///tmp",
        "8;;https://example.org/",
        "8;id=a;https://example.org/b",
        "8;;",
        "9;hello",
        "9;4;1;50",
        "52;c;aGk=",
        "52;c;?",
        "133;A",
        "133;D;3",
        "777;notify;a;b",
    ])
    .prop_map(str::to_owned)
}

/// Bytes that a failure shows so that they can be read.
#[derive(Clone)]
pub(crate) struct Stream(pub Vec<u8>);

impl std::fmt::Debug for Stream {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "b\"{}\"", self.0.escape_ascii())
    }
}

impl std::ops::Deref for Stream {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

pub(crate) fn stream() -> impl Strategy<Value = Stream> {
    proptest::collection::vec(piece(), 0..60).prop_map(|pieces| Stream(pieces.concat()))
}

pub(crate) fn size() -> impl Strategy<Value = Size> {
    prop_oneof![
        4 => (1..30_u16, 1..12_u16),
        1 => (1..3_u16, 1..3_u16),
        1 => Just((80, 24)),
    ]
    .prop_map(|(cols, rows)| Size { cols, rows })
}
