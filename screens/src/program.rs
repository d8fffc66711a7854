//! Program: real programs, driven through an attached terminal, and what their sessions recorded.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use abide_core::screen::{Screen, Size};
use abide_testkit::bench::Bench;
use abide_testkit::{ScratchDir, Terminal};
use serde_json::Value;

pub const SIZE: Size = Size { cols: 80, rows: 24 };
const SCROLLBACK: usize = 1_000;
/// In a process namespace of its own nothing that a program starts outlives it: tmux and codex leave servers behind.
const ALONE: &[&str] = &["unshare", "-r", "-p", "-f", "--kill-child", "--mount-proc"];

/// What is done in a session.
#[derive(Debug, Clone, Copy)]
pub enum Step {
    /// Wait until this is to be seen.
    See(&'static str),
    /// Wait until this comes, be it the same as before.
    Hear(&'static str),
    /// Turn so many pages of vttest, and wait for the next.
    Turn(usize),
    Type(&'static str),
}

/// A program and how it is driven. It runs in a directory of its own, which is its home too, with a few files in it.
#[derive(Debug, Clone, Copy)]
pub struct Program {
    pub name: &'static str,
    pub command: &'static [&'static str],
    /// What must be installed beside the command itself.
    needs: &'static str,
    pub steps: &'static [Step],
}

impl Program {
    /// What it cannot run without and is not there.
    pub fn lacks(&self) -> Option<String> {
        let path = std::env::var("PATH").unwrap_or_default();
        let is_there = |program: &str| path.split(':').any(|dir| Path::new(dir).join(program).is_file());
        let missing = [self.command[0], self.needs].into_iter().find(|program| {
            let known = program.is_empty() || Path::new(program).is_file() || is_there(program);
            !known
        });
        let is_agent = ["claude", "codex", "opencode"].contains(&self.needs);
        match missing {
            Some(program) => Some(format!("{program} is not installed")),
            None if is_agent && std::env::var_os("MODEL").is_none() => Some(
                "no model: say MODEL=http://127.0.0.1:PORT, where one answers as Anthropic and OpenAI do"
                    .to_owned(),
            ),
            None => None,
        }
    }
}

/// What a session recorded.
pub struct Recorded {
    pub bytes: Vec<u8>,
    /// The screen while it ran, replayed after its end, and fed the same bytes here: all have the same hash.
    pub same_hash: bool,
}

pub fn screen(bytes: &[u8]) -> Screen {
    let mut screen = Screen::new(SIZE, SCROLLBACK);
    let _ = screen.feed(bytes);
    screen
}

/// Runs a program in a session, drives it, stops it where it stands, and gives what it wrote.
pub fn record(bench: &Bench, program: &Program) -> io::Result<Recorded> {
    let dir = ScratchDir::new();
    furnish(&dir)?;
    let here = dir.path().display().to_string();
    let home = format!("HOME={here}");
    // Agents are where the caller has them, and speak to the model that the caller has.
    let [path, model] =
        ["PATH", "MODEL"].map(|name| format!("{name}={}", std::env::var(name).unwrap_or_default()));
    let options = [
        "run", "-d", "--size", "80x24", "--cwd", &here, "--env", &home, "--env", &path, "--env", &model, "--",
    ];
    let ran = bench.abide.run(&[&options, ALONE, program.command].concat());
    if ran.code() != Some(0) {
        return Err(io::Error::other(ran.stderr));
    }
    let id = ran.stdout.trim_end();
    let mut terminal = Terminal::of_size(SIZE, &bench.abide.command(&["attach", id]));
    for step in program.steps {
        match step {
            Step::See(text) => terminal.until_screen(text, |screen| screen.visible_text().contains(text)),
            Step::Hear(text) => drop(terminal.until(text)),
            Step::Turn(pages) => {
                for _ in 0..*pages {
                    let _ = terminal.until(PAGE);
                    terminal.type_in(b"\r");
                }
                let _ = terminal.until(PAGE);
            }
            Step::Type(keys) => terminal.type_in(keys.as_bytes()),
        }
    }
    let _ = bench.abide.run(&["signal", "STOP", id]);
    let live = bench.abide.json(&["snapshot", id])["data"].take();
    let _ = bench.abide.run(&["signal", "KILL", id]);
    let _ = terminal.reap();
    let _ = bench.abide.run(&["wait", id]);
    let replayed = bench.abide.json(&["snapshot", id])["data"].take();
    let output = bench.abide.command(&["logs", "--raw", id]).stdin(Stdio::null()).output()?;
    let bytes = output.stdout;
    let of = |told: &Value| {
        let at = told["seq"].as_u64().and_then(|seq| usize::try_from(seq).ok());
        let here = at.and_then(|at| bytes.get(..at)).map(|bytes| format!("{:016x}", screen(bytes).hash()));
        here.is_some_and(|here| told["hash"] == here.as_str())
    };
    let same_hash = of(&live) && of(&replayed) && replayed["seq"].as_u64() == Some(bytes.len() as u64);
    Ok(Recorded { bytes, same_hash })
}

/// Files to look at.
fn furnish(dir: &ScratchDir) -> io::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    std::fs::copy(root.join("crates/core/src/guard.rs"), dir.join("guard.rs"))?;
    std::fs::copy(root.join("ARCHITECTURE.md"), dir.join("notes.md"))?;
    let _ = dir.file("wide.txt", WIDE);
    let git = |args: &[&str]| {
        let mut git = Command::new("git");
        git.current_dir(dir.path()).env("HOME", dir.path()).env("GIT_CONFIG_NOSYSTEM", "1");
        git.args(["-c", "user.name=Some One", "-c", "user.email=one@example.org"]).args(args);
        git.env("GIT_AUTHOR_DATE", DATE).env("GIT_COMMITTER_DATE", DATE);
        git.stdout(Stdio::null()).stderr(Stdio::null()).status()
    };
    git(&["init", "-q", "-b", "main"])?;
    for name in ["guard.rs", "notes.md", "wide.txt"] {
        git(&["add", name])?;
        git(&["commit", "-q", "-m", &format!("{name}: schön, 漢字 und 😀")])?;
    }
    git(&["checkout", "-q", "-b", "side", "HEAD~1"])?;
    git(&["commit", "-q", "--allow-empty", "-m", "side: another way"])?;
    git(&["merge", "-q", "-m", "both ways", "main"])?;
    Ok(())
}

const DATE: &str = "2026-01-02T03:04:05Z";
const WIDE: &str = "漢字かな交じり文 한국어 ｆｕｌｌ\ne\u{301} a\u{308}\u{323} क्षि ไทย עברית العربية\n\
                    😀 👍 🚀 ✓ ✗ → ─│┌┐ ░▒▓█ ⠋⠙⠹\n\tTab\tand\ttab\n";

use Step::{Hear, See, Turn, Type};

/// What vttest says at the end of each page.
const PAGE: &str = "Push <RETURN>";
const NEXT: Step = Type("\r");
const MENU: Step = Hear("Enter choice number");

pub const PROGRAMS: &[Program] = &[
    Program {
        name: "vim",
        command: &["vim", "-u", "NONE", "-N", "guard.rs"],
        needs: "",
        steps: &[
            See("guard.rs\""),
            Type(":set nu hls ls=2 ru sc cul\r:syn on\r"),
            Type(":vsp wide.txt\r/Tab\r\x17wV5j"),
            See("VISUAL LINE"),
        ],
    },
    Program {
        name: "less",
        command: &["less", "-R", "-N", "notes.md"],
        needs: "",
        steps: &[See("notes.md"), Type(" /guard\r"), Type("n"), Type("kk"), Type("-S"), See("Chop")],
    },
    Program {
        name: "htop",
        command: &["htop"],
        needs: "",
        steps: &[See("F10"), Type("t"), See("F5List"), Type("\x1bOB"), Type("\x1bOP"), See("Arrows")],
    },
    Program {
        name: "top",
        command: &["top"],
        needs: "",
        steps: &[See("PID"), Type("z"), Type("x"), Type("1"), Hear("PID")],
    },
    Program {
        name: "nano",
        command: &["nano", "-l", "wide.txt"],
        needs: "",
        steps: &[
            See("Write Out"),
            Type("new 漢字 text\r"),
            Type("\x1b[B\x1b[B"),
            Type("\x0bcut"),
            See("cut"),
        ],
    },
    Program {
        name: "man",
        command: &["man", "bash"],
        needs: "",
        steps: &[See("BASH(1)"), Type("  /HISTORY\r"), See("HISTORY")],
    },
    Program {
        name: "tmux",
        command: &["tmux", "-S", "socket", "-f", "/dev/null", "new", "env PS1='$ ' sh"],
        needs: "",
        steps: &[
            See("$"),
            Type("printf 'one \\033[1;32m漢字\\033[m\\n'; cat wide.txt\r"),
            See("and"),
            Type("\x02%"),
            Type("ls --color=always /\r"),
            See("usr"),
            Type("\x02\""),
            Type("\x02t"),
            See(":"),
        ],
    },
    Program {
        name: "git-log",
        command: &["git", "-c", "core.pager=less -R", "log", "--color=always", "--graph", "--stat", "-p"],
        needs: "less",
        steps: &[See(":"), Type("jjjj"), Type(" "), Type("/fn\r"), See("fn")],
    },
    Program {
        name: "claude",
        command: &["sh", "-c", CLAUDE],
        needs: "claude",
        steps: &[
            See("❯"),
            Type("hello"),
            See("hello"),
            Type("\r"),
            See("fake-reply"),
            Type("/"),
            See("/add-dir"),
        ],
    },
    Program {
        name: "codex",
        command: &["sh", "-c", CODEX],
        needs: "codex",
        steps: &[
            See("›"),
            Type("hello"),
            See("hello"),
            Type("\r"),
            See("fake-reply"),
            Type("/"),
            See("/model"),
        ],
    },
    Program {
        name: "opencode",
        command: &["sh", "-c", OPENCODE],
        needs: "opencode",
        steps: &[
            See("Ask"),
            Type("hello"),
            See("hello"),
            Type("\r"),
            See("fake-reply"),
            Type("/"),
            See("/export"),
        ],
    },
    Program {
        name: "mc",
        command: &["mc", "-u"],
        needs: "",
        steps: &[See("Quit"), Type("\x1b[20~\r"), See("Listing")],
    },
    Program {
        name: "dialog",
        command: &[
            "dialog",
            "--colors",
            "--title",
            "Größe 漢字",
            "--checklist",
            "\\Z1choose\\Zn \\Zbwell\\Zn",
            "15",
            "50",
            "5",
            "one",
            "the first",
            "on",
            "two",
            "der zweite 漢",
            "off",
            "three",
            "😀",
            "on",
        ],
        needs: "",
        steps: &[See("Cancel"), Type("\x1bOB "), See("[*] two")],
    },
    Program {
        name: "emacs",
        command: &["emacs", "-nw", "-Q", "--eval", EMACS],
        needs: "",
        steps: &[See("and"), Type("\x18o"), Type("\x18o"), Type("\x13enum"), See("I-search")],
    },
    Program { name: "grep", command: &["bash", "-c", GREP], needs: "grep", steps: &[See("done")] },
    Program { name: "vttest-cursor", command: &["vttest"], needs: "", steps: &[MENU, Type("1\r"), Turn(5)] },
    Program { name: "vttest-screen", command: &["vttest"], needs: "", steps: &[MENU, Type("2\r"), Turn(13)] },
    Program {
        name: "vttest-sets",
        command: &["vttest"],
        needs: "",
        steps: &[
            MENU,
            Type("3\r"),
            MENU,
            Type("8\r"),
            Turn(0),
            NEXT,
            MENU,
            Type("9\r"),
            Turn(0),
            NEXT,
            MENU,
            Type("10\r"),
            Turn(0),
        ],
    },
    Program { name: "vttest-edit", command: &["vttest"], needs: "", steps: &[MENU, Type("8\r"), Turn(10)] },
    Program {
        name: "vttest-colours",
        command: &["vttest"],
        needs: "",
        steps: &[
            MENU,
            Type("11\r"),
            MENU,
            Type("6\r"),
            MENU,
            Type("2\r"),
            Turn(0),
            NEXT,
            MENU,
            Type("3\r"),
            Turn(0),
            NEXT,
            MENU,
            Type("4\r"),
            Turn(0),
        ],
    },
    Program {
        name: "vttest-erase",
        command: &["vttest"],
        needs: "",
        steps: &[MENU, Type("11\r"), MENU, Type("6\r"), MENU, Type("5\r"), Turn(1)],
    },
    Program {
        name: "vttest-repeat",
        command: &["vttest"],
        needs: "",
        steps: &[
            MENU,
            Type("11\r"),
            MENU,
            Type("7\r"),
            MENU,
            Type("2\r"),
            Turn(0),
            NEXT,
            MENU,
            Type("3\r"),
            Turn(0),
            NEXT,
            MENU,
            Type("6\r"),
            Turn(0),
        ],
    },
    Program {
        name: "tput",
        command: &["bash", "-c", include_str!("../scripts/tput.sh")],
        needs: "tput",
        steps: &[Hear("done")],
    },
    Program {
        name: "looks",
        command: &["bash", "-c", include_str!("../scripts/looks.sh")],
        needs: "",
        steps: &[Hear("done")],
    },
    Program {
        name: "emoji",
        command: &["bash", "-c", include_str!("../scripts/emoji.sh")],
        needs: "",
        steps: &[Hear("done")],
    },
];

const EMACS: &str = r#"(progn (setq inhibit-startup-screen t) (find-file "wide.txt") (split-window-right)
(find-file "guard.rs") (global-hl-line-mode 1))"#;
const GREP: &str = "grep --color=always -no 'a.*e' notes.md | head -30; grep --color=always -n e wide.txt notes.md | tail -30; \
                    printf done; exec cat >/dev/null";

