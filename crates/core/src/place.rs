//! Where a session's program lives: in a cgroup of its own below the one abide was started in, or in the process tree
//! alone; and whether a logout ends it there. Decides from what `sys` read; nothing is ever moved out of where it is.

use crate::evidence::{Cause, How};

pub mod read;

pub use read::{Paths, Unit};

/// What is known of where we are.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Facts {
    /// Our own cgroup, as the kernel calls it; none where no cgroup2 can be reached.
    pub cgroup: Option<String>,
    /// We may make cgroups below it and start processes in them.
    pub delegated: bool,
    /// The unit of systemd that we are part of.
    pub unit: Option<Unit>,
    /// Whether the unit's user may linger; none if that cannot be told.
    pub linger: Option<bool>,
    /// Whether logind kills what a session of that user leaves; none if that cannot be told.
    pub kills: Option<bool>,
}

/// Where the program of a session is put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Into a cgroup of its own below ours, which lives exactly as long as ours.
    Own,
    Tree(Stays),
}

/// Why there is no cgroup of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stays {
    NoCgroup,
    NotDelegated,
}

/// What a logout does to what is started here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Logout {
    Spares,
    Ends(Keeps),
    MayEnd(Keeps),
}

/// What of systemd's holds the session, and goes at the logout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keeps {
    /// `user@UID.service`, which without linger is stopped after the last logout.
    UserManager,
    /// `session-N.scope`, in which `KillUserProcesses=yes` leaves nothing alive, linger or not.
    LoginScope,
}

/// What follows from the facts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decision {
    pub place: Place,
    pub logout: Logout,
}

/// Decides where a program goes and says what a logout does to it there.
#[must_use]
pub fn decide(facts: &Facts) -> Decision {
    let place = match (&facts.cgroup, facts.delegated) {
        (None, _) => Place::Tree(Stays::NoCgroup),
        (Some(_), false) => Place::Tree(Stays::NotDelegated),
        (Some(_), true) => Place::Own,
    };
    let fate = |keeps, ends: Option<bool>| match ends {
        Some(true) => Logout::Ends(keeps),
        Some(false) => Logout::Spares,
        None => Logout::MayEnd(keeps),
    };
    let logout = match &facts.unit {
        Some(Unit::UserManager { .. }) => fate(Keeps::UserManager, facts.linger.map(|lingers| !lingers)),
        Some(Unit::LoginScope { .. }) => fate(Keeps::LoginScope, facts.kills),
        None => Logout::Spares,
    };
    Decision { place, logout }
}

impl Stays {
    /// As the end of a sentence that starts with a program.
    #[must_use]
    pub const fn says(self) -> &'static str {
        match self {
            Self::NoCgroup => "has no cgroup of its own: no cgroup2 can be reached",
            Self::NotDelegated => {
                "has no cgroup of its own: the one that abide runs in is not delegated to you"
            }
        }
    }
}

impl Logout {
    /// What there is to warn of, and the way out.
    #[must_use]
    pub fn warning(self, user: &str) -> Option<(String, String)> {
        let (ends, keeps, known) = match self {
            Self::Spares => return None,
            Self::Ends(keeps) => ("a logout will end what is started here", keeps, true),
            Self::MayEnd(keeps) => ("a logout may end what is started here", keeps, false),
        };
        let because = match (keeps, known) {
            (Keeps::UserManager, true) => format!("{user} does not linger"),
            (Keeps::UserManager, false) => format!("whether {user} lingers cannot be told"),
            (Keeps::LoginScope, true) => format!("KillUserProcesses is on for {user}"),
            (Keeps::LoginScope, false) => {
                format!("whether KillUserProcesses is on for {user} cannot be told")
            }
        };
        let linger = format!("loginctl enable-linger {user}");
        let fix = match keeps {
            Keeps::UserManager => linger,
            // In the scope of a login linger alone helps nobody.
            Keeps::LoginScope => format!(
                "{linger}, then start it with `systemd-run --user --scope`; or set KillUserProcesses=no in logind.conf"
            ),
        };
        Some((format!("{ends}: {because}"), fix))
    }
}

