//! The guides: what stands in them works as it stands there.

use std::fs::{self};
use std::path::Path;

use abide_testkit::{Ending, Ran, Terminal};

use crate::common::{Gate, World, agent};

const GUIDES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guides");

#[test]
fn every_block_of_the_guide_for_people_runs_as_it_stands_there() {
    runs("people.md", &["turn settled", "approval", "wait exits with 137", "would remove 0"]);
}

#[test]
fn every_block_of_the_guide_for_programs_runs_as_it_stands_there() {
    let shell = ["its code is 3", "exit code 3", "two in /tmp", "first line"];
    let told = ["\"ended\":false", "Do you want to proceed?", "\"exit_code\":0", "\"code\":17"];
    runs("programs.md", &[shell, told].concat());
}

#[test]
fn every_block_of_the_guide_for_scripts_runs_as_it_stands_there() {
    let codes = ["the build ended with 3", "ended by its timeout: 143", "still at it: 6"];
    runs("scripts.md", &[&codes[..], &["ci-unit 0", "run.cast"]].concat());
}

#[test]
fn every_block_of_the_guide_for_those_who_come_from_elsewhere_runs_as_it_stands_there() {
    runs("coming-from.md", &["42", "one\ntwo", "three", "the exit status was 17", "fake-reply"]);
}

/// What the README runs that is not abide: it is the same wherever it runs.
const STAND_INS: [(&str, &str); 2] = [
    (
        "make",
        "case $* in *check) echo 12 passed;; *) echo connect ECONNREFUSED 127.0.0.1:5432; read -r go <../gate;; esac",
    ),
    ("vi", "stty -icanon -echo; exec head -c 11 >/dev/null"),
];

#[test]
fn every_command_of_the_readme_runs_as_it_stands_there() {
    let world = World::new();
    let text = fs::read_to_string(Path::new(GUIDES).join("../../README.md")).expect("it is there");
    let (bin, work) = (world.beside("bin"), world.beside("work"));
    for dir in [&bin, &work, &format!("{work}/app")] {
        fs::create_dir(dir).expect("there is room");
    }
    world.home.around().program("bin/claude", agent());
    for (name, script) in STAND_INS {
        world.home.around().script(&format!("bin/{name}"), &format!("#!/bin/sh\n{script}\n"));
    }
    let gate = Gate::new(&world.beside("gate"));
    let before = format!("set -eu; export HOME={work} PATH={bin}:${{0%/*}}:$PATH; cd; ");
    let blocks = text.split("```").skip(1).step_by(2);
    // What is installed needs no dollar; what cargo does, CI does.
    let installs = blocks.clone().filter(|block| block.contains("abide man --out"));
    let typed = blocks.flat_map(str::lines).filter_map(|line| line.strip_prefix("$ ").map(str::to_owned));
    let typed: Vec<String> = installs.map(str::to_owned).chain(typed).collect();
    assert!(typed.len() > 10, "{typed:?}");
    for line in &typed {
        let mut shell = world.bash(&[before.as_str(), line].concat(), &[]);
        if line.starts_with("abide attach ") {
            let mut terminal = Terminal::start(&shell);
            terminal.until("ECONNREFUSED");
            terminal.type_in(b"\x1c\x1c");
            assert_eq!(terminal.reap(), Ending::Exited(0), "{line}");
            gate.open();
            continue;
        }
        let ran = Ran::of(&mut shell);
        assert_eq!(ran.code(), Some(0), "{line}: {ran:?}");
    }
    for made in ["nightly.gif", ".local/share/man/man1/abide-top.1"] {
        assert!(Path::new(&work).join(made).exists(), "{made}");
    }
    let left = world.abide.run(&["stop", "--grace", "0s", "box", "fix"]);
    assert_eq!((left.code(), world.abide.run(&["ls", "-q"]).stdout.as_str()), (Some(0), ""), "{left:?}");
}

/// The only block of a paper that begins like this.
fn block(paper: &str, language: &str) -> String {
    let text = fs::read_to_string(Path::new(GUIDES).join("..").join(paper)).expect("it is there");
    let found: Vec<&str> =
        text.split("```").skip(1).step_by(2).filter_map(|block| block.strip_prefix(language)).collect();
    assert_eq!(found.len(), 1, "{paper}: {found:?}");
    found[0].to_owned()
}

#[test]
fn every_command_about_pictures_runs_as_it_stands_there() {
    let world = World::new();
    let work = world.beside("work");
    fs::create_dir(&work).expect("there is room");
    for name in ["nightly", "build"] {
        assert_eq!(world.wait(&world.launch(&["--name", name], &["echo", "drawn"])).0, Some(0));
    }
    // The clock may not have been there since these began.
    let typed = block("pictures.md", "\n").replace("--at 14:03", "--at +0s");
    let script = format!("set -e; cd {work}; export PATH=${{0%/*}}:$PATH\n{typed}");
    let ran = Ran::of(&mut world.bash(&script, &[]));
    assert_eq!(ran.code(), Some(0), "{ran:?}");
    for made in ["nightly.png", "then.svg", "demo.gif"] {
        assert!(Path::new(&work).join(made).exists(), "{made}: {ran:?}");
    }
}

