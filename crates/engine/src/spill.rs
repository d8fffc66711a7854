//! The spill: output that is not on record, in memory that guard and host share. What a guard had read when it
//! died is recorded by the next one, and what the disk has no room for still reaches the screen.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::atomic::fence;

use abide_core::evidence::Size;
use abide_core::keys::unfinished::Unfinished;
use abide_core::recording::unrecorded::Unrecorded;
use abide_core::recording::{HEADER, Kind};
use abide_core::wire::{ANSWERS, CLIENTS};
use abide_sys::shared::Shared;

/// How much of what the program wrote becomes one entry.
pub(crate) const BATCH: usize = 64 * 1024;
/// How much of what has no room on the disk is kept for the screen.
const RING: usize = 256 * 1024;
/// Where the ring begins, behind a batch with its header.
const RING_AT: usize = HEADER + BATCH;
/// How often a reader tries to copy the ring while the guard writes to it.
const TRIES: u32 = 16;

/// The batch: how long it is, which output it is, and whether a read is under way.
const LENGTH: usize = 0;
const POSITION: usize = 1;
const KIND: usize = 2;
const READING: usize = 3;
/// The ring: odd while it is written, the position of its end, and how many bytes before that it holds.
const TURN: usize = 4;
const END: usize = 5;
const HELD: usize = 6;
/// The input that is being written to the terminal: whose, its number, and how much of it was written.
const TYPIST: usize = 7;
const TYPED: usize = 8;
const WRITTEN: usize = 9;
/// Queries up to this position were answered.
const ANSWERED: usize = 10;
/// How much output there has been, recorded or kept, and how many entries are on record.
const REACHED: usize = 11;
const ENTRIES: usize = 12;
/// The size of the terminal where that is not on record, else 0; and how much output came before it had that size.
const SIZE: usize = 13;
const SIZED_AT: usize = 14;
/// Who alone types, what of theirs stands unfinished in the terminal, and whether a paste of someone who is gone is to be ended.
const HOLDER: usize = 16;
const UNFINISHED: usize = 17;
const ENDING: usize = 18;
/// Clients of whom something was taken that is not in the terminal: each with the number of the first such thing.
const OWED: usize = 24;

#[derive(Debug)]
pub(crate) struct Spill {
    memory: Shared,
    /// So much of the batch's room may not be zero.
    used: usize,
}

/// What a guard left in the batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Left {
    pub(crate) kind: Kind,
    pub(crate) position: u64,
    pub(crate) length: usize,
}

