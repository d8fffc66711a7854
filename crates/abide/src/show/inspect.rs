//! Everything about one session, for people.

use abide_core::evidence::Observer;
use abide_core::identity::Qualifier;
use abide_core::verdict::Codes;
use abide_engine::Session;

use super::list;
use super::page::{Page, Tone};
use super::session::{ProcessView, SessionView, SummaryView};
use super::table::{self, Cell};
use super::time::{Time, size, span};
use super::word;

const DAMAGE_SHOWN: usize = 3;
const FILES_SHOWN: usize = 10;

/// Puts one session on the page.
pub(crate) fn put(page: &mut Page, session: &Session, view: &SessionView<'_>) {
    let traced = view.processes.program.qualifier.filter(|name| *name == Qualifier::Traced.name());
    page.put(Tone::Strong, view.standing.id)
        .plain(" is ")
        .put(list::tone(session), &list::standing(session, traced.map(|_| Qualifier::Traced)))
        .end();
    let mut lines = Lines(Vec::new());
    origin(&mut lines, session, view);
    course(&mut lines, session, view);
    processes(&mut lines, view);
    agent(&mut lines, view);
    traces(&mut lines, view);
    damage(&mut lines, session);
    lines.maybe("no code", session.verdict.codes.unclear.then_some(Codes::UNCLEAR));
    lines.add("because", session.verdict.rule.says());
    table::put_flowing(page, 2, &lines.0);
}

struct Lines(Vec<Vec<Cell>>);

impl Lines {
    fn add(&mut self, name: &str, text: &str) {
        self.0.push(vec![Cell::faint(name), Cell::plain(text)]);
    }

    fn maybe(&mut self, name: &str, text: Option<&str>) {
        if let Some(text) = text {
            self.add(name, text);
        }
    }
}

fn origin(lines: &mut Lines, session: &Session, view: &SessionView<'_>) {
    lines.maybe("name", view.standing.name);
    lines.add("command", &list::command(session));
    let added = view.command.argv_added.join(" ");
    let added = Some(format!("{added}, so that its conversation is known")).filter(|_| !added.is_empty());
    lines.maybe("added", added.as_deref());
    lines.maybe("cut", view.command.argv_cut.then_some("the other arguments were too long to record"));
    lines.maybe("directory", view.command.cwd);
    let labels = view.command.labels.into_iter().flatten().map(|(key, value)| format!("{key}={value}"));
    let labels = labels.collect::<Vec<_>>().join(" ");
    lines.maybe("labels", Some(labels.as_str()).filter(|labels| !labels.is_empty()));
}

fn course(lines: &mut Lines, session: &Session, view: &SessionView<'_>) {
    if let Some(at) = view.times.started_at {
        let ago = list::started(session).unwrap_or_default();
        lines.add("started", &format!("{} ({ago})", at.local()));
    }
    lines.maybe("last seen", view.times.last_seen_at.map(Time::local).as_deref());
    lines.maybe("ended", view.times.ended_at.map(Time::local).as_deref());
    lines.maybe("uptime", view.times.uptime_ms.map(span).as_deref());
    if let Some(outcome) = &session.verdict.outcome {
        let by = match outcome.observed_by {
            Some(Observer::Sealed) => "sealed".to_owned(),
            Some(by) => format!("observed by {}", word::observer(by)),
            None => "observed by nobody".to_owned(),
        };
        lines.add("outcome", &format!("{}, {by}", outcome.says()));
    }
    if let Some(declared) = &view.end.declared {
        let differs =
            if session.verdict.codes.agrees == Some(false) { "; the exit status differs" } else { "" };
        let summary = declared.summary.map_or(String::new(), |summary| format!(": {summary}"));
        lines.add(
            "declared",
            &format!("{}, exit code {}{summary}{differs}", declared.status, declared.exit_code),
        );
    }
    if let Some(used) = &view.resources {
        let [wall, user, system] = [used.wall_ms, used.user_ms, used.system_ms].map(span);
        let peak = size(used.peak_kib.saturating_mul(1024));
        lines.add("used", &format!("{wall} in all, {user} user, {system} system, {peak} at most"));
    }
}

