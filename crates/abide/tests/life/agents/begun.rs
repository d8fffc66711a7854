//! An agent that can be told which conversation to begin is told one where that is wanted: it is known from the first instant, and told so.

use rustix::process::Signal;
use serde_json::Value;

use super::{claude, done, listed, until_it};
use crate::common::{World, pid};

#[test]
fn the_conversation_of_an_agent_is_chosen_at_its_launch_and_shown() {
    let world = World::new();
    let id = world.launch(&["--begin", "--cwd", &world.beside("")], &[&claude(&world)]);
    let begun = world.told(&id, "launched")[0]["begun"].clone();
    let told = world.inspect(&id);
    let words = |argv: &Value| argv.as_array().expect("words").clone();
    let added = ["--session-id".into(), begun["conversation"].clone()];
    assert_eq!(words(&told["argv_added"]), added, "{told}");
    assert_eq!(words(&told["argv"])[1..], added, "what ran is told");
    let text = world.abide.run(&["inspect", &id]).stdout;
    let line = |name: &str| text.lines().find(|line| line.trim_start().starts_with(name)).unwrap_or_default();
    assert!(
        line("command").trim_end().ends_with("/claude") && line("added").contains("--session-id"),
        "{text}"
    );
    until_it(&world, &id, &["--turn", "settled"]);
    let agent = listed(&world, pid(&told, "program")).expect("it lives");
    assert_eq!(agent["conversation"], begun["conversation"], "the agent itself says so");
    done(&world, &["stop", &id]);
}

#[test]
fn a_conversation_of_which_nothing_was_written_is_known_and_not_resumed() {
    let world = World::new();
    let id = world.launch(&["--begin", "--cwd", &world.beside("")], &[&claude(&world), "--untrusted"]);
    let conversation = world.told(&id, "launched")[0]["begun"]["conversation"].clone();
    let life = world.observe(id.clone());
    life.program.0.signal(Signal::KILL);
    world.wait(&id);
    let refused = world.abide.run(&["resume", "--json", "-d", &id]);
    let error = refused.json()["error"].clone();
    assert_eq!((refused.code(), &error["code"]), (Some(5), &"no_agent".into()), "{error}");
    assert!(error["message"].to_string().contains(conversation.as_str().expect("it is known")), "{error}");
}

#[test]
fn nothing_is_added_where_the_arguments_say_which_conversation_or_that_is_not_wanted() {
    let world = World::new();
    let named = ["--session-id", "0a1b2c3d-0000-4000-8000-000000000001"];
    let (agent, here) = (claude(&world), world.beside(""));
    let launches: [(&[&str], &[&str]); 3] = [(&["--begin"], &named), (&[], &[]), (&["--begin"], &["mcp"])];
    for (options, arguments) in launches {
        let command = [&[agent.as_str()], arguments].concat();
        let options = [&["--cwd", here.as_str()], options].concat();
        let id = world.launch(&options, &command);
        let launched = world.told(&id, "launched").remove(0);
        assert_eq!((&launched["begun"], &launched["argv"]), (&Value::Null, &command.into()), "{launched}");
        assert_eq!(world.inspect(&id)["argv_added"], Value::Null);
        done(&world, &["stop", "--grace", "0s", &id]);
    }
}
