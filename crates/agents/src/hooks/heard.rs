//! What an agent tells one of our hooks: a JSON object on its standard input, and what it means. What an agent does not
//! tell is not made up: a turn that a person interrupts, for one, ends without a word to any hook.

use std::path::PathBuf;

use abide_core::evidence::Wants;
use serde_json::Value;

use crate::story::{Call, How};

/// What a hook was told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heard {
    /// The agent's own ID of the conversation.
    pub conversation: String,
    pub transcript: Option<PathBuf>,
    pub cwd: Option<PathBuf>,
    pub what: What,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    SessionBegan,
    TurnOpened {
        /// The agent's own name for it, if it has one.
        id: Option<String>,
    },
    TurnClosed {
        how: How,
        /// In the agent's words.
        reason: Option<String>,
    },
    /// A tool is about to run; a person may be asked first.
    ToolBegan {
        tool: String,
        id: Option<String>,
        with: String,
    },
    /// It ran, well or not.
    ToolEnded {
        tool: String,
        id: Option<String>,
    },
    Attention {
        wants: Wants,
        text: Option<String>,
    },
    SessionEnded {
        reason: Option<String>,
    },
}

/// What an agent told a hook on this occasion; none if it is nothing to us, or makes no sense.
#[must_use]
pub fn hear(agent: &str, occasion: &str, told: &[u8]) -> Option<Heard> {
    let known = super::hooks(agent)?.occasions.iter().find(|known| **known == occasion)?;
    let told = Told(serde_json::from_slice(told).ok()?);
    Some(Heard {
        conversation: told.text(&["session_id", "sessionId"])?,
        transcript: told.text(&["transcript_path", "transcriptPath"]).map(PathBuf::from),
        cwd: told.text(&["cwd"]).map(PathBuf::from),
        what: told.what(known)?,
    })
}

struct Told(Value);

impl Told {
    /// The first of these that is a text, and not an empty one.
    fn text(&self, names: &[&str]) -> Option<String> {
        let text = names.iter().find_map(|name| self.0[*name].as_str())?;
        (!text.is_empty()).then(|| text.to_owned())
    }

    fn what(&self, occasion: &str) -> Option<What> {
        match occasion {
            "SessionStart" | "sessionStart" => Some(What::SessionBegan),
            // One that goes on after a tool call is told with an empty prompt by some.
            "UserPromptSubmit" | "BeforeAgent" | "userPromptSubmitted" => {
                self.text(&["prompt"])?;
                Some(What::TurnOpened { id: self.turn() })
            }
            "PreToolUse" | "BeforeTool" | "preToolUse" => {
                let Call { id, tool, with, .. } = self.call()?;
                Some(What::ToolBegan { tool, id: Some(id).filter(|id| !id.is_empty()), with })
            }
            "PostToolUse" | "PostToolUseFailure" | "AfterTool" | "postToolUse" | "postToolUseFailure" => {
                let Call { id, tool, .. } = self.call()?;
                Some(What::ToolEnded { tool, id: Some(id).filter(|id| !id.is_empty()) })
            }
            "PermissionRequest" => {
                let call = self.call()?;
                let is_question = call.tool == "AskUserQuestion";
                let wants = if is_question { Wants::Answer } else { Wants::Approval };
                Some(What::Attention { wants, text: Some(cut(&format!("{}: {}", call.tool, call.with))) })
            }
            "Notification" | "notification" => self.notification(),
            "Stop" | "AfterAgent" | "agentStop" => Some(self.closed()),
            "StopFailure" => {
                let reason = self.text(&["error", "reason"]);
                Some(What::TurnClosed { how: How::Failed, reason })
            }
            "SessionEnd" | "sessionEnd" => Some(What::SessionEnded { reason: self.text(&["reason"]) }),
            _ => None,
        }
    }

    fn turn(&self) -> Option<String> {
        self.text(&["prompt_id", "turn_id"])
    }

    fn call(&self) -> Option<Call> {
        let tool = self.text(&["tool_name", "toolName"])?;
        let input = ["tool_input", "toolArgs", "toolInput"].iter().find_map(|name| self.0.get(name));
        // Some give it as a text that holds JSON.
        let inner = input.and_then(Value::as_str).and_then(|text| serde_json::from_str::<Value>(text).ok());
        let input = inner.as_ref().or(input).unwrap_or(&Value::Null);
        let said = ["command", "file_path", "path"].iter().find_map(|name| input[*name].as_str());
        let with = said.map_or_else(|| input.to_string(), str::to_owned);
        let id = self.text(&["tool_use_id"]).unwrap_or_default();
        Some(Call::new(&id, &tool, &with, None))
    }

    fn notification(&self) -> Option<What> {
        let message = self.text(&["message"]);
        let wants = match self.text(&["notification_type"]).as_deref() {
            Some("ToolPermission") if self.0["details"]["type"] == "ask_user" => Wants::Answer,
            Some("permission_prompt" | "ToolPermission") => Wants::Approval,
            Some("elicitation_dialog") => Wants::Answer,
            // That nobody typed for a while, that a login went well: nothing that the work waits for.
            Some(_) => return None,
            None if message.as_ref()?.contains("permission") => Wants::Approval,
            None => return None,
        };
        Some(What::Attention { wants, text: message.map(|text| cut(&text)) })
    }

    fn closed(&self) -> What {
        let reason = self.text(&["stop_reason", "stopReason"]);
        let how = match reason.as_deref() {
            None | Some("end_turn") => How::Answered,
            Some("error") => How::Failed,
            Some(_) => How::Interrupted,
        };
        What::TurnClosed { how, reason }
    }
}

/// As much of a text as is kept of a call.
fn cut(text: &str) -> String {
    Call::new("", "", text, None).with
}
