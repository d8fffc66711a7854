//! What the user is told of sessions: by a real command and a real listener, in order, at least once, with the real outcome.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::process::Command;

use abide_testkit::abide::schema::Schema;
use abide_testkit::deadline::until;
use abide_testkit::{Ending, Observer, Running};
use rustix::process::Signal;
use serde_json::Value;

use super::{done, launched, until_it};
use crate::common::{Gate, Life, World, data, kill_at_once};

/// A world whose sessions tell a command.
fn telling(command: &[&str]) -> World {
    let world = World::new();
    let config = format!("notify.command = {}\n", serde_json::to_string(command).expect("JSON"));
    let _path = world.home.config(&config.replace("BESIDE", world.beside("").trim_end_matches('/')));
    world
}

/// What was told so far.
fn heard(world: &World) -> Vec<Value> {
    let text = std::fs::read_to_string(world.beside("heard")).unwrap_or_default();
    // The last line may be half written.
    let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
    let told = |line: &str| serde_json::from_str::<Value>(line).expect("JSON")["notification"].take();
    whole.lines().map(told).collect()
}

fn until_heard(world: &World, count: usize) -> Vec<Value> {
    until("enough was told", || heard(world).len() >= count);
    heard(world)
}

/// How often it was tried to tell something, and whether that was done.
fn tries(world: &World, id: &str) -> Vec<bool> {
    world.told(id, "notified").iter().map(|tried| tried["delivered"] == true).collect()
}

const TEE: [&str; 3] = ["tee", "-a", "BESIDE/heard"];

#[test]
fn the_end_of_a_session_is_told_to_a_command_as_it_was_and_once() {
    let world = telling(&TEE);
    let ids = [world.launch(&[], &["sh", "-c", "exit 3"]), world.launch(&[], &["sh", "-c", "kill -9 $$"])];
    let _missing = world.abide.run(&["run", "-d", "--", "/no/such/program"]);
    let told = until_heard(&world, 3);
    let of = |id: &Value| told.iter().find(|told| &told["session"]["id"] == id).expect("it was told").clone();
    let [exited, killed] = ids.each_ref().map(|id| of(&id.as_str().into()));
    assert_eq!((&exited["matter"], &exited["session"]["exit_code"]), (&"end".into(), &3.into()), "{exited}");
    assert_eq!((&exited["key"], &exited["tries"]), (&format!("{}/ended", ids[0]).into(), &0.into()));
    assert_eq!(
        (&killed["session"]["outcome"]["signal"], &killed["session"]["exit_code"]),
        (&9.into(), &().into())
    );
    let failed = told.iter().find(|told| told["session"]["status"] == "failed").expect("it was told too");
    assert_eq!(failed["session"]["outcome"]["kind"], "exec_failed", "{failed}");
    until("that is on record", || ids.iter().all(|id| tries(&world, id) == [true]));
    // Nobody tells it again.
    done(&world, &["notify"]);
    done(&world, &["doctor", "--fix"]);
    assert_eq!(heard(&world).len(), 3);
    let schema = Schema::read(&world.abide.run(&["schema", "notification"]).stdout, true);
    let text = std::fs::read_to_string(world.beside("heard")).expect("it was told");
    for line in text.lines() {
        let told = serde_json::from_str(line).expect("JSON");
        assert_eq!(schema.check(&told), Ok(()), "{told:#}");
    }
}

#[test]
fn what_an_agent_wants_its_turn_and_the_end_are_told_in_this_order() {
    let world = telling(&TEE);
    let id = launched(&world);
    until_it(&world, &id, &["--turn", "settled"]);
    done(&world, &["type", &id, "go TOOL:[true]", "--enter"]);
    let told = until_heard(&world, 1).remove(0);
    assert_eq!(
        (&told["matter"], &told["session"]["attention"]),
        (&"attention".into(), &"approval".into()),
        "{told}"
    );
    done(&world, &["keys", &id, "Enter"]);
    let told = until_heard(&world, 2).remove(1);
    assert_eq!((&told["matter"], &told["session"]["turn"]), (&"turn".into(), &"settled".into()), "{told}");
    done(&world, &["keys", &id, "Ctrl-D"]);
    let matters: Vec<Value> =
        until_heard(&world, 3).into_iter().map(|mut told| told["matter"].take()).collect();
    assert_eq!(matters, ["attention", "turn", "end"]);
}

