//! Completions in real shells: a person at a terminal who types half a word and a tab.

use std::path::Path;
use std::process::Command;

use abide_testkit::tools::need;
use abide_testkit::{Abide, Ran, Terminal};

use crate::common::{Life, World};

/// A shell in which abide can be called by its name.
fn shell(abide: &Abide, program: &str, args: &[&str]) -> Command {
    let inside = abide.command(&[]);
    let beside = Path::new(inside.get_program()).parent().expect("it stands in a directory");
    let mut shell = Command::new(need(program));
    shell.args(args).envs(inside.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", beside.display());
    shell.env("PATH", path).env("TERM", "dumb").env("PS1", "ready> ");
    shell
}

/// Sessions that live and one that is over, with names that begin alike.
fn sessions(world: &World) -> [Life<'_>; 2] {
    let over = world.launch(&["--name", "nightlife"], &["true"]);
    assert_eq!(world.wait(&over).0, Some(0));
    ["nightly", "daily"].map(|name| world.observe(world.run(&["--name", name], &["hang"])))
}

/// What a person types before the tab, and what stands there after it.
const TYPED: [(&str, &str); 15] = [
    ("abide atta", "abide attach "),
    ("abide stop nig", "abide stop nightly "),
    ("abide stop --grace 1s da", "abide stop --grace 1s daily "),
    ("abide logs nig", "abide logs nightl"),
    ("abide inspect daily nightlif", "abide inspect daily nightlife "),
    ("abide wait @la", "abide wait @last "),
    ("abide stop --gra", "abide stop --grace "),
    ("abide --color alw", "abide --color always "),
    ("abide config gc.o", "abide config gc.older "),
    ("abide run --cwd /usr/loca", "abide run --cwd /usr/local/"),
    ("abide run -- setsi", "abide run -- setsid "),
    ("abide --color=alw", "abide --color=always "),
    ("abide signal WIN", "abide signal WINCH "),
    ("abide signal SIGWIN", "abide signal SIGWINCH "),
    ("abide result set suc", "abide result set success "),
];

/// The key that takes back what was typed.
const CLEAR: &[u8] = b"\x15";

#[test]
fn bash_completes_verbs_flags_values_and_the_sessions_that_the_verb_takes() {
    let world = World::new();
    let _lives = sessions(&world);
    let mut bash = Terminal::start(&shell(&world.abide, "bash", &["--norc", "--noprofile", "-i"]));
    bash.until("ready> ");
    bash.type_in(b"bind 'set bell-style none'; source <(abide completions bash)\r");
    bash.until("ready> ");
    for (typed, completed) in TYPED {
        bash.type_in(format!("{typed}\t").as_bytes());
        bash.until(completed);
        bash.type_in(CLEAR);
    }
}

#[test]
fn zsh_and_fish_complete_the_same_and_all_scripts_ask_abide() {
    let world = World::new();
    let _lives = sessions(&world);
    for name in ["bash", "zsh", "fish"] {
        let script = world.abide.run(&["completions", name]).stdout;
        assert!(script.contains("completions -- ") && script.contains("abide"), "{script}");
    }
    let mut zsh = Terminal::start(&shell(&world.abide, "zsh", &["-f", "-i"]));
    zsh.type_in(b"PS1='ready> '; autoload -U compinit; compinit -u -D; source <(abide completions zsh)\r");
    zsh.until("ready> ");
    for (typed, completed) in [TYPED[0], TYPED[1], TYPED[2], TYPED[12], TYPED[14]] {
        zsh.type_in(format!("{typed}\t").as_bytes());
        zsh.until(completed.trim_end());
        zsh.type_in(CLEAR);
    }
    // Words that nothing is said about stand alone.
    zsh.type_in(b"abide --color \t\t");
    zsh.until("never");
    zsh.type_in(&[CLEAR, b"echo do''ne\r"].concat());
    let behind = zsh.until("done");
    assert!(!behind.lines().next().is_some_and(|line| line.contains("--")), "{behind:?}");
    for (typed, completed) in [TYPED[0], TYPED[1], TYPED[2], TYPED[4]] {
        let ask = format!("abide completions fish | source; complete -C '{typed}'");
        let ran = Ran::of(&mut shell(&world.abide, "fish", &["--no-config", "-c", &ask]));
        let word = completed.split_whitespace().last().expect("a word");
        assert!(ran.stdout.lines().any(|line| line.split('\t').next() == Some(word)), "{typed}: {ran:?}");
    }
}

#[test]
fn what_fits_is_answered_with_a_word_about_it_and_nothing_is_said_of_a_home_that_cannot_be_read() {
    let world = World::new();
    let _lives = sessions(&world);
    let fits = |words: &[&str]| {
        let ran = world.abide.run(&[&["completions", "--"], words].concat());
        assert_eq!((ran.code(), ran.stderr.as_str()), (Some(0), ""), "{words:?}");
        ran.stdout
    };
    let attachable = fits(&["attach", ""]);
    let words: Vec<&str> = attachable.lines().filter_map(|line| line.split('\t').next()).collect();
    assert_eq!(words.len(), 3, "{attachable}");
    assert!(["nightly", "daily", "@last"].iter().all(|word| words.contains(word)), "{attachable}");
    assert!(attachable.lines().any(|line| line.starts_with("nightly\trunning, ")), "{attachable}");
    assert_eq!(fits(&["--home", "/no/such/home", "stop", ""]), "");
    assert_eq!(fits(&["--home", "/etc/passwd", "stop", "x"]), "");
    assert_eq!(fits(&["nonsense", "--what", "x"]), "");
    assert_eq!(fits(&["stop", "--", "x"]), ":commands\n");
    let id = world.inspect("daily")["id"].as_str().expect("an ID").to_owned();
    assert!(fits(&["wait", &id[..3]]).starts_with(&format!("{id}\t")));
}
