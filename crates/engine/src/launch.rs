//! Launching: what is asked for, made into a draft, handed to a guard, and answered once it can be waited on.
//! The launcher may die at any point: the guard goes on alone or, before the program's record, gives up.

use std::collections::BTreeMap;
use std::ffi::{CString, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use abide_core::evidence::frame::body_to_line;
use abide_core::evidence::{Begun, Launched, Size, Terms};
use abide_core::failure::{Code, Failure};
use abide_core::id::{SessionId, SessionName};
use abide_sys::cgroup::Cgroup;
pub use abide_sys::spawn::input_waits;
use abide_sys::spawn::{self, Image};
use abide_sys::{clock, poll};

use crate::client::refresh;
use crate::notify::Told;
use crate::store::{Home, SessionDir};
use crate::truth::{Session, Truth};
use crate::{Sessions, agents, find, guard, host, names, place, wait};

/// What a launch asks for.
#[derive(Debug, Clone)]
pub struct Request {
    pub argv: Vec<OsString>,
    pub env: BTreeMap<OsString, OsString>,
    pub cwd: PathBuf,
    pub name: Option<SessionName>,
    pub labels: BTreeMap<String, String>,
    /// The terminal's size; none for pipes instead of a terminal.
    pub size: Option<Size>,
    /// Where a program on pipes reads from.
    pub input: Input,
    /// An agent that can be told which conversation to begin is told one, so that it is known from the first instant.
    pub begins: bool,
    pub terms: Terms,
    /// Who is to be told of what.
    pub told: Option<Told>,
}

/// What a program on pipes reads from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    /// Nothing: its input is at its end from the beginning.
    Nothing,
    /// The launcher's own input itself, from where it stands. The launcher lets go of it.
    Ours,
}

/// The variable by which a program knows its session.
pub(crate) const SESSION: &str = "ABIDE_SESSION";
/// The home of that session.
pub(crate) const HOME: &str = "ABIDE_HOME";
/// The variable by which we know whom a session bore. Nobody has a reason to set it by hand.
pub(crate) const BORN_IN: &str = "ABIDE_BORN_IN";
/// The directory of that session.
const SESSION_DIR: &str = "ABIDE_SESSION_DIR";
/// What every program in a session is told by us.
pub const TOLD: [&str; 4] = [SESSION, SESSION_DIR, HOME, BORN_IN];
/// With fewer, guard and host could not start each other once there are clients, and nobody would read the terminal.
const DESCRIPTORS: u64 = host::DESCRIPTORS + 16;
/// More of the arguments is not recorded.
const ARGV_RECORDED: usize = 32 * 1024;

impl Sessions {
    /// Launches a program in a session of its own. Returns once the session can be waited on.
    ///
    /// # Errors
    /// If nothing could be launched; then nothing is left running.
    pub fn run(&mut self, request: Request) -> Result<Session, Failure> {
        self.ensure_home()?;
        let home = self.home.as_ref().ok_or_else(|| find::nothing(""))?;
        let (session, evidence) = launch(&self.truth, home, request)?;
        self.launched = evidence.map(|evidence| (session.id.clone(), evidence));
        Ok(session)
    }
}

/// Launches a program in a session of its own and returns once the session can be waited on; with its evidence, which was
/// there before anybody could remove it.
fn launch(truth: &Truth, home: &Home, mut request: Request) -> Result<(Session, Option<File>), Failure> {
    if !request.cwd.is_dir() {
        return Err(Failure::new(Code::Usage, format!("there is no directory {}", request.cwd.display()))
            .hint("name one that exists with --cwd; nothing was started"));
    }
    let id = new_id()?;
    let needs = format!("a session, whose processes need {DESCRIPTORS} descriptors");
    poll::ensure_descriptors(DESCRIPTORS)
        .map_err(|e| Failure::io("launch", &needs, &e).about(id.as_str()))?;
    let input = open_input(request.input).map_err(|e| Failure::io("hand over", &"standard input", &e))?;
    if request.terms.durable {
        home.flush()
            .map_err(|e| Failure::io("flush", &home.path().display(), &e).hint("nothing was started"))?;
    }
    let names = request.name.as_ref().map(|_| names::lock_file(home)).transpose()?;
    let dir = home.empty_draft(&id)?;
    let draft = Draft { home, id, dir, name: request.name.clone().zip(names), input };
    let guard = draft.start_guard().map_err(|failure| draft.discard(failure))?;
    // All this is done while the guard comes up, and that takes as long.
    let orders = match draft.prepare(truth, &mut request) {
        Ok(orders) => orders,
        Err(failure) => {
            guard.dismiss();
            return Err(draft.discard(failure));
        }
    };
    let evidence = draft.dir.evidence().ok();
    let id = &draft.id;
    let refused = match guard.order(&orders) {
        Ok(Answer::Published) => None,
        Ok(Answer::Refused(message)) => {
            Some(Failure::new(Code::Internal, format!("session {id} could not be launched: {message}")))
        }
        Err(error) => Some(Failure::io("start a guard for session", id, &error)),
    };
    match refused {
        // One that has its name is on record and its program may run: a guard that died before it said so takes nothing back.
        Some(failure) if !home.has(id) => {
            Err(draft.discard(failure.about(id.as_str()).hint("nothing was started")))
        }
        Some(_) | None => Ok((wait::of_watched(truth, home, id, evidence.as_ref()), evidence)),
    }
}

