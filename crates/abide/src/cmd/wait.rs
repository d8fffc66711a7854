//! `abide wait`: wait for the end of sessions and pass on the code, or for what they show.

mod conditions;

use abide_core::failure::{Code, Failure};
use abide_core::id::SessionId;
use abide_engine::{Conditions, Session, Until};

use super::{Faulty, Front, Verb, run};
use crate::show::shell;
use crate::show::wait::{self, Form, WaitView, WaitedView};

const EXAMPLES: &str = "Examples:
  abide wait k3v9q2zr                 waits, then exits with the program's code
  abide wait --cap 240s nightly       comes back after four minutes; 0 if it is provably alive then
  abide wait --any build lint         until the first of them has ended
  abide wait build --text 'Finished'  until that is shown, or the session ends
  abide wait build --idle 2s --since 4096 --timeout 1m
                                      until it is quiet after what an earlier answer called seq 4096";

/// Wait for the end of sessions, or for what they show
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES)]
#[command(after_help = concat!("Exits with the declared code, else the program's code or 128+signal; 126 or 127 if \
    it could not be executed; 125 if there is no code to pass on (lost, damaged, no such session). A session \
    of which nothing can be told any more ends the wait for all, with 125; one that can only not be seen from here, as of another \
    container, is waited for. At the \
    cap: 0 if the session is provably alive (--strict: 124), 124 if that cannot be proved or its status is unknown. With conditions: 0 once all \
    of them hold (--any: one of them, in one of the sessions), 124 at the --timeout, 125 if a session ends before (--any: all of them). A text \
    counts wherever it is to be seen or has been since the wait began, lines that scrolled by included, each without the blanks at its end: a pattern that ends in one never matches there. What is seen is how the screen stood at the end of each \
    piece of output as it was recorded: what a program writes and erases at once may be missed. With --since a text counts only in what \
    was shown after that, and a turn or an attention only if it was told after that.", signals_end_this!("the session goes on.")))]
pub(crate) struct Args {
    /// Until the first of them has ended
    #[arg(long, conflicts_with = "all")]
    any: bool,
    /// Until all of them have ended; the first code that is not 0 is passed on [default]
    #[arg(long)]
    all: bool,
    /// Come back after this long at the latest
    #[arg(long, value_name = "DURATION")]
    cap: Option<String>,
    /// At the cap, exit with 124 even if the session is provably alive
    #[arg(long)]
    strict: bool,
    #[command(flatten)]
    conditions: conditions::Flags,
    /// IDs, names, unique prefixes or @last
    #[arg(required = true, value_name = "ID")]
    sessions: Vec<String>,
}

impl Verb for Args {
    type Data = WaitView<'static>;

    fn passes_on_a_code(&self) -> bool {
        true
    }

    fn with_faults(&self) -> Faulty {
        Faulty::Warn
    }

    fn check(&self, _now: i64) -> Result<(), Failure> {
        self.asked().map(drop)
    }

    fn run(self, front: &mut Front) -> Result<u8, Failure> {
        let sessions = front.sessions()?;
        let mut found = Vec::new();
        for wanted in &self.sessions {
            found.push(sessions.find(wanted)?);
        }
        let ids: Vec<SessionId> = found.iter().map(|session| session.id.clone()).collect();
        let until = if self.any { Until::Any } else { Until::All };
        let (conditions, cap_ms) = self.asked()?;
        if let Some(conditions) = conditions {
            return self.conditions.wait(front, &sessions, &ids, (&conditions, until));
        }
        let waited = sessions.wait(&found, until, cap_ms);
        let waited = match until {
            Until::All => waited,
            Until::Any => first_ended(waited),
        };
        let again = self.again(&ids, cap_ms, front.output.is_json());
        let form = if ids.len() == 1 { Form::One } else { Form::Several };
        answer(front, &waited, Asked { again: &again, form, strict: self.strict })
    }
}

impl Args {
    /// Where conditions are waited for and nothing else was said: only what was shown after `since` counts, and not for
    /// longer than `timeout`.
    pub(super) fn or_else(&mut self, since: Option<u64>, timeout: &str) {
        self.conditions.or_else(since, timeout);
    }

    /// The conditions, if there are any, and the cap.
    fn asked(&self) -> Result<(Option<Conditions>, Option<u64>), Failure> {
        let cap_ms = self.cap.as_deref().map(run::parse_duration).transpose()?;
        let conditions = self.conditions.conditions()?;
        if conditions.is_some() && (self.cap.is_some() || self.strict) {
            return Err(Failure::new(Code::Usage, "--cap and --strict are for waits for the end")
                .hint("--timeout ends a wait for conditions"));
        }
        Ok((conditions, cap_ms))
    }

    /// The command that waits again for the same; without a cap that would not let it wait.
    fn again(&self, ids: &[SessionId], cap_ms: Option<u64>, json: bool) -> String {
        let cap = self.cap.as_deref().filter(|_| cap_ms != Some(0)).map(|cap| ["--cap", cap]);
        let flags = [(self.any, "--any"), (self.strict, "--strict"), (json, "--json")];
        let words = ["abide", "wait"].into_iter().chain(cap.into_iter().flatten());
        let words = words.chain(flags.into_iter().filter_map(|(given, flag)| given.then_some(flag)));
        shell::line(words.chain(ids.iter().map(SessionId::as_str)))
    }
}

/// With `--any` the answer is about the one that ended first, or about all if none has.
fn first_ended(waited: Vec<Session>) -> Vec<Session> {
    let ended = waited.iter().filter(|session| session.has_ended());
    let first = ended.reduce(|first, next| if next.ended_before(first) { next } else { first });
    first.cloned().map_or(waited, |first| vec![first])
}

/// What was asked of a wait, as far as its answer depends on it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked<'a> {
    /// The command that waits again.
    pub(crate) again: &'a str,
    pub(crate) form: Form,
    pub(crate) strict: bool,
}

/// Tells how each session stands and gives the exit code.
pub(crate) fn answer(front: &mut Front, waited: &[Session], asked: Asked<'_>) -> Result<u8, Failure> {
    let hinted = |hint: &str| front.output.hinted(hint);
    let view = |session| WaitedView::new(session, asked.again, &hinted);
    let views: Vec<WaitedView<'_>> = waited.iter().map(view).collect();
    for line in wait::lines(&views) {
        front.output.remark(&line);
    }
    let codes = waited.iter().map(|session| code(session, asked.strict));
    let first = codes.fold(0, |first, code| if first == 0 { code } else { first });
    // Where one of them can never tell, there is no code for all of them.
    let hopeless = waited.iter().any(|session| session.is_over() && !session.has_ended());
    let code = if hopeless { super::NO_CODE } else { first };
    front.output.show(&WaitView::new(views, asked.form), |_| {})?;
    Ok(code)
}

fn code(session: &Session, strict: bool) -> u8 {
    let verdict = &session.verdict;
    let timed_out = Code::TimedOut.kind().exit_code();
    match verdict.codes.wait {
        Some(code) => code,
        None if session.is_over() => super::NO_CODE,
        None if session.is_healthy() && !strict => 0,
        None => timed_out,
    }
}
