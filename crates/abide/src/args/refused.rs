//! Refusals of what was typed, in our words: what is wrong with it, and what would be right.

use std::error::Error;
use std::ffi::OsString;

use abide_core::failure::{Code, Failure};
use abide_engine::signals;
use clap::Parser;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::{Cli, nearest};
use crate::cmd::{Command, NO_CODE};
use crate::config::Config;
use crate::config::form::Colours;
use crate::export::VIDEO;
use crate::output::Output;
use crate::show::shell;

/// What was typed is not a command, or asks for help.
#[derive(Debug)]
pub(crate) struct Refused {
    error: clap::Error,
    /// What was typed, up to the program and its arguments.
    typed: Vec<String>,
    /// All of it.
    words: Vec<String>,
}

impl Refused {
    pub(super) fn new(error: clap::Error, argv: &[OsString]) -> Self {
        let words: Vec<String> =
            argv.iter().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
        let typed = words.iter().take_while(|word| *word != "--").cloned().collect();
        Self { error, typed, words }
    }

    /// Prints help or the refusal, and gives the exit code.
    pub(crate) fn tell(self) -> u8 {
        let (colours, _) = Config::load().colours(self.color());
        let json = self.typed.iter().any(|word| word == "--json");
        let mut output = Output::new(self.verb().unwrap_or("abide"), json, colours);
        if self.asks_for_help() {
            return match output.help(&self.error.render()) {
                Ok(()) => 0,
                Err(failure) => {
                    output.fail(&failure);
                    failure.code.kind().exit_code()
                }
            };
        }
        let failure = self.failure();
        if self.error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand && !json {
            output.help_instead(&self.error.render());
        } else {
            output.fail(&failure);
        }
        // Whoever calls it goes on whatever happens.
        if self.verb() == Some("hook") {
            return 0;
        }
        if self.passes_on() { NO_CODE } else { failure.code.kind().exit_code() }
    }

