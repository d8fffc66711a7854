//! What a process has used until now: time on a processor, and memory.

use std::fs;

use abide_core::identity::Spent as Counted;

use super::Spent;

pub(super) fn spent(pid: u32) -> Option<Spent> {
    let counted = Counted::parse(&fs::read(format!("/proc/{pid}/stat")).ok()?)?;
    let ms = |ticks: u64| ticks.saturating_mul(1000) / rustix::param::clock_ticks_per_second();
    Some(Spent {
        cpu_ms: ms(counted.ticks),
        cpu_ms_of_dead: ms(counted.ticks_of_dead),
        memory: counted.pages.saturating_mul(rustix::param::page_size() as u64),
    })
}
