//! The veil, cut anywhere: the mechanism is out, everything else is as it was.

use super::*;

const NONCE: &str = "k3v9q2zr";

fn tag(phase: Phase, line: &str) -> Tag {
    Tag { phase, nonce: NONCE.into(), line: line.into(), typed: String::new() }
}

/// What is shown, what the line wrote, and its code.
fn through(veil: &mut Veil, pieces: &[&[u8]]) -> (Vec<u8>, Vec<u8>, Option<u8>) {
    let (mut shown, mut own, mut code) = (Vec::new(), Vec::new(), None);
    let mut at = 0;
    for piece in pieces {
        veil.pass(at, piece, &mut |unveiled| match unveiled {
            Unveiled::Shown { bytes, .. } => shown.extend_from_slice(&bytes),
            Unveiled::Own { bytes, .. } => {
                shown.extend_from_slice(&bytes);
                own.extend_from_slice(&bytes);
            }
            Unveiled::Begun => {}
            Unveiled::Ended(ended) => code = Some(ended),
        });
        at += piece.len() as u64;
    }
    (shown, own, code)
}

fn stream() -> Vec<u8> {
    let echo = b"\x07 . '/x/\x1b[1mexec-k3v9q2zr'\x1b[0m\x1b[?2004l\x1b[6n\x1b]2;. /x\x07\r\n\x1b]133;C;cmdline=x\x07";
    let ended = [ends(NONCE).as_bytes(), b"3\x07"].concat();
    [echo, begins(NONCE).as_bytes(), b"one\r\n\x1b[31mtw\x1b]7717;abide;other;E;0\x07o", &ended, b"\r\n$ "]
        .concat()
}

#[test]
fn the_mechanism_is_taken_out_however_the_output_is_cut() {
    let stream = stream();
    let expected = b"\x1b[1m\x1b[0m\x1b[?2004l\x1b[6nls -l\r\n\x1b]133;C;cmdline_url=ls%20-l\x07\
        one\r\n\x1b[31mtw\x1b]7717;abide;other;E;0\x07o\r\n$ ";
    for cut in 0..=stream.len() {
        let mut veil = Veil::default();
        veil.tag(&tag(Phase::Begin, "ls -l"), 0);
        let first = through(&mut veil, &[&stream[..cut]]);
        // What is kept goes on from a keyframe as if nothing had been in between.
        let mut again = Veil::thaw(&veil.freeze()).unwrap();
        assert_eq!(again, veil);
        let second = through(&mut again, &[&stream[cut..]]);
        assert_eq!(
            [first.0, second.0].concat().escape_ascii().to_string(),
            expected.escape_ascii().to_string()
        );
        assert_eq!(
            [first.1, second.1].concat(),
            b"one\r\n\x1b[31mtw\x1b]7717;abide;other;E;0\x07o",
            "cut at {cut}"
        );
        assert_eq!(first.2.or(second.2), Some(3));
        assert_eq!(again.stage(), Stage::Open);
    }
}

#[test]
fn what_is_cancelled_is_shown_after_all() {
    let mut veil = Veil::default();
    veil.tag(&tag(Phase::Begin, "ls"), 0);
    assert_eq!(through(&mut veil, &[b" . '/x'\x1b[?2004l\x1b[2"]).0, b"\x1b[?2004l");
    veil.tag(&Tag { nonce: "other".into(), ..tag(Phase::Cancel, "") }, 0);
    assert_eq!(veil.stage(), Stage::Awaiting, "that was another");
    veil.tag(&tag(Phase::Cancel, ""), 0);
    assert_eq!(through(&mut veil, &[b"K>"]).0, b" . '/x'\x1b[2K>");
    assert_eq!(through(&mut veil, &[begins(NONCE).as_bytes()]).0, begins(NONCE).as_bytes());
}

#[test]
fn an_echo_without_end_is_shown() {
    let mut veil = Veil::default();
    veil.tag(&tag(Phase::Begin, "ls"), 0);
    let long = vec![b'x'; LONGEST_ECHO + 5];
    assert_eq!(through(&mut veil, &[&long]).0, long);
    assert_eq!(veil.stage(), Stage::Open);
}

