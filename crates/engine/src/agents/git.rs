//! Where a directory stands in git: the branch and the commit, read from git's own files. Runs nothing.

use std::path::{Path, PathBuf};

use abide_sys::disk;

/// Longer ones are none of git's.
const LONGEST: u64 = 16 << 20;

/// The branch that is checked out, and its commit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Stand {
    pub(crate) branch: Option<String>,
    pub(crate) head: Option<String>,
}

/// What git writes there for those who know only files.
const ELSEWHERE: &str = "refs/heads/.invalid";

/// How the repository around a directory stands; nothing outside of one.
pub(crate) fn stand(cwd: &Path) -> Stand {
    cwd.ancestors().find_map(repository).map_or_else(Stand::default, |(own, common)| {
        let head = read(&own.join("HEAD")).unwrap_or_default();
        match head.trim().strip_prefix("ref: ") {
            // Its branches are in tables, which git alone reads.
            Some(ELSEWHERE) => Stand::default(),
            Some(name) => {
                let branch = name.strip_prefix("refs/heads/").unwrap_or(name).to_owned();
                Stand { branch: Some(branch), head: commit(&own, &common, name) }
            }
            None => {
                Stand { branch: None, head: Some(head.trim().to_owned()).filter(|text| !text.is_empty()) }
            }
        }
    })
}

/// The directory with a worktree's own files, and the one that all of its worktrees share.
fn repository(directory: &Path) -> Option<(PathBuf, PathBuf)> {
    let git = directory.join(".git");
    if git.is_dir() {
        return Some((git.clone(), git));
    }
    let link = read(&git)?;
    let own = directory.join(link.trim().strip_prefix("gitdir: ")?);
    let common = read(&own.join("commondir")).map(|text| own.join(text.trim()));
    Some((own.clone(), common.unwrap_or(own)))
}

fn commit(own: &Path, common: &Path, name: &str) -> Option<String> {
    let loose = [own, common].into_iter().find_map(|root| read(&root.join(name)));
    loose.map(|text| text.trim().to_owned()).or_else(|| {
        let packed = read(&common.join("packed-refs"))?;
        packed
            .lines()
            .find_map(|line| line.split_once(' ').filter(|(_, other)| *other == name))
            .map(|(commit, _)| commit.to_owned())
    })
}

/// Whoever works there may have put anything in the place of a file.
fn read(path: &Path) -> Option<String> {
    String::from_utf8(disk::read_foreign(path, LONGEST).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use abide_sys::disk::PrivateDir;
    use abide_testkit::ScratchDir;

    #[test]
    fn whatever_stands_in_the_place_of_gits_files_is_not_waited_for() {
        let scratch = ScratchDir::new();
        let fifo = |name: &str| {
            let path = scratch.join(name);
            let (dir, name) = (path.parent().expect("a directory"), path.file_name().expect("a name"));
            let dir = PrivateDir::open(dir).expect("it is ours");
            dir.create_fifo(name.to_str().expect("it is text")).expect("there is room");
        };
        fifo(".git");
        assert_eq!(stand(scratch.path()), Stand::default());
        std::fs::remove_file(scratch.join(".git")).expect("it is ours");
        std::fs::create_dir_all(scratch.join(".git/refs/heads")).expect("there is room");
        fifo(".git/HEAD");
        assert_eq!(stand(scratch.path()), Stand::default());
        std::fs::remove_file(scratch.join(".git/HEAD")).expect("it is ours");
        let _ = scratch.file(".git/HEAD", "ref: refs/heads/main\n");
        fifo(".git/refs/heads/main");
        let told = stand(scratch.path());
        assert_eq!((told.branch.as_deref(), told.head), (Some("main"), None));
        std::fs::remove_file(scratch.join(".git/refs/heads/main")).expect("it is ours");
        let _ = scratch.file(".git/refs/heads/main", "0123abc\n");
        assert_eq!(stand(scratch.path()).head.as_deref(), Some("0123abc"));
    }

    #[test]
    fn a_branch_is_told_by_gits_files_and_none_where_they_do_not_hold_it() {
        let scratch = ScratchDir::new();
        let git = scratch.join(".git");
        std::fs::create_dir_all(&git).expect("there is room");
        let told = |branch: Option<&str>, head: Option<&str>| Stand {
            branch: branch.map(str::to_owned),
            head: head.map(str::to_owned),
        };
        let packed = "# pack-refs with: peeled fully-peeled sorted\n00aa refs/remotes/x/refs/heads/main\n11bb refs/heads/main\n";
        let _ = scratch.file(".git/HEAD", "ref: refs/heads/main\n");
        assert_eq!(stand(scratch.path()), told(Some("main"), None));
        let _ = scratch.file(".git/packed-refs", packed);
        assert_eq!(stand(scratch.path()), told(Some("main"), Some("11bb")));
        let _ = scratch.file(".git/HEAD", "22cc\n");
        assert_eq!(stand(scratch.path()), told(None, Some("22cc")));
        // What git itself writes where branches are kept in tables.
        let _ = scratch.file(".git/HEAD", "ref: refs/heads/.invalid\n");
        assert_eq!(stand(scratch.path()), told(None, None));
    }
}
