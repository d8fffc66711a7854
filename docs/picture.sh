#!/usr/bin/env bash
# Makes docs/abide.svg, the moving picture of the README: abide records a shell in which abide is used, and draws it.
# Needs `abide` in PATH, and changes nothing but that file.
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
RC
cat >"$scratch/tour/build.sh" <<'BUILD'
#!/bin/sh
for n in 1 2 3 4 5 6 7 8 9; do echo "compiling $n of 9"; sleep 1.5; done
exit 3
BUILD
chmod +x "$scratch/tour/build.sh"
abide run -d --name stage --size 92x26 --cwd "$scratch/tour" -- bash --rcfile "$scratch/rc" >/dev/null
abide wait stage --text '$ ' --timeout 10s >/dev/null 2>&1
do_line() { # do_line PAUSE LINE: as a person types it
    local i
    for ((i = 0; i < ${#2}; i++)); do abide type stage -- "${2:i:1}" >/dev/null; done
    abide keys stage Enter >/dev/null
    abide wait stage --idle "$1" --timeout 30s >/dev/null 2>&1
}
do_line 500ms 'bash --rcfile ~/rc                   # a shell'
do_line 900ms 'abide run -d --name build -- ./build.sh'
do_line 900ms 'kill -9 $$                           # the shell that launched it dies'
do_line 700ms 'kill -9 $(pid_of host)               # what serves it dies'
do_line 700ms 'kill -9 $(pid_of guard)              # what holds its terminal dies'
do_line 1200ms 'abide ls'
do_line 1200ms 'abide snapshot build | head -7      # it goes on'
do_line 300ms 'abide wait build; echo "exit code $?"'
abide wait stage --regex '^exit code 3$' --timeout 30s >/dev/null 2>&1
do_line 3s 'abide why build'
abide export -o "$here/abide.svg" --idle-limit 1500ms stage
