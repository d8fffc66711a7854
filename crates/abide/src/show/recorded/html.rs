//! Screens as HTML: one file that needs nothing else, runs no script of anybody's, and looks like the terminal did.
//! Whatever a program showed is text here; of its links only those that a browser may follow safely are links.

use std::fmt::Write as _;

use abide_core::screen::theme::{Colours, Rgb, Theme};
use abide_core::screen::{Attrs, CellView, Screen, Underline};

use super::runs::{Look, Run};
use crate::show::safe;

/// What a browser may be asked to follow.
const SCHEMES: [&str; 4] = ["http://", "https://", "ftp://", "mailto:"];

/// The rules of every page.
const STYLE: &str = "\
body{margin:0;padding:1rem;display:flex;flex-direction:column;align-items:center}\
pre{margin:0;font:14px/1.25 ui-monospace,'Cascadia Mono','DejaVu Sans Mono',Menlo,Consolas,monospace;\
font-variant-ligatures:none;white-space:pre;min-width:calc(var(--cols)*1ch);tab-size:1}\
pre a{color:inherit}\
.b{font-weight:bold}.i{font-style:italic}\
.n,.w{display:inline-block;width:1ch;overflow:visible;text-align:center}.w{width:2ch}\
.c{outline:1px solid var(--cursor);outline-offset:-1px}";

/// The page of one screen, with the lines above it if they are wanted.
pub(crate) fn page(screen: &Screen, title: &str, theme: &Theme, scrollback: bool) -> String {
    let view = screen.view();
    let colours = Colours { theme, view: &view };
    let mut rows = String::new();
    for line in screen.scrollback().filter(|_| scrollback) {
        row(&mut rows, &Run::of(line.cells(), None), &colours);
        rows.push('\n');
    }
    for number in 0..view.size().rows {
        visible_row(&mut rows, screen, number, theme);
        rows.push('\n');
    }
    format!("{}<pre>{rows}</pre>{TAIL}", head(title, &colours, view.size().cols, ""))
}

/// One visible row, with the cursor if it stands there.
pub(crate) fn visible_row(out: &mut String, screen: &Screen, number: u16, theme: &Theme) {
    let view = screen.view();
    let cursor = view.cursor();
    let cursor = (cursor.visible && cursor.row == number).then_some(cursor.col);
    row(out, &Run::of(view.cells(number), cursor), &Colours { theme, view: &view });
}

/// The end of a document.
pub(crate) const TAIL: &str = "</body></html>\n";

/// The beginning of a document. `more` are further rules and scripts of ours.
pub(crate) fn head(title: &str, colours: &Colours<'_>, cols: u16, more: &str) -> String {
    let mut name = String::new();
    escape(&mut name, &safe::line(title));
    let (fg, bg, cursor) = (hex(colours.foreground()), hex(colours.background()), hex(colours.cursor()));
    // No source but the page itself: nothing is fetched, whatever was shown.
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
         script-src 'unsafe-inline'\">\
         <meta name=\"viewport\" content=\"width=device-width\"><title>{name}</title>\
         <style>:root{{--cols:{cols};--cursor:{cursor}}}body{{background:{bg};color:{fg}}}{STYLE}</style>{more}</head>\n\
         <body>"
    )
}

