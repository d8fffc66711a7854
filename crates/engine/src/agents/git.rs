//! Where a directory stands in git: the branch and the commit, read from git's own files. Runs nothing.

use std::fs;
use std::path::{Path, PathBuf};

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
        let head = fs::read_to_string(own.join("HEAD")).unwrap_or_default();
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
    let link = fs::read_to_string(&git).ok()?;
    let own = directory.join(link.trim().strip_prefix("gitdir: ")?);
    let common = fs::read_to_string(own.join("commondir")).map(|text| own.join(text.trim()));
    Some((own.clone(), common.unwrap_or(own)))
}

fn commit(own: &Path, common: &Path, name: &str) -> Option<String> {
    let loose = [own, common].into_iter().find_map(|root| fs::read_to_string(root.join(name)).ok());
    loose.map(|text| text.trim().to_owned()).or_else(|| {
        let packed = fs::read_to_string(common.join("packed-refs")).ok()?;
        packed
            .lines()
            .find_map(|line| line.split_once(' ').filter(|(_, other)| *other == name))
            .map(|(commit, _)| commit.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use abide_testkit::scratch::ScratchDir;

    #[test]
    fn a_branch_is_told_by_gits_files_and_none_where_they_do_not_hold_it() {
        let scratch = ScratchDir::new();
        let git = scratch.join(".git");
        fs::create_dir_all(&git).expect("there is room");
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
