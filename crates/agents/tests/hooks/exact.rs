//! Whatever valid settings there are: putting our entries in changes nothing else, and taking them out again gives the very
//! bytes that were there.

use abide_agents::hooks::{HOOKED, Left, Standing};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::RngSeed;
use serde_json::Value;

use crate::EXE;

/// The same cases every time.
fn config() -> ProptestConfig {
    ProptestConfig {
        rng_seed: RngSeed::Fixed(20_261_117),
        failure_persistence: None,
        ..ProptestConfig::with_cases(200)
    }
}

fn white() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => Just(String::new()),
        2 => Just(" ".to_owned()),
        2 => Just("\n  ".to_owned()),
        2 => "[ \t\r\n]{0,6}",
    ]
}

/// White space, and comments where they are read.
fn gap(comments: bool) -> BoxedStrategy<String> {
    if !comments {
        return white().boxed();
    }
    let comment = select(vec!["// a note \n", "//\r\n", "/* , } ] \" */", "/* two\nlines */ "]);
    prop_oneof![
        5 => white(),
        1 => (white(), comment, white()).prop_map(|(before, comment, behind)| format!("{before}{comment}{behind}")),
    ]
    .boxed()
}

fn scalar() -> impl Strategy<Value = String> {
    select(vec![
        "0",
        "-1.5e+3",
        "true",
        "null",
        r#""""#,
        r#""hooks""#,
        r#""a \" // \\ b""#,
        r#""\ud83d \u00e9""#,
        r#""ü, ]}""#,
        r#""/bin/abide hook nobody Stop""#,
    ])
    .prop_map(str::to_owned)
}

/// An object or an array of these, with gaps everywhere.
fn listed(
    items: impl Strategy<Value = String> + 'static,
    (open, close): (char, char),
    comments: bool,
) -> BoxedStrategy<String> {
    let spaced = (gap(comments), items, gap(comments))
        .prop_map(|(before, item, behind)| format!("{before}{item}{behind}"));
    (vec(spaced, 0..4), gap(comments))
        .prop_map(move |(items, empty)| {
            let inside = if items.is_empty() { empty } else { items.join(",") };
            format!("{open}{inside}{close}")
        })
        .boxed()
}

fn named(
    name: impl Strategy<Value = String> + 'static,
    value: impl Strategy<Value = String> + 'static,
    comments: bool,
) -> BoxedStrategy<String> {
    (name, gap(comments), gap(comments), value)
        .prop_map(|(name, before, behind, value)| format!("\"{name}\"{before}:{behind}{value}"))
        .boxed()
}

fn anything(comments: bool) -> BoxedStrategy<String> {
    scalar()
        .prop_recursive(3, 12, 3, move |inner| {
            let members = named("[a-d]{1,2}".boxed(), inner.clone(), comments);
            prop_oneof![listed(inner, ('[', ']'), comments), listed(members, ('{', '}'), comments)]
        })
        .boxed()
}

/// Settings of an agent: some have hooks of others, some have empty ones, some have none.
fn settings(agent: usize) -> BoxedStrategy<String> {
    let (hooks, comments) = (&HOOKED[agent], ["gemini", "qwen"].contains(&HOOKED[agent].agent));
    let foreign = select(vec![
        r#"{ "hooks": [ { "type": "command", "command": "true" } ] }"#.to_owned(),
        r#"{"matcher":"Bash","hooks":[]}"#.to_owned(),
        r#"{"type":"command","bash":"echo \"[,]\""}"#.to_owned(),
        "{}".to_owned(),
    ]);
    let event =
        prop_oneof![select(hooks.occasions.to_vec()).prop_map(str::to_owned), Just("Other".to_owned())];
    let events = named(event, listed(foreign, ('[', ']'), comments), comments);
    let hooks = named(Just("hooks".to_owned()), listed(events, ('{', '}'), comments), comments);
    let others = named("[a-e]{1,3}".boxed(), anything(comments), comments);
    let version = named(Just("version".to_owned()), Just("1".to_owned()), comments);
    let member = prop_oneof![3 => others, 2 => hooks, 2 => version];
    (gap(comments), listed(member, ('{', '}'), comments), gap(comments), any::<bool>())
        .prop_map(|(before, root, behind, marked)| {
            format!("{}{before}{root}{behind}", if marked { "\u{feff}" } else { "" })
        })
        .boxed()
}

fn any_settings() -> impl Strategy<Value = (usize, String)> {
    (0..HOOKED.len()).prop_flat_map(|agent| (Just(agent), settings(agent)))
}

/// What settings mean: comments and marks are nothing to others.
fn meaning(text: &str) -> Option<Value> {
    serde_json::from_str(text.trim_start_matches('\u{feff}')).ok()
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn what_was_there_is_there_again_to_the_byte((agent, before) in any_settings()) {
        let hooks = &HOOKED[agent];
        let installed = match hooks.install(Some(&before), EXE) {
            Ok(installed) => installed.expect("something to add"),
            Err(why) => {
                let refused = hooks.agent == "copilot" && !before.contains("\"version\"");
                prop_assert!(refused, "{}: {}\n{before}", hooks.agent, why.says());
                return Ok(());
            }
        };
        prop_assert_eq!(hooks.status(Some(&installed), EXE), Ok(Standing::Installed));
        prop_assert_eq!(hooks.install(Some(&installed), EXE), Ok(None), "a second time changes nothing");
        prop_assert_eq!(hooks.uninstall(&installed), Ok(Left::Text(before.clone())));

        let moved = hooks.install(Some(&installed), "/elsewhere/abide").expect("it can be changed").expect("it is another");
        prop_assert_eq!(hooks.status(Some(&moved), "/elsewhere/abide"), Ok(Standing::Installed));
        prop_assert_eq!(hooks.uninstall(&moved), Ok(Left::Text(before)));
    }

    #[test]
    fn everything_else_means_what_it_meant((agent, before) in any_settings()) {
        let hooks = &HOOKED[agent];
        let (Some(Value::Object(was)), Ok(Some(made))) = (meaning(&before), hooks.install(Some(&before), EXE)) else {
            return Ok(());
        };
        let is = meaning(&made).expect("still JSON");
        for (name, value) in was.iter().filter(|(name, _)| *name != "hooks") {
            prop_assert_eq!(&is[name], value);
        }
        for (event, lists) in was.get("hooks").and_then(Value::as_object).into_iter().flatten() {
            let (was, is) = (lists.as_array().expect("a list"), is["hooks"][event].as_array().expect("a list"));
            prop_assert_eq!(&is[..was.len()], &was[..]);
            prop_assert_eq!(is.len(), was.len() + usize::from(hooks.occasions.contains(&event.as_str())));
        }
    }

    #[test]
    fn cut_settings_are_refused_or_kept((agent, before) in any_settings(), at in any::<prop::sample::Index>()) {
        let at = before.floor_char_boundary(at.index(before.len()));
        if let Ok(Some(made)) = HOOKED[agent].install(Some(&before[..at]), EXE) {
            prop_assert_eq!(HOOKED[agent].uninstall(&made), Ok(Left::Text(before[..at].to_owned())));
        }
    }
}