/// A session that is about to be, and all that its guard holds from its first instant on.
struct Draft<'a> {
    home: &'a Home,
    id: SessionId,
    dir: SessionDir,
    /// Its name, and the lock under which it is given. The guard holds that too, so that our death gives the name to nobody else.
    name: Option<(SessionName, File)>,
    /// What its program reads from.
    input: OwnedFd,
}

impl Draft<'_> {
    /// Starts the guard, which waits for its orders. Should we die before it has them, it goes, and nothing ran.
    fn start_guard(&self) -> Result<Waiting, Failure> {
        let id = self.id.as_str();
        let failed = |e: io::Error| {
            let failure = Failure::io("start a guard for session", &id, &e);
            failure.about(id).hint("nothing was started")
        };
        let start = || {
            let (theirs, orders) = spawn::pipe()?;
            let (answer, report) = spawn::pipe()?;
            let image = Image {
                paths: vec![c"/proc/self/exe".to_owned()],
                argv: vec![c"abide".to_owned(), guard::ARGUMENT.to_owned(), CString::new(id)?],
                env: Vec::new(),
                cwd: c"/".to_owned(),
            };
            let names = self.name.as_ref().map_or(theirs.as_fd(), |(_, lock)| lock.as_fd());
            let (sessions, dir) = (self.home.sessions_dir().as_fd(), self.dir.dir().as_fd());
            let fds = [theirs.as_fd(), report.as_fd(), sessions, dir, names, self.input.as_fd()];
            spawn::detached(&image, &fds)?;
            Ok(Waiting { orders: orders.into(), answer: answer.into() })
        };
        start().map_err(failed)
    }

    /// Puts into the draft what is there before its guard writes anything, gives it its name, and says what is to be guarded.
    fn prepare(&self, truth: &Truth, request: &mut Request) -> Result<Vec<u8>, Failure> {
        let Self { home, id, dir, name, input } = self;
        let failed = |e: io::Error| {
            let failure = Failure::io("make room for session", id, &e).about(id.as_str());
            failure.hint("nothing was started")
        };
        if let Some((name, lock)) = name {
            names::reserve(truth, home, name, id, lock)?;
        }
        home.furnish(id, dir)?;
        request.told.as_ref().map_or(Ok(()), |told| dir.set_told(told)).map_err(failed)?;
        let begun = begin(request);
        let launched =
            Launched { begun, stdin: kind_of(request.input, input), ..describe(truth, id, request) };
        let session_dir = home.session_path(id.as_str());
        // So that an abide that the program calls means this session and this home.
        let own = [
            (SESSION, OsString::from(id.as_str())),
            (BORN_IN, OsString::from(id.as_str())),
            (SESSION_DIR, session_dir.clone().into()),
            (HOME, home.path().into()),
        ];
        for (key, value) in own {
            request.env.insert(key.into(), value);
        }
        refresh::launched(dir, &session_dir, &mut request.env);
        pack(&launched, place::make(id).as_ref(), request).map_err(failed)
    }

    /// Leaves nothing of a launch that came to nothing.
    fn discard(&self, why: Failure) -> Failure {
        if let Some((name, lock)) = &self.name {
            names::give_back(self.home, name, &self.id, lock);
        }
        self.home.discard(&self.id, &self.dir);
        place::discard(&self.id);
        why
    }
}

enum Answer {
    /// The session is on record, whatever became of its program.
    Published,
    Refused(String),
}

/// A guard that waits for its orders.
struct Waiting {
    orders: File,
    answer: File,
}

impl Waiting {
    /// Gives it its orders, and waits for its word.
    fn order(self, orders: &[u8]) -> io::Result<Answer> {
        let Self { orders: mut to, mut answer } = self;
        // Of one that died over them there is no word either.
        let _ = to.write_all(orders);
        drop(to);
        let mut said = String::new();
        answer.read_to_string(&mut said)?;
        Ok(match said.as_str() {
            guard::PUBLISHED => Answer::Published,
            "" => Answer::Refused("its guard died before it could say why".to_owned()),
            message => Answer::Refused(message.to_owned()),
        })
    }

