//! A stand-in for Claude Code, for tests without a model: it keeps the same list of sessions, writes transcripts of the
//! same form, runs the hooks in its settings, shows the same title and the same question before it runs a tool. It is started under the name `claude`.
//! A prompt with `TOOL:[command]` has it ask for that command; `HANG` has it work until it is left; `UNLISTED` is answered without being listed as at work; `exit N` ends it with that
//! code; with `LATE` it works for a while before it writes anything; anything else is answered. Without a terminal it asks nobody, and ends with the code of the tool that it ran. With `--untrusted` it asks a question first; with `--slow` it
//! takes its time before its input is there, and loses what is typed before. With `--wrap` before
//! all others it starts itself and stands by, as the wrappers of some agents do; with `--wrap-behind FIFO` once that can be read.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};

use abide_sys::{clock, poll};
use serde_json::{Value, json};

use super::typing::raw;

/// What we say we are.
const VERSION: &str = "2.1.197";
/// So long a slow one takes to begin.
const SLOW_MS: u64 = 800;
/// So long it works before it writes, where it is late.
const LATE_MS: u64 = 1_500;
/// So long a turn takes that only its transcript tells of.
const UNLISTED_MS: u64 = 400;

/// Runs it: in a terminal, or with `-p PROMPT` for one turn.
pub(super) fn main(args: &[String]) -> ExitCode {
    let done = match args {
        [wraps, inner @ ..] if wraps == "--wrap" => wrap(inner),
        [wraps, gate, inner @ ..] if wraps == "--wrap-behind" => fs::read(gate).and_then(|_| wrap(inner)),
        _ => run(args),
    };
    match done {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            let _ = writeln!(io::stderr(), "claude: {error}");
            ExitCode::FAILURE
        }
    }
}

