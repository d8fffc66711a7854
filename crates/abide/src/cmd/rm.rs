//! `abide rm`: remove sessions that are over.

use abide_core::failure::Failure;
use abide_engine::{Session, Sessions};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Front, Verb, run};
use crate::config::key::Key;
use crate::show::safe;
use crate::show::session::SurvivorView;

const EXAMPLES: &str = "Examples:
  abide rm k3v9q2zr           a session that is over, with its recording
  abide rm --force nightly    stop it first if it runs; also one whose record is damaged";

/// Remove sessions and everything that is known of them
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES)]
#[command(
    after_help = concat!("If one of several may not be removed, none is. Warns of processes of a session that live on: \
    once it is removed, nobody knows them any more. With --force, warns too where it cannot be told whether the program lives: \
    its record is damaged, or it is of another machine or namespace. Where root could tell, the session is kept.", signals_end_this!("a removal that was begun is ended by `abide rm`."))
)]
pub(crate) struct Args {
    /// Stop it first if it runs; remove it even if its record is damaged
    #[arg(long)]
    force: bool,
    /// IDs, names, unique prefixes or @last
    #[arg(required = true, value_name = "ID")]
    sessions: Vec<String>,
}

/// What was removed.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Remove")]
pub(crate) struct RemoveView {
    removed: Vec<String>,
    failed: Vec<NotRemovedView>,
}

/// A session that is still there.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "NotRemoved")]
struct NotRemovedView {
    id: String,
    reason: String,
}

impl Verb for Args {
    type Data = RemoveView;

    fn run(self, front: &mut Front) -> Result<u8, Failure> {
        let grace_ms = run::parse_duration(&front.value(Key::Grace, None))?;
        let sessions = front.sessions()?;
        // All are found and looked at before the first is removed.
        let mut found: Vec<Session> = Vec::new();
        for wanted in &self.sessions {
            let session = sessions.settled(&sessions.find(wanted)?)?;
            if !found.iter().any(|known| known.id == session.id) {
                sessions.admits_removal(&session, self.force)?;
                found.push(session);
            }
        }
        let mut data = RemoveView { removed: Vec::new(), failed: Vec::new() };
        let (alone, mut code) = (found.len() == 1, 0);
        for session in found {
            let id = session.id.to_string();
            match self.remove(front, &sessions, session, grace_ms) {
                Ok(()) => data.removed.push(id),
                Err(failure) if alone => return Err(failure),
                Err(failure) => {
                    code = if code == 0 { failure.code.kind().exit_code() } else { code };
                    data.failed.push(NotRemovedView { id, reason: failure.message });
                }
            }
        }
        front.output.show(&data, |page| {
            for id in &data.removed {
                page.plain(id).end();
            }
        })?;
        for view in &data.failed {
            front.output.remark(&format!("abide: {} is still there: {}", view.id, safe::line(&view.reason)));
        }
        Ok(code)
    }
}

impl Args {
    fn remove(
        &self,
        front: &mut Front,
        sessions: &Sessions,
        session: Session,
        grace_ms: u64,
    ) -> Result<(), Failure> {
        let stops = self.force && session.verdict.status.is_stoppable();
        let session = if stops { sessions.stop(&session, grace_ms)? } else { session };
        // Once it is removed nobody knows them any more.
        let (survivors, doubt) = (sessions.left_behind(&session), session.removal_doubt());
        let outlives_the_stop = stops && session.verdict.status.is_stoppable();
        sessions.remove(&session, self.force).map_err(|failure| match outlives_the_stop {
            true => failure.hint(format!(
                "it was killed and lives on: `abide why {}` shows what is known of it",
                session.id
            )),
            false => failure,
        })?;
        if let Some(doubt) = doubt {
            front.output.warn(&format!("{doubt}; what lives of it lives on"), None);
        }
        if !survivors.is_empty() {
            let views = survivors.iter().map(SurvivorView::new);
            let (named, pids): (Vec<String>, Vec<String>) =
                views.map(|view| (format!("{} ({})", view.pid, view.command), view.pid.to_string())).unzip();
            let text = format!("processes of session {} live on: {}", session.id, named.join(", "));
            front.output.warn(&text, Some(&format!("`kill {}` asks them to end", pids.join(" "))));
        }
        Ok(())
    }
}
