//! What Gemini CLI and those that come of it have alike: scripts that start themselves again with more memory, and the
//! options that say which conversation it is.

use std::path::{Path, PathBuf};

use crate::adapter::{By, Held, Kin, Options, Process, Running, base, option, options};
use crate::words::{is_uuid, plain, program};

const INTERPRETERS: [&str; 3] = ["node", "bun", "deno"];

/// One of them.
pub(crate) struct Family {
    /// The program.
    pub name: &'static str,
    /// The package that it comes in: `@owner/package`.
    pub package: &'static str,
    /// What these subcommands do is no conversation.
    pub commands: &'static [&'static str],
    /// Nor is what these options ask for.
    pub asides: &'static [&'static str],
    /// Options that say which conversation it is.
    pub picks: &'static [&'static str],
    pub options: Options,
    /// Whether a prompt without an option is answered without a terminal.
    pub plain_is_headless: bool,
}

impl Family {
    /// Both the process that starts itself again and the one it starts look alike; the one below is the agent.
    pub(crate) fn recognise(&self, process: &Process<'_>) -> Option<Kin> {
        let at = self.at(process.argv)?;
        let (_, package) = self.package.split_once('/')?;
        let fits = |image: &Path| {
            let image = image.to_string_lossy();
            INTERPRETERS.contains(&base(&image)) || image.contains(package)
        };
        (process.image.is_none_or(fits) && self.converses(&process.argv[at + 1..])).then_some(Kin::Agent)
    }

    /// The conversation that a command line names; not one that it only points at, as `--resume latest` does.
    pub(crate) fn named_in(argv: &[String]) -> Option<String> {
        option(argv, &["--session-id", "--resume", "-r"]).filter(|id| is_uuid(id)).map(str::to_owned)
    }

    /// The conversation that its command line names, else the only one of `written`: all conversations of its directory,
    /// the one written to last first, each with when.
    pub(crate) fn held(
        running: &Running<'_>,
        written: impl Iterator<Item = (i64, String)>,
        transcript: impl Fn(&str) -> Option<PathBuf>,
    ) -> Option<Held> {
        let mut since: Vec<String> = Vec::new();
        for (_, id) in written.take_while(|(at, _)| *at >= running.started_ms) {
            if !since.contains(&id) {
                since.push(id);
            }
        }
        let (conversation, by) = match Self::named_in(running.argv) {
            // It may have left that one for another, which no command line tells.
            Some(named) if since.first().is_some_and(|latest| *latest != named) => (named, By::Overtaken),
            Some(named) => (named, By::Argument),
            None => (since.pop().filter(|_| since.is_empty())?, By::Newest),
        };
        let transcript = transcript(&conversation);
        Some(Held { conversation, transcript, by })
    }

    pub(crate) fn launch(&self, argv: &[String], conversation: &str) -> Option<Vec<String>> {
        let at = self.at(argv)?;
        let rest = &argv[at + 1..];
        let is_named = rest.iter().any(|word| self.picks.contains(&word.split('=').next().unwrap_or(word)));
        (!is_named && self.converses(rest)).then(|| {
            let mut argv = argv.to_vec();
            argv.splice(at + 1..=at, ["--session-id".to_owned(), conversation.to_owned()]);
            argv
        })
    }

    pub(crate) fn resume(&self, argv: &[String], conversation: &str, prompt: Option<&str>) -> Vec<String> {
        let at = self.at(argv).unwrap_or(0);
        let (before, from) = argv.split_at(at.min(argv.len()));
        let mut again = before.to_vec();
        again.extend(options(from, &self.options));
        again.extend(["--resume".to_owned(), conversation.to_owned()]);
        if let Some(prompt) = prompt {
            let option = if self.is_headless(from) { "-p" } else { "-i" };
            again.extend([option.to_owned(), prompt.to_owned()]);
        }
        again
    }

    fn at(&self, argv: &[String]) -> Option<usize> {
        let within = format!("{}/", self.package);
        program(argv, |word| base(word) == self.name || word.contains(&within))
    }

    /// Whether these words, behind the program, ask for a conversation.
    fn converses(&self, words: &[String]) -> bool {
        let first = plain(words, self.options.valued).next().map(|(_, word)| word);
        !first.is_some_and(|word| self.commands.contains(&word))
            && !words.iter().any(|word| self.asides.contains(&word.as_str()))
    }

    fn is_headless(&self, from: &[String]) -> bool {
        let has =
            |names: &[&str]| from.iter().any(|word| names.contains(&word.split('=').next().unwrap_or(word)));
        let words = from.get(1..).unwrap_or_default();
        has(&["-p", "--prompt"])
            || self.plain_is_headless
                && !has(&["-i", "--prompt-interactive"])
                && plain(words, self.options.valued).next().is_some()
    }
}

/// The lowest lines that say something, so many of them: what an agent keeps repainting.
pub(crate) fn live(lines: &[String], most: usize) -> &[String] {
    let end = lines.iter().rposition(|line| !line.trim().is_empty()).map_or(0, |last| last + 1);
    &lines[end.saturating_sub(most)..end]
}
