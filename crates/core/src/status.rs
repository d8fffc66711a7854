//! The policy table: every yes/no question about a status is a column here, and the compiler proves
//! the rules between the columns. Depends on nothing, so that a test can compile altered copies of it.

macro_rules! statuses {
    (
        columns { $($column:ident $field:ident $question:ident $code:literal,)+ }
        $($status:ident $name:literal [$($cell:literal)+] $when:literal,)+
    ) => {
        /// Where a session stands. Derived by `verdict`, never stored.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Status { $(#[doc = $when] $status,)+ }

        /// One question about a status.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Column { $($column,)+ }

        /// The answers for one status.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct Policy { $(pub $field: bool,)+ }

        impl Status {
            /// Every status, in the order of the table.
            pub const ALL: &'static [Self] = &[$(Self::$status,)+];

            /// The word that users see.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$status => $name,)+ }
            }

            /// When a session has this status.
            #[must_use]
            pub const fn when(self) -> &'static str {
                match self { $(Self::$status => $when,)+ }
            }

            /// This status' row of the table.
            #[must_use]
            pub const fn policy(self) -> Policy {
                match self { $(Self::$status => Policy::from_cells([$($cell,)+]),)+ }
            }

            $(#[doc = concat!("The column `", stringify!($field), "`.")]
            #[must_use]
            pub const fn $question(self) -> bool {
                self.policy().$field
            })+
        }

        impl Column {
            /// Every column, in the order of the table.
            pub const ALL: &'static [Self] = &[$(Self::$column,)+];

            /// Whether `status` has a yes in this column.
            #[must_use]
            pub const fn holds(self, status: Status) -> bool {
                match self { $(Self::$column => status.$question(),)+ }
            }

            /// The column's name.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$column => stringify!($field),)+ }
            }

            /// The error code of a refusal because of this column.
            #[must_use]
            pub const fn refusal(self) -> &'static str {
                match self { $(Self::$column => $code,)+ }
            }
        }

        impl Policy {
            const fn from_cells(cells: [u8; Column::ALL.len()]) -> Self {
                Self { $($field: cells[Column::$column as usize] == 1,)+ }
            }
        }
    };
}

statuses! {
    columns {
        Active        active         is_active            "not_active",
        Terminal      terminal       is_terminal          "not_terminal",
        Commandable   commandable    is_commandable       "not_commandable",
        Stoppable     stoppable      is_stoppable         "not_stoppable",
        LiveHost      live_host      has_live_host        "no_live_host",
        OfflineReplay offline_replay replays_offline      "no_offline_replay",
        Collectable   collectable    is_collectable       "not_collectable",
        Destroyed     destroyed      is_destroyed         "not_destroyed",
    }
    //                        act ter com sto liv off col des
    Starting   "starting"   [ 1   0   0   1   1   0   0   0 ] "it was launched, and its program has not started yet",
    Running    "running"    [ 1   0   1   1   1   0   0   0 ] "its program is alive and served",
    Unattended "unattended" [ 1   0   0   1   0   1   0   0 ] "its program or agent is alive, but neither guard nor host serves it",
    Exiting    "exiting"    [ 1   0   0   0   1   0   0   0 ] "its program is gone, and its guard, host or watcher is still finishing",
    Exited     "exited"     [ 0   1   0   0   0   1   1   0 ] "its program is over, and how it ended is on record",
    Failed     "failed"     [ 0   1   0   0   0   1   1   0 ] "its program never ran",
    Lost       "lost"       [ 0   1   0   0   0   1   1   0 ] "its program is over, and nobody saw how it ended",
    Unknown    "unknown"    [ 1   0   0   0   0   1   0   0 ] "what became of it cannot be told from here, or its record is damaged",
    Destroying "destroying" [ 1   0   0   0   0   1   0   0 ] "it is being removed",
    Destroyed  "destroyed"  [ 0   1   0   0   0   1   1   1 ] "it was removed, and its files are still to go",
}

const _: () = {
    let mut i = 0;
    while i < Status::ALL.len() {
        let row = Status::ALL[i].policy();
        assert!(row.active != row.terminal, "a status is active or terminal, never both");
        assert!(!row.collectable || row.terminal, "only what is over may be collected");
        assert!(!row.commandable || (row.active && row.live_host), "only a served session takes commands");
        assert!(!row.stoppable || row.active, "only what is active can be stopped");
        assert!(row.live_host != row.offline_replay, "the screen has exactly one source");
        assert!(!row.destroyed || row.collectable, "what is destroyed may be collected");
        i += 1;
    }
};
