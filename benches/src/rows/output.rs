//! How fast a program may write, with all that it shows on record and on a screen.

use std::fs::File;
use std::io::{self, Read};

use abide_sys::clock;
use abide_testkit::ScratchDir;
use abide_testkit::bench::Bench;
use abide_testkit::deadline::until;
use abide_testkit::running::cpu_ticks;

use crate::bare::Bare;
use crate::figure::{Bar, Figure, Line, Unit};
use crate::gate::{Gate, gate};
use crate::peer::{Peer, Screen, Tmux};
use crate::place::Place;
use crate::row::Row;
use crate::text;

pub const ROW: Row = Row {
    name: "output",
    work: "output with recording and screen",
    method: "a program that stands ready is let go, `cat`s a file to its terminal and says that it is done; the clock runs in \
             between. In turns, the best of five: a bare reader of the terminal (alone, and writing what it reads to a file: the \
             floor), abide, tmux with `pipe-pane`, screen with its log, `script` and `asciinema rec` (which have no screen). \
             Processor time is that of the guard, and of the host until its screen has caught up",
    take,
};

const TURNS: usize = 5;
const BYTES: usize = 50 << 20;

fn take(place: &Place) -> io::Result<Vec<Line>> {
    let mut lines = Vec::new();
    for (name, share, line) in
        [("plain", 0.95, text::plain as fn(u64) -> String), ("colourful", 0.85, text::colourful)]
    {
        let dir = ScratchDir::new();
        let file = dir.join("text");
        let bytes = text::write(&file, place.of(BYTES) as u64, line)?;
        let mut work = Work { dir, bytes, number: 0, best: Vec::new(), used: [0; 2] };
        let bench = place.bench();
        for turn in 0..TURNS {
            // Whoever is first pays for what the turn before left behind: everyone in turn.
            for at in 0..WAYS.len() {
                WAYS[(turn + at) % WAYS.len()](&mut work, place, &bench)?;
            }
        }
        lines.extend(work.lines(name, share));
    }
    Ok(lines)
}

type Way = fn(&mut Work, &Place, &Bench) -> io::Result<()>;

/// Who lets a program write.
const WAYS: [Way; 7] = [
    |work, _, _| work.bare("bare", None, shell),
    |work, _, _| work.recording(),
    |work, _, bench| work.ours(bench),
    |work, place, _| if place.peers.path("tmux").is_some() { work.tmux(place) } else { Ok(()) },
    |work, place, _| Screen::new(place).map_or(Ok(()), |screen| work.screen(&screen)),
    |work, place, _| work.recorder(place, "script", &["-q", "-e"]),
    |work, place, _| work.recorder(place, "asciinema", &["rec", "-q", "--overwrite"]),
];

fn shell(script: String) -> Vec<String> {
    vec!["sh".into(), "-c".into(), script]
}

struct Work {
    /// With the text that is written, and the gates.
    dir: ScratchDir,
    bytes: u64,
    number: usize,
    /// In MB/s.
    best: Vec<(&'static str, f64)>,
    /// What guard and host have used, in ticks.
    used: [u64; 2],
}

/// A program that stands ready, writes, says so, and stands again.
struct Writer {
    script: String,
    go: Gate,
    done: Gate,
}

impl Work {
    fn recording(&mut self) -> io::Result<()> {
        let record = File::create(self.dir.join("record"))?;
        self.bare("bare, recording", Some(record), shell)
    }

    /// A program that records another one, with these words before its own.
    fn recorder(&mut self, place: &Place, name: &'static str, flags: &[&str]) -> io::Result<()> {
        let Some(exe) = place.peers.path(name).map(|exe| exe.display().to_string()) else { return Ok(()) };
        let log = self.dir.join("typescript").display().to_string();
        let flags = flags.iter().map(|&flag| flag.to_owned());
        let words = |script| [exe].into_iter().chain(flags).chain(["-c".into(), script, log]).collect();
        self.bare(name, None, words)
    }

    fn writer(&mut self) -> io::Result<Writer> {
        self.number += 1;
        let [go, done] = ["go", "done"].map(|name| gate(self.dir.path(), &format!("{name}{}", self.number)));
        let (go, done) = (go?, done?);
        let text = self.dir.join("text");
        let script =
            format!("cat {0}; cat {1}; echo done >{2}; cat {0}", go.path(), text.display(), done.path());
        Ok(Writer { script, go, done })
    }

