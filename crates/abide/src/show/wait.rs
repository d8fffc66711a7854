//! The JSON twin of what `wait` answers, and its one-line form, which is stable.

use abide_engine::Session;
use schemars::JsonSchema;
use serde::Serialize;

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

impl<'a> WaitView<'a> {
    pub(crate) fn new(mut waited: Vec<WaitedView<'a>>) -> Self {
        match waited.pop() {
            Some(one) if waited.is_empty() => Self::One(Box::new(one)),
            last => {
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
    /// Whether its program, its agent, or its guard that still finishes it, is provably alive; null if that is unknown.
    alive: Option<bool>,
    /// The declared code, else an observed exit code.
    exit_code: Option<u8>,
    /// What `wait` exits with for this session; null while it has not ended.
    wait_code: Option<u8>,
    outcome: Option<OutcomeView>,
    declared: Option<DeclaredView<'a>>,
    /// Whether the declared result and the exit status say the same.
    agrees: Option<bool>,
    /// What to do next, if it has not ended.
    hint: Option<String>,
}

impl<'a> WaitedView<'a> {
    pub(crate) fn new(session: &'a Session, cap: Option<&str>) -> Self {
        let verdict = &session.verdict;
        let alive = session.is_provably_alive();
        let over = verdict.status.is_terminal();
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
            hint: (!over).then(|| hint(session, alive, cap)),
        }
    }

    /// For people and for those who read lines.
    pub(crate) fn lines(&self) -> Vec<String> {
        let exit = self.wait_code.map_or_else(|| "none".to_owned(), |code| code.to_string());
        let status = self.status.0.name();
        let mut lines =
            vec![format!("abide: wait id={} ended={} status={status} exit={exit}", self.id, self.ended)];
        if self.agrees == Some(false) {
            lines.push("note: the declared result and the exit status differ".to_owned());
        }
        lines.extend(self.hint.as_ref().map(|hint| format!("hint: {hint}")));
        lines
    }
}

fn hint(session: &Session, alive: bool, cap: Option<&str>) -> String {
    let cap = cap.map(|cap| format!("--cap {cap} ")).unwrap_or_default();
    let again = format!("abide wait {cap}{}", session.id);
    if session.is_beyond_telling() {
        return format!("`abide why {}` shows what is damaged; waiting longer changes nothing", session.id);
    }
    if alive {
        return format!("this is healthy: the session is alive and goes on; wait again with `{again}`");
    }
    format!("`abide why {}` shows why its life cannot be proved; wait again with `{again}`", session.id)
}
