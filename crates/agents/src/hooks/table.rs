//! Which agents run hooks, where each keeps them, and what each can tell. Seen with real agents: `fixtures/README.md`.

use super::{File, Form, Hooks};

/// The agents that run hooks.
pub const HOOKED: &[Hooks] = &[
    Hooks {
        agent: "claude",
        occasions: &[
            "SessionStart",
            "UserPromptSubmit",
            "PreToolUse",
            "PermissionRequest",
            "PostToolUse",
            "PostToolUseFailure",
            "Notification",
            "Stop",
            "StopFailure",
            "SessionEnd",
        ],
        trust: None,
        off: (&["disableAllHooks"], "true"),
        file: File {
            variable: "CLAUDE_CONFIG_DIR",
            below_variable: "settings.json",
            below_home: ".claude/settings.json",
        },
        form: Form::Group,
        patience: 5,
        comments: false,
    },
    Hooks {
        agent: "codex",
        occasions: &[
            "SessionStart",
            "UserPromptSubmit",
            "PreToolUse",
            "PermissionRequest",
            "PostToolUse",
            "Stop",
            "SessionEnd",
        ],
        trust: Some(
            "codex runs hooks only once a person has trusted them: it asks when it is started next, or with `/hooks` in it; \
             again whenever they change",
        ),
        off: (&[], ""),
        file: File { variable: "CODEX_HOME", below_variable: "hooks.json", below_home: ".codex/hooks.json" },
        form: Form::Group,
        // More is cut to this at the end of a session, with a warning on its screen.
        patience: 3,
        comments: false,
    },
    Hooks {
        agent: "gemini",
        occasions: &[
            "SessionStart",
            "BeforeAgent",
            "BeforeTool",
            "AfterTool",
            "Notification",
            "AfterAgent",
            "SessionEnd",
        ],
        trust: None,
        off: (&["hooksConfig", "enabled"], "false"),
        file: File {
            variable: "GEMINI_CLI_HOME",
            below_variable: ".gemini/settings.json",
            below_home: ".gemini/settings.json",
        },
        form: Form::Group,
        patience: 5_000,
        comments: true,
    },
    Hooks {
        agent: "qwen",
        occasions: &[
            "SessionStart",
            "UserPromptSubmit",
            "PreToolUse",
            "PostToolUse",
            "PostToolUseFailure",
            "Notification",
            "Stop",
            "StopFailure",
            "SessionEnd",
        ],
        trust: None,
        off: (&["disableAllHooks"], "true"),
        file: File {
            variable: "QWEN_HOME",
            below_variable: "settings.json",
            below_home: ".qwen/settings.json",
        },
        form: Form::Group,
        patience: 5_000,
        comments: true,
    },
    Hooks {
        agent: "copilot",
        occasions: &[
            "sessionStart",
            "userPromptSubmitted",
            "preToolUse",
            "postToolUse",
            "postToolUseFailure",
            // It tells of permission requests also where nobody is asked; of notifications only where somebody is.
            "notification",
            "agentStop",
            "sessionEnd",
        ],
        trust: None,
        off: (&["disableAllHooks"], "true"),
        file: File {
            variable: "COPILOT_HOME",
            below_variable: "hooks/abide.json",
            below_home: ".copilot/hooks/abide.json",
        },
        form: Form::Alone,
        patience: 5,
        comments: false,
    },
];
