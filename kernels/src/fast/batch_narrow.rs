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
//!
//! # Banks
//! Neighbouring lanes gather vectors that follow each other in the destination: elements a vector apart in matrices of few rows, whole rows
//! apart in others. Where either is a power of two of bytes, 4 to 32 lanes meet in one bank, and a band takes up to eight times as long. So the
//! staging buffer has [gaps](super::staging), and a place is moved on by what `threads · V` elements take with them. That is one number if those
//! are whole groups of 128 bytes, that is if the threads are a multiple of eight; where that would leave more than a quarter of them idle, matrices are of odd
//! sizes, whose lanes mostly meet seldom, and the buffer has no gaps unless very many do.

use super::batch::batch_entries;
use super::edges::Extent;
use super::gather::{store_vector, Gather};
use super::staging::{self, GROUP};
use super::{past_sector, per_vector, SECTOR, VECTOR};
use crate::launch::at_most_registers;
use crate::matrices::Matrices;
use crate::opaque::opaque;
use cuda_std::thread;
use kernel_abi::fast::Batch;

/// The most elements of a vector.
const MOST: usize = VECTOR as usize;

/// What a block has staged, matrices of the source as they lie, and where what it stores begins among them.
struct StagedBand {
    /// The staging buffer.
    base: u32,
    /// Bytes that it leaves out behind each 128.
    gap: u32,
    /// Bytes from the first staged vector to the first element of the first matrix.
    past: u32,
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

    /// Bytes from the first staged vector to an element.
    #[inline(always)]
    fn byte<E>(&self, (matrix, col, row): (u32, u32, u32)) -> u32 {
        let number = matrix.wrapping_mul(self.rows * self.cols).wrapping_add(row * self.cols + col);
        self.past.wrapping_add(number.wrapping_mul(size_of::<E>() as u32))
    }

    /// Where a byte is staged; or would be, of elements before the first.
    #[inline(always)]
    fn address(&self, byte: u32) -> u32 {
        self.base.wrapping_add(byte).wrapping_add(self.gaps_before(byte))
    }

    /// The bytes that are left out before a byte.
    #[inline(always)]
    fn gaps_before(&self, byte: u32) -> u32 {
        let groups = (byte as i32).div_euclid(GROUP as i32) as u32;
        groups.wrapping_mul(self.gap)
    }

    /// Where the elements of a vector are staged.
    #[inline(always)]
    fn places<E>(&self, number: u32) -> [u32; MOST] {
        let size = size_of::<E>() as u32;
        let (matrix, mut col, mut row) = self.element(number * per_vector::<E>());
        let mut byte = self.byte::<E>((matrix, col, row));
        let (down, up) = (self.cols * size, (self.rows - 1) * self.cols * size);
        let mut places = [0; MOST];
        for place in &mut places[..per_vector::<E>() as usize] {
            *place = self.base.wrapping_add(byte);
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
            byte = byte.wrapping_add(way);
        }
        if self.gap != 0 {
            for place in &mut places[..per_vector::<E>() as usize] {
                let byte = place.wrapping_sub(self.base);
                *place = place.wrapping_add(self.gaps_before(byte));
            }
        }
        places
    }
}

/// Transposes the band of one block: some of the matrices, whose elements are whole sectors.
///
/// # Safety
/// The obligations of the entry points; `base` is the shared-memory address, aligned to 16, of enough memory for
/// the band's matrices, those of the sector before and two sectors, and `gap` bytes for every 128 of those.
#[inline(always)]
unsafe fn transpose<E: Gather>(matrices: Matrices<E>, params: &Batch, base: u32) {
    let Matrices { src, dst, rows, cols, .. } = matrices;
    // With more registers a multiprocessor has room for fewer of the blocks.
    at_most_registers::<40>();
    let size = size_of::<E>() as u64;
    let each = rows * cols;
    let early = past_sector::<E>(dst as u64);
    let (count, band_matrices) = (params.count, params.band_matrices as u32);
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
        base,
        gap: params.gap as u32,
        past: from as u32 % VECTOR,
        rows: rows as u32,
        cols: cols as u32,
        skipped: (start - (first * each) as i64) as u32,
    };
    let extent = Extent::of(src, count, each, each);
    // SAFETY: the caller's obligations; all matrices are one of `count` rows.
    unsafe {
        if staged.gap.is_multiple_of(VECTOR) {
            staging::load::<E, true>(base, staged.gap, from, to, extent);
        } else {
            staging::load::<E, false>(base, staged.gap, from, to, extent);
        }
        thread::sync_threads();
        store::<E>(dst, &staged, params, start);
    }
}

/// Gathers and stores the band, from element `start` of the destination on.
///
/// # Safety
/// The obligations of [`transpose`], and the matrices were loaded before the last barrier.
#[inline(always)]
unsafe fn store<E: Gather>(dst: *mut E, staged: &StagedBand, params: &Batch, start: i64) {
    let per = per_vector::<E>();
    let each = staged.rows * staged.cols;
    let (end, vectors) = (params.count * each as u64, params.band_matrices as u32 * each / per);
    let steps = params.gatherers != 0;
    let threads = if steps { params.gatherers as u32 } else { thread::block_dim_x() };
    let mut number = thread::thread_idx_x();
    if number >= threads {
        return;
    }
    let mut at = staged.places::<E>(number);
    while number < vectors {
        let element = start + (number * per) as i64;
        let to = (dst as u64).wrapping_add((element as u64).wrapping_mul(size_of::<E>() as u64));
        let mut i = 0;
        let next = || {
            i += 1;
            at[i - 1]
        };
        let place = |i| staged.address(staged.byte::<E>(staged.element(opaque(number * per) + i)));
        // SAFETY: the vector is aligned; those of its elements that are in the destination were loaded.
        unsafe { store_vector::<E>(to, element, end, next, place) };
        number += threads;
        if steps {
            let step = threads * VECTOR;
            let step = step + step / GROUP * staged.gap;
            for at in &mut at[..per as usize] {
                *at = at.wrapping_add(step);
            }
        } else {
            at = staged.places::<E>(number);
        }
    }
}

batch_entries!(transpose => batch_b1: u8, batch_b2: u16);
