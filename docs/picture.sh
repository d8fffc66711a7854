#!/usr/bin/env bash
# Makes docs/abide.svg, the moving picture of the README: abide records a shell in which abide is used, and draws it.
# Needs `abide` in PATH and `script` (util-linux), and changes nothing but that file.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
scratch=$(mktemp -d /tmp/tour.XXXX)
trap 'abide stop --grace 0s stage >/dev/null 2>&1 || true; rm -rf "$scratch"' EXIT
export HOME=$scratch ABIDE_HOME=$scratch/outer
mkdir "$scratch/tour"
cat >"$scratch/rc" <<'RC'
PS1='\[\e[32m\]$\[\e[0m\] '
export ABIDE_HOME=$HOME/inner
pid_of() { abide inspect --json build | sed "s/.*\"$1\":{\"pid\":\([0-9]*\).*/\1/"; }
# A terminal within this one, which can be closed.
if [[ ${1-} != inside ]] && [[ ! -e ~/closed ]]; then
    script -qc 'touch ~/closed; echo $PPID >~/terminal; exec bash --rcfile ~/rc' /dev/null 2>/dev/null
    printf '\r\n\e[2m(that terminal was closed; this is another one)\e[0m\n'
fi
RC
cat >"$scratch/tour/build.sh" <<'BUILD'
#!/bin/sh
for n in $(seq 1 9); do echo "compiling $n of 9"; sleep 1.7; done
exit 3
BUILD
chmod +x "$scratch/tour/build.sh"
abide run -d --name stage --size 92x26 --cwd "$scratch/tour" -- bash --rcfile "$scratch/rc" >/dev/null
abide wait stage --text '$ ' --timeout 10s >/dev/null 2>&1
abide mark stage begin >/dev/null
hold() { abide wait stage --idle "$1" --timeout 30s >/dev/null 2>&1; } # how long what was said stands there
do_line() { # do_line PAUSE LINE: as a person types it
    local i
    for ((i = 0; i < ${#2}; i++)); do abide type stage -- "${2:i:1}" >/dev/null; done
    abide keys stage Enter >/dev/null
    hold "$1"
}
hold 700ms
do_line 50ms 'abide run --name build -- ./build.sh'
abide wait stage --text 'compiling 2 of 9' --timeout 30s >/dev/null 2>&1
hold 1200ms
kill -9 "$(cat "$scratch/terminal")"
hold 2s
do_line 2200ms 'abide ls'
do_line 1500ms 'kill -9 $(pid_of host)            # what serves it dies'
do_line 1500ms 'kill -9 $(pid_of guard)           # what holds its terminal dies'
do_line 2200ms 'abide snapshot build | head -9   # it goes on'
do_line 50ms 'abide wait build; echo "exit code $?"'
abide wait stage --regex '^exit code 3$' --timeout 60s >/dev/null 2>&1
hold 2500ms
do_line 4500ms 'abide why build'
# One more entry, so that the last picture stands as long as it did.
abide keys stage Space >/dev/null
hold 100ms
abide export --from begin -o "$here/abide.svg" --idle-limit 5s stage