fn processes(lines: &mut Lines, view: &SessionView<'_>) {
    lines.add("program", &process(&view.processes.program));
    lines.add("guard", &process(&view.processes.guard));
    let mut host = process(&view.processes.host);
    if let (Some(generation), Some(version)) = (view.host.generation, view.host.version) {
        host.push_str(&format!(", generation {generation}, version {version}"));
    }
    lines.add("host", &host);
    lines.maybe("watcher", view.processes.watcher.as_ref().map(process).as_deref());
    for survivor in &view.survivors {
        lines.add("survivor", &format!("{} {}", survivor.pid, survivor.command));
    }
}

fn process(process: &ProcessView) -> String {
    match (process.pid, process.qualifier) {
        (Some(pid), Some(qualifier)) => format!("{pid} {}, {qualifier}", process.liveness),
        (Some(pid), None) => format!("{pid} {}", process.liveness),
        (None, Some(qualifier)) => format!("{}, {qualifier}", process.liveness),
        (None, None) => "not on record".to_owned(),
    }
}

fn agent(lines: &mut Lines, view: &SessionView<'_>) {
    let agent = &view.agent;
    if let Some(name) = agent.agent {
        lines.add("agent", &format!("{name}, turn {}, attention {}", agent.turn, agent.attention));
    }
    if let Some(wants) = ["approval", "answer"].iter().find(|wants| **wants == agent.attention) {
        let says = format!("for an {wants}: `abide attach {}` shows what it asks", view.standing.id);
        lines.0.push(vec![Cell::faint("needs you"), Cell::new(Tone::Warn, &says)]);
    }
    if let Some(did) = &agent.summary {
        lines.add("summary", &summary(did));
        lines.maybe("conversation", did.conversation);
        let more = did.files.len().saturating_sub(FILES_SHOWN);
        did.files.iter().take(FILES_SHOWN).for_each(|file| lines.add("wrote to", file));
        lines.maybe("wrote to", (more > 0).then(|| format!("and {more} more")).as_deref());
        did.unanswered.iter().for_each(|call| lines.add("unanswered", call));
    }
    lines.maybe("stuck since", agent.stuck_since.map(Time::local).as_deref());
}

/// What an agent did, in a line.
fn summary(did: &SummaryView<'_>) -> String {
    let tools: Vec<String> = did.tools.iter().map(|(tool, times)| format!("{tool} {times}")).collect();
    let tools = if tools.is_empty() { "none".to_owned() } else { tools.join(", ") };
    format!(
        "prompts {}, turns {}, tools {tools}, tokens {} in and {} out, {}",
        did.prompts,
        did.turns,
        did.input_tokens,
        did.output_tokens,
        span(did.duration_ms)
    )
}

/// The places that cannot be read; where there are many, the first of them.
fn damage(lines: &mut Lines, session: &Session) {
    let record = &session.evidence.record;
    record.damage.iter().take(DAMAGE_SHOWN).for_each(|damage| lines.add("damage", &damage.says()));
    let more = (record.damage.len() as u64 + record.more_damage).saturating_sub(DAMAGE_SHOWN as u64);
    if more > 0 {
        lines.add("damage", &format!("and {more} more; `abide why {}` shows them", session.id));
    }
}

fn traces(lines: &mut Lines, view: &SessionView<'_>) {
    let screen = &view.screen;
    if let (Some(cols), Some(rows)) = (screen.cols, screen.rows) {
        lines.add("screen", &format!("{cols}x{rows}, {}", screen.source));
    }
    let recording = &view.recording;
    if let (Some(path), Some(bytes)) = (&recording.path, recording.bytes) {
        let cut = if recording.complete == Some(false) { ", not complete" } else { "" };
        lines.add("recording", &format!("{path} ({}{cut})", size(bytes)));
    }
}
