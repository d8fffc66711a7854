//! What a verdict needs of the facts, folded in bounded memory. Decides nothing.

mod slot;

use std::borrow::Cow;

use super::frame::{Damage, Flaw, Found, Scanner};
use super::{
    Adopted, Attention, Body, Checkpointed, Cut, Declared, Ended, ExecFailed, Fact, Guarded, Hosted, How,
    ImageChanged, Launched, Noted, Sealed, Started, StopAsked, Summary, TurnOpened, Wants, Watched, Witness,
    Word,
};
use crate::identity::Identity;
use crate::moment::Moment;

/// A fact of a known kind.
#[derive(Debug, Clone, PartialEq)]
pub struct Told<T> {
    pub witness: Witness,
    pub at: Moment,
    /// How many facts stand before it.
    pub order: u64,
    pub body: T,
}

/// All that matters of one session's evidence.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Evidence {
    pub beginning: Beginning,
    pub helpers: Helpers,
    pub closing: Closings,
    pub work: Work,
    pub record: Record,
}

/// How the session came to be.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Beginning {
    pub launched: Option<Told<Box<Launched>>>,
    pub adopted: Option<Told<Box<Adopted>>>,
    pub started: Option<Told<Started>>,
    /// The same by whoever could identify the program better later, if anyone could.
    pub identified: Option<Told<Started>>,
    /// The latest image the program exec'd, if it exec'd another one.
    pub image: Option<Told<ImageChanged>>,
}

/// The processes that serve it; the latest of each.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Helpers {
    pub guarded: Option<Told<Guarded>>,
    pub hosted: Option<Told<Hosted>>,
    /// Who follows a program that neither of them serves.
    pub watched: Option<Told<Watched>>,
    /// The latest signal that one of them heard and went on after, or was replaced.
    pub heard: Option<Told<i32>>,
    /// The program that a host found dead.
    pub gone: Option<Told<Box<Identity>>>,
}

/// What ended it: the first of each, unless a later one observed what the first could not.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Closings {
    pub stop_asked: Option<Told<StopAsked>>,
    pub exec_failed: Option<Told<ExecFailed>>,
    pub ended: Option<Told<Box<Ended>>>,
    pub sealed: Option<Told<Box<Sealed>>>,
    pub removing: Option<Told<()>>,
    pub removed: Option<Told<()>>,
}

/// What the program and its agent say of the work.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Work {
    /// The latest before the end was on record: what comes after would change what has been told.
    pub declared: Option<Told<Declared>>,
    /// Facts from before the end are missing, or whoever closed the session could not tell: nothing says whether `declared`
    /// is what counted.
    pub word_is_unclear: bool,
    /// A bit for each code that was declared before the end.
    said: [u128; 2],
    pub turn: Option<Told<Box<TurnOpened>>>,
    /// The latest turn was closed, or the agent waits for its first.
    pub turn_closed: bool,
    /// By whom, and when.
    pub closed_by: Option<(Witness, Moment)>,
    /// It was closed because its agent ended in the middle of it.
    pub broken_off: bool,
    pub attention: Option<Told<Attention>>,
    pub summary: Option<Told<Box<Summary>>>,
    /// What was saved, a file each, in the order in which they were first saved.
    pub saved: Vec<Saved>,
    /// The highest number that a copy has.
    pub copies: u64,
}

/// One file that was saved.
#[derive(Debug, Clone, PartialEq)]
pub struct Saved {
    pub latest: Told<Checkpointed>,
    /// Somebody asked for it by its name.
    pub named: bool,
    /// The numbers of its copies and how long each was at last, the oldest first.
    pub copies: Vec<(u64, u64)>,
}

/// What can be said of the record itself.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Record {
    pub facts: u64,
    /// The latest.
    pub cut: Option<Told<Cut>>,
    /// All that the terminal held was put on record, or told to be cut: so many bytes of output.
    pub drained: Option<u64>,
    /// The latest fact of anyone but a sealer: the last sign of life.
    pub last: Option<Told<Cow<'static, str>>>,
    pub damage: Vec<Damage>,
    /// Damage beyond what `damage` holds.
    pub more_damage: u64,
    witnesses: Vec<(Witness, u64)>,
}

const DAMAGE_KEPT: usize = 16;
const WITNESSES_KEPT: usize = 256;
/// So many files are told apart; of more, the one that was saved longest ago is forgotten.
pub const SAVED_KEPT: usize = 64;
/// So many copies of each are told apart.
const COPIES_KEPT: usize = 64;

