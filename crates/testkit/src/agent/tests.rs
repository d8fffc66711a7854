//! The fake agent does what its steps say, as the observer sees it.

use std::fs;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::process::Command;

use rustix::process::Signal;
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};

use crate::deadline::{Deadline, until};
use crate::observer::Doomed;
use crate::running::start_ticks;
use crate::{Ending, Observer, Ran, Running, ScratchDir, bin};

fn run(steps: &[&str]) -> Ran {
    Ran::of(Command::new(bin("fake-agent")).args(steps))
}

/// The process that the agent says it has started.
fn started(agent: &mut Running, word: &str) -> Doomed {
    let line = agent.until(word);
    Doomed(Observer::of(line.rsplit_once(' ').unwrap().1.parse().unwrap()))
}

/// Field 4 of `/proc/PID/stat` and the two behind it: parent, process group, session.
fn family(pid: u32) -> [u32; 3] {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    [1, 2, 3].map(|field| fields[field].parse().unwrap())
}

#[test]
fn it_ends_as_it_is_told() {
    let signaled = |signal| Ending::Signaled { signal, core: false };
    assert_eq!(run(&["print hello  there"]).stdout, "hello  there\n");
    assert_eq!(run(&["exit 7"]).ending, Ending::Exited(7));
    assert_eq!(run(&["die KILL"]).ending, signaled(9));
    assert_eq!(run(&["ignore TERM", "die TERM"]).ending, signaled(15));
    assert_eq!(run(&["leader-exit", "exit 4"]).ending, Ending::Exited(4));
    assert_eq!(run(&["dance"]).ending, Ending::Exited(2));
    assert_eq!(run(&["exec /no/such/program"]).ending, Ending::Exited(3));
    assert_eq!(run(&["exec /bin/sh -c exit\t6"]).ending, Ending::Exited(6));
    assert_eq!(run(&["wait-line"]).ending, Ending::Exited(3));
}

#[test]
fn it_dumps_core_where_the_machine_allows_it() {
    let scratch = ScratchDir::new();
    let ran = Ran::of(Command::new(bin("fake-agent")).arg("abort-core").current_dir(scratch.path()));
    assert!(matches!(ran.ending, Ending::Signaled { signal: 6, .. }), "{ran:?}");
}

#[test]
fn it_ignores_and_traps_signals() {
    let mut agent = Running::agent(&["ignore TERM", "trap-exit INT 9", "say-ready", "hang"]).ready();
    agent.signal(Signal::TERM);
    agent.signal(Signal::INT);
    assert_eq!(agent.reap(), Ending::Exited(9));
}

#[test]
fn it_reads_its_script_from_a_file() {
    let scratch = ScratchDir::new();
    let script = scratch.file("script", "print one\nprint two\nexit 5\n");
    let ran = Ran::of(Command::new(bin("fake-agent")).arg("--script").arg(script));
    assert_eq!((ran.stdout.as_str(), ran.ending), ("one\ntwo\n", Ending::Exited(5)));
}

#[test]
fn what_it_forks_has_a_session_of_its_own_and_outlives_it() {
    let mut agent = Running::agent(&["fork ignore TERM ; hang", "wait-line", "exit 0"]);
    let forked = started(&mut agent, "forked");
    let pid = forked.0.pid();
    until("it has a session of its own", || family(pid) == [agent.pid(), pid, pid]);
    agent.tell("go");
    assert_eq!(agent.reap(), Ending::Exited(0));
    assert!(forked.0.lives());
}

#[test]
fn a_daemon_is_no_descendant_of_its_own() {
    let mut agent = Running::agent(&["daemon hang", "say-ready", "hang"]);
    let daemon = started(&mut agent, "daemon");
    agent.until("ready");
    let [parent, _, session] = family(daemon.0.pid());
    assert!(daemon.0.lives() && parent != agent.pid() && session != family(agent.pid())[2]);
}

#[test]
fn an_observer_learns_how_a_process_ended_that_another_one_reaped() {
    let mut agent = Running::start(
        Command::new("sh").args(["-c", "\"$0\" hang & echo pid $!; wait; read x"]).arg(bin("fake-agent")),
    );
    let other = started(&mut agent, "pid");
    assert_eq!(other.0.ending(), None);
    other.0.signal(Signal::KILL);
    until("its parent has reaped it", || other.0.ending().is_some());
    assert_eq!(other.0.ending(), Some(Ending::Signaled { signal: 9, core: false }));
}

#[test]
fn it_lets_go_of_its_terminal_and_lives_on() {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&master).and_then(|()| unlockpt(&master)).unwrap();
    let terminal = || -> OwnedFd {
        ioctl_tiocgptpeer(&master, OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap()
    };
    let mut command = Command::new(bin("fake-agent"));
    command.args(["say-ready", "close-tty", "hang"]).stdin(terminal()).stdout(terminal()).stderr(terminal());
    let mut process = command.spawn().unwrap();
    drop(command);
    let agent = Doomed(Observer::of(process.id()));
    let (mut master, mut said, deadline) = (fs::File::from(master), Vec::new(), Deadline::start());
    let error = loop {
        assert!(deadline.readable(master.as_fd()), "the terminal stays open");
        let mut piece = [0; 64];
        match master.read(&mut piece) {
            Ok(length) => said.extend_from_slice(&piece[..length]),
            Err(error) => break error,
        }
    };
    assert_eq!((said.as_slice(), error.raw_os_error()), (&b"ready\r\n"[..], Some(libc::EIO)));
    assert!(agent.0.lives());
    drop(agent);
    process.wait().unwrap();
}

#[test]
fn it_floods_exactly_as_much_as_it_is_told() {
    let flooded = run(&["flood 1000000"]).stdout;
    assert_eq!(flooded.len(), 1_000_000);
    assert!(flooded.lines().take(15_625).enumerate().all(|(number, line)| line.parse() == Ok(number)));
}

#[test]
fn it_writes_files_as_agents_do() {
    let scratch = ScratchDir::new();
    let path = |name: &str| scratch.join(name).display().to_string();
    let mut agent = Running::agent(&[
        &format!("write {} one two", path("note")),
        &format!("append {}  three", path("note")),
        &format!("registry {} busy", path("registry")),
        &format!("transcript {} 4", path("transcript")),
        "say-ready",
        "hang",
    ])
    .ready();
    let read = |name: &str| fs::read_to_string(scratch.join(name)).unwrap();
    assert_eq!(read("note"), "one two three\n");
    let registry: serde_json::Value = serde_json::from_str(&read("registry")).unwrap();
    assert_eq!(registry["pid"], agent.pid());
    assert_eq!(registry["status"], "busy");
    assert_eq!(registry["procStart"], start_ticks(agent.pid()).unwrap().to_string());
    assert_eq!(read("transcript").lines().count(), 4);
    agent.kill();
}