#[test]
fn the_unit_that_keeps_a_session_starts_and_stops_it_by_what_it_says() {
    let world = World::new();
    let bin = world.beside("bin");
    fs::create_dir(&bin).expect("there is room");
    world.home.around().script("bin/make", "#!/bin/sh\nexec sleep 300\n");
    let unit = block("keeping-sessions.md", "ini\n");
    let (mut ran, keys) = (0, ["ExecStart=%h/.cargo/bin/", "ExecStop=%h/.cargo/bin/"]);
    for line in keys.iter().filter_map(|key| unit.lines().find_map(|line| line.strip_prefix(key))) {
        let script = format!("export PATH={bin}:${{0%/*}}:$PATH\n{line}");
        let done = Ran::of(&mut world.bash(&script, &[]));
        assert_eq!(done.code(), Some(0), "{line}: {done:?}");
        let status = world.abide.json(&["inspect", "nightly"])["data"]["status"].clone();
        assert_eq!(status, ["running", "exited"][ran], "{line}");
        ran += 1;
    }
    assert_eq!(ran, 2, "{unit}");
}

#[test]
fn the_settings_of_the_paper_about_notifications_are_taken_as_they_stand_there() {
    let world = World::new();
    let _path = world.home.config(&block("notifications.md", "toml\n"));
    let told = world.abide.run(&["config"]);
    assert_eq!((told.code(), told.stderr.as_str()), (Some(0), ""), "{told:?}");
    for set in ["notify-send", "http://127.0.0.1:8080/hook", "turn"] {
        assert!(told.stdout.contains(set), "{set}: {told:?}");
    }
}

/// Runs all blocks of a guide, one after the other, in a directory of their own; says all of this, and leaves no session
/// that goes on.
fn runs(guide: &str, says: &[&str]) {
    let world = World::new();
    let text = fs::read_to_string(Path::new(GUIDES).join(guide)).expect("it is there");
    let blocks: Vec<&str> =
        text.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    let (bin, work) = (world.beside("bin"), world.beside("work"));
    for dir in [&bin, &work] {
        fs::create_dir(dir).expect("there is room");
    }
    world.home.around().program("bin/claude", agent());
    let before = format!("set -eu; cd {work}; export PATH={bin}:${{0%/*}}:$PATH\n");
    let ran = Ran::of(&mut world.bash(&[before, blocks.join("\n")].concat(), &[]));
    let left = world.abide.run(&["ls", "-q"]).stdout;
    assert_eq!((ran.code(), left.as_str()), (Some(0), ""), "{guide}: {ran:?}");
    for said in says {
        let all = [ran.stdout.as_str(), &ran.stderr].concat();
        assert!(all.contains(said), "{guide}: {said}: {ran:?}");
    }
}

#[test]
fn every_mistake_is_answered_as_the_list_of_mistakes_says() {
    let world = World::new();
    let text = fs::read_to_string(Path::new(GUIDES).join("../mistakes.md")).expect("it is there");
    let block = text.split("```").nth(1).and_then(|block| block.strip_prefix("console\n")).expect("a block");
    let nightly = world.launch(&["--name", "nightly"], &["sleep", "300"]);
    let done = world.launch(&["--name", "done"], &["true"]);
    assert_eq!(world.wait(&done).0, Some(0));
    let mistakes: Vec<&str> = block.split("$ ").filter(|mistake| !mistake.is_empty()).collect();
    assert!(mistakes.len() > 10, "{mistakes:?}");
    for mistake in mistakes {
        let (line, said) = mistake.split_once('\n').expect("an answer");
        let script = format!("export PATH=${{0%/*}}:$PATH; {line}");
        let ran = Ran::of(&mut world.bash(&script, &[]));
        let mut seen = [ran.stdout.as_str(), &ran.stderr].concat();
        // All that is ever said there is the ID of a session that was launched.
        let ids = [(nightly.as_str(), "k3v9q2zr"), (&done, "q4m8t2zx"), (ran.stdout.trim_end(), "x7c2m9ad")];
        for (id, named) in ids.into_iter().filter(|(id, _)| !id.is_empty()) {
            seen = seen.replace(id, named);
        }
        assert_eq!(seen, said, "{line}");
        assert_ne!(ran.code(), Some(0), "{line}: {ran:?}");
    }
    assert_eq!(world.abide.run(&["stop", "--grace", "0s", &nightly]).code(), Some(0));
}

#[test]
fn the_tour_makes_its_claims_one_by_one_and_all_of_them_hold() {
    let world = World::new();
    let (text, json) = std::thread::scope(|scope| {
        let text = scope.spawn(|| world.abide.run(&["demo"]));
        (text.join().expect("it ran"), world.abide.run(&["demo", "--json"]))
    });
    assert_eq!((text.code(), json.code()), (Some(0), Some(0)), "{text:?} {json:?}");
    assert!(text.stdout.ends_with("\nevery claim held\n") && !text.stdout.contains('✗'), "{text:?}");
    assert!(
        text.stdout.contains("abide search ") && text.stderr.contains("Now yours:\n  abide run "),
        "{text:?}"
    );
    let told = &json.json()["data"];
    let claims = told["claims"].as_array().expect("a list");
    assert!(told["held"] == true && claims.len() == text.stdout.matches('✓').count(), "{told}");
}
