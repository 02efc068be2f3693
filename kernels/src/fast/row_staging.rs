//! A staging buffer for rows of a matrix as they lie.
//!
//! Of every row the aligned vectors that cover the tile's columns are loaded. They are stored so that a
//! row's first element comes to the same place in every row, rounded down to four bytes; the rest, for elements of
//! one or two bytes, is added when reading.
//!
//! ```text
//! staging[r][c] = src[first_row + r][first_col + c]
//! ```
//!
//! # Banks
//! A staged row's bytes are a multiple of 128, and each step of `4 / bytes of an element` rows (at least one)
//! adds four bytes: so vectors that are gathered down the rows, eight above each other in four
//! neighbouring columns, meet 32 banks.
//!
//! Storing a vector takes four accesses of four bytes, for it may start at any multiple of four. Eight neighbours
//! would meet the same bank in parts four apart; so every group of eight starts with another part.

use super::edges::Extent;
use super::gather::Gather;
use super::shared::{store_u32, store_u32x2};
use super::VECTOR;
use crate::element::{Element, B16};
use crate::global::load_vector;
use crate::matrices::Matrices;
use cuda_std::thread;

/// An element that can be staged at a place of its own alignment.
pub trait ToStaging: Gather {
    /// Stores a vector to `at`, a multiple of the element's bytes and of four; `turn` is the access, of four bytes or an
    /// element of eight, to start with.
    ///
    /// # Safety
    /// The 16 bytes at `at` are in the block's shared memory and accessed by no other thread before
    /// the next barrier.
    unsafe fn store_to_staging(vector: B16, at: u32, turn: u32);
}

/// Implements [`ToStaging`] for elements of up to four bytes.
macro_rules! to_staging_by_u32s {
    ($($element:ty),+) => {
        $(impl ToStaging for $element {
            #[inline(always)]
            unsafe fn store_to_staging(vector: B16, at: u32, turn: u32) {
                let B16(mut a, mut b, mut c, mut d) = vector;
                if turn & 1 != 0 {
                    (a, b, c, d) = (b, c, d, a);
                }
                if turn & 2 != 0 {
                    (a, b, c, d) = (c, d, a, b);
                }
                // SAFETY: the caller's obligations.
                unsafe {
                    store_u32(at + turn % 4 * 4, a);
                    store_u32(at + (turn + 1) % 4 * 4, b);
                    store_u32(at + (turn + 2) % 4 * 4, c);
                    store_u32(at + (turn + 3) % 4 * 4, d);
                }
            }
        })+
    };
}

to_staging_by_u32s!(u8, u16, u32);

impl ToStaging for u64 {
    #[inline(always)]
    unsafe fn store_to_staging(vector: B16, at: u32, turn: u32) {
        let B16(mut a, mut b, mut c, mut d) = vector;
        if turn & 1 != 0 {
            (a, b, c, d) = (c, d, a, b);
        }
        // SAFETY: the caller's obligations.
        unsafe {
            store_u32x2(at + turn % 2 * 8, a, b);
            store_u32x2(at + (turn + 1) % 2 * 8, c, d);
        }
    }
}

/// A staging buffer for `ROWS` rows of `ROW_VECTORS` vectors.
///
/// One vector of each row is spare: rows that start between two multiples of 16 bytes touch
/// `ROW_VECTORS` vectors for `ROW_VECTORS - 1` vectors' worth of elements.
#[derive(Clone, Copy)]
pub struct RowStaging<E, const ROW_VECTORS: u32, const ROWS: u32> {
    /// Its shared-memory address.
    pub base: u32,
    /// What it holds.
    pub element: core::marker::PhantomData<E>,
}

/// Bytes in front of a row's first element, for what a row's first vector holds before it.
const MARGIN: u32 = VECTOR;

/// Bytes from one staged row to the next: the vectors and the margin, rounded up so that `V` rows of it are a
/// multiple of all 32 banks.
pub const fn row_bytes<E>(row_vectors: u32) -> u32 {
    let size = size_of::<E>() as u32;
    let round = if size <= 4 { 32 } else { 8 * size };
    (row_vectors * VECTOR + 2 * MARGIN).next_multiple_of(round)
}

/// The bytes by which each [`skew_rows`] rows are shifted against the ones before.
pub const fn skew<E>() -> u32 {
    let size = size_of::<E>() as u32;
    if size > 4 {
        size
    } else {
        4
    }
}

/// The rows that share a shift: as many as elements fit four bytes.
const fn skew_rows<E>() -> u32 {
    let size = size_of::<E>() as u32;
    if size < 4 {
        4 / size
    } else {
        1
    }
}

/// Bytes of shared memory for the buffer.
pub const fn staging_bytes<E>(row_vectors: u32, rows: u32) -> u32 {
    (rows * row_bytes::<E>(row_vectors) + rows.div_ceil(skew_rows::<E>()) * skew::<E>())
        .next_multiple_of(VECTOR)
}

