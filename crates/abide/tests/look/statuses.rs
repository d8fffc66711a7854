//! Every status, in every command that looks: the same word, and the screen source of the table.

use abide_core::evidence::{How, Wants};
use abide_core::status::Status;
use abide_testkit::scene::{everything, identity, idle, launch};

use crate::common::{Stage, data, word};

#[test]
fn every_status_is_told_alike_by_all_commands() {
    let stage = Stage::new();
    let everything = everything(&stage.path());
    let listed = stage.listed();
    assert_eq!(listed.len(), Status::ALL.len());
    for status in Status::ALL {
        let (_, scene) =
            everything.scenes.iter().find(|(name, _)| *name == status.name()).expect("a scene of it");
        let inspected = stage.inspect(scene.id());
        assert_eq!(inspected["status"], status.name(), "{inspected}");
        let source = if status.has_live_host() { "live" } else { "replay" };
        assert_eq!(inspected["screen"]["source"], source, "{inspected}");
        let why = data(stage.abide.json(&["why", scene.id()]));
        assert_eq!(why["status"], inspected["status"]);
        let entry = listed.iter().find(|entry| entry["id"] == scene.id()).expect("it is listed");
        assert_eq!((&entry["status"], &entry["screen"]), (&inspected["status"], &inspected["screen"]));
        let text = stage.text(&["why", scene.id()]);
        assert!(text.starts_with(&format!("{} is {}: ", scene.id(), status.name())), "{text}");
        assert!(stage.text(&["inspect", scene.id()]).contains(&format!(" is {}", status.name())));
    }
}

#[test]
fn a_list_shows_what_is_active_and_all_only_when_asked() {
    let stage = Stage::new();
    let _everything = everything(&stage.path());
    let active: Vec<&str> =
        Status::ALL.iter().filter(|status| status.is_active()).map(|s| s.name()).collect();
    let data = data(stage.abide.json(&["ls"]));
    let listed = data["sessions"].as_array().unwrap();
    assert_eq!(listed.len(), active.len());
    assert!(listed.iter().all(|session| active.contains(&word(&session["status"]).as_str())));
    assert_eq!(data["sources"], serde_json::json!([{ "name": "sessions", "state": "ok", "detail": null }]));
}

#[test]
fn what_needs_a_person_comes_first() {
    let stage = Stage::new();
    let everything = everything(&stage.path());
    let [guard, host, program] = everything.living.each_ref().map(identity);
    let scene = stage.scene("approval").served(&guard, &host, &program).turn_opened(Some(program));
    let _scene = scene.wants(Wants::Approval);
    let order: Vec<String> = stage.listed().iter().map(|session| word(&session["id"])).collect();
    let place =
        |id: &str| order.iter().position(|listed| listed == id).unwrap_or_else(|| panic!("{id}: {order:?}"));
    assert_eq!(place("approval"), 0);
    let told = stage.text(&["inspect", "approval"]);
    let way = "needs you  for an approval: `abide attach approval` shows what it asks";
    assert!(told.lines().any(|line| line.trim() == way), "{told}");
    assert!(!stage.text(&["inspect", "running0"]).contains("needs you"));
    assert!(place("unknown0").max(place("unattend")) < place("running0"), "{order:?}");
    assert!(place("running0") < place("starting").min(place("exiting0")), "{order:?}");
    assert!(place("starting").max(place("exiting0")) < place("exited00").min(place("lost0000")), "{order:?}");
    assert!(
        stage.text(&["ls"]).lines().nth(1).unwrap().contains("approval"),
        "the table says what is wanted"
    );
}

