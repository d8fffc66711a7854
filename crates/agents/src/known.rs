//! The agents that are known, one file each.

pub(crate) mod aider;
pub(crate) mod claude;
pub(crate) mod codex;
pub(crate) mod copilot;
mod family;
pub(crate) mod gemini;
pub(crate) mod opencode;
mod opencode_rows;
pub(crate) mod pi;
pub(crate) mod qwen;
