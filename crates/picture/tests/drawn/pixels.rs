//! Pictures: cells, lines that join, colours, files.

use abide_core::screen::theme::Theme;
use abide_picture::{Design, Painter, png};

use crate::common::{CELL, PADDING, cell, count, design, is_blank, painted, picture, read_png, screen};

fn text() -> [u8; 3] {
    Theme::ALL[0].foreground()
}

/// The edges of a cell on which there is ink: up, right, down, left.
fn edges(ch: char) -> [bool; 4] {
    let canvas = picture(&format!("\r\n {ch}"));
    let cell = cell(&canvas, 1, 1);
    let inked = |pixel: &[u8; 3]| *pixel != Theme::ALL[0].background();
    let column = |x: usize| cell.iter().any(|line| inked(&line[x]));
    [cell[0].iter().any(inked), column(CELL.0 - 1), cell[CELL.1 - 1].iter().any(inked), column(0)]
}

#[test]
fn lines_reach_exactly_the_edges_that_they_name() {
    let table = [
        ("─━═", [false, true, false, true]),
        ("│┃║", [true, false, true, false]),
        ("┌┏╔╭", [false, true, true, false]),
        ("┐┓╗╮", [false, false, true, true]),
        ("└┗╚╰", [true, true, false, false]),
        ("┘┛╝╯", [true, false, false, true]),
        ("├┣╠╞╟", [true, true, true, false]),
        ("┤┫╣╡╢", [true, false, true, true]),
        ("┬┳╦╤╥", [false, true, true, true]),
        ("┴┻╩╧╨", [true, true, false, true]),
        ("┼╋╬╪╫", [true; 4]),
        ("╴╸", [false, false, false, true]),
        ("╵╹", [true, false, false, false]),
    ];
    for (chars, expected) in table {
        for ch in chars.chars() {
            assert_eq!(edges(ch), expected, "{ch}");
        }
    }
}

#[test]
fn lines_of_neighbours_join_at_the_same_pixels() {
    // Two cells side by side, and two above each other: where one ends, the other begins.
    for (left, right) in ["──", "━━", "══", "╭╮", "╔╗", "┌─", "├┤", "╞╡"].map(pair)
    {
        let canvas = picture(&format!("{left}{right}"));
        let (one, other) = (cell(&canvas, 0, 0), cell(&canvas, 1, 0));
        for y in 0..CELL.1 {
            assert_eq!(one[y][CELL.0 - 1], other[y][0], "{left}{right} at line {y}");
        }
    }
    for (upper, lower) in ["││", "┃┃", "║║", "╭╰", "╔╚", "┬┴", "╥╨"].map(pair) {
        let canvas = picture(&format!("{upper}\r\n{lower}"));
        assert_eq!(cell(&canvas, 0, 0)[CELL.1 - 1], cell(&canvas, 0, 1)[0], "{upper} over {lower}");
    }
}

fn pair(two: &str) -> (char, char) {
    let mut chars = two.chars();
    (chars.next().unwrap(), chars.next().unwrap())
}

#[test]
fn blocks_fill_their_share_of_the_cell() {
    let whole = CELL.0 * CELL.1;
    for (ch, share) in [('█', whole), ('▀', whole / 2), ('▄', whole / 2), ('▌', whole / 2), ('▐', whole / 2)]
    {
        assert_eq!(count(&picture(&ch.to_string()), (0, 0), text()), share, "{ch}");
    }
    // A shade is one even colour between text and background.
    let shade = cell(&picture("▒"), 0, 0);
    assert!(shade.iter().flatten().all(|pixel| *pixel == shade[0][0]));
    assert!(shade[0][0] != text() && shade[0][0] != Theme::ALL[0].background());
    // A bar of eighths grows with each.
    let heights = "▁▂▃▄▅▆▇█".chars().map(|ch| count(&picture(&ch.to_string()), (0, 0), text()));
    assert!(heights.collect::<Vec<_>>().is_sorted_by(|a, b| a < b));
}

