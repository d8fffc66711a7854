//! What the kernel's and systemd's files about cgroups and logins say, as values. Parsing only: `sys` reads them.

/// The names that the kernel gives our cgroup.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Paths {
    /// In the hierarchy of cgroup2.
    pub unified: Option<String>,
    /// In systemd's own, on machines that still have one.
    pub systemd: Option<String>,
}

impl Paths {
    /// From `/proc/PID/cgroup`.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let find = |prefix: &str, list: &str| {
            let path = text.lines().find_map(|line| {
                let (number, rest) = line.split_once(':')?;
                let (controllers, path) = rest.split_once(':')?;
                (number.starts_with(prefix) && controllers == list).then_some(path)
            });
            // A cgroup that was removed under its last process, or is outside of our namespace, is no place.
            path.filter(|path| !path.ends_with(" (deleted)") && !path.contains("/..")).map(str::to_owned)
        };
        Self { unified: find("0", ""), systemd: find("", "name=systemd") }
    }

    /// The unit of systemd that they name.
    #[must_use]
    pub fn unit(&self) -> Option<Unit> {
        [&self.unified, &self.systemd].into_iter().flatten().find_map(|path| Unit::of(path))
    }
}

/// A unit of systemd that may go at a logout, and whose it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    UserManager { uid: u32 },
    LoginScope { uid: u32 },
}

impl Unit {
    /// The unit that a cgroup belongs to.
    #[must_use]
    pub fn of(cgroup: &str) -> Option<Self> {
        let number = |part: &str, before: &str, after: &str| -> Option<u32> {
            part.strip_prefix(before)?.strip_suffix(after)?.parse().ok()
        };
        let parts = || cgroup.split('/');
        if let Some(uid) = parts().find_map(|part| number(part, "user@", ".service")) {
            return Some(Self::UserManager { uid });
        }
        let uid = parts().find_map(|part| number(part, "user-", ".slice"))?;
        // Logins are numbered, but those that logind did not number itself have a letter in front.
        let is_login = |part: &str| part.starts_with("session-") && part.ends_with(".scope");
        parts().any(is_login).then_some(Self::LoginScope { uid })
    }

    /// The user that it belongs to.
    #[must_use]
    pub const fn uid(self) -> u32 {
        match self {
            Self::UserManager { uid } | Self::LoginScope { uid } => uid,
        }
    }
}

/// Where cgroup2 is mounted, from `/proc/self/mountinfo`: what of it, and at which directory. The latest comes last.
#[must_use]
pub fn cgroup_mounts(mountinfo: &str) -> Vec<(String, String)> {
    let mount = |line: &str| {
        let (before, after) = line.split_once(" - ")?;
        let mut fields = before.split(' ').skip(3);
        let (root, point) = (fields.next()?, fields.next()?);
        after.starts_with("cgroup2 ").then(|| (unescaped(root), unescaped(point)))
    };
    mountinfo.lines().filter_map(mount).collect()
}

/// Blanks and backslashes stand there as three octal digits.
fn unescaped(field: &str) -> String {
    [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")]
        .iter()
        .fold(field.to_owned(), |text, (code, character)| text.replace(code, character))
}

/// The number behind a key, in files such as `memory.events` and `cgroup.events`.
#[must_use]
pub fn count(text: &str, key: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' ')?.trim_end().parse().ok())
}

/// Whether logind kills what a login of this user leaves behind, from its files in the order they count. Without a
/// setting, the default that the first file names in a comment: distributions differ in it.
#[must_use]
pub fn kills_left(files: &[String], user: &str) -> Option<bool> {
    let (mut kills, mut default) = (None, None);
    let (mut spared, mut only) = (vec!["root".to_owned()], Vec::new());
    for (key, value) in files.iter().flat_map(|text| settings(text)) {
        let names = || value.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        match key {
            "KillUserProcesses" => kills = truth(value).or(kills),
            "#KillUserProcesses" => default = default.or_else(|| truth(value)),
            "KillExcludeUsers" => spared = names(),
            "KillOnlyUsers" => only = names(),
            _ => {}
        }
    }
    let is_among = |names: &[String]| names.iter().any(|name| name == user);
    match kills.or(default) {
        Some(true) => Some(!is_among(&spared) && (only.is_empty() || is_among(&only))),
        Some(false) => Some(false),
        None if is_among(&spared) => Some(false),
        None => None,
    }
}

/// The settings of `[Login]`, those in comments included.
fn settings(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut inside = false;
    text.lines().map(str::trim).filter_map(move |line| {
        if line.starts_with('[') {
            inside = line == "[Login]";
        }
        line.split_once('=').filter(|_| inside).map(|(key, value)| (key.trim_end(), value.trim()))
    })
}

fn truth(word: &str) -> Option<bool> {
    match word.to_ascii_lowercase().as_str() {
        "1" | "yes" | "y" | "true" | "t" | "on" => Some(true),
        "0" | "no" | "n" | "false" | "f" | "off" => Some(false),
        _ => None,
    }
}

