//! The readers: ask random questions at full speed, mostly with commands that are started for one answer, and hand
//! each to the judge.

use serde_json::Value;

use super::Run;
use crate::judge::{self, Asked, Kind, list, output};
use crate::random::Random;
use crate::site::{Said, ask};
use crate::truth::Truth;

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Question {
    All,
    Active,
    Agents,
    About(Topic),
}

/// What is asked about one session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Topic {
    Inspect,
    Wait,
    Why,
    Snapshot,
    Logs,
}

const QUESTIONS: [(u64, Question); 8] = [
    (34, Question::All),
    (8, Question::Active),
    (22, Question::About(Topic::Inspect)),
    (14, Question::About(Topic::Wait)),
    (8, Question::About(Topic::Why)),
    (6, Question::About(Topic::Snapshot)),
    (6, Question::About(Topic::Logs)),
    (2, Question::Agents),
];

/// Asks until the run is over.
pub(super) fn read(run: &Run, seed: u64) {
    let mut random = Random::new(seed);
    while !run.is_over() {
        match random.weighted(&QUESTIONS) {
            Question::All => listing(run, true),
            Question::Active => listing(run, false),
            Question::Agents => agents(run),
            Question::About(topic) => match somebody(run, &mut random) {
                Some(truth) => about(run, topic, &truth),
                None => run.pause(5),
            },
        }
    }
}

/// A session that can be asked about.
fn somebody(run: &Run, random: &mut Random) -> Option<Truth> {
    run.ledger.with_all(|truths| {
        let there: Vec<&Truth> =
            truths.iter().filter(|truth| truth.id.is_some() && truth.removal.is_none()).copied().collect();
        (!there.is_empty()).then(|| random.pick(&there).clone())
    })
}

fn about(run: &Run, topic: Topic, truth: &Truth) {
    let id = truth.id.as_deref().unwrap_or_default();
    match topic {
        Topic::Inspect => stated(run, "inspect", truth.tag, &["inspect", "--json", id]),
        Topic::Wait => waited(run, truth.tag, &["wait", "--json", "--cap", "0s", id]),
        Topic::Why => stated(run, "why", truth.tag, &["why", "--json", id]),
        Topic::Snapshot => snapshot(run, truth.tag, id),
        Topic::Logs => logs(run, truth.tag, id, false),
    }
}

/// What a command answered: its data, or its error.
pub(super) type Answered = Result<Value, Value>;

/// Asks a command and looks at what no answer may be, whatever was asked.
pub(super) fn answer(run: &Run, tag: u32, args: &[&str]) -> Option<(Said, Answered)> {
    match ask(&mut run.site.abide(args)) {
        Ok(said) => examine(run, tag, args, said),
        Err(error) => {
            run.skip("ask", &error.to_string());
            None
        }
    }
}

/// Looks at what no answer may be.
pub(super) fn examine(run: &Run, tag: u32, args: &[&str], said: Said) -> Option<(Said, Answered)> {
    let told =
        || format!("`abide {}` said {:?} and {:?}, code {:?}", args.join(" "), said.out, said.err, said.code);
    if said.hung {
        run.lie(Kind::Hang.about(tag, told()));
        return None;
    }
    if said.err.contains("panicked at") || said.code.is_none() {
        run.lie(Kind::Panic.about(tag, told()));
        return None;
    }
    let Ok(Value::Object(mut envelope)) = serde_json::from_str(&said.out) else {
        run.lie(Kind::Malformed.about(tag, told()));
        return None;
    };
    let ok = envelope.get("ok") == Some(&Value::Bool(true));
    let part = envelope.remove(if ok { "data" } else { "error" }).unwrap_or_default();
    Some((said, if ok { Ok(part) } else { Err(part) }))
}

/// A question whose answer says a status.
pub(super) fn stated(run: &Run, question: &str, tag: u32, args: &[&str]) {
    let Some((said, answered)) = answer(run, tag, args) else { return };
    run.report().count(question, 1);
    let truth = run.ledger.truth(tag);
    judged(run, said.asked, &truth, &answered);
}

/// Hands one answer to the judge.
pub(super) fn judged(run: &Run, asked: Asked, truth: &Truth, answered: &Answered) {
    match answered {
        Ok(data) => {
            run.lies(judge::statement(asked, truth, data));
            let lag = judge::lag(asked, truth, data);
            let mut report = run.report();
            report.lag.unseen = report.lag.unseen.max(lag);
        }
        Err(error) => run.lies(judge::refusal(asked, truth, error)),
    }
}

/// `wait`: its exit code is an answer too.
pub(super) fn waited(run: &Run, tag: u32, args: &[&str]) {
    let Some((said, answered)) = answer(run, tag, args) else { return };
    run.report().count("wait", 1);
    let truth = run.ledger.truth(tag);
    judged(run, said.asked, &truth, &answered);
    run.lies(wait_code(tag, &said, &answered).into_iter().collect());
}

