//! The lives of sessions: each is launched, told and hit as its steps say, in a thread of its own, and at the end brought
//! to its end, read once more as a whole, and removed.

use std::fs::OpenOptions;
use std::io::Write;
use std::process::Stdio;
use std::sync::{Arc, PoisonError};
use std::thread::{self, JoinHandle};

use abide_sys::clock;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::{Run, faults, readers, worlds};
use crate::judge::{Kind, RECORDED_WITHIN, list};
use crate::schedule::{Act, Order, Schedule, Step, Way};
use crate::site::{Said, ask, finish};
use crate::truth::Ending;

/// How long a program may take to be there once it was asked for, or to be gone once it was killed.
const PATIENCE_MS: u64 = 15_000;
/// How long a waiter waits, longer than any life.
const WAITER_MS: u64 = 180_000;

/// Starts every life at its time, and waits for all of them.
pub(super) fn live_all(run: &Arc<Run>, schedule: &Schedule) {
    let mut lives: Vec<JoinHandle<()>> = Vec::new();
    for tag in schedule.tags() {
        let steps = schedule.of_tag(tag);
        run.pause_until(steps.first().map_or(0, |step| step.at_ms));
        let run = Arc::clone(run);
        lives.push(thread::spawn(move || live(&run, tag, &steps)));
        lives.retain(|life| !life.is_finished());
    }
    for life in lives {
        let _ = life.join();
    }
}

fn live(run: &Arc<Run>, tag: u32, steps: &[Step]) {
    let mut later: Vec<JoinHandle<()>> = Vec::new();
    let is_session = tag != 0;
    for step in steps {
        run.pause_until(step.at_ms);
        if step.act == Act::Remove {
            break;
        }
        if let Some(beside) = perform(run, *step) {
            run.report().fault(&step.act.label());
            later.extend(beside);
        }
    }
    if is_session && steps.iter().any(|step| matches!(step.act, Act::Launch(..))) {
        run.report().sessions += 1;
        let removal = steps.iter().find(|step| step.act == Act::Remove).map(|step| step.at_ms);
        end(run, tag, removal);
    }
    // Waiters among them: they come back when the session is over.
    for one in later {
        let _ = one.join();
    }
}

/// Does one thing; gives what goes on beside it, or none if it could not be done.
fn perform(run: &Arc<Run>, step: Step) -> faults::Done {
    let tag = step.tag;
    match step.act {
        Act::Launch(way, value) => return Some(launch(run, tag, way, value)),
        Act::Order(order, value) => tell(run, tag, order, value),
        Act::Hit(victim, blow, ms) => return faults::hit(run, tag, (victim, blow), ms),
        Act::Stop(grace) => return faults::stop(run, tag, grace),
        Act::Spoil(target, spoiling, place) => return faults::spoil(run, tag, (target, spoiling), place),
        Act::Client(manner, ms) => return faults::client(run, tag, manner, ms),
        Act::Abroad(world) => return worlds::ask_from(run, tag, world),
        Act::Reuse(ms) => return faults::reuse(run, tag, ms),
        Act::Seal(sealers) => faults::seal(run, sealers),
        Act::Upgrade => return faults::upgrade(run),
        Act::Fill(ms) => return faults::fill(run, ms),
        Act::Remove => {}
    }
    Some(Vec::new())
}

fn launch(run: &Arc<Run>, tag: u32, way: Way, value: u64) -> Vec<JoinHandle<()>> {
    let name = list::name(tag);
    let full = run.full.load(std::sync::atomic::Ordering::SeqCst);
    run.ledger.note(tag, |truth| {
        truth.harm.launch = full || !matches!(way, Way::Detached | Way::Waiting);
        truth.harm.recording = full;
    });
    let Ok(puppet) = run.site.puppet(tag) else { return Vec::new() };
    let mut args = match way {
        Way::Waiting | Way::LauncherKilled | Way::LauncherStopped => {
            vec!["run", "--wait", "--name", &name, "--"]
        }
        Way::Detached | Way::FewFiles | Way::FewProcesses => {
            vec!["run", "-d", "--json", "--name", &name, "--"]
        }
    };
    args.extend(puppet.iter().map(String::as_str));
    match way {
        Way::Detached => {
            if let Some((said, answered)) = readers::answer(run, tag, &args) {
                detached(run, tag, &said, &answered);
            }
        }
        Way::FewFiles => starved(run, tag, &["prlimit", &format!("--nofile={}", 3 + value * 2)], &args),
        Way::FewProcesses => starved(run, tag, &["prlimit", &format!("--nproc={}", 1 + value % 8)], &args),
        Way::Waiting | Way::LauncherKilled | Way::LauncherStopped => {
            launch_and_wait(run, tag, way, (value, &args));
        }
    }
    run.ledger.await_truth(tag, if full || way != Way::Detached { 2_000 } else { PATIENCE_MS }, |truth| {
        truth.born.is_some()
    });
    if run.ledger.truth(tag).id.is_none() {
        return Vec::new();
    }
    let run = Arc::clone(run);
    vec![thread::spawn(move || wait_for(&run, tag))]
}

