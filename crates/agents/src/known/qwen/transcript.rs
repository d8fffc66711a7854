//! A transcript of Qwen Code: a tree like Claude's, of parts like Gemini's. That a person stopped the model while it
//! spoke is told by no message, only by what was measured of the request.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::Value;

use crate::lines::Fold;
use crate::story::{Call, How, LastTurn, Story, Tokens, moment};
use crate::tree::Tree;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    uuid: Option<String>,
    parent_uuid: Option<String>,
    session_id: Option<String>,
    #[serde(rename = "timestamp")]
    at: Option<String>,
    #[serde(rename = "type")]
    kind: String,
    cwd: Option<PathBuf>,
    version: Option<String>,
    model: Option<String>,
    message: Option<Message>,
    usage_metadata: Option<Usage>,
    tool_call_result: Option<Outcome>,
    system_payload: Option<Payload>,
}

#[derive(Deserialize)]
struct Message {
    #[serde(default)]
    parts: Vec<Value>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Usage {
    prompt_token_count: u64,
    /// With thoughts.
    candidates_token_count: u64,
    cached_content_token_count: u64,
}

#[derive(Deserialize)]
struct Outcome {
    status: Option<String>,
}

#[derive(Deserialize)]
struct Payload {
    #[serde(rename = "uiEvent")]
    measured: Option<Measured>,
}

/// What was measured of a request to the model.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Measured {
    #[serde(rename = "event.name")]
    what: String,
    response_id: Option<String>,
    error_type: Option<String>,
    subagent_name: Option<String>,
}

/// What an entry of the tree is to a turn.
#[derive(Debug)]
enum Node {
    Prompt { at: Option<i64>, id: String },
    Reply { calls: Vec<Call>, answered_at: Option<i64> },
    Results { of: Vec<String>, stopped: Option<i64> },
    Unheard(i64, How),
    Other,
}

/// A transcript, folded.
#[derive(Debug, Default)]
pub(super) struct Conversation {
    tree: Tree<Node>,
    story: Story,
}

impl Fold for Conversation {
    fn line(&mut self, line: &[u8]) -> bool {
        let Ok(line) = serde_json::from_slice::<Line>(line) else {
            return false;
        };
        let at = line.at.as_deref().and_then(moment);
        let story = &mut self.story;
        story.written(at);
        story.conversation = line.session_id.or_else(|| story.conversation.take());
        story.cwd = line.cwd.or_else(|| story.cwd.take());
        story.version = line.version.or_else(|| story.version.take());
        story.model = line.model.or_else(|| story.model.take());
        let Some(uuid) = line.uuid else { return true };
        if let Some(usage) = line.usage_metadata {
            let (input, output) = (usage.prompt_token_count, usage.candidates_token_count);
            let tokens = Tokens { input, output, cached: usage.cached_content_token_count };
            story.tokens = story.tokens.and(tokens);
        }
        let parts = line.message.map(|message| message.parts).unwrap_or_default();
        let node = match line.kind.as_str() {
            "assistant" => self.reply(&parts, at),
            "tool_result" => {
                let stopped = line.tool_call_result.and_then(|result| result.status);
                results(&parts, at.filter(|_| stopped.as_deref() == Some("cancelled")))
            }
            "user" => self.said(&parts, &uuid, at),
            "system" => line.system_payload.map_or(Node::Other, |payload| unheard(payload, at)),
            _ => Node::Other,
        };
        self.tree.add(&uuid, line.parent_uuid.as_deref(), node);
        true
    }

    fn story(&self) -> Story {
        let mut story = self.story.clone();
        let mut answered: Vec<&str> = Vec::new();
        let mut unheard = None;
        let mut closed = None;
        let mut undecided = true;
        for node in self.tree.branch() {
            match node {
                Node::Other => continue,
                // Of several requests in vain the last counts, and none if the model had spoken before.
                Node::Unheard(at, how) => {
                    unheard = unheard.or(Some((*at, *how)));
                    continue;
                }
                Node::Results { of, stopped } => {
                    if undecided {
                        closed = stopped.map(|at| (at, How::Interrupted)).or(unheard);
                    }
                    answered.extend(of.iter().map(String::as_str));
                }
                Node::Reply { calls, answered_at } => {
                    if undecided {
                        closed = answered_at.map(|at| (at, How::Answered));
                    }
                    let open = calls.iter().filter(|call| !answered.contains(&call.id.as_str()));
                    story.unanswered.extend(open.cloned());
                }
                Node::Prompt { at, id } => {
                    if undecided {
                        closed = unheard;
                    }
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
    fn reply(&mut self, parts: &[Value], at: Option<i64>) -> Node {
        let mut calls = Vec::new();
        for part in parts {
            let call = &part["functionCall"];
            let Some(tool) = call["name"].as_str() else { continue };
            *self.story.tools.entry(tool.to_owned()).or_default() += 1;
            let args = &call["args"];
            let file = args["file_path"].as_str();
            if let Some(file) = file.filter(|_| ["write_file", "edit"].contains(&tool)) {
                self.story.touched(file);
            }
            let with = args["command"].as_str().or(file).map_or_else(|| args.to_string(), str::to_owned);
            calls.push(Call::new(call["id"].as_str().unwrap_or_default(), tool, &with, at));
        }
        let is_last = calls.is_empty() && !text(parts).trim().is_empty();
        self.story.turns += u64::from(is_last);
        Node::Reply { calls, answered_at: at.filter(|_| is_last) }
    }

    fn said(&mut self, parts: &[Value], uuid: &str, at: Option<i64>) -> Node {
        if text(parts).trim().is_empty() {
            return results(parts, None);
        }
        self.story.prompts += 1;
        Node::Prompt { at, id: uuid.to_owned() }
    }
}

fn results(parts: &[Value], stopped: Option<i64>) -> Node {
    let ids = parts.iter().filter_map(|part| part["functionResponse"]["id"].as_str());
    let of: Vec<String> = ids.map(str::to_owned).collect();
    if of.is_empty() { Node::Other } else { Node::Results { of, stopped } }
}

/// Whether a request of the conversation itself ended without an answer: broken off, or failed.
fn unheard(payload: Payload, at: Option<i64>) -> Node {
    let Some((measured, at)) = payload.measured.filter(|what| what.subagent_name.is_none()).zip(at) else {
        return Node::Other;
    };
    let is_broken_off = measured.error_type.is_some_and(|kind| kind.contains("Abort"));
    match measured.what.rsplit('.').next() {
        Some("api_response") if measured.response_id.as_deref() == Some("") => {
            Node::Unheard(at, How::Interrupted)
        }
        Some("api_error") if is_broken_off => Node::Unheard(at, How::Interrupted),
        Some("api_error") => Node::Unheard(at, How::Failed),
        Some(_) | None => Node::Other,
    }
}

/// What is said, without thoughts.
fn text(parts: &[Value]) -> String {
    parts.iter().filter(|part| part["thought"] != true).filter_map(|part| part["text"].as_str()).collect()
}
