//! The transpose of matrices with few rows, for elements of up to 8 bytes.
//!
//! A block moves a *band* of columns: in the destination that is contiguous memory. It stages the band's part of every
//! source row as it lies there, and gathers the band from the staged rows, vector by vector:
//!
//! ```text
//! staged[r] = src[r][first_col .. end_col]
//! barrier
//! band[q .. q + V]: element q is in column q / rows, and there in row q mod rows
//! ```
//!
//! A band starts on a sector, so its first and last column may be shared with the blocks beside it.
//!
//! # Steps
//! Elements of the band a multiple of `rows` apart are in the same row. So as many threads gather as make the
//! distance from a thread's vector to its next such a multiple: then all of a thread's vectors take their elements
//! from the same rows, each so many columns further on. A division and `V` addresses at the start, and one addition
//! for each element after that, are all that is computed.
//!
//! # Banks
//! The lanes of a warp take elements of rows that are a multiple of `gcd(V, rows)` apart. Staged rows are an odd number
//! of vectors apart, so eight of them begin in other banks. They also begin as far past a multiple of 16 bytes as the
//! source's rows do, which moves the next eight by eight times as much; and what is left out behind every eighth staged
//! row moves those on, to where they meet the first ones least (`gap`).

use super::band::Band;
use super::edges::{store_each, Extent};
use super::gather::Gather;
use super::{per_vector, SECTOR, VECTOR};
use crate::element::{Element, B16};
use crate::global::{load_vector, store_vector};
use crate::launch::at_most_registers;
use crate::matrices::Matrices;
use crate::opaque::opaque;
use cuda_std::thread;

/// The vectors that a thread loads before it stores the first.
const IN_FLIGHT: usize = 4;

/// The most elements of a vector.
const MOST: usize = VECTOR as usize;

/// How many vectors to leave out behind every eighth staged row if each begins `past` bytes later past a multiple of 16
/// than the one before: the best of none, one and two, found by counting conflicts for up to 100 rows of 1-byte and of
/// 2-byte elements.
#[inline(always)]
fn gap(past: u32) -> u32 {
    const VECTORS: u32 = 0b10_00_00_01_00_00_00_01_00_00_01_01_00_00_01_01;
    VECTORS >> (2 * past) & 3
}

/// The band's part of every row, in shared memory, `GAP` bytes left out behind every eighth. (A constant, because a
/// register more would keep loads from being in flight together.)
#[derive(Clone, Copy)]
struct StagedRows<const GAP: u32> {
    /// The address of the band's first byte in the source's first row.
    src: u64,
    /// Bytes from one row of the source to the next.
    stride: u64,
    /// Bytes of a row in the band.
    bytes: u32,
    rows: u32,
    /// Vectors that any row may touch.
    vectors: u32,
    /// The shared-memory address of the first staged byte of the first row.
    base: u32,
    /// Bytes from one staged row to the next: modulo 16 as many as in the source.
    pitch: u32,
}

impl<const GAP: u32> StagedRows<GAP> {
    /// The rows of a band, at the shared-memory address `base`, a multiple of 16.
    #[inline(always)]
    fn new<E>(matrices: &Matrices<E>, band: &Band, base: u32) -> Self {
        let size = size_of::<E>() as u64;
        let src = matrices.src as u64 + band.first_col * size;
        let bytes = (band.end_col - band.first_col) as u32 * size as u32;
        let stride = matrices.src_ld * size;
        // How far past a multiple of 16 any row may start.
        let aligned = (stride as u32).is_multiple_of(VECTOR);
        let past = if aligned { src as u32 % VECTOR } else { VECTOR - 1 };
        let vectors = (past + bytes).div_ceil(VECTOR);
        StagedRows {
            src,
            stride,
            bytes,
            rows: matrices.rows as u32,
            vectors,
            base: base + src as u32 % VECTOR,
            pitch: (vectors | 1) * VECTOR + stride as u32 % VECTOR,
        }
    }

    /// Where the first byte of a row is staged.
    #[inline(always)]
    fn row(&self, row: u32) -> u32 {
        self.base + row * self.pitch + row / 8 * GAP
    }

