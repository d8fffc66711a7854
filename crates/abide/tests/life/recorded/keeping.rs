//! How much of what was shown is kept, and in how much room: limits that are told, packed recordings that still play,
//! and what was typed at a password prompt, which is kept nowhere.

use std::fs;
use std::os::unix::fs::FileExt;

use abide_testkit::Terminal;
use abide_testkit::deadline::until;

use crate::common::{World, data};

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
    let script = "seq 1 400000; printf '\\033[31mred\\033[0m \\342\\234\\223 end\\n'; exit 4";
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
    let pages = "for page in $(seq 80); do seq -f 'a line of some seventy characters that comes again on a page, %g' \
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
