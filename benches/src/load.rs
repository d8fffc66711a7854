//! Load: what keeps every processor and the disk busy while figures are taken.

use std::io;
use std::process::{Child, Command, Stdio};

use abide_testkit::ScratchDir;

const SPIN: &str = "while :; do :; done";
/// Writes and flushes without pause, the same room again and again.
const WRITE: &str = "while :; do dd if=/dev/zero of=\"$0\" bs=1M count=16 conv=fsync 2>/dev/null; done";

pub struct Load {
    processes: Vec<Child>,
    dir: ScratchDir,
}

impl Load {
    /// As many that only calculate as there are processors, and one that writes.
    pub fn start() -> io::Result<Self> {
        let dir = ScratchDir::new();
        let mut load = Self { processes: Vec::new(), dir };
        for _ in 0..std::thread::available_parallelism()?.get() {
            load.add(Command::new("sh").args(["-c", SPIN]))?;
        }
        let file = load.dir.join("written");
        load.add(Command::new("sh").args(["-c", WRITE]).arg(file))?;
        Ok(load)
    }

    fn add(&mut self, command: &mut Command) -> io::Result<()> {
        self.processes.push(command.stdin(Stdio::null()).stdout(Stdio::null()).spawn()?);
        Ok(())
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        for process in &mut self.processes {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}
