//! The judge: holds what abide said against the truth. Pure. An answer is true if it was true at some instant between
//! the question and the answer, or up to a second before.

pub mod list;
pub mod output;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::truth::{Ending, Truth};

/// How old an answer may be, and how long an end may take to be recorded, in microseconds.
pub const GRACE: u64 = 1_000_000;
pub const RECORDED_WITHIN: u64 = 10_000_000;

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident $name:literal,)+) => {
        /// What kind of untruth something is.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum Kind { $($(#[$doc])* #[serde(rename = $name)] $kind,)+ }

        impl Kind {
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$kind => $name,)+ }
            }
        }
    };
}

kinds! {
    /// Said to live, dead for over a second.
    FalseLife "false_life",
    /// Said to be over, and alive.
    FalseDeath "false_death",
    /// Said to have never begun, or to be about to begin, and it has.
    FalseBeginning "false_beginning",
    WrongCode "wrong_code",
    /// A code where nobody can have seen one.
    InventedCode "invented_code",
    /// An end that somebody saw is called lost.
    FalseLoss "false_loss",
    /// `unknown` where nothing keeps abide from telling.
    NeedlessDoubt "needless_doubt",
    /// The end was not recorded, or not told, for too long.
    LateEnd "late_end",
    WrongProcess "wrong_process",
    /// Said to be asked to stop, or removed, and nobody asked.
    FalseIntent "false_intent",
    LostSession "lost_session",
    MissingOutput "missing_output",
    DoubledOutput "doubled_output",
    ForeignOutput "foreign_output",
    /// A program ended although nobody ended it.
    DisturbedProgram "disturbed_program",
    SignalledStranger "signalled_stranger",
    LeftOver "left_over",
    Panic "panic",
    Hang "hang",
    Malformed "malformed",
    /// Refused although nothing stands in the way.
    Refusal "refusal",
    /// Two answers of one command disagree with each other.
    Contradiction "contradiction",
    /// Said to be served by nobody, and nobody hit its helpers.
    FalseNeglect "false_neglect",
}

/// One untruth.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lie {
    pub kind: Kind,
    /// The session; 0 for the home.
    pub tag: u32,
    /// What was asked, what was said, and what is true.
    pub says: String,
}

impl Kind {
    #[must_use]
    pub fn about(self, tag: u32, says: impl Into<String>) -> Lie {
        Lie { kind: self, tag, says: says.into() }
    }
}

/// When a question was asked and answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asked {
    pub call: u64,
    pub back: u64,
}

/// What a status says of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meaning {
    Before,
    Alive,
    Neglected,
    Finishing,
    Over,
    NeverRan,
    Lost,
    Doubt,
    Removed,
}

/// Our own reading of the words, so that a wrong table of abide's is found too.
const MEANINGS: [(&str, Meaning); 10] = [
    ("starting", Meaning::Before),
    ("running", Meaning::Alive),
    ("unattended", Meaning::Neglected),
    ("exiting", Meaning::Finishing),
    ("exited", Meaning::Over),
    ("failed", Meaning::NeverRan),
    ("lost", Meaning::Lost),
    ("unknown", Meaning::Doubt),
    ("destroying", Meaning::Removed),
    ("destroyed", Meaning::Removed),
];

/// Judges what one answer says of one session: an entry of `ls`, or the data of `inspect`, `wait`, `why` or `run`.
#[must_use]
pub fn statement(asked: Asked, truth: &Truth, said: &Value) -> Vec<Lie> {
    let Case { lies, .. } = Case { asked, truth, said, lies: Vec::new() }.judged();
    lies
}

/// How long ago the truth had changed when a question was asked whose answer does not know of it yet.
#[must_use]
pub fn lag(asked: Asked, truth: &Truth, said: &Value) -> u64 {
    let alive = matches!(meaning(said), Some(Meaning::Alive | Meaning::Neglected));
    truth.dead.filter(|_| alive).map_or(0, |dead| asked.call.saturating_sub(dead))
}

fn meaning(said: &Value) -> Option<Meaning> {
    let status = said.get("status")?.as_str()?;
    MEANINGS.iter().find(|(word, _)| *word == status).map(|(_, meaning)| *meaning)
}

struct Case<'a> {
    asked: Asked,
    truth: &'a Truth,
    said: &'a Value,
    lies: Vec<Lie>,
}

