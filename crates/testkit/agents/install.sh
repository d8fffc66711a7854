#!/usr/bin/env bash
# install.sh DIR [AGENT...]: installs coding agents below DIR and links each program into DIR/bin. What is there already is
# left as it is; remove DIR/AGENT for the newest. Nothing is installed outside of DIR: npm packages come without running
# their scripts and with a cache of their own, aider comes in a virtual environment.
set -euo pipefail

[ $# -gt 0 ] || { echo "usage: install.sh DIR [AGENT...]" >&2; exit 2; }
mkdir -p "$1/bin"
cd "$1"
shift
[ $# -gt 0 ] || set -- claude codex gemini opencode pi qwen copilot aider

export npm_config_cache="$PWD/cache" npm_config_update_notifier=false
trap 'rm -rf "$npm_config_cache"' EXIT

# Packages with a program of the machine have it in a package of their own, which a script would have linked.
machine() {
    case $(uname -m) in
        x86_64) echo linux-x64 ;;
        aarch64) echo linux-arm64 ;;
        *) echo "there are no agents for $(uname -m)" >&2; exit 1 ;;
    esac
}

# npm_agent AGENT PACKAGE [PROGRAM]
npm_agent() {
    local to=$PWD/$1 program=${3:-.bin/$1}
    mkdir -p "$to"
    npm install --prefix "$to" --ignore-scripts --no-audit --no-fund --loglevel error "$2" >&2
    ln -sfn "$to/node_modules/$program" "bin/$1"
}

install_agent() {
    case $1 in
        claude) npm_agent claude @anthropic-ai/claude-code "@anthropic-ai/claude-code-$(machine)/claude" ;;
        codex) npm_agent codex @openai/codex ;;
        gemini) npm_agent gemini @google/gemini-cli ;;
        opencode) npm_agent opencode opencode-ai "opencode-$(machine)/bin/opencode" ;;
        pi) npm_agent pi @mariozechner/pi-coding-agent ;;
        qwen) npm_agent qwen @qwen-code/qwen-code ;;
        copilot) npm_agent copilot @github/copilot ;;
        aider)
            python3 -m venv aider
            aider/bin/pip install --quiet --no-cache-dir --disable-pip-version-check aider-chat >&2
            ln -sfn "$PWD/aider/bin/aider" bin/aider
            ;;
        *) echo "there is no agent $1" >&2; exit 2 ;;
    esac
}

for agent in "$@"; do
    [ -x "bin/$agent" ] || install_agent "$agent"
    [ -x "bin/$agent" ] || { echo "$agent was installed, but its program is not there" >&2; exit 1; }
done
