//! The lines of a Codex transcript.

use std::path::{Path, PathBuf};

use abide_core::verdict::Attention;
use serde::Deserialize;
use serde_json::Value;

use crate::lines::{self, Fold};
use crate::story::{Call, How, LastTurn, Story, Tokens, moment};

/// Its first line, which carries its instructions to the model, is not longer.
const HEAD: u64 = 1 << 20;

/// What the first line says.
#[derive(Deserialize)]
pub(super) struct Head {
    pub(super) id: String,
    #[serde(default)]
    pub(super) cwd: PathBuf,
    #[serde(rename = "cli_version")]
    version: Option<String>,
    /// Who began it: a word, or what an agent of its own is.
    #[serde(default)]
    source: Value,
}

impl Head {
    /// Whether a person began it, not another conversation.
    pub(super) fn is_own(&self) -> bool {
        self.source.get("subagent").is_none()
    }
}

/// What the first line of a transcript says.
pub(super) fn head(path: &Path) -> Option<Head> {
    let bytes = lines::beginning(path, HEAD).ok()?;
    let line: Line<'_> = serde_json::from_slice(bytes.split(|byte| *byte == b'\n').next()?).ok()?;
    (line.kind == "session_meta").then(|| serde_json::from_value(line.payload).ok())?
}

/// One line of a transcript.
#[derive(Deserialize)]
struct Line<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    #[serde(rename = "timestamp")]
    at: Option<&'a str>,
    #[serde(default)]
    payload: Value,
}

/// A transcript, folded.
#[derive(Debug, Default)]
pub(super) struct Conversation {
    story: Story,
    open: Vec<Call>,
    /// Of all responses; and what older versions counted, which leaves out a response that was cut off.
    spent: Option<Tokens>,
    counted: Option<Tokens>,
    /// Prompts as this version and as older ones tell them.
    prompts: [u64; 2],
}

impl Fold for Conversation {
    fn line(&mut self, line: &[u8]) -> bool {
        let Ok(line) = serde_json::from_slice::<Line<'_>>(line) else {
            return false;
        };
        let (at, payload) = (line.at.and_then(moment), line.payload);
        self.story.written(at);
        match line.kind {
            "session_meta" => return self.begin(payload),
            "turn_context" => {
                self.story.model = text(&payload["model"]).or_else(|| self.story.model.take());
                let cwd = text(&payload["cwd"]).map(PathBuf::from);
                self.story.cwd = cwd.or_else(|| self.story.cwd.take());
            }
            "token_usage_record" => {
                self.spent = tokens(&payload["thread_token_usage"]).or(self.spent);
            }
            "event_msg" => self.told(&payload, at),
            "response_item" => self.said(&payload, at),
            _ => {}
        }
        true
    }

    fn story(&self) -> Story {
        let mut story = self.story.clone();
        story.tokens = self.spent.or(self.counted).unwrap_or_default();
        story.prompts = self.prompts[0].max(self.prompts[1]);
        story.unanswered.clone_from(&self.open);
        let asks = self.open.iter().any(|call| call.tool == "request_user_input");
        story.wants = asks.then_some(Attention::Answer);
        story
    }
}

impl Conversation {
    /// The first line tells of this conversation; later ones of those that it was forked from.
    fn begin(&mut self, payload: Value) -> bool {
        let Ok(head) = serde_json::from_value::<Head>(payload) else {
            return false;
        };
        if self.story.conversation.is_none() {
            self.story.conversation = Some(head.id);
            self.story.cwd = Some(head.cwd);
        }
        self.story.version = head.version.or_else(|| self.story.version.take());
        true
    }

    fn told(&mut self, payload: &Value, at: Option<i64>) {
        match payload["type"].as_str().unwrap_or_default() {
            "task_started" | "turn_started" => {
                // What a turn that was cut off left open is answered for it when the next one begins.
                self.open.clear();
                self.story.turn =
                    Some(LastTurn { id: text(&payload["turn_id"]), opened_at: at, closed: None });
            }
            "task_complete" | "turn_complete" => {
                let failed = payload.get("error").is_some_and(|error| !error.is_null());
                self.close(at, if failed { How::Failed } else { How::Answered });
            }
            "turn_aborted" => self.close(at, How::Interrupted),
            "token_count" => {
                self.counted = tokens(&payload["info"]["total_token_usage"]).or(self.counted);
            }
            "item_completed" => self.prompts[0] += u64::from(payload["item"]["type"] == "UserMessage"),
            "user_message" => self.prompts[1] += 1,
            _ => {}
        }
    }

    fn close(&mut self, at: Option<i64>, how: How) {
        self.open.clear();
        self.story.turns += 1;
        if let Some(turn) = &mut self.story.turn {
            turn.closed = at.or(self.story.last_at).map(|at| (at, how));
        }
    }

    fn said(&mut self, payload: &Value, at: Option<i64>) {
        let id = payload["call_id"].as_str().unwrap_or_default();
        match payload["type"].as_str().unwrap_or_default() {
            "function_call" | "custom_tool_call" | "local_shell_call" => {
                let tool = payload["name"].as_str().unwrap_or("shell");
                let with = called_with(payload);
                *self.story.tools.entry(tool.to_owned()).or_default() += 1;
                for file in patched(&with) {
                    self.story.touched(file);
                }
                self.open.push(Call::new(id, tool, &with, at));
            }
            "function_call_output" | "custom_tool_call_output" => self.open.retain(|call| call.id != id),
            _ => {}
        }
    }
}

/// What a tool was called with: its command, if it has one.
fn called_with(payload: &Value) -> String {
    if let Some(input) = payload["input"].as_str() {
        return input.to_owned();
    }
    let arguments = payload["arguments"].as_str().unwrap_or_default();
    let parsed = serde_json::from_str(arguments).unwrap_or_else(|_| payload["action"].clone());
    let command = ["cmd", "command"].iter().find_map(|key| match &parsed[*key] {
        Value::String(command) => Some(command.clone()),
        Value::Array(words) => Some(words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" ")),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    });
    command.unwrap_or_else(|| arguments.to_owned())
}

/// The files that a patch writes to.
fn patched(text: &str) -> impl Iterator<Item = &str> {
    let patch = text.find("*** Begin Patch").map_or("", |at| &text[at..]);
    let marks = ["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];
    patch.lines().filter_map(move |line| marks.iter().find_map(|mark| line.strip_prefix(mark)))
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn tokens(usage: &Value) -> Option<Tokens> {
    let of = |key: &str| usage[key].as_u64();
    let (read, written) = (of("cached_input_tokens"), of("cache_write_input_tokens"));
    let cached = read.unwrap_or(0).saturating_add(written.unwrap_or(0));
    Some(Tokens { input: of("input_tokens")?, output: of("output_tokens")?, cached })
}
