//! Terminals that show a session and type into it, and the screen that they and others are shown.

mod attached;
mod broken_off;
mod driven;
mod driving;
mod executing;
mod hostile;
mod screens;
mod searching;
mod signals;
mod typing;