fn wrap(args: &[String]) -> io::Result<u8> {
    let mut agent = Command::new(std::env::current_exe()?);
    let ended = agent.args(args).status()?;
    Ok(ended.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}

fn run(args: &[String]) -> io::Result<u8> {
    let after =
        |name: &str| args.iter().position(|word| word == name).and_then(|at| args.get(at + 1)).cloned();
    let resumed = after("--resume");
    let id = resumed.clone().or_else(|| after("--session-id")).map_or_else(random, Ok)?;
    let home = PathBuf::from(std::env::var_os("HOME").ok_or(io::ErrorKind::NotFound)?).join(".claude");
    let cwd = std::env::current_dir()?;
    let slug: String =
        cwd.to_string_lossy().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let transcript = home.join("projects").join(slug).join(format!("{id}.jsonl"));
    let entry = home.join("sessions").join(format!("{}.json", std::process::id()));
    for path in [&transcript, &entry] {
        fs::create_dir_all(path.parent().ok_or(io::ErrorKind::NotFound)?)?;
    }
    if resumed.is_some() && !transcript.exists() {
        return Err(io::Error::other(format!("No conversation found with session ID: {id}")));
    }
    let leaf = last_answered(&transcript);
    let (cwd, settings) = (cwd.display().to_string(), home.join("settings.json"));
    let mut claude = Claude { id, cwd, transcript, entry, settings, leaf, tty: true };
    let code = match after("-p") {
        Some(prompt) => {
            claude.tty = false;
            claude.list(None, None)?;
            claude.turn(&prompt, &mut io::stdin())?
        }
        None => {
            if args.iter().any(|word| word == "--untrusted") {
                raw()?;
                claude.show(
                    "Do you trust this folder?\r\n❯ 1. Yes, I trust this folder\r\n  2. No, exit\r\n",
                )?;
                next(&mut io::stdin())?;
                claude.show("\x1b[2J\x1b[H")?;
            }
            let has = |name: &str| args.iter().any(|word| word == name);
            claude.converse(has("--slow"), has("--slow-paste"))?
        }
    };
    fs::remove_file(&claude.entry).map(|()| code)
}

struct Claude {
    id: String,
    cwd: String,
    transcript: PathBuf,
    /// Its entry in the list of sessions.
    entry: PathBuf,
    settings: PathBuf,
    leaf: Option<String>,
    tty: bool,
}

impl Claude {
    fn converse(&mut self, slow: bool, slow_paste: bool) -> io::Result<u8> {
        raw()?;
        self.list(Some("idle"), None)?;
        if slow {
            self.show("\x1b]0;✳ Claude Code\x07\r\n❯ ")?;
            if poll::readable(&[io::stdin().as_fd()], Some(SLOW_MS))[0] {
                let _ = io::stdin().read(&mut [0; 4096])?;
            }
        }
        self.show("\x1b[?2004h\x1b]0;✳ Claude Code\x07\r\n  ? for shortcuts\r\n❯ ")?;
        let mut keys = io::stdin();
        let mut typed = Vec::new();
        while let Some(key) = next(&mut keys)? {
            match key {
                // Ctrl-D and Ctrl-C leave it.
                4 | 3 => break,
                b'\r' if !is_in_paste(&typed) => {
                    let prompt = String::from_utf8_lossy(&typed)
                        .replace("\x1b[200~", "")
                        .replace("\x1b[201~", "")
                        .replace('\r', "\n");
                    typed.clear();
                    if let Some(code) = prompt.strip_prefix("exit ").and_then(|code| code.parse().ok()) {
                        return Ok(code);
                    }
                    if !prompt.trim().is_empty() {
                        self.turn(prompt.trim(), &mut keys)?;
                        self.show("\x1b]0;✳ Claude Code\x07")?;
                        self.hook("Stop", json!({}))?;
                        self.list(Some("idle"), None)?;
                        self.show("\r\n❯ ")?;
                    }
                }
                key => {
                    typed.push(key);
                    if !slow_paste {
                        self.show_bytes(&[key])?;
                    } else if typed.ends_with(b"\x1b[201~") {
                        self.take_in(&typed)?;
                    }
                }
            }
        }
        self.show("\x1b[?2004l\r\n").map(|()| 0)
    }

    /// Takes in what was pasted: shows something else at once, itself after a while, and loses every key in between.
    fn take_in(&self, pasted: &[u8]) -> io::Result<()> {
        self.show("\x1b]0;✳ Claude Code\x07")?;
        let until = clock::now().boot + SLOW_MS;
        while let Some(left) = until.checked_sub(clock::now().boot).filter(|left| *left > 0) {
            if poll::readable(&[io::stdin().as_fd()], Some(left))[0] {
                let _ = io::stdin().read(&mut [0; 4096])?;
            }
        }
        self.show_bytes(pasted)
    }

    /// Takes a turn; gives the code of the tool that it ran.
    fn turn(&mut self, prompt: &str, keys: &mut impl Read) -> io::Result<u8> {
        if prompt.contains("LATE") {
            self.busy()?;
            let _ = poll::readable(&[io::stdin().as_fd()], Some(LATE_MS));
        }
        let uuid = random()?;
        self.hook("UserPromptSubmit", json!({ "prompt": prompt, "prompt_id": format!("prompt-{uuid}") }))?;
        self.line_of(uuid, "user", json!({ "role": "user", "content": prompt }))?;
        if prompt.contains("UNLISTED") {
            // Long enough to be seen in the transcript, where alone it stands.
            let _ = poll::readable(&[io::stdin().as_fd()], Some(UNLISTED_MS));
        } else if prompt.contains("UNSHOWN") {
            self.list(self.tty.then_some("busy"), None)?;
        } else {
            self.busy()?;
        }
        if prompt.contains("HANG") {
            return self.hang(keys);
        }
        let mut code = 0;
        if let Some((_, rest)) = prompt.split_once("TOOL:[") {
            let command = rest.split(']').next().unwrap_or_default();
            let call = format!("toolu_{}", random()?);
            let part =
                json!({ "type": "tool_use", "id": call, "name": "Bash", "input": { "command": command } });
            self.line("assistant", message(&part, "tool_use")?)?;
            if self.tty {
                self.list(Some("waiting"), Some("permission prompt"))?;
                self.show(
                    "\x1b]0;✳ Claude Code\x07\r\n Do you want to proceed?\r\n ❯ 1. Yes\r\n   2. No\r\n",
                )?;
                next(keys)?;
                self.show("\x1b[2J\x1b[H")?;
                self.busy()?;
            }
            // Its tools are in sessions of their own.
            let mut tool = Command::new("setsid");
            tool.env("CLAUDE_CODE_SESSION_ID", &self.id);
            let output = tool.args(["-w", "sh", "-c", command]).process_group(0).output()?;
            code = output.status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1);
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            let result = json!([{ "type": "tool_result", "tool_use_id": call, "content": text }]);
            self.line("user", json!({ "role": "user", "content": result }))?;
        }
        let part = json!({ "type": "text", "text": "fake-reply: ok" });
        self.line("assistant", message(&part, "end_turn")?)?;
        self.show("\r\n● fake-reply: ok\r\n").map(|()| code)
    }

    /// Works until it is interrupted by a key, or left in the middle of the turn: by Ctrl-D, `/exit`, or because nobody can type any more.
    #[expect(clippy::disallowed_methods, reason = "an agent that is left says nothing more")]
    fn hang(&self, keys: &mut impl Read) -> io::Result<u8> {
        let mut typed = Vec::new();
        while let Some(key) = next(keys)?.filter(|key| *key != 4) {
            match key {
                b'\r' | b'\n' if typed == b"/exit" => break,
                key if key == b'/' || !typed.is_empty() => typed.push(key),
                // What was asked for stands in its input again, and nothing more is written of it.
                _ => return Ok(0),
            }
        }
        let _ = fs::remove_file(&self.entry);
        std::process::exit(0)
    }

    fn busy(&self) -> io::Result<()> {
        self.list(self.tty.then_some("busy"), None)?;
        self.show(if self.tty { "\x1b]0;⠂ Claude Code\x07" } else { "" })
    }

    fn list(&self, status: Option<&str>, waiting_for: Option<&str>) -> io::Result<()> {
        let stat = fs::read_to_string("/proc/self/stat")?;
        let start = stat.rsplit(") ").next().and_then(|rest| rest.split(' ').nth(19)).unwrap_or_default();
        let mut entry = json!({ "pid": std::process::id(), "sessionId": self.id, "cwd": self.cwd, "procStart": start,
            "version": VERSION });
        if let Some(status) = status {
            entry["status"] = status.into();
            entry["statusUpdatedAt"] = clock::now().wall.into();
        }
        if let Some(waiting_for) = waiting_for {
            entry["waitingFor"] = waiting_for.into();
        }
        let next = self.entry.with_extension("next");
        OpenOptions::new()
            .create(true)
            .write(true)
            .truncate(true)
            .open(&next)?
            .write_all(entry.to_string().as_bytes())?;
        fs::rename(next, &self.entry)
    }

    /// Runs what its settings have it run then, one after the other.
    fn hook(&self, occasion: &str, more: Value) -> io::Result<()> {
        let settings = fs::read(&self.settings).unwrap_or_default();
        let settings: Value = serde_json::from_slice(&settings).unwrap_or_default();
        let mut told = json!({ "session_id": self.id, "transcript_path": self.transcript, "cwd": self.cwd,
            "hook_event_name": occasion });
        for (key, value) in more.as_object().into_iter().flatten() {
            told[key] = value.clone();
        }
        let groups = settings["hooks"][occasion].as_array().into_iter().flatten();
        for hook in groups.filter_map(|group| group["hooks"].as_array()).flatten() {
            let command = hook["command"].as_str().unwrap_or_default();
            let mut hook = Command::new("sh").args(["-c", command]).stdin(Stdio::piped()).spawn()?;
            // Not every hook wants to hear it.
            let _ = hook.stdin.take().map(|mut stdin| stdin.write_all(told.to_string().as_bytes()));
            hook.wait()?;
        }
        Ok(())
    }

    fn line(&mut self, kind: &str, message: Value) -> io::Result<()> {
        self.line_of(random()?, kind, message)
    }

    fn line_of(&mut self, uuid: String, kind: &str, message: Value) -> io::Result<()> {
        let line = json!({ "type": kind, "uuid": uuid, "parentUuid": self.leaf, "isSidechain": false, "sessionId": self.id,
            "cwd": self.cwd, "version": VERSION, "timestamp": time(), "promptId": format!("prompt-{uuid}"),
            "message": message });
        self.leaf = Some(uuid);
        let mut file = OpenOptions::new().create(true).append(true).open(&self.transcript)?;
        file.write_all(format!("{line}\n").as_bytes())
    }

    fn show(&self, text: &str) -> io::Result<()> {
        self.show_bytes(text.as_bytes())
    }

    fn show_bytes(&self, bytes: &[u8]) -> io::Result<()> {
        io::stdout().write_all(bytes).and_then(|()| io::stdout().flush())
    }
}

