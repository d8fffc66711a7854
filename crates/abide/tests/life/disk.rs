//! Homes that are full or read-only, and directories that vanish.

use std::collections::BTreeMap;
use std::fs;

use abide_testkit::Observer;
use abide_testkit::deadline::until;
use abide_testkit::namespace::{lines, unshare};
use abide_testkit::running::cpu_ticks;
use rustix::process::Signal;
use serde_json::Value;

use crate::common::{World, agent, ends_are_kept, facts_in};

/// Runs a script in which `$1` is abide, `$2` a directory for a small file system and `$3` the fake agent;
/// what it says as `name=value` lines.
fn in_small_home(world: &World, script: &str) -> BTreeMap<String, String> {
    let small = world.beside("small");
    fs::create_dir(&small).expect("there is room");
    let before = "set -e; mount -t tmpfs -o size=512k,mode=0700 tmpfs \"$2\"; export ABIDE_HOME=\"$2/home\"\n\
        fill() { dd if=/dev/zero of=\"$2/filler\" bs=4k status=none 2>/dev/null || true; \
                 dd if=/dev/zero of=\"$2/filler2\" bs=1 count=4096 status=none 2>/dev/null || true; }\n";
    let command = world.abide.command(&[]);
    let mut shell = unshare(&["--mount"], "bash".as_ref());
    shell.arg("-c").arg([before, script].concat()).arg("bash");
    shell.arg(command.get_program()).arg(small).arg(agent());
    shell.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let said = lines(&mut shell);
    said.iter().filter_map(|line| line.split_once('=')).map(|(k, v)| (k.to_owned(), v.to_owned())).collect()
}

// TRUTH 19
#[test]
fn a_disk_that_fills_up_costs_output_and_never_the_outcome() {
    let world = World::new();
    let said = in_small_home(
        &world,
        r#"
        mkfifo "$2/gate"
        id=$("$1" run -d -- sh -c 'echo before; read go < "$0"; "$1" "flood 640000"; exit 3' "$2/gate" "$3")
        until "$1" logs "$id" | grep -q before; do :; done
        fill "$@"
        echo go > "$2/gate"
        code=0; "$1" wait "$id" 2>/dev/null || code=$?
        echo "code=$code"
        echo "inspect=$("$1" inspect --json "$id")"
        echo "shown=$("$1" logs "$id" | head -n 1)"
        echo "cut=$(grep -o '"fact":"cut".*' "$ABIDE_HOME/sessions/$id/evidence")"
        "$1" logs --raw "$id" > "$2.raw"
        echo "told=$("$1" logs "$id" | grep -c 'was cut here')"
        echo "damaged=$("$1" logs "$id" | grep -c 'cannot be read') $("$1" doctor 2>&1 | grep -c 'damaged in')"
        "#,
    );
    assert_eq!(said["code"], "3", "{said:?}");
    assert!(said["told"] == "1" && said["damaged"] == "0 0", "one event, told once: {said:?}");
    let told: Value = serde_json::from_str(&said["inspect"]).expect("JSON");
    let told = &told["data"];
    assert_eq!((&told["status"], &told["exit_code"]), (&"exited".into(), &3.into()), "{told}");
    assert_eq!((said["shown"].as_str(), &told["recording"]["complete"]), ("before", &false.into()), "{told}");
    let cut: Value = serde_json::from_str(&format!("{{{}", said["cut"])).expect("a cut is on record");
    assert!(cut["body"]["reason"].as_str().unwrap().contains("space"), "it says why: {cut}");
    let offset = cut["body"]["offset"]
        .as_u64()
        .and_then(|offset| usize::try_from(offset).ok())
        .expect("it says where");
    let written: String = (0..10_000).map(|number| format!("{number:063}\r\n")).collect();
    let shown = fs::read_to_string(world.beside("small.raw")).expect("it was shown");
    assert!(
        offset < written.len() && shown.get(..offset) == format!("before\r\n{written}").get(..offset),
        "{cut}"
    );
}