    /// Loads the rows of a band that is surrounded by the source on all sides.
    ///
    /// # Safety
    /// The vectors that hold the band's part of any row are readable, the staged rows are in the block's shared
    /// memory, and all its threads call this.
    #[inline(always)]
    unsafe fn load(&self) {
        let mut walk = self.walk();
        while walk.row < self.rows {
            let mut held = [B16::ANY; IN_FLIGHT];
            let mut to = [0; IN_FLIGHT];
            let mut wanted = [false; IN_FLIGHT];
            for i in 0..IN_FLIGHT {
                wanted[i] = self.has(&walk);
                to[i] = self.place(&walk);
                if wanted[i] {
                    // SAFETY: the vector is readable and aligned.
                    held[i] = unsafe { load_vector(walk.from()) };
                }
                walk.step(self);
            }
            for i in 0..IN_FLIGHT {
                if wanted[i] {
                    // SAFETY: the place is this thread's, and as aligned as the vector.
                    unsafe { held[i].store_shared(to[i]) };
                }
            }
        }
    }

    /// Loads the rows of any band, except for what is outside the source.
    ///
    /// # Safety
    /// The extent is readable, the staged rows are in the block's shared memory, and all its threads call this.
    #[inline(always)]
    unsafe fn load_inside<E: Element>(&self, extent: Extent) {
        let mut walk = self.walk();
        while walk.row < self.rows {
            let (from, to) = (walk.from(), self.place(&walk));
            if self.has(&walk) && extent.holds_vector(from) {
                // SAFETY: the vector is readable, its place this thread's, and both aligned.
                unsafe { load_vector(from).store_shared(to) };
            } else if self.has(&walk) {
                // SAFETY: the extent is readable, and the places are this thread's.
                unsafe {
                    extent.load_each(from, |byte, element: E| element.store_shared(to + byte))
                };
            }
            walk.step(self);
        }
    }

    /// Whether the band has a byte of a vector.
    #[inline(always)]
    fn has(&self, at: &Walk) -> bool {
        at.row < self.rows && at.vector * VECTOR < at.start as u32 % VECTOR + self.bytes
    }

    /// Where a vector belongs.
    #[inline(always)]
    fn place(&self, at: &Walk) -> u32 {
        self.row(at.row) / VECTOR * VECTOR + at.vector * VECTOR
    }

    /// The vectors of this thread.
    #[inline(always)]
    fn walk(&self) -> Walk {
        let (threads, t) = (thread::block_dim_x(), thread::thread_idx_x());
        let (row, rows) = (t / self.vectors, threads / self.vectors);
        Walk {
            row,
            vector: t % self.vectors,
            start: self.src + row as u64 * self.stride,
            rows,
            vectors: threads % self.vectors,
            bytes: rows as u64 * self.stride,
        }
    }
}

/// A walk over a thread's vectors of all rows. One division finds the first, another the way to the next.
struct Walk {
    row: u32,
    /// The vector's number in its row.
    vector: u32,
    /// The address of the band's first byte in the row.
    start: u64,
    /// The way to the next vector: rows, vectors, and bytes from one row's start to the other's.
    rows: u32,
    vectors: u32,
    bytes: u64,
}

impl Walk {
    /// The vector's address.
    #[inline(always)]
    fn from(&self) -> u64 {
        self.start / VECTOR as u64 * VECTOR as u64 + (self.vector * VECTOR) as u64
    }

    #[inline(always)]
    fn step<const GAP: u32>(&mut self, staged: &StagedRows<GAP>) {
        self.row += self.rows;
        self.vector += self.vectors;
        self.start += self.bytes;
        if self.vector >= staged.vectors {
            self.vector -= staged.vectors;
            self.row += 1;
            self.start += staged.stride;
        }
    }
}

/// Transposes the band of one block: `band_cols` columns, which times the rows are a multiple of a sector's elements.
///
/// # Safety
/// The obligations of the entry points, the destination's rows following each other without a gap;
/// `base` is the shared-memory address, aligned to 16, of enough memory for the staged rows;
/// the block has a thread for each row.
#[inline(always)]
unsafe fn transpose<E: Gather>(matrices: Matrices<E>, band_cols: u32, base: u32) {
    let size = size_of::<E>() as u32;
    // As many registers as let four loads be in flight: by itself the assembler saves registers by waiting for each load.
    // (Of 50 it takes 48; if 48 are all that it may take, it waits too.)
    if size == 1 {
        at_most_registers::<50>();
    } else {
        at_most_registers::<40>();
    }
    // Rows of 4-byte elements begin a multiple of 4 bytes past one of 16, those of 2-byte elements a multiple of 2.
    let past = (matrices.src_ld as u32).wrapping_mul(size) % VECTOR;
    // SAFETY: the caller's obligations.
    unsafe {
        match if size < 4 { gap(past) } else { 1 } {
            0 => transpose_with_gap::<E, 0>(matrices, band_cols, base),
            2 if size == 1 => transpose_with_gap::<E, { 2 * VECTOR }>(matrices, band_cols, base),
            _ => transpose_with_gap::<E, VECTOR>(matrices, band_cols, base),
        }
    }
}

