//! Aider. One file at the root of a git repository holds all that was ever said there, without IDs and times: the path of
//! that file stands for the conversation. What stands in it is told in `aider/history.rs`.

mod history;

use std::path::{Path, PathBuf};

use super::family::live;
use crate::adapter::{Adapter, By, Held, Kin, Place, Process, Running, base, option};
use crate::lines;
use crate::sign::Level;
use crate::story::Reader;

const FILE: &str = ".aider.chat.history.md";
const FILE_OPTION: &str = "--chat-history-file";
const FILE_VARIABLE: &str = "AIDER_CHAT_HISTORY_FILE";
/// What these options ask for is no conversation.
const ASIDES: [&str; 20] = [
    "--version",
    "--help",
    "-h",
    "--list-models",
    "--models",
    "--just-check-update",
    "--install-main-branch",
    "--upgrade",
    "--update",
    "--commit",
    "--lint",
    "--test",
    "--apply",
    "--apply-clipboard-edits",
    "--exit",
    "--show-repo-map",
    "--show-prompts",
    "--shell-completions",
    "--gui",
    "--browser",
];
/// Options with a prompt, which is not given again.
const PROMPTS: [&str; 5] = ["--message", "--msg", "-m", "--message-file", "-f"];
/// What it asks when it wants to do something, not to know something.
const PERMISSIONS: [&str; 5] =
    ["Run shell command", "Edit the files?", "Create new file?", "Allow edits to", "Do you want to create"];
/// A question is not longer.
const LIVE: usize = 6;
const TERMINATE: i32 = 15;

#[derive(Debug)]
pub(crate) struct Aider;

impl Adapter for Aider {
    fn name(&self) -> &'static str {
        "aider"
    }

    fn variables(&self) -> &'static [&'static str] {
        &[FILE_VARIABLE]
    }

    fn recognise(&self, process: &Process<'_>) -> Option<Kin> {
        let at = program(process.argv)?;
        let is_python = |image: &Path| base(&image.to_string_lossy()).starts_with("python");
        let fits = process.image.is_none_or(|image| is_python(image) || image.ends_with("aider"));
        let aside = process.argv[at + 1..].iter().any(|word| ASIDES.contains(&word.as_str()));
        (fits && !aside).then_some(Kin::Agent)
    }

    fn named_in(&self, argv: &[String]) -> Option<String> {
        option(argv, &[FILE_OPTION]).map(str::to_owned)
    }

    fn conversation(&self, running: &Running<'_>) -> Option<Held> {
        let named = self.named_in(running.argv).map(|file| (running.place.cwd.join(file), By::Argument));
        // It writes a line as it begins: a file that was not written to since is another's.
        let found = || {
            let file = file(running.place);
            written_at(&file).filter(|at| *at >= running.started_ms).map(|_| (file, By::Newest))
        };
        let (file, by) = named.or_else(found)?;
        let conversation = file.to_string_lossy().into_owned();
        Some(Held { conversation, transcript: Some(file).filter(|file| file.is_file()), by })
    }

    fn transcript(&self, place: &Place, conversation: &str) -> Option<PathBuf> {
        Some(place.cwd.join(conversation)).filter(|file| file.is_file())
    }

    fn latest(&self, place: &Place) -> Option<String> {
        Some(file(place)).filter(|file| file.is_file()).map(|file| file.to_string_lossy().into_owned())
    }

    fn reader(&self, transcript: &Path, _conversation: &str) -> Box<dyn Reader> {
        Box::new(history::History::new(transcript))
    }

    fn screen(&self, lines: &[String]) -> Option<Level> {
        let live = live(lines, LIVE);
        let last = live.last()?.trim();
        if last.contains("Waiting for ") && last.starts_with(['█', '░']) {
            return Some(Level::WORKING);
        }
        if last.contains("(Y)es/(N)o") && last.ends_with(':') {
            let is_permission = PERMISSIONS.iter().any(|asked| live.iter().any(|line| line.contains(asked)));
            return Some(if is_permission { Level::APPROVAL } else { Level::ANSWER });
        }
        // What it is ready for stands before the mark, if it is not code: `ask>`.
        let mode = last.strip_suffix('>')?;
        mode.chars().all(|c| c.is_ascii_lowercase() || c == ' ').then_some(Level::SETTLED)
    }

    /// Files to work on are given again. One that talks in a terminal takes no prompt as it begins.
    fn resume(&self, argv: &[String], _conversation: &str, prompt: Option<&str>) -> Vec<String> {
        let mut again = Vec::new();
        let mut is_headless = false;
        let mut words = argv.iter();
        while let Some(word) = words.next() {
            let name = word.split('=').next().unwrap_or(word);
            if PROMPTS.contains(&name) {
                is_headless = true;
                if name == word {
                    words.next();
                }
            } else if !["--restore-chat-history", "--no-restore-chat-history"].contains(&name) {
                again.push(word.clone());
            }
        }
        again.push("--restore-chat-history".to_owned());
        if let Some(prompt) = prompt.filter(|_| is_headless) {
            again.extend(["--message".to_owned(), prompt.to_owned()]);
        }
        again
    }

    /// It holds nothing back that could be lost, and in a terminal one interrupt does not end it.
    fn polite_signal(&self) -> i32 {
        TERMINATE
    }
}

