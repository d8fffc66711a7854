//! Codex CLI. It keeps a conversation in lines of JSON and locks it while it writes. Its terminal interface may leave that
//! to a background process that serves all of them: then it holds neither the file nor the lock itself.

mod rollout;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use self::rollout::{Conversation, head};
use crate::adapter::{Adapter, By, Held, Kin, Options, Place, Process, Running, base, options};
use crate::lines::{Lines, written};
use crate::sign::Level;
use crate::story::Reader;
use crate::words::{is_uuid, plain, program};

/// What its own subcommands do is no conversation.
const NO_AGENT: [&str; 26] = [
    "agents",
    "login",
    "logout",
    "mcp",
    "mcp-server",
    "plugin",
    "app-server",
    "remote-control",
    "completion",
    "update",
    "doctor",
    "sandbox",
    "debug",
    "apply",
    "a",
    "queue",
    "archive",
    "unarchive",
    "delete",
    "migrate-rollouts",
    "migrate-nfs-db",
    "cloud",
    "exec-server",
    "execpolicy",
    "features",
    "help",
];
const ONLY_TOLD: [&str; 4] = ["-V", "--version", "-h", "--help"];
/// So many conversations are looked into for the latest one of a directory.
const HEADS: usize = 500;
const INTERRUPT: i32 = 2;
/// Where it keeps a lock for each conversation that is written to.
const LOCKS: &str = "thread-writer-locks";

/// Its options that take a value, and those that must not be given again.
const OPTIONS: Options = Options {
    valued: &[
        "-c",
        "--config",
        "--enable",
        "--disable",
        "--remote",
        "--remote-auth-token-env",
        "-i",
        "--image",
        "-m",
        "--model",
        "--local-provider",
        "-p",
        "--profile",
        "-s",
        "--sandbox",
        "-C",
        "--cd",
        "--add-dir",
        "-a",
        "--ask-for-approval",
        "--thread-source",
        "--cyber-access-program",
        "--output-schema",
        "--color",
        "-o",
        "--output-last-message",
    ],
    dropped: &["-i", "--image", "--last", "--all", "--include-non-interactive", "--worktree"],
};

#[derive(Debug)]
pub(crate) struct Codex;

impl Adapter for Codex {
    fn name(&self) -> &'static str {
        "codex"
    }

    fn packages(&self) -> &'static [&'static str] {
        &["codex", "@openai/codex"]
    }

    fn variables(&self) -> &'static [&'static str] {
        &["CODEX_HOME"]
    }

    fn recognise(&self, process: &Process<'_>) -> Option<Kin> {
        let at = itself(process.argv)?;
        let native = at == 0;
        if native && process.image.is_some_and(|image| !image.to_string_lossy().contains("codex")) {
            return None;
        }
        let asked = &process.argv[at + 1..];
        let only_told = asked.first().is_some_and(|word| ONLY_TOLD.contains(&word.as_str()));
        let first = plain(asked, OPTIONS.valued).next().map_or("", |(_, word)| word);
        if only_told || NO_AGENT.contains(&first) {
            return None;
        }
        Some(if native { Kin::Agent } else { Kin::Wrapper })
    }

    fn named_in(&self, argv: &[String]) -> Option<String> {
        let at = itself(argv)?;
        let mut words = plain(&argv[at + 1..], OPTIONS.valued).map(|(_, word)| word);
        let mut first = words.next()?;
        if is_print(first) {
            first = words.next()?;
        }
        // A conversation may be asked for by a name as well: that is not its ID.
        words.next().filter(|word| first == "resume" && is_uuid(word)).map(str::to_owned)
    }

    fn conversation(&self, running: &Running<'_>) -> Option<Held> {
        let named = || {
            let conversation = self.named_in(running.argv)?;
            let transcript = self.transcript(running.place, &conversation);
            Some(Held { conversation, transcript, by: By::Argument })
        };
        self.held(running).or_else(named).or_else(|| newest(running))
    }

    fn transcript(&self, place: &Place, conversation: &str) -> Option<PathBuf> {
        let ending = format!("-{conversation}.jsonl");
        let is_it = |path: &PathBuf| path.to_string_lossy().ends_with(&ending);
        let archive = root(place)?.join("archived_sessions");
        rollouts(place).into_iter().chain(inside(&archive)).find(is_it)
    }

    fn lock(&self, place: &Place, conversation: &str) -> Option<PathBuf> {
        Some(root(place)?.join(LOCKS).join(format!("{conversation}.lock")))
    }

    fn latest(&self, place: &Place) -> Option<String> {
        let mut all: Vec<(i64, PathBuf)> =
            rollouts(place).into_iter().map(|path| (written(&path), path)).collect();
        all.sort_by(|one, other| other.cmp(one));
        let mut heads = all.iter().take(HEADS).filter_map(|(_, path)| head(path));
        heads.find(|head| head.is_own() && head.cwd == place.cwd).map(|head| head.id)
    }

    fn reader(&self, transcript: &Path, _conversation: &str) -> Box<dyn Reader> {
        Box::new(Lines::<Conversation>::new(transcript))
    }

    /// A turning braille dot means work. That something is required of a person blinks there too, whether that is a
    /// permission, which it mostly is, or an answer. What stands there otherwise can be chosen by its user.
    fn title(&self, title: &str) -> Option<Level> {
        if title.starts_with('[') && title.contains("] Action Required") {
            return Some(Level::APPROVAL);
        }
        let first = title.chars().next()?;
        ('\u{2800}'..='\u{28ff}').contains(&first).then_some(Level::WORKING)
    }

    fn screen(&self, lines: &[String]) -> Option<Level> {
        let live = &lines[lines.len().saturating_sub(16)..];
        let has = |text: &str| live.iter().any(|line| line.contains(text));
        if has("Press enter to confirm or esc to cancel") && has(" 1. Yes") {
            return Some(Level::APPROVAL);
        }
        if live.iter().any(|line| line.starts_with(['•', '◦']) && line.contains("esc to interrupt)")) {
            return Some(Level::WORKING);
        }
        has("? for shortcuts").then_some(Level::SETTLED)
    }

    fn resume(&self, argv: &[String], conversation: &str, prompt: Option<&str>) -> Vec<String> {
        let at = itself(argv).unwrap_or(0).min(argv.len());
        let (before, asked) = argv.split_at(at);
        let print = plain(asked, OPTIONS.valued).nth(1).filter(|(_, word)| is_print(word));
        // What stands before `exec` is not all understood behind it.
        let (all, print) = asked.split_at(print.map_or(asked.len(), |(exec, _)| exec));
        let mut again = before.to_vec();
        again.extend(options(all, &OPTIONS));
        again.extend(options(print, &OPTIONS));
        again.extend(["resume".to_owned(), conversation.to_owned()]);
        again.extend(prompt.map(str::to_owned));
        again
    }

    fn polite_signal(&self) -> i32 {
        INTERRUPT
    }
}

