//! What the kernel says when it is asked: by real processes, locks, files and cgroups.

mod cgroups;
mod disk;
mod helpers;
mod life;
mod locks;
mod places;
mod reuse;
