//! Puts bugs in on purpose, one at a time, into a copy of the tree, and says which test catches each: `mutants [NAME]`.
//! Fails if one gets through, or if a place that it changes is not there any more.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

/// A bug: what is written in the place of what, and the tests that are run on it.
struct Mutant {
    name: &'static str,
    file: &'static str,
    right: &'static str,
    wrong: &'static str,
    tests: &'static [&'static str],
}

const CORE: &[&str] = &["-p", "abide-core", "--test", "truth"];
const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "a pid alone is an identity",
        file: "crates/core/src/identity.rs",
        right: "(Some(recorded), Some(now)) => Ok(recorded == now),",
        wrong: "(Some(_), Some(_)) => Ok(true),",
        tests: CORE,
    },
    Mutant {
        name: "equal birth ticks are one process",
        file: "crates/core/src/identity.rs",
        right: "    want.outlived_its_tick().then_some(true).ok_or(Doubt::SameTick)",
        wrong: "    Ok(true)",
        tests: CORE,
    },
    Mutant {
        name: "a zombie is alive",
        file: "crates/core/src/identity.rs",
        right: "(Ok(true) | Err(_), Some(true)) => Liveness::Dead(Death::Exited),",
        wrong: "(Ok(true) | Err(_), Some(true)) => Liveness::Alive(None),",
        tests: CORE,
    },
    Mutant {
        name: "a process of another pid namespace is sought here",
        file: "crates/core/src/identity.rs",
        right: "Some(ns) if !other_boot && ns == want.pid_ns => Place::Same,",
        wrong: "Some(_) if !other_boot => Place::Same,",
        tests: CORE,
    },
    Mutant {
        name: "another boot id is a reboot, whoever made it",
        file: "crates/core/src/identity.rs",
        right: "if other_boot && want.kernel_boot && here.kernel_boot {",
        wrong: "if other_boot {",
        tests: CORE,
    },
    Mutant {
        name: "a dead guard means a dead program",
        file: "crates/core/src/verdict.rs",
        right: "Liveness::Alive(_) if abandoned => Rule::Unserved,",
        wrong: "Liveness::Alive(_) if abandoned => Rule::AllDead,",
        tests: CORE,
    },
    Mutant {
        name: "who cannot be seen is dead",
        file: "crates/core/src/verdict.rs",
        right: "        Liveness::Unknown(_) => Rule::CannotTell,\n    }\n}\n\n/// No process at the gate",
        wrong: "        Liveness::Unknown(_) => Rule::AllDead,\n    }\n}\n\n/// No process at the gate",
        tests: CORE,
    },
    Mutant {
        name: "a signal is a code",
        file: "crates/core/src/verdict/outcome.rs",
        right: "How::Signaled { .. } | How::ExecFailed { .. } | How::Lost => None,\n    });\n    let seen",
        wrong: "How::Signaled { signal, .. } => u8::try_from(128 + signal).ok(),\n        How::ExecFailed { .. } | How::Lost => None,\n    });\n    let seen",
        tests: CORE,
    },
    Mutant {
        name: "a word behind damage counts",
        file: "crates/core/src/evidence/fold.rs",
        right: "self.word_is_unclear = differs && (damaged || lost);",
        wrong: "self.word_is_unclear = differs && lost;",
        tests: CORE,
    },
    Mutant {
        name: "sealing does not ask again under its lock",
        file: "crates/engine/src/act/seal.rs",
        right: "close(truth, &dir, &mut writer, (&truth.of(home, id), reason))",
        wrong: "close(truth, &dir, &mut writer, (&found, reason))",
        tests: &["-p", "abide", "--test", "look", "sealer"],
    },
    Mutant {
        name: "who did not seal says that it did",
        file: "crates/engine/src/doctor.rs",
        right: "Ok(Sealing::WasClosed) => good(\"seal\", format!(\"session {id} was closed by another meanwhile\")),",
        wrong: "Ok(Sealing::WasClosed) => Check { health: Health::Mended, ..good(\"seal\", format!(\"session {id} sealed\")) },",
        tests: &["-p", "abide", "--test", "look", "sealer"],
    },
    Mutant {
        name: "what is said again is typed again",
        file: "crates/engine/src/guard/link.rs",
        right: "if known.is_some_and(|at| self.taken[at].1 >= seq) {",
        wrong: "if known.is_some_and(|at| self.taken[at].1 > seq + 1_000_000) {",
        tests: &["-p", "abide", "--test", "life", "what_is_said_again"],
    },
    Mutant {
        name: "whoever has the pid is held",
        file: "crates/sys/src/probe.rs",
        right: "not_alive @ (Liveness::Dead(_) | Liveness::Unknown(_)) => Err(not_alive),",
        wrong: "Liveness::Dead(_) | Liveness::Unknown(_) => Ok(pidfd),",
        tests: &["-p", "abide", "--test", "life", "strangers"],
    },
    Mutant {
        name: "the lock of another file speaks",
        file: "crates/engine/src/truth/file.rs",
        right: "Some(Record { file, id }) if recorded == Some(id) => lock::ask(file, holder),",
        wrong: "Some(Record { file, .. }) if recorded.is_some() => lock::ask(file, holder),",
        tests: &["-p", "abide-engine", "--test", "sessions"],
    },
    Mutant {
        name: "the next host reads from the beginning on top of the keyframe",
        file: "crates/engine/src/host/follow.rs",
        right: "let reader = Reader::new(recording, offset);",
        wrong: "let reader = Reader::new(recording, 0);",
        tests: &["-p", "abide", "--test", "life", "a_screen_is_the_same_live"],
    },
    Mutant {
        name: "a cap is healthy whether or not the session lives",
        file: "crates/abide/src/cmd/wait.rs",
        right: "None if session.is_healthy() && !strict => 0,",
        wrong: "None if !strict => 0,",
        tests: &["-p", "abide", "--test", "life", "killed::"],
    },
    Mutant {
        name: "two questions of the table are swapped where they are asked",
        file: "crates/engine/src/session.rs",
        right: "self.verdict.status, Column::Stoppable);",
        wrong: "self.verdict.status, Column::Commandable);",
        tests: &["-p", "abide", "--test", "life", "unattended"],
    },
    Mutant {
        name: "a turn keeps the owner of the one before",
        file: "crates/engine/src/agents/hook.rs",
        right: "                owner,\n                cwd: cwd.display().to_string(),",
        wrong: "                owner: owner.or(work.turn.as_ref().and_then(|told| told.body.owner)),\n                cwd: cwd.display().to_string(),",
        tests: &["-p", "abide", "--test", "life", "agents::hooked"],
    },
];

