//! Which ways to compute a move are wanted, and what is found of them.

use super::part::Part;

/// How many shapes of tile, and of box, are candidates.
pub(super) const SHAPES: usize = 6;

/// Which ways are asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    All,
    /// The best one; others may be left out.
    Best,
}

/// Ways to go.
pub(super) struct Ways {
    /// The best first.
    pub all: Vec<Vec<Part>>,
    /// What the best costs, unless it is of a kernel of matrices or interleaved channels that nothing else is as fast as, or goes by units of long runs.
    pub cost: Option<f64>,
}

impl Ways {
    /// Adds a way with its cost: the first of all if that is less than the `most` that it may be, or else the last.
    pub fn add(&mut self, (cost, parts): (f64, Vec<Part>), most: Option<f64>) {
        if most.is_some_and(|most| cost < most) {
            self.all.insert(0, parts);
            self.cost = Some(cost);
        } else {
            self.all.push(parts);
        }
    }
}
