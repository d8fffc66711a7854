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
use abide_core::search::Point;
use abide_sys::{clock, poll};

use hits::Between;
pub use hits::{Hit, Wanted};

use crate::recording::damage::in_places;
use crate::recording::limit::{failed, recorded_at};
use crate::recording::whole::{self, Due};
use crate::store::{Home, SessionDir};
use crate::truth::{Session, Truth};
use index::Index;

/// How long others who write an index are waited for since it grew, in ms, and how often one looks.
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
    /// Sessions whose recordings cannot be read, and that in a sentence, with why.
    pub unread: Vec<(SessionId, String)>,
    /// Sessions whose recordings have gaps, where nothing can be found, and what they are.
    pub gaps: Vec<(SessionId, String)>,
    /// Why what was taken in could not be kept for the next time.
    pub unkept: Option<String>,
}

/// How far recordings have been taken in, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    pub done: u64,
    pub all: u64,
}

/// What became of one session.
enum Came {
    Done(Searched),
    Unread(io::Error),
    /// Another one writes its index.
    Busy,
}

/// What was found in one session.
#[derive(Default)]
struct Searched {
    hits: Vec<Hit>,
    more: bool,
    gaps: Option<String>,
    unkept: Option<io::Error>,
}

/// Searches sessions. `progress` is told by whoever works.
pub(crate) fn search(
    (truth, home): (&Truth, &Home),
    sessions: &[Session],
    wanted: &Wanted,
    progress: &(dyn Fn(Progress) + Sync),
) -> Found {
    let mut lacking = on_all_cores(sessions.iter(), |session| (lacks(home, session), session));
    // The longest ones first, so that none is left to one core at the end.
    lacking.sort_by_key(|(lacks, _)| std::cmp::Reverse(*lacks));
    let all = lacking.iter().map(|(lacks, _)| lacks).sum();
    let done = AtomicU64::new(0);
    let told = |more: u64| {
        let done = done.fetch_add(more, Ordering::Relaxed) + more;
        progress(Progress { done, all });
    };
    let now = truth.now();
    let between = |session: &Session| {
        let [from, to] = [wanted.from, wanted.to].map(|time| recorded_at(home, session, time, now));
        Between { from, to }
    };
    let ask = |session| search_one(home, session, (wanted, between(session)), &told);
    let came = on_all_cores(lacking.into_iter(), |(_, session)| (session, ask(session)));
    let mut found = Found::default();
    let mut deadline = clock::now().boot + PATIENCE;
    for (session, mut came) in came {
        let mut bytes = written(home, session);
        while let Came::Busy = came
            && clock::now().boot < deadline
        {
            // Nobody tells when a lock is given back.
            let _ = poll::readable(&[], Some(LOOK_AGAIN));
            came = ask(session);
            let before = std::mem::replace(&mut bytes, written(home, session));
            if bytes != before {
                deadline = clock::now().boot + PATIENCE;
            }
        }
        found.add(home, session, (wanted, between(session)), came);
    }
    found.hits.sort_unstable_by(Hit::by_age);
    found.more |= found.hits.len() > wanted.limit;
    found.hits.truncate(wanted.limit);
    found
}

impl Found {
    fn add(&mut self, home: &Home, session: &Session, wanted: (&Wanted, Between), came: Came) {
        let Searched { hits, more, gaps, unkept } = match came {
            Came::Done(searched) => searched,
            Came::Unread(error) => {
                let failure = failed((&session.id, session.verdict.status), &error);
                self.unread.push((session.id.clone(), failure.message));
                return;
            }
            Came::Busy => {
                self.behind.push(session.id.clone());
                search_as_it_is(home, session, wanted)
            }
        };
        self.gaps.extend(gaps.map(|gaps| (session.id.clone(), gaps)));
        match self.hits.is_empty() {
            true => self.hits = hits,
            false => self.hits.extend(hits),
        }
        self.more |= more;
        self.unkept = self.unkept.take().or(unkept.map(|error| error.to_string()));
    }
}

