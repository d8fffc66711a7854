//! Hits: the lines of one session that a query means, each distinct one once, the latest first. Lines that were drawn
//! over each other and differ in numbers and signs alone are one hit, unless every line is wanted.

use std::collections::{HashMap, HashSet};
use std::io;
use std::ops::Range;

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
    pub session: SessionId,
    pub kind: Kind,
    pub text: String,
    /// What of the text was searched for, as places in it.
    pub places: Vec<Range<usize>>,
    /// When it was first and last there.
    pub first: Instant,
    pub last: Instant,
    /// How often it came.
    pub count: u64,
    /// How many distinct lines it stands for.
    pub lines: u64,
    /// Which of its session's lines it was last, for those that came at one instant.
    order: (usize, usize),
}

impl Hit {
    /// Orders hits: the latest first.
    pub(super) fn age(&self) -> impl Ord + use<> {
        (std::cmp::Reverse((self.last.wall, self.last.position, self.order)), self.session.clone())
    }

    fn join(&mut self, line: &Line<'_>, order: (usize, usize), query: &Query) {
        self.order = self.order.max(order);
        self.count += line.count;
        if line.first.position < self.first.position {
            self.first = line.first;
            if line.text != self.text {
                self.text = line.text.to_owned();
                self.places = query.places(line.text);
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
    /// Their checksums.
    forms: HashSet<u32>,
}

/// Which lines are one hit.
#[derive(Debug, PartialEq, Eq, Hash)]
enum Same {
    Text(String),
    Letters(String),
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
    session: &'a SessionId,
    wanted: &'a Wanted,
    between: Between,
    found: HashMap<Same, Group>,
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
    let mut hits = Hits { session, wanted, between, found: HashMap::new(), more: false };
    let Point { text, rest, .. } = &index.point;
    hits.search(usize::MAX, text, || Ok(lines::read(text, rest).ok_or(io::ErrorKind::InvalidData)?))?;
    for (number, block) in index.blocks.iter().enumerate().rev() {
        if hits.may_be_in(block, index)? {
            let unpacked = block.unpack(index.file())?;
            hits.search(number, &unpacked.text, || unpacked.lines())?;
        }
    }
    let hit = |Group { hit, forms }: Group| Hit { lines: forms.len() as u64, ..hit };
    Ok((hits.found.into_values().map(hit).collect(), hits.more))
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
            || self.found.keys().any(|same| match same {
                Same::Text(text) => sieve.may_hold(text.as_bytes()),
                Same::Letters(_) => true,
            });
        self.more |= !tells;
        Ok(tells)
    }

    fn search<'t>(
        &mut self,
        block: usize,
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
        let forms = self.found.values().flat_map(|group| group.forms.iter().copied());
        let known: Option<HashSet<u32>> = full.then(|| forms.collect());
        let mut begin = 0;
        let mut places = places.into_iter().peekable();
        for (number, line) in lines()?.iter().enumerate() {
            if places.next_if_eq(&begin).is_some() {
                self.take(line, (block, number), known.as_ref());
            }
            begin += line.text.len() + 1;
        }
        self.prune();
        Ok(())
    }

    /// Takes a line that was found; if these are given, only one that they are the checksums of, or that may be alike.
    fn take(&mut self, line: &Line<'_>, order: (usize, usize), known: Option<&HashSet<u32>>) {
        let Wanted { query, kind, every, .. } = self.wanted;
        let Some(line) = &self.between.part(line).filter(|line| line.kind == *kind) else { return };
        let form = crc32fast::hash(line.text.as_bytes());
        let is_new = known.is_some_and(|known| !line.redrawn && !known.contains(&form));
        self.more |= is_new;
        if is_new {
            return;
        }
        let same = match line.redrawn && !every {
            true => Same::Letters(lines::letters(line.text.as_bytes()).collect()),
            false => Same::Text(line.text.to_owned()),
        };
        if let Some(group) = self.found.get_mut(&same) {
            group.forms.insert(form);
            group.hit.join(line, order, query);
            return;
        }
        let hit = Hit {
            session: self.session.clone(),
            kind: line.kind,
            text: line.text.to_owned(),
            places: query.places(line.text),
            first: line.first,
            last: line.last,
            count: line.count,
            lines: 1,
            order,
        };
        self.found.insert(same, Group { hit, forms: HashSet::from([form]) });
    }

    /// Forgets what is beyond the limit.
    fn prune(&mut self) {
        let limit = self.wanted.limit;
        if self.found.len() <= limit {
            return;
        }
        self.more = true;
        let mut groups: Vec<(Same, Group)> = self.found.drain().collect();
        groups.sort_by_cached_key(|(_, group)| group.hit.age());
        groups.truncate(limit);
        self.found.extend(groups);
    }
}