/// The code of `wait` against what it says.
pub(super) fn wait_code(tag: u32, said: &Said, answered: &Answered) -> Option<judge::Lie> {
    let Ok(data) = answered else {
        let says = || format!("`wait` refused and exited with {:?}", said.code);
        return (said.code != Some(125)).then(|| Kind::Contradiction.about(tag, says()));
    };
    let told = |name: &str| data.get(name).and_then(Value::as_bool).unwrap_or(false);
    let code = data.get("wait_code").and_then(Value::as_i64).and_then(|code| i32::try_from(code).ok());
    let expected = match (told("ended"), told("alive")) {
        (true, _) => code.unwrap_or(125),
        (false, true) => 0,
        // It can never be told where the record is damaged.
        (false, false) if said.code == Some(125) => 125,
        (false, false) => 124,
    };
    let says = || format!("`wait` exited with {:?} and said {data}", said.code);
    (said.code != Some(expected)).then(|| Kind::Contradiction.about(tag, says()))
}

fn snapshot(run: &Run, tag: u32, id: &str) {
    let Some((said, answered)) = answer(run, tag, &["snapshot", "--json", id]) else { return };
    run.report().count("snapshot", 1);
    let truth = run.ledger.truth(tag);
    match &answered {
        Ok(data) => {
            let lines = data.get("lines").and_then(Value::as_array).into_iter().flatten();
            let lines: Vec<&str> = lines.filter_map(Value::as_str).collect();
            run.lies(output::screen(&truth, &lines.join("\n")));
        }
        Err(_) => judged(run, said.asked, &truth, &answered),
    }
}

/// The whole log. `complete` if the program is over and everything that it said must be there.
pub(super) fn logs(run: &Run, tag: u32, id: &str, complete: bool) {
    let Ok(said) = ask(&mut run.site.abide(&["logs", id])) else { return };
    run.report().count("logs", 1);
    let told = || format!("`abide logs` said {:?}, code {:?}", said.err, said.code);
    if said.hung {
        return run.lie(Kind::Hang.about(tag, told()));
    }
    if said.err.contains("panicked at") || said.code.is_none() {
        return run.lie(Kind::Panic.about(tag, told()));
    }
    let truth = run.ledger.truth(tag);
    let excused = truth.removal.is_some() || truth.harm.evidence || truth.harm.recording;
    if said.code != Some(0) && !excused {
        return run.lie(Kind::Refusal.about(tag, told()));
    }
    if said.code == Some(0) {
        run.lies(output::log(&truth, said.asked.call, &said.out, complete));
    }
}

/// `ls`: each entry is an answer, and so is that somebody is missing.
fn listing(run: &Run, all: bool) {
    let args: &[&str] = if all { &["ls", "-a", "--json"] } else { &["ls", "--json"] };
    let Some((said, answered)) = answer(run, 0, args) else { return };
    let data = match answered {
        Ok(data) => data,
        Err(error) => return run.lie(Kind::Refusal.about(0, format!("`ls` refused: {error}"))),
    };
    let entries: &[Value] = data.get("sessions").and_then(Value::as_array).map_or(&[], Vec::as_slice);
    let scope = list::Scope { all, partial: !sources_are_whole(&data) };
    let (lies, lag) = run.ledger.with_all(|truths| list::listing(said.asked, truths, entries, scope));
    let mut report = run.report();
    report.count(if all { "ls -a" } else { "ls" }, 1.max(entries.len() as u64));
    report.lag.unseen = report.lag.unseen.max(lag);
    lies.into_iter().for_each(|lie| report.lie(lie));
}

fn sources_are_whole(data: &Value) -> bool {
    let text = |source: &Value, part: &str| source.get(part).and_then(Value::as_str).map(str::to_owned);
    let sources = data.get("sources").and_then(Value::as_array).into_iter().flatten();
    let mut ours = sources.filter(|source| text(source, "name").as_deref() == Some("sessions"));
    ours.all(|source| text(source, "state").as_deref() == Some("ok"))
}

/// There are no agents here: none may be named.
fn agents(run: &Run) {
    let Some((_, answered)) = answer(run, 0, &["agents", "--json"]) else { return };
    run.report().count("agents", 1);
    let named = answered.ok().and_then(|data| {
        let agents = data.get("agents")?.as_array()?.clone();
        agents.into_iter().find(|agent| agent.get("session").is_some_and(|session| !session.is_null()))
    });
    if let Some(agent) = named {
        run.lie(Kind::WrongProcess.about(0, format!("no session has an agent, but: {agent}")));
    }
}
