//! Hooks put into agents' settings and taken out again: the very bytes, modes and links, and what is refused.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use abide_testkit::Ran;
use abide_testkit::namespace::unshare;
use serde_json::Value;

use crate::common::{Stage, data, word};

const CLAUDE: &str = "{\n  \"model\": \"opus\",\n  \"hooks\": {\n    \"Stop\": [\n      {\"matcher\": \"\", \
                      \"hooks\": [{\"type\": \"command\", \"command\": \"say done\"}]}\n    ]\n  }\n}";
const GEMINI: &str = "// mine\n{ \"ui\": {} /* theme */ }\n";

/// Writes a file below what serves as the user's home.
fn file(stage: &Stage, name: &str, text: &str) -> PathBuf {
    let path = stage.home.around().join(name);
    fs::create_dir_all(path.parent().expect("a folder")).expect("there is room");
    stage.home.around().file(name, text)
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).expect("it is there")
}

/// What a command says of its only agent.
fn agent(stage: &Stage, args: &[&str]) -> Value {
    data(stage.abide.json(&[&["hooks"], args].concat()))["agents"][0].clone()
}

fn failed(ran: &Ran) -> (Option<i32>, String) {
    (ran.code(), word(&ran.json()["error"]["code"]))
}

#[test]
fn hooks_go_in_beside_others_once_and_come_out_to_the_byte() {
    let stage = Stage::new();
    let (claude, gemini) =
        (file(&stage, ".claude/settings.json", CLAUDE), file(&stage, ".gemini/settings.json", GEMINI));
    let agents = ["claude", "gemini", "codex", "qwen", "copilot"];
    let installed = stage.abide.run(&[&["hooks", "install"][..], &agents].concat());
    assert_eq!(installed.code(), Some(0), "{installed:?}");
    let made = text(&claude);
    let json: Value = serde_json::from_str(&made).expect("JSON");
    assert_eq!(json["hooks"]["Stop"][0]["hooks"][0]["command"], "say done");
    let command = format!("{} hook claude Stop >/dev/null 2>&1 || :", env!("CARGO_BIN_EXE_abide"));
    assert_eq!(json["hooks"]["Stop"][1]["hooks"][0]["command"], command.as_str());
    for agent in data(stage.abide.json(&["hooks", "status"]))["agents"].as_array().expect("a list") {
        assert_eq!(agent["standing"], "installed", "{agent}");
        assert_eq!(agent["trust"].is_string(), agent["agent"] == "codex", "{agent}");
    }

    let inode = fs::metadata(&claude).expect("it is there").ino();
    let again = agent(&stage, &["install", "claude"]);
    assert_eq!((&again["standing"], &again["patch"]), (&"installed".into(), &Value::Null));
    assert_eq!(fs::metadata(&claude).expect("it is there").ino(), inode, "nothing was written");

    let gone = stage.abide.run(&[&["hooks", "uninstall"][..], &agents].concat());
    assert_eq!(gone.code(), Some(0), "{gone:?}");
    assert_eq!((text(&claude), text(&gemini)), (CLAUDE.to_owned(), GEMINI.to_owned()));
    for name in [".codex/hooks.json", ".qwen/settings.json", ".copilot/hooks/abide.json"] {
        assert!(!stage.home.around().join(name).exists(), "{name} was ours");
    }
    assert_eq!(agent(&stage, &["uninstall", "claude"])["patch"], Value::Null);
}

#[test]
fn a_dry_run_says_the_change_and_makes_none() {
    let stage = Stage::new();
    let path = file(&stage, ".claude/settings.json", CLAUDE);
    let would = agent(&stage, &["install", "claude", "--dry-run"]);
    assert_eq!((&would["standing"], text(&path).as_str()), (&"absent".into(), CLAUDE));
    let patched = stage.home.around().file("patch", &word(&would["patch"]));
    let copy = file(&stage, "copy.json", CLAUDE);
    let ran = Ran::of(std::process::Command::new("patch").arg(&copy).arg(&patched));
    assert_eq!(ran.code(), Some(0), "{ran:?}");
    assert_eq!(agent(&stage, &["install", "claude"])["patch"], would["patch"]);
    assert_eq!(text(&path), text(&copy), "it is what `patch` makes of it");
    let text = stage.text(&["hooks", "uninstall", "claude", "--dry-run"]);
    assert!(text.starts_with(&format!("claude: would change {}\n--- ", path.display())), "{text}");
}

