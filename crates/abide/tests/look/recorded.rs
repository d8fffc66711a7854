//! What was recorded, as people and programs see it: a recording made by the test, so that every word is known beforehand.

mod let_go;
mod played;

use abide_core::evidence::{Body, Drained, How, Role};
use abide_testkit::Tape;
use abide_testkit::scene::Scene;
use serde_json::{Value, json};

use crate::common::{Stage, data, word};

const ID: &str = "recorded";

fn tape() -> Tape {
    Tape::new(30, 4)
        .at(1_000_000)
        .output("\x1b]133;A\x07$ \x1b]133;B\x07make\r\n\x1b]133;C;cmdline_url=make%20all\x07")
        .at(1_500_000)
        .output("\x1b[1;31mred\x1b[0m <b>\r\n")
        .at(2_000_000)
        .mark("half way")
        .typed("q")
        .at(3_000_000)
        .output("done\r\n\x1b]133;D;2\x07")
}

fn stage(tape: &Tape) -> (Stage, Scene) {
    let stage = Stage::new();
    let scene = stage.over(ID).ended(How::Exited { code: 0 });
    tape.put(scene.dir());
    (stage, scene)
}

fn lines(answer: &Value) -> Vec<String> {
    answer["lines"].as_array().expect("rows").iter().map(word).collect()
}

#[test]
fn a_screen_is_shown_as_it_was_at_any_instant_however_that_is_named() {
    let (stage, _scene) = stage(&tape());
    let middle = "$ make\nred <b>\n\n\n";
    for at in ["+1.5s", "#3", "entry:5", "2023-11-14T22:13:22Z", "mark:half way", "half way", "+2.9"] {
        assert_eq!(stage.text(&["snapshot", "--at", at, ID]), middle, "{at}");
    }
    assert_eq!(stage.text(&["snapshot", "--at", "seq:19", ID]), "$ m\n\n\n\n");
    assert_eq!(stage.text(&["snapshot", ID]), "$ make\nred <b>\ndone\n\n");
    let told = data(stage.abide.json(&["snapshot", "--at", "+2.25s", ID]));
    assert_eq!(
        told,
        json!({
            "id": ID, "seq": told["seq"], "at": "2023-11-14T22:13:22.250Z", "entry": 5, "since": "+2.250000s",
            "cols": 30, "rows": 4, "cursor": {"row": 2, "col": 0, "visible": true},
            "lines": ["$ make", "red <b>", "", ""], "title": null, "hash": told["hash"], "source": "replay",
            "alternate": false, "behind": 0, "gaps": [],
        })
    );
    let again = data(stage.abide.json(&["snapshot", "--at", &format!("seq:{}", told["seq"]), ID]));
    assert_eq!(again["hash"], told["hash"], "a position that was told leads back to it");
}

#[test]
fn cells_and_pages_show_how_text_looks_and_can_do_nothing_else() {
    let (stage, _scene) = stage(&tape());
    let told = data(stage.abide.json(&["snapshot", "--cells", "--at", "+2s", ID]));
    let red = json!({"text": "red", "cols": 3, "fg": 1, "attributes": ["bold"]});
    assert_eq!(told["cells"][1], json!([red, {"text": " <b>", "cols": 4}]));
    assert_eq!(lines(&told).len(), 4);
    let page = stage.text(&["snapshot", "--format", "html", "--theme", "light", "--at", "half way", ID]);
    assert!(page.contains("<span class=\"b\" style=\"color:#c92f3d;\">red</span> &lt;b&gt;\n"), "{page}");
    assert!(page.contains("<title>recorded at mark:half way</title>") && page.contains("default-src 'none'"));
    assert_eq!(stage.abide.run(&["snapshot", "--format", "json", ID]).json()["command"], "snapshot");
    let ansi = stage.text(&["snapshot", "--format", "ansi", ID]);
    assert_eq!(ansi, "$ make\n\x1b[0;1;31mred\x1b[0m <b>\ndone\n\n");
}

