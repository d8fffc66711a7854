//! `abide agents`: every agent on this machine, what needs a person first.

use abide_core::failure::{Code, Failure};
use abide_engine::agents::kinds;
use schemars::JsonSchema;
use serde::Serialize;

use super::super::{Faulty, Front, Verb};
use crate::args::nearest;
use crate::show::list::agents::{self, AgentView, SourceView};

const EXAMPLES: &str = "Examples:
  abide agents                    the agents on this machine, started here or elsewhere
  abide agents --json             with what each answer rests on";

/// List every coding agent on this machine, started here or elsewhere
///
/// That one lives is the kernel's word; what it does is told by its own files and, in a session, by what it shows. What
/// needs a person comes first.
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES)]
pub(crate) struct Args {
    /// Only this kind of agent
    #[arg(value_name = "AGENT")]
    agent: Option<String>,
}

/// The agents of a machine.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Agents")]
pub(crate) struct AgentsView {
    agents: Vec<AgentView>,
    /// Who was asked, so that a partial answer says so.
    sources: Vec<SourceView>,
}

impl Verb for Args {
    type Data = AgentsView;

    fn with_faults(&self) -> Faulty {
        Faulty::Warn
    }

    fn run(self, front: &mut Front) -> Result<u8, Failure> {
        if let Some(kind) = self.agent.as_deref().filter(|kind| !kinds().contains(kind)) {
            let near = nearest::nearest(kind, &kinds()).map(|near| format!("`{near}`? "));
            return Err(Failure::new(Code::Usage, format!("`{kind}` is no kind of agent that is known"))
                .hint(format!("{}these are: {}", near.unwrap_or_default(), kinds().join(", "))));
        }
        let sessions = front.sessions()?;
        let (mut found, asked) = sessions.agents();
        found.retain(|agent| self.agent.as_deref().is_none_or(|name| name == agent.adapter.name()));
        let (agents, sources) = agents::views(&sessions, found, asked);
        let data = AgentsView { agents, sources };
        front.output.show(&data, |page| agents::put(page, &data.agents))?;
        tell(front, &data.sources);
        if data.agents.is_empty() {
            front.output.remark("no agents");
        }
        Ok(0)
    }
}

/// Tells of sources that gave no answer, or half of one.
pub(crate) fn tell(front: &mut Front, sources: &[SourceView]) {
    for source in sources {
        match (source.health, &source.detail) {
            ("ok", _) => {}
            (_, Some(detail)) => front.output.warn(&format!("{}: {detail}", source.name), None),
            (_, None) => front.output.warn(&format!("{} did not answer in time", source.name), None),
        }
    }
}
