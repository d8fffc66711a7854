//! What stands between the pieces of an echo that a terminal itself wrote: just what was typed, cut anywhere by what others
//! wrote meanwhile, in the middle of their lines too.

use super::ESC;

/// With more ways than this to lay the one over the other, nobody looks.
const LARGEST: usize = 4 * 1024 * 1024;

/// What a piece costs: fewer are likelier, and of as many, those that begin a line.
const PIECE: u32 = 4;

/// What is left of this without what was typed, told in as few pieces as can be, and without the new line of its Enter.
/// Behind that, it is the shell's own unless that is quiet. None where an editor drew what was typed.
pub(super) fn between(echo: &[u8], typed: &[u8], nonce: &str, quiet: bool) -> Option<Vec<u8>> {
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
    let Some(at) = whole(echo, typed) else { return cheapest(echo, typed) };
    Some((0..echo.len()).map(|byte| (at..at + typed.len()).contains(&byte)).collect())
}

/// Where it stands in one piece: the last that begins a line, else the last.
fn whole(echo: &[u8], typed: &[u8]) -> Option<usize> {
    let begins = |at: &usize| *at == 0 || echo[*at - 1] == b'\n';
    memchr::memmem::rfind_iter(echo, typed).find(begins).or_else(|| memchr::memmem::rfind(echo, typed))
}

/// How much of what was typed may have come before each byte, and behind the last: no less than what the rest cannot hold,
/// no more than what stood there.
fn bounds(echo: &[u8], typed: &[u8]) -> Option<Vec<(usize, usize)>> {
    let mut bounds = Vec::with_capacity(echo.len() + 1);
    let mut most = 0;
    for byte in echo {
        bounds.push((0, most));
        most += usize::from(typed.get(most) == Some(byte));
    }
    bounds.push((typed.len(), most));
    let mut least = typed.len();
    for (byte, bound) in echo.iter().zip(&mut bounds).rev() {
        least -= usize::from(least > 0 && typed[least - 1] == *byte);
        bound.0 = least;
    }
    (most == typed.len()).then_some(bounds)
}

/// As few pieces as can be.
fn cheapest(echo: &[u8], typed: &[u8]) -> Option<Vec<bool>> {
    const NEVER: u32 = u32::MAX / 2;
    let bounds = bounds(echo, typed)?;
    if bounds.iter().map(|(least, most)| most + 1 - least).sum::<usize>() > LARGEST {
        return None;
    }
    let width = typed.len() + 1;
    // By how much of it has come: what its pieces cost, the last of which ends here, or ended before.
    let mut cost = vec![(NEVER, 0); width];
    let mut next = vec![(NEVER, NEVER); width];
    let mut ways = Vec::with_capacity(echo.len());
    let mut begins = PIECE;
    for (byte, span) in echo.iter().zip(bounds.windows(2)) {
        let ((least, most), (after_least, after_most)) = (span[0], span[1]);
        let mut way = vec![0u8; after_most + 1 - after_least];
        next[after_least..=after_most].fill((NEVER, NEVER));
        for come in least..=most {
            let (within, outside) = cost[come];
            if come >= after_least {
                next[come].1 = within.min(outside);
                way[come - after_least] |= if within <= outside { FROM_WITHIN } else { 0 };
            }
            if come < after_most && typed[come] == *byte {
                next[come + 1].0 = within.min(outside + begins);
                way[come + 1 - after_least] |= if within <= outside + begins { GOES_ON } else { 0 };
            }
        }
        std::mem::swap(&mut cost, &mut next);
        ways.push((after_least, way));
        begins = PIECE + u32::from(*byte != b'\n');
    }
    let mut come = typed.len();
    let mut inside = cost[come].0 <= cost[come].1;
    let mut is_typed = vec![false; echo.len()];
    for (at, (least, way)) in ways.iter().enumerate().rev() {
        is_typed[at] = inside;
        let way = way[come - least];
        come -= usize::from(inside);
        inside = way & if inside { GOES_ON } else { FROM_WITHIN } != 0;
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
