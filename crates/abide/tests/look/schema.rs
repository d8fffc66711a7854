//! The schemas against what the commands really print.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Stdio;

use abide_core::evidence::How;
use abide_testkit::abide::schema::Schema;
use abide_testkit::deadline::until;
use abide_testkit::scene::everything;
use abide_testkit::{Ending, Running};
use rustix::process::Signal;
use serde_json::Value;

use crate::common::{Stage, word};
use crate::usage::verbs;

/// The schemas, each read once.
struct Schemas<'a> {
    stage: &'a Stage,
    of: BTreeMap<Option<String>, Schema>,
}

impl Schemas<'_> {
    fn check(&mut self, verb: Option<&str>, answer: &Value) {
        let schema = self.of.entry(verb.map(str::to_owned)).or_insert_with(|| {
            let args: Vec<&str> = ["schema"].into_iter().chain(verb).collect();
            Schema::read(&self.stage.text(&args), true)
        });
        if let Err(why) = schema.check(answer) {
            panic!("{verb:?}: {why}\n{answer:#}");
        }
    }
}

/// What is asked, in this order; every verb at least once.
const ASKED: &[&str] = &[
    "ls",
    "ls -a",
    "ls --nope",
    "inspect exited00 running0",
    "inspect nobody",
    "agents",
    "agents nobody",
    "resume nobody",
    "adopt nobody",
    "checkpoint ls exited00",
    "checkpoint show exited00",
    "checkpoint exited00",
    "hook nobody Stop",
    "prompt nobody hello",
    "prompt exited00 hello",
    "why --at -1s declared",
    "why --at soon declared",
    "notify",
    "notify nobody",
    "doctor",
    "doctor --fix",
    "version",
    "config",
    "config grace",
    "config nothing",
    "completions bash",
    "completions -- stop --gr",
    "completions -- run --cwd x",
    "man run",
    "skill",
    "hooks status",
    "hooks install claude codex --dry-run",
    "hooks install copilot",
    "hooks uninstall copilot",
    "hooks install nobody",
    "man nothing",
    "schema",
    "run --wait --name said -- echo hello",
    "run -d -- /no/such/program",
    "logs said",
    "logs -f said",
    "logs --tail 0 said",
    "events",
    "events said",
    "events --since soon",
    "snapshot said",
    "snapshot --cells --at +0s said",
    "snapshot --at nowhere said",
    "screenshot said -o SCRATCH/said.png",
    "screenshot said -o SCRATCH/said.jpg",
    "diff said --from +0s",
    "marks said",
    "mark said here",
    "export said",
    "export said -o /dev/null/x",
    "export said -o SCRATCH/said.gif",
    "export said -f -o SCRATCH/said.txt",
    "play said",
    "search hello",
    "search --typed nothing",
    "search --regex (",
    "attach said",
    "rm said",
    "rm running0",
    "gc --dry-run --older 0s",
    "run -d --name idle -- cat",
    "mark idle here",
    "marks idle",
    "top",
    "top idle",
    "top said",
    "wait --cap 1ms idle",
    "type idle hello --enter",
    "type idle --file /no/such/file",
    "wait --text hello --since 0 --timeout 30s idle",
    "wait --any --text never --timeout 1ms idle said",
    "paste idle text",
    "keys idle Enter Ctrl-L",
    "keys idle NoSuchKey",
    "resize idle 100x30",
    "resize idle 0x0",
    "exec idle -- true",
    "run -d --name shell -- bash --norc",
    "exec shell -- false",
    "batch shell snapshot signal",
    "batch shell nothing",
    "batch shell snapshot",
    "exec shell -- printf \\377",
    "stop --grace 0s shell",
    "signal idle CONT",
    "signal idle NONE",
    "upgrade idle",
    "result set success --session idle",
    "run -d --name other -- cat",
    "stop --grace 0s idle other declared",
    "stop idle",
    "wait idle other",
];