/// The cause of an end, as far as the cgroup knows it: the program was killed, and the kernel killed for want of
/// memory in this cgroup, which was made for it.
#[must_use]
pub fn cause_of(how: How, oom_kills: impl FnOnce() -> Option<u64>) -> Option<Cause> {
    match how {
        How::Signaled { signal: 9, .. } => oom_kills().filter(|kills| *kills > 0).map(|_| Cause::Oom),
        How::Signaled { .. } | How::Exited { .. } | How::ExecFailed { .. } | How::Lost => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(cgroup: Option<&str>, delegated: bool, linger: Option<bool>, kills: Option<bool>) -> Facts {
        Facts { cgroup: cgroup.map(str::to_owned), delegated, unit: cgroup.and_then(Unit::of), linger, kills }
    }

    #[test]
    fn a_program_gets_a_cgroup_of_its_own_only_where_that_is_delegated() {
        let place = |cgroup, delegated| decide(&facts(cgroup, delegated, None, None)).place;
        assert_eq!(place(None, false), Place::Tree(Stays::NoCgroup));
        assert_eq!(place(None, true), Place::Tree(Stays::NoCgroup));
        assert_eq!(place(Some("/"), false), Place::Tree(Stays::NotDelegated));
        assert_eq!(place(Some("/"), true), Place::Own);
        assert_eq!(place(Some("/user.slice/user-7.slice/session-1.scope"), true), Place::Own);
    }

    #[test]
    fn what_a_logout_does_depends_on_where_we_are_and_on_the_two_settings() {
        use Logout::{Ends, MayEnd, Spares};
        const SCOPE: &str = "/user.slice/user-1000.slice/session-3.scope";
        const MANAGER: &str = "/user.slice/user-1000.slice/user@1000.service/app.slice/x.scope";
        let (yes, no) = (Some(true), Some(false));
        let table = [
            // where                       linger kills
            (Some(SCOPE), no, yes, Ends(Keeps::LoginScope)),
            (Some(SCOPE), yes, yes, Ends(Keeps::LoginScope)),
            (Some(SCOPE), no, no, Spares),
            (Some(SCOPE), no, None, MayEnd(Keeps::LoginScope)),
            (Some(MANAGER), no, no, Ends(Keeps::UserManager)),
            (Some(MANAGER), no, yes, Ends(Keeps::UserManager)),
            (Some(MANAGER), yes, yes, Spares),
            (Some(MANAGER), None, no, MayEnd(Keeps::UserManager)),
            (Some("/system.slice/cron.service"), no, yes, Spares),
            (Some("/"), no, yes, Spares),
            (None, None, None, Spares),
        ];
        for (cgroup, linger, kills, expected) in table {
            let decided = decide(&facts(cgroup, false, linger, kills)).logout;
            assert_eq!(decided, expected, "{cgroup:?} linger {linger:?} kills {kills:?}");
        }
    }

    #[test]
    fn a_warning_names_the_user_and_a_way_out_that_helps() {
        assert_eq!(Logout::Spares.warning("ann"), None);
        let (says, fix) = Logout::Ends(Keeps::UserManager).warning("ann").unwrap();
        assert!(says.contains("will end") && says.contains("ann does not linger"), "{says}");
        assert_eq!(fix, "loginctl enable-linger ann");
        let (says, fix) = Logout::MayEnd(Keeps::LoginScope).warning("ann").unwrap();
        assert!(
            says.contains("may end") && says.contains("KillUserProcesses is on for ann cannot be told"),
            "{says}"
        );
        // Linger alone does not spare what is in the scope of a login.
        assert!(fix.contains("enable-linger ann") && fix.contains("systemd-run --user --scope"), "{fix}");
    }

    #[test]
    fn want_of_memory_is_the_cause_only_of_a_kill_in_a_cgroup_that_counted_one() {
        let killed = How::Signaled { signal: 9, core: false };
        assert_eq!(cause_of(killed, || Some(1)), Some(Cause::Oom));
        assert_eq!(cause_of(killed, || Some(0)), None);
        assert_eq!(cause_of(killed, || None), None);
        assert_eq!(cause_of(How::Signaled { signal: 15, core: false }, || Some(1)), None);
        assert_eq!(cause_of(How::Exited { code: 137 }, || Some(1)), None);
        assert_eq!(cause_of(How::Lost, || Some(1)), None);
    }
}
