//! The text and the JSON of each verb, word for word. Text may change; then these change with it, on purpose.

use abide_core::evidence::{Body, Ended, How, Observer, Outcome, Resources, Role, Survivor};
use abide_core::identity::Identity;
use abide_core::moment::Moment;
use abide_testkit::Terminal;
use abide_testkit::scene::{Scene, before_reboot, dead, launch};
use serde_json::json;

use crate::common::{Stage, data, served};

/// A session of an earlier boot, told at fixed times: all that is said of it is known beforehand.
fn nightly(stage: &Stage) -> (Scene, Identity) {
    let gone = before_reboot(&dead());
    let mut launched = launch("k3v9q2zr", &gone);
    launched.name = Some("nightly".into());
    launched.argv = ["make", "release", "-j", "a b"].map(String::from).to_vec();
    launched.labels = [("team".to_owned(), "core".to_owned()), ("tier".to_owned(), "1".to_owned())].into();
    let scene = stage.scene("k3v9q2zr").on_boot_of(&gone).at(Moment { wall: 1_700_000_000_000, boot: 5_000 });
    (scene.guarded(&gone).launched_as(launched).hosted(&gone).started(&gone), gone)
}

fn ended(scene: Scene, gone: &Identity) -> Scene {
    let outcome = Outcome { how: How::Exited { code: 3 }, observed_by: Some(Observer::Guard), cause: None };
    let resources = Resources { wall_ms: 61_000, user_ms: 1500, system_ms: 20, peak_kib: 2048 };
    let survivors = vec![Survivor { process: *gone, command: "tail -f log".into() }];
    let ended = Ended { resources: Some(resources), survivors, ..Ended::of(outcome) };
    let at = scene.next_at();
    let scene = scene.at(Moment { wall: at.wall + 61_000, boot: at.boot + 61_000 });
    scene.tell(Role::Guard, gone.pid, Body::Ended(Box::new(ended)))
}

#[test]
fn inspect_shows_everything_there_is() {
    let stage = Stage::new();
    let (scene, gone) = nightly(&stage);
    let _scene = ended(scene, &gone);
    let text = stage.text(&["inspect", "nightly"]);
    let (ago, pid) = (text.split(['(', ')']).nth(1).unwrap(), gone.pid);
    assert!(ago.ends_with("d ago"));
    let expected = format!(
        "k3v9q2zr is exited 3
  name       nightly
  command    make release -j 'a b'
  directory  /srv/app
  labels     team=core tier=1
  started    2023-11-14 22:13:20 ({ago})
  ended      2023-11-14 22:14:21
  uptime     1m 1s
  outcome    exited with code 3, observed by guard
  used       1m 1s in all, 1s user, 20ms system, 2.0 MiB at most
  program    {pid} dead
  guard      {pid} dead
  host       {pid} dead, generation 1, version 0.1.0
  screen     80x24, replay
  because    the end of the program was observed and recorded
"
    );
    assert_eq!(text, expected);
}

