//! The lines of a Copilot transcript. A turn of ours is all that follows a prompt; what Copilot calls one is each answer
//! of the model within it.

use std::path::PathBuf;

use abide_core::verdict::Attention;
use serde::Deserialize;
use serde_json::Value;

use crate::lines::Fold;
use crate::story::{Call, How, LastTurn, Story, Tokens, moment};

/// Tools that name a file and do not write to it.
const READING: [&str; 5] = ["view", "read", "glob", "grep", "rg"];

/// One line of a transcript.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    #[serde(rename = "timestamp")]
    at: Option<&'a str>,
    /// An agent that this one started.
    agent_id: Option<Value>,
    #[serde(default)]
    data: Value,
}

/// A transcript, folded.
#[derive(Debug, Default)]
pub(super) struct Conversation {
    story: Story,
    open: Vec<Call>,
    /// Permissions that were asked for and are neither given nor refused.
    asked: Vec<String>,
    /// Whether the model's latest answer was its last word: one without a tool call.
    last_word: bool,
}

impl Fold for Conversation {
    fn line(&mut self, line: &[u8]) -> bool {
        let Ok(line) = serde_json::from_slice::<Line<'_>>(line) else {
            return false;
        };
        let (at, data) = (line.at.and_then(moment), line.data);
        self.story.written(at);
        let own = line.agent_id.is_none_or(|id| id.is_null()) && data["parentToolCallId"].is_null();
        match line.kind {
            "session.start" | "session.resume" => self.begin(&data),
            "session.model_change" => self.model(&data["newModel"]),
            "session.usage_record" => {
                self.story.tokens = self.story.tokens.and(tokens(&data["usage"]));
            }
            "session.usage_checkpoint" => self.files(&data["accountingSnapshot"]["codeChanges"]),
            "session.shutdown" => {
                self.files(&data["codeChanges"]);
                self.files(&data["accountingSnapshot"]["codeChanges"]);
                self.asked.clear();
                self.close(at, How::Interrupted);
            }
            "permission.requested" => self.asked.extend(text(&data["requestId"])),
            "permission.completed" => self.asked.retain(|id| data["requestId"] != id.as_str()),
            "tool.execution_complete" => self.open.retain(|call| data["toolCallId"] != call.id.as_str()),
            kind if own => self.turn(kind, &data, at),
            _ => {}
        }
        true
    }

    fn story(&self) -> Story {
        let mut story = self.story.clone();
        story.unanswered.clone_from(&self.open);
        let asks = self.open.iter().any(|call| call.tool == "ask_user");
        let answer = asks.then_some(Attention::Answer);
        story.wants = if self.asked.is_empty() { answer } else { Some(Attention::Approval) };
        story
    }
}

impl Conversation {
    fn begin(&mut self, data: &Value) {
        self.asked.clear();
        self.model(&data["selectedModel"]);
        let story = &mut self.story;
        story.conversation = text(&data["sessionId"]).or_else(|| story.conversation.take());
        story.version = text(&data["copilotVersion"]).or_else(|| story.version.take());
        story.cwd = text(&data["context"]["cwd"]).map(PathBuf::from).or_else(|| story.cwd.take());
    }

    fn model(&mut self, name: &Value) {
        self.story.model = text(name).or_else(|| self.story.model.take());
    }

    /// What happens between a prompt and the last word on it.
    fn turn(&mut self, kind: &str, data: &Value, at: Option<i64>) {
        let id = || text(&data["interactionId"]);
        match kind {
            "user.message" => {
                // What it tells the model by itself has a source.
                let by_itself = data["source"].as_str().is_some_and(|source| source != "user");
                self.story.prompts += u64::from(!by_itself);
                self.opened(id(), at);
            }
            "assistant.turn_start" => self.opened(id(), at),
            "assistant.message" => {
                self.last_word = true;
                for request in data["toolRequests"].as_array().into_iter().flatten() {
                    self.last_word = false;
                    self.call(request, at);
                }
                self.model(&data["model"]);
            }
            "assistant.turn_end" if self.last_word => self.close(at, How::Answered),
            "session.error" => self.close(at, How::Failed),
            "abort" => {
                self.open.clear();
                self.asked.clear();
                self.close(at, How::Interrupted);
            }
            _ => {}
        }
    }

    /// A turn goes on, or another one begins.
    fn opened(&mut self, id: Option<String>, at: Option<i64>) {
        self.last_word = false;
        let goes_on = self.story.turn.as_ref().is_some_and(|turn| turn.id == id && turn.id.is_some());
        if let Some(turn) = self.story.turn.as_mut().filter(|_| goes_on) {
            self.story.turns -= u64::from(turn.closed.take().is_some());
            return;
        }
        self.open.clear();
        self.story.turn = Some(LastTurn { id, opened_at: at, closed: None });
    }

    fn close(&mut self, at: Option<i64>, how: How) {
        let at = at.or(self.story.last_at);
        if let Some(turn) = self.story.turn.as_mut().filter(|turn| turn.closed.is_none()) {
            turn.closed = at.map(|at| (at, how));
            self.story.turns += u64::from(turn.closed.is_some());
        }
    }

    fn call(&mut self, request: &Value, at: Option<i64>) {
        let (tool, with) = (request["name"].as_str().unwrap_or_default(), &request["arguments"]);
        *self.story.tools.entry(tool.to_owned()).or_default() += 1;
        let file = with["path"].as_str();
        if let Some(file) = file.filter(|_| !READING.contains(&tool)) {
            self.story.touched(file);
        }
        let with = with["command"].as_str().or(file).map_or_else(|| with.to_string(), str::to_owned);
        self.open.push(Call::new(request["toolCallId"].as_str().unwrap_or_default(), tool, &with, at));
    }

    fn files(&mut self, changes: &Value) {
        for file in changes["filesModified"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            self.story.touched(file);
        }
    }
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn tokens(usage: &Value) -> Tokens {
    let of = |key: &str| usage[key].as_u64().unwrap_or(0);
    let cached = of("cacheReadTokens").saturating_add(of("cacheWriteTokens"));
    Tokens { input: of("inputTokens"), output: of("outputTokens"), cached }
}
