//! What abide's tests share, each helper once; never shipped. Read from the top: where a test lives (`scratch`, `cgroup`),
//! what it starts (`running`, `terminal`, `agent`, `abide`, `tools`) and types (`lines`), who knows the truth (`observer`), and the faults it injects
//! (`namespace`, `drill`, `reuse`, `trace`); `bench` has the figures. Nothing here sleeps: a deadline is a failure message, never a pace.

pub mod abide;
pub mod agent;
pub mod bench;
mod bins;
pub mod cgroup;
pub mod deadline;
pub mod drill;
pub mod lines;
pub mod model;
pub mod namespace;
pub mod observer;
pub mod real;
pub mod reuse;
pub mod running;
pub mod scene;
pub mod scratch;
pub mod tape;
pub mod terminal;
pub mod trace;

pub use abide::Abide;
pub use bins::{bin, tools};
pub use cgroup::ScratchCgroup;
pub use observer::{Ending, Observer};
pub use running::{Ran, Running};
pub use scratch::{ScratchDir, ScratchHome};
pub use tape::Tape;
pub use terminal::Terminal;
