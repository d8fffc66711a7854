//! What the very file of a session's evidence says beside its facts: whether it is a copy, and who holds locks on it.

use std::fs::File;

use abide_core::evidence::fold::Evidence;
use abide_core::evidence::frame::{Damage, Flaw};
use abide_core::identity::{FileId, Lock, SystemId};
use abide_sys::disk;
use abide_sys::lock::{self, Holder};

/// The open file, and which one it is; that is asked once.
#[derive(Clone, Copy)]
pub(super) struct Record<'a> {
    file: &'a File,
    id: FileId,
}

impl<'a> Record<'a> {
    /// None where the kernel does not say which it is.
    pub(super) fn of(file: &'a File) -> Option<Self> {
        Some(Self { file, id: disk::file_id(file).ok()? })
    }
}

/// In a copy of a session that was not over nobody records the end of the original.
pub(super) fn note_copy(evidence: &mut Evidence, record: Option<Record<'_>>, here: Option<SystemId>) {
    let closing = &evidence.closing;
    if evidence.is_closed() || closing.sealed.is_some() || closing.removing.is_some() {
        return;
    }
    let helpers = &evidence.helpers;
    let guarded = helpers.guarded.as_ref().map(|told| (told.body.lock, told.body.guard.boot));
    let watched = helpers.watched.as_ref().map(|told| (told.body.lock, told.body.watcher.boot));
    if let (Some((recorded, boot)), Some(Record { id, .. })) = (guarded.or(watched), record) {
        // Devices get other numbers at a reboot, inodes do not.
        let elsewhere = here == Some(boot) && recorded.dev != id.dev;
        if elsewhere || recorded.ino != id.ino {
            evidence.damaged(Damage { offset: 0, length: 0, flaw: Flaw::Copied });
        }
    }
}

/// A lock speaks only on the very file that its holder recorded.
pub(super) fn ask(recorded: Option<FileId>, record: Option<Record<'_>>, holder: Holder) -> Lock {
    match record {
        Some(Record { file, id }) if recorded == Some(id) => lock::ask(file, holder),
        Some(_) | None => Lock::Silent,
    }
}

/// Whoever removes a session holds the sealers' lock from before that is on record.
pub(super) fn is_half_removed(evidence: &Evidence, file: Option<&File>) -> bool {
    let closing = &evidence.closing;
    let begun = closing.removing.is_some() && closing.removed.is_none();
    begun && file.is_some_and(|file| lock::ask(file, Holder::Sealer) == Lock::Silent)
}
