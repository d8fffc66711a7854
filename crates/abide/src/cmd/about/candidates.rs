//! What fits at the cursor of a half-typed command line, from the same declaration that parses the whole one.

use std::path::PathBuf;

use abide_core::evidence::number::Signal;
use abide_engine::Session;
use clap::{Arg, Command, CommandFactory};

use crate::args::Cli;
use crate::cmd::takes;
use crate::show::list;

/// A place in a half-typed command line.
#[derive(Debug)]
pub(super) struct Cursor {
    /// The part of the last word that is settled: `--color=`.
    pub(super) before: String,
    /// The rest of it, which a candidate begins with.
    pub(super) begun: String,
    pub(super) fits: Fits,
    /// The home that was named on the way here.
    pub(super) home: Option<PathBuf>,
}

/// What fits there.
#[derive(Debug)]
pub(super) enum Fits {
    Words(Vec<Candidate>),
    Sessions { verb: String },
    Files,
    Directories,
    Commands,
}

/// A word, and a few more about it.
#[derive(Debug)]
pub(super) struct Candidate {
    pub(super) word: String,
    pub(super) says: String,
}

/// What fits in place of the last of the words. The first is a verb or a flag, not abide itself.
pub(super) fn at(words: &[String]) -> Cursor {
    let mut root = Cli::command();
    root.build();
    let (last, settled) = words.split_last().map_or(("", words), |(last, settled)| (last.as_str(), settled));
    let mut walk = Walk { verb: &root, positional: 0, wants: None, program: None, home: None };
    let settled = settled.iter().enumerate().filter(|(at, word)| !is_equals(word, *at, settled));
    settled.for_each(|(_, word)| walk.pass(word));
    // Bash makes a word of its own of an `=`.
    walk.cursor(if last == "=" { "" } else { last })
}

fn is_equals(word: &str, at: usize, words: &[String]) -> bool {
    word == "=" && at > 0 && words[at - 1].starts_with("--")
}

struct Walk<'c> {
    verb: &'c Command,
    /// How many arguments without a flag have been passed.
    positional: usize,
    /// The flag whose value comes next.
    wants: Option<&'c Arg>,
    /// How many words of the program to run have been passed, once the dashes have.
    program: Option<usize>,
    home: Option<PathBuf>,
}

impl<'c> Walk<'c> {
    fn pass(&mut self, word: &str) {
        if let Some(words) = &mut self.program {
            *words += 1;
        } else if let Some(flag) = self.wants.take() {
            self.value(flag, word);
        } else if word == "--" {
            self.program = Some(0);
        } else if let Some((flag, value)) = word.starts_with("--").then(|| word.split_once('=')).flatten() {
            if let Some(flag) = self.flag(flag) {
                self.value(flag, value);
            }
        } else if word.starts_with('-') {
            self.wants = self.flag(word).filter(|flag| flag.get_action().takes_values());
        } else if let Some(verb) = self.verb.find_subcommand(word) {
            self.verb = verb;
        } else {
            self.positional += 1;
        }
    }

    fn value(&mut self, flag: &Arg, value: &str) {
        if flag.get_id() == "home" {
            self.home = Some(PathBuf::from(value));
        }
    }

