//! Sealing asks everything again: what the scan saw counts for nothing.

use std::sync::Barrier;

use abide_core::evidence::{Cause, Closing, How};
use abide_core::failure::Code;
use abide_core::id::SessionId;
use abide_core::identity::Identity;
use abide_core::status::Status;
use abide_engine::{Sealing, Sessions};
use abide_sys::lock::Holder;
use abide_testkit::scene::{Scene, dead, identity, idle};
use abide_testkit::{ScratchDir, ScratchHome};

struct Stage {
    home: ScratchHome,
}

impl Stage {
    fn new() -> Self {
        Self { home: ScratchHome::new() }
    }

    /// A session that a scan finds lost and not sealed.
    fn lost(&self, id: &str) -> Scene {
        let gone = dead();
        let scene = Scene::new(&self.home.path(), id).served(&gone, &gone, &gone);
        let found = self.sessions().find(id).expect("it is there");
        assert_eq!(found.verdict.rule.closing(), Some(Closing::Lost));
        scene
    }

    fn sessions(&self) -> Sessions {
        Sessions::open(&self.home.path()).expect("the home is ours")
    }

    fn seal(&self, id: &str) -> Sealing {
        self.sessions().seal(&SessionId::parse(id).expect("an id")).expect("it can be written")
    }
}

#[test]
fn a_program_that_is_alive_after_all_is_not_sealed() {
    let stage = Stage::new();
    let living = idle();
    let process = identity(&living);
    let scene = stage.lost("revived0").guarded(&process).started(&process);
    let before = scene.bytes();
    assert_eq!(stage.seal("revived0"), Sealing::NotOver(Status::Running));
    assert_eq!(scene.bytes(), before);
    drop(living);
    assert_eq!(stage.seal("revived0"), Sealing::Sealed, "now it is dead");
}

#[test]
fn a_turn_that_opens_between_scan_and_seal_keeps_the_session_open_while_its_agent_lives_or_may_live() {
    let stage = Stage::new();
    let agent = idle();
    let scene = stage.lost("atwork00").turn_opened(Some(identity(&agent)));
    let unseen = stage.lost("unseen00").turn_opened(Some(elsewhere(identity(&agent))));
    for (scene, status) in [(&scene, Status::Unattended), (&unseen, Status::Unknown)] {
        let before = scene.bytes();
        assert_eq!(stage.seal(scene.id()), Sealing::NotOver(status));
        assert_eq!(scene.bytes(), before);
    }
    drop(agent);
    assert_eq!(stage.seal("atwork00"), Sealing::Sealed, "now its agent is dead");
}

#[test]
fn a_turn_whose_agent_is_dead_is_closed_once_and_its_session_goes_on() {
    let stage = Stage::new();
    let (living, agent) = (idle(), idle());
    let (process, owner) = (identity(&living), identity(&agent));
    let scene = Scene::new(&stage.home.path(), "goeson00").served(&process, &process, &process);
    let scene = scene.turn_opened(Some(owner));
    let before = scene.bytes();
    assert_eq!(stage.seal("goeson00"), Sealing::NotOver(Status::Running), "its agent lives");
    assert_eq!(scene.bytes(), before);
    drop(agent);
    assert_eq!(stage.seal("goeson00"), Sealing::TurnClosed);
    let closed = scene.bytes();
    assert_eq!(stage.seal("goeson00"), Sealing::NotOver(Status::Running));
    assert_eq!(scene.bytes(), closed);
    let found = stage.sessions().find("goeson00").unwrap();
    assert!(found.evidence.work.turn_closed && found.evidence.closing.sealed.is_none());
}

/// The same process, had it been identified in another pid namespace.
fn elsewhere(mut identity: Identity) -> Identity {
    identity.pid_ns.ino += 1;
    identity
}

#[test]
fn an_end_that_was_recorded_meanwhile_is_not_sealed_over() {
    let stage = Stage::new();
    let scene = stage.lost("ended000").ended(How::Exited { code: 3 });
    let in_slot = stage.lost("inslot00").ended_in_slot(How::Exited { code: 3 });
    for scene in [scene, in_slot] {
        let before = scene.bytes();
        assert_eq!(stage.seal(scene.id()), Sealing::WasClosed);
        assert_eq!(scene.bytes(), before);
    }
}