#[test]
fn a_mark_that_there_is_no_room_for_is_refused_at_once_and_not_blamed_on_the_host() {
    let world = World::new();
    let said = in_small_home(
        &world,
        r#"
        mkfifo "$2/gate"
        id=$("$1" run -d -- sh -c 'echo before; read go < "$0"' "$2/gate")
        until "$1" logs "$id" | grep -q before; do :; done
        fill "$@"
        # What is left of the last blocks is soon taken.
        for n in $(seq 1 200); do
            code=0; error=$("$1" mark "$id" "$(printf '%0100d' "$n")" 2>&1) || code=$?
            test "$code" = 0 || break
        done
        echo "code=$code"
        echo "error=$(echo "$error" | head -n 1)"
        rm "$2/filler" "$2/filler2"
        code=0; "$1" mark "$id" again >/dev/null || code=$?
        echo "again=$code"
        echo "marks=$("$1" marks "$id" | grep -c again)"
        echo go > "$2/gate"
        "$1" wait "$id"
        "#,
    );
    assert_eq!((said["code"].as_str(), said["again"].as_str()), ("1", "0"), "{said:?}");
    assert!(said["error"].contains("the recording cannot be written"), "{said:?}");
    assert_eq!(said["marks"], "1", "{said:?}");
}

/// There is room for a word in the log, none for it beside the log, and then the log is damaged.
#[test]
fn a_word_that_could_not_be_kept_twice_leaves_nobody_to_say_that_there_was_none() {
    let world = World::new();
    let said = in_small_home(
        &world,
        r#"
        mkfifo "$2/gate"
        id=$("$1" run -d -- sh -c 'read go < "$0"; exit 0' "$2/gate")
        fill "$@"
        echo "room=$("$1" doctor | grep ' room: ')"
        "$1" result set --session "$id" failure --exit-code 3
        log="$ABIDE_HOME/sessions/$id/evidence"
        echo "kept=$(stat -c %s "$ABIDE_HOME/sessions/$id/declared")"
        at=$(grep -abo '"fact":"declared"' "$log" | cut -d: -f1)
        printf X | dd of="$log" bs=1 seek="$at" conv=notrunc status=none
        echo go > "$2/gate"
        code=0; "$1" wait "$id" 2>/dev/null || code=$?
        echo "code=$code"
        "#,
    );
    let kept = "its length tells its code, and takes no room";
    assert_eq!((said["kept"].as_str(), said["code"].as_str()), ("4", "125"), "{kept}: {said:?}");
    assert!(said["room"].starts_with("✗ room: the disk is full"), "{said:?}");
}

/// There is no room for a word beside the log: what is left there tells whether the log ends before it.
#[test]
fn a_word_that_could_not_be_kept_twice_counts_and_is_missed_where_it_is_cut_off() {
    for (cut, code) in [("", "3"), ("cut", "125")] {
        let world = World::new();
        let said = in_small_home(
            &world,
            &r#"
            mkfifo "$2/gate"
            id=$("$1" run -d -- sh -c 'read go < "$0"; exit 0' "$2/gate")
            fill "$@"
            log="$ABIDE_HOME/sessions/$id/evidence"
            until grep -q '"fact":"hosted"' "$log"; do :; done
            before=$(stat -c %s "$log")
            "$1" result set --session "$id" failure --exit-code 3
            echo "kept=$(stat -c %b "$ABIDE_HOME/sessions/$id/declared")"
            test -z "CUT" || truncate -s "$before" "$log"
            echo go > "$2/gate"
            code=0; "$1" wait "$id" 2>/dev/null || code=$?
            echo "code=$code"
            "#
            .replace("CUT", cut),
        );
        assert_eq!((said["kept"].as_str(), said["code"].as_str()), ("0", code), "{cut}: {said:?}");
    }
}

