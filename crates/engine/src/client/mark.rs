//! Giving this instant of a session's recording a name, and making sure that it has it.

use std::os::fd::AsFd;

use abide_core::evidence::frame::Found;
use abide_core::evidence::{Body, Marked};
use abide_core::failure::{Failure, admit};
use abide_core::instant::{At, Instant, Span};
use abide_core::status::Column;
use abide_core::wire::ToClient;
use abide_sys::{clock, poll};

use super::{Client, attach};
use crate::Sessions;
use crate::facts::{self, Wanted};
use crate::recording::replay::Replay;
use crate::store::Home;
use crate::truth::{Session, Truth};

/// A host that has not said so by then has not done it.
const ANSWER_MS: u64 = 2_000;
/// After so long without a word of the host, the evidence is asked.
const LOOK_AGAIN_MS: u64 = 100;

/// Sets a mark, and says where it is.
pub(crate) fn mark(truth: &Truth, home: &Home, session: &Session, name: &str) -> Result<Instant, Failure> {
    let (id, status) = (&session.id, session.verdict.status);
    admit(id.as_str(), status, Column::LiveHost)?;
    let failed = |e: std::io::Error| Failure::io("mark session", id, &e).about(id.as_str()).in_status(status);
    let open = || home.session(id).map_err(|untrusted| failed(std::io::Error::other(untrusted.says())));
    let set = || markings(home, session).into_iter().filter(|marking| marking.name == name).count();
    let before = set();
    let mut client = Client::connect(open()?).map_err(failed)?;
    client.mark(name).map_err(failed)?;
    let deadline = clock::now().boot.saturating_add(ANSWER_MS);
    let mut heard = false;
    while !heard {
        let left = deadline.saturating_sub(clock::now().boot);
        if left == 0 {
            break;
        }
        // Where the recording is cut, no host can read the mark off it: then the evidence alone has it.
        if !poll::readable(&[client.as_fd()], Some(left.min(LOOK_AGAIN_MS))).contains(&true) {
            if set() > before {
                break;
            }
            continue;
        }
        heard = match client.hear() {
            Ok(said) => {
                if let Some(refusal) = said.iter().find_map(ToClient::refusal) {
                    return Err(refusal.clone().about(id.as_str()).in_status(status));
                }
                said.iter().any(|word| matches!(word, ToClient::Marked { name: set, .. } if set == name))
            }
            // It died just now, perhaps before it passed the mark on.
            Err(_) if set() == before => {
                client.come_back().and_then(|()| client.mark(name)).map_err(failed)?;
                false
            }
            Err(_) => break,
        };
    }
    // A host of before it could say so may have done it all the same.
    if !heard && set() == before {
        return Err(attach::unresponsive(truth, session));
    }
    let span = Span { from: Some(At::Mark(name.to_owned())), to: None };
    let mut replay = Replay::open(truth, home, session, &span, false)?;
    let at = replay.next()?.map_or_else(Instant::default, |step| step.at);
    match last(home, session, name) {
        Some(marking) if marking.position > at.position => Ok(replay.instant_of(&marking)),
        Some(_) | None => Ok(at),
    }
}

/// A mark that is in the evidence: in the recording too, unless that was cut before it was set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marking {
    pub name: String,
    /// How many bytes of output there were.
    pub position: u64,
    /// When it was set, in microseconds of boot time.
    pub boot_us: u64,
}

impl Sessions {
    /// The marks of a session that are in its evidence, in their order.
    #[must_use]
    pub fn markings(&self, session: &Session) -> Vec<Marking> {
        self.home().map_or_else(Vec::new, |home| markings(home, session))
    }
}

/// All marks that the evidence knows, in their order.
pub(crate) fn markings(home: &Home, session: &Session) -> Vec<Marking> {
    let mut markings = Vec::new();
    // What cannot be read is found in the recording itself.
    let _ = facts::recorded(home, &Wanted::These(vec![session.id.clone()]), &mut |witnessed| {
        if let Found::Fact(fact) = witnessed.found
            && let Body::Marked(Marked { name, offset }) = fact.body
        {
            let boot_us = fact.at.boot.saturating_mul(1000);
            markings.push(Marking { name, position: offset, boot_us });
        }
        true
    });
    markings
}

/// The last mark of this name that the evidence knows.
pub(crate) fn last(home: &Home, session: &Session, name: &str) -> Option<Marking> {
    markings(home, session).into_iter().rfind(|marking| marking.name == name)
}