fn main() -> ExitCode {
    let only = std::env::args().nth(1);
    run(only.as_deref()).unwrap_or_else(|error| {
        let _ = writeln!(io::stderr(), "mutants: {error}");
        ExitCode::FAILURE
    })
}

fn run(only: Option<&str>) -> io::Result<ExitCode> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize()?;
    let copy = root.join("target/mutants");
    std::fs::create_dir_all(&copy)?;
    let tree = "git ls-files -z | xargs -0 cp --parents --update -t \"$0\"";
    if !Command::new("sh").args(["-c", tree]).arg(&copy).current_dir(&root).status()?.success() {
        return Err(io::Error::other("the tree cannot be copied"));
    }
    let mut out = io::stdout().lock();
    let (mut tried, mut through) = (0, 0);
    let mut sound = BTreeSet::new();
    for mutant in MUTANTS.iter().filter(|mutant| only.is_none_or(|only| mutant.name.contains(only))) {
        if sound.insert(mutant.tests) {
            mutant.must_pass_without_it(&copy)?;
        }
        let caught = mutant.try_on(&copy)?;
        tried += 1;
        through += usize::from(caught.is_empty());
        let by = if caught.is_empty() { "NOBODY".to_owned() } else { caught.join(", ") };
        writeln!(out, "{}: caught by {by}", mutant.name)?;
        out.flush()?;
    }
    writeln!(out, "{tried} bugs put in, {through} got through")?;
    Ok(if through == 0 && tried > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

impl Mutant {
    /// Puts it in, runs the tests, takes it out again; gives the tests that failed.
    fn try_on(&self, copy: &Path) -> io::Result<Vec<String>> {
        let path: PathBuf = copy.join(self.file);
        let text = std::fs::read_to_string(&path)?;
        if text.matches(self.right).count() != 1 {
            return Err(io::Error::other(format!("{}: not once in {}", self.name, self.file)));
        }
        write(&path, &text.replace(self.right, self.wrong))?;
        let failed = self.failing(copy);
        write(&path, &text)?;
        failed
    }

    /// Tests that fail without the bug would catch any.
    fn must_pass_without_it(&self, copy: &Path) -> io::Result<()> {
        let failed = self.failing(copy)?;
        let says = || io::Error::other(format!("{}: without the bug, {failed:?} fail too", self.name));
        if failed.is_empty() { Ok(()) } else { Err(says()) }
    }

    /// Runs the tests; gives those that failed, three at most.
    fn failing(&self, copy: &Path) -> io::Result<Vec<String>> {
        let said = self.test(copy)?;
        let passed = |line: &str| line.strip_prefix("test ").is_some_and(|line| line.ends_with(" ... ok"));
        let failed = said.lines().filter_map(|line| line.strip_prefix("test ")?.strip_suffix(" ... FAILED"));
        let failed = failed.take(3).map(|name| name.rsplit("::").next().unwrap_or(name).to_owned());
        let failed: Vec<String> = failed.collect();
        if failed.is_empty() && !said.lines().any(passed) {
            return Err(io::Error::other(format!("{}: nothing was tested:\n{said}", self.name)));
        }
        Ok(failed)
    }

    fn test(&self, copy: &Path) -> io::Result<String> {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        command.arg("test").args(self.tests).current_dir(copy).env("CARGO_INCREMENTAL", "1");
        command.env("CARGO_TARGET_DIR", copy.join("target")).env("RUSTFLAGS", "-Awarnings");
        let ran = command.stdin(Stdio::null()).output()?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok([text(&ran.stdout), text(&ran.stderr)].concat())
    }
}

/// In place: what the compiler looks at is when it was written.
fn write(path: &Path, text: &str) -> io::Result<()> {
    std::fs::File::create(path)?.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bug_has_its_place_in_the_code() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for mutant in MUTANTS {
            let text = std::fs::read_to_string(root.join(mutant.file)).expect("it is there");
            assert_eq!(text.matches(mutant.right).count(), 1, "{}: {}", mutant.name, mutant.file);
        }
    }
}
