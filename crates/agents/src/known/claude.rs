//! Claude Code. Its list of running sessions tells turn and attention best; its transcript is a tree in lines of JSON.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use crate::adapter::{Adapter, By, Held, Kin, Place, Process, Running, base, option};
use crate::lines::{self, Fold, Lines};
use crate::sign::{Level, Sign, Source};
use crate::story::{Call, How, LastTurn, Reader, Story, Tokens, moment};
use crate::tree::Tree;

/// What its own subcommands do is no conversation.
const NO_AGENT: [&str; 10] = [
    "mcp",
    "config",
    "doctor",
    "update",
    "install",
    "agents",
    "plugin",
    "setup-token",
    "--version",
    "--help",
];
/// A longer entry of its list is none.
const ENTRY: u64 = 64 << 10;
const INTERRUPT: i32 = 2;

#[derive(Debug)]
pub(crate) struct Claude;

impl Adapter for Claude {
    fn name(&self) -> &'static str {
        "claude"
    }

    fn packages(&self) -> &'static [&'static str] {
        &["claude", "@anthropic-ai/claude-code"]
    }

    fn variables(&self) -> &'static [&'static str] {
        &["CLAUDE_CONFIG_DIR"]
    }

    fn recognise(&self, process: &Process<'_>) -> Option<Kin> {
        let is_script = |word: &String| word.contains("@anthropic-ai/claude-code/");
        let scripted = process.argv.iter().skip(1).take(2).position(is_script).map(|at| at + 1);
        let native = process.argv.first().is_some_and(|word| base(word) == "claude")
            && process.image.is_none_or(|image| image.to_string_lossy().contains("claude"));
        let at = scripted.or(native.then_some(0))?;
        let first = process.argv.get(at + 1).map_or("", String::as_str);
        (!NO_AGENT.contains(&first)).then_some(Kin::Agent)
    }

    fn named_in(&self, argv: &[String]) -> Option<String> {
        option(argv, &["--session-id", "--resume", "-r"]).map(str::to_owned)
    }

    fn conversation(&self, running: &Running<'_>) -> Option<Held> {
        let listed = entry(running).map(|entry| (entry.session_id, By::Registry));
        let (conversation, by) = listed.or_else(|| Some((self.named_in(running.argv)?, By::Argument)))?;
        let transcript = self.transcript(running.place, &conversation);
        Some(Held { conversation, transcript, by })
    }

    fn transcript(&self, place: &Place, conversation: &str) -> Option<PathBuf> {
        let file = format!("{conversation}.jsonl");
        let here = project(place).map(|project| project.join(&file)).filter(|path| path.is_file());
        // A conversation that changed its directory stays where it began.
        here.or_else(|| {
            let projects = std::fs::read_dir(root(place)?.join("projects")).ok()?;
            projects.flatten().map(|project| project.path().join(&file)).find(|path| path.is_file())
        })
    }

    fn mark(&self, conversation: &str) -> Option<String> {
        Some(format!("CLAUDE_CODE_SESSION_ID={conversation}"))
    }

    fn latest(&self, place: &Place) -> Option<String> {
        let (_, newest) = lines::newest(&project(place)?, ".jsonl").into_iter().next()?;
        newest.file_stem().map(|stem| stem.to_string_lossy().into_owned())
    }

    fn reader(&self, transcript: &Path, _conversation: &str) -> Box<dyn Reader> {
        Box::new(Lines::<Conversation>::new(transcript))
    }

    fn registry(&self, running: &Running<'_>) -> Option<Sign> {
        let listing = listing(running)?;
        let entry = entry(running)?;
        let waiting_for = entry.waiting_for.unwrap_or_default();
        let level = match entry.status?.as_str() {
            "idle" => Level::SETTLED,
            "busy" => Level::WORKING,
            "waiting" if waiting_for.contains("permission") => Level::APPROVAL,
            "waiting" => Level::ANSWER,
            _ => return None,
        };
        let says = match waiting_for.as_str() {
            "" => "its list of sessions".to_owned(),
            what => format!("its list of sessions: waiting for {what}"),
        };
        let at = entry.status_updated_at.unwrap_or_else(|| lines::written(&listing));
        Some(Sign { source: Source::Registry, level, at, since: Some(at), until: None, says })
    }

    /// A turning braille dot means work. What stands there otherwise stands there too while it waits for a permission.
    fn title(&self, title: &str) -> Option<Level> {
        let first = title.chars().next()?;
        ('\u{2800}'..='\u{28ff}').contains(&first).then_some(Level::WORKING)
    }

    fn screen(&self, lines: &[String]) -> Option<Level> {
        let live = &lines[lines.len().saturating_sub(16)..];
        let has = |text: &str| live.iter().any(|line| line.contains(text));
        if has("Do you want to") && has("❯ 1.") {
            return Some(Level::APPROVAL);
        }
        if has("❯ 1.") && has("Enter to select") {
            return Some(Level::ANSWER);
        }
        if has("esc to interrupt") {
            return Some(Level::WORKING);
        }
        has("? for shortcuts").then_some(Level::SETTLED)
    }

    fn launch(&self, argv: &[String], conversation: &str) -> Option<Vec<String>> {
        let named = argv.iter().any(|word| TAKEN.iter().any(|option| word.split('=').next() == Some(option)));
        let plain =
            argv.get(1).is_none_or(|word| word.starts_with('-') || word.contains(char::is_whitespace));
        let (program, options) = argv.split_first().filter(|_| !named && plain)?;
        let name = ["--session-id".to_owned(), conversation.to_owned()];
        Some([std::slice::from_ref(program), &name, options].concat())
    }

    fn resume(&self, argv: &[String], conversation: &str, prompt: Option<&str>) -> Vec<String> {
        let mut again = crate::adapter::options(argv, &OPTIONS);
        again.extend(["--resume".to_owned(), conversation.to_owned()]);
        again.extend(prompt.map(str::to_owned));
        again
    }

    fn polite_signal(&self) -> i32 {
        INTERRUPT
    }
}

