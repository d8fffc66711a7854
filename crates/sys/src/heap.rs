//! What this process has of memory and no longer needs.

/// Gives pages back that nothing lives in any more. A process that waits for hours would keep what its busiest moment took.
pub fn give_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        // SAFETY: it takes no pointer, and may be called whenever `malloc` may.
        unsafe { libc::malloc_trim(0) };
    }
}
