//! Rows of the truth table that evidence and real processes can stage without any helper of a session.

mod chaos;

use abide_core::evidence::{Body, Cause, Closing, How, Role};
use abide_core::moment::Moment;
use abide_sys::lock::Holder;
use abide_testkit::namespace::{lines, unshare};
use abide_testkit::scene::{before_reboot, dead, earlier, identity, idle};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::common::{Stage, data, proof, served};

#[test]
fn the_pid_of_a_dead_guard_is_not_given_for_its_successor() {
    let stage = Stage::new();
    let living = idle();
    let scene = stage.scene("next0000").served(&dead(), &dead(), &identity(&living)).held(Holder::Guard);
    let session = stage.inspect(scene.id());
    let guard = json!({"pid": null, "liveness": "alive", "qualifier": "restarting"});
    assert_eq!(
        (&session["status"], &session["processes"]["guard"]),
        (&"running".into(), &guard),
        "{session}"
    );
    assert!(proof(&session).contains("is dead; its successor holds its lock"), "{session}");
    assert!(stage.text(&["inspect", scene.id()]).contains("alive, restarting"));
}

#[test]
fn after_a_reboot_a_session_is_lost_with_its_last_sign_of_life() {
    let stage = Stage::new();
    let living = idle();
    let before = before_reboot(&identity(&living));
    let seen = Moment { wall: 1_700_000_000_000, boot: 5_000 };
    let scene = served(stage.scene("rebooted").on_boot_of(&before).at(seen), &before);
    // Long after it began, its guard had something to say.
    let later = Moment { wall: seen.wall + 3_600_000, boot: seen.boot + 3_600_000 };
    let scene = scene.at(later).tell(Role::Guard, before.pid, Body::Noted("heard a hangup".into()));
    let session = stage.inspect(scene.id());
    assert_eq!(
        (&session["status"], &session["outcome"]["cause"]),
        (&"lost".into(), &"reboot".into()),
        "{session}"
    );
    assert_eq!(
        (&session["exit_code"], &session["wait_code"]),
        (&Value::Null, &125.into()),
        "no code was observed"
    );
    assert!(proof(&session).contains("the machine has been rebooted since"), "{session}");
    let tells = |when: &str| {
        let session = stage.inspect(scene.id());
        let is_last = |ground: &&Value| ground["says"].as_str().unwrap().contains("the last sign of life");
        let last = session["because"].as_array().unwrap().iter().find(is_last);
        let last = last.unwrap_or_else(|| panic!("{when}: {session}"));
        assert_eq!((&last["fact"], &last["at"]), (&"noted".into(), &"2023-11-14T23:13:20.000Z".into()));
        assert_eq!(session["last_seen_at"], "2023-11-14T23:13:20.000Z", "{when}: {session}");
        let text = stage.text(&["inspect", scene.id()]);
        assert!(text.contains("last seen  2023-11-14 23:13:20"), "{when}: {text}");
        text
    };
    assert!(tells("before sealing").contains("the machine was rebooted, observed by nobody"));
    let _ = stage.text(&["doctor", "--fix"]);
    let text = tells("after sealing");
    assert!(text.contains("over, and nobody observed how: the machine was rebooted, sealed"), "{text}");
}

#[test]
fn a_reused_pid_is_dead_and_the_stranger_is_left_alone() {
    let stage = Stage::new();
    let stranger = idle();
    let scene = served(stage.scene("reused00"), &earlier(&stranger));
    let session = stage.inspect(scene.id());
    assert_eq!(session["status"], "lost", "{session}");
    assert_eq!(
        session["processes"]["program"],
        json!({"pid": stranger.pid(), "liveness": "dead", "qualifier": null})
    );
    assert!(proof(&session).contains("its pid belongs to another process now"), "{session}");
    let stop = stage.abide.run(&["stop", scene.id()]);
    assert_eq!(stop.code(), Some(5), "{stop:?}");
    assert!(stranger.observer().lives(), "the stranger was harmed");
}

