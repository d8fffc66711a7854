//! Any bytes, cut anywhere, on any size: feeding, resizing, dumping and freezing do not panic, and agree.
//!
//! The input: two bytes of size, a byte that says where to cut, then the stream. The stream is also read as a
//! keyframe, which must be refused or be a screen that works.

use abide_core::screen::{Screen, Size};

const SCROLLBACK: usize = 20;

/// Any input.
///
/// # Panics
/// If something that must hold does not.
pub fn run(input: &[u8]) {
    let [cols, rows, cut, stream @ ..] = input else { return };
    let size = Size { cols: u16::from(*cols), rows: u16::from(*rows) };
    let mut whole = Screen::new(size, SCROLLBACK);
    let notices = whole.feed(stream);

    let at = stream.len() * usize::from(*cut) / 256;
    let mut first = Screen::new(size, SCROLLBACK);
    let mut told = first.feed(&stream[..at]);
    let mut second = Screen::thaw(&first.freeze()).expect("a keyframe of ours");
    told.extend(second.feed(&stream[at..]));
    assert_eq!(told, notices);
    assert_eq!(second.freeze(), whole.freeze());

    let mut copy = Screen::new(size, SCROLLBACK);
    let _ = copy.feed(&whole.dump(SCROLLBACK));
    assert_eq!(copy.live().text(), whole.live().text());
    assert_eq!(copy.input_modes(), whole.input_modes());
    assert!(copy == whole, "a dump brings a fresh screen to the same");

    whole.resize(Size { cols: u16::from(*rows), rows: u16::from(*cut) });
    let _ = (whole.visible_text(), whole.scrollback().count(), whole.freeze());

    if let Some(mut screen) = Screen::thaw(stream) {
        let _ = screen.feed(b"\x1b[H\x1b[Lx\r\n\x1b[2J");
        screen.resize(size);
        let _ = (screen.dump(SCROLLBACK), screen.visible_text());
    }
}
