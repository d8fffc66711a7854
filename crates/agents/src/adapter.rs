//! What is asked of an adapter. Each answer is about one agent's own ways; what follows from it is decided elsewhere.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use crate::sign::{Level, Sign};
use crate::story::Reader;

/// What abide knows of one kind of agent.
pub trait Adapter: fmt::Debug + Sync {
    /// As it is shown and asked for.
    fn name(&self) -> &'static str;

    /// What npm knows it by: its program, and the package that it comes in.
    fn packages(&self) -> &'static [&'static str] {
        &[]
    }

    /// The variables, beside `HOME`, that say where its files are.
    fn variables(&self) -> &'static [&'static str] {
        &[]
    }

    /// Whether a process is this agent, or only starts it and stands by; npm is known elsewhere. Where one such process starts another, the one
    /// below is the agent; an adapter need not tell those apart by itself. Image and name only rule
    /// out: what is not known by its arguments alone is not known, so that nobody has to ask more of every process.
    fn recognise(&self, process: &Process<'_>) -> Option<Kin>;

    /// The conversation that a command line names.
    fn named_in(&self, argv: &[String]) -> Option<String>;

    /// The conversation that a living process is at.
    fn conversation(&self, running: &Running<'_>) -> Option<Held>;

    /// The file that holds a conversation.
    fn transcript(&self, place: &Place, conversation: &str) -> Option<PathBuf>;

    /// The file that whoever writes to a conversation keeps locked, whether or not that is the agent's own process.
    fn lock(&self, _place: &Place, _conversation: &str) -> Option<PathBuf> {
        None
    }

    /// What stands in the environment of all that it starts at a conversation (`NAME=value`), its tools first of all.
    fn mark(&self, _conversation: &str) -> Option<String> {
        None
    }

    /// The conversation that was written to last in this directory.
    fn latest(&self, place: &Place) -> Option<String>;

    /// Reads a conversation, as it grows.
    fn reader(&self, transcript: &Path, conversation: &str) -> Box<dyn Reader>;

    /// What the agent's own list of running agents says of this process.
    fn registry(&self, _running: &Running<'_>) -> Option<Sign> {
        None
    }

    /// What the title of its terminal says.
    fn title(&self, _title: &str) -> Option<Level> {
        None
    }

    /// What its screen says, the lowest lines last. Only the region that it keeps repainting counts.
    fn screen(&self, _lines: &[String]) -> Option<Level> {
        None
    }

    /// Whether the screen of one that starts shows that its input is there.
    fn takes_input(&self, lines: &[String]) -> bool {
        self.screen(lines).is_some()
    }

    /// The command line that begins a conversation under an ID that we choose; none where it cannot be told one, or was
    /// told another.
    fn launch(&self, _argv: &[String], _conversation: &str) -> Option<Vec<String>> {
        None
    }

    /// The command line that goes on with a conversation as this one began it: the same program and options, without the
    /// prompt that was given then; with `prompt`, if it takes one there.
    fn resume(&self, argv: &[String], conversation: &str, prompt: Option<&str>) -> Vec<String>;

    /// The signal that it ends in order on.
    fn polite_signal(&self) -> i32;
}

/// A process, as far as it tells what it is.
#[derive(Debug, Clone, Copy)]
pub struct Process<'a> {
    pub argv: &'a [String],
    /// The executable, by the kernel's word.
    pub image: Option<&'a Path>,
    /// The name that the kernel has for it.
    pub name: &'a str,
}

/// What a process is to an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kin {
    Agent,
    /// It starts the agent and stands by; its end says nothing about the agent.
    Wrapper,
}

/// Where an agent runs, and the variables that say where its files are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Place {
    pub cwd: PathBuf,
    pub variables: BTreeMap<String, String>,
}

impl Place {
    /// A directory that a variable names, else one below the user's home.
    #[must_use]
    pub fn root(&self, variable: &str, below_home: &str) -> Option<PathBuf> {
        let set = |name: &str| self.variables.get(name).filter(|value| !value.is_empty());
        let named = set(variable).map(PathBuf::from);
        named.or_else(|| set("HOME").map(|home| Path::new(home).join(below_home)))
    }
}

/// A living process that is an agent.
#[derive(Debug, Clone, Copy)]
pub struct Running<'a> {
    pub pid: u32,
    pub argv: &'a [String],
    /// Its birth in clock ticks since boot.
    pub start_ticks: Option<u64>,
    /// Its birth in ms of wall time.
    pub started_ms: i64,
    /// The files that it holds open.
    pub open: &'a [PathBuf],
    pub place: &'a Place,
}

/// A conversation that a process is at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    pub conversation: String,
    /// Its file, once there is one.
    pub transcript: Option<PathBuf>,
    pub by: By,
}

/// How it is known which conversation a process is at; the surest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum By {
    /// The agent's own list of running agents, or a lock that it holds.
    Registry,
    OpenFile,
    Argument,
    /// The same, and another of this directory was written to later: by this process only if there is no other one.
    Overtaken,
    /// No other conversation of this directory was written to since the process began: an inference.
    Newest,
}

impl By {
    /// Whether the agent itself says so, by what it does; a command line says only what it was told.
    #[must_use]
    pub const fn is_its_own_word(self) -> bool {
        match self {
            Self::Registry | Self::OpenFile => true,
            Self::Argument | Self::Overtaken | Self::Newest => false,
        }
    }

    #[must_use]
    pub const fn says(self) -> &'static str {
        match self {
            Self::Registry => "the agent's own list names it",
            Self::OpenFile => "the process holds its file open",
            Self::Argument | Self::Overtaken => "the command line names it",
            Self::Newest => "it is the one last written to in this directory since the process began",
        }
    }
}

/// The last part of an argument that is a path.
pub(crate) fn base(argument: &str) -> &str {
    argument.rsplit('/').next().unwrap_or(argument)
}

/// What follows one of these options, or is joined to it by `=`.
pub(crate) fn option<'a>(argv: &'a [String], names: &[&str]) -> Option<&'a str> {
    argv.iter().enumerate().find_map(|(at, word)| {
        let joined = || word.split_once('=').filter(|(name, _)| names.contains(name)).map(|(_, value)| value);
        if names.contains(&word.as_str()) {
            argv.get(at + 1).map(String::as_str).filter(|value| !value.starts_with('-'))
        } else {
            joined()
        }
    })
}

/// An agent's options, as far as a command line must be given again.
pub(crate) struct Options {
    /// Those that take a value as the next word.
    pub valued: &'static [&'static str],
    /// Those that say which conversation it is: not given again.
    pub dropped: &'static [&'static str],
}

/// The program and its options, without those that are dropped and without words that belong to none.
pub(crate) fn options(argv: &[String], of: &Options) -> Vec<String> {
    let mut kept: Vec<String> = argv.iter().take(1).cloned().collect();
    let mut words = argv.iter().skip(1).peekable();
    while let Some(word) = words.next() {
        if !word.starts_with('-') || word == "--" {
            continue;
        }
        let name = word.split('=').next().unwrap_or(word);
        let drop = of.dropped.contains(&name);
        // One that picks a conversation may do without its value.
        let is_value = |next: &&String| !drop || !next.starts_with('-');
        let value = if of.valued.contains(&word.as_str()) { words.next_if(is_value) } else { None };
        if !drop {
            kept.push(word.clone());
            kept.extend(value.cloned());
        }
    }
    kept
}
