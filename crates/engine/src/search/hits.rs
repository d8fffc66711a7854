//! Hits: the lines of one session that a query means, each distinct one once, the latest first. Lines that were drawn
//! over each other and differ in numbers and signs alone are one hit, unless every line is wanted. There may be millions, so
//! each takes little more than its text.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::hash::BuildHasher;
use std::io;
use std::sync::Arc;

use abide_core::id::SessionId;
use abide_core::instant::{Instant, Time};
use abide_core::search::{Kind, Line, Point, Query, lines};

use super::block::Block;
use super::index::Index;

/// What is searched for.
#[derive(Debug, Clone)]
pub struct Wanted {
    pub query: Query,
    pub kind: Kind,
    /// Only what came between these times, or was drawn again.
    pub from: Time,
    pub to: Time,
    /// Only so many of the latest.
    pub limit: usize,
    /// Also each of the lines that were drawn over each other.
    pub every: bool,
}

/// A line that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    pub session: Arc<SessionId>,
    pub kind: Kind,
    pub text: Box<str>,
    /// When it was first and last there.
    pub first: Instant,
    pub last: Instant,
    /// How often it came.
    pub count: u64,
    /// How many distinct lines it stands for.
    pub lines: u64,
    /// Which of its session's lines it was last, for those that came at one instant.
    order: (u32, u32),
}

impl Hit {
    /// Orders hits: the latest first.
    pub(super) fn by_age(&self, other: &Self) -> Ordering {
        let age = |hit: &Self| (hit.last.wall, hit.last.position, hit.order);
        age(other).cmp(&age(self)).then_with(|| self.session.cmp(&other.session))
    }

    fn join(&mut self, line: &Line<'_>, order: (u32, u32)) {
        self.order = self.order.max(order);
        self.count += line.count;
        if line.first.position < self.first.position {
            self.first = line.first;
            if *line.text != *self.text {
                self.text = line.text.into();
            }
        }
        if line.last.position > self.last.position {
            self.last = line.last;
        }
    }
}

/// The lines that are one hit.
struct Group {
    hit: Hit,
    /// What they have in common, as a checksum: their text, or its letters alone.
    same: u64,
    letters: bool,
    /// The checksum of the first text.
    form: u32,
}

/// Wall times as they stand with the lines of one session, in ms.
#[derive(Debug, Clone, Copy)]
pub(super) struct Between {
    pub(super) from: i64,
    pub(super) to: i64,
}

impl Between {
    /// A line as far as it came between them, if it did. One that stood all the time came before.
    fn part<'t>(self, line: &Line<'t>) -> Option<Line<'t>> {
        let Self { from, to } = self;
        let Line { first, last, .. } = *line;
        let came = first.wall <= to && last.wall >= from;
        let within = |instant: &Instant| (from..=to).contains(&instant.wall);
        let first = if within(&first) || !within(&last) { first } else { last };
        let last = if within(&last) { last } else { first };
        came.then_some(Line { first, last, ..*line })
    }
}

struct Hits<'a> {
    session: Arc<SessionId>,
    wanted: &'a Wanted,
    between: Between,
    found: Vec<Group>,
    /// Where they are, by what their lines have in common.
    places: HashMap<u64, u32>,
    /// The checksums of their texts, of those that have more than one.
    forms: HashMap<u64, HashSet<u32>>,
    more: bool,
}

/// The hits of one session, and whether there may be older ones beyond the limit.
///
/// # Errors
/// If the index is not as it was written.
pub(super) fn of(
    index: &Index,
    session: &SessionId,
    wanted: &Wanted,
    between: Between,
) -> io::Result<(Vec<Hit>, bool)> {
    let session = Arc::new(session.clone());
    let (found, places, forms) = (Vec::new(), HashMap::new(), HashMap::new());
    let mut hits = Hits { session, wanted, between, found, places, forms, more: false };
    let Point { text, rest, .. } = &index.point;
    hits.search(u32::MAX, text, || Ok(lines::read(text, rest).ok_or(io::ErrorKind::InvalidData)?))?;
    for (number, block) in index.blocks.iter().enumerate().rev() {
        if hits.may_be_in(block, index)? {
            let unpacked = block.unpack(index.file())?;
            hits.search(number as u32, &unpacked.text, || unpacked.lines())?;
        }
    }
    let Hits { found, forms, more, .. } = hits;
    let lines = |group: &Group| forms.get(&group.same).map_or(1, HashSet::len) as u64;
    Ok((found.into_iter().map(|group| Hit { lines: lines(&group), ..group.hit }).collect(), more))
}

