//! The config file: where it is looked for, what outranks it, and what a fault in it does and does not do.

use std::process::Command;

use abide_core::evidence::How;
use abide_testkit::Ran;
use serde_json::{Value, json};

use crate::common::{Stage, data, word};

const BROKEN: &str = "color = 'never'\ngrce = '1s'\nsize = 80\nhome '/x'\n";

/// A command without the variable that names the home, so that the file can.
fn without_home(stage: &Stage, args: &[&str]) -> Command {
    let mut command = stage.abide.command(args);
    command.env_remove("ABIDE_HOME");
    command
}

/// Value and origin of a key.
fn valued(command: &mut Command, key: &str) -> (String, String) {
    let answer = data(Ran::of(command.args(["config", "--json", key])).json());
    let view = &answer["values"][0];
    assert_eq!(view["key"], key);
    (word(&view["value"]), word(&view["origin"]))
}

/// What is said of the keys for notifications where none is set.
const TOLD: [[&str; 4]; 3] = [
    ["notify.command", "none", "built-in", "what is run, without a shell, to be told of sessions"],
    ["notify.webhook", "none", "built-in", "where what there is to tell of sessions is posted to"],
    ["notify.on", "attention,turn,end", "built-in", "of what sessions tell"],
];

#[test]
fn config_shows_each_value_and_where_it_comes_from() {
    let stage = Stage::new();
    let path = stage.home.config("grace = '1m'\n\n[gc]\nkeep = 50\n").display().to_string();
    let home = stage.path().display().to_string();
    let told = data(stage.abide.json(&["config"]));
    let values: Vec<Vec<String>> = told["values"]
        .as_array()
        .unwrap()
        .iter()
        .map(|view| ["key", "value", "origin", "doc"].map(|field| word(&view[field])).to_vec())
        .collect();
    let expected = [
        ["home", &home, "env ABIDE_HOME", "where the sessions are"],
        [
            "grace",
            "1m",
            &format!("file {path}:1"),
            "the patience of `stop`, `rm --force` and `run --timeout` at each step",
        ],
        ["size", "80x24", "built-in", "the size of a session's terminal while none is attached"],
        [
            "detach_key",
            "ctrl-\\",
            "built-in",
            "what detaches: a key that is typed twice within a second, or keys in turn",
        ],
        ["color", "auto", "built-in", "when text has colours"],
        [
            "recording.max_bytes",
            "none",
            "built-in",
            "how much room a recording takes at most; what is shown goes on",
        ],
        [
            "recording.keep",
            "first",
            "built-in",
            "what is kept of a recording that is longer: what came first, or last",
        ],
        [
            "checkpoint.every",
            "30s",
            "built-in",
            "how often transcripts and named files of new sessions are saved while a turn is open",
        ],
        ["agents.begin", "no", "built-in", "whether `run` chooses the conversation that an agent begins"],
        ["gc.older", "7d", "built-in", "`gc` without a limit removes what ended longer ago than this"],
        ["gc.keep", "50", &format!("file {path}:4"), "`gc` without a limit keeps the latest so many"],
        ["gc.max_bytes", "none", "built-in", "`gc` without a limit keeps no more than this"],
        [
            "gc.pack",
            "1d",
            "built-in",
            "`gc` without a limit packs recordings of what ended longer ago than this",
        ],
    ];
    let all = expected.iter().copied().chain(TOLD).map(|row| row.map(str::to_owned).to_vec());
    assert_eq!(values, all.collect::<Vec<_>>());
    assert_eq!(
        (&told["path"], &told["found"], &told["faults"]),
        (&path.as_str().into(), &true.into(), &json!([]))
    );
    let text = stage.text(&["config"]);
    assert!(text.starts_with(&format!("{path}\n\nKEY                  VALUE")), "{text}");
    for row in expected {
        let line = text.lines().find(|line| line.split_whitespace().next() == Some(row[0])).unwrap();
        assert!(row.iter().all(|cell| line.contains(cell)), "{line}");
    }
    assert_eq!(["grace", "detach_key"].map(|key| stage.text(&["config", key])), ["1m\n", "ctrl-\\\n"]);
}