/// Transposes the band of one block, `GAP` bytes left out behind every eighth staged row.
///
/// # Safety
/// The obligations of [`transpose`].
#[inline(always)]
unsafe fn transpose_with_gap<E: Gather, const GAP: u32>(
    matrices: Matrices<E>,
    band_cols: u32,
    base: u32,
) {
    let Matrices { rows, cols, .. } = matrices;
    let div_ceil = |early: u32, rows: u64| early.div_ceil(rows as u32) as u64;
    let Some(band) = Band::new(&matrices, band_cols, div_ceil) else { return };
    let staged = StagedRows::<GAP>::new(&matrices, &band, base);
    // Whether the vectors that hold the ends of the band's rows are inside the source too.
    let more = per_vector::<E>() as u64;
    let inner = band.first_col >= more && band.end_col + more <= cols;
    // SAFETY: the caller's obligations.
    unsafe {
        if inner {
            staged.load();
        } else {
            staged.load_inside::<E>(Extent::of(matrices.src, rows, cols, matrices.src_ld));
        }
        thread::sync_threads();
        store(&matrices, &staged, &band, band_cols);
    }
}

/// Gathers and stores the band.
///
/// # Safety
/// The obligations of [`transpose`], and the rows were staged before the last barrier.
#[inline(always)]
unsafe fn store<E: Gather, const GAP: u32>(
    matrices: &Matrices<E>,
    staged: &StagedRows<GAP>,
    band: &Band,
    band_cols: u32,
) {
    let Matrices { dst, rows, cols, .. } = *matrices;
    let (size, per) = (size_of::<E>() as u32, per_vector::<E>());
    // After how many vectors the rows of their elements repeat, and how many columns those vectors are.
    let shared = staged.rows.trailing_zeros().min(per.trailing_zeros());
    let (period, columns) = (staged.rows >> shared, per >> shared);
    let threads = thread::block_dim_x() / period * period;
    let t = thread::thread_idx_x();
    if t >= threads {
        return;
    }
    // The column and row of an element, by its number from the band's first on. That may lie up to a sector before the
    // first staged column.
    let skipped = (band.start - (band.first_col * rows) as i64) as u32;
    let place = |element: u32| {
        let moved = element.wrapping_add(skipped).wrapping_add(SECTOR * staged.rows);
        (moved / staged.rows - SECTOR, moved % staged.rows)
    };
    let (mut col, mut row) = place(t * per);
    let mut at = [0; MOST];
    for at in &mut at[..per as usize] {
        *at = staged.row(row).wrapping_add(col.wrapping_mul(size));
        (col, row) = if row + 1 == staged.rows { (col.wrapping_add(1), 0) } else { (col, row + 1) };
    }
    let step = threads / period * columns * size;

    let mut number = t;
    while number < band_cols * staged.rows / per {
        let element = band.start + (number * per) as i64;
        let to = (dst as u64).wrapping_add((element as u64).wrapping_mul(size as u64));
        if element >= 0 && element as u64 + per as u64 <= rows * cols {
            let mut i = 0;
            let next = || {
                i += 1;
                at[i - 1]
            };
            // SAFETY: the vector is in the destination and aligned; its elements were loaded.
            unsafe { store_vector(to, E::gather(next)) };
        } else {
            let first = opaque(number * per);
            let get = |byte: u32| {
                let (col, row) = place(first + byte / size);
                // SAFETY: the element was loaded.
                unsafe { E::pick(staged.row(row) + col * size) }
            };
            // SAFETY: the vector is aligned; its elements in the destination were loaded.
            unsafe { store_each(to, element, rows * cols, get) };
        }
        for at in &mut at[..per as usize] {
            *at = at.wrapping_add(step);
        }
        number += threads;
    }
}

crate::band_entries! {
    "Transposes matrices of few rows to destinations without gaps, a band of columns a block.",
    LINES: ColumnBand.band_cols, transpose => lines_b1: u8, lines_b2: u16, lines_b4: u32, lines_b8: u64
}
