# `just` lists the recipes. CI needs none of them: it runs .ci/run.

[private]
default:
    @just --list --unsorted

# Format and lints, warnings denied
check:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets -- -D warnings

# Every test
test:
    cargo test --workspace

# Format, and apply what clippy knows how to fix
fix:
    cargo clippy --workspace --all-targets --fix --allow-dirty --allow-staged
    cargo fmt --all

# Fuzz one target for a while (`ls fuzz/corpus` names them; fuzz/README.md)
fuzz TARGET SECONDS="60" *OPTIONS:
    bash fuzz/run {{ TARGET }} {{ SECONDS }} {{ OPTIONS }}

# Fuzz every target, one after the other
fuzz-all SECONDS="180":
    for target in $(ls fuzz/corpus); do bash fuzz/run "$target" {{ SECONDS }} || exit 1; done

# The tests of every row of docs/truth.md, and which rows hold
truth:
    cargo run -q -p abide-testkit --bin truth

# The guard's mind in a world of dice: so many lives, or one seed again
sim LIVES="200000" SEED="":
    ABIDE_SIM_LIVES={{ LIVES }} ABIDE_SIM_SEED={{ SEED }} cargo test --release -p abide-core --test simulation

# Our screen against tmux and alacritty, cell by cell, for real programs and the corpus (screens/README.md)
screens *WHAT:
    which tmux vim less htop nano man git mc dialog emacs vttest tput unshare >/dev/null || apt-get install -y tmux vim less \
        htop procps nano man-db git mc dialog emacs-nox vttest ncurses-bin util-linux
    cargo run --release --manifest-path screens/Cargo.toml --target-dir target -- {{ WHAT }}

# Attacks the released binary with real faults and checks every answer (docs/torture.md): --answers N, --seed N, --seconds N, --schedule FILE
torture *WHAT:
    cargo build --release -q -p abide
    cargo run --release -q -p abide-testkit --bin abide-torture -- --abide target/release/abide --answers 100000 --pace 120 --readers 4 {{ WHAT }}

# Hits every act at each of its steps (kill, abort, EIO) and prints what held; all acts without a name
points *ACT:
    cargo run --release -q -p abide-testkit --bin fail-points -- {{ ACT }}

# Puts bugs in on purpose, one at a time, and says which test catches each
mutants *NAME:
    cargo run -q -p abide-testkit --bin mutants -- {{ NAME }}

# How often a reused pid has the identity of the old process, by each mark
reuse:
    cargo run --release -q -p abide-testkit --bin pid-reuse

# abide beside its peers, one row or all: --load, --quick, --soak 1h, --release-binary PATH (benches/README.md)
bench *ROW:
    cargo run --release -q --manifest-path benches/Cargo.toml --target-dir target -- {{ ROW }}

# How long `ls` takes in a home with many sessions
bench-ls:
    cargo run --release -p abide-testkit --bin bench-ls

# Figures about whole lives: wait, memory, record, past, search, stop, upgrade, kill-host, kill-guard (all of them without a name)
bench-life *WHAT:
    cargo run --release -p abide-testkit --bin bench-life -- {{ WHAT }}

# Programs that others drive: batch [TIMES], paste, exec [TIMES [SEED]], latency, crowd [SESSIONS [SECONDS]] (all of them without a name)
bench-drive *WHAT:
    cargo run --release -p abide-testkit --bin bench-drive -- {{ WHAT }}

# Many sessions for long, whose programs come and go and whose helpers are killed: what is wrong, and what grows
soak SESSIONS="200" SECONDS="3600":
    cargo run --release -p abide-testkit --bin bench-drive -- soak {{ SESSIONS }} {{ SECONDS }}

# Installs coding agents below target/agents and holds the released binary against them: all eight without a name (needs npm and python3)
real-agents *AGENT:
    cargo run --release -q -p abide-testkit --bin real-agents -- {{ AGENT }}

# Has ffmpeg decode a video of ours and compares every picture (needs ffmpeg)
video-check:
    cargo run --release -q -p abide-picture --example video-check

# Licences, sources and advisories of the dependencies (needs cargo-deny)
deny:
    cargo deny check

# What CI runs
ci:
    bash .ci/run

# What is shipped, below target/dist: an archive of binary, manual, completions and licences, and its checksum
release:
    bash .ci/release