// TRUTH 19
#[test]
fn on_a_full_disk_the_screen_goes_on_and_with_room_again_the_recording_too_saying_what_is_missing() {
    let world = World::new();
    let said = in_small_home(
        &world,
        r#"
        mkfifo "$2/gate" "$2/gate2"
        id=$("$1" run -d -- sh -c 'echo before; read go < "$0"; "$1" "flood 64000"; read go < "$2"; echo after; exit 3' \
            "$2/gate" "$3" "$2/gate2")
        until "$1" logs "$id" | grep -q before; do :; done
        fill "$@"
        echo go > "$2/gate"
        until grep -q '"fact":"cut"' "$ABIDE_HOME/sessions/$id/evidence"; do :; done
        until "$1" snapshot "$id" | grep -q 0000000999; do :; done
        echo "screen=$("$1" snapshot --json "$id")"
        rm "$2/filler" "$2/filler2"
        echo go > "$2/gate2"
        code=0; "$1" wait "$id" 2>/dev/null || code=$?
        echo "code=$code"
        echo "last=$("$1" logs --tail 1 "$id")"
        echo "cut=$("$1" logs "$id" | grep 'was cut here')"
        "#,
    );
    assert_eq!((said["code"].as_str(), said["last"].as_str()), ("3", "after"), "{said:?}");
    assert!(said["cut"].contains("the recording was cut here: "), "{said:?}");
    let screen: Value = serde_json::from_str(&said["screen"]).expect("JSON");
    assert_eq!(screen["data"]["source"], "live", "{screen}");
    let rows = screen["data"]["lines"].as_array().expect("rows");
    let last = rows.iter().filter_map(Value::as_str).rfind(|row| !row.is_empty());
    assert_eq!(last, Some(format!("{:063}", 999).as_str()), "what had no room on the disk is on the screen");
}

// TRUTH 6, 19, 39
#[test]
fn on_a_disk_without_any_room_a_session_outlives_its_guard_and_becomes_another_version() {
    let world = World::new();
    let said = in_small_home(
        &world,
        r#"
        mkfifo "$2/gate" "$2/gate2"
        id=$("$1" run -d -- sh -c 'echo before; read go < "$0"; echo after; read go < "$1"; exit 3' \
            "$2/gate" "$2/gate2")
        until "$1" logs "$id" | grep -q before; do :; done
        fill "$@"
        # The room that is kept for facts is used up too.
        while "$1" signal URG "$id" >/dev/null 2>&1; do :; done
        first=$("$1" ls --format '{{.processes.guard.pid}}')
        kill -9 "$first"
        # Without room it cannot say who it is; where a page came free meanwhile, it can.
        next() { "$1" ls --format '{{.processes.guard.liveness}} {{.processes.guard.pid}}'; }
        until next "$@" | grep alive | grep -qv " $first\$"; do :; done
        echo "status=$("$1" ls --format '{{.status}}')"
        cp "$1" "$2.new"
        code=0; "$2.new" upgrade >/dev/null 2>&1 || code=$?
        echo "upgraded=$code"
        echo go > "$2/gate"
        until "$1" snapshot "$id" | grep -q after; do :; done
        rm "$2/filler" "$2/filler2"
        echo go > "$2/gate2"
        code=0; "$1" wait "$id" 2>/dev/null || code=$?
        echo "code=$code"
        "#,
    );
    assert_eq!((said["status"].as_str(), said["code"].as_str()), ("running", "3"), "{said:?}");
    assert!(["0", "1"].contains(&said["upgraded"].as_str()), "{said:?}");
}

