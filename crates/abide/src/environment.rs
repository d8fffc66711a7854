//! The environment variables that the command line heeds: one table for those who read them and for the manual.
//! The only reader of the environment in the fronts.

use std::ffi::OsString;
use std::path::PathBuf;

macro_rules! variables {
    ($($variable:ident $name:literal $says:literal,)+) => {
        /// A variable that means something to abide.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Variable { $(#[doc = $says] $variable,)+ }

        impl Variable {
            /// Every variable, in the order of the table.
            pub(crate) const ALL: &'static [Self] = &[$(Self::$variable,)+];

            pub(crate) const fn name(self) -> &'static str {
                match self { $(Self::$variable => $name,)+ }
            }

            /// What it means, for people.
            pub(crate) const fn says(self) -> &'static str {
                match self { $(Self::$variable => $says,)+ }
            }
        }
    };
}

variables! {
    Home        "ABIDE_HOME"        "Where the sessions are. Every program in a session has it too.",
    Config      "ABIDE_CONFIG"      "The config file to read instead of the usual one; /dev/null for none.",
    Session     "ABIDE_SESSION"     "The ID of the session that a program runs in; what `result set` means.",
    SessionDir  "ABIDE_SESSION_DIR" "The directory of that session, where a program may leave a result.toml.",
    BornIn      "ABIDE_BORN_IN"     "The same ID again, by which we know a session's processes: never set it yourself.",
    NoColor     "NO_COLOR"          "If not empty: no colours. Outranks CLICOLOR_FORCE and the config file.",
    ForceColor  "CLICOLOR_FORCE"    "If neither empty nor 0: colours, also where there is no terminal.",
    Term        "TERM"              "No colours if it is `dumb`, empty or not set.",
    Columns     "COLUMNS"           "The width of tables where no terminal tells it.",
    TimeZone    "TZ"                "The time zone of the times that people read and type.",
    ConfigHome  "XDG_CONFIG_HOME"   "The config file is abide/config.toml below it, else below ~/.config.",
    LastingHome "XDG_STATE_HOME"    "The sessions are in abide below it, else below ~/.local/state.",
    DataHome    "XDG_DATA_HOME"     "Fonts for what ours lack are looked for in fonts below it, else below ~/.local/share.",
    DataDirs    "XDG_DATA_DIRS"     "And in fonts below these [default: /usr/local/share:/usr/share].",
    Temporary   "TMPDIR"            "Where a video is kept until it is whole [default: /tmp].",
    UserHome    "HOME"              "What ~ means.",
    Searched    "PATH"              "Where `hooks` looks for the path that agents are to call abide by.",
    ClaudeHome  "CLAUDE_CONFIG_DIR" "Where claude has its settings, for `hooks` [default: ~/.claude].",
    CodexHome   "CODEX_HOME"        "Where codex has its hooks [default: ~/.codex].",
    GeminiHome  "GEMINI_CLI_HOME"   "What gemini takes for ~: its settings are in .gemini below it.",
    QwenHome    "QWEN_HOME"         "Where qwen has its settings, for `hooks` [default: ~/.qwen].",
    CopilotHome "COPILOT_HOME"      "Where copilot has its hooks [default: ~/.copilot].",
}

impl Variable {
    /// Its value; one that is empty is none.
    pub(crate) fn value(self) -> Option<OsString> {
        std::env::var_os(self.name()).filter(|value| !value.is_empty())
    }

    /// Its value as a path; a relative one means nothing and is to be ignored.
    pub(crate) fn absolute_path(self) -> Option<PathBuf> {
        self.value().map(PathBuf::from).filter(|path| path.is_absolute())
    }
}
