//! What stands between the pieces of an echo that a terminal itself wrote: just what was typed, cut anywhere by what others
//! wrote meanwhile, in the middle of their lines too.

use super::ESC;

/// With more of both than this, nobody looks.
const LARGEST: usize = 4 * 1024 * 1024;

/// What a piece costs: fewer are likelier, and of as many, those that begin a line.
const PIECE: u32 = 4;

/// What is left of this without what was typed, told in as few pieces as can be, and without the new line of its Enter.
/// Behind that, it is the shell's own unless that is quiet. None where an editor drew what was typed.
pub(super) fn between(echo: &[u8], typed: &[u8], nonce: &str, quiet: bool) -> Option<Vec<u8>> {
    if echo.len().saturating_mul(typed.len()) > LARGEST {
        return None;
    }
    let is_typed = pieces(echo, typed)?;
    let ended = is_typed.iter().rposition(|typed| *typed)?;
    let mut lines = Vec::new();
    let (mut at, mut last) = (0, 0);
    for line in echo.split_inclusive(|byte| *byte == b'\n') {
        let left = (at..).zip(line).filter(|(at, _)| !is_typed[*at]).map(|(_, byte)| *byte);
        lines.push(left.collect::<Vec<u8>>());
        at += line.len();
        last += usize::from(at <= ended);
    }
    // Its Enter ended an empty line, or what others had begun before it.
    let is_enter = |line: &Vec<u8>| matches!(line.as_slice(), b"\n" | b"\r\n");
    let enter = lines[last..].iter().position(is_enter).map(|behind| last + behind);
    if !quiet {
        lines.truncate(enter.unwrap_or(last) + 1);
    }
    if let Some(enter) = enter {
        lines.remove(enter);
    }
    let others = lines.concat();
    let drawn = moves(&others) || memchr::memmem::find(&others, nonce.as_bytes()).is_some();
    (!drawn).then_some(others)
}

/// Which bytes are those that were typed, if all are there.
fn pieces(echo: &[u8], typed: &[u8]) -> Option<Vec<bool>> {
    const NEVER: u32 = u32::MAX / 2;
    let width = typed.len() + 1;
    // By how much of it has come: what its pieces cost, the last of which ends here, or ended before.
    let (mut within, mut outside) = (vec![NEVER; width], vec![NEVER; width]);
    outside[0] = 0;
    let mut ways = Vec::with_capacity(echo.len());
    let mut begins = PIECE;
    for byte in echo {
        let (mut next_within, mut next_outside) = (vec![NEVER; width], vec![NEVER; width]);
        let mut way = vec![0u8; width];
        for come in 0..width {
            next_outside[come] = within[come].min(outside[come]);
            way[come] |= if within[come] <= outside[come] { FROM_WITHIN } else { 0 };
            if typed.get(come) == Some(byte) {
                next_within[come + 1] = within[come].min(outside[come] + begins);
                way[come + 1] |= if within[come] <= outside[come] + begins { GOES_ON } else { 0 };
            }
        }
        (within, outside) = (next_within, next_outside);
        ways.push(way);
        begins = PIECE + u32::from(*byte != b'\n');
    }
    let mut come = typed.len();
    let mut inside = within[come] <= outside[come];
    if within[come].min(outside[come]) >= NEVER {
        return None;
    }
    let mut is_typed = vec![false; echo.len()];
    for (at, way) in ways.iter().enumerate().rev() {
        is_typed[at] = inside;
        if inside {
            inside = way[come] & GOES_ON != 0;
            come -= 1;
        } else {
            inside = way[come] & FROM_WITHIN != 0;
        }
    }
    Some(is_typed)
}

/// Outside of a piece, the byte before was inside of one.
const FROM_WITHIN: u8 = 1;
/// Inside of a piece, the byte before was so too.
const GOES_ON: u8 = 2;

/// Whether this moves the cursor otherwise than text and its new lines do.
fn moves(bytes: &[u8]) -> bool {
    let is_return = |at: usize| bytes[at] == b'\r' && bytes.get(at + 1).is_some_and(|next| *next != b'\n');
    (0..bytes.len()).any(|at| matches!(bytes[at], ESC | 0x08 | 0x0b | 0x0c) || is_return(at))
}
