//! History: the lines that scrolled off the top of the main screen, packed and bounded.
//! Lines beyond the bound are counted, not kept.

use std::collections::VecDeque;

use super::packed::Packed;
use super::row::Row;

/// What a line may take on average before the oldest are let go: only crowds of long links take as much.
const BYTES_A_LINE: usize = 4096;

#[derive(Debug, Clone)]
pub(crate) struct History {
    lines: VecDeque<Packed>,
    limit: usize,
    bytes: usize,
    evicted: u64,
}

impl History {
    pub(crate) const fn new(limit: usize) -> Self {
        Self { lines: VecDeque::new(), limit, bytes: 0, evicted: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.lines.len()
    }

    pub(crate) const fn limit(&self) -> usize {
        self.limit
    }

    /// How many lines were let go since the beginning.
    pub(crate) const fn evicted(&self) -> u64 {
        self.evicted
    }

    pub(crate) fn set_evicted(&mut self, evicted: u64) {
        self.evicted = evicted;
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &Packed> + ExactSizeIterator {
        self.lines.iter()
    }

    pub(crate) fn push(&mut self, row: &Row) {
        if self.limit == 0 {
            self.evicted += 1;
        } else {
            self.push_packed(Packed::of(row));
        }
    }

    pub(crate) fn push_packed(&mut self, line: Packed) {
        self.bytes += line.bytes().len();
        self.lines.push_back(line);
        while self.lines.len() > self.limit || self.bytes > self.limit.saturating_mul(BYTES_A_LINE) {
            let Some(oldest) = self.lines.pop_front() else { break };
            self.bytes -= oldest.bytes().len();
            self.evicted += 1;
        }
    }

    /// Takes all lines, the oldest first, and leaves the bound and the count.
    pub(crate) fn take(&mut self) -> VecDeque<Packed> {
        self.bytes = 0;
        std::mem::take(&mut self.lines)
    }
}
