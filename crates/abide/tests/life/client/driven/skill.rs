//! The guide for agents: what stands in it works as it stands there.

use std::path::Path;

use abide_testkit::Ran;

use crate::common::World;

#[test]
fn every_example_of_the_guide_for_agents_runs_as_it_stands_there() {
    let world = World::new();
    let guide = world.abide.run(&["skill"]).stdout;
    let examples: Vec<&str> =
        guide.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert_eq!(examples.len(), 7);
    let command = world.abide.command(&[]);
    let beside = Path::new(command.get_program()).parent().expect("it stands in a directory").display();
    let script = format!("set -eu; export PATH={beside}:$PATH; cd /\n{}", examples.join("\n"));
    let ran = Ran::of(&mut world.bash(&script, &[]));
    assert_eq!((ran.code(), world.in_sessions().len()), (Some(0), 2), "{ran:?}");
    for said in ["it ended with 3", "12 passed", "/tmp", "its code is 1", "\n42", "done"] {
        assert!(ran.stdout.contains(said), "{said}: {ran:?}");
    }
    let count = |row: &str| ran.stdout.lines().filter(|line| line.trim_end() == row).count();
    assert_eq!((count("running 12"), count("12 passed")), (3, 2), "logs, export, and a past screen: {ran:?}");
}
