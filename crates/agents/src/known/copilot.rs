//! Copilot CLI. A directory per conversation holds its transcript, in lines of JSON, and a lock that names the process
//! that is at it.

mod transcript;

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use self::transcript::Conversation;
use crate::adapter::{Adapter, By, Held, Kin, Options, Place, Process, Running, base, option, options};
use crate::lines::{self, Lines};
use crate::sign::Level;
use crate::story::Reader;
use crate::words::{is_uuid, plain, program};

/// What its own subcommands do is no conversation.
const NO_AGENT: [&str; 17] = [
    "app",
    "login",
    "help",
    "init",
    "config",
    "update",
    "version",
    "workflow",
    "sessions",
    "memories",
    "plugin",
    "mcp",
    "skill",
    "instruction",
    "lsp",
    "sandbox",
    "completion",
];
const ONLY_TOLD: [&str; 5] = ["-v", "--version", "-h", "--help", "--binary-version"];
/// Those that say which conversation it is.
const PICKED: [&str; 5] = ["--session-id", "--resume", "-r", "--continue", "--connect"];
/// Those that take any number of values.
const MANY: [&str; 7] = [
    "--allow-tool",
    "--deny-tool",
    "--available-tools",
    "--excluded-tools",
    "--secret-env-vars",
    "--allow-url",
    "--deny-url",
];
/// What it knows of the place of a conversation is not longer.
const PLACE: u64 = 64 << 10;
const TRANSCRIPT: &str = "events.jsonl";
const INTERRUPT: i32 = 2;
/// A lock is written by a process that lives: by the kernel's clock, which is not read to the ms.
const SLACK_MS: i64 = 1_000;

/// Its options that take a value, and those that must not be given again.
const OPTIONS: Options = Options {
    valued: &[
        "-i",
        "--interactive",
        "-p",
        "--prompt",
        "--model",
        "--reasoning-effort",
        "--context",
        "--auto-tier",
        "--agent",
        "-r",
        "--resume",
        "-n",
        "--name",
        "--session-id",
        "--connect",
        "-C",
        "--log-dir",
        "--extension-sdk-path",
        "--log-level",
        "--stream",
        "--output-format",
        "--add-dir",
        "--attachment",
        "--disable-mcp-server",
        "--enable-mcp-server",
        "--add-github-mcp-toolset",
        "--add-github-mcp-tool",
        "--plugin-dir",
        "--additional-mcp-config",
        "--mcp-github-auth",
        "--max-autopilot-continues",
        "--mode",
        "--environment-host",
        "--environment-compute-id",
        "--dynamic-retrieval",
        "--max-ai-credits",
        "--usage-output-file",
    ],
    dropped: &[
        "-i",
        "--interactive",
        "-p",
        "--prompt",
        "--attachment",
        "-n",
        "--name",
        "--session-id",
        "--resume",
        "-r",
        "--continue",
        "--connect",
    ],
};

#[derive(Debug)]
pub(crate) struct Copilot;

impl Adapter for Copilot {
    fn name(&self) -> &'static str {
        "copilot"
    }

    fn packages(&self) -> &'static [&'static str] {
        &["copilot", "@github/copilot"]
    }

    fn variables(&self) -> &'static [&'static str] {
        &["COPILOT_HOME"]
    }

    fn recognise(&self, process: &Process<'_>) -> Option<Kin> {
        let at = itself(process.argv)?;
        if at == 0 && process.image.is_some_and(|image| !image.to_string_lossy().contains("copilot")) {
            return None;
        }
        let asked = &process.argv[at + 1..];
        let only_told = asked.first().is_some_and(|word| ONLY_TOLD.contains(&word.as_str()));
        if only_told || subcommand(asked).is_some() {
            return None;
        }
        // The script starts the program for this machine. Before there was one, it was the agent itself.
        let script = at > 0 && base(&process.argv[at]) != "index.js";
        Some(if script { Kin::Wrapper } else { Kin::Agent })
    }

    fn named_in(&self, argv: &[String]) -> Option<String> {
        // A beginning of an ID or a name may be asked for as well: that is not the ID.
        option(argv, &["--session-id", "--resume", "-r"]).filter(|word| is_uuid(word)).map(str::to_owned)
    }

    fn conversation(&self, running: &Running<'_>) -> Option<Held> {
        let locked = locked(running).map(|conversation| (conversation, By::Registry));
        let (conversation, by) = locked.or_else(|| Some((self.named_in(running.argv)?, By::Argument)))?;
        let transcript = self.transcript(running.place, &conversation);
        Some(Held { conversation, transcript, by })
    }

    fn transcript(&self, place: &Place, conversation: &str) -> Option<PathBuf> {
        let path = conversations(place)?.join(conversation).join(TRANSCRIPT);
        (is_uuid(conversation) && path.is_file()).then_some(path)
    }

    fn mark(&self, conversation: &str) -> Option<String> {
        Some(format!("COPILOT_AGENT_SESSION_ID={conversation}"))
    }

    fn latest(&self, place: &Place) -> Option<String> {
        let mut all: Vec<(i64, PathBuf)> = inside(&conversations(place)?)
            .filter_map(|directory| Some((written(&directory.join(TRANSCRIPT))?, directory)))
            .collect();
        all.sort_by(|one, other| other.cmp(one));
        let (_, newest) = all.into_iter().find(|(_, directory)| began_in(directory, &place.cwd))?;
        newest.file_name().map(|name| name.to_string_lossy().into_owned())
    }

    fn reader(&self, transcript: &Path, _conversation: &str) -> Box<dyn Reader> {
        Box::new(Lines::<Conversation>::new(transcript))
    }

    fn screen(&self, lines: &[String]) -> Option<Level> {
        let live = &lines[lines.len().saturating_sub(16)..];
        let has = |text: &str| live.iter().any(|line| line.contains(text));
        let asks = has("Do you want to ") || has("Do you trust ");
        if asks && has(" 1. Yes") && has("enter to select") {
            return Some(Level::APPROVAL);
        }
        let last = live.iter().rev().find(|line| !line.trim().is_empty())?;
        if last.contains(" Working ") && last.contains("esc esc ") {
            return Some(Level::WORKING);
        }
        last.contains("/ commands · ? help").then_some(Level::SETTLED)
    }

    fn launch(&self, argv: &[String], conversation: &str) -> Option<Vec<String>> {
        let at = itself(argv)?;
        let name = |word: &String| word.split('=').next().unwrap_or_default().to_owned();
        let picked = argv.iter().any(|word| PICKED.contains(&name(word).as_str()));
        (!picked && subcommand(&argv[at + 1..]).is_none()).then(|| {
            let mut argv = argv.to_vec();
            argv.splice(at + 1..=at, ["--session-id".to_owned(), conversation.to_owned()]);
            argv
        })
    }

    fn resume(&self, argv: &[String], conversation: &str, prompt: Option<&str>) -> Vec<String> {
        let (before, asked) = argv.split_at(itself(argv).unwrap_or(0).min(argv.len()));
        let print = option_is_there(asked, &["-p", "--prompt"]);
        let mut again = before.to_vec();
        again.extend(options(&joined(asked), &OPTIONS));
        again.push(format!("--resume={conversation}"));
        if let Some(prompt) = prompt {
            again.extend([if print { "-p" } else { "-i" }.to_owned(), prompt.to_owned()]);
        }
        again
    }

    fn polite_signal(&self) -> i32 {
        INTERRUPT
    }
}

