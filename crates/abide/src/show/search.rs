//! Hits of a search, each with its instant and the line as it was seen.

use std::collections::HashMap;
use std::ops::Range;

use abide_core::instant::Instant;
use abide_core::search::{Kind, Query};
use abide_engine::{Found, Hit, Session};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use unicode_width::UnicodeWidthChar;

use super::page::{Page, Tone};
use super::time::Time;

/// How far the line stands in.
const INDENT: usize = 2;
/// So much of a line that is cut stands before what was found.
const BEFORE: usize = 20;

/// What was found.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Found")]
pub(crate) struct FoundView {
    query: String,
    /// The latest first.
    #[schemars(with = "Vec<HitView>")]
    hits: HitsView,
    /// There may be more beyond the limit.
    more: bool,
    /// Sessions whose latest lines may be missing, because another search takes them in at this moment.
    behind: Vec<String>,
    /// Sessions whose recordings are not whole, or cannot be read: what is missing there is not found.
    incomplete: Vec<IncompleteView>,
}

/// All that was found. There may be millions, so each becomes what is shown only when it is.
#[derive(Debug)]
struct HitsView {
    hits: Vec<Hit>,
    query: Query,
    /// The names of sessions, by ID.
    names: HashMap<String, String>,
}

impl HitsView {
    fn iter(&self) -> impl Iterator<Item = HitView> {
        self.hits.iter().map(|hit| HitView::new(hit, self))
    }
}

impl Serialize for HitsView {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

/// A session that could not be searched whole.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Incomplete")]
struct IncompleteView {
    session: String,
    why: String,
}

/// A distinct line of a session.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Hit")]
pub(crate) struct HitView {
    session: String,
    name: Option<String>,
    #[schemars(extend("enum" = ["shown", "typed"]))]
    kind: &'static str,
    /// The line as it was seen, wrapped rows joined.
    line: String,
    /// What of it was searched for: from which character to which, counted from 0, the second not included.
    matches: Vec<[usize; 2]>,
    /// The first instant at which it was there.
    #[serde(flatten)]
    first: InstantView,
    /// The last one at which it came or was drawn again.
    last: InstantView,
    /// How often it came.
    count: u64,
    /// How many distinct lines it stands for.
    lines: u64,
    #[serde(skip)]
    places: Vec<Range<usize>>,
}

/// An instant of a recording.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Instant")]
struct InstantView {
    at: Time,
    /// How many bytes of output there were.
    seq: u64,
    /// How many entries the recording had, this one included.
    entry: u64,
    /// What shows it, given to `snapshot --at`: the entry behind which the line stood (`entry:N`), or, if it was gone again
    /// by then, the position at which it was there (`seq:N`).
    open: String,
}

impl InstantView {
    fn new(instant: Instant) -> Self {
        // In a shell, what follows a # is a remark.
        let Instant { entry, position: seq, wall, within, .. } = instant;
        let open = if within { format!("seq:{seq}") } else { format!("entry:{entry}") };
        Self { at: Time(wall), seq, entry, open }
    }
}

impl HitView {
    fn new(hit: &Hit, all: &HitsView) -> Self {
        let (session, places) = (hit.session.to_string(), all.query.places(&hit.text));
        let characters = |at: usize| hit.text.get(..at).map_or(0, |before| before.chars().count());
        Self {
            name: all.names.get(&session).cloned(),
            session,
            kind: match hit.kind {
                Kind::Shown => "shown",
                Kind::Typed => "typed",
            },
            matches: places.iter().map(|place| [characters(place.start), characters(place.end)]).collect(),
            line: hit.text.to_string(),
            first: InstantView::new(hit.first),
            last: InstantView::new(hit.last),
            count: hit.count,
            lines: hit.lines,
            places,
        }
    }
}

impl FoundView {
    pub(crate) fn new((text, query): (String, Query), found: Found, sessions: &[Session]) -> Self {
        let name = |session: &Session| Some((session.id.to_string(), session.name()?.to_owned()));
        let names = sessions.iter().filter_map(name).collect();
        let incomplete = found.gaps.iter().chain(&found.unread);
        let incomplete =
            incomplete.map(|(id, why)| IncompleteView { session: id.to_string(), why: why.clone() });
        Self {
            query: text,
            incomplete: incomplete.collect(),
            hits: HitsView { hits: found.hits, query, names },
            more: found.more,
            behind: found.behind.iter().map(ToString::to_string).collect(),
        }
    }

