//! A schedule: what is done to which session, and when. Pure; made of a seed (`generate`), or read from a text that has
//! one step a line, so that a run can be done again and a failing one made shorter.

mod generate;

use std::fmt;

pub use generate::{Likes, generate};

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($variant:ident $word:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $name { $($variant,)+ }

        impl $name {
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            #[must_use]
            pub const fn word(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }

            #[must_use]
            pub fn parse(word: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|one| one.word() == word)
            }
        }
    };
}

words! {
    /// How a session is launched.
    Way {
        Detached "detached",
        Waiting "waiting",
        LauncherKilled "launcher-killed",
        LauncherStopped "launcher-stopped",
        FewFiles "few-files",
        FewProcesses "few-processes",
    }
}

words! {
    /// What a program is told to do; the number that goes with it is a count, a code or a signal.
    Order {
        Print "print",
        Exit "exit",
        Die "die",
        Stubborn "stubborn",
        Polite "polite",
        Fork "fork",
        Setsid "setsid",
        CloseTerminal "close-terminal",
        Become "become",
    }
}

words! {
    /// Whom a signal hits.
    Victim {
        Program "program",
        Guard "guard",
        Host "host",
        Helpers "helpers",
        Everyone "everyone",
        Waiter "waiter",
    }
}

words! {
    /// What hits it. A stop is lifted after so many ms.
    Blow {
        Kill "kill",
        Stop "stop",
        Hup "hup",
        Term "term",
    }
}

words! {
    /// A file of a session.
    Target {
        Evidence "evidence",
        Outcome "outcome",
        Recording "recording",
        Keyframes "keyframes",
        View "view",
        Alive "alive",
        Socket "socket",
        Whole "whole",
    }
}

words! {
    /// What is done to a file.
    Spoiling {
        Delete "delete",
        Truncate "truncate",
        Flip "flip",
        Append "append",
    }
}

words! {
    /// A client that does not behave.
    Manner {
        NeverReads "never-reads",
        Stopped "stopped",
        Killed "killed",
    }
}

words! {
    /// Where a question comes from that the guard knows nothing of.
    World {
        OtherTime "other-time",
        OtherBoot "other-boot",
        ReadOnly "read-only",
        OtherPids "other-pids",
    }
}

/// One act.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    Launch(Way, u64),
    Order(Order, u64),
    Hit(Victim, Blow, u64),
    /// Ask for a stop, with so many ms of patience.
    Stop(u64),
    /// Remove what is over.
    Remove,
    Spoil(Target, Spoiling, u64),
    /// A client that stays for so many ms.
    Client(Manner, u64),
    /// Ask about it from elsewhere.
    Abroad(World),
    /// Give the number of its dead program to a stranger, who keeps it for so many ms.
    Reuse(u64),
    /// So many sealers at once.
    Seal(u64),
    /// All sessions become another copy of the executable.
    Upgrade,
    /// No room in the home, for so many ms.
    Fill(u64),
}

/// When what is done to which session. Tag 0 is the home and all that is in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    pub at_ms: u64,
    pub tag: u32,
    pub act: Act,
}

/// Steps in the order of their times.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Schedule(pub Vec<Step>);

impl Act {
    /// What it is counted as.
    #[must_use]
    pub fn label(&self) -> String {
        match *self {
            Self::Launch(way, _) => format!("launch {}", way.word()),
            Self::Order(order, _) => format!("program {}", order.word()),
            Self::Hit(victim, blow, _) => format!("{} {}", blow.word(), victim.word()),
            Self::Stop(_) => "stop".to_owned(),
            Self::Remove => "rm".to_owned(),
            Self::Spoil(target, spoiling, _) => format!("{} {}", spoiling.word(), target.word()),
            Self::Client(manner, _) => format!("client {}", manner.word()),
            Self::Abroad(world) => format!("ask from {}", world.word()),
            Self::Reuse(_) => "pid reuse".to_owned(),
            Self::Seal(sealers) => format!("{sealers} sealers at once"),
            Self::Upgrade => "upgrade".to_owned(),
            Self::Fill(_) => "full disk".to_owned(),
        }
    }

