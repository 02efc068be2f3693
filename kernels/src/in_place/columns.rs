//! Columns rotated and shuffled on chip: the column permutations of the C2R/R2C decomposition.
//!
//! A *strip* is some neighbouring columns, held in shared memory by one block or, in parts of
//! consecutive rows, by several (see `group`). With `a = rows / c`, `b = cols / c` for
//! `c = gcd(rows, cols)`, column `j` of the result is one of
//!
//! - rotation: `A'[i][j] = A[(i + ⌊j / b⌋) mod rows][j]`, or its inverse;
//! - shuffle: `A'[i][j] = A[(q(i) + j) mod rows][j]`, or its inverse.
//!
//! Neighbouring columns differ by a rotation of one row at most, so the strip moves almost as
//! whole rows: the element `(i + d(j), j)`, with `d` the rotation within the strip, goes to row
//! `to(i)`, the same for all columns of the strip. A part also loads the few rows beyond its end
//! that the rotations within the strip reach.

use super::group::Group;
use super::sweep::sweep;
use crate::divide::{less_once, Divisor32, Factor};
use crate::element::{Element, B16};
use crate::tile::shared_address;
use cuda_std::shared::dynamic_shared_mem;
use kernel_abi::in_place::{Columns, ALONG, BACKWARDS, SHUFFLE};

/// The row to which the strip that begins at `col` moves its row `row`.
#[inline(always)]
fn target(params: &Columns, row: u32, col: u32) -> u32 {
    let (rows, common) = (params.rows.divisor as u32, Divisor32::from(params.common));
    // There are no more columns than rows, and columns are rotated by less than their number.
    let rotated = less_once(row + (rows - rotation(params, col)), rows);
    if params.mode & SHUFFLE == 0 {
        return rotated;
    }
    // `(c − 1) · rotated mod c`, and `⌊(rotated + c − 1) / c⌋`, of which the product is wanted modulo `a`.
    let (quotient, rest) = common.divide(rotated);
    let (block, within) =
        if rest == 0 { (0, quotient) } else { (common.divisor - rest, quotient + 1) };
    let rows_per_c = params.rows_per_c as u32;
    block * rows_per_c + Factor::from(params.inverse).times(within, rows_per_c)
}

/// How far a column is rotated.
#[inline(always)]
fn rotation(params: &Columns, col: u32) -> u32 {
    if params.mode & SHUFFLE != 0 {
        col
    } else {
        Divisor32::from(params.cols_per_c).divide(col).0
    }
}

/// Permutes the parts of strips that this block takes.
///
/// # Safety
/// The obligations of the entry points.
#[inline(always)]
unsafe fn columns<E: Element>(matrix: *mut E, scratch: *mut u32, params: Columns) {
    // SAFETY: the launch has dynamic shared memory for a part.
    let base = unsafe { shared_address(dynamic_shared_mem::<u8>()) };
    let parts = (params.rows.divisor as u32).div_ceil(params.part_rows as u32);
    let strips = (params.cols as u32).div_ceil(params.strip as u32);
    let group = Group { counters: scratch, parts, waits: parts > 1 };
    // SAFETY: all threads are here; the launch is cooperative if blocks wait. The other obligations are the caller's.
    unsafe {
        group.each_part(strips, base, |strip, part| {
            part_of_strip(matrix, base, group, &params, strip, part)
        })
    }
}

/// Permutes a part of a strip.
///
/// # Safety
/// The obligations of the entry points; all threads of the block call it together, with nothing in shared memory.
#[inline(always)]
unsafe fn part_of_strip<E: Element>(
    matrix: *mut E,
    base: u32,
    group: Group,
    params: &Columns,
    number: u32,
    part: u32,
) {
    let (cols, strip) = (params.cols as u32, params.strip as u32);
    let (modulo, part_rows) = (Divisor32::from(params.rows), params.part_rows as u32);
    let rows = modulo.divisor;
    let first_col = number * strip;
    let width = strip.min(cols - first_col);
    let first_row = part * part_rows;
    let part_rows = part_rows.min(rows - first_row);
    let backwards = params.mode & BACKWARDS != 0;

    let first_rotation = rotation(params, first_col);
    let reach = rotation(params, first_col + width - 1) - first_rotation;
    // Forwards the strip is loaded in order and stored permuted; backwards the other way round.
    let load_row = |k: u32| {
        if backwards {
            let row = modulo.divide(first_row + rows * 2 + k - reach).1;
            target(params, row, first_col)
        } else {
            modulo.divide(first_row + k).1
        }
    };
    let store_row = |k: u32| {
        let row = first_row + k;
        if backwards {
            row
        } else {
            target(params, row, first_col)
        }
    };
    let held_row = |k: u32, x: u32| {
        let rotation = rotation(params, first_col + x) - first_rotation;
        if backwards {
            k + reach - rotation
        } else {
            k + rotation
        }
    };
    let address = |k: u32, x: u32| base + (k * width + x) * size_of::<E>() as u32;
    let along = params.mode as u32 >> ALONG;
    let place = |row: u32, x: u32| {
        // SAFETY: inside the strip.
        unsafe { matrix.add((row as u64 * cols as u64 + (first_col + x) as u64) as usize) }
    };
    sweep(
        part_rows + reach,
        width,
        along,
        // SAFETY: the caller's obligations.
        |k, x| unsafe { E::load(place(load_row(k), x)) },
        // SAFETY: each place once, and the barrier of `loaded` follows.
        |k, x, element| unsafe { element.store_shared(address(k, x)) },
    );
    // SAFETY: all threads are here; there is a counter per strip.
    unsafe { group.loaded(number, false) };
    sweep(
        part_rows,
        width,
        along,
        // SAFETY: written before the barrier.
        |k, x| unsafe { E::load_shared(address(held_row(k, x), x)) },
        // SAFETY: the whole strip has been read.
        |k, x, element| unsafe { element.store(place(store_row(k), x)) },
    );
}

crate::in_place::in_place_entries! {
    "Rotates and shuffles columns as the C2R and R2C decompositions do.",
    COLUMNS: Columns, columns =>
        columns_b1: u8; columns_b2: u16; columns_b4: u32; columns_b8: u64; columns_b16: B16
}
