//! Google's generateContent: what gemini asks in.

use std::io;

use serde_json::{Value, json};

use super::plan::{Plan, arguments, items, last_prompt};
use super::{Dialect, REPLY, Stream, fresh};

#[derive(Debug)]
pub(super) struct Gemini;

impl Dialect for Gemini {
    fn plan(request: &Value) -> Plan {
        let answers = |one: &Value| items(&one["parts"]).iter().any(|it| !it["functionResponse"].is_null());
        // A prompt that was never answered stands before the next one, in the same message.
        let asks = |one: &Value| (one["role"] == "user").then(|| latest(one));
        let (prompt, answered) = last_prompt(items(&request["contents"]), answers, asks);
        let declared = items(&request["tools"]).iter().flat_map(|it| items(&it["functionDeclarations"]));
        let tools: Vec<&str> = declared.filter_map(|it| it["name"].as_str()).collect();
        Plan::of(&prompt, answered, &tools).unless_aside(&tools)
    }

    fn tell(request: &Value, plan: &Plan, stream: &mut Stream<'_>) -> io::Result<()> {
        let part = match plan {
            Plan::Call { tool, command, asks } => {
                json!({ "functionCall": { "name": tool, "args": arguments(tool, command, *asks) } })
            }
            Plan::Hang => {
                // It takes what is no piece for an error.
                stream.hang(|stream| stream.piece(&content(&json!({ "text": "." }), None)))?;
                json!({ "text": REPLY })
            }
            Plan::Names(_) | Plan::Reply => reply(request),
        };
        stream.piece(&content(&part, Some("STOP")))
    }

    fn whole(request: &Value) -> Value {
        content(&reply(request), Some("STOP"))
    }

    fn is_streamed(_request: &Value, path: &str) -> bool {
        path.contains(":streamGenerateContent")
    }
}

/// The last text of a message.
fn latest(message: &Value) -> String {
    let mut texts = items(&message["parts"]).iter().rev().filter_map(|part| part["text"].as_str());
    texts.next().unwrap_or_default().to_owned()
}

/// Where it asks for JSON, it decides something beside: which model to ask, or who speaks next.
fn reply(request: &Value) -> Value {
    if request["generationConfig"]["responseMimeType"] == "application/json" {
        let decided = json!({
            "reasoning": "it is simple", "model_choice": "flash", "complexity_reasoning": "it is simple",
            "complexity_score": 1, "next_speaker": "user",
        });
        return json!({ "text": decided.to_string() });
    }
    json!({ "text": REPLY })
}

fn content(part: &Value, reason: Option<&str>) -> Value {
    let mut candidate = json!({ "index": 0, "content": { "role": "model", "parts": [part] } });
    if let Some(reason) = reason {
        candidate["finishReason"] = json!(reason);
    }
    json!({
        "candidates": [candidate], "modelVersion": "ours", "responseId": fresh("r"),
        "usageMetadata": { "promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15 },
    })
}
