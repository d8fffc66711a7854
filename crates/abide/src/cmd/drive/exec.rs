//! `abide exec`: run a line in a session's shell, and pass on its code and its output.

use abide_core::failure::{Code, Failure};
use abide_core::status::Column;
use abide_engine::Unfinished;
use schemars::JsonSchema;
use serde::Serialize;

use crate::cmd::{Front, NO_CODE, Verb, run};
use crate::output::{Until, WrittenView};

const EXAMPLES: &str = "Examples:
  abide exec shell -- make test             its output, its exit code
  abide exec shell -- 'cd src; ls | wc'     a line for the shell: what it changes there stays
  abide exec shell --timeout 30s -- ./slow  124 when the time is up; it goes on
  abide exec --json shell -- git status     for programs";

/// Run a line in a session's shell, and exit with its code
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES)]
#[command(
    after_help = concat!("The session must run bash, zsh, fish, dash or another sh that waits at an empty prompt: not in the middle of a \
    command, and with nothing half typed. The line runs in that very shell, \
    and is shown there as if it had been typed; nothing else is. What is printed is what the line wrote, byte by byte, and what others type there meanwhile, as the terminal shows it: the answers to what programs ask the terminal (`^[[2;1R`) too, where it echoes them because nobody switched that off. \
    An answer that no program read stands in the shell's line, or was taken for keys there: the next line is refused until Ctrl-C empties that. \
    An ERR trap of bash's, a DEBUG trap of zsh's, and hooks of zsh and fish that are told what was typed see the commands that run the line; `$_` and PIPESTATUS of the line before are lost. \
    After `set -x`, bash shows the line one level deeper than what is typed (`++`). \
    In bash, what ended in the background before the line is told behind it, and is none of its output unless the line asks (`jobs`, `wait -n`). \
    In zsh, what a line starts in the background is counted from 4 on, and `%1` names nothing there: take `$!` or `%NAME`; where its history is empty, `true` is put there once; Ctrl-Y yanks a blank afterwards. \
    In a restricted shell (`rbash`, `set -r`) no line can be run; after `set -r`, what was typed for it stays on the screen. \
    Where a function is named `builtin` or `command`, or an alias `{` or `case`, no line can be run, and what was typed for it may stay on the screen. \
    Where the line itself changes how its terminal ends lines (`stty -onlcr`), the carriage returns before them may be too many or too few. Where another exec runs in a shell that the line started, \
    the line's own end cannot be told. Several arguments are \
    joined by blanks. Exits with the line's code; 124 if the time was up; 125 if there is no code to pass on: no \
    shell waits there, the line was broken off or ended its shell, no such session.", signals_end_this!("the line goes on, if it was typed by then."))
)]
pub(crate) struct Args {
    /// ID, name, unique prefix or @last
    #[arg(value_name = "ID")]
    session: String,
    /// Wait no longer than this for the line's end
    #[arg(long, value_name = "DURATION")]
    timeout: Option<String>,
    /// The line, for the shell
    #[arg(value_name = "LINE", required = true, last = true)]
    line: Vec<String>,
}

/// How the line ended.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Executed")]
pub(crate) struct ExecutedView {
    id: String,
    exit_code: u8,
    /// What it wrote. Bytes that are no characters are replaced; then `output_base64` has them all.
    output: String,
    /// There only if the output is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("contentEncoding" = "base64"))]
    output_base64: Option<String>,
    /// How much the program had shown before: a baseline for `wait --since`.
    seq: u64,
}

impl Args {
    /// Waits no longer than this, where nothing else was said.
    pub(super) fn or_timeout(&mut self, timeout: &str) {
        self.timeout.get_or_insert_with(|| timeout.to_owned());
    }

    fn timeout_ms(&self) -> Result<Option<u64>, Failure> {
        self.timeout.as_deref().map(run::parse_duration).transpose()
    }
}

impl Verb for Args {
    type Data = ExecutedView;
    const TAKES: Option<Column> = Some(Column::Commandable);

    fn passes_on_a_code(&self) -> bool {
        true
    }

    fn check(&self, _now: i64) -> Result<(), Failure> {
        self.timeout_ms().map(drop)
    }

    fn run(self, front: &mut Front) -> Result<u8, Failure> {
        let timeout_ms = self.timeout_ms()?;
        let sessions = front.sessions()?;
        let session = sessions.find(&self.session)?;
        let mut driver = sessions.driver(&session)?;
        let executed = match driver.exec(&self.line.join(" "), timeout_ms) {
            Ok(executed) => executed,
            Err(Unfinished { failure, begun, output }) => {
                if !front.output.is_json() {
                    front.output.raw(&output)?;
                }
                front.output.fail_with(&failure, begun.then(|| Until::Written(written(&output))));
                let timed_out = failure.code == Code::TimedOut;
                return Ok(if timed_out { failure.code.kind().exit_code() } else { NO_CODE });
            }
        };
        if front.output.is_json() {
            let (id, exit_code) = (session.id.to_string(), executed.code);
            let WrittenView { output, output_base64 } = written(&executed.output);
            let data = ExecutedView { id, exit_code, output, output_base64, seq: executed.position };
            front.output.show(&data, |_| {})?;
        } else {
            front.output.raw(&executed.output)?;
        }
        Ok(executed.code)
    }
}

fn written(output: &[u8]) -> WrittenView {
    let whole = std::str::from_utf8(output).is_ok();
    let base64 = (!whole).then(|| base64(output));
    WrittenView { output: String::from_utf8_lossy(output).into_owned(), output_base64: base64 }
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let number = three.iter().fold(0_u32, |n, byte| n << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        for at in 0..4 {
            let letter = LETTERS[(number >> (18 - 6 * at) & 63) as usize];
            text.push(if at <= three.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::base64;

    #[test]
    fn base64_is_that_of_everyone_else() {
        for (plain, text) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("\u{ff}\u{0}a", "w78AYQ==")]
        {
            assert_eq!(base64(plain.as_bytes()), text);
        }
    }
}
