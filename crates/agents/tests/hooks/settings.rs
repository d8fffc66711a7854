//! Settings as people have them.

use abide_agents::Place;
use abide_agents::hooks::{HOOKED, Left, Standing, Why};
use serde_json::Value;

use crate::{EXE, of};

#[test]
fn a_file_that_we_made_goes_again() {
    for hooks in HOOKED {
        let made = hooks.install(None, EXE).expect("no reason against").expect("a file");
        assert_eq!(hooks.status(Some(&made), EXE), Ok(Standing::Installed), "{made}");
        assert_eq!(hooks.uninstall(&made), Ok(Left::Nothing), "{made}");
        let json: Value = serde_json::from_str(&made).expect("JSON");
        assert_eq!(json["hooks"].as_object().expect("events").len(), hooks.occasions.len());
    }
}

#[test]
fn a_file_that_an_agent_wrote_anew_goes_too_if_it_was_ours() {
    for hooks in HOOKED {
        let made = hooks.install(None, EXE).expect("no reason against").expect("a file");
        let json: Value = serde_json::from_str(&made).expect("JSON");
        let anew = serde_json::to_string_pretty(&json).expect("JSON");
        assert_eq!(hooks.install(Some(&anew), EXE), Ok(None), "{}", hooks.agent);
        assert_eq!(hooks.uninstall(&anew), Ok(Left::Nothing), "{}", hooks.agent);
    }
}

#[test]
fn settings_are_added_to_in_their_own_style() {
    let before = "{\r\n\t\"model\": \"opus\",\r\n\t\"hooks\": {\r\n\t\t\"Stop\": [\r\n\t\t\t{ \"hooks\": [] }\r\n\t\t]\r\n\t}\r\n}\r\n";
    let made = of("claude").install(Some(before), "/usr/bin/abide").expect("added").expect("something");
    let stop = "\t\t\t{ \"hooks\": [] },\r\n\t\t\t{ \"hooks\": [{ \"type\": \"command\", \
                \"command\": \"/usr/bin/abide hook claude Stop >/dev/null 2>&1 || :\", \"timeout\": 5 }] }\r\n\t\t]";
    assert!(made.contains(stop), "{made}");
    assert!(!made.replace("\r\n", "").contains('\n'), "{made}");
}

#[test]
fn a_comment_stays_with_what_it_is_about() {
    let before = "{\n  \"ui\": 1 // about ui  \n}\n";
    let made = of("gemini").install(Some(before), EXE).expect("added").expect("something");
    assert!(made.starts_with("{\n  \"ui\": 1, // about ui\n  \"hooks\": {\n"), "{made}");
    assert_eq!(of("gemini").uninstall(&made), Ok(Left::Text(before.to_owned())));
}

#[test]
fn a_shell_takes_the_executable_for_one_word() {
    for exe in ["/opt/some where/abide", "/it's/abide", "/$HOME/`x`/abide-dev", "/ü/abide"] {
        let words = shlex::split(&of("claude").command("Stop", exe)).expect("words");
        assert_eq!(words, [exe, "hook", "claude", "Stop", ">/dev/null", "2>&1", "||", ":"]);
        let made = of("claude").install(None, exe).expect("made").expect("a file");
        assert_eq!(of("claude").status(Some(&made), exe), Ok(Standing::Installed));
    }
    assert_eq!(of("claude").install(None, "/bin/other"), Err(Why::Name("/bin/other".to_owned())));
}

#[test]
fn entries_of_another_abide_are_told_and_replaced_where_they_stand() {
    let made = of("codex").install(Some("{\"x\": 1}"), "/old/abide").expect("made").expect("a text");
    assert_eq!(of("codex").status(Some(&made), EXE), Ok(Standing::Outdated("/old/abide".to_owned())));
    let moved = of("codex").install(Some(&made), EXE).expect("made").expect("a text");
    assert_eq!(moved.replace("'/opt/some where/abide'", "/old/abide"), made);
    assert_eq!(of("codex").uninstall(&moved), Ok(Left::Text("{\"x\": 1}".to_owned())));
}

#[test]
fn what_is_missing_is_named_and_added() {
    let made = of("qwen").install(None, EXE).expect("made").expect("a text");
    let mut json: Value = serde_json::from_str(&made).expect("JSON");
    json["hooks"].as_object_mut().expect("events").remove("Stop");
    json["hooks"]["PreToolUse"] = serde_json::json!([]);
    let less = json.to_string();
    assert_eq!(of("qwen").status(Some(&less), EXE), Ok(Standing::Partly(vec!["PreToolUse", "Stop"])));
    let whole = of("qwen").install(Some(&less), EXE).expect("made").expect("a text");
    assert_eq!(of("qwen").status(Some(&whole), EXE), Ok(Standing::Installed));
}