#[test]
fn entries_of_another_abide_are_told_and_brought_here() {
    let stage = Stage::new();
    let other = stage.abide.copied_to(&stage.home.around().join("abide-before"));
    assert_eq!(other.run(&["hooks", "install", "copilot"]).code(), Some(0));
    let was = agent(&stage, &["status", "copilot"]);
    assert_eq!(was["standing"], "outdated");
    assert!(word(&was["detail"]).ends_with("/abide-before"), "{was}");
    assert_eq!(agent(&stage, &["install", "copilot"])["standing"], "installed");
    assert!(!text(&stage.home.around().join(".copilot/hooks/abide.json")).contains("abide-before"));
}

#[test]
fn a_link_stays_and_what_it_leads_to_keeps_its_mode() {
    let stage = Stage::new();
    let target = file(&stage, "dotfiles/claude.json", CLAUDE);
    fs::set_permissions(&target, fs::Permissions::from_mode(0o640)).expect("ours");
    let link = stage.home.around().join(".claude/settings.json");
    fs::create_dir_all(link.parent().expect("a folder")).expect("there is room");
    symlink("../dotfiles/claude.json", &link).expect("there is room");
    assert_eq!(agent(&stage, &["install", "claude"])["standing"], "installed");
    assert_eq!(fs::read_link(&link).expect("a link"), Path::new("../dotfiles/claude.json"));
    assert_eq!(fs::metadata(&target).expect("a file").permissions().mode() & 0o7777, 0o640);
    assert_eq!(agent(&stage, &["uninstall", "claude"])["standing"], "absent");
    assert_eq!(text(&target), CLAUDE);
    // A link to nothing yet: the file is made where it leads, and stays when it is empty again.
    fs::remove_file(&target).expect("ours");
    assert_eq!(agent(&stage, &["install", "claude"])["standing"], "installed");
    assert_eq!(agent(&stage, &["uninstall", "claude"])["standing"], "absent");
    assert_eq!(text(&target), "{}\n");
    let left: Vec<_> = fs::read_dir(stage.home.around().join("dotfiles")).expect("ours").collect();
    assert_eq!(left.len(), 1, "no draft is left: {left:?}");
}

#[test]
fn damaged_settings_are_refused_and_nothing_is_written_anywhere() {
    let stage = Stage::new();
    let whole = file(&stage, ".claude/settings.json", CLAUDE);
    for damaged in ["", "{\"a\": 1", "[]", "{\"hooks\": 1}", "{\"a\": 1,}"] {
        let path = file(&stage, ".qwen/settings.json", damaged);
        for act in ["install", "uninstall"] {
            let ran = stage.abide.run(&["hooks", "--json", act, "claude", "qwen"]);
            assert_eq!(failed(&ran), (Some(2), "bad_settings".to_owned()), "{damaged}: {ran:?}");
            assert!(word(&ran.json()["error"]["message"]).contains(&path.display().to_string()), "{ran:?}");
        }
        assert_eq!((text(&path).as_str(), text(&whole).as_str()), (damaged, CLAUDE));
        let status = stage.abide.run(&["hooks", "--json", "status"]);
        assert_eq!(status.code(), Some(2));
        let agents = data(status.json())["agents"].clone();
        assert_eq!(
            (&agents[0]["standing"], &agents[3]["standing"]),
            (&"absent".into(), &"unreadable".into())
        );
    }
    let mut binary = fs::File::create(stage.home.around().join(".qwen/settings.json")).expect("ours");
    binary.write_all(b"{\"a\": \"\xff\"}").expect("there is room");
    let ran = stage.abide.run(&["hooks", "--json", "install", "qwen"]);
    assert_eq!(failed(&ran), (Some(2), "bad_settings".to_owned()));
    // What cannot even be read hides none of the others.
    let status = stage.abide.run(&["hooks", "--json", "status"]);
    let agents = data(status.json())["agents"].clone();
    assert_eq!((&agents[0]["standing"], &agents[3]["standing"]), (&"absent".into(), &"unreadable".into()));
}