#[test]
fn braille_has_as_many_dots_as_the_character() {
    let ink =
        |ch: char| CELL.0 * CELL.1 - count(&picture(&ch.to_string()), (0, 0), Theme::ALL[0].background());
    let one = ink('⠁');
    assert!(one > 0 && ink('\u{2800}') == 0);
    assert!(ink('⣿') > 6 * one && ink('⠃') > one);
}

#[test]
fn colours_are_exactly_those_that_were_asked_for() {
    let canvas =
        picture("\x1b[48;2;1;2;3m \x1b[48;5;196m \x1b[0;38;2;9;8;7m█\x1b[0;31m█\x1b[0;7m \x1b[0;38;5;244m█");
    let whole = CELL.0 * CELL.1;
    let theme = &Theme::ALL[0];
    let expected = [[1, 2, 3], [255, 0, 0], [9, 8, 7], theme.indexed(1), text(), [128; 3]];
    for (col, color) in expected.into_iter().enumerate() {
        assert_eq!(count(&canvas, (col, 0), color), whole, "column {col}");
    }
    // What the program redefined outranks the theme.
    let canvas = picture("\x1b]4;1;#102030\x07\x1b]11;#405060\x07\x1b[31m█");
    assert_eq!(count(&canvas, (0, 0), [0x10, 0x20, 0x30]), whole);
    assert_eq!(canvas.rgb(0, 0), [0x40, 0x50, 0x60], "the padding has the background too");
}

#[test]
fn hidden_text_is_not_to_be_seen_and_dim_text_is_nearer_to_the_background() {
    let canvas = picture("\x1b[8mM\x1b[0m\x1b[2m█\x1b[0m");
    assert!(is_blank(&canvas, 0, 0));
    let dim = cell(&canvas, 1, 0)[0][0];
    let (back, full) = (Theme::ALL[0].background(), text());
    assert!((0..3).all(|channel| back[channel] < dim[channel] && dim[channel] < full[channel]), "{dim:?}");
}

#[test]
fn bold_italic_and_marks_change_the_shape() {
    let canvas = picture("a\x1b[1ma\x1b[0;3ma\x1b[1;3ma\x1b[0me e\u{301}");
    let shapes: Vec<_> = [0, 1, 2, 3, 4, 6].map(|col| cell(&canvas, col, 0)).to_vec();
    for (index, shape) in shapes.iter().enumerate() {
        assert!(shapes[index + 1..].iter().all(|other| other != shape), "shape {index}");
    }
    // A mark stands above its letter, which is the same below it.
    let (plain, marked) = (&shapes[4], &shapes[5]);
    assert_eq!(plain[CELL.1 / 2..], marked[CELL.1 / 2..]);
    assert_ne!(plain[..CELL.1 / 2], marked[..CELL.1 / 2]);
}

#[test]
fn a_letter_keeps_its_size_whatever_marks_it_has() {
    // Nobody has the first mark; the second is as wide as a letter in the only face that has it, where it stands below.
    let canvas = picture("Z Z\u{342} e e\u{332}");
    assert_eq!(cell(&canvas, 0, 0), cell(&canvas, 2, 0), "without a mark that cannot be drawn");
    let inked = |col: usize| {
        let lines = cell(&canvas, col, 0);
        lines.iter().filter(|line| line.iter().any(|pixel| *pixel != Theme::ALL[0].background())).count()
    };
    assert!(inked(6) > inked(4), "a line below the letter: {} and {}", inked(6), inked(4));
}

#[test]
fn a_wide_character_takes_two_cells_and_no_more() {
    let back = Theme::ALL[0].background();
    // One that is shipped in colour, and one that no font has when none is looked for.
    for (text, coloured) in [("a😀b", true), ("a漢b", false)] {
        let canvas = picture(text);
        assert!(!is_blank(&canvas, 1, 0) && !is_blank(&canvas, 2, 0), "{text}");
        let pixels = cell(&canvas, 1, 0).into_iter().chain(cell(&canvas, 2, 0)).flatten();
        let grey = |[r, g, b]: [u8; 3]| r.abs_diff(g) < 20 && g.abs_diff(b) < 20;
        assert_eq!(pixels.filter(|pixel| *pixel != back).any(|pixel| !grey(pixel)), coloured, "{text}");
        assert_eq!(cell(&canvas, 3, 0), cell(&picture("xxxb"), 3, 0), "the next cell is its own");
    }
}