#[test]
fn what_is_missing_is_told_where_it_matters_and_nowhere_else() {
    let (stage, _scene) = stage(&tape().damaged(3).torn(2));
    let ran = stage.abide.run(&["snapshot", ID]);
    assert_eq!(ran.stdout, "$ make\n\n\n\n");
    assert!(ran.stderr.contains("bytes of the recording at byte"), "{ran:?}");
    let answer = stage.abide.json(&["snapshot", ID]);
    assert_eq!(answer["data"]["gaps"].as_array().expect("gaps").len(), 2, "{answer}");
    assert_eq!(answer["data"]["gaps"][0]["kind"], "damage");
    assert_eq!(answer["warnings"].as_array().expect("warnings").len(), 2, "{answer}");
    assert_eq!(data(stage.abide.json(&["snapshot", "--at", "+1s", ID]))["gaps"], json!([]));
}

#[test]
fn instants_that_are_none_are_refused_with_the_way_out() {
    let (stage, _scene) = stage(&tape());
    for (at, code, hint) in [
        ("nowhere", "bad_time", "`abide marks recorded` lists the marks it has"),
        ("#8", "bad_time", "`abide snapshot recorded` shows its last screen"),
        ("seq:99999", "bad_time", "`abide snapshot recorded` shows its last screen"),
        ("2001-01-01T00:00:00Z", "bad_time", "`abide why recorded` shows when it was launched"),
        ("+x", "bad_time", "mark:NAME"),
    ] {
        let ran = stage.abide.run(&["snapshot", "--json", "--at", at, ID]);
        let error = &ran.json()["error"];
        assert_eq!((ran.code(), &error["code"]), (Some(2), &json!(code)), "{at}: {ran:?}");
        assert!(word(&error["hint"]).contains(hint), "{at}: {error}");
    }
}

#[test]
fn a_diff_shows_the_lines_that_went_and_came() {
    let (stage, _scene) = stage(&tape());
    let text = stage.text(&["diff", ID, "--from", "+1.2s", "--to", "+3s"]);
    assert_eq!(
        text,
        "--- 2023-11-14 22:13:21.200 (+1.200000s, seq:55)\n\
         +++ 2023-11-14 22:13:23.000 (+3.000000s, seq:91)\n\
        \x20 $ make\n+ red <b>\n+ done\n"
    );
    let told = data(stage.abide.json(&["diff", ID, "--from", "half way"]));
    assert_eq!(told["changes"], json!([{"kind": "came", "row": 2, "text": "done"}]));
    assert_eq!((&told["equal"], &told["from"]["instant"]["entry"]), (&json!(false), &json!(4)));
    let same = stage.text(&["diff", ID, "--from", "half way", "--to", "#5"]);
    assert!(same.ends_with("nothing changed\n  ...\n") || same.ends_with("nothing changed\n"), "{same}");
}

#[test]
fn marks_and_commands_are_listed_with_their_instants() {
    let (stage, _scene) = stage(&tape());
    assert_eq!(
        stage.text(&["marks", ID]),
        "+1.000000s  command  2 in 2s  make all\n+2.000000s  mark              half way\n"
    );
    let told = data(stage.abide.json(&["marks", ID]));
    assert_eq!(told["marks"][0]["name"], "half way");
    assert_eq!(told["marks"][0]["instant"]["entry"], 4);
    let command = &told["commands"][0];
    assert_eq!((&command["exit_code"], &command["duration_ms"]), (&json!(2), &json!(2000)));
    let seq = command["began"]["seq"].as_u64().expect("a position");
    let at = stage.text(&["snapshot", "--at", &format!("seq:{seq}"), ID]);
    assert_eq!(at, "$ make\n\n\n\n", "where it began to run");
}

