//! Keyframes: the screen at instants of a recording, so that nothing before them need be replayed. Only ever a cache:
//! each names the frame of the recording that it stands behind, and counts only while that very frame is there.

use crate::recording;
use crate::screen::bytes::{Reader, put_bytes, put_number};
use crate::wire::CLIENTS;

/// The first bytes of every keyframe: what a reader looks for after damage.
pub const MARK: [u8; 4] = [0xAB, b'k', b'f', 0x04];
/// Mark, length of the body, then the numbers and the frame of `Head`, and a checksum.
pub const HEADER: usize = 8 + 5 * 8 + recording::HEADER + 4;
/// No writer makes longer bodies.
pub const LONGEST: usize = 1 << 26;

/// Where in its recording a keyframe stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// Where the next frame of the recording begins.
    pub offset: u64,
    /// How many bytes of output came before that.
    pub position: u64,
    /// When the last entry before that came, in microseconds of boot time.
    pub time: u64,
    /// How many entries came before that.
    pub entries: u64,
    /// The header of the frame that it stands behind, and where that is.
    pub behind: [u8; recording::HEADER],
    pub behind_at: u64,
}

/// What a keyframe holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Body {
    /// The program writes to a terminal, not to pipes.
    pub has_terminal: bool,
    /// The last number that was taken of each client.
    pub taken: Vec<(u64, u64)>,
    /// What was missing in the recording before it, and so may be on the screen: where, how much of the file, and why.
    pub gaps: Vec<(u64, u64, String)>,
    /// What was kept back of the output, frozen.
    pub veil: Vec<u8>,
    /// The screen, frozen.
    pub screen: Vec<u8>,
}

/// More gaps than this are not kept: the newest are.
pub const GAPS: usize = 64;

/// A keyframe as it is stored; none if it is too long to be one.
#[must_use]
pub fn encode(head: &Head, body: &Body) -> Option<Vec<u8>> {
    let taken = &body.taken[..body.taken.len().min(CLIENTS)];
    let gaps = body.gaps.iter().rev().take(GAPS).rev();
    let mut told = Vec::new();
    for (offset, length, why) in gaps {
        put_number(&mut told, *offset);
        put_number(&mut told, *length);
        put_bytes(&mut told, why.as_bytes());
    }
    let length = 3 + taken.len() * 16 + 4 + told.len() + 4 + body.veil.len() + body.screen.len();
    if length > LONGEST {
        return None;
    }
    let mut bytes = Vec::with_capacity(HEADER + length);
    bytes.extend_from_slice(&MARK);
    bytes.extend_from_slice(&(length as u32).to_le_bytes());
    for number in [head.offset, head.position, head.time, head.entries, head.behind_at] {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    bytes.extend_from_slice(&head.behind);
    bytes.extend_from_slice(&[0; 4]);
    bytes.push(u8::from(body.has_terminal));
    bytes.extend_from_slice(&(taken.len() as u16).to_le_bytes());
    for (client, seq) in taken {
        bytes.extend_from_slice(&client.to_le_bytes());
        bytes.extend_from_slice(&seq.to_le_bytes());
    }
    bytes.extend_from_slice(&(told.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&told);
    bytes.extend_from_slice(&(body.veil.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&body.veil);
    bytes.extend_from_slice(&body.screen);
    let sum = checksum(&bytes[..HEADER - 4], &bytes[HEADER..]);
    bytes[HEADER - 4..HEADER].copy_from_slice(&sum.to_le_bytes());
    Some(bytes)
}

/// The head of what may be a keyframe, and how long its body is.
#[must_use]
pub fn head(bytes: &[u8; HEADER]) -> Option<(Head, usize)> {
    let rest = bytes.strip_prefix(&MARK)?;
    let (length, rest) = rest.split_first_chunk::<4>()?;
    let length = u32::from_le_bytes(*length) as usize;
    let (numbers, rest) = rest.split_first_chunk::<40>()?;
    let number = |index: usize| u64::from_le_bytes(std::array::from_fn(|i| numbers[index * 8 + i]));
    let behind = *rest.first_chunk()?;
    let (offset, position, time) = (number(0), number(1), number(2));
    let head = Head { offset, position, time, entries: number(3), behind, behind_at: number(4) };
    let near = (0..5).all(|index| number(index) < recording::FARTHEST);
    (near && length <= LONGEST).then_some((head, length))
}

/// The body, if it is the one that belongs to the header.
#[must_use]
pub fn body(header: &[u8; HEADER], bytes: &[u8]) -> Option<Body> {
    let (numbers, sum) = header.split_last_chunk::<4>()?;
    if *sum != checksum(numbers, bytes).to_le_bytes() {
        return None;
    }
    let (&[has_terminal, low, high], mut rest) = bytes.split_first_chunk()?;
    let count = u16::from_le_bytes([low, high]);
    let mut taken = Vec::new();
    for _ in 0..count {
        let (client, after) = rest.split_first_chunk()?;
        let (seq, after) = after.split_first_chunk()?;
        taken.push((u64::from_le_bytes(*client), u64::from_le_bytes(*seq)));
        rest = after;
    }
    let (length, rest) = rest.split_first_chunk()?;
    let (told, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    let (mut told, mut gaps) = (Reader(told), Vec::new());
    while !told.0.is_empty() {
        gaps.push((told.number()?, told.number()?, told.text()?.to_owned()));
    }
    let (length, rest) = rest.split_first_chunk()?;
    let (veil, screen) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    Some(Body { has_terminal: has_terminal == 1, taken, gaps, veil: veil.to_vec(), screen: screen.to_vec() })
}

fn checksum(numbers: &[u8], body: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(numbers);
    hasher.update(body);
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> (Head, Body) {
        let behind = std::array::from_fn(|i| i as u8);
        let head = Head { offset: 1_000, position: 900, time: 7, entries: 12, behind, behind_at: 800 };
        let gaps = vec![(7, 8, String::new()), (0, 0, "no room".to_owned())];
        let taken = vec![(1, 2), (3, u64::MAX)];
        (head, Body { has_terminal: true, taken, gaps, veil: b"veil".to_vec(), screen: b"frozen".to_vec() })
    }

    #[test]
    fn a_keyframe_comes_back_as_it_was_written() {
        let (known, content) = example();
        let bytes = encode(&known, &content).unwrap();
        let header = bytes.first_chunk().unwrap();
        assert_eq!(head(header), Some((known, bytes.len() - HEADER)));
        assert_eq!(body(header, &bytes[HEADER..]), Some(content));
    }

    #[test]
    fn a_keyframe_with_any_byte_flipped_is_none() {
        let (known, content) = example();
        let whole = encode(&known, &content).unwrap();
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x10;
            let header = bytes.first_chunk().unwrap();
            let read = head(header).and_then(|(_, length)| body(header, bytes.get(HEADER..HEADER + length)?));
            assert_eq!(read, None, "byte {at}");
        }
    }

    #[test]
    fn more_clients_than_it_has_room_for_are_left_out() {
        let (known, mut content) = example();
        content.taken = (0..300).map(|client| (client, 1)).collect();
        let bytes = encode(&known, &content).unwrap();
        assert_eq!(body(bytes.first_chunk().unwrap(), &bytes[HEADER..]).unwrap().taken.len(), CLIENTS);
    }
}
