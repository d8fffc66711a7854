//! Every fact of sessions, in order, and as they come. Files are read; that one has grown is learnt from hints where
//! there are any, and all are looked at again after a while whatever was or was not hinted.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};

use abide_core::evidence::frame::{Damage, Flaw, Found, Scanner};
use abide_core::evidence::{Body, Witness};
use abide_core::failure::Failure;
use abide_core::id::SessionId;
use abide_sys::poll::{self, Interest};
use abide_sys::watch::Watch;
use abide_sys::{clock, disk};

use crate::Sessions;
use crate::store::{Home, LONGEST, SessionDir};

/// A fact of a session, or a place in its evidence that cannot be read.
#[derive(Debug, Clone, PartialEq)]
pub struct Witnessed {
    pub session: SessionId,
    pub found: Found,
}

/// Whose facts are wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// Of every session there is, and while they are followed of every one that comes.
    All,
    These(Vec<SessionId>),
}

impl Sessions {
    /// Gives every fact of sessions, in order.
    ///
    /// # Errors
    /// If the home cannot be listed.
    pub fn facts(&self, wanted: &Wanted, given: &mut impl FnMut(Witnessed) -> bool) -> Result<(), Failure> {
        self.home.as_ref().map_or(Ok(()), |home| recorded(home, wanted, given))
    }

    /// The same, and then every fact that comes, as long as anybody reads what they are written to.
    ///
    /// # Errors
    /// If the home cannot be listed.
    pub fn follow_facts(
        &self,
        wanted: Wanted,
        reader: BorrowedFd<'_>,
        given: &mut impl FnMut(Witnessed) -> bool,
    ) -> Result<(), Failure> {
        if let Some(home) = &self.home {
            return follow(home, wanted, reader, given);
        }
        // The first session makes the home.
        while await_home(reader) {
            if let Some(home) = Home::open(&self.path)? {
                return follow(&home, wanted, reader, given);
            }
        }
        Ok(())
    }
}

/// How long it may take to notice what no hint told of: where every file is watched, and where one is not.
const RESCAN_MS: u64 = 5_000;
const BLIND_RESCAN_MS: u64 = 1_000;
/// So many files are kept open, so that what is said of a session while it is removed is read too.
const HELD: usize = 256;
/// How often a line that is being written is read again before it counts as torn.
const ROUNDS: u32 = 64;

/// Gives all facts that are on record, in the order of their times and within a session in the order of its file.
pub(crate) fn recorded(
    home: &Home,
    wanted: &Wanted,
    given: &mut impl FnMut(Witnessed) -> bool,
) -> Result<(), Failure> {
    let mut all = Readers::new(wanted.clone());
    all.find(home)?;
    let mut batch = all.read(home, None);
    batch.extend(all.readers.values_mut().flat_map(Reader::finish));
    give(batch, given);
    Ok(())
}

/// Gives all facts that are on record and then those that come, as long as they are wanted, there is anybody to read them
/// (`reader` is what they are written to), and one of the sessions that were asked for is still there.
fn follow(
    home: &Home,
    wanted: Wanted,
    reader: BorrowedFd<'_>,
    given: &mut impl FnMut(Witnessed) -> bool,
) -> Result<(), Failure> {
    let mut all = Readers::new(wanted);
    // Watched before it is read: what comes in between is hinted at.
    let mut hints = Hints::new(home);
    all.find(home)?;
    let mut grown = None;
    loop {
        for (id, known) in &mut all.readers {
            hints.watch(home, id, known);
        }
        let batch = all.read(home, grown.as_deref());
        if !give(batch, given) || all.is_over() {
            return Ok(());
        }
        let (names, numbers) = match hints.wait(reader) {
            Hint::NoReader => return Ok(()),
            Hint::Some { names, grown } => (names, Some(grown)),
            Hint::Anything => (true, None),
        };
        if names {
            all.find(home)?;
        }
        grown = numbers;
    }
}

/// Waits until there may be a home. False if nobody is left to read.
fn await_home(reader: BorrowedFd<'_>) -> bool {
    let gone = poll::wait(&[Interest { fd: reader, read: false, write: false }], Some(BLIND_RESCAN_MS));
    !gone[0].read
}

