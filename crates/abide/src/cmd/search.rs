//! `abide search`: lines that sessions showed, wherever and whenever that was.

use abide_core::failure::{Code, Failure};
use abide_core::instant::Time;
use abide_core::search::{Kind, Query, Reading, Strictness};
use abide_core::status::Status;
use abide_engine::{Found, Searching, Session, Sessions};
use clap::builder::PossibleValuesParser;

use super::{Faulty, Front, Verb, has_labels};
use crate::show::meter::{Meter, Unit};
use crate::show::search::FoundView;
use crate::when;

const EXAMPLES: &str = "Examples:
  abide search ECONNREFUSED                           wherever it was ever shown, the latest first
  abide search '\"connection refused\"' --since 2d    these words in this order, in the last two days
  abide search --regex 'E[0-9]{4}' --label team=core  by a pattern, in sessions with a label
  abide search --typed 'git push' --session build     what was typed, not what was shown
  abide search --json -n 0 --word panicked            every hit, for programs, with the instant of each";

/// So many sessions that lack something are named in a warning.
const NAMED: usize = 5;

/// What the items of the answer are called.
const ITEMS: &str = "hits";

/// Find what sessions ever showed, as it was seen
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES)]
#[command(
    after_help = "A line must hold every word, in any order and case, within longer words too; words in double quotes \
    are one phrase. Letters are compared as they are encoded: one with a mark of its own is not found by the same \
    letter in one piece. Each distinct line of a session is one hit, at the first instant at which it was to be seen (one that came again within \
    two seconds, or stood all the time, is told with --since and --until by when it came first); \
    one that grew, as a prompt does with its answer, is one line, and counts from when it had its last form: with \
    --until before that it is not found. That \
    instant, with --since the first behind that, stands behind the time, in JSON as `open`, and `abide snapshot` shows the screen: the entry behind which the \
    line was there (entry:123), or the position at which it was (seq:4096) if it was gone again by then. Lines \
    that a program drew over each other, in whichever rows, and that differ in numbers and signs alone are one hit too, unless --all is \
    given; one that was drawn over within a fiftieth of a second may be none. What is new in recordings is taken into an index first, which is only a cache; what was typed at a password \
    prompt is in no recording."
)]
pub(crate) struct Args {
    /// Words that a line must hold; several in double quotes as they stand
    #[arg(value_name = "QUERY", required = true)]
    query: Vec<String>,
    /// Take the query for one phrase, blanks and quotes as they stand
    #[arg(short = 'F', long, conflicts_with = "regex")]
    literal: bool,
    /// Take the query for a regular expression
    #[arg(short = 'e', long)]
    regex: bool,
    /// Tell upper and lower case apart
    #[arg(long)]
    case: bool,
    /// Only whole words
    #[arg(short, long)]
    word: bool,
    /// What was typed into sessions, not what they showed
    #[arg(long)]
    typed: bool,
    /// Every distinct line, also where many were drawn over each other
    #[arg(short, long)]
    all: bool,
    /// Only in this session: ID, name, unique prefix or @last; can be given several times
    #[arg(short, long = "session", value_name = "ID")]
    sessions: Vec<String>,
    /// Only in sessions with this label; can be given several times
    #[arg(long, value_name = "KEY[=VALUE]")]
    label: Vec<String>,
    /// Only in sessions of this program, by its name or path
    #[arg(long, value_name = "NAME")]
    program: Option<String>,
    /// Only in sessions of this status; can be given several times
    #[arg(long, value_name = "STATUS", value_parser = PossibleValuesParser::new(Status::ALL.iter().map(|status| status.name())))]
    status: Vec<String>,
    /// Only what came since, or was drawn again: a time, or a duration back from now
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    since: Option<String>,
    /// Only what came until then: a time, or a duration back from now
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    until: Option<String>,
    /// At most so many hits, the latest; 0 for all
    #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 20)]
    limit: usize,
}

impl Verb for Args {
    type Data = FoundView;

    fn with_faults(&self) -> Faulty {
        Faulty::Warn
    }

