//! The transpose of matrices with few rows: what a structure of arrays becomes when it is made an
//! array of structures.
//!
//! This is [`tall`](super::tall) in a mirror. A block moves a *band* of columns: in the destination that is contiguous
//! memory. It loads the band's part of every source row, scatters its elements to where they belong in the band, and
//! stores the band as it lies. A band starts on a sector, so its first and last column may be shared with the blocks
//! beside it.
//!
//! For elements of 4 bytes where [`lines`](super::lines) would have to load in more than one round. Scattering elements of 1 or 2 bytes
//! would take too many instructions; wider ones are moved as fast by the kernels of tensors.
//!
//! ```text
//! staging[c · rows + r] = src[r][c]
//! barrier
//! band = staging
//! ```

use super::band::Band;
use super::edges::{store_each, Extent};
use super::gather::Gather;
use super::shared::load_u32x4;
use super::staging::{store_element, Staging};
use super::{per_vector, VECTOR};
use crate::element::{Element, B16};
use crate::global::{load_vector, store_vector};
use crate::matrices::Matrices;
use cuda_std::thread;

/// Bytes of an element.
const ELEMENT: u32 = size_of::<u32>() as u32;

/// Elements of a vector.
const PER_VECTOR: u32 = per_vector::<u32>();

/// Stores element `i` of the vector to the staging buffer's address `at(i)`, where that is not `None`.
///
/// # Safety
/// Each address is in the block's shared memory, aligned to the element, and accessed by no other thread before the next barrier.
#[inline(always)]
unsafe fn scatter(vector: B16, at: impl Fn(u32) -> Option<u32>) {
    let one = |number: u32, element: u32| {
        if let Some(at) = at(number) {
            // SAFETY: the caller's obligations.
            unsafe { element.store_shared(at) };
        }
    };
    one(0, vector.0);
    one(1, vector.1);
    one(2, vector.2);
    one(3, vector.3);
}

/// Transposes the band of one block: `band_cols` columns, which times the rows are a multiple of a sector's elements.
///
/// # Safety
/// The obligations of the entry points, the destination's rows following each other without a gap;
/// `base` is the shared-memory address of enough memory for `band_cols * rows` elements, a
/// sector, and 4 bytes for every 128 of those.
#[inline(always)]
unsafe fn transpose(matrices: Matrices<u32>, band_cols: u32, base: u32) {
    let Matrices { dst, rows, cols, .. } = matrices;
    let staging = Staging::<true> { base };
    let div_ceil = |early: u32, rows: u64| (early as u64).div_ceil(rows);
    let Some(band) = Band::new(&matrices, band_cols, div_ceil) else { return };
    // SAFETY: the caller's obligations.
    unsafe { load(&matrices, staging, &band, band_cols) };
    thread::sync_threads();

    let mut number = thread::thread_idx_x();
    while number < band_cols * rows as u32 / PER_VECTOR {
        let element = band.start + (number * PER_VECTOR) as i64;
        let to = (dst as u64).wrapping_add((element as u64).wrapping_mul(ELEMENT as u64));
        let at = staging.address(number * VECTOR);
        if element >= 0 && element as u64 + PER_VECTOR as u64 <= rows * cols {
            // SAFETY: the vector is in the destination and aligned; it was scattered to.
            unsafe { store_vector(to, load_u32x4(at)) };
        } else {
            // SAFETY: the vector is aligned; its elements in the destination were scattered to.
            unsafe { store_each(to, element, rows * cols, |byte| u32::pick(at + byte)) };
        }
        number += thread::block_dim_x();
    }
}

/// A vector of a source row, and where it belongs.
#[derive(Clone, Copy)]
struct Place {
    row: u32,
    /// The vector's address.
    from: u64,
    /// The column of its first element, from the band's first on; negative before that.
    col: i32,
}

/// What is loaded, and where to.
#[derive(Clone, Copy)]
struct Columns {
    staging: Staging<true>,
    extent: Extent,
    rows: u32,
    /// Columns of the band, and elements.
    count: u32,
    elements: u32,
    /// Elements of the first column that belong to the band before.
    skipped: i32,
}