/// The name of a user, from `/etc/passwd`.
#[must_use]
pub fn user_name(passwd: &str, uid: u32) -> Option<String> {
    passwd.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(uid)).then(|| name.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_cgroup_is_read_in_every_kind_of_hierarchy() {
        let pure = Paths::parse("0::/user.slice/user-1000.slice/session-3.scope\n");
        assert_eq!(pure.unified.as_deref(), Some("/user.slice/user-1000.slice/session-3.scope"));
        assert_eq!(pure.unit(), Some(Unit::LoginScope { uid: 1000 }));
        let mixed =
            Paths::parse("9:name=systemd:/user.slice/user-0.slice/session-c1.scope\n4:memory:/x\n0::/\n");
        assert_eq!(mixed.unified.as_deref(), Some("/"));
        assert_eq!(mixed.unit(), Some(Unit::LoginScope { uid: 0 }));
        let old = Paths::parse("2:cpu,cpuacct:/\n1:name=systemd:/system.slice/cron.service\n");
        assert_eq!((&old.unified, old.unit()), (&None, None));
        for gone in ["0::/a (deleted)\n", "0::/../../b\n", "", "garbage\n"] {
            assert_eq!(Paths::parse(gone), Paths::default(), "{gone:?}");
        }
    }

    #[test]
    fn only_what_goes_at_a_logout_is_a_unit_to_know() {
        let manager = "/user.slice/user-1000.slice/user@1000.service/tmux-spawn-1.scope";
        assert_eq!(Unit::of(manager).map(Unit::uid), Some(1000));
        assert_eq!(Unit::of(manager), Some(Unit::UserManager { uid: 1000 }));
        for other in ["/", "/session-1.scope", "/user.slice/user-7.slice", "/user@x.service", "/docker/abc"] {
            assert_eq!(Unit::of(other), None, "{other}");
        }
    }

    #[test]
    fn the_mounts_of_cgroup2_are_found_among_all_others() {
        let text = "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n\
            41 31 0:38 / /sys/fs/cgroup/unified rw,relatime shared:9 - cgroup2 cgroup2 rw\n\
            50 31 0:38 /a\\040b /odd\\134place rw - cgroup2 none ro\n\
            short line\n";
        let expected = [("/", "/sys/fs/cgroup/unified"), ("/a b", "/odd\\place")];
        assert_eq!(cgroup_mounts(text), expected.map(|(root, point)| (root.to_owned(), point.to_owned())));
    }

    #[test]
    fn a_count_is_read_by_its_whole_key() {
        let events = "low 0\nhigh 0\nmax 12\noom 3\noom_kill 2\noom_group_kill 0\n";
        assert_eq!(
            [count(events, "oom_kill"), count(events, "oom"), count(events, "max")],
            [Some(2), Some(3), Some(12)]
        );
        for odd in ["", "oom_kill\n", "oom_kill x\n", "oom_kill -1\n", "oom_kills 1\n"] {
            assert_eq!(count(odd, "oom_kill"), None, "{odd:?}");
        }
    }

    #[test]
    fn the_last_setting_of_logind_counts_and_lists_override_it() {
        let check = |files: &[&str], user: &str, expected: Option<bool>| {
            let files: Vec<String> = files.iter().map(|text| format!("[Login]\n{text}\n")).collect();
            assert_eq!(kills_left(&files, user), expected, "{files:?} {user}");
        };
        check(&["KillUserProcesses=yes"], "ann", Some(true));
        check(&["KillUserProcesses=yes"], "root", Some(false));
        check(&["KillUserProcesses=yes\nKillExcludeUsers="], "root", Some(true));
        check(&["KillUserProcesses=yes\nKillExcludeUsers=bob ann"], "ann", Some(false));
        check(&["KillUserProcesses=yes\nKillOnlyUsers=bob"], "ann", Some(false));
        check(&["KillUserProcesses=yes\nKillOnlyUsers=bob"], "bob", Some(true));
        check(&["KillUserProcesses=yes", "KillUserProcesses = off"], "ann", Some(false));
        check(&["KillUserProcesses=yes", "KillUserProcesses=perhaps"], "ann", Some(true));
        check(&["#KillUserProcesses=no"], "ann", Some(false));
        check(&["#KillUserProcesses=no", "KillUserProcesses=yes"], "ann", Some(true));
        check(&["#Other=1"], "ann", None);
        check(&[], "ann", None);
        check(&[], "root", Some(false));
        assert_eq!(kills_left(&["[Other]\nKillUserProcesses=yes\n".to_owned()], "ann"), None);
    }

    #[test]
    fn a_user_is_found_by_its_number() {
        let passwd = "root:x:0:0:root:/root:/bin/sh\nann:x:1000:1000::/home/ann:/bin/sh\nodd\n";
        assert_eq!(user_name(passwd, 1000).as_deref(), Some("ann"));
        assert_eq!(user_name(passwd, 100), None);
    }
}
