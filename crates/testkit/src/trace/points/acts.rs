//! The acts, what each needs, and what must be true of it whoever was hit at whichever step.

use std::process::Command;

use serde_json::Value;

use super::{Act, Blow, Site, names};
use crate::deadline::until;
use crate::running::Ran;
use crate::scene::{Scene, dead};

const DEATHS: &[Blow] = &[Blow::Kill, Blow::Abort];

pub static ACTS: [Act; 14] = [
    Act {
        name: "launch and end",
        then: "not listed, or its real end, or lost; nothing is left over, its name is free",
        calls: &[
            "write",
            "renameat2",
            "sendmsg,sendto",
            "pwrite64",
            "fallocate",
            "mkdir,mkdirat,mknodat",
            "symlinkat",
            "fsync",
        ],
        blows: DEATHS,
        prepare: |site| {
            let mark = site.beside("ran").display().to_string();
            let short = ["sh", "-c", "echo ran > \"$0\"; exit 3", &mark];
            site.abide.command(&[&["run", "-d", "--name", "short", "--"][..], &short].concat())
        },
        judge: after_a_launch,
    },
    Act {
        name: "host change",
        then: "the program goes on, every line is on record once, its code is exact",
        // Only hosts make these.
        calls: &["renameat", "fdatasync", "fsync"],
        blows: DEATHS,
        prepare: |site| {
            let lines = "for n in 1 2 3 4 5 6 7 8 9; do echo \"line $n.\"; sleep 0.05; done; exit 3";
            site.abide.command(&["run", "-d", "--", "sh", "-c", lines])
        },
        judge: after_host_changes,
    },
    Act {
        name: "stop",
        then: "running or ended as asked; asked again, it is ended and that is proved",
        calls: &["write", "pidfd_send_signal,rt_sigqueueinfo,kill"],
        blows: &Blow::ALL,
        prepare: |site| {
            let id = site.launch(&["sleep", "1000"]);
            site.abide.command(&["stop", "--grace", "5s", &id])
        },
        judge: after_a_stop,
    },
    Act {
        name: "time limit",
        then: "ended as its limit asks, or by itself, or lost; a stop that was carried out is on record",
        // Its guard is the one that signals.
        calls: &["pidfd_send_signal,rt_sigqueueinfo,kill"],
        blows: DEATHS,
        prepare: |site| site.abide.command(&["run", "-d", "--timeout", "200ms", "--", "sleep", "2"]),
        judge: after_a_limit,
    },
    Act {
        name: "exec",
        then: "its line ran once, or not and it did not say that it did; the next one runs",
        calls: &["write", "sendmsg,sendto", "renameat,renameat2", "unlinkat", "symlinkat"],
        blows: &Blow::ALL,
        prepare: |site| {
            let _ = site.abide.run(&["run", "-d", "--name", "works", "--", "bash", "--norc", "--noprofile"]);
            let line = format!("echo ran >> {}", site.beside("ran").display());
            site.abide.command(&["exec", "works", "--", &line])
        },
        judge: after_a_line,
    },
    Act {
        name: "declare",
        then: "the program's code, or the one that was declared; that one if it was said to be",
        calls: &["write", "pwrite64", "ftruncate", "renameat2"],
        blows: &Blow::ALL,
        prepare: |site| {
            launch_gated(site);
            site.abide.command(&["result", "set", "partial", "--exit-code", "7", "--session", "works"])
        },
        judge: after_a_word,
    },
    Act {
        name: "seal",
        then: "lost before and after, sealed once",
        calls: &["write", "fdatasync"],
        blows: &Blow::ALL,
        prepare: |site| {
            let process = dead();
            drop(Scene::new(&site.home.path(), "lost0000").served(&process, &process, &process));
            site.abide.command(&["doctor", "--fix"])
        },
        judge: after_a_seal,
    },
    Act {
        name: "remove",
        then: "there with its code, or going; removed the next time, nothing is left over",
        calls: &["write", "renameat,renameat2", "unlinkat"],
        blows: &Blow::ALL,
        prepare: |site| {
            let id = ended(site);
            site.abide.command(&["rm", &id])
        },
        judge: |site, ran| after_removals(site, ran, &["rm", "ended"]),
    },
    Act {
        name: "gc",
        then: "the same of each; what lives is left alone",
        calls: &["write", "renameat,renameat2", "unlinkat"],
        blows: &Blow::ALL,
        prepare: |site| {
            let _ = ended(site);
            let _ = site.abide.run(&["run", "--wait", "--", "sh", "-c", "exit 3"]);
            let _ = site.abide.run(&["run", "-d", "--name", "lives", "--", "sleep", "1000"]);
            site.abide.command(&["gc", "--older", "0s"])
        },
        judge: |site, ran| after_removals(site, ran, &["gc", "--older", "0s"]),
    },
    Act {
        name: "pack",
        then: "every line is there, packed or not; packed the next time",
        calls: &["write", "fsync", "renameat,renameat2", "unlinkat"],
        blows: &Blow::ALL,
        prepare: |site| {
            let _ =
                site.abide.run(&["run", "--wait", "--name", "ended", "--", "sh", "-c", "seq 9000; exit 3"]);
            // What helpers still have in hand is not packed.
            let gone = |one: &Value| {
                ["guard", "host"].iter().all(|who| one["processes"][*who]["liveness"] == "dead")
            };
            until("its helpers are gone", || site.sessions().iter().all(gone));
            site.abide.command(&["gc", "--pack", "0s"])
        },
        judge: after_a_packing,
    },
    Act {
        name: "first checkpoint",
        then: "every checkpoint that is listed is whole; the next one is made",
        calls: &["write", "ftruncate", "fdatasync", "fsync", "unlinkat", "renameat,renameat2"],
        blows: &Blow::ALL,
        prepare: |site| {
            plan(site);
            save(site)
        },
        judge: |site, _| after_a_checkpoint(site, 0, ONE),
    },
    Act {
        name: "next checkpoint",
        then: "the same",
        // Its scribe may be quicker, but for these.
        calls: &["write", "ftruncate", "fdatasync", "fsync"],
        blows: &Blow::ALL,
        prepare: |site| {
            plan(site);
            let _ = save(site).output();
            let _ = site.home.around().file("plan", TWO);
            save(site)
        },
        judge: |site, _| after_a_checkpoint(site, 1, TWO),
    },
    Act {
        name: "hooks",
        then: "an agent's settings are as they were, or whole with the hooks; taken out, they are as they were",
        calls: &["write", "fsync", "rename,renameat,renameat2"],
        blows: &Blow::ALL,
        prepare: |site| {
            let _ = std::fs::create_dir_all(site.beside(".claude"));
            let _ = site.home.around().file(".claude/settings.json", SETTINGS);
            site.abide.command(&["hooks", "install", "claude"])
        },
        judge: after_an_installation,
    },
    Act {
        name: "upgrade",
        then: "the session goes on as one version or the other; upgraded the next time, its code is exact",
        calls: &["symlinkat", "renameat", "pidfd_send_signal,rt_sigqueueinfo,kill"],
        blows: &Blow::ALL,
        prepare: |site| {
            launch_gated(site);
            site.abide.copied_to(&site.beside("next")).command(&["upgrade", "works"])
        },
        judge: after_an_upgrade,
    },
];

