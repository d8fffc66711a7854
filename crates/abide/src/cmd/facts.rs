//! `abide events`: every fact of sessions, as they come.

use std::os::fd::AsFd;

use abide_core::failure::Failure;
use abide_engine::{Wanted, Witnessed};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Front, OneOf, Verb};
use crate::show::fact::{Above, FactView, Facts};
use crate::show::page::Page;
use crate::when;

const EXAMPLES: &str = "Examples:
  abide events                    every fact of every session, the earliest first
  abide events -f --json          the same for programs, and then what comes, one object a line
  abide events --since 10m build  what was witnessed of one session in the last ten minutes";

/// Show what was witnessed of sessions, and what is
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES)]
#[command(
    after_help = concat!("A line a fact: when, of which session, which fact, by whom, what it says. With -f until \
    this command is ended, or its reader is gone, or every session that was named is removed; new facts show \
    at once where the system gives hints of them (inotify), else within a second. With --json: one object with \
    all of them; with -f too, one object a line.", signals_end_this!("the sessions go on."))
)]
pub(crate) struct Args {
    /// Go on with the facts that come, and with new sessions if none is named
    #[arg(short, long)]
    follow: bool,
    /// Only what was witnessed since: a time, or a duration back from now
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    since: Option<String>,
    /// IDs, names, unique prefixes or @last [default: all sessions]
    #[arg(value_name = "ID")]
    sessions: Vec<String>,
}

/// What was witnessed, in order.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Facts")]
pub(crate) struct FactsView {
    #[serde(rename = "events")]
    facts: Vec<FactView>,
}

/// So the facts of an answer are named in it.
const ITEMS: &str = "events";

impl Verb for Args {
    /// All facts, or with `-f` one of them a line.
    type Data = OneOf<FactsView, FactView>;

    fn run(self, front: &mut Front) -> Result<u8, Failure> {
        let sessions = front.sessions()?;
        let now = sessions.now().at.wall;
        let since = self.since.map(|text| when::since(&text, now)).transpose()?.map(|time| time.wall(now));
        let named = self.sessions.iter().map(|wanted| sessions.find(wanted).map(|session| session.id));
        let named = named.collect::<Result<Vec<_>, _>>()?;
        let only = named.first().filter(|_| named.len() == 1).map(ToString::to_string);
        let wanted = if named.is_empty() { Wanted::All } else { Wanted::These(named) };
        let (mut facts, mut above, mut failure) = (Facts::default(), Above::of(only), None);
        let mut give = |witnessed: Witnessed| {
            let view = facts.view(&witnessed);
            if since.is_none_or(|since| view.is_since(since)) {
                let put = |page: &mut Page| view.put(page, &mut above);
                failure = match self.follow {
                    true => front.output.show(&view, put).err(),
                    false => front.output.item(ITEMS, &view, put).err(),
                };
            }
            failure.is_none() && front.output.has_reader()
        };
        if self.follow {
            sessions.follow_facts(wanted, std::io::stdout().as_fd(), &mut give)?;
        } else {
            sessions.facts(&wanted, &mut give)?;
        }
        if let Some(failure) = failure {
            return Err(failure);
        }
        if !self.follow {
            front.output.end_items(ITEMS)?;
        }
        Ok(0)
    }
}
