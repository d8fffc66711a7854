//! Hostile peers at a host's socket: whatever they say, and whatever they leave unsaid, the host, its memory, the program,
//! the recording and every other client stay as they were.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use abide_core::evidence::Size;
use abide_core::wire::{ANSWERS, Attendance, CLIENTS, LONGEST, Message, ToClient, ToHostFromClient, VERSION};
use abide_testkit::deadline::until;
use abide_testkit::{Observer, Terminal};
use rustix::process::Signal;

use super::peak_kib;
use crate::common::{Life, World};

const SIZE: Size = Size { cols: 80, rows: 24 };
/// No peer may have the host take more than this beside what it had.
const MOST_KIB: u64 = 96 << 10;
/// A peer that may write nothing for so long is not heard.
const STALLED: Duration = Duration::from_millis(700);

/// A session whose program says what it hears, its host, and a terminal that is attached to it.
struct Besieged<'a> {
    world: &'a World,
    life: Life<'a>,
    host: Observer,
    attached: Terminal,
    peak_before: u64,
}

impl<'a> Besieged<'a> {
    fn new(world: &'a World) -> Self {
        Self::with(world, "stty -echo; echo ready; while read line; do echo \"got $line\"; done")
    }

    fn with(world: &'a World, script: &str) -> Self {
        let life = world.observe(world.launch(&[], &["sh", "-c", script]));
        life.until_shown("ready");
        let host = life.helper("host", None);
        let mut attached = Terminal::start(&world.abide.command(&["attach", &life.id]));
        attached.until("ready");
        let peak_before = peak_kib(host.pid());
        Self { world, life, host, attached, peak_before }
    }

    fn peer(&self) -> UnixStream {
        let peer =
            UnixStream::connect(self.world.dir(&self.life.id).join("socket")).expect("the host listens");
        peer.set_write_timeout(Some(STALLED)).expect("it is a socket");
        peer.set_read_timeout(Some(Duration::from_secs(60))).expect("it is a socket");
        peer
    }

    /// Everything goes on: the same host, not swollen, the program, who was attached, who comes now, and the record.
    fn goes_on(mut self) {
        let taken = peak_kib(self.host.pid()).saturating_sub(self.peak_before);
        assert!(taken < MOST_KIB, "the host took {taken} KiB");
        let typed = self.world.abide.run(&["type", &self.life.id, "hello\n"]);
        assert_eq!(typed.code(), Some(0), "{typed:?}");
        self.attached.until("got hello");
        assert!(self.host.lives() && self.life.program.0.lives());
        let session = self.life.inspect();
        assert_eq!(
            (&session["status"], &session["host"]["generation"]),
            (&"running".into(), &1.into()),
            "{session}"
        );
        self.life.program.0.signal(Signal::KILL);
        assert_eq!(self.world.wait(&self.life.id).0, Some(137));
        assert_eq!(self.life.inspect()["recording"]["complete"], true);
        let shown = self.world.shown(&self.life.id);
        assert_eq!(shown.matches("got hello").count(), 1, "{shown}");
    }
}

/// Writes until all of it is taken, or nothing is for a while, or the other side is gone.
fn pour(peer: &mut UnixStream, bytes: &[u8], times: usize) -> bool {
    for _ in 0..times {
        match peer.write_all(bytes) {
            Ok(()) => {}
            Err(_) => return false,
        }
    }
    true
}

fn stream(words: &[ToHostFromClient]) -> Vec<u8> {
    words.iter().flat_map(Message::to_stream).collect()
}

const HELLO: ToHostFromClient = ToHostFromClient::Hello { version: VERSION, client: 7 };

/// Bytes without any sense, the same each time.
fn noise(seed: u32, length: usize) -> Vec<u8> {
    let mut now = seed | 1;
    let next = || {
        now ^= now << 13;
        now ^= now >> 17;
        now ^= now << 5;
        now as u8
    };
    std::iter::repeat_with(next).take(length).collect()
}

#[test]
fn garbage_and_lengths_that_no_message_has_end_their_own_connection_alone() {
    let world = World::new();
    let besieged = Besieged::new(&world);
    let too_long = (LONGEST as u32 + 1_000).to_le_bytes().to_vec();
    let mut openings: Vec<Vec<u8>> = (0..50).map(|seed| noise(seed, 100_000)).collect();
    openings.extend([u32::MAX.to_le_bytes().to_vec(), too_long, vec![0xff; 1 << 20]]);
    for opening in &openings {
        for hello in [&[][..], &stream(&[HELLO])] {
            let mut peer = besieged.peer();
            // It may hang up before all of it is written.
            let _ = peer.write_all(&[hello, opening].concat());
            let _ = peer.shutdown(Shutdown::Write);
            // Until it hangs up.
            let _ = peer.read_to_end(&mut Vec::new());
        }
    }
    besieged.goes_on();
}