const ONE: &str = "first\n";
const TWO: &str = "first\nsecond\n";
const SETTINGS: &str = "{\n  \"model\": \"opus\"\n}\n";

/// A session by the name `works`, and a file whose checkpoints are its.
fn plan(site: &Site) {
    let _ = site.abide.run(&["run", "-d", "--name", "works", "--", "sleep", "1000"]);
    let _ = site.home.around().file("plan", ONE);
}

fn save(site: &Site) -> Command {
    let plan = site.beside("plan").display().to_string();
    site.abide.command(&["checkpoint", "works", "--file", &plan])
}

/// A session that ended with 3, by the name `ended`.
fn ended(site: &Site) -> String {
    let ran = site.abide.run(&["run", "--wait", "--json", "--name", "ended", "--", "sh", "-c", "exit 3"]);
    ran.json()["data"]["id"].as_str().unwrap_or_default().to_owned()
}

/// A session that exits with 3 once it is let go, by the name `works`.
fn launch_gated(site: &Site) {
    let gate = site.beside("gate").display().to_string();
    let _ = Command::new("mkfifo").arg(&gate).status();
    let script = ["sh", "-c", "read go < \"$0\"; exit 3", &gate];
    let _ = site.abide.run(&[&["run", "-d", "--name", "works", "--"][..], &script].concat());
}

fn let_go(site: &Site) -> Result<(), String> {
    let opened = std::fs::OpenOptions::new().write(true).open(site.beside("gate"));
    let opened = opened.and_then(|mut gate| std::io::Write::write_all(&mut gate, b"go\n"));
    opened.map_err(|error| error.to_string())
}

fn expect(holds: bool, what: &str, seen: &dyn std::fmt::Debug) -> Result<(), String> {
    if holds { Ok(()) } else { Err(format!("{what}: {seen:?}")) }
}

