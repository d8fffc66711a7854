//! The pure core: what is true of a session, decided from evidence and from what the kernel said.
//! Owns the vocabulary (see GLOSSARY.md). Reads no file, no clock, no process.

pub mod evidence;
pub mod failure;
pub mod guard;
pub mod id;
pub mod identity;
pub mod instant;
pub mod keyframe;
pub mod keys;
pub mod moment;
pub mod pane;
pub mod passage;
pub mod place;
pub mod plain;
pub mod recording;
pub mod screen;
pub mod search;
pub mod status;
pub mod verdict;
pub mod wire;