#[test]
fn underlines_have_their_kinds_and_colours() {
    let red = [255, 0, 0];
    let kinds = (1..=5).map(|kind| {
        let canvas = picture(&format!("\x1b[4:{kind};58:2::255:0:0m \x1b[0m"));
        (cell(&canvas, 0, 0), count(&canvas, (0, 0), red))
    });
    let kinds: Vec<_> = kinds.collect();
    let [single, double, _, dotted, dashed] = [0, 1, 2, 3, 4].map(|index: usize| kinds[index].1);
    assert_eq!((single, double), (CELL.0, 2 * CELL.0));
    assert!(dotted < single && dashed < single && dotted > 0 && dashed > 0);
    for (index, (shape, _)) in kinds.iter().enumerate() {
        assert!(kinds[index + 1..].iter().all(|(other, _)| other != shape), "kind {}", index + 1);
        assert!(shape[..CELL.1 / 2].iter().flatten().all(|pixel| *pixel == Theme::ALL[0].background()));
    }
    // Strike and overline are elsewhere.
    assert_eq!(cell(&picture("\x1b[53m \x1b[0m"), 0, 0)[0], vec![text(); CELL.0]);
    let strike = cell(&picture("\x1b[9m \x1b[0m"), 0, 0);
    let line = strike.iter().position(|line| line[0] == text()).unwrap();
    assert!((CELL.1 / 3..CELL.1 * 2 / 3).contains(&line));
}

#[test]
fn the_cursor_has_the_shape_that_the_program_chose() {
    let with = |style: &str| painted(Design { cursor: true, ..design() }, &screen(12, 3, style));
    let ink = |style: &str| count(&with(style), (0, 0), Theme::ALL[0].cursor());
    let whole = CELL.0 * CELL.1;
    assert_eq!(ink(""), whole);
    assert_eq!(ink("\x1b[2 q"), whole);
    assert_eq!(ink("\x1b[4 q"), 2 * CELL.0);
    assert_eq!(ink("\x1b[6 q"), 2 * CELL.1);
    assert_eq!(ink("\x1b[?25l"), 0);
    // A letter under a block is to be read.
    assert!(count(&with("x\r"), (0, 0), Theme::ALL[0].background()) > 0);
    // Also on a cell that is about as light as the cursor, or about as dark.
    for (theme, ground) in [("catppuccin", 43), ("dark", 47), ("light", 40), ("solarized-light", 46)] {
        let theme = Theme::find(theme).expect("it is ours");
        let letter = painted(
            Design { cursor: true, theme, ..design() },
            &screen(12, 3, &format!("\x1b[{ground}m█\r")),
        );
        let ink = letter.rgb(PADDING + CELL.0 / 2, PADDING + CELL.1 / 2);
        let far = |(a, b): (&u8, &u8)| u32::from(a.abs_diff(*b));
        let apart: u32 = ink.iter().zip(&theme.cursor()).map(far).sum();
        assert!(apart > 150, "{ink:?} on {:?}", theme.cursor());
    }
}

#[test]
fn a_screen_of_another_size_is_cut_or_has_room_left() {
    let mut painter = Painter::new(design(), screen(4, 2, "").size());
    let size = (painter.canvas().width(), painter.canvas().height());
    assert_eq!(size, (4 * CELL.0 + 2 * PADDING, 2 * CELL.1 + 2 * PADDING));
    painter.paint(&screen(8, 4, "███████\r\n\r\n\r\n███").view());
    assert_eq!(count(painter.canvas(), (3, 0), text()), CELL.0 * CELL.1);
    painter.paint(&screen(2, 1, "██").view());
    assert!(
        !is_blank(painter.canvas(), 1, 0)
            && is_blank(painter.canvas(), 2, 0)
            && is_blank(painter.canvas(), 1, 1)
    );
    assert_eq!(size, (painter.canvas().width(), painter.canvas().height()));
}

