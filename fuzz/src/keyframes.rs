//! Any keyframe: it is refused, or it is one that is written again as it was read, with a screen and a veil that work.
//!
//! The input: a byte of choices, then the file. With `CHECKSUM` set, the first keyframe in it gets a right checksum, so that
//! what lies behind it is reached.

use abide_core::keyframe::{HEADER, LONGEST, MARK, body, encode, head};
use abide_core::recording::veil::Veil;
use abide_core::screen::{Screen, Size};

const CHECKSUM: u8 = 1;
const RESIZED: Size = Size { cols: 33, rows: 7 };

/// Any input.
///
/// # Panics
/// If something that must hold does not.
pub fn run(input: &[u8]) {
    let [choices, bytes @ ..] = input else { return };
    let mut bytes = bytes.to_vec();
    if choices & CHECKSUM != 0 {
        mend(&mut bytes);
    }
    let Some((header, rest)) = bytes.split_first_chunk::<HEADER>() else { return };
    let Some((head, length)) = head(header) else { return };
    assert!(length <= LONGEST);
    let Some(body) = rest.get(..length).and_then(|bytes| body(header, bytes)) else { return };
    let again = encode(&head, &body).expect("it was short enough before");
    if body.taken.len() <= abide_core::wire::CLIENTS && body.gaps.len() <= abide_core::keyframe::GAPS {
        let (header, rest) = again.split_first_chunk::<HEADER>().expect("it has a header");
        let read = abide_core::keyframe::body(header, rest).expect("what was written can be read");
        assert_eq!(read, body, "a keyframe is written otherwise than it was read");
    }
    if let Some(mut veil) = Veil::thaw(&body.veil) {
        let mut passed = 0;
        veil.pass(head.position, b"x\x1b]7;\x07y", &mut |_| passed += 1);
        let _ = (veil.finish(), passed);
    }
    if let Some(mut screen) = Screen::thaw(&body.screen) {
        assert!(Screen::thaw(&screen.freeze()).expect("a screen of ours") == screen);
        let _ = screen.feed(b"\x1b[2;3Hx\x1b[5S\x1b[?1049h\x1b[2J\x1b[?1049l\r\n\n\n");
        screen.resize(RESIZED);
        let _ = (screen.dump(20), screen.visible_text(), screen.scrollback().count());
    }
}

/// The checksum stands at the end of the header, and is that of header and body without it.
fn mend(bytes: &mut [u8]) {
    let Some(header) = bytes.first_chunk::<HEADER>().filter(|header| header.starts_with(&MARK)) else {
        return;
    };
    let Some((_, length)) = head(header) else { return };
    let Some(body) = bytes.get(HEADER..HEADER + length) else { return };
    let mut sum = crc32fast::Hasher::new();
    sum.update(&bytes[..HEADER - 4]);
    sum.update(body);
    let sum = sum.finalize().to_le_bytes();
    bytes[HEADER - 4..HEADER].copy_from_slice(&sum);
}
