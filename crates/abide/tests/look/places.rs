//! Homes and session directories that are not to be trusted, and users who may not ask.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use abide_core::evidence::{Body, Hosted, How, Role};
use abide_testkit::scene::{dead, identity, idle, launch};
use abide_testkit::{Ran, ScratchDir};

use crate::common::{Stage, data, proof, served};

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("we made it");
}

fn tree(path: &Path) -> Vec<(PathBuf, u32, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(path).expect("we made it") {
        let path = entry.expect("we made it").path();
        let meta = fs::symlink_metadata(&path).expect("we made it");
        let bytes = if meta.is_file() { fs::read(&path).expect("we made it") } else { Vec::new() };
        if meta.is_dir() {
            found.extend(tree(&path));
        }
        found.push((path, meta.permissions().mode(), bytes));
    }
    found.sort();
    found
}

#[test]
fn a_home_that_is_not_ours_alone_is_refused_with_the_reason() {
    let stage = Stage::new();
    let _scene = stage.over("exited00").ended(How::Exited { code: 0 });
    let link = stage.home.around().join("link");
    symlink(stage.path(), &link).unwrap();
    let before = tree(&stage.path());
    let with_slash = PathBuf::from(format!("{}/", link.display()));
    for home in [link.clone(), with_slash, link.join(".")] {
        for verb in
            [&["ls"][..], &["inspect", "exited00"], &["why", "exited00"], &["run", "-d", "--", "true"]]
        {
            let ran =
                stage.abide.at(&home).run(&[verb[..1].to_vec(), vec!["--json"], verb[1..].to_vec()].concat());
            let answer = ran.json();
            assert_eq!(
                (ran.code(), &answer["error"]["code"]),
                (Some(1), &"unsafe_home".into()),
                "{verb:?} {ran:?}"
            );
            assert!(answer["error"]["message"].as_str().unwrap().contains("it is a link"), "{answer}");
        }
    }
    mode(&stage.path(), 0o770);
    let ran = stage.abide.run(&["ls"]);
    assert_eq!(ran.code(), Some(1));
    assert!(
        ran.stderr.starts_with("abide: home ") && ran.stderr.contains("others may write to it (mode 770)")
    );
    assert!(ran.stderr.contains("hint: chmod go-w "), "{ran:?}");
    let doctor = stage.abide.run(&["doctor", "--fix"]);
    assert_eq!(doctor.code(), Some(1), "{doctor:?}");
    assert!(doctor.stdout.starts_with("✗ home: ") && doctor.stdout.contains("fix: chmod go-w"), "{doctor:?}");
    mode(&stage.path(), 0o700);
    assert_eq!(tree(&stage.path()), before, "something was touched");
}

#[test]
fn nobody_is_told_to_close_what_is_shared() {
    let stage = Stage::new();
    let shared = stage.home.around().join("shared");
    fs::create_dir(&shared).unwrap();
    mode(&shared, 0o1777);
    let ran = stage.abide.at(&shared).run(&["ls"]);
    let expected = format!(
        "abide: home {} cannot be used: it is shared, and others may write to it (mode 1777)
hint: choose another directory with --home
",
        shared.display()
    );
    assert_eq!((ran.code(), ran.stderr), (Some(1), expected));
}

#[test]
fn a_home_that_cannot_be_made_is_not_called_good() {
    let stage = Stage::new();
    let closed = stage.home.around().join("closed");
    fs::create_dir(&closed).unwrap();
    mode(&closed, 0o555);
    mode(stage.home.around().path(), 0o755);
    let exe = stage.home.around().join("abide");
    let _ = stage.abide.copied_to(&exe);
    // Root may write anywhere, and so must be somebody else here.
    let mut command = if rustix::process::geteuid().is_root() {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all", "--"]).arg(&exe);
        command
    } else {
        Command::new(&exe)
    };
    command.args(["doctor", "--home"]).arg(closed.join("deep/home"));
    let ran = Ran::of(&mut command);
    let expected = format!(
        "✗ home: {0}/deep/home does not exist and cannot be made: you may not write to {0}
    fix: choose another home with --home or ABIDE_HOME
",
        closed.display()
    );
    assert!(ran.stdout.starts_with(&expected), "{ran:?}");
    assert_eq!(ran.code(), Some(1));
    let told = stage.text(&["doctor"]);
    assert!(told.contains("abide-home does not exist yet; the first session makes it"), "{told}");
    let below_a_file = stage.abide.at(&exe.join("home")).run(&["doctor"]);
    assert!(
        below_a_file.code() == Some(1) && below_a_file.stdout.starts_with("✗ home: "),
        "{below_a_file:?}"
    );
}

