//! How soon what was shown is found again: the screen at any instant of a small and of a large recording, and a word in
//! all of them. The recordings are of real sessions, of text that scrolls by with full-screen pages in between.

use std::fs::File;
use std::io::{self, BufWriter, Write};

use abide_sys::clock;

use super::{Bench, Figures};

const SMALL: u64 = 10 << 20;
const LARGE: u64 = 1 << 30;
const INSTANTS: u64 = 200;
/// Only ever put together on the screen: its halves are written apart, with something else in between.
const HIDDEN: &str = "xylophonist";
/// After so many lines a page is drawn.
const BETWEEN_PAGES: u64 = 200;

/// The screen at many instants of two recordings.
///
/// # Errors
/// If something cannot be started.
pub fn run(out: &mut impl Write) -> io::Result<()> {
    for bytes in [SMALL, LARGE] {
        let bench = Bench::new()?;
        let id = recorded(&bench, bytes)?;
        let mut chance = Chance(bytes);
        let mut figures = Figures::default();
        for _ in 0..INSTANTS {
            let at = format!("seq:{}", chance.next() % bytes);
            let began = clock::boot_micros();
            let ran = bench.abide.run(&["snapshot", "--at", &at, &id]);
            figures.add(clock::boot_micros() - began);
            if ran.code() != Some(0) {
                return Err(io::Error::other(ran.stderr));
            }
        }
        let megabytes = bytes >> 20;
        writeln!(
            out,
            "{INSTANTS} screens at any instant of {megabytes:>4} MiB, each a command: {}",
            figures.says()
        )?;
    }
    Ok(())
}

/// A word in a gigabyte of recordings.
///
/// # Errors
/// If something cannot be started, or the word is not found where it was shown.
pub fn search(out: &mut impl Write) -> io::Result<()> {
    let bench = Bench::new()?;
    let id = recorded(&bench, LARGE)?;
    let query = |words: &[&str]| {
        let began = clock::boot_micros();
        let mut told = bench.abide.json(&[&["search"], words].concat());
        (told["data"]["hits"].take(), (clock::boot_micros() - began) as f64 / 1e6)
    };
    let (_, index) = query(&[HIDDEN]);
    let bytes: u64 = ["index", "index-lines"].iter().map(|name| size(&bench, &id, name)).sum();
    let recording = size(&bench, &id, "recording");
    writeln!(
        out,
        "index of {} MiB: {index:.1} s, {} MiB ({:.0} %)",
        recording >> 20,
        bytes >> 20,
        bytes as f64 * 100.0 / recording as f64
    )?;
    let (hits, rare) = query(&[HIDDEN]);
    let (_, common) = query(&[&word(7)]);
    let (_, none) = query(&["nothing-of-the-kind"]);
    let (_, pattern) = query(&["--regex", "line 99[0-9]{3}7 "]);
    writeln!(
        out,
        "queries: rare word {rare:.3} s, common word {common:.3} s, none {none:.3} s, pattern {pattern:.3} s"
    )?;
    let [hit] = hits.as_array().map(Vec::as_slice).unwrap_or_default() else {
        return Err(io::Error::other(format!("{HIDDEN} is not found once: {hits}")));
    };
    let shows = |seq: u64| {
        let at = format!("seq:{seq}");
        bench.abide.run(&["snapshot", "--at", &at, &id]).stdout.contains(HIDDEN)
    };
    let seq = hit["seq"].as_u64().unwrap_or(0);
    let before = seq.saturating_sub(HIDDEN.len() as u64);
    writeln!(
        out,
        "{HIDDEN} was drawn in two halves by a page: found once, at byte {seq}; on the screen there: {}, before: {}",
        shows(seq),
        shows(before)
    )
}

fn size(bench: &Bench, id: &str, name: &str) -> u64 {
    let path = bench.home.path().join("sessions").join(id).join(name);
    path.metadata().map_or(0, |meta| meta.len())
}

/// A session that has shown so many bytes. Half way a page stands for a moment that is drawn in pieces.
fn recorded(bench: &Bench, bytes: u64) -> io::Result<String> {
    let halves = ["one", "two"].map(|half| bench.beside(half));
    let mut chance = Chance(7);
    for path in &halves {
        write(&mut BufWriter::new(File::create(path)?), bytes / 2, &mut chance)?;
    }
    let page = "\\033[?1049h\\033[12;20Hxylo\\033[3;1Hsomething else\\033[12;24Hphonist";
    let script = format!("cat \"$0\"; printf '{page}'; sleep 0.2; printf '\\033[?1049l'; cat \"$1\"");
    let id = bench.launch(&["sh", "-c", &script, &halves[0], &halves[1]])?;
    let _ = bench.abide.run(&["wait", &id]);
    halves.iter().try_for_each(std::fs::remove_file)?;
    Ok(id)
}

fn write(to: &mut impl Write, bytes: u64, chance: &mut Chance) -> io::Result<()> {
    let mut written = 0;
    for number in 0.. {
        if written >= bytes {
            break;
        }
        let mut text = line(number, chance);
        if number % BETWEEN_PAGES == 0 {
            text.push_str(&page(number, chance));
        }
        to.write_all(text.as_bytes())?;
        written += text.len() as u64;
    }
    to.flush()
}

fn line(number: u64, chance: &mut Chance) -> String {
    let words: Vec<String> = (0..9).map(|_| word(chance.next() % 50_000)).collect();
    format!("\x1b[2mline {number}\x1b[0m {} \x1b[3{}m{}\x1b[0m\n", words.join(" "), number % 8, number * 31)
}

/// Every row of a screen, drawn in its place.
fn page(number: u64, chance: &mut Chance) -> String {
    let rows = (1..24).map(|row| format!("\x1b[{row};1H\x1b[K{row} {}", word(chance.next() % 50_000)));
    format!("\x1b[?1049h\x1b[H{}\x1b[24;1Hpage {number}\x1b[?1049l", rows.collect::<String>())
}

fn word(number: u64) -> String {
    let letters = b"etaoinshrdlcumwf";
    let letter =
        |place: u32| char::from(letters[(number.wrapping_mul(2_654_435_761) >> (4 * place) & 15) as usize]);
    (0..4 + u32::try_from(number % 5).unwrap_or(0)).map(letter).collect()
}

/// Numbers that look like chance and are the same in each run.
struct Chance(u64);

impl Chance {
    const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 24
    }
}