#[test]
fn half_messages_are_waited_for_without_holding_anyone_up() {
    const MANY: usize = 80;
    let world = World::new();
    let besieged = Besieged::new(&world);
    let whole = stream(&[HELLO, ToHostFromClient::Attach { size: SIZE, role: Attendance::first(false) }]);
    let mut longest = (LONGEST as u32).to_le_bytes().to_vec();
    longest.extend_from_slice(&vec![b'i'; LONGEST - 1]);
    let held: Vec<UnixStream> = (0..MANY)
        .map(|number| {
            let mut peer = besieged.peer();
            let half: &[u8] = if number % 2 == 0 { &longest } else { &whole[..number % whole.len()] };
            assert!(pour(&mut peer, half, 1), "half a message is taken");
            peer
        })
        .collect();
    // One that goes in the middle of a message is gone, and nothing of it is done.
    held.iter().skip(MANY / 2).for_each(|peer| drop(peer.shutdown(Shutdown::Both)));
    besieged.goes_on();
}

#[test]
fn one_that_asks_without_end_and_never_reads_is_not_heard_any_more() {
    let world = World::new();
    let questions = [
        stream(&[ToHostFromClient::Snapshot]),
        stream(&[ToHostFromClient::Look]),
        stream(&[HELLO]),
        stream(&[ToHostFromClient::Attach { size: SIZE, role: Attendance::first(true) }]),
        stream(&[ToHostFromClient::Unrecorded(0)]),
        stream(&[
            ToHostFromClient::Attach { size: SIZE, role: Attendance::first(true) },
            ToHostFromClient::Resize(SIZE),
        ]),
    ];
    let besieged = Besieged::new(&world);
    let mut held = Vec::new();
    for question in questions {
        let mut peer = besieged.peer();
        let many = question.repeat(1_000);
        // Far more than may wait for one client.
        let _ = pour(&mut peer, &many, 2_000);
        held.push(peer);
    }
    besieged.goes_on();
}

#[test]
fn what_waits_for_a_program_that_reads_nothing_is_bounded_however_little_each_message_says() {
    let world = World::new();
    let besieged = Besieged::with(&world, "stty raw -echo; echo ready; exec sleep 1000");
    // Until the guard takes no more.
    let mut full = besieged.peer();
    let input = |seq| ToHostFromClient::Input { seq, bytes: vec![b'x'; LONGEST / 2] };
    let words: Vec<u8> = stream(&[&[HELLO], &(1..=60).map(input).collect::<Vec<_>>()[..]].concat());
    assert!(!pour(&mut full, &words, 1), "two megabytes were taken for nobody");
    for word in [
        ToHostFromClient::Hold,
        ToHostFromClient::Release,
        ToHostFromClient::Input { seq: 1, bytes: Vec::new() },
    ] {
        let mut peer = besieged.peer();
        let many = stream(&[word]).repeat(10_000);
        assert!(!pour(&mut peer, &many, 300), "no end of it is taken");
    }
    let taken = peak_kib(besieged.host.pid()).saturating_sub(besieged.peak_before);
    assert!(taken < MOST_KIB, "the host took {taken} KiB");
    assert!(besieged.host.lives() && besieged.life.program.0.lives());
    assert_eq!(besieged.life.inspect()["host"]["generation"], 1);
}

#[test]
fn thousands_of_connections_are_refused_honestly_and_those_before_them_are_served() {
    const THOUSANDS: usize = 3_000;
    let world = World::new();
    let mut besieged = Besieged::new(&world);
    let socket = world.dir(&besieged.life.id).join("socket");
    let mut held = Vec::new();
    for _ in 0..THOUSANDS {
        // Those that find no place are told so at once.
        held.extend(UnixStream::connect(&socket).ok());
        // More than are served, and few enough for a test among others.
        if held.len() > CLIENTS + 30 {
            held.remove(CLIENTS + 10);
        }
    }
    // Whoever comes while the others are still being told may wait in vain, and is told that.
    until("it is said to be busy", || {
        let refused = world.abide.run(&["type", "--json", &besieged.life.id, "x"]).json();
        let code = &refused["error"]["code"];
        assert!(code == "busy" || code == "unresponsive", "{refused}");
        code == "busy"
    });
    besieged.attached.type_in(b"between\r");
    besieged.attached.until("got between");
    drop(held);
    until("there is room again", || {
        world.abide.run(&["snapshot", "--json", &besieged.life.id]).json()["data"]["source"] == "live"
    });
    besieged.goes_on();
}

