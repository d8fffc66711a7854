//! One fact of every kind, with every field filled.

use abide_core::evidence::{
    Adopted, Attention, Body, Cause, Checkpointed, Closing, Cut, Declared, Drained, Ended, ExecFailed, How,
    ImageChanged, Marked, Noted, Notified, Observer, Outcome, Patched, Reason, Resources, Sealed, Signalled,
    Survivor, TurnClosed, TurnOpened, Wants, Watched, Word,
};
use abide_core::identity::FileId;

use crate::common::{
    CLIENT, OWNER, PROGRAM, WATCHER, guarded, hosted, launched, moment, process, started, stop_asked,
};

pub(crate) fn every_kind() -> Vec<Body> {
    vec![
        launched(),
        guarded(),
        hosted(),
        started(),
        exec_failed(2),
        stop_asked(),
        signalled(),
        ended_in_full(),
        Body::Cut(Cut { offset: 4096, reason: "no space left".into() }),
        Body::Drained(Drained { bytes: 8192 }),
        declared(0),
        turn_opened("t1"),
        turn_closed("t1"),
        attention(Wants::Approval),
        Body::Marked(Marked { name: "before \u{1b}[31mred\u{0}".into(), offset: 12 }),
        Body::Checkpointed(Checkpointed {
            path: "checkpoints/1".into(),
            file: "/srv/app/c1.jsonl".into(),
            size: 4096,
            new: 12,
            sum: 0xdead_beef,
            reason: Reason::Hangup,
            named: true,
            agent: Some("claude".into()),
            conversation: Some("c1".into()),
            patched: Some(Patched { base: 4096, end: 8200 }),
        }),
        adopted(),
        watched(),
        Body::ImageChanged(ImageChanged { image: "/usr/bin/sh".into() }),
        Body::Noted(Noted { text: "two\nlines, a quote \" and a \\".into(), heard: Some(1), gone: None }),
        found_dead(PROGRAM),
        notified("k3v9q2zr/ended", false),
        Body::Summary(Box::default()),
        sealed(Closing::Lost),
        Body::Removing(noted()),
        Body::Removed(noted()),
    ]
}

/// A host found this process dead.
pub(crate) fn found_dead(pid: u32) -> Body {
    let gone = Some(Box::new(process(pid)));
    Body::Noted(Noted { text: "found dead".into(), gone, ..Noted::default() })
}

pub(crate) fn noted() -> Noted {
    "worth knowing".into()
}

pub(crate) fn signalled() -> Body {
    Body::Signalled(Signalled { signal: 15, pids: vec![PROGRAM], by: format!("client:{CLIENT}") })
}

pub(crate) fn exec_failed(errno: i32) -> Body {
    let path = "/usr/bin/missing".into();
    Body::ExecFailed(ExecFailed { errno, path, directory: None, session: None })
}

pub(crate) fn declared(exit_code: u8) -> Body {
    Body::Declared(Declared { status: "success".into(), exit_code, summary: Some("all green".into()) })
}

pub(crate) fn adopted() -> Body {
    Body::Adopted(Box::new(Adopted {
        id: "k3v9q2zr".into(),
        name: None,
        program: process(PROGRAM),
        argv: vec!["vim".into()],
        cwd: "/srv/app".into(),
        agent: None,
    }))
}

pub(crate) fn watched() -> Body {
    let lock = FileId { dev: 2049, ino: 4711 };
    Body::Watched(Watched { watcher: process(WATCHER), lock, version: "0.1.0".into() })
}

pub(crate) fn notified(key: &str, delivered: bool) -> Body {
    let detail = (!delivered).then(|| "it exited with 1".to_owned());
    Body::Notified(Box::new(Notified { key: key.into(), to: "command".into(), delivered, detail }))
}

pub(crate) fn sealed(status: Closing) -> Body {
    let cause = match status {
        Closing::Lost => Cause::HelpersDied,
        Closing::NeverRan => Cause::LaunchBroke,
    };
    Body::Sealed(Box::new(Sealed {
        status,
        cause: Some(cause),
        last_seen: Some(moment(3)),
        word_unclear: false,
    }))
}

pub(crate) fn turn_opened(turn: &str) -> Body {
    Body::TurnOpened(Box::new(TurnOpened {
        turn: turn.into(),
        agent: None,
        conversation: Some("c1".into()),
        owner: Some(process(OWNER)),
        cwd: "/srv/app".into(),
        branch: Some("main".into()),
        head: Some("47ee97c".into()),
    }))
}

pub(crate) fn turn_closed(turn: &str) -> Body {
    Body::TurnClosed(TurnClosed { turn: turn.into(), reason: "stop".into(), broken_off: false })
}

pub(crate) fn attention(wants: Wants) -> Body {
    Body::Attention(Attention { wants, text: Some("run `rm -r build`?".into()) })
}

fn ended_in_full() -> Body {
    Body::Ended(Box::new(Ended {
        outcome: Outcome {
            how: How::Signaled { signal: 11, core: true },
            observed_by: Some(Observer::Pidfd),
            cause: Some(Cause::Oom),
        },
        resources: Some(Resources { wall_ms: 5_000, user_ms: 400, system_ms: 30, peak_kib: 9_000 }),
        survivors: vec![Survivor { process: process(777), command: "sleep 9".into() }],
        more_survivors: 4,
        word: Some(Word {
            declared: Some(Declared { status: "success".into(), exit_code: 0, summary: None }),
            unclear: false,
        }),
        session: Some("k3v9q2zr".into()),
    }))
}
