//! Several clients of one session: whoever typed last drives. Its size is the session's, its clipboard is set, and its
//! ssh agent is the program's.

use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::net::UnixListener;

use abide_core::screen::Size;
use abide_testkit::{Ending, Ran, Terminal};

use crate::common::{Life, World, agent, data};

const fn size(cols: u16, rows: u16) -> Size {
    Size { cols, rows }
}

fn attach(world: &World, life: &Life<'_>, size: Size, options: &[&str]) -> Terminal {
    Terminal::of_size(size, &world.abide.command(&[&["attach"], options, &[&life.id]].concat()))
}

fn says(terminal: &mut Terminal, text: &str) {
    terminal.until_screen(text, |screen| screen.visible_text().lines().any(|line| line.ends_with(text)));
}

#[test]
fn the_size_follows_the_last_client_that_typed_and_stays_when_it_leaves() {
    let world = World::new();
    let life = world.live(&["tell-size", "exit 0"]);
    life.until_shown("size 80x24");
    life.helper("host", None);
    let mut one = attach(&world, &life, size(100, 30), &[]);
    says(&mut one, "size 100x30");
    let mut two = attach(&world, &life, size(60, 10), &[]);
    says(&mut two, "size 60x10");
    let mut looking = attach(&world, &life, size(40, 5), &["--read-only"]);
    says(&mut looking, "size 60x10");
    // One that does not drive sees what there is room for, be it larger or smaller.
    says(&mut one, "size 60x10");
    assert_eq!(one.screen().visible_text().trim_end(), two.screen().visible_text().trim_end());
    // The window of one that does not drive, and what a terminal says by itself, changes nothing.
    one.resize(size(101, 31));
    one.type_in(b"\x1b[I");
    one.type_in(b"x");
    says(&mut one, "size 101x31");
    says(&mut two, "size 101x31");
    two.resize(size(50, 12));
    looking.type_in(b"nothing");
    two.type_in(b"y");
    says(&mut two, "size 50x12");
    one.resize(size(90, 20));
    two.type_in(b"\x1c\x1c");
    assert_eq!(two.reap(), Ending::Exited(0));
    let told = data(&world.abide.run(&["snapshot", "--json", &life.id]));
    assert_eq!((&told["cols"], &told["rows"], &told["source"]), (&50.into(), &12.into(), &"live".into()));
    one.type_in(b"z");
    says(&mut one, "size 90x20");
    // The next host knows who drove: nobody's return changes the size.
    life.replace("host");
    one.resize(size(91, 21));
    says(&mut one, "size 91x21");
    one.type_in(b"\r");
    assert_eq!((one.reap(), looking.reap()), (Ending::Exited(0), Ending::Exited(0)));
    let shown = world.shown(&life.id);
    let sizes: Vec<&str> =
        shown.split("size ").skip(1).map(|size| size.split('\r').next().unwrap_or("")).collect();
    assert_eq!(
        sizes,
        ["80x24", "100x30", "60x10", "101x31", "50x12", "90x20", "91x21"],
        "no other in between"
    );
}

#[test]
fn the_clipboard_is_set_for_the_driver_alone() {
    let world = World::new();
    let script = "echo ready; read go; printf '\\033]52;c;Zm9v\\007'; echo done; read end";
    let life = world.observe(world.launch(&[], &["sh", "-c", script]));
    life.until_shown("ready");
    life.helper("host", None);
    let mut looking = attach(&world, &life, size(80, 24), &["--read-only"]);
    looking.until("ready");
    let mut other = attach(&world, &life, size(80, 24), &[]);
    other.until("ready");
    let mut driver = attach(&world, &life, size(80, 24), &[]);
    driver.until("ready");
    driver.type_in(b"\r");
    assert!(driver.until("done").contains("\x1b]52;c;Zm9v\x07"), "the driver's is set");
    for terminal in [&mut looking, &mut other] {
        let shown = terminal.until("done");
        assert!(!shown.contains("]52;"), "someone else's is set: {shown:?}");
    }
}

/// An ssh agent that says what it hears.
struct Agent {
    path: String,
    listener: UnixListener,
}

impl Agent {
    fn new(world: &World, name: &str) -> Self {
        let path = world.beside(name);
        let listener = UnixListener::bind(&path).expect("there is room");
        Self { path, listener }
    }

