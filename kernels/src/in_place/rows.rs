//! Rows shuffled on chip: the row permutations of the C2R/R2C decomposition.
//!
//! A block holds whole rows in shared memory and stores each in another order. With
//! `c = gcd(rows, cols)`, `a = rows / c`, `b = cols / c`, element `j` of row `i` comes from column
//!
//! - C2R: `(a⁻¹ · ⌊f / c⌋ mod b) + (f mod c) · b`, where `f = j + i · (cols − 1)`, plus `rows` if
//!   `i − (j mod c) > rows − c`, and `a⁻¹` is the inverse of `a` modulo `b`;
//! - R2C: `((i + ⌊j / b⌋) mod rows + j · rows) mod cols`.
//!
//! Source: Catanzaro, Keller and Garland, "A Decomposition for In-place Matrix Transposition" (PPoPP
//! 2014).

use super::divide::Divisor;
use super::sweep::sweep;
use crate::element::{Element, B16};
use crate::tile::shared_address;
use cuda_std::shared::dynamic_shared_mem;
use cuda_std::thread;

/// What the host says about the rows.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Words {
    /// Rows of the matrix.
    pub rows: u64,
    /// The multiplier of `rows`.
    pub rows_magic: u64,
    /// Columns of the matrix.
    pub cols: u64,
    /// The multiplier of `cols`.
    pub cols_magic: u64,
    /// `c`, the greatest common divisor of both.
    pub common: u64,
    /// The multiplier of `c`.
    pub common_magic: u64,
    /// `b = cols / c`.
    pub wide: u64,
    /// The multiplier of `b`.
    pub wide_magic: u64,
    /// The inverse of `rows / c` modulo `b`.
    pub inverse: u64,
    /// Rows that a block holds.
    pub block_rows: u64,
    /// 1 for R2C.
    pub backwards: u64,
}

impl Words {
    /// The column from which element `col` of row `row` comes.
    #[inline(always)]
    pub fn source(&self, row: u64, col: u64) -> u64 {
        let rows = Divisor { divisor: self.rows, magic: self.rows_magic };
        let cols = Divisor { divisor: self.cols, magic: self.cols_magic };
        let common = Divisor { divisor: self.common, magic: self.common_magic };
        let wide = Divisor { divisor: self.wide, magic: self.wide_magic };
        if self.backwards != 0 {
            let turned = rows.divide(row + wide.divide(col).0).1;
            return cols.divide(turned + col * self.rows).1;
        }
        let beyond = row + self.common > self.rows + common.divide(col).1;
        let f = col + row * (self.cols - 1) + if beyond { self.rows } else { 0 };
        let (quotient, remainder) = common.divide(f);
        // Reduced first: the product of two numbers below `b` cannot overflow.
        let quotient = wide.divide(quotient).1;
        wide.divide(self.inverse * quotient).1 + remainder * self.wide
    }
}

/// Shuffles the rows of this block.
///
/// # Safety
/// The obligations of the entry points.
#[inline(always)]
unsafe fn shuffle_rows<E: Element>(matrix: *mut E, _: *mut u32, words: Words) {
    // SAFETY: the launch has dynamic shared memory for the rows.
    let base = unsafe { shared_address(dynamic_shared_mem::<u8>()) };
    let first = thread::block_idx_x() as u64 * words.block_rows;
    let held = words.block_rows.min(words.rows - first);
    let elements = (held * words.cols) as u32;
    let along = 5 + (thread::block_dim_x() / 32).trailing_zeros();
    // SAFETY: the caller's obligations; these rows are this block's alone.
    let start = unsafe { matrix.add((first * words.cols) as usize) };
    let address = |index: u32| base + index * size_of::<E>() as u32;
    sweep(
        1,
        elements,
        along,
        // SAFETY: inside the rows.
        |_, at| unsafe { E::load(start.add(at as usize)) },
        // SAFETY: each place once, and a barrier follows.
        |_, at, element| unsafe { element.store_shared(address(at)) },
    );
    thread::sync_threads();
    let cols = Divisor { divisor: words.cols, magic: words.cols_magic };
    sweep(
        1,
        elements,
        along,
        |_, at| {
            let (row, col) = cols.divide(at as u64);
            let from = row * words.cols + words.source(first + row, col);
            // SAFETY: written before the barrier.
            unsafe { E::load_shared(address(from as u32)) }
        },
        // SAFETY: inside the rows, all of which have been read.
        |_, at, element| unsafe { element.store(start.add(at as usize)) },
    );
}

crate::in_place::in_place_entries! {
    "Shuffles rows as the C2R and R2C decompositions do.",
    shuffle_rows of Words { rows, rows_magic, cols, cols_magic, common, common_magic, wide, wide_magic,
        inverse, block_rows, backwards } =>
        rows_b1: u8; rows_b2: u16; rows_b4: u32; rows_b8: u64; rows_b16: B16
}
