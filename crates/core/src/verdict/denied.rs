//! Ends that the kernel denies: live evidence outranks all files. What stands in a record of a program that is alive is another's
//! end, or was altered.

use super::program_of;
use crate::evidence::fold::Evidence;
use crate::evidence::frame::{Damage, Flaw};
use crate::identity::Liveness;

/// Takes an end out of evidence whose program is proved alive, and notes that. Whether there was one. No witness writes an end
/// before it has seen the death, and a process that is known by its own number is never another.
pub fn deny(evidence: &mut Evidence, program: Liveness) -> bool {
    let certain = program_of(evidence).is_some_and(|program| program.pidfs.is_some());
    let closing = &mut evidence.closing;
    let told = closing.ended.is_some() || closing.sealed.is_some();
    let denied = certain && told && closing.removing.is_none() && program.is_alive();
    if denied {
        (closing.ended, closing.sealed) = (None, None);
        evidence.damaged(Damage { offset: 0, length: 0, flaw: Flaw::Denied });
    }
    denied
}