#[test]
fn a_session_directory_that_is_not_ours_alone_is_unknown_and_the_others_are_told() {
    let stage = Stage::new();
    let sound = stage.over("sound000").ended(How::Exited { code: 3 });
    let open = stage.over("open0000").ended(How::Exited { code: 3 });
    mode(open.dir(), 0o777);
    symlink(sound.dir(), stage.path().join("sessions/linked00")).unwrap();
    assert_eq!(stage.listed().len(), 3);
    for (id, says) in [
        ("linked00", "the session's directory is a link or not a directory"),
        ("open0000", "others may write to the session's directory (mode 777)"),
    ] {
        let session = stage.inspect(id);
        assert_eq!(session["status"], "unknown", "{session}");
        assert!(proof(&session).contains(says), "{session}");
    }
    assert_eq!(stage.inspect("sound000")["exit_code"], 3);
}

#[test]
fn a_session_directory_that_others_may_write_to_is_refused_with_the_chmod_that_helps() {
    let stage = Stage::new();
    let open = stage.over("open0000").ended(How::Exited { code: 3 });
    mode(open.dir(), 0o770);
    let chmod = format!("`chmod go-w {}`", open.dir().display());
    for act in [&["wait"][..], &["rm"], &["rm", "--force"], &["stop"], &["doctor"]] {
        let ids = if act == ["doctor"] { &[][..] } else { &["open0000"] };
        let ran = stage.abide.run(&[act, ids].concat());
        let said = ran.stdout.clone() + &ran.stderr;
        assert!(ran.code() != Some(0) && said.contains(&chmod), "{act:?}: {ran:?}");
    }
    let waited = stage.abide.run(&["wait", "--json", "open0000"]);
    let hint = waited.json()["data"]["hint"].to_string();
    assert!(waited.code() == Some(125) && hint.contains("until then waiting changes nothing"), "{waited:?}");
    mode(open.dir(), 0o700);
    assert_eq!(stage.abide.run(&["wait", "open0000"]).code(), Some(3), "the way out leads there");
}

#[test]
fn what_is_refused_is_named_also_where_it_lies_below_the_home() {
    let stage = Stage::new();
    let _scene = stage.over("exited00").ended(How::Exited { code: 0 });
    let home = stage.path();
    fs::create_dir(home.join("names")).unwrap();
    let named = ["run", "--wait", "--name", "nightly", "--", "true"];
    for (below, asked) in [("sessions", &["ls", "-a"][..]), ("names", &named)] {
        let at = home.join(below);
        mode(&at, 0o770);
        let ran = stage.abide.run(asked);
        let expected = format!(
            "abide: home {} cannot be used because of {1}: others may write to it (mode 770)\nhint: chmod go-w {1}\n",
            home.display(),
            at.display()
        );
        assert!(ran.code() != Some(0) && ran.stderr == expected, "{ran:?}");
        mode(&at, 0o700);
        assert_eq!(stage.abide.run(asked).code(), Some(0), "the way out leads there");
        let aside = stage.home.around().join(below);
        fs::rename(&at, &aside).unwrap();
        symlink(&aside, &at).unwrap();
        let linked = stage.abide.run(asked);
        let says = format!("because of {}: it is a link or not a directory", at.display());
        assert!(linked.code() != Some(0) && linked.stderr.contains(&says), "{linked:?}");
        assert!(linked.stderr.contains(&format!("put a real directory at {}", at.display())), "{linked:?}");
        fs::remove_file(&at).unwrap();
        fs::rename(&aside, &at).unwrap();
    }
}

#[test]
fn a_link_with_the_name_of_a_leftover_is_told_and_removed_and_what_it_leads_to_stays() {
    let stage = Stage::new();
    let _scene = stage.over("exited00").ended(How::Exited { code: 0 });
    let target = stage.home.around().join("target");
    fs::create_dir(&target).unwrap();
    let _ = fs::File::create(target.join("kept")).unwrap();
    let links = [".gone-abcdefgh", ".new-abcdefgh"].map(|name| stage.path().join("sessions").join(name));
    links.iter().for_each(|link| symlink(&target, link).unwrap());
    let told = stage.text(&["doctor"]);
    assert_eq!(told.matches("it is a link or a file, and abide makes none there").count(), 2, "{told}");
    assert!(links.iter().all(|link| link.is_symlink()), "looking changes nothing");
    let fixed = stage.text(&["doctor", "--fix"]);
    assert!(fixed.contains(".gone-abcdefgh removed") && fixed.contains(".new-abcdefgh removed"), "{fixed}");
    assert!(!links.iter().any(|link| link.is_symlink()) && target.join("kept").is_file());
}