/// Where the program stands on a command line.
fn itself(argv: &[String]) -> Option<usize> {
    program(argv, |word| base(word) == "copilot" || word.contains("@github/copilot/"))
}

fn option_is_there(argv: &[String], names: &[&str]) -> bool {
    argv.iter().any(|word| names.contains(&word.split('=').next().unwrap_or_default()))
}

/// It takes no prompt without an option: any other word is a subcommand of its own.
fn subcommand(asked: &[String]) -> Option<&str> {
    let joined = joined(asked);
    let first = plain(&joined, OPTIONS.valued).next().map(|(_, word)| word.to_owned())?;
    NO_AGENT.iter().find(|known| **known == first).copied()
}

/// The same words, each value of an option that takes many joined to it.
fn joined(argv: &[String]) -> Vec<String> {
    let mut words = argv.iter().peekable();
    let mut all = Vec::new();
    while let Some(word) = words.next() {
        let before = all.len();
        if MANY.contains(&word.as_str()) {
            while let Some(value) = words.next_if(|next| !next.starts_with('-')) {
                all.push(format!("{word}={value}"));
            }
        }
        if all.len() == before {
            all.push(word.clone());
        }
    }
    all
}

fn conversations(place: &Place) -> Option<PathBuf> {
    Some(place.root("COPILOT_HOME", ".copilot")?.join("session-state"))
}

/// Everything in a directory.
fn inside(directory: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    std::fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path())
}

/// When a file was last written to, in ms of wall time.
fn written(path: &Path) -> Option<i64> {
    let metadata = std::fs::metadata(path).ok().filter(Metadata::is_file)?;
    Some(metadata.mtime() * 1000 + metadata.mtime_nsec() / 1_000_000)
}

/// The conversation that is locked for this process. One that was left for another stays locked: the last one that
/// anything happened to is meant. Locks outlive those whom they name, and pids come again: one that this process does not
/// hold open must at least be younger than it.
fn locked(running: &Running<'_>) -> Option<String> {
    let hold = format!("inuse.{}.hold", running.pid);
    let open = running.open.iter().filter(|path| path.file_name().is_some_and(|name| *name == *hold));
    let mut directories: Vec<PathBuf> = open.filter_map(|path| Some(path.parent()?.to_owned())).collect();
    let lock = format!("inuse.{}.lock", running.pid);
    if directories.is_empty() {
        let since = running.started_ms - SLACK_MS;
        let young = |directory: &PathBuf| written(&directory.join(&lock)).is_some_and(|at| at >= since);
        directories = inside(&conversations(running.place)?).filter(young).collect();
    }
    let happened =
        |directory: &PathBuf| written(&directory.join(TRANSCRIPT)).max(written(&directory.join(&lock)));
    let newest = directories.into_iter().max_by_key(happened)?;
    newest.file_name().and_then(|name| name.to_str()).filter(|name| is_uuid(name)).map(str::to_owned)
}

/// Whether a conversation began in this directory.
fn began_in(directory: &Path, cwd: &Path) -> bool {
    let Ok(bytes) = lines::beginning(&directory.join("workspace.yaml"), PLACE) else {
        return false;
    };
    let text = String::from_utf8_lossy(&bytes);
    let named = text.lines().find_map(|line| line.strip_prefix("cwd: "));
    named.is_some_and(|named| Path::new(named.trim().trim_matches(['"', '\''])) == cwd)
}