/// What is new, the earlier first. Within a session no fact passes another, whatever its clock said.
fn give(mut batch: Vec<(i64, Witnessed)>, given: &mut impl FnMut(Witnessed) -> bool) -> bool {
    batch.sort_by_key(|(at, _)| *at);
    batch.into_iter().all(|(_, witnessed)| given(witnessed))
}

struct Readers {
    wanted: Wanted,
    readers: BTreeMap<SessionId, Reader>,
}

impl Readers {
    const fn new(wanted: Wanted) -> Self {
        Self { wanted, readers: BTreeMap::new() }
    }

    /// Takes up sessions that are new, and marks those that are gone.
    fn find(&mut self, home: &Home) -> Result<(), Failure> {
        let there: BTreeSet<SessionId> = home.ids()?.into_iter().collect();
        for (id, known) in &mut self.readers {
            known.gone = !there.contains(id);
        }
        let wanted = match &self.wanted {
            Wanted::All => there,
            Wanted::These(ids) => ids.iter().filter(|id| there.contains(id)).cloned().collect(),
        };
        for id in wanted {
            self.readers.entry(id.clone()).or_insert_with(|| Reader::new(id));
        }
        Ok(())
    }

    /// Reads what is new of those that have grown, or of all; those that are gone for the last time.
    fn read(&mut self, home: &Home, grown: Option<&[i32]>) -> Vec<(i64, Witnessed)> {
        let mut batch = Vec::new();
        let has_grown = |known: &Reader| {
            grown.is_none_or(|grown| known.watch.is_some_and(|number| grown.contains(&number)))
        };
        for known in self.readers.values_mut() {
            if !(known.fresh || known.gone || has_grown(known)) {
                continue;
            }
            known.fresh = false;
            batch.extend(known.read(home));
        }
        self.readers.retain(|_, known| !known.gone);
        batch
    }

    /// None of those that were asked for is there any more.
    fn is_over(&self) -> bool {
        self.wanted != Wanted::All && self.readers.is_empty()
    }
}

/// One session's evidence, being read as it grows.
struct Reader {
    id: SessionId,
    held: Option<File>,
    /// What stands for it among the hints.
    watch: Option<i32>,
    offset: u64,
    scanner: Scanner,
    /// The latest time of its facts so far.
    at: i64,
    closed: bool,
    /// What was told from the slot, should the log have it later.
    told: Vec<(Witness, u64)>,
    /// It has never been read.
    fresh: bool,
    gone: bool,
}

impl Reader {
    fn new(id: SessionId) -> Self {
        Self {
            id,
            held: None,
            watch: None,
            offset: 0,
            scanner: Scanner::default(),
            at: i64::MIN,
            closed: false,
            told: Vec::new(),
            fresh: true,
            gone: false,
        }
    }

    fn read(&mut self, home: &Home) -> Vec<(i64, Witnessed)> {
        let dir = home.session(&self.id).ok();
        let mut found = Vec::new();
        for _ in 0..ROUNDS {
            let file = match &self.held {
                Some(file) => file.try_clone().ok(),
                None => dir.as_ref().and_then(|dir| dir.evidence().ok()),
            };
            found.extend(file.map(|file| self.advance(&file)).unwrap_or_default());
            if !self.scanner.is_mid_line() {
                break;
            }
            std::thread::yield_now();
        }
        if !self.closed {
            found.extend(dir.map(|dir| self.slot(&dir)).unwrap_or_default());
        }
        found.into_iter().map(|found| self.witnessed(found)).collect()
    }

    fn advance(&mut self, file: &File) -> Vec<Found> {
        let mut found = Vec::new();
        let (scanner, told) = (&mut self.scanner, &mut self.told);
        let mut take = |_, one: Found| {
            let known = match &one {
                Found::Fact(fact) => told.iter().position(|known| *known == (fact.witness, fact.seq)),
                Found::Damage(_) => None,
            };
            match known {
                Some(at) => drop(told.swap_remove(at)),
                None => found.push(one),
            }
        };
        let left = LONGEST.saturating_sub(self.offset);
        if left == 0 {
            return found;
        }
        let offset = &mut self.offset;
        // What was read before it failed was told.
        let _ = disk::read_pieces(file, *offset, left, |piece| {
            scanner.feed(piece, &mut take);
            *offset += piece.len() as u64;
        });
        if self.offset >= LONGEST {
            found.push(Found::Damage(Damage { offset: self.offset, length: 0, flaw: Flaw::Endless }));
        }
        self.closed |= found.iter().any(closes);
        found
    }

