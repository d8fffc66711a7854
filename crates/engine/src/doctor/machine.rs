//! What can be wrong with this machine: what it tells of processes, how much room it has, what it does at a logout.

use std::path::Path;

use abide_core::identity::Liveness;
use abide_core::place::{Place, Stays};
use abide_sys::cgroup::Cgroup;

use super::{Check, bad, good, weak};
use crate::store::Home;
use crate::{Truth, place};

/// Less room than this is soon used up: a session takes some 10 KiB, and what it shows.
const LITTLE: u64 = 256 << 20;
const NONE: u64 = 1 << 20;
const FEW_FILES: u64 = 10_000;

pub(super) fn checks(truth: &Truth) -> Vec<Check> {
    vec![machine_id(truth), boot(truth), identity(truth), ends(truth), cgroup(), logout()]
}

/// How much room there is where the sessions are.
pub(super) fn room(home: &Home) -> Option<Check> {
    let (name, fix) = ("room", "`abide gc --older 7d` makes some, or choose another home with ABIDE_HOME");
    let (bytes, files) = home.room().ok()?;
    let mib = bytes >> 20;
    Some(match files {
        _ if bytes < NONE => {
            bad(name, "the disk is full: nothing can be launched, and recordings are cut", fix)
        }
        Some(0) => bad(name, "the disk takes no more files: nothing can be launched", fix),
        _ if bytes < LITTLE => weak(name, &format!("only {mib} MiB are left where the sessions are"), fix),
        Some(files) if files < FEW_FILES => weak(name, &format!("only {files} more files can be made"), fix),
        Some(_) | None if mib >= 10 << 10 => good(name, "more than 10 GiB are free".to_owned()),
        Some(_) | None => good(name, format!("{mib} MiB are free")),
    })
}

/// Whether the code of a program is known also if its guard is killed before it.
fn ends(truth: &Truth) -> Check {
    let name = "exact ends";
    match truth.keeps_ends() {
        Some(true) => good(name, "the kernel keeps the code of a program whose guard was killed".to_owned()),
        None => weak(
            name,
            "whether this kernel keeps the code of a program whose guard was killed could not be tested",
            "mount /proc",
        ),
        Some(false) => weak(
            name,
            "the end of a program whose guard was killed may be `lost`: this kernel does not keep its code",
            "Linux 6.15 or later",
        ),
    }
}

fn machine_id(truth: &Truth) -> Check {
    match truth.here().machine {
        Some(_) => good("machine id", "readable".to_owned()),
        None => weak(
            "machine id",
            "not readable: after a reboot, what ran before stays `unknown`",
            "systemd-machine-id-setup, or write 32 hex digits to /etc/machine-id",
        ),
    }
}

fn boot(truth: &Truth) -> Check {
    match truth.here().boot {
        Some(_) => good("boot id", "readable".to_owned()),
        None => bad("boot id", "not readable: no process can be judged", "mount /proc"),
    }
}

/// Whether this very process can be identified and then recognised.
fn identity(truth: &Truth) -> Check {
    let name = "process identity";
    match truth.identify(std::process::id()) {
        Ok(own) => match (truth.is_alive(&own), own.pidfs) {
            (Liveness::Alive(_), Some(_)) => {
                good(name, "exact: the kernel numbers processes (pidfs)".to_owned())
            }
            (Liveness::Alive(_) | Liveness::Unknown(_), None) => weak(
                name,
                "by birth tick only: a pid reused within the tick cannot be told apart",
                "Linux 6.9 or later",
            ),
            (Liveness::Dead(_), _) | (Liveness::Unknown(_), Some(_)) => {
                bad(name, "a living process is not recognised", "report this, with `abide doctor --json`")
            }
        },
        Err(doubt) => bad(name, &doubt.says(), "mount /proc for this pid namespace"),
    }
}

/// Whether a session's processes are found wherever they went, and what killed them is known.
fn cgroup() -> Check {
    let name = "cgroup";
    let (place, own) = place::here();
    let below = own.as_ref().map_or("/", Cgroup::path);
    match place {
        Place::Own => good(name, format!("each program gets one of its own, below {below}")),
        Place::Tree(stays) => {
            let detail = format!(
                "a program started here {}; after a killed guard a stop may miss who dropped its environment",
                stays.says()
            );
            let fix = match stays {
                Stays::NoCgroup => "mount cgroup2 (a writable one in a container)",
                Stays::NotDelegated => "systemd-run --user --scope -p Delegate=yes abide run ...",
            };
            weak(name, &detail, fix)
        }
    }
}

fn logout() -> Check {
    match place::logout(Path::new("/")) {
        None => good("logout", "does not end what is started here".to_owned()),
        Some((says, fix)) => weak("logout", &says, &fix),
    }
}
