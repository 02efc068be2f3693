//! The decomposition of a transposition into row and column permutations: C2R and R2C.
//!
//! Catanzaro, Keller and Garland, "A Decomposition for In-place Matrix Transposition" (PPoPP 2014).
//! With `c = gcd(rows, cols)`, `a = rows / c` and `b = cols / c`, C2R is
//!
//! 1. if `c > 1`, rotate columns: `A'[i][j] = A[(i + ⌊j / b⌋) mod rows][j]`. Then no two elements of
//!    a row belong to one column;
//! 2. shuffle rows: `A'[i][j] = A[i][row_source(i, j)]`;
//! 3. shuffle columns: `A'[i][j] = A[(q(i) + j) mod rows][j]`, `q(i) = (i·cols − ⌊i / a⌋) mod rows`.
//!
//! Read row by row, the memory then holds a `cols × rows` matrix: the transpose. R2C is the
//! inverse, steps and all; for a `cols × rows` view of the memory it transposes as well.

use crate::divide::gcd;

/// The inverse of `x` modulo `modulus`, which have no common divisor; 0 for a modulus of 1.
pub(super) fn inverse(x: usize, modulus: usize) -> usize {
    let (mut r, mut next_r) = (modulus as i128, (x % modulus) as i128);
    let (mut t, mut next_t) = (0i128, 1i128);
    while next_r != 0 {
        let quotient = r / next_r;
        (r, next_r) = (next_r, r - quotient * next_r);
        (t, next_t) = (next_t, t - quotient * next_t);
    }
    t.rem_euclid(modulus as i128) as usize
}

/// The numbers that the steps are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Decomposition {
    pub rows: usize,
    pub cols: usize,
    /// `c`
    pub common: usize,
    /// `a`
    pub rows_per_c: usize,
    /// `b`
    pub cols_per_c: usize,
    /// The inverse of `a` modulo `b`.
    pub rows_per_c_inverse: usize,
    /// The inverse of `b` modulo `a`.
    pub cols_per_c_inverse: usize,
}

impl Decomposition {
    pub fn new(rows: usize, cols: usize) -> Self {
        let common = gcd(rows, cols);
        let (rows_per_c, cols_per_c) = (rows / common, cols / common);
        let (rows_per_c_inverse, cols_per_c_inverse) =
            (inverse(rows_per_c, cols_per_c), inverse(cols_per_c, rows_per_c));
        Decomposition {
            rows,
            cols,
            common,
            rows_per_c,
            cols_per_c,
            rows_per_c_inverse,
            cols_per_c_inverse,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Decomposition, gcd, inverse};
    use proptest::prelude::{prop_assert, prop_assert_eq, proptest};

    impl Decomposition {
        /// The row that a rotated column takes its row `i` from.
        fn rotated(&self, i: usize, j: usize) -> usize {
            (i + j / self.cols_per_c) % self.rows
        }

        /// The column that row `i` takes its element `j` from, C2R.
        fn row_source(&self, i: usize, j: usize) -> usize {
            let beyond = i + self.common > self.rows + j % self.common;
            let f = j as u128
                + i as u128 * (self.cols as u128 - 1)
                + if beyond { self.rows as u128 } else { 0 };
            let (c, b) = (self.common as u128, self.cols_per_c as u128);
            ((self.rows_per_c_inverse as u128 * (f / c) % b) + f % c * b) as usize
        }

        /// The column from which R2C takes element `j` of row `i`.
        fn row_source_back(&self, i: usize, j: usize) -> usize {
            ((self.rotated(i, j) as u128 + j as u128 * self.rows as u128) % self.cols as u128)
                as usize
        }

        fn q(&self, i: usize) -> usize {
            ((i as u128 * self.cols as u128 - (i / self.rows_per_c) as u128) % self.rows as u128)
                as usize
        }

        fn q_inverse(&self, i: usize) -> usize {
            let (c, a) = (self.common as u128, self.rows_per_c as u128);
            let i = i as u128;
            (((c - 1) * i % c) * a + i.div_ceil(c) * self.cols_per_c_inverse as u128 % a) as usize
        }

        fn gather(&self, data: &mut [usize], from: impl Fn(usize, usize) -> (usize, usize)) {
            let old = data.to_vec();
            for i in 0..self.rows {
                for j in 0..self.cols {
                    let (row, col) = from(i, j);
                    data[i * self.cols + j] = old[row * self.cols + col];
                }
            }
        }

        fn c2r(&self, data: &mut [usize]) {
            self.gather(data, |i, j| (self.rotated(i, j), j));
            self.gather(data, |i, j| (i, self.row_source(i, j)));
            self.gather(data, |i, j| ((self.q(i) + j) % self.rows, j));
        }

        fn r2c(&self, data: &mut [usize]) {
            let back = |i: usize, j: usize| (i + self.rows - j % self.rows) % self.rows;
            self.gather(data, |i, j| (self.q_inverse(back(i, j)), j));
            self.gather(data, |i, j| (i, self.row_source_back(i, j)));
            self.gather(data, |i, j| {
                ((i + self.rows - j / self.cols_per_c % self.rows) % self.rows, j)
            });
        }
    }

    #[test]
    fn both_directions_transpose_all_shapes() {
        for rows in 1..=64 {
            for cols in 1..=64 {
                let transposed: Vec<_> =
                    (0..rows * cols).map(|k| k % rows * cols + k / rows).collect();
                let mut data: Vec<_> = (0..rows * cols).collect();
                Decomposition::new(rows, cols).c2r(&mut data);
                assert_eq!(data, transposed, "C2R {rows} × {cols}");
                let mut data: Vec<_> = (0..rows * cols).collect();
                Decomposition::new(cols, rows).r2c(&mut data);
                assert_eq!(data, transposed, "R2C {rows} × {cols}");
            }
        }
    }

    proptest! {
        /// The maps of large shapes are inverse to each other, at 128 bits.
        #[test]
        fn large_shapes(
            rows in 1usize..1 << 31, cols in 1usize..1 << 31, common in 1usize..1 << 12,
            i: usize, j: usize,
        ) {
            let (rows, cols) = ((rows / common).max(1) * common, (cols / common).max(1) * common);
            let d = Decomposition::new(rows, cols);
            let (i, j) = (i % rows, j % cols);
            prop_assert_eq!(d.q_inverse(d.q(i)), i);
            prop_assert_eq!(d.row_source(i, d.row_source_back(i, j)), j);
            prop_assert!(d.row_source(i, j) < cols);
        }

        #[test]
        fn inverses(x in 1usize..1 << 40, modulus in 1usize..1 << 40) {
            let common = gcd(x, modulus);
            let (x, modulus) = (x / common, modulus / common);
            let product = x as u128 * inverse(x, modulus) as u128;
            prop_assert_eq!(product % modulus as u128, 1 % modulus as u128);
        }
    }
}
