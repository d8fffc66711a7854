//! Parser: cuts the bytes of a terminal into text, controls and sequences, at any split of the stream alike.
//! What is unfinished is kept as the very bytes that came, so a keyframe and a dump can carry it. A parser crate would
//! do, but for three things: it would have to keep that tail, bound its strings, and never lose a split character.

pub(crate) mod params;

use self::params::Params;

/// A longer control sequence means nothing to us.
const LONGEST_SEQUENCE: usize = 256;
/// OSC 52 carries whole clipboards.
const LONGEST_OSC: usize = 1 << 20;
const LONGEST_DCS: usize = 4096;
const LONGEST_BRIEFLY: usize = 64 * 1024;
/// A string that nobody understands.
const NONSENSE: &[u8] = b"<<";

const BEL: u8 = 0x07;
const CAN: u8 = 0x18;
const SUB: u8 = 0x1A;
const ESC: u8 = 0x1B;

/// What is done with the pieces. `end` is how many bytes of this feed lie before the end of the piece.
pub(crate) trait Actor {
    fn ascii(&mut self, text: &[u8], end: usize);
    fn character(&mut self, ch: char, end: usize);
    fn control(&mut self, byte: u8, end: usize);
    /// `before` holds the bytes between ESC and the last one.
    fn escape(&mut self, before: &[u8], last: u8, end: usize);
    fn csi(&mut self, params: &Params, last: u8, end: usize);
    fn osc(&mut self, text: &[u8], bell: bool, end: usize);
    fn dcs(&mut self, text: &[u8], end: usize);
}

/// Within which kind of piece the stream stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Within {
    #[default]
    Text,
    /// Behind ESC.
    Escape,
    Csi,
    Osc,
    Dcs,
    /// SOS, PM, APC: nobody wants them.
    Unheard,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Parser {
    within: Within,
    /// In a string: an ESC came, and `\` would end it.
    ending: bool,
    /// What came of the piece: of a character its bytes, else what follows the opening.
    held: Vec<u8>,
}

impl Parser {
    pub(crate) fn feed(&mut self, bytes: &[u8], actor: &mut impl Actor) {
        let mut at = 0;
        while at < bytes.len() {
            at = if self.within == Within::Text && self.held.is_empty() {
                self.text(bytes, at, actor)
            } else {
                self.step(bytes[at], at + 1, actor)
            };
        }
    }

    /// Bytes that bring a fresh parser to where this one stands.
    pub(crate) fn unfinished(&self) -> Vec<u8> {
        self.unfinished_with(&self.held)
    }

    /// The same in little room: a long string, such as a clipboard, goes on as one that nobody understands.
    pub(crate) fn unfinished_briefly(&self) -> Vec<u8> {
        let is_long = self.held.len() > LONGEST_BRIEFLY;
        self.unfinished_with(if is_long { NONSENSE } else { &self.held })
    }

    fn unfinished_with(&self, held: &[u8]) -> Vec<u8> {
        let opening: &[u8] = match self.within {
            Within::Text => b"",
            Within::Escape => b"\x1b",
            Within::Csi => b"\x1b[",
            Within::Osc => b"\x1b]",
            Within::Dcs => b"\x1bP",
            Within::Unheard => b"\x1b_",
        };
        let ending: &[u8] = if self.ending { b"\x1b" } else { b"" };
        [opening, held, ending].concat()
    }

    /// From the beginning of a piece: takes one whole piece at once where it can.
    #[inline]
    fn text(&mut self, bytes: &[u8], at: usize, actor: &mut impl Actor) -> usize {
        let run = printable(&bytes[at..]);
        if run > 0 {
            actor.ascii(&bytes[at..at + run], at + run);
            return at + run;
        }
        match bytes[at] {
            ESC => self.sequence(bytes, at, actor),
            byte @ 0..0x20 => {
                actor.control(byte, at + 1);
                at + 1
            }
            0x20..=0x7F => at + 1,
            0x80.. => match decode(&bytes[at..]) {
                Decoded::Character(ch, len) => {
                    actor.character(ch, at + len);
                    at + len
                }
                Decoded::Invalid(len) => {
                    actor.character(char::REPLACEMENT_CHARACTER, at + len);
                    at + len
                }
                Decoded::Unfinished => {
                    self.held.extend_from_slice(&bytes[at..]);
                    bytes.len()
                }
            },
        }
    }