fn after_a_launch(site: &Site, ran: &Ran) -> Result<(), String> {
    let did_run = site.beside("ran").exists();
    let sessions = site.sessions();
    let id = ran.stdout.trim_end();
    expect(sessions.len() <= 1 && (!did_run || sessions.len() == 1), "not one session", &sessions)?;
    expect(id.is_empty() || sessions.iter().any(|one| one["id"] == id), "it is not listed", &ran)?;
    for session in &sessions {
        let killed = matches!(session["outcome"]["signal"].as_i64(), Some(9 | 6));
        let fits = match (session["status"].as_str(), session["outcome"]["code"].as_i64()) {
            (Some("exited"), Some(3)) => did_run,
            (Some("exited"), None) => killed,
            (Some("lost"), None) => true,
            (Some("failed"), None) => !did_run,
            _ => false,
        };
        expect(fits, "not what was", session)?;
    }
    site.must(&["doctor", "--fix"], 0)?;
    expect(site.names().len() == sessions.len(), "something is left over", &site.names())?;
    site.must(&["run", "-d", "--name", "short", "--", "true"], 0).map(drop)
}

fn after_host_changes(site: &Site, _: &Ran) -> Result<(), String> {
    site.must(&["wait", "@last"], 3)?;
    let all = site.must(&["logs", "--raw", "@last"], 0)?.stdout;
    let lines: String = (1..=9).map(|number| format!("line {number}.\r\n")).collect();
    expect(all == lines, "not every line once", &all)
}

fn after_a_stop(site: &Site, _: &Ran) -> Result<(), String> {
    let sessions = site.sessions();
    let fits = |one: &Value| match one["status"].as_str() {
        Some("running" | "exiting") => true,
        Some("exited") => one["outcome"]["signal"] == 15,
        _ => false,
    };
    expect(sessions.len() == 1 && sessions.iter().all(fits), "not what was", &sessions)?;
    let again = site.abide.run(&["stop", "--grace", "5s", "@last"]);
    // One that is over is refused, by its status.
    expect(matches!(again.code(), Some(0 | 5)), "it was not ended", &again)?;
    let session = site.sessions().pop().unwrap_or_default();
    expect(session["outcome"]["signal"] == 15, "not as it was asked", &session)
}

fn after_a_limit(site: &Site, _: &Ran) -> Result<(), String> {
    let sessions = site.sessions();
    let fits = |one: &Value| match (one["status"].as_str(), &one["outcome"]) {
        (Some("exited"), by_itself) if by_itself["code"] == 0 => true,
        (Some("exited"), asked) => asked["signal"] == 15 && asked["cause"] == "timeout",
        (Some("lost"), _) => true,
        _ => false,
    };
    expect(sessions.len() == 1 && sessions.iter().all(fits), "not what was", &sessions)
}

fn after_a_line(site: &Site, ran: &Ran) -> Result<(), String> {
    let again = site.must(&["exec", "works", "--", "echo again"], 0)?;
    expect(again.stdout == "again\n", "the next line does not run", &again)?;
    let lines = std::fs::read_to_string(site.beside("ran")).unwrap_or_default();
    let fits = lines == "ran\n" || lines.is_empty() && ran.code() != Some(0);
    expect(fits, "not once", &(lines, ran))?;
    site.must(&["stop", "--grace", "0s", "works"], 0).map(drop)
}

fn after_a_packing(site: &Site, _: &Ran) -> Result<(), String> {
    let all: String = (1..=9000).map(|number| format!("{number}\r\n")).collect();
    let whole = |site: &Site| {
        let shown = site.must(&["logs", "--raw", "ended"], 0)?.stdout;
        expect(shown == all, "not every line", &shown.len())?;
        site.must(&["wait", "ended"], 3)
    };
    whole(site)?;
    site.must(&["doctor", "--fix"], 0)?;
    site.must(&["gc", "--pack", "0s"], 0)?;
    whole(site)?;
    let folder = site.home.path().join("sessions").join(site.names().pop().unwrap_or_default());
    let recordings: Vec<String> =
        names(&folder).into_iter().filter(|name| name.contains("recording")).collect();
    expect(recordings == ["recording.packed"], "not packed, or twofold", &recordings)
}

