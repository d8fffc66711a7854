//! Which session is meant.

use abide_core::evidence::{Adopted, Body, How, Role};
use abide_core::failure::Code;
use abide_core::moment::Moment;
use abide_engine::Sessions;
use abide_testkit::ScratchHome;
use abide_testkit::scene::{Scene, dead, identity, idle, launch};

/// A home, and when its next session is launched.
struct Stage {
    home: ScratchHome,
    next: Moment,
}

impl Stage {
    fn new() -> Self {
        Self { home: ScratchHome::new(), next: Moment { wall: 1_700_000_000_000, boot: 1 } }
    }

    /// A session that is over, launched later than those before it.
    fn add(&mut self, id: &str, name: Option<&str>) -> Scene {
        self.next = Moment { wall: self.next.wall + 1000, boot: self.next.boot + 1000 };
        let gone = dead();
        let mut launched = launch(id, &gone);
        launched.name = name.map(str::to_owned);
        let scene = Scene::new(&self.home.path(), id).at(self.next);
        scene.guarded(&gone).launched_as(launched).started(&gone).ended(How::Exited { code: 0 })
    }

    /// The ID of the session that is found, or the code of the failure.
    fn find(&self, wanted: &str) -> Result<String, Code> {
        let sessions = Sessions::open(&self.home.path()).expect("the home is ours");
        sessions.find(wanted).map(|session| session.id.to_string()).map_err(|failure| failure.code)
    }
}

#[test]
fn an_id_a_name_or_a_unique_prefix_of_either_is_enough() {
    let mut stage = Stage::new();
    let _scenes = [stage.add("k3v9q2zr", Some("nightly")), stage.add("abcd1234", Some("build"))];
    for wanted in ["k3v9q2zr", "k3v", "k", "nightly", "night", "n"] {
        assert_eq!(stage.find(wanted).as_deref(), Ok("k3v9q2zr"), "{wanted}");
    }
    for wanted in ["", "x", "K3V", "k3v9q2zrr", "nightlyy", "../k3v9q2zr", "@lasts", "*"] {
        assert_eq!(stage.find(wanted), Err(Code::NoSuchSession), "{wanted:?}");
    }
}

#[test]
fn an_ambiguous_prefix_lists_the_candidates() {
    let mut stage = Stage::new();
    let _scenes: Vec<Scene> = (0..12).map(|n| stage.add(&format!("abc{n:05}"), Some("nightly"))).collect();
    let sessions = Sessions::open(&stage.home.path()).unwrap();
    let failure = sessions.find("abc").unwrap_err();
    assert_eq!(failure.code, Code::Ambiguous);
    assert!(failure.message.starts_with("`abc` can mean 12 sessions: abc00011 (nightly), "), "{failure}");
    assert!(failure.message.ends_with(" and 2 more"), "{failure}");
    assert_eq!(stage.find("abc0001"), Err(Code::Ambiguous));
    assert_eq!(stage.find("abc00010").as_deref(), Ok("abc00010"));
}

#[test]
fn the_last_one_is_the_latest_launched() {
    let mut stage = Stage::new();
    assert_eq!(stage.find("@last"), Err(Code::NoSuchSession));
    let _scenes = [stage.add("zzzz0000", None), stage.add("aaaa0000", None), stage.add("mmmm0000", None)];
    assert_eq!(stage.find("@last").as_deref(), Ok("mmmm0000"));
    stage.next.wall -= 86_400_000;
    let _after_the_clock_was_set_back = stage.add("bbbb0000", None);
    assert_eq!(stage.find("@last").as_deref(), Ok("bbbb0000"));
    let living = idle();
    let at = Moment { wall: stage.next.wall + 1000, boot: stage.next.boot + 1000 };
    let adopted = Adopted {
        id: "adopted0".to_owned(),
        name: None,
        program: identity(&living),
        argv: vec!["claude".to_owned()],
        cwd: "/".to_owned(),
        agent: None,
    };
    let scene = Scene::new(&stage.home.path(), "adopted0").at(at);
    let _adopted = scene.tell(Role::Client, living.pid(), Body::Adopted(Box::new(adopted)));
    assert_eq!(stage.find("@last").as_deref(), Ok("adopted0"));
}

#[test]
fn a_name_means_the_active_session_first_and_then_the_latest() {
    let mut stage = Stage::new();
    let _old = [stage.add("older000", Some("nightly")), stage.add("later000", Some("nightly"))];
    assert_eq!(stage.find("nightly").as_deref(), Ok("later000"));
    let living = idle();
    let process = identity(&living);
    let mut launched = launch("active00", &process);
    launched.name = Some("nightly".into());
    let scene = Scene::new(&stage.home.path(), "active00").at(Moment { wall: 1, boot: 1 });
    let _active = scene.guarded(&process).launched_as(launched).started(&process);
    assert_eq!(stage.find("nightly").as_deref(), Ok("active00"), "launched long before, and active");
}

#[test]
fn an_exact_name_outranks_a_prefix_and_an_exact_id_outranks_a_name() {
    let mut stage = Stage::new();
    let _scenes = [
        stage.add("k3v9q2zr", Some("abcd1234")),
        stage.add("abcd1234", Some("k3")),
        stage.add("k3000000", None),
    ];
    assert_eq!(stage.find("abcd1234").as_deref(), Ok("abcd1234"));
    assert_eq!(stage.find("k3").as_deref(), Ok("abcd1234"));
}

#[test]
fn what_has_not_the_form_of_an_id_is_no_session() {
    let mut stage = Stage::new();
    let _scene = stage.add("k3v9q2zr", None);
    for stray in [".draft", "UPPER000", "too-long-a-name", "short"] {
        std::fs::create_dir(stage.home.path().join("sessions").join(stray)).unwrap();
    }
    let sessions = Sessions::open(&stage.home.path()).unwrap();
    assert_eq!(sessions.list().unwrap().len(), 1);
}
