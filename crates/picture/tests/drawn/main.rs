//! What is drawn, told as facts about pixels, tags and boxes: what must hold however letters are shaped.

#![cfg(test)]

mod common;
mod films;
mod fonts;
mod pixels;
mod vectors;
mod videos;
