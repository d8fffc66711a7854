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
/// Of a guard that wrote nothing.
const NOTHING: ((u64, u64), usize) = ((0, 0), 0);

pub(super) struct Piece {
    /// Whose it is, and its number; of an answer to the program's own query `ANSWERS`, and its position; of what finishes a
    /// client's typing `FINISHING`, and whether it is a `PASTE`.
    pub(super) whose: (u64, u64),
    pub(super) bytes: Vec<u8>,
    pub(super) written: usize,
    /// Whether it runs a line in a shell, or has that forget it.
    pub(super) is_line: bool,
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
        Self { whose, bytes, written, is_line: false, interrupts: false }
    }

    /// As the image of the guard before left it.
    pub(super) fn handed((whose, bytes, written): &((u64, u64), Vec<u8>, usize)) -> Self {
        Self { written: (*written).min(bytes.len()), ..Self::new(*whose, bytes.clone(), NOTHING) }
    }

    /// Of what runs a line in a shell, a Ctrl-C has it forget what was typed.
    pub(super) fn of_line(whose: (u64, u64), bytes: Vec<u8>, begun: ((u64, u64), usize)) -> Self {
        let interrupts = bytes == [CTRL_C];
        Self { is_line: true, interrupts, ..Self::new(whose, bytes, begun) }
    }

    /// What finishes the typing of someone who is gone, the last first: what belongs to what is begun, and the end of a paste.
    pub(super) fn finishing(more: Vec<u8>, ends: bool) -> impl Iterator<Item = Self> {
        let end = if ends { END.to_vec() } else { Vec::new() };
        let piece = |(what, bytes)| Self::new((FINISHING, what), bytes, NOTHING);
        [(PASTE, end), (0, more)].into_iter().filter(|(_, bytes)| !bytes.is_empty()).map(piece)
    }

    /// What ends the paste of someone who was gone when the guard died, as far as that had not written it.
    pub(super) fn last_words(spill: &Spill) -> Option<Self> {
        let (whose, written) = spill.last_typed();
        let written = if whose == (FINISHING, PASTE) { written.min(END.len()) } else { 0 };
        let end = || Self { written, ..Self::new((FINISHING, PASTE), END.to_vec(), NOTHING) };
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

/// Whose lines are to be run in a shell: what has that forget one is not typed where it has not got any of it.
#[derive(Default)]
pub(super) struct Lines {
    /// Of whom a line was typed last, or a part of one.
    typed: Option<u64>,
    /// Of whom one was taken back before any of it was.
    recalled: Option<u64>,
}

impl Lines {
    /// Some of this is in the terminal.
    pub(super) const fn typed(&mut self, piece: &Piece) {
        if piece.is_line {
            self.typed = Some(piece.whose.0);
        }
    }

    /// What a client typed and is not in the terminal is taken back, this being the first of it.
    pub(super) fn withdraw(&mut self, client: u64, first: Option<&Piece>) {
        let is_line = first.is_some_and(|piece| piece.is_line);
        self.recalled = (is_line && self.typed != Some(client)).then_some(client);
    }

    /// What is left to type of a piece.
    pub(super) fn without_needless(&self, mut piece: Piece) -> Piece {
        if piece.interrupts && self.recalled == Some(piece.whose.0) {
            piece.bytes.clear();
        }
        piece
    }
}