#[test]
fn the_wall_clock_decides_nothing() {
    const DAY: i64 = 86_400_000;
    let stage = Stage::new();
    let living = idle();
    let process = identity(&living);
    for (id, shift) in [("forward0", DAY), ("backward", -DAY)] {
        let scene = stage.scene(id);
        let at = scene.next_at();
        let scene = served(scene.at(Moment { wall: at.wall + shift, ..at }), &process);
        let session = stage.inspect(scene.id());
        assert_eq!(session["status"], "running", "{session}");
        assert!(session["uptime_ms"].as_u64().unwrap() < DAY.unsigned_abs(), "{session}");
    }
    let text = stage.text(&["ls"]);
    assert!(!text.contains("-1d") && !text.contains("1d ago"), "ages run by the boot-time clock: {text}");
}

#[test]
fn clocks_of_other_time_namespaces_are_not_compared() {
    let stage = Stage::new();
    let living = idle();
    let scene = served(stage.scene("elsewhen"), &identity(&living));
    let command =
        stage.abide.command(&["inspect", "--json", scene.id(), "--home", stage.path().to_str().unwrap()]);
    let ten_days_later = ["--time", "--boottime", "864000"];
    let mut inside = unshare(&ten_days_later, command.get_program().as_ref());
    let session = data(serde_json::from_str(&lines(inside.args(command.get_args())).concat()).unwrap());
    assert_eq!((&session["status"], &session["uptime_ms"]), (&"running".into(), &Value::Null), "{session}");
}

#[test]
fn a_stopped_program_runs_with_a_qualifier() {
    let stage = Stage::new();
    let program = idle();
    let helper = idle();
    program.signal(Signal::STOP);
    program.observer().await_stop();
    let scene = stage.scene("stopped0").served(&identity(&helper), &identity(&helper), &identity(&program));
    let session = stage.inspect(scene.id());
    assert_eq!(session["status"], "running");
    assert_eq!(session["processes"]["program"]["qualifier"], "stopped", "{session}");
    assert!(stage.text(&["ls"]).contains("running, stopped"));
}

#[test]
fn another_pid_namespace_is_never_told_that_a_session_is_dead() {
    let stage = Stage::new();
    let living = idle();
    let process = identity(&living);
    let _held = served(stage.scene("locked00"), &process).held(Holder::Guard);
    let _free = served(stage.scene("unlocked"), &process);
    let inside = |id: &str| {
        let command =
            stage.abide.command(&["inspect", "--json", id, "--home", stage.path().to_str().unwrap()]);
        let mut inside = unshare(&["--pid", "--mount-proc"], command.get_program().as_ref());
        data(serde_json::from_str(&lines(inside.args(command.get_args())).concat()).unwrap())
    };
    let (held, free) = (inside("locked00"), inside("unlocked"));
    assert_eq!(
        (&held["status"], &held["processes"]["guard"]["liveness"]),
        (&"running".into(), &"alive".into())
    );
    assert_eq!(
        (&free["status"], &free["processes"]["program"]["liveness"]),
        (&"unknown".into(), &"unknown".into())
    );
    assert!(proof(&free).contains("it belongs to another pid namespace"), "{free}");
}

/// A container that keeps its home over a reboot of the machine: its pid namespace is another, and so is the boot.
#[test]
fn a_reboot_ends_the_sessions_of_every_pid_namespace() {
    let stage = Stage::new();
    let gone = before_reboot(&dead());
    let mut elsewhere = gone;
    elsewhere.pid_ns.ino += 1;
    let mut given = elsewhere;
    given.kernel_boot = false;
    let _rebooted = served(stage.scene("rebooted"), &elsewhere);
    let _given = served(stage.scene("given000"), &given);
    let session = stage.inspect("rebooted");
    assert_eq!((&session["status"], &session["outcome"]["cause"]), (&"lost".into(), &"reboot".into()));
    assert_eq!(
        stage.inspect("given000")["status"],
        "unknown",
        "a container may be given a boot id of its own"
    );
    let refused = stage.abide.run(&["rm", "given000"]).stderr;
    assert!(refused.contains("if that is gone, `abide rm --force given000` removes the record"), "{refused}");
    let removed = stage.abide.run(&["rm", "--force", "given000"]);
    assert!(removed.code() == Some(0) && removed.stderr.contains("may have been alive"), "{removed:?}");
}

