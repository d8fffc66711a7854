//! What makes a shell run a line. Three files stand in a directory of the session: `a` takes what is typed here out of the
//! history, `l` says that the line begins and gives it, if `a` was read before it (in zsh `a` does both), `z` says its
//! end. The line is evaluated by what is typed, not by a file, so that its errors and its `return` are those of a line at
//! the prompt; what is wrong with it cannot swallow `z`. It is given by a descriptor of its own: what a trap or a function
//! of the user's prints meanwhile is none of it. What the line and the prompt see of the exit code before them is right, and
//! no name stays.

use super::{Keys, Shell};
use crate::recording::veil;

/// One step of what is typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    pub keys: Vec<Keys>,
    pub case: Case,
}

/// When a step is taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Case {
    Always,
    /// If this sign stands before the cursor, or if it does not.
    Shown(String, bool),
}

/// What is typed to run the line whose files stand in the directory of this path. Where a sign is to be shown, it is
/// awaited before the next step.
#[must_use]
pub fn keys(shell: Shell, path: &str, nonce: &str) -> Vec<Step> {
    let quoted = |file: &str| quote(shell, &format!("{path}/{file}"));
    let (a, l, z) = (quoted("a"), quoted("l"), quoted("z"));
    // As a group it makes no sense behind whatever may stand there, and nothing of both is run. No key erases that first:
    // it may be bound to a command of the user's.
    let run = match shell {
        Shell::Bash => Keys::Paste(format!(
            " {{ \\builtin . {a}; \\builtin eval \"$({{ \\builtin . {l}; }} 3>&1 >/dev/null)\"; \
            {{ \\builtin . {z}; }} >/dev/null 2>&1; }}"
        )),
        Shell::Zsh => return zsh_keys(nonce, (&a, &z)),
        Shell::Fish => {
            // What is pasted loses its blank in front.
            let given = quoted("r");
            let line = format!("set -l n $status; test -e {given}; and string collect <{l}; return $n");
            // An empty block does as a group would, and `set -l` is that of the prompt.
            Keys::Type(format!(" begin; end; source {a}; eval ({line}); source {z}"))
        }
        Shell::Dash => {
            let given = format!("$({{ \\. {l}; }} 3>&1 >/dev/null)");
            let run = format!("\\command eval \"{given}\"");
            Keys::Type(format!(" {{ \\. {a}; {run}; {{ \\. {z}; }} >/dev/null 2>&1; }}"))
        }
    };
    vec![Step { keys: vec![run, Keys::Press("enter")], case: Case::Always }]
}

/// A line that begins with a blank is kept out of zsh's history if an option is on; it must be before that line is read.
/// Expanding a word in the line editor sets it, by the key that does so in its emacs keymap, else by that of its vi
/// keymap; `a` sets it back. The word becomes a sign, which is erased.
fn zsh_keys(nonce: &str, (a, z): (&str, &str)) -> Vec<Step> {
    const SIGN: usize = 8;
    let sign = nonce.chars().take(SIGN).collect::<String>().to_lowercase();
    let set = "${${options[histignorespace]:#on}:+${options[histignorespace]::=on}${__abide_h::=1}}";
    let word = format!("${{{set}:+}}${{(L):-{}}}", sign.to_uppercase());
    let erased = |typed: usize| vec![Keys::Press("backspace"); typed];
    let expand = |key: Vec<Keys>| [vec![Keys::Paste(word.clone())], key].concat();
    // The rest of a line is not run after `return` or Ctrl-C, what is to be done always is.
    let run = "\\builtin eval \"${__abide_l-}\"";
    let run =
        format!(" {{ \\builtin . {a}; {{ {run}; }} always {{ {{ \\builtin . {z}; }} >/dev/null 2>&1; }}; }}");
    let run = |typed: usize| [erased(typed), vec![Keys::Paste(run.clone()), Keys::Press("enter")]].concat();
    let shown = |is: bool| Case::Shown(sign.clone(), is);
    // Keys that mean nothing there may stand for themselves.
    let all = word.len() + 2;
    let (emacs, vi) = (vec![Keys::Press("ctrl-x"), Keys::Type("*".to_owned())], vec![Keys::Press("tab")]);
    vec![
        Step { keys: expand(emacs), case: Case::Always },
        Step { keys: [erased(all), expand(vi)].concat(), case: shown(false) },
        Step { keys: run(SIGN), case: shown(true) },
        Step { keys: run(all), case: shown(false) },
    ]
}

