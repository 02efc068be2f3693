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
use crate::divide::{less_once, Divisor32, Factor};
use crate::element::{Element, B16};
use crate::tile::shared_address;
use cuda_std::shared::dynamic_shared_mem;
use cuda_std::thread;
use kernel_abi::in_place::{Rows, Shuffle};

/// The column from which element `col` of row `row` comes.
#[inline(always)]
pub fn source(shuffle: &Shuffle, row: u32, col: u32) -> u32 {
    let (rows, cols) = (shuffle.rows as u32, Divisor32::from(shuffle.cols));
    let cols_per_c = Divisor32::from(shuffle.cols_per_c);
    if shuffle.backwards != 0 {
        let rotated = less_once(row + cols_per_c.divide(col).0, rows);
        let across = Factor::from(shuffle.rows_factor).times(col, cols.divisor);
        return cols.divide(rotated + across).1;
    }
    let common = Divisor32::from(shuffle.common);
    let beyond = row + common.divisor > rows + common.divide(col).1;
    // Modulo `cols`, which is `b · c`: that changes neither `f mod c` nor `⌊f / c⌋ mod b`, and `cols − 1` is −1 there. A
    // multiple of `cols` that is not below `rows` keeps it positive.
    let above = rows + cols.divisor - cols.divide(rows).1;
    let f = col + above - row + if beyond { rows } else { 0 };
    let (quotient, remainder) = common.divide(cols.divide(f).1);
    let inverse = Factor::from(shuffle.inverse);
    inverse.times(quotient, cols_per_c.divisor) + remainder * cols_per_c.divisor
}

/// Shuffles the rows of this block.
///
/// # Safety
/// The obligations of the entry points.
#[inline(always)]
unsafe fn shuffle_rows<E: Element>(matrix: *mut E, _: *mut u32, params: Rows) {
    let (shuffle, cols) = (params.shuffle, Divisor32::from(params.shuffle.cols));
    // SAFETY: the launch has dynamic shared memory for the rows.
    let base = unsafe { shared_address(dynamic_shared_mem::<u8>()) };
    let first = thread::block_idx_x() as u64 * params.block_rows;
    let held = params.block_rows.min(shuffle.rows - first);
    let elements = held as u32 * cols.divisor;
    let along = 5 + (thread::block_dim_x() / 32).trailing_zeros();
    // SAFETY: the caller's obligations; these rows are this block's alone.
    let start = unsafe { matrix.add((first * cols.divisor as u64) as usize) };
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
            let (row, col) = cols.divide(at);
            let from = row * cols.divisor + source(&shuffle, first as u32 + row, col);
            // SAFETY: written before the barrier.
            unsafe { E::load_shared(address(from)) }
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
