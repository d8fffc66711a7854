//! The chart: how much of its bar each line uses, as an SVG that is readable on light and on dark pages.

use std::fmt::Write;

use crate::figure::Line;
use crate::report::Table;

const WIDTH: f64 = 940.0;
/// Where the bars begin, and how long one is that uses all that is allowed.
const LEFT: f64 = 330.0;
const WHOLE: f64 = 240.0;
/// Longer ones are cut, and say so.
const MOST: f64 = 1.5;
const STEP: f64 = 26.0;
const TOP: f64 = 64.0;

const STYLE: &str = "text{font:13px system-ui,-apple-system,'Segoe UI',sans-serif;fill:#24292f}.title{font-size:16px;\
font-weight:600}.small{font-size:12px;fill:#57606a}.page{fill:#ffffff}.holds{fill:#1a7f5a}.missed{fill:#c4532d}\
.bar{stroke:#24292f;stroke-dasharray:4 3}.floor{stroke:#0969da;stroke-width:2}@media(prefers-color-scheme:dark){text{fill:#e6edf3}.small{fill:#9da7b3}\
.page{fill:#0d1117}.holds{fill:#3fb58a}.missed{fill:#ef8a5f}.bar{stroke:#e6edf3}\
.floor{stroke:#58a6ff}}";

pub fn drawn(table: &Table) -> String {
    let lines = table.rows.iter().flat_map(|taken| &taken.lines);
    let lines: Vec<(&Line, f64)> = lines.filter_map(|line| Some((line, line.used()?))).collect();
    let height = TOP + STEP * lines.len() as f64 + 20.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" \
         aria-label=\"What each figure of abide uses of its bar\"><style>{STYLE}</style>\
         <rect class=\"page\" width=\"{WIDTH}\" height=\"{height}\" rx=\"8\"/>\
         <text class=\"title\" x=\"16\" y=\"26\">abide: what each figure uses of what its bar allows (shorter is better; the mark is the floor)</text>\
         <text class=\"small\" x=\"16\" y=\"46\">{}, {} processors, Linux {}</text>\
         <text class=\"small\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">the bar</text>",
        escaped(&table.machine.date),
        table.machine.processors,
        escaped(&table.machine.kernel),
        LEFT + WHOLE,
        TOP - 6.0
    );
    for (place, (line, used)) in lines.iter().enumerate() {
        svg += &drawn_line(line, *used, TOP + STEP * place as f64);
    }
    let x = LEFT + WHOLE;
    let _ = write!(
        svg,
        "<line class=\"bar\" x1=\"{x}\" x2=\"{x}\" y1=\"{TOP}\" y2=\"{}\"/></svg>",
        height - 16.0
    );
    svg + "\n"
}

fn drawn_line(line: &Line, used: f64, top: f64) -> String {
    let class = if used <= 1.0 { "holds" } else { "missed" };
    let length = (used.min(MOST) * WHOLE).max(2.0);
    let beside = line.peer.as_ref().map(|(name, figure)| format!(" ({name} {figure})")).unwrap_or_default();
    let cut = if used > MOST { " \u{2192}" } else { "" };
    let floor = line.above_floor().map(|times| used / times).filter(|floor| *floor <= MOST);
    let floor = floor.map_or(String::new(), |floor| {
        let x = LEFT + floor * WHOLE;
        format!(
            "<line class=\"floor\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{}\" y2=\"{}\"/>",
            top + 2.0,
            top + 24.0
        )
    });
    format!(
        "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\
         <rect class=\"{class}\" x=\"{LEFT}\" y=\"{}\" width=\"{length:.1}\" height=\"16\" rx=\"2\"/>\
         <text class=\"small\" x=\"{:.1}\" y=\"{}\">{}</text>{floor}",
        LEFT - 10.0,
        top + 17.0,
        escaped(&line.what.replace('`', "")),
        top + 5.0,
        // Behind the line of the bar, where it would cross the words.
        LEFT + length.max(WHOLE) + 10.0,
        top + 17.0,
        escaped(&format!("{}{beside}{cut}", line.ours))
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
