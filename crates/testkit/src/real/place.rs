//! Where one agent is tried: a home of its own, a repository to work in, a model, and the released binary. What it started is
//! ended with this value.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use abide_core::evidence::Size;
use serde_json::Value;

use super::kinds::Kind;
use crate::deadline::Deadline;
use crate::model::Model;
use crate::{Abide, Observer, Ran, ScratchHome, Terminal};

/// Below the patience of what runs commands here: abide itself says what was missing.
pub(super) const PATIENCE: &str = "50s";

/// What a terminal that a person would use is like.
pub(super) const SIZE: &[&str] = &["--size", "100x30"];

/// So many characters of what an agent said are told where a check fails.
const LAST_WORDS: usize = 400;

#[derive(Debug)]
pub(super) struct Place {
    pub(super) kind: &'static Kind,
    pub(super) model: Model,
    abide: Abide,
    programs: PathBuf,
    home: ScratchHome,
}

impl Place {
    pub(super) fn new(kind: &'static Kind, abide: &Path, programs: &Path) -> io::Result<Self> {
        let home = ScratchHome::new();
        let abide = Abide::new(abide, &home);
        let place = Self { kind, model: Model::start()?, abide, programs: programs.to_owned(), home };
        if let Some((name, text)) = kind.settings {
            let path = place.home.around().join(name);
            fs::create_dir_all(path.parent().unwrap_or(&path))?;
            File::create(path)?.write_all(place.filled(text, "").as_bytes())?;
        }
        fs::create_dir(place.work())?;
        File::create(place.work().join("notes.txt"))?.write_all(b"nothing yet\n")?;
        for command in [
            &["init", "-q"][..],
            &["add", "notes.txt"],
            &["config", "user.email", "nobody@example.org"],
            &["config", "user.name", "nobody"],
            &["commit", "-q", "-m", "begin"],
        ] {
            let ran = Ran::of(Command::new("git").args(command).current_dir(place.work()));
            if ran.code() != Some(0) {
                return Err(io::Error::other(format!("git {}: {}", command.join(" "), ran.stderr)));
            }
        }
        Ok(place)
    }

    /// Launches the agent with these arguments on a terminal, detached, and gives the session's ID.
    pub(super) fn launch(&self, arguments: &[&str], prompt: &str) -> Result<String, String> {
        self.launch_as(SIZE, arguments, prompt)
    }

    /// The same with these options of `run`.
    pub(super) fn launch_as(
        &self,
        options: &[&str],
        arguments: &[&str],
        prompt: &str,
    ) -> Result<String, String> {
        let arguments: Vec<String> = arguments.iter().map(|word| self.filled(word, prompt)).collect();
        let mut command = [&["run", "-d"], options, &["--", self.kind.name]].concat();
        command.extend(arguments.iter().map(String::as_str));
        Ok(self.done(&command)?.trim_end().to_owned())
    }

    /// Runs abide as a user would whose agent this is.
    pub(super) fn run(&self, arguments: &[&str]) -> Ran {
        Ran::of(&mut self.at_home(self.abide.command(arguments)))
    }

    /// The same; it must exit with 0.
    pub(super) fn done(&self, arguments: &[&str]) -> Result<String, String> {
        let ran = self.run(arguments);
        if ran.code() == Some(0) {
            return Ok(ran.stdout);
        }
        let code = ran.code().map_or("no code".to_owned(), |code| code.to_string());
        let said = format!("{}{}", ran.stdout, ran.stderr);
        let verb = arguments.iter().take(3).copied().collect::<Vec<_>>().join(" ");
        Err(format!(
            "`abide {verb}` exits with {code}: {}",
            said.split_whitespace().collect::<Vec<_>>().join(" ")
        ))
    }

    /// What it answers with `--json`.
    pub(super) fn json(&self, arguments: &[&str]) -> Result<Value, String> {
        let (verb, rest) = arguments.split_at(1);
        let said = self.done(&[verb, &["--json"], rest].concat())?;
        let mut answer: Value = serde_json::from_str(&said).map_err(|error| format!("{error}: {said}"))?;
        Ok(answer["data"].take())
    }

    /// Asks again until something is there; between two questions it waits for the session as long as it lives.
    pub(super) fn until<T>(
        &self,
        id: &str,
        what: &str,
        mut look: impl FnMut() -> Result<Option<T>, String>,
    ) -> Result<T, String> {
        let deadline = Deadline::start();
        loop {
            if let Some(found) = look()? {
                return Ok(found);
            }
            if deadline.is_over() {
                return Err(format!("waited in vain for {what}; it says {}", self.last_words(id)));
            }
            let _ = self.run(&["wait", "--cap", "200ms", id]);
        }
    }

