//! How the end gets on record: in the slot, whose room is its own, and in the log.

use abide_core::evidence::frame::Found;
use abide_core::evidence::{Body, Declared, Ended, Fact, Outcome, Resources, Started};
use abide_core::moment::Moment;
use abide_core::verdict::program_of;
use abide_sys::clock;
use abide_sys::lock::{self, Holder};

use super::Keeper;
use crate::declared;
use crate::place::tree;
use crate::store::{Progress, SessionDir, Writer};

impl Keeper {
    /// True once the outcome is on record somewhere.
    pub(super) fn record_end(&mut self, outcome: Outcome, resources: Option<Resources>) -> bool {
        let left = self.left();
        let more_survivors = left.len().saturating_sub(tree::NAMED) as u64;
        let survivors = left.into_iter().take(tree::NAMED).collect();
        let ended = Ended { resources, survivors, more_survivors, ..Ended::of(outcome) };
        if let Some(started) = self.outlived() {
            self.note(Body::Started(started));
        }
        record(&self.dir, &mut self.evidence, &mut self.told, ended)
    }

    /// What was told of our program when it started, where the agent on record that it wrapped is gone before it: whose end
    /// this is stands with it.
    fn outlived(&mut self) -> Option<Started> {
        let mut told = None;
        let program = &self.program.identity;
        let evidence = self.told.up_to_now(self.evidence.file());
        program_of(&evidence).filter(|known| known.pid != program.pid)?;
        // Where that cannot be read, the end alone is told.
        let _ = self.dir.each_fact(&mut |found| {
            if let Found::Fact(fact) = found
                && let Body::Started(started) = fact.body
                && started.program.pid == program.pid
            {
                told = Some(Started { program: *program, ..started });
            }
        });
        told
    }
}

/// Records an end that was observed, with the word that the program left or had declared. The slot first: it has room when
/// nothing else has. `told` is how far the log was read. True once it is on record somewhere.
pub(crate) fn record(dir: &SessionDir, pen: &mut Writer, told: &mut Progress, ended: Ended) -> bool {
    declared::take_turn(pen.file());
    let so_far = told.up_to_now(pen.file());
    let last = declared::last(&so_far, dir);
    let ended = Ended { word: Some(last.told(&so_far)), ..ended };
    let brief = last.unlogged.as_ref().map(declared::brief);
    let at = clock::now();
    let session = so_far.id().map(str::to_owned);
    let in_slot = fill_slot(dir, pen, at, brief.clone(), &Ended { session, ..ended.clone() });
    let mut log = |body| pen.add(at, body).is_ok();
    let word_in_log = match (last.unlogged, brief) {
        (Some(word), Some(brief)) => log(Body::Declared(word)) || log(Body::Declared(brief)),
        (Some(_) | None, _) => true,
    };
    // Readers who find the end in the log do not ask the slot: no end without the word that belongs to it.
    let in_log = (word_in_log || !in_slot) && log(Body::Ended(Box::new(ended)));
    lock::give_back(pen.file(), Holder::Declarer);
    if let Some(note) = last.note.filter(|_| in_slot || in_log) {
        // The end is on record; why a word does not count may find no room.
        let _ = pen.add(at, Body::Noted(note));
    }
    in_slot || in_log
}

/// What must not be lost, without what may be long.
fn fill_slot(dir: &SessionDir, pen: &Writer, at: Moment, word: Option<Declared>, ended: &Ended) -> bool {
    let ended = Ended { survivors: Vec::new(), ..ended.clone() };
    let bodies = word.map(Body::Declared).into_iter().chain([Body::Ended(Box::new(ended))]);
    let facts: Vec<Fact> = (1..).zip(bodies).map(|(ahead, body)| pen.draft(at, ahead, body)).collect();
    dir.fill_slot(&facts).is_ok()
}
