//! Any recording: every byte of it is an entry, a frame of a later version or damage; entries are written again as they
//! were read; and all that is made of entries is the same however they are cut, and can do nothing to a terminal.
//!
//! The input: a byte of choices, one that says where to cut, then the recording. With `ENTRIES` set, it is made of sound
//! entries: a kind, a length of one byte, a payload.

use abide_core::evidence::Size;
use abide_core::passage::Passage;
use abide_core::plain::Plain;
use abide_core::recording::command::{Commands, Listener};
use abide_core::recording::kept::Kept;
use abide_core::recording::scroll::Scroll;
use abide_core::recording::shed::Shed;
use abide_core::recording::veil::{Tag, Unveiled, Veil};
use abide_core::recording::{
    Entry, HEADER, Kind, Next, closing, cut_begins, cut_says, header, next, next_at_end, parse_resize,
    redact, short_number,
};
use abide_core::screen::Screen;

const ENTRIES: u8 = 1;
const SIZE: Size = Size { cols: 40, rows: 6 };
const KINDS: &[u8] = b"hoeipalrmxcgs";

/// Any input.
///
/// # Panics
/// If something that must hold does not.
pub fn run(input: &[u8]) {
    let [choices, cut, bytes @ ..] = input else { return };
    let made = (choices & ENTRIES != 0).then(|| entries(bytes));
    let bytes = made.as_deref().unwrap_or(bytes);
    let (found, damaged) = read(bytes);
    assert!(made.is_none() || damaged == 0, "what was written is damaged");
    let mut output = Vec::new();
    let mut counted = 0;
    for entry in &found {
        let now = entry.counted(counted);
        assert!(now >= counted, "numbers go back");
        counted = now;
        check_payload(entry);
        if matches!(entry.kind, Kind::Output | Kind::Errors) {
            output.extend_from_slice(entry.payload);
        }
    }
    let at = output.len() * usize::from(*cut) / 256;
    check_output(&output, output.split_at(at));
    check_veil(&found);
    let torn = &bytes[..bytes.len() * usize::from(*cut) / 256];
    check_torn(torn);
}

/// The entries, and how many bytes are damage.
fn read(bytes: &[u8]) -> (Vec<Entry<'_>>, usize) {
    let (mut found, mut damaged, mut rest) = (Vec::new(), 0, bytes);
    while !rest.is_empty() {
        let length = match next_at_end(rest) {
            Next::Entry(entry, length) => {
                assert_eq!(length, HEADER + entry.payload.len());
                assert_eq!(header(&entry), rest[..HEADER], "an entry is written otherwise than it was read");
                found.push(entry);
                length
            }
            Next::Other(length) => length,
            Next::Damage(length) => {
                damaged += length;
                length
            }
            Next::More(_) => panic!("no more will come"),
        };
        assert!(length > 0, "no progress");
        rest = &rest[length..];
    }
    (found, damaged)
}

fn check_payload(entry: &Entry<'_>) {
    let _ = (Tag::of(entry.payload), cut_says(entry.payload), Shed::of(entry), Shed::says(entry, 7, 3));
    assert!(cut_begins(entry).is_none_or(|begins| begins <= entry.position));
    if let Some(kept) = Kept::of(entry.payload) {
        let mut screen = Screen::new(SIZE, 20);
        screen.restore(&kept.screen);
        let _ = screen.visible_text();
    }
    let _ = parse_resize(entry.payload);
}