#[test]
fn a_command_line_that_no_shell_tells_is_read_off_its_prompt() {
    let tape = Tape::new(30, 4)
        .at(1_000_000)
        .output("\x1b]133;A\x07$ \x1b]133;B\x07")
        .at(1_200_000)
        .output("maek\x08\x08\x1b[Kke test\r\n\x1b]133;C\x07ran\r\n\x1b]133;D;0\x07")
        .at(2_000_000)
        .output("\x1b]133;A\x07$ \x1b]133;B\x07exit\r\n\x1b]133;C\x07");
    let (stage, _scene) = stage(&tape);
    assert_eq!(
        stage.text(&["marks", ID]),
        "+1.200000s  command  0 in 0ms     make test\n+2.000000s  command  no end told  exit\n"
    );
    let told = data(stage.abide.json(&["marks", ID]));
    let lines: Vec<&Value> = (0..2).map(|at| &told["commands"][at]["command"]).collect();
    assert_eq!(lines, [&json!("make test"), &json!("exit")]);
}

#[test]
fn a_cast_is_what_asciinema_defines_word_for_word() {
    let (stage, _scene) = stage(&tape());
    let cast = stage.text(&["export", "--from", "+1.2s", "--to", "+2s", "--input", ID]);
    let mut lines = cast.lines();
    assert_eq!(
        lines.next(),
        Some(
            "{\"version\":3,\"term\":{\"cols\":30,\"rows\":4,\"type\":\"xterm-256color\"},\"timestamp\":1700000001,\
             \"title\":\"recorded\",\"command\":\"make test\"}"
        )
    );
    let first: Value = serde_json::from_str(lines.next().expect("the screen it begins with")).unwrap();
    assert_eq!((&first[0], &first[1]), (&json!(0.0), &json!("o")));
    assert_eq!(
        lines.collect::<Vec<_>>(),
        [
            "[0.300000, \"o\", \"\\u001b[1;31mred\\u001b[0m <b>\\r\\n\"]",
            "[0.500000, \"m\", \"half way\"]",
            "[0.000000, \"i\", \"q\"]",
        ]
    );
    let two = stage.text(&["export", "--cast-version", "2", "--idle-limit", "0.1s", ID]);
    let times: Vec<f64> = two
        .lines()
        .skip(1)
        .map(|line| serde_json::from_str::<Value>(line).unwrap()[0].as_f64().expect("a time"))
        .collect();
    assert_eq!(times, [0.1, 0.2, 0.3, 0.4], "absolute, and no pause is longer");
    assert!(two.starts_with("{\"version\":2,\"width\":30,\"height\":4,"), "{two}");
}

#[test]
fn pieces_of_a_cast_hold_whole_characters_and_sequences_and_ask_nobody_anything() {
    let tape = Tape::new(30, 4)
        .output(b"\xe2\x82")
        .output(b"\xac \xff\x1b[3")
        .output(b"1mx\x1b[6n\x1b]52;c;aGk=\x07y\xf0\x9f");
    let (stage, _scene) = stage(&tape);
    let cast = stage.text(&["export", ID]);
    let told: Vec<String> =
        cast.lines().skip(1).map(|line| word(&serde_json::from_str::<Value>(line).unwrap()[2])).collect();
    assert_eq!(told, ["€ \u{fffd}", "\x1b[31mxy", "\u{fffd}", "0"]);
}

#[test]
fn an_export_is_a_whole_file_or_none() {
    let (stage, _scene) = stage(&tape());
    let path = stage.home.around().join("out.txt").to_str().expect("it is text").to_owned();
    let told = data(stage.abide.json(&["export", "--format", "txt", "-o", &path, ID]));
    assert_eq!(std::fs::read_to_string(&path).expect("it is there"), "$ make\nred <b>\ndone\n");
    assert_eq!(
        (&told["bytes"], &told["format"], &told["to"]["entry"]),
        (&json!(20), &json!("txt"), &json!(6))
    );
    let ran = stage.abide.run(&["export", "-o", "/no/such/place/x.cast", ID]);
    assert_eq!(ran.code(), Some(1), "{ran:?}");
    for place in [&[][..], &["-o", "-"]] {
        let ran = stage.abide.run(&[&["export", "--json", ID], place].concat());
        assert_eq!((ran.code(), &ran.json()["error"]["hint"]), (Some(2), &json!("name a file with -o FILE")));
        let shown = stage.text(&[&["export", "--format", "txt", ID], place].concat());
        assert_eq!(shown, "$ make\nred <b>\ndone\n");
    }
    let left = std::fs::read_dir(stage.home.around().path()).expect("it is ours").flatten();
    assert!(left.map(|entry| entry.file_name()).all(|name| !name.to_string_lossy().ends_with(".part")));
}

