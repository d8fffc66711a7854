//! `abide demo`: a guided tour in a scratch home that checks every claim it makes.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use abide_core::failure::Failure;
use abide_engine::{Sessions, Shown, Source, Target};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Faulty, Front, Verb};
use crate::environment::Variable;
use crate::show::page::{Page, Tone};

const EXAMPLES: &str = "Examples:
  abide demo            a tour of a few seconds; exits with 1 if a claim does not hold
  abide demo --json     only what was claimed and whether it held";

/// Show what abide does, on real processes, in a scratch home
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES)]
pub(crate) struct Args {}

/// What was claimed, and whether it held.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Demo")]
pub(crate) struct DemoView {
    held: bool,
    claims: Vec<ClaimView>,
}

/// One claim.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Claim")]
struct ClaimView {
    claim: &'static str,
    saw: String,
    held: bool,
}

impl Verb for Args {
    type Data = DemoView;

    fn with_faults(&self) -> Faulty {
        Faulty::Warn
    }

    fn run(self, front: &mut Front) -> Result<u8, Failure> {
        let home = Scratch::new();
        let mut tour = Tour { home: home.0.clone(), exe: own_executable()?, claims: Vec::new() };
        tour.exact_code()?;
        tour.launcher_killed()?;
        tour.capped_wait()?;
        tour.host_killed()?;
        tour.guard_killed()?;
        tour.everything_killed()?;
        let data = DemoView { held: tour.claims.iter().all(|claim| claim.held), claims: tour.claims };
        front.output.show(&data, |page| put(page, &data))?;
        Ok(u8::from(!data.held))
    }
}

struct Tour {
    home: PathBuf,
    exe: PathBuf,
    claims: Vec<ClaimView>,
}

/// Counts for ever: what an agent looks like to a terminal.
const BUSY: &str = "while :; do n=$((n+1)); echo step $n; sleep 1; done";

impl Tour {
    fn exact_code(&mut self) -> Result<(), Failure> {
        let ended = self.abide(&["run", "--wait", "--", "sh", "-c", "echo working; exit 3"])?;
        self.claim(
            "wait passes on the exact code",
            format!("exit code {}", shown(ended.status.code())),
            ended.status.code() == Some(3),
        );
        Ok(())
    }

    fn launcher_killed(&mut self) -> Result<(), Failure> {
        let failed = |e: std::io::Error| Failure::io("kill", &"the launcher", &e);
        let arguments = ["run", "--wait", "--name", "agent", "--", "sh", "-c", BUSY];
        let mut launcher = self.command(&arguments).stderr(Stdio::piped()).spawn().map_err(failed)?;
        let mut first = String::new();
        if let Some(said) = launcher.stderr.take() {
            BufReader::new(said).read_line(&mut first).map_err(failed)?;
        }
        launcher.kill().and_then(|()| launcher.wait()).map_err(failed)?;
        let after = self.sessions()?.find("agent")?;
        let saw = format!("session {} is {}", after.id, after.verdict.status.name());
        self.claim("a session outlives kill -9 of its launcher", saw, after.verdict.status.is_commandable());
        Ok(())
    }

    fn capped_wait(&mut self) -> Result<(), Failure> {
        let capped = self.abide(&["wait", "--cap", "300ms", "agent"])?;
        let strict = self.abide(&["wait", "--cap", "300ms", "--strict", "agent"])?;
        let saw =
            format!("exit {}; with --strict {}", shown(capped.status.code()), shown(strict.status.code()));
        self.claim(
            "a healthy wait that comes back early is no failure",
            saw,
            capped.status.code() == Some(0) && strict.status.code() == Some(124),
        );
        Ok(())
    }

    fn host_killed(&mut self) -> Result<(), Failure> {
        let sessions = self.sessions()?;
        let before = sessions.find("agent")?;
        let killed = sessions.kill(&before, &[Target::Host]);
        let screen = sessions.snapshot(&before, None)?;
        let after = sessions.find("agent")?;
        let generation = after.evidence.helpers.hosted.as_ref().map_or(0, |told| told.body.generation);
        let live = screen.source == Source::Live && screen.screen.visible_text().contains("step 1");
        let saw = format!("{}, host of generation {generation}, screen kept", after.verdict.status.name());
        let held = killed && live && generation == 2 && after.seen.program.is_alive();
        self.claim("kill -9 of the host: the next one shows the same screen", saw, held);
        Ok(())
    }

