//! Gemini CLI. The title of its terminal tells turn and attention best. What stands in its transcript is told in
//! `gemini/transcript.rs`.

mod transcript;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::family::{Family, live};
use crate::adapter::{Adapter, Held, Kin, Options, Place, Process, Running};
use crate::lines::{self, Lines};
use crate::sign::Level;
use crate::story::Reader;

const FAMILY: Family = Family {
    name: "gemini",
    package: "@google/gemini-cli",
    commands: &["mcp", "extensions", "extension", "skills", "skill", "hooks", "hook", "gemma"],
    asides: &[
        "--version",
        "-v",
        "--help",
        "-h",
        "--list-sessions",
        "--delete-session",
        "--list-extensions",
        "-l",
    ],
    picks: &["--session-id", "--resume", "-r", "--session-file"],
    options: Options {
        valued: &[
            "--model",
            "-m",
            "--prompt",
            "-p",
            "--prompt-interactive",
            "-i",
            "--worktree",
            "-w",
            "--approval-mode",
            "--policy",
            "--admin-policy",
            "--allowed-mcp-server-names",
            "--allowed-tools",
            "--extensions",
            "-e",
            "--resume",
            "-r",
            "--session-file",
            "--session-id",
            "--include-directories",
            "--output-format",
            "-o",
        ],
        dropped: &[
            "--session-id",
            "--resume",
            "-r",
            "--session-file",
            "--prompt",
            "-p",
            "--prompt-interactive",
            "-i",
        ],
    },
    plain_is_headless: false,
};
/// A longer list of projects is none; nor is a longer header.
const LIST: u64 = 4 << 20;
const HEADER: u64 = 16 << 10;
/// What a transcript was last written to for stands in so many of its last bytes.
const END: u64 = 64 << 10;
const LIVE: usize = 16;
const HANG_UP: i32 = 1;

#[derive(Debug)]
pub(crate) struct Gemini;

impl Adapter for Gemini {
    fn name(&self) -> &'static str {
        "gemini"
    }

    fn packages(&self) -> &'static [&'static str] {
        &["gemini", "@google/gemini-cli"]
    }

    fn variables(&self) -> &'static [&'static str] {
        &["GEMINI_CLI_HOME"]
    }

    fn recognise(&self, process: &Process<'_>) -> Option<Kin> {
        FAMILY.recognise(process)
    }

    fn named_in(&self, argv: &[String]) -> Option<String> {
        Family::named_in(argv)
    }

    fn conversation(&self, running: &Running<'_>) -> Option<Held> {
        let since = conversations(running.place, running.started_ms).into_iter();
        Family::held(running, since, |id| self.transcript(running.place, id))
    }

    fn transcript(&self, place: &Place, conversation: &str) -> Option<PathBuf> {
        let ending = format!("-{}.jsonl", conversation.get(..8)?);
        // Each resume leaves another file that only begins the conversation; the one that goes on was written to last.
        let find = |chats: PathBuf| {
            let mut files = lines::newest(&chats, &ending).into_iter().map(|(_, path)| path);
            files.find(|path| conversation_of(path).as_deref() == Some(conversation))
        };
        project(place)
            .and_then(|project| find(project.join("chats")))
            .or_else(|| projects(place).find_map(|project| find(project.join("chats"))))
    }

    fn latest(&self, place: &Place) -> Option<String> {
        conversations(place, i64::MIN).into_iter().next().map(|(_, id)| id)
    }

    fn reader(&self, transcript: &Path, _conversation: &str) -> Box<dyn Reader> {
        Box::new(Lines::<transcript::Conversation>::new(transcript))
    }

    fn title(&self, title: &str) -> Option<Level> {
        match title.chars().next()? {
            '◇' => Some(Level::SETTLED),
            '✦' | '⏲' => Some(Level::WORKING),
            '✋' => Some(Level::APPROVAL),
            _ => None,
        }
    }

    fn screen(&self, lines: &[String]) -> Option<Level> {
        let live = live(lines, LIVE);
        let has = |text: &str| live.iter().any(|line| line.contains(text));
        if has("1. Allow once") && has("No, suggest changes") {
            return Some(Level::APPROVAL);
        }
        if has("(esc to cancel,") {
            return Some(Level::WORKING);
        }
        (has("? for shortcuts") && has("Type your message")).then_some(Level::SETTLED)
    }

    /// It paints its input first and its banner last, and loses the keys that are pressed between the two.
    fn takes_input(&self, lines: &[String]) -> bool {
        self.screen(lines).is_some() && lines.iter().any(|line| line.contains("Gemini CLI v"))
    }

    fn launch(&self, argv: &[String], conversation: &str) -> Option<Vec<String>> {
        FAMILY.launch(argv, conversation)
    }

    fn resume(&self, argv: &[String], conversation: &str, prompt: Option<&str>) -> Vec<String> {
        FAMILY.resume(argv, conversation, prompt)
    }

    /// It takes seconds to end on others, if at all.
    fn polite_signal(&self) -> i32 {
        HANG_UP
    }
}

