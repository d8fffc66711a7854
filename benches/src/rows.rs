//! One file a row.

pub mod attach;
pub mod cold;
pub mod echo;
pub mod history;
pub mod list;
pub mod memory;
pub mod output;
pub mod past;
pub mod screenshot;
pub mod snapshot;
pub mod soak;
pub mod start;
pub mod thousand;
pub mod wait;
