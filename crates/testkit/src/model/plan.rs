//! What the model is going to say, by the last prompt and by what came after it.

use serde_json::{Value, json};

use super::REPLY;

/// One answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Plan {
    /// A call of the agent's shell.
    Call {
        tool: String,
        command: String,
        /// It asks to be let out of a sandbox, where there is one.
        asks: bool,
    },
    /// A reply that names a file.
    Names(String),
    /// A reply that is not ended until the model lets go.
    Hang,
    Reply,
}

impl Plan {
    /// `answered` says whether a tool has answered since this prompt; `tools` are the names of those there are.
    pub(crate) fn of(prompt: &str, answered: bool, tools: &[&str]) -> Self {
        let within = |mark: &str| Some(prompt.split_once(mark)?.1.split_once(']')?.0.to_owned());
        // `CHANGELOG` is no request to hang.
        let has = |wanted: &str| words(prompt).any(|word| word == wanted);
        let shell = SHELLS.iter().find(|shell| tools.contains(shell));
        match (within("TOOL:["), shell, within("FILE:[")) {
            (Some(command), Some(shell), _) if !answered => {
                Self::Call { tool: (*shell).to_owned(), command, asks: has("ASK") }
            }
            (_, _, Some(file)) if !answered => Self::Names(file + ".txt"),
            _ if has("HANG") => Self::Hang,
            _ => Self::Reply,
        }
    }

    /// What is said in words.
    pub(crate) fn words(&self) -> String {
        match self {
            Self::Names(file) => format!("look at {file}"),
            Self::Call { .. } | Self::Hang | Self::Reply => REPLY.to_owned(),
        }
    }

    /// An agent that has tools asks without them only for what stands beside a conversation, such as its title.
    pub(crate) fn unless_aside(self, tools: &[&str]) -> Self {
        if tools.is_empty() { Self::Reply } else { self }
    }
}

/// The agents' names for their shell, the one to be preferred first.
const SHELLS: [&str; 6] = ["Bash", "bash", "exec_command", "shell_command", "run_shell_command", "shell"];

/// What a shell of this name takes.
pub(crate) fn arguments(tool: &str, command: &str, asks: bool) -> Value {
    match tool {
        "exec_command" if asks => {
            json!({ "cmd": command, "sandbox_permissions": "require_escalated", "justification": "it writes" })
        }
        "exec_command" => json!({ "cmd": command }),
        "shell" => json!({ "command": ["bash", "-lc", command] }),
        // gemini and qwen want to know; claude refuses to be told.
        "run_shell_command" => json!({ "command": command, "description": "run it", "is_background": false }),
        _ => json!({ "command": command, "description": "run it" }),
    }
}

/// The text of a message's content: a string, or parts of which some are text.
pub(crate) fn text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts: Vec<&str> = parts.iter().filter_map(|part| part["text"].as_str()).collect();
            texts.join("\n")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}

/// The elements of an array; none where there is no array.
pub(crate) fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric())
}

/// The last prompt of a conversation, and whether a tool has answered since.
pub(crate) fn last_prompt(
    said: &[Value],
    is_answer: impl Fn(&Value) -> bool,
    is_prompt: impl Fn(&Value) -> Option<String>,
) -> (String, bool) {
    let mut answered = false;
    for one in said.iter().rev() {
        if is_answer(one) {
            answered = true;
        } else if let Some(prompt) = is_prompt(one) {
            return (prompt, answered);
        }
    }
    (String::new(), answered)
}
