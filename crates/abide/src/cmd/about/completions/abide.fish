# Completions of abide for fish: abide completions fish | source
# What fits at the cursor is abide's own answer; nothing is known here.
function __abide_candidates
    set -l current (commandline -ct)
    set -l before (commandline -opc)
    set -l found ($before[1] completions -- $before[2..-1] "$current" 2>/dev/null)
    switch "$found[1]"
        case :files
            __fish_complete_path "$current"
        case :directories
            __fish_complete_directories "$current"
        case :commands
            __fish_complete_path "$current"
            complete -C "$current"
        case '*'
            printf '%s\n' $found
    end
end
complete -c abide -f -k -a '(__abide_candidates)'
