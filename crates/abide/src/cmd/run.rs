//! `abide run`: launch a program in a session of its own.

use std::borrow::Cow;
use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use abide_core::evidence::number::Errno;
use abide_core::evidence::{ExecFailed, Size, Terms};
use abide_core::failure::{Code, Failure};
use abide_core::id::SessionName;
use abide_core::screen::LONGEST_SIDE;
use abide_core::verdict::checkpoint::EVERY_MS;
use abide_engine::launch::{self, Input};
use abide_engine::{Attaching, LEAST_SHED, Request, Session, Sessions, Shown, Until, Waiting, place};

use super::{Front, NO_CODE, OneOf, Verb, attach, wait};
use crate::config::form;
use crate::config::key::Key;
use crate::show::session::SessionView;
use crate::show::shell;
use crate::show::wait::{Form, WaitView};
use crate::when;

const EXAMPLES: &str = "Examples:
  abide run -- claude                           attaches; ctrl-\\ twice detaches, the program goes on
  abide run -d -- claude -p 'fix the tests'     prints the ID; the program outlives this terminal
  abide run -d --name nightly -- make release   with a name to speak of it
  abide run --wait -- cargo test                waits and exits with the program's code
  abide run -d --no-tty --timeout 2h -- ./sync  on pipes instead of a terminal, two hours at most
  git diff | abide run --no-tty -- ./review     its input from a pipe; its output and errors to ours
  abide run --rm --wait -- make check           the session is removed once its code is known";

/// Run a program in a session that outlives terminal, connection and launcher
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES)]
#[command(after_help = "Exits with 126 if the program cannot be executed, 127 if it is not found. \
    With --wait: the program's code, 128+signal, or 125 if abide itself failed. \
    HUP, INT and TERM end this command only, as they end any program; while attached, with the terminal restored \
    and 128+signal. The session goes on. Warns where a logout would end it (see `abide doctor`). \
    SSH_AUTH_SOCK, if set here, is given to the program as a path that leads to the agent of whoever attached last.\n\n\
    On pipes the program is given this command's own standard input unless that is a terminal (with -d only if \
    --stdin is given): what comes through it is not recorded, and is not lost if this command is killed. Without \
    -d and --wait its output and errors are passed on as they come; with --json nothing of them is, only the answer \
    of `wait` once it is over (`abide logs` has them).\n\n\
    With --begin, or `agents.begin = \"yes\"` in the config file, an agent that can be told which conversation to begin \
    (claude, gemini, qwen and copilot) is told one unless its arguments name one, so that it is known from the first \
    instant; `abide inspect` shows what was added. Otherwise everything behind `--` reaches the program as it is.")]
pub(crate) struct Args {
    /// Print the ID and return as soon as the session can be waited on
    #[arg(short, long, conflicts_with = "wait")]
    detach: bool,
    /// Wait for the end and exit with the program's code
    #[arg(long)]
    wait: bool,
    /// A name for the session; free again once its session is over
    #[arg(long)]
    name: Option<String>,
    /// A label, for finding it again
    #[arg(long = "label", value_name = "KEY=VALUE")]
    labels: Vec<String>,
    #[arg(long, value_name = "COLSxROWS", conflicts_with = "no_tty", help = Key::Size.help("The terminal's size"))]
    size: Option<String>,
    /// Pipes instead of a terminal: output and errors are recorded apart
    #[arg(long)]
    no_tty: bool,
    /// Give the program this command's own standard input, also with -d
    #[arg(long, requires = "no_tty")]
    stdin: bool,
    /// Remove the session once it is over and its outcome is known
    #[arg(long)]
    rm: bool,
    /// Have the record of the launch on the disk before the program runs
    #[arg(long)]
    durable: bool,
    /// Where the program starts [default: here]
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// Set a variable in the program's environment
    #[arg(long = "env", value_name = "KEY=VALUE")]
    env: Vec<OsString>,
    #[arg(long, value_name = "BYTES", help = Key::RecordBytes.help("The recording takes no more; the program goes on"))]
    max_recording: Option<String>,
    #[arg(long, value_name = "END", value_parser = ["first", "last"], help = Key::RecordKeep.help(
        "What is kept of a longer recording: what came first (it is cut) or last (its oldest part is let go)"
    ))]
    keep: Option<String>,
    #[arg(long, value_name = "DURATION", help = format!(
        "End the session after this long, as `stop` does; the patience is `grace` of the config file, or {}",
        Key::Grace.built_in()
    ))]
    timeout: Option<String>,
    /// Tell an agent which conversation to begin, by an option of its own that is added to its arguments
    #[arg(long)]
    begin: bool,
    #[command(flatten)]
    key: attach::KeyArgs,
    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

