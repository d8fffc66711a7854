//! The JSON twin of a session: the fields that `inspect`, `ls` and `run` promise, all of them always there.

mod agent;
pub(crate) mod failed;

use std::borrow::Cow;
use std::collections::BTreeMap;

use abide_core::evidence::{How, Outcome, Resources, Survivor};
use abide_core::identity::{Liveness, Qualifier};
use abide_core::verdict::Ground;
use abide_engine::{Session, Sessions, View};
use schemars::JsonSchema;
use serde::Serialize;

pub(crate) use self::agent::{AgentView, SummaryView};
use super::secret;
use super::time::Time;
use super::word::{self, StatusName};

/// A session as it is shown.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Session")]
pub(crate) struct SessionView<'a> {
    #[serde(flatten)]
    pub(crate) standing: StandingView<'a>,
    #[serde(flatten)]
    pub(crate) command: CommandView<'a>,
    #[serde(flatten)]
    pub(crate) times: TimesView,
    #[serde(flatten)]
    pub(crate) end: EndView<'a>,
    pub(crate) processes: ProcessesView,
    pub(crate) host: HostView<'a>,
    #[serde(flatten)]
    pub(crate) agent: AgentView<'a>,
    pub(crate) screen: ScreenView,
    pub(crate) recording: RecordingView,
    /// What the program used; null until its end was observed.
    pub(crate) resources: Option<ResourcesView>,
    /// Processes of the session that lived on after its program and are alive now.
    pub(crate) survivors: Vec<SurvivorView>,
    /// The proof, as `abide why` shows it.
    pub(crate) because: Vec<GroundView>,
}

/// Who it is and where it stands.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct StandingView<'a> {
    pub(crate) id: &'a str,
    pub(crate) name: Option<&'a str>,
    pub(crate) status: StatusName,
    /// A stop was asked for and the program is not gone yet.
    pub(crate) stopping: bool,
}

/// What runs. Null if the record of the launch cannot be read.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CommandView<'a> {
    /// Arguments that look like secrets are masked.
    pub(crate) argv: Option<Vec<Cow<'a, str>>>,
    /// The arguments were too long to record; `argv` holds the first of them. Only there if it is so.
    #[serde(skip_serializing_if = "is_false")]
    pub(crate) argv_cut: bool,
    /// The arguments that abide added, to tell an agent which conversation to begin. Only there if it did.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    pub(crate) argv_added: &'a [String],
    pub(crate) cwd: Option<&'a str>,
    pub(crate) labels: Option<&'a BTreeMap<String, String>>,
}

/// When it ran.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TimesView {
    pub(crate) started_at: Option<Time>,
    /// When its end was observed.
    pub(crate) ended_at: Option<Time>,
    /// When a session whose end nobody saw last gave a sign of life. Only there if it is such a one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) last_seen_at: Option<Time>,
    /// How long the program has run, or ran, by the boot-time clock.
    pub(crate) uptime_ms: Option<u64>,
}

/// How it ended.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct EndView<'a> {
    /// The declared code, else an observed exit code.
    pub(crate) exit_code: Option<u8>,
    /// What `abide wait` exits with; null while the session is not over.
    pub(crate) wait_code: Option<u8>,
    pub(crate) outcome: Option<OutcomeView>,
    /// The program's own word on its work.
    pub(crate) declared: Option<DeclaredView<'a>>,
}

/// How the program ended, who observed it, and why.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Outcome")]
pub(crate) struct OutcomeView {
    #[schemars(extend("enum" = ["exited", "signaled", "exec_failed", "lost"]))]
    pub(crate) kind: &'static str,
    pub(crate) code: Option<u8>,
    pub(crate) signal: Option<u8>,
    pub(crate) core: Option<bool>,
    /// Why the exec failed.
    pub(crate) errno: Option<i32>,
    #[schemars(extend("enum" = ["guard", "host", "pidfd", "procfs", "sealed", "other", null]))]
    pub(crate) observed_by: Option<&'static str>,
    #[schemars(extend("enum" = [
        "asked", "oom", "timeout", "reboot", "helpers_died", "launch_broke", "not_ours", "other", null
    ]))]
    pub(crate) cause: Option<&'static str>,
}

/// The program's own word on its work.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Declared")]
pub(crate) struct DeclaredView<'a> {
    pub(crate) status: &'a str,
    pub(crate) exit_code: u8,
    pub(crate) summary: Option<&'a str>,
}

/// The processes of a session.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Processes")]
pub(crate) struct ProcessesView {
    pub(crate) guard: ProcessView,
    pub(crate) host: ProcessView,
    pub(crate) program: ProcessView,
    /// Who follows a program that neither guard nor host serves. Only there if somebody did or does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) watcher: Option<ProcessView>,
}

