//! OpenCode. All its conversations are in one database, which its processes hold open; which conversation a process is at
//! stands nowhere but in its command line.

use std::path::{Path, PathBuf};

use rusqlite::OptionalExtension;

use super::opencode_rows::Rows;
use crate::adapter::{Adapter, By, Held, Kin, Options, Place, Process, Running, base, option, options};
use crate::database;
use crate::lines;
use crate::sign::Level;
use crate::story::Reader;

/// What its own subcommands do is no conversation, or that of another process.
const NO_AGENT: [&str; 21] = [
    "completion",
    "acp",
    "mcp",
    "attach",
    "debug",
    "providers",
    "auth",
    "agent",
    "upgrade",
    "uninstall",
    "serve",
    "web",
    "models",
    "stats",
    "export",
    "import",
    "github",
    "pr",
    "session",
    "plugin",
    "db",
];
const TELLS: [&str; 4] = ["--version", "-v", "--help", "-h"];
const TERMINATE: i32 = 15;

#[derive(Debug)]
pub(crate) struct OpenCode;

impl Adapter for OpenCode {
    fn name(&self) -> &'static str {
        "opencode"
    }

    fn packages(&self) -> &'static [&'static str] {
        &["opencode", "opencode-ai"]
    }

    fn variables(&self) -> &'static [&'static str] {
        &["XDG_DATA_HOME", "OPENCODE_DB"]
    }

    fn recognise(&self, process: &Process<'_>) -> Option<Kin> {
        let image = process.image.map(|image| base(&image.to_string_lossy()).to_owned());
        let first = process.argv.first()?;
        let of_node = ["node", "nodejs", "bun"].contains(&image.as_deref().unwrap_or(base(first)));
        let scripted = process.argv.get(1).is_some_and(|word| word.ends_with("/opencode"));
        // Its npm package has had a script that starts the program below it.
        if of_node && scripted {
            return is_conversation(&process.argv[1..]).then_some(Kin::Wrapper);
        }
        let named = ["opencode", "opencode.exe", ".opencode"].contains(&base(first));
        let native = image.is_none_or(|image| image.contains("opencode"));
        (named && native && is_conversation(process.argv)).then_some(Kin::Agent)
    }

    fn named_in(&self, argv: &[String]) -> Option<String> {
        let forked = argv.iter().any(|word| word == "--fork");
        option(argv, &["--session", "-s"]).filter(|_| !forked).map(str::to_owned)
    }

    fn conversation(&self, running: &Running<'_>) -> Option<Held> {
        let open = running.open.iter().find(|path| is_database(path)).cloned();
        let transcript = open.or_else(|| database_of(running.place))?;
        let named = self.named_in(running.argv).map(|conversation| (conversation, By::Argument));
        let (conversation, by) = named.or_else(|| {
            let mut since = latest(&transcript, &running.place.cwd, running.started_ms, 2);
            let conversation = since.pop().filter(|_| since.is_empty())?;
            Some((conversation, By::Newest))
        })?;
        Some(Held { conversation, transcript: Some(transcript), by })
    }

    fn transcript(&self, place: &Place, conversation: &str) -> Option<PathBuf> {
        let path = database_of(place)?;
        let is_there = database::ask(&path, &mut |database| {
            database.query_row("SELECT 1 FROM session WHERE id = ?1", [conversation], |_| Ok(())).optional()
        });
        is_there.ok()?.map(|()| path)
    }

    fn latest(&self, place: &Place) -> Option<String> {
        latest(&database_of(place)?, &place.cwd, 0, 1).pop()
    }

    fn reader(&self, transcript: &Path, conversation: &str) -> Box<dyn Reader> {
        Box::new(Rows::new(transcript, conversation))
    }

    /// The title names the conversation and says nothing of the work, so only the screen tells.
    fn screen(&self, lines: &[String]) -> Option<Level> {
        let shown: Vec<&str> =
            lines.iter().map(|line| line.trim_end()).filter(|line| !line.is_empty()).collect();
        let live = |most: usize| &shown[shown.len().saturating_sub(most)..];
        // What it asks stands in the place of the prompt, down to the last line.
        let asks = live(20).iter().rev().find_map(|line| line.strip_prefix("  ┃  △ "));
        if asks.is_some() && live(3).iter().any(|line| line.contains("enter confirm")) {
            return Some(Level::APPROVAL);
        }
        let foot = live(1).first()?;
        if foot.contains("esc interrupt") || foot.contains("esc again to interrupt") {
            return Some(Level::WORKING);
        }
        let is_prompt = |pair: &[&str]| pair[0].contains("╹▀▀▀▀") && pair[1].contains("ctrl+p commands");
        // Before the first prompt it stands in the middle, and only the directory and the version at the bottom.
        let version = foot.rsplit(' ').next().filter(|word| word.split('.').count() == 3);
        let begins = version.is_some() && !foot.contains(['┃', '•']);
        let settled = live(2).windows(2).any(is_prompt) || begins && shown.windows(2).any(is_prompt);
        settled.then_some(Level::SETTLED)
    }

    fn resume(&self, argv: &[String], conversation: &str, prompt: Option<&str>) -> Vec<String> {
        let mut again = options(argv, &OPTIONS);
        // `run`, or the directory that it was started for.
        let word = bare(argv);
        let behind = again.len().min(1);
        again.splice(behind..behind, word.map(str::to_owned));
        again.extend(["--session".to_owned(), conversation.to_owned()]);
        if word != Some("run") {
            again.extend(prompt.map(|_| "--prompt".to_owned()));
        }
        again.extend(prompt.map(str::to_owned));
        again
    }

    fn polite_signal(&self) -> i32 {
        TERMINATE
    }
}

