//! `abide hook`: what agents' hooks call. It never disturbs an agent: it says nothing, takes a bounded time, and exits
//! with 0 whatever happens.

use std::io::Read;
use std::sync::mpsc;
use std::time::Duration;

use abide_core::failure::Failure;
use abide_engine::Sessions;
use schemars::JsonSchema;
use serde::Serialize;

use super::super::{Faulty, Front, Verb};
use crate::environment::Variable;

const EXAMPLES: &str = "Examples:
  abide hook claude Stop < told.json    what a hook of Claude Code calls when a turn is over";

/// Write down what an agent tells a hook; `abide hooks install` puts this into agents' settings
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES)]
#[command(
    after_help = "Reads what the agent tells as JSON on standard input, and writes down whose turn opens or closes and what the \
    agent wants: in the session that the agent runs in, else in one of its own. Exits with 0 whatever happens, so that no \
    agent is stopped by it; --json says what came of it."
)]
pub(crate) struct Args {
    /// The agent
    agent: String,
    /// What happens in it, in the agent's words
    occasion: String,
}

/// What came of it.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "HookHeard")]
pub(crate) struct HookView {
    /// The session that it was written down in.
    session: Option<String>,
    /// Why it was not.
    trouble: Option<String>,
}

/// Longer tellings are none, and nothing takes longer.
const LONGEST: u64 = 16 << 20;
const PATIENCE: Duration = Duration::from_secs(3);

impl Verb for Args {
    type Data = HookView;

    fn with_faults(&self) -> Faulty {
        Faulty::Warn
    }

    fn run(self, front: &mut Front) -> Result<u8, Failure> {
        let (home, told_of) = (front.home(), front.told());
        let (say, hear) = mpsc::channel();
        let work = move || {
            let within = Variable::Session.value().and_then(|id| id.into_string().ok());
            let heeded = home.and_then(|home| {
                let mut told = Vec::new();
                let read = std::io::stdin().lock().take(LONGEST).read_to_end(&mut told);
                read.map_err(|e| Failure::io("read", &"standard input", &e))?;
                let mut sessions = Sessions::open(&home)?;
                let named = (self.agent.as_str(), self.occasion.as_str());
                sessions.heed_hook(named, &told, within.as_deref(), told_of.as_ref())
            });
            // Nobody may wait for it any more.
            let _ = say.send(heeded);
        };
        let started = std::thread::Builder::new().spawn(work);
        let heeded = started.ok().and_then(|_| hear.recv_timeout(PATIENCE).ok());
        let data = match heeded {
            Some(Ok(session)) => HookView { session: session.map(|id| id.to_string()), trouble: None },
            Some(Err(failure)) => HookView { session: None, trouble: Some(failure.message) },
            None => HookView { session: None, trouble: Some("it took too long".to_owned()) },
        };
        front.output.show(&data, |_| {})?;
        Ok(0)
    }
}
