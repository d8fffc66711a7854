//! OpenAI's chat completions: what opencode, pi, qwen, copilot and aider ask in.

use std::io;

use serde_json::{Value, json};

use super::plan::{Plan, arguments, items, last_prompt, text};
use super::{Dialect, REPLY, Stream, fresh, now};

#[derive(Debug)]
pub(super) struct Chat;

impl Dialect for Chat {
    fn plan(request: &Value) -> Plan {
        // What aider says by itself once it may look at the file that was named.
        let added = |one: &Value| text(&one["content"]).contains("I added these files to the chat");
        let answers = |one: &Value| one["role"] == "tool" || one["role"] == "user" && added(one);
        let asks = |one: &Value| (one["role"] == "user").then(|| text(&one["content"]));
        let (prompt, answered) = last_prompt(items(&request["messages"]), answers, asks);
        let tools = items(&request["tools"]).iter().filter_map(|it| it["function"]["name"].as_str());
        let tools: Vec<&str> = tools.collect();
        // aider has no tools, ever; what opencode asks beside a conversation is to be a title.
        let instructed =
            items(&request["messages"]).first().map(|one| text(&one["content"])).unwrap_or_default();
        if tools.is_empty() && instructed.contains("title generator") {
            return Plan::Reply;
        }
        Plan::of(&prompt, answered, &tools)
    }

    fn tell(request: &Value, plan: &Plan, stream: &mut Stream<'_>) -> io::Result<()> {
        let id = fresh("chatcmpl-");
        let chunk = |delta: Value, reason: Option<&str>| {
            let choice = json!({ "index": 0, "delta": delta, "finish_reason": reason });
            let mut chunk = json!({
                "id": id, "object": "chat.completion.chunk", "created": now(), "model": request["model"],
                "choices": [choice],
            });
            if reason.is_some() {
                chunk["usage"] = usage();
            }
            chunk
        };
        stream.piece(&chunk(json!({ "role": "assistant", "content": "" }), None))?;
        let reason = match plan {
            Plan::Call { tool, command, asks } => {
                let function =
                    json!({ "name": tool, "arguments": arguments(tool, command, *asks).to_string() });
                let call =
                    json!({ "index": 0, "id": fresh("call_"), "type": "function", "function": function });
                stream.piece(&chunk(json!({ "tool_calls": [call] }), None))?;
                "tool_calls"
            }
            Plan::Names(_) | Plan::Hang | Plan::Reply => {
                if *plan == Plan::Hang {
                    stream.hang(|stream| stream.raw(": wait\n\n"))?;
                }
                stream.piece(&chunk(json!({ "content": plan.words() }), None))?;
                "stop"
            }
        };
        stream.piece(&chunk(json!({}), Some(reason)))?;
        stream.raw("data: [DONE]\n\n")
    }

    fn whole(request: &Value) -> Value {
        let message = json!({ "role": "assistant", "content": REPLY });
        json!({
            "id": fresh("chatcmpl-"), "object": "chat.completion", "created": now(), "model": request["model"],
            "choices": [{ "index": 0, "message": message, "finish_reason": "stop" }], "usage": usage(),
        })
    }
}

fn usage() -> Value {
    json!({ "prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15 })
}
