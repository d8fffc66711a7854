//! A host that does not answer: readers ask the kernel and the recording instead, and say so.

use abide_testkit::deadline::until;
use rustix::process::Signal;

use crate::common::{World, data};

// TRUTH 25
#[test]
fn a_host_that_is_stopped_keeps_nobody_from_knowing_the_truth() {
    let world = World::new();
    let life = world.live(&["trap-exit USR1 3", "print ready", "hang"]);
    life.until_shown("ready");
    let host = life.helper("host", None);
    host.signal(Signal::STOP);
    until("it is told", || life.inspect()["processes"]["host"]["qualifier"] == "stopped");
    let told = data(&world.abide.run(&["inspect", "--json", &life.id]));
    assert_eq!(told["status"], "running", "{told}");
    assert_eq!(told["processes"]["program"]["liveness"], "alive", "{told}");
    assert_eq!(told["screen"]["source"], "replay", "what a snapshot would be: {told}");
    let capped = world.abide.run(&["wait", "--json", "--cap", "100ms", &life.id]);
    assert_eq!((capped.code(), &data(&capped)["status"]), (Some(0), &"running".into()));
    let snapshot = world.abide.run(&["snapshot", "--json", &life.id]);
    let told = data(&snapshot);
    assert_eq!((&told["lines"][0], &told["source"]), (&"ready".into(), &"replay".into()), "{told}");
    let warned = snapshot.json()["warnings"][0].to_string();
    assert!(warned.contains("did not answer within a second"), "{snapshot:?}");
    let snapshot = world.abide.run(&["snapshot", &life.id]);
    assert!(snapshot.stderr.contains("did not answer within a second"), "{snapshot:?}");
    host.signal(Signal::CONT);
    let told = data(&world.abide.run(&["snapshot", "--json", &life.id]));
    assert_eq!((&told["lines"][0], &told["source"]), (&"ready".into(), &"live".into()), "{told}");
    let session = life.inspect();
    assert_eq!(session["screen"]["source"], "live");
    assert_eq!(
        (&session["host"]["generation"], host.lives()),
        (&1.into(), true),
        "it was the same all along"
    );
    life.program.0.signal(Signal::USR1);
    assert_eq!(world.wait(&life.id).0, Some(3));
}

#[test]
fn a_mark_that_was_refused_is_not_set_later_at_another_instant() {
    let world = World::new();
    let life = world.live(&["trap-exit USR1 3", "print ready", "hang"]);
    life.until_shown("ready");
    let host = life.helper("host", None);
    host.signal(Signal::STOP);
    let refused = world.abide.run(&["mark", &life.id, "here"]);
    assert_eq!(refused.code(), Some(8), "{refused:?}");
    host.signal(Signal::CONT);
    // Done in their order.
    assert_eq!(world.abide.run(&["mark", &life.id, "there"]).code(), Some(0));
    let listed = data(&world.abide.run(&["marks", "--json", &life.id]));
    let names: Vec<_> =
        listed["marks"].as_array().expect("a list").iter().map(|mark| &mark["name"]).collect();
    assert_eq!(names, ["there"], "{listed}");
}

// TRUTH 25
#[test]
fn a_program_that_ends_while_its_host_is_stopped_is_waited_for_as_ever() {
    let world = World::new();
    let life = world.live(&["trap-exit USR1 3", "print ready", "hang"]);
    life.until_shown("ready");
    let host = life.helper("host", None);
    host.signal(Signal::STOP);
    let mut waiting = world.start(&["wait", &life.id]);
    life.program.0.signal(Signal::USR1);
    assert_eq!(waiting.reap(), abide_testkit::Ending::Exited(3));
    let told = life.inspect();
    assert_eq!((&told["status"], &told["exit_code"]), (&"exited".into(), &3.into()), "{told}");
    // Nobody continues it, and still it is not left behind.
    host.await_end();
    assert_eq!(life.inspect()["exit_code"], 3);
}

#[test]
fn a_flood_that_the_host_cannot_keep_up_with_is_shown_as_far_as_it_is_drawn() {
    let world = World::new();
    let flood = "yes \"$(printf '\\033[32mfl\\033[1moo\\033[0md')\"";
    let life = world.observe(world.launch(&[], &["sh", "-c", flood]));
    until("it is shown as far as it is drawn, by its host or in its stead", || {
        let told = data(&world.abide.run(&["snapshot", "--json", &life.id]));
        let behind = told["behind"].as_u64().expect("a number");
        behind > 0 && told["lines"].to_string().contains("flood")
    });
    let shown = world.abide.run(&["snapshot", &life.id]);
    assert!(shown.stderr.contains("writes faster than its screen is drawn"), "{shown:?}");
    life.program.0.signal(Signal::KILL);
    assert_eq!(world.wait(&life.id).0, Some(137));
}