#[test]
fn secrets_are_masked_in_every_format_shown_or_typed() {
    let secret = "ghp_0123456789abcdef";
    let mut tape = Tape::new(40, 4).output("$ export TOKEN=");
    for letter in secret.chars() {
        tape = tape.typed(letter.to_string()).output(letter.to_string());
    }
    let tape = tape
        .typed("\r")
        .output("\r\nuse sk-proj-0123456789 \x1b[32mhttps://me:hunter2@host/\x1b[0m\r\nbye\r\n");
    let (stage, _scene) = stage(&tape);
    for format in [&["cast", "--input"][..], &["txt"], &["html"]] {
        let text = stage.text(&[&["export", "--redact", ID, "--format"], format].concat());
        let plain: String = text.lines().filter_map(|line| line.split('"').nth(3)).collect();
        for secret in [secret, "sk-proj-0123456789", "hunter2", "0123456789abc"] {
            assert!(!text.contains(secret) && !plain.contains(secret), "{format:?}: {secret} in {text}");
        }
        assert!(text.contains("bye") && text.contains("****"), "{format:?}: {text}");
    }
    let spans = ["export", "--redact", "--from", "#20", ID];
    assert!(!stage.text(&spans).contains("ghp_0"), "nor in the screen that a span begins with");
}

#[test]
fn a_page_that_plays_holds_every_picture_and_no_markup_of_anybodys() {
    let (stage, _scene) = stage(&tape().output("</script><script>alert(1)\r\n"));
    let page = stage.text(&["export", "--format", "html", ID]);
    assert!(page.contains("F.push([0,30,4,") && page.contains("F.push([3000,30,4,"), "{page}");
    assert!(page.contains("M.push([2000,\"half way\"])"), "{page}");
    assert!(!page.contains("<script>alert"), "{page}");
    assert!(page.ends_with("</body></html>\n"));
}

#[test]
fn lines_that_scrolled_away_are_counted_and_the_last_one_has_its_time() {
    let many: String = (0..1_500).map(|n| format!("line {n}\r\n")).collect();
    let (stage, _scene) = stage(&Tape::new(30, 4).output(many).at(4_000_000).output("no end"));
    let told = data(stage.abide.json(&["snapshot", "--scrollback", ID]));
    assert_eq!((&told["scrolled"], lines(&told).len()), (&json!(1_497), 1_004));
    assert_eq!(data(stage.abide.json(&["snapshot", ID])).get("scrolled"), None);
    let logged = data(stage.abide.json(&["logs", "--tail", "1", ID]));
    assert_eq!(
        logged["lines"][0],
        json!({"at": "2023-11-14T22:13:24.000Z", "kind": "output", "text": "no end"})
    );
}