#[test]
fn a_table_says_what_an_agent_is_at_when_it_ended_and_that_an_end_was_asked_for() {
    let stage = Stage::new();
    let living = [idle(), idle(), idle()];
    let [guard, host, program] = living.each_ref().map(identity);
    let at_work = |id: &str| stage.scene(id).served(&guard, &host, &program).turn_opened(Some(program));
    let _working = at_work("working0");
    let _asking = at_work("asking00").wants(Wants::Approval);
    let _plain = stage.scene("plain000").served(&guard, &host, &program);
    let stopped = |id: &str| stage.over(id).stop_asked("pid 1");
    let _stopped = stopped("stopped0").ended(How::Signaled { signal: 15, core: false });
    let _in_order = stopped("inorder0").ended(How::Exited { code: 0 });
    let _broken = stage.over("broken00").ended(How::Exited { code: 3 });
    let _failed = stage.over("lost0000");
    let table = stage.text(&["ls", "-a"]);
    let row = |id: &str| table.lines().find(|line| line.starts_with(id)).expect("it is listed").to_owned();
    for (id, says) in [
        ("ID", "ID NAME STATUS TURN STARTED ENDED COMMAND"),
        ("asking00", "asking00 - running approval "),
        ("working0", "working0 - running working "),
        ("plain000", "plain000 - running - "),
        ("stopped0", "stopped0 - exited, SIGTERM, stopped - "),
        ("inorder0", "inorder0 - exited 0, stopped - "),
        ("broken00", "broken00 - exited 3 - "),
    ] {
        let row = row(id);
        let words: Vec<&str> = row.split_whitespace().collect();
        assert!(words.join(" ").starts_with(says), "{says}: {table}");
    }
    assert!(row("broken00").matches("1m ago").count() == 2, "when it began and when it ended: {table}");
    let coloured = stage.text(&["ls", "-a", "--color", "always"]);
    let bad = |says: &str| coloured.contains(&format!("\u{1b}[31m{says}"));
    assert!(bad("exited 3") && !bad("exited, SIGTERM") && !bad("exited 0"), "{coloured:?}");
    assert!(stage.text(&["why", "asking00"]).contains("an approval is wanted"));
}

#[test]
fn sessions_are_found_by_label_and_name_and_listed_by_id_alone() {
    let stage = Stage::new();
    let one = stage.launched("labelled", |launched| {
        launched.name = Some("nightly".into());
        launched.labels = [("team".to_owned(), "core".to_owned())].into();
    });
    let _other = stage.over("plain000").ended(How::Exited { code: 0 });
    assert_eq!(stage.text(&["ls", "-aq", "--label", "team=core"]), "labelled\n");
    assert_eq!(stage.text(&["ls", "-aq", "--label", "team"]), "labelled\n");
    assert_eq!(stage.text(&["ls", "-aq", "--label", "team=other"]), "");
    assert_eq!(stage.inspect("night")["id"], one.id());
    let several = data(stage.abide.json(&["inspect", "plain000", "labelled"]));
    let ids: Vec<&str> =
        several["sessions"].as_array().unwrap().iter().map(|s| s["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["plain000", "labelled"], "several are told in the order in which they were asked for");
}

#[test]
fn a_living_session_tells_its_processes_and_its_age() {
    let stage = Stage::new();
    let living = [idle(), idle(), idle()];
    let [guard, host, program] = living.each_ref().map(identity);
    let mut launched = launch("alive000", &program);
    launched.agent = Some("claude".into());
    let scene = stage.scene("alive000").guarded(&guard).launched_as(launched).hosted(&host).started(&program);
    let session = stage.inspect(scene.id());
    for (who, process) in ["guard", "host", "program"].iter().zip(&living) {
        let told = &session["processes"][who];
        assert_eq!((&told["pid"], &told["liveness"]), (&process.pid().into(), &"alive".into()), "{session}");
    }
    assert_eq!(session["host"], serde_json::json!({ "generation": 1, "version": "0.1.0" }));
    assert_eq!(session["agent"], "claude");
    assert!(
        session["uptime_ms"].is_u64() && session["exit_code"].is_null() && session["wait_code"].is_null()
    );
}
