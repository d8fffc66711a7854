//! SVG: well-formed, complete in itself, with the text as text.

use std::time::Duration;

use abide_picture::{Design, Drawing, Film, SvgFilm};

use crate::common::{design, screen};
use crate::films::{Shared, ms, session};

fn svg(text: &str) -> String {
    let screen = screen(20, 4, text);
    Drawing::new(design(), screen.size()).still(&screen.view())
}

/// The names of all elements, with those of their attributes, and all text outside of styles; panics if tags do not match.
fn parse(file: &str) -> (Vec<String>, String) {
    let (mut open, mut names, mut text) = (Vec::new(), Vec::new(), String::new());
    let mut rest = file;
    while let Some(start) = rest.find('<') {
        if open.last().is_some_and(|name: &String| name == "text") {
            text.push_str(&rest[..start]);
        }
        let end = start + rest[start..].find('>').expect("a tag ends");
        let tag = &rest[start + 1..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name), "tags match");
            continue;
        }
        let name = tag.split([' ', '/']).next().unwrap().to_owned();
        names.push(tag.trim_end_matches('/').to_owned());
        if !tag.ends_with('/') {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "all tags are closed");
    (names, text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&"))
}

#[test]
fn text_is_text_in_the_order_in_which_it_is_read() {
    let (tags, text) = parse(&svg("a <b> & \"c\"\r\n\x1b[1mbold\x1b[0m ─┼─ x"));
    assert_eq!(text, "a <b> & \"c\"bold─┼─x");
    assert!(tags.iter().any(|tag| tag.starts_with("text") && tag.contains("class=\"b\"")));
}

#[test]
fn a_file_needs_no_other() {
    let file = svg("letters and ✻ symbols ⏺");
    let outside = file.replace("http://www.w3.org/2000/svg", "");
    assert!(!outside.contains("http") && !outside.contains("file:") && !outside.contains("@import"));
    assert_eq!(outside.matches("url(data:font/woff;base64,").count(), outside.matches("url(").count());
    assert!(outside.contains("@font-face"));
    // Only the letters that are used are carried.
    assert!(svg("a").len() < svg("abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKL").len());
}

#[test]
fn controls_cannot_break_out_of_a_file() {
    let window = Design { window: Some("<script>\u{1}\"</text>".to_owned()), ..design() };
    let screen = screen(20, 4, "x");
    let file = Drawing::new(window, screen.size()).still(&screen.view());
    assert!(!file.contains("<script>") && !file.contains('\u{1}'));
    parse(&file);
}

#[test]
fn lines_of_a_row_are_drawn_in_one_piece() {
    let (tags, _) = parse(&svg("────────────"));
    let rects = tags.iter().filter(|tag| tag.starts_with("rect")).count();
    assert_eq!(rects, 2, "the background and one line: {tags:?}");
}

#[test]
fn a_film_draws_each_row_once_and_turns_it_at_its_time() {
    let out = Shared::default();
    let shown = session();
    let mut film = Box::new(SvgFilm::new(out.clone(), design(), shown[0].1.size()));
    for (at, screen) in &shown {
        film.show(*at, &screen.view()).unwrap();
    }
    film.finish(ms(2000)).unwrap();
    let file = String::from_utf8(out.bytes()).unwrap();
    let (tags, _) = parse(&file);
    let rows: Vec<&String> = tags.iter().filter(|tag| tag.starts_with("g id=")).collect();
    let mut distinct: Vec<String> = shown
        .iter()
        .flat_map(|(_, screen)| (0..8).map(|row| screen.view().row_text(row)).collect::<Vec<_>>())
        .collect();
    distinct.sort();
    distinct.dedup();
    assert_eq!(rows.len(), distinct.len());
    // Each turn has a time; the first is the beginning, and none is behind the end.
    for tag in tags.iter().filter(|tag| tag.starts_with("animateTransform")) {
        let list = |name: &str| -> Vec<String> {
            let value = tag.split(&format!("{name}=\"")).nth(1).unwrap().split('"').next().unwrap();
            value.split(';').map(str::to_owned).collect()
        };
        let times: Vec<f64> = list("keyTimes").iter().map(|time| time.parse().unwrap()).collect();
        assert_eq!(times.len(), list("values").len());
        assert!(times[0] == 0.0 && times.is_sorted() && times.iter().all(|time| *time < 1.0), "{times:?}");
        assert!(tag.contains("dur=\"2.000s\""));
    }
}

#[test]
fn a_film_without_a_change_is_a_still_picture() {
    let out = Shared::default();
    let (at, screen) = session().remove(0);
    let mut film = Box::new(SvgFilm::new(out.clone(), design(), screen.size()));
    film.show(at, &screen.view()).unwrap();
    film.show(at + Duration::from_secs(1), &screen.view()).unwrap();
    film.finish(ms(3000)).unwrap();
    assert!(!String::from_utf8(out.bytes()).unwrap().contains("animate"));
}
