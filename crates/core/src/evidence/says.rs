//! What each fact says, in words for people. Arguments are quoted as they are: whoever shows them hides secrets.

use super::number::{Errno, Signal};
use super::{
    Adopted, Attention, Body, Cut, Declared, Drained, ExecFailed, Guarded, Hosted, ImageChanged, Launched,
    Marked, Notified, Signalled, Started, StopAsked, Summary, TurnClosed, TurnOpened, Wants, Watched,
};

impl Body {
    /// What the fact says.
    #[must_use]
    pub fn says(&self) -> String {
        match self {
            Self::Launched(body) => body.says(),
            Self::Guarded(body) => body.says(),
            Self::Hosted(body) => body.says(),
            Self::Started(body) => body.says(),
            Self::ExecFailed(body) => body.says(),
            Self::StopAsked(body) => body.says(),
            Self::Signalled(body) => body.says(),
            Self::Ended(body) => body.says(),
            Self::Cut(body) => body.says(),
            Self::Drained(body) => body.says(),
            Self::Declared(body) => body.says(),
            Self::TurnOpened(body) => body.says(),
            Self::TurnClosed(body) => body.says(),
            Self::Attention(body) => body.says(),
            Self::Marked(body) => body.says(),
            Self::Checkpointed(body) => body.says(),
            Self::Adopted(body) => body.says(),
            Self::Watched(body) => body.says(),
            Self::ImageChanged(body) => body.says(),
            Self::Noted(body) => body.text.clone(),
            Self::Notified(body) => body.says(),
            Self::Summary(body) => body.says(),
            Self::Sealed(body) => body.says(),
            Self::Removing(body) => format!("removal began {}", body.text),
            Self::Removed(body) => format!("removed {}", body.text),
            Self::Other { body, .. } => body.clone(),
        }
    }
}

impl Launched {
    #[must_use]
    pub fn says(&self) -> String {
        let cut = if self.argv_cut { " ..." } else { "" };
        let input = self.stdin.as_ref().map_or_else(String::new, |kind| format!(", its input from a {kind}"));
        format!("launched {}{cut}{input}", self.argv.join(" "))
    }
}

impl Adopted {
    #[must_use]
    pub fn says(&self) -> String {
        format!("adopted process {}", self.program.pid)
    }
}

impl Watched {
    #[must_use]
    pub fn says(&self) -> String {
        format!("watcher {} follows the program", self.watcher.pid)
    }
}

impl Notified {
    #[must_use]
    pub fn says(&self) -> String {
        let Self { key, to, delivered, detail } = self;
        match (delivered, detail) {
            (true, _) => format!("the {to} was told of {key}"),
            (false, Some(why)) => format!("the {to} could not be told of {key}: {why}"),
            (false, None) => format!("the {to} could not be told of {key}"),
        }
    }
}

impl Summary {
    #[must_use]
    pub fn says(&self) -> String {
        let (tokens, tools) = (self.input_tokens + self.output_tokens, self.tools.values().sum::<u64>());
        let mut says = format!(
            "{}: {} prompts, {} turns, {tools} tool calls, {tokens} tokens",
            self.agent, self.prompts, self.turns
        );
        if !self.unanswered.is_empty() {
            says.push_str(&format!("; unanswered: {}", self.unanswered.join(", ")));
        }
        says
    }
}

impl Guarded {
    #[must_use]
    pub fn says(&self) -> String {
        format!("guard {} took over", self.guard.pid)
    }
}

impl Hosted {
    #[must_use]
    pub fn says(&self) -> String {
        format!("host {} of generation {}", self.host.pid, self.generation)
    }
}

impl Started {
    #[must_use]
    pub fn says(&self) -> String {
        format!("program {} runs {}", self.program.pid, self.image)
    }
}

impl ImageChanged {
    #[must_use]
    pub fn says(&self) -> String {
        format!("the program became {}", self.image)
    }
}

impl StopAsked {
    #[must_use]
    pub fn says(&self) -> String {
        format!("{} asked it to stop", self.by)
    }
}

impl Signalled {
    #[must_use]
    pub fn says(&self) -> String {
        let pids: Vec<String> = self.pids.iter().map(u32::to_string).collect();
        format!("{} sends {} to {}", self.by, Signal(self.signal), pids.join(" "))
    }
}

impl ExecFailed {
    #[must_use]
    pub fn says(&self) -> String {
        let errno = Errno(self.errno);
        match &self.directory {
            Some(directory) => format!("entering {directory} failed: {errno}"),
            None => format!("exec of {} failed: {errno}", self.path),
        }
    }
}

impl super::Ended {
    #[must_use]
    pub fn says(&self) -> String {
        match self.survivors.len() as u64 + self.more_survivors {
            0 => self.outcome.says(),
            count => format!("{}; processes that live on: {count}", self.outcome.says()),
        }
    }
}

impl Cut {
    #[must_use]
    pub fn says(&self) -> String {
        format!("the recording was cut at byte {} of output: {}", self.offset, self.reason)
    }
}

impl Drained {
    #[must_use]
    pub fn says(&self) -> String {
        format!("all {} bytes of output were taken", self.bytes)
    }
}

impl Declared {
    #[must_use]
    pub fn says(&self) -> String {
        format!("declared {}, exit code {}", self.status, self.exit_code)
    }
}

impl TurnOpened {
    #[must_use]
    pub fn says(&self) -> String {
        format!("turn {} opened in {}", self.turn, self.cwd)
    }
}

impl TurnClosed {
    #[must_use]
    pub fn says(&self) -> String {
        format!("turn {} closed: {}", self.turn, self.reason)
    }
}

impl Attention {
    #[must_use]
    pub fn says(&self) -> String {
        let wants = match self.wants {
            Wants::None => "nothing is wanted",
            Wants::Approval => "an approval is wanted",
            Wants::Answer => "an answer is wanted",
            Wants::Other => "something is wanted",
        };
        self.text.as_ref().map_or_else(|| wants.to_owned(), |text| format!("{wants}: {text}"))
    }
}

impl Marked {
    #[must_use]
    pub fn says(&self) -> String {
        format!("mark {} at byte {} of output", self.name, self.offset)
    }
}

impl ExecFailed {
    /// What whoever asked for it can do.
    #[must_use]
    pub fn way_out(&self) -> Option<&'static str> {
        match Errno(self.errno).name()? {
            "ENOENT" if self.directory.is_some() => Some("name a directory that is there with --cwd"),
            "ENOENT" if self.path.contains('/') => Some("look at its path, or at what its first line names"),
            "ENOENT" => Some("nothing in PATH has that name: install it, or give its whole path"),
            "EACCES" => Some("look at its mode: `chmod +x` makes a file a program"),
            "ENOEXEC" => Some("it is no program for this machine, and has no first line that names one"),
            _ => None,
        }
    }
}