// TRUTH 20
#[test]
fn nothing_is_launched_in_a_home_that_is_full_or_read_only() {
    for (kind, spoil) in [
        ("full", "fill \"$@\""),
        ("read-only", "until mount -o remount,bind,ro \"$2\" 2>/dev/null; do :; done"),
    ] {
        let world = World::new();
        let sign = world.beside("sign");
        let script = format!(
            r#"
            first=$("$1" run -d --name other -- "$3" 'exit 0')
            "$1" wait "$first" 2>/dev/null
            before=$(ls -A "$ABIDE_HOME/sessions")
            {spoil}
            code=0; answer=$("$1" run -d --json --name new -- "$3" 'write {sign} ran' 'hang') || code=$?
            echo "code=$code"; echo "answer=$answer"
            [ "$before" = "$(ls -A "$ABIDE_HOME/sessions")" ] && echo "same=yes"
            echo "names=$(ls "$ABIDE_HOME/names")"
            code=0; "$1" run --wait -- "$3" 'write {sign} ran' 'hang' 2>/dev/null || code=$?
            echo "waited=$code"
            "#
        );
        let said = in_small_home(&world, &script);
        assert_eq!((said["code"].as_str(), said["waited"].as_str()), ("1", "125"), "{kind}: {said:?}");
        let answer: Value = serde_json::from_str(&said["answer"]).expect("JSON");
        assert_eq!(
            (&answer["ok"], answer["error"]["code"].as_str()),
            (&false.into(), Some("io")),
            "{answer}"
        );
        assert!(said.contains_key("same"), "{kind}: half a session is left: {said:?}");
        assert_eq!(said["names"], "other", "{kind}: a name is left that leads nowhere");
        assert!(!fs::exists(&sign).unwrap(), "{kind}: the program ran");
    }
}

#[test]
fn on_a_full_disk_what_is_done_to_a_session_is_on_record_and_removing_makes_room() {
    let world = World::new();
    let said = in_small_home(
        &world,
        r#"
        over=$("$1" run -d -- true); "$1" wait "$over" 2>/dev/null
        id=$("$1" run -d -- "$3" 'ignore TERM' 'print ready' hang)
        until "$1" logs "$id" | grep -q ready; do :; done
        fill "$@"
        "$1" stop --grace 50ms "$id" >/dev/null
        for fact in stop_asked signalled; do
            echo "$fact=$(grep -c "\"fact\":\"$fact\"" "$ABIDE_HOME/sessions/$id/evidence")"
        done
        # What is kept for such facts is used up too.
        rm "$2/filler" "$2/filler2"
        id=$("$1" run -d -- "$3" hang)
        fill "$@"
        while "$1" signal WINCH "$id" >/dev/null 2>&1; do :; done
        code=0; "$1" rm --force "$id" >/dev/null 2>"$2.err" || code=$?; echo "forced=$code"
        fill "$@"
        code=0; "$1" rm "$over" >/dev/null 2>>"$2.err" || code=$?; echo "removed=$code"
        echo "left=$("$1" ls -aq | grep -c -e "$id" -e "$over" || true)"
        "#,
    );
    let told = |name: &str| said[name].as_str();
    assert!(told("stop_asked") == "1" && told("signalled") > "1", "{said:?}");
    assert_eq!((told("forced"), told("removed"), told("left")), ("0", "0", "0"), "{said:?}");
}

/// Deletes the directory of a session that is served: who serves it may be just making a file in it.
fn delete(world: &World, id: &str) {
    until("it is deleted", || fs::remove_dir_all(world.dir(id)).is_ok());
}

