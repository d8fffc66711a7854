//! Every step of what abide does: whoever is killed there, what is told afterwards is what was. `fail-points` has the other blows.

use std::path::Path;

use abide_testkit::trace::points::{ACTS, Blow};

// TRUTH 24, 50, 56
#[test]
fn whoever_is_killed_at_any_step_of_any_act_its_record_says_what_was() {
    std::thread::scope(|scope| {
        let abide = Path::new(env!("CARGO_BIN_EXE_abide"));
        let acts = ACTS.iter().map(|act| (act, scope.spawn(|| act.points(abide, Blow::Kill))));
        for (act, points) in acts.collect::<Vec<_>>() {
            let points = points.join().expect("it was tried");
            let broken: Vec<_> = points.iter().filter(|point| point.held.is_err()).collect();
            assert!(broken.is_empty(), "{}: {broken:#?}", act.name);
            assert_eq!(act.unmade(&points), Vec::<&str>::new(), "{}: nothing was hit there", act.name);
        }
    });
}