    /// What a person can do next.
    pub(crate) fn hint(&self) -> Option<String> {
        let Some(hit) = self.hits.iter().next() else {
            return Some("nothing found".to_owned());
        };
        let more = if self.more { "there may be more, `--limit 0` shows all; " } else { "" };
        let (open, session) = (&hit.first.open, &hit.session);
        Some(format!("{more}`abide snapshot --at {open} {session}` shows the screen of the first"))
    }
}

impl FoundView {
    pub(crate) fn hits(&self) -> impl Iterator<Item = HitView> {
        self.hits.iter()
    }
}

impl HitView {
    /// Puts it on the page: where and when, then the line with what was searched for.
    pub(crate) fn put(&self, page: &mut Page) {
        let hit = self;
        page.put(Tone::Strong, &hit.session);
        if let Some(name) = &hit.name {
            page.plain(" ").plain(name);
        }
        page.put(Tone::Faint, &format!("  {}  {}", hit.first.at.local(), hit.first.open));
        if hit.lines > 1 {
            page.put(Tone::Faint, &format!("  {} alike", hit.lines));
        }
        if hit.count > 1 {
            page.put(Tone::Faint, &format!("  {} times", hit.count));
        }
        if hit.last.at.local() != hit.first.at.local() {
            page.put(Tone::Faint, &format!("  until {}", hit.last.at.local()));
        }
        page.end().blanks(INDENT);
        put_line(page, hit);
        page.end();
    }
}

/// Puts the line, or as much of it as there is room for, around what was found.
fn put_line(page: &mut Page, hit: &HitView) {
    let room = page.width().map_or(usize::MAX, |width| width.saturating_sub(INDENT + 2));
    let cut = cut(&hit.line, hit.places.first(), room);
    if !hit.line.get(..cut.start).unwrap_or_default().trim().is_empty() {
        page.put(Tone::Faint, "…");
    }
    let mut at = cut.start;
    for place in &hit.places {
        let (begin, end) = (place.start.clamp(at, cut.end), place.end.clamp(at, cut.end));
        let (Some(before), Some(found)) = (hit.line.get(at..begin), hit.line.get(begin..end)) else { break };
        page.plain(before);
        if !found.is_empty() {
            page.put(Tone::Bad, found);
        }
        at = end;
    }
    page.plain(hit.line.get(at..cut.end).unwrap_or_default());
    if cut.end < hit.line.len() {
        page.put(Tone::Faint, "…");
    }
}

/// What of a line fits into so many cells.
fn cut(line: &str, place: Option<&Range<usize>>, room: usize) -> Range<usize> {
    let width = |text: &str| text.chars().map(|c| c.width().unwrap_or(0)).sum::<usize>();
    let blank = line.len() - line.trim_start().len();
    let behind = place.map_or(0, |place| place.end);
    let fits = width(line.get(blank..behind).unwrap_or_default()) <= room;
    let mut start = blank;
    if let Some(place) = place.filter(|_| !fits) {
        let before = line.get(..place.start).unwrap_or_default().char_indices().rev();
        start = before.take(BEFORE).last().map_or(place.start, |(at, _)| at);
    }
    let (mut end, mut used) = (start, 0);
    for (at, c) in line.get(start..).unwrap_or_default().char_indices() {
        used += c.width().unwrap_or(0);
        if used > room {
            break;
        }
        end = start + at + c.len_utf8();
    }
    start..end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_cut_around_what_was_found() {
        let shown = |line: &str, place: Range<usize>, room| line[cut(line, Some(&place), room)].to_owned();
        assert_eq!(shown("   some text", 3..7, 80), "some text");
        assert_eq!(shown("some text", 0..4, 6), "some t");
        let long = format!("{}needle{}", "x".repeat(100), "y".repeat(100));
        assert_eq!(shown(&long, 100..106, 30), format!("{}needle{}", "x".repeat(20), "y".repeat(4)));
        assert_eq!(shown("漢字漢字漢字", 12..18, 7), "漢字漢");
        assert_eq!(shown("漢字漢字", 0..3, 5), "漢字");
    }
}
