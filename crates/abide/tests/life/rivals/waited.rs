//! Waits: for the end and for nothing that only looks like it, by any number of waiters, each on its own.

use abide_testkit::deadline::until;
use abide_testkit::{Ending, Ran};
use rustix::process::Signal;

use crate::common::{Gate, World, data, waits};

#[test]
fn a_declared_result_ends_no_wait_and_the_last_word_before_the_end_counts() {
    let world = World::new();
    let gates = ["first", "second"].map(|name| Gate::new(&world.beside(name)));
    let script = "\"$0\" result set success; read go < \"$1\"; \"$0\" result set failure; echo said; \
                  read go < \"$2\"; exit 0";
    let command = world.abide.command(&[]);
    let abide = command.get_program().to_str().expect("it is text");
    let paths = ["first", "second"].map(|name| world.beside(name));
    let life = world.observe(world.launch(&[], &["sh", "-c", script, abide, &paths[0], &paths[1]]));
    let declared = |word: &str| until(word, || life.inspect()["declared"]["status"] == word);
    declared("success");
    let capped = world.abide.run(&["wait", "--json", "--cap", "50ms", &life.id]);
    let told = data(&capped);
    assert_eq!(
        (capped.code(), &told["ended"], &told["wait_code"]),
        (Some(0), &false.into(), &().into()),
        "{told}"
    );
    let mut waiting = world.start(&["wait", &life.id]);
    until("it waits", || waits(&waiting));
    gates[0].open();
    declared("failure");
    life.until_shown("said");
    assert!(waiting.observer().lives(), "its program lives");
    gates[1].open();
    assert_eq!(waiting.reap(), Ending::Exited(1));
    let (_, told) = world.wait(&life.id);
    assert_eq!((&told["outcome"]["code"], &told["agrees"]), (&0.into(), &false.into()), "{told}");
}

#[test]
fn a_silent_program_that_ends_well_has_ended_well() {
    let world = World::new();
    let id = world.launch(&[], &["true"]);
    let (code, told) = world.wait(&id);
    assert_eq!((code, &told["outcome"]["kind"], &told["declared"]), (Some(0), &"exited".into(), &().into()));
    assert_eq!(world.shown(&id), "");
}

#[test]
fn a_wait_says_little_however_much_was_shown() {
    let world = World::new();
    let id = world.run(&[], &["flood 2000000", "exit 4"]);
    let ran = world.abide.run(&["wait", &id]);
    let expected = format!("abide: wait id={id} ended=true status=exited exit=4\n  exited with code 4\n");
    assert_eq!((ran.code(), ran.stdout.as_str(), ran.stderr.as_str()), (Some(4), "", expected.as_str()));
    let json = world.abide.run(&["wait", "--json", &id]);
    assert!(json.stdout.len() < 2_000 && json.stderr.is_empty(), "{json:?}");
}

#[test]
fn quiet_counts_from_the_question_on_and_what_is_over_is_not_quiet_but_over() {
    let world = World::new();
    let life = world.live(&["print here", "hang"]);
    life.until_shown("here");
    let long = world.abide.run(&["wait", "--idle", "150ms", &life.id]);
    assert_eq!(long.code(), Some(0), "{long:?}");
    let short = world.abide.run(&["wait", "--json", "--idle", "150ms", "--timeout", "50ms", &life.id]);
    assert_eq!(
        (short.code(), &data(&short)["met"]),
        (Some(124), &false.into()),
        "it was quiet before: {short:?}"
    );
    life.program.0.signal(Signal::KILL);
    assert_eq!(world.wait(&life.id).0, Some(137));
    let over = world.abide.run(&["wait", "--json", "--idle", "1ms", &life.id]);
    let told = data(&over);
    assert_eq!(
        (over.code(), &told["met"], &told["ended"]),
        (Some(125), &false.into(), &true.into()),
        "{told}"
    );
}

#[test]
fn what_the_last_screen_of_a_lost_session_shows_is_met_and_what_it_does_not_ends_the_wait() {
    let world = World::new();
    let life = world.live(&["print last words", "hang"]);
    life.until_shown("last words");
    life.program.0.signal(Signal::STOP);
    life.kill_helpers();
    life.program.0.signal(Signal::KILL);
    life.program.0.await_end();
    let asked = |text: &str| world.abide.run(&["wait", "--json", "--text", text, &life.id]);
    let (met, unmet) = (asked("last words"), asked("never"));
    assert_eq!((met.code(), &data(&met)["met"]), (Some(0), &true.into()), "{met:?}");
    assert_eq!((unmet.code(), &data(&unmet)["status"]), (Some(125), &"lost".into()), "{unmet:?}");
}

#[test]
fn waiters_that_stand_still_die_or_have_nobody_to_tell_keep_nothing_from_the_others() {
    let world = World::new();
    let life = world.live(&["trap-exit USR1 9", "print ready", "hang"]);
    life.until_shown("ready");
    let [mut stopped, mut killed, mut plain] = [(); 3].map(|()| world.start(&["wait", &life.id]));
    let deaf = world.bash("\"$0\" wait \"$1\" >&- 2>&-", &[&life.id]);
    std::thread::scope(|scope| {
        let mut deaf = deaf;
        let deaf = scope.spawn(move || Ran::of(&mut deaf));
        until("all of them wait", || [&stopped, &killed, &plain].into_iter().all(waits));
        stopped.signal(Signal::STOP);
        assert_eq!(killed.kill(), Ending::Signaled { signal: 9, core: false });
        assert_eq!(life.inspect()["status"], "running", "who waits no longer stops nothing");
        life.program.0.signal(Signal::USR1);
        assert_eq!(plain.reap(), Ending::Exited(9));
        assert_eq!(deaf.join().expect("it was run").code(), Some(9));
    });
    assert_eq!(world.wait(&life.id).0, Some(9), "one more");
    stopped.signal(Signal::CONT);
    assert_eq!(stopped.reap(), Ending::Exited(9));
}
