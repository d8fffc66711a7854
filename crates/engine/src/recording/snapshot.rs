//! The screen of a session: from the living host, or replayed from the recording. Both are the same function of
//! the same bytes, so both give the same answer.

use std::os::fd::AsFd;

use abide_core::failure::Failure;
use abide_core::instant::{At, Instant, Span};
use abide_core::screen::Screen;
use abide_core::wire::ToClient;
use abide_sys::{clock, poll};

use super::damage::Gap;
use super::limit::{Clock, read_start};
use super::replay::{Replay, What};
use crate::client::Client;
use crate::store::{Home, SessionDir};
use crate::truth::{Session, Truth};

/// A host that has not answered by then is not waited for.
const ANSWER_MS: u64 = 1_000;
/// How long the recording is replayed then: a host that a flood has left behind has made no keyframes of what followed.
const REPLAY_MS: u64 = 2_000;

/// A screen, and where it comes from.
#[derive(Debug)]
pub struct Snapshot {
    pub screen: Screen,
    /// How many bytes of output it stands for.
    pub position: u64,
    /// The instant of the recording; none if a living host of before it could tell it shows the screen of now.
    pub instant: Option<Instant>,
    pub source: Source,
    /// What was missing in the recording on the way to it.
    pub gaps: Vec<Gap>,
    /// The instant that was asked for is not on record any more: this is the first that is.
    pub is_let_go: bool,
    /// So many bytes of the recording its host has yet to take in: it is not the screen of now.
    pub behind: u64,
}

/// Where a screen comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    Live,
    Replay,
    /// The host did not answer in time, so the recording was replayed.
    ReplayInstead,
}

/// The screen of now, or as it was at an instant.
pub(crate) fn snapshot(
    truth: &Truth,
    home: &Home,
    session: &Session,
    at: Option<&At>,
) -> Result<Snapshot, Failure> {
    within(truth, home, session, (at, ANSWER_MS))
}

/// The same, with so many ms for the host at most to answer in.
pub(crate) fn within(
    truth: &Truth,
    home: &Home,
    session: &Session,
    (at, patience_ms): (Option<&At>, u64),
) -> Result<Snapshot, Failure> {
    let live = at.is_none() && session.verdict.status.has_live_host();
    let source = match home.session(&session.id) {
        Ok(dir) if live => match ask(dir, session, patience_ms.min(ANSWER_MS)) {
            Asked::Screen(snapshot) => return Ok(*snapshot),
            Asked::Unreadable => Source::Replay,
            Asked::Silent => Source::ReplayInstead,
        },
        Ok(_) | Err(_) => Source::Replay,
    };
    replayed(truth, home, session, at, source)
}

/// The same, from the recording alone.
pub(crate) fn replayed(
    truth: &Truth,
    home: &Home,
    session: &Session,
    at: Option<&At>,
    source: Source,
) -> Result<Snapshot, Failure> {
    let from = at.cloned().unwrap_or(At::Since(u64::MAX));
    let mut replay = Replay::open(truth, home, session, &Span { from: Some(from), to: None }, false)?;
    if source == Source::ReplayInstead {
        replay = replay.within(REPLAY_MS);
    }
    let (instant, gaps) = match replay.next()? {
        Some(step) => match step.what {
            What::Begin(gaps) => (step.at, gaps.to_vec()),
            What::Entry(..) | What::Screen | What::Gap(_) | What::LetGo | What::CaughtUp => {
                (step.at, Vec::new())
            }
        },
        None => (Instant::default(), Vec::new()),
    };
    let (position, is_let_go, behind) = (instant.position, replay.is_let_go(), replay.behind());
    let instant = Some(instant);
    Ok(Snapshot { screen: replay.into_screen(), position, instant, source, gaps, is_let_go, behind })
}

/// What became of asking the host.
enum Asked {
    Screen(Box<Snapshot>),
    /// It answered in the way of another version.
    Unreadable,
    Silent,
}

fn ask(dir: SessionDir, session: &Session, patience_ms: u64) -> Asked {
    let start = dir.recording().ok().and_then(|recording| read_start(&recording));
    let Some(Answer { entries, behind: (behind, stood_at), position, frozen }) = answer(dir, patience_ms)
    else {
        return Asked::Silent;
    };
    let Some(mut screen) = Screen::thaw(&frozen) else {
        return Asked::Unreadable;
    };
    // It is the screen of now, not that of when the last output came, unless there is more to come.
    let now = if behind > 0 { stood_at } else { clock::boot_micros() };
    screen.elapse(now);
    let told = Clock::of(start.as_ref(), session);
    let instant = entries.map(|entry| Instant { entry, position, ..told.at(now) });
    let gaps = Vec::new();
    Asked::Screen(Box::new(Snapshot {
        screen,
        position,
        instant,
        source: Source::Live,
        gaps,
        is_let_go: false,
        behind,
    }))
}

/// What the host says: how much is on record, if it tells that, what it has yet to take in and when it stood so, how much was
/// shown, and its screen.
struct Answer {
    entries: Option<u64>,
    behind: (u64, u64),
    position: u64,
    frozen: Vec<u8>,
}

fn answer(dir: SessionDir, patience_ms: u64) -> Option<Answer> {
    let mut client = Client::connect(dir).ok()?;
    client.ask_snapshot().ok()?;
    let deadline = clock::now().boot.saturating_add(patience_ms);
    let (mut reached, mut lag) = (None, (0, 0));
    loop {
        let left = deadline.saturating_sub(clock::now().boot);
        if left == 0 || !poll::readable(&[client.as_fd()], Some(left)).contains(&true) {
            return None;
        }
        let heard = client.hear().ok()?;
        let answer = heard.into_iter().find_map(|message| match message {
            ToClient::Reached { entries, behind, .. } => {
                (reached, lag) = (Some(entries), behind);
                None
            }
            ToClient::Snapshot { position, frozen } => {
                Some(Answer { entries: reached, behind: lag, position, frozen })
            }
            ToClient::Welcome { .. }
            | ToClient::Stage { .. }
            | ToClient::Paint(_)
            | ToClient::Output(_)
            | ToClient::Applied { .. }
            | ToClient::Withdrawn { .. }
            | ToClient::Marked { .. }
            | ToClient::Exec { .. }
            | ToClient::Unrecorded(_)
            | ToClient::Ended
            | ToClient::Refused(_) => None,
        });
        if answer.is_some() {
            return answer;
        }
    }
}
