//! OpenAI's Responses: what codex asks in.

use std::io;

use serde_json::{Value, json};

use super::plan::{Plan, arguments, items, last_prompt, text};
use super::{Dialect, REPLY, Stream, fresh, now};

#[derive(Debug)]
pub(super) struct Responses;

impl Dialect for Responses {
    fn plan(request: &Value) -> Plan {
        let kind = |one: &Value| one["type"].as_str().unwrap_or_default().to_owned();
        let answers = |one: &Value| kind(one).ends_with("call_output");
        let asks = |one: &Value| (one["role"] == "user").then(|| text(&one["content"]));
        let input = &request["input"];
        let (prompt, answered) = match input.as_str() {
            Some(prompt) => (prompt.to_owned(), false),
            None => last_prompt(items(input), answers, asks),
        };
        let tools: Vec<&str> = items(&request["tools"]).iter().filter_map(|it| it["name"].as_str()).collect();
        Plan::of(&prompt, answered, &tools)
    }

    fn tell(request: &Value, plan: &Plan, stream: &mut Stream<'_>) -> io::Result<()> {
        let mut response = response(request, &[]);
        response["status"] = json!("in_progress");
        stream.named(&json!({ "type": "response.created", "response": response }))?;
        if *plan == Plan::Hang {
            stream.hang(|stream| stream.raw(": wait\n\n"))?;
        }
        let item = item(plan);
        stream.named(&json!({ "type": "response.output_item.added", "output_index": 0, "item": item }))?;
        if item["type"] == "message" {
            stream.named(&json!({
                "type": "response.output_text.delta", "item_id": item["id"], "output_index": 0, "content_index": 0,
                "delta": REPLY,
            }))?;
        }
        stream.named(&json!({ "type": "response.output_item.done", "output_index": 0, "item": item }))?;
        response["status"] = json!("completed");
        response["output"] = json!([item]);
        stream.named(&json!({ "type": "response.completed", "response": response }))
    }

    fn whole(request: &Value) -> Value {
        response(request, &[item(&Plan::Reply)])
    }
}

fn response(request: &Value, output: &[Value]) -> Value {
    json!({
        "id": fresh("resp_"), "object": "response", "created_at": now(), "model": request["model"],
        "status": "completed", "output": output,
        "usage": {
            "input_tokens": 10, "input_tokens_details": { "cached_tokens": 0 },
            "output_tokens": 5, "output_tokens_details": { "reasoning_tokens": 0 }, "total_tokens": 15,
        },
    })
}

fn item(plan: &Plan) -> Value {
    match plan {
        Plan::Call { tool, command, asks } => json!({
            "type": "function_call", "id": fresh("fc_"), "call_id": fresh("call_"), "name": tool,
            "arguments": arguments(tool, command, *asks).to_string(), "status": "completed",
        }),
        Plan::Names(_) | Plan::Hang | Plan::Reply => json!({
            "type": "message", "id": fresh("msg_"), "role": "assistant", "status": "completed",
            "content": [{ "type": "output_text", "text": REPLY, "annotations": [] }],
        }),
    }
}