#[test]
fn a_flag_outranks_the_environment_and_the_environment_the_file_and_the_file_what_is_built_in() {
    let stage = Stage::new();
    let around = stage.home.around().path().display().to_string();
    let bare = || without_home(&stage, &[]);
    assert_eq!(valued(&mut bare(), "home"), (format!("{around}/.local/state/abide"), "built-in".into()));
    assert_eq!(valued(bare().env("XDG_STATE_HOME", "/x"), "home"), ("/x/abide".into(), "built-in".into()));
    let path = stage.home.config("home = '~/mine'\ncolor = 'always'\n").display().to_string();
    let from_file = |line: usize| format!("file {path}:{line}");
    assert_eq!(valued(&mut bare(), "home"), (format!("{around}/mine"), from_file(1)));
    assert_eq!(valued(bare().env("XDG_STATE_HOME", "/x"), "home").1, from_file(1));
    let named = ("/y".into(), "env ABIDE_HOME".into());
    assert_eq!(valued(bare().env("ABIDE_HOME", "/y"), "home"), named);
    assert_eq!(valued(bare().env("ABIDE_HOME", "/y").args(["--home", "/z"]), "home").1, "flag");
    assert_eq!(valued(&mut bare(), "color"), ("always".into(), from_file(2)));
    assert_eq!(valued(bare().env("NO_COLOR", "1"), "color"), ("never".into(), "env NO_COLOR".into()));
    assert_eq!(valued(bare().env("CLICOLOR_FORCE", "1"), "color").1, "env CLICOLOR_FORCE");
    let asked = valued(bare().env("NO_COLOR", "1").args(["--color", "auto"]), "color");
    assert_eq!(asked, ("auto".into(), "flag".into()));
}

#[test]
fn the_home_of_the_file_is_the_home_that_commands_look_into() {
    let stage = Stage::new();
    let _scene = stage.over("exited00").ended(How::Exited { code: 0 });
    assert_eq!(Ran::of(&mut without_home(&stage, &["ls", "-aq"])).stdout, "");
    let _path = stage.home.config(&format!("home = '{}'\n", stage.path().display()));
    assert_eq!(Ran::of(&mut without_home(&stage, &["ls", "-aq"])).stdout, "exited00\n");
}

#[test]
fn the_file_is_looked_for_where_the_environment_says() {
    let stage = Stage::new();
    let path = |command: &mut Command| {
        let answer = data(Ran::of(command.args(["config", "--json"])).json());
        (word(&answer["path"]), answer["found"] == true)
    };
    let command = || stage.abide.command(&[]);
    let around = stage.home.around().path().display().to_string();
    let usual = format!("{around}/.config/abide/config.toml");
    assert_eq!(path(&mut command()), (usual.clone(), false), "none need exist");
    let _path = stage.home.config("");
    assert_eq!(path(&mut command()), (usual.clone(), true));
    assert_eq!(path(command().env("XDG_CONFIG_HOME", "relative")), (usual.clone(), true));
    let elsewhere = "/no/such/place/abide/config.toml".to_owned();
    assert_eq!(path(command().env("XDG_CONFIG_HOME", "/no/such/place")), (elsewhere, false));
    assert_eq!(path(command().env("ABIDE_CONFIG", "")), (usual, true));
    let named = path(command().env("ABIDE_CONFIG", "/no/file").env("XDG_CONFIG_HOME", around));
    assert_eq!(named, ("/no/file".into(), false));
    let told = Ran::of(stage.abide.command(&["config"]).env_remove("HOME"));
    assert!(told.stdout.starts_with("no file: ") && told.code() == Some(0), "{told:?}");
}

#[test]
fn config_explains_every_fault_and_still_shows_what_holds() {
    let stage = Stage::new();
    let path = stage.home.config(BROKEN).display().to_string();
    let ran = stage.abide.run(&["config"]);
    assert_eq!(ran.code(), Some(2), "{ran:?}");
    let told = format!(
        "abide: {path}:2: `grce` is no key\n\
         hint: did you mean `grace`? `abide config` shows all keys\n\
         abide: {path}:3: `size` cannot be 80\n\
         hint: allowed: columns and rows such as \"80x24\", neither above 1000\n\
         abide: {path}:4: this is not TOML: key with no value, expected `=`\n\
         hint: a line is KEY = VALUE, with text in quotes; `abide config` shows all keys\n"
    );
    assert_eq!(ran.stderr, told);
    let colour = ran.stdout.lines().find(|line| line.starts_with("color ")).unwrap();
    assert!(colour.contains(" never ") && colour.contains(&format!(" file {path}:1 ")), "{colour}");
    let ran = stage.abide.run(&["config", "--json"]);
    assert_eq!((ran.code(), ran.stderr.as_str()), (Some(2), ""));
    let faults = data(ran.json())["faults"].clone();
    let places: Vec<(Value, Value)> = faults
        .as_array()
        .unwrap()
        .iter()
        .map(|fault| (fault["line"].clone(), fault["key"].clone()))
        .collect();
    assert_eq!(places, [(json!(2), json!("grce")), (json!(3), json!("size")), (json!(4), json!(null))]);
}

