//! What a program showed that is not on record for want of room, as the entries that would tell it: whoever keeps a
//! screen takes them behind those of the recording.

use std::ops::Range;

use super::{Entry, Kind, resize_payload};
use crate::evidence::Size;

/// The end of the output, as much of it as is kept, and the size of the terminal, where they are not on record.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Unrecorded {
    /// Where these bytes begin.
    pub position: u64,
    pub bytes: Vec<u8>,
    /// Since which position the terminal has a size that is not on record.
    pub sized: Option<(u64, Size)>,
}

impl Unrecorded {
    /// Gives what is not known yet between two positions to a screen that has this size. What is not kept of it any more
    /// is missing before the first entry.
    pub fn each(&self, span: Range<u64>, size: Size, time: u64, take: &mut impl FnMut(&Entry<'_>)) {
        let first = if self.bytes.is_empty() { span.start } else { self.position.max(span.start) };
        let last = (self.position + self.bytes.len() as u64).min(span.end).max(first);
        let sized = self.sized.filter(|(at, new)| *at <= span.end && *new != size);
        let turn = sized.map_or(last, |(at, _)| at.clamp(first, last));
        self.show(first..turn, time, take);
        if let Some((_, size)) = sized {
            let payload = &resize_payload(size);
            take(&Entry { kind: Kind::Resize, number: 0, time, position: turn, payload });
        }
        self.show(turn..last, time, take);
    }

    fn show(&self, span: Range<u64>, time: u64, take: &mut impl FnMut(&Entry<'_>)) {
        let at =
            |position: u64| usize::try_from(position.saturating_sub(self.position)).unwrap_or(usize::MAX);
        let payload = self.bytes.get(at(span.start)..at(span.end)).unwrap_or_default();
        if !payload.is_empty() {
            take(&Entry { kind: Kind::Output, number: 0, time, position: span.start, payload });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse_resize;
    use super::*;

    const NARROW: Size = Size { cols: 60, rows: 20 };
    const WIDE: Size = Size { cols: 80, rows: 24 };

    /// Ten bytes from position 100 on, with a terminal that became narrow at one of them.
    fn told(span: Range<u64>, sized: Option<u64>, size: Size) -> Vec<String> {
        let unrecorded =
            Unrecorded { position: 100, bytes: b"0123456789".to_vec(), sized: sized.map(|at| (at, NARROW)) };
        let mut told = Vec::new();
        unrecorded.each(span, size, 0, &mut |entry| {
            let what = parse_resize(entry.payload).filter(|_| entry.kind == Kind::Resize);
            let what = what.map_or_else(
                || String::from_utf8_lossy(entry.payload).into_owned(),
                |size| format!("{}x{}", size.cols, size.rows),
            );
            told.push(format!("{}:{what}", entry.position));
        });
        told
    }

    #[test]
    fn a_size_comes_before_what_was_made_for_it() {
        assert_eq!(told(100..u64::MAX, Some(104), WIDE), ["100:0123", "104:60x20", "104:456789"]);
        assert_eq!(told(100..u64::MAX, Some(104), NARROW), ["100:0123456789"], "it is known");
        assert_eq!(told(106..u64::MAX, Some(104), WIDE), ["106:60x20", "106:6789"]);
        assert_eq!(told(110..u64::MAX, Some(110), WIDE), ["110:60x20"]);
        assert_eq!(told(500..u64::MAX, Some(450), WIDE), ["500:60x20"], "nothing of it is new");
        assert_eq!(told(100..103, Some(104), WIDE), ["100:012"]);
        assert_eq!(told(7..u64::MAX, None, WIDE), ["100:0123456789"], "what came before is not kept");
    }

    #[test]
    fn a_size_alone_is_told_where_the_recording_ends() {
        let sized = Some((30, NARROW));
        let unrecorded = Unrecorded { position: 30, bytes: Vec::new(), sized };
        let mut told = Vec::new();
        unrecorded.each(30..u64::MAX, WIDE, 0, &mut |entry| told.push((entry.kind, entry.position)));
        assert_eq!(told, [(Kind::Resize, 30)]);
    }
}
