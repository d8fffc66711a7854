//! Packing the recordings of sessions that are over: the same bytes in less room, read as before.

use abide_core::evidence::Role;
use abide_core::failure::{Code, Failure};
use abide_sys::lock::{self, Holder};

use super::collect::{self, Doing};
use super::seal;
use crate::store::Home;
use crate::truth::{Session, Truth};

/// A session whose recording was or would be packed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackedOne {
    pub id: String,
    /// How much room it took.
    pub bytes: u64,
    /// How much it takes now; none if nothing was done yet.
    pub packed: Option<u64>,
    pub failure: Option<Failure>,
}

/// Packs what ended longer ago than this. With `dry`, only says what it would pack.
pub(crate) fn pack_older(
    truth: &Truth,
    home: &Home,
    sessions: &[Session],
    older_ms: u64,
    doing: &Doing<'_>,
) -> Vec<PackedOne> {
    let now = truth.now().at.wall;
    let old = |session: &&Session| {
        let age = u64::try_from(now.saturating_sub(session.ended_at())).unwrap_or(0);
        session.verdict.status.is_collectable() && age > older_ms
    };
    let room = |session: &Session| home.session(&session.id).ok()?.unpacked_bytes();
    let unpacked: Vec<(&Session, u64)> =
        sessions.iter().filter(old).filter_map(|one| Some((one, room(one)?))).collect();
    let (mut all, mut done, dry) = (Vec::new(), 0, doing.dry);
    let whole = unpacked.iter().map(|(_, bytes)| bytes).sum();
    for (session, bytes) in unpacked {
        (doing.tell)(done, whole);
        done += bytes;
        let pack = || pack(truth, home, &seal::first(truth, home, session));
        let (packed, failure) = match if dry { Ok(None) } else { pack() } {
            // Whoever served it is not quite gone: another time.
            Ok(None) if !dry => continue,
            Ok(packed) => (packed, None),
            // Another packs it right now, or has removed it.
            Err(failure) if failure.code == Code::Busy || !home.has(&session.id) => continue,
            Err(failure) => (None, Some(failure)),
        };
        all.push(PackedOne { id: session.id.to_string(), bytes, packed, failure });
    }
    all
}

/// Packs one, and says how much room it takes now. Nobody removes it meanwhile; where somebody lives who could still add
/// to it, or nothing is left to pack, nothing is done.
fn pack(truth: &Truth, home: &Home, session: &Session) -> Result<Option<u64>, Failure> {
    let (id, status) = (&session.id, session.verdict.status);
    let failed = |e: std::io::Error| {
        Failure::io("pack the recording of session", id, &e).about(id.as_str()).in_status(status)
    };
    let dir = home.session(id).map_err(|untrusted| failed(std::io::Error::other(untrusted.says())))?;
    let pen = dir.write(Role::Client, truth.now().boot).map_err(failed)?;
    if !lock::take(pen.file(), Holder::Sealer).map_err(failed)? {
        return Err(collect::busy(session));
    }
    let now = truth.of(home, id);
    let served = now.seen.guard.is_alive() || now.seen.host.is_alive();
    let packed = if now.verdict.status.is_collectable() && !served { dir.pack_recording() } else { Ok(None) };
    lock::give_back(pen.file(), Holder::Sealer);
    Ok(packed.map_err(failed)?.map(|(_, packed)| packed))
}