    /// What the last fact of this name says, once it is there.
    pub(super) fn fact(&self, id: &str, name: &str) -> Result<String, String> {
        self.until(id, &format!("the fact {name}"), || {
            let told = self.json(&["events", id])?;
            let mut facts = told["events"].as_array().into_iter().flatten().rev();
            let found = facts.find(|fact| fact["fact"] == name);
            Ok(found.and_then(|fact| fact["says"].as_str()).map(str::to_owned))
        })
    }

    /// The end of what a session's program has said.
    pub(super) fn last_words(&self, id: &str) -> String {
        let said = self.run(&["logs", id]).stdout;
        let words: Vec<char> = said.split_whitespace().collect::<Vec<_>>().join(" ").chars().collect();
        words[words.len().saturating_sub(LAST_WORDS)..].iter().collect()
    }

    /// What an agent says that is asked outside of a session.
    pub(super) fn ask_agent(&self, arguments: &[&str]) -> String {
        let mut command = self.at_home(Command::new(self.programs.join(self.kind.name)));
        let ran = Ran::of(command.args(arguments));
        ran.stdout + &ran.stderr
    }

    /// Starts the agent as a person would, in a terminal and outside of every session.
    pub(super) fn by_hand(&self, arguments: &[&str]) -> Terminal {
        let mut command = self.at_home(Command::new(self.programs.join(self.kind.name)));
        command.args(arguments.iter().map(|word| self.filled(word, ""))).env("TERM", "xterm-256color");
        Terminal::of_size(Size { cols: 100, rows: 30 }, &command).answering()
    }

    fn at_home(&self, mut command: Command) -> Command {
        let path = format!("{}:{}", self.programs.display(), Abide::PATH);
        command.current_dir(self.work()).env_clear().env("PATH", path).env("LC_ALL", "C.UTF-8");
        command.env("HOME", self.home.around().path()).env("ABIDE_HOME", self.home.path());
        for (name, value) in self.kind.variables {
            command.env(name, self.filled(value, ""));
        }
        command
    }

    /// What its screen says of turn and attention.
    pub(super) fn shown(&self, id: &str) -> Option<(&'static str, &'static str)> {
        let level = abide_agents::shown(abide_agents::named(self.kind.name)?, &self.lines(id))?;
        Some((level.turn?.name(), level.attention?.name()))
    }

    /// Whether it shows that its input is there.
    pub(super) fn takes_input(&self, id: &str) -> bool {
        abide_agents::named(self.kind.name).is_some_and(|adapter| adapter.takes_input(&self.lines(id)))
    }

    fn lines(&self, id: &str) -> Vec<String> {
        self.run(&["snapshot", id]).stdout.trim_end().lines().map(str::to_owned).collect()
    }

    /// The directory around all of it, which is its user's.
    pub(super) fn around(&self) -> &Path {
        self.home.around().path()
    }

    /// The directory that it works in.
    pub(super) fn work(&self) -> PathBuf {
        self.home.around().join("work")
    }

    fn filled(&self, text: &str, prompt: &str) -> String {
        let work = self.work().display().to_string();
        text.replace("{url}", &self.model.url()).replace("{work}", &work).replace("{prompt}", prompt)
    }
}

impl Drop for Place {
    /// What was killed leaves tools behind that no session owns any more: they are known by their directory.
    fn drop(&mut self) {
        for id in self.run(&["ls", "-a", "-q"]).stdout.lines() {
            let _ = self.run(&["stop", "--grace", "1s", id]);
        }
        let around = self.home.around().path().canonicalize();
        for process in around.iter().flat_map(|around| processes_below(around)) {
            process.signal(rustix::process::Signal::KILL);
            process.await_end();
        }
    }
}

/// The processes that work below a directory.
fn processes_below(around: &Path) -> Vec<Observer> {
    let works_there = |pid: u32| {
        let cwd = fs::read_link(format!("/proc/{pid}/cwd"));
        cwd.is_ok_and(|cwd| cwd.starts_with(around))
    };
    // Looked at again once it is held: then it is still the one that was meant.
    let held = pids().filter(|&pid| works_there(pid)).filter_map(Observer::find);
    held.filter(|process| works_there(process.pid())).collect()
}

/// The process that runs exactly this command.
pub(super) fn process_of(command: &str) -> Option<Observer> {
    let words = command.replace(' ', "\0") + "\0";
    let is_it = |pid: &u32| fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|it| it == words.as_bytes());
    pids().find(is_it).and_then(Observer::find)
}

/// The process that a process was started by.
pub(super) fn parent(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
}

fn pids() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}