/// With these it goes on with a conversation, begins one elsewhere, or none.
const TAKEN: [&str; 15] = [
    "--session-id",
    "--resume",
    "-r",
    "--continue",
    "-c",
    "--from-pr",
    "--fork-session",
    "--no-session-persistence",
    "--teleport",
    "--remote",
    "--bg",
    "--background",
    "--tmux",
    "--version",
    "--help",
];

/// Its options that take a value, and those that must not be given again.
const OPTIONS: crate::adapter::Options = crate::adapter::Options {
    valued: &[
        "--model",
        "--output-format",
        "--input-format",
        "--permission-mode",
        "--settings",
        "--setting-sources",
        "--mcp-config",
        "--append-system-prompt",
        "--system-prompt",
        "--add-dir",
        "--allowedTools",
        "--disallowedTools",
        "--agent",
        "--agents",
        "--fallback-model",
        "--max-turns",
        "--session-id",
        "--resume",
        "-r",
    ],
    dropped: &["--session-id", "--resume", "-r", "--continue", "-c", "--fork-session"],
};

fn root(place: &Place) -> Option<PathBuf> {
    place.root("CLAUDE_CONFIG_DIR", ".claude")
}

/// Its directory for conversations that began in this one.
fn project(place: &Place) -> Option<PathBuf> {
    let cwd = place.cwd.to_string_lossy();
    let slug: String = cwd.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    Some(root(place)?.join("projects").join(slug))
}

/// What its list of running sessions says of one process.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    session_id: String,
    /// The process' birth in ticks, as text or number.
    proc_start: Option<Value>,
    status: Option<String>,
    waiting_for: Option<String>,
    status_updated_at: Option<i64>,
}

fn listing(running: &Running<'_>) -> Option<PathBuf> {
    Some(root(running.place)?.join("sessions").join(format!("{}.json", running.pid)))
}

/// The entry of this very process: files outlive those whom they speak of, and pids come again.
fn entry(running: &Running<'_>) -> Option<Entry> {
    let entry: Entry = serde_json::from_slice(&lines::beginning(&listing(running)?, ENTRY).ok()?).ok()?;
    let start = entry.proc_start.as_ref()?;
    let born = start.as_str().map_or_else(|| start.as_u64(), |text| text.parse().ok());
    (born.is_some() && born == running.start_ticks).then_some(entry)
}

/// One line of a transcript.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    uuid: Option<&'a str>,
    parent_uuid: Option<&'a str>,
    #[serde(default)]
    is_sidechain: bool,
    #[serde(default)]
    is_meta: bool,
    #[serde(default)]
    is_api_error_message: bool,
    session_id: Option<&'a str>,
    cwd: Option<PathBuf>,
    version: Option<&'a str>,
    #[serde(rename = "timestamp")]
    at: Option<&'a str>,
    prompt_id: Option<String>,
    message: Option<Message>,
}

#[derive(Deserialize)]
struct Message {
    id: Option<String>,
    model: Option<String>,
    #[serde(default)]
    content: Value,
    stop_reason: Option<String>,
    usage: Option<Usage>,
}

#[derive(Deserialize)]
struct Usage {
    #[serde(default)]
    input_tokens: u64,
    #[serde(default)]
    output_tokens: u64,
    #[serde(default)]
    cache_creation_input_tokens: u64,
    #[serde(default)]
    cache_read_input_tokens: u64,
}

impl From<Usage> for Tokens {
    fn from(usage: Usage) -> Self {
        let cached = usage.cache_creation_input_tokens + usage.cache_read_input_tokens;
        Self { input: usage.input_tokens + cached, output: usage.output_tokens, cached }
    }
}