impl Verb for Args {
    /// The session, or with `--wait` what `wait` answers.
    type Data = OneOf<SessionView<'static>, WaitView<'static>>;

    fn passes_on_a_code(&self) -> bool {
        !self.detach
    }

    fn run(self, front: &mut Front) -> Result<u8, Failure> {
        let (waits, detached, removes, on_pipes) = (self.wait, self.detach, self.rm, self.no_tty);
        if !(waits || detached || on_pipes) {
            attach::needs_terminal()?;
        }
        let how = Attaching { read_only: false, detach_key: self.key.parse(front)?, launched: true };
        let request = self.request(front)?;
        let mut sessions = front.sessions()?;
        let session = sessions.run(request)?;
        // Its evidence has been held since the launch: its end is not missed, however soon it comes and whoever removes it.
        let watch = || sessions.watch(std::slice::from_ref(&session));
        if let Some(warning) = place::warning() {
            front.output.warn(&warning, None);
        }
        if let Some(failed) = &session.evidence.closing.exec_failed {
            let reason = Errno(failed.body.errno);
            let what = match &failed.body.directory {
                Some(directory) => format!("enter {directory}"),
                None => format!("execute {}", failed.body.path),
            };
            let message = format!("session {}: cannot {what}: {reason}", session.id);
            front.output.remark(&format!("abide: {message}"));
            let launched = session.evidence.beginning.launched.as_ref();
            let has_arguments = launched.is_some_and(|told| told.body.argv.len() > 1);
            if let Some(way_out) = way_out(&failed.body, has_arguments) {
                front.output.remark(&format!("hint: {way_out}"));
            }
        }
        let never_ran = session.evidence.closing.exec_failed.is_some();
        let told = if detached {
            let code = session.verdict.codes.wait.filter(|_| never_ran);
            show(front, &sessions, &session).map(|()| code.unwrap_or(0))
        } else if never_ran && !waits && !front.output.is_json() {
            // All that there is to say was said.
            Ok(session.verdict.codes.wait.unwrap_or(NO_CODE))
        } else if waits || never_ran || (on_pipes && front.output.is_json()) {
            front.output.remark(&format!("abide: session {}", session.id));
            if !on_pipes && !never_ran && launch::input_waits() {
                front.output.remark(
                    "hint: what comes through a pipe or from a file reaches a program with --no-tty only",
                );
            }
            let again = format!("abide wait {}", session.id);
            let asked = wait::Asked { again: &again, form: Form::One, strict: false };
            wait::answer(front, &watch().wait(Until::All, None), asked)
        } else if on_pipes {
            pass_on(front, &sessions, &session, &mut watch())
        } else {
            attach::attach(front, &sessions, &session, how)
        };
        let code = told.map_err(|failure| started(&session, failure))?;
        // Of one that is detached the guard removes what is left, when nobody can miss its end.
        let ours = removes && (!detached || session.evidence.closing.exec_failed.is_some());
        if ours && let Err(failure) = sessions.remove_ended(&session) {
            // The code is known; what could not be removed takes nothing away from it.
            front.output.remark(&format!("abide: {}", failure.message));
        }
        Ok(code)
    }
}

/// What is no program anywhere.
const OF_SHELLS: [&str; 8] = ["alias", "cd", "eval", "exec", "export", "set", "ulimit", "umask"];

/// What whoever asked for it can do, who may have meant something else.
fn way_out(failed: &ExecFailed, has_arguments: bool) -> Option<Cow<'static, str>> {
    let path = failed.path.as_str();
    let of_program = failed.directory.is_none();
    let is_missing = of_program && Errno(failed.errno).name() == Some("ENOENT");
    let has_blanks = path.trim().contains(char::is_whitespace);
    if is_missing && sets_variable(path) && (has_arguments || !has_blanks) {
        return Some(format!("`--env {}` in front of `--` sets a variable", shell::word(path)).into());
    }
    if is_missing && has_blanks {
        let quoted = shell::word(path);
        let way =
            format!("it is taken for one word: give its words apart, `-- {path}`, or `-- sh -c {quoted}`");
        return Some(way.into());
    }
    if is_missing && OF_SHELLS.contains(&path) {
        return Some(format!("it is a command of a shell: `-- sh -c '{path} ...'`").into());
    }
    if of_program && Path::new(path).is_dir() {
        return Some("it is a directory: name the program that is to run, or go there with --cwd".into());
    }
    failed.way_out().map(Cow::Borrowed)
}