    fn guard_killed(&mut self) -> Result<(), Failure> {
        self.abide(&["run", "-d", "--name", "worker", "--", "sh", "-c", "echo begun; sleep 1; exit 7"])?;
        let sessions = self.sessions()?;
        // Its first word on the screen says that the host follows, and so holds the terminal too.
        let worker = sessions.find("worker")?;
        sessions.logs(&worker, true, &mut |shown| !matches!(shown, Shown::Output { .. }))?;
        sessions.snapshot(&worker, None)?;
        let killed = sessions.kill(&sessions.find("worker")?, &[Target::Guard]);
        let code = self.abide(&["wait", "worker"])?.status.code();
        let outcome = sessions.find("worker")?.verdict.outcome;
        let saw =
            format!("wait exits with {}; {}", shown(code), outcome.map_or_else(String::new, |o| o.says()));
        self.claim(
            "kill -9 of the guard: the program goes on, its code is exact",
            saw,
            killed && code == Some(7),
        );
        Ok(())
    }

    fn everything_killed(&mut self) -> Result<(), Failure> {
        let sessions = self.sessions()?;
        let session = sessions.find("agent")?;
        let killed = sessions.kill(&session, &[Target::Guard, Target::Host, Target::Program]);
        let code = self.abide(&["wait", "agent"])?.status.code();
        let after = sessions.find("agent")?;
        let saw = format!("{}, wait exits with {}", after.verdict.status.name(), shown(code));
        self.claim(
            "an end that nobody saw gets no invented code",
            saw,
            killed && code == Some(125) && after.verdict.codes.exit.is_none(),
        );
        let sealed = self.abide(&["doctor", "--fix"])?;
        let last = self.sessions()?.find("agent")?;
        let saw = last.verdict.rule.says().to_owned();
        self.claim(
            "its end is sealed once, with the cause",
            saw,
            sealed.status.success() && last.evidence.closing.sealed.is_some(),
        );
        Ok(())
    }

    fn claim(&mut self, claim: &'static str, saw: String, held: bool) {
        self.claims.push(ClaimView { claim, saw, held });
    }

    fn sessions(&self) -> Result<Sessions, Failure> {
        Sessions::open(&self.home)
    }

    fn abide(&self, arguments: &[&str]) -> Result<Output, Failure> {
        self.command(arguments).output().map_err(|e| Failure::io("run", &self.exe.display(), &e))
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.exe);
        command.arg("--home").arg(&self.home).args(arguments).env(Variable::Config.name(), "/dev/null");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }
}

/// An exit code, if there is one.
fn shown(code: Option<i32>) -> String {
    code.map_or_else(|| "no code".to_owned(), |code| code.to_string())
}

/// A home that is gone when the tour is over, with whatever still runs in it.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Self {
        Self(std::env::temp_dir().join(format!("abide-demo-{}", std::process::id())))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A tour that was cut short may leave its session running; nothing is left of it either way.
        if let Ok(sessions) = Sessions::open(&self.0) {
            for session in sessions.list().unwrap_or_default() {
                let _ = sessions.stop(&session, 0);
            }
        }
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn own_executable() -> Result<PathBuf, Failure> {
    std::env::current_exe().map_err(|e| Failure::io("find", &Path::new("abide").display(), &e))
}

fn put(page: &mut Page, data: &DemoView) {
    for claim in &data.claims {
        let (tone, mark) = if claim.held { (Tone::Good, "held") } else { (Tone::Bad, "BROKEN") };
        page.put(tone, mark).plain("  ").put(Tone::Strong, claim.claim).end();
        page.plain("      ").put(Tone::Faint, &claim.saw).end();
    }
    let (tone, verdict) = match data.held {
        true => (Tone::Good, "every claim held"),
        false => (Tone::Bad, "a claim did not hold: this is a bug"),
    };
    page.end().put(tone, verdict).end();
}
