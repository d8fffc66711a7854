//! Pi. It writes its own name over its command line, and its transcript, a tree in lines of JSON, appears with its first
//! reply; neither title nor registry says what it does.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use crate::adapter::{Adapter, By, Held, Kin, Options, Place, Process, Running, base, option, options};
use crate::lines::{self, Fold, Lines};
use crate::sign::Level;
use crate::story::{Call, How, LastTurn, Reader, Story, Tokens, moment};
use crate::tree::Tree;

/// What its own subcommands do is no conversation.
const NO_AGENT: [&str; 12] = [
    "install",
    "remove",
    "uninstall",
    "update",
    "list",
    "config",
    "--version",
    "-v",
    "--help",
    "-h",
    "--list-models",
    "--export",
];
const PACKAGE: &str = "pi-coding-agent";
/// Its first line, and what its package says of itself, are shorter.
const SHORT: u64 = 64 << 10;
const TERMINATE: i32 = 15;

#[derive(Debug)]
pub(crate) struct Pi;

impl Adapter for Pi {
    fn name(&self) -> &'static str {
        "pi"
    }

    fn packages(&self) -> &'static [&'static str] {
        &["pi", "@mariozechner/pi-coding-agent"]
    }

    fn variables(&self) -> &'static [&'static str] {
        &["PI_CODING_AGENT_DIR", "PI_CODING_AGENT_SESSION_DIR"]
    }

    fn recognise(&self, process: &Process<'_>) -> Option<Kin> {
        let image = process.image.map(|image| base(&image.to_string_lossy()).to_owned());
        let runs_scripts = image.as_deref().is_none_or(is_interpreter);
        if let Some(at) = script(process.argv).filter(|_| runs_scripts) {
            return is_conversation(&process.argv[at..]).then_some(Kin::Agent);
        }
        if process.argv.first().is_none_or(|word| base(word) != "pi") {
            return None;
        }
        // Others are called so, too: with an interpreter below, it wrote that name itself; a program says whose it is.
        let is_it = match image.as_deref() {
            None => true,
            Some("pi") => process.image.is_some_and(is_of_package),
            Some(image) => is_interpreter(image) && process.name == "pi",
        };
        (is_it && is_conversation(process.argv)).then_some(Kin::Agent)
    }

    /// As it is named: its beginning or its file is enough.
    fn named_in(&self, argv: &[String]) -> Option<String> {
        let named = option(argv, &["--session"])?;
        let file = named.strip_suffix(".jsonl").map(|file| base(file).rsplit('_').next().unwrap_or(file));
        Some(file.unwrap_or(named).to_owned())
    }

    fn conversation(&self, running: &Running<'_>) -> Option<Held> {
        let directory = option(running.argv, &["--session-dir"]).map(|named| running.place.cwd.join(named));
        let directory = directory.or_else(|| directory_of(running.place))?;
        let file = option(running.argv, &["--session"]).filter(|named| named.ends_with(".jsonl"));
        let file = file.map(|file| running.place.cwd.join(file));
        let named = file.or_else(|| find(&directory, running.place, &self.named_in(running.argv)?));
        let (transcript, by) = named.map(|path| (path, By::Argument)).or_else(|| {
            let mut since = written(&directory, &running.place.cwd);
            let newest = since.next().filter(|(at, _)| *at >= running.started_ms)?.1;
            let alone = since.next().is_none_or(|(at, _)| at < running.started_ms);
            alone.then_some((newest, By::Newest))
        })?;
        let conversation = head(&transcript)?.id;
        Some(Held { conversation, transcript: Some(transcript), by })
    }

    fn transcript(&self, place: &Place, conversation: &str) -> Option<PathBuf> {
        find(&directory_of(place)?, place, conversation)
    }

    fn latest(&self, place: &Place) -> Option<String> {
        let (_, newest) = written(&directory_of(place)?, &place.cwd).next()?;
        head(&newest).map(|head| head.id)
    }

    fn reader(&self, transcript: &Path, _conversation: &str) -> Box<dyn Reader> {
        Box::new(Lines::<Conversation>::new(transcript))
    }

    /// It asks for no permissions. While it works, something turns above the prompt.
    fn screen(&self, lines: &[String]) -> Option<Level> {
        let shown: Vec<&str> = lines.iter().map(|line| line.trim()).filter(|line| !line.is_empty()).collect();
        let live = &shown[shown.len().saturating_sub(LIVE)..];
        let is_edge = |line: &str| line.starts_with("────") && line.ends_with("────");
        let below = live.iter().rposition(|line| is_edge(line))?;
        let above = live[..below].iter().rposition(|line| is_edge(line))?;
        let has_foot = live[below..].iter().any(|line| line.contains("%/") || line.contains("?/"));
        let turns = |line: &&str| line.starts_with(|first| ('\u{2801}'..='\u{28ff}').contains(&first));
        let works = live[..above].iter().rev().take(2).any(turns);
        let level = if works { Level::WORKING } else { Level::SETTLED };
        has_foot.then_some(level)
    }

    fn resume(&self, argv: &[String], conversation: &str, prompt: Option<&str>) -> Vec<String> {
        let at = script(argv).unwrap_or(0);
        let mut again = argv[..at].to_vec();
        again.extend(options(&argv[at..], &OPTIONS));
        again.extend(["--session".to_owned(), conversation.to_owned()]);
        again.extend(prompt.map(str::to_owned));
        again
    }

    fn polite_signal(&self) -> i32 {
        TERMINATE
    }
}

