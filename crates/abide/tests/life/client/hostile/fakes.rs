//! A host that is none, or that vanishes: the test listens in its place. No client hangs, obeys it, or takes what it says for
//! the truth about the session.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::os::unix::fs::symlink;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use abide_core::wire::{Message, ToClient, VERSION};
use abide_testkit::scene::{Scene, identity, idle};
use abide_testkit::{Ran, Running, Tape};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketType};
use rustix::process::Uid;

use crate::common::{Gate, World};

/// A session whose guard, host and program live, and in which nobody but the test listens.
struct Played {
    world: World,
    scene: Scene,
    _living: [Running; 3],
    _held: std::fs::File,
    /// How often somebody connected.
    came: Arc<AtomicUsize>,
}

impl Played {
    fn new() -> Self {
        let world = World::new();
        let living = [idle(), idle(), idle()];
        let [guard, host, program] = living.each_ref().map(identity);
        let scene = Scene::new(&world.home.path(), "played00").served(&guard, &host, &program);
        Tape::new(40, 6).output("recorded\r\n").put(scene.dir());
        let alive = Gate::new(scene.dir().join("alive").to_str().expect("it is text"));
        let _held = alive.hold();
        Self { world, scene, _living: living, _held, came: Arc::default() }
    }

    /// Has this said to everyone who connects; who is then kept waiting, or hung up on.
    fn says(&self, words: Vec<u8>, stays: bool) {
        let listener = UnixListener::bind(self.scene.dir().join("socket")).expect("there is room");
        let came = Arc::clone(&self.came);
        std::thread::spawn(move || {
            let mut held: VecDeque<UnixStream> = VecDeque::new();
            for mut client in listener.incoming().flatten() {
                came.fetch_add(1, Ordering::Relaxed);
                // It may be gone before it has heard all of it.
                let _ = client.write_all(&words);
                if stays {
                    held.push_back(client);
                    // Nobody speaks to more of them at once.
                    held.drain(..held.len().saturating_sub(8));
                }
            }
        });
    }

    /// Everyone who asks a host gets an honest answer, in time.
    fn check(&self, what: &str) {
        let ask = |args: &[&str]| {
            let script = "ulimit -v 1048576; exec timeout 30 \"$0\" \"$@\"";
            let ran = Ran::of(&mut self.world.bash(script, args));
            assert!(ran.code().is_some_and(|code| code != 101), "{what}: {args:?}: {ran:?}");
            assert!(
                !ran.stderr.contains("panicked") && !ran.stderr.contains('\u{1b}'),
                "{what}: {args:?}: {ran:?}"
            );
            ran
        };
        // Whatever the host says or not, the recording has the screen, and the answer says where it is from.
        let snapshot = ask(&["snapshot", "--json", "played00"]).json();
        assert_eq!(snapshot["data"]["lines"][0], "recorded", "{what}: {snapshot}");
        assert_ne!(snapshot["data"]["source"], "live", "{what}: {snapshot}");
        for args in [
            &["type", "--timeout", "1s", "played00", "x"][..],
            &["keys", "--timeout", "1s", "played00", "Enter"],
            &["mark", "played00", "here"],
            &["exec", "--timeout", "1s", "played00", "--", "true"],
            &["wait", "--text", "never", "--timeout", "1s", "played00"],
        ] {
            let ran = ask(args);
            assert!(ran.code() != Some(0), "{what}: {args:?}: {ran:?}");
        }
        // Readers ask nobody.
        let told = self.world.inspect("played00");
        assert_eq!(told["status"], "running", "{what}: {told}");
        let capped = ask(&["wait", "--cap", "200ms", "played00"]);
        assert_eq!(capped.code(), Some(0), "{what}: {capped:?}");
        let came = self.came.load(Ordering::Relaxed);
        assert!(came < 1_000, "{what}: they came {came} times");
    }
}

fn welcome(then: &[ToClient]) -> Vec<u8> {
    let welcome = ToClient::Welcome { version: VERSION, generation: 1 };
    [&[welcome], then].concat().iter().flat_map(Message::to_stream).collect()
}

#[test]
fn one_that_says_nothing_or_hangs_up_is_told_of_in_time() {
    let silent = Played::new();
    silent.says(Vec::new(), true);
    silent.check("silent");
    let hangs_up = Played::new();
    hangs_up.says(Vec::new(), false);
    hangs_up.check("hangs up");
    let half = Played::new();
    half.says(welcome(&[])[..7].to_vec(), false);
    half.check("hangs up in the middle of a message");
}

#[test]
fn one_that_says_garbage_is_not_believed() {
    let noise: Vec<u8> = (0..200_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 22) as u8).collect();
    let garbage = Played::new();
    garbage.says(noise.clone(), true);
    garbage.check("garbage");
    let huge = Played::new();
    huge.says([&welcome(&[])[..], &u32::MAX.to_le_bytes()].concat(), true);
    huge.check("a message of four gigabytes");
    let frozen = Played::new();
    let words = [ToClient::Snapshot { position: u64::MAX, frozen: noise }, ToClient::Applied { seq: 0 }];
    frozen.says(welcome(&words), true);
    frozen.check("a screen that is none");
}

/// What a client is told it typed, it did not type.
#[test]
fn a_link_in_the_place_of_the_socket_is_not_followed() {
    let played = Played::new();
    let elsewhere = played.world.beside("elsewhere");
    let listener = UnixListener::bind(&elsewhere).expect("there is room");
    listener.set_nonblocking(true).expect("it is a socket");
    symlink(&elsewhere, played.scene.dir().join("socket")).expect("there is room");
    played.check("a link");
    assert!(listener.accept().is_err(), "somebody was connected to what the link leads to");
}

/// Listens as another user in the place of the socket: whose it is when it begins to listen is what its clients are told.
fn listen_as_another(path: &Path) -> UnixListener {
    let path = path.to_owned();
    // What a thread becomes, the others are not.
    let listens = std::thread::spawn(move || {
        let socket =
            rustix::net::socket(AddressFamily::UNIX, SocketType::STREAM, None).expect("there is one");
        rustix::net::bind(&socket, &SocketAddrUnix::new(&path).expect("it is short")).expect("there is room");
        let other = Uid::from_raw(65_534);
        rustix::thread::set_thread_res_uid(Uid::ROOT, other, Uid::ROOT).expect("root may");
        rustix::net::listen(&socket, 16).expect("it is a socket");
        UnixListener::from(socket)
    });
    listens.join().expect("it listens")
}

/// Only root can have another user's socket in a place of its own.
#[test]
fn nothing_is_said_to_a_host_of_another_user() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let played = Played::new();
    let listener = listen_as_another(&played.scene.dir().join("socket"));
    let heard = std::thread::spawn(move || {
        let mut heard = Vec::new();
        for mut client in listener.incoming().flatten().take(3) {
            let _ = client.read_to_end(&mut heard);
        }
        heard
    });
    played.check("another user's");
    assert_eq!(heard.join().expect("it listened"), b"", "something was said");
}