#[test]
fn cells_are_told_as_json_and_as_nothing_else() {
    let (stage, _scene) = stage(&tape());
    assert!(stage.abide.run(&["snapshot", "--cells", ID]).json()["data"]["cells"].is_array());
    let ran = stage.abide.run(&["snapshot", "--cells", "--format", "html", ID]);
    assert_eq!((ran.code(), ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
}

#[test]
fn output_that_is_missing_between_two_sound_entries_is_told() {
    let tape = Tape::new(20, 5).output("one\r\n").output("two\r\n").output("three\r\n").without(3);
    let (stage, _scene) = stage(&tape);
    let told = data(stage.abide.json(&["snapshot", ID]));
    assert_eq!(lines(&told)[..2], ["one", "three"], "everything else is shown");
    assert_eq!(
        told["gaps"],
        json!([{"kind": "missing", "offset": null, "length": 5, "cut": null}]),
        "{told}"
    );
    assert!(stage.abide.run(&["logs", ID]).stdout.contains("5 bytes of output are missing"));
    assert!(
        stage.abide.run(&["search", "three"]).stderr.contains("gaps in one place"),
        "a search says it too"
    );
}

#[test]
fn more_output_than_could_stand_where_nothing_can_be_read_is_told_apart() {
    let long = "two\r\n".repeat(100);
    let tape = Tape::new(20, 5).output("one\r\n").output(long).output("three\r\n").output("four");
    let (stage, _scene) = stage(&tape.without(3).damaged(3));
    let told = data(stage.abide.json(&["snapshot", ID]));
    assert_eq!(lines(&told)[..2], ["one", "four"], "everything else is shown");
    let gaps: Vec<_> = (0..2).map(|gap| [&told["gaps"][gap]["kind"], &told["gaps"][gap]["length"]]).collect();
    assert_eq!(gaps, [[&json!("damage"), &json!(39)], [&json!("missing"), &json!(507)]], "{told}");
    assert!(stage.abide.run(&["search", "four"]).stderr.contains("gaps in 2 place"), "a search says it too");
}

#[test]
fn output_that_came_and_is_not_on_record_is_told_as_missing_and_never_as_yet_to_come() {
    let stage = Stage::new();
    let scene = stage.over(ID).tell(Role::Guard, 1, Body::Drained(Drained { bytes: 100 }));
    let scene = scene.ended(How::Exited { code: 0 });
    Tape::new(20, 5).output("one\r\n").output("two").put(scene.dir());
    for at in ["seq:100", "seq:9", "#4"] {
        let told = data(stage.abide.json(&["snapshot", "--at", at, ID]));
        assert_eq!(lines(&told)[..2], ["one", "two"], "{at}");
        assert_eq!(
            told["gaps"],
            json!([{"kind": "missing", "offset": null, "length": 92, "cut": null}]),
            "{at}"
        );
    }
    let more = stage.abide.run(&["snapshot", "--at", "seq:101", ID]);
    assert!(more.code() == Some(2) && more.stderr.contains("has not come to seq:101"), "{more:?}");
}

#[test]
fn a_date_alone_is_its_midnight_and_digits_alone_are_a_mark() {
    let (stage, _scene) = stage(&Tape::new(30, 4).output("one").mark("2030").mark("10").output(" two"));
    for mark in ["2030", "10"] {
        assert_eq!(stage.text(&["snapshot", "--at", mark, ID]).trim_end(), "one", "{mark}");
    }
    // Wherever this is, the recording was made before.
    assert_eq!(stage.text(&["snapshot", "--at", "2023-11-17", ID]).trim_end(), "one two");
    assert!(stage.text(&["export", "--to", "2023-11-17", "--format", "txt", ID]).contains("one two"));
    for (since, count) in [("2023-11-12", 1), ("2023-11-17", 0)] {
        let found = data(stage.abide.json(&["search", "one", "--since", since]));
        assert_eq!(found["hits"].as_array().map(Vec::len), Some(count), "{since}");
    }
}

#[test]
fn an_instant_that_there_is_not_is_named_with_the_status_of_its_session() {
    let (stage, _scene) = stage(&tape());
    for (args, asked) in [
        (&["snapshot", "--at", "entry:99999"][..], "#99999"),
        (&["snapshot", "--at", "seq:9999999"], "seq:9999999"),
        (&["export", "-o", "x.cast", "--from", "+2s", "--to", "+1s"], "before it begins"),
        (&["diff", "--from", "+2s", "--to", "+1s"], "before it begins"),
        (&["diff", "--from", "#4", "--to", "#2"], "before it begins"),
    ] {
        let ran = stage.abide.run(&[args, &["--json", ID]].concat());
        let error = &ran.json()["error"];
        assert_eq!(
            (ran.code(), &error["code"], &error["status"]),
            (Some(2), &"bad_time".into(), &"exited".into()),
            "{ran:?}"
        );
        assert!(word(&error["message"]).contains(asked), "{error}");
    }
}