/// The prompt with what stands around it is among so many of the lowest lines.
const LIVE: usize = 16;

/// Its options that take a value, and those that must not be given again.
const OPTIONS: Options = Options {
    valued: &[
        "--mode",
        "--provider",
        "--model",
        "--api-key",
        "--system-prompt",
        "--append-system-prompt",
        "--session",
        "--fork",
        "--session-dir",
        "--models",
        "--tools",
        "-t",
        "--thinking",
        "--extension",
        "-e",
        "--skill",
        "--prompt-template",
        "--theme",
    ],
    dropped: &["--session", "--fork", "--continue", "-c", "--resume", "-r", "--no-session"],
};

fn is_interpreter(image: &str) -> bool {
    ["node", "nodejs", "bun"].contains(&image)
}

/// Where in a command line its script stands.
fn script(argv: &[String]) -> Option<usize> {
    let of_it = |word: &str| word.contains(&format!("/{PACKAGE}/")) || word.ends_with("/pi");
    let interpreted = argv.first().is_some_and(|word| is_interpreter(base(word)));
    argv.get(1).is_some_and(|word| interpreted && of_it(word)).then_some(1)
}

/// Whether a command line, from the program on, is that of a conversation.
fn is_conversation(argv: &[String]) -> bool {
    argv.get(1).is_none_or(|word| !NO_AGENT.contains(&word.as_str()))
}

/// A program of its package has the package's word beside it.
fn is_of_package(image: &Path) -> bool {
    let word = lines::beginning(&image.with_file_name("package.json"), SHORT).unwrap_or_default();
    String::from_utf8_lossy(&word).contains(PACKAGE)
}

/// Where it keeps the conversations of a directory.
fn directory_of(place: &Place) -> Option<PathBuf> {
    if let Some(one_for_all) =
        place.variables.get("PI_CODING_AGENT_SESSION_DIR").filter(|set| !set.is_empty())
    {
        return Some(place.cwd.join(one_for_all));
    }
    let cwd = place.cwd.to_string_lossy();
    let slug = cwd.strip_prefix('/').unwrap_or(&cwd).replace(['/', '\\', ':'], "-");
    Some(place.root("PI_CODING_AGENT_DIR", ".pi/agent")?.join("sessions").join(format!("--{slug}--")))
}

/// The conversations of one working directory, the one written to last first.
fn written(directory: &Path, cwd: &Path) -> impl Iterator<Item = (i64, PathBuf)> {
    let of_it = move |path: &Path| head(path).is_some_and(|head| head.cwd.is_none_or(|its| its == cwd));
    lines::newest(directory, ".jsonl").into_iter().filter(move |(_, path)| of_it(path))
}

/// The file of a conversation, which may also be named by its beginning; in this directory, else in one beside it.
fn find(directory: &Path, place: &Place, named: &str) -> Option<PathBuf> {
    let is_it = |path: &PathBuf| {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        !named.is_empty() && stem.rsplit('_').next().is_some_and(|id| id.starts_with(named))
    };
    let within =
        |directory: &Path| lines::newest(directory, ".jsonl").into_iter().map(|(_, path)| path).find(is_it);
    within(directory).or_else(|| {
        let all = place.root("PI_CODING_AGENT_DIR", ".pi/agent")?.join("sessions");
        std::fs::read_dir(all).ok()?.flatten().find_map(|beside| within(&beside.path()))
    })
}

/// The first line of a transcript.
#[derive(Deserialize)]
struct Head {
    id: String,
    cwd: Option<PathBuf>,
}

fn head(path: &Path) -> Option<Head> {
    let beginning = lines::beginning(path, SHORT).ok()?;
    serde_json::from_slice(beginning.split(|byte| *byte == b'\n').next()?).ok()
}