#[test]
fn inspect_prints_every_field_as_json() {
    let stage = Stage::new();
    let (scene, gone) = nightly(&stage);
    let _scene = ended(scene, &gone);
    let process = json!({ "pid": gone.pid, "liveness": "dead", "qualifier": null });
    let guard = format!("guard:{}@0a1b2c3d", gone.pid);
    let host = format!("host:{}@0a1b2c3d", gone.pid);
    let pid = gone.pid;
    let expected = json!({
        "id": "k3v9q2zr", "name": "nightly", "status": "exited", "stopping": false,
        "argv": ["make", "release", "-j", "a b"], "cwd": "/srv/app", "labels": { "team": "core", "tier": "1" },
        "started_at": "2023-11-14T22:13:20.003Z", "ended_at": "2023-11-14T22:14:21.004Z", "uptime_ms": 61_000,
        "exit_code": 3, "wait_code": 3,
        "outcome": {
            "kind": "exited", "code": 3, "signal": null, "core": null, "errno": null,
            "observed_by": "guard", "cause": null
        },
        "declared": null,
        "processes": { "guard": process, "host": process, "program": process },
        "host": { "generation": 1, "version": "0.1.0" },
        "turn": "unknown", "attention": "none", "stuck_since": null, "agent": null,
        "screen": { "cols": 80, "rows": 24, "source": "replay", "title": null },
        "recording": { "path": null, "bytes": null, "complete": null },
        "resources": { "wall_ms": 61_000, "user_ms": 1500, "system_ms": 20, "peak_kib": 2048 },
        "survivors": [],
        "because": [
            { "fact": "guarded", "witness": guard, "at": "2023-11-14T22:13:20.000Z",
              "says": format!("guard {pid} took over") },
            { "fact": "launched", "witness": guard, "at": "2023-11-14T22:13:20.001Z",
              "says": "launched make release -j 'a b'" },
            { "fact": "hosted", "witness": host, "at": "2023-11-14T22:13:20.002Z",
              "says": format!("host {pid} of generation 1") },
            { "fact": "started", "witness": guard, "at": "2023-11-14T22:13:20.003Z",
              "says": format!("program {pid} runs /usr/bin/make") },
            { "fact": "ended", "witness": guard, "at": "2023-11-14T22:14:21.004Z",
              "says": "exited with code 3" },
        ],
    });
    let told = stage.inspect("nightly");
    assert_eq!(told, expected, "{told:#}");
}

#[test]
fn why_names_the_rule_and_lists_the_proof() {
    let stage = Stage::new();
    let (scene, gone) = nightly(&stage);
    let scene = scene.bytes_added(b"\ngarbage\n");
    let text = stage.text(&["why", "night"]);
    let pid = gone.pid;
    let offset = scene.bytes().len() - "garbage\n".len();
    let now = text.lines().last().unwrap()[2..25].to_owned();
    let wide = format!("guard:{pid}@0a1b2c3d").len();
    let expected = format!(
        "k3v9q2zr (nightly) is unknown: no end is on record, but the record is damaged and may have held one
rule damaged

  2023-11-14 22:13:20.000  guard:{pid}@0a1b2c3d  guarded   guard {pid} took over
  2023-11-14 22:13:20.001  guard:{pid}@0a1b2c3d  launched  launched make release -j 'a b'
  2023-11-14 22:13:20.002  host:{pid}@0a1b2c3d   hosted    host {pid} of generation 1
  2023-11-14 22:13:20.003  guard:{pid}@0a1b2c3d  started   program {pid} runs /usr/bin/make
  {now}  {:wide$}  damage    not a frame at byte {offset}, 7 bytes
  {now}  {:wide$}  dead      program {pid} is dead: the machine has been rebooted since
  {now}  {:wide$}  dead      guard {pid} is dead: the machine has been rebooted since
  {now}  {:wide$}  dead      host {pid} is dead: the machine has been rebooted since
",
        "reader", "kernel", "kernel", "kernel"
    );
    assert_eq!(text, expected);
    let why = data(stage.abide.json(&["why", "night"]));
    let keys: Vec<&String> = why.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["because", "id", "rule", "status"]);
    assert_eq!(
        (&why["rule"], &why["because"][0]["witness"]),
        (&"damaged".into(), &format!("guard:{pid}@0a1b2c3d").into())
    );
}