impl Evidence {
    /// Reads a whole log at once.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Self {
        let mut evidence = Self::default();
        let mut scanner = Scanner::default();
        scanner.feed(bytes, &mut |offset, found| evidence.add(offset, found));
        scanner.finish(&mut |offset, found| evidence.add(offset, found));
        if bytes.is_empty() {
            evidence.damaged(Damage { offset: 0, length: 0, flaw: Flaw::Empty });
        }
        evidence
    }

    /// Takes the next thing found in the log.
    pub fn add(&mut self, offset: u64, found: Found) {
        match found {
            Found::Fact(fact) => {
                self.check_sequence(offset, &fact);
                self.fold(*fact);
            }
            Found::Damage(damage) => self.damaged(damage),
        }
    }

    /// Whether it holds the session's end, as its witness or its remover told it.
    #[must_use]
    pub const fn is_closed(&self) -> bool {
        let closing = &self.closing;
        closing.ended.is_some() || closing.exec_failed.is_some() || closing.removed.is_some()
    }

    /// Whether it holds the session's beginning.
    #[must_use]
    pub const fn is_begun(&self) -> bool {
        self.beginning.launched.is_some() || self.beginning.adopted.is_some()
    }

    /// The ID of the session that it is the record of, where that can be read.
    #[must_use]
    pub fn id(&self) -> Option<&str> {
        let launched = self.beginning.launched.as_ref().map(|told| &told.body.id);
        let adopted = self.beginning.adopted.as_ref().map(|told| &told.body.id);
        launched.or(adopted).map(String::as_str)
    }

    /// Takes the word that counted at an end. What came after the first end that was recorded does not count.
    fn heed(&mut self, word: Option<Told<Word>>) {
        if !self.closing.is_recorded() {
            self.work.heed(word, self.is_damaged());
        }
    }

    /// Notes a place that cannot be read.
    pub fn damaged(&mut self, damage: Damage) {
        if self.record.damage.len() < DAMAGE_KEPT {
            self.record.damage.push(damage);
        } else {
            self.record.more_damage += 1;
        }
    }

    /// Whether some fact may be missing.
    #[must_use]
    pub fn is_damaged(&self) -> bool {
        !self.record.damage.is_empty()
    }

    /// The number of the last fact that a witness wrote; zero if none is known.
    #[must_use]
    pub fn last_seq(&self, witness: &Witness) -> u64 {
        let known = self.record.witnesses.iter().find(|(known, _)| known == witness);
        known.map_or(0, |(_, seq)| *seq)
    }

    fn check_sequence(&mut self, offset: u64, fact: &Fact) {
        let witnesses = &mut self.record.witnesses;
        let serves = fact.witness.role.serves();
        let expected = if let Some((_, last)) = witnesses.iter_mut().find(|(known, _)| *known == fact.witness)
        {
            std::mem::replace(last, fact.seq).saturating_add(1)
        } else if witnesses.len() < WITNESSES_KEPT {
            witnesses.push((fact.witness, fact.seq));
            1
        } else if let Some(other) = witnesses.iter_mut().find(|(known, _)| serves && !known.role.serves()) {
            // Who serves the session is followed whoever else comes and goes.
            *other = (fact.witness, fact.seq);
            1
        } else {
            // Beyond those kept, nobody's count can be followed.
            fact.seq
        };
        if fact.seq > expected {
            self.damaged(Damage { offset, length: 0, flaw: Flaw::Gap });
        }
    }

    fn fold(&mut self, fact: Fact) {
        let Fact { witness, at, body, .. } = fact;
        let order = self.record.facts;
        self.record.facts += 1;
        if witness.role.gives_sign_of_life() {
            self.record.last = Some(Told { witness, at, order, body: body.kept_name() });
        }
        macro_rules! first {
            ($slot:expr, $body:expr) => {{
                $slot.get_or_insert(Told { witness, at, order, body: $body });
            }};
        }
        macro_rules! latest {
            ($slot:expr, $body:expr) => {
                $slot = Some(Told { witness, at, order, body: $body })
            };
        }
        match body {
            Body::Launched(body) => first!(self.beginning.launched, body),
            Body::Adopted(body) => first!(self.beginning.adopted, body),
            Body::Started(body) => self.beginning.start(Told { witness, at, order, body }),
            Body::ImageChanged(body) => latest!(self.beginning.image, body),
            Body::Guarded(body) => latest!(self.helpers.guarded, body),
            Body::Hosted(body) => latest!(self.helpers.hosted, body),
            Body::Watched(body) => latest!(self.helpers.watched, body),
            Body::StopAsked(body) => first!(self.closing.stop_asked, body),
            // A recorded end is final; only whoever observed how it ended outranks those who could not.
            Body::ExecFailed(_) | Body::Ended(_) if self.closing.is_observed() => {}
            Body::Ended(body) if body.outcome.how == How::Lost && self.closing.is_recorded() => {}
            Body::Declared(_) | Body::Sealed(_) if self.closing.is_recorded() => {}
            Body::ExecFailed(body) => latest!(self.closing.exec_failed, body),
            Body::Ended(body) => {
                self.heed(body.word.clone().map(|body| Told { witness, at, order, body }));
                latest!(self.closing.ended, body);
            }
            Body::Sealed(body) => {
                self.heed(None);
                self.work.word_is_unclear |= body.word_unclear;
                latest!(self.closing.sealed, body);
            }
            Body::Removing(_) => first!(self.closing.removing, ()),
            Body::Removed(_) => first!(self.closing.removed, ()),
            Body::Declared(body) => {
                self.work.say(body.exit_code);
                latest!(self.work.declared, body);
            }
            Body::TurnOpened(body) => {
                latest!(self.work.turn, body);
                (self.work.turn_closed, self.work.closed_by) = (false, None);
                self.work.broken_off = false;
                latest!(self.work.attention, Attention { wants: Wants::None, text: None });
            }
            Body::TurnClosed(body) => {
                // Without a name it is about no turn: the agent waits for its first.
                let known = self.work.turn.as_ref().map_or("", |turn| turn.body.turn.as_str());
                if known == body.turn {
                    (self.work.turn_closed, self.work.closed_by) = (true, Some((witness, at)));
                    self.work.broken_off = body.broken_off;
                }
            }
            Body::Attention(body) => latest!(self.work.attention, body),
            Body::Summary(body) => latest!(self.work.summary, body),
            Body::Cut(body) => latest!(self.record.cut, body),
            Body::Drained(body) => self.record.drained = Some(body.bytes),
            Body::Checkpointed(body) => self.work.save(Told { witness, at, order, body }),
            Body::Noted(body) => self.helpers.note(Told { witness, at, order, body }),
            Body::Signalled(_) | Body::Marked(_) | Body::Notified(_) | Body::Other { .. } => {}
        }
    }
}