/// The files that are read then.
#[must_use]
pub fn files(shell: Shell, path: &str, nonce: &str, line: &str) -> [(&'static str, String); 3] {
    let begins = printed(&veil::begins(nonce));
    let ends = printed(&veil::ends(nonce));
    let given = quote(shell, &format!("{path}/r"));
    match shell {
        Shell::Fish => [
            ("a", format!("set -l n $status\ntrue >{given}\nprintf '{begins}' >/dev/tty\nreturn $n\n")),
            (
                "l",
                if is_empty(line) {
                    "command sh -c \"exit $status\"\n".to_owned()
                } else {
                    format!("{line}\n")
                },
            ),
            (
                "z",
                format!(
                    "set -l n $status\ntest -e {given}; and printf '{ends}%s\\007' $n >/dev/tty\nreturn $n\n"
                ),
            ),
        ],
        Shell::Bash | Shell::Zsh | Shell::Dash => {
            let forget = forget(shell, path, nonce);
            let builtin = match shell {
                Shell::Bash | Shell::Zsh => "\\builtin",
                Shell::Dash | Shell::Fish => "\\command",
            };
            let print = format!("{builtin} printf");
            // What is traced of a line is not what runs it.
            let quiet = "case $- in *[xv]*) __abide_x=; case $- in *x*) __abide_x=x;; esac\n\
                case $- in *v*) __abide_x=${__abide_x}v;; esac; \\set +xv;; esac";
            // zsh has the code of the line itself, and an ERR trap of its user's would see one that is not 0 here.
            let leave = match shell {
                Shell::Zsh => "\\builtin unset __abide",
                Shell::Bash => "\\builtin eval \"\\builtin unset __abide; \\builtin return $__abide\"",
                // Its special commands come before functions.
                Shell::Dash | Shell::Fish => "\\eval \"\\unset __abide; \\return $__abide\"",
            };
            let said = match is_empty(line) {
                // Before `&&` a code breaks nothing off, and no trap sees it.
                true => "\"(\\\\exit $__abide) && \\\\:\"".to_owned(),
                false => quote(shell, line),
            };
            let line = quote(shell, line);
            // There, what is evaluated does not see the code of what came before it.
            let begin = format!("{print} '{begins}' >/dev/tty\n");
            let (calm, names, restore) = match shell {
                Shell::Zsh => {
                    (ZSH_CALM, format!("{}{begin}", zsh_line(&line)), "\\builtin setopt evallineno\n")
                }
                Shell::Bash | Shell::Dash | Shell::Fish => ("", String::new(), ""),
            };
            let told = quote(shell, &format!("{path}/j"));
            let (notice, tell) = notices(shell, &told, &line).unwrap_or_default();
            let a =
                format!("__abide=$?\n{quiet}\n{calm}{forget}{notice}{print} '' >|{given}\n{names}{leave}\n");
            let traced = "{ \\\\unset __abide_x; \\\\set -%s; (\\\\exit %s); } 2>/dev/null";
            let l = format!(
                "__abide=$?\n{builtin} test -e {given} || {builtin} exit $__abide\n\
                {begin}\
                case ${{__abide_x-}} in ?*) {print} '{traced}\\n' \"$__abide_x\" \"$__abide\" >&3;; esac\n\
                {print} '%s\\n' {said} >&3\n{builtin} exit $__abide\n"
            );
            let end = format!("{print} '{ends}%s\\007' \"$__abide\" >/dev/tty");
            let z = format!("__abide=$?\n{restore}{builtin} test -e {given} && {end}\n{tell}{leave}\n");
            [("a", a), ("l", l), ("z", z)]
        }
    }
}

/// Whether no command is in it: then it leaves the code before it as it is, which `eval` does not.
fn is_empty(line: &str) -> bool {
    line.lines().map(str::trim).all(|line| line.is_empty() || line.starts_with('#'))
}

/// What zsh evaluates: not a command's output, to which a trap of its user's may add.
fn zsh_line(line: &str) -> String {
    let before = "\\builtin unset __abide_l; \\builtin setopt evallineno";
    // Before `&&` a code breaks nothing off.
    let code = "() { \\builtin return $__abide; }; }";
    format!(
        "\\builtin unsetopt evallineno\n__abide_l=\"{before}\n\"\n\
        case ${{__abide_x-}} in\n\
        ?*) __abide_l+=\"{{ \\builtin unset __abide_x; $__abide_e \\builtin set -$__abide_x; {code} 2>/dev/null && {{ \\builtin :; }} 2>/dev/null\n\";;\n\
        *) __abide_l+=\"{{ $__abide_e {code} && \\builtin :\n\";;\nesac\n\\builtin unset __abide_e\n__abide_l+={line}\n"
    )
}

/// bash tells what ended in the background behind the next command that it waits for, which is no output of that: it
/// is asked before the line, and what it says is shown behind it. A line that asks itself, by `jobs` or `wait -n`, is left to hear it.
fn notices(shell: Shell, told: &str, line: &str) -> Option<(String, String)> {
    let asks = ["jobs", "wait -"].into_iter().any(|word| line.contains(word));
    (shell == Shell::Bash && !asks).then(|| {
        let ask = format!("\\builtin jobs -rn >/dev/null\n\\builtin jobs -n >|{told}\n");
        let tell = format!("\\builtin test -s {told} && \\builtin printf '%s\\n' \"$(<{told})\" >/dev/tty\n");
        (ask, tell)
    })
}

/// Options by which a code that is not 0 would break off what runs the line; the line itself has them.
const ZSH_CALM: &str = "__abide_e=\n\
    [[ -o errexit ]] && __abide_e+='\\builtin setopt errexit; '\n\
    [[ -o errreturn ]] && __abide_e+='\\builtin setopt errreturn; '\n\
    \\builtin unsetopt errexit errreturn\n";

/// Takes what was typed out of the history.
fn forget(shell: Shell, path: &str, nonce: &str) -> String {
    match shell {
        Shell::Bash => format!(
            "__abide_h=$(HISTTIMEFORMAT= \\builtin history 1)\n\
            case $__abide_h in *{nonce}*)\n\
            __abide_h=${{__abide_h#\"${{__abide_h%%[0-9]*}}\"}}\n\
            \\builtin history -d \"${{__abide_h%%[!0-9]*}}\";;\nesac\n\\builtin unset __abide_h\n"
        ),
        // A line that the option above keeps out stays until the next one is read; reading one that is in the history
        // already from a file removes it, and adds nothing. Where the history has nothing that can be read so, a word is
        // added that is no one's, once: never the line, which may hold a secret.
        Shell::Zsh => {
            let file = quote(shell, &format!("{path}/h"));
            format!(
                "() {{\n\\builtin emulate -L zsh\n\\builtin local n t\n\\builtin zmodload zsh/parameter\n[[ $history[$HISTCMD] == *{nonce}* ]] || [[ $history[$((HISTCMD-1))] == *{nonce}* ]] || \\builtin return 0\n\
                for n in ${{${{(Onk)history}}[1,64]}}; do\nt=$history[$n]\n\
                if [[ $t == [A-Za-z]* && $t != *[^A-Za-z0-9\\ ._/=-]* && $t != *' ' ]]; then\n\
                \\builtin print -r -- \"$t\" >| {file}\n\\builtin fc -RI {file}\n\\builtin return 0\nfi\ndone\n\\builtin print -rs -- true\n}}\n\
                case ${{__abide_h-}} in 1) \\builtin unset __abide_h; \\builtin unsetopt histignorespace;; esac\n"
            )
        }
        Shell::Fish | Shell::Dash => String::new(),
    }
}

/// A sequence as `printf` is told it.
fn printed(sequence: &str) -> String {
    sequence.replace('\x1b', "\\033").replace('\x07', "\\007")
}

/// A word that the shell takes as it is.
fn quote(shell: Shell, text: &str) -> String {
    let inside = match shell {
        Shell::Fish => text.replace('\\', "\\\\").replace('\'', "\\'"),
        Shell::Bash | Shell::Zsh | Shell::Dash => text.replace('\'', "'\\''"),
    };
    format!("'{inside}'")
}
