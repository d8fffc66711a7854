//! Reflow: the main screen in another width. Lines that were wrapped are joined and wrapped again, in the history
//! too; the cursor stays on its text, and lines move between screen and history so that it stays in sight.

use super::super::Size;
use super::super::watch::News;
use super::Grid;
use super::history::History;
use super::packed::Packed;
use super::row::Row;

/// A place in the text that must stay with it: the cursor, a saved cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Point {
    pub row: usize,
    pub col: usize,
    /// Behind the character in the last column.
    pub pending: bool,
}

/// A line of history or screen, decoded only when it must be.
enum Line {
    Packed(Packed),
    Row(Row),
}

impl Line {
    fn is_wrapped(&self) -> bool {
        match self {
            Self::Packed(packed) => packed.is_wrapped(),
            Self::Row(row) => row.wrapped,
        }
    }

    /// What a watcher has yet to be told of it, if anything.
    fn news(&self) -> Option<News> {
        match self {
            Self::Packed(_) => None,
            Self::Row(row) => Some(row.news).filter(|news| news.has_come()),
        }
    }

    fn row(self) -> Row {
        match self {
            Self::Packed(packed) => packed.row(),
            Self::Row(row) => row,
        }
    }

    fn packed(self) -> Packed {
        match self {
            Self::Packed(packed) => packed,
            Self::Row(row) => Packed::of(&row),
        }
    }

    /// The same line, if it surely has no more than so many cells.
    fn fits(&self, cols: usize) -> bool {
        match self {
            Self::Packed(packed) => packed.plain_len().is_some_and(|len| len <= cols),
            Self::Row(row) => row.used() <= cols,
        }
    }
}

/// Lines of the old width on their way to the new one, and the places to keep track of.
struct Wrapping<'a> {
    old_cols: usize,
    cols: usize,
    out: Vec<Line>,
    /// Rows of points count from the oldest line of history.
    points: &'a mut [Point],
}

impl Grid {
    /// Gives the main screen another size. The first point is the one that stays in sight. Gives what was news of the rows that
    /// went into the history, each with how many went there before it.
    pub(crate) fn reflow(
        &mut self,
        history: &mut History,
        size: Size,
        points: &mut [Point],
    ) -> Vec<(u64, News)> {
        let (rows, cols) = (usize::from(size.rows), usize::from(size.cols));
        let Some(anchor) = points.first().map(|point| point.row) else { return Vec::new() };
        let used = self.used().max(anchor + 1);
        let was_full = used == self.rows.len();
        let above = history.len();
        self.rows.truncate(used);
        let mut lines: Vec<Line> = history.take().into_iter().map(Line::Packed).collect();
        lines.extend(self.rows.drain(..).map(Line::Row));
        let mut tracked: Vec<Point> =
            points.iter().map(|point| Point { row: point.row.min(used - 1) + above, ..*point }).collect();
        tracked.push(Point { row: above, col: 0, pending: false });
        if cols != self.cols {
            let wrapping = Wrapping {
                old_cols: self.cols,
                cols,
                out: Vec::with_capacity(lines.len()),
                points: &mut tracked,
            };
            lines = wrapping.run(lines);
        }
        let old_top = tracked.pop().map_or(0, |top| top.row);
        let bottom = lines.len().saturating_sub(rows);
        let top = if was_full { bottom } else { old_top.max(bottom) };
        let top = top.min(tracked[0].row);

        for (point, tracked) in points.iter_mut().zip(&tracked) {
            point.row = tracked.row.saturating_sub(top).min(rows - 1);
            point.col = (tracked.col % MOVED).min(cols - 1);
            point.pending = tracked.pending;
        }
        let mut lines = lines.into_iter();
        let mut unseen = Vec::new();
        for (above, line) in (history.evicted()..).zip(lines.by_ref().take(top)) {
            unseen.extend(line.news().map(|news| (above, news)));
            history.push_packed(line.packed());
        }
        self.rows.extend(lines.take(rows).map(Line::row));
        self.rows.resize_with(rows, Row::default);
        self.cols = cols;
        if let Some(last) = self.rows.back_mut() {
            last.wrapped = false;
        }
        for point in points.iter().filter(|point| point.pending) {
            self.rows[point.row].short = false;
        }
        unseen
    }
}

