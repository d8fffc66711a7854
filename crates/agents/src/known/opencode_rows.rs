//! A conversation of OpenCode's, out of the rows of its database: messages, and the parts of each. Messages before its
//! latest reply change no more, so that only what came since is asked for again.

use std::io;
use std::path::{Path, PathBuf};

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension};
use serde::Deserialize;
use serde_json::Value;

use crate::database::{self, Look};
use crate::story::{Call, How, LastTurn, Reader, Story, Tokens};

/// A longer row is passed over.
const LONGEST: u32 = 16 << 20;
/// What it notes of a call that a person refused; only then does it stop by itself after a call.
const REFUSED: [&str; 2] =
    ["The user rejected permission to use this specific tool call.", "The user dismissed this question"];

/// Reads one conversation of a database.
#[derive(Debug)]
pub(crate) struct Rows {
    path: PathBuf,
    conversation: String,
    look: Look,
    settled: Folded,
    story: Story,
}

/// Messages, folded.
#[derive(Debug, Clone, Default)]
struct Folded {
    story: Story,
    /// So many messages, the last of them this one: when it was created, and its name.
    messages: i64,
    last: (i64, String),
}

impl Rows {
    pub(crate) fn new(path: &Path, conversation: &str) -> Self {
        Self {
            path: path.to_owned(),
            conversation: conversation.to_owned(),
            look: Look::default(),
            settled: Folded::default(),
            story: Story::default(),
        }
    }

    fn ask(&self) -> io::Result<(Folded, Story)> {
        let answer = database::ask(&self.path, &mut |database| self.told(database))?;
        answer.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "no such conversation in the database"))
    }

    /// What of it is settled by now, and what all of it says.
    fn told(&self, database: &Connection) -> rusqlite::Result<Option<(Folded, Story)>> {
        let session = "SELECT directory, version FROM session WHERE id = ?1";
        let session = database.query_row(session, [&self.conversation], |row| {
            Ok((row.get::<_, Option<String>>(0)?, row.get::<_, Option<String>>(1)?))
        });
        let Some((directory, version)) = session.optional()? else {
            return Ok(None);
        };
        let mut settled = self.settled(database)?;
        let mut since = database.prepare(
            "SELECT id, time_created, time_updated, CASE WHEN octet_length(data) <= ?4 THEN data END FROM message
             WHERE session_id = ?1 AND (time_created, id) > (?2, ?3) ORDER BY time_created, id",
        )?;
        let mut parts = database.prepare(
            "SELECT time_updated, CASE WHEN octet_length(data) <= ?2 THEN data END FROM part
             WHERE message_id = ?1 ORDER BY id",
        )?;
        let (at, id) = settled.last.clone();
        let mut rows = since.query((&self.conversation, at, id, LONGEST))?;
        // The latest reply, and prompts that it has not come to.
        let mut open: Vec<Message> = Vec::new();
        while let Some(row) = rows.next()? {
            let mut message = Message::new(row.get(0)?, row.get(1)?, row.get(2)?, parsed(row.get_ref(3)?));
            let mut rows = parts.query((&message.id, LONGEST))?;
            while let Some(row) = rows.next()? {
                message.part(row.get(0)?, parsed(row.get_ref(1)?));
            }
            if message.is_reply() {
                open.drain(..).for_each(|message| settled.take(message));
            }
            open.push(message);
        }
        let mut all = settled.clone();
        open.into_iter().for_each(|message| all.take(message));
        let conversation = Some(self.conversation.clone());
        let cwd = directory.map(PathBuf::from);
        Ok(Some((settled, Story { conversation, version, cwd, ..all.story })))
    }

    /// What was settled before, unless some of it was taken back since.
    fn settled(&self, database: &Connection) -> rusqlite::Result<Folded> {
        let count = "SELECT count(*) FROM message WHERE session_id = ?1 AND (time_created, id) <= (?2, ?3)";
        let (at, id) = &self.settled.last;
        let messages: i64 = database.query_row(count, (&self.conversation, at, id), |row| row.get(0))?;
        Ok(if messages == self.settled.messages { self.settled.clone() } else { Folded::default() })
    }
}

impl Reader for Rows {
    fn read_on(&mut self) -> io::Result<bool> {
        let file = self.look.file();
        if !self.look.again(&self.path)? {
            return Ok(false);
        }
        if self.look.file() != file {
            self.settled = Folded::default();
        }
        let answer = self.ask();
        if answer.is_err() {
            self.look.forget();
        }
        let (settled, story) = match answer {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            answer => answer?,
        };
        let changed = story != self.story;
        (self.settled, self.story) = (settled, story);
        Ok(changed)
    }

    fn story(&self) -> &Story {
        &self.story
    }
}

/// What a row holds, if it makes sense.
fn parsed<'a, T: Deserialize<'a>>(data: ValueRef<'a>) -> Option<T> {
    serde_json::from_slice(data.as_bytes().ok()?).ok()
}

/// What a row of messages holds.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Said {
    role: String,
    #[serde(rename = "modelID")]
    model: Option<String>,
    #[serde(default)]
    time: Times,
    finish: Option<String>,
    error: Option<Failure>,
    tokens: Option<Usage>,
    /// Not to the person, but in the place of what was said before; for a prompt, what it changed.
    summary: Option<Value>,
}

