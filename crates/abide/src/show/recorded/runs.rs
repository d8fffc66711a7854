//! Rows of a screen as runs of cells that look alike: what JSON with cells and HTML are made of.

use abide_core::screen::{Attrs, CellView, Color, Link, Style, Underline};
use schemars::JsonSchema;
use serde::Serialize;

/// Cells side by side that look alike.
#[derive(Debug)]
pub(crate) struct Run<'a> {
    pub(crate) cells: Vec<CellView<'a>>,
    /// It is the one cell on which the cursor stands.
    pub(crate) cursor: bool,
}

/// How the cells of a run look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Look<'a> {
    pub(crate) style: Style,
    pub(crate) underline_color: Color,
    pub(crate) link: Option<&'a Link>,
}

impl<'a> Run<'a> {
    /// The runs of a row, with the cursor in this column of it.
    pub(crate) fn of(cells: impl Iterator<Item = CellView<'a>>, cursor: Option<u16>) -> Vec<Self> {
        let mut cells: Vec<CellView<'a>> = cells.collect();
        let used: u16 = cells.iter().map(|cell| u16::from(cell.width)).sum();
        // The cursor may stand behind the last cell that was written.
        let missing = cursor.map_or(0, |col| (col + 1).saturating_sub(used));
        cells.extend((0..missing).map(|_| blank()));
        let mut runs: Vec<Self> = Vec::new();
        let mut col = 0;
        for cell in cells {
            let ends = col + u16::from(cell.width);
            let cursor = cursor.is_some_and(|at| (col..ends).contains(&at));
            match runs.last_mut() {
                Some(run) if !cursor && !run.cursor && run.look() == look(&cell) => run.cells.push(cell),
                Some(_) | None => runs.push(Self { cells: vec![cell], cursor }),
            }
            col = ends;
        }
        runs
    }

    pub(crate) fn look(&self) -> Look<'a> {
        self.cells.first().map_or_else(|| look(&blank()), look)
    }
}

fn blank() -> CellView<'static> {
    let (style, underline_color) = (Style::default(), Color::Default);
    CellView { ch: ' ', marks: "", width: 1, style, underline_color, link: None }
}

const fn look<'a>(cell: &CellView<'a>) -> Look<'a> {
    Look { style: cell.style, underline_color: cell.underline_color, link: cell.link }
}

/// Cells side by side that look alike, for programs. What is not said is as the terminal has it by default.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Run")]
pub(crate) struct RunView {
    text: String,
    /// How many columns it takes.
    cols: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    fg: Option<ColorView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bg: Option<ColorView>,
    /// `bold`, `dim`, `italic`, `blink`, `inverse`, `invisible`, `strike`, `overline`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    attributes: Vec<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["single", "double", "curly", "dotted", "dashed"]))]
    underline: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    underline_color: Option<ColorView>,
    /// Where it leads.
    #[serde(skip_serializing_if = "Option::is_none")]
    link: Option<String>,
}

/// A colour: one of the 256 by its number, or `#rrggbb`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Color")]
#[serde(untagged)]
enum ColorView {
    Indexed(u8),
    Rgb(String),
}

impl RunView {
    /// A row for programs.
    pub(crate) fn row<'a>(cells: impl Iterator<Item = CellView<'a>>) -> Vec<Self> {
        Run::of(cells, None).iter().map(Self::new).collect()
    }

    fn new(run: &Run<'_>) -> Self {
        let Look { style, underline_color, link } = run.look();
        let mut text = String::new();
        for cell in &run.cells {
            text.push(cell.ch);
            text.push_str(cell.marks);
        }
        let named = ATTRIBUTES.iter().filter(|(attribute, _)| style.attrs.has(*attribute));
        Self {
            text,
            cols: run.cells.iter().map(|cell| u16::from(cell.width)).sum(),
            fg: color(style.fg),
            bg: color(style.bg),
            attributes: named.map(|(_, name)| *name).collect(),
            underline: match style.attrs.underline() {
                Underline::None => None,
                Underline::Single => Some("single"),
                Underline::Double => Some("double"),
                Underline::Curly => Some("curly"),
                Underline::Dotted => Some("dotted"),
                Underline::Dashed => Some("dashed"),
            },
            underline_color: color(underline_color),
            link: link.map(|link| link.uri.clone()),
        }
    }
}

const ATTRIBUTES: [(Attrs, &str); 8] = [
    (Attrs::BOLD, "bold"),
    (Attrs::DIM, "dim"),
    (Attrs::ITALIC, "italic"),
    (Attrs::BLINK, "blink"),
    (Attrs::INVERSE, "inverse"),
    (Attrs::INVISIBLE, "invisible"),
    (Attrs::STRIKE, "strike"),
    (Attrs::OVERLINE, "overline"),
];

fn color(color: Color) -> Option<ColorView> {
    match color {
        Color::Default => None,
        Color::Indexed(index) => Some(ColorView::Indexed(index)),
        Color::Rgb(r, g, b) => Some(ColorView::Rgb(format!("#{r:02x}{g:02x}{b:02x}"))),
    }
}

#[cfg(test)]
mod tests {
    use abide_core::screen::{Screen, Size};

    use super::*;

    fn row(bytes: &str) -> serde_json::Value {
        let mut screen = Screen::new(Size { cols: 20, rows: 1 }, 0);
        let _ = screen.feed(bytes.as_bytes());
        serde_json::to_value(RunView::row(screen.view().cells(0))).unwrap()
    }

    #[test]
    fn cells_that_look_alike_are_one_run_with_everything_that_is_special_about_them() {
        assert_eq!(
            row("ab\x1b[1;31mcd\x1b[0;48;2;1;2;3m漢\x1b[0m"),
            serde_json::json!([
                {"text": "ab", "cols": 2},
                {"text": "cd", "cols": 2, "fg": 1, "attributes": ["bold"]},
                {"text": "漢", "cols": 2, "bg": "#010203"},
            ])
        );
        assert_eq!(
            row("\x1b[4:3;58;5;9m\x1b]8;;https://x.y/\x1b\\e\u{301}\x1b]8;;\x1b\\"),
            serde_json::json!([{
                "text": "e\u{301}", "cols": 1, "underline": "curly", "underline_color": 9, "link": "https://x.y/",
            }])
        );
    }

    #[test]
    fn the_cursor_is_a_run_of_its_own_even_behind_the_text() {
        let mut screen = Screen::new(Size { cols: 20, rows: 1 }, 0);
        let _ = screen.feed(b"ab");
        let widths = |cursor| {
            let runs = Run::of(screen.view().cells(0), Some(cursor));
            runs.iter().map(|run| (run.cells.len(), run.cursor)).collect::<Vec<_>>()
        };
        assert_eq!(widths(0), [(1, true), (1, false)]);
        assert_eq!(widths(4), [(4, false), (1, true)]);
    }
}