    fn run(self, front: &mut Front) -> Result<u8, Failure> {
        let text = self.query.join(" ");
        let sessions = front.sessions()?;
        let wanted = self.wanted(&text, sessions.now().at.wall)?;
        let searched = self.choose(&sessions)?;
        let meter = Meter::new(!front.output.is_json(), "taking in what is new", Unit::Bytes);
        let found = sessions.search(&searched, &wanted, &|progress| meter.tell(progress.done, progress.all));
        meter.clear();
        warn(front, &found);
        let view = FoundView::new((text, wanted.query), found, &searched);
        if front.output.is_json() {
            front.output.show(&view, |_| {})?;
        } else {
            for hit in view.hits() {
                front.output.item(ITEMS, &hit, |page| hit.put(page))?;
            }
            front.output.end_items(ITEMS)?;
        }
        if let Some(hint) = view.hint() {
            front.output.remark(&hint);
        }
        Ok(0)
    }
}

impl Args {
    fn wanted(&self, text: &str, now: i64) -> Result<Searching, Failure> {
        let reading = match (self.literal, self.regex) {
            (true, _) => Reading::Literal,
            (false, true) => Reading::Regex,
            (false, false) => Reading::Words,
        };
        let strictness = Strictness { case: self.case, whole_words: self.word };
        let query = Query::parse(text, reading, strictness).map_err(|why| {
            Failure::new(Code::Usage, format!("`{text}` cannot be searched for: {why}"))
                .hint("`abide search --help` shows examples")
        })?;
        let time = |text: &Option<String>| text.as_deref().map(|text| when::since(text, now)).transpose();
        Ok(Searching {
            query,
            kind: if self.typed { Kind::Typed } else { Kind::Shown },
            from: time(&self.since)?.unwrap_or(Time::Wall(i64::MIN)),
            to: time(&self.until)?.unwrap_or(Time::Wall(i64::MAX)),
            limit: if self.limit == 0 { usize::MAX } else { self.limit },
            every: self.all,
        })
    }

    /// The sessions that are searched.
    fn choose(&self, sessions: &Sessions) -> Result<Vec<Session>, Failure> {
        let mut chosen = if self.sessions.is_empty() {
            sessions.list()?
        } else {
            self.sessions.iter().map(|wanted| sessions.find(wanted)).collect::<Result<_, _>>()?
        };
        chosen.retain(|session| {
            let status = session.verdict.status.name();
            has_labels(session, &self.label)
                && (self.status.is_empty() || self.status.iter().any(|wanted| wanted == status))
                && self.program.as_ref().is_none_or(|program| runs(session, program))
        });
        chosen.sort_by(|a, b| a.id.cmp(&b.id));
        chosen.dedup_by(|a, b| a.id == b.id);
        Ok(chosen)
    }
}

/// Whether the session's program has this name, or this path.
fn runs(session: &Session, program: &str) -> bool {
    let launched = session.evidence.beginning.launched.as_ref();
    let path = launched.and_then(|told| told.body.argv.first());
    path.is_some_and(|path| path == program || path.rsplit('/').next() == Some(program))
}

/// Tells what may be missing.
fn warn(front: &mut Front, found: &Found) {
    for id in &found.behind {
        let text =
            format!("another search takes in session {id} at this moment; its latest lines may be missing");
        front.output.warn(&text, None);
    }
    match found.gaps.as_slice() {
        [] => {}
        [(id, what)] => front.output.warn(&format!("session {id} is not searched whole: {what}"), None),
        many => {
            let ids: Vec<&str> = many.iter().take(NAMED).map(|(id, _)| id.as_str()).collect();
            let more = match many.len() - ids.len() {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let text = format!(
                "{} sessions are not searched whole, for their recordings are not: {}{more}",
                many.len(),
                ids.join(", ")
            );
            front.output.warn(&text, Some("`abide search --json` tells of each what is missing"));
        }
    }
    for (_, why) in &found.unread {
        front.output.warn(why, None);
    }
    if let Some(why) = &found.unkept {
        let text = format!("the index cannot be kept, so the next search takes as long as this one: {why}");
        front.output.warn(&text, None);
    }
}
