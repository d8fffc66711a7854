//! Signs of what an agent does and wants, each with its source, and what they say together. Levels that the agent keeps
//! repainting outrank what it once told, but not what a hook told since; of what it told, the latest counts; signs expire; none
//! at all is unknown.

use abide_core::verdict::{Attention, Turn};

/// What one source says at one instant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sign {
    pub source: Source,
    pub level: Level,
    /// When it was so, in ms of wall time.
    pub at: i64,
    /// When it came to be so; none where nobody knows since when a title or a screen is as it is.
    pub since: Option<i64>,
    /// After this it says nothing any more: what was seen on a screen holds only while it is seen. What an agent told, by a
    /// hook or in its files, holds for as long as it lives and tells nothing else, however long a turn takes.
    pub until: Option<i64>,
    pub says: String,
}

/// Turn and attention as one source has them; none where it does not tell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Level {
    pub turn: Option<Turn>,
    pub attention: Option<Attention>,
}

impl Level {
    /// It works, and wants nothing.
    pub const WORKING: Self = Self::new(Turn::Working, Attention::None);
    /// It is done, and wants nothing.
    pub const SETTLED: Self = Self::new(Turn::Settled, Attention::None);
    /// It works, and wants to be allowed something.
    pub const APPROVAL: Self = Self::new(Turn::Working, Attention::Approval);
    /// It works, and wants an answer.
    pub const ANSWER: Self = Self::new(Turn::Working, Attention::Answer);

    #[must_use]
    pub const fn new(turn: Turn, attention: Attention) -> Self {
        Self { turn: Some(turn), attention: Some(attention) }
    }

    /// It wants something of a person.
    #[must_use]
    pub fn asks(&self) -> bool {
        matches!(self.attention, Some(Attention::Approval | Attention::Answer))
    }

    /// It works; what it wants cannot be told from this.
    #[must_use]
    pub const fn of(turn: Turn) -> Self {
        Self { turn: Some(turn), attention: None }
    }
}

/// Where a sign comes from; what outranks the others first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    Registry,
    Title,
    /// Hooks and transcript tell what happened, not what is: of both, the latest counts.
    Hook,
    Transcript,
    Screen,
}

impl Source {
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Registry => "registry",
            Self::Title => "title",
            Self::Hook => "hook",
            Self::Transcript => "transcript",
            Self::Screen => "screen",
        }
    }

    const fn rank(self) -> u8 {
        match self {
            Self::Registry => 0,
            Self::Title => 1,
            Self::Hook | Self::Transcript => 2,
            Self::Screen => 3,
        }
    }
}

/// What all signs say together, and which of them decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    pub turn: Turn,
    pub attention: Attention,
    pub turn_by: Option<Source>,
    pub attention_by: Option<Source>,
}

/// What is painted may be as old as this when it is seen, in ms: so long it does not undo what a hook told since.
const REPAINTED_MS: i64 = 1_000;

/// Weighs signs of a living agent at an instant of wall time, in ms.
#[must_use]
pub fn weigh(signs: &[Sign], now: i64) -> Standing {
    let told = Told::of(signs);
    let mut valid: Vec<&Sign> =
        signs.iter().filter(|sign| sign.until.is_none_or(|until| now < until)).collect();
    valid.sort_by_key(|sign| (sign.rank(told), std::cmp::Reverse(sign.counts_from(told))));
    let turn = valid.iter().find_map(|sign| Some((sign.level.turn?, sign.source)));
    let wants = valid.iter().find_map(|sign| Some((sign.level.attention?, sign.source)));
    // Titles say that an agent is ready also while it asks something; its own list of agents knows better.
    let asks = |sign: &&&Sign| sign.source == Source::Screen && sign.level.asks() && !sign.is_older(told);
    let asked = valid.iter().find(asks);
    let listed = valid.iter().any(|sign| sign.source == Source::Registry && sign.level.attention.is_some());
    if let Some(sign) = asked.filter(|_| !listed && wants.is_none_or(|(wants, _)| wants == Attention::None)) {
        let attention = sign.level.attention.unwrap_or(Attention::Unknown);
        return Standing {
            turn: Turn::Working,
            attention,
            turn_by: Some(Source::Screen),
            attention_by: Some(Source::Screen),
        };
    }
    let (turn, turn_by) = turn.map_or((Turn::Unknown, None), |(turn, by)| (turn, Some(by)));
    let (attention, attention_by) = wants.map_or((Attention::Unknown, None), |(wants, by)| (wants, Some(by)));
    // Who is done wants nothing of the work that is done.
    let attention = if turn == Turn::Settled { Attention::None } else { attention };
    Standing { turn, attention, turn_by, attention_by }
}

/// When an agent last told of something that happened.
#[derive(Clone, Copy)]
struct Told {
    hook: Option<i64>,
    /// When its transcript told a turn to be over. Not every line of one that looks like a prompt opens one.
    over: Option<i64>,
}

impl Told {
    fn of(signs: &[Sign]) -> Self {
        let last = |source: Source| signs.iter().filter(move |sign| sign.source == source);
        let over = last(Source::Transcript).filter(|sign| sign.level.turn == Some(Turn::Settled));
        Self { hook: last(Source::Hook).map(|sign| sign.at).max(), over: over.map(|sign| sign.at).max() }
    }
}

impl Sign {
    /// Whether it is from before what was told then, or may be.
    fn is_older(&self, told: Told) -> bool {
        let told = if self.source == Source::Title { told.hook.max(told.over) } else { told.hook };
        let since = self.since.unwrap_or(self.at.saturating_sub(REPAINTED_MS));
        told.is_some_and(|told| since < told)
    }

    fn rank(&self, told: Told) -> u8 {
        // What was so before is no contradiction.
        let is_level = matches!(self.source, Source::Registry | Source::Title);
        if is_level && self.is_older(told) { Source::Screen.rank() } else { self.source.rank() }
    }

    /// From when on it counts among its like. A turn that is written on for long after it was told to be over goes on.
    fn counts_from(&self, told: Told) -> i64 {
        let goes_on = told.hook.is_none_or(|told| self.at > told.saturating_add(REPAINTED_MS));
        self.since.filter(|_| !goes_on).unwrap_or(self.at)
    }
}
