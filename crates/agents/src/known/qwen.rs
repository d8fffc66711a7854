//! Qwen Code. The title of its terminal tells nothing; its screen tells what it wants. What stands in its transcript is
//! told in `qwen/transcript.rs`.

mod transcript;

use std::path::{Path, PathBuf};

use super::family::{Family, live};
use crate::adapter::{Adapter, Held, Kin, Options, Place, Process, Running};
use crate::lines::{self, Lines};
use crate::sign::Level;
use crate::story::Reader;

const FAMILY: Family = Family {
    name: "qwen",
    package: "@qwen-code/qwen-code",
    commands: &["mcp", "extensions", "auth", "hooks", "hook", "channel", "review"],
    asides: &["--version", "-v", "--help", "-h", "--list-extensions", "-l"],
    picks: &["--session-id", "--resume", "-r", "--continue", "-c"],
    options: Options {
        valued: &[
            "--telemetry-target",
            "--telemetry-otlp-endpoint",
            "--telemetry-otlp-protocol",
            "--telemetry-outfile",
            "--proxy",
            "--model",
            "-m",
            "--prompt",
            "-p",
            "--prompt-interactive",
            "-i",
            "--system-prompt",
            "--append-system-prompt",
            "--sandbox-image",
            "--approval-mode",
            "--channel",
            "--allowed-mcp-server-names",
            "--mcp-config",
            "--allowed-tools",
            "--extensions",
            "-e",
            "--include-directories",
            "--add-dir",
            "--openai-logging-dir",
            "--openai-api-key",
            "--openai-base-url",
            "--input-format",
            "--output-format",
            "-o",
            "--json-fd",
            "--json-file",
            "--json-schema",
            "--input-file",
            "--resume",
            "-r",
            "--session-id",
            "--max-session-turns",
            "--core-tools",
            "--exclude-tools",
            "--disabled-slash-commands",
            "--auth-type",
        ],
        dropped: &[
            "--session-id",
            "--resume",
            "-r",
            "--continue",
            "-c",
            "--prompt",
            "-p",
            "--prompt-interactive",
            "-i",
        ],
    },
    plain_is_headless: true,
};
const LIVE: usize = 16;
const TERMINATE: i32 = 15;

#[derive(Debug)]
pub(crate) struct Qwen;

impl Adapter for Qwen {
    fn name(&self) -> &'static str {
        "qwen"
    }

    fn packages(&self) -> &'static [&'static str] {
        &["qwen", "@qwen-code/qwen-code"]
    }

    fn variables(&self) -> &'static [&'static str] {
        &["QWEN_RUNTIME_DIR", "QWEN_HOME"]
    }

    fn recognise(&self, process: &Process<'_>) -> Option<Kin> {
        FAMILY.recognise(process)
    }

    fn named_in(&self, argv: &[String]) -> Option<String> {
        Family::named_in(argv)
    }

    fn conversation(&self, running: &Running<'_>) -> Option<Held> {
        Family::held(running, conversations(running.place), |id| self.transcript(running.place, id))
    }

    fn transcript(&self, place: &Place, conversation: &str) -> Option<PathBuf> {
        let file = format!("{conversation}.jsonl");
        let here = chats(place).map(|chats| chats.join(&file)).filter(|path| path.is_file());
        here.or_else(|| {
            let projects = std::fs::read_dir(root(place)?.join("projects")).ok()?;
            let files = projects.flatten().map(|project| project.path().join("chats").join(&file));
            files.into_iter().find(|path| path.is_file())
        })
    }

    fn latest(&self, place: &Place) -> Option<String> {
        conversations(place).next().map(|(_, id)| id)
    }

    fn reader(&self, transcript: &Path, _conversation: &str) -> Box<dyn Reader> {
        Box::new(Lines::<transcript::Conversation>::new(transcript))
    }

    fn screen(&self, lines: &[String]) -> Option<Level> {
        let live = live(lines, LIVE);
        let has = |text: &str| live.iter().any(|line| line.contains(text));
        if has("1. Yes, allow once") && has("(esc)") {
            return Some(Level::APPROVAL);
        }
        if has("esc to cancel)") {
            return Some(Level::WORKING);
        }
        (has("? for shortcuts") && has("Type your message")).then_some(Level::SETTLED)
    }

    fn launch(&self, argv: &[String], conversation: &str) -> Option<Vec<String>> {
        FAMILY.launch(argv, conversation)
    }

    fn resume(&self, argv: &[String], conversation: &str, prompt: Option<&str>) -> Vec<String> {
        FAMILY.resume(argv, conversation, prompt)
    }

    /// It still writes down that its tools were stopped.
    fn polite_signal(&self) -> i32 {
        TERMINATE
    }
}

