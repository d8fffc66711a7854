//! What people and programs see: twins of the domain that can be printed, and the text made of them.
//! Knows nothing of files or processes.

pub(crate) mod doctor;
pub(crate) mod fact;
pub(crate) mod inspect;
pub(crate) mod list;
pub(crate) mod meter;
pub(crate) mod page;
pub(crate) mod recorded;
pub(crate) mod safe;
pub(crate) mod search;
pub(crate) mod secret;
pub(crate) mod session;
pub(crate) mod shell;
pub(crate) mod table;
pub(crate) mod template;
pub(crate) mod time;
pub(crate) mod unified;
pub(crate) mod wait;
pub(crate) mod why;
pub(crate) mod word;
pub(crate) mod wrap;
