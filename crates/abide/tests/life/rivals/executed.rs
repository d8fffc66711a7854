//! Lines in a shell: whatever stands in one, it ends, its code is its own, and the next one runs.

use abide_testkit::Ran;
use abide_testkit::lines::SHELLS;
use abide_testkit::tools::need;

use crate::common::{Life, World, data};

fn exec(world: &World, life: &Life<'_>, line: &str) -> Ran {
    world.abide.run(&["exec", &life.id, "--timeout", "30s", "--", line])
}

fn check_lines(command: &[&str]) {
    let world = World::new();
    let life = world.observe(world.launch(&[], command));
    let fish = command[0] == "fish";
    let loops = if fish { "for i in 1 2\necho $i\nend" } else { "for i in 1 2; do\necho $i\ndone" };
    let mut lines = vec![
        ("echo one # a remark", Some(0), "one\n"),
        (loops, Some(0), "1\n2\n"),
        ("false", Some(1), ""),
        ("sh -c 'kill -9 $$'", Some(137), ""),
        ("stty -echo; echo quiet", Some(0), "quiet\n"),
        ("stty echo; echo loud", Some(0), "loud\n"),
        ("", Some(0), ""),
    ];
    if !fish {
        lines.push(("cat <<END\nin it\nEND", Some(0), "in it\n"));
    }
    for (line, code, output) in lines {
        let ran = exec(&world, &life, line);
        // A shell that is told of another's death by a signal may say so.
        let said = if code == Some(137) { "" } else { ran.stdout.as_str() };
        assert_eq!((ran.code(), said), (code, output), "{command:?} {line:?} {ran:?}");
    }
    for open in ["echo 'open", "echo \"open", "echo $(", "if true"] {
        let ran = exec(&world, &life, open);
        assert!(ran.code().is_some_and(|code| (1..124).contains(&code)), "{command:?} {open:?} {ran:?}");
        assert_eq!(exec(&world, &life, "echo next").stdout, "next\n", "{command:?} after {open:?}");
    }
    let shown = data(&world.abide.run(&["snapshot", "--json", &life.id]))["lines"].to_string();
    assert!(!shown.contains("7717") && !shown.contains("exec-"), "{command:?} {shown}");
}

#[test]
fn exec_of_lines_that_swallow_what_comes_behind_them_ends_all_the_same() {
    std::thread::scope(|scope| {
        for command in SHELLS {
            let _ = need(command[0]);
            scope.spawn(|| check_lines(command));
        }
    });
}

#[test]
fn a_line_that_is_not_to_be_waited_for_is_typed_and_its_shell_is_the_same() {
    let world = World::new();
    let life = world.observe(world.launch(&[], SHELLS[0]));
    let typed = data(&world.abide.run(&["type", "--json", "--enter", &life.id, "kept=7"]));
    assert!(typed["seq"].is_u64(), "{typed}");
    assert_eq!(exec(&world, &life, "echo $kept").stdout, "7\n");
}

#[test]
fn the_lines_of_a_file_run_as_one_and_with_the_code_of_the_last() {
    let world = World::new();
    let life = world.observe(world.launch(&[], SHELLS[0]));
    let script = "x=5\nfor i in 1 2; do\n  echo \"$i-$x\"\ndone\nsh -c 'exit 6'\n";
    let path = world.beside("script");
    std::fs::File::create(&path)
        .and_then(|mut file| std::io::Write::write_all(&mut file, script.as_bytes()))
        .expect("there is room");
    for line in [script, &format!(". {path}")] {
        let ran = exec(&world, &life, line);
        assert_eq!((ran.code(), ran.stdout.as_str()), (Some(6), "1-5\n2-5\n"), "{line}: {ran:?}");
    }
    assert_eq!(exec(&world, &life, "echo $x").stdout, "5\n");
}
