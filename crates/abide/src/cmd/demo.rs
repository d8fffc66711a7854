//! `abide demo`: a guided tour in a scratch home that checks every claim it makes.

use std::io::{BufRead, BufReader, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use abide_core::failure::Failure;
use abide_engine::{Sessions, Shown, Source, Target};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Faulty, Front, Verb};
use crate::environment::Variable;
use crate::show::page::Tone;

const EXAMPLES: &str = "Examples:
  abide demo            a tour of some seconds, slow enough to be read; exits with 1 if a claim does not hold
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
        let begun = Sessions::open(&home.0)?.now().at.boot;
        let mut tour =
            Tour { front, home: home.0.clone(), exe: own_executable()?, claims: Vec::new(), begun };
        tour.launcher_killed()?;
        tour.capped_wait()?;
        tour.host_killed()?;
        tour.guard_killed()?;
        tour.past_seen()?;
        tour.found()?;
        tour.exact_code()?;
        tour.everything_killed()?;
        let Tour { claims, .. } = tour;
        let data = DemoView { held: claims.iter().all(|claim| claim.held), claims };
        front.output.show(&data, |page| {
            let (tone, verdict) = match data.held {
                true => (Tone::Good, "every claim held"),
                false => (Tone::Bad, "a claim did not hold: this is a bug"),
            };
            page.end().put(tone, verdict).end();
        })?;
        if data.held {
            front.output.remark(NEXT);
        }
        Ok(u8::from(!data.held))
    }
}

struct Tour<'a> {
    front: &'a mut Front,
    home: PathBuf,
    exe: PathBuf,
    claims: Vec<ClaimView>,
    /// When, in ms of boot time.
    begun: u64,
}

/// What to do after the tour.
const NEXT: &str = "
Now yours:
  abide run --name first -- bash   (ctrl-\\ twice leaves it)
  abide ls
  abide attach first
  abide --help                     has the rest";
/// How long a reader has for each claim, as long as the tour lasts no longer than this.
const READ_MS: u64 = 1_500;
const LAST_MS: u64 = 15_000;

/// What an agent looks like to a terminal. It ends by itself, should the tour be cut short.
const AGENT: &str = "printf '\\033]0;fixing the parser\\007'; echo '> make the tests pass'; \
    for n in $(seq 1 300); do echo \"* step $n: reading src/parser.rs\"; sleep 0.3; done";