    /// Has it go without orders, and waits until it has.
    fn dismiss(self) {
        let Self { orders, mut answer } = self;
        drop(orders);
        let _ = answer.read_to_end(&mut Vec::new());
    }
}

/// What the program is to read from.
fn open_input(input: Input) -> io::Result<OwnedFd> {
    match input {
        Input::Nothing => Ok(File::open("/dev/null")?.into()),
        Input::Ours => spawn::give_up_input(),
    }
}

/// What kind of thing was handed to the program as its input.
fn kind_of(input: Input, fd: &OwnedFd) -> Option<String> {
    let kind = File::from(fd.try_clone().ok()?).metadata().ok()?.file_type();
    let name = match kind {
        kind if kind.is_file() => "file",
        kind if kind.is_fifo() => "pipe",
        kind if kind.is_socket() => "socket",
        _ => "device",
    };
    (input == Input::Ours).then(|| name.to_owned())
}

/// Chooses a conversation for the agent that is to be launched, if it can be told one and was not, and adds the words
/// that tell it.
fn begin(request: &mut Request) -> Option<Begun> {
    let argv: Option<Vec<String>> =
        request.argv.iter().map(|word| word.to_str().map(str::to_owned)).collect();
    let argv = argv.filter(|_| request.begins)?;
    let conversation = new_conversation()?;
    let with = abide_agents::launch(agents::named_by(&argv)?, &argv, &conversation)?;
    let same = argv.iter().zip(&with).take_while(|(one, other)| one == other).count();
    let words = with.len().checked_sub(argv.len()).filter(|words| *words > 0)?;
    request.argv = with.into_iter().map(OsString::from).collect();
    Some(Begun { conversation, at: same, words })
}

/// A random UUID, the form that all agents have for this.
fn new_conversation() -> Option<String> {
    let mut bytes = clock::random_bytes::<16>().ok()?;
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Some(format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]))
}

fn describe(truth: &Truth, id: &SessionId, request: &Request) -> Launched {
    let mut room = ARGV_RECORDED;
    let argv: Vec<String> = request
        .argv
        .iter()
        .map(|argument| argument.to_string_lossy().into_owned())
        .take_while(|argument| {
            let fits = argument.len() < room;
            room = room.saturating_sub(argument.len());
            fits
        })
        .collect();
    Launched {
        id: id.to_string(),
        name: request.name.as_ref().map(|name| name.as_str().to_owned()),
        argv_cut: argv.len() < request.argv.len(),
        cwd: request.cwd.display().to_string(),
        env_names: request
            .env
            .keys()
            .map(|key| key.to_string_lossy())
            .take(1024)
            .collect::<Vec<_>>()
            .join("="),
        labels: request.labels.clone(),
        size: request.size,
        launcher: truth.identify(std::process::id()).ok(),
        program: None,
        begun: None,
        agent: agents::named_by(&argv).map(|adapter| adapter.name().to_owned()),
        argv,
        stdin: None,
        terms: request.terms,
    }
}

pub(crate) fn new_id() -> Result<SessionId, Failure> {
    let bytes = clock::random_bytes::<64>().map_err(|e| Failure::io("draw", &"an ID", &e))?;
    SessionId::from_random(&bytes).ok_or_else(|| Failure::new(Code::Internal, "no ID could be drawn"))
}

/// The request as bytes: one line of JSON, one with the counts, then every string with a null after it.
fn pack(launched: &Launched, cgroup: Option<&Cgroup>, request: &Request) -> io::Result<Vec<u8>> {
    let mut bytes = body_to_line(launched)?;
    bytes.extend_from_slice(format!("\n{} {}\n", request.argv.len(), request.env.len()).as_bytes());
    let mut add = |parts: &[&[u8]]| {
        for part in parts {
            bytes.extend_from_slice(part);
        }
        bytes.push(0);
    };
    add(&[cgroup.map_or("", Cgroup::path).as_bytes()]);
    add(&[cgroup.map_or(Path::new(""), Cgroup::dir).as_os_str().as_bytes()]);
    add(&[request.cwd.as_os_str().as_bytes()]);
    for argument in &request.argv {
        add(&[argument.as_bytes()]);
    }
    for (key, value) in &request.env {
        add(&[key.as_bytes(), b"=", value.as_bytes()]);
    }
    Ok(bytes)
}

/// The caller's environment for a program, which names our terminal if it gets one.
#[must_use]
pub fn environment_on(terminal: bool) -> BTreeMap<OsString, OsString> {
    let mut env = environment();
    if terminal {
        env.insert("TERM".into(), "xterm-256color".into());
        env.insert("COLORTERM".into(), "truecolor".into());
    }
    env
}

/// The caller's environment.
#[must_use]
pub fn environment() -> BTreeMap<OsString, OsString> {
    std::env::vars_os().filter(|(key, _)| !key.clone().into_vec().is_empty()).collect()
}
