//! Search: lines that sessions showed, out of all their recordings. Each session's index is brought up to date first,
//! by whoever searches; where that cannot be kept, it is done in memory.

mod block;
mod gather;
mod hits;
mod index;

use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use abide_core::id::SessionId;
use abide_sys::{clock, poll};

pub use hits::{Hit, Wanted};

use crate::store::{Home, SessionDir};
use crate::truth::Session;
use index::{Index, Writing};

/// How long others who write an index are waited for, in ms, and how often one looks.
const PATIENCE: u64 = 2_000;
const LOOK_AGAIN: u64 = 20;

/// What a search came to.
#[derive(Debug, Default)]
pub struct Found {
    /// The latest first.
    pub hits: Vec<Hit>,
    /// There may be more beyond the limit.
    pub more: bool,
    /// Sessions whose latest lines may be missing, because another search takes them in at this moment.
    pub behind: Vec<SessionId>,
    /// Sessions whose recordings cannot be read, and why.
    pub unread: Vec<(SessionId, String)>,
    /// Why what was taken in could not be kept for the next time.
    pub unkept: Option<String>,
}

/// How far recordings have been taken in, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    pub done: u64,
    pub all: u64,
}

/// One session that is searched.
struct Searched<'a> {
    session: &'a Session,
    dir: SessionDir,
    index: Index,
    /// How much of the recording the index lacks.
    lacks: u64,
}

/// What became of one session.
enum Came {
    Done {
        hits: Vec<Hit>,
        more: bool,
        unkept: Option<io::Error>,
    },
    Unread(io::Error),
    /// Another one writes its index.
    Busy,
}

/// Searches sessions. `progress` is told by whoever works, one at a time.
pub(crate) fn search(
    home: &Home,
    sessions: &[Session],
    wanted: &Wanted,
    progress: &(dyn Fn(Progress) + Sync),
) -> Found {
    let opened = on_all_cores(sessions.iter(), |session| Searched::open(home, session));
    let mut opened: Vec<Searched<'_>> = opened.into_iter().flatten().collect();
    // The longest ones first, so that none is left to one core at the end.
    opened.sort_by_key(|searched| std::cmp::Reverse(searched.lacks));
    let all = opened.iter().map(|searched| searched.lacks).sum();
    let done = AtomicU64::new(0);
    let told = |more: u64| {
        let done = done.fetch_add(more, Ordering::Relaxed) + more;
        progress(Progress { done, all });
    };
    let came = on_all_cores(opened.into_iter(), |mut searched| {
        let came = searched.search(wanted, &told);
        (searched, came)
    });
    let mut found = Found::default();
    let deadline = clock::now().boot + PATIENCE;
    for (mut searched, mut came) in came {
        while let Came::Busy = came {
            if clock::now().boot >= deadline {
                found.behind.push(searched.session.id.clone());
                came = searched.search_as_it_is(wanted);
                break;
            }
            // Nobody tells when a lock is given back.
            let _ = poll::readable(&[], Some(LOOK_AGAIN));
            came = searched.search(wanted, &told);
        }
        found.add(&searched.session.id, came);
    }
    found.hits.sort_by_cached_key(Hit::age);
    found.more |= found.hits.len() > wanted.limit;
    found.hits.truncate(wanted.limit);
    found
}

impl Found {
    fn add(&mut self, id: &SessionId, came: Came) {
        match came {
            Came::Done { hits, more, unkept } => {
                self.hits.extend(hits);
                self.more |= more;
                self.unkept = self.unkept.take().or(unkept.map(|error| error.to_string()));
            }
            Came::Unread(error) => self.unread.push((id.clone(), error.to_string())),
            Came::Busy => self.behind.push(id.clone()),
        }
    }
}

impl<'a> Searched<'a> {
    /// None if there is no recording, or no session any more.
    fn open(home: &Home, session: &'a Session) -> Option<Self> {
        let dir = home.session(&session.id).ok()?;
        let length = dir.recording().ok()?.length().ok()?;
        let index = Index::open(&dir);
        let lacks = if index.is_current(length, session.is_over()) {
            0
        } else {
            length.saturating_sub(index.point.place.offset).max(1)
        };
        Some(Self { session, dir, index, lacks })
    }

    fn search(&mut self, wanted: &Wanted, told: &dyn Fn(u64)) -> Came {
        let mut unkept = None;
        if self.lacks > 0 {
            match self.index.write(&self.dir, self.lacks) {
                Writing::Mine => {}
                Writing::Busy => return Came::Busy,
                Writing::Refused(error) => unkept = Some(error),
            }
            if let Err(error) = self.take_in(told) {
                return Came::Unread(error);
            }
        }
        match hits::of(&self.index, &self.session.id, wanted) {
            Ok((hits, more)) => Came::Done { hits, more, unkept: unkept.or(self.index.unkept()) },
            Err(_) if self.lacks == 0 => {
                // It was damaged, or another one began it anew.
                self.index = Index::empty();
                self.lacks = 1;
                self.search(wanted, told)
            }
            Err(error) => Came::Unread(error),
        }
    }

    fn search_as_it_is(&self, wanted: &Wanted) -> Came {
        let index = Index::open(&self.dir);
        match hits::of(&index, &self.session.id, wanted) {
            Ok((hits, more)) => Came::Done { hits, more, unkept: None },
            Err(_) => Came::Done { hits: Vec::new(), more: false, unkept: None },
        }
    }

    fn take_in(&mut self, told: &dyn Fn(u64)) -> io::Result<()> {
        let recording = self.dir.recording()?;
        let mut before = self.index.point.place.offset;
        let gathered = gather::gather(&mut self.index, &self.dir, self.session, recording, &mut |offset| {
            told(offset.saturating_sub(before));
            before = offset;
        });
        self.index.rest();
        gathered
    }
}

/// Does something with each of many, on as many cores as there are.
fn on_all_cores<T: Send, R: Send>(
    many: impl Iterator<Item = T> + Send,
    act: impl Fn(T) -> R + Sync,
) -> Vec<R> {
    let many = Mutex::new(many);
    let next = || many.lock().ok()?.next();
    let work = || std::iter::from_fn(next).map(&act).collect::<Vec<_>>();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        // Where no thread can be had, this one does it alone.
        let start = |_| std::thread::Builder::new().spawn_scoped(scope, work).ok();
        let others: Vec<_> = (1..cores).filter_map(start).collect();
        let mut done = work();
        done.extend(others.into_iter().filter_map(|other| other.join().ok()).flatten());
        done
    })
}