/// Whoever delivers, and what is run for it, belongs to no session, whoever started it.
#[test]
fn a_courier_and_the_users_command_are_nobodys_survivors_and_no_stop_ends_them() {
    let script = "cat >> BESIDE/heard; test -e BESIDE/done && exit; setsid sh -c 'echo $$ >> BESIDE/left; read go < BESIDE/gate' & \
        echo $$ >> BESIDE/left; read go < BESIDE/gate; true";
    let world = telling(&["sh", "-c", script]);
    let gate = Gate::new(&world.beside("gate"));
    let held = gate.hold();
    let left = || -> Vec<u32> {
        let text = std::fs::read_to_string(world.beside("left")).unwrap_or_default();
        text.lines().filter_map(|line| line.parse().ok()).collect()
    };
    let [ends, stops] = [launched(&world), launched(&world)];
    for (at, id) in [&ends, &stops].into_iter().enumerate() {
        done(&world, &["prompt", "--wait", id, "hello"]);
        until("its command runs", || left().len() == 2 * (at + 1));
    }
    let observers: Vec<Observer> = left().into_iter().map(Observer::of).collect();
    done(&world, &["keys", &ends, "Ctrl-D"]);
    assert_eq!(world.wait(&ends).0, Some(0));
    done(&world, &["stop", &stops]);
    for id in [&ends, &stops] {
        assert_eq!(world.inspect(id)["survivors"], serde_json::json!([]));
    }
    assert!(observers.iter().all(Observer::lives));
    let _ = world.home.around().file("done", "");
    drop(held);
    until("all is told", || [&ends, &stops].into_iter().all(|id| tries(&world, id) == [true, true]));
}

#[test]
fn what_is_being_told_is_not_missed_by_a_doctor() {
    let world = telling(&["sh", "-c", "cat >> BESIDE/heard; read go < BESIDE/gate; true"]);
    let held = Gate::new(&world.beside("gate")).hold();
    let id = world.launch(&[], &["true"]);
    until_heard(&world, 1);
    for fix in [&[][..], &["--fix"]] {
        let told = data(&world.abide.run(&[&["doctor", "--json"], fix].concat()));
        let checks = told["checks"].as_array().expect("a list");
        assert!(checks.iter().all(|check| check["name"] != "notifications"), "{told}");
    }
    drop(held);
    until("it is told", || tries(&world, &id) == [true]);
}

/// Killed between the try and its record, nobody knows that it was told: it is told again, with the same key.
#[test]
fn a_courier_that_is_killed_before_it_could_record_a_try_is_followed_by_one_with_the_same_key() {
    let script = "cat >> BESIDE/heard; echo $PPID > BESIDE/courier; read go < BESIDE/gate";
    let world = telling(&["sh", "-c", script]);
    let gate = Gate::new(&world.beside("gate"));
    let id = world.launch(&[], &["sh", "-c", "exit 5"]);
    let mut pid = None;
    until("it is being told", || {
        pid = std::fs::read_to_string(world.beside("courier")).ok().and_then(|text| text.trim().parse().ok());
        pid.is_some()
    });
    let courier = Observer::of(pid.expect("a pid"));
    courier.signal(Signal::KILL);
    courier.await_end();
    gate.open();
    assert_eq!((heard(&world).len(), tries(&world, &id)), (1, vec![]));
    let held = gate.hold();
    let mut again = world.start(&["notify", &id]);
    until("it is told again", || heard(&world).len() == 2);
    gate.open();
    assert_eq!(again.reap(), Ending::Exited(0));
    drop(held);
    let told = heard(&world);
    assert_eq!((&told[0]["key"], &told[0]["session"]["exit_code"]), (&told[1]["key"], &5.into()));
    assert_eq!(tries(&world, &id), [true]);
}

