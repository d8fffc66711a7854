//! What a run has found: answers by kind of question, faults by kind, lies, and how late the truth was told.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::judge::Lie;

/// The most lies that are told one by one.
const LIES_TOLD: usize = 50;

/// What was found.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Report {
    /// Checked answers by kind of question.
    pub answers: BTreeMap<String, u64>,
    /// What was done, by kind.
    pub faults: BTreeMap<String, u64>,
    /// What may not be done here, and why.
    pub skipped: BTreeMap<String, String>,
    pub sessions: u64,
    pub lies: Vec<Lie>,
    pub lies_in_all: u64,
    pub lag: Lag,
}

/// How late the truth was told, at the most, in microseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lag {
    /// Between an end and the call of a question whose answer did not know of it.
    pub unseen: u64,
    /// Between an end and the return of a waiter, where nobody was kept from telling it.
    pub waiter: u64,
}

impl Report {
    pub fn count(&mut self, question: &str, answers: u64) {
        *self.answers.entry(question.to_owned()).or_default() += answers;
    }

    pub fn fault(&mut self, label: &str) {
        *self.faults.entry(label.to_owned()).or_default() += 1;
    }

    pub fn lie(&mut self, lie: Lie) {
        self.lies_in_all += 1;
        // The same again is told once.
        let known = self.lies.iter().any(|told| (told.kind, told.tag) == (lie.kind, lie.tag));
        if self.lies.len() < LIES_TOLD && !known {
            self.lies.push(lie);
        }
    }

    /// All checked answers.
    #[must_use]
    pub fn checked(&self) -> u64 {
        self.answers.values().sum()
    }

    /// All faults.
    #[must_use]
    pub fn faults_in_all(&self) -> u64 {
        self.faults.values().sum()
    }

    /// Adds what another run has found.
    pub fn add(&mut self, other: Self) {
        for (question, answers) in other.answers {
            *self.answers.entry(question).or_default() += answers;
        }
        for (label, faults) in other.faults {
            *self.faults.entry(label).or_default() += faults;
        }
        self.skipped.extend(other.skipped);
        self.sessions += other.sessions;
        self.lies_in_all += other.lies_in_all;
        self.lies.extend(other.lies);
        self.lies.truncate(LIES_TOLD);
        self.lag.unseen = self.lag.unseen.max(other.lag.unseen);
        self.lag.waiter = self.lag.waiter.max(other.lag.waiter);
    }

    /// The report for people.
    #[must_use]
    pub fn says(&self) -> String {
        let mut text = String::new();
        let mut line = |words: String| {
            text.push_str(&words);
            text.push('\n');
        };
        line(format!("{} answers checked in {} sessions:", self.checked(), self.sessions));
        for (question, answers) in &self.answers {
            line(format!("  {answers:>9}  {question}"));
        }
        line(format!("{} acts and faults:", self.faults_in_all()));
        for (label, faults) in &self.faults {
            line(format!("  {faults:>9}  {label}"));
        }
        for (label, why) in &self.skipped {
            line(format!("    skipped  {label}: {why}"));
        }
        let ms = |micros: u64| micros as f64 / 1000.0;
        line(format!("longest time an end went unseen by a reader: {:.1} ms", ms(self.lag.unseen)));
        line(format!("longest time between an end and its waiter's return: {:.1} ms", ms(self.lag.waiter)));
        line(format!("{} lies", self.lies_in_all));
        for lie in &self.lies {
            line(format!("  LIE {:?} about session {}: {}", lie.kind, lie.tag, lie.says));
        }
        text
    }
}