fn message(part: &Value, stop: &str) -> io::Result<Value> {
    Ok(json!({ "id": format!("msg_{}", random()?), "role": "assistant", "model": "fake", "content": [part],
        "stop_reason": stop, "usage": { "input_tokens": 11, "output_tokens": 3 } }))
}

/// The last entry that a resumed conversation goes on from: a call that nothing answered is left behind.
fn last_answered(transcript: &PathBuf) -> Option<String> {
    let text = fs::read_to_string(transcript).ok()?;
    let lines: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let last = lines.last()?;
    let dangling = last["message"]["stop_reason"] == "tool_use";
    let leaf = if dangling { &last["parentUuid"] } else { &last["uuid"] };
    leaf.as_str().map(str::to_owned)
}

fn is_in_paste(typed: &[u8]) -> bool {
    let count = |mark: &[u8]| typed.windows(mark.len()).filter(|window| *window == mark).count();
    count(b"\x1b[200~") > count(b"\x1b[201~")
}

fn next(keys: &mut impl Read) -> io::Result<Option<u8>> {
    let mut key = [0];
    Ok((keys.read(&mut key)? == 1).then_some(key[0]))
}

/// As its IDs look.
fn random() -> io::Result<String> {
    let bytes: [u8; 16] = clock::random_bytes()?;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]))
}

/// Now, as its lines have it.
fn time() -> String {
    let ms = clock::now().wall;
    let (days, rest) = (ms.div_euclid(86_400_000), ms.rem_euclid(86_400_000));
    // Days since 1970 as a date of the Gregorian calendar.
    let z = days + 719_468;
    let (era, doe) = (z.div_euclid(146_097), z.rem_euclid(146_097));
    let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let (day, month) = (doy - (153 * mp + 2) / 5 + 1, if mp < 10 { mp + 3 } else { mp - 9 });
    let year = yoe + era * 400 + i64::from(month <= 2);
    let (h, m, s, milli) = (rest / 3_600_000, rest / 60_000 % 60, rest / 1000 % 60, rest % 1000);
    format!("{year:04}-{month:02}-{day:02}T{h:02}:{m:02}:{s:02}.{milli:03}Z")
}
