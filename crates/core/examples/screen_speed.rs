//! How fast a screen takes plain, colourful, wide and redrawn output: `cargo run --release --example screen_speed`.
//! Prints MB/s, the best of three, and how long a dump and a keyframe take. A measuring tool, not shipped.

#![expect(clippy::print_stdout, reason = "printing is what it is for")]
#![expect(clippy::disallowed_methods, reason = "measuring is what it is for")]

use std::fmt::Write as _;
use std::hint::black_box;
use std::time::Instant;

use abide_core::screen::{Screen, Size};

const TOTAL: usize = 30 << 20;
const CHUNK: usize = 4095;
const SIZE: Size = Size { cols: 120, rows: 40 };

fn main() {
    for (name, pattern) in
        [("plain", plain()), ("colour", colour()), ("unicode", unicode()), ("redraw", redraw())]
    {
        let input: Vec<u8> = pattern.bytes().cycle().take(TOTAL).collect();
        let best = (0..3).map(|_| run(&input)).fold(f64::INFINITY, f64::min);
        println!("{name:8} {:7.1} MB/s", TOTAL as f64 / best / 1e6);
    }
    let mut screen = Screen::new(SIZE, 10_000);
    let _ = screen.feed(colour().as_bytes());
    let timed = |name: &str, act: &dyn Fn() -> usize| {
        let start = Instant::now();
        let len = act();
        println!("{name:8} {:7.1} us, {len} bytes", start.elapsed().as_secs_f64() * 1e6);
    };
    timed("dump", &|| screen.dump(0).len());
    timed("freeze", &|| screen.freeze().len());
    timed("thaw", &|| Screen::thaw(&screen.freeze()).map_or(0, |screen| screen.scrollback_len().0));
    timed("hash", &|| screen.hash() as usize % 2);
}

fn run(input: &[u8]) -> f64 {
    let mut screen = Screen::new(SIZE, 10_000);
    let start = Instant::now();
    for chunk in input.chunks(CHUNK) {
        black_box(screen.feed(chunk));
    }
    black_box(screen.hash());
    start.elapsed().as_secs_f64()
}

fn plain() -> String {
    (0..2000).fold(String::new(), |mut text, n| {
        let _ = write!(text, "{n:6} the quick brown fox jumps over the lazy dog and runs away {n}\r\n");
        text
    })
}

fn colour() -> String {
    (0..2000).fold(String::new(), |mut text, n| {
        let _ = write!(
            text,
            "\x1b[1;32m{n:6}\x1b[0m \x1b[38;5;{}mthe quick\x1b[39m brown \x1b[38;2;{};20;30mfox\x1b[0m jumps over \x1b[7mthe lazy\x1b[27m dog\r\n",
            n % 256,
            n % 200,
        );
        text
    })
}

fn unicode() -> String {
    "漢字かな交じり文 und ein bißchen Größe ─│┌┐ 😀 e\u{301} fertig\r\n".repeat(500)
}

fn redraw() -> String {
    (0..50).fold(String::new(), |mut text, frame| {
        text.push_str("\x1b[?2026h\x1b[H");
        for row in 0..40 {
            let _ = write!(
                text,
                "\x1b[{};1H\x1b[3{}m│\x1b[0m cpu {frame:3} \x1b[1m{row:3}\x1b[22m some process name and its arguments\x1b[K",
                row + 1,
                row % 8,
            );
        }
        text.push_str("\x1b[?2026l");
        text
    })
}