#[test]
fn what_fails_is_on_record_tried_again_by_itself_and_mended_by_a_doctor() {
    let world = telling(&[
        "sh",
        "-c",
        "test -e BESIDE/mended || { echo not yet >&2; exit 1; }; exec tee -a BESIDE/heard",
    ]);
    let id = world.launch(&[], &["true"]);
    until("it failed twice", || tries(&world, &id) == [false, false]);
    let tried = &world.told(&id, "notified")[0];
    assert!(tried["detail"].as_str().is_some_and(|why| why.ends_with("not yet")), "{tried}");
    // The outcome is what it was.
    assert_eq!(world.wait(&id).0, Some(0));
    // Whoever keeps trying is killed, as in a crash.
    for courier in couriers(&id) {
        courier.signal(Signal::KILL);
        courier.await_end();
    }
    let told = data(&world.abide.run(&["doctor", "--json"]));
    let check = |told: &Value| {
        told["checks"].as_array().expect("a list").iter().find(|one| one["name"] == "notifications").cloned()
    };
    assert!(check(&told).expect("it is missed")["detail"].to_string().contains("not yet"), "{told}");
    let failed = world.abide.run(&["notify", "--json", &id]);
    assert_eq!((failed.code(), &data(&failed)["tries"][0]["delivered"]), (Some(1), &false.into()));
    std::fs::File::create(world.beside("mended")).expect("there is room");
    done(&world, &["doctor", "--fix"]);
    let told = heard(&world);
    assert_eq!((told.len(), &told[0]["tries"]), (1, &3.into()));
    assert_eq!(check(&data(&world.abide.run(&["doctor", "--json"]))), None);
}

/// The processes that go on trying for a session.
fn couriers(id: &str) -> Vec<Observer> {
    let is_courier = |words: &[u8]| {
        let mut words = words.split(|&byte| byte == 0);
        words.nth(1) == Some(b"notify") && words.any(|word| word == id.as_bytes())
    };
    let all = std::fs::read_dir("/proc").expect("/proc").flatten();
    let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|words| is_courier(&words)))
        .filter_map(Observer::find)
        .collect()
}

#[test]
fn a_session_that_a_doctor_seals_is_told_as_lost_and_so_is_the_end_of_what_was_adopted() {
    let world = telling(&TEE);
    let life: Life<'_> = world.live(&["hang"]);
    let mut all = Vec::from(["guard", "host"].map(|who| life.helper(who, None)));
    all.push(Observer::of(life.program.0.pid()));
    kill_at_once(&all);
    assert_eq!((world.inspect(&life.id)["status"].as_str(), heard(&world).len()), (Some("lost"), 0));
    done(&world, &["doctor", "--fix"]);
    let told = until_heard(&world, 1).remove(0);
    assert_eq!((&told["matter"], &told["session"]["status"]), (&"end".into(), &"lost".into()), "{told}");
    assert_eq!(told["key"], format!("{}/sealed", life.id));
    let mut process = Running::start(Command::new("sh").args(["-c", "read go; exit 4"]));
    done(&world, &["adopt", &process.pid().to_string()]);
    process.tell("go");
    let _ = process.reap();
    let told = until_heard(&world, 2).remove(1);
    assert_eq!(told["session"]["processes"]["program"]["pid"], process.pid(), "{told}");
}

#[test]
fn a_listener_is_posted_to_and_what_it_refuses_comes_again_with_the_same_key() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}/told?x=1", listener.local_addr().expect("an address"));
    let world = World::new();
    let _path = world.home.config(&format!("notify.webhook = '{address}'\nnotify.on = ['end']\n"));
    let id = world.launch(&[], &["sh", "-c", "exit 6"]);
    let refused = answer(&listener, "500 Internal Server Error");
    until("that it was refused is on record", || tries(&world, &id) == [false]);
    let mut again = world.start(&["notify", &id]);
    let taken = answer(&listener, "204 No Content");
    let _ = again.reap();
    for (head, told) in [&refused, &taken] {
        assert!(head.starts_with("POST /told?x=1 HTTP/1.1\r\n"), "{head}");
        assert!(head.contains(&format!("\r\nIdempotency-Key: {id}/ended\r\n")), "{head}");
        assert_eq!(told["notification"]["session"]["exit_code"], 6, "{told}");
    }
    until("that it was taken is on record", || tries(&world, &id) == [false, true]);
}

