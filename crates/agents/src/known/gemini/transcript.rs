//! A transcript of Gemini CLI: a header, messages, and patches. A message that is written again takes the place of the
//! one with its ID, and a patch may replace them all. A tool call is written once it is done: while it runs, what was
//! said beside it looks like the last word, and a call without words like a reply still to come.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::Value;

use crate::lines::Fold;
use crate::story::{Call, How, LastTurn, Story, Tokens, moment};

/// How the results of calls begin that a person stopped or refused.
const CANCELLED: &str = "[Operation Cancelled]";
/// How texts begin that are no prompt.
const NO_PROMPT: [&str; 4] = ["/", "?", "<session_context>", "<hook_context>"];

/// One line: header, message, or patch; of a patch what it sets.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Record {
    #[serde(rename = "$set")]
    patch: Option<Box<Self>>,
    #[serde(rename = "$rewindTo")]
    rewind_to: Option<String>,
    session_id: Option<String>,
    last_updated: Option<String>,
    messages: Option<Vec<Self>>,
    id: Option<String>,
    #[serde(rename = "timestamp")]
    at: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
    content: Value,
    model: Option<String>,
    tokens: Option<Spent>,
    tool_calls: Option<Vec<ToolCall>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Spent {
    input: u64,
    output: u64,
    cached: u64,
    thoughts: u64,
    tool: u64,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ToolCall {
    id: String,
    name: String,
    args: Value,
    result: Option<Value>,
    status: Option<String>,
    #[serde(rename = "timestamp")]
    at: Option<String>,
}

impl From<Spent> for Tokens {
    fn from(spent: Spent) -> Self {
        Self {
            input: spent.input.saturating_add(spent.tool),
            output: spent.output.saturating_add(spent.thoughts),
            cached: spent.cached,
        }
    }
}

/// What a message is to a turn.
#[derive(Debug)]
enum Node {
    Prompt,
    /// What the model said: calls that have no result yet, and how it ends the turn, if it does.
    Said {
        open: Vec<Call>,
        closes: Option<(i64, How)>,
    },
    /// Results of calls; when a person stopped them.
    Results {
        of: Vec<String>,
        stopped: Option<i64>,
    },
    Closed(i64, How),
    Other,
}

/// A transcript, folded.
#[derive(Debug, Default)]
pub(super) struct Conversation {
    messages: Vec<(String, Option<i64>, Node)>,
    places: HashMap<String, usize>,
    /// Of each message; also of those that were replaced since.
    spent: HashMap<String, Tokens>,
    /// The tool of each call.
    called: HashMap<String, String>,
    story: Story,
}

impl Fold for Conversation {
    fn line(&mut self, line: &[u8]) -> bool {
        let Ok(record) = serde_json::from_slice::<Record>(line) else {
            return false;
        };
        if let Some(id) = record.rewind_to {
            let to = self.places.get(&id).copied().unwrap_or(0);
            self.messages.truncate(to);
            self.places.retain(|_, place| *place < to);
        } else if record.id.is_some() {
            self.message(record);
        } else if let Some(patch) = record.patch {
            if patch.messages.is_some() {
                self.messages.clear();
                self.places.clear();
            }
            self.header(*patch);
        } else {
            self.header(record);
        }
        true
    }

    fn story(&self) -> Story {
        let mut story = self.story.clone();
        story.tokens = self.spent.values().fold(Tokens::default(), |sum, tokens| sum.and(*tokens));
        for tool in self.called.values() {
            *story.tools.entry(tool.clone()).or_default() += 1;
        }
        let mut turn: Option<LastTurn> = None;
        let is_closed = |turn: &Option<LastTurn>| turn.as_ref().is_some_and(|turn| turn.closed.is_some());
        for (id, at, node) in &self.messages {
            let closed = match node {
                Node::Other => continue,
                Node::Prompt => {
                    story.prompts += 1;
                    story.turns += u64::from(is_closed(&turn));
                    story.unanswered.clear();
                    turn = Some(LastTurn { id: Some(id.clone()), opened_at: *at, closed: None });
                    continue;
                }
                Node::Said { open, closes } => {
                    story.unanswered.extend(open.iter().cloned());
                    *closes
                }
                Node::Results { of, stopped } => {
                    story.unanswered.retain(|call| !of.contains(&call.id));
                    stopped.map(|at| (at, How::Interrupted))
                }
                Node::Closed(at, how) => Some((*at, *how)),
            };
            if let Some(turn) = &mut turn {
                turn.closed = closed;
            }
        }
        story.turns += u64::from(is_closed(&turn));
        if turn.as_ref().and_then(|turn| turn.closed).is_some_and(|(_, how)| how != How::Answered) {
            story.unanswered.clear();
        }
        story.turn = turn;
        story
    }
}

impl Conversation {
    fn header(&mut self, header: Record) {
        self.story.conversation = header.session_id.or_else(|| self.story.conversation.take());
        self.story.written(header.last_updated.as_deref().and_then(moment));
        for message in header.messages.into_iter().flatten() {
            self.message(message);
        }
    }

    fn message(&mut self, record: Record) {
        let Some(id) = record.id.clone() else { return };
        let at = record.at.as_deref().and_then(moment);
        self.story.written(at);
        let node = match record.kind.as_deref() {
            Some("user") => said(&record.content, at),
            Some("gemini") => self.reply(record, at),
            Some("info") if text(&record.content).starts_with("Request cancelled") => {
                at.map_or(Node::Other, |at| Node::Closed(at, How::Interrupted))
            }
            Some("error") => at.map_or(Node::Other, |at| Node::Closed(at, How::Failed)),
            Some(_) | None => Node::Other,
        };
        if let Some(place) = self.places.get(&id) {
            self.messages[*place] = (id, at, node);
        } else {
            self.places.insert(id.clone(), self.messages.len());
            self.messages.push((id, at, node));
        }
    }

    fn reply(&mut self, record: Record, at: Option<i64>) -> Node {
        if let (Some(id), Some(tokens)) = (record.id, record.tokens) {
            self.spent.insert(id, tokens.into());
        }
        self.story.model = record.model.or_else(|| self.story.model.take());
        let done = record.tool_calls.unwrap_or_default();
        let mut open = Vec::new();
        for call in &done {
            let called = self.called(&call.id, &call.name, &call.args, at);
            if call.result.is_none() && call.status.as_deref().is_none_or(|status| !ends(status)) {
                open.push(called);
            }
        }
        // A conversation that is told anew has its calls among its parts, and results of them behind.
        for part in parts(&record.content) {
            let call = &part["functionCall"];
            if let Some(name) = call["name"].as_str() {
                let id = call["id"].as_str().unwrap_or_default();
                let called = self.called(id, name, &call["args"], at);
                if !done.iter().any(|done| done.id == id) {
                    open.push(called);
                }
            }
        }
        let stopped = !done.is_empty() && done.iter().all(|call| call.status.as_deref() == Some("cancelled"));
        let closes = if stopped {
            let last = done.iter().filter_map(|call| moment(call.at.as_deref()?)).max();
            last.or(at).map(|at| (at, How::Interrupted))
        } else if done.is_empty() && open.is_empty() && !text(&record.content).trim().is_empty() {
            at.map(|at| (at, How::Answered))
        } else {
            None
        };
        Node::Said { open, closes }
    }

    fn called(&mut self, id: &str, tool: &str, args: &Value, at: Option<i64>) -> Call {
        self.called.insert(id.to_owned(), tool.to_owned());
        let file = args["file_path"].as_str();
        if let Some(file) = file.filter(|_| ["write_file", "replace"].contains(&tool)) {
            self.story.touched(file);
        }
        let with = args["command"].as_str().or(file).map_or_else(|| args.to_string(), str::to_owned);
        Call::new(id, tool, &with, at)
    }
}

/// The instant that a line tells of: that of a message, or of the last one.
pub(super) fn told_at(line: &[u8]) -> Option<i64> {
    let record = serde_json::from_slice::<Record>(line).ok()?;
    let told = |record: &Record| moment(record.at.as_deref().or(record.last_updated.as_deref())?);
    record.patch.as_deref().map_or_else(|| told(&record), told)
}

/// What a message of the user's is: a prompt, or results.
fn said(content: &Value, at: Option<i64>) -> Node {
    let results: Vec<&Value> =
        parts(content).map(|part| &part["functionResponse"]).filter(|result| result.is_object()).collect();
    if !results.is_empty() {
        let is_stopped = |result: &&Value| {
            result["response"]["error"].as_str().is_some_and(|error| error.starts_with(CANCELLED))
        };
        let stopped = at.filter(|_| results.iter().all(is_stopped));
        let of = results.iter().filter_map(|result| Some(result["id"].as_str()?.to_owned())).collect();
        return Node::Results { of, stopped };
    }
    let text = text(content);
    let text = text.trim();
    if text.is_empty() || NO_PROMPT.iter().any(|begins| text.starts_with(begins)) {
        return Node::Other;
    }
    Node::Prompt
}

/// Whether a call with this status is over.
fn ends(status: &str) -> bool {
    ["success", "error", "cancelled"].contains(&status)
}

fn parts(content: &Value) -> impl Iterator<Item = &Value> {
    content.as_array().into_iter().flatten()
}

/// What is said, without thoughts.
fn text(content: &Value) -> String {
    let said = parts(content).filter(|part| part["thought"] != true).filter_map(|part| part["text"].as_str());
    content.as_str().map_or_else(|| said.collect(), str::to_owned)
}