fn after_an_installation(site: &Site, ran: &Ran) -> Result<(), String> {
    let path = site.beside(".claude/settings.json");
    let read = || std::fs::read_to_string(&path).map_err(|error| error.to_string());
    let settings = read()?;
    let known: Value = serde_json::from_str(&settings).map_err(|error| format!("{error}: {settings}"))?;
    let whole = settings == SETTINGS && ran.code() != Some(0) || known["hooks"]["SessionEnd"].is_array();
    expect(whole && known["model"] == "opus", "not what was", &(settings, ran))?;
    site.must(&["hooks", "install", "claude"], 0)?;
    expect(read()?.contains("hook claude SessionEnd"), "they are not installed", &())?;
    site.must(&["hooks", "uninstall", "claude"], 0)?;
    expect(read()? == SETTINGS, "not as they were", &read()?)
}

fn after_a_word(site: &Site, ran: &Ran) -> Result<(), String> {
    let_go(site)?;
    let waited = site.abide.run(&["wait", "works"]);
    let fits = match (ran.code(), waited.code()) {
        (Some(0), code) => code == Some(7),
        (_, code) => matches!(code, Some(3 | 7)),
    };
    expect(fits, "not its code", &(ran, waited))
}

fn after_a_seal(site: &Site, _: &Ran) -> Result<(), String> {
    let lost = |site: &Site| {
        let session = site.sessions().pop().unwrap_or_default();
        expect(session["status"] == "lost" && session["wait_code"] == 125, "it is not lost", &session)
    };
    lost(site)?;
    site.must(&["doctor", "--fix"], 0)?;
    lost(site)?;
    let log = std::fs::read_to_string(site.home.path().join("sessions/lost0000/evidence"));
    let log = log.map_err(|error| error.to_string())?;
    expect(log.matches("\"fact\":\"sealed\"").count() == 1, "not sealed once", &log)
}

fn after_removals(site: &Site, _: &Ran, again: &[&str]) -> Result<(), String> {
    for session in site.sessions() {
        let fits = match (session["status"].as_str(), session["name"].as_str()) {
            (Some("running"), Some("lives")) => true,
            (Some("exited" | "destroying" | "destroyed"), _) => session["exit_code"] == 3,
            _ => false,
        };
        expect(fits, "not what was", &session)?;
    }
    site.must(&["doctor", "--fix"], 0)?;
    let ran = site.abide.run(again);
    // What is gone cannot be removed again.
    expect(matches!(ran.code(), Some(0 | 3)), "it was not removed", &ran)?;
    let left: Vec<Value> = site.sessions();
    let lives = left.iter().all(|one| one["name"] == "lives" && one["status"] == "running");
    let nothing_else = site.names().len() == left.len();
    let stopped = left.is_empty() || site.abide.run(&["stop", "--grace", "0s", "lives"]).code() == Some(0);
    expect(lives && nothing_else && stopped, "not only what lives is left", &(left, site.names()))
}

fn after_a_checkpoint(site: &Site, at_least: usize, now: &str) -> Result<(), String> {
    let whole = |site: &Site| -> Result<usize, String> {
        let listed = site.must(&["checkpoint", "ls", "--json", "works"], 0)?.json();
        let made = listed["data"]["checkpoints"].as_array().cloned().unwrap_or_default();
        for number in 1..=made.len() {
            let to = site.beside("back").display().to_string();
            let number = number.to_string();
            site.must(&["checkpoint", "restore", "works", "-n", &number, "--to", &to, "--force"], 0)?;
            let text = std::fs::read_to_string(&to).map_err(|error| error.to_string())?;
            expect(text == ONE || text == now, "a checkpoint is not whole", &text)?;
        }
        Ok(made.len())
    };
    let before = whole(site)?;
    expect(before >= at_least, "the first is gone", &before)?;
    let made = Ran::of(&mut save(site));
    expect(made.code() == Some(0), "the next is not made", &made)?;
    whole(site)?;
    let to = site.beside("back").display().to_string();
    site.must(&["checkpoint", "restore", "works", "--to", &to, "--force"], 0)?;
    let text = std::fs::read_to_string(&to).map_err(|error| error.to_string())?;
    expect(text == now, "the latest is not the file", &text)?;
    site.must(&["stop", "--grace", "0s", "works"], 0)?;
    site.must(&["doctor"], 0).map(drop)
}

fn after_an_upgrade(site: &Site, _: &Ran) -> Result<(), String> {
    let session = site.sessions().pop().unwrap_or_default();
    expect(session["status"] == "running", "it does not run", &session)?;
    let next = site.abide.copied_to(&site.beside("after"));
    let upgraded = next.run(&["upgrade", "works"]);
    expect(upgraded.code() == Some(0), "it is not upgraded", &upgraded)?;
    let_go(site)?;
    site.must(&["wait", "works"], 3).map(drop)
}