impl Case<'_> {
    fn judged(mut self) -> Self {
        match meaning(self.said) {
            Some(meaning) => self.status(meaning),
            None => self.lie(Kind::Malformed, "no status that we know"),
        }
        self.codes();
        self.process();
        self.intent();
        self
    }

    fn lie(&mut self, kind: Kind, what: &str) {
        let truth = self.truth;
        let ago = |instant: u64| (self.asked.call as f64 - instant as f64) / 1e6;
        let when = |instant: Option<u64>| {
            instant.map_or("never".to_owned(), |at| format!("{:.3} s before", ago(at)))
        };
        let told = format!(
            "{what}; said: {}; true: born {}, dead {}, removal asked {}, may have ended as {:?} (kernel: {:?}), harm {:?}",
            brief(self.said),
            when(truth.born),
            when(truth.dead),
            when(truth.removal),
            truth.endings,
            truth.ending,
            truth.harm,
        );
        self.lies.push(kind.about(truth.tag, told));
    }

    fn status(&mut self, meaning: Meaning) {
        let (truth, Asked { call, back }) = (self.truth, self.asked);
        let dead_for = truth.dead.map_or(0, |dead| call.saturating_sub(dead));
        let surely_alive = truth.born.is_some() && truth.dead.is_none() && truth.alive_at > back;
        match meaning {
            Meaning::Alive if dead_for > GRACE => self.lie(Kind::FalseLife, "dead for over a second"),
            Meaning::Neglected if dead_for > GRACE => self.lie(Kind::FalseLife, "dead for over a second"),
            Meaning::Neglected if !self.truth.hit() => {
                self.lie(Kind::FalseNeglect, "nobody has hit its guard or its host");
            }
            Meaning::Before if truth.born.is_some_and(|born| born + GRACE < call) => {
                self.lie(Kind::FalseBeginning, "the program has spoken long ago");
            }
            Meaning::NeverRan if truth.born.is_some() => {
                self.lie(Kind::FalseBeginning, "the program has spoken");
            }
            Meaning::Finishing | Meaning::Over | Meaning::Lost if surely_alive => {
                self.lie(Kind::FalseDeath, "the program is alive");
            }
            Meaning::Finishing => self.finishing(),
            Meaning::Over if truth.born.is_some() => self.outcome(true),
            Meaning::Lost if self.somebody_saw() => {
                self.lie(Kind::FalseLoss, "guard or host was there to see it");
            }
            // What is being removed cannot be told any more.
            Meaning::Doubt if !truth.harm.evidence && truth.removal.is_none() => {
                self.lie(Kind::NeedlessDoubt, "nothing is hidden or damaged");
            }
            Meaning::Removed if truth.removal.is_none() => {
                self.lie(Kind::FalseIntent, "nobody asked for its removal");
            }
            Meaning::Removed if truth.born.is_some() => self.outcome(false),
            Meaning::Alive
            | Meaning::Neglected
            | Meaning::Before
            | Meaning::NeverRan
            | Meaning::Over
            | Meaning::Lost
            | Meaning::Doubt
            | Meaning::Removed => {}
        }
    }

    /// An end that is known to all but not yet on record: its guard is at it, or the next one is.
    fn finishing(&mut self) {
        let since = self.truth.dead.map(|dead| dead.max(self.truth.held_until));
        if since.is_some_and(|since| since.saturating_add(RECORDED_WITHIN) < self.asked.call) {
            self.lie(Kind::LateEnd, "its end has not been recorded for ten seconds");
        }
    }

    /// Whether the loss of an outcome has no excuse: only where guard and host were both hit can nobody have seen it. The
    /// kernel keeps the status for the next guard where it tells it to us too.
    const fn somebody_saw(&self) -> bool {
        let (truth, harm) = (self.truth, self.truth.harm);
        let kept = truth.ending.is_some() && !harm.host;
        truth.born.is_some() && !harm.evidence && !harm.launch && (!harm.guard || kept)
    }

    fn outcome(&mut self, due: bool) {
        // A refusal names a status without an outcome.
        let Some(outcome) = self.said.get("outcome") else { return };
        match ending(outcome) {
            Some(ending) if self.truth.allows(ending) => {}
            Some(_) => self.lie(Kind::WrongCode, "it did not end like this"),
            None if due => self.lie(Kind::Malformed, "over, and no outcome"),
            None => {}
        }
    }

    /// The codes beside the status, if the answer has them.
    fn codes(&mut self) {
        let Some(codes) = self.said.as_object().filter(|said| said.contains_key("wait_code")) else { return };
        let number = |name: &str| codes.get(name).and_then(Value::as_u64);
        let (exit, wait) = (number("exit_code"), number("wait_code"));
        let expected = match meaning(self.said) {
            Some(Meaning::Over | Meaning::Removed) => match self.said.get("outcome").and_then(ending) {
                Some(Ending::Exited(code)) => (Some(u64::from(code)), Some(u64::from(code))),
                Some(Ending::Signaled(signal)) => (None, Some(128 + u64::from(signal))),
                None => return,
            },
            Some(Meaning::Lost) => (None, Some(125)),
            Some(Meaning::NeverRan) => return,
            _ => (None, None),
        };
        if (exit, wait) != expected
            && (expected.1 != Some(125) || exit.is_some() || wait.is_some_and(|code| code != 125))
        {
            let kind = if meaning(self.said) == Some(Meaning::Over) {
                Kind::Contradiction
            } else {
                Kind::InventedCode
            };
            self.lie(
                kind,
                &format!("exit_code {exit:?} and wait_code {wait:?} do not belong to this status"),
            );
        }
    }

    /// What is said of the program as a process.
    fn process(&mut self) {
        let Some(program) = self.said.get("processes").and_then(|all| all.get("program")) else { return };
        let said = program.get("pid").and_then(Value::as_u64);
        if let (Some(said), Some(pid)) = (said, self.truth.pid)
            && said != u64::from(pid)
        {
            self.lie(Kind::WrongProcess, &format!("the program is {pid}"));
        }
        let surely_alive = self.truth.dead.is_none() && self.truth.alive_at > self.asked.back;
        let dead_for = self.truth.dead.map_or(0, |dead| self.asked.call.saturating_sub(dead));
        match program.get("liveness").and_then(Value::as_str) {
            Some("alive") if dead_for > GRACE => self.lie(Kind::FalseLife, "its process is said to live"),
            Some("dead") if surely_alive && self.truth.born.is_some() => {
                self.lie(Kind::FalseDeath, "its process is said to be dead");
            }
            _ => {}
        }
    }

    fn intent(&mut self) {
        let stopping = self.said.get("stopping").and_then(Value::as_bool).unwrap_or(false);
        if stopping && self.truth.stop_asked.is_none() {
            self.lie(Kind::FalseIntent, "nobody asked it to stop");
        }
    }
}

