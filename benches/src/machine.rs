//! The machine that figures are of, as far as they depend on it.

use std::fs;
use std::io;
use std::process::Command;

use serde::{Deserialize, Serialize};

use crate::place::Place;
use crate::turns::told;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Machine {
    pub date: String,
    pub processors: usize,
    pub model: String,
    pub kernel: String,
    pub system: String,
    pub memory_gib: u64,
    /// The file system of the scratch directory.
    pub files: String,
    /// What waited for a processor when the run began.
    pub load: String,
    pub abide: String,
    pub peers: Vec<String>,
}

impl Machine {
    pub fn here(place: &Place) -> io::Result<Self> {
        let first = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let value = |text: &str, key: &str| {
            let line = text.lines().find(|line| line.starts_with(key));
            let value = line.and_then(|line| line.split_once([':', '=']));
            value.map_or("unknown", |(_, value)| value.trim().trim_matches('"')).to_owned()
        };
        let kib = value(&first("/proc/meminfo"), "MemTotal");
        let kib: u64 = kib.split_ascii_whitespace().next().and_then(|kib| kib.parse().ok()).unwrap_or(0);
        let at = std::env::temp_dir();
        let files = told(Command::new("findmnt").args(["-n", "-o", "FSTYPE", "-T"]).arg(at))?;
        Ok(Self {
            date: told(Command::new("date").args(["-u", "+%Y-%m-%d %H:%M UTC"]))?.trim().to_owned(),
            processors: std::thread::available_parallelism()?.get(),
            model: value(&first("/proc/cpuinfo"), "model name"),
            kernel: first("/proc/sys/kernel/osrelease").trim().split('-').next().unwrap_or("?").to_owned(),
            system: value(&first("/etc/os-release"), "PRETTY_NAME"),
            memory_gib: (kib + (1 << 19)) >> 20,
            files: files.trim().to_owned(),
            load: first("/proc/loadavg").split_ascii_whitespace().next().unwrap_or("?").to_owned(),
            abide: told(Command::new(&place.abide).arg("version"))?.lines().next().unwrap_or("?").to_owned(),
            peers: place.peers.versions(),
        })
    }

    pub fn says(&self) -> String {
        format!(
            "{} processors ({}), {} GiB, Linux {}, {}, scratch files on {}; load {} at the beginning; {}",
            self.processors,
            self.model,
            self.memory_gib,
            self.kernel,
            self.system,
            self.files,
            self.load,
            self.abide
        )
    }
}
