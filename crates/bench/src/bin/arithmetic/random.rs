//! Arrays that nobody chose: random shapes without gaps, of two to six axes, in another order.

use bench::sweep::{another_order, log_uniform, split};
use fastrand::Rng;

/// A shape, and for each axis of the result which one of the shape it is.
pub struct Drawn {
    pub shape: Vec<usize>,
    pub axes: Vec<usize>,
}

/// A random array of about `elements` elements: a matrix, a matrix of few rows or columns, a batch of small ones, or an array of three to six axes.
pub fn drawn(rng: &mut Rng, elements: usize) -> Drawn {
    match rng.usize(..4) {
        0 => Drawn { shape: split(rng, elements, 2), axes: vec![1, 0] },
        1 => {
            let few = log_uniform(rng, 2, 64);
            let mut shape = vec![few, elements / few];
            rng.shuffle(&mut shape);
            Drawn { shape, axes: vec![1, 0] }
        }
        2 => {
            let [rows, cols] = [(); 2].map(|()| log_uniform(rng, 4, 600));
            Drawn { shape: vec![(elements / rows / cols).max(1), rows, cols], axes: vec![0, 2, 1] }
        }
        _ => {
            let rank = rng.usize(3..=6);
            let axes = another_order(rng, rank);
            Drawn { shape: split(rng, elements, rank), axes }
        }
    }
}