/// The ending that an outcome names.
fn ending(outcome: &Value) -> Option<Ending> {
    let number = |name: &str| outcome.get(name)?.as_u64().and_then(|number| u8::try_from(number).ok());
    match outcome.get("kind")?.as_str()? {
        "exited" => number("code").map(Ending::Exited),
        "signaled" => number("signal").map(Ending::Signaled),
        _ => None,
    }
}

/// The part of an answer that is judged, short enough to be read.
fn brief(said: &Value) -> String {
    const PARTS: [&str; 9] =
        ["id", "status", "stopping", "exit_code", "wait_code", "outcome", "processes", "rule", "ended"];
    let part = |name: &str| said.get(name).map(|value| format!("{name}={value}"));
    let mut told: Vec<String> = PARTS.iter().filter_map(|name| part(name)).collect();
    if let Some(facts) = said.get("because").and_then(Value::as_array) {
        let says = |fact: &Value| fact.get("says").and_then(Value::as_str).map(str::to_owned);
        told.push(format!("because [{}]", facts.iter().filter_map(says).collect::<Vec<_>>().join(" / ")));
    }
    told.join(" ")
}

/// A refusal must have a reason that we know of, and the status that it names must be true.
#[must_use]
pub fn refusal(asked: Asked, truth: &Truth, error: &Value) -> Vec<Lie> {
    let text = |part: &str| error.get(part).and_then(Value::as_str);
    let (code, message) = (text("code").unwrap_or_default(), text("message").unwrap_or_default());
    let there = truth.launched.is_some_and(|since| since < asked.call);
    let excused = match code {
        "no_such_session" => truth.removal.is_some() || truth.harm.evidence || !there,
        "damaged" => truth.harm.evidence || truth.harm.recording,
        // The status that it names is the reason.
        "not_stoppable" | "not_commandable" => text("status").is_some(),
        _ => truth.removal.is_some() || truth.harm.evidence || truth.harm.recording,
    };
    let mut lies = Vec::new();
    if !excused {
        let says = format!("{code}: {message}; harm {:?}", truth.harm);
        lies.push(Kind::Refusal.about(truth.tag, says));
    }
    if let Some(status) = text("status") {
        lies.extend(statement(asked, truth, &json!({ "status": status, "says": message })));
    }
    lies
}

#[cfg(test)]
mod tests;