impl<E: ToStaging, const ROW_VECTORS: u32, const ROWS: u32> RowStaging<E, ROW_VECTORS, ROWS> {
    /// Where element 0 of `row` lies, rounded down to four bytes.
    #[inline(always)]
    fn row(&self, row: u32) -> u32 {
        self.base
            + MARGIN
            + row * row_bytes::<E>(ROW_VECTORS)
            + row / skew_rows::<E>() * skew::<E>()
    }

    /// Whether all vectors that [`load`](Self::load) looks at are inside the source.
    #[inline(always)]
    pub fn is_interior(&self, matrices: &Matrices<E>, first_row: i64, first_col: u64) -> bool {
        let size = size_of::<E>() as u64;
        let extent = Extent::of(matrices.src, matrices.rows, matrices.cols, matrices.src_ld);
        let start = |row: i64| {
            extent
                .first
                .wrapping_add((row as u64).wrapping_mul(matrices.src_ld * size))
                .wrapping_add(first_col * size)
        };
        let end_row = first_row + ROWS as i64;
        first_row >= 0
            && end_row as u64 <= matrices.rows
            && start(first_row) >= extent.first + VECTOR as u64
            && start(end_row - 1) + (ROW_VECTORS * VECTOR) as u64 <= extent.end
    }

    /// Loads rows `first_row ..` of the source, as far as there are, from `first_col` on; a
    /// block has `THREADS` threads, and each loads `LOADS` vectors. `interior` saves looking at each, but
    /// costs registers: `false` is always right.
    ///
    /// # Safety
    /// The obligations of the entry points; the buffer is as large as [`staging_bytes`]; and `interior` is
    /// false or [`is_interior`](Self::is_interior)'s answer.
    #[inline(always)]
    pub unsafe fn load<const THREADS: u32, const LOADS: usize>(
        &self,
        matrices: &Matrices<E>,
        first_row: i64,
        first_col: u64,
        interior: bool,
    ) {
        let size = size_of::<E>() as u64;
        let t = thread::thread_idx_x();
        let (column, top) = (t % ROW_VECTORS, t / ROW_VECTORS);
        let step = THREADS / ROW_VECTORS;
        let stride = matrices.src_ld * size;
        let extent = Extent::of(matrices.src, matrices.rows, matrices.cols, matrices.src_ld);
        // Where the row of one of this thread's loads starts. Rows before the first are not dereferenced.
        let start = (matrices.src as u64)
            .wrapping_add((first_row + top as i64) as u64 * stride)
            .wrapping_add(first_col * size);
        let row_start = |load: usize| start.wrapping_add((load as u32 * step) as u64 * stride);
        let vector = |load: usize| {
            row_start(load) / VECTOR as u64 * VECTOR as u64 + (column * VECTOR) as u64
        };
        let inside =
            |load: usize| ((first_row + (top + load as u32 * step) as i64) as u64) < matrices.rows;
        // A row's first vector starts as many bytes before its first element as that lies past
        // a multiple of 16; what of those is not a multiple of four stays.
        let place = |load: usize| {
            let unit = if size > 4 { size as u32 } else { 4 };
            let before = row_start(load) as u32 % VECTOR / unit * unit;
            self.row(top + load as u32 * step) + column * VECTOR - before
        };

        let mut held = [B16::ANY; LOADS];
        for (load, held) in held.iter_mut().enumerate() {
            if interior || (inside(load) && extent.holds_vector(vector(load))) {
                // SAFETY: the vector is inside the source and aligned.
                *held = unsafe { load_vector(vector(load)) };
            }
        }
        // 1-byte elements are read back by bytes: the order of the accesses gains nothing there.
        let turn = if size == 1 { 0 } else { t / 8 % 4 };
        for load in 0..LOADS {
            // SAFETY: no two threads have a vector in common.
            unsafe { E::store_to_staging(held[load], place(load), turn) };
        }

        if interior {
            return;
        }
        // The vectors that hold the matrix's first and last byte, if this thread has them. `Extent::load_each` does the same, and
        // costs `tuples_b4` eight registers here: one block of a multiprocessor less.
        for load in 0..LOADS {
            if inside(load) && !extent.holds_vector(vector(load)) {
                let mut byte = 0;
                while byte < VECTOR {
                    let from = vector(load) + byte as u64;
                    if extent.holds(from) {
                        // SAFETY: the element is inside the source; its place is this thread's.
                        unsafe { E::load(from as *const E).store_shared(place(load) + byte) };
                    }
                    byte += size as u32;
                }
            }
        }
    }

    /// Where row `row` has its element 0, to the byte.
    ///
    /// `src` is the source's address of the first staged row, in the first staged column.
    #[inline(always)]
    pub fn row_to_the_byte(&self, row: u32, src: u32, stride: u32) -> u32 {
        let past = if size_of::<E>() < 4 { (src + row * stride) % 4 } else { 0 };
        self.row(row) + past
    }
}
