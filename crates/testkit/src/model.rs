//! A model on loopback for real agents: it speaks what they ask in, and says what their prompt asks it to say. So a turn
//! needs no key and no network, and is over when the test wants it to be.
//!
//! A prompt with `TOOL:[command]` is answered with one call of the agent's shell, which asks to be let out of a sandbox if
//! there is an `ASK`; one with `FILE:[name]` with a word about `name.txt`; one with `HANG` with a reply that is streamed until
//! the model is told to let go; any other with a short reply.

mod chat;
mod gemini;
mod http;
mod messages;
mod plan;
mod responses;
mod stream;

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use serde_json::{Value, json};

use http::Asked;
use plan::Plan;
use stream::Stream;

/// What it says where nothing else is asked for.
pub const REPLY: &str = "all is well";

/// A model that answers as long as this value lives.
#[derive(Debug)]
pub struct Model {
    address: SocketAddr,
    mood: Arc<Mood>,
}

/// What holds for all answers at once.
#[derive(Debug, Default)]
pub(crate) struct Mood {
    /// Replies that hang are ended, now and from now on.
    lets_go: AtomicBool,
    is_over: AtomicBool,
    heard: Mutex<Vec<(u64, Heard)>>,
}

/// What happened between an agent and the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard {
    /// It was asked for a reply or a call.
    Asked,
    /// It has called a tool, or named a file that the agent does not know.
    Called,
    /// It was asked for a reply that hangs, and one that hung has come to its end.
    Hangs,
    LetGo,
    Replied,
}

impl Mood {
    fn lets_go(&self) -> bool {
        self.lets_go.load(Ordering::SeqCst)
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::SeqCst)
    }

    fn hear(&self, heard: Heard) {
        let at = abide_sys::clock::now().boot;
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).push((at, heard));
    }
}

impl Model {
    /// Listens on a port of loopback that nobody else has.
    ///
    /// # Errors
    /// If there is none.
    pub fn start() -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let address = listener.local_addr()?;
        let mood = Arc::new(Mood::default());
        let shared = Arc::clone(&mood);
        thread::Builder::new().name("model".to_owned()).spawn(move || accept(&listener, &shared))?;
        Ok(Self { address, mood })
    }

    /// Where it is: `http://127.0.0.1:PORT`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Whether replies that hang are ended: those of now, and those to come.
    pub fn let_go(&self, lets_go: bool) {
        self.mood.lets_go.store(lets_go, Ordering::SeqCst);
    }
}

impl Model {
    /// What it was asked and what it answered, each with its ms of boot time.
    #[must_use]
    pub fn heard(&self) -> Vec<(u64, Heard)> {
        self.mood.heard.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        self.mood.is_over.store(true, Ordering::SeqCst);
        // Whoever waits for a client learns of it from one.
        let _ = TcpStream::connect(self.address);
    }
}

fn accept(listener: &TcpListener, mood: &Arc<Mood>) {
    for client in listener.incoming() {
        if mood.is_over() {
            return;
        }
        let Ok(client) = client else { continue };
        let mood = Arc::clone(mood);
        // A client that goes away in the middle is an agent that was killed.
        let serve = move || serve(client, &mood).unwrap_or_default();
        if thread::Builder::new().name("model-client".to_owned()).spawn(serve).is_err() {
            return;
        }
    }
}

/// Answers a client as long as it asks.
fn serve(client: TcpStream, mood: &Mood) -> io::Result<()> {
    client.set_nodelay(true)?;
    let mut client = http::Client::new(client)?;
    while let Some(asked) = client.next()? {
        if mood.is_over() || answer(&mut client, &asked, mood)? == Then::Close {
            break;
        }
    }
    Ok(())
}

/// What becomes of the connection behind an answer.
#[derive(Debug, PartialEq, Eq)]
enum Then {
    Keep,
    Close,
}

/// A way of asking a model.
pub(crate) trait Dialect {
    /// What the request wants.
    fn plan(request: &Value) -> Plan;

    /// The answer as a stream.
    fn tell(request: &Value, plan: &Plan, stream: &mut Stream<'_>) -> io::Result<()>;

    /// The answer in one piece.
    fn whole(request: &Value) -> Value;

    /// Whether the answer is to be a stream.
    fn is_streamed(request: &Value, _path: &str) -> bool {
        request["stream"] == true
    }
}

fn answer(client: &mut http::Client, asked: &Asked, mood: &Mood) -> io::Result<Then> {
    let path = asked.path.split('?').next().unwrap_or_default();
    let is_asked = asked.method == "POST";
    if is_asked && path.ends_with("/messages") {
        in_dialect::<messages::Messages>(client, asked, mood)
    } else if is_asked && path.ends_with("/responses") {
        in_dialect::<responses::Responses>(client, asked, mood)
    } else if is_asked && path.ends_with("/chat/completions") {
        in_dialect::<chat::Chat>(client, asked, mood)
    } else if is_asked && path.ends_with("enerateContent") {
        in_dialect::<gemini::Gemini>(client, asked, mood)
    } else {
        client.give(asked, &aside(path))?;
        Ok(Then::Keep)
    }
}

fn in_dialect<D: Dialect>(client: &mut http::Client, asked: &Asked, mood: &Mood) -> io::Result<Then> {
    if !D::is_streamed(&asked.body, &asked.path) {
        client.give(asked, &D::whole(&asked.body))?;
        return Ok(Then::Keep);
    }
    let plan = D::plan(&asked.body);
    let (before, after) = match plan {
        Plan::Call { .. } | Plan::Names(_) => (Heard::Asked, Heard::Called),
        Plan::Hang => (Heard::Hangs, Heard::LetGo),
        Plan::Reply => (Heard::Asked, Heard::Replied),
    };
    mood.hear(before);
    D::tell(&asked.body, &plan, &mut client.stream(mood)?)?;
    mood.hear(after);
    Ok(Then::Close)
}

/// What agents ask beside: how long a text is, which models there are, and where to leave their figures.
fn aside(path: &str) -> Value {
    if path.ends_with("/count_tokens") {
        return json!({ "input_tokens": 10 });
    }
    if path.ends_with(":countTokens") {
        return json!({ "totalTokens": 10 });
    }
    json!({ "object": "list", "data": [], "models": [] })
}

/// A name that no other answer has.
pub(crate) fn fresh(prefix: &str) -> String {
    let number = abide_sys::clock::random_bytes().map_or(0, u64::from_ne_bytes);
    format!("{prefix}{number:016x}")
}

/// Seconds since 1970, as the answers carry them.
pub(crate) fn now() -> i64 {
    abide_sys::clock::now().wall / 1000
}

#[cfg(test)]
mod tests;