/// Whether a shell would take it for `NAME=VALUE`.
fn sets_variable(word: &str) -> bool {
    let is_name = |name: &str| {
        !name.is_empty() && name.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
    };
    word.split_once('=').is_some_and(|(name, _)| is_name(name))
}

/// What a writer gets that nobody reads: 128 and SIGPIPE.
const NO_READER: u8 = 141;

/// Passes on what the program says, each stream to its own, and gives its code.
fn pass_on(
    front: &mut Front,
    sessions: &Sessions,
    session: &Session,
    waiting: &mut Waiting<'_>,
) -> Result<u8, Failure> {
    let mut failure = None;
    sessions.logs(session, true, &mut |shown| {
        let put = match shown {
            Shown::Output { errors: false, bytes, .. } => front.output.raw(bytes),
            Shown::Output { errors: true, bytes, .. } => {
                front.output.raw_errors(bytes);
                Ok(())
            }
            Shown::Gap(_) => {
                front
                    .output
                    .remark(&format!("abide: not all of what session {} says is on record", session.id));
                Ok(())
            }
            Shown::CaughtUp | Shown::Sized(_) | Shown::Unfinished(_) => Ok(()),
        };
        failure = put.err();
        failure.is_none() && front.output.has_reader()
    })?;
    if let Some(failure) = failure {
        return Err(failure);
    }
    if !front.output.has_reader() {
        return Ok(NO_READER);
    }
    let ended = waiting.wait(Until::All, None);
    Ok(ended.first().and_then(|session| session.verdict.codes.wait).unwrap_or(NO_CODE))
}

/// What fails once the session is there must not keep its ID to itself.
fn started(session: &Session, failure: Failure) -> Failure {
    let id = session.id.as_str();
    if failure.session.as_deref() == Some(id) {
        return failure;
    }
    let message = format!("session {id} was started: {}", failure.message);
    Failure { message, ..failure }.about(id).hint(format!("`abide inspect {id}` shows how it stands"))
}

fn show(front: &mut Front, sessions: &Sessions, session: &Session) -> Result<(), Failure> {
    // All that a program is told takes a while to find.
    let view = front.output.is_json().then(|| SessionView::of(sessions, session));
    front.output.show(&view, |page| {
        page.plain(session.id.as_str()).end();
    })
}

impl Args {
    fn request(self, front: &Front) -> Result<Request, Failure> {
        let mut env = launch::environment_on(!self.no_tty);
        for entry in &self.env {
            let (key, value) = split(entry)?;
            if let Some(told) = launch::TOLD.iter().find(|told| key == **told) {
                return Err(Failure::new(
                    Code::Usage,
                    format!("`{told}` is told to every program by abide itself"),
                )
                .hint(format!("`env {told}=...` behind `--` sets it for the program")));
            }
            env.insert(key, value);
        }
        let input = self.input()?;
        let record_bytes = parse_limit(&front.value(Key::RecordBytes, self.max_recording))?;
        let keep_last = form::End::parse(&front.value(Key::RecordKeep, self.keep)) == Some(form::End::Last);
        if let Some(few) = record_bytes.filter(|most| keep_last && *most < LEAST_SHED) {
            return Err(too_few(few));
        }
        let timeout_ms = self.timeout.as_deref().map(parse_duration).transpose()?;
        let here = || std::env::current_dir().map_err(|e| Failure::io("find", &"the working directory", &e));
        Ok(Request {
            argv: self.command,
            env,
            cwd: match self.cwd {
                Some(dir) => {
                    std::path::absolute(&dir).map_err(|e| Failure::io("find", &dir.display(), &e))?
                }
                None => here()?,
            },
            name: self.name.map(|name| parse_name(&name)).transpose()?,
            labels: self.labels.iter().map(|label| parse_label(label)).collect::<Result<_, _>>()?,
            size: (!self.no_tty).then(|| parse_size(&front.value(Key::Size, self.size))).transpose()?,
            input,
            begins: self.begin || front.value(Key::Begin, None) == "yes",
            terms: Terms {
                timeout_ms,
                grace_ms: timeout_ms.and(Some(parse_duration(&front.value(Key::Grace, None))?)),
                remove: self.rm,
                durable: self.durable,
                record_bytes,
                keep_last,
                checkpoint_ms: checkpoint_ms(front)?,
            },
            told: front.told(),
        })
    }