    /// The command, if the first word that is no option is one.
    fn verb(&self) -> Option<&'static str> {
        let mut words = self.typed.iter().peekable();
        while let Some(word) = words.next() {
            if ["--home", "--color"].contains(&word.as_str()) {
                // Its value is no command.
                let _ = words.next_if(|value| !value.starts_with('-'));
            } else if !word.starts_with('-') {
                return Command::known(word);
            }
        }
        None
    }

    /// Whether nothing is wrong: help was asked for, or the version.
    pub(crate) fn asks_for_help(&self) -> bool {
        self.error.exit_code() == 0
    }

    /// The command would have exited with a program's code.
    fn passes_on(&self) -> bool {
        let detached = self.typed.iter().any(|word| word == "-d" || word == "--detach");
        self.verb().is_some_and(|verb| Command::passes_on_a_code(verb, detached))
    }

    /// The colours that were asked for, in arguments that could not be read whole.
    fn color(&self) -> Option<Colours> {
        let at = self.typed.iter().position(|word| word.starts_with("--color"))?;
        let value = match self.typed[at].strip_prefix("--color")? {
            "" => self.typed.get(at + 1)?,
            value => value.strip_prefix('=')?,
        };
        Colours::parse(value)
    }

    /// What is wrong with it.
    pub(crate) fn failure(&self) -> Failure {
        let (message, hint) = match self.error.kind() {
            ErrorKind::InvalidSubcommand => self.no_such_command(),
            ErrorKind::UnknownArgument => self.unknown_argument(),
            ErrorKind::MissingRequiredArgument if self.lacks_signal() => {
                let hint =
                    format!("`abide signal TERM {}` asks it to end", self.typed.last().map_or("", |id| id));
                ("SIGNAL is missing".to_owned(), Some(hint))
            }
            ErrorKind::MissingRequiredArgument => {
                let missing = self.arguments(ContextKind::InvalidArg);
                let verb = if missing.len() > 1 { "are" } else { "is" };
                let which = "`abide ls -a` lists the sessions, and @last means the latest";
                let which =
                    missing.iter().any(|one| one == "ID").then(|| format!("{which}; {}", self.help()));
                (format!("{} {verb} missing", missing.join(" and ")), which)
            }
            ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
                ("a command or an argument is missing".to_owned(), None)
            }
            ErrorKind::InvalidValue | ErrorKind::ValueValidation => self.bad_value(),
            ErrorKind::ArgumentConflict => {
                let one = self.arguments(ContextKind::InvalidArg).join(" ");
                match self.arguments(ContextKind::PriorArg).join("` or `") {
                    other if other == one => (format!("`{one}` can be given only once"), None),
                    other => (format!("`{one}` cannot be given together with `{other}`"), None),
                }
            }
            ErrorKind::TooManyValues => {
                (format!("`{}` takes no value", self.arguments(ContextKind::InvalidArg).join(" ")), None)
            }
            ErrorKind::NoEquals
            | ErrorKind::TooFewValues
            | ErrorKind::WrongNumberOfValues
            | ErrorKind::InvalidUtf8
            | ErrorKind::DisplayHelp
            | ErrorKind::DisplayVersion
            | ErrorKind::Io
            | ErrorKind::Format
            | _ => (self.in_clap_words(), None),
        };
        Failure::new(Code::Usage, message).hint(hint.unwrap_or_else(|| self.help()))
    }

    fn help(&self) -> String {
        let verb = self.verb().map_or_else(String::new, |verb| format!("{verb} "));
        format!("`abide {verb}--help` shows examples")
    }

    fn no_such_command(&self) -> (String, Option<String>) {
        let typed = self.context(ContextKind::InvalidSubcommand).join(" ");
        if typed == "detach" {
            let how = "ctrl-\\ twice leaves a session, and so does closing its terminal";
            return (format!("there is no command `{typed}`"), Some(format!("{how}; {}", self.help())));
        }
        let meant = match self.verb() {
            // What follows a verb is a word of its own.
            Some(_) => self.suggested(ContextKind::SuggestedSubcommand, &typed),
            None => nearest::verb(&typed, Command::NAMES).map(str::to_owned),
        };
        (format!("there is no command `{typed}`"), meant.map(|meant| self.meant(&meant)))
    }

    fn unknown_argument(&self) -> (String, Option<String>) {
        let typed = self.context(ContextKind::InvalidArg).join(" ");
        let verb = self.verb().unwrap_or("abide");
        if typed.starts_with('-') {
            let meant = self.suggested(ContextKind::SuggestedArg, &typed).map(|meant| self.meant(&meant));
            let meant = self.without_dash().or_else(|| self.without_target()).or(meant);
            return (format!("`{verb}` has no option `{typed}`"), meant);
        }
        if ["run", "exec"].contains(&verb) && self.words.len() == self.typed.len() {
            let what = if verb == "run" { "the program and its arguments come" } else { "the line comes" };
            return (format!("`{typed}` is no option: {what} behind `--`"), self.with_dashes(&typed));
        }
        let about = || format!("`abide inspect {}` tells of one; {}", shell::word(&typed), self.help());
        let about = (verb == "ls").then(about);
        (format!("`{typed}` is one argument too many for `{verb}`"), about)
    }

    /// A session was named for `signal`, and no signal.
    fn lacks_signal(&self) -> bool {
        let given = self.typed.last().filter(|word| !word.starts_with('-'));
        self.verb() == Some("signal")
            && given.is_some_and(|word| word != "signal" && signals::parse(word).is_none())
    }

    /// What was typed, where a signal was given as `kill` takes it.
    fn without_dash(&self) -> Option<String> {
        let at =
            self.typed.iter().position(|word| word.strip_prefix('-').and_then(signals::parse).is_some())?;
        let mut words = self.typed.clone();
        words[at].remove(0);
        (self.verb() == Some("signal")).then(|| format!("abide {}", shell::line(words)))
    }

    /// What was typed, where a session was named as tmux takes it.
    fn without_target(&self) -> Option<String> {
        let words: Vec<&String> = self.words.iter().filter(|word| *word != "-t").collect();
        let whole = ["abide"].into_iter().chain(words.iter().map(|word| word.as_str()));
        let meant = words.len() + 1 == self.words.len() && Cli::try_parse_from(whole).is_ok();
        meant.then(|| format!("abide {}", shell::line(words)))
    }

    /// What was typed, with `--` before the program.
    fn with_dashes(&self, program: &str) -> Option<String> {
        let mut places = (0..self.words.len()).filter(|at| self.words[*at] == program);
        let place = places.find_map(|at| {
            let (before, behind) = self.words.split_at(at);
            let whole = ["abide"].into_iter().chain(before.iter().map(String::as_str)).chain(["--", program]);
            Cli::try_parse_from(whole).is_ok().then_some((before, behind))
        });
        place.map(|(before, behind)| format!("abide {} -- {}", shell::line(before), shell::line(behind)))
    }

    fn bad_value(&self) -> (String, Option<String>) {
        let option = self.arguments(ContextKind::InvalidArg).join(" ");
        let typed = self.context(ContextKind::InvalidValue).join(" ");
        let valid = self.context(ContextKind::ValidValue);
        if typed.is_empty() && self.error.kind() == ErrorKind::InvalidValue {
            let hint = (!valid.is_empty()).then(|| self.one_of(&valid));
            return (format!("`{option}` needs a value"), hint);
        }
        let message = format!("`{typed}` is no value for `{option}`");
        if VIDEO.contains(&typed.as_str()) && valid.iter().any(|valid| valid == "mp4") {
            return (format!("{message}: video is made as mp4"), Some(self.one_of(&valid)));
        }
        if !valid.is_empty() {
            let known: Vec<&str> = valid.iter().map(String::as_str).collect();
            let meant = nearest::nearest(&typed, &known).map(|meant| self.meant(meant));
            // Nobody reads a list of all verbs.
            let few = known.len() <= 15;
            return (message, meant.or_else(|| few.then(|| self.one_of(&valid))));
        }
        let Some(source) = self.error.source() else {
            return (message, None);
        };
        let says = source.to_string();
        let wanted = match says.split_once(" is not in ") {
            Some((_, range)) => format!("it takes a number in {range}"),
            None if source.is::<std::num::ParseIntError>() => "it takes a number".to_owned(),
            None => says,
        };
        (format!("{message}: {wanted}"), None)
    }

    fn one_of(&self, valid: &[String]) -> String {
        let words: Vec<String> = valid.iter().map(|word| format!("`{word}`")).collect();
        format!("one of {}; {}", words.join(", "), self.help())
    }

    /// What clap takes it for, if that is near enough.
    fn suggested(&self, kind: ContextKind, typed: &str) -> Option<String> {
        let suggested = self.context(kind);
        let known: Vec<&str> = suggested.iter().map(String::as_str).collect();
        nearest::nearest(typed, &known).map(str::to_owned)
    }

    fn meant(&self, word: &str) -> String {
        format!("did you mean `{word}`? {}", self.help())
    }

    /// Names of arguments, without the form of their values.
    fn arguments(&self, kind: ContextKind) -> Vec<String> {
        let plain = |name: &String| {
            let first = name.split_whitespace().find(|word| *word != "--").unwrap_or_default();
            first.trim_matches(['<', '>', '[', ']', '.']).to_owned()
        };
        self.context(kind).iter().map(plain).collect()
    }

    fn context(&self, kind: ContextKind) -> Vec<String> {
        match self.error.get(kind) {
            Some(ContextValue::String(word)) => vec![word.clone()],
            Some(ContextValue::Strings(words)) => words.clone(),
            Some(_) | None => Vec::new(),
        }
    }

    /// clap's own words, without what surrounds them.
    fn in_clap_words(&self) -> String {
        let text = self.error.render().to_string();
        let first = text.split("\n\n").next().unwrap_or_default();
        let words = first.strip_prefix("error: ").unwrap_or(first).split_whitespace();
        words.collect::<Vec<_>>().join(" ")
    }
}
