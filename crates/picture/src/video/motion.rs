//! Motion: where in the picture before a macroblock is to be seen, and what a decoder expects of that from its neighbours.

/// By how many pixels what is shown lay lower in the picture before; negative for higher.
pub(super) type Motion = i32;

/// How each macroblock looks back, if it does.
#[derive(Debug)]
pub(super) struct Motions {
    columns: usize,
    motions: Vec<Option<Motion>>,
}

impl Motions {
    pub(super) fn new(columns: usize, rows: usize) -> Self {
        Self { columns, motions: vec![None; columns * rows] }
    }

    pub(super) fn len(&self) -> usize {
        self.motions.len()
    }

    /// The column and the row of a macroblock.
    pub(super) const fn place(&self, index: usize) -> (usize, usize) {
        (index % self.columns, index / self.columns)
    }

    pub(super) fn set(&mut self, index: usize, motion: Option<Motion>) {
        self.motions[index] = motion;
    }

    /// The neighbours left, above, and above at the right or else at the left; none for those that are not there.
    fn neighbours(&self, index: usize) -> [Option<Option<Motion>>; 3] {
        let (col, row) = self.place(index);
        let at = |there: bool, back: usize| there.then(|| self.motions[index - back]);
        let left = at(col > 0, 1);
        let above = at(row > 0, self.columns);
        let right = at(row > 0 && col + 1 < self.columns, self.columns.saturating_sub(1));
        let diagonal = right.or_else(|| at(row > 0 && col > 0, self.columns + 1));
        [left, above, diagonal]
    }

    /// The motion that a decoder expects.
    pub(super) fn expected(&self, index: usize) -> Motion {
        let neighbours = self.neighbours(index);
        if let [Some(left), None, None] = neighbours {
            return left.unwrap_or(0);
        }
        let motions = neighbours.map(Option::flatten);
        let mut known = motions.iter().flatten();
        if let (Some(only), None) = (known.next(), known.next()) {
            return *only;
        }
        let mut values = motions.map(|motion| motion.unwrap_or(0));
        values.sort_unstable();
        values[1]
    }

    /// The motion of a macroblock that is not told of.
    pub(super) fn of_skipped(&self, index: usize) -> Motion {
        match self.neighbours(index) {
            [None, ..] | [_, None, _] | [Some(Some(0)), ..] | [_, Some(Some(0)), _] => 0,
            [Some(_), Some(_), _] => self.expected(index),
        }
    }
}