/// Root can become anyone; who is not root is another user for what is root's.
#[test]
fn another_user_gets_a_permission_error_and_never_a_death() {
    let stage = Stage::new();
    if !rustix::process::geteuid().is_root() {
        let ran = stage.abide.at(Path::new("/usr")).run(&["ls", "-a", "--json"]);
        let error = &ran.json()["error"];
        assert_eq!((ran.code(), &error["code"]), (Some(1), &"permission".into()), "{ran:?}");
        assert!(error["message"].as_str().unwrap().ends_with("it belongs to uid 0"), "{ran:?}");
        return;
    }
    let _scene = stage.over("lost0000");
    let tools = ScratchDir::new();
    let exe = tools.join("abide");
    let _ = stage.abide.copied_to(&exe);
    mode(tools.path(), 0o755);
    let as_nobody = |args: &[&str]| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"]).arg(&exe).args(args);
        Ran::of(command.arg("--home").arg(stage.path()))
    };
    let ask = || {
        for verb in
            [&["ls", "-a", "--json"][..], &["inspect", "--json", "lost0000"], &["why", "--json", "lost0000"]]
        {
            let ran = as_nobody(verb);
            assert_eq!(
                (ran.code(), &ran.json()["error"]["code"]),
                (Some(1), &"permission".into()),
                "{ran:?}"
            );
        }
    };
    ask();
    mode(stage.home.around().path(), 0o755);
    ask();
    mode(&stage.path(), 0o755);
    ask();
}

#[test]
fn a_home_that_does_not_exist_has_no_sessions_and_is_not_made() {
    let stage = Stage::new();
    assert_eq!(data(stage.abide.json(&["ls"]))["sessions"], serde_json::json!([]));
    let ran = stage.abide.run(&["inspect", "k3v9q2zr"]);
    assert_eq!(
        (ran.code(), ran.stderr.as_str()),
        (Some(3), "abide: no session `k3v9q2zr`\nhint: `abide ls -a` lists all sessions\n")
    );
    assert!(stage.text(&["doctor"]).contains("does not exist yet"));
    assert!(!stage.path().exists());
}

#[test]
fn the_home_is_the_flag_or_the_variable_or_below_the_users_state() {
    let stage = Stage::new();
    let around = stage.home.around();
    let below =
        |dir: &str, home: &str| drop(abide_testkit::scene::Scene::new(&around.join(dir), home).removed());
    below("flag", "flag0000");
    below("variable", "variable");
    below("xdg/abide", "xdgstate");
    below(".local/state/abide", "default0");
    let listed = |flag: Option<&str>, variables: &[(&str, PathBuf)]| {
        let mut command = stage.abide.command(&["ls", "-aq"]);
        command.env_remove("ABIDE_HOME").envs(variables.iter().map(|(name, value)| (name, value)));
        command.args(flag.map(|dir| format!("--home={}", around.join(dir).display())));
        Ran::of(&mut command).stdout
    };
    let home = ("ABIDE_HOME", around.join("variable"));
    let xdg = ("XDG_STATE_HOME", around.join("xdg"));
    assert_eq!(listed(Some("flag"), &[home.clone(), xdg.clone()]), "flag0000\n");
    assert_eq!(listed(None, &[home, xdg.clone()]), "variable\n");
    assert_eq!(listed(None, &[xdg]), "xdgstate\n");
    assert_eq!(listed(None, &[("XDG_STATE_HOME", "relative".into())]), "default0\n");
    assert_eq!(listed(None, &[]), "default0\n");
}

#[test]
fn a_session_that_this_shell_still_speaks_for_is_told_by_the_doctor() {
    let stage = Stage::new();
    let over = stage.over("exited00").ended(How::Exited { code: 0 });
    for (named, told) in [(over.id(), "is over"), ("nobody00", "is not in this home")] {
        let ran = Ran::of(stage.abide.command(&["doctor"]).env("ABIDE_SESSION", named));
        let line = format!("! environment: ABIDE_SESSION names {named}, which {told}");
        assert!(ran.stdout.contains(&line) && ran.stdout.contains("fix: unset ABIDE_SESSION"), "{ran:?}");
    }
}

#[test]
fn who_mistypes_a_name_is_told_which_one_is_like_it() {
    let stage = Stage::new();
    let process = dead();
    let mut launched = launch("exited00", &process);
    launched.name = Some("nightly".to_owned());
    let scene = stage.scene("exited00").guarded(&process).launched_as(launched).started(&process);
    let _scene = scene.ended(How::Exited { code: 0 });
    for (typed, meant) in [("nihgtly", "nightly"), ("exitde00", "exited00")] {
        let refused = stage.abide.run(&["inspect", typed]).stderr;
        assert!(refused.contains(&format!("did you mean `{meant}`?")), "{refused}");
    }
    let refused = stage.abide.run(&["inspect", "box"]).stderr;
    assert!(!refused.contains("did you mean"), "{refused}");
}

#[test]
fn sessions_that_another_version_serves_are_counted_by_the_doctor() {
    let stage = Stage::new();
    let living = idle();
    let process = identity(&living);
    let hosted = |version: &str| Hosted { host: process, generation: 2, version: version.to_owned() };
    let scene = served(stage.scene("old00000"), &process);
    let _scene = scene.tell(Role::Host, process.pid, Body::Hosted(hosted("0.0.9")));
    let told = stage.abide.run(&["doctor"]).stdout;
    assert!(
        told.contains("! versions: 1 run as another version") && told.contains("fix: abide upgrade"),
        "{told}"
    );
}