impl Codex {
    /// The conversation whose lock or file this process holds. One that was left for another stays held for a while, and
    /// those of the agents that it started are held too: the last one of its own that anything happened to is meant.
    fn held(&self, running: &Running<'_>) -> Option<Held> {
        let mut all: BTreeMap<&str, (i64, By, Option<PathBuf>)> = BTreeMap::new();
        for path in running.open {
            let Some((conversation, locked)) = meant(path) else { continue };
            let entry = all.entry(conversation).or_insert((0, By::OpenFile, None));
            entry.0 = entry.0.max(written(path));
            if locked {
                entry.1 = By::Registry;
            } else {
                entry.2 = Some(path.clone());
            }
        }
        let own = all.into_iter().filter_map(|(conversation, (at, by, file))| {
            let transcript = file.or_else(|| self.transcript(running.place, conversation));
            let head = transcript.as_deref().and_then(head);
            let held = Held { conversation: conversation.to_owned(), transcript, by };
            head.is_none_or(|head| head.is_own()).then_some((at, held))
        });
        own.max_by_key(|(at, _)| *at).map(|(_, held)| held)
    }
}

/// Whether a word is the program.
fn itself(argv: &[String]) -> Option<usize> {
    program(argv, |word| {
        let name = base(word);
        let built = |machine: &str| name.strip_prefix("codex-").is_some_and(|rest| rest.starts_with(machine));
        name == "codex"
            || built("x86_64-")
            || built("aarch64-")
            || word.ends_with("@openai/codex/bin/codex.js")
    })
}

/// Its subcommand that takes one turn and ends.
fn is_print(word: &str) -> bool {
    matches!(word, "exec" | "e")
}

fn root(place: &Place) -> Option<PathBuf> {
    place.root("CODEX_HOME", ".codex")
}

/// Everything in a directory.
fn inside(directory: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    std::fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path())
}

/// Every conversation: year, month and day are directories.
fn rollouts(place: &Place) -> Vec<PathBuf> {
    let Some(root) = root(place) else { return Vec::new() };
    let days = inside(&root.join("sessions")).flat_map(|year| inside(&year)).flat_map(|month| inside(&month));
    let files = days.flat_map(|day| inside(&day));
    files.filter(|path| meant(path).is_some_and(|(_, locked)| !locked)).collect()
}

/// The conversation that a path is about, and whether it is its lock.
fn meant(path: &Path) -> Option<(&str, bool)> {
    let name = path.file_name()?.to_str()?;
    if let Some(id) = name.strip_suffix(".lock") {
        let locks = path.parent()?.file_name()? == LOCKS;
        return (locks && is_uuid(id)).then_some((id, true));
    }
    let stem = name.strip_prefix("rollout-")?.strip_suffix(".jsonl")?;
    let id = stem.get(stem.len().checked_sub(36)?..)?;
    is_uuid(id).then_some((id, false))
}

/// The conversation of this directory that was written to since the process began, if there is but one.
fn newest(running: &Running<'_>) -> Option<Held> {
    let fresh = rollouts(running.place).into_iter().filter(|path| written(path) >= running.started_ms);
    let mut here = fresh
        .filter_map(|path| Some((head(&path)?, path)))
        .filter(|(head, _)| head.is_own() && head.cwd == running.place.cwd);
    let (head, path) = here.next()?;
    let only = here.next().is_none();
    only.then_some(Held { conversation: head.id, transcript: Some(path), by: By::Newest })
}