#[test]
fn what_acts_refuses_a_file_with_a_fault_and_does_nothing() {
    let stage = Stage::new();
    let scene = stage.over("exited00").ended(How::Exited { code: 0 });
    let before = scene.bytes();
    let path = stage.home.config(BROKEN).display().to_string();
    for (args, code) in [
        (&["run", "-d", "--", "true"][..], 2),
        (&["run", "--", "true"], 125),
        (&["stop", "exited00"], 2),
        (&["signal", "TERM", "exited00"], 2),
        (&["attach", "exited00"], 2),
        (&["rm", "exited00"], 2),
        (&["gc", "--older", "0s"], 2),
        (&["upgrade"], 2),
    ] {
        let ran = stage.abide.run(args);
        assert_eq!((ran.code(), ran.stdout.as_str()), (Some(code), ""), "{args:?}: {ran:?}");
        let told = format!("abide: {path}:2: `grce` is no key (and 2 more)\nhint: did you mean `grace`? ");
        assert!(ran.stderr.starts_with(&told), "{args:?}: {ran:?}");
        let (verb, rest) = args.split_at(1);
        let error = stage.abide.run(&[verb, &["--json"], rest].concat()).json()["error"].clone();
        assert_eq!(error["code"], "bad_config", "{error}");
    }
    let _path = stage.home.config("");
    assert_eq!(stage.text(&["ls", "-aq"]), "exited00\n", "nothing was started or removed");
    assert_eq!(scene.bytes(), before);
}

#[test]
fn a_fault_in_the_file_hinders_no_reader_and_is_told_beside_the_answer() {
    let stage = Stage::new();
    let _scene = stage.over("exited00").ended(How::Exited { code: 3 });
    let asked = [
        &["ls", "-a"][..],
        &["ls", "-a", "--json"],
        &["inspect", "exited00"],
        &["why", "--json", "exited00"],
        &["wait", "exited00"],
        &["wait", "--json", "exited00"],
        &["version"],
        &["schema", "ls"],
    ];
    // How long ago something was may change between two answers, and so how wide its column is, and which agents run on this
    // machine.
    let steady = |ran: &Ran| {
        let own = ran.stdout.split("\n\nAGENT ").next().unwrap_or_default();
        let own = own.lines().filter(|line| !line.contains(" ago")).flat_map(str::split_whitespace);
        let text = own.collect::<Vec<_>>().join(" ");
        let ends = [",\"agents\":", ",\"warnings\":"].map(|name| text.find(name));
        text[..ends.into_iter().flatten().min().unwrap_or(text.len())].trim_end_matches('}').to_owned()
    };
    let before: Vec<Ran> = asked.iter().map(|args| stage.abide.run(args)).collect();
    for broken in [BROKEN, "\u{0}", "[", "home = \"", "color = 'beige'"] {
        let path = stage.home.config(broken).display().to_string();
        for (args, before) in asked.iter().zip(&before) {
            let ran = stage.abide.run(args);
            assert_eq!(ran.code(), before.code(), "{args:?} {broken:?}: {ran:?}");
            assert_eq!(
                steady(&ran).replace(char::is_numeric, ""),
                steady(before).replace(char::is_numeric, "")
            );
            assert!(ran.stderr.starts_with(&format!("abide: warning: {path}:")), "{args:?}: {ran:?}");
            assert!(ran.stderr.ends_with(&before.stderr), "{args:?}: {ran:?}");
        }
    }
}

#[test]
fn a_file_that_cannot_be_read_at_all_is_a_fault_too() {
    let stage = Stage::new();
    let directory = stage.home.around().path().to_owned();
    let text = stage.home.around().file("latin1", "x");
    std::fs::copy("/proc/self/exe", &text).expect("there is room");
    for (file, says) in [(directory, "Is a directory"), (text, "valid UTF-8")] {
        let run = |args: &[&str]| Ran::of(stage.abide.command(args).env("ABIDE_CONFIG", &file));
        let ran = run(&["gc"]);
        let told = format!("abide: {} cannot be read: ", file.display());
        assert!(ran.code() == Some(2) && ran.stderr.starts_with(&told), "{ran:?}");
        assert!(ran.stderr.contains(says) && ran.stderr.contains("ABIDE_CONFIG=/dev/null"), "{ran:?}");
        assert_eq!(run(&["ls"]).code(), Some(0));
    }
    let none = Ran::of(stage.abide.command(&["gc"]).env("ABIDE_CONFIG", "/dev/null"));
    assert_eq!((none.code(), none.stderr.as_str()), (Some(0), ""));
}
