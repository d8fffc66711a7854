//! What sessions use, in tables: the busiest first.

use std::cmp::Reverse;

use abide_engine::{Session, Used};
use schemars::JsonSchema;
use serde::Serialize;

use super::{command, standing, tone};
use crate::show::page::{Page, Tone};
use crate::show::table::{self, Cell};
use crate::show::word::{StatusName, count};
use crate::show::{secret, time};

/// Sessions that run, each with its processes, as they were at an instant of the boot-time clock.
#[derive(Debug)]
pub(crate) struct Sample {
    pub(crate) at: u64,
    pub(crate) used: Vec<(Vec<Used>, Session)>,
}

/// Who looks more often sees nothing but rounding.
pub(crate) const LEAST_MS: u64 = 100;

/// What was measured last, and from when the next counts.
#[derive(Debug)]
pub(crate) struct Measured {
    before: Sample,
    views: Vec<UseView>,
}

impl Measured {
    pub(crate) fn new(before: Sample) -> Self {
        Self { views: before.since(&before), before }
    }

    /// Measures, unless that would be so soon that it says nothing: a terminal that changes its size asks at once.
    pub(crate) fn take(&mut self, now: Sample) {
        if now.at.saturating_sub(self.before.at) >= LEAST_MS {
            self.views = now.since(&self.before);
            self.before = now;
        }
    }

    pub(crate) fn views(&self) -> &[UseView] {
        &self.views
    }
}

/// What one session uses.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Use")]
pub(crate) struct UseView {
    id: String,
    name: Option<String>,
    status: StatusName,
    /// Of one processor, between the two looks.
    cpu_percent: u64,
    /// Time on processors of its living processes and of what they waited for.
    cpu_ms: u64,
    memory_bytes: u64,
    processes: Vec<ProcessUseView>,
    #[serde(skip)]
    standing: Cell,
    #[serde(skip)]
    command: String,
}

/// What one process of a session uses.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ProcessUse")]
struct ProcessUseView {
    pid: u32,
    parent: Option<u32>,
    cpu_percent: u64,
    cpu_ms: u64,
    memory_bytes: u64,
    command: String,
}

impl Sample {
    /// What was used since an earlier one, the busiest session first.
    pub(crate) fn since(&self, before: &Self) -> Vec<UseView> {
        let over = self.at.saturating_sub(before.at);
        let mut views: Vec<UseView> = self.used.iter().map(|used| view(used, before, over)).collect();
        views.sort_by_key(|view| Reverse((view.cpu_percent, view.memory_bytes)));
        views
    }
}

fn view((processes, session): &(Vec<Used>, Session), before: &Sample, over: u64) -> UseView {
    let earlier = before.used.iter().find(|(_, earlier)| earlier.id == session.id);
    let earlier = earlier.map(|(processes, _)| processes.as_slice()).unwrap_or_default();
    let all =
        |processes: &[Used]| processes.iter().map(|one| one.spent.cpu_ms + one.spent.cpu_ms_of_dead).sum();
    let (now, then): (u64, u64) = (all(processes), all(earlier));
    // What it used before it was looked at first was not used between the looks.
    let new = earlier.is_empty();
    let processes: Vec<_> =
        processes.iter().map(|one| process(one, if new { processes } else { earlier }, over)).collect();
    UseView {
        id: session.id.to_string(),
        name: session.name().map(str::to_owned),
        status: StatusName(session.verdict.status),
        cpu_percent: if new { 0 } else { percent(now, then, over) },
        cpu_ms: now,
        memory_bytes: processes.iter().map(|one| one.memory_bytes).sum(),
        processes,
        standing: Cell::new(tone(session), &standing(session, None)),
        command: command(session),
    }
}

fn process(one: &Used, earlier: &[Used], over: u64) -> ProcessUseView {
    let then = earlier.iter().find(|then| then.pid == one.pid).map_or(0, |then| then.spent.cpu_ms);
    ProcessUseView {
        pid: one.pid,
        parent: one.parent,
        cpu_percent: percent(one.spent.cpu_ms, then, over),
        cpu_ms: one.spent.cpu_ms,
        memory_bytes: one.spent.memory,
        command: secret::mask_words(&one.command),
    }
}

/// Of one processor.
fn percent(now: u64, then: u64, over: u64) -> u64 {
    now.saturating_sub(then).saturating_mul(100) / over.max(1)
}

