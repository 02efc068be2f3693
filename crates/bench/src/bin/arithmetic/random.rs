//! Arrays that nobody chose: random shapes without gaps, of two to six axes, in another order.

use fastrand::Rng;

/// A shape, and for each axis of the result which one of the shape it is.
pub struct Drawn {
    pub shape: Vec<usize>,
    pub axes: Vec<usize>,
}

/// An array of about so many elements: a matrix, one of few rows or columns, a batch of small ones, or one of three to six axes.
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
            let mut axes: Vec<usize> = (0..rank).collect();
            while axes.is_sorted() {
                rng.shuffle(&mut axes);
            }
            Drawn { shape: split(rng, elements, rank), axes }
        }
    }
}

/// A number between two, small ones as likely as ones of twice the size.
fn log_uniform(rng: &mut Rng, least: usize, most: usize) -> usize {
    let (least, most) = (least as f64, most as f64);
    (least * (most / least).powf(rng.f64())).round() as usize
}

/// Lengths whose product is about `elements`.
fn split(rng: &mut Rng, elements: usize, rank: usize) -> Vec<usize> {
    let mut cuts: Vec<f64> = (1..rank).map(|_| rng.f64()).collect();
    cuts.extend([0.0, 1.0]);
    cuts.sort_by(f64::total_cmp);
    let length = |cut: &[f64]| (elements as f64).powf(cut[1] - cut[0]).round().max(2.0) as usize;
    cuts.windows(2).map(length).collect()
}