fn root(place: &Place) -> Option<PathBuf> {
    Some(place.root("GEMINI_CLI_HOME", "")?.join(".gemini"))
}

fn projects(place: &Place) -> impl Iterator<Item = PathBuf> {
    let entries = root(place).and_then(|root| std::fs::read_dir(root.join("tmp")).ok());
    entries.into_iter().flatten().flatten().map(|entry| entry.path())
}

/// Its directory for what belongs to this one: by its list, else by what such a directory says of itself.
fn project(place: &Place) -> Option<PathBuf> {
    #[derive(Deserialize)]
    struct List {
        projects: HashMap<PathBuf, String>,
    }
    let root = root(place)?;
    let list = lines::beginning(&root.join("projects.json"), LIST).ok();
    let list = list.and_then(|list| serde_json::from_slice::<List>(&list).ok());
    let short = list.and_then(|mut list| list.projects.remove(&place.cwd));
    let listed = short.filter(|short| !short.contains('/')).map(|short| root.join("tmp").join(short));
    listed.or_else(|| {
        projects(place).find(|project| {
            let of = lines::beginning(&project.join(".project_root"), HEADER).unwrap_or_default();
            Path::new(String::from_utf8_lossy(&of).trim()) == place.cwd
        })
    })
}

/// The conversations of a directory that were written to since, the latest first. Whoever begins another one adds a summary to
/// the file of the one before: that is no word of its own, so what counts is the latest instant that a file tells of itself.
fn conversations(place: &Place, since: i64) -> Vec<(i64, String)> {
    let chats = project(place).map(|project| project.join("chats"));
    let files = chats.map(|chats| lines::newest(&chats, ".jsonl")).unwrap_or_default();
    let files = files.into_iter().take_while(|(written, _)| *written >= since);
    let told = files.map(|(written, path)| (told_last(&path).unwrap_or(written), path));
    let mut told: Vec<(i64, PathBuf)> = told.filter(|(at, _)| *at >= since).collect();
    told.sort_by(|one, other| other.cmp(one));
    told.into_iter().filter_map(|(at, path)| Some((at, conversation_of(&path)?))).collect()
}

/// The latest instant that the end of a transcript tells of, in ms of wall time.
fn told_last(transcript: &Path) -> Option<i64> {
    let end = lines::end(transcript, END).ok()?;
    end.rsplit(|byte| *byte == b'\n').find_map(transcript::told_at)
}

