//! Fonts: which face has a character. First the ones that are shipped, so that a picture is the same on every machine;
//! what they lack is looked for on the system, once for each character.

mod extract;
mod face;
mod shipped;
mod system;

use std::cell::OnceCell;
use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::rc::Rc;

pub(crate) use self::face::Face;
use self::system::System;

/// How a face should look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct Slant {
    pub(crate) bold: bool,
    pub(crate) italic: bool,
}

/// A face that was chosen, and what it lacks of the look that was asked for.
#[derive(Debug, Clone)]
pub(crate) struct Choice {
    pub(crate) face: Rc<Face>,
    pub(crate) lacks: Slant,
}

/// All faces.
#[derive(Debug)]
pub(crate) struct Fonts {
    shipped: [OnceCell<Option<Rc<Face>>>; shipped::COUNT],
    system: System,
    /// What was looked for on the system, found or not.
    found: HashMap<char, Option<Rc<Face>>>,
}

impl Fonts {
    /// The shipped faces, and those in the files below these directories.
    pub(crate) fn new(directories: Vec<PathBuf>) -> Self {
        Self { shipped: Default::default(), system: System::new(directories), found: HashMap::new() }
    }

    /// The face that the size of a cell is taken from.
    pub(crate) fn first(&self) -> Option<Rc<Face>> {
        self.shipped(0)
    }

    /// The best face for a character with what combines with it.
    pub(crate) fn choose(&mut self, ch: char, marks: &str, emoji: bool, slant: Slant) -> Option<Choice> {
        let all = |face: &Face| {
            face.has(ch) && marks.chars().filter(|mark| shows(*mark)).all(|mark| face.has(mark))
        };
        let text = shipped::text(slant);
        let order = [shipped::EMOJI].into_iter().filter(|_| emoji).chain([text]).chain(shipped::OTHERS);
        let order: Vec<usize> = order.collect();
        let find = |fits: &dyn Fn(&Face) -> bool| {
            let faces = order.iter().filter_map(|index| Some((*index, self.shipped(*index)?)));
            faces.into_iter().find(|(_, face)| fits(face))
        };
        if let Some((index, face)) = find(&all).or_else(|| find(&|face: &Face| face.has(ch))) {
            let lacks = if index == text || index == shipped::EMOJI { Slant::default() } else { slant };
            return Some(Choice { face, lacks });
        }
        let system = &mut self.system;
        let face = self.found.entry(ch).or_insert_with(|| system.find(ch, emoji)).clone()?;
        Some(Choice { face, lacks: slant })
    }

    /// The number of the shipped face, emoji aside, that would draw a cluster: one that a file can carry.
    pub(crate) fn carried(&self, ch: char, marks: &str, slant: Slant) -> Option<usize> {
        let all = |face: &Face| face.has(ch) && marks.chars().all(|mark| face.has(mark));
        let order = [shipped::text(slant)].into_iter().chain(shipped::OTHERS);
        let mut order = order.filter(|index| *index != shipped::EMOJI);
        order.find(|index| self.shipped(*index).is_some_and(|face| all(&face)))
    }

    /// How wide a character of a shipped face is in letters of this size.
    pub(crate) fn advance(&self, index: usize, ch: char, size: f32) -> Option<f32> {
        self.shipped(index).map(|face| face.advance(face.glyph(ch), size))
    }

    /// The shapes of some characters of a shipped face, as a web font.
    pub(crate) fn web_font(&self, index: usize, wanted: &BTreeSet<char>) -> Option<Vec<u8>> {
        extract::extract(&*self.shipped(index)?, wanted)
    }

    fn shipped(&self, index: usize) -> Option<Rc<Face>> {
        self.shipped[index].get_or_init(|| shipped::open(index).map(Rc::new)).clone()
    }
}

/// Whether a mark has a shape of its own: not those that only choose among shapes, or join.
fn shows(mark: char) -> bool {
    !matches!(mark, '\u{200B}'..='\u{200F}' | '\u{2060}'..='\u{206F}' | '\u{FE00}'..='\u{FE0F}' | '\u{E0000}'..='\u{E0FFF}')
}