fn root(place: &Place) -> Option<PathBuf> {
    let runtime = place.variables.get("QWEN_RUNTIME_DIR").filter(|root| !root.is_empty());
    runtime.map(PathBuf::from).or_else(|| place.root("QWEN_HOME", ".qwen"))
}

/// Its directory for conversations that began in this one.
fn chats(place: &Place) -> Option<PathBuf> {
    let cwd = place.cwd.to_string_lossy();
    // As many dashes as the character has units in UTF-16.
    let dash = |c: char| if c.len_utf16() == 2 { "--" } else { "-" };
    let slug: String = cwd
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c.to_string() } else { dash(c).to_owned() })
        .collect();
    Some(root(place)?.join("projects").join(slug).join("chats"))
}

/// The conversations of a directory, the one written to last first.
fn conversations(place: &Place) -> impl Iterator<Item = (i64, String)> + use<> {
    let files = chats(place).map(|chats| lines::newest(&chats, ".jsonl")).unwrap_or_default();
    files.into_iter().filter_map(|(at, path)| Some((at, path.file_stem()?.to_string_lossy().into_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "22222222-2222-4333-8444-555555555555";

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    fn is(argv: &[String], image: &str) -> Option<Kin> {
        let known = crate::recognise(&Process { argv, image: Some(Path::new(image)), name: "node" });
        known.filter(|(adapter, _)| adapter.name() == "qwen").map(|(_, kin)| kin)
    }

    #[test]
    fn the_relauncher_and_its_worker_are_recognised() {
        let node = "/usr/bin/node";
        let rest =
            "--auth-type openai --openai-api-key dummy --openai-base-url http://127.0.0.1:8099/v1 -m fm";
        assert_eq!(is(&words(&format!("node /tmp/agents/bin/qwen {rest}")), node), Some(Kin::Agent));
        assert_eq!(is(&words(&format!("/usr/bin/node /tmp/agents/bin/qwen {rest}")), node), Some(Kin::Agent));
        let script = format!("node /usr/lib/node_modules/@qwen-code/qwen-code/cli.js {rest}");
        assert_eq!(is(&words(&script), node), Some(Kin::Agent));
    }

    #[test]
    fn what_only_mentions_it_or_is_no_conversation_is_not() {
        let node = "/usr/bin/node";
        assert_eq!(is(&words("node /tmp/agents/bin/qwen mcp list"), node), None);
        assert_eq!(is(&words("node /tmp/agents/bin/qwen --version"), node), None);
        let shell = ["bash", "-c", "qwen --yolo -p hello"].map(str::to_owned);
        assert_eq!(is(&shell, "/usr/bin/bash"), None);
        assert_eq!(is(&words("timeout 60 qwen --yolo -p hello"), "/usr/bin/timeout"), None);
    }

    #[test]
    fn the_screen_tells_every_phase() {
        let screen = |text: &str| Qwen.screen(&text.lines().map(str::to_owned).collect::<Vec<_>>());
        let idle =
            "  ✦ fake-reply: ok\n\n───\n>   Type your message or @path/to/file\n───\n  ? for shortcuts\n\n\n";
        assert_eq!(screen(idle), Some(Level::SETTLED));
        let line = "  ⠸ Channeling the Force... (1s · ↑ 17 tokens · esc to cancel)\n";
        assert_eq!(screen(&format!("{line}{idle}")), Some(Level::WORKING));
        let approval = "  │ Allow execution of: 'touch, sleep'?   │\n  │     │\n  │ › 1. Yes, allow once     │\n  │   2. Always allow run 'touch *' commands     │\n  │   4. No, suggest changes (esc)   │\n  ╰───╯\n\n  ⠏ Just a moment, I'm in the zone...\n";
        assert_eq!(screen(approval), Some(Level::APPROVAL));
        assert_eq!(screen("  ⠴ Initializing...\n"), None);
        assert_eq!(Qwen.title("Qwen - w"), None);
    }

    #[test]
    fn it_is_launched_and_resumed_with_its_own_options() {
        let launch = Qwen.launch(&words("qwen -m fm -p hello"), ID);
        assert_eq!(launch, Some(words(&format!("qwen --session-id {ID} -m fm -p hello"))));
        assert_eq!(Qwen.launch(&words("qwen -c"), ID), None);
        let again = Qwen.resume(&words("qwen -m fm --yolo hello"), ID, Some("more"));
        assert_eq!(again, words(&format!("qwen -m fm --yolo --resume {ID} -p more")));
        let again = Qwen.resume(&words("qwen -m fm -i hello"), ID, Some("more"));
        assert_eq!(again, words(&format!("qwen -m fm --resume {ID} -i more")));
        assert_eq!(
            Qwen.resume(&words("qwen -m fm -p hello"), ID, None),
            words(&format!("qwen -m fm --resume {ID}"))
        );
    }
}