/// Puts one line about all of them on the page.
pub(crate) fn put_head(page: &mut Page, views: &[UseView]) {
    let processes: usize = views.iter().map(|view| view.processes.len()).sum();
    let percent: u64 = views.iter().map(|view| view.cpu_percent).sum();
    let memory = time::size(views.iter().map(|view| view.memory_bytes).sum());
    let (sessions, all) =
        (count(views.len(), "session"), if processes == 1 { "process" } else { "processes" });
    let line = format!("{sessions}, {processes} {all}: {percent}% cpu, {memory}; q leaves");
    page.put(Tone::Faint, &line).end().end();
}

fn heads(words: &[&str]) -> Vec<Cell> {
    words.iter().map(|word| Cell::new(Tone::Strong, word)).collect()
}

/// Puts a table of sessions on the page.
pub(crate) fn put(page: &mut Page, views: &[UseView]) {
    if views.is_empty() {
        return;
    }
    let mut rows = vec![heads(&["ID", "NAME", "STATUS", "CPU", "TIME", "MEMORY", "PROCESSES", "COMMAND"])];
    rows.extend(views.iter().map(|view| {
        vec![
            Cell::plain(&view.id),
            Cell::plain(view.name.as_deref().unwrap_or("-")),
            view.standing.clone(),
            busy(view.cpu_percent),
            Cell::plain(&time::span(view.cpu_ms)),
            Cell::plain(&time::size(view.memory_bytes)),
            Cell::plain(&view.processes.len().to_string()),
            Cell::faint(&view.command),
        ]
    }));
    if page.is_narrow() {
        // Neither how long nor how many says what is busy now.
        for row in &mut rows {
            let _more = (row.remove(6), row.remove(4));
        }
    }
    table::put(page, 0, 1, &rows);
}

/// Puts a table of the processes of each session on the page.
pub(crate) fn put_processes(page: &mut Page, views: &[UseView]) {
    for (at, view) in views.iter().enumerate() {
        if views.len() > 1 {
            if at > 0 {
                page.end();
            }
            page.put(Tone::Strong, &view.id);
            if let Some(name) = &view.name {
                page.plain(&format!(" ({name})"));
            }
            page.end();
        }
        let mut rows = vec![heads(&["PID", "PARENT", "CPU", "TIME", "MEMORY", "COMMAND"])];
        rows.extend(view.processes.iter().map(|one| {
            vec![
                Cell::plain(&one.pid.to_string()),
                Cell::plain(&one.parent.map_or("-".to_owned(), |parent| parent.to_string())),
                busy(one.cpu_percent),
                Cell::plain(&time::span(one.cpu_ms)),
                Cell::plain(&time::size(one.memory_bytes)),
                Cell::faint(&one.command),
            ]
        }));
        table::put(page, 0, 2, &rows);
    }
}

fn busy(percent: u64) -> Cell {
    let tone = if percent >= 50 { Tone::Warn } else { Tone::Plain };
    Cell::new(tone, &format!("{percent}%"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_there_is_little_room_how_busy_a_session_is_is_whole() {
        let view = UseView {
            id: "k3v9q2zr".to_owned(),
            name: Some("nightly".to_owned()),
            status: StatusName(abide_core::status::Status::Running),
            cpu_percent: 100,
            cpu_ms: 61_000,
            memory_bytes: 700 << 20,
            processes: Vec::new(),
            standing: Cell::plain("running, stopping"),
            command: "make release".to_owned(),
        };
        let mut page = Page::new(false, Some(60));
        put(&mut page, &[view]);
        let told = "ID        NAME     STATUS       CPU   MEMORY     COMMAND\n\
            k3v9q2zr  nightly  running, s…  100%  700.0 MiB  make relea…\n";
        assert_eq!(page.text(), told);
    }

    #[test]
    fn what_is_asked_sooner_than_anything_can_be_measured_is_answered_with_what_was_measured_last() {
        let sample = |at| Sample { at, used: Vec::new() };
        let mut measured = Measured::new(sample(1_000));
        for (at, from) in [(1_001, 1_000), (1_099, 1_000), (1_100, 1_100), (1_150, 1_100), (3_000, 3_000)] {
            measured.take(sample(at));
            assert_eq!(measured.before.at, from, "{at}");
        }
    }
}