fn row(out: &mut String, runs: &[Run<'_>], colours: &Colours<'_>) {
    for run in runs {
        let Look { style, link, .. } = run.look();
        let css = css(&run.look(), colours);
        let mut classes = Vec::new();
        for (attribute, class) in [(Attrs::BOLD, "b"), (Attrs::ITALIC, "i")] {
            if style.attrs.has(attribute) {
                classes.push(class);
            }
        }
        if run.cursor {
            classes.push("c");
        }
        let href = link.map(|link| link.uri.as_str()).filter(|uri| is_safe(uri));
        if let Some(uri) = href {
            out.push_str("<a rel=\"noopener noreferrer nofollow\" href=\"");
            escape(out, uri);
            out.push_str("\">");
        }
        let plain = classes.is_empty() && css.is_empty();
        if !plain {
            out.push_str("<span");
            attribute(out, "class", &classes.join(" "));
            attribute(out, "style", &css);
            out.push('>');
        }
        run.cells.iter().for_each(|one| cell(out, one));
        if !plain {
            out.push_str("</span>");
        }
        if href.is_some() {
            out.push_str("</a>");
        }
    }
}

/// A cell keeps its width, whatever font the browser finds its character in.
fn cell(out: &mut String, cell: &CellView<'_>) {
    let common = matches!(cell.ch, '\0'..='\u{17f}' | '\u{2500}'..='\u{259f}') && cell.marks.is_empty();
    let class = match (cell.width, common) {
        (1, true) => None,
        (1, false) => Some("n"),
        (_, _) => Some("w"),
    };
    if let Some(class) = class {
        let _ = write!(out, "<span class=\"{class}\">");
    }
    escape(out, cell.ch.encode_utf8(&mut [0; 4]));
    escape(out, cell.marks);
    if class.is_some() {
        out.push_str("</span>");
    }
}

fn css(look: &Look<'_>, colours: &Colours<'_>) -> String {
    let attrs = look.style.attrs;
    let (mut fg, mut bg) = (colours.of(look.style.fg), colours.of(look.style.bg));
    if attrs.has(Attrs::INVERSE) {
        let swapped =
            (bg.unwrap_or_else(|| colours.background()), fg.unwrap_or_else(|| colours.foreground()));
        (fg, bg) = (Some(swapped.0), Some(swapped.1));
    }
    let behind = bg.unwrap_or_else(|| colours.background());
    if attrs.has(Attrs::DIM) {
        fg = Some(mixed(fg.unwrap_or_else(|| colours.foreground()), behind));
    }
    if attrs.has(Attrs::INVISIBLE) {
        fg = Some(behind);
    }
    let mut css = String::new();
    if let Some(fg) = fg {
        let _ = write!(css, "color:{};", hex(fg));
    }
    if let Some(bg) = bg {
        let _ = write!(css, "background:{};", hex(bg));
    }
    let (underline, kind) = match attrs.underline() {
        Underline::None => (false, ""),
        Underline::Single => (true, ""),
        Underline::Double => (true, " double"),
        Underline::Curly => (true, " wavy"),
        Underline::Dotted => (true, " dotted"),
        Underline::Dashed => (true, " dashed"),
    };
    let lines = [
        (underline, "underline"),
        (attrs.has(Attrs::STRIKE), "line-through"),
        (attrs.has(Attrs::OVERLINE), "overline"),
    ];
    let lines: Vec<&str> = lines.iter().filter(|(on, _)| *on).map(|(_, name)| *name).collect();
    if !lines.is_empty() {
        let _ = write!(css, "text-decoration:{}{kind}", lines.join(" "));
        if let Some(color) = colours.of(look.underline_color) {
            let _ = write!(css, " {}", hex(color));
        }
    }
    css
}

fn is_safe(uri: &str) -> bool {
    let lower = uri.to_ascii_lowercase();
    SCHEMES.iter().any(|scheme| lower.starts_with(scheme))
}

fn attribute(out: &mut String, name: &str, value: &str) {
    if !value.is_empty() {
        let _ = write!(out, " {name}=\"{value}\"");
    }
}

/// Text that is nothing but text, between tags and in attributes.
fn escape(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
}

fn hex([r, g, b]: Rgb) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}

/// Half way from one to the other, and a little less.
fn mixed(from: Rgb, to: Rgb) -> Rgb {
    std::array::from_fn(|i| ((u16::from(from[i]) * 3 + u16::from(to[i]) * 2) / 5) as u8)
}

#[cfg(test)]
mod tests {
    use abide_core::screen::Size;

    use super::*;

    fn shown(bytes: &str) -> String {
        let mut screen = Screen::new(Size { cols: 20, rows: 1 }, 0);
        let _ = screen.feed(bytes.as_bytes());
        let _ = screen.feed(b"\x1b[?25l");
        let mut out = String::new();
        visible_row(&mut out, &screen, 0, &Theme::ALL[0]);
        out
    }

    #[test]
    fn what_was_shown_is_text_and_can_be_nothing_else() {
        assert_eq!(shown("<b>&\"'"), "&lt;b&gt;&amp;&quot;&#39;");
        let evil = "\x1b]8;;javascript:alert(1)\x1b\\x\x1b]8;;\x1b\\";
        assert_eq!(shown(evil), "x");
        let quoted = "\x1b]8;;https://x/\"><script>\x1b\\x\x1b]8;;\x1b\\";
        let page = shown(quoted);
        assert!(
            !page.contains("<script>") && page.contains("href=\"https://x/&quot;&gt;&lt;script&gt;\""),
            "{page}"
        );
    }

    #[test]
    fn colours_and_attributes_are_those_of_the_theme_and_of_the_program() {
        let theme = &Theme::ALL[0];
        let red = hex(theme.indexed(1));
        assert_eq!(shown("\x1b[1;31mx"), format!("<span class=\"b\" style=\"color:{red};\">x</span>"));
        let (fg, bg) = (hex(theme.foreground()), hex(theme.background()));
        assert_eq!(shown("\x1b[7mx"), format!("<span style=\"color:{bg};background:{fg};\">x</span>"));
        let redefined = "\x1b]4;1;rgb:12/34/56\x1b\\\x1b[31mx";
        assert_eq!(shown(redefined), "<span style=\"color:#123456;\">x</span>");
        let curly = "\x1b[4:3;9mx";
        assert_eq!(shown(curly), "<span style=\"text-decoration:underline line-through wavy\">x</span>");
    }

    #[test]
    fn wide_and_unusual_characters_keep_their_columns() {
        assert_eq!(shown("a漢é"), "a<span class=\"w\">漢</span>é");
        assert_eq!(shown("✓e\u{301}"), "<span class=\"n\">✓</span><span class=\"n\">e\u{301}</span>");
    }
}