/// Where it stands on a command line: first, or behind an interpreter and its options.
fn program(argv: &[String]) -> Option<usize> {
    let first = base(argv.first()?);
    if first == "aider" {
        return Some(0);
    }
    if !first.starts_with("python") {
        return None;
    }
    let module = argv.iter().position(|word| word == "-m").map(|at| at + 1);
    let script = || argv.iter().skip(1).position(|word| !word.starts_with('-')).map(|at| at + 1);
    module.or_else(script).filter(|at| argv.get(*at).is_some_and(|word| base(word) == "aider"))
}

/// Where it keeps what is said in this directory.
fn file(place: &Place) -> PathBuf {
    if let Some(file) = place.variables.get(FILE_VARIABLE).filter(|file| !file.is_empty()) {
        return place.cwd.join(file);
    }
    let root = place.cwd.ancestors().find(|directory| directory.join(".git").exists());
    root.unwrap_or(&place.cwd).join(FILE)
}

/// When a file was last written to, in ms of wall time.
fn written_at(file: &Path) -> Option<i64> {
    lines::newest(file.parent()?, &file.file_name()?.to_string_lossy())
        .into_iter()
        .find_map(|(at, path)| (path == file).then_some(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    fn is(line: &str, image: &str) -> Option<Kin> {
        Aider.recognise(&Process { argv: &words(line), image: Some(Path::new(image)), name: "aider" })
    }

    #[test]
    fn it_is_recognised_behind_its_interpreter() {
        let python = "/opt/python/bin/python3.11";
        let line =
            "/tmp/agents/aider/bin/python3 /tmp/agents/bin/aider --model openai/fm --analytics-disable";
        assert_eq!(is(line, python), Some(Kin::Agent));
        assert_eq!(is("python3 -m aider --model openai/fm", python), Some(Kin::Agent));
        assert_eq!(is("python3 -I /x/bin/aider --version", python), None);
        assert_eq!(is("python3 /x/bin/aider --list-models fm", python), None);
        assert_eq!(is("python3 setup.py aider", python), None);
        assert_eq!(is("sh -c aider", "/bin/dash"), None);
        assert_eq!(is("vim aider", "/usr/bin/vim"), None);
    }

    #[test]
    fn the_screen_tells_every_phase() {
        let screen = |text: &str| Aider.screen(&text.lines().map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(screen("Tokens: 592 sent, 4 received.\n──────\n>\n\n\n"), Some(Level::SETTLED));
        assert_eq!(screen("──────\nnofile.txt\nask> \n"), Some(Level::SETTLED));
        assert_eq!(screen("> please HANG\n\n    █░     Waiting for openai/fm\n"), Some(Level::WORKING));
        assert_eq!(screen("──────\n> hello\n"), None);
        assert_eq!(
            screen("\n    ^C     Waiting for openai/fm\n\n^C again to exit\n\n\n──────\n>\n"),
            Some(Level::SETTLED)
        );
        let asks = "> /run sleep 4\n\nAdd 0.0k tokens of command output to the chat? (Y)es/(N)o [Yes]:\n";
        assert_eq!(screen(asks), Some(Level::ANSWER));
        let asks = "> /add nofile.txt\n\nNo files matched 'nofile.txt'. Do you want to create /home/me/project/nofile.txt? (Y)es/(N)o [Yes]:\n";
        assert_eq!(screen(asks), Some(Level::APPROVAL));
        assert_eq!(screen(&asks.replace("]:", "]: y\nAdded nofile.txt to the chat")), None);
    }

    #[test]
    fn it_is_resumed_with_its_files_and_without_its_prompt() {
        let again =
            Aider.resume(&words("aider --model openai/fm --message hello src/a.py"), "x", Some("more"));
        let with = "aider --model openai/fm src/a.py --restore-chat-history --message more";
        assert_eq!(again, words(with));
        let again = Aider.resume(&words("aider --restore-chat-history a.py"), "x", Some("more"));
        assert_eq!(again, words("aider a.py --restore-chat-history"));
    }
}
