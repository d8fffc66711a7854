//! `abide marks`: the instants of a session that have names, and the commands that its shell ran.

use std::collections::VecDeque;

use abide_core::failure::Failure;
use abide_core::instant::{Instant, Span};
use abide_core::recording::command::{Command, Commands, Listener};
use abide_core::recording::{Kind, parse_resize};
use abide_engine::{Marking, What};
use schemars::JsonSchema;
use serde::Serialize;

use crate::cmd::{Faulty, Front, Verb};
use crate::show::page::Tone;
use crate::show::recorded::instant::InstantView;
use crate::show::secret;
use crate::show::table::{self, Cell};
use crate::show::time;

const EXAMPLES: &str = "Examples:
  abide marks nightly        what has a name, and what was run
  abide marks --json build   for programs, with all the names of every instant";

/// List the marks of a session, and the commands that its shell ran
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES)]
#[command(
    after_help = "Commands are known where the shell tells its terminal of them (OSC 133, \"shell integration\"): where each \
    began and ended, its exit code, and its command line: as the shell tells it, else as it stood behind the prompt when it \
    was sent off."
)]
pub(crate) struct Args {
    /// ID, name, unique prefix or @last
    #[arg(value_name = "ID")]
    session: String,
}

/// What has a name, and what was run, each in its order.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Marks")]
pub(crate) struct MarksView {
    id: String,
    marks: Vec<NamedView>,
    commands: Vec<CommandView>,
}

/// An instant with a name.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "NamedInstant")]
struct NamedView {
    name: String,
    /// If what was shown then is not on record any more, its `entry` is that of the first instant that is.
    instant: InstantView,
    /// Whether what was shown then is on record.
    kept: bool,
}

/// A command that a shell ran.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ShellCommand")]
struct CommandView {
    /// As the shell tells it, else as it stood behind its prompt; null if there was none. What looks like a secret is
    /// masked.
    command: Option<String>,
    began: InstantView,
    /// Null if no end was told: it runs, or the session ended first.
    ended: Option<InstantView>,
    duration_ms: Option<u64>,
    /// Null if the shell did not tell it.
    exit_code: Option<i32>,
}

impl Verb for Args {
    type Data = MarksView;

    fn with_faults(&self) -> Faulty {
        Faulty::Warn
    }

    fn run(self, front: &mut Front) -> Result<u8, Failure> {
        let sessions = front.sessions()?;
        let session = sessions.find(&self.session)?;
        let (mut marks, mut over) = (Vec::new(), Vec::new());
        let mut told = Told::new(sessions.markings(&session));
        let (mut listener, mut commands) = (Listener::default(), Commands::<Instant>::default());
        let mut replay = sessions.replay(&session, &Span::default(), false)?.without_screen();
        while let Some(step) = replay.next()? {
            told.come_to(step.at);
            match step.what {
                What::Entry(entry, _) if entry.kind == Kind::Mark => {
                    let name = String::from_utf8_lossy(entry.payload).into_owned();
                    marks.push(NamedView { name, instant: InstantView::new(step.at), kept: true });
                }
                What::Entry(entry, _) if entry.kind == Kind::Output => {
                    let mut heard = 0;
                    listener.hear(entry.payload, &mut |end, word| {
                        // What is shown of an `exec` has other bytes than were recorded.
                        let position = step.at.position.min(entry.position + end as u64);
                        let at = Instant { position, ..step.at };
                        commands.show(&entry.payload[heard..end]);
                        heard = end;
                        over.extend(commands.hear(at, word));
                    });
                    commands.show(&entry.payload[heard..]);
                }
                What::Gap(missing) => front.output.warn(&missing.says(), None),
                What::Entry(entry, _) if entry.kind == Kind::Resize => {
                    parse_resize(entry.payload).into_iter().for_each(|size| commands.resize(size));
                }
                What::Screen => {
                    listener = Listener::default();
                    listener.hear(&step.screen.unfinished(), &mut |_, _| ());
                    commands.resize(step.screen.size());
                }
                What::Begin(gaps) => {
                    gaps.iter().for_each(|gap| front.output.warn(&gap.says(), None));
                    commands.resize(step.screen.size());
                }
                What::Entry(..) | What::LetGo | What::CaughtUp => {}
            }
        }
        for (marking, entry, kept) in told.all() {
            let is_same =
                |known: &NamedView| known.name == marking.name && known.instant.seq == marking.position;
            if !marks.iter().any(is_same) {
                let at = Instant { entry, ..replay.instant_of(&marking) };
                marks.push(NamedView { name: marking.name, instant: InstantView::new(at), kept });
            }
        }
        marks.sort_by_key(|mark| (mark.instant.seq, mark.instant.entry));
        over.extend(commands.finish());
        let commands = over.into_iter().map(CommandView::new).collect();
        let view = MarksView { id: session.id.to_string(), marks, commands };
        if view.marks.is_empty() && view.commands.is_empty() {
            front.output.remark("no marks, and no commands that a shell told its terminal of");
        }
        front.output.show(&view, |page| table::put(page, 0, 1, &view.rows(session.is_over())))?;
        Ok(0)
    }
}