#[derive(Deserialize, Default)]
struct Times {
    start: Option<i64>,
    completed: Option<i64>,
}

#[derive(Deserialize)]
struct Failure {
    name: String,
}

#[derive(Deserialize)]
struct Usage {
    #[serde(default)]
    input: u64,
    #[serde(default)]
    output: u64,
    #[serde(default)]
    reasoning: u64,
    #[serde(default)]
    cache: Cache,
}

#[derive(Deserialize, Default)]
struct Cache {
    #[serde(default)]
    read: u64,
    #[serde(default)]
    write: u64,
}

impl From<&Usage> for Tokens {
    fn from(usage: &Usage) -> Self {
        let cached = usage.cache.read + usage.cache.write;
        Self { input: usage.input + cached, output: usage.output + usage.reasoning, cached }
    }
}

/// What a row of parts holds.
#[derive(Deserialize)]
struct Part {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    synthetic: bool,
    tool: Option<String>,
    #[serde(rename = "callID")]
    call: Option<String>,
    #[serde(rename = "state")]
    progress: Option<Progress>,
    #[serde(default)]
    files: Vec<String>,
}

/// How far a call is.
#[derive(Deserialize)]
struct Progress {
    status: String,
    #[serde(default)]
    input: Value,
    error: Option<String>,
    #[serde(default)]
    time: Times,
}

/// A message with its parts.
struct Message {
    id: String,
    at: i64,
    written_at: i64,
    /// None if it makes no sense.
    said: Option<Said>,
    unreadable: u64,
    tools: Vec<String>,
    files: Vec<String>,
    unanswered: Vec<Call>,
    refused: bool,
    /// Of a prompt: whether the agent gave it to itself.
    own: bool,
    parts: u64,
}

impl Message {
    fn new(id: String, at: i64, written_at: i64, said: Option<Said>) -> Self {
        Self {
            id,
            at,
            written_at,
            unreadable: u64::from(said.is_none()),
            said,
            tools: Vec::new(),
            files: Vec::new(),
            unanswered: Vec::new(),
            refused: false,
            own: true,
            parts: 0,
        }
    }

    fn is_reply(&self) -> bool {
        self.said.as_ref().is_some_and(|said| said.role == "assistant")
    }

    fn part(&mut self, written_at: i64, part: Option<Part>) {
        self.parts += 1;
        self.written_at = self.written_at.max(written_at);
        let Some(part) = part else {
            self.unreadable += 1;
            return;
        };
        self.own &= part.synthetic || part.kind == "compaction";
        self.files.extend(part.files);
        let Some((tool, progress)) = part.tool.zip(part.progress) else {
            return;
        };
        let Progress { status, input, error, time } = progress;
        let file = input["filePath"].as_str();
        self.files.extend(file.filter(|_| tool != "read").map(str::to_owned));
        self.refused |= error.is_some_and(|error| REFUSED.contains(&error.as_str()));
        if matches!(status.as_str(), "pending" | "running") {
            let with = input["command"].as_str().or(file).map_or_else(|| input.to_string(), str::to_owned);
            self.unanswered.push(Call::new(&part.call.unwrap_or_default(), &tool, &with, time.start));
        }
        self.tools.push(tool);
    }

    /// When and how it closed its turn.
    fn closed(&self) -> Option<(i64, How)> {
        let said = self.said.as_ref()?;
        let how = match (&said.error, said.finish.as_deref()) {
            (Some(error), _) if error.name == "MessageAbortedError" => How::Interrupted,
            (Some(_), _) => How::Failed,
            (None, Some("tool-calls" | "unknown")) if self.refused => How::Interrupted,
            (None, Some("tool-calls" | "unknown")) => return None,
            // Without a word on why: a command that the person ran.
            (None, Some(_) | None) => How::Answered,
        };
        said.time.completed.map(|at| (at, how))
    }
}

impl Folded {
    fn take(&mut self, message: Message) {
        self.messages += 1;
        let story = &mut self.story;
        story.written(Some(message.written_at));
        story.unreadable += message.unreadable;
        let closed = message.closed();
        let Message { id, at, said, tools, files, unanswered, own, parts, .. } = message;
        self.last = (at, id.clone());
        let Some(said) = said else {
            return;
        };
        files.iter().for_each(|file| story.touched(file));
        for tool in tools {
            *story.tools.entry(tool).or_default() += 1;
        }
        match said.role.as_str() {
            "user" => {
                story.prompts += u64::from(!own || parts == 0);
                story.turn = Some(LastTurn { id: Some(id), opened_at: Some(at), closed: None });
            }
            "assistant" => {
                story.tokens =
                    story.tokens.and(said.tokens.as_ref().map_or_else(Tokens::default, Tokens::from));
                story.model = said.model.or_else(|| story.model.take());
                let is_summary = said.summary.is_some_and(|summary| summary == Value::Bool(true));
                story.turns += u64::from(closed.is_some() && !is_summary);
                let over = closed.is_some_and(|(_, how)| how != How::Answered);
                story.unanswered = if over { Vec::new() } else { unanswered };
                if let Some(turn) = &mut story.turn {
                    turn.closed = closed;
                }
            }
            _ => {}
        }
    }
}
