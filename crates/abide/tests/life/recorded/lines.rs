//! What a shell shows, as lines: no reader loses what stood on the screen, nor puts into one line what stood in two.

use abide_testkit::tools::need;

use crate::common::{World, data};

fn met(world: &World, conditions: &[&str]) {
    let ran = world.abide.run(&[&["wait", "--timeout", "30s"], conditions].concat());
    assert_eq!(ran.code(), Some(0), "{conditions:?}: {ran:?}");
}

fn type_line(world: &World, id: &str, line: &str) {
    let ran = world.abide.run(&["type", "--enter", id, line]);
    assert_eq!(ran.code(), Some(0), "{ran:?}");
}

#[test]
fn output_without_a_new_line_is_a_line_of_its_own_before_the_prompt_of_zsh_and_fish() {
    let shells: [(&str, &[&str]); 2] = [("zsh", &["zsh", "-f"]), ("fish", &["fish", "--no-config"])];
    for (name, command) in shells {
        let _ = need(name);
        let world = World::new();
        let home = ["--env".to_owned(), format!("HOME={}", world.beside(""))];
        let life = world.observe(world.launch(&[&home[0], &home[1]], command));
        let id = life.id.as_str();
        met(&world, &["--idle", "300ms", id]);
        type_line(&world, id, "printf IMPORTANT-%s=42 RESULT");
        met(&world, &["--regex", "^IMPORTANT-RESULT=42.?$", id]);
        type_line(&world, id, "echo th'e' next");
        met(&world, &["--regex", "^the next$", id]);
        type_line(&world, id, "exit");
        assert_eq!(world.wait(id).0, Some(0), "{name}");
        let apart = |line: &str| line.starts_with("IMPORTANT-RESULT=42") && !line.contains("next");
        let logs = world.abide.run(&["logs", id]).stdout;
        assert!(logs.lines().any(apart), "{name}: {logs}");
        let text = world.abide.run(&["export", "--format", "txt", id]).stdout;
        assert!(text.lines().any(apart), "{name}: {text}");
        let found = data(&world.abide.run(&["search", "--json", "RESULT=42"]));
        let lines = found["hits"]
            .as_array()
            .expect("hits")
            .iter()
            .map(|hit| hit["line"].as_str().unwrap_or_default());
        assert!(lines.clone().any(apart), "{name}: {found}");
    }
}

#[test]
fn a_line_that_is_edited_is_logged_as_it_stood_on_the_screen_whatever_its_characters_take() {
    let world = World::new();
    let options = ["--env", "PS1=% ", "--env", "LC_ALL=C.UTF-8", "--size", "20x10"];
    let life = world.observe(world.launch(&options, &["bash", "--norc", "--noprofile"]));
    let id = life.id.as_str();
    met(&world, &["--text", "% ", id]);
    // In the middle of wide characters, and of a line that is longer than a row.
    for (line, keys) in [("echo 漢字x", "Y"), ("echo one two three four five", "Z")] {
        let typed = world.abide.run(&["type", id, line]);
        assert_eq!(typed.code(), Some(0), "{typed:?}");
        let ran = world.abide.run(&["keys", id, "Left", "Left", keys, "Enter"]);
        assert_eq!(ran.code(), Some(0), "{ran:?}");
    }
    met(&world, &["--regex", "^one two three four fiZve$", id]);
    type_line(&world, id, "exit");
    assert_eq!(world.wait(id).0, Some(0));
    let logs = world.abide.run(&["logs", id]).stdout;
    let lines: Vec<&str> = logs.lines().collect();
    for line in ["% echo 漢Y字x", "漢Y字x", "% echo one two three four fiZve", "one two three four fiZve"]
    {
        assert!(lines.contains(&line), "{line}: {lines:?}");
    }
}

#[test]
fn a_command_line_that_a_shell_quotes_is_listed_as_it_was_typed() {
    let lines = ["make", "for i in a b; do echo \"$i\"; done", "echo 'it''s' é\nls; ls"];
    for shell in ["bash", "zsh"].map(need) {
        let world = World::new();
        let script =
            "for line; do printf '\\033]133;C;cmdline=%q\\a' \"$line\"; printf '\\033]133;D;0\\a'; done";
        let id = world.launch(&[], &[&[shell, "-c", script, shell], &lines[..]].concat());
        assert_eq!(world.wait(&id).0, Some(0));
        let told = data(&world.abide.run(&["marks", "--json", &id]));
        let commands = told["commands"].as_array().expect("commands");
        let listed: Vec<&str> = commands.iter().filter_map(|command| command["command"].as_str()).collect();
        assert_eq!(listed, lines, "{shell}");
    }
}
