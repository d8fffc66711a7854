//! Whether a directory that is not there could be made, without making it.

use std::path::Path;

use abide_sys::disk;

/// Why the directory could not be made; none if it could, as far as that can be told without trying.
pub(super) fn obstacle(path: &Path) -> Option<String> {
    let above = path.ancestors().skip(1);
    // A relative path begins where we are.
    let mut above = above.map(|above| if above.as_os_str().is_empty() { Path::new(".") } else { above });
    let nearest = above.find(|above| above.exists())?;
    let shown = nearest.display();
    if !nearest.is_dir() {
        return Some(format!("{shown} is not a directory"));
    }
    match disk::may_add_to(nearest) {
        Ok(()) => None,
        Err(error) if error.kind() == std::io::ErrorKind::ReadOnlyFilesystem => {
            Some(format!("the file system of {shown} is read-only"))
        }
        Err(_) => Some(format!("you may not write to {shown}")),
    }
}