impl Wrapping<'_> {
    fn run(mut self, lines: Vec<Line>) -> Vec<Line> {
        let mut group: Vec<Line> = Vec::new();
        let mut first = 0;
        let count = lines.len();
        for (index, line) in lines.into_iter().enumerate() {
            let goes_on = line.is_wrapped() && index + 1 < count;
            group.push(line);
            if goes_on {
                continue;
            }
            let lines = std::mem::take(&mut group);
            let len = lines.len();
            self.wrap(lines, first);
            first += len;
        }
        self.out
    }

    /// Wraps one line of text, which stood in the lines from `first` on.
    fn wrap(&mut self, lines: Vec<Line>, first: usize) {
        let count = lines.len();
        let mut offsets = Vec::with_capacity(count);
        let mut text = Row::default();
        match <[Line; 1]>::try_from(lines) {
            Ok([line]) if line.fits(self.cols) => {
                offsets.push(0);
                self.follow(first, &offsets, &[0]);
                self.out.push(line);
                return;
            }
            Ok([line]) => {
                offsets.push(0);
                text = line.row();
            }
            Err(lines) => {
                for line in lines {
                    let mut row = line.row();
                    // Where nothing stands, nothing of the line is new.
                    if row.used() > 0 {
                        text.news.join(row.news);
                    }
                    offsets.push(text.cells().len());
                    let len = match row.continues() {
                        (false, _) => row.used(),
                        (true, short) => self.old_cols - usize::from(short),
                    };
                    row.fill_to(len);
                    text.append(&row.cells()[..len], &row);
                }
            }
        }
        let starts = self.cut(&mut text);
        self.follow(first, &offsets, &starts);
        self.push_rows(&text, &starts);
    }

    /// Where each new row begins in the text. A wide character that fits in no row goes.
    fn cut(&self, text: &mut Row) -> Vec<usize> {
        let used = text.used();
        let mut starts = vec![0];
        let mut start = 0;
        while used - start > self.cols {
            let mut end = start + self.cols;
            if text.cell(end).is_tail() {
                end -= 1;
            }
            if end == start {
                text.erase(start, start + 2, super::cell::Cell::BLANK);
                text.fill_to(used);
                end += 1;
            }
            starts.push(end);
            start = end;
        }
        starts
    }

    fn push_rows(&mut self, text: &Row, starts: &[usize]) {
        let used = text.used();
        for (index, start) in starts.iter().enumerate() {
            let (end, goes_on) = starts.get(index + 1).map_or((used, false), |next| (*next, true));
            let mut row = Row::default();
            if *start < end {
                let end = end.min(text.cells().len());
                row.append(&text.cells()[(*start).min(end)..end], text);
            }
            row.news = text.news;
            row.wrapped = goes_on;
            row.short = goes_on && row.cells().len() < self.cols;
            if goes_on {
                row.fill_to(self.cols);
            }
            self.out.push(Line::Row(row));
        }
    }

    /// Moves the points of a line of text to its new rows.
    fn follow(&mut self, first: usize, offsets: &[usize], starts: &[usize]) {
        let (old_cols, cols, base) = (self.old_cols, self.cols, self.out.len());
        // The new rows are counted like the old ones, so a point that was moved already must be told apart.
        let old = first..first + offsets.len();
        for point in self.points.iter_mut().filter(|point| old.contains(&point.row) && point.col < MOVED) {
            let next = offsets.get(point.row - first + 1).copied().unwrap_or(usize::MAX);
            let col = point.col.min(old_cols) + usize::from(point.pending);
            let offset = (offsets[point.row - first] + col).min(next);
            let index = starts.partition_point(|start| *start <= offset).saturating_sub(1);
            let col = offset - starts[index];
            point.row = base + index;
            point.pending = point.pending && col == cols;
            point.col = col.min(cols - 1) + MOVED;
        }
    }
}

/// Added to the column of a point that has been moved, so that it is not moved twice.
const MOVED: usize = 1 << 20;
