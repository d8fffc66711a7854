//! Whether a directory that is not there could be made, without making it: who we are against who may write.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Lets its holder write anywhere.
const CAP_DAC_OVERRIDE: u64 = 1 << 1;

/// Why the directory could not be made; none if it could, as far as that can be told without trying.
pub(super) fn obstacle(path: &Path) -> Option<String> {
    let (nearest, meta) = path.ancestors().skip(1).find_map(|above| {
        // A relative path begins where we are.
        let above = if above.as_os_str().is_empty() { Path::new(".") } else { above };
        Some((above, std::fs::metadata(above).ok()?))
    })?;
    let shown = nearest.display();
    if !meta.is_dir() {
        return Some(format!("{shown} is not a directory"));
    }
    if is_read_only(nearest) {
        return Some(format!("the file system of {shown} is read-only"));
    }
    (!may_write(&meta)).then(|| format!("you may not write to {shown}"))
}

fn may_write(meta: &Metadata) -> bool {
    let Ok(status) = std::fs::read_to_string("/proc/self/status") else {
        return true;
    };
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    // Real, effective, saved, file system.
    let id = |name| field(name).split_whitespace().nth(3).and_then(|id| id.parse::<u32>().ok());
    let all = u64::from_str_radix(field("CapEff:").trim(), 16).unwrap_or(0);
    let mut groups = field("Groups:").split_whitespace().filter_map(|id| id.parse::<u32>().ok());
    let both = if id("Uid:") == Some(meta.uid()) {
        0o300
    } else if id("Gid:") == Some(meta.gid()) || groups.any(|group| group == meta.gid()) {
        0o030
    } else {
        0o003
    };
    all & CAP_DAC_OVERRIDE != 0 || meta.mode() & both == both
}

/// Whether the mount that holds the directory takes no writes.
fn is_read_only(dir: &Path) -> bool {
    let (Ok(dir), Ok(mounts)) = (dir.canonicalize(), std::fs::read_to_string("/proc/self/mountinfo")) else {
        return false;
    };
    let mount = |line: &str| {
        let fields: Vec<&str> = line.split(' ').collect();
        let (point, options) = (fields.get(4)?.replace("\\040", " "), [fields.get(5)?, fields.last()?]);
        let read_only = options.iter().any(|options| options.split(',').any(|option| option == "ro"));
        dir.starts_with(&point).then_some((point.len(), read_only))
    };
    // Of mounts at one place the last lies on top.
    mounts.lines().filter_map(mount).max_by_key(|(length, _)| *length).is_some_and(|(_, read_only)| read_only)
}