#[test]
fn what_may_not_be_written_is_refused_and_stays() {
    let stage = Stage::new();
    let path = file(&stage, ".claude/settings.json", CLAUDE);
    let folder = path.parent().expect("a folder");
    let script = "mount --bind \"$0\" \"$0\" && mount -o remount,bind,ro \"$0\" && exec \"$@\"";
    let mut command = unshare(&["--mount"], Path::new("sh"));
    command.args(["-c", script]).arg(folder).arg(env!("CARGO_BIN_EXE_abide"));
    command.args(["hooks", "--json", "install", "codex", "claude"]);
    let ran = Ran::of(command.env("HOME", stage.home.around().path()));
    assert_eq!(failed(&ran), (Some(1), "io".to_owned()), "{ran:?}");
    assert_eq!(text(&path), CLAUDE);
    assert!(!stage.home.around().join(".codex").exists(), "nothing is written if one cannot be");

    fs::hard_link(&path, folder.join("other")).expect("there is room");
    let ran = stage.abide.run(&["hooks", "--json", "install", "claude"]);
    assert_eq!(failed(&ran), (Some(1), "io".to_owned()), "{ran:?}");
    assert_eq!((text(&path).as_str(), fs::read_dir(folder).expect("ours").count()), (CLAUDE, 2));
}

#[test]
fn settings_are_found_where_the_agents_variables_say() {
    let stage = Stage::new();
    let elsewhere = stage.home.around().join("else where");
    let mut command = stage.abide.command(&["hooks", "--json", "install", "claude", "gemini"]);
    let ran = Ran::of(command.env("CLAUDE_CONFIG_DIR", &elsewhere).env("GEMINI_CLI_HOME", &elsewhere));
    assert_eq!(ran.code(), Some(0), "{ran:?}");
    assert!(elsewhere.join("settings.json").is_file() && elsewhere.join(".gemini/settings.json").is_file());
    let ran = Ran::of(stage.abide.command(&["hooks", "--json", "status", "claude"]).env_remove("HOME"));
    assert_eq!(failed(&ran), (Some(2), "usage".to_owned()), "{ran:?}");
}

#[test]
fn a_path_that_outlives_an_update_is_preferred() {
    let stage = Stage::new();
    let bin = stage.home.around().join("bin");
    fs::create_dir_all(&bin).expect("there is room");
    symlink(env!("CARGO_BIN_EXE_abide"), bin.join("abide")).expect("there is room");
    let mut command = stage.abide.command(&["hooks", "--json", "install", "claude"]);
    let told = data(Ran::of(command.env("PATH", &bin)).json());
    assert_eq!(word(&told["executable"]), bin.join("abide").display().to_string());
}

#[test]
fn settings_that_switch_hooks_off_are_told() {
    let stage = Stage::new();
    let _path = file(&stage, ".claude/settings.json", "{\"disableAllHooks\": true}");
    let told = agent(&stage, &["install", "claude"]);
    assert_eq!(told["switched_off"], "`disableAllHooks` is true");
    assert!(stage.text(&["hooks", "status", "claude"]).contains("`disableAllHooks` is true"));
}

#[test]
fn hooks_that_call_another_abide_are_told_by_the_doctor() {
    let stage = Stage::new();
    let about = |stage: &Stage| {
        let checks = data(stage.abide.json(&["doctor"]))["checks"].clone();
        let hooks = checks.as_array().expect("a list").iter().find(|check| check["name"] == "hooks").cloned();
        hooks.unwrap_or_default()
    };
    assert_eq!(about(&stage), Value::Null, "nothing is said of what was never installed");
    let settings = file(&stage, ".claude/settings.json", CLAUDE);
    assert_eq!(stage.abide.run(&["hooks", "install", "claude"]).code(), Some(0));
    assert_eq!(about(&stage)["health"], "good");
    let moved = text(&settings).replace(env!("CARGO_BIN_EXE_abide"), "/opt/old/abide");
    let _ = file(&stage, ".claude/settings.json", &moved);
    let told = about(&stage);
    assert_eq!(
        (&told["health"], &told["fix"]),
        (&"weak".into(), &"abide hooks install claude".into()),
        "{told}"
    );
    assert!(told["detail"].as_str().is_some_and(|detail| detail.contains("/opt/old/abide")), "{told}");
}
