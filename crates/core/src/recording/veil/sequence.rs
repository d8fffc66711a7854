//! Sequences of a terminal, as far as the veil must tell them apart: which ones count although they are part of an echo.

use crate::passage;

const ESC: u8 = 0x1b;
/// A longer sequence is text.
const LONGEST: usize = 16 * 1024;
/// A shell tells the terminal that a command runs, and often which.
pub(super) const OSC_133_C: &[u8] = b"\x1b]133;C";

/// What bytes begin with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum First {
    /// It takes more to tell.
    Open,
    /// All of it is text.
    Text,
    /// All of it is one sequence.
    Sequence,
}

/// What these bytes are, of which all but the last were `Open`.
pub(super) fn first(bytes: &[u8]) -> First {
    let open = if bytes.len() < LONGEST { First::Open } else { First::Text };
    let Some((&last, [ESC, inner @ ..])) = bytes.split_last() else {
        return if bytes == [ESC] { First::Open } else { First::Text };
    };
    if matches!(last, 0x18 | 0x1a) {
        return First::Text;
    }
    match inner.first() {
        None if matches!(last, b'[' | b']' | b'P' | b'_' | b'^' | b'X' | 0x20..=0x2f) => open,
        None if last == ESC => First::Text,
        None => First::Sequence,
        Some(b'[') if matches!(last, 0x40..=0x7e) => First::Sequence,
        Some(b']' | b'P' | b'_' | b'^' | b'X') => {
            let ended = last == 0x07 || (last == b'\\' && inner.last() == Some(&ESC));
            if ended { First::Sequence } else { open }
        }
        Some(0x20..=0x2f) if matches!(last, 0x30..=0x7e) => First::Sequence,
        Some(_) => open,
    }
}

/// What is left of these bytes without sequences and controls.
pub(super) fn text(bytes: &[u8]) -> Vec<u8> {
    let (mut text, mut open) = (Vec::new(), Vec::new());
    for &byte in bytes {
        open.push(byte);
        match first(&open) {
            First::Open => continue,
            First::Text => text.extend(open.iter().filter(|byte| **byte >= b' ')),
            First::Sequence => {}
        }
        open.clear();
    }
    text
}

/// Whether a sequence that came with an echo counts: it shows nothing, and changes what the terminal does from then on,
/// or asks it something.
pub(super) fn is_kept(sequence: &[u8]) -> bool {
    if passage::asks(sequence) {
        return true;
    }
    match sequence {
        [ESC, b'[', parameters @ .., last] => match last {
            b'h' | b'l' => parameters.first() == Some(&b'?'),
            b'u' => matches!(parameters.first(), Some(b'>' | b'<' | b'=')),
            b'm' => true,
            b'q' => parameters.last() == Some(&b' '),
            _ => false,
        },
        [ESC, b'=' | b'>'] => true,
        [ESC, b'(' | b')', _] => true,
        [ESC, b']', text @ ..] => {
            text.starts_with(b"7;") || (text.starts_with(b"133;") && !sequence.starts_with(OSC_133_C))
        }
        _ => false,
    }
}
