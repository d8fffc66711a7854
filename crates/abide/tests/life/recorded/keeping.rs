//! How much of what was shown is kept, and in how much room: limits that are told, packed recordings that still play,
//! and what was typed at a password prompt, which is kept nowhere.

use std::fs;
use std::os::unix::fs::FileExt;

use abide_testkit::Terminal;
use abide_testkit::deadline::until;
use abide_testkit::trace::{Call, calls};

use crate::common::{Gate, World, data};

/// Packs what can be packed, once whoever served the session is gone.
fn pack(world: &World, id: &str) {
    until("it is packed", || {
        let packed = data(&world.abide.run(&["gc", "--json", "--pack", "0s"]))["packed"].clone();
        packed.as_array().is_some_and(|all| all.iter().any(|one| one["id"] == id))
    });
}

#[test]
fn a_packed_recording_shows_what_it_showed_before() {
    let world = World::new();
    let script = "seq 1 200000; printf '\\033[31mred\\033[0m \\342\\234\\223 end\\n'; exit 4";
    let id = world.launch(&[], &["sh", "-c", script]);
    let running = world.live(&["print ready", "hang"]);
    running.until_shown("ready");
    assert_eq!(world.wait(&id).0, Some(4));
    let seen = || {
        let says = |args: &[&str]| world.abide.run(args).stdout;
        let screen = data(&world.abide.run(&["snapshot", "--json", &id]));
        (says(&["logs", "--raw", &id]), says(&["logs", "--tail", "2", &id]), screen["hash"].clone())
    };
    let before = seen();
    pack(&world, &id);
    let files = |id: &str| ["recording", "recording.packed"].map(|name| world.dir(id).join(name).exists());
    assert_eq!(
        (files(&id), files(&running.id)),
        ([false, true], [true, false]),
        "only what is over is packed"
    );
    let told = world.inspect(&id)["recording"].clone();
    let room = told["bytes"].as_u64().expect("a size");
    assert!(told["path"].as_str().unwrap().ends_with("recording.packed") && room < 1 << 20, "{told}");
    assert!(seen() == before, "it shows something else now");
    let again = data(&world.abide.run(&["gc", "--json", "--pack", "0s"]))["packed"].clone();
    assert_eq!(again.as_array().map(Vec::len), Some(0), "what is packed is left alone");
}

#[test]
fn a_damaged_block_of_a_packed_recording_costs_itself_only_and_is_located() {
    let world = World::new();
    let id = world.launch(&[], &["seq", "1", "200000"]);
    assert_eq!(world.wait(&id).0, Some(0));
    pack(&world, &id);
    let path = world.dir(&id).join("recording.packed");
    let packed = fs::File::options().read(true).write(true).open(path).expect("it is ours");
    // In the middle of the first of several blocks.
    let mut byte = [0];
    packed.read_exact_at(&mut byte, 5_000).expect("it is as long");
    packed.write_all_at(&[byte[0] ^ 0x10], 5_000).expect("it is ours");
    let shown = world.abide.run(&["logs", &id]).stdout;
    assert!(shown.ends_with("199999\n200000\n"), "what comes after it is shown");
    assert!(shown.contains("cannot be read"), "{}", shown.chars().take(200).collect::<String>());
    let lines = shown.lines().filter(|line| line.parse::<u32>().is_ok()).count();
    assert!((100_000..200_000).contains(&lines), "{lines} lines are left");
}

#[test]
fn what_is_damaged_in_a_packed_recording_costs_little_wherever_it_is() {
    let world = World::new();
    // Many short entries, all of them in one block.
    let id = world.launch(&[], &["sh", "-c", "for i in $(seq 200); do echo entry $i; sleep 0.001; done"]);
    assert_eq!(world.wait(&id).0, Some(0));
    pack(&world, &id);
    let (path, keyframes) = (world.dir(&id).join("recording.packed"), world.dir(&id).join("keyframes"));
    let _ = fs::remove_file(keyframes);
    let whole = fs::read(&path).expect("it is ours");
    let shown = || {
        let shown = world.abide.run(&["logs", &id]).stdout;
        (shown.lines().filter(|line| line.starts_with("entry ")).count(), shown)
    };
    let put = |bytes: &[u8]| {
        fs::File::create(&path)
            .and_then(|mut file| std::io::Write::write_all(&mut file, bytes))
            .expect("room");
    };
    assert_eq!(shown().0, 200);
    for (name, bytes) in [
        ("its last byte is gone", whole[..whole.len() - 1].to_vec()),
        ("its last tenth is gone", whole[..whole.len() * 9 / 10].to_vec()),
        ("flipped near its end", {
            let mut flipped = whole.clone();
            flipped[whole.len() - 100] ^= 0x10;
            flipped
        }),
    ] {
        put(&bytes);
        let (lines, text) = shown();
        assert!((100..=200).contains(&lines), "{name}: {lines} lines are left");
        assert!(
            lines == 200 || text.contains("cannot be read") || text.contains("missing"),
            "{name}: {text}"
        );
    }
}

