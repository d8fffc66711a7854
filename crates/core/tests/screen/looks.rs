//! How cells look: colours and attributes from every form of SGR, erasure in the background's colour, links.

use abide_core::screen::{Attrs, CellView, Color, Style, Underline};

use crate::common::fed;

fn style(sgr: &str) -> Style {
    let screen = fed(9, 1, format!("\x1b[{sgr}mx"));
    let cell = screen.view().cells(0).next().expect("a cell");
    cell.style
}

#[test]
fn every_form_of_a_colour_is_understood() {
    for (sgr, fg, bg) in [
        ("31", Color::Indexed(1), Color::Default),
        ("97;104", Color::Indexed(15), Color::Indexed(12)),
        ("38;5;200;48;5;3", Color::Indexed(200), Color::Indexed(3)),
        ("38;2;1;2;3;48;2;4;5;6", Color::Rgb(1, 2, 3), Color::Rgb(4, 5, 6)),
        ("38:5:200;48:2:4:5:6", Color::Indexed(200), Color::Rgb(4, 5, 6)),
        ("38:2::1:2:3", Color::Rgb(1, 2, 3), Color::Default),
        ("31;44;39;49", Color::Default, Color::Default),
        ("31;", Color::Default, Color::Default),
        ("38;2;999;2;3;32", Color::Indexed(2), Color::Default),
        ("38", Color::Default, Color::Default),
        ("38;5", Color::Default, Color::Default),
    ] {
        let style = style(sgr);
        assert_eq!((style.fg, style.bg), (fg, bg), "{sgr}");
    }
}

#[test]
fn attributes_are_set_and_reset_one_by_one() {
    for (on, off, attr) in [
        (1, 22, Attrs::BOLD),
        (2, 22, Attrs::DIM),
        (3, 23, Attrs::ITALIC),
        (5, 25, Attrs::BLINK),
        (7, 27, Attrs::INVERSE),
        (8, 28, Attrs::INVISIBLE),
        (9, 29, Attrs::STRIKE),
        (53, 55, Attrs::OVERLINE),
    ] {
        assert!(style(&format!("{on}")).attrs.has(attr), "{on}");
        assert_eq!(style(&format!("{on};{off}")), Style::default(), "{on};{off}");
    }
    for (sgr, kind) in [
        ("4", Underline::Single),
        ("21", Underline::Double),
        ("4:3", Underline::Curly),
        ("4:4", Underline::Dotted),
        ("4:5", Underline::Dashed),
        ("4:0", Underline::None),
        ("4;24", Underline::None),
    ] {
        assert_eq!(style(sgr).attrs.underline(), kind, "{sgr}");
    }
}

#[test]
fn erased_cells_take_the_background_and_nothing_else() {
    for act in ["\x1b[K", "\x1b[2J", "\x1b[3X", "\x1b[2@", "\x1b[L"] {
        let screen = fed(5, 2, format!("\x1b[1;31;44m{act}"));
        let view = screen.view();
        let first: CellView<'_> = view.cells(0).next().expect("a coloured blank");
        assert_eq!(
            first.style,
            Style { bg: Color::Indexed(4), ..Style::default() },
            "{}",
            act.escape_debug()
        );
        assert_eq!(first.ch, ' ');
    }
    let scrolled = fed(5, 2, "a\x1b[41m\r\n\n");
    assert_eq!(scrolled.view().cells(1).count(), 5, "a line that scrolls in is coloured too");
}

#[test]
fn links_and_underline_colours_belong_to_their_cells() {
    let screen = fed(20, 1, "a\x1b]8;id=7;https://example.org/\x07bc\x1b]8;;\x07d\x1b[58:5:9me\x1b[59mf");
    let view = screen.view();
    let cells: Vec<CellView<'_>> = view.cells(0).collect();
    let uris: Vec<&str> = cells.iter().map(|cell| cell.link.map_or("", |link| &link.uri)).collect();
    assert_eq!(uris, ["", "https://example.org/", "https://example.org/", "", "", ""]);
    assert_eq!(cells[1].link.expect("a link").id, "7");
    let colors: Vec<Color> = cells.iter().map(|cell| cell.underline_color).collect();
    assert_eq!(colors[3..], [Color::Default, Color::Indexed(9), Color::Default]);
}

#[test]
fn wide_cells_say_their_width_and_show_no_layout() {
    let screen = fed(9, 1, "\x1b[1m漢x");
    let view = screen.view();
    let cells: Vec<(char, u8, Attrs)> =
        view.cells(0).map(|cell| (cell.ch, cell.width, cell.style.attrs)).collect();
    assert_eq!(cells, [('漢', 2, Attrs::BOLD), ('x', 1, Attrs::BOLD)]);
}
