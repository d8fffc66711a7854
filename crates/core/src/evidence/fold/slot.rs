//! What the outcome's slot adds to a log: the end, or the word that belongs to it. Files can be copied: what no guard of this
//! session can have written is damage, and no end.

use super::{Evidence, Told};
use crate::evidence::frame::{Damage, Flaw, Found, SLOT_SIZE, Scanner};
use crate::evidence::{Body, Declared, Fact, Role, Witness, Word};

impl Evidence {
    /// Whether the outcome's slot can add to the log: an end, or which word of the program belongs to it.
    #[must_use]
    pub fn wants_slot(&self) -> bool {
        !self.is_closed() || self.work.word_is_unclear
    }

    /// Takes what the outcome's slot held at an instant of wall time. Only where it is wanted. `end` is where the log ends:
    /// what the slot shows to be missing was there. `id` is the session's, where the log does not tell it.
    pub fn add_slot(&mut self, id: Option<&str>, bytes: Option<&[u8]>, until: i64, end: u64) {
        let Some(bytes) = bytes else {
            return self.damaged(Damage { offset: 0, length: 0, flaw: Flaw::NoSlot });
        };
        if bytes.len() != SLOT_SIZE {
            // Newlines alone would look like a slot that nobody has filled.
            self.damaged(Damage { offset: bytes.len() as u64, length: 0, flaw: Flaw::BadSlot });
        }
        let mut facts = Vec::new();
        let mut scanner = Scanner::default();
        let mut slot = |_, found: Found| match found {
            found if !found.is_by(until) => {}
            Found::Fact(fact) if fact.body.closes() => facts.push(*fact),
            Found::Fact(_) => {}
            Found::Damage(damage) => self.damaged(Damage { flaw: Flaw::BadSlot, ..damage }),
        };
        scanner.feed(written(bytes), &mut slot);
        scanner.finish(&mut slot);
        let ours = self.id().or(id).map(str::to_owned);
        let in_log = self.is_closed();
        if !in_log && facts.iter().any(|fact| self.is_foreign(ours.as_deref(), fact)) {
            return self.damaged(Damage { offset: 0, length: 0, flaw: Flaw::ForeignSlot });
        }
        let mut left = None;
        for mut fact in facts {
            fact.body.join(&mut left);
            if in_log {
                self.hear_again(fact);
            } else {
                // Its number tells whether the log has lost what came before it.
                self.check_sequence(end, &fact);
                self.fold(fact);
            }
        }
    }

    /// Whether it tells of another session, or whoever wrote it cannot have served this one: it does not write of ends, or was
    /// there before the session.
    fn is_foreign(&self, ours: Option<&str>, fact: &Fact) -> bool {
        let Witness { role, boot, .. } = fact.witness;
        let launched = self.beginning.launched.as_ref().filter(|told| told.witness.boot == boot);
        // All guards of a session live where the first one did, and so have its clock.
        let is_older = role == Role::Guard && launched.is_some_and(|told| fact.at.boot < told.at.boot);
        let named = fact.body.ended_session();
        let is_another_s = named.zip(ours).is_some_and(|(named, ours)| named != ours);
        // A program that has started has passed its exec.
        let has_run = self.beginning.started.is_some() && fact.body.is_exec_failed();
        is_another_s || has_run || !role.serves() || is_older
    }

    /// Takes the word from a slot whose end the log has too.
    fn hear_again(&mut self, fact: Fact) {
        let (witness, at) = (fact.witness, fact.at);
        let known = self.closing.ended.as_ref().filter(|told| told.witness == witness);
        if let (Some(order), Body::Ended(ended)) = (known.map(|told| told.order), fact.body) {
            self.work.heed(ended.word.map(|body| Told { witness, at, order, body }), true);
        }
    }
}

/// The slot without the newlines at its end that nobody has written over yet: most of it, so they are passed over by blocks.
fn written(slot: &[u8]) -> &[u8] {
    const BLANK: [u8; 256] = [b'\n'; 256];
    let blank = slot.rchunks_exact(BLANK.len()).take_while(|block| **block == BLANK).count();
    // The newline that ends a line is what tells that it is whole.
    &slot[..slot.len() - (blank * BLANK.len()).saturating_sub(1)]
}

impl Body {
    /// Whether this is part of the guard's last word: what the slot is for.
    const fn closes(&self) -> bool {
        matches!(self, Self::Ended(_) | Self::ExecFailed(_) | Self::Declared(_))
    }

    const fn is_exec_failed(&self) -> bool {
        matches!(self, Self::ExecFailed(_))
    }

    /// The session that it says to be the end of.
    fn ended_session(&self) -> Option<&str> {
        if let Self::Ended(ended) = self {
            ended.session.as_deref()
        } else if let Self::ExecFailed(failed) = self {
            failed.session.as_deref()
        } else {
            None
        }
    }

    /// In a slot, what stands before an end is what the program left as a file, and so the last word: the end tells it,
    /// also where its witness did not yet know how to.
    fn join(&mut self, left: &mut Option<Declared>) {
        if let Self::Declared(word) = self {
            *left = Some(word.clone());
        } else if let Self::Ended(ended) = self
            && ended.word.is_none()
        {
            ended.word = left.take().map(|word| Word { declared: Some(word), unclear: false });
        }
    }
}
