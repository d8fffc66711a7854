# Completions of abide for bash: source <(abide completions bash)
# What fits at the cursor is abide's own answer; nothing is known here.
_abide() {
    local current=${COMP_WORDS[COMP_CWORD]} found word IFS=$'\n'
    [[ $current == '=' ]] && current=
    COMPREPLY=()
    # Bash takes @last for two words here, and for one when it puts it in.
    if [[ COMP_CWORD -gt 0 && ${COMP_WORDS[COMP_CWORD-1]} == @ ]]; then
        [[ last == "$current"* ]] && COMPREPLY=(@last)
        return
    fi
    found=$("${COMP_WORDS[0]/#\~/$HOME}" completions -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null) || return
    case $found in
        '') ;;
        :files) compopt -o filenames && COMPREPLY=($(compgen -f -- "$current")) ;;
        :directories) compopt -o filenames && COMPREPLY=($(compgen -d -- "$current")) ;;
        :commands) COMPREPLY=($(compgen -c -- "$current")) ;;
        *) while IFS=$'\t' read -r word _; do COMPREPLY+=("$word"); done <<<"$found" ;;
    esac
}
complete -F _abide abide
