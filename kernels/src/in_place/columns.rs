//! Columns rotated and shuffled on chip: the column permutations of the C2R/R2C decomposition.
//!
//! A *strip* is some neighbouring columns, held in shared memory by one block or, in parts of
//! consecutive rows, by several (see `group`). With `a = rows / c`, `b = cols / c` for
//! `c = gcd(rows, cols)`, column `j` of the result is one of
//!
//! - turn: `A'[i][j] = A[(i + ⌊j / b⌋) mod rows][j]`, or its inverse;
//! - shuffle: `A'[i][j] = A[(q(i) + j) mod rows][j]`, or its inverse.
//!
//! Neighbouring columns differ by a turn of one row at most, so the strip moves almost as
//! whole rows: the element `(i + d(j), j)`, with `d` the turn within the strip, goes to row
//! `to(i)`, the same for all columns of the strip. A part also loads the few rows beyond its end
//! that the turns within the strip reach.

use super::divide::Divisor;
use super::group::Group;
use super::sweep::sweep;
use crate::element::{Element, B16};
use crate::tile::shared_address;
use cuda_std::shared::dynamic_shared_mem;

/// What the host says about the columns.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Words {
    /// Rows of the matrix.
    pub rows: u64,
    /// The multiplier of `rows`.
    pub rows_magic: u64,
    /// Columns of the matrix.
    pub cols: u64,
    /// Columns of a strip.
    pub strip: u64,
    /// Rows of a part.
    pub part_rows: u64,
    /// `c`, the greatest common divisor of rows and columns.
    pub common: u64,
    /// The multiplier of `c`.
    pub common_magic: u64,
    /// `a = rows / c`.
    pub tall: u64,
    /// The multiplier of `a`.
    pub tall_magic: u64,
    /// `b = cols / c`.
    pub wide: u64,
    /// The multiplier of `b`.
    pub wide_magic: u64,
    /// The inverse of `b` modulo `a`.
    pub inverse: u64,
    /// [`SHUFFLE`], [`BACKWARDS`], and from bit 8 log2 of the threads along a strip's row.
    pub mode: u64,
}

/// Shuffle; otherwise turn.
const SHUFFLE: u64 = 1;
/// The inverse.
const BACKWARDS: u64 = 2;

impl Words {
    /// The row to which the strip that begins at `col` moves its row `row`.
    #[inline(always)]
    fn target(&self, row: u64, col: u64) -> u64 {
        let rows = Divisor { divisor: self.rows, magic: self.rows_magic };
        let common = Divisor { divisor: self.common, magic: self.common_magic };
        let tall = Divisor { divisor: self.tall, magic: self.tall_magic };
        let turned = rows.divide(row + self.rows - rows.divide(self.turn(col)).1).1;
        if self.mode & SHUFFLE == 0 {
            return turned;
        }
        let block = common.divide((self.common - 1) * turned).1;
        let within = tall.divide(common.divide(self.common - 1 + turned).0).1;
        block * self.tall + tall.divide(within * self.inverse).1
    }

    /// How far a column is turned.
    #[inline(always)]
    fn turn(&self, col: u64) -> u64 {
        if self.mode & SHUFFLE != 0 {
            col
        } else {
            Divisor { divisor: self.wide, magic: self.wide_magic }.divide(col).0
        }
    }
}

/// Permutes the parts of strips that this block takes.
///
/// # Safety
/// The obligations of the entry points.
#[inline(always)]
unsafe fn columns<E: Element>(matrix: *mut E, scratch: *mut u32, words: Words) {
    // SAFETY: the launch has dynamic shared memory for a part.
    let base = unsafe { shared_address(dynamic_shared_mem::<u8>()) };
    let parts = (words.rows as u32).div_ceil(words.part_rows as u32);
    let strips = (words.cols as u32).div_ceil(words.strip as u32);
    let group = Group { counters: scratch, parts, waits: parts > 1 };
    // SAFETY: all threads are here; the launch is cooperative if blocks wait. The other obligations are the caller's.
    unsafe {
        group.each_part(strips, base, |strip, part| {
            part_of_strip(matrix, base, group, &words, strip, part)
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
    words: &Words,
    number: u32,
    part: u32,
) {
    let Words { rows, cols, strip, part_rows, .. } = *words;
    let first_col = number as u64 * strip;
    let width = strip.min(cols - first_col) as u32;
    let first_row = part as u64 * part_rows;
    let part_rows = part_rows.min(rows - first_row) as u32;
    let backwards = words.mode & BACKWARDS != 0;

    let modulo = Divisor { divisor: rows, magic: words.rows_magic };
    let first_turn = words.turn(first_col);
    let reach = (words.turn(first_col + width as u64 - 1) - first_turn) as u32;
    // Forwards the strip is loaded in order and stored permuted; backwards the other way round.
    let load_row = |k: u32| {
        if backwards {
            let row = modulo.divide(first_row + rows * 2 + k as u64 - reach as u64).1;
            words.target(row, first_col)
        } else {
            modulo.divide(first_row + k as u64).1
        }
    };
    let store_row = |k: u32| {
        let row = first_row + k as u64;
        if backwards {
            row
        } else {
            words.target(row, first_col)
        }
    };
    let held_row = |k: u32, x: u32| {
        let turn = (words.turn(first_col + x as u64) - first_turn) as u32;
        if backwards {
            k + reach - turn
        } else {
            k + turn
        }
    };
    let address = |k: u32, x: u32| base + (k * width + x) * size_of::<E>() as u32;
    let along = words.mode as u32 >> 8;
    let place = |row: u64, x: u32| {
        // SAFETY: inside the strip.
        unsafe { matrix.add((row * cols + first_col + x as u64) as usize) }
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
    columns of Words { rows, rows_magic, cols, strip, part_rows, common, common_magic, tall,
        tall_magic, wide, wide_magic, inverse, mode } =>
        columns_b1: u8; columns_b2: u16; columns_b4: u32; columns_b8: u64; columns_b16: B16
}
