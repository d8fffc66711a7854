//! Sessions in a table, what needs a person first.

pub(crate) mod agents;
pub(crate) mod used;

use abide_core::evidence::Cause;
use abide_core::evidence::fold::Told;
use abide_core::evidence::number::{Errno, Signal};
use abide_core::identity::Qualifier;
use abide_core::verdict::{Attention, Turn};
use abide_engine::Session;

use super::page::{Page, Tone};
use super::session::{CommandView, OutcomeView, ProcessView};
use super::table::{self, Cell};
use super::{shell, time};

/// Puts sessions in the order in which people want to see them; within it they keep theirs.
pub(crate) fn sort(sessions: &mut [Session]) {
    sessions.sort_by_key(rank);
}

fn rank(session: &Session) -> u8 {
    let status = session.verdict.status;
    if wants_person(session.verdict.attention) {
        0
    } else if status.is_active() && status.replays_offline() {
        1
    } else if status.is_commandable() {
        2
    } else if status.is_active() {
        3
    } else {
        4
    }
}

const fn wants_person(attention: Attention) -> bool {
    match attention {
        Attention::Approval | Attention::Answer => true,
        Attention::None | Attention::Unknown => false,
    }
}

/// What a table shows of a session: little of it all, and many sessions are to be listed fast.
#[derive(Debug)]
pub(crate) struct Row {
    rank: u8,
    /// Boxed, for rows are handed on, sorted and handed on again.
    columns: Box<Columns>,
}

#[derive(Debug)]
struct Columns {
    id: Cell,
    name: Cell,
    standing: Cell,
    /// What its agent is at, where that is known.
    turn: Option<Cell>,
    started: Cell,
    ended: Option<Cell>,
    command: Cell,
}

impl Row {
    /// `traced` as `standing` wants it.
    pub(crate) fn new(session: &Session, qualifier: Option<Qualifier>) -> Self {
        let columns = Columns {
            id: Cell::plain(session.id.as_str()),
            name: Cell::plain(session.name().unwrap_or("-")),
            standing: Cell::new(tone(session), &standing(session, qualifier)),
            turn: turn(session),
            started: Cell::plain(&began(session).unwrap_or("-".to_owned())),
            ended: ended(session).map(|ago| Cell::plain(&ago)),
            command: Cell::faint(&command(session)),
        };
        Self { rank: rank(session), columns: Box::new(columns) }
    }

    pub(crate) fn id(&self) -> &str {
        self.columns.id.text()
    }
}

/// Puts rows in the order in which `sort` puts their sessions.
pub(crate) fn sort_rows(rows: &mut [Row]) {
    rows.sort_by_key(|row| row.rank);
}

/// Puts a table of sessions on the page.
pub(crate) fn put(page: &mut Page, sessions: Vec<Row>) {
    // A column that is empty in every row is none.
    let has_turns = sessions.iter().any(|session| session.columns.turn.is_some());
    // Nor is one, where there is little room, that says less than the others.
    let has_times = !page.is_narrow();
    let has_ends = has_times && sessions.iter().any(|session| session.columns.ended.is_some());
    let mut header = vec!["ID", "NAME", "STATUS"];
    header.extend(has_turns.then_some("TURN"));
    header.extend(has_times.then_some("STARTED"));
    header.extend(has_ends.then_some("ENDED"));
    header.push("COMMAND");
    let nothing = || Cell::faint("-");
    let mut rows = vec![header.into_iter().map(|title| Cell::new(Tone::Strong, title)).collect()];
    for Row { columns, .. } in sessions {
        let Columns { id, name, standing, turn, started, ended, command } = *columns;
        let mut row = vec![id, name, standing];
        row.extend(has_turns.then(|| turn.unwrap_or_else(nothing)));
        row.extend(has_times.then_some(started));
        row.extend(has_ends.then(|| ended.unwrap_or_else(nothing)));
        row.push(command);
        rows.push(row);
    }
    table::put(page, 0, 1, &rows);
}

/// What its agent is at: what it wants of a person, else whether it works.
fn turn(session: &Session) -> Option<Cell> {
    let verdict = &session.verdict;
    if wants_person(verdict.attention) {
        return Some(Cell::new(Tone::Warn, verdict.attention.name()));
    }
    match verdict.turn {
        Turn::Working => Some(Cell::new(Tone::Good, verdict.turn.name())),
        Turn::Settled => Some(Cell::plain(verdict.turn.name())).filter(|_| verdict.status.is_active()),
        Turn::Unknown => None,
    }
}