#[test]
fn entries_twice_or_of_occasions_unknown_to_us_are_put_right() {
    let entry = |event: &str| {
        format!(
            r#"{{"type":"command","command":"{}","timeout":3}}"#,
            of("codex").command(event, "/bin/abide")
        )
    };
    let group = |entries: &[String]| format!(r#"{{"hooks":[{}]}}"#, entries.join(","));
    let other = r#"{"type":"command","command":"true"}"#.to_owned();
    let text = format!(
        r#"{{"hooks":{{"Stop":[{},{}],"Gone":[{}]}}}}"#,
        group(&[entry("Stop"), other.clone()]),
        group(&[entry("Stop")]),
        group(&[entry("Gone"), entry("Gone")]),
    );
    let made = of("codex").install(Some(&text), "/bin/abide").expect("made").expect("a text");
    assert_eq!(of("codex").status(Some(&made), "/bin/abide"), Ok(Standing::Installed));
    assert_eq!(made.matches("/bin/abide hook codex Stop").count(), 1, "{made}");
    assert!(!made.contains("codex Gone"), "{made}");
    let left = format!(r#"{{"hooks":{{"Stop":[{}],"Gone":[]}}}}"#, group(&[other]));
    assert_eq!(of("codex").uninstall(&text), Ok(Left::Text(left)));
}

#[test]
fn what_others_have_is_never_taken_for_ours() {
    for command in [
        "abide hook gemini Stop",
        "other hook claude Stop",
        "abide hook claude Stop now",
        "abide hook claude Stop || true",
        "abide wait x",
        "'",
        "echo abide hook claude Stop",
    ] {
        let text =
            format!(r#"{{"hooks":{{"Stop":[{{"hooks":[{{"type":"command","command":"{command}"}}]}}]}}}}"#);
        assert_eq!(of("claude").uninstall(&text), Ok(Left::Same), "{command}");
    }
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    let refused = [
        "",
        " ",
        "{",
        "{}}",
        "[]",
        "null",
        "{\"a\":1,}",
        "{'a':1}",
        "{\"a\":01}",
        "{\"a\":\"\t\"}",
        "{\"a\":\"\\x\"}",
        "{\"hooks\":null}",
        "{\"hooks\":[]}",
        "{\"hooks\":{\"Stop\":{}}}",
        "{} // note",
        "{\"a\" 1}",
        "{a:1}",
        "{\"a\":tru}",
    ];
    for text in refused {
        assert!(of("claude").install(Some(text), EXE).is_err(), "{text}");
        assert!(of("claude").uninstall(text).is_err(), "{text}");
        assert!(of("claude").status(Some(text), EXE).is_err(), "{text}");
    }
    let deep = format!("{{\"a\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(of("claude").install(Some(&deep), EXE).is_err());
    assert_eq!(
        of("gemini").install(Some("{/*"), EXE).map(|_| ()).map_err(|why| why.says()),
        Err("it is no JSON: a comment that does not end, at byte 1".to_owned())
    );
}

#[test]
fn settings_that_switch_hooks_off_say_so() {
    assert_eq!(
        of("claude").switched_off(r#"{"disableAllHooks": true}"#).as_deref(),
        Some("`disableAllHooks` is true")
    );
    assert_eq!(of("claude").switched_off(r#"{"disableAllHooks": false}"#), None);
    let off = of("gemini").switched_off(r#"{"hooksConfig": {"enabled": false}} // off"#);
    assert_eq!(off.as_deref(), Some("`hooksConfig.enabled` is false"));
    assert_eq!(of("codex").switched_off("{}"), None);
}

#[test]
fn the_file_is_where_the_agent_looks_for_it() {
    let place = |variables: &[(&str, &str)]| Place {
        variables: variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        ..Place::default()
    };
    let home = ("HOME", "/h");
    let path = |agent: &str, variables: &[(&str, &str)]| {
        of(agent).path(&place(variables)).map(|path| path.display().to_string())
    };
    assert_eq!(path("claude", &[home]).as_deref(), Some("/h/.claude/settings.json"));
    assert_eq!(path("claude", &[home, ("CLAUDE_CONFIG_DIR", "/c")]).as_deref(), Some("/c/settings.json"));
    assert_eq!(path("codex", &[home, ("CODEX_HOME", "/c")]).as_deref(), Some("/c/hooks.json"));
    assert_eq!(
        path("gemini", &[home, ("GEMINI_CLI_HOME", "/c")]).as_deref(),
        Some("/c/.gemini/settings.json")
    );
    assert_eq!(path("qwen", &[home]).as_deref(), Some("/h/.qwen/settings.json"));
    assert_eq!(
        path("copilot", &[home, ("COPILOT_HOME", "")]).as_deref(),
        Some("/h/.copilot/hooks/abide.json")
    );
    assert_eq!(path("claude", &[]), None);
}