impl Helpers {
    /// Takes what one of them noted of itself or of the program.
    fn note(&mut self, told: Told<Noted>) {
        let Told { witness, at, order, body } = told;
        if let Some(signal) = body.heard {
            self.heard = Some(Told { witness, at, order, body: signal });
        }
        if let Some(program) = body.gone {
            self.gone = Some(Told { witness, at, order, body: program });
        }
    }
}

impl Work {
    /// Whether a turn that is open no more was closed by nothing but the end of its agent, as far as anyone told.
    #[must_use]
    pub const fn is_broken_off(&self) -> bool {
        self.turn.is_some() && (!self.turn_closed || self.broken_off)
    }

    /// Takes the word that counted at the end, as the witness of the end tells it. It may have been overtaken by one that
    /// came before the end was on record; where facts are missing, that cannot be told from one that is lost.
    fn heed(&mut self, word: Option<Told<Word>>, damaged: bool) {
        let Some(Told { witness, at, order, body: Word { declared, unclear: false } }) = word else {
            self.word_is_unclear = damaged || word.is_some();
            return;
        };
        let code = |word: &Declared| word.exit_code;
        let known = self.declared.as_ref().map(|told| code(&told.body));
        let differs = known.is_some() && known != declared.as_ref().map(code);
        let lost = declared.as_ref().is_some_and(|word| !self.has_said(word.exit_code));
        self.word_is_unclear = differs && (damaged || lost);
        if let (None, Some(body)) = (known, declared) {
            self.declared = Some(Told { witness, at, order, body });
        }
    }

    fn say(&mut self, code: u8) {
        self.said[usize::from(code / 128)] |= 1 << (code % 128);
    }

    const fn has_said(&self, code: u8) -> bool {
        self.said[(code / 128) as usize] & (1 << (code % 128)) != 0
    }

    fn save(&mut self, told: Told<Checkpointed>) {
        let copy = told.body.copy().unwrap_or(0);
        self.copies = self.copies.max(copy);
        let now = (copy, told.body.stored());
        if let Some(known) = self.saved.iter_mut().find(|known| known.latest.body.file == told.body.file) {
            known.named |= told.body.named;
            known.latest = told;
            match known.copies.last_mut().filter(|(number, _)| *number == copy) {
                Some(last) => *last = now,
                None => known.copies.push(now),
            }
            known.copies.drain(..known.copies.len().saturating_sub(COPIES_KEPT));
            return;
        }
        if self.saved.len() == SAVED_KEPT {
            let oldest = self.saved.iter().enumerate().min_by_key(|(_, known)| known.latest.order);
            let oldest = oldest.map_or(0, |(at, _)| at);
            self.saved.remove(oldest);
        }
        self.saved.push(Saved { named: told.body.named, latest: told, copies: vec![now] });
    }
}

impl Closings {
    /// Its end is on record, whoever told of it.
    #[must_use]
    pub const fn is_recorded(&self) -> bool {
        self.ended.is_some() || self.exec_failed.is_some() || self.sealed.is_some()
    }

    /// Its end is on record by one who saw it.
    fn is_observed(&self) -> bool {
        let seen = |told: &Told<Box<Ended>>| told.body.outcome.how != How::Lost;
        self.exec_failed.is_some() || self.ended.as_ref().is_some_and(seen)
    }
}

impl super::Role {
    /// Guards, hosts and watchers.
    const fn serves(self) -> bool {
        match self {
            Self::Guard | Self::Host | Self::Watcher => true,
            Self::Client | Self::Hook | Self::Adapter | Self::Sealer | Self::Courier | Self::Other => false,
        }
    }

    /// A client or a sealer can write long after the session is over.
    const fn gives_sign_of_life(self) -> bool {
        match self {
            Self::Guard | Self::Host | Self::Hook | Self::Adapter | Self::Watcher => true,
            Self::Client | Self::Sealer | Self::Courier | Self::Other => false,
        }
    }
}