impl Spill {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self { memory: Shared::new(RING_AT + RING)?, used: 0 })
    }

    pub(crate) fn of(fd: OwnedFd) -> io::Result<Self> {
        Ok(Self { memory: Shared::of(fd, RING_AT + RING)?, used: BATCH })
    }

    /// A new batch of the output that comes at this position. Its room is all zeros, so that what a read has brought
    /// can be told even if its reader was killed before it could say how much that was.
    pub(crate) fn begin(&mut self, kind: Kind, position: u64) {
        self.put(LENGTH, 0);
        let used = std::mem::take(&mut self.used);
        self.memory.bytes_mut()[HEADER..HEADER + used].fill(0);
        self.put(KIND, u64::from(kind as u8));
        self.put(POSITION, position);
    }

    /// Lets `read` add to the batch behind its first `length` bytes. Gives what it answered.
    pub(crate) fn read(
        &mut self,
        length: usize,
        read: impl FnOnce(&mut [u8]) -> io::Result<usize>,
    ) -> io::Result<usize> {
        self.put(READING, 1);
        let got = read(&mut self.memory.bytes_mut()[HEADER + length..RING_AT]);
        if let Ok(got) = got {
            self.used = self.used.max(length + got);
            self.put(LENGTH, (length + got) as u64);
        }
        self.put(READING, 0);
        got
    }

    /// The batch as it is to be recorded.
    pub(crate) fn batch(&mut self, length: usize) -> &mut [u8] {
        &mut self.memory.bytes_mut()[HEADER..HEADER + length]
    }

    /// The batch behind its header: a whole frame.
    pub(crate) fn frame(&mut self, header: [u8; HEADER], length: usize) -> &[u8] {
        let bytes = self.memory.bytes_mut();
        bytes[..HEADER].copy_from_slice(&header);
        &bytes[..HEADER + length]
    }

    /// The batch is on record, or kept.
    pub(crate) fn done(&self) {
        self.put(LENGTH, 0);
    }

    /// Keeps the batch for the screen, as there is no room for it on the disk.
    pub(crate) fn keep(&mut self, position: u64, length: usize) {
        let turn = self.get(TURN);
        let follows = self.get(END) == position;
        self.put(TURN, turn | 1);
        fence(Release);
        let (batch, ring) = self.memory.bytes_mut().split_at_mut(RING_AT);
        for (at, &byte) in (position..).zip(&batch[HEADER..HEADER + length]) {
            ring[(at % RING as u64) as usize] = byte;
        }
        let held = if follows { self.get(HELD) } else { 0 };
        self.put(HELD, (held + length as u64).min(RING as u64));
        self.put(END, position + length as u64);
        self.put(TURN, (turn | 1) + 1);
    }

    /// The terminal has this size from this position on, and that is not on record; with none, its size is.
    pub(crate) fn resize(&self, sized: Option<(u64, Size)>) {
        if let Some((position, _)) = sized {
            self.put(SIZED_AT, position);
        }
        let packed = |size: Size| u64::from(size.cols) << 16 | u64::from(size.rows);
        self.put(SIZE, sized.map_or(0, |(_, size)| packed(size)));
    }

    /// The size of the terminal that is not on record, and since which position it has it.
    pub(crate) fn size(&self) -> Option<(u64, Size)> {
        let packed = self.get(SIZE);
        let half = |word: u64| (word & 0xffff) as u16;
        let size = Size { cols: half(packed >> 16), rows: half(packed) };
        (packed > 0).then(|| (self.get(SIZED_AT), size))
    }

    /// What is not on record behind a position, as much of it as is kept.
    pub(crate) fn unrecorded(&self, behind: u64) -> Unrecorded {
        let (position, bytes) = self.since(behind).unwrap_or((behind, Vec::new()));
        Unrecorded { position, bytes, sized: self.size() }
    }

    /// What is kept of the output behind a position, and where that begins: later if not all of it is kept.
    fn since(&self, position: u64) -> Option<(u64, Vec<u8>)> {
        for _ in 0..TRIES {
            let turn = self.get(TURN);
            let (end, held) = (self.get(END), self.get(HELD));
            if turn % 2 == 1 {
                std::thread::yield_now();
                continue;
            }
            if end <= position {
                return None;
            }
            let from = position.max(end.saturating_sub(held));
            let (first, length) = ((from % RING as u64) as usize, (end - from) as usize);
            let behind = length.min(RING - first);
            let mut bytes = self.memory.copy(RING_AT + first..RING_AT + first + behind);
            bytes.extend(self.memory.copy(RING_AT..RING_AT + length - behind));
            fence(Acquire);
            if self.get(TURN) == turn {
                return Some((from, bytes));
            }
        }
        // It is written faster than it can be read; the next nudge comes soon.
        None
    }

    /// So much of this input has been written to the terminal.
    pub(crate) fn typed(&self, (client, seq): (u64, u64), written: usize) {
        // Between these nobody's number is there, so that no two typists are mixed up.
        self.put(WRITTEN, 0);
        self.put(TYPED, 0);
        self.put(TYPIST, client);
        self.put(TYPED, seq);
        self.put(WRITTEN, written as u64);
        if client == ANSWERS {
            self.put(ANSWERED, seq);
        }
    }

    /// Something with this number was taken of a client, and everything of it before that is in the terminal.
    pub(crate) fn owe(&self, client: u64, seq: u64) {
        let known = |slot: &usize| self.get(*slot) == client;
        let free = || slots().find(|slot| self.get(*slot) == 0);
        // There are as many as clients are remembered.
        if let Some(slot) = slots().find(known).or_else(free) {
            self.put(slot + 1, seq);
            self.put(slot, client);
        }
    }

    /// All that was taken of a client is in the terminal, or never will be.
    pub(crate) fn settle(&self, client: u64) {
        slots().filter(|slot| self.get(*slot) == client).for_each(|slot| self.put(slot, 0));
    }

    /// The clients of whom something was taken that is not in the terminal, and the number of the first such thing.
    pub(crate) fn owed(&self) -> Vec<(u64, u64)> {
        let used = slots().filter(|slot| self.get(*slot) != 0);
        used.map(|slot| (self.get(slot), self.get(slot + 1))).collect()
    }

    /// This client alone types from now on; with 0, none does.
    pub(crate) fn hold(&self, client: u64) {
        self.put(HOLDER, 0);
        self.put(UNFINISHED, 0);
        self.put(HOLDER, client);
    }

    /// Who alone types.
    pub(crate) fn holder(&self) -> Option<u64> {
        Some(self.get(HOLDER)).filter(|client| *client != 0)
    }

    /// How what the holder typed so far ends.
    pub(crate) fn leave_unfinished(&self, unfinished: Unfinished) {
        self.put(UNFINISHED, unfinished.to_word());
    }

    pub(crate) fn unfinished(&self) -> Unfinished {
        Unfinished::from_word(self.get(UNFINISHED))
    }

    /// The paste of someone who is gone is to be ended, or is.
    pub(crate) fn end_paste(&self, due: bool) {
        self.put(ENDING, u64::from(due));
    }

    pub(crate) fn must_end_paste(&self) -> bool {
        self.get(ENDING) == 1
    }

    /// So much output is recorded or kept, and so many entries are on record.
    pub(crate) fn reach(&self, position: u64, entries: u64) {
        self.put(REACHED, position);
        self.put(ENTRIES, entries);
    }

    /// How far guards have come, whatever became of the recording since.
    pub(crate) fn reached(&self) -> (u64, u64) {
        (self.get(REACHED), self.get(ENTRIES))
    }

    /// Up to where queries were answered.
    pub(crate) fn answered(&self) -> u64 {
        self.get(ANSWERED)
    }

    /// The last input that a guard wrote to the terminal, and how much of it.
    pub(crate) fn last_typed(&self) -> ((u64, u64), usize) {
        let written = usize::try_from(self.get(WRITTEN)).unwrap_or(0);
        ((self.get(TYPIST), self.get(TYPED)), written)
    }

    /// What a guard that is dead had read and not recorded, the read that it died over included: but for zeros at the
    /// end of that, which cannot be told from room.
    pub(crate) fn left(&self) -> Left {
        let mut length = usize::try_from(self.get(LENGTH)).unwrap_or(0).min(BATCH);
        if self.get(READING) == 1 {
            let room = self.memory.copy(HEADER + length..RING_AT);
            length += room.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
        }
        let kind = u8::try_from(self.get(KIND)).ok().and_then(Kind::from_byte).unwrap_or(Kind::Output);
        Left { kind, position: self.get(POSITION), length }
    }

    fn put(&self, word: usize, value: u64) {
        self.memory.word(word).store(value, Release);
    }

    fn get(&self, word: usize) -> u64 {
        self.memory.word(word).load(Acquire)
    }
}