/// A session's directory and how long its recording is; none if there is no recording, or no session any more.
fn open(home: &Home, session: &Session) -> io::Result<Option<(SessionDir, u64)>> {
    let Ok(dir) = home.session(&session.id) else {
        return Ok(None);
    };
    match dir.recording().and_then(|recording| recording.length()) {
        Ok(length) => Ok(Some((dir, length))),
        Err(error) if error.kind() == io::ErrorKind::NotFound && !whole::is_expected(session) => Ok(None),
        Err(error) => Err(error),
    }
}

/// How many lines another one has put away so far, in bytes.
fn written(home: &Home, session: &Session) -> Option<u64> {
    let file = home.session(&session.id).ok()?.index_lines().ok()?;
    file.metadata().ok().map(|metadata| metadata.len())
}

/// What cannot be found, because it is missing in the recording.
fn gaps(index: &Index, session: &Session) -> Option<String> {
    let Point { gaps, place, .. } = &index.point;
    let places = (*gaps > 0).then(|| format!("the recording has gaps {}", in_places(*gaps)));
    let mut due = Due::of(session, u64::MAX);
    let position = place.position;
    let end = if session.is_over() { due.missing_at(position) } else { due.cut_at(position) };
    let told: Vec<String> = places.into_iter().chain(end.map(|end| end.says())).collect();
    (!told.is_empty()).then(|| told.join("; "))
}

/// How much of a recording its index lacks.
fn lacks(home: &Home, session: &Session) -> u64 {
    open(home, session).ok().flatten().map_or(0, |(dir, length)| match index::reach(&dir) {
        Some((read_to, _)) if read_to == length => 0,
        Some((_, offset)) => length.saturating_sub(offset),
        None => length,
    })
}

fn search_one(
    home: &Home,
    session: &Session,
    (wanted, between): (&Wanted, Between),
    told: &dyn Fn(u64),
) -> Came {
    let (dir, length) = match open(home, session) {
        Ok(Some(open)) => open,
        Ok(None) => return Came::Done(Searched::default()),
        Err(error) => return Came::Unread(error),
    };
    let mut index = Index::open(&dir);
    let is_current = index.is_current(length, session.is_over());
    if !is_current && let Some(came) = take_in(&mut index, &dir, session, told) {
        return came;
    }
    let mut hits = hits::of(&index, &session.id, wanted, between);
    if hits.is_err() {
        // It is damaged, or another one has begun it anew.
        index.distrust();
        if let Some(came) = take_in(&mut index, &dir, session, told) {
            return came;
        }
        hits = hits::of(&index, &session.id, wanted, between);
    }
    match hits {
        Ok((hits, more)) => {
            let gaps = gaps(&index, session);
            Came::Done(Searched { hits, more, gaps, unkept: index.unkept() })
        }
        Err(error) => Came::Unread(error),
    }
}

/// Searches what there is of an index.
fn search_as_it_is(home: &Home, session: &Session, (wanted, between): (&Wanted, Between)) -> Searched {
    let index = open(home, session).ok().flatten().map(|(dir, _)| Index::open(&dir));
    let hits = index.and_then(|index| hits::of(&index, &session.id, wanted, between).ok());
    hits.map_or_else(Searched::default, |(hits, more)| Searched { hits, more, ..Searched::default() })
}

/// Takes in what the index lacks, and says if that could not be done.
fn take_in(index: &mut Index, dir: &SessionDir, session: &Session, told: &dyn Fn(u64)) -> Option<Came> {
    if !index.write(dir) {
        return Some(Came::Busy);
    }
    let mut before = index.point.place.offset;
    let gathered = gather::gather(index, dir, session, &mut |offset| {
        told(offset.saturating_sub(before));
        before = offset;
    });
    index.rest();
    match gathered {
        Ok(()) => None,
        // It was removed meanwhile.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Some(Came::Done(Searched::default())),
        Err(error) => Some(Came::Unread(error)),
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
