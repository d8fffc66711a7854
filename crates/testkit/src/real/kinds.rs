//! The agents, and what each needs to ask our model, to trust its directory and to leave itself as it is. `{url}`, `{work}`
//! and `{prompt}` stand for where the model is, the agent's directory and what is asked of it.

/// One agent.
#[derive(Debug)]
pub(super) struct Kind {
    pub(super) name: &'static str,
    pub(super) variables: &'static [(&'static str, &'static str)],
    /// Its settings: a file below its home, and what stands in it.
    pub(super) settings: Option<(&'static str, &'static str)>,
    /// The arguments with which it takes one turn and ends.
    pub(super) once: &'static [&'static str],
    /// Those with which it takes over the terminal.
    pub(super) terminal: &'static [&'static str],
    /// Those with which it does that and asks before it runs a command; none if it never asks, or not in these settings.
    pub(super) asking: Option<&'static [&'static str]>,
    /// Whether its own files tell what it asks for: then that is known also of one that runs elsewhere.
    pub(super) files_ask: bool,
    /// Those with which it runs hooks that nobody has looked at.
    pub(super) trusting: &'static [&'static str],
    pub(super) tools: Tools,
}

/// What an agent does with tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tools {
    /// A call is in its transcript when it begins.
    Told,
    /// A call is in its transcript when it is answered.
    ToldLate,
    /// It has none.
    None,
}

