//! The one place that reads the time, and the one source of randomness.

use abide_core::moment::Moment;
use rustix::time::{ClockId, Timespec, clock_gettime};

/// This instant on both clocks.
#[must_use]
pub fn now() -> Moment {
    let wall = clock_gettime(ClockId::Realtime);
    Moment {
        wall: wall.tv_sec.saturating_mul(1000).saturating_add(wall.tv_nsec / 1_000_000),
        boot: u64::try_from(millis(clock_gettime(ClockId::Boottime))).unwrap_or(0),
    }
}

/// Microseconds since boot, sleep included: the recording's time.
#[must_use]
pub fn boot_micros() -> u64 {
    let now = clock_gettime(ClockId::Boottime);
    u64::try_from(now.tv_sec * 1_000_000 + now.tv_nsec / 1000).unwrap_or(0)
}

/// The clock ticks since boot that `/proc` counts births in, as this time namespace sees them.
pub(crate) fn boot_ticks() -> Option<u64> {
    let per_second = u128::from(rustix::param::clock_ticks_per_second());
    let now = clock_gettime(ClockId::Boottime);
    let nanos = u128::try_from(now.tv_sec).ok()? * 1_000_000_000 + u128::try_from(now.tv_nsec).ok()?;
    u64::try_from(nanos * per_second / 1_000_000_000).ok()
}

/// Random bytes from the kernel, for names.
///
/// # Errors
/// If the kernel has none to give.
pub fn random_bytes<const N: usize>() -> std::io::Result<[u8; N]> {
    let mut bytes = [0; N];
    let got = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    if got == N { Ok(bytes) } else { Err(std::io::ErrorKind::UnexpectedEof.into()) }
}

const fn millis(time: Timespec) -> i64 {
    time.tv_sec * 1000 + time.tv_nsec / 1_000_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boot_time_never_runs_backwards_and_ticks_follow_it() {
        let (first, ticks, second) = (now(), boot_ticks().unwrap(), now());
        assert!(first.boot <= second.boot);
        let per_second = rustix::param::clock_ticks_per_second();
        assert!(
            ticks >= first.boot * per_second / 1000 && ticks <= (second.boot + 1) * per_second / 1000 + 1
        );
    }

    #[test]
    fn random_bytes_are_not_all_the_same() {
        assert_ne!(random_bytes::<32>().unwrap(), random_bytes::<32>().unwrap());
    }
}
