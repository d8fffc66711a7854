//! Giving this instant of a session's recording a name, and making sure that it has it.

use std::os::fd::AsFd;

use abide_core::evidence::Body;
use abide_core::evidence::frame::Found;
use abide_core::failure::{Code, Failure, admit};
use abide_core::instant::{At, Instant, Span};
use abide_core::status::Column;
use abide_core::wire::ToClient;
use abide_sys::{clock, poll};

use super::Client;
use crate::facts::{self, Wanted};
use crate::recording::replay::Replay;
use crate::store::Home;
use crate::truth::{Session, Truth};

/// A host that has not said so by then has not done it.
const ANSWER_MS: u64 = 2_000;

/// Sets a mark, and says where it is.
pub(crate) fn mark(truth: &Truth, home: &Home, session: &Session, name: &str) -> Result<Instant, Failure> {
    let (id, status) = (&session.id, session.verdict.status);
    admit(id.as_str(), status, Column::LiveHost)?;
    let failed = |e: std::io::Error| Failure::io("mark session", id, &e).about(id.as_str()).in_status(status);
    let open = || home.session(id).map_err(|untrusted| failed(std::io::Error::other(untrusted.says())));
    let before = positions(home, session, name).len();
    let mut client = Client::connect(open()?).map_err(failed)?;
    client.mark(name).map_err(failed)?;
    let deadline = clock::now().boot.saturating_add(ANSWER_MS);
    let mut heard = false;
    while !heard {
        let left = deadline.saturating_sub(clock::now().boot);
        if left == 0 || !poll::readable(&[client.as_fd()], Some(left)).contains(&true) {
            break;
        }
        heard = match client.hear() {
            Ok(said) => {
                said.iter().any(|word| matches!(word, ToClient::Marked { name: set, .. } if set == name))
            }
            // It died just now, perhaps before it passed the mark on.
            Err(_) if positions(home, session, name).len() == before => {
                client.come_back().and_then(|()| client.mark(name)).map_err(failed)?;
                false
            }
            Err(_) => break,
        };
    }
    // A host of before it could say so may have done it all the same.
    if !heard && positions(home, session, name).len() == before {
        return Err(Failure::new(
            Code::NoAnswer,
            format!("the host of session {id} did not set the mark in time"),
        )
        .hint(format!("`abide why {id}` shows whether it is served; then try again"))
        .about(id.as_str())
        .in_status(status));
    }
    let span = Span { from: Some(At::Mark(name.to_owned())), to: None };
    let mut replay = Replay::open(truth, home, session, &span, false)?;
    Ok(replay.next()?.map_or_else(Instant::default, |step| step.at))
}

/// The positions of all marks of this name that the evidence knows, in their order.
pub(crate) fn positions(home: &Home, session: &Session, name: &str) -> Vec<u64> {
    let mut positions = Vec::new();
    // What cannot be read is found in the recording itself.
    let _ = facts::recorded(home, &Wanted::These(vec![session.id.clone()]), &mut |witnessed| {
        if let Found::Fact(fact) = witnessed.found
            && let Body::Marked(marked) = fact.body
            && marked.name == name
        {
            positions.push(marked.offset);
        }
        true
    });
    positions
}
