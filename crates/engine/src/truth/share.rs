//! Work on many things that the cores share. Knows nothing of what is done.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{Builder, ScopedJoinHandle};

/// So many are done in a row. Others may be at work on a core, so nobody is given a part of it all beforehand.
const PIECE: usize = 8;

/// What is made of each, in order; what nothing is made of is left out. One thread does it all where that is soon done.
pub(super) fn among_cores<T: Sync, R: Send>(
    things: &[T],
    make: &(impl Fn(&T) -> Option<R> + Sync),
) -> Vec<R> {
    let pieces: Vec<&[T]> = things.chunks(PIECE).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        let mut made = Vec::new();
        while let number = next.fetch_add(1, Ordering::Relaxed)
            && let Some(piece) = pieces.get(number)
        {
            made.push((number, piece.iter().filter_map(make).collect::<Vec<R>>()));
        }
        made
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = if pieces.len() > 2 { cores.min(pieces.len()) } else { 0 };
    let mut made = std::thread::scope(|scope| {
        // This thread only waits: beside one that works, a kernel often starts the next on the same core.
        let start = |_| Builder::new().spawn_scoped(scope, work).ok();
        let threads: Vec<ScopedJoinHandle<'_, _>> = (0..threads).map_while(start).collect();
        // Where no thread can be had, this one does it.
        let alone = if threads.is_empty() { work() } else { Vec::new() };
        let join = |thread: ScopedJoinHandle<'_, _>| {
            thread.join().unwrap_or_else(|broken| std::panic::resume_unwind(broken))
        };
        threads.into_iter().flat_map(join).chain(alone).collect::<Vec<_>>()
    });
    made.sort_by_key(|(number, _)| *number);
    made.into_iter().flat_map(|(_, of_piece)| of_piece).collect()
}