// TRUTH 29
#[test]
fn a_session_whose_directory_is_deleted_neither_spins_nor_holds_its_waiters() {
    for replaced in [false, true] {
        let world = World::new();
        let other = world.live(&["hang"]);
        let life = world.live(&["trap-exit USR1 3", "print ready", "hang"]);
        life.until_shown("ready");
        let helpers = [life.helper("guard", None), life.helper("host", None)];
        let mut waiting = world.start(&["wait", "--json", &life.id]);
        let held = format!("/proc/{}/fd", waiting.pid());
        until("it waits", || {
            let links = fs::read_dir(&held).into_iter().flatten().flatten();
            let mut links = links.filter_map(|link| fs::read_link(link.path()).ok());
            links.any(|link| link == world.dir(&life.id).join("alive"))
        });
        delete(&world, &life.id);
        if replaced {
            fs::create_dir(world.dir(&life.id)).expect("it is ours");
        }
        let inspect = world.abide.run(&["inspect", "--json", &life.id]);
        match replaced {
            true => assert_eq!(inspect.json()["data"]["status"], "unknown", "{inspect:?}"),
            false => assert_eq!(inspect.json()["error"]["code"], "no_such_session", "{inspect:?}"),
        }
        let ticks = || helpers.iter().map(|helper| cpu_ticks(helper.pid())).sum::<u64>();
        let before = ticks();
        assert_eq!(world.abide.run(&["wait", "--cap", "1s", &other.id]).code(), Some(0), "a second passes");
        let used = ticks() - before;
        assert!(used < 20, "guard and host used {used} hundredths of a second of one");
        assert!(life.program.0.lives() && helpers.iter().all(Observer::lives), "nobody may die of it");
        life.program.0.signal(Signal::USR1);
        helpers.iter().for_each(Observer::await_end);
        let told: Value = serde_json::from_str(&waiting.line()).expect("an answer");
        let says = if replaced { "shows what is damaged" } else { "its directory is gone" };
        assert!(told["data"]["hint"].as_str().is_some_and(|hint| hint.contains(says)), "{told}");
        assert_eq!(waiting.reap(), abide_testkit::Ending::Exited(125), "no code can be told any more");
    }
}

// TRUTH 29
#[test]
fn a_program_whose_session_is_deleted_outlives_its_guards_and_hosts_all_the_same() {
    for replaced in [false, true] {
        let world = World::new();
        let (life, gate) = world.gated(&["flood 128000", "exit 3"]);
        let mut helpers = vec![life.helper("guard", None), life.helper("host", None)];
        let evidence = fs::File::open(world.dir(&life.id).join("evidence")).expect("there is evidence");
        match replaced {
            true => fs::remove_file(world.dir(&life.id).join("evidence")).expect("it is ours"),
            false => delete(&world, &life.id),
        }
        if replaced {
            fs::copy(agent(), world.dir(&life.id).join("evidence")).expect("there is room");
        }
        for (who, told) in [("guard", "guarded"), ("host", "hosted"), ("guard", "guarded")] {
            let latest = || {
                let facts = facts_in(&evidence);
                let fact = facts.iter().rev().find(|fact| fact["fact"] == told).expect("it is on record");
                u32::try_from(fact["body"][who]["pid"].as_u64().expect("a pid")).expect("a pid")
            };
            let before = latest();
            let helper = helpers.iter().find(|helper| helper.pid() == before).expect("it was seen");
            helper.signal(Signal::KILL);
            helper.await_end();
            until("the next one is there", || latest() != before);
            helpers.push(Observer::of(latest()));
            assert!(life.program.0.lives(), "{replaced}: the death of a {who} may not hurt it");
        }
        // More than a terminal holds: whoever writes that has somebody who reads.
        gate.open();
        life.program.0.await_end();
        helpers.iter().for_each(Observer::await_end);
        let facts = facts_in(&evidence);
        let ended = facts.iter().find(|fact| fact["fact"] == "ended").expect("its end is on record");
        let code = &ended["body"]["outcome"]["code"];
        assert!(*code == 3 || !ends_are_kept(), "{replaced}: {ended}");
    }
}