#[test]
fn behind_damage_an_entry_has_the_number_that_it_had_with_keyframes_and_without() {
    let world = World::new();
    // Pages that come again are in the index once, so that there can be many.
    let pages = "for page in $(seq 68); do seq -f 'a line of some seventy characters that comes again on a page, %g' \
                 1 1000; done; echo behind all of them";
    let id = world.launch(&[], &["sh", "-c", pages]);
    assert_eq!(world.wait(&id).0, Some(0));
    let numbers = || {
        let look = |at: &str| {
            let seen = data(&world.abide.run(&["snapshot", "--json", "--at", at, &id]));
            (seen["entry"].clone(), seen["hash"].clone())
        };
        let found = data(&world.abide.run(&["search", "--json", "-F", "behind all"]));
        let diff = data(&world.abide.run(&["diff", "--json", &id, "--from", "seq:3600000"]));
        let diff = (diff["from"]["entry"].clone(), diff["to"]["entry"].clone());
        let hits = found["hits"].as_array().expect("hits").clone();
        assert_eq!(hits.len(), 1, "{found}");
        let entry = hits[0]["entry"].clone();
        let by_number = look(&format!("#{entry}"));
        (look("seq:3700000"), entry, by_number, diff)
    };
    pack(&world, &id);
    let sound = numbers();
    let (path, keyframes) = (world.dir(&id).join("recording.packed"), world.dir(&id).join("keyframes"));
    let kept = fs::read(&keyframes).expect("there are some");
    let packed = fs::File::options().read(true).write(true).open(path).expect("it is ours");
    let mut byte = [0];
    packed.read_exact_at(&mut byte, 5_000).expect("it is as long");
    packed.write_all_at(&[byte[0] ^ 0x10], 5_000).expect("it is ours");
    let forget = |name: &str| drop(fs::remove_file(world.dir(&id).join(name)));
    forget("index");
    assert_eq!(numbers(), sound, "with keyframes of before the damage");
    forget("index");
    forget("keyframes");
    assert_eq!(numbers(), sound, "without keyframes");
    let gaps = || data(&world.abide.run(&["snapshot", "--json", "--at", "seq:3700000", &id]))["gaps"].clone();
    let told = gaps();
    // What was packed as a copy of what is damaged now is damaged too.
    assert!(told.as_array().is_some_and(|gaps| !gaps.is_empty()), "{told}");
    let mended = world.abide.run(&["doctor", "--fix"]);
    assert!(mended.stdout.contains("were made anew"), "{mended:?}");
    assert_ne!(fs::read(&keyframes).expect("there are some again"), kept);
    assert_eq!(
        (numbers(), gaps()),
        (sound, told),
        "keyframes that were made of what is left know what is not"
    );
}

#[test]
fn a_recording_ends_where_it_may_not_grow_any_more_and_says_so() {
    let world = World::new();
    let script = "echo first; seq 1 100000; echo last; exit 6";
    let id = world.launch(&["--max-recording", "256K"], &["sh", "-c", script]);
    assert_eq!(world.wait(&id).0, Some(6));
    let told = world.inspect(&id)["recording"].clone();
    assert!(told["complete"] == false && told["bytes"].as_u64().unwrap() < 257 * 1024, "{told}");
    let cuts = world.told(&id, "cut");
    let (offset, reason) = (cuts[0]["offset"].as_u64().unwrap(), cuts[0]["reason"].as_str().unwrap());
    assert!(cuts.len() == 1 && reason.contains("as long as it may be"), "{cuts:?}");
    let shown = world.abide.run(&["logs", &id]).stdout;
    assert!(shown.starts_with("first\n1\n") && shown.contains("was cut here: "), "it says where");
    assert!(usize::try_from(offset).is_ok_and(|offset| offset > 150_000 && offset < 262_144), "{cuts:?}");
}

/// Shows a line that stays above all others, then a hundred numbers six times, each time behind a megabyte that shows
/// nothing.
fn flood() -> String {
    flood_at_a_pace(":")
}