#[test]
fn what_every_command_prints_is_what_its_schema_says() {
    let stage = Stage::new();
    let everything = everything(&stage.path());
    let scene = stage.over("declared").declared("success", 0);
    let _declared = scene.ended(How::Signaled { signal: 11, core: true });
    let each = everything
        .scenes
        .iter()
        .flat_map(|(_, scene)| ["inspect", "why"].map(|verb| format!("{verb} {}", scene.id())));
    let mut schemas = Schemas { stage: &stage, of: BTreeMap::new() };
    // The tour prints no more than claims, and has a test of its own; so has the self-test.
    let mut checked = BTreeSet::from(["demo".to_owned(), "selftest".to_owned()]);
    for asked in each.chain(ASKED.iter().map(ToString::to_string)) {
        let asked = asked.replace("SCRATCH", &stage.path().display().to_string());
        let (verb, rest) = asked.split_once(' ').unwrap_or((&asked, ""));
        let args: Vec<&str> = [verb, "--json"].into_iter().chain(rest.split_whitespace()).collect();
        let ran = stage.abide.run(&args);
        assert!(!ran.stdout.is_empty(), "{asked} says nothing: {ran:?}");
        // What follows has an answer a line, everything else just one.
        let follows = rest.contains("-f ");
        assert!(follows || ran.stdout.lines().count() == 1, "{asked} is not one object: {ran:?}");
        for line in ran.stdout.lines() {
            let answer: Value = serde_json::from_str(line).unwrap();
            assert_eq!(answer["command"], verb);
            schemas.check(Some(verb), &answer);
            schemas.check(None, &answer);
        }
        checked.insert(verb.to_owned());
    }
    let unchecked: Vec<String> = verbs(&stage).into_iter().filter(|verb| !checked.contains(verb)).collect();
    assert!(unchecked.is_empty(), "add what {unchecked:?} prints to what is asked");
}

#[test]
fn what_a_command_says_that_failed_in_its_middle_is_what_its_schema_says() {
    let stage = Stage::new();
    let mut schemas = Schemas { stage: &stage, of: BTreeMap::new() };
    let id = stage.text(&["run", "-d", "--", "bash", "--norc"]).trim_end().to_owned();
    let slow = stage.abide.run(&["exec", "--json", "--timeout", "100ms", &id, "--", "echo a; read x"]);
    schemas.check(Some("exec"), &slow.json());
    assert_eq!(slow.json()["data"]["output"], "a\n", "{slow:?}");
    let steps = ["mark one", "wait --text never --timeout 1h"];
    let mut batch = Running::start(
        stage.abide.command(&[&["batch", "--json", &id], &steps[..]].concat()).stderr(Stdio::null()),
    );
    until("the first step is done", || stage.text(&["marks", "--json", &id]).contains("\"one\""));
    batch.signal(Signal::TERM);
    let answer: Value = serde_json::from_str(&batch.line()).expect("one whole object");
    schemas.check(Some("batch"), &answer);
    assert_eq!(answer["data"]["steps"][1]["words"][0], "wait", "{answer}");
    assert_eq!(batch.reap(), Ending::Exited(143));
    let _ = stage.abide.run(&["rm", "--force", &id]);
}

#[test]
fn a_session_has_exactly_the_promised_fields() {
    const FIELDS: &str = "id name status stopping argv cwd labels started_at ended_at uptime_ms exit_code wait_code \
        outcome declared processes host turn attention stuck_since agent screen recording resources survivors because";
    let stage = Stage::new();
    let everything = everything(&stage.path());
    let promised: Vec<&str> = FIELDS.split_whitespace().collect();
    for (status, scene) in &everything.scenes {
        let text = stage.text(&["inspect", "--json", scene.id()]);
        let session = &mut serde_json::from_str::<Value>(&text).unwrap()["data"];
        let last_seen = session.as_object_mut().unwrap().remove("last_seen_at");
        assert_eq!(last_seen.is_some(), *status == "lost", "{session}");
        let mut fields: Vec<&String> = session.as_object().unwrap().keys().collect();
        fields.sort_by_key(|field| promised.iter().position(|promised| promised == field));
        assert_eq!(fields, promised, "{session}");
    }
    let exited = stage.inspect("exited00");
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" ");
    assert_eq!(keys(&exited["outcome"]), "cause code core errno kind observed_by signal");
    assert_eq!(keys(&exited["processes"]), "guard host program");
    assert_eq!(keys(&exited["processes"]["guard"]), "liveness pid qualifier");
    assert_eq!(keys(&exited["host"]), "generation version");
    assert_eq!(keys(&exited["screen"]), "cols rows source title");
    assert_eq!(keys(&exited["recording"]), "bytes complete path");
    assert_eq!(keys(&exited["because"][0]), "at fact says witness");
}

#[test]
fn one_document_holds_what_all_commands_share() {
    let stage = Stage::new();
    let whole: Value = serde_json::from_str(&stage.text(&["schema"])).unwrap();
    assert_eq!(whole["title"], "abide/1");
    let statuses: Vec<String> =
        whole["$defs"]["Status"]["enum"].as_array().unwrap().iter().map(word).collect();
    let table: Vec<&str> = abide_core::status::Status::ALL.iter().map(|status| status.name()).collect();
    assert_eq!(statuses, table);
    let required = whole["$defs"]["Session"]["required"].as_array().unwrap();
    assert_eq!(required.len(), 25, "every field is always there");
    let one: Value = serde_json::from_str(&stage.text(&["schema", "version"])).unwrap();
    assert!(one["$defs"].get("Session").is_none() && one["$defs"].get("Kernel").is_some());
}
