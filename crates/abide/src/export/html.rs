//! A page that plays a recording: one file that needs nothing else. Each picture holds the rows that changed since the one
//! before it; the page's own few lines of script put them in place. Without script it shows the last picture.

use std::io::{self, Write};

use abide_core::recording::Kind;
use abide_core::recording::pace::Pace;
use abide_core::screen::Screen;
use abide_core::screen::theme::{Colours, Theme};
use abide_engine::{Step, What};
use serde_json::{Value, json};

use super::{Ending, Export, Wanted};
use crate::show::recorded::html;
use crate::show::safe;

/// Changes that come closer to each other than this, in microseconds, make one picture.
const APART: u64 = 40_000;

const STYLE: &str = "<style>#bar{display:flex;gap:.6em;align-items:center;width:100%;max-width:60rem;margin-top:.8rem;\
font:13px system-ui,sans-serif}#at{flex:1}button,select{font:inherit}</style>";

/// Pictures are `[ms, cols, rows, [[row, html], ...]]`; marks are `[ms, name]`.
const SCRIPT: &str = r#"<script>
let n=0,t=0,speed=1,playing=true,last=null,rows=[];
const $=id=>document.getElementById(id),total=F.length?F[F.length-1][0]:0;
const clock=ms=>{const s=Math.floor(ms/1000);return Math.floor(s/60)+":"+String(s%60).padStart(2,"0")};
function put(f){if(rows.length!==f[2])rows.length=f[2];for(const[r,h]of f[3])rows[r]=h}
function seek(to){t=Math.max(0,Math.min(to,total));if(n&&F[n-1][0]>t){n=0;rows=[]}draw()}
function draw(){let moved=!n;while(n<F.length&&F[n][0]<=t){put(F[n++]);moved=true}
if(moved){$("s").innerHTML=Array.from(rows,r=>r||"").join("\n")+"\n"}
$("at").value=t;$("time").textContent=clock(t)+" / "+clock(total);$("play").textContent=playing&&t<total?"❚❚":"▶"}
function tick(now){if(playing&&last!==null){t=Math.min(total,t+(now-last)*speed);draw()}last=now;requestAnimationFrame(tick)}
function toggle(){if(t>=total){seek(0);playing=true}else playing=!playing;draw()}
$("at").max=total;$("at").oninput=e=>seek(+e.target.value);$("play").onclick=toggle;
$("speed").onchange=e=>speed=+e.target.value;
for(const[ms,name]of M){const o=document.createElement("option");o.value=ms;o.textContent=clock(ms)+" "+name;$("marks").append(o)}
if(!M.length)$("marks").hidden=true;$("marks").onchange=e=>seek(+e.target.value);
onkeydown=e=>{if(e.key===" ")toggle();else if(e.key==="ArrowRight")seek(t+5000);else if(e.key==="ArrowLeft")seek(t-5000);
else return;e.preventDefault()};
draw();requestAnimationFrame(tick);
</script>"#;

const BAR: &str = "<div id=\"bar\"><button id=\"play\">❚❚</button><input id=\"at\" type=\"range\" min=\"0\" value=\"0\">\
<span id=\"time\"></span><select id=\"speed\"><option value=\"0.5\">½×</option><option value=\"1\" selected>1×</option>\
<option value=\"2\">2×</option><option value=\"4\">4×</option><option value=\"16\">16×</option></select>\
<select id=\"marks\"><option>marks</option></select></div>";

/// Writes a page that plays.
#[derive(Debug)]
pub(crate) struct Player {
    wanted: Wanted,
    theme: &'static Theme,
    pace: Pace,
    /// When the last picture was taken.
    taken: Option<u64>,
    /// The rows of the last picture.
    rows: Vec<String>,
    cols: u16,
    changed: bool,
}

impl Player {
    pub(crate) fn new(wanted: Wanted, theme: &'static Theme) -> Self {
        let pace = Pace::new(0, wanted.idle_limit);
        Self { wanted, theme, pace, taken: None, rows: Vec::new(), cols: 0, changed: false }
    }

    fn begin(&mut self, step: &Step<'_>, out: &mut dyn Write) -> io::Result<()> {
        let begins = if self.wanted.from_start { 0 } else { step.at.micros };
        self.pace = Pace::new(begins, self.wanted.idle_limit);
        let view = step.screen.view();
        let colours = Colours { theme: self.theme, view: &view };
        let data = "<script>const F=[],M=[];</script>";
        let head =
            html::head(&self.wanted.about.title, &colours, view.size().cols, &format!("{STYLE}{data}"));
        write!(out, "{head}<pre id=\"s\"></pre>{BAR}")?;
        self.picture(step.screen, 0, out)
    }

    fn picture(&mut self, screen: &Screen, micros: u64, out: &mut dyn Write) -> io::Result<()> {
        let screen = &*self.wanted.seen(screen);
        let size = screen.size();
        self.cols = size.cols;
        let mut changed = Vec::new();
        self.rows.resize(usize::from(size.rows), String::new());
        for number in 0..size.rows {
            let mut row = String::new();
            html::visible_row(&mut row, screen, number, self.theme);
            let before = &mut self.rows[usize::from(number)];
            if *before != row || self.taken.is_none() {
                changed.push(json!([number, row]));
                *before = row;
            }
        }
        self.changed = false;
        self.taken = Some(micros);
        script(out, "F", &json!([micros / 1000, size.cols, size.rows, changed]))
    }
}

/// A statement of ours; what it holds cannot end it.
fn script(out: &mut dyn Write, list: &str, told: &Value) -> io::Result<()> {
    let safe = safe::json(told).trim_end().replace('<', "\\u003c");
    writeln!(out, "<script>{list}.push({safe})</script>")
}

impl Export for Player {
    fn take(&mut self, step: &Step<'_>, out: &mut dyn Write) -> io::Result<()> {
        let mark = match &step.what {
            What::Begin(_) => return self.begin(step, out),
            What::CaughtUp | What::Gap(_) => return Ok(()),
            What::Entry(entry, _) => (entry.kind == Kind::Mark).then_some(entry.payload),
            What::Screen | What::LetGo => None,
        };
        // What is not to be seen ends no pause.
        let seen = step.is_seen();
        let micros = step.at.micros;
        let now = if seen { self.pace.at(micros) } else { self.pace.then(micros) };
        self.changed |= seen;
        if let Some(name) = mark.map(String::from_utf8_lossy) {
            script(out, "M", &json!([now / 1000, name]))?;
        }
        // What is shown only until the next change comes is not worth a picture.
        let stays = step.until.is_none_or(|next| {
            self.pace.then(next) >= self.taken.map_or(0, |taken| taken.saturating_add(APART))
        });
        if self.changed && stays {
            self.picture(step.screen, now, out)?;
        }
        Ok(())
    }

    fn finish(&mut self, ending: Ending, out: &mut dyn Write) -> io::Result<()> {
        // The last picture stays as long as it did.
        if let Some(micros) = ending.micros.map(|micros| self.pace.at(micros))
            && self.taken.is_some_and(|taken| micros / 1000 > taken / 1000)
        {
            script(out, "F", &json!([micros / 1000, self.cols, self.rows.len(), []]))?;
        }
        let last: String = self.rows.iter().map(|row| format!("{row}\n")).collect();
        write!(out, "<noscript><pre>{last}</pre></noscript>{SCRIPT}{}", html::TAIL)?;
        out.flush()
    }

    fn needs_screen(&self) -> bool {
        true
    }
}