/// The same, with this done after each megabyte.
fn flood_at_a_pace(pace: &str) -> String {
    format!(
        "printf '\\033[1;1Hthe header\\033[2;24r\\033[2;1H'; i=0; while [ $i -lt 6 ]; do i=$((i+1)); \
         head -c 1000000 /dev/zero; seq ${{i}}000 ${{i}}099; {pace}; done; echo last; "
    )
}

/// Whoever answers has taken in all that came before, and let go of what it may not keep.
const TAKEN_IN: &str = "printf '\\033[6n'; read -rsd R";
const KEEP_LAST: [&str; 4] = ["--max-recording", "4M", "--keep", "last"];

#[test]
fn behind_what_was_let_go_the_screen_is_known_from_the_recording_alone() {
    let world = World::new();
    let gate = Gate::new(&world.beside("gate"));
    let script = format!("{} read go < \"$0\"; exit 6", flood_at_a_pace(TAKEN_IN));
    let life = world.observe(world.launch(&KEEP_LAST, &["bash", "-c", &script, &world.beside("gate")]));
    let says = |args: &[&str]| world.abide.run(&[args, &[&life.id]].concat());
    until("the oldest part is let go", || {
        let told = life.inspect()["recording"].clone();
        says(&["logs"]).stdout.ends_with("last\n") && told["complete"] == false
    });
    let room = life.inspect()["recording"]["bytes"].clone();
    assert!(room.as_u64().is_some_and(|room| room < 4 << 20), "{room}");
    let snapshot = |options: &[&str]| {
        let seen = data(&says(&[&["snapshot", "--json"], options].concat()));
        ["hash", "entry", "seq", "gaps"].map(|name| seen[name].clone()).to_vec()
    };
    let logs = || {
        let logs = says(&["logs"]).stdout;
        let (before, kept) =
            logs.split_once("they were let go, so that what came later has room").expect("told");
        // How much was let go is a number too.
        let is_gone = before.lines().all(|line| !line.ends_with("1000"));
        assert!(is_gone && kept.ends_with("\n6098\n6099\nlast\n"), "{before} and {} bytes", kept.len());
        kept.replace('\0', "")
    };
    let seen = || (snapshot(&["--at", "-0s"]), snapshot(&["--at", "#5"]), logs());
    let (before, live) = (seen(), snapshot(&[]));
    assert!(
        says(&["snapshot", "--at", "#5"]).stdout.starts_with("the header\n"),
        "the first screen that is left"
    );
    assert_eq!(live, before.0);
    let forget = || fs::remove_file(world.dir(&life.id).join("keyframes")).expect("they are ours");
    forget();
    life.replace("host");
    assert_eq!(snapshot(&[]), live, "without keyframes, with another host");
    // That one may have let go of more.
    let before = seen();
    forget();
    assert_eq!((seen(), &before.0), (before.clone(), &live), "without keyframes");
    let found = world.abide.run(&["search", "header"]);
    assert!(found.stdout.contains("header") && found.stderr.contains("gaps in one place"), "{found:?}");
    assert!(!world.abide.run(&["doctor"]).stdout.contains("damaged"));
    gate.open();
    assert_eq!(world.wait(&life.id).0, Some(6));
    // Whatever of its beginning is damaged, nobody takes it for all that there was.
    let recording = fs::File::options().read(true).write(true).open(world.dir(&life.id).join("recording"));
    let recording = recording.expect("it is ours");
    let mut head = [0; 256];
    recording.read_exact_at(&mut head, 0).expect("it is as long");
    for at in (40..256).step_by(24) {
        recording.write_all_at(&[head[at] ^ 0x10], at as u64).expect("it is ours");
        assert_eq!(world.inspect(&life.id)["recording"]["complete"], false, "damaged at {at}");
        recording.write_all_at(&head[at..=at], at as u64).expect("it is ours");
    }
    pack(&world, &life.id);
    assert_eq!(seen(), before, "packed");
    let silent = world.launch(&KEEP_LAST, &["true"]);
    assert_eq!(
        (world.wait(&silent).0, world.inspect(&silent)["recording"]["complete"].clone()),
        (Some(0), true.into())
    );
    let few = world.abide.run(&["run", "-d", "--max-recording", "1M", "--keep", "last", "--", "true"]);
    assert!(few.code() == Some(2) && few.stderr.contains("--max-recording 4M"), "{few:?}");
}