/// Where it stands, with what matters most beside the status: `exited 3`, `lost, reboot`, `running, stopped`.
/// How its program stands takes another look at it, so whoever asks says so.
pub(crate) fn standing(session: &Session, qualifier: Option<Qualifier>) -> String {
    let verdict = &session.verdict;
    let mut text = verdict.status.name().to_owned();
    if let Some(outcome) = verdict.outcome.as_ref().map(OutcomeView::new) {
        match (outcome.code, outcome.signal, outcome.cause) {
            (Some(code), _, _) => text.push_str(&format!(" {code}")),
            (None, Some(signal), _) => {
                let signal = Signal(i32::from(signal));
                text.push_str(
                    &signal.name().map_or_else(|| format!(", {signal}"), |name| format!(", {name}")),
                );
            }
            (None, None, Some(cause)) => text.push_str(&format!(", {}", cause.replace('_', " "))),
            (None, None, None) => {
                let name = outcome.errno.and_then(|errno| Errno(errno).name());
                text.extend(name.map(|name| format!(", {name}")));
            }
        }
    }
    if let (Some(false), Some(declared)) = (verdict.codes.agrees, &session.evidence.work.declared) {
        text.push_str(&format!(", declared {}", declared.body.exit_code));
    }
    if verdict.stopping {
        text.push_str(", stopping");
    }
    if was_stopped(session) {
        text.push_str(", stopped");
    }
    if verdict.stuck_since.is_some() {
        text.push_str(", stuck");
    }
    let matters = !session.has_ended() || verdict.codes.unclear;
    if let Some(damage) = session.evidence.record.damage.first().filter(|_| matters) {
        let place = if damage.length > 0 { format!(" at byte {}", damage.offset) } else { String::new() };
        text.push_str(&format!(", damaged{place}"));
    }
    let seen = ProcessView::new(None, session.seen.program).qualifier;
    let qualifier = seen.or(qualifier.map(Qualifier::name));
    if let Some(qualifier) = qualifier.filter(|_| !session.has_ended()) {
        text.push_str(&format!(", {qualifier}"));
    }
    text
}

/// Whether somebody asked for the end that it came to.
fn was_stopped(session: &Session) -> bool {
    let cause = session.verdict.outcome.as_ref().and_then(|outcome| outcome.cause);
    cause == Some(Cause::Asked) && session.verdict.status.is_terminal()
}

/// How good the news is. An end that was asked for is none.
pub(crate) fn tone(session: &Session) -> Tone {
    let status = session.verdict.status;
    if status.is_commandable() {
        Tone::Good
    } else if status.is_active() && status.replays_offline() {
        Tone::Warn
    } else if status.is_active() || status.is_destroyed() || was_stopped(session) {
        Tone::Plain
    } else {
        match session.verdict.codes.wait {
            Some(0) => Tone::Plain,
            Some(_) | None => Tone::Bad,
        }
    }
}

/// How long ago it was started, if it ever was. By the boot-time clock where that is comparable.
pub(crate) fn started(session: &Session) -> Option<String> {
    let beginning = &session.evidence.beginning;
    let adopted = || beginning.adopted.as_ref().map(|told| ago(session, told));
    beginning.started.as_ref().map(|told| ago(session, told)).or_else(adopted)
}

/// The same, or how long ago it was launched.
fn began(session: &Session) -> Option<String> {
    let launched = session.evidence.beginning.launched.as_ref();
    started(session).or_else(|| launched.map(|told| ago(session, told)))
}

/// How long ago it ended or failed, where somebody saw that.
fn ended(session: &Session) -> Option<String> {
    let closing = &session.evidence.closing;
    let failed = || closing.exec_failed.as_ref().map(|told| ago(session, told));
    closing.ended.as_ref().map(|told| ago(session, told)).or_else(failed)
}

fn ago<T>(session: &Session, told: &Told<T>) -> String {
    time::ago(session.asked.ms_since(&session.evidence, told))
}

/// The command as it was asked for and could be typed.
pub(crate) fn command(session: &Session) -> String {
    let view = CommandView::new(session);
    let Some(mut argv) = view.argv else {
        return "-".to_owned();
    };
    if let Some(launched) = &session.evidence.beginning.launched {
        argv.drain(launched.body.added());
    }
    let rest = if view.argv_cut { " ..." } else { "" };
    shell::line(argv) + rest
}