#[test]
fn a_peer_of_any_version_is_told_ours_and_served_as_far_as_it_can_be() {
    let world = World::new();
    let besieged = Besieged::new(&world);
    for version in [0, 1, VERSION + 1, u8::MAX] {
        let mut peer = besieged.peer();
        let hello = ToHostFromClient::Hello { version, client: u64::from(version) + 100 };
        // What it says that we do not know is passed over.
        let later = [3, 0, 0, 0, 0xfe, 1, 2];
        peer.write_all(&[&stream(&[hello]), &later[..], &stream(&[ToHostFromClient::Look])].concat())
            .expect("it hears");
        let mut head = [0; 4 + 1 + 8 + 1];
        peer.read_exact(&mut head).expect("it answers");
        let welcome = ToClient::from_packet(&head[4..]);
        assert_eq!(welcome, Some(ToClient::Welcome { version: VERSION, generation: 1 }), "{version}");
        peer.read_exact(&mut head[..5]).expect("it answers what was asked behind it");
    }
    besieged.goes_on();
}

/// Under that number the host has its own answers typed, and remembers which were.
#[test]
fn nobody_passes_for_the_host_itself_and_has_a_programs_questions_go_unanswered() {
    let world = World::new();
    let script = "stty -echo; echo ready; read go; stty raw -echo; printf '\\033[6n'; dd bs=1 count=6 2>/dev/null | od -c";
    let besieged = Besieged::with(&world, script);
    let mut peer = besieged.peer();
    let seq = u64::MAX - 1;
    let words = [
        ToHostFromClient::Hello { version: VERSION, client: ANSWERS },
        ToHostFromClient::Input { seq, bytes: b"y".to_vec() },
    ];
    let _ = peer.write_all(&stream(&words));
    let _ = peer.shutdown(Shutdown::Write);
    let mut said = Vec::new();
    let _ = peer.read_to_end(&mut said);
    assert!(said.is_empty(), "nobody of that name is welcome: {said:?}");
    assert_eq!(world.abide.run(&["type", &besieged.life.id, "go\n"]).code(), Some(0));
    until("the program has its answer", || world.shown(&besieged.life.id).contains(" R"));
}

/// As a client does that was not told in time that its input was taken, also by the next host.
#[test]
fn what_is_said_again_under_its_number_is_typed_once() {
    let world = World::new();
    let script = "stty -echo; echo ready; while read line; do echo \"got $line\"; done";
    let life = world.observe(world.launch(&[], &["sh", "-c", script]));
    life.until_shown("ready");
    let say = |seq: u64, text: &str| {
        let mut peer = UnixStream::connect(world.dir(&life.id).join("socket")).expect("somebody listens");
        let input = ToHostFromClient::Input { seq, bytes: text.as_bytes().to_vec() };
        let hello = ToHostFromClient::Hello { version: VERSION, client: 7 };
        peer.write_all(&stream(&[hello, input.clone(), input])).expect("it hears");
        peer
    };
    let _first = say(1, "one\n");
    life.until_shown("got one");
    let host = life.replace("host");
    let _second = say(1, "one\n");
    let _third = say(2, "two\n");
    life.until_shown("got two");
    let shown = world.shown(&life.id);
    assert!(host.lives() && shown.matches("got one").count() == 1, "{shown}");
    assert_eq!(shown.matches("got two").count(), 1, "{shown}");
}

#[test]
fn floods_of_marks_and_sizes_are_carried_out_or_waited_with() {
    let world = World::new();
    let besieged = Besieged::new(&world);
    let sizes: Vec<ToHostFromClient> =
        (0..1_000).map(|n| ToHostFromClient::Resize(Size { cols: 40 + n % 50, rows: 10 + n % 20 })).collect();
    let marks: Vec<ToHostFromClient> =
        (0..200).map(|n| ToHostFromClient::Mark(format!("{n}").repeat(300))).collect();
    for words in [stream(&sizes), stream(&marks)] {
        let mut peer = besieged.peer();
        assert!(pour(&mut peer, &words, 3), "some are carried out while the rest comes");
    }
    besieged.goes_on();
}
