//! Lines and boxes (U+2500 to U+257F): four arms from the middle of the cell to its edges, each with a weight.

use super::{Cell, Figure};

/// How far along a quarter circle the handles of a curve lie.
const ROUND: f32 = 0.552_28;

/// The arms of each character: up, right, down, left; `1` light, `2` heavy, `3` double. Dashes, arcs and diagonals
/// have none.
const ARMS: &str = "\
    0101 0202 1010 2020 0000 0000 0000 0000 0000 0000 0000 0000 0110 0210 0120 0220 \
    0011 0012 0021 0022 1100 1200 2100 2200 1001 1002 2001 2002 1110 1210 2110 1120 \
    2120 2210 1220 2220 1011 1012 2011 1021 2021 2012 1022 2022 0111 0112 0211 0212 \
    0121 0122 0221 0222 1101 1102 1201 1202 2101 2102 2201 2202 1111 1112 1211 1212 \
    2111 1121 2121 2112 2211 1122 1221 2212 1222 2122 2221 2222 0000 0000 0000 0000 \
    0303 3030 0310 0130 0330 0013 0031 0033 1300 3100 3300 1003 3001 3003 1310 3130 \
    3330 1013 3031 3033 0313 0131 0333 1303 3101 3303 1313 3131 3333 0000 0000 0000 \
    0000 0000 0000 0000 0001 1000 0100 0010 0002 2000 0200 0020 0201 1020 0102 2010";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Weight {
    None,
    Light,
    Heavy,
    Double,
}

/// From where to where, along one side of the cell.
type Span = (usize, usize);

/// One side of the cell, and the lines that cross it in the middle.
#[derive(Debug, Clone, Copy)]
struct Side {
    len: usize,
    line: usize,
}

impl Side {
    const fn heavy(&self) -> usize {
        2 * self.line + self.line % 2
    }

    const fn middle(&self, thick: usize) -> Span {
        let start = self.len.saturating_sub(thick) / 2;
        (start, start + thick)
    }

    /// The two lines of a double one.
    const fn double(&self) -> [Span; 2] {
        let (start, end) = self.middle(3 * self.line);
        [(start, start + self.line), (end - self.line, end)]
    }

    /// As it is seen from the other end.
    const fn mirrored(&self, (start, end): Span) -> Span {
        (self.len - end, self.len - start)
    }
}

/// An arm with what it may meet in the middle.
struct Arm {
    weight: Weight,
    opposite: Weight,
    /// The arms that cross it: at the low side of the cell, and at the high side.
    crossing: [Weight; 2],
    /// It begins at the far edge.
    far: bool,
}

impl Arm {
    /// Its lines: where each lies across, and how far it reaches from its own edge.
    fn lines(&self, along: Side, across: Side) -> Vec<(Span, usize)> {
        match self.weight {
            Weight::None => Vec::new(),
            Weight::Light => vec![(across.middle(across.line), self.reach(along))],
            Weight::Heavy => vec![(across.middle(across.heavy()), self.reach(along))],
            Weight::Double => {
                let [low, high] = across.double();
                let [before, after] = self.crossing;
                vec![
                    (low, self.reach_double(along, before, after)),
                    (high, self.reach_double(along, after, before)),
                ]
            }
        }
    }

    /// How far a single line goes.
    fn reach(&self, along: Side) -> usize {
        let [before, after] = self.crossing;
        let reach = |weight| match weight {
            Weight::None => along.len.div_ceil(2),
            Weight::Light => self.end(along, along.middle(along.line)),
            Weight::Heavy => self.end(along, along.middle(along.heavy())),
            // It ends at the first line it meets, unless that would leave a corner open.
            Weight::Double if before == after && self.opposite == Weight::None => self.double(along)[0],
            Weight::Double => self.double(along)[1],
        };
        match (before, after) {
            (Weight::None, Weight::None) => reach(Weight::None),
            (Weight::None, other) | (other, Weight::None) => reach(other),
            (before, after) => reach(before).max(reach(after)),
        }
    }

    /// How far one line of a double arm goes, by what crosses at its own side and at the other one.
    fn reach_double(&self, along: Side, own: Weight, other: Weight) -> usize {
        match (own, other) {
            (Weight::Double, _) => self.double(along)[0],
            (Weight::None, Weight::Double) => self.double(along)[1],
            (Weight::None, Weight::None) => along.len.div_ceil(2),
            (Weight::Heavy, _) | (Weight::None, Weight::Heavy) => {
                self.end(along, along.middle(along.heavy()))
            }
            (Weight::Light, _) | (Weight::None, Weight::Light) => self.end(along, along.middle(along.line)),
        }
    }

    /// Where the lines of a crossing double one end, the nearer first.
    fn double(&self, along: Side) -> [usize; 2] {
        let [first, second] = along.double();
        let (near, far) = if self.far { (second, first) } else { (first, second) };
        [self.end(along, near), self.end(along, far)]
    }

