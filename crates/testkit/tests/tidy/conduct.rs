//! What code does not do here: name a status outside the table, sleep, leave work for later, panic at ease.

use crate::items::Kind;
use crate::scan::{calls_macro, tokens};
use crate::workspace::{Offender, Source, check, expect_none, numbered, sources};

/// Where a status may be named.
const STATUS_PLACES: [&str; 3] =
    ["crates/core/src/status.rs", "crates/core/src/verdict.rs", "crates/core/src/verdict/"];

/// Ways to let time pass instead of waiting for something.
const SLEEPS: [&str; 6] =
    ["thread::sleep", "sleep_ms", "park_timeout", "nanosleep", "clock_nanosleep", "usleep"];

const UNFINISHED_MACROS: [&str; 2] = ["todo", "unimplemented"];
const UNFINISHED_MARKS: [&str; 2] = ["TODO", "FIXME"];

/// Ways to panic on what might not be there, and how many a thousand shipped lines may hold.
const PANICS: [&str; 4] = ["unwrap", "expect", "unwrap_err", "expect_err"];
const PANICS_PER_THOUSAND_LINES: usize = 2;

fn status_names(source: &Source) -> Vec<Offender> {
    let elsewhere = !STATUS_PLACES.iter().any(|place| source.path.starts_with(place));
    let named = source.production_paths().filter(|_| elsewhere);
    let variants = named.filter(|path| {
        let mut segments = path.text.rsplit("::");
        let (last, before) = (segments.next().unwrap_or_default(), segments.next());
        // Variants are in camel case; `ALL` and the questions are not.
        let camel = last.starts_with(char::is_uppercase) && last.contains(char::is_lowercase);
        before == Some("Status") && (camel || last == "*")
    });
    variants.map(|path| Offender::at(&source.path, path.line, &path.text)).collect()
}

fn sleeps(source: &Source) -> Vec<Offender> {
    let named = source.paths();
    let sleeping = named.filter(|path| {
        SLEEPS.iter().any(|sleep| {
            path.text.strip_suffix(sleep).is_some_and(|rest| rest.is_empty() || rest.ends_with("::"))
        })
    });
    sleeping.map(|path| Offender::at(&source.path, path.line, &path.text)).collect()
}

fn unfinished(source: &Source) -> Vec<Offender> {
    let code = numbered(&source.layers.code)
        .filter(|(_, line)| UNFINISHED_MACROS.iter().any(|name| calls_macro(line, name)));
    let comments = numbered(&source.layers.comments).filter(|(_, line)| {
        line.split(|c: char| !c.is_alphanumeric()).any(|word| UNFINISHED_MARKS.contains(&word))
    });
    code.chain(comments).map(|(line, text)| Offender::at(&source.path, line, text.trim())).collect()
}

fn ignored_tests(source: &Source) -> Vec<Offender> {
    let items = source.items.iter().filter(|item| item.kind == Kind::Function);
    let ignored = items.filter(|item| {
        let mut words =
            item.attributes.iter().flat_map(|text| text.split(|c: char| !c.is_alphanumeric() && c != '_'));
        words.any(|word| word == "ignore")
    });
    ignored.map(|item| Offender::at(&source.path, item.first_line, &item.name)).collect()
}

fn environment_changes(source: &Source) -> Vec<Offender> {
    let words = tokens(&source.layers.code).into_iter();
    let changes = words.filter(|token| matches!(token.text, "set_var" | "remove_var"));
    changes.map(|token| Offender::at(&source.path, token.line, token.text)).collect()
}

/// The places of shipped code that panic on what might not be there.
fn panics(source: &Source) -> Vec<Offender> {
    let tokens = tokens(&source.layers.code);
    let calls = tokens.windows(3).filter(|three| {
        let [dot, name, open] = three else { return false };
        dot.text == "." && PANICS.contains(&name.text) && open.text == "(" && !source.is_test_line(name.line)
    });
    let calls = calls.filter(|_| source.is_production());
    calls.map(|three| Offender::at(&source.path, three[1].line, three[1].text)).collect()
}

#[test]
fn only_the_table_and_the_verdict_name_a_status() {
    check(
        status_names,
        "ask a column: `admit(session, status, Column::X)` or the column's question, `status.is_x()`",
    );
}

#[test]
fn nobody_sleeps_not_even_a_test() {
    check(
        sleeps,
        "wait for what you wait for: a descriptor, a process, a lock; a deadline is a failure, never a pace",
    );
}

#[test]
fn nothing_is_left_unfinished_in_the_code() {
    check(unfinished, "finish it, or leave it out");
}

#[test]
fn every_test_runs_every_time() {
    check(ignored_tests, "let the test say what it needs and fail clearly without it, or delete it");
}

#[test]
fn no_process_changes_its_own_environment() {
    check(environment_changes, "pass it to the process you start, or as an argument");
}

#[test]
fn shipped_code_seldom_panics_on_what_might_not_be_there() {
    let offenders: Vec<Offender> = sources().iter().flat_map(panics).collect();
    let shipped = sources().iter().filter(|source| source.is_production());
    let lines: usize = shipped.map(|source| source.production(&source.text).count()).sum();
    if offenders.len() * 1000 > PANICS_PER_THOUSAND_LINES * lines {
        let figures =
            format!("{} in {lines} lines, {PANICS_PER_THOUSAND_LINES} a thousand allowed", offenders.len());
        expect_none(&offenders, &format!("return a Failure, or give the invariant a type; {figures}"));
    }
}

#[test]
fn the_rules_of_conduct_find_what_breaks_them() {
    let engine = |text: &str| Source::new("crates/engine/src/x.rs", text);

    let naming = "use abide_core::status::{Status as S, Status::*};\n\
                  fn f() { S::Running; S::ALL; S::name(x); ExitStatus::Ok }\n";
    assert_eq!(status_names(&engine(naming)).len(), 2);
    assert_eq!(status_names(&Source::new("crates/core/src/verdict/agent.rs", naming)).len(), 0);
    assert_eq!(status_names(&Source::new("crates/engine/tests/x.rs", naming)).len(), 0);

    let pacing = "use std::thread;\nfn f() { thread::sleep(x); rustix::thread::nanosleep(y); a.sleep() }\n";
    assert_eq!(sleeps(&Source::new("crates/engine/tests/x.rs", pacing)).len(), 2);

    let later = "// TODO: all\nfn f() { todo!() }\nlet todos = \"TODO todo!()\"; // TODOS\n";
    assert_eq!(unfinished(&engine(later)).len(), 2);

    let skipped = "#[test]\n#[ignore = \"slow\"]\nfn a_b_c() {}\n#[test]\nfn ignore_b_c() {}\n";
    assert_eq!(ignored_tests(&engine(skipped)).len(), 1);

    assert_eq!(environment_changes(&engine("fn f() { std::env::set_var(\"set_var\", x) }")).len(), 1);

    let bold = "fn f() { x.unwrap(); y\n.expect(\"z\"); z.unwrap_or(1) }\n\
                #[cfg(test)]\nmod tests { fn g() { x.unwrap() } }\n";
    assert_eq!(panics(&engine(bold)).len(), 2);
    assert_eq!(panics(&Source::new("crates/testkit/src/x.rs", bold)).len(), 0);
}