    /// The flag of `--name`, or of the last letter of `-aq`.
    fn flag(&self, word: &str) -> Option<&'c Arg> {
        let flags = self.verb.get_arguments();
        match word.strip_prefix("--") {
            Some(long) => flags.into_iter().find(|flag| flag.get_long() == Some(long)),
            None => flags.into_iter().find(|flag| flag.get_short() == word.chars().last()),
        }
    }

    fn cursor(self, word: &str) -> Cursor {
        let inside = word.starts_with("--").then(|| word.split_once('=')).flatten();
        let (before, begun) = match (self.wants, inside) {
            (None, Some((flag, begun))) if self.program.is_none() => (format!("{flag}="), begun),
            (Some(_), _) | (None, _) => (String::new(), word),
        };
        let fits = match (self.program, self.wants, inside) {
            (Some(0), _, _) => Fits::Commands,
            (Some(_), _, _) => Fits::Files,
            (None, Some(flag), _) => self.values(flag, begun),
            (None, None, Some((flag, _))) => {
                self.flag(flag).map_or(nothing(), |flag| self.values(flag, begun))
            }
            (None, None, None) if word.starts_with('-') => Fits::Words(self.flags()),
            (None, None, None) if self.verb.has_subcommands() => Fits::Words(self.verbs()),
            (None, None, None) => self.argument().map_or(nothing(), |argument| self.values(argument, begun)),
        };
        Cursor { before, begun: begun.to_owned(), fits, home: self.home }
    }

    fn verbs(&self) -> Vec<Candidate> {
        let verbs = self.verb.get_subcommands().filter(|verb| !verb.is_hide_set());
        let says = |verb: &Command| verb.get_about().map(ToString::to_string).unwrap_or_default();
        verbs.map(|verb| Candidate { word: verb.get_name().to_owned(), says: says(verb) }).collect()
    }

    fn flags(&self) -> Vec<Candidate> {
        let flags = self.verb.get_arguments().filter(|flag| !flag.is_hide_set());
        let candidate = |flag: &Arg| {
            let says = flag.get_help().map(ToString::to_string).unwrap_or_default();
            Some(Candidate { word: format!("--{}", flag.get_long()?), says })
        };
        flags.filter_map(candidate).collect()
    }

    /// The argument without a flag that comes next. One that can be given often takes all that is left.
    fn argument(&self) -> Option<&'c Arg> {
        let arguments = self.verb.get_positionals().filter(|argument| !argument.is_last_set());
        let arguments: Vec<&Arg> = arguments.collect();
        let often = |argument: &&&Arg| argument.get_num_args().is_some_and(|count| count.max_values() > 1);
        arguments.get(self.positional).or(arguments.last().filter(often)).copied()
    }

    fn values(&self, argument: &Arg, begun: &str) -> Fits {
        let named = argument.get_possible_values();
        if !named.is_empty() {
            let says = |value: &clap::builder::PossibleValue| value.get_help().map(ToString::to_string);
            let candidate = |value: clap::builder::PossibleValue| Candidate {
                says: says(&value).unwrap_or_default(),
                word: value.get_name().to_owned(),
            };
            return Fits::Words(named.into_iter().map(candidate).collect());
        }
        match argument.get_value_names().and_then(<[_]>::first).map(AsRef::as_ref) {
            Some("ID") => Fits::Sessions { verb: self.verb.get_name().to_owned() },
            Some("SIGNAL") => Fits::Words(signals(begun)),
            Some("RESULT") => Fits::Words(results()),
            Some("DIR") => Fits::Directories,
            Some("FILE" | "PATH") => Fits::Files,
            Some(_) | None => nothing(),
        }
    }
}

const fn nothing() -> Fits {
    Fits::Words(Vec::new())
}

/// The names of signals, as they are begun: with `SIG` or without.
fn signals(begun: &str) -> Vec<Candidate> {
    let candidate = |signal: Signal| {
        let name = signal.name()?;
        let word = if begun.starts_with("SIG") { name } else { name.strip_prefix("SIG")? };
        Some(Candidate { word: word.to_owned(), says: format!("signal {}", signal.0) })
    };
    Signal::all().filter_map(candidate).collect()
}

/// The words that stand for a result by themselves.
fn results() -> Vec<Candidate> {
    let words = [("success", "exit code 0"), ("failure", "exit code 1")];
    words.map(|(word, says)| Candidate { word: word.to_owned(), says: says.to_owned() }).into()
}

/// The sessions that a verb takes: by name where they have one; by ID too once something is typed.
pub(super) fn sessions(mut listed: Vec<Session>, verb: String, begun: &str) -> Vec<Candidate> {
    let takes = takes(&verb);
    listed.retain(|session| takes.is_none_or(|column| column.holds(session.verdict.status)));
    list::sort(&mut listed);
    let mut found: Vec<Candidate> = Vec::new();
    for session in &listed {
        let says = format!("{}, {}", list::standing(session, None), list::command(session));
        let name = session.name().map(ToString::to_string);
        let id = (name.is_none() || !begun.is_empty()).then(|| session.id.to_string());
        for word in name.into_iter().chain(id) {
            // A name means the latest session that has it.
            if !found.iter().any(|candidate| candidate.word == word) {
                found.push(Candidate { word, says: says.clone() });
            }
        }
    }
    if !listed.is_empty() {
        found.push(Candidate { word: "@last".to_owned(), says: "the latest session".to_owned() });
    }
    found
}