    /// A whole control sequence is read where it stands; everything else goes byte by byte.
    #[inline]
    fn sequence(&mut self, bytes: &[u8], at: usize, actor: &mut impl Actor) -> usize {
        if bytes.get(at + 1) == Some(&b'[') {
            let body = &bytes[at + 2..];
            if let Some((params, len)) = Params::quick(&body[..body.len().min(LONGEST_SEQUENCE)]) {
                let end = at + 3 + len;
                actor.csi(&params, body[len], end);
                return end;
            }
            let len =
                body.iter().take(LONGEST_SEQUENCE).take_while(|byte| (0x20..0x40).contains(*byte)).count();
            if let Some(last @ 0x40..=0x7E) = body.get(len).copied()
                && len < LONGEST_SEQUENCE
            {
                let end = at + 3 + len;
                if let Some(params) = Params::parse(&body[..len]) {
                    actor.csi(&params, last, end);
                }
                return end;
            }
        }
        self.begin(Within::Escape);
        at + 1
    }

    fn begin(&mut self, within: Within) {
        self.within = within;
        self.ending = false;
        self.held.clear();
        // A long string leaves no memory behind.
        self.held.shrink_to(LONGEST_SEQUENCE);
    }

    fn step(&mut self, byte: u8, end: usize, actor: &mut impl Actor) -> usize {
        match self.within {
            Within::Text => return self.step_character(byte, end, actor),
            Within::Escape => self.step_escape(byte, end, actor),
            Within::Csi => self.step_csi(byte, end, actor),
            Within::Osc | Within::Dcs | Within::Unheard => return self.step_string(byte, end, actor),
        }
        end
    }

    /// Within a character that came in parts. The answer is where to go on: a byte that ends a broken one is read again.
    fn step_character(&mut self, byte: u8, end: usize, actor: &mut impl Actor) -> usize {
        self.held.push(byte);
        let (ch, len) = match decode(&self.held) {
            Decoded::Unfinished => return end,
            Decoded::Character(ch, len) => (ch, len),
            Decoded::Invalid(len) => (char::REPLACEMENT_CHARACTER, len),
        };
        let again = self.held.len() - len;
        self.held.clear();
        actor.character(ch, end - again);
        end - again
    }

    fn step_escape(&mut self, byte: u8, end: usize, actor: &mut impl Actor) {
        match byte {
            CAN | SUB => self.begin(Within::Text),
            ESC => self.begin(Within::Escape),
            0..0x20 => actor.control(byte, end),
            0x20..0x30 => self.hold(byte, LONGEST_SEQUENCE),
            b'[' if self.held.is_empty() => self.begin(Within::Csi),
            b']' if self.held.is_empty() => self.begin(Within::Osc),
            b'P' if self.held.is_empty() => self.begin(Within::Dcs),
            b'X' | b'^' | b'_' if self.held.is_empty() => self.begin(Within::Unheard),
            0x30..0x7F => {
                let before = std::mem::take(&mut self.held);
                self.begin(Within::Text);
                actor.escape(&before, byte, end);
            }
            0x7F.. => {}
        }
    }

    fn step_csi(&mut self, byte: u8, end: usize, actor: &mut impl Actor) {
        match byte {
            CAN | SUB => self.begin(Within::Text),
            ESC => self.begin(Within::Escape),
            0..0x20 => actor.control(byte, end),
            0x20..0x40 => self.hold(byte, LONGEST_SEQUENCE),
            0x40..0x7F => {
                let params = Params::parse(&self.held);
                self.begin(Within::Text);
                if let Some(params) = params {
                    actor.csi(&params, byte, end);
                }
            }
            0x7F.. => {}
        }
    }