pub(super) const KINDS: &[Kind] = &[
    Kind {
        name: "claude",
        variables: &[
            ("ANTHROPIC_BASE_URL", "{url}"),
            ("ANTHROPIC_API_KEY", "key-of-nobody-000000000000"),
            ("IS_SANDBOX", "1"),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
            ("DISABLE_AUTOUPDATER", "1"),
        ],
        // It remembers keys by their last twenty characters.
        settings: Some((
            ".claude.json",
            r#"{"hasCompletedOnboarding":true,"theme":"dark",
                "customApiKeyResponses":{"approved":["-nobody-000000000000"],"rejected":[]},
                "projects":{"{work}":{"hasTrustDialogAccepted":true,"hasCompletedProjectOnboarding":true}}}"#,
        )),
        once: &[
            "-p",
            "{prompt}",
            "--dangerously-skip-permissions",
            "--output-format",
            "stream-json",
            "--verbose",
        ],
        terminal: &[],
        asking: Some(&[]),
        files_ask: true,
        trusting: &[],
        tools: Tools::Told,
    },
    Kind {
        name: "codex",
        variables: &[("OPENAI_API_KEY", "key-of-nobody")],
        settings: Some((
            ".codex/config.toml",
            r#"model = "gpt-5-codex"
               model_provider = "ours"
               check_for_update_on_startup = false
               [model_providers.ours]
               name = "ours"
               base_url = "{url}/v1"
               wire_api = "responses"
               env_key = "OPENAI_API_KEY"
               [projects."{work}"]
               trust_level = "trusted""#,
        )),
        once: &[
            "exec",
            "--skip-git-repo-check",
            "--dangerously-bypass-approvals-and-sandbox",
            "--json",
            "{prompt}",
        ],
        terminal: &[],
        // It asks only where the model wants it to.
        asking: Some(&["-a", "on-request", "-s", "read-only"]),
        files_ask: false,
        trusting: &["--dangerously-bypass-hook-trust"],
        tools: Tools::Told,
    },
    Kind {
        name: "gemini",
        variables: &[
            ("GEMINI_API_KEY", "key-of-nobody"),
            ("GOOGLE_GEMINI_BASE_URL", "{url}"),
            ("GEMINI_CLI_TRUST_WORKSPACE", "true"),
        ],
        settings: Some((
            ".gemini/settings.json",
            r#"{"general":{"enableAutoUpdate":false,"enableAutoUpdateNotification":false},
                "security":{"auth":{"selectedType":"gemini-api-key"},"folderTrust":{"enabled":false}}}"#,
        )),
        once: &["-m", "gemini-2.5-flash", "--yolo", "-p", "{prompt}", "--output-format", "stream-json"],
        terminal: &["-m", "gemini-2.5-flash"],
        asking: Some(&["-m", "gemini-2.5-flash"]),
        files_ask: false,
        trusting: &[],
        tools: Tools::ToldLate,
    },
    Kind {
        name: "opencode",
        variables: &[
            ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
            ("OPENCODE_DISABLE_MODELS_FETCH", "1"),
            ("OPENCODE_DISABLE_LSP_DOWNLOAD", "1"),
            ("OPENCODE_DISABLE_DEFAULT_PLUGINS", "1"),
        ],
        settings: Some((
            ".config/opencode/opencode.json",
            r#"{"model":"ours/m","permission":{"bash":"allow"},
                "agent":{"asker":{"mode":"primary","permission":{"bash":"ask"}}},
                "provider":{"ours":{"npm":"@ai-sdk/openai-compatible","models":{"m":{"tool_call":true}},
                "options":{"baseURL":"{url}/v1","apiKey":"key-of-nobody"}}}}"#,
        )),
        once: &["run", "--format", "json", "{prompt}"],
        terminal: &[],
        asking: Some(&["--agent", "asker"]),
        files_ask: false,
        trusting: &[],
        tools: Tools::Told,
    },
    Kind {
        name: "pi",
        variables: &[("PI_OFFLINE", "1"), ("PI_SKIP_VERSION_CHECK", "1")],
        settings: Some((
            ".pi/agent/models.json",
            r#"{"providers":{"ours":{"baseUrl":"{url}/v1","api":"openai-completions","apiKey":"key-of-nobody",
                "models":[{"id":"m","name":"m","reasoning":false,"input":["text"],"contextWindow":100000,
                "maxTokens":1000,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0}}]}}}"#,
        )),
        once: &["--provider", "ours", "--model", "m", "-p", "{prompt}", "--mode", "json"],
        terminal: &["--provider", "ours", "--model", "m"],
        asking: None,
        files_ask: false,
        trusting: &[],
        tools: Tools::Told,
    },
    Kind {
        name: "qwen",
        variables: &[
            ("OPENAI_API_KEY", "key-of-nobody"),
            ("OPENAI_BASE_URL", "{url}/v1"),
            ("OPENAI_MODEL", "m"),
        ],
        // Else it installs its next version in place of the one that runs.
        settings: Some((
            ".qwen/settings.json",
            r#"{"general":{"enableAutoUpdate":false},
                "security":{"auth":{"selectedType":"openai"},"folderTrust":{"enabled":false}}}"#,
        )),
        once: &[
            "--yolo",
            "--auth-type",
            "openai",
            "-m",
            "m",
            "-p",
            "{prompt}",
            "--output-format",
            "stream-json",
        ],
        terminal: &["--auth-type", "openai", "-m", "m"],
        asking: Some(&["--auth-type", "openai", "-m", "m"]),
        files_ask: false,
        trusting: &[],
        tools: Tools::ToldLate,
    },
    Kind {
        name: "copilot",
        variables: &[
            ("COPILOT_OFFLINE", "true"),
            ("COPILOT_PROVIDER_BASE_URL", "{url}/v1"),
            ("COPILOT_PROVIDER_API_KEY", "key-of-nobody"),
            ("COPILOT_MODEL", "m"),
            ("COPILOT_AUTO_UPDATE", "false"),
        ],
        settings: Some((".copilot/config.json", r#"{"trustedFolders":["{work}"]}"#)),
        once: &["--allow-all", "-p", "{prompt}", "--output-format", "json"],
        terminal: &["--allow-all"],
        asking: Some(&[]),
        files_ask: true,
        trusting: &[],
        tools: Tools::Told,
    },
    Kind {
        name: "aider",
        variables: &[("OPENAI_API_KEY", "key-of-nobody"), ("OPENAI_API_BASE", "{url}/v1")],
        settings: Some((
            ".aider.conf.yml",
            "model: openai/m\nshow-model-warnings: false\ncheck-update: false\nanalytics-disable: true\n\
             gitignore: false\nshow-release-notes: false\n",
        )),
        once: &["--yes-always", "--message", "{prompt}"],
        terminal: &[],
        // Before it looks at a file that the model named.
        asking: Some(&[]),
        files_ask: false,
        trusting: &[],
        tools: Tools::None,
    },
];