#[test]
fn repainting_what_changed_gives_the_same_picture_as_painting_all() {
    let mut screen = screen(30, 6, "one\r\ntwo\r\nthree \x1b[31mred\x1b[0m");
    let mut painter = Painter::new(Design { cursor: true, ..design() }, screen.size());
    assert_eq!(painter.paint(&screen.view()).area, Some(painter.canvas().area()));
    assert_eq!(painter.paint(&screen.view()).area, None, "nothing has changed");
    for text in
        ["\r\n\r\n\r\n\r\nscrolled", "\x1b[H\x1b[4mover\x1b[0m", "\x1b]11;#102030\x07", "\x1b[2J", "漢😀é"]
    {
        let _ = screen.feed(text.as_bytes());
        painter.paint(&screen.view());
        assert_eq!(*painter.canvas(), painted(Design { cursor: true, ..design() }, &screen), "{text:?}");
    }
}

#[test]
fn a_scrolled_screen_says_by_how_much_it_moved() {
    let mut screen = screen(30, 5, "a\r\nb\r\nc\r\nd\r\ne");
    let mut painter = Painter::new(design(), screen.size());
    painter.paint(&screen.view());
    let mut then = |bytes: &str| {
        let _ = screen.feed(bytes.as_bytes());
        painter.paint(&screen.view()).moved
    };
    assert_eq!(then("\r\nf\r\ng"), 2 * CELL.1 as i32);
    assert_eq!(then("\x1b[H\x1bM"), -(CELL.1 as i32));
    assert_eq!(then("\x1b[5;1Hanother last line"), 0);
}

#[test]
fn a_png_file_holds_the_very_pixels() {
    // With a palette, and with more colours than one can hold.
    let many: String = (0..100)
        .map(|step| format!("\x1b[48;2;{step};{};9m \x1b[48;2;7;{step};{step}m \x1b[38;5;{step}mx", 2 * step))
        .collect();
    for text in ["few \x1b[32mcolours", &many] {
        let screen = screen(60, 6, text);
        let canvas = painted(design(), &screen);
        let lines = read_png(&png(&canvas));
        assert_eq!((lines.len(), lines[0].len()), (canvas.height(), canvas.width()));
        for (y, line) in lines.iter().enumerate() {
            for (x, pixel) in line.iter().enumerate() {
                assert_eq!(*pixel, canvas.rgb(x, y), "at {x} {y}");
            }
        }
    }
}

#[test]
fn a_picture_that_is_too_large_is_known_beforehand() {
    let size = |cols, rows| abide_core::screen::Size { cols, rows };
    let canvas = picture("");
    assert_eq!(design().measure(size(12, 3)), Some((canvas.width(), canvas.height())));
    assert_eq!(design().measure(size(1000, 1000)), None);
    assert!(Design { font_size: 6.0, ..design() }.measure(size(1000, 1000)).is_some());
}

#[test]
fn a_window_stands_around_the_same_text() {
    let plain = picture("inside");
    let window = Design { window: Some("title".to_owned()), ..design() };
    let framed = painted(window, &screen(12, 3, "inside"));
    assert!(framed.width() > plain.width() && framed.height() > plain.height());
    assert!(framed.width().is_multiple_of(2) && framed.height().is_multiple_of(2));
    let lines = |canvas: &abide_picture::Canvas| {
        (0..canvas.height()).map(|y| canvas.line(y).to_vec()).collect::<Vec<_>>()
    };
    let (whole, part) = (lines(&framed), lines(&plain));
    // The cells with their letters are there again, somewhere.
    let wanted: Vec<&[u32]> =
        part[PADDING..PADDING + CELL.1].iter().map(|line| &line[PADDING..PADDING + 6 * CELL.0]).collect();
    let found = (0..whole.len() - CELL.1).any(|y| {
        (0..framed.width() - 6 * CELL.0).any(|x| {
            wanted.iter().enumerate().all(|(line, wanted)| whole[y + line][x..x + 6 * CELL.0] == **wanted)
        })
    });
    assert!(found);
}