/// Each is told on its own, by the courier and by who asks for it now.
#[test]
fn a_command_that_hangs_holds_up_no_webhook() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let world = World::new();
    let path = world.beside("gate");
    let command = format!("notify.command = ['sh', '-c', 'read go < {path}']\n");
    let _path = world.home.config(&format!("{command}notify.webhook = 'http://{address}'\n"));
    let gate = Gate::new(&path);
    let held = gate.hold();
    let id = world.launch(&[], &["sh", "-c", "exit 6"]);
    let (head, _) = answer(&listener, "204 No Content");
    assert!(head.contains(&format!("\r\nIdempotency-Key: {id}/ended\r\n")), "{head}");
    until("that it was taken is on record", || !tries(&world, &id).is_empty());
    let told = world.told(&id, "notified");
    assert_eq!((&told[0]["to"], &told[0]["delivered"]), (&"webhook".into(), &true.into()), "{told:?}");
    gate.open();
    until("the command is done", || tries(&world, &id) == [true, true]);
    drop(held);
}

/// What keeps a courier from telling one of them leaves that one to the next courier, not to the end of the other.
#[test]
fn a_receiver_that_could_not_be_served_is_served_by_the_next_courier_while_the_other_hangs() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let world = World::new();
    let (gate, aside) = (Gate::new(&world.beside("gate")), world.beside("aside"));
    let held = gate.hold();
    // The first time it takes away what tells what is due.
    let path = world.beside("gate");
    let script = format!(
        "test ! -e {aside} && read go < {path} && mv $ABIDE_HOME/sessions/*/evidence {aside} && exit 1; exit 0"
    );
    let command = format!("notify.command = ['sh', '-c', '{script}']\n");
    let _path = world.home.config(&format!("{command}notify.webhook = 'http://{address}'\n"));
    let id = world.launch(&[], &["true"]);
    let (hangs, _) = listener.accept().expect("the webhook is tried");
    // What it starts looks like it for a moment.
    let mut at_it = Vec::new();
    until("one courier is at it", || {
        at_it = couriers(&id);
        at_it.len() == 1
    });
    let courier = at_it.remove(0);
    gate.open();
    let tasks = || std::fs::read_dir(format!("/proc/{}/task", courier.pid())).map_or(0, Iterator::count);
    until("the way to the command is given up", || tasks() == 2);
    let evidence = world.dir(&id).join("evidence");
    std::fs::rename(&aside, evidence).expect("it was taken away");
    // Empty, so that it stands still.
    drop(std::fs::File::create(&aside).expect("a file"));
    assert_eq!(tries(&world, &id), [false]);
    let mut next = world.start(&["notify", "--keep-trying", &id]);
    until("the command is told", || tries(&world, &id) == [false, true]);
    let _ = next.reap();
    courier.signal(Signal::KILL);
    courier.await_end();
    drop((held, hangs));
}

/// Takes one request and answers it: its head and its body.
fn answer(listener: &TcpListener, with: &str) -> (String, Value) {
    let (stream, _) = listener.accept().expect("somebody comes");
    let mut reader = BufReader::new(stream.try_clone().expect("a descriptor"));
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert!(reader.read_line(&mut head).expect("a line") > 0, "{head}");
    }
    let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: ")?.parse().ok());
    let mut body = vec![0; length.expect("a length")];
    reader.read_exact(&mut body).expect("a body");
    (&stream)
        .write_all(format!("HTTP/1.1 {with}\r\nContent-Length: 0\r\n\r\n").as_bytes())
        .expect("it reads");
    (head, serde_json::from_slice(&body).expect("JSON"))
}