#[test]
fn what_an_end_or_a_killed_client_leaves_behind_the_veil_is_shown() {
    let echo = b" . '/x'\r\nlast words\x1b[";
    let mut veil = Veil::default();
    veil.tag(&tag(Phase::Begin, "ls"), 5);
    assert_eq!(through(&mut veil, &[echo]).0, b"");
    assert_eq!((veil.clone().finish(), Veil::default().finish()), (echo.to_vec(), Vec::new()));
    veil.elapse(5 + LONGEST_START);
    assert_eq!(veil.stage(), Stage::Awaiting, "it may still begin");
    let mut again = Veil::thaw(&veil.freeze()).unwrap();
    let at = again.forsaken_at().unwrap();
    assert!(again.is_forsaken(at) && !again.is_forsaken(at - 1));
    again.elapse(at);
    assert_eq!((again.forsaken_at(), again.clone().take_owed()), (None, echo.to_vec()));
    assert_eq!(through(&mut again, &[b"K>"]).0, [&echo[..], b"K>"].concat());
    // A line that runs keeps nothing back but what may be the beginning of its end.
    let runs = [b" . x".as_slice(), begins(NONCE).as_bytes(), b"out\x1b]77"].concat();
    veil.tag(&tag(Phase::Begin, "ls"), 5);
    assert!(through(&mut veil, &[&runs]).0.ends_with(b"ls\r\nout"));
    veil.elapse(u64::MAX);
    assert_eq!((veil.stage(), veil.clone().finish()), (Stage::Running, b"\x1b]77".to_vec()));
    assert_eq!(through(&mut veil, &[&ends(NONCE).as_bytes()[4..], b"1"]).1, b"");
    assert_eq!(veil.finish(), b"", "that was the end of the line, and not the line's");
}

/// What is shown of a line behind what others wrote where it is cut into the echo, as bash has it.
fn with_others(cut: usize, others: &[u8], quiet_shell: bool) -> String {
    const TYPED: &str = " { \\builtin . '/x/exec-k3v9q2zr/a'; \\builtin eval \"$(x)\"; }";
    let echo = ["\x1b[7m", TYPED, "\x1b[27m\x1b[A\r\x1b[C", TYPED, "\r\n\x1b[?2004l\r"].concat();
    let (before, behind) = echo.split_at(cut.min(echo.len()));
    let says = if quiet_shell { quiet(NONCE) } else { String::new() };
    let begins = begins(NONCE);
    let stream = [before.as_bytes(), others, behind.as_bytes(), says.as_bytes(), begins.as_bytes()].concat();
    let mut veil = Veil::default();
    veil.tag(&Tag { typed: TYPED.into(), ..tag(Phase::Begin, "ls") }, 0);
    let mut shown = Vec::new();
    for half in [&stream[..stream.len() / 2], &stream[stream.len() / 2..]] {
        shown.extend(through(&mut veil, &[half]).0);
        veil = Veil::thaw(&veil.freeze()).unwrap();
    }
    assert_eq!(veil, Veil { line: "ls".into(), ..Veil::running(NONCE.into()) });
    String::from_utf8(shown)
        .unwrap()
        .replace("\x1b[7m", "")
        .replace("\x1b[27m", "")
        .replace("\x1b[?2004l", "")
}

#[test]
fn what_others_write_while_a_line_is_typed_is_shown_behind_it_and_nothing_else() {
    let end = with_others(usize::MAX, b"", false);
    assert_eq!(end, "ls\r\n");
    let lines = b"tick 1\r\n\x1b[31mtick 2\r\n";
    let mut whole = 0;
    for cut in 0..200 {
        let shown = with_others(cut, lines, true).replace("\x1b[31m", "");
        for piece in ["built", "exec", NONCE, "eval"] {
            assert!(!shown.contains(piece), "{cut}: {shown:?}");
        }
        whole += usize::from(shown == "ls\r\ntick 1\r\ntick 2\r\n");
    }
    // In the middle of a sequence nobody can tell.
    assert!(whole > 150, "{whole}");
    let shows = |cut: usize, quiet: bool| with_others(cut, lines, quiet).ends_with("tick 2\r\n");
    assert!(shows(0, false) && shows(usize::MAX, true));
    assert!(!shows(usize::MAX, false), "that may be a trap of the shell's");
}