/// What an entry of the tree is to a turn.
#[derive(Debug)]
enum Node {
    Prompt {
        id: Option<String>,
        at: Option<i64>,
    },
    /// What the model said; whether that was its last word.
    Reply {
        calls: Vec<Call>,
        last_word: Option<How>,
        at: Option<i64>,
    },
    Results(Vec<String>),
    /// A person stopped it.
    Interrupted {
        at: Option<i64>,
    },
    Other,
}

/// A transcript, folded.
#[derive(Debug, Default)]
struct Conversation {
    tree: Tree<Node>,
    /// Of each message, told with its every part.
    spent: std::collections::HashMap<String, Tokens>,
    story: Story,
}

impl Fold for Conversation {
    fn line(&mut self, line: &[u8]) -> bool {
        let Ok(line) = serde_json::from_slice::<Line<'_>>(line) else {
            return false;
        };
        let at = line.at.and_then(moment);
        self.story.written(at);
        let Some((uuid, message)) = line.uuid.filter(|_| !line.is_sidechain).zip(line.message) else {
            if let Some(uuid) = line.uuid.filter(|_| !line.is_sidechain) {
                self.tree.add(uuid, line.parent_uuid, Node::Other);
            }
            return true;
        };
        let set = |slot: &mut Option<String>, value: Option<&str>| {
            if let Some(value) = value {
                *slot = Some(value.to_owned());
            }
        };
        set(&mut self.story.conversation, line.session_id);
        set(&mut self.story.version, line.version);
        set(&mut self.story.model, message.model.as_deref().filter(|model| !model.starts_with('<')));
        self.story.cwd = line.cwd.or_else(|| self.story.cwd.take());
        let node = match line.kind {
            "assistant" => self.reply(message, line.is_api_error_message, at),
            "user" => self.said(&message.content, line.is_meta, line.prompt_id, at),
            _ => Node::Other,
        };
        self.tree.add(uuid, line.parent_uuid, node);
        true
    }

    fn story(&self) -> Story {
        let mut story = self.story.clone();
        for tokens in self.spent.values() {
            story.tokens = story.tokens.and(*tokens);
        }
        let mut answered: Vec<&str> = Vec::new();
        let mut closed = None;
        let mut undecided = true;
        for node in self.tree.branch() {
            match node {
                Node::Other => continue,
                Node::Results(ids) => answered.extend(ids.iter().map(String::as_str)),
                Node::Interrupted { at } if undecided => closed = at.map(|at| (at, How::Interrupted)),
                Node::Interrupted { .. } => {}
                Node::Reply { calls, last_word, at } => {
                    if undecided {
                        closed = at.zip(*last_word);
                    }
                    let open = calls.iter().filter(|call| !answered.contains(&call.id.as_str()));
                    story.unanswered.extend(open.cloned());
                }
                Node::Prompt { id, at } => {
                    story.turn = Some(LastTurn { id: id.clone(), opened_at: *at, closed });
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
    fn reply(&mut self, message: Message, failed: bool, at: Option<i64>) -> Node {
        if let (Some(id), Some(usage)) = (message.id, message.usage) {
            self.spent.insert(id, usage.into());
        }
        let mut calls = Vec::new();
        for part in message.content.as_array().into_iter().flatten() {
            if part["type"] == "tool_use" {
                let (tool, input) = (part["name"].as_str().unwrap_or_default(), &part["input"]);
                *self.story.tools.entry(tool.to_owned()).or_default() += 1;
                let file = ["file_path", "notebook_path"].iter().find_map(|key| input[*key].as_str());
                if let Some(file) = file.filter(|_| tool != "Read") {
                    self.story.touched(file);
                }
                let with =
                    input["command"].as_str().or(file).map_or_else(|| input.to_string(), str::to_owned);
                calls.push(Call::new(part["id"].as_str().unwrap_or_default(), tool, &with, at));
            }
        }
        let last_word = match message.stop_reason.as_deref() {
            _ if failed => Some(How::Failed),
            Some("end_turn" | "max_tokens" | "stop_sequence" | "refusal") => Some(How::Answered),
            Some(_) | None => None,
        };
        self.story.turns += u64::from(last_word.is_some());
        Node::Reply { calls, last_word, at }
    }

    fn said(&mut self, content: &Value, meta: bool, id: Option<String>, at: Option<i64>) -> Node {
        let parts = || content.as_array().into_iter().flatten();
        let text =
            content.as_str().or_else(|| parts().find_map(|part| part["text"].as_str())).unwrap_or_default();
        if text.starts_with("[Request interrupted by user") {
            return Node::Interrupted { at };
        }
        let results: Vec<String> =
            parts().filter_map(|part| Some(part["tool_use_id"].as_str()?.to_owned())).collect();
        if !results.is_empty() {
            return Node::Results(results);
        }
        // What its own commands leave is no prompt.
        if meta || text.starts_with("<command-") || text.starts_with("<local-command-") {
            return Node::Other;
        }
        self.story.prompts += 1;
        Node::Prompt { id, at }
    }
}