/// What `run -d` says is an answer like any other.
fn detached(run: &Run, tag: u32, said: &Said, answered: &readers::Answered) {
    match answered {
        Ok(data) => {
            let id = data.get("id").and_then(serde_json::Value::as_str).map(str::to_owned);
            let truth = run.ledger.truth(tag);
            if truth.id.is_some() && truth.id != id {
                run.lie(
                    Kind::WrongProcess.about(tag, format!("`run` said {id:?}, its program {:?}", truth.id)),
                );
            }
            run.ledger.note(tag, |truth| {
                truth.launched = truth.launched.or(Some(said.asked.back));
                truth.id = truth.id.take().or(id);
            });
            run.report().count("run", 1);
            readers::judged(run, said.asked, &truth, answered);
        }
        Err(error) => {
            let truth = run.ledger.truth(tag);
            if !truth.harm.launch && !truth.harm.recording {
                run.lie(Kind::Refusal.about(tag, format!("`run` refused: {error}")));
            } else if truth.born.is_some() {
                run.lie(
                    Kind::FalseBeginning.about(tag, format!("`run` refused, and its program runs: {error}")),
                );
            }
        }
    }
}

/// A launch with too little of something: it may fail, in words, and must leave nothing behind.
fn starved(run: &Run, tag: u32, words: &[&str], args: &[&str]) {
    let Ok(said) = ask(&mut run.site.abide_behind(words, args)) else { return };
    // With hardly a descriptor not even the loader of the executable works: that is not abide's answer.
    let begun = !said.out.is_empty() || said.err.contains("panicked at");
    if begun && let Some((said, answered)) = readers::examine(run, tag, args, said) {
        detached(run, tag, &said, &answered);
    }
}

/// A launcher that stays, and what happens to it after so many ms.
fn launch_and_wait(run: &Arc<Run>, tag: u32, way: Way, (ms, args): (u64, &[&str])) {
    let mut command = run.site.abide(args);
    let spawned = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let Ok(mut launcher) = spawned else { return };
    let call = clock::boot_micros();
    let run = Arc::clone(run);
    if way != Way::Waiting {
        run.pause(ms);
        faults::strike(&launcher, if way == Way::LauncherKilled { faults::KILL } else { faults::STOP });
    }
    // Nobody needs it any more; what it passes on is judged if nothing was done to it.
    thread::spawn(move || {
        if way == Way::LauncherStopped {
            run.pause(500);
            faults::strike(&launcher, faults::CONT);
        }
        let Ok(said) = finish(&mut launcher, call, WAITER_MS) else { return };
        if way != Way::Waiting || run.is_over() {
            return;
        }
        run.report().count("run --wait", 1);
        let truth = run.ledger.truth(tag);
        let code = said.code.and_then(|code| u8::try_from(code).ok());
        let passed_on = truth.ending.map(|ending| match ending {
            Ending::Exited(code) => code,
            Ending::Signaled(signal) => 128 + signal,
        });
        let excused = truth.abandoned() || truth.harm.evidence || truth.harm.launch;
        if let (Some(code), Some(due)) = (code, passed_on)
            && code != due
            && !(excused && code == 125)
        {
            let says = format!("`run --wait` exited with {code}, not {due}: {:?}", said.err);
            run.lie(Kind::WrongCode.about(tag, says));
        }
    });
}

