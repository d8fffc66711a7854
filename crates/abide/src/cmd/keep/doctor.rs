//! `abide doctor`: what is wrong with this machine, this home and its sessions, and what to do about it.

use abide_core::failure::{Code, Failure};
use abide_core::id::SessionId;
use abide_engine::Sessions;
use abide_engine::doctor::{self, Check, Examining, Health};
use abide_engine::notify::Trying;

use super::notify;
use crate::cmd::agent::hooks;
use crate::cmd::{Faulty, Front, Verb};
use crate::environment::Variable;
use crate::show::doctor::{DoctorView, put};
use crate::show::meter::{Meter, Unit};

const EXAMPLES: &str = "Examples:
  abide doctor          look at everything, change nothing
  abide doctor --fix    also record the end of sessions whose witnesses died, and clear what killed launches left";

/// Look for what is wrong, and mend what is safe to mend
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES)]
#[command(after_help = concat!("Exits with 1 if anything is bad.", signals_end_this!("what was mended stays mended.")))]
pub(crate) struct Args {
    /// Record the end of sessions that are over and whose witnesses died; remove what is provably nobody's or was
    /// to be removed, empty cgroups included; make keyframes anew that are missing or damaged; tell what could not be told
    #[arg(long)]
    fix: bool,
    /// Read every recording whole, also beyond the 4 GiB that are read otherwise, the shortest first
    #[arg(long)]
    thorough: bool,
}

impl Verb for Args {
    type Data = DoctorView<'static>;

    fn with_faults(&self) -> Faulty {
        Faulty::Warn
    }

    fn run(self, front: &mut Front) -> Result<u8, Failure> {
        let meter = Meter::new(!front.output.is_json(), "reading recordings", Unit::Bytes);
        let progress = |done, all| meter.tell(done, all);
        let deliver = |sessions: &Sessions, id: &SessionId| notify::deliver(sessions, id, Trying::Once);
        let how =
            Examining { fix: self.fix, thorough: self.thorough, deliver: &deliver, progress: &progress };
        let mut checks = doctor::examine(&front.home()?, &how)?;
        checks.extend(hooks::check().into_iter().chain(stale_session(front)));
        meter.clear();
        for fix in checks.iter_mut().filter_map(|check| check.fix.as_mut()) {
            *fix = front.output.hinted(fix);
        }
        let data = DoctorView::new(&checks);
        front.output.show(&data, |page| put(page, &checks))?;
        Ok(if data.healthy { 0 } else { Code::Unhealthy.kind().exit_code() })
    }
}

/// A shell that was left over from a session, or was given its variables, speaks for a session that is over.
fn stale_session(front: &Front) -> Option<Check> {
    let named = Variable::Session.value()?.to_string_lossy().into_owned();
    let over = match front.sessions().ok()?.find(&named) {
        Ok(session) if session.verdict.status.is_terminal() => "is over",
        Err(failure) if failure.code == Code::NoSuchSession => "is not in this home",
        Ok(_) | Err(_) => return None,
    };
    let detail = format!("ABIDE_SESSION names {named}, which {over}: `result set` here means that one");
    let fix = Some("unset ABIDE_SESSION ABIDE_SESSION_DIR".to_owned());
    Some(Check { name: "environment", health: Health::Weak, detail, fix, session: None, code: None })
}
