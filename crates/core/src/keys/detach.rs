//! The detach key: what it may be, and when it was typed. Whatever is not it passes on whole and in its order,
//! the single press too once it is known to be no more than that. Time is an argument.

use std::fmt;

use super::{Sent, Stroke, first};

/// How long a detach key may take, from its first chord on.
const WITHIN_MS: u64 = 1_000;
/// A sequence that is not whole by then was no sequence.
const WHOLE_MS: u64 = 50;

/// One key with what is held down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Chord {
    ctrl: bool,
    alt: bool,
    ch: char,
}

/// What detaches: chords one after the other, a single one twice; none at all for never.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DetachKey(Vec<Chord>);

impl Default for DetachKey {
    fn default() -> Self {
        Self(vec![Chord { ctrl: true, alt: false, ch: '\\' }])
    }
}

impl DetachKey {
    /// Reads `none`, a chord such as `ctrl-b`, or chords between commas. The first needs ctrl or alt, or everyday
    /// typing would detach.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if text == "none" {
            return Some(Self(Vec::new()));
        }
        let chords = text.split(',').map(Chord::parse).collect::<Option<Vec<_>>>()?;
        let first = chords.first()?;
        (first.ctrl || first.alt).then_some(Self(chords))
    }
}

impl fmt::Display for DetachKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<String> = self.0.iter().map(Chord::text).collect();
        match words.as_slice() {
            [] => f.write_str("none"),
            [only] => write!(f, "{only} twice"),
            words => f.write_str(&words.join(" ")),
        }
    }
}

impl Chord {
    fn parse(text: &str) -> Option<Self> {
        let (mut ctrl, mut alt, mut rest) = (false, false, text);
        loop {
            if let Some(after) = rest.strip_prefix("ctrl-").filter(|_| !ctrl) {
                (ctrl, rest) = (true, after);
            } else if let Some(after) = rest.strip_prefix("alt-").filter(|_| !alt) {
                (alt, rest) = (true, after);
            } else {
                break;
            }
        }
        let mut characters = rest.chars();
        let ch = match (rest, characters.next(), characters.next()) {
            ("space", ..) => ' ',
            (_, Some(ch), None) if !ch.is_control() => ch,
            _ => return None,
        };
        let chord = Self { ctrl, alt, ch: if ctrl { ch.to_ascii_lowercase() } else { ch } };
        chord.can_be_told().then_some(chord)
    }

    /// Whether a plain terminal sends something for it that means nothing else: `ctrl-[` is Escape, and `alt-[`
    /// begins a sequence.
    const fn can_be_told(self) -> bool {
        match (self.ctrl, self.alt, self.ch) {
            (true, _, 'a'..='z' | ' ' | '\\' | ']' | '^' | '_') => true,
            (true, _, _) | (false, true, '[' | 'O') => false,
            (false, _, _) => true,
        }
    }

    fn is(self, stroke: Stroke) -> bool {
        let same = stroke.ch == self.ch || stroke.base == Some(self.ch);
        same && stroke.ctrl == self.ctrl && stroke.alt == self.alt
    }

    fn text(&self) -> String {
        let (ctrl, alt) = (if self.ctrl { "ctrl-" } else { "" }, if self.alt { "alt-" } else { "" });
        let ch = if self.ch == ' ' { "space".to_owned() } else { self.ch.to_string() };
        format!("{ctrl}{alt}{ch}")
    }
}

/// What comes of what was typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Typed {
    /// This is for the program.
    Pass(Vec<u8>),
    /// The detach key was typed; what came before it is for the program.
    Detach(Vec<u8>),
}

/// Watches for the detach key in what is typed.
#[derive(Debug, Clone)]
pub struct Watch {
    chords: Vec<Chord>,
    /// How many chords have been typed, what was held back with them, and when the first of them came.
    met: usize,
    held: Vec<u8>,
    since: u64,
    /// The beginning of a sequence, and when it came.
    begun: Vec<u8>,
    begun_at: u64,
    pasting: bool,
}

impl Watch {
    #[must_use]
    pub fn new(DetachKey(mut chords): DetachKey) -> Self {
        if let [only] = chords[..] {
            chords.push(only);
        }
        let (held, begun) = (Vec::new(), Vec::new());
        Self { chords, met: 0, held, since: 0, begun, begun_at: 0, pasting: false }
    }

