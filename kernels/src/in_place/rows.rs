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

use super::sweep::sweep;
use crate::divide::Divisor;
use crate::element::{Element, B16};
use crate::tile::shared_address;
use cuda_std::shared::dynamic_shared_mem;
use cuda_std::thread;
use kernel_abi::in_place::{Rows, Shuffle};

/// The column from which element `col` of row `row` comes.
#[inline(always)]
pub fn source(shuffle: &Shuffle, row: u64, col: u64) -> u64 {
    let (rows, cols) = (Divisor::from(shuffle.rows), Divisor::from(shuffle.cols));
    let (common, cols_per_c) = (Divisor::from(shuffle.common), Divisor::from(shuffle.cols_per_c));
    if shuffle.backwards != 0 {
        let rotated = rows.divide(row + cols_per_c.divide(col).0).1;
        return cols.divide(rotated + col * rows.divisor).1;
    }
    let beyond = row + common.divisor > rows.divisor + common.divide(col).1;
    let f = col + row * (cols.divisor - 1) + if beyond { rows.divisor } else { 0 };
    let (quotient, remainder) = common.divide(f);
    // Reduced first: the product of two numbers below `b` cannot overflow.
    let quotient = cols_per_c.divide(quotient).1;
    cols_per_c.divide(shuffle.inverse * quotient).1 + remainder * cols_per_c.divisor
}

/// Shuffles the rows of this block.
///
/// # Safety
/// The obligations of the entry points.
#[inline(always)]
unsafe fn shuffle_rows<E: Element>(matrix: *mut E, _: *mut u32, params: Rows) {
    let (shuffle, cols) = (params.shuffle, Divisor::from(params.shuffle.cols));
    // SAFETY: the launch has dynamic shared memory for the rows.
    let base = unsafe { shared_address(dynamic_shared_mem::<u8>()) };
    let first = thread::block_idx_x() as u64 * params.block_rows;
    let held = params.block_rows.min(shuffle.rows.divisor - first);
    let elements = (held * cols.divisor) as u32;
    let along = 5 + (thread::block_dim_x() / 32).trailing_zeros();
    // SAFETY: the caller's obligations; these rows are this block's alone.
    let start = unsafe { matrix.add((first * cols.divisor) as usize) };
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
    sweep(
        1,
        elements,
        along,
        |_, at| {
            let (row, col) = cols.divide(at as u64);
            let from = row * cols.divisor + source(&shuffle, first + row, col);
            // SAFETY: written before the barrier.
            unsafe { E::load_shared(address(from as u32)) }
        },
        // SAFETY: inside the rows, all of which have been read.
        |_, at, element| unsafe { element.store(start.add(at as usize)) },
    );
}

crate::in_place::in_place_entries! {
    "Shuffles rows as the C2R and R2C decompositions do.",
    ROWS: Rows, shuffle_rows =>
        rows_b1: u8; rows_b2: u16; rows_b4: u32; rows_b8: u64; rows_b16: B16
}