#[test]
fn what_others_write_is_told_exactly_wherever_it_cuts_the_echo_of_a_terminal() {
    const TYPED: &str =
        " { \\. '/x/exec-k3v9q2zr/a'; n; \\command eval \"$({ \\. '/x/exec-k3v9q2zr/l'; })\"; }";
    let (begins, quiet) = (begins(NONCE), quiet(NONCE));
    let shown = |echo: &str, says: &str| {
        let mut veil = Veil::default();
        veil.tag(&Tag { typed: TYPED.into(), ..tag(Phase::Begin, "ls") }, 0);
        let stream = [echo, says, &begins].concat();
        String::from_utf8(through(&mut veil, &[stream.as_bytes()]).0).unwrap()
    };
    let echo = format!("{TYPED}\r\n");
    for others in ["noise 1\r\n", "n\r\n; }\r\n", "at last {\r\n; }\r\n", "#+"] {
        for one in (0..=TYPED.len()).chain([echo.len()]) {
            let cut = format!("{}{others}{}", &echo[..one], &echo[one..]);
            // What they had only begun, its Enter ended.
            let begun = if one < echo.len() && others == "#+" { "\r\n" } else { "" };
            assert_eq!(shown(&cut, &quiet), format!("ls\r\n{others}{begun}"), "{cut:?}");
            let told = if one == echo.len() { "" } else { others };
            assert_eq!(shown(&cut, ""), format!("ls\r\n{told}{begun}"), "{cut:?} of a shell that tells");
        }
    }
    // The echo comes in the middle of a line of others, and is cut itself.
    for one in (0..=TYPED.len()).step_by(7) {
        for other in (one..=TYPED.len()).step_by(5) {
            let cut = format!("#1{}#2\r\n#3#{}\r\n{}", &TYPED[..one], &TYPED[one..other], &echo[other..]);
            assert_eq!(shown(&cut, &quiet), "ls\r\n#1#2\r\n#3#\r\n", "{cut:?}");
        }
    }
}

#[test]
fn nothing_of_what_is_typed_is_shown_where_it_ends_at_the_edge_of_the_screen() {
    const TYPED: &str = " { \\builtin . '/x/exec-k3v9q2zr/a'; }";
    let begins = begins(NONCE);
    // As readline has it: it moves on to the next row and back, and draws the last character once more.
    let again = " \r\x1b[A\x1b[C\x1b[C\x1b[K}";
    let shown = |behind: &str| {
        let stream = [" { \\b", " \r\x1b[A", TYPED, again, behind, &begins].concat();
        let mut veil = Veil::default();
        veil.tag(&Tag { typed: TYPED.into(), ..tag(Phase::Begin, "ls") }, 0);
        String::from_utf8(through(&mut veil, &[stream.as_bytes()]).0).unwrap()
    };
    assert_eq!(shown("\r\n+ __abide=0\r\n++ case $- in\r\n"), "ls\r\n");
    assert_eq!(shown("tick\r\n\r\n+ __abide=0\r\n"), "ls\r\ntick\r\n");
    assert_eq!(shown(&format!("\r\n{}", quiet(NONCE))), "ls\r\n");
    // What does not fit on a low screen is drawn once more as far as it does, without what had marked it.
    let low = "\x1b[27m\rec-k3v9q2\rzr/a'; }";
    assert_eq!(shown(&format!("{low}\r\n{}", quiet(NONCE))).replace("\x1b[27m", ""), "ls\r\n");
    assert_eq!(shown(&format!("{low}tick\r\n\r\n")).replace("\x1b[27m", ""), "ls\r\ntick\r\n");
}

#[test]
fn positions_are_those_of_the_recording() {
    let stream = stream();
    for cut in 0..=stream.len() {
        let mut veil = Veil::default();
        veil.tag(&tag(Phase::Begin, "ls"), 0);
        let mut at = 0;
        for piece in [&stream[..cut], &stream[cut..]] {
            veil.pass(at, piece, &mut |unveiled| {
                if let Unveiled::Shown { at: Some(at), bytes } | Unveiled::Own { at, bytes } = unveiled {
                    assert!(
                        stream[at as usize..].starts_with(&bytes),
                        "cut at {cut}: {}",
                        bytes.escape_ascii()
                    );
                }
            });
            at += piece.len() as u64;
        }
    }
}

#[test]
fn a_line_is_shown_without_what_would_move_the_cursor() {
    assert_eq!(shown_line("a\nb\x1b[2J\u{9b}\t\x7f"), b"a\r\nb^[[2J?\t^?\r\n");
}

#[test]
fn no_bytes_but_those_of_a_veil_are_one() {
    let mut veil = Veil::default();
    veil.tag(&tag(Phase::Begin, "ls"), 0);
    through(&mut veil, &[b"echo\x1b["]);
    let bytes = veil.freeze();
    assert!((1..bytes.len()).all(|cut| Veil::thaw(&bytes[..cut]).is_none()));
    assert_eq!(Veil::thaw(&[]), Some(Veil::default()));
}