/// A waiter from the beginning to the end: told the truth, and soon.
fn wait_for(run: &Run, tag: u32) {
    let id = run.ledger.truth(tag).id.unwrap_or_default();
    let args = ["wait", "--json", id.as_str()];
    let mut command = run.site.abide(&args);
    let spawned = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let Ok(mut waiter) = spawned else { return };
    let call = clock::boot_micros();
    let pid = i32::try_from(waiter.id()).ok().and_then(Pid::from_raw);
    if let Some(pidfd) = pid.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok()) {
        run.waiters.lock().unwrap_or_else(PoisonError::into_inner).insert(tag, Arc::new(pidfd));
    }
    let Ok(said) = finish(&mut waiter, call, WAITER_MS) else { return };
    let untouched = run.waiters.lock().unwrap_or_else(PoisonError::into_inner).remove(&tag).is_some();
    if !untouched {
        return;
    }
    let back = said.asked.back;
    let Some((said, answered)) = readers::examine(run, tag, &args, said) else { return };
    run.report().count("wait to the end", 1);
    let truth = run.ledger.truth(tag);
    readers::judged(run, said.asked, &truth, &answered);
    run.lies(readers::wait_code(tag, &said, &answered).into_iter().collect());
    let harm = truth.harm;
    if harm.waiters || harm.evidence || harm.launch || harm.guard || harm.host {
        return;
    }
    let late = truth.dead.map_or(0, |dead| back.saturating_sub(dead.max(truth.held_until)));
    let mut report = run.report();
    report.lag.waiter = report.lag.waiter.max(late);
    if late > RECORDED_WITHIN {
        report.lie(Kind::LateEnd.about(tag, format!("`wait` returned {late} us after the end")));
    }
}

/// Tells a program what to do. What may come of it is noted first.
fn tell(run: &Run, tag: u32, order: Order, value: u64) {
    let number = u8::try_from(value).unwrap_or(0);
    run.ledger.note(tag, |truth| match order {
        Order::Print => truth.output.told += value,
        Order::Exit => truth.may_end(Ending::Exited(number)),
        Order::Die => truth.may_end(Ending::Signaled(number)),
        Order::Polite => truth.become_polite(),
        Order::Stubborn | Order::Fork | Order::Setsid | Order::CloseTerminal | Order::Become => {}
    });
    let orders = OpenOptions::new().read(true).write(true).open(run.site.orders(tag));
    let _ = orders.and_then(|mut file| file.write_all(format!("{} {value}\n", order.word()).as_bytes()));
}

/// Brings a session to its end, reads it as a whole, and removes it.
fn end(run: &Run, tag: u32, removal_ms: Option<u64>) {
    let truth = run.ledger.truth(tag);
    let Some(id) = truth.id.clone() else { return };
    // What it was told may still be on its way.
    let patience = if truth.endings.is_empty() { 0 } else { 2_000 };
    if truth.born.is_some() && !run.ledger.await_truth(tag, patience, |truth| truth.dead.is_some()) {
        let _ = faults::stop(run, tag, 300);
        if !run.ledger.await_truth(tag, PATIENCE_MS, |truth| truth.dead.is_some()) {
            faults::kill_program(run, tag);
        }
    }
    if !truth.harm.evidence {
        readers::waited(run, tag, &["wait", "--json", "--cap", "15s", &id]);
        readers::logs(run, tag, &id, true);
    }
    run.lies(run.ledger.disturbed(tag).into_iter().collect());
    if let Some(at_ms) = removal_ms {
        run.pause_until(at_ms);
    }
    remove(run, tag, &id);
}

fn remove(run: &Run, tag: u32, id: &str) {
    run.ledger.note(tag, |truth| truth.removal = Some(clock::boot_micros()));
    let _ = readers::answer(run, tag, &["rm", "--json", id]);
    let (truth, folder) = (run.ledger.truth(tag), run.site.session(id));
    if folder.exists() {
        // What cannot be told is never collected: that is for whoever damaged it.
        if !truth.harm.evidence && !truth.harm.launch {
            let inspected = readers::answer(run, tag, &["inspect", "--json", id]);
            let says = inspected.map_or_else(String::new, |(said, _)| said.out);
            run.lie(Kind::LeftOver.about(tag, format!("`rm` left its directory behind: {says}")));
        }
        let _ = std::fs::remove_dir_all(folder);
    }
    let _ = std::fs::remove_file(run.site.orders(tag));
}
