#compdef abide
# Completions of abide for zsh: source <(abide completions zsh), or as _abide in a directory of $fpath.
# What fits at the cursor is abide's own answer; nothing is known here.
_abide() {
    local found line word says
    local -a candidates
    found=$("${${(Q)words[1]}/#\~/$HOME}" completions -- "${(@)words[2,CURRENT]}" 2>/dev/null) || return 1
    case $found in
        ('') return 1 ;;
        (:files) _files ;;
        (:directories) _files -/ ;;
        (:commands) _command_names -e ;;
        (*)
            for line in "${(@f)found}"; do
                # Without a word about it there is nothing to show behind a colon.
                word=${line%%$'\t'*} says=${line#*$'\t'}
                candidates+=("${word//:/\\:}${says:+:$says}")
            done
            _describe abide candidates
            ;;
    esac
}
if [ "$funcstack[1]" = _abide ]; then
    _abide "$@"
else
    compdef _abide abide
fi
