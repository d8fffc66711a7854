//! What is cleared away: what is over and nothing else, by when it ended, and one that resists keeps nobody.

use abide_core::evidence::How;
use abide_core::moment::Moment;
use abide_sys::clock;
use abide_sys::lock::Holder;
use abide_testkit::scene::{Scene, dead, everything};
use serde_json::Value;

use crate::common::{World, data};

fn over(world: &World, id: &str) -> Scene {
    let gone = dead();
    Scene::new(&world.home.path(), id).served(&gone, &gone, &gone)
}

fn removed(answer: &Value) -> Vec<&str> {
    let mut ids: Vec<_> =
        answer["removed"].as_array().expect("a list").iter().filter_map(|one| one["id"].as_str()).collect();
    ids.sort_unstable();
    ids
}

#[test]
fn what_a_dry_run_names_is_removed_and_nothing_that_lives_or_may_live() {
    let world = World::new();
    let everything = everything(&world.home.path());
    let collected =
        |flags: &[&str]| data(&world.abide.run(&[&["gc", "--json", "--keep", "0"], flags].concat()));
    let before = world.in_sessions().len();
    let named = collected(&["--dry-run"]);
    assert_eq!(world.in_sessions().len(), before, "it only said so");
    assert_eq!(removed(&named), ["exited00", "failed00", "lost0000", "removed0"]);
    assert_eq!(removed(&collected(&[])), removed(&named));
    let mut left = world.in_sessions();
    left.sort_unstable();
    assert_eq!(left, ["exiting0", "removing", "running0", "starting", "unattend", "unknown0"]);
    assert_eq!(removed(&collected(&[])), [""; 0], "once is enough");
    drop(everything);
}

#[test]
fn age_counts_from_the_end_and_not_from_the_launch() {
    const DAY: i64 = 86_400_000;
    let world = World::new();
    let now = clock::now();
    let long_ago = Moment { wall: now.wall - 2 * DAY, boot: 1 };
    let gone = dead();
    let scene = |id: &str| Scene::new(&world.home.path(), id).at(long_ago).served(&gone, &gone, &gone);
    let _old = scene("old00000").ended(How::Exited { code: 0 });
    let _young = scene("young000").at(now).ended(How::Exited { code: 0 });
    let answer = data(&world.abide.run(&["gc", "--json", "--older", "1h"]));
    assert_eq!(removed(&answer), ["old00000"]);
    assert_eq!(world.in_sessions(), ["young000"]);
}

#[test]
fn one_that_cannot_be_removed_keeps_none_of_the_others() {
    let world = World::new();
    let _scenes = ["first000", "last0000"].map(|id| over(&world, id).ended(How::Exited { code: 0 }));
    let _busy = over(&world, "busy0000").ended(How::Exited { code: 0 }).held(Holder::Sealer);
    let ran = world.abide.run(&["gc", "--json", "--keep", "0"]);
    let answer = data(&ran);
    assert_eq!(removed(&answer), ["first000", "last0000"], "{ran:?}");
    assert_eq!(world.in_sessions(), ["busy0000"]);
    assert!(answer["failed"][0]["id"] == "busy0000" && ran.code() != Some(0), "{ran:?}");
}
