//! Sessions in a table, what needs a person first.

pub(crate) mod agents;

use abide_core::evidence::number::{Errno, Signal};
use abide_core::identity::Qualifier;
use abide_core::verdict::Attention;
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
    id: String,
    name: Cell,
    standing: Cell,
    wants: Option<&'static str>,
    started: Cell,
    command: Cell,
}

impl Row {
    /// `traced` as `standing` wants it.
    pub(crate) fn new(session: &Session, traced: bool) -> Self {
        let attention = session.verdict.attention;
        Self {
            rank: rank(session),
            id: session.id.to_string(),
            name: Cell::plain(session.name().unwrap_or("-")),
            standing: Cell::new(tone(session), &standing(session, traced)),
            wants: wants_person(attention).then(|| attention.name()),
            started: Cell::plain(&started(session).unwrap_or("-".to_owned())),
            command: Cell::faint(&command(session)),
        }
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }
}

/// Puts rows in the order in which `sort` puts their sessions.
pub(crate) fn sort_rows(rows: &mut [Row]) {
    rows.sort_by_key(|row| row.rank);
}

/// Puts a table of sessions on the page.
pub(crate) fn put(page: &mut Page, sessions: Vec<Row>) {
    let needed = sessions.iter().any(|session| session.wants.is_some());
    let mut header = vec!["ID", "NAME", "STATUS"];
    header.extend(needed.then_some("WANTS"));
    header.extend(["STARTED", "COMMAND"]);
    let mut rows = vec![header.into_iter().map(|title| Cell::new(Tone::Strong, title)).collect()];
    for session in sessions {
        let mut row = vec![Cell::plain(&session.id), session.name, session.standing];
        row.extend(needed.then(|| match session.wants {
            Some(wants) => Cell::new(Tone::Warn, wants),
            None => Cell::faint("-"),
        }));
        row.extend([session.started, session.command]);
        rows.push(row);
    }
    table::put(page, 0, 1, &rows);
}

/// Where it stands, with what matters most beside the status: `exited 3`, `lost, reboot`, `running, stopped`.
/// That somebody traces its program takes another look at it, so whoever asks says so.
pub(crate) fn standing(session: &Session, traced: bool) -> String {
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
    if verdict.stuck_since.is_some() {
        text.push_str(", stuck");
    }
    let matters = !session.has_ended() || verdict.codes.unclear;
    if let Some(damage) = session.evidence.record.damage.first().filter(|_| matters) {
        let place = if damage.length > 0 { format!(" at byte {}", damage.offset) } else { String::new() };
        text.push_str(&format!(", damaged{place}"));
    }
    let qualifier = ProcessView::new(None, session.seen.program).qualifier;
    let qualifier = qualifier.or(traced.then_some(Qualifier::Traced.name()));
    if let Some(qualifier) = qualifier.filter(|_| !session.has_ended()) {
        text.push_str(&format!(", {qualifier}"));
    }
    text
}

/// How good the news is.
pub(crate) const fn tone(session: &Session) -> Tone {
    let status = session.verdict.status;
    if status.is_commandable() {
        Tone::Good
    } else if status.is_active() && status.replays_offline() {
        Tone::Warn
    } else if status.is_active() || status.is_destroyed() {
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
    let (evidence, now) = (&session.evidence, session.asked);
    let started = beginning.started.as_ref().map(|told| now.ms_since(evidence, told));
    let adopted = || beginning.adopted.as_ref().map(|told| now.ms_since(evidence, told));
    started.or_else(adopted).map(time::ago)
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