    /// Lets the program write, and notes how fast it was.
    fn run(&mut self, name: &'static str, writer: &Writer) -> io::Result<()> {
        let go = writer.go.held();
        let began = clock::boot_micros();
        drop(go);
        File::open(writer.done.path())?.read_to_string(&mut String::new())?;
        let speed = self.bytes as f64 / (clock::boot_micros() - began) as f64;
        match self.best.iter_mut().find(|best| best.0 == name) {
            Some(best) => best.1 = best.1.max(speed),
            None => self.best.push((name, speed)),
        }
        Ok(())
    }

    /// In a terminal of our own, read in a thread meanwhile.
    fn bare(
        &mut self,
        name: &'static str,
        record: Option<File>,
        words: impl FnOnce(String) -> Vec<String>,
    ) -> io::Result<()> {
        let writer = self.writer()?;
        let words = words(writer.script.clone());
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut bare = Bare::start(&words, record)?;
        let reading = std::thread::spawn(move || bare.until_end(&mut vec![0; 64 << 10]));
        self.run(name, &writer)?;
        writer.go.open();
        reading.join().map_err(|_| io::Error::other("the reader broke off"))?.map(drop)
    }

    fn ours(&mut self, bench: &Bench) -> io::Result<()> {
        let writer = self.writer()?;
        let id = bench.launch(&["sh", "-c", &writer.script])?;
        let mut helpers = Vec::new();
        until("the session is served", || {
            helpers = ["guard", "host"].iter().filter_map(|who| bench.process(&id, who)).collect();
            helpers.len() == 2
        });
        let used = || [0, 1].map(|who: usize| cpu_ticks(helpers[who].pid()));
        let before = used();
        self.run("abide", &writer)?;
        // Answers when the screen has caught up.
        bench.done(&["snapshot", &id])?;
        let after = used();
        (0..2).for_each(|who| self.used[who] += after[who] - before[who]);
        writer.go.open();
        bench.done(&["wait", &id])?;
        bench.done(&["rm", &id]).map(drop)
    }

    fn tmux(&mut self, place: &Place) -> io::Result<()> {
        let writer = self.writer()?;
        let tmux = Tmux::start(place)?;
        tmux.made("writer", &["sh", "-c", &writer.script])?;
        let to = format!("exec cat >{}", tmux.beside("log").display());
        tmux.done(&["pipe-pane", "-t", "writer", &to])?;
        self.run("tmux", &writer)?;
        writer.go.open();
        tmux.gone("writer");
        Ok(())
    }

    fn screen(&mut self, screen: &Screen) -> io::Result<()> {
        let writer = self.writer()?;
        let log = screen.beside("log").display().to_string();
        let words = ["-L", "-Logfile", &log, "-d", "-m", "-S", "writer", "sh", "-c", &writer.script];
        let status = screen.command(&words).status()?;
        if !status.success() {
            return Err(io::Error::other(format!("screen makes no session: {status}")));
        }
        self.run("screen", &writer)?;
        writer.go.open();
        screen.gone("writer");
        Ok(())
    }

    fn lines(&self, name: &str, share: f64) -> [Line; 2] {
        let of = |name: &str| {
            let best = self.best.iter().find(|best| best.0 == name);
            best.map(|best| Figure::new(best.1, Unit::MbPerS))
        };
        let nothing = Figure::new(0.0, Unit::MbPerS);
        let ours = of("abide").unwrap_or(nothing);
        let mut line =
            Line::new(&format!("{name} output, recording and screen on"), ours, Bar::AtLeast(share))
                .against("bare reader", of("bare"));
        line = line.floor("bare reader that records", of("bare, recording").unwrap_or(nothing));
        for other in ["tmux", "screen", "script", "asciinema"] {
            line.beside.extend(of(other).map(|figure| (other.to_owned(), figure)));
        }
        // Ticks of 10 ms.
        let megabytes = TURNS as f64 * self.bytes as f64 / 1e6;
        let [guard, host] =
            self.used.map(|ticks| Figure::new(ticks as f64 * 10.0 / megabytes, Unit::MsPerMb));
        let cpu = Line::new(&format!("{name} output, guard's processor time"), guard, Bar::Stated);
        [line, cpu.beside("host", host)]
    }
}
