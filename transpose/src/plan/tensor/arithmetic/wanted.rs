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