/// The conversation that the first line of a transcript names.
fn conversation_of(transcript: &Path) -> Option<String> {
    #[derive(Deserialize)]
    struct Header {
        #[serde(rename = "sessionId")]
        conversation: String,
    }
    let bytes = lines::beginning(transcript, HEADER).ok()?;
    let first = bytes.split(|byte| *byte == b'\n').next()?;
    serde_json::from_slice::<Header>(first).ok().map(|header| header.conversation)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    fn is(argv: &[String], image: &str) -> Option<Kin> {
        let known = crate::recognise(&Process { argv, image: Some(Path::new(image)), name: "node" });
        known.filter(|(adapter, _)| adapter.name() == "gemini").map(|(_, kin)| kin)
    }

    #[test]
    fn the_relauncher_and_its_worker_are_recognised() {
        let node = "/usr/bin/node";
        assert_eq!(is(&words("node /tmp/agents/bin/gemini -m gemini-2.5-flash"), node), Some(Kin::Agent));
        let worker = "/usr/bin/node --max-old-space-size=12051 /tmp/agents/bin/gemini -m gemini-2.5-flash";
        assert_eq!(is(&words(worker), node), Some(Kin::Agent));
        let script = "node /usr/lib/node_modules/@google/gemini-cli/bundle/gemini.js -p hello";
        assert_eq!(is(&words(script), node), Some(Kin::Agent));
    }

    #[test]
    fn what_only_mentions_it_or_is_no_conversation_is_not() {
        let node = "/usr/bin/node";
        assert_eq!(is(&words("node /tmp/agents/bin/gemini mcp list"), node), None);
        assert_eq!(is(&words("node /tmp/agents/bin/gemini --list-sessions"), node), None);
        assert_eq!(is(&words("node server.js gemini"), node), None);
        assert_eq!(
            is(&["bash".to_owned(), "-c".to_owned(), "gemini -p hello".to_owned()], "/bin/bash"),
            None
        );
        assert_eq!(is(&words("gemini gemini://example.org"), "/usr/bin/gemini"), None);
    }

    #[test]
    fn the_title_tells_every_phase() {
        let padded = |title: &str| Gemini.title(&format!("{title:80}"));
        assert_eq!(padded("◇  Ready (w)"), Some(Level::SETTLED));
        assert_eq!(padded("✦  Working… (w)"), Some(Level::WORKING));
        assert_eq!(padded("✋  Action Required (w)"), Some(Level::APPROVAL));
        assert_eq!((padded("Gemini CLI (w)"), Gemini.title("")), (None, None));
    }

    #[test]
    fn the_screen_tells_every_phase() {
        let screen = |text: &str| Gemini.screen(&text.lines().map(str::to_owned).collect::<Vec<_>>());
        let idle = "✦ fake-reply: ok\n\n   ? for shortcuts\n───\n Shift+Tab to accept edits\n▄▄▄\n >   Type your message or @path/to/file\n▀▀▀\n workspace (/directory)     sandbox     /model\n /home/me/work    no sandbox    gemini-2.5-flash\n\n\n";
        assert_eq!(screen(idle), Some(Level::SETTLED));
        let takes = |text: &str| Gemini.takes_input(&text.lines().map(str::to_owned).collect::<Vec<_>>());
        assert!(
            !takes(idle) && takes(&format!(" ▝▜▄     Gemini CLI v0.61.0\n{idle}")),
            "the banner comes last"
        );
        let working = idle.replace("   ? for", " ⠴ Thinking... (esc to cancel, 0s)     ? for");
        assert_eq!(screen(&working), Some(Level::WORKING));
        let approval = "│ ? Shell  sleep 66       │\n│ Allow execution of [Shell]?      │\n│                │\n│ ● 1. Allow once     │\n│   2. Allow for this session     │\n│   3. No, suggest changes (esc)        │\n╰───╯\n";
        assert_eq!(screen(approval), Some(Level::APPROVAL));
        assert_eq!((screen(""), screen("$ ls\n")), (None, None));
    }

    #[test]
    fn it_is_launched_and_resumed_with_its_own_options() {
        let id = "22222222-2222-4333-8444-555555555555";
        let launch = Gemini.launch(&words("gemini -m flash -i hello"), id);
        assert_eq!(launch, Some(words(&format!("gemini --session-id {id} -m flash -i hello"))));
        assert_eq!(Gemini.launch(&words("gemini --resume latest"), id), None);
        assert_eq!(Gemini.launch(&words("gemini mcp list"), id), None);
        let worker = words("/usr/bin/node --max-old-space-size=12051 /x/bin/gemini -m flash --yolo -p hello");
        let again = format!(
            "/usr/bin/node --max-old-space-size=12051 /x/bin/gemini -m flash --yolo --resume {id} -p more"
        );
        assert_eq!(Gemini.resume(&worker, id, Some("more")), words(&again));
        let plain = Gemini.resume(&words("gemini --resume --yolo hello"), id, Some("more"));
        assert_eq!(plain, words(&format!("gemini --yolo --resume {id} -i more")));
        assert_eq!(Gemini.named_in(&plain).as_deref(), Some(id));
        assert_eq!(Gemini.named_in(&words("gemini --resume 5")), None);
    }
}
