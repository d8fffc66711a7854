//! The view: what only a host knows of its session, in a small file that is replaced as a whole. Whoever reads it
//! believes it only of the last host, and the title only while that lives.

use abide_core::evidence::Size;
use abide_core::screen::Screen;
use serde::{Deserialize, Serialize};

use crate::store::SessionDir;

/// The shortest time between two views, in ms: titles may change with every turn of a spinner.
const APART_MS: u64 = 100;
/// A longer title is cut.
const TITLE: usize = 1024;

/// What a host publishes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct View {
    /// Which host says so.
    pub generation: u32,
    pub title: String,
    pub size: Size,
}

impl View {
    fn of(generation: u32, screen: &Screen) -> Self {
        let title = screen.title();
        let title = title[..title.floor_char_boundary(TITLE)].to_owned();
        Self { generation, title, size: screen.size() }
    }
}

/// Publishes views as they change.
#[derive(Debug)]
pub(super) struct Publisher {
    generation: u32,
    published: Option<View>,
    /// Not before this, in ms of boot time.
    next_at: u64,
    waiting: bool,
}

impl Publisher {
    pub(super) const fn new(generation: u32) -> Self {
        Self { generation, published: None, next_at: 0, waiting: false }
    }

    /// When to come back because something changed too soon after the last time.
    pub(super) fn wake_at(&self) -> Option<u64> {
        self.waiting.then_some(self.next_at)
    }

    /// Publishes what is new, if it is time to.
    pub(super) fn publish(&mut self, now: u64, screen: &Screen, dir: &SessionDir) {
        let known = self.published.as_ref();
        if known.is_some_and(|view| view.size == screen.size() && is_title(&view.title, screen.title())) {
            self.waiting = false;
            return;
        }
        self.waiting = now < self.next_at;
        if !self.waiting {
            self.next_at = now.saturating_add(APART_MS);
            self.put(screen, dir);
        }
    }

    /// Publishes what was not yet, before nobody does any more.
    pub(super) fn finish(&mut self, screen: &Screen, dir: &SessionDir) {
        if self.waiting {
            self.put(screen, dir);
        }
    }

    fn put(&mut self, screen: &Screen, dir: &SessionDir) {
        let view = View::of(self.generation, screen);
        // Where there is no room for it, nobody can be told; the next change tries again.
        if dir.replace_view(&view).is_ok() {
            self.published = Some(view);
        }
    }
}

/// Whether this is the title, or the beginning of it that was kept.
fn is_title(kept: &str, title: &str) -> bool {
    kept == title || (title.len() > TITLE && title[..title.floor_char_boundary(TITLE)] == *kept)
}
