//! What makes a shell run a line. Three files stand in a directory of the session: `a` says that the line begins and
//! takes what is typed here out of the history, `l` gives the line, `z` says its end. The line is evaluated by what is
//! typed, not by a file, so that its errors and its `return` are those of a line at the prompt; what is wrong with it
//! cannot swallow `z`. What the line and the prompt see of the exit code before them is right, and no name stays.

use super::{Keys, Shell};
use crate::recording::veil;

/// What is typed to run the line whose files stand in the directory of this path.
#[must_use]
pub fn keys(shell: Shell, path: &str) -> Vec<Keys> {
    let quoted = |file: &str| quote(shell, &format!("{path}/{file}"));
    let (a, l, z) = (quoted("a"), quoted("l"), quoted("z"));
    // Whatever stands there half typed is taken back.
    let mut keys = vec![Keys::Press("ctrl-e"), Keys::Press("ctrl-u")];
    match shell {
        Shell::Bash => {
            let run = format!(
                " builtin . {a}; builtin eval \"$(builtin . {l})\"; {{ builtin . {z}; }} 2>/dev/null"
            );
            keys.push(Keys::Paste(run));
        }
        Shell::Zsh => {
            // A line that begins with a blank is kept out of the history if this option is on; it must be before that
            // line is read. Expanding a word in the line editor sets it; `a` sets it back.
            keys.push(Keys::Paste(
                "${${options[histignorespace]:#on}:+${options[histignorespace]::=on}${__abide_h::=1}}"
                    .to_owned(),
            ));
            keys.extend([Keys::Press("ctrl-x"), Keys::Type("*".to_owned())]);
            keys.extend([Keys::Press("ctrl-e"), Keys::Press("ctrl-u")]);
            // The rest of a line is not run after `return` or Ctrl-C, what is to be done always is.
            let run = format!("builtin eval \"$(builtin . {l})\"");
            let run = format!(" builtin . {a}; {{ {run}; }} always {{ {{ builtin . {z}; }} 2>/dev/null; }}");
            keys.push(Keys::Paste(run));
        }
        Shell::Fish => {
            // What is pasted loses its blank in front.
            let line = format!("set -l n $status; string collect <{l}; return $n");
            keys.push(Keys::Type(format!(" source {a}; eval ({line}); source {z}")));
        }
        Shell::Dash => {
            let run = format!(" . {a}; command eval \"$(. {l})\"; {{ . {z}; }} 2>/dev/null");
            keys.push(Keys::Type(run));
        }
    }
    keys.push(Keys::Press("enter"));
    keys
}

/// The files that are read then.
#[must_use]
pub fn files(shell: Shell, path: &str, nonce: &str, line: &str) -> [(&'static str, String); 3] {
    let begins = printed(&veil::begins(nonce));
    let ends = printed(&veil::ends(nonce));
    match shell {
        Shell::Fish => [
            ("a", format!("set -l n $status\nprintf '{begins}' >/dev/tty\nreturn $n\n")),
            ("l", format!("{line}\n")),
            ("z", format!("set -l n $status\nprintf '{ends}%s\\007' $n >/dev/tty\nreturn $n\n")),
        ],
        Shell::Bash | Shell::Zsh | Shell::Dash => {
            let forget = forget(shell, path, (nonce, line));
            let (print, zsh) = match shell {
                Shell::Bash => ("builtin printf", false),
                Shell::Zsh => ("builtin printf", true),
                Shell::Dash | Shell::Fish => ("command printf", false),
            };
            // What is traced of a line is not what runs it.
            let quiet = "case $- in *x*) set +x; __abide_x=1;; esac";
            let (names, restore) =
                if zsh { ("unsetopt evallineno\n", "setopt evallineno\n") } else { ("", "") };
            // There, what is evaluated does not see the code of what gave it.
            let code =
                if zsh { format!("{print} '%s\\n' \"() {{ return $__abide; }}\"\n") } else { String::new() };
            let leave = "eval \"unset __abide; return $__abide\"";
            [
                ("a", format!("__abide=$?\n{quiet}\n{forget}{names}{print} '{begins}' >/dev/tty\n{leave}\n")),
                (
                    "l",
                    format!(
                        "__abide=$?\n{print} '%s' '{restore}'\n\
                        case ${{__abide_x-}} in 1) {print} '%s\\n' 'unset __abide_x; set -x';; esac\n\
                        {code}{print} '%s\\n' {}\nexit $__abide\n",
                        quote(shell, line)
                    ),
                ),
                (
                    "z",
                    format!("__abide=$?\n{restore}{print} '{ends}%s\\007' \"$__abide\" >/dev/tty\n{leave}\n"),
                ),
            ]
        }
    }
}

/// Takes what was typed out of the history.
fn forget(shell: Shell, path: &str, (nonce, line): (&str, &str)) -> String {
    match shell {
        Shell::Bash => format!(
            "__abide_h=$(HISTTIMEFORMAT= builtin history 1)\n\
            case $__abide_h in *{nonce}*)\n\
            __abide_h=${{__abide_h#\"${{__abide_h%%[0-9]*}}\"}}\n\
            builtin history -d \"${{__abide_h%%[!0-9]*}}\";;\nesac\nunset __abide_h\n"
        ),
        // A line that the option above keeps out stays until the next one is read; reading one that is in the history
        // already from a file removes it, and adds nothing. Where the history has nothing that can be read so, the line
        // itself is added.
        Shell::Zsh => {
            let line = quote(shell, line);
            let file = quote(shell, &format!("{path}/h"));
            format!(
                "() {{\nemulate -L zsh\nlocal n t\nzmodload zsh/parameter\n[[ $history[$HISTCMD] == *{nonce}* ]] || [[ $history[$((HISTCMD-1))] == *{nonce}* ]] || return 0\n\
                for n in ${{${{(Onk)history}}[1,64]}}; do\nt=$history[$n]\n\
                if [[ $t == [A-Za-z]* && $t != *[^A-Za-z0-9\\ ._/=-]* && $t != *' ' ]]; then\n\
                print -r -- \"$t\" >| {file}\nfc -RI {file}\nreturn 0\nfi\ndone\nprint -rs -- {line}\n}}\n\
                case ${{__abide_h-}} in 1) unset __abide_h; unsetopt histignorespace;; esac\n"
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
