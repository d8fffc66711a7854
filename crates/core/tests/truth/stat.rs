//! `/proc/PID/stat` with hostile names: the line is read from its last parenthesis. And how a process stands by
//! `/proc/PID/status`.

use abide_core::identity::{Qualifier, Spent, Stat};

const TAIL: &str = "1 300 300 34816 300 4194304 1200 0 3 0 57 12 0 0 20 0 4 0 987654 2252800 250 \
                    18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 0\n";
const EXPECTED: Stat = Stat { letter: b'S', parent: 1, terminal: 34_816, threads: 4, start_ticks: 987_654 };

#[test]
fn a_plain_line_gives_letter_parent_terminal_threads_and_birth() {
    assert_eq!(Stat::parse(&line(b"make")), Some(EXPECTED));
}

#[test]
fn no_name_can_forge_what_stands_behind_it() {
    let names: [&[u8]; 16] = [
        b"",
        b")",
        b"(",
        b"()",
        b")(",
        b" ",
        b"a b c",
        b"\n",
        b"\t\r\n",
        b") Z 1 1 1",
        b"x) Z 0 0 0 0 0",
        b")\n7 (y) Z 1 1",
        b"\xff\xfe\xc3\x28",
        b"\xc3)\xa9",
        b"\0\0",
        b"kworker/u8:2-events_unbound",
    ];
    for name in names {
        assert_eq!(Stat::parse(&line(name)), Some(EXPECTED), "{:?}", name.escape_ascii().to_string());
        assert_eq!(Stat::name(&line(name)), Some(name));
    }
}

#[test]
fn every_single_byte_is_harmless_in_a_name() {
    for byte in 0..=u8::MAX {
        assert_eq!(Stat::parse(&line(&[b'a', byte, b'b'])), Some(EXPECTED), "{byte:#04x}");
        assert_eq!(Stat::parse(&line(&[byte])), Some(EXPECTED), "{byte:#04x}");
    }
}

#[test]
fn the_letter_is_passed_on_as_it_is() {
    for letter in *b"RSDZTtXxKWPI" {
        let line =
            String::from_utf8(line(b"make")).unwrap().replacen(") S", &format!(") {}", letter as char), 1);
        assert_eq!(Stat::parse(line.as_bytes()), Some(Stat { letter, ..EXPECTED }));
    }
}

#[test]
fn a_line_cut_at_any_byte_says_nothing_or_the_truth() {
    let line = line(b"a) b");
    for cut in 0..line.len() {
        let parsed = Stat::parse(&line[..cut]);
        assert!(parsed.is_none_or(|stat| stat == EXPECTED), "cut at {cut}: {parsed:?}");
    }
}

#[test]
fn lines_that_are_none_say_nothing() {
    let bad: [&[u8]; 7] = [
        b"",
        b"300 make S 1",
        b"300 (make)",
        b"300 (make) ",
        b"300 (make) S",
        b"300 (make) S x 300 300 0 0 0 0 0 0 0 0 0 0 0 20 0 4 0 987654 0",
        b"300 (make) S 1 300 300 0 0 0 0 0 0 0 0 0 0 0 20 0 4 0 -1 0",
    ];
    for line in bad {
        assert_eq!(Stat::parse(line), None, "{:?}", line.escape_ascii().to_string());
    }
    assert_eq!(Stat::parse(b"300 (make) S 1 \xff"), None);
}

#[test]
fn what_a_process_spent_is_read_behind_any_name_and_only_whole() {
    let spent = Spent { ticks: 69, ticks_of_dead: 7, pages: 250 };
    let tail = TAIL.replace(" 57 12 0 0 ", " 57 12 3 4 ");
    let line = |name: &str| format!("300 ({name}) S {tail}");
    for name in ["make", "a) S 1 2 3", "x (y) z"] {
        assert_eq!(Spent::parse(line(name).as_bytes()), Some(spent), "{name}");
    }
    let whole = line("make");
    let end = whole.find(" 250").expect("it is there") + " 250".len();
    for cut in 0..=end {
        assert_eq!(Spent::parse(&whole.as_bytes()[..cut]), None, "{cut}");
    }
}

fn line(name: &[u8]) -> Vec<u8> {
    [b"300 (", name, b") S ", TAIL.as_bytes()].concat()
}

#[test]
fn a_status_tells_who_is_stopped_or_traced_and_nothing_of_one_that_merely_runs() {
    let status = |state: &str, tracer: &str| {
        format!(
            "Name:\tState:\\nT\nUmask:\t0022\nState:\t{state}\nPid:\t300\nTracerPid:\t{tracer}\nUid:\t0\n"
        )
    };
    let stands = |state, tracer| Qualifier::of_status(status(state, tracer).as_bytes());
    for state in ["R (running)", "S (sleeping)", "D (disk sleep)", "Z (zombie)", "X (dead)", "I (idle)"] {
        assert_eq!(stands(state, "0"), None, "{state}");
        assert_eq!(stands(state, "7"), Some(Qualifier::Traced), "{state}");
    }
    assert_eq!(stands("T (stopped)", "0"), Some(Qualifier::Stopped));
    // Its tracer has to let it go on before anyone else can.
    assert_eq!(stands("t (tracing stop)", "7"), Some(Qualifier::Traced));
    for nothing in ["", "State:", "State:\t", "TracerPid:\t7", "Name:\tT\n"] {
        assert_eq!(Qualifier::of_status(nothing.as_bytes()), None, "{nothing:?}");
    }
}
