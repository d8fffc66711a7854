//! What `abide wait` may wait for besides the end: what is shown, and what an agent does.

use abide_core::failure::{Code, Failure};
use abide_core::id::SessionId;
use abide_core::screen::condition::Condition;
use abide_core::verdict::{Attention, Turn};
use abide_engine::{Conditions, Sessions, Stood, Until};

use crate::cmd::{Front, NO_CODE, run};
use crate::show::wait::{self, Form, WaitView, WaitedView};

/// The flags.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Conditions")]
pub(crate) struct Flags {
    /// Until this text is shown
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    text: Vec<String>,
    /// Until a line matches this regular expression; lines end at their last character that is no blank
    #[arg(long, value_name = "PATTERN", allow_hyphen_values = true)]
    regex: Vec<String>,
    /// Until this text is not to be seen any more
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    gone: Vec<String>,
    /// Until the cursor is there, counted from 0
    #[arg(long, value_name = "ROW,COL")]
    cursor: Option<String>,
    /// Until the screen is another than it was
    #[arg(long)]
    changed: bool,
    /// Until nothing was shown for so long
    #[arg(long, value_name = "DURATION")]
    idle: Option<String>,
    /// Until its agent works, or has settled; one that its own end stopped in the middle has not, if its session ends too
    #[arg(long, value_name = "TURN", value_parser = ["settled", "working"])]
    turn: Option<String>,
    /// Until its agent wants something of a person
    #[arg(long, value_name = "WANTS", value_parser = ["any", "approval", "answer", "none"])]
    attention: Option<String>,
    /// Only what was shown after this `seq` of an earlier answer counts
    #[arg(long, value_name = "SEQ")]
    since: Option<u64>,
    /// Give up after so long, with 124
    #[arg(long, value_name = "DURATION")]
    timeout: Option<String>,
}

impl Flags {
    /// What counts where nothing else was said.
    pub(super) fn or_else(&mut self, since: Option<u64>, timeout: &str) {
        if self.any() {
            self.since = self.since.or(since);
            self.timeout.get_or_insert_with(|| timeout.to_owned());
        }
    }

    /// Whether there is any condition.
    fn any(&self) -> bool {
        let texts = [&self.text, &self.regex, &self.gone].into_iter().any(|texts| !texts.is_empty());
        let others = [&self.cursor, &self.idle, &self.turn, &self.attention];
        texts || self.changed || others.into_iter().any(Option::is_some)
    }

    /// The conditions; none if only the end is waited for.
    ///
    /// # Errors
    /// If one of them makes no sense.
    pub(super) fn conditions(&self) -> Result<Option<Conditions>, Failure> {
        let texts = || self.text.iter().chain(&self.regex).chain(&self.gone);
        if texts().any(String::is_empty) {
            return Err(Failure::new(Code::Usage, "an empty text is shown wherever one looks")
                .hint("--changed and --idle wait for anything, and for nothing more"));
        }
        let mut shown: Vec<Condition> = self.text.iter().cloned().map(Condition::Text).collect();
        for pattern in &self.regex {
            let built = Condition::pattern(pattern).map_err(|why| {
                Failure::new(Code::Usage, format!("`{pattern}` is no regular expression: {why}"))
                    .hint("--text takes text as it stands")
            })?;
            shown.push(built);
        }
        shown.extend(self.gone.iter().cloned().map(Condition::Gone));
        shown.extend(self.cursor.as_deref().map(place).transpose()?);
        shown.extend(self.changed.then_some(Condition::Changed));
        let conditions = Conditions {
            shown,
            idle_ms: self.idle.as_deref().map(run::parse_duration).transpose()?,
            turn: self.turn.as_deref().map(|turn| match turn {
                "working" => Turn::Working,
                _ => Turn::Settled,
            }),
            attention: self.attention.as_deref().map(wanted).unwrap_or_default(),
            since: self.since,
        };
        self.timeout_ms()?;
        let lonely = (self.since.is_some(), self.timeout.is_some());
        match (self.any(), lonely) {
            (true, _) => Ok(Some(conditions)),
            (false, (false, false)) => Ok(None),
            (false, (since, _)) => {
                let flag = if since { "--since" } else { "--timeout" };
                Err(Failure::new(Code::Usage, format!("{flag} says nothing without a condition"))
                    .hint("add --text, --regex, --gone, --cursor, --changed, --idle, --turn or --attention; --cap ends a wait for the end"))
            }
        }
    }

    fn timeout_ms(&self) -> Result<Option<u64>, Failure> {
        self.timeout.as_deref().map(run::parse_duration).transpose()
    }

    /// Waits, tells how each session stands, and gives the exit code.
    ///
    /// # Errors
    /// If a recording cannot be read.
    pub(super) fn wait(
        &self,
        front: &mut Front,
        sessions: &Sessions,
        ids: &[SessionId],
        (conditions, until): (&Conditions, Until),
    ) -> Result<u8, Failure> {
        let stood = sessions.await_conditions(ids, (conditions, until), self.timeout_ms()?)?;
        let hinted = |hint: &str| front.output.hinted(hint);
        let views: Vec<WaitedView<'_>> = stood
            .iter()
            .map(|stood| WaitedView::of_conditions(&stood.session, stood.met, stood.position, &hinted))
            .collect();
        for line in wait::lines(&views) {
            front.output.remark(&line);
        }
        let form = if ids.len() == 1 { Form::One } else { Form::Several };
        front.output.show(&WaitView::new(views, form), |_| {})?;
        Ok(code(&stood, until))
    }
}

fn code(stood: &[Stood], until: Until) -> u8 {
    let met = stood.iter().filter(|one| one.met).count();
    let enough = match until {
        Until::Any => met > 0,
        Until::All => met == stood.len(),
    };
    let mut over = stood.iter().map(|one| !one.met && one.session.is_over());
    let hopeless = match until {
        Until::Any => over.all(|over| over),
        Until::All => over.any(|over| over),
    };
    if enough {
        0
    } else if hopeless {
        NO_CODE
    } else {
        Code::TimedOut.kind().exit_code()
    }
}

fn place(text: &str) -> Result<Condition, Failure> {
    let place = text.split_once(',').and_then(|(row, col)| Some((row.parse().ok()?, col.parse().ok()?)));
    place.map(|(row, col)| Condition::Cursor { row, col }).ok_or_else(|| {
        Failure::new(Code::Usage, format!("`{text}` is no place of the cursor"))
            .hint("a place is given as ROW,COL, counted from 0 as a snapshot counts them")
    })
}

fn wanted(text: &str) -> Vec<Attention> {
    match text {
        "approval" => vec![Attention::Approval],
        "answer" => vec![Attention::Answer],
        "none" => vec![Attention::None],
        _ => vec![Attention::Approval, Attention::Answer],
    }
}