impl Tour<'_> {
    fn launcher_killed(&mut self) -> Result<(), Failure> {
        self.tell(
            "An agent works in a session. Whoever launched it is killed.",
            "run --wait --name agent -- agent",
        )?;
        let failed = |e: std::io::Error| Failure::io("kill", &"the launcher", &e);
        let arguments = ["run", "--wait", "--name", "agent", "--", "sh", "-c", AGENT];
        let mut launcher = self.command(&arguments).stderr(Stdio::piped()).spawn().map_err(failed)?;
        let mut first = String::new();
        if let Some(said) = launcher.stderr.take() {
            BufReader::new(said).read_line(&mut first).map_err(failed)?;
        }
        launcher.kill().and_then(|()| launcher.wait()).map_err(failed)?;
        let after = self.sessions()?.find("agent")?;
        let saw = format!("session {} is {}", after.id, after.verdict.status.name());
        self.claim("a session outlives kill -9 of its launcher", saw, after.verdict.status.is_commandable())
    }

    fn capped_wait(&mut self) -> Result<(), Failure> {
        self.tell("Another program waits for it, and may not wait long.", "wait --cap 300ms agent")?;
        let capped = self.abide(&["wait", "--cap", "300ms", "agent"])?;
        let strict = self.abide(&["wait", "--cap", "300ms", "--strict", "agent"])?;
        let saw =
            format!("exit {}; with --strict {}", shown(capped.status.code()), shown(strict.status.code()));
        let held = capped.status.code() == Some(0) && strict.status.code() == Some(124);
        self.claim("a healthy wait that comes back early is no failure", saw, held)
    }

    fn host_killed(&mut self) -> Result<(), Failure> {
        self.tell("The process that serves it is killed.", "snapshot agent")?;
        let sessions = self.sessions()?;
        let before = sessions.find("agent")?;
        let killed = sessions.kill(&before, &[Target::Host]);
        let screen = sessions.snapshot(&before, None)?;
        let after = sessions.find("agent")?;
        let generation = after.evidence.helpers.hosted.as_ref().map_or(0, |told| told.body.generation);
        let live = screen.source == Source::Live && screen.screen.visible_text().contains("step 1:");
        let saw = format!("{}, host of generation {generation}, screen kept", after.verdict.status.name());
        let held = killed && live && generation == 2 && after.seen.program.is_alive();
        self.claim("kill -9 of the host: the next one shows the same screen", saw, held)
    }

    fn guard_killed(&mut self) -> Result<(), Failure> {
        // One that is not shown yet.
        let later = format!("step {}:", last_step(&self.says(&["snapshot", "agent"])?) + 5);
        self.tell("The process that holds its terminal is killed.", &format!("wait --text '{later}' agent"))?;
        let sessions = self.sessions()?;
        let killed = sessions.kill(&sessions.find("agent")?, &[Target::Guard]);
        let went_on = self.abide(&["wait", "--text", &later, "--timeout", "15s", "agent"])?;
        let after = sessions.find("agent")?;
        let guard = after.evidence.helpers.guarded.as_ref().map_or(0, |told| told.body.guard.pid);
        let saw = format!("{}, guard {guard} took over, `{later}` was shown", after.verdict.status.name());
        let held = killed && went_on.status.success() && after.verdict.status.is_commandable();
        self.claim("kill -9 of the guard: the program goes on, and so does its record", saw, held)
    }

    fn past_seen(&mut self) -> Result<(), Failure> {
        self.tell("What was on the screen before all that?", "snapshot --at +400ms agent")?;
        let past = self.says(&["snapshot", "--at", "+400ms", "agent"])?;
        let now = self.says(&["snapshot", "agent"])?;
        let (then, now) = (last_step(&past), last_step(&now));
        let saw = format!("then it was at step {then}, now at step {now}");
        let held = past.contains("step 1:") && then < now;
        self.claim("every instant of a recording can be seen again", saw, held)
    }

    fn found(&mut self) -> Result<(), Failure> {
        self.tell("In which session was that?", "search 'make the tests pass'")?;
        let found = self.says(&["search", "make the tests pass"])?;
        let saw = found.lines().next().unwrap_or("nothing").to_owned();
        self.claim("what any session ever showed is found", saw, found.contains("make the tests pass"))
    }

    fn exact_code(&mut self) -> Result<(), Failure> {
        self.tell("A build fails, after its guard was killed.", "wait build")?;
        self.abide(&["run", "-d", "--name", "build", "--", "sh", "-c", "echo begun; sleep 1; exit 7"])?;
        let sessions = self.sessions()?;
        // Its first word on the screen says that the host follows, and so holds the terminal too.
        let build = sessions.find("build")?;
        sessions.logs(&build, true, &mut |shown| !matches!(shown, Shown::Output { .. }))?;
        sessions.snapshot(&build, None)?;
        let killed = sessions.kill(&sessions.find("build")?, &[Target::Guard]);
        let code = self.abide(&["wait", "build"])?.status.code();
        let outcome = sessions.find("build")?.verdict.outcome;
        let saw =
            format!("wait exits with {}; {}", shown(code), outcome.map_or_else(String::new, |o| o.says()));
        self.claim("wait passes on the exact code", saw, killed && code == Some(7))
    }

    fn everything_killed(&mut self) -> Result<(), Failure> {
        self.tell("Agent, guard and host are killed at once: nobody saw how it ended.", "wait agent")?;
        let sessions = self.sessions()?;
        let session = sessions.find("agent")?;
        let killed = sessions.kill(&session, &[Target::Guard, Target::Host, Target::Program]);
        let code = self.abide(&["wait", "agent"])?.status.code();
        let after = sessions.find("agent")?;
        let saw = format!("{}, wait exits with {}", after.verdict.status.name(), shown(code));
        let held = killed && code == Some(125) && after.verdict.codes.exit.is_none();
        self.claim("an end that nobody saw gets no invented code", saw, held)?;
        self.tell("It is sealed, and says what that rests on.", "doctor --fix; abide why agent")?;
        let sealed = self.abide(&["doctor", "--fix"])?;
        let proof = self.says(&["why", "agent"])?;
        let last = self.sessions()?.find("agent")?;
        let held =
            sealed.status.success() && last.evidence.closing.sealed.is_some() && proof.contains("sealed");
        self.claim("its end is sealed once, with the cause", last.verdict.rule.says().to_owned(), held)
    }

    /// Says what comes next, and the command that a person would type.
    fn tell(&mut self, story: &str, command: &str) -> Result<(), Failure> {
        if self.front.output.is_json() {
            return Ok(());
        }
        let first = self.claims.is_empty();
        self.front.output.show(&(), |page| {
            if !first {
                page.end();
            }
            page.put(Tone::Strong, story).end();
            page.put(Tone::Faint, "  $ abide ").plain(command).end();
        })
    }

    /// Gives whoever reads along the time for it.
    fn pause(&self) -> Result<(), Failure> {
        let lasts = self.sessions()?.now().at.boot.saturating_sub(self.begun);
        if std::io::stdout().is_terminal() && lasts < LAST_MS {
            let (_never, hear) = mpsc::channel::<()>();
            let _ = hear.recv_timeout(Duration::from_millis(READ_MS));
        }
        Ok(())
    }

    fn claim(&mut self, claim: &'static str, saw: String, held: bool) -> Result<(), Failure> {
        self.claims.push(ClaimView { claim, saw: saw.clone(), held });
        if self.front.output.is_json() {
            return Ok(());
        }
        self.front.output.show(&(), |page| {
            let (tone, mark) = if held { (Tone::Good, "  ✓ ") } else { (Tone::Bad, "  ✗ ") };
            page.put(tone, mark).plain(claim).end();
            page.plain("    ").put(Tone::Faint, &saw).end();
        })?;
        self.pause()
    }

    fn sessions(&self) -> Result<Sessions, Failure> {
        Sessions::open(&self.home)
    }

    fn abide(&self, arguments: &[&str]) -> Result<Output, Failure> {
        self.command(arguments).output().map_err(|e| Failure::io("run", &self.exe.display(), &e))
    }

    /// What a command prints.
    fn says(&self, arguments: &[&str]) -> Result<String, Failure> {
        let ran = self.command(arguments).stdout(Stdio::piped()).output();
        let ran = ran.map_err(|e| Failure::io("run", &self.exe.display(), &e))?;
        Ok(String::from_utf8_lossy(&ran.stdout).into_owned())
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.exe);
        command.arg("--home").arg(&self.home).args(arguments).env(Variable::Config.name(), "/dev/null");
        command.env(Variable::NoColor.name(), "1");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }
}

/// The latest step of the agent that a screen shows.
fn last_step(screen: &str) -> u64 {
    let number = |line: &str| line.strip_prefix("* step ")?.split(':').next()?.parse().ok();
    screen.lines().rev().find_map(number).unwrap_or(0)
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