#[test]
fn who_is_closed_stays_closed_and_says_so() {
    let stage = Stage::new();
    let scene = stage.lost("lost0000");
    assert_eq!(stage.seal("lost0000"), Sealing::Sealed);
    let sealed = scene.bytes();
    assert_eq!(stage.seal("lost0000"), Sealing::WasClosed);
    assert_eq!(scene.bytes(), sealed);
    let found = stage.sessions().find("lost0000").unwrap();
    let told = found.evidence.closing.sealed.as_ref().unwrap();
    assert_eq!(told.body.status, Closing::Lost);
    assert_eq!(told.body.cause, Some(Cause::HelpersDied));
    let last = found.evidence.beginning.started.as_ref().unwrap().at;
    assert_eq!(told.body.last_seen, Some(last), "the last sign of life");
}

#[test]
fn one_sealer_at_a_time_is_enough() {
    let stage = Stage::new();
    let scene = stage.lost("busy0000").held(Holder::Sealer);
    assert_eq!(stage.seal("busy0000"), Sealing::Busy);
    drop(scene);
    assert_eq!(stage.seal("busy0000"), Sealing::Sealed);
}

// TRUTH 23
#[test]
fn of_two_sealers_at_once_exactly_one_closes_a_session_a_thousand_times() {
    const TIMES: usize = 1_000;
    let home = ScratchDir::in_memory();
    let gone = dead();
    let sessions = || Sessions::open(home.path()).expect("the home is ours");
    let scene = |n: usize| Scene::new(home.path(), &format!("s{n:07}")).served(&gone, &gone, &gone);
    let scenes: Vec<Scene> = (0..TIMES).map(scene).collect();
    let ids: Vec<SessionId> = scenes.iter().map(|scene| SessionId::parse(scene.id()).unwrap()).collect();
    let together = Barrier::new(2);
    let seal_all = || {
        let sessions = sessions();
        let seal = |id| {
            together.wait();
            sessions.seal(id).expect("it can be written")
        };
        ids.iter().map(seal).collect::<Vec<Sealing>>()
    };
    let (one, other) = std::thread::scope(|scope| {
        let sealers = (scope.spawn(seal_all), scope.spawn(seal_all));
        (sealers.0.join().expect("it ran"), sealers.1.join().expect("it ran"))
    });
    let bytes: Vec<Vec<u8>> = scenes.iter().map(Scene::bytes).collect();
    for (both, bytes) in one.iter().zip(&other).zip(&bytes) {
        let closed = [both.0, both.1].into_iter().filter(|sealing| **sealing == Sealing::Sealed).count();
        let seals = String::from_utf8_lossy(bytes).matches("\"fact\":\"sealed\"").count();
        assert_eq!((closed, seals), (1, 1), "{both:?}");
    }
    let met = one.iter().zip(&other).filter(|both| [both.0, both.1].contains(&&Sealing::Busy)).count();
    assert!(met > 0, "they were never at it at once");
    let again = sessions();
    assert!(ids.iter().all(|id| again.seal(id).ok() == Some(Sealing::WasClosed)));
    assert!(scenes.iter().zip(&bytes).all(|(scene, bytes)| scene.bytes() == *bytes), "the bytes changed");
}

#[test]
fn what_cannot_be_told_is_never_sealed() {
    let stage = Stage::new();
    let damaged = stage.lost("damaged0").bytes_added(b"\ngarbage\n");
    let before = damaged.bytes();
    assert_eq!(stage.seal("damaged0"), Sealing::NotOver(Status::Unknown));
    let locked = stage.lost("locked00").held(Holder::Host);
    assert_eq!(stage.seal("locked00"), Sealing::NotOver(Status::Exiting), "a held lock is life");
    assert_eq!(damaged.bytes(), before);
    drop(locked);
    let nobody = SessionId::parse("nobody00").unwrap();
    let failure = stage.sessions().seal(&nobody).unwrap_err();
    assert_eq!(failure.session.as_deref(), Some("nobody00"));
    assert_eq!(failure.code, Code::NoSuchSession);
}
