//! What is shown can do nothing to a terminal, and shows no secret.

use abide_core::evidence::How;
use abide_testkit::{Ran, Terminal};

use crate::common::{Stage, word};

const EVIL: &str = "a\u{1b}[2J\u{9b}31m\u{202e}b\u{2066}\u{7f}\nc\u{200b}";

fn is_dangerous(c: char) -> bool {
    c.is_control() && c != '\n' || "\u{202e}\u{2066}\u{200b}\u{61c}".contains(c)
}

#[test]
fn escape_sequences_in_a_record_do_not_reach_the_output() {
    let stage = Stage::new();
    let scene = stage.launched("evil0000", |launched| {
        launched.name = Some(EVIL.into());
        launched.argv = vec!["sh".into(), EVIL.into()];
        launched.cwd = EVIL.into();
        launched.labels = [(EVIL.to_owned(), EVIL.to_owned())].into();
        launched.agent = Some(EVIL.into());
    });
    let scene = scene.declared(EVIL, 0).stop_asked(EVIL).ended(How::Exited { code: 0 });
    let format = "{{.name}} {{.argv}} {{.cwd}} {{.labels}} {{.declared}} {{.because}}";
    for args in [
        &["ls", "-a"][..],
        &["inspect", scene.id()],
        &["why", scene.id()],
        &["ls", "-a", "--format", format],
        &["ls", "-a", "--json"],
        &["inspect", "--json", scene.id()],
        &["why", "--json", scene.id()],
    ] {
        let text = stage.text(args);
        assert!(!text.contains(is_dangerous), "{args:?}: {text:?}");
    }
    assert_eq!(word(&stage.inspect(scene.id())["name"]), EVIL, "JSON says the same all the same");
    for wanted in [EVIL, "--evil\u{1b}[2J\u{9b}"] {
        let ran = stage.abide.run(&["inspect", wanted]);
        assert!(!ran.stderr.contains(is_dangerous), "{ran:?}");
    }
}

#[test]
fn arguments_that_look_like_secrets_are_masked_everywhere() {
    let stage = Stage::new();
    let secrets = ["hunter2", "sk-ant-0123456789", "ghp_0123456789abcdef", "abc.def.ghi", "two words"];
    let scene = stage.launched("secret00", |launched| {
        let argv = format!(
            "env|API_KEY={}|claude|--token={}|{}|-H|Authorization: Bearer {}|--password|{}",
            secrets[0], secrets[1], secrets[2], secrets[3], secrets[4]
        );
        launched.argv = argv.split('|').map(str::to_owned).collect();
    });
    for args in [
        &["ls", "-a"][..],
        &["ls", "-a", "--json"],
        &["inspect", scene.id()],
        &["inspect", "--json", scene.id()],
        &["why", scene.id()],
        &["why", "--json", scene.id()],
        &["ls", "-a", "--format", "{{.argv}} {{.because}}"],
    ] {
        let text = stage.text(args);
        let shown: Vec<&&str> = secrets.iter().filter(|secret| text.contains(**secret)).collect();
        assert!(shown.is_empty(), "{args:?} shows {shown:?}: {text}");
        assert!(text.contains("API_KEY=***"), "{args:?}: {text}");
    }
}

#[test]
fn colours_are_for_terminals_and_for_those_who_insist() {
    let stage = Stage::new();
    let _scene = stage.over("lost0000");
    let coloured = |variables: &[(&str, &str)]| {
        let mut command = stage.abide.command(&["ls", "-a"]);
        Ran::of(command.envs(variables.iter().copied())).stdout.contains('\u{1b}')
    };
    assert!(!coloured(&[]));
    assert!(coloured(&[("CLICOLOR_FORCE", "1")]));
    assert!(!coloured(&[("CLICOLOR_FORCE", "0")]));
    assert!(!coloured(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
}

/// Flags, variables beside TERM=xterm, the config file, and whether there are colours on a terminal and in a pipe.
type Colouring<'a> = (&'a [&'a str], &'a [(&'a str, &'a str)], &'a str, [bool; 2]);

const COLOURED: &[Colouring<'_>] = &[
    (&[], &[], "", [true, false]),
    (&[], &[("NO_COLOR", "1")], "", [false, false]),
    (&[], &[("NO_COLOR", "")], "", [true, false]),
    (&[], &[("TERM", "dumb")], "", [false, false]),
    (&[], &[], "color = 'never'", [false, false]),
    (&[], &[], "color = 'always'", [true, true]),
    (&[], &[("TERM", "dumb")], "color = 'always'", [true, true]),
    (&[], &[("NO_COLOR", "1")], "color = 'always'", [false, false]),
    (&[], &[("CLICOLOR_FORCE", "1")], "color = 'never'", [true, true]),
    (&["--color", "never"], &[("CLICOLOR_FORCE", "1")], "color = 'always'", [false, false]),
    (&["--color", "always"], &[("NO_COLOR", "1")], "color = 'never'", [true, true]),
    (&["--color=auto"], &[("NO_COLOR", "1")], "color = 'never'", [true, false]),
];

#[test]
fn every_text_has_colours_exactly_where_they_are_wanted() {
    let stage = Stage::new();
    let _scene = stage.over("lost0000");
    for (flags, variables, config, expected) in COLOURED {
        let _path = stage.home.config(config);
        for args in
            [&["ls", "-a"][..], &["inspect", "lost0000"], &["why", "lost0000"], &["config"], &["--help"]]
        {
            let mut command = stage.abide.command(&[flags, args].concat());
            command.env("TERM", "xterm").envs(variables.iter().copied());
            let shown = [Terminal::start(&command).rest(), Ran::of(&mut command).stdout];
            let coloured = shown.each_ref().map(|text| text.contains('\u{1b}'));
            assert_eq!(coloured, *expected, "{flags:?} {variables:?} {config:?} {args:?}: {shown:?}");
        }
    }
    let _path = stage.home.config("color = 'always'");
    for args in [&["ls", "-a", "--json"][..], &["inspect", "nobody"], &["lss"], &["ls", "-aq"]] {
        let ran = stage.abide.run(args);
        assert!(!ran.stdout.contains('\u{1b}') && !ran.stderr.contains('\u{1b}'), "{args:?}: {ran:?}");
    }
}

#[test]
fn a_table_fits_its_width_and_says_what_it_cut() {
    let stage = Stage::new();
    let _scene = stage.launched("wide0000", |launched| {
        launched.name = Some("a-rather-long-name-for-a-session".into());
        launched.argv = vec!["echo".into(), "漢字 ".repeat(40)];
    });
    let mut command = stage.abide.command(&["ls", "-a"]);
    let narrow = Ran::of(command.env("COLUMNS", "60")).stdout;
    let own = |text: &str| text.split("\n\n").next().map(str::to_owned).unwrap_or_default();
    let cells = |line: &str| line.chars().map(|c| if c > '\u{2e80}' { 2 } else { 1 }).sum::<usize>();
    assert!(narrow.lines().all(|line| cells(line) <= 60), "{narrow}");
    assert!(own(&narrow).contains('…'), "{narrow}");
    assert!(!own(&stage.text(&["ls", "-a"])).contains('…'), "a pipe gets everything");
}