fn slots() -> impl Iterator<Item = usize> {
    (OWED..OWED + 2 * CLIENTS).step_by(2)
}

impl AsFd for Spill {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.memory.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(spill: &mut Spill, position: u64, bytes: &[u8]) {
        spill.begin(Kind::Output, position);
        let read = spill.read(0, |room| {
            room[..bytes.len()].copy_from_slice(bytes);
            Ok(bytes.len())
        });
        spill.keep(position, read.unwrap());
        spill.done();
    }

    #[test]
    fn what_was_read_outlives_whoever_read_it() {
        let mut guard = Spill::new().unwrap();
        guard.begin(Kind::Errors, 70);
        for piece in [&b"one "[..], b"two"] {
            let length = guard.left().length;
            let read = guard.read(length, |room| {
                room[..piece.len()].copy_from_slice(piece);
                Ok(piece.len())
            });
            assert_eq!(read.unwrap(), piece.len());
        }
        let mut next = Spill::of(guard.as_fd().try_clone_to_owned().unwrap()).unwrap();
        drop(guard);
        assert_eq!(next.left(), Left { kind: Kind::Errors, position: 70, length: 7 });
        assert_eq!(next.batch(7), b"one two");
        next.done();
        assert_eq!(next.left().length, 0);
    }

    #[test]
    fn what_a_read_brought_outlives_a_reader_that_was_killed_over_it() {
        let mut guard = Spill::new().unwrap();
        kept(&mut guard, 0, b"an earlier and longer batch");
        guard.begin(Kind::Output, 27);
        let _ = guard.read(0, |room| {
            room[..3].copy_from_slice(b"one");
            Ok(3)
        });
        // As the kernel leaves it: the bytes are there, and nobody said how many.
        guard.put(READING, 1);
        guard.memory.bytes_mut()[HEADER + 3..HEADER + 8].copy_from_slice(b" two\n");
        let mut next = Spill::of(guard.as_fd().try_clone_to_owned().unwrap()).unwrap();
        drop(guard);
        assert_eq!(next.left(), Left { kind: Kind::Output, position: 27, length: 8 });
        assert_eq!(next.batch(8), b"one two\n");
        next.begin(Kind::Output, 35);
        assert!(next.batch(BATCH).iter().all(|&byte| byte == 0));
        assert_eq!(next.left().length, 0);
    }