    /// Takes what was typed now, in ms of any clock that does not jump.
    #[must_use = "what passes was typed and is lost otherwise"]
    pub fn typed(&mut self, now: u64, bytes: &[u8]) -> Typed {
        let mut passed = self.woke(now);
        if self.begun.is_empty() {
            self.begun_at = now;
        }
        let bytes = [std::mem::take(&mut self.begun).as_slice(), bytes].concat();
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            // While text is pasted nobody presses Escape: it begins the sequence that ends the paste.
            let whole = first(rest).filter(|_| !(self.pasting && rest == b"\x1b"));
            let Some((sent, length)) = whole else {
                self.begun = rest.to_vec();
                break;
            };
            let piece;
            (piece, rest) = rest.split_at(length.min(rest.len()));
            if self.take(now, sent, piece, &mut passed) {
                return Typed::Detach(passed);
            }
        }
        Typed::Pass(passed)
    }

    /// When to come back with `woke`, if nothing is typed before.
    #[must_use]
    pub fn wake_at(&self) -> Option<u64> {
        let key = (self.met > 0).then(|| self.since.saturating_add(WITHIN_MS + 1));
        let sequence = (!self.begun.is_empty()).then(|| self.begun_at.saturating_add(WHOLE_MS + 1));
        key.into_iter().chain(sequence).min()
    }

    /// Gives what was held back in vain.
    #[must_use = "what passes was typed and is lost otherwise"]
    pub fn woke(&mut self, now: u64) -> Vec<u8> {
        let mut passed = Vec::new();
        if self.met > 0 && now.saturating_sub(self.since) > WITHIN_MS {
            self.give_up(&mut passed);
        }
        if !self.begun.is_empty() && now.saturating_sub(self.begun_at) > WHOLE_MS {
            self.give_up(&mut passed);
            passed.append(&mut self.begun);
        }
        passed
    }

    /// True once the last chord came.
    fn take(&mut self, now: u64, sent: Sent, bytes: &[u8], passed: &mut Vec<u8>) -> bool {
        let stroke = match sent {
            Sent::Key(stroke) if !self.pasting => Some(stroke),
            // It does not come between two chords, but keeps its place behind the first.
            Sent::Aside if self.met > 0 => {
                self.held.extend_from_slice(bytes);
                return false;
            }
            Sent::Key(_) | Sent::Aside | Sent::Other => None,
            Sent::PasteBegins | Sent::PasteEnds => {
                self.pasting = sent == Sent::PasteBegins;
                None
            }
        };
        let is = |chord: Option<&Chord>| stroke.zip(chord).is_some_and(|(stroke, chord)| chord.is(stroke));
        if !is(self.chords.get(self.met)) {
            self.give_up(passed);
        }
        if !is(self.chords.get(self.met)) {
            passed.extend_from_slice(bytes);
            return false;
        }
        if self.met == 0 {
            self.since = now;
        }
        self.met += 1;
        self.held.extend_from_slice(bytes);
        self.met == self.chords.len()
    }

    fn give_up(&mut self, passed: &mut Vec<u8>) {
        self.met = 0;
        passed.append(&mut self.held);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What was typed, and when.
    type Pieces<'a> = &'a [(u64, &'a [u8])];

    /// Types pieces at their times, then waits, and gives what passed and whether it detached.
    fn typing(key: &str, pieces: Pieces<'_>) -> (Vec<u8>, bool) {
        let mut watch = Watch::new(DetachKey::parse(key).unwrap());
        let mut passed = Vec::new();
        for (at, bytes) in pieces {
            while let Some(due) = watch.wake_at().filter(|due| due <= at) {
                passed.extend(watch.woke(due));
            }
            match watch.typed(*at, bytes) {
                Typed::Pass(bytes) => passed.extend(bytes),
                Typed::Detach(bytes) => {
                    passed.extend(bytes);
                    return (passed, true);
                }
            }
        }
        while let Some(due) = watch.wake_at() {
            passed.extend(watch.woke(due));
        }
        (passed, false)
    }

    #[test]
    fn the_key_detaches_in_every_encoding_and_what_came_before_it_passes() {
        let table: [(&str, Pieces<'_>, &[u8]); 14] = [
            ("ctrl-\\", &[(0, b"\x1c"), (1_000, b"\x1c")], b""),
            ("ctrl-\\", &[(0, b"ab\x1c\x1ccd")], b"ab"),
            ("ctrl-\\", &[(0, b"\x1b[92;5u"), (9, b"\x1b[92;5u")], b""),
            ("ctrl-\\", &[(0, b"\x1b[92;5u\x1b[92;5:3u\x1b[92;5:1u")], b""),
            ("ctrl-\\", &[(0, b"\x1b[57442;5u\x1b[92;5u\x1b[57442;1:3u\x1b[92;5u")], b"\x1b[57442;5u"),
            ("ctrl-\\", &[(0, b"\x1b[27;5;92~"), (9, b"\x1c")], b""),
            ("ctrl-\\", &[(0, b"\x1b[9"), (9, b"2;5u\x1b[92"), (18, b";5u")], b""),
            ("ctrl-\\", &[(0, b"\x1c"), (900, b"\x1b[<35;1;1M"), (950, b"\x1c")], b""),
            ("ctrl-\\", &[(0, b"\x1c"), (1_500, b"\x1c"), (2_400, b"\x1c")], b"\x1c"),
            ("ctrl-b", &[(0, b"\x02\x02")], b""),
            ("ctrl-B,d", &[(0, b"\x02"), (5, b"d")], b""),
            ("ctrl-b,d", &[(0, b"\x02\x02d")], b"\x02"),
            ("ctrl-p,ctrl-q", &[(0, b"x\x10\x11")], b"x"),
            ("alt-d,D", &[(0, b"\x1bd"), (1, b"\x1b[100;2u")], b""),
        ];
        for (key, pieces, passed) in table {
            assert_eq!(typing(key, pieces), (passed.to_vec(), true), "{key} {pieces:?}");
        }
    }

    #[test]
    fn whatever_is_not_the_key_passes_whole_and_in_its_order() {
        let table: [(&str, Pieces<'_>); 16] = [
            ("ctrl-\\", &[(0, b"plain")]),
            ("ctrl-\\", &[(0, b"\x1c")]),
            ("ctrl-\\", &[(0, b"\x1c"), (1_001, b"\x1c")]),
            ("ctrl-\\", &[(0, b"\x1cx\x1c")]),
            ("ctrl-\\", &[(0, b"\x1c\x1b[A\x1c")]),
            ("ctrl-\\", &[(0, b"\x1c"), (9, b"\x1b[I"), (12, b"y")]),
            ("ctrl-\\", &[(0, b"\x1b[200~\x1c\x1c\x1b[201~\x1c")]),
            ("ctrl-\\", &[(0, b"\x1b")]),
            ("ctrl-\\", &[(0, b"\x1b["), (900, b"A")]),
            ("ctrl-\\", &[(0, b"\x1c\x1b[9"), (30, b"3;5u")]),
            ("ctrl-\\", &[(0, b"\xff\xfe\x80"), (1, b"\x1b\x1b\x1b[Z")]),
            ("ctrl-\\", &[(0, b"\x02\x02")]),
            ("ctrl-b,d", &[(0, b"\x02"), (1_001, b"d")]),
            ("ctrl-b,d", &[(0, b"\x02xd")]),
            ("ctrl-b", &[(0, b"\x1c\x1c")]),
            ("none", &[(0, b"\x1c\x1c\x02d")]),
        ];
        for (key, pieces) in table {
            let all: Vec<u8> = pieces.iter().flat_map(|(_, bytes)| bytes.to_vec()).collect();
            assert_eq!(typing(key, pieces), (all, false), "{key} {pieces:?}");
        }
    }

    #[test]
    fn a_paste_ends_however_its_end_is_cut_and_the_key_works_behind_it() {
        let paste = b"\x1b[200~\x1c\x1c\x1b[201~";
        for cut in 6..=paste.len() {
            let pieces = [(0, &paste[..cut]), (1, &paste[cut..]), (2, b"\x1c\x1c")];
            assert_eq!(typing("ctrl-\\", &pieces), (paste.to_vec(), true), "cut at {cut}");
        }
    }

    #[test]
    fn only_a_press_that_may_be_the_key_is_held_back() {
        let mut watch = Watch::new(DetachKey::default());
        assert_eq!((watch.typed(0, b"\x1b"), watch.wake_at()), (Typed::Pass(b"\x1b".to_vec()), None));
        assert_eq!((watch.typed(5, b"a\x1c"), watch.wake_at()), (Typed::Pass(b"a".to_vec()), Some(1_006)));
        assert_eq!(watch.woke(1_005), b"");
        assert_eq!((watch.woke(1_006), watch.wake_at()), (b"\x1c".to_vec(), None));
    }

    #[test]
    fn a_key_is_read_and_shown_in_one_form_and_what_cannot_be_one_is_refused() {
        for (text, shown) in [
            ("ctrl-\\", "ctrl-\\ twice"),
            ("ctrl-B", "ctrl-b twice"),
            ("alt-ctrl-x", "ctrl-alt-x twice"),
            ("ctrl-b,d", "ctrl-b d"),
            ("ctrl-space,space", "ctrl-space space"),
            ("none", "none"),
        ] {
            assert_eq!(DetachKey::parse(text).map(|key| key.to_string()).as_deref(), Some(shown), "{text}");
        }
        let refused =
            ["", "d", "d,ctrl-b", "ctrl-", "ctrl-bb", "ctrl-[", "ctrl-1", "alt-[", "alt-O", "meta-x"];
        for text in refused.into_iter().chain(["ctrl-b,", "ctrl-ctrl-b", "ctrl-\x01", "None"]) {
            assert_eq!(DetachKey::parse(text), None, "{text:?}");
        }
    }
}
