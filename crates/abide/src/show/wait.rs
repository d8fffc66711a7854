//! The JSON twin of what `wait` answers, and its one-line form, which is stable.

use abide_core::verdict::Codes;
use abide_engine::Session;
use schemars::JsonSchema;
use serde::Serialize;

use super::safe;
use super::session::{DeclaredView, OutcomeView};
use super::word::StatusName;

/// One session, or several below `sessions`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "Wait")]
pub(crate) enum WaitView<'a> {
    One(Box<WaitedView<'a>>),
    Several { sessions: Vec<WaitedView<'a>> },
}

/// What was asked for, whatever comes of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    One,
    Several,
}

impl<'a> WaitView<'a> {
    pub(crate) fn new(mut waited: Vec<WaitedView<'a>>, form: Form) -> Self {
        match (form, waited.pop()) {
            (Form::One, Some(one)) => Self::One(Box::new(one)),
            (Form::One | Form::Several, last) => {
                waited.extend(last);
                Self::Several { sessions: waited }
            }
        }
    }
}

/// How one session stood when the wait was over.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Waited")]
pub(crate) struct WaitedView<'a> {
    id: &'a str,
    ended: bool,
    status: StatusName,
    /// Whether its program, its agent, or its guard that still finishes it, is provably alive; null if that or its status is unknown.
    alive: Option<bool>,
    /// The declared code, else an observed exit code.
    exit_code: Option<u8>,
    /// What `wait` exits with for this session; null while it has not ended.
    wait_code: Option<u8>,
    outcome: Option<OutcomeView>,
    declared: Option<DeclaredView<'a>>,
    /// Whether the declared result and the exit status say the same.
    agrees: Option<bool>,
    /// Whether the conditions that were waited for are met; null where none were given.
    met: Option<bool>,
    /// Where in the recording that was found: a baseline for `--since`. Null where no conditions were given.
    seq: Option<u64>,
    /// What to do next, if it has not ended, or if its record is so damaged that no code can be passed on.
    hint: Option<String>,
    /// What people are told of its end.
    #[serde(skip)]
    says: Vec<String>,
}

impl<'a> WaitedView<'a> {
    /// `again` is the command that waits once more for all that was waited for, `hinted` makes commands complete.
    pub(crate) fn new(session: &'a Session, again: &str, hinted: &impl Fn(&str) -> String) -> Self {
        let verdict = &session.verdict;
        let alive = session.is_healthy();
        let over = session.has_ended();
        Self {
            id: session.id.as_str(),
            ended: over,
            status: StatusName(verdict.status),
            alive: (alive || over).then_some(alive),
            exit_code: verdict.codes.exit,
            wait_code: verdict.codes.wait,
            outcome: verdict.outcome.as_ref().map(OutcomeView::new),
            declared: DeclaredView::of(session),
            agrees: verdict.codes.agrees,
            met: None,
            seq: None,
            hint: (!over || verdict.codes.unclear).then(|| hinted(&hint(session, alive, again))),
            says: says(session).into_iter().chain(damage(session)).collect(),
        }
    }

    /// The same where conditions were waited for, and how that came out.
    pub(crate) fn of_conditions(
        session: &'a Session,
        met: bool,
        seq: u64,
        hinted: &impl Fn(&str) -> String,
    ) -> Self {
        let id = &session.id;
        let look = if session.is_unrecorded() { "inspect" } else { "snapshot" };
        let hint = format!("`abide {look} {id}` shows what is to be seen instead");
        let hint = (!met && !session.is_over()).then(|| hinted(&hint));
        Self { met: Some(met), seq: Some(seq), hint, ..Self::new(session, "", hinted) }
    }

    /// For people and for those who read lines: the first is stable.
    fn lines(&self) -> Vec<String> {
        let exit = self.wait_code.map_or_else(|| "none".to_owned(), |code| code.to_string());
        let status = self.status.0.name();
        let met =
            self.met.zip(self.seq).map_or_else(String::new, |(met, seq)| format!(" met={met} seq={seq}"));
        let first =
            format!("abide: wait id={} ended={} status={status} exit={exit}{met}", self.id, self.ended);
        let more = self.says.iter().map(|says| format!("  {}", safe::line(says)));
        std::iter::once(first).chain(more).collect()
    }
}

/// The lines of all, then each hint once.
pub(crate) fn lines(waited: &[WaitedView<'_>]) -> Vec<String> {
    let mut hints: Vec<String> = Vec::new();
    for hint in waited.iter().filter_map(|view| view.hint.as_ref()).map(|hint| format!("hint: {hint}")) {
        if !hints.contains(&hint) {
            hints.push(hint);
        }
    }
    waited.iter().flat_map(WaitedView::lines).chain(hints).collect()
}

/// How it ended, the program's own word beside it; of a life that cannot be proved, why.
fn says(session: &Session) -> Vec<String> {
    let verdict = &session.verdict;
    let declared = session.evidence.work.declared.as_ref().filter(|_| verdict.codes.wait.is_some());
    let outcome = verdict.outcome.as_ref().map(|outcome| outcome.says());
    match (declared, outcome) {
        _ if !session.has_ended() => {
            let unproved = !session.is_healthy();
            unproved.then(|| verdict.rule.says().to_owned()).into_iter().collect()
        }
        (Some(told), Some(outcome)) => {
            let summary = told.body.summary.as_ref().map(|summary| format!("summary: {summary}"));
            std::iter::once(format!("{}; {}", told.body.says(), status_was(session, &outcome)))
                .chain(summary)
                .collect()
        }
        (Some(told), None) => vec![told.body.says()],
        (None, Some(outcome)) => vec![outcome],
        (None, None) => vec![verdict.rule.says().to_owned()],
    }
}

/// What is wrong with the record of a session that has ended, and whether its code is lost with it.
fn damage(session: &Session) -> Vec<String> {
    let first = session.evidence.record.damage.first().filter(|_| session.has_ended());
    let named = first.map(|damage| format!("its record is damaged: {}", damage.says()));
    let lost = session.verdict.codes.unclear.then(|| Codes::UNCLEAR.to_owned());
    named.into_iter().chain(lost).collect()
}

/// What the program's exit said, beside what was declared.
fn status_was(session: &Session, outcome: &str) -> String {
    match session.verdict.outcome.as_ref().map(OutcomeView::new).and_then(|outcome| outcome.code) {
        Some(code) => format!("the exit status was {code}"),
        None => format!("the program was {outcome}"),
    }
}

fn hint(session: &Session, alive: bool, again: &str) -> String {
    if session.half_removed {
        return format!(
            "its removal began and nobody is at it: `abide rm {}` removes it to its end",
            session.id
        );
    }
    if session.is_gone() {
        return "its directory is gone, and nothing more will be told of it; `abide ls -a` lists what there is".to_owned();
    }
    if let Some(way_in) = session.way_in() {
        return format!("{way_in}; until then waiting changes nothing");
    }
    if session.verdict.codes.unclear && !session.evidence.is_closed() {
        return format!("`abide doctor --fix` puts on record what is known of its end; then `{again}`");
    }
    if session.is_beyond_telling() || session.verdict.codes.unclear {
        return format!("`abide why {}` shows what is damaged; waiting longer changes nothing", session.id);
    }
    if let Some(way_on) = session.way_on() {
        return format!("{way_on}; wait again with `{again}`");
    }
    if alive {
        return format!("this is healthy: the session is alive and goes on; wait again with `{again}`");
    }
    format!("`abide why {}` shows why its life cannot be told; wait again with `{again}`", session.id)
}