    fn hears(&self) -> String {
        let mut text = String::new();
        let (mut stream, _) = self.listener.accept().expect("someone connects");
        stream.read_to_string(&mut text).expect("it says something");
        text
    }
}

fn launch(world: &World, options: &[&str], steps: &[&str], socket: Option<&str>) -> String {
    let mut command = world.abide.command(&[&["run", "-d"], options, &["--", &agent()], steps].concat());
    let ran = Ran::of(command.envs(socket.map(|socket| ("SSH_AUTH_SOCK", socket))));
    assert_eq!(ran.code(), Some(0), "{ran:?}");
    ran.stdout.trim_end().to_owned()
}

/// What the program was started with.
fn given(life: &Life<'_>) -> Option<String> {
    let environ =
        std::fs::read(format!("/proc/{}/environ", life.program.0.pid())).expect("the program lives");
    let entries = environ.split(|&byte| byte == 0).map(String::from_utf8_lossy);
    entries.into_iter().find_map(|entry| entry.strip_prefix("SSH_AUTH_SOCK=").map(str::to_owned))
}

#[test]
fn the_ssh_agent_is_that_of_whoever_attached_last_as_a_driver() {
    let world = World::new();
    let [first, second, third] = ["first", "second", "third"].map(|name| Agent::new(&world, name));
    let mut steps = vec!["print ready"];
    for _ in 0..4 {
        steps.extend(["wait-line", "connect SSH_AUTH_SOCK hello", "print said"]);
    }
    steps.extend(["wait-line"]);
    let life = world.observe(launch(&world, &[], &steps, Some(&first.path)));
    life.until_shown("ready");
    life.helper("host", None);
    let stable = world.dir(&life.id).join("ssh-agent");
    assert_eq!(given(&life).as_deref().map(OsStr::new), Some(stable.as_os_str()));
    let attach = |options: &[&str], socket: Option<&str>| {
        let mut command = world.abide.command(&[&["attach"], options, &[&life.id]].concat());
        let mut terminal = Terminal::start(command.envs(socket.map(|socket| ("SSH_AUTH_SOCK", socket))));
        terminal.until("ready");
        terminal
    };
    // Without one, or with one that is none, or by looking on, nothing changes.
    let nowhere = world.beside("nowhere");
    let table = [
        (None, &first),
        (Some(nowhere.as_str()), &first),
        (Some(second.path.as_str()), &second),
        (stable.to_str(), &second),
    ];
    for (socket, hears) in table {
        let _looking = attach(&["--read-only"], Some(&third.path));
        let mut driver = attach(&[], socket);
        driver.type_in(b"\r");
        assert_eq!(hears.hears(), "hello", "attached with {socket:?}");
        driver.type_in(b"\x1c\x1c");
        assert_eq!(driver.reap(), Ending::Exited(0));
    }
    assert_eq!(std::fs::read_link(&stable).expect("it is a link"), OsStr::new(&second.path));
}

#[test]
fn who_has_no_agent_or_chose_one_is_given_no_other() {
    let world = World::new();
    let lone = world.observe(launch(&world, &[], &["hang"], None));
    assert_eq!(
        (given(&lone), world.dir(&lone.id).join("ssh-agent").symlink_metadata().is_ok()),
        (None, false)
    );
    let chosen = ["--env", "SSH_AUTH_SOCK=/chosen"];
    let chosen = world.observe(launch(&world, &chosen, &["hang"], Some("/callers")));
    assert_eq!(given(&chosen).as_deref(), Some("/chosen"));
    // Where the path would be too long to connect to, the caller's own is better than none.
    let deep = world.beside(&"deep".repeat(20));
    let far = launch(&world, &["--home", &deep], &["hang"], Some("/callers"));
    let session = data(&world.abide.run(&["inspect", "--json", "--home", &deep, &far]));
    let far = abide_testkit::observer::Doomed(crate::common::observer(&session, "program"));
    let environ = std::fs::read(format!("/proc/{}/environ", far.0.pid())).expect("the program lives");
    assert!(String::from_utf8_lossy(&environ).contains("SSH_AUTH_SOCK=/callers\0"));
}