    /// Our own input itself is what the program reads, unless it is a terminal or the program is to be left alone.
    fn input(&self) -> Result<Input, Failure> {
        let terminal = std::io::stdin().is_terminal();
        if self.stdin && terminal {
            return Err(Failure::new(Code::Usage, "a terminal cannot be given away with --stdin").hint(
                "give the program a file or a pipe, or leave --no-tty out and type into its own terminal",
            ));
        }
        let wanted = self.no_tty && (self.stdin || !self.detach) && !terminal;
        Ok(if wanted { Input::Ours } else { Input::Nothing })
    }
}

/// What is let go takes more than this.
fn too_few(bytes: u64) -> Failure {
    Failure::new(
        Code::Usage,
        format!("the last {bytes} bytes of a recording cannot be kept: that is too few"),
    )
    .hint(format!("give at least --max-recording {}M, or --keep first", LEAST_SHED >> 20))
}

/// A duration that must be one.
pub(crate) fn parse_duration(text: &str) -> Result<u64, Failure> {
    when::duration_ms(text).ok_or_else(|| {
        let bare = when::duration_ms(&format!("{text}s")).is_some() && !text.ends_with(char::is_alphabetic);
        let hint = match bare {
            true => format!("its unit is missing: `{text}s`, `{text}m`, `{text}h` or `{text}d`"),
            false => "a duration is given as 250ms, 90s, 10m or 1h30m".to_owned(),
        };
        Failure::new(Code::BadTime, format!("`{text}` is no duration")).hint(hint)
    })
}

pub(super) fn parse_name(text: &str) -> Result<SessionName, Failure> {
    SessionName::parse(text).ok_or_else(|| {
        Failure::new(Code::Usage, format!("`{text}` cannot be a name"))
            .hint("a name has up to 64 letters, digits, `.`, `_` and `-`, and begins with a letter or digit")
    })
}

fn parse_label(text: &str) -> Result<(String, String), Failure> {
    let pair = text.split_once('=').filter(|(key, _)| !key.is_empty());
    pair.map(|(key, value)| (key.to_owned(), value.to_owned())).ok_or_else(|| {
        Failure::new(Code::Usage, format!("`{text}` is no label")).hint("a label is given as KEY=VALUE")
    })
}

/// How often files are saved, where that is not the usual; zero for never.
pub(super) fn checkpoint_ms(front: &Front) -> Result<Option<u64>, Failure> {
    let text = front.value(Key::CheckpointEvery, None);
    let every = form::limit(&text, when::duration_ms);
    let every = every.ok_or_else(|| Failure::new(Code::BadTime, format!("`{text}` is no duration")))?;
    Ok(Some(every.unwrap_or(0)).filter(|ms| *ms != EVERY_MS))
}

fn parse_limit(text: &str) -> Result<Option<u64>, Failure> {
    form::limit(text, form::bytes).ok_or_else(|| {
        Failure::new(Code::Usage, format!("`{text}` is no size")).hint("a size is given as 500M, 2G or none")
    })
}

pub(super) fn parse_size(text: &str) -> Result<Size, Failure> {
    form::size(text).ok_or_else(|| {
        Failure::new(Code::Usage, format!("`{text}` is no size"))
            .hint(format!("a size is given as 80x24, columns first, neither above {LONGEST_SIDE}"))
    })
}

fn split(entry: &OsString) -> Result<(OsString, OsString), Failure> {
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    let bytes = entry.as_bytes();
    let equals = bytes.iter().position(|&b| b == b'=').filter(|&at| at > 0);
    let equals = equals.ok_or_else(|| {
        Failure::new(Code::Usage, format!("`{}` sets no variable", entry.display()))
            .hint("a variable is given as KEY=VALUE")
    })?;
    Ok((OsString::from_vec(bytes[..equals].to_vec()), OsString::from_vec(bytes[equals + 1..].to_vec())))
}