// TRUTH 6, 29
#[test]
fn a_session_whose_recording_is_deleted_goes_on_with_the_next_host_and_the_next_guard() {
    for replaced in [false, true] {
        let world = World::new();
        let life = world.live(&["print ready", "wait-line", "print heard", "wait-line", "exit 3"]);
        life.until_shown("ready");
        let recording = world.dir(&life.id).join("recording");
        fs::remove_file(&recording).expect("it is ours");
        if replaced {
            fs::create_dir(&recording).expect("it is ours");
        }
        life.replace("host");
        assert_eq!(world.abide.run(&["type", "--enter", &life.id, "one"]).code(), Some(0), "{replaced}");
        let sees = |text: &str| world.abide.run(&["snapshot", &life.id]).stdout.contains(text);
        until("what was shown before and since is on the screen", || sees("ready") && sees("heard"));
        let notes = world.told(&life.id, "noted");
        assert!(notes.iter().any(|note| note.to_string().contains("the recording is gone")), "{notes:?}");
        life.replace("guard");
        life.replace("host");
        assert!(life.program.0.lives(), "{replaced}");
        assert!(world.told(&life.id, "hosted").len() < 6, "{replaced}: hosts come and go");
        assert_eq!(world.abide.run(&["type", "--enter", &life.id, "two"]).code(), Some(0), "{replaced}");
        life.program.0.await_end();
        assert!(world.wait(&life.id).0 == Some(3) || !ends_are_kept(), "{replaced}");
    }
}

#[test]
fn a_session_whose_socket_is_deleted_is_told_of_and_reached_again_after_an_upgrade() {
    let world = World::new();
    let life = world.live(&["print ready", "wait-line", "print heard", "hang"]);
    life.until_shown("ready");
    life.helper("host", None);
    fs::remove_file(world.dir(&life.id).join("socket")).expect("it is ours");
    let refused = world.abide.run(&["type", "--enter", &life.id, "one"]);
    assert!(refused.stderr.contains("its socket is gone; `abide upgrade`"), "{refused:?}");
    let doctor = world.abide.run(&["doctor"]).stdout;
    assert!(doctor.contains(&format!("the socket of session {} is gone", life.id)), "{doctor}");
    assert!(doctor.contains(&format!("abide upgrade {}", life.id)), "{doctor}");
    let upgraded = world.abide.run(&["upgrade", &life.id]);
    assert_eq!(upgraded.code(), Some(0), "{upgraded:?}");
    assert_eq!(world.abide.run(&["type", "--enter", &life.id, "one"]).code(), Some(0));
    life.until_shown("heard");
    // The next host does it too.
    fs::remove_file(world.dir(&life.id).join("socket")).expect("it is ours");
    life.replace("host");
    assert_eq!(world.abide.run(&["type", &life.id, "two"]).code(), Some(0));
}

#[test]
fn a_name_that_leads_to_no_session_is_told_of_and_freed() {
    let world = World::new();
    let id = world.run(&["--name", "kept"], &["exit 0"]);
    assert_eq!(world.wait(&id).0, Some(0));
    let names = world.home.path().join("names");
    std::os::unix::fs::symlink("nosuch00", names.join("lost")).expect("it is ours");
    let doctor = world.abide.run(&["doctor"]).stdout;
    assert!(doctor.contains("lost leads to no session"), "{doctor}");
    let doctor = world.abide.run(&["doctor", "--fix"]).stdout;
    assert!(doctor.contains("lost is free"), "{doctor}");
    assert!(!names.join("lost").is_symlink() && names.join("kept").is_symlink());
}

#[test]
fn a_disk_without_room_costs_the_checkpoint_and_says_so_and_nothing_else() {
    let world = World::new();
    let said = in_small_home(
        &world,
        r#"
        id=$("$1" run -d -- "$3" hang)
        echo one > "$2.plan"
        code=0; "$1" checkpoint --json "$id" --file "$2.plan" > "$2.told" || code=$?
        echo "code=$code"
        echo "told=$(cat "$2.told")"
        echo "status=$("$1" ls -q)"
        "$1" stop --grace 0s "$id"
        echo "outcome=$("$1" inspect --json "$id")"
        "#,
    );
    assert_eq!(said["code"], "1", "{said:?}");
    assert!(said["told"].contains("too little room is left"), "{said:?}");
    assert!(said["outcome"].contains("\"signal\":15"), "{said:?}");
}
