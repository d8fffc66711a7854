//! The kernel as abide sees it: processes, files, locks, clocks. Small and dull; the only unsafe code.
//! Answers questions and carries out acts; holds no policy.

pub mod clock;
pub mod disk;
pub mod lock;
pub mod probe;
