//! What real agents told hooks: `fixtures/hooks-AGENT-VERSION/RUN-NUMBER-OCCASION.json`, each what that version wrote to the
//! standard input of a hook.

use std::path::{Path, PathBuf};

use abide_agents::hooks::{HOOKED, Heard, What, hear};
use abide_core::evidence::Wants;

/// The files of an agent, or of one run of it, in order: the occasion and what was told.
fn told(agent: &str, run: &str) -> Vec<(String, Vec<u8>)> {
    let fixtures = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures"));
    let is_of = |folder: &PathBuf| {
        folder.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&format!("hooks-{agent}-")))
    };
    let below = |folder: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).expect("fixtures");
        entries.map(|entry| entry.expect("an entry").path()).collect()
    };
    let folder = below(fixtures).into_iter().find(is_of).expect("fixtures of the agent");
    let mut files = below(&folder);
    files.sort();
    let named =
        files.iter().map(|file| (file.file_stem().expect("a name").to_string_lossy().into_owned(), file));
    let named = named.filter(|(name, _)| name.starts_with(run));
    named
        .map(|(name, file)| {
            let occasion = name.rsplit('-').next().expect("an occasion").to_owned();
            (occasion, std::fs::read(file).expect("a fixture"))
        })
        .collect()
}

fn heard(agent: &str, run: &str) -> Vec<Heard> {
    let told = told(agent, run);
    assert!(!told.is_empty(), "{agent} {run}");
    told.iter().filter_map(|(occasion, told)| hear(agent, occasion, told)).collect()
}

/// What happened, one word each.
fn words(agent: &str, run: &str) -> String {
    let word = |heard: &Heard| match &heard.what {
        What::SessionBegan => "began".to_owned(),
        What::TurnOpened { .. } => "opened".to_owned(),
        What::TurnClosed { how, .. } => how.name().to_owned(),
        What::ToolBegan { with, .. } => format!("[{with}"),
        What::ToolEnded { .. } => "]".to_owned(),
        What::Attention { wants: Wants::Approval, .. } => "approval".to_owned(),
        What::Attention { wants, .. } => format!("{wants:?}"),
        What::SessionEnded { reason } => format!("ended({})", reason.as_deref().unwrap_or_default()),
    };
    heard(agent, run).iter().map(word).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_turn_with_a_tool_call_is_heard_of_every_agent() {
    let whole = |end: &str| format!("began opened [echo hi ] answered ended({end})");
    assert_eq!(words("claude", "answered"), whole("other"));
    assert_eq!(words("codex", "answered"), whole("other"));
    assert_eq!(words("gemini", "answered"), whole("exit"));
    assert_eq!(words("copilot", "answered"), whole("complete"));
    // Without a terminal it tells neither beginning nor end.
    assert_eq!(words("qwen", "answered"), "opened [echo hi ] answered");
}

#[test]
fn an_approval_is_heard_of_every_agent() {
    let turn = "began opened [touch x1 approval";
    assert_eq!(words("claude", "approved"), format!("{turn} approval ] answered ended(prompt_input_exit)"));
    assert_eq!(words("codex", "approved"), format!("{turn} ] answered ended(other)"));
    // The first was refused, of which no hook is told.
    assert_eq!(
        words("gemini", "approved"),
        "began opened [touch /etc/x1 approval opened [touch /etc/x1 approval ] answered ended(exit) ended(exit) ended(exit)"
    );
    assert_eq!(
        words("qwen", "approved"),
        "began opened approval [touch x1 ] answered ended(prompt_input_exit)"
    );
    assert_eq!(
        words("copilot", "approved"),
        "began opened answered opened [touch x1 approval ] answered ended(user_exit)"
    );
}

#[test]
fn a_tool_that_fails_has_ended_and_a_turn_that_fails_is_closed() {
    assert_eq!(words("claude", "false"), "began opened [exit 3 ] answered ended(other)");
    assert_eq!(words("claude", "failed"), "began opened failed ended(other)");
}

#[test]
fn all_that_is_heard_in_a_run_is_of_one_conversation_in_one_place() {
    for hooks in HOOKED {
        for run in ["answered", "approved"] {
            let heard = heard(hooks.agent, run);
            assert!(heard.iter().all(|one| one.conversation == heard[0].conversation), "{}", hooks.agent);
            assert!(
                heard.iter().all(|one| one.cwd.as_deref() == Some(Path::new("/home/me/work"))),
                "{}",
                hooks.agent
            );
            let named = heard.iter().filter_map(|one| one.transcript.as_deref());
            assert!(named.clone().all(|path| path.starts_with("/home/me")), "{}", hooks.agent);
            assert!(named.count() > 0, "{}", hooks.agent);
        }
    }
}

#[test]
fn calls_and_turns_have_the_names_that_agents_give_them() {
    for agent in ["claude", "codex", "qwen"] {
        let heard = heard(agent, "answered");
        let call = heard.iter().find_map(|one| {
            if let What::ToolBegan { id, tool, .. } = &one.what {
                Some((id.clone(), tool.clone()))
            } else {
                None
            }
        });
        let (id, tool) = call.expect("a call");
        assert!(id.is_some(), "{agent}");
        assert!(
            heard.iter().any(|one| one.what == What::ToolEnded { tool: tool.clone(), id: id.clone() }),
            "{agent}"
        );
    }
    for agent in ["claude", "codex"] {
        let is_named = |one: &Heard| matches!(&one.what, What::TurnOpened { id: Some(_) });
        assert!(heard(agent, "answered").iter().any(is_named), "{agent}");
    }
}

#[test]
fn what_makes_no_sense_is_not_heard() {
    for hooks in HOOKED {
        for (occasion, whole) in told(hooks.agent, "a") {
            for at in 0..whole.trim_ascii_end().len() {
                assert_eq!(hear(hooks.agent, &occasion, &whole[..at]), None);
            }
            assert_eq!(hear(hooks.agent, "Other", &whole), None);
            assert_eq!(hear("nobody", &occasion, &whole), None);
            for other in hooks.occasions {
                let _any_answer_but_no_panic = hear(hooks.agent, other, &whole);
            }
        }
        for odd in ["", "null", "[]", "{}", "7", r#"{"session_id":7,"sessionId":{}}"#] {
            assert!(
                hooks.occasions.iter().all(|occasion| hear(hooks.agent, occasion, odd.as_bytes()).is_none())
            );
        }
    }
}

#[test]
fn a_question_is_told_from_an_approval() {
    let wants = |occasion: &str, told: &str| {
        let heard = hear("claude", occasion, told.replace('{', r#"{"session_id":"x","#).as_bytes());
        heard
            .and_then(|heard| if let What::Attention { wants, .. } = heard.what { Some(wants) } else { None })
    };
    assert_eq!(wants("PermissionRequest", r#"{"tool_name":"AskUserQuestion"}"#), Some(Wants::Answer));
    assert_eq!(wants("PermissionRequest", r#"{"tool_name":"Write"}"#), Some(Wants::Approval));
    assert_eq!(wants("Notification", r#"{"notification_type":"elicitation_dialog"}"#), Some(Wants::Answer));
    let older = r#"{"message":"Claude needs your permission to use Bash"}"#;
    assert_eq!(wants("Notification", older), Some(Wants::Approval));
    assert_eq!(wants("Notification", r#"{"message":"Claude is waiting for your input"}"#), None);
}
