//! Screens as pictures and films: `Painter` makes pixels of a `View`, `png` a file of them; a film is a sequence of
//! views, each with its time. Pure, but for reading font files that it is pointed to; used by the binary alone, so
//! that nothing of it weighs on guard and host.

mod canvas;
mod film;
mod font;
mod gif;
mod glyph;
mod paint;
mod palette;
mod png;
mod shape;
mod spot;
mod svg;
mod video;
mod window;

pub use self::canvas::{Area, Canvas};
pub use self::film::{Film, Shutter};
pub use self::gif::GifFilm;
pub use self::paint::{Change, Design, Painter};
pub use self::png::png;
pub use self::svg::{Drawing, SvgFilm};
pub use self::video::VideoFilm;
