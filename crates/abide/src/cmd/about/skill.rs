//! `abide skill`: how an agent uses abide, told by abide itself.

use abide_core::failure::Failure;
use schemars::JsonSchema;
use serde::Serialize;

use crate::cmd::{Faulty, Front, Verb};

const EXAMPLES: &str = "Examples:
  abide skill                                     read it
  abide skill > ~/.claude/skills/abide/SKILL.md   keep it where an agent looks for such guides";

const GUIDE: &str = include_str!("../../../../../docs/skill.md");

/// Print the guide for agents
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES)]
pub(crate) struct Args {}

/// The guide.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Skill")]
pub(crate) struct SkillView {
    /// Markdown.
    guide: &'static str,
}

impl Verb for Args {
    type Data = SkillView;

    fn with_faults(&self) -> Faulty {
        Faulty::Warn
    }

    fn run(self, front: &mut Front) -> Result<u8, Failure> {
        front.output.show(&SkillView { guide: GUIDE }, |page| page.own_lines(GUIDE))?;
        Ok(0)
    }
}