#[test]
fn a_host_that_is_killed_over_letting_go_leaves_a_recording_that_is_read_right() {
    let world = World::new();
    let command =
        world.abide.command(&[&["run", "-d"], &KEEP_LAST[..], &["--", "sh", "-c", &flood()]].concat());
    let log = world.home.around().join("calls");
    // The screen is written, and what leads to it is about to be.
    let kill = "inject=pwrite64:signal=KILL:when=2";
    let (ran, writes) = calls(&command, &["-e", "trace=pwrite64", "-e", kill], &log);
    let id = ran.stdout.trim_end();
    let killed = |write: &Call| write.text.contains("goes_on") && write.text.ends_with("= ?");
    assert!(writes.iter().any(killed), "none was killed: {writes:?}");
    let told = world.inspect(id)["recording"].clone();
    assert!(told["complete"] == true && told["bytes"].as_u64() > Some(6_000_000), "{told}");
    let seen = || {
        let logs = world.abide.run(&["logs", id]).stdout;
        assert!(logs.contains("1000\n1001\n") && logs.ends_with("\n6098\n6099\nlast\n"), "{logs}");
        let screen = world.abide.run(&["snapshot", id]);
        assert!(screen.stdout.starts_with("the header\n") && screen.stderr.is_empty(), "{screen:?}");
        (logs, screen.stdout)
    };
    let with = seen();
    let _ = fs::remove_file(world.dir(id).join("keyframes"));
    assert_eq!(seen(), with, "without keyframes");
}

#[test]
fn what_cannot_be_let_go_is_tried_again_unless_it_never_can_be() {
    let script = flood_at_a_pace(TAKEN_IN);
    let flooded = |fault: &str| {
        let world = World::new();
        let command =
            world.abide.command(&[&["run", "-d"], &KEEP_LAST[..], &["--", "bash", "-c", &script]].concat());
        let fault = format!("inject=fallocate:error={fault}");
        let log = world.home.around().join("calls");
        let (ran, _) = calls(&command, &["--seccomp-bpf", "-e", "trace=fallocate", "-e", &fault], &log);
        let id = ran.stdout.trim_end();
        let noted = world.told(id, "noted");
        let notes = noted.iter().filter(|note| note.to_string().contains("cannot be let go")).count();
        assert_eq!(notes, 1, "{fault}: {ran:?} {noted:?}");
        world.inspect(id)["recording"].clone()
    };
    std::thread::scope(|scope| {
        // The third of each process: a launch can do without it.
        let once = scope.spawn(|| flooded("EIO:when=3"));
        let never = flooded("EOPNOTSUPP");
        assert!(never["complete"] == true && never["bytes"].as_u64() > Some(6_000_000), "{never}");
        let once = once.join().expect("it was flooded");
        assert!(once["complete"] == false && once["bytes"].as_u64() < Some(4 << 20), "{once}");
    });
}

// The secret is typed where a terminal hides it: it is nowhere under the home afterwards, packed or not.
#[test]
fn what_is_typed_at_a_password_prompt_is_nowhere_under_the_home() {
    let world = World::new();
    let script = "read -p name: name; read -s -p word: word; echo; echo got ${#word}; exit 0";
    let id = world.launch(&[], &["bash", "-c", script]);
    let life = world.observe(id);
    let mut attached = Terminal::start(&world.abide.command(&["attach", &life.id]));
    attached.until("name:");
    attached.type_in(b"visible-Quokka\r");
    attached.until("word:");
    attached.type_in(b"hunter2-Zebra\r");
    attached.until("got 13");
    attached.reap();
    assert_eq!(world.wait(&life.id).0, Some(0));
    let files = |word: &str| {
        let all = walk(&world.home.path());
        let holds = |path: &std::path::PathBuf| {
            let bytes = fs::read(path).expect("it is ours");
            bytes.windows(word.len()).any(|window| window == word.as_bytes())
        };
        all.into_iter().filter(holds).count()
    };
    assert!(files("visible-Quokka") > 0, "what was typed openly is kept");
    assert_eq!(files("hunter2-Zebra"), 0, "the password is on the disk");
}

/// Every plain file below a directory.
fn walk(dir: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(dir).expect("it is ours").map(|entry| entry.expect("it is ours"));
    let (dirs, files): (Vec<_>, Vec<_>) =
        entries.partition(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let files = files.into_iter().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
    let below = dirs.iter().flat_map(|entry| walk(&entry.path()));
    files.map(|entry| entry.path()).chain(below).collect()
}
