//! Agents that npm runs.

use abide_agents::{Kin, launch, resume};

use crate::{adapter, kin, known, words};

#[test]
fn npm_is_the_wrapper_of_whom_it_runs() {
    for (line, agent) in [
        ("npx claude -p hello", "claude"),
        ("node /usr/bin/npx -y @anthropic-ai/claude-code@latest", "claude"),
        ("npm exec -- codex exec hello", "codex"),
        ("node /usr/lib/node_modules/npm/bin/npm-cli.js x @openai/codex", "codex"),
        ("npx @github/copilot", "copilot"),
        ("npx opencode-ai", "opencode"),
        ("npx @mariozechner/pi-coding-agent", "pi"),
        ("npx @google/gemini-cli", "gemini"),
        ("npx qwen", "qwen"),
    ] {
        assert_eq!(kin(line, "/usr/bin/node"), Some((agent, Kin::Wrapper)), "{line}");
    }
    let named = ["npm exec @openai/codex@0.166.0 exec hello".to_owned()];
    let process = abide_agents::Process { argv: &named, image: None, name: "npm exec @opena" };
    assert_eq!(known(&process), Some(("codex", Kin::Wrapper)));
    for line in ["npm run claude", "npx cowsay claude", "npm install @openai/codex", "npx claudette"] {
        assert_eq!(kin(line, "/usr/bin/node"), None, "{line}");
    }
}

#[test]
fn npm_is_asked_again_as_it_was_to_go_on_with_a_conversation() {
    let again = |agent: &str, line: &str| resume(adapter(agent), &words(line), "ID", Some("go")).join(" ");
    assert_eq!(again("claude", "npx -y claude --model x hello"), "npx -y claude --model x --resume ID go");
    assert_eq!(
        again("codex", "npm exec @openai/codex@latest exec hello"),
        "npm exec -- @openai/codex@latest exec resume ID go"
    );
    assert_eq!(again("codex", "npm exec -- codex"), "npm exec -- codex resume ID go");
    assert_eq!(again("gemini", "npx gemini"), "npx gemini --resume ID -i go");
    // Which words are npm's own and which the agent's is npm's to know.
    assert_eq!(launch(adapter("claude"), &words("npx claude"), "ID"), None);
}