    fn parse(words: &[&str]) -> Option<Self> {
        let number = |word: &str| word.parse::<u64>().ok();
        Some(match *words {
            ["launch", way, value] => Self::Launch(Way::parse(way)?, number(value)?),
            ["order", order, value] => Self::Order(Order::parse(order)?, number(value)?),
            ["hit", victim, blow, ms] => Self::Hit(Victim::parse(victim)?, Blow::parse(blow)?, number(ms)?),
            ["stop", grace] => Self::Stop(number(grace)?),
            ["remove"] => Self::Remove,
            ["spoil", target, spoiling, place] => {
                Self::Spoil(Target::parse(target)?, Spoiling::parse(spoiling)?, number(place)?)
            }
            ["client", manner, ms] => Self::Client(Manner::parse(manner)?, number(ms)?),
            ["abroad", world] => Self::Abroad(World::parse(world)?),
            ["reuse", ms] => Self::Reuse(number(ms)?),
            ["seal", sealers] => Self::Seal(number(sealers)?),
            ["upgrade"] => Self::Upgrade,
            ["fill", ms] => Self::Fill(number(ms)?),
            _ => return None,
        })
    }
}

impl fmt::Display for Act {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Launch(way, value) => write!(f, "launch {} {value}", way.word()),
            Self::Order(order, value) => write!(f, "order {} {value}", order.word()),
            Self::Hit(victim, blow, ms) => write!(f, "hit {} {} {ms}", victim.word(), blow.word()),
            Self::Stop(grace) => write!(f, "stop {grace}"),
            Self::Remove => write!(f, "remove"),
            Self::Spoil(target, spoiling, place) => {
                write!(f, "spoil {} {} {place}", target.word(), spoiling.word())
            }
            Self::Client(manner, ms) => write!(f, "client {} {ms}", manner.word()),
            Self::Abroad(world) => write!(f, "abroad {}", world.word()),
            Self::Reuse(ms) => write!(f, "reuse {ms}"),
            Self::Seal(sealers) => write!(f, "seal {sealers}"),
            Self::Upgrade => write!(f, "upgrade"),
            Self::Fill(ms) => write!(f, "fill {ms}"),
        }
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for step in &self.0 {
            writeln!(f, "{} {} {}", step.at_ms, step.tag, step.act)?;
        }
        Ok(())
    }
}

impl Schedule {
    /// Reads what `Display` wrote; empty lines and those that begin with `#` mean nothing.
    ///
    /// # Errors
    /// The number of the line that makes no sense.
    pub fn parse(text: &str) -> Result<Self, usize> {
        let mut steps = Vec::new();
        for (at, line) in text.lines().enumerate() {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            steps.push(Step::parse(line).ok_or(at + 1)?);
        }
        Ok(Self::of(steps))
    }

    /// Brings steps into order.
    #[must_use]
    pub fn of(mut steps: Vec<Step>) -> Self {
        steps.sort_by_key(|step| step.at_ms);
        Self(steps)
    }

    /// The steps that are meant for one session.
    #[must_use]
    pub fn of_tag(&self, tag: u32) -> Vec<Step> {
        self.0.iter().copied().filter(|step| step.tag == tag).collect()
    }

    /// Every session, in the order of their first steps.
    #[must_use]
    pub fn tags(&self) -> Vec<u32> {
        let mut tags: Vec<u32> = Vec::new();
        for step in &self.0 {
            if !tags.contains(&step.tag) {
                tags.push(step.tag);
            }
        }
        tags
    }
}

impl Step {
    fn parse(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let [at, tag, act @ ..] = words.as_slice() else { return None };
        Some(Self { at_ms: at.parse().ok()?, tag: tag.parse().ok()?, act: Act::parse(act)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_schedule_and_its_text_reads_back() {
        let made = generate(7, 20_000, &Likes::all());
        assert_eq!(made, generate(7, 20_000, &Likes::all()));
        assert_ne!(made, generate(8, 20_000, &Likes::all()));
        assert_eq!(Schedule::parse(&made.to_string()), Ok(made));
    }

    #[test]
    fn a_long_schedule_has_every_kind_of_act() {
        let made = generate(1, 3_600_000, &Likes::all());
        let labels: std::collections::BTreeSet<String> = made.0.iter().map(|step| step.act.label()).collect();
        for victim in Victim::ALL {
            assert!(labels.iter().any(|label| label.ends_with(victim.word())), "{victim:?}: {labels:?}");
        }
        for order in Order::ALL {
            assert!(labels.contains(&format!("program {}", order.word())), "{order:?}");
        }
        for label in [
            "upgrade",
            "full disk",
            "pid reuse",
            "2 sealers at once",
            "ask from other-boot",
            "delete evidence",
        ] {
            assert!(labels.contains(label), "{label}: {labels:?}");
        }
    }

    #[test]
    fn a_line_that_makes_no_sense_is_named_by_its_number() {
        assert_eq!(Schedule::parse("# seed 1\n\n5 1 stop 3\n5 1 dance\n"), Err(4));
    }
}
