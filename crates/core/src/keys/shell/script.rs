//! What makes a shell run a line. Three files stand in a directory of the session: `a` takes what is typed here out of the
//! history, `l` says that the line begins and gives it, if `a` was read before it (in zsh `a` does both), `z` says its
//! end, and leaves `e` to say that it did. The line is evaluated by what is typed, not by a file, so that its errors and its `return` are those of a line at
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
    let (a, l, z, traps) = (quoted("a"), quoted("l"), quoted("z"), quoted("t"));
    // As a group it makes no sense behind whatever may stand there, and nothing of both is run. No key erases that first:
    // it may be bound to a command of the user's.
    let run = match shell {
        // What is read does not see the traps around it.
        Shell::Bash => Keys::Paste(format!(
            " {{ __abide=$?; \\builtin trap -p DEBUG RETURN ERR CHLD >|{traps}; \\builtin . {a}; \\builtin eval \"$({{ \\builtin . {l}; }} 3>&1 >/dev/null)\"; \
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

/// What the shell echoes of that, if it is known: just what is typed. The editors of zsh and fish draw it as they like.
#[must_use]
pub fn echoed(shell: Shell, path: &str, nonce: &str) -> String {
    match shell {
        Shell::Bash | Shell::Dash => first_typed(shell, path, nonce),
        Shell::Zsh | Shell::Fish => String::new(),
    }
}

/// The text that is typed first.
fn first_typed(shell: Shell, path: &str, nonce: &str) -> String {
    match keys(shell, path, nonce).into_iter().flat_map(|step| step.keys).next() {
        Some(Keys::Type(text) | Keys::Paste(text)) => text,
        Some(Keys::Press(_)) | None => String::new(),
    }
}

/// A line that begins with a blank is kept out of zsh's history if an option is on; it must be before that line is read.
/// Expanding a word in the line editor sets it, by the key that does so in its emacs keymap, else by that of its vi
/// keymap. Below a widget of the user's that does not last, but functions do: so one is added to those that zsh asks of each
/// line, which sets it for ours once more. `a` takes all back. The word becomes a sign, which is erased.
fn zsh_keys(nonce: &str, (a, z): (&str, &str)) -> Vec<Step> {
    const SIGN: usize = 8;
    // With a letter, so that it is not what is typed.
    let sign = format!("a{}", nonce.chars().take(SIGN - 1).collect::<String>().to_lowercase());
    let set = "${${options[histignorespace]:#on}:+${options[histignorespace]::=on}${__abide_h::=1}}";
    let asked = format!("${{functions[__abide_h]::='[[ $1 != *{nonce}* ]] || \\builtin : {set}'}}");
    let asks = "${zshaddhistory_functions[1,0]::=__abide_h}";
    let word = format!("${{{set}:+}}${{{asked}:+}}${{{asks}:+}}${{(L):-{}}}", sign.to_uppercase());
    let erased = |typed: usize| vec![Keys::Press("backspace"); typed];
    let expand = |key: Vec<Keys>| [vec![Keys::Paste(word.clone())], key].concat();
    // The rest of a line is not run after `return` or Ctrl-C, what is to be done always is.
    let run = "\\builtin eval \"${__abide_l-}\"";
    let run =
        format!(" {{ \\builtin . {a}; {{ {run}; }} always {{ {{ \\builtin . {z}; }} >/dev/null 2>&1; }}; }}");
    // What is pasted last can be yanked afterwards.
    let blank = Keys::Paste(" ".to_owned());
    let pasted = vec![Keys::Paste(run), blank, Keys::Press("enter")];
    let run = |typed: usize| [erased(typed), pasted.clone()].concat();
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
    // Whoever finds the shell at its prompt again learns from this that the end was told, however late it is read.
    let told = quote(shell, &format!("{path}/e"));
    let forget = forget(shell, path, nonce);
    match shell {
        Shell::Fish => fish_files([&begins, &ends], [&given, &told], &forget, line),
        Shell::Bash | Shell::Zsh | Shell::Dash => {
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
            let ended = quote(shell, &format!("{path}/j"));
            let [notice, read, tell] = notices(shell, &ended, &line).unwrap_or_default();
            let begin_a = keep_code(shell, (path, nonce), &print);
            let a = format!("{begin_a}{quiet}\n{calm}{forget}{notice}{print} '' >|{given}\n{names}{leave}\n");
            let traced = "{ \\\\unset __abide_x; \\\\set -%s; (\\\\exit %s); } 2>/dev/null";
            let l = format!(
                "__abide=$?\n{builtin} test -e {given} || {builtin} exit $__abide\n\
                {begin}\
                case ${{__abide_x-}} in ?*) {print} '{traced}\\n' \"$__abide_x\" \"$__abide\" >&3;; esac\n\
                {print} '%s\\n' {said} >&3\n{builtin} exit $__abide\n"
            );
            // What is told behind the end is read before that is: whoever waits for it removes the files then.
            let end = format!(
                "{{ {print} '' >|{told} || {builtin} :; {print} '{ends}%s\\007' \"$__abide\" >/dev/tty; }}"
            );
            let z = format!("__abide=$?\n{restore}{read}{builtin} test -e {given} && {end}\n{tell}{leave}\n");
            [("a", a), ("l", l), ("z", z)]
        }
    }
}

fn fish_files(
    [begins, ends]: [&str; 2],
    [given, told]: [&str; 2],
    forget: &str,
    line: &str,
) -> [(&'static str, String); 3] {
    // An empty one leaves the code before it.
    let line = if is_empty(line) { "command sh -c \"exit $status\"" } else { line };
    let a = format!("set -l n $status\ntrue >{given}\n{forget}printf '{begins}' >/dev/tty\nreturn $n\n");
    let z = format!(
        "set -l n $status\ntest -e {given}; and begin; true >{told}; printf '{ends}%s\\007' $n >/dev/tty; end\nreturn $n\n"
    );
    [("a", a), ("l", format!("{line}\n")), ("z", z)]
}

/// Keeps the code before the line, which bash was made to by what is typed before it looked for traps; then says whether
/// nothing but the line is shown: no trace, and no trap for every command.
fn keep_code(shell: Shell, (path, nonce): (&str, &str), print: &str) -> String {
    let unless_traced = |say: &str| format!("case $- in *[xv]*) ;; *) {say};; esac\n");
    let say = format!("{print} '{}' >/dev/tty", printed(&veil::quiet(nonce)));
    let traps = quote(shell, &format!("{path}/t"));
    match shell {
        Shell::Bash => unless_traced(&format!("\\builtin test -s {traps} || {say}")),
        Shell::Dash => format!("__abide=$?\n{}", unless_traced(&say)),
        Shell::Zsh | Shell::Fish => "__abide=$?\n".to_owned(),
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
fn notices(shell: Shell, told: &str, line: &str) -> Option<[String; 3]> {
    let asks = ["jobs", "wait -"].into_iter().any(|word| line.contains(word));
    (shell == Shell::Bash && !asks).then(|| {
        let ask = format!("\\builtin jobs -rn >/dev/null\n\\builtin jobs -n >|{told}\n");
        let read = format!("\\builtin test -s {told} && __abide_j=$(<{told})\n");
        let tell = "case ${__abide_j-} in ?*) \\builtin printf '%s\\n' \"$__abide_j\" >/dev/tty; \
            \\builtin unset __abide_j;; esac\n";
        [ask, read, tell.to_owned()]
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
                "() {{\n\\builtin emulate -L zsh\n\\builtin local n t\n\\builtin zmodload zsh/parameter\n\
                if (( $+functions[__abide_h] )); then\n\
                \\builtin unfunction __abide_h\nzshaddhistory_functions=(${{zshaddhistory_functions:#(__abide_h|)}})\n\
                (( $#zshaddhistory_functions )) || \\builtin unset zshaddhistory_functions\nfi\n\
                [[ $history[$HISTCMD] == *{nonce}* ]] || [[ $history[$((HISTCMD-1))] == *{nonce}* ]] || \\builtin return 0\n\
                for n in ${{${{(Onk)history}}[1,64]}}; do\nt=$history[$n]\n\
                if [[ $t == [A-Za-z]* && $t != *[^A-Za-z0-9\\ ._/=-]* && $t != *' ' ]]; then\n\
                \\builtin print -r -- \"$t\" >| {file}\n\\builtin fc -RI {file}\n\\builtin return 0\nfi\ndone\n\\builtin print -rs -- true\n}}\n\
                case ${{__abide_h-}} in 1) \\builtin unset __abide_h; \\builtin unsetopt histignorespace;; esac\n"
            )
        }
        // A line that begins with a blank can be had back until the next one is read.
        Shell::Fish => {
            let typed = quote(shell, &first_typed(shell, path, nonce));
            format!("builtin history delete --exact --case-sensitive -- {typed} 2>/dev/null\n")
        }
        Shell::Dash => String::new(),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_hears_of_a_lines_end_may_remove_its_files_and_nothing_is_lost() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish, Shell::Dash] {
            let files = files(shell, "/path", "nonce", "line");
            let z = &files[2].1;
            let told = z.find(&printed(&veil::ends("nonce"))).expect("it tells the end");
            assert!(!z[told..].contains("/path"), "{shell:?}: {z}");
        }
    }
}
