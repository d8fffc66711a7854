//! A short attack on the real binary, with a fixed seed; and on binaries that lie, each of which must be caught.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use abide_chaos::judge::Kind;
use abide_chaos::schedule::Schedule;
use abide_chaos::torture::{Outcome, Settings, torture};
use abide_testkit::{Abide, ScratchDir, ScratchHome};

const ABIDE: &str = env!("CARGO_BIN_EXE_abide");

/// What `abide selftest` and `abide-torture` do, asking this executable about itself or about another.
fn attack(exe: &Path, schedule: &str, shrink_ms: u64) -> Outcome {
    let settings = Settings {
        exe: exe.to_owned(),
        inside: (PathBuf::from(ABIDE), vec!["selftest".to_owned(), "--inside".to_owned()]),
        seed: 1,
        round_ms: 0,
        answers: 0,
        readers: 2,
        pace_ms: 250,
        bare: false,
        shrink_ms,
        schedule: Some(Schedule::parse(schedule).expect("a schedule")),
    };
    torture(&settings, |_, _| {}).expect("the run can be done")
}

/// An executable that asks abide and changes what it says to one question, but not its code: `filter` is a command that
/// reads the answer.
fn liar(dir: &ScratchDir, question: &str, filter: &str) -> PathBuf {
    let script = format!(
        "#!/bin/sh\ncase $1 in\n{question}) said=$('{ABIDE}' \"$@\"); code=$?; printf '%s\\n' \"$said\" | {filter}; \
         exit $code ;;\n*) exec '{ABIDE}' \"$@\" ;;\nesac\n"
    );
    dir.script("liar", &script)
}

fn kinds(outcome: &Outcome) -> BTreeSet<&'static str> {
    outcome.report.lies.iter().map(|lie| lie.kind.name()).collect()
}

#[test]
fn a_short_attack_finds_no_lie_and_says_what_it_did() {
    let home = ScratchHome::new();
    let ran =
        Abide::new(ABIDE, &home).run(&["selftest", "--json", "--chaos", "--seconds", "2", "--seed", "4"]);
    let told = ran.json();
    assert_eq!((ran.code(), &told["ok"]), (Some(0), &true.into()), "{ran:?}");
    let data = &told["data"];
    assert_eq!((&data["held"], &data["lies"]), (&true.into(), &serde_json::json!([])), "{data}");
    assert!(data["checked"].as_u64() > Some(20) && data["sessions"].as_u64() > Some(3), "{data}");
    assert_eq!(data["seed"], 4);
    assert!(!home.path().exists(), "it has a home of its own");
}

/// Two sessions; one prints and exits with 3, the other is only there.
const SCHEDULE: &str = "0 1 launch detached 0
0 2 launch detached 0
300 1 order print 40
400 2 order print 5
1200 1 order exit 3
2200 1 remove
";

/// Within so many rounds a liar must be caught.
const ROUNDS: u32 = 12;

#[test]
fn every_liar_is_caught_in_its_lie() {
    let liars: [(&str, &str, Kind); 7] = [
        ("inspect", r#"sed 's/"status":"running"/"status":"lost"/'"#, Kind::FalseDeath),
        ("inspect", r#"sed 's/"status":"exited"/"status":"running"/'"#, Kind::InventedCode),
        ("inspect", r#"sed 's/"code":3/"code":4/'"#, Kind::WrongCode),
        ("why", r#"sed 's/"status":"[a-z]*"/"status":"unknown"/'"#, Kind::NeedlessDoubt),
        ("ls", r#"sed 's/"sessions":\[.*\],"agents"/"sessions":[],"agents"/'"#, Kind::LostSession),
        ("logs", "sed '/ 17[.]$/d'", Kind::MissingOutput),
        ("logs", "sed '/ 17[.]$/p'", Kind::DoubledOutput),
    ];
    std::thread::scope(|scope| {
        for (question, filter, kind) in liars {
            scope.spawn(move || {
                let dir = ScratchDir::new();
                let liar = liar(&dir, question, filter);
                // What is asked when is up to chance: on a busy machine a round may go by without the question.
                let caught = (0..ROUNDS).any(|_| kinds(&attack(&liar, SCHEDULE, 0)).contains(kind.name()));
                assert!(caught, "{question} | {filter} was never caught in {}", kind.name());
            });
        }
    });
    assert_eq!(kinds(&attack(Path::new(ABIDE), SCHEDULE, 0)), BTreeSet::new());
}

#[test]
fn a_failing_schedule_is_shrunk_to_what_makes_it_fail() {
    let dir = ScratchDir::new();
    // Asked of every session at its end, so that each round finds it.
    let liar = liar(&dir, "wait", r#"sed 's/"code":3/"code":4/'"#);
    let outcome = attack(&liar, SCHEDULE, 40_000);
    assert!(kinds(&outcome).contains(Kind::WrongCode.name()), "{}", outcome.report.says());
    let shortest = outcome.shortest.expect("it was shrunk");
    let acts: Vec<String> = shortest.0.iter().map(|step| step.act.to_string()).collect();
    // How short it becomes is up to chance too: a round in which nobody asked in time leaves a step in. What is left fails.
    assert!(acts.len() <= 3, "{acts:?}");
    assert!(acts.starts_with(&["launch detached 0".into(), "order exit 3".into()]), "{acts:?}");
}