/// Only the boot id is another one, and the guard holds its lock: nobody was rebooted, and no namespace is another.
#[test]
fn a_boot_id_that_is_disputed_by_a_lock_is_named_as_such() {
    let stage = Stage::new();
    let living = idle();
    let process = before_reboot(&identity(&living));
    let scene = served(stage.scene("disputed"), &process).held(Holder::Guard);
    let session = stage.inspect(scene.id());
    assert_eq!(session["status"], "running", "{session}");
    let proof = proof(&session);
    assert!(proof.contains("a lock of its session is held, so there was no reboot"), "{proof}");
    assert!(!proof.contains("pid namespace"), "{proof}");
}

#[test]
fn a_declared_result_outranks_the_exit_status_and_both_are_shown() {
    let stage = Stage::new();
    let scene = stage.over("declared").declared("success", 0).ended(How::Exited { code: 17 });
    let session = stage.inspect(scene.id());
    assert_eq!(session["status"], "exited");
    assert_eq!((&session["exit_code"], &session["wait_code"]), (&0.into(), &0.into()), "{session}");
    assert_eq!((&session["outcome"]["code"], &session["declared"]["exit_code"]), (&17.into(), &0.into()));
    assert!(stage.text(&["ls", "-a"]).contains("exited 17, declared 0"));
    assert!(stage.text(&["inspect", scene.id()]).contains("the exit status differs"));
}

#[test]
fn codes_are_there_exactly_where_someone_observed_one() {
    let stage = Stage::new();
    let gone = dead();
    let exited = stage.over("exited00").ended(How::Exited { code: 255 });
    let signaled = stage.over("signaled").ended(How::Signaled { signal: 9, core: false });
    let in_slot = stage.over("inslot00").ended_in_slot(How::Exited { code: 4 });
    let lost = stage.over("lost0000");
    let sealed = stage.over("sealed00").sealed(Closing::Lost, Cause::HelpersDied);
    let not_found = stage.scene("notfound").guarded(&gone).launched(&gone).exec_failed(2);
    let not_executable = stage.scene("notexec0").guarded(&gone).launched(&gone).exec_failed(13);
    let cut = stage.scene("neverran").guarded(&gone);
    for (scene, status, codes) in [
        (&exited, "exited", (Some(255), Some(255))),
        (&signaled, "exited", (None, Some(137))),
        (&in_slot, "exited", (Some(4), Some(4))),
        (&lost, "lost", (None, Some(125))),
        (&sealed, "lost", (None, Some(125))),
        (&not_found, "failed", (None, Some(127))),
        (&not_executable, "failed", (None, Some(126))),
        // A session is published with its launch on record, so this one was cut.
        (&cut, "unknown", (None, None)),
    ] {
        let session = stage.inspect(scene.id());
        let told = (session["exit_code"].as_u64(), session["wait_code"].as_u64());
        assert_eq!((session["status"].as_str(), told), (Some(status), codes), "{session}");
    }
    let outcome = &stage.inspect("signaled")["outcome"];
    assert_eq!(
        (&outcome["code"], &outcome["signal"], &outcome["core"]),
        (&Value::Null, &9.into(), &false.into())
    );
}

#[test]
fn the_past_is_told_as_far_as_someone_proves_it() {
    let stage = Stage::new();
    let gone = dead();
    let scene = stage.scene("past0000").guarded(&gone).launched(&gone).hosted(&gone).started(&gone);
    let last = scene.next_at();
    let ended = Moment { wall: last.wall + 2_000, boot: last.boot + 2_000 };
    let scene = scene.at(ended).ended(How::Exited { code: 3 });
    let at = |wall: i64| {
        let ago = format!("{}ms ago", abide_sys::clock::now().wall - wall);
        stage.abide.run(&["why", "--json", "--at", &ago, scene.id()])
    };
    let then = data(at(last.wall + 1_000).json());
    assert_eq!((&then["status"], &then["rule"]), (&"running".into(), &"vouched".into()), "{then}");
    assert!(then["at"].is_string() && data(stage.abide.json(&["why", scene.id()])).get("at").is_none());
    assert_eq!(data(at(ended.wall + 1_000).json())["status"], "exited");
    let before = at(last.wall - 60_000);
    assert_eq!((before.code(), &before.json()["error"]["code"]), (Some(2), &"bad_time".into()), "{before:?}");
}
