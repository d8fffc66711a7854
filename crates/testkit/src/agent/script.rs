//! The steps of a script and how they are written. Parsing only: `perform` does them.

use std::path::PathBuf;

use rustix::process::Signal;

/// One thing that the fake agent does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// `print TEXT`: says a line.
    Print(String),
    /// `wait-line`: waits for a line of input.
    WaitLine,
    /// `hang`: does nothing for ever.
    Hang,
    /// `ignore SIG...`: ignores these signals.
    Ignore(Vec<Signal>),
    /// `trap-exit SIG CODE`: exits with the code when the signal comes.
    TrapExit(Signal, u8),
    /// `fork STEP ; STEP ...`: starts another in a session of its own, as agents do with tool shells, and says
    /// `forked PID`.
    Fork(Vec<String>),
    /// `daemon STEP ; STEP ...`: the same, but the other is no descendant of ours afterwards; says `daemon PID`.
    Daemon(Vec<String>),
    /// `close-tty`: lets go of the terminal, or whatever input and output are.
    CloseTty,
    /// `exec PROGRAM ARG...`: becomes another program.
    Exec(Vec<String>),
    /// `exit CODE`.
    Exit(u8),
    /// `die SIG`: ends by this signal.
    Die(Signal),
    /// `abort-core`: ends by SIGABRT, dumping core where the machine allows it.
    AbortCore,
    /// `flood BYTES`: says this much, in numbered lines of 64 bytes, as fast as it can.
    Flood(u64),
    /// `stream UNTIL SAID`: says numbered lines, one write each, and listens to its input for a moment after some of
    /// them, until the file UNTIL is there; then writes how many lines it said into the file SAID.
    Stream(PathBuf, PathBuf),
    /// `ask-cursor TIMES`: asks its terminal for the cursor's position this often, each time from another place;
    /// fails unless every question is answered rightly and once.
    AskCursor(u16),
    /// `keep-keys FILE`: takes what is typed, as it is typed, into a file, up to a full stop.
    KeepKeys(PathBuf),
    /// `tell-size`: says the size of its terminal, now and whenever it changes, until there is a line of input.
    TellSize,
    /// `connect VARIABLE TEXT`: sends a text to the socket that a variable of the environment names.
    Connect(String, String),
    /// `leader-exit`: the first thread ends; what follows is done by another one.
    LeaderExit,
    /// `stop-self`: stops until continued.
    StopSelf,
    /// `write FILE TEXT`: replaces what is in a file.
    Write(PathBuf, String),
    /// `append FILE TEXT`: adds a line to a file.
    Append(PathBuf, String),
    /// `registry FILE STATUS`: writes who we are and what we do as agents' session registries have it.
    Registry(PathBuf, String),
    /// `transcript FILE LINES`: adds this many entries of a conversation.
    Transcript(PathBuf, u64),
}

/// Reads one step. `say-ready` is `print ready`.
///
/// # Errors
/// The reason why this is no step.
pub fn parse(line: &str) -> Result<Step, String> {
    step(line.trim()).ok_or_else(|| format!("not a step: {line:?}"))
}

fn step(line: &str) -> Option<Step> {
    let (verb, rest) = line.split_once(' ').map_or((line, ""), |(verb, rest)| (verb, rest.trim_start()));
    let (first, text) = rest.split_once(' ').unwrap_or((rest, ""));
    let file = || (!first.is_empty()).then(|| PathBuf::from(first));
    match (verb, rest.is_empty()) {
        ("say-ready", true) => Some(Step::Print("ready".to_owned())),
        ("wait-line", true) => Some(Step::WaitLine),
        ("hang", true) => Some(Step::Hang),
        ("close-tty", true) => Some(Step::CloseTty),
        ("abort-core", true) => Some(Step::AbortCore),
        ("tell-size", true) => Some(Step::TellSize),
        ("connect", false) => Some(Step::Connect(first.to_owned(), text.to_owned())),
        ("leader-exit", true) => Some(Step::LeaderExit),
        ("stop-self", true) => Some(Step::StopSelf),
        ("print", _) => Some(Step::Print(rest.to_owned())),
        ("ignore", false) => rest.split(' ').map(signal).collect::<Option<_>>().map(Step::Ignore),
        ("trap-exit", false) => Some(Step::TrapExit(signal(first)?, text.parse().ok()?)),
        ("fork", false) => Some(Step::Fork(others(rest)?)),
        ("daemon", false) => Some(Step::Daemon(others(rest)?)),
        ("exec", false) => Some(Step::Exec(rest.split(' ').map(str::to_owned).collect())),
        ("exit", false) => rest.parse().ok().map(Step::Exit),
        ("die", false) => signal(rest).map(Step::Die),
        ("flood", false) => rest.parse().ok().map(Step::Flood),
        ("stream", false) => Some(Step::Stream(file()?, PathBuf::from(text))),
        ("ask-cursor", false) => rest.parse().ok().map(Step::AskCursor),
        ("keep-keys", false) => Some(Step::KeepKeys(file()?)),
        ("write", false) => Some(Step::Write(file()?, text.to_owned())),
        ("append", false) => Some(Step::Append(file()?, text.to_owned())),
        ("registry", false) => Some(Step::Registry(file()?, text.to_owned())),
        ("transcript", false) => Some(Step::Transcript(file()?, text.parse().ok()?)),
        _ => None,
    }
}

/// The steps that another one is to do, each checked.
fn others(list: &str) -> Option<Vec<String>> {
    list.split(" ; ").map(|line| step(line.trim()).map(|_| line.trim().to_owned())).collect()
}

fn signal(name: &str) -> Option<Signal> {
    abide_sys::signal::parse(name).and_then(Signal::from_named_raw)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_read_with_their_words_and_the_rest_of_the_line() {
        assert_eq!(parse("print a  b"), Ok(Step::Print("a  b".to_owned())));
        assert_eq!(parse("trap-exit TERM 7"), Ok(Step::TrapExit(Signal::TERM, 7)));
        assert_eq!(parse("ignore TERM INT"), Ok(Step::Ignore(vec![Signal::TERM, Signal::INT])));
        assert_eq!(parse("write /f a b"), Ok(Step::Write("/f".into(), "a b".to_owned())));
        let steps = ["ignore HUP", "hang"].map(str::to_owned).to_vec();
        assert_eq!(parse("fork ignore HUP ; hang"), Ok(Step::Fork(steps)));
    }

    #[test]
    fn what_is_no_step_is_refused_also_inside_a_fork() {
        for line in
            ["", "dance", "exit", "exit 256", "ignore NOSUCH", "hang now", "fork dance", "transcript /f x"]
        {
            assert!(parse(line).is_err(), "{line:?}");
        }
    }
}