/// Marks that the evidence tells: what was let go or cut off of the recording, it alone has.
struct Told {
    /// Not come to yet, by their positions.
    ahead: VecDeque<Marking>,
    /// With the number of the entry that leads there, and whether what was shown there is on record.
    behind: Vec<(Marking, u64, bool)>,
    last: Instant,
}

impl Told {
    fn new(mut markings: Vec<Marking>) -> Self {
        markings.sort_by_key(|marking| marking.position);
        Self { ahead: markings.into(), behind: Vec::new(), last: Instant::default() }
    }

    /// This is where the recording has come to, at once from where it was last.
    fn come_to(&mut self, at: Instant) {
        while let Some(marking) = self.ahead.pop_front_if(|marking| marking.position < at.position) {
            let kept = marking.position <= self.last.position;
            self.behind.push((marking, at.entry, kept));
        }
        self.last = at;
    }

    fn all(self) -> impl Iterator<Item = (Marking, u64, bool)> {
        let Instant { entry, position, .. } = self.last;
        let ahead = self.ahead.into_iter();
        self.behind.into_iter().chain(ahead.map(move |marking| {
            let kept = marking.position <= position;
            (marking, entry, kept)
        }))
    }
}

impl CommandView {
    fn new(command: Command<Instant>) -> Self {
        let Command { line, began, ended, exit_code } = command;
        let micros = ended.map(|ended| ended.micros.saturating_sub(began.micros));
        Self {
            command: line.map(|line| secret::mask_words(&line)),
            began: InstantView::new(began),
            ended: ended.map(InstantView::new),
            duration_ms: micros.map(|micros| micros / 1000),
            exit_code,
        }
    }
}

impl MarksView {
    /// Both kinds by their instants.
    fn rows(&self, is_over: bool) -> Vec<Vec<Cell>> {
        let open = if is_over { "no end told" } else { "not over" };
        let marks = self.marks.iter().map(|mark| {
            let kept = if mark.kept { "" } else { "not on record" };
            let row = [mark.instant.since.as_str(), "mark", kept, &mark.name];
            ((mark.instant.seq, mark.instant.entry), row.map(Cell::plain).to_vec())
        });
        let commands = self.commands.iter().map(|command| {
            let took = command.duration_ms.map_or_else(|| open.to_owned(), time::span);
            let (tone, ended) = match command.exit_code {
                Some(0) => (Tone::Good, format!("0 in {took}")),
                Some(code) => (Tone::Bad, format!("{code} in {took}")),
                None => (Tone::Plain, took),
            };
            let line = command.command.as_deref().unwrap_or("(not told)").replace('\n', " ");
            let row = vec![
                Cell::plain(&command.began.since),
                Cell::plain("command"),
                Cell::new(tone, &ended),
                Cell::plain(&line),
            ];
            ((command.began.seq, command.began.entry), row)
        });
        let mut rows: Vec<((u64, u64), Vec<Cell>)> = marks.chain(commands).collect();
        rows.sort_by_key(|(place, _)| *place);
        rows.into_iter().map(|(_, row)| row).collect()
    }
}