#[test]
fn facts_have_a_line_each_and_hide_secrets() {
    let stage = Stage::new();
    let (scene, gone) = nightly(&stage);
    let scene = ended(scene, &gone).bytes_added(b"\ngarbage\n");
    let offset = scene.bytes().len() - "garbage\n".len();
    let _other = stage.launched("secret00", |launched| {
        launched.argv = ["curl", "--token=abcdefghijkl"].map(String::from).to_vec();
        launched.stdin = Some("pipe".into());
    });
    let pid = gone.pid;
    let wide = format!("{:21}", format!("guard:{pid}@0a1b2c3d"));
    let host = format!("{:21}", format!("host:{pid}@0a1b2c3d"));
    let reader = format!("{:21}", "reader");
    let expected = format!(
        "2023-11-14 22:13:20.000  k3v9q2zr  guarded      {wide}  guard {pid} took over
2023-11-14 22:13:20.001  k3v9q2zr  launched     {wide}  launched make release -j 'a b'
2023-11-14 22:13:20.002  k3v9q2zr  hosted       {host}  host {pid} of generation 1
2023-11-14 22:13:20.003  k3v9q2zr  started      {wide}  program {pid} runs /usr/bin/make
2023-11-14 22:14:21.004  k3v9q2zr  ended        {wide}  exited with code 3; processes that live on: 1
-                        k3v9q2zr  damage       {reader}  not a frame at byte {offset}, 7 bytes
"
    );
    assert_eq!(stage.text(&["events", "nightly"]), expected);
    let all = stage.text(&["events"]);
    assert!(all.starts_with(&expected) && all.lines().count() > 8, "the earlier session comes first: {all}");
    assert!(!all.contains("abcdefghijkl") && all.contains(", its input from a pipe"), "{all}");
    let since = stage.text(&["events", "--since", "2023-11-14T22:14:00Z", "nightly"]);
    assert_eq!(since.lines().count(), 2, "the end, and damage, which has no time: {since}");
    let mut told = stage.abide.json(&["events", "nightly"]);
    let facts = told["data"]["events"].take();
    assert_eq!(
        facts[0],
        json!({
            "at": "2023-11-14T22:13:20.000Z", "session": "k3v9q2zr", "fact": "guarded",
            "witness": format!("guard:{pid}@0a1b2c3d"), "seq": 1, "says": format!("guard {pid} took over"),
        })
    );
    assert_eq!((facts.as_array().map(Vec::len), &facts[5]["fact"]), (Some(6), &"damage".into()));
    let envelope =
        json!({ "schema": "abide/1", "ok": true, "command": "events", "data": { "events": null } });
    assert_eq!(told, envelope, "one object, however many facts there are");
    let none = data(Stage::new().abide.json(&["events"]));
    assert_eq!(none, json!({ "events": [] }), "also if there is none");
}