    fn end(&self, along: Side, span: Span) -> usize {
        if self.far { along.mirrored(span).1 } else { span.1 }
    }
}

pub(super) fn figure(ch: char, cell: Cell) -> Figure {
    match ch {
        '\u{2504}'..='\u{250B}' | '\u{254C}'..='\u{254F}' => dashes(ch, cell),
        '\u{256D}'..='\u{2570}' => arc(ch, cell),
        '\u{2571}'..='\u{2573}' => diagonal(ch, cell),
        _ => arms(ch, cell),
    }
}

/// The horizontal scan lines of the VT100.
pub(super) fn scan(ch: char, cell: Cell) -> Figure {
    let step = (u32::from(ch) - 0x23BA) as usize;
    let top = [0, cell.height / 4, cell.height * 3 / 4, cell.height - cell.line][step];
    Figure::boxes([[0, top, cell.width, top + cell.line]])
}

fn weights(ch: char) -> [Weight; 4] {
    let index = (u32::from(ch) - 0x2500) as usize;
    let digits = ARMS.as_bytes().get(5 * index..5 * index + 4).unwrap_or_default();
    let weight = |at: usize| match digits.get(at) {
        Some(b'1') => Weight::Light,
        Some(b'2') => Weight::Heavy,
        Some(b'3') => Weight::Double,
        Some(_) | None => Weight::None,
    };
    [weight(0), weight(1), weight(2), weight(3)]
}

fn arms(ch: char, cell: Cell) -> Figure {
    let [up, right, down, left] = weights(ch);
    let wide = Side { len: cell.width, line: cell.line };
    let high = Side { len: cell.height, line: cell.line };
    let upright = [(up, down, false), (down, up, true)];
    let level = [(left, right, false), (right, left, true)];
    let mut boxes = Vec::new();
    for (weight, opposite, far) in upright {
        let arm = Arm { weight, opposite, crossing: [left, right], far };
        for ((start, end), reach) in arm.lines(high, wide) {
            let (top, bottom) = if far { (high.len - reach, high.len) } else { (0, reach) };
            boxes.push([start, top, end, bottom]);
        }
    }
    for (weight, opposite, far) in level {
        let arm = Arm { weight, opposite, crossing: [up, down], far };
        for ((start, end), reach) in arm.lines(wide, high) {
            let (from, to) = if far { (wide.len - reach, wide.len) } else { (0, reach) };
            boxes.push([from, start, to, end]);
        }
    }
    Figure::boxes(boxes)
}

/// Two, three or four dashes across the cell, so that those of neighbours are as far apart.
fn dashes(ch: char, cell: Cell) -> Figure {
    let number = u32::from(ch);
    let count = match number {
        0x2504..=0x2507 => 3,
        0x2508..=0x250B => 4,
        _ => 2,
    };
    let (heavy, upright) = (number % 2 == 1, number % 4 >= 2);
    let (len, across) = if upright { (cell.height, cell.width) } else { (cell.width, cell.height) };
    let across = Side { len: across, line: cell.line };
    let (low, high) = across.middle(if heavy { across.heavy() } else { across.line });
    let gap = (len / (3 * count)).max(1);
    Figure::boxes((0..count).map(|index| {
        let (from, to) = (index * len / count + gap / 2, (index + 1) * len / count - gap.div_ceil(2));
        if upright { [low, from, high, to] } else { [from, low, to, high] }
    }))
}

/// A corner that is round.
fn arc(ch: char, cell: Cell) -> Figure {
    let half = cell.line as f32 / 2.0;
    let middle = |len| Side { len, line: cell.line }.middle(cell.line).0 as f32 + half;
    let (x, y) = (middle(cell.width), middle(cell.height));
    let (right, down) = (matches!(ch, '╭' | '╰'), matches!(ch, '╭' | '╮'));
    let (edge_x, edge_y) =
        (if right { cell.width as f32 } else { 0.0 }, if down { cell.height as f32 } else { 0.0 });
    let radius = (edge_x - x).abs().min((edge_y - y).abs());
    let (dx, dy) = (if right { radius } else { -radius }, if down { radius } else { -radius });
    let near = 1.0 - ROUND;
    Figure::Drawn(
        format!(
            "M{x} {edge_y}L{x} {}C{x} {} {} {y} {} {y}L{edge_x} {y}",
            y + dy,
            y + dy * near,
            x + dx * near,
            x + dx
        ),
        cell.line as f32,
    )
}

fn diagonal(ch: char, cell: Cell) -> Figure {
    let (w, h) = (cell.width, cell.height);
    let rising = format!("M0 {h}L{w} 0");
    let falling = format!("M0 0L{w} {h}");
    let path = match ch {
        '╱' => rising,
        '╲' => falling,
        _ => rising + &falling,
    };
    Figure::Drawn(path, cell.line as f32)
}