impl Hits<'_> {
    /// Whether a block, which is older than all that were searched, may have something to tell.
    fn may_be_in(&mut self, block: &Block, index: &Index) -> io::Result<bool> {
        let Wanted { query, limit, .. } = self.wanted;
        if !block.overlaps(self.between.from, self.between.to) {
            return Ok(false);
        }
        let Some(sieve) = block.sieve(index.file())? else {
            return Ok(true);
        };
        if !query.may_pass(&sieve) {
            return Ok(false);
        }
        // What is new there is beyond the limit; only what was found already may have been there before.
        let tells = self.found.len() < *limit
            || self.found.iter().any(|group| group.letters || sieve.may_hold(group.hit.text.as_bytes()));
        self.more |= !tells;
        Ok(tells)
    }

    fn search<'t>(
        &mut self,
        block: u32,
        text: &[u8],
        lines: impl FnOnce() -> io::Result<Vec<Line<'t>>>,
    ) -> io::Result<()> {
        let mut places = Vec::new();
        self.wanted.query.find(text, &mut |place| places.push(place.start));
        if places.is_empty() {
            return Ok(());
        }
        // Whatever else comes of older lines is beyond the limit.
        let full = self.found.len() >= self.wanted.limit;
        let others = self.forms.values().flatten().copied();
        let forms = self.found.iter().map(|group| group.form).chain(others);
        let known: Option<HashSet<u32>> = full.then(|| forms.collect());
        let mut begin = 0;
        let mut places = places.into_iter().peekable();
        for (number, line) in lines()?.iter().enumerate() {
            if places.next_if_eq(&begin).is_some() {
                self.take(line, (block, number as u32), known.as_ref());
            }
            begin += line.text.len() + 1;
        }
        self.prune();
        Ok(())
    }

    /// Takes a line that was found; if these are given, only one that they are the checksums of, or that may be alike.
    fn take(&mut self, line: &Line<'_>, order: (u32, u32), known: Option<&HashSet<u32>>) {
        let Wanted { kind, every, .. } = self.wanted;
        let Some(line) = &self.between.part(line).filter(|line| line.kind == *kind) else { return };
        let form = crc32fast::hash(line.text.as_bytes());
        let is_new = known.is_some_and(|known| !line.redrawn && !known.contains(&form));
        self.more |= is_new;
        if is_new {
            return;
        }
        let letters = line.redrawn && !every;
        let same = match letters {
            true => self
                .places
                .hasher()
                .hash_one((true, lines::letters(line.text.as_bytes()).collect::<String>())),
            false => self.places.hasher().hash_one((false, line.text)),
        };
        if let Some(place) = self.places.get(&same) {
            let group = &mut self.found[*place as usize];
            if group.form != form {
                self.forms.entry(same).or_insert_with(|| HashSet::from([group.form])).insert(form);
            }
            group.hit.join(line, order);
            return;
        }
        let &Line { kind, text, first, last, count, .. } = line;
        let session = Arc::clone(&self.session);
        let hit = Hit { session, kind, text: text.into(), first, last, count, lines: 1, order };
        self.places.insert(same, self.found.len() as u32);
        self.found.push(Group { hit, same, letters, form });
    }

    /// Forgets what is beyond the limit.
    fn prune(&mut self) {
        let limit = self.wanted.limit;
        if self.found.len() <= limit {
            return;
        }
        self.more = true;
        self.found.sort_unstable_by(|one, other| one.hit.by_age(&other.hit));
        self.found.truncate(limit);
        self.places = self.found.iter().zip(0..).map(|(group, place)| (group.same, place)).collect();
        self.forms.retain(|same, _| self.places.contains_key(same));
    }
}