const CLAUDE: &str = r#"export IS_SANDBOX=1 CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 DISABLE_AUTOUPDATER=1
export ANTHROPIC_BASE_URL=$MODEL ANTHROPIC_API_KEY=dummy-key-000000000000
cat >.claude.json <<END
{"hasCompletedOnboarding":true,"theme":"dark","customApiKeyResponses":{"approved":["mmy-key-000000000000"],"rejected":[]},
"projects":{"$HOME":{"hasTrustDialogAccepted":true,"hasCompletedProjectOnboarding":true}}}
END
exec claude"#;
const CODEX: &str = r#"export OPENAI_API_KEY=dummy
mkdir .codex; cat >.codex/config.toml <<END
model = "gpt-5-codex"
model_provider = "fake"
check_for_update_on_startup = false
[model_providers.fake]
name = "fake"
base_url = "$MODEL/v1"
wire_api = "responses"
env_key = "OPENAI_API_KEY"
[projects."$HOME"]
trust_level = "trusted"
END
exec codex"#;
const OPENCODE: &str = r#"export OPENCODE_DISABLE_AUTOUPDATE=1 OPENCODE_DISABLE_MODELS_FETCH=1 OPENCODE_DISABLE_LSP_DOWNLOAD=1
export OPENCODE_DISABLE_DEFAULT_PLUGINS=1
mkdir -p .config/opencode; cat >.config/opencode/opencode.json <<END
{"model":"fake/fm","provider":{"fake":{"npm":"@ai-sdk/openai-compatible","options":{"baseURL":"$MODEL/v1","apiKey":"x"},
"models":{"fm":{"tool_call":true}}}},"permission":{"bash":"allow"}}
END
exec opencode"#;