/// One process.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Process")]
pub(crate) struct ProcessView {
    /// Null if it is not on record, or not yet.
    pub(crate) pid: Option<u32>,
    #[schemars(extend("enum" = ["alive", "dead", "unknown"]))]
    pub(crate) liveness: &'static str,
    #[schemars(extend("enum" = ["stopped", "traced", "restarting", null]))]
    pub(crate) qualifier: Option<&'static str>,
}

/// The latest host.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Host")]
pub(crate) struct HostView<'a> {
    pub(crate) generation: Option<u32>,
    pub(crate) version: Option<&'a str>,
}

/// The terminal.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Screen")]
pub(crate) struct ScreenView {
    pub(crate) cols: Option<u16>,
    pub(crate) rows: Option<u16>,
    #[schemars(extend("enum" = ["live", "replay"]))]
    pub(crate) source: &'static str,
    pub(crate) title: Option<String>,
}

/// What the session showed, on file.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Recording")]
pub(crate) struct RecordingView {
    pub(crate) path: Option<String>,
    pub(crate) bytes: Option<u64>,
    /// False if it was cut, is gone or does not end with the last output that is in the evidence; null if that is not
    /// known (yet). Damage in its middle is not looked for here: `abide doctor` reads recordings whole.
    pub(crate) complete: Option<bool>,
}

/// What the program used.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Resources")]
pub(crate) struct ResourcesView {
    pub(crate) wall_ms: u64,
    pub(crate) user_ms: u64,
    pub(crate) system_ms: u64,
    pub(crate) peak_kib: u64,
}

/// A process that lived on.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Survivor")]
pub(crate) struct SurvivorView {
    pub(crate) pid: u32,
    pub(crate) command: String,
}

/// One piece of the proof.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Ground")]
pub(crate) struct GroundView {
    pub(crate) fact: String,
    pub(crate) witness: String,
    pub(crate) at: Time,
    pub(crate) says: String,
}

impl<'a> SessionView<'a> {
    /// What must be asked now beside the session itself, `sessions` answers.
    pub(crate) fn of(sessions: &Sessions, session: &'a Session) -> Self {
        let (evidence, verdict) = (&session.evidence, &session.verdict);
        let recording = sessions.recording(&session.id);
        let ended = evidence.closing.ended.as_ref();
        let hosted = evidence.helpers.hosted.as_ref();
        Self {
            standing: StandingView {
                id: session.id.as_str(),
                name: session.name(),
                status: StatusName(verdict.status),
                stopping: verdict.stopping,
            },
            command: CommandView::new(session),
            times: TimesView::new(session),
            end: EndView::new(session),
            processes: ProcessesView::new(session, sessions.qualifier(session)),
            host: HostView {
                generation: hosted.map(|told| told.body.generation),
                version: hosted.map(|told| told.body.version.as_str()),
            },
            agent: AgentView::new(session),
            screen: ScreenView::new(session, sessions.view(session)),
            recording: RecordingView {
                bytes: recording.as_ref().map(|recording| recording.bytes),
                path: recording.map(|recording| recording.path.display().to_string()),
                complete: sessions.is_complete(session),
            },
            resources: ended.and_then(|told| told.body.resources).map(ResourcesView::new),
            survivors: sessions.survivors(session).iter().map(SurvivorView::new).collect(),
            because: because(session),
        }
    }
}

/// The proof, without the secrets among the arguments it quotes.
pub(crate) fn because(session: &Session) -> Vec<GroundView> {
    let argv = argv(session).unwrap_or_default();
    let masked = secret::mask(argv);
    let view = |ground: Ground| GroundView {
        says: secret::hide(&ground.says, argv, &masked).into_owned(),
        fact: ground.fact,
        witness: ground.witness,
        at: Time(ground.at.wall),
    };
    session.because().into_iter().map(view).collect()
}

fn argv(session: &Session) -> Option<&[String]> {
    let beginning = &session.evidence.beginning;
    let launched = beginning.launched.as_ref().map(|told| told.body.argv.as_slice());
    launched.or_else(|| beginning.adopted.as_ref().map(|told| told.body.argv.as_slice()))
}

impl<'a> CommandView<'a> {
    pub(super) fn new(session: &'a Session) -> Self {
        let beginning = &session.evidence.beginning;
        let launched = beginning.launched.as_ref().map(|told| &*told.body);
        let adopted = beginning.adopted.as_ref().map(|told| told.body.cwd.as_str());
        Self {
            argv: argv(session).map(secret::mask),
            argv_cut: launched.is_some_and(|launched| launched.argv_cut),
            argv_added: launched.map(|launched| &launched.argv[launched.added()]).unwrap_or_default(),
            cwd: launched.map(|launched| launched.cwd.as_str()).or(adopted),
            labels: launched.map(|launched| &launched.labels),
        }
    }
}

