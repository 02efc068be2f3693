//! The transpose of many small matrices without gaps, for elements of 1 and 2 bytes.
//!
//! A block moves a band of matrices, as in [`batch`](super::batch). But of such elements a vector has so many that finding
//! each by itself is most of the work: 13 instructions a byte, and half the speed of a copy. Now elements a whole number
//! of matrices apart are in the same row and column. So as many threads gather as make the distance from a thread's
//! vector to its next such a number. A thread finds the places of its first vector, and moves all of them on by one
//! number.
//!
//! ```text
//! threads · V is a multiple of rows · cols
//! place(q + threads · V) = place(q) + threads · V            elements q of a vector
//! ```
//!
//! Where no number of threads does that, places are found anew for each vector, from each to the next.

use super::batch::batch_entries;
use super::edges::Extent;
use super::gather::{store_vector, Gather};
use super::staging::Staging;
use super::{past_sector, per_vector, SECTOR, VECTOR};
use crate::matrices::Matrices;
use crate::opaque::opaque;
use cuda_std::thread;

/// The most elements of a vector.
const MOST: usize = VECTOR as usize;

/// What a block has staged, matrices of the source as they lie, and where what it stores begins among them.
struct StagedBand {
    /// Where the first element of the first matrix is staged.
    base: u32,
    rows: u32,
    cols: u32,
    /// Elements from the first staged matrix's start to the first that is stored; negative before the destination's start.
    skipped: u32,
}

impl StagedBand {
    /// The matrix, column and row of an element that is stored, or of the last ones before the first matrix.
    #[inline(always)]
    fn element(&self, number: u32) -> (u32, u32, u32) {
        let each = self.rows * self.cols;
        let moved = number.wrapping_add(self.skipped).wrapping_add(SECTOR * each);
        let inside = moved % each;
        ((moved / each).wrapping_sub(SECTOR), inside / self.rows, inside % self.rows)
    }

    /// Where an element is staged.
    #[inline(always)]
    fn address<E>(&self, (matrix, col, row): (u32, u32, u32)) -> u32 {
        let number = matrix.wrapping_mul(self.rows * self.cols).wrapping_add(row * self.cols + col);
        self.base.wrapping_add(number.wrapping_mul(size_of::<E>() as u32))
    }

    /// Where the elements of a vector are staged.
    #[inline(always)]
    fn places<E>(&self, number: u32) -> [u32; MOST] {
        let size = size_of::<E>() as u32;
        let (matrix, mut col, mut row) = self.element(number * per_vector::<E>());
        let mut address = self.address::<E>((matrix, col, row));
        let (down, up) = (self.cols * size, (self.rows - 1) * self.cols * size);
        let mut places = [0; MOST];
        for place in &mut places[..per_vector::<E>() as usize] {
            *place = address;
            let (last_row, last_col) = (row + 1 == self.rows, col + 1 == self.cols);
            let way = match (last_row, last_col) {
                (false, _) => down,
                (true, false) => size.wrapping_sub(up),
                // In front of the next matrix's first element.
                (true, true) => size,
            };
            (col, row) = match (last_row, last_col) {
                (false, _) => (col, row + 1),
                (true, false) => (col + 1, 0),
                (true, true) => (0, 0),
            };
            address = address.wrapping_add(way);
        }
        places
    }
}

/// Transposes the band of one block: `band_matrices` of `count` matrices, whose elements are whole sectors.
///
/// # Safety
/// The obligations of the entry points; `base` is the shared-memory address, aligned to 16, of enough memory for
/// `band_matrices` matrices, those of the sector before and two sectors.
#[inline(always)]
unsafe fn transpose<E: Gather>(matrices: Matrices<E>, count: u64, band_matrices: u32, base: u32) {
    let Matrices { src, dst, rows, cols, .. } = matrices;
    let size = size_of::<E>() as u64;
    let each = rows * cols;
    let early = past_sector::<E>(dst as u64);
    let nominal = thread::block_idx_x() as u64 * band_matrices as u64;
    let first = nominal.saturating_sub(early.div_ceil(each as u32) as u64);
    let end = (nominal + band_matrices as u64).min(count);
    if first >= count {
        return;
    }
    let from = src as u64 + first * each * size;
    let to = src as u64 + end * each * size;
    let start = (nominal * each) as i64 - early as i64;
    let staged = StagedBand {
        base: base + from as u32 % VECTOR,
        rows: rows as u32,
        cols: cols as u32,
        skipped: (start - (first * each) as i64) as u32,
    };
    // SAFETY: the caller's obligations; all matrices are one of `count` rows.
    unsafe {
        let staging = Staging::<false> { base };
        staging.load::<E>(from, to, Extent::of(src, count, each, each));
        thread::sync_threads();
        store::<E>(dst, &staged, start, count * each, band_matrices);
    }
}

/// Gathers and stores the band, from element `start` of the destination's `end` on.
///
/// # Safety
/// The obligations of [`transpose`], and the matrices were loaded before the last barrier.
#[inline(always)]
unsafe fn store<E: Gather>(
    dst: *mut E,
    staged: &StagedBand,
    start: i64,
    end: u64,
    band_matrices: u32,
) {
    let per = per_vector::<E>();
    let each = staged.rows * staged.cols;
    // Vectors that are a whole number of matrices together.
    let period = each >> each.trailing_zeros().min(per.trailing_zeros());
    let all = thread::block_dim_x();
    let threads = if period <= all { all / period * period } else { all };
    let mut number = thread::thread_idx_x();
    if number >= threads {
        return;
    }
    let mut at = staged.places::<E>(number);
    while number < band_matrices * each / per {
        let element = start + (number * per) as i64;
        let to = (dst as u64).wrapping_add((element as u64).wrapping_mul(size_of::<E>() as u64));
        let mut i = 0;
        let next = || {
            i += 1;
            at[i - 1]
        };
        let place = |i| staged.address::<E>(staged.element(opaque(number * per) + i));
        // SAFETY: the vector is aligned; those of its elements that are in the destination were loaded.
        unsafe { store_vector::<E>(to, element, end, next, place) };
        number += threads;
        if period <= all {
            for at in &mut at[..per as usize] {
                *at = at.wrapping_add(threads * VECTOR);
            }
        } else {
            at = staged.places::<E>(number);
        }
    }
}

batch_entries!(transpose => batch_b1: u8, batch_b2: u16);
