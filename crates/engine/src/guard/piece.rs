//! Input that waits for the terminal, a piece at a time.

use abide_core::keys::unfinished::END;
use abide_core::wire::FINISHING;

use crate::spill::Spill;

/// Of what finishes a client's typing: the end of a paste.
pub(super) const PASTE: u64 = 1;

/// How long a shell may take to read what was typed, and to heed a Ctrl-C, in ms. Nothing tells that it has: what is shown then
/// may be its terminal's own echo.
const PAUSE_MS: u64 = 100;
const CTRL_C: u8 = 0x03;

pub(super) struct Piece {
    /// Whose it is, and its number; of an answer to the program's own query `ANSWERS`, and its position; of what finishes a
    /// client's typing `FINISHING`, and whether it is a `PASTE`.
    pub(super) whose: (u64, u64),
    pub(super) bytes: Vec<u8>,
    pub(super) written: usize,
    /// Whether it interrupts a shell that is to forget what was typed just before, and is to hear what is typed just behind it.
    pub(super) interrupts: bool,
}

impl Piece {
    /// What a guard that died wrote last, and how much of it, is not written again.
    pub(super) fn new(whose: (u64, u64), bytes: Vec<u8>, (begun, written): ((u64, u64), usize)) -> Self {
        let all = begun.0 == whose.0 && begun.1 > whose.1;
        let written = match begun == whose {
            true => written.min(bytes.len()),
            false if all => bytes.len(),
            false => 0,
        };
        Self { whose, bytes, written, interrupts: false }
    }

    /// Of what runs a line in a shell, a Ctrl-C has it forget what was typed.
    pub(super) fn of_line(whose: (u64, u64), bytes: Vec<u8>, begun: ((u64, u64), usize)) -> Self {
        let interrupts = bytes == [CTRL_C];
        Self { interrupts, ..Self::new(whose, bytes, begun) }
    }

    /// What finishes the typing of someone who is gone, the last first: what belongs to what is begun, and the end of a paste.
    pub(super) fn finishing(more: Vec<u8>, ends: bool) -> impl Iterator<Item = Self> {
        let end = if ends { END.to_vec() } else { Vec::new() };
        let piece = |(what, bytes)| Self { whose: (FINISHING, what), bytes, written: 0, interrupts: false };
        [(PASTE, end), (0, more)].into_iter().filter(|(_, bytes)| !bytes.is_empty()).map(piece)
    }

    /// What ends the paste of someone who was gone when the guard died, as far as that had not written it.
    pub(super) fn last_words(spill: &Spill) -> Option<Self> {
        let (whose, written) = spill.last_typed();
        let written = if whose == (FINISHING, PASTE) { written.min(END.len()) } else { 0 };
        let end = || Self { whose: (FINISHING, PASTE), bytes: END.to_vec(), written, interrupts: false };
        spill.must_end_paste().then(end)
    }
}

/// What is typed one after the other with a pause in between, where a shell that is just interrupted would drop some of it.
#[derive(Default)]
pub(super) struct Pause {
    /// When something was typed last.
    typed_at: u64,
    /// Whether that was what interrupts it.
    behind: bool,
}

impl Pause {
    /// This is in the terminal now.
    pub(super) const fn follow(&mut self, piece: &Piece, now: u64) {
        (self.typed_at, self.behind) = (now, piece.interrupts);
    }

    /// Until when this one is not to be typed yet, if it is not.
    pub(super) fn lasts_until(&self, piece: &Piece, now: u64) -> Option<u64> {
        let until = (self.behind || piece.interrupts).then(|| self.typed_at.saturating_add(PAUSE_MS));
        until.filter(|until| *until > now && piece.written == 0)
    }
}
