//! What the host asks for is done here: what is typed and answered goes on record first, and then into the terminal.

use abide_core::evidence::Body;
use abide_core::recording::Kind;
use abide_core::wire::Tagged;
use abide_sys::{pty, tty};

use super::link::Ask;
use super::{Keeper, READS_A_TURN};

/// So many things that a host asks for are done, before anybody else is heard.
const ASKS_A_TURN: u32 = 64;

impl Keeper {
    /// Does what the host asks. True if it asked for something.
    pub(super) fn heed_host(&mut self) -> bool {
        let (mut took, mut answered) = (false, false);
        // What a host said before it died still counts, and what is left of it is there in the next turn.
        for _ in 0..ASKS_A_TURN {
            let Some(ask) = self.link.next(self.recorder.spill()) else { break };
            match ask {
                Ask::Typed { client, seq, bytes } => self.record_input(client, seq, &bytes),
                Ask::Answered(bytes) => {
                    if !answered {
                        // What was shown before is not shown behind it.
                        self.read(1);
                    }
                    answered = true;
                    self.answer(&bytes);
                }
                Ask::Exec(tagged) => self.exec(tagged),
                Ask::Nothing | Ask::Withdrawn(0) => {}
                Ask::Withdrawn(bytes) => {
                    // They are on record as typed, as whatever waits for the terminal.
                    let text =
                        format!("{bytes} bytes of input were withdrawn before they were in the terminal");
                    self.note(Body::Noted(text.into()));
                }
                Ask::Mark(text) => self.mark(text),
                Ask::Resize(size) => {
                    if let (Some(_), Some((_, terminal))) = (&self.slave, self.outputs.first()) {
                        // Recorded before it is done: what is shown afterwards was made for the new size.
                        self.recorder.resize(size);
                        let _ = pty::resize(terminal, size);
                    }
                }
            }
            took = true;
        }
        took
    }

    /// Types what must not be seen: only under its tag.
    fn exec(&mut self, tagged: Tagged) {
        // What was shown before is none of it.
        self.read(READS_A_TURN);
        let Tagged { client, seq, tag, bytes } = tagged;
        let payload = [&client.to_le_bytes()[..], &seq.to_le_bytes(), &tag].concat();
        let tagged = self.recorder.tag(&payload);
        self.note_cut();
        // Of a line without its tag nothing is typed; that there is none on record tells whoever asked.
        self.link.queue_line((client, seq), if tagged { bytes } else { Vec::new() });
    }

    /// Gives the terminal an answer at once, unless something is to be typed before: whoever reads there now gets it.
    fn answer(&mut self, answer: &[u8]) {
        if self.slave.as_ref().is_some_and(tty::echoes_lines) {
            self.recorder.add(Kind::Lines, &[]);
        }
        self.recorder.add(Kind::Answer, answer);
        self.write();
    }

    /// Writes what the terminal takes now, and says whether the host is told of anything.
    pub(super) fn write(&mut self) -> bool {
        let terminal = self.outputs.first().filter(|_| self.slave.is_some());
        terminal.is_some_and(|(_, terminal)| self.link.write(terminal, self.recorder.spill()))
    }

    /// At a password prompt only the count is kept.
    fn record_input(&mut self, client: u64, seq: u64, bytes: &[u8]) {
        let mut payload = [client.to_le_bytes(), seq.to_le_bytes()].concat();
        if self.slave.as_ref().is_some_and(tty::hides_input) {
            payload.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
            self.recorder.add(Kind::Hidden, &payload);
        } else {
            payload.extend_from_slice(bytes);
            self.recorder.add(Kind::Input, &payload);
        }
    }
}