    fn step_string(&mut self, byte: u8, end: usize, actor: &mut impl Actor) -> usize {
        if self.ending && byte != b'\\' {
            // Not the end of the string but another sequence, which breaks it off.
            self.begin(Within::Escape);
            return end - 1;
        }
        match byte {
            _ if self.ending => self.close(false, end, actor),
            BEL if self.within == Within::Osc => self.close(true, end, actor),
            ESC => self.ending = true,
            CAN | SUB => self.begin(Within::Text),
            _ => match self.within {
                Within::Osc => self.hold(byte, LONGEST_OSC),
                Within::Dcs => self.hold(byte, LONGEST_DCS),
                Within::Text | Within::Escape | Within::Csi | Within::Unheard => {}
            },
        }
        end
    }

    fn close(&mut self, bell: bool, end: usize, actor: &mut impl Actor) {
        let text = std::mem::take(&mut self.held);
        let within = self.within;
        self.begin(Within::Text);
        match within {
            Within::Osc => actor.osc(&text, bell, end),
            Within::Dcs => actor.dcs(&text, end),
            Within::Text | Within::Escape | Within::Csi | Within::Unheard => {}
        }
    }

    fn hold(&mut self, byte: u8, longest: usize) {
        if self.held.len() >= longest {
            // What is overlong becomes something that nobody understands, and goes on to be that.
            let nonsense: &[u8] = if self.within == Within::Escape { b"    " } else { NONSENSE };
            self.held.clear();
            self.held.extend_from_slice(nonsense);
        } else {
            self.held.push(byte);
        }
    }
}

/// How many printable ASCII bytes come first.
#[inline]
fn printable(bytes: &[u8]) -> usize {
    const ONES: u64 = u64::MAX / 255;
    let (words, _) = bytes.as_chunks::<8>();
    let mut len = 0;
    for word in words {
        let word = u64::from_le_bytes(*word);
        // The high bit of each byte: below 0x20, or 0x7F, or above it. Exact up to the first such byte.
        let below = word.wrapping_sub(ONES * 0x20) & !word;
        let above = ((word & (ONES * 0x7F)) + ONES) | word;
        let stops = (below | above) & (ONES * 0x80);
        if stops != 0 {
            return len + stops.trailing_zeros() as usize / 8;
        }
        len += 8;
    }
    len + bytes[len..].iter().take_while(|byte| (0x20..0x7F).contains(*byte)).count()
}

enum Decoded {
    Character(char, usize),
    /// How many bytes one replacement character stands for.
    Invalid(usize),
    Unfinished,
}

/// The first character of bytes that begin with no ASCII.
#[inline]
fn decode(bytes: &[u8]) -> Decoded {
    let low = |byte: u8| u32::from(byte & 0x3F);
    let (code, len) = match *bytes {
        [a @ 0xC2..=0xDF, b @ 0x80..=0xBF, ..] => (u32::from(a & 0x1F) << 6 | low(b), 2),
        [a @ (0xE1..=0xEC | 0xEE..=0xEF), b @ 0x80..=0xBF, c @ 0x80..=0xBF, ..] => {
            (u32::from(a & 0x0F) << 12 | low(b) << 6 | low(c), 3)
        }
        [0xF0, b @ 0x90..=0xBF, c @ 0x80..=0xBF, d @ 0x80..=0xBF, ..] => {
            (low(b) << 12 | low(c) << 6 | low(d), 4)
        }
        _ => return decode_carefully(bytes),
    };
    char::from_u32(code).map_or(Decoded::Invalid(1), |ch| Decoded::Character(ch, len))
}

/// The same for what is rare, unfinished or wrong.
fn decode_carefully(bytes: &[u8]) -> Decoded {
    let len = match bytes[0] {
        0xC2..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0..=0xF4 => 4,
        _ => return Decoded::Invalid(1),
    };
    let head = &bytes[..len.min(bytes.len())];
    match std::str::from_utf8(head) {
        Ok(text) => text.chars().next().map_or(Decoded::Invalid(1), |ch| Decoded::Character(ch, len)),
        Err(error) => error.error_len().map_or(Decoded::Unfinished, Decoded::Invalid),
    }
}