impl TimesView {
    fn new(session: &Session) -> Self {
        let closing = &session.evidence.closing;
        let ended = closing.ended.as_ref().map(|told| told.at);
        let failed = closing.exec_failed.as_ref().map(|told| told.at);
        Self {
            started_at: session.evidence.beginning.started.as_ref().map(|told| Time(told.at.wall)),
            ended_at: ended.or(failed).map(|at| Time(at.wall)),
            last_seen_at: session.last_seen().map(|at| Time(at.wall)),
            uptime_ms: session.verdict.uptime_ms,
        }
    }
}

impl<'a> EndView<'a> {
    fn new(session: &'a Session) -> Self {
        Self {
            exit_code: session.verdict.codes.exit,
            wait_code: session.verdict.codes.wait,
            outcome: session.verdict.outcome.as_ref().map(OutcomeView::new),
            declared: DeclaredView::of(session),
        }
    }
}

impl SurvivorView {
    pub(crate) fn new(survivor: &Survivor) -> Self {
        Self { pid: survivor.process.pid, command: secret::mask_words(&survivor.command) }
    }
}

impl<'a> DeclaredView<'a> {
    pub(crate) fn of(session: &'a Session) -> Option<Self> {
        session.evidence.work.declared.as_ref().map(|told| Self {
            status: &told.body.status,
            exit_code: told.body.exit_code,
            summary: told.body.summary.as_deref(),
        })
    }
}

impl OutcomeView {
    pub(crate) fn new(outcome: &Outcome) -> Self {
        let (kind, code, signal, core) = match outcome.how {
            How::Exited { code } => ("exited", Some(code), None, None),
            How::Signaled { signal, core } => ("signaled", None, Some(signal), Some(core)),
            How::ExecFailed { .. } => ("exec_failed", None, None, None),
            How::Lost => ("lost", None, None, None),
        };
        let errno = match outcome.how {
            How::ExecFailed { errno } => Some(errno),
            How::Exited { .. } | How::Signaled { .. } | How::Lost => None,
        };
        let observed_by = outcome.observed_by.map(word::observer);
        Self { kind, code, signal, core, errno, observed_by, cause: outcome.cause.map(word::cause) }
    }
}

impl ProcessesView {
    fn new(session: &Session, qualifier: Option<Qualifier>) -> Self {
        let (helpers, seen) = (&session.evidence.helpers, &session.seen);
        let guard = helpers.guarded.as_ref().map(|told| told.body.guard.pid);
        let host = helpers.hosted.as_ref().map(|told| told.body.host.pid);
        let program = abide_core::verdict::program_of(&session.evidence).map(|program| program.pid);
        let plain = seen.program == Liveness::Alive(None);
        let running = if plain { Liveness::Alive(qualifier) } else { seen.program };
        let served = ProcessView::new(host, seen.host);
        let waits = session.awaits_host().then(|| Qualifier::Restarting.name());
        Self {
            guard: ProcessView::new(guard, seen.guard),
            host: ProcessView { qualifier: waits.or(served.qualifier), ..served },
            program: ProcessView::new(program, running),
            watcher: helpers
                .watched
                .as_ref()
                .map(|told| ProcessView::new(Some(told.body.watcher.pid), seen.watcher)),
        }
    }
}

impl ProcessView {
    pub(super) fn new(pid: Option<u32>, liveness: Liveness) -> Self {
        let qualifier = match liveness {
            Liveness::Alive(qualifier) => qualifier,
            Liveness::Dead(_) | Liveness::Unknown(_) => None,
        };
        // The pid on record is the dead one's; its successor has not given its own yet.
        let pid = pid.filter(|_| qualifier != Some(Qualifier::Restarting));
        Self { pid, liveness: liveness.name(), qualifier: qualifier.map(|qualifier| qualifier.name()) }
    }
}

impl ScreenView {
    fn new(session: &Session, view: Option<(View, bool)>) -> Self {
        let launched = session.evidence.beginning.launched.as_ref().and_then(|told| told.body.size);
        // A program on pipes has no size, whatever its host makes of its output.
        let size = launched.map(|at_launch| view.as_ref().map_or(at_launch, |(view, _)| view.size));
        let title = view.filter(|(_, lives)| *lives).map(|(view, _)| view.title);
        Self {
            cols: size.map(|size| size.cols),
            rows: size.map(|size| size.rows),
            source: if session.has_answering_host() { "live" } else { "replay" },
            title: title.filter(|title| !title.is_empty()),
        }
    }
}

impl ResourcesView {
    const fn new(used: Resources) -> Self {
        let Resources { wall_ms, user_ms, system_ms, peak_kib } = used;
        Self { wall_ms, user_ms, system_ms, peak_kib }
    }
}

const fn is_false(value: &bool) -> bool {
    !*value
}