/// One line of a transcript.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    id: Option<&'a str>,
    parent_id: Option<&'a str>,
    #[serde(rename = "timestamp")]
    at: Option<&'a str>,
    cwd: Option<PathBuf>,
    model_id: Option<String>,
    message: Option<Message>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Message {
    role: String,
    model: Option<String>,
    #[serde(default)]
    content: Value,
    stop_reason: Option<String>,
    usage: Option<Usage>,
    tool_call_id: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Usage {
    #[serde(default)]
    input: u64,
    #[serde(default)]
    output: u64,
    #[serde(default)]
    cache_read: u64,
    #[serde(default)]
    cache_write: u64,
}

impl From<Usage> for Tokens {
    fn from(usage: Usage) -> Self {
        let cached = usage.cache_read + usage.cache_write;
        Self { input: usage.input + cached, output: usage.output, cached }
    }
}

/// What an entry of the tree is to a turn.
#[derive(Debug)]
enum Node {
    Prompt {
        id: String,
        at: Option<i64>,
    },
    /// What the model said; whether that was its last word.
    Reply {
        calls: Vec<Call>,
        last_word: Option<How>,
        at: Option<i64>,
    },
    Result(String),
    Other,
}

/// A transcript, folded.
#[derive(Debug, Default)]
struct Conversation {
    tree: Tree<Node>,
    story: Story,
}

impl Fold for Conversation {
    fn line(&mut self, line: &[u8]) -> bool {
        let Ok(line) = serde_json::from_slice::<Line<'_>>(line) else {
            return false;
        };
        let at = line.at.and_then(moment);
        self.story.written(at);
        let Some(id) = line.id else {
            return true;
        };
        if line.kind == "session" {
            self.story.conversation = Some(id.to_owned());
            self.story.cwd = line.cwd;
            return true;
        }
        self.story.model = line.model_id.or_else(|| self.story.model.take());
        let node = line.message.map_or(Node::Other, |message| self.message(id, message, at));
        self.tree.add(id, line.parent_id, node);
        true
    }

    fn story(&self) -> Story {
        let mut story = self.story.clone();
        let mut answered: Vec<&str> = Vec::new();
        let mut closed = None;
        let mut undecided = true;
        for node in self.tree.branch() {
            match node {
                Node::Other => continue,
                Node::Result(id) => answered.push(id),
                Node::Reply { calls, last_word, at } => {
                    if undecided {
                        closed = at.zip(*last_word);
                    }
                    let open = calls.iter().rev().filter(|call| !answered.contains(&call.id.as_str()));
                    story.unanswered.extend(open.cloned());
                }
                Node::Prompt { id, at } => {
                    story.turn = Some(LastTurn { id: Some(id.clone()), opened_at: *at, closed });
                    break;
                }
            }
            undecided = false;
        }
        if closed.is_some_and(|(_, how)| how != How::Answered) {
            story.unanswered.clear();
        }
        story.unanswered.reverse();
        story
    }
}

impl Conversation {
    fn message(&mut self, id: &str, message: Message, at: Option<i64>) -> Node {
        match message.role.as_str() {
            "user" => {
                self.story.prompts += 1;
                Node::Prompt { id: id.to_owned(), at }
            }
            "assistant" => self.reply(message, at),
            "toolResult" => message.tool_call_id.map_or(Node::Other, Node::Result),
            _ => Node::Other,
        }
    }

    fn reply(&mut self, message: Message, at: Option<i64>) -> Node {
        let story = &mut self.story;
        story.tokens = story.tokens.and(message.usage.map_or_else(Tokens::default, Tokens::from));
        story.model = message.model.or_else(|| story.model.take());
        let mut calls = Vec::new();
        for part in message.content.as_array().into_iter().flatten().filter(|part| part["type"] == "toolCall")
        {
            let (tool, input) = (part["name"].as_str().unwrap_or_default(), &part["arguments"]);
            *story.tools.entry(tool.to_owned()).or_default() += 1;
            let file = input["path"].as_str();
            if let Some(file) = file.filter(|_| ["write", "edit"].contains(&tool)) {
                story.touched(file);
            }
            let with = input["command"].as_str().or(file).map_or_else(|| input.to_string(), str::to_owned);
            calls.push(Call::new(part["id"].as_str().unwrap_or_default(), tool, &with, at));
        }
        let last_word = match message.stop_reason.as_deref() {
            Some("stop" | "length") => Some(How::Answered),
            Some("aborted") => Some(How::Interrupted),
            Some("error") => Some(How::Failed),
            Some(_) | None => None,
        };
        story.turns += u64::from(last_word.is_some());
        Node::Reply { calls, last_word, at }
    }
}
