//! Where we are: which machine, which boot, which namespaces, and whether the boot id is the kernel's own.

use std::fs;
use std::os::linux::fs::MetadataExt;

use abide_core::identity::{FileId, Here, SystemId};
use rustix::fs::{AtFlags, Statx, StatxAttributes, StatxFlags, fstatfs, statx};

const PROC_MAGIC: u64 = 0x9fa0;
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

pub(super) fn here() -> Here {
    let machine = ["/etc/machine-id", "/var/lib/dbus/machine-id"].into_iter().find_map(system_id);
    Here {
        machine,
        boot: system_id(BOOT_ID),
        kernel_boot: is_kernel_s(BOOT_ID),
        pid_ns: file_id("/proc/self/ns/pid"),
        time_ns: file_id("/proc/self/ns/time"),
    }
}

fn system_id(path: &str) -> Option<SystemId> {
    SystemId::parse(&fs::read_to_string(path).ok()?)
}

/// Whether a file of `/proc` is what the kernel put there: some containers are given another in its place.
fn is_kernel_s(path: &str) -> bool {
    let root = StatxAttributes::MOUNT_ROOT;
    let Ok(file) = fs::File::open(path) else { return false };
    let of_proc = fstatfs(&file).is_ok_and(|stat| stat.f_type as u64 == PROC_MAGIC);
    let told = statx(&file, "", AtFlags::EMPTY_PATH, StatxFlags::empty());
    let in_place =
        |told: Statx| told.stx_attributes_mask.contains(root) && !told.stx_attributes.contains(root);
    of_proc && told.is_ok_and(in_place)
}

pub(super) fn file_id(path: &str) -> Option<FileId> {
    let meta = fs::metadata(path).ok()?;
    Some(FileId { dev: meta.st_dev(), ino: meta.st_ino() })
}
