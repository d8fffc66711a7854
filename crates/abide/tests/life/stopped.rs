//! A host that does not answer: readers ask the kernel and the recording instead, and say so.

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
    abide_testkit::deadline::until("it is told", || {
        life.inspect()["processes"]["host"]["qualifier"] == "stopped"
    });
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
