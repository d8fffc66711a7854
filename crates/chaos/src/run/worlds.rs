//! Questions from other worlds: another time, boot or pid namespace, a home that cannot be written. The guard knows
//! nothing of them, and the answers must still be true.

use std::fs::File;
use std::io::Write;

use serde_json::Value;

use super::faults::Done;
use super::{Run, readers};
use crate::schedule::World;
use crate::site::ask;

/// Asks about a session from there.
pub(super) fn ask_from(run: &Run, tag: u32, world: World) -> Done {
    let label = format!("ask from {}", world.word());
    if !run.walled {
        run.skip(&label, "needs namespaces of our own");
        return None;
    }
    let id = run.ledger.truth(tag).id?;
    let (home, boot) = (run.site.home(), run.site.root().join("boot_id"));
    let (home, boot) = (home.to_string_lossy(), boot.to_string_lossy());
    let script = match world {
        World::OtherTime | World::OtherPids => String::new(),
        World::OtherBoot => {
            let text = b"11111111-2222-4333-8444-555555555555\n";
            if File::create(&*boot).and_then(|mut file| file.write_all(text)).is_err() {
                return None;
            }
            format!("mount --bind '{boot}' /proc/sys/kernel/random/boot_id && exec \"$@\"")
        }
        World::ReadOnly => {
            format!("mount --bind '{home}' '{home}' && mount -o remount,bind,ro '{home}' && exec \"$@\"")
        }
    };
    let words: Vec<&str> = match world {
        World::OtherTime => {
            vec!["unshare", "--time", "--boottime", "9000000", "--monotonic", "9000000", "--fork", "--"]
        }
        World::OtherPids => vec!["unshare", "--pid", "--mount-proc", "--fork", "--"],
        World::OtherBoot | World::ReadOnly => vec!["unshare", "--mount", "--", "sh", "-c", &script, "sh"],
    };
    let args = ["inspect", "--json", &id];
    let Ok(said) = ask(&mut run.site.abide_behind(&words, &args)) else { return None };
    if !said.out.starts_with('{') && (said.err.contains("unshare:") || said.err.contains("mount:")) {
        run.skip(&label, said.err.trim());
        return None;
    }
    let (said, answered) = readers::examine(run, tag, &args, said)?;
    run.report().count("inspect from elsewhere", 1);
    let mut truth = run.ledger.truth(tag);
    // From there it may be impossible to tell.
    truth.harm.evidence |= world != World::ReadOnly;
    if world == World::OtherPids {
        truth.pid = None;
    }
    let rebooted = world == World::OtherBoot && is_lost(&answered);
    if !rebooted {
        readers::judged(run, said.asked, &truth, &answered);
    }
    Some(Vec::new())
}

/// What another boot must make of a session whose end is not on record: whatever ran then is gone.
fn is_lost(answered: &readers::Answered) -> bool {
    answered.as_ref().is_ok_and(|data| data.get("status").and_then(Value::as_str) == Some("lost"))
}