    /// What the guard could say only in the slot.
    fn slot(&mut self, dir: &SessionDir) -> Vec<Found> {
        let mut found = Vec::new();
        let mut scanner = Scanner::default();
        if let Ok(bytes) = dir.slot(&mut [0; disk::Slot::SIZE]) {
            scanner.feed(bytes, &mut |_, one| found.push(one));
        }
        let told = &mut self.told;
        found.retain(|one| match one {
            Found::Fact(fact) if !told.contains(&(fact.witness, fact.seq)) => {
                told.push((fact.witness, fact.seq));
                true
            }
            Found::Fact(_) | Found::Damage(_) => false,
        });
        self.closed |= found.iter().any(closes);
        found
    }

    /// Nothing more comes: what is not whole is torn.
    fn finish(&mut self) -> Vec<(i64, Witnessed)> {
        let mut found = Vec::new();
        self.scanner.finish(&mut |_, one| found.push(one));
        found.into_iter().map(|found| self.witnessed(found)).collect()
    }

    fn witnessed(&mut self, found: Found) -> (i64, Witnessed) {
        if let Found::Fact(fact) = &found {
            self.at = self.at.max(fact.at.wall);
        }
        (self.at, Witnessed { session: self.id.clone(), found })
    }
}

/// Whether this ends a session, so that the slot has nothing to add.
fn closes(found: &Found) -> bool {
    match found {
        Found::Fact(fact) => matches!(fact.body, Body::Ended(_) | Body::ExecFailed(_) | Body::Removed(_)),
        Found::Damage(_) => false,
    }
}

enum Hint {
    /// Only these may have grown, and sessions may have come or gone.
    Some {
        names: bool,
        grown: Vec<i32>,
    },
    Anything,
    NoReader,
}

/// Who tells that something may be new.
struct Hints {
    watch: Option<Watch>,
    names: Option<i32>,
    held: usize,
    /// Some file could not be watched.
    blind: bool,
    look_again_at: u64,
}

impl Hints {
    fn new(home: &Home) -> Self {
        let watch = Watch::new().ok();
        let names = watch.as_ref().and_then(|watch| watch.names_in(home.sessions_dir()).ok());
        Self { blind: names.is_none(), names, watch, held: 0, look_again_at: 0 }
    }

    /// Watches a session that is not watched yet.
    fn watch(&mut self, home: &Home, id: &SessionId, known: &mut Reader) {
        if known.watch.is_some() || known.gone {
            return;
        }
        let file = home.session(id).ok().and_then(|dir| dir.evidence().ok());
        known.watch =
            self.watch.as_ref().zip(file.as_ref()).and_then(|(watch, file)| watch.growth_of(file).ok());
        self.blind |= known.watch.is_none();
        if self.held < HELD {
            self.held += usize::from(file.is_some());
            known.held = file;
        }
    }

    fn wait(&mut self, reader: BorrowedFd<'_>) -> Hint {
        let pause = if self.blind { BLIND_RESCAN_MS } else { RESCAN_MS };
        let now = clock::now().boot;
        if self.look_again_at <= now {
            self.look_again_at = now.saturating_add(pause);
        }
        let mut interests = vec![Interest { fd: reader, read: false, write: false }];
        interests.extend(self.watch.as_ref().map(|watch| Interest::reading(watch.as_fd())));
        let ready = poll::wait(&interests, Some(self.look_again_at.saturating_sub(now)));
        if ready[0].read {
            return Hint::NoReader;
        }
        match self.watch.as_ref().and_then(Watch::hints) {
            Some(numbers) if clock::now().boot < self.look_again_at => {
                let names = self.names.is_some_and(|names| numbers.contains(&names));
                Hint::Some { names, grown: numbers }
            }
            Some(_) | None => Hint::Anything,
        }
    }
}
