//! What a host sees of the program beside its output: what it runs, and whether an agent runs there or files of it are
//! saved; then it starts a scribe, and the next one when that is gone.

use abide_core::evidence::Body;
use abide_core::id::SessionId;
use abide_core::identity::Lock;
use abide_core::verdict::program_of;
use abide_sys::clock;
use abide_sys::lock::{self, Holder};

use super::image::Imaging;
use crate::agents::{self, scribe};
use crate::store::{SessionDir, Writer};
use crate::truth::Truth;

/// Nobody looks for an agent, or for its scribe, more often than this, in ms.
const APART_MS: u64 = 2_000;
/// Without a terminal nothing need ever be shown: an agent is looked for so long after the beginning, and then no more.
const LOOKS_MS: [u64; 5] = [500, 2_000, 5_000, 15_000, 60_000];
/// Whoever comes is answered before anybody looks; that takes no longer, in ms.
const ANSWER_MS: u64 = 20;
/// Where there is somebody to follow, that somebody does is looked after this often, whatever was or was not shown.
const AGAIN_MS: u64 = 10_000;

/// What a host knows of the agent in its session.
pub(super) struct Scribing {
    truth: Truth,
    id: Option<SessionId>,
    /// The pid of the program, below which an agent may be.
    program: Option<u32>,
    /// An agent was seen, or files are saved.
    agent: bool,
    has_terminal: bool,
    next_at: u64,
    /// Something was shown since.
    due: bool,
    /// Somebody came: when to look then.
    came: Option<u64>,
    /// When an agent is looked for where there is no terminal, the last one first.
    looks: Vec<u64>,
    image: Imaging,
}

impl Scribing {
    pub(super) fn new(truth: Truth, dir: &SessionDir) -> Self {
        let evidence = dir.read().evidence();
        let launched = evidence.beginning.launched.as_ref().map(|told| &told.body);
        let has_terminal = launched.is_none_or(|launched| launched.size.is_some());
        let began = clock::now().boot;
        let looks = LOOKS_MS.iter().map(|after| began.saturating_add(*after));
        Self {
            id: launched.and_then(|launched| SessionId::parse(&launched.id)),
            agent: launched.is_some_and(|launched| launched.agent.is_some()) || evidence.work.turn.is_some(),
            program: program_of(&evidence).map(|program| program.pid),
            image: Imaging::new(&evidence),
            truth,
            has_terminal,
            next_at: 0,
            due: false,
            came: None,
            looks: if has_terminal { Vec::new() } else { looks.rev().collect() },
        }
    }

    /// The session's, as it was launched.
    pub(super) const fn id(&self) -> Option<&SessionId> {
        self.id.as_ref()
    }

    /// When to come back: because something was shown too soon after the last time, or because nothing was for long.
    pub(super) fn wake_at(&self) -> Option<u64> {
        let again = self.agent.then(|| self.next_at.saturating_add(AGAIN_MS));
        let look = self.looks.last().copied().filter(|_| !self.agent).map(|at| at.max(self.next_at));
        self.came.or(if self.due { Some(self.next_at) } else { look.or(again) })
    }

    /// Somebody came, and asks for something: as if something was shown, but not before that is answered.
    pub(super) fn visited(&mut self, now: u64) {
        self.came.get_or_insert(now.saturating_add(ANSWER_MS));
    }

    /// Something was shown: there may be an agent or a file by now, or no scribe any more, and the program may have become
    /// another.
    pub(super) fn hint(&mut self, evidence: &mut Writer) {
        self.due = true;
        if let Some(changed) = self.image.look(&self.truth) {
            // The session goes on whether or not there is room to say so.
            let _ = evidence.add(clock::now(), Body::ImageChanged(changed));
        }
    }

    /// Starts a scribe where there is an agent and no scribe.
    pub(super) fn ensure(&mut self, now: u64, dir: &SessionDir, evidence: &mut Writer) {
        if self.came.take_if(|at| *at <= now).is_some() {
            self.hint(evidence);
        } else if self.came.is_some() {
            return;
        }
        self.due |= self.wake_at().is_some_and(|at| at <= now);
        let Some(id) = self.id.as_ref().filter(|_| self.due && now >= self.next_at) else { return };
        self.due = false;
        while self.looks.pop_if(|at| *at <= now).is_some() {}
        self.next_at = now.saturating_add(APART_MS);
        if lock::ask(evidence.file(), Holder::Scribe) == Lock::Held {
            return;
        }
        let comes =
            || self.program.is_some_and(|program| is_in_front(&self.truth, program, self.has_terminal));
        self.agent = self.agent || dir.checkpoints().is_ok() || comes();
        if self.agent {
            // Without one nothing is written down; the next time tries again.
            let _ = scribe::start(dir, id);
        }
    }
}

impl Scribing {
    /// The session is over: somebody is to save what is left to save, also if the one who did is gone.
    pub(super) fn see_off(&self, dir: &SessionDir, evidence: &Writer) {
        let wanted = self.id.as_ref().filter(|_| self.agent || dir.checkpoints().is_ok());
        if let Some(id) = wanted.filter(|_| lock::ask(evidence.file(), Holder::Scribe) != Lock::Held) {
            let _ = scribe::start(dir, id);
        }
    }
}

/// Whether whoever the terminal belongs to now is an agent, or starts one; without a terminal, whether anyone of the family
/// is.
fn is_in_front(truth: &Truth, program: u32, has_terminal: bool) -> bool {
    if has_terminal {
        return truth.foreground(program).iter().any(|one| agents::is_kin(truth, &one.process));
    }
    truth.descendants(program).iter().any(|one| agents::is_kin(truth, one))
}
