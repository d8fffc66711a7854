//! Films: GIF files that decode to what was painted, at the right times; the shutter.

use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;
use std::time::Duration;

use abide_core::screen::Screen;
use abide_picture::{Canvas, Design, Film, GifFilm, Shutter};

use crate::common::{design, painted, screen};

/// A place to write to that can be looked at when the film is done.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shared(Rc<RefCell<Vec<u8>>>);

impl Shared {
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.0.borrow().clone()
    }
}

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// As many shades as a GIF has.
const SHADES: u8 = 7;

pub(crate) const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Screens of a small session: typing, colours, scrolling, clearing.
pub(crate) fn session() -> Vec<(Duration, Screen)> {
    let mut now = screen(40, 8, "$ ");
    let mut shown = vec![(ms(0), now.clone())];
    let texts = [
        "m",
        "a",
        "k",
        "e\r\n",
        "\x1b[32;1mCompiling\x1b[0m one\r\n",
        "\x1b[31merror\x1b[0m: \x1b[4mno\x1b[0m\r\n",
    ];
    let more = ["line\r\n".repeat(3), "other 😀 line\r\n".repeat(5), "\x1b[2J\x1b[Hdone".to_owned()];
    for (index, text) in texts.iter().map(|text| (*text).to_owned()).chain(more).enumerate() {
        let _ = now.feed(text.as_bytes());
        shown.push((ms(100 * (index as u64 + 1)), now.clone()));
    }
    shown
}

/// The pictures of a GIF file, each with the hundredths of a second that it stays.
fn pictures(file: &[u8]) -> Vec<(u16, Vec<Vec<[u8; 3]>>)> {
    let mut options = gif::DecodeOptions::new();
    options.set_color_output(gif::ColorOutput::RGBA);
    let mut decoder = options.read_info(file).unwrap();
    let (width, height) = (usize::from(decoder.width()), usize::from(decoder.height()));
    let mut picture = vec![vec![[0; 3]; width]; height];
    let mut found = Vec::new();
    while let Some(frame) = decoder.read_next_frame().unwrap() {
        let wide = usize::from(frame.width);
        for (index, pixel) in frame.buffer.chunks_exact(4).enumerate() {
            if pixel[3] != 0 {
                let (x, y) = (usize::from(frame.left) + index % wide, usize::from(frame.top) + index / wide);
                picture[y][x] = [pixel[0], pixel[1], pixel[2]];
            }
        }
        found.push((frame.delay, picture.clone()));
    }
    found
}

fn lines(canvas: &Canvas) -> Vec<Vec<[u8; 3]>> {
    (0..canvas.height()).map(|y| (0..canvas.width()).map(|x| canvas.rgb(x, y)).collect()).collect()
}

fn gif_of(shown: &[(Duration, Screen)], until: Duration) -> Vec<u8> {
    let out = Shared::default();
    let mut film = Box::new(GifFilm::new(out.clone(), design(), shown[0].1.size()).unwrap());
    for (at, screen) in shown {
        film.show(*at, &screen.view()).unwrap();
    }
    film.finish(until).unwrap();
    out.bytes()
}

#[test]
fn a_gif_decodes_to_what_was_painted_for_as_long_as_it_was_shown() {
    let shown = session();
    let pictures = pictures(&gif_of(&shown, ms(1500)));
    assert_eq!(pictures.len(), shown.len());
    for (index, ((delay, picture), (at, screen))) in pictures.iter().zip(&shown).enumerate() {
        let until = shown.get(index + 1).map_or(ms(1500), |(next, _)| *next);
        assert_eq!(u128::from(*delay) * 10, (until - *at).as_millis(), "picture {index}");
        let expected = painted(Design { shades: SHADES, ..design() }, screen);
        assert_eq!(*picture, lines(&expected), "picture {index}");
    }
}

#[test]
fn a_gif_of_a_quiet_session_is_short() {
    let first = gif_of(&session()[..1], ms(100)).len();
    let mut now = session()[0].1.clone();
    let mut shown = vec![(ms(0), now.clone())];
    for index in 1..100 {
        let _ = now.feed(["|", "/", "-", "\\"][index % 4].as_bytes());
        let _ = now.feed(b"\x08");
        shown.push((ms(100 * index as u64), now.clone()));
    }
    let all = gif_of(&shown, ms(10_000)).len();
    assert!(all < first + 100 * 250, "{first} bytes for one picture, {all} for a hundred");
}

#[test]
fn more_colours_than_a_gif_has_become_similar_ones() {
    let many: String = (0..600)
        .map(|step: u32| format!("\x1b[48;2;{};{};{}m ", step % 256, step / 3, 255 - step / 4))
        .collect();
    let screen = screen(100, 6, &many);
    let picture = pictures(&gif_of(&[(ms(0), screen.clone())], ms(100))).remove(0).1;
    let exact = lines(&painted(Design { shades: SHADES, ..design() }, &screen));
    let far = |a: &[u8; 3], b: &[u8; 3]| (0..3).map(|channel| a[channel].abs_diff(b[channel])).max().unwrap();
    let worst = picture.iter().flatten().zip(exact.iter().flatten()).map(|(a, b)| far(a, b)).max().unwrap();
    assert!(worst <= 16, "a colour is off by {worst}");
}

#[test]
fn pictures_that_would_last_too_short_become_one() {
    let shown: Vec<_> =
        session().into_iter().enumerate().map(|(index, (_, screen))| (ms(index as u64), screen)).collect();
    let pictures = pictures(&gif_of(&shown, ms(500)));
    assert_eq!(pictures.len(), 1);
    let last = painted(Design { shades: SHADES, ..design() }, &shown[shown.len() - 1].1);
    assert_eq!(pictures[0].1, lines(&last));
}

#[test]
fn a_pause_longer_than_a_gif_can_tell_is_told_in_parts() {
    let shown = &session()[..2];
    let pictures = pictures(&gif_of(shown, ms(1_400_000)));
    let whole: u64 = pictures.iter().map(|(delay, _)| u64::from(*delay)).sum();
    assert_eq!(whole, 140_000);
}

#[test]
fn a_shutter_opens_once_a_step_for_the_last_screen_of_it() {
    let shutter = Shutter::new(10);
    let changes = [5, 20, 90, 130, 135, 450, 451].map(ms);
    let shown = changes.iter().enumerate().filter_map(|(index, at)| {
        shutter.opens(*at, changes.get(index + 1).copied()).map(|from| (index, from))
    });
    assert_eq!(shown.collect::<Vec<_>>(), [(2, ms(0)), (4, ms(100)), (6, ms(400))]);
}
