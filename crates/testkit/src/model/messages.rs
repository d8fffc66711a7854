//! Anthropic's Messages: what claude asks in.

use std::io;

use serde_json::{Value, json};

use super::plan::{Plan, arguments, items, last_prompt, text};
use super::{Dialect, REPLY, Stream, fresh};

#[derive(Debug)]
pub(super) struct Messages;

impl Dialect for Messages {
    fn plan(request: &Value) -> Plan {
        let answers = |one: &Value| items(&one["content"]).iter().any(|part| part["type"] == "tool_result");
        let asks = |one: &Value| (one["role"] == "user").then(|| text(&one["content"]));
        let (prompt, answered) = last_prompt(items(&request["messages"]), answers, asks);
        let tools: Vec<&str> = items(&request["tools"]).iter().filter_map(|it| it["name"].as_str()).collect();
        Plan::of(&prompt, answered, &tools).unless_aside(&tools)
    }

    fn tell(request: &Value, plan: &Plan, stream: &mut Stream<'_>) -> io::Result<()> {
        let mut message = message(request);
        message["content"] = json!([]);
        message["stop_reason"] = Value::Null;
        stream.named(&json!({ "type": "message_start", "message": message }))?;
        let (block, delta, reason) = block(plan);
        stream.named(&json!({ "type": "content_block_start", "index": 0, "content_block": block }))?;
        if *plan == Plan::Hang {
            stream.hang(|stream| stream.named(&json!({ "type": "ping" })))?;
        }
        stream.named(&json!({ "type": "content_block_delta", "index": 0, "delta": delta }))?;
        stream.named(&json!({ "type": "content_block_stop", "index": 0 }))?;
        let end = json!({ "stop_reason": reason, "stop_sequence": null });
        stream.named(&json!({ "type": "message_delta", "delta": end, "usage": { "output_tokens": 5 } }))?;
        stream.named(&json!({ "type": "message_stop" }))
    }

    fn whole(request: &Value) -> Value {
        message(request)
    }
}

fn message(request: &Value) -> Value {
    json!({
        "id": fresh("msg_"), "type": "message", "role": "assistant", "model": request["model"],
        "content": [{ "type": "text", "text": REPLY }], "stop_reason": "end_turn", "stop_sequence": null,
        "usage": { "input_tokens": 10, "output_tokens": 5 },
    })
}

/// The one block of an answer as it begins, what is added to it, and why the answer ends with it.
fn block(plan: &Plan) -> (Value, Value, &'static str) {
    match plan {
        Plan::Call { tool, command, asks } => (
            json!({ "type": "tool_use", "id": fresh("toolu_"), "name": tool, "input": {} }),
            json!({ "type": "input_json_delta", "partial_json": arguments(tool, command, *asks).to_string() }),
            "tool_use",
        ),
        Plan::Names(_) | Plan::Hang | Plan::Reply => (
            json!({ "type": "text", "text": "" }),
            json!({ "type": "text_delta", "text": REPLY }),
            "end_turn",
        ),
    }
}