impl Columns {
    /// The number in the band of the element in a row and a column; wraps before the band.
    #[inline(always)]
    fn element(&self, row: u32, col: i32) -> u32 {
        (col * self.rows as i32 + row as i32 - self.skipped) as u32
    }

    /// Where an element is staged.
    #[inline(always)]
    fn address(&self, element: u32) -> u32 {
        self.staging.address(element * ELEMENT)
    }

    /// Where the element in a row and a column is staged, if it is in the band.
    #[inline(always)]
    fn place(&self, row: u32, col: i32) -> Option<u32> {
        let element = self.element(row, col);
        let inside = (col as u32) < self.count && element < self.elements;
        inside.then(|| self.address(element))
    }

    /// The vector at a place, unless bytes of it are outside the source.
    ///
    /// # Safety
    /// The extent is readable.
    #[inline(always)]
    unsafe fn load(&self, at: Place) -> B16 {
        if at.row < self.rows && self.extent.holds_vector(at.from) {
            // SAFETY: the vector is readable and aligned.
            unsafe { load_vector(at.from) }
        } else {
            B16::ANY
        }
    }

    /// Scatters the vector that [`load`](Self::load) returned for a place.
    ///
    /// # Safety
    /// The extent is readable, and no other thread has the vector.
    #[inline(always)]
    unsafe fn scatter(&self, at: Place, vector: B16) {
        let Place { row, from, col } = at;
        // SAFETY: the caller's obligations; each element has a place of its own.
        unsafe {
            let place = |i: u32| self.place(row, col + i as i32);
            if self.extent.holds_vector(from) {
                scatter(vector, place);
            } else {
                self.extent.load_each(from, |byte, element: u32| {
                    if let Some(at) = place(byte / ELEMENT) {
                        store_element(element, at);
                    }
                });
            }
        }
    }
}

/// Loads the band's columns of every row and scatters them.
///
/// # Safety
/// The obligations of [`transpose`].
#[inline(always)]
unsafe fn load(matrices: &Matrices<u32>, staging: Staging<true>, band: &Band, band_cols: u32) {
    let Matrices { src, rows, cols, src_ld, .. } = *matrices;
    let columns = Columns {
        staging,
        extent: Extent::of(src, rows, cols, src_ld),
        rows: rows as u32,
        count: (band.end_col - band.first_col) as u32,
        elements: band_cols * rows as u32,
        skipped: (band.start - (band.first_col * rows) as i64) as i32,
    };
    // As many vectors as any row may touch.
    let per_row = columns.count.div_ceil(PER_VECTOR) + 1;
    let threads = thread::block_dim_x();
    let t = thread::thread_idx_x();
    // One division finds the first vector, another the way to the next.
    let (mut row, mut vector) = (t / per_row, t % per_row);
    let (row_step, vector_step) = (threads / per_row, threads % per_row);
    let mut next = || {
        let start = src as u64 + (row as u64 * src_ld + band.first_col) * ELEMENT as u64;
        let from = start / VECTOR as u64 * VECTOR as u64 + (vector * VECTOR) as u64;
        let before = (start as u32 % VECTOR / ELEMENT) as i32;
        let place = Place { row, from, col: (vector * PER_VECTOR) as i32 - before };
        row += row_step;
        vector += vector_step;
        if vector >= per_row {
            vector -= per_row;
            row += 1;
        }
        place
    };
    let mut place = next();
    while place.row < columns.rows {
        // SAFETY: the caller's obligations.
        unsafe {
            let vector = columns.load(place);
            columns.scatter(place, vector);
        }
        place = next();
    }
}

crate::fast_entry! {
    "Transposes matrices of few rows to destinations without gaps, a band of columns a block.",
    WIDE: ColumnBand, wide_b4: u32, |matrices, params| {
        let memory = cuda_std::shared::dynamic_shared_mem::<u8>();
        transpose(matrices, params.band_cols as u32, crate::tile::shared_address(memory))
    }
}
