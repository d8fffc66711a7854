//! Input that waits for the terminal, a piece at a time.

use abide_core::keys::unfinished::END;
use abide_core::wire::FINISHING;

use crate::spill::Spill;

/// Of what finishes a client's typing: the end of a paste.
pub(super) const PASTE: u64 = 1;

pub(super) struct Piece {
    /// Whose it is, and its number; of an answer to the program's own query `ANSWERS`, and its position; of what finishes a
    /// client's typing `FINISHING`, and whether it is a `PASTE`.
    pub(super) whose: (u64, u64),
    pub(super) bytes: Vec<u8>,
    pub(super) written: usize,
}

impl Piece {
    /// What finishes the typing of someone who is gone, the last first: what belongs to what is begun, and the end of a paste.
    pub(super) fn finishing(more: Vec<u8>, ends: bool) -> impl Iterator<Item = Self> {
        let end = if ends { END.to_vec() } else { Vec::new() };
        let piece = |(what, bytes)| Self { whose: (FINISHING, what), bytes, written: 0 };
        [(PASTE, end), (0, more)].into_iter().filter(|(_, bytes)| !bytes.is_empty()).map(piece)
    }

    /// What ends the paste of someone who was gone when the guard died, as far as that had not written it.
    pub(super) fn last_words(spill: &Spill) -> Option<Self> {
        let (whose, written) = spill.last_typed();
        let written = if whose == (FINISHING, PASTE) { written.min(END.len()) } else { 0 };
        spill.must_end_paste().then(|| Self { whose: (FINISHING, PASTE), bytes: END.to_vec(), written })
    }
}
