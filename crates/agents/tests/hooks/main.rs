//! What is done to agents' settings, and what is made of what agents tell their hooks.

mod exact;
mod heard;
mod settings;

use abide_agents::hooks::{Hooks, hooks};

/// Where the executable is, for entries.
const EXE: &str = "/opt/some where/abide";

fn of(agent: &str) -> &'static Hooks {
    hooks(agent).expect("an agent with hooks")
}
