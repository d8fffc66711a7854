//! Programs that another program drives: what it types, presses and pastes, and what it waits for.

mod batches;
mod codes;
mod conditions;
mod guides;
mod input;
mod refusals;
mod skill;

use serde_json::Value;

use crate::common::{Life, World, data};

/// A shell that shows nothing of its own but a prompt.
fn shell(world: &World) -> Life<'_> {
    let life = world.observe(world.launch(&["--env", "PS1=% "], &["bash", "--norc", "--noprofile"]));
    met(world, &["--text", "% ", &life.id]);
    life
}

/// Types a line, and gives the baseline for what comes of it.
fn type_line(world: &World, life: &Life<'_>, line: &str) -> String {
    let told = data(&world.abide.run(&["type", "--json", "--enter", &life.id, line]));
    told["seq"].to_string()
}

/// Waits until conditions are met, and gives what was said of it.
fn met(world: &World, conditions: &[&str]) -> Value {
    let ran = world.abide.run(&[&["wait", "--json", "--timeout", "30s"], conditions].concat());
    assert_eq!(ran.code(), Some(0), "{conditions:?}: {ran:?}");
    data(&ran)
}