    #[test]
    fn the_screen_gets_what_the_disk_has_no_room_for() {
        let mut guard = Spill::new().unwrap();
        let host = Spill::of(guard.as_fd().try_clone_to_owned().unwrap()).unwrap();
        assert_eq!(host.since(0), None);
        kept(&mut guard, 100, b"abc");
        kept(&mut guard, 103, b"def");
        assert_eq!(host.since(100), Some((100, b"abcdef".to_vec())));
        assert_eq!(host.since(104), Some((104, b"ef".to_vec())));
        assert_eq!(host.since(106), None);
        assert_eq!(host.since(7), Some((100, b"abcdef".to_vec())), "what came before is not there");
        kept(&mut guard, 500, b"later");
        assert_eq!(host.since(106), Some((500, b"later".to_vec())), "between them the disk had room");
    }

    #[test]
    fn the_screen_learns_a_size_that_is_not_on_record() {
        let guard = Spill::new().unwrap();
        let host = Spill::of(guard.as_fd().try_clone_to_owned().unwrap()).unwrap();
        assert_eq!(host.size(), None);
        let sized = Some((70, Size { cols: 65_535, rows: 1 }));
        guard.resize(sized);
        assert_eq!(host.unrecorded(70), Unrecorded { position: 70, bytes: Vec::new(), sized });
        guard.resize(None);
        assert_eq!(host.size(), None);
    }

    #[test]
    fn of_more_than_there_is_room_for_the_latest_is_kept() {
        let mut guard = Spill::new().unwrap();
        let all: Vec<u8> = (0..RING + 3 * BATCH).map(|n| (n % 251) as u8).collect();
        for (number, piece) in all.chunks(BATCH / 2 + 1).enumerate() {
            kept(&mut guard, (number * (BATCH / 2 + 1)) as u64, piece);
        }
        let (from, bytes) = guard.since(0).unwrap();
        assert_eq!(from as usize, all.len() - RING);
        assert!(bytes == all[all.len() - RING..]);
    }
}