/// Its options that take a value, and those that must not be given again.
const OPTIONS: Options = Options {
    valued: &[
        "--log-level",
        "--port",
        "--hostname",
        "--mdns-domain",
        "--cors",
        "--model",
        "-m",
        "--session",
        "-s",
        "--prompt",
        "--agent",
        "--replay-limit",
        "--command",
        "--format",
        "--file",
        "-f",
        "--title",
        "--attach",
        "--password",
        "-p",
        "--username",
        "-u",
        "--dir",
        "--variant",
    ],
    dropped: &[
        "--session",
        "-s",
        "--continue",
        "-c",
        "--fork",
        "--prompt",
        "--command",
        "--file",
        "-f",
        "--title",
    ],
};

/// The first word that belongs to no option.
fn bare(argv: &[String]) -> Option<&str> {
    let mut words = argv.iter().skip(1);
    while let Some(word) = words.next() {
        if !word.starts_with('-') {
            return Some(word);
        }
        if OPTIONS.valued.contains(&word.as_str()) {
            words.next();
        }
    }
    None
}

/// Whether a command line, from the program on, is that of a conversation.
fn is_conversation(argv: &[String]) -> bool {
    let tells = argv.get(1).is_some_and(|word| TELLS.contains(&word.as_str()));
    !tells && bare(argv).is_none_or(|word| !NO_AGENT.contains(&word))
}

fn is_database(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with("opencode") && name.ends_with(".db")
}

fn database_of(place: &Place) -> Option<PathBuf> {
    let directory = place.root("XDG_DATA_HOME", ".local/share")?.join("opencode");
    // Joined to a directory, an absolute path stays itself.
    let named = place.variables.get("OPENCODE_DB").filter(|name| !name.is_empty());
    let path = directory.join(named.map_or("opencode.db", String::as_str));
    // What is not released has a database of its own.
    let other =
        || lines::newest(&directory, ".db").into_iter().map(|(_, path)| path).find(|path| is_database(path));
    if path.is_file() { Some(path) } else { other() }
}

/// Conversations of a directory that were written to since, the latest first; none that another one began.
fn latest(path: &Path, directory: &Path, since: i64, most: u32) -> Vec<String> {
    let directory = directory.to_string_lossy();
    let found = database::ask(path, &mut |database| {
        let mut found = database.prepare(
            "SELECT id FROM session WHERE directory = ?1 AND parent_id IS NULL AND time_updated >= ?2
             ORDER BY time_updated DESC LIMIT ?3",
        )?;
        found.query_map((&directory, since, most), |row| row.get(0))?.collect()
    });
    found.unwrap_or_default()
}