#[test]
fn ls_is_a_table_and_formats_as_asked() {
    let stage = Stage::new();
    let gone = before_reboot(&dead());
    let wall = abide_sys::clock::now().wall - 180_500;
    let told =
        |id: &str, later: i64| stage.scene(id).on_boot_of(&gone).at(Moment { wall: wall + later, boot: 1 });
    let (one, _) = nightly(&stage);
    let _one = one.ended(How::Signaled { signal: 9, core: false });
    let _two = served(told("exited00", 0), &gone).ended(How::Exited { code: 0 });
    let _three = served(told("lost0000", 100), &gone);
    let text = stage.text(&["ls", "-a"]);
    // Agents that run on this machine come behind them.
    let text = text.split("\n\n").next().map(|text| text.trim_end().to_owned() + "\n").unwrap();
    let ago = text.lines().last().unwrap().split_whitespace().nth(4).unwrap().to_owned();
    let pad = ago.len() + " ago".len();
    let expected = format!(
        "ID        NAME     STATUS           {:pad$}  {:pad$}  COMMAND
lost0000  -        lost, reboot     {:pad$}  {:pad$}  make test
exited00  -        exited 0         {:pad$}  {:pad$}  make test
k3v9q2zr  nightly  exited, SIGKILL  {ago} ago  {ago} ago  make release -j 'a b'
",
        "STARTED", "ENDED", "3m ago", "-", "3m ago", "3m ago"
    );
    assert_eq!(text, expected);
    let format = "{{.id}}\\t{{ .outcome.signal }}|{{.labels.team}}|{{.argv}}|{{.stopping}}";
    let lines = stage.text(&["ls", "-a", "--format", format]);
    let expected = "lost0000\t||[\"make\",\"test\"]|false
exited00\t||[\"make\",\"test\"]|false
k3v9q2zr\t9|core|[\"make\",\"release\",\"-j\",\"a b\"]|false
";
    assert_eq!(lines, expected);
    let empty = stage.abide.run(&["ls"]);
    assert_eq!((empty.code(), empty.stdout.as_str()), (Some(0), ""));
    assert_eq!(empty.stderr, "no sessions; `abide ls -a` shows those that are over\n");
}

#[test]
fn doctor_has_a_line_for_each_check() {
    let stage = Stage::new();
    let _lost = stage.over("lost0000");
    let home = stage.path();
    let text = stage.text(&["doctor"]);
    let expected = format!("✓ home: {} is yours, and nobody else may write to it\n", home.display());
    assert!(text.starts_with(&expected), "{text}");
    assert!(text.contains("\n✓ machine id: readable\n✓ boot id: readable\n"), "{text}");
    for name in ["room", "process identity", "exact ends", "cgroup", "logout"] {
        assert!(text.contains(&format!(" {name}: ")), "{name}: {text}");
    }
    let expected = "sessions: 1 found
! seal: session lost0000 is over and not sealed: program, guard and host are dead and no end is on record
    fix: abide doctor --fix
";
    assert!(text.ends_with(expected), "{text}");
    let home = home.to_str().unwrap();
    let fix = data(stage.abide.json(&["doctor", "--home", home]))["checks"]
        .as_array()
        .unwrap()
        .last()
        .unwrap()["fix"]
        .clone();
    assert_eq!(
        fix,
        format!("abide --home {home} doctor --fix"),
        "the home that was named by a flag is named again"
    );
    let checks = data(stage.abide.json(&["doctor"]));
    assert_eq!(checks["healthy"], true);
    let seal = checks["checks"].as_array().unwrap().last().unwrap();
    assert_eq!(
        *seal,
        json!({
            "name": "seal", "health": "weak", "session": "lost0000", "code": null, "fix": "abide doctor --fix",
            "detail": "session lost0000 is over and not sealed: program, guard and host are dead and no end is on record",
        })
    );
}

#[test]
fn text_fits_a_terminal_of_80_columns_and_loses_nothing() {
    let stage = Stage::new();
    let (scene, gone) = nightly(&stage);
    let _scene = ended(scene, &gone);
    let _failed = stage.scene("failed00").guarded(&gone).launched(&gone).exec_failed(2);
    for verb in ["inspect nightly", "doctor", "config", "ls -a --label team"] {
        let args: Vec<&str> = verb.split(' ').collect();
        let narrow = abide_testkit::Ran::of(stage.abide.command(&args).env("COLUMNS", "80"));
        let wide = stage.abide.run(&args);
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(words(&narrow.stdout), words(&wide.stdout), "{verb} says something else");
        let long = |line: &&str| line.chars().count() > 80 && line.trim().contains(' ');
        assert_eq!(narrow.stdout.lines().find(long), None, "{verb} does not fit");
    }
    let pid = gone.pid;
    let why = abide_testkit::Ran::of(stage.abide.command(&["why", "nightly"]).env("COLUMNS", "80")).stdout;
    let at = |fact: &str| why.lines().find(|line| line.contains(fact)).unwrap_or_default().to_owned();
    let first = format!("  22:13:20.000  guard:{pid}  guarded   guard {pid} took over");
    assert_eq!(
        (why.lines().nth(3), at("guarded")),
        (Some("  2023-11-14"), first),
        "a day stands once: {why}"
    );
    assert!(why.lines().all(|line| line.chars().count() <= 80) && at(" ended  ").contains("code 3"), "{why}");
    let wider = abide_testkit::Ran::of(stage.abide.command(&["why", "nightly"]).env("COLUMNS", "88")).stdout;
    assert!(wider.contains("runs /usr/bin/make\n"), "room for the day is not taken from the words: {wider}");
    let events = abide_testkit::Ran::of(stage.abide.command(&["events", "nightly"]).env("COLUMNS", "80"));
    let first = format!("22:13:20.000  guarded      guard:{pid:<5}  guard {pid} took over");
    let lines: Vec<&str> = events.stdout.lines().collect();
    assert_eq!(lines[..2], ["2023-11-14  boot 0a1b2c3d  session k3v9q2zr", &first], "{events:?}");
    assert!(lines.iter().all(|line| line.chars().count() <= 80), "{events:?}");
    // Nothing is lost: all but day, boot and session stands there as often as where there is room.
    let told =
        |text: &str| text.replace("2023-11-14 ", "").replace("@0a1b2c3d", "").replace(" k3v9q2zr ", "");
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let wide = words(&told(&stage.text(&["events", "nightly"])));
    assert_eq!(words(&lines[1..].join("\n")), wide, "{events:?}");
    assert_eq!(events.stdout.matches("0a1b2c3d").count(), 1, "{events:?}");
    assert!(
        lines[4].ends_with(&format!("program {pid} runs /usr/bin/make")),
        "that takes one line: {events:?}"
    );
    let all = abide_testkit::Ran::of(stage.abide.command(&["events"]).env("COLUMNS", "80")).stdout;
    assert!(all.contains(" failed00 ") && all.contains(" k3v9q2zr "), "each fact names its own: {all}");
    let ls = abide_testkit::Ran::of(stage.abide.command(&["ls", "-a"]).env("COLUMNS", "48")).stdout;
    // Agents elsewhere on this machine come behind.
    let ls = ls.split("\n\n").next().unwrap_or_default();
    let titles: Vec<&str> = ls.lines().next().unwrap_or_default().split_whitespace().collect();
    assert_eq!(
        titles,
        ["ID", "NAME", "STATUS", "COMMAND"],
        "where there is little room, there are no times: {ls}"
    );
    assert!(ls.contains("exited 3") && ls.contains("failed, ENOENT"), "a status is whole: {ls}");
    assert!(ls.lines().all(|line| line.chars().count() <= 48), "{ls}");
    let ls = stage.text(&["ls", "-a"]);
    let never = ls.lines().find(|line| line.starts_with("failed00")).expect("it is listed");
    assert_eq!(
        never.split_whitespace().take(6).collect::<Vec<_>>(),
        ["failed00", "-", "failed,", "ENOENT", "1m", "ago"],
        "what never ran was launched then: {ls}"
    );
}

#[test]
fn long_work_says_how_far_it_is_to_who_looks_on_and_to_nobody_else() {
    let stage = Stage::new();
    let ids: Vec<String> = (10..35).map(|number| format!("exited{number}")).collect();
    let _scenes: Vec<Scene> = ids.iter().map(|id| stage.over(id).ended(How::Exited { code: 0 })).collect();
    let shown = Terminal::start(&stage.abide.command(&["gc", "--keep", "20", "--dry-run"])).rest();
    assert!(shown.contains("going through what is over: 96% of 25 sessions"), "{shown:?}");
    assert!(shown.contains("\r\u{1b}[Kwould remove 5 sessions"), "the line is given back: {shown:?}");
    let json = Terminal::start(&stage.abide.command(&["gc", "--keep", "20", "--dry-run", "--json"])).rest();
    assert!(json.starts_with('{'), "{json:?}");
    let ran = stage.abide.run(&["gc", "--keep", "20"]);
    assert_eq!((ran.code(), ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    assert!(ran.stdout.starts_with("removed 5 sessions"), "{ran:?}");
}

#[test]
fn gc_says_what_it_would_remove() {
    let stage = Stage::new();
    let (scene, gone) = nightly(&stage);
    let _scene = ended(scene, &gone);
    let text = stage.text(&["gc", "--dry-run"]);
    let row: Vec<&str> = text.lines().nth(1).expect("a row").split_whitespace().collect();
    let (size, bytes) = (row[4..].join(" "), &data(stage.abide.json(&["gc", "--dry-run"]))["removed"][0]);
    assert_eq!(text.lines().next(), Some(format!("would remove 1 session, {size}").as_str()));
    assert!(row[..2] == ["k3v9q2zr", "exited"] && row[2].ends_with('d') && row[3] == "ago", "{text}");
    assert_eq!(
        (&bytes["status"], &bytes["ended_at"]),
        (&"exited".into(), &"2023-11-14T22:14:21.004Z".into())
    );
    assert_eq!(stage.text(&["gc", "--dry-run", "--older", "900000h"]), "would remove 0 sessions, 0 B\n");
}

#[test]
fn version_is_one_line_and_json_knows_more() {
    let stage = Stage::new();
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(stage.text(&["version"]), format!("abide {version}\n"));
    assert_eq!(stage.text(&["--version"]), format!("abide {version}\n"));
    let data = data(stage.abide.json(&["version"]));
    assert_eq!(
        (&data["version"], &data["schemas"]),
        (&version.into(), &json!({ "json": "abide/1", "evidence": 1 }))
    );
    assert_eq!(data["kernel"]["boot_id"], true);
}