/// Lines, what attached terminals get, and a shell's words: the same of two pieces as of one.
fn check_output(whole: &[u8], (first, second): (&[u8], &[u8])) {
    let plain = |pieces: &[&[u8]]| {
        let (mut plain, mut lines) = (Plain::default(), Vec::new());
        plain.resize(Some(SIZE.cols));
        let mut take = |line: &str| lines.push(line.to_owned());
        pieces.iter().for_each(|piece| plain.feed(piece, &mut take));
        plain.finish(&mut take);
        lines
    };
    let lines = plain(&[whole]);
    assert_eq!(plain(&[first, second]), lines, "lines");
    for line in &lines {
        assert!(!line.contains(|c: char| c.is_control() && c != '\t'), "a line for terminals: {line:?}");
        let secrets = redact::secrets(line);
        let _ = redact::starred(line, &secrets);
    }
    let passed = |pieces: &[&[u8]]| {
        let mut passage = Passage::default();
        let passed = pieces.iter().map(|piece| passage.pass(piece));
        let (all, others): (Vec<_>, Vec<_>) =
            passed.map(|passed| (passed.all().to_vec(), passed.without_clipboard().into_owned())).unzip();
        (all.concat(), others.concat(), passage.held().to_vec())
    };
    assert_eq!(passed(&[first, second]), passed(&[whole]), "what attached terminals get");
    let words = |pieces: &[&[u8]]| {
        let (mut listener, mut words) = (Listener::default(), Vec::new());
        pieces.iter().for_each(|piece| listener.hear(piece, &mut |_, word| words.push(word)));
        words
    };
    let told = words(&[whole]);
    assert_eq!(words(&[first, second]), told, "a shell's words");
    let mut commands = Commands::default();
    commands.resize(SIZE);
    commands.show(whole);
    for (at, word) in told.into_iter().enumerate() {
        let _ = commands.hear(at, word);
    }
    let _ = commands.finish();
    let mut scroll = Scroll::new(Screen::new(SIZE, 20));
    let mut take = |line: &str| assert!(!line.contains(char::is_control), "a line of the scroll: {line:?}");
    scroll.feed(first, &mut take);
    scroll.resize(Size { cols: 20, rows: 9 }, &mut take);
    scroll.feed(second, &mut take);
    scroll.finish(&mut take);
}

/// A veil that is put away and taken up again between any two entries says the same as one that never was.
fn check_veil(entries: &[Entry<'_>]) {
    let (mut one, mut other) = (Veil::default(), Veil::default());
    let mut shown: [Vec<u8>; 2] = [Vec::new(), Vec::new()];
    for entry in entries {
        for (veil, shown) in [&mut one, &mut other].into_iter().zip(&mut shown) {
            veil.elapse(entry.time);
            if let (Kind::Exec, Some(tag)) = (entry.kind, Tag::of(entry.payload)) {
                veil.tag(&tag, entry.time);
            }
            if entry.kind == Kind::Output {
                veil.pass(entry.position, entry.payload, &mut |unveiled| {
                    if let Unveiled::Shown { bytes, .. } | Unveiled::Own { bytes, .. } = unveiled {
                        shown.extend_from_slice(&bytes);
                    }
                });
            }
            if entry.kind == Kind::Cut {
                veil.miss();
            }
        }
        other = Veil::thaw(&other.freeze()).expect("a veil of ours");
        assert_eq!(one, other, "a veil that was put away");
    }
    for (mut veil, shown) in [one, other].into_iter().zip(&mut shown) {
        shown.extend(veil.finish());
    }
    assert_eq!(shown[0], shown[1]);
}

/// Where a writer died, the next one closes what was torn, and what it writes then is found.
fn check_torn(torn: &[u8]) {
    let (_, damaged) = read(torn);
    let begins = torn.len() - damaged;
    // Only a writer's own frames are torn: everything before the last is sound.
    if read(&torn[..begins]).1 > 0 || !matches!(next(&torn[begins..]), Next::More(_)) {
        return;
    }
    let entry = Entry { kind: Kind::Mark, number: 0, time: 1, position: 2, payload: b"behind" };
    let closed = [&torn[begins..], &closing(&torn[begins..]), &header(&entry), b"behind"].concat();
    assert!(read(&closed).0.contains(&entry), "what follows a torn frame is not found");
}

fn entries(mut bytes: &[u8]) -> Vec<u8> {
    let (mut made, mut position, mut number) = (Vec::new(), 0, 0);
    while let [kind, length, rest @ ..] = bytes {
        let (payload, later) = rest.split_at(usize::from(*length).min(rest.len()));
        let kind = KINDS[usize::from(*kind) % KINDS.len()];
        let kind = Kind::from_byte(kind).expect("a kind");
        number += 1;
        let entry = Entry { kind, number: short_number(number), time: number << 18, position, payload };
        made.extend_from_slice(&header(&entry));
        made.extend_from_slice(payload);
        position += payload.len() as u64;
        bytes = later;
    }
    made
}
