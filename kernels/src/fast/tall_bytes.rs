//! The transpose of matrices with few columns, for single bytes.
//!
//! As [`tall`](super::tall), but for how a piece is gathered: of bytes a thread gathers sixteen for each vector, so that
//! the address of every one must cost next to nothing. The piece is staged without gaps, and the bytes of a
//! vector are `src_ld` apart:
//!
//! ```text
//! stage = src[first_row ..= last_row], one piece
//! barrier
//! dst[c][row .. row + 16] = the stage's bytes first, first + src_ld, …, first + 15 · src_ld
//! ```
//!
//! # Banks
//! Without gaps, vectors of one destination row start `16 · src_ld` bytes apart, which is often a multiple of all
//! 32 banks. So the lanes of a warp take few vectors of a row, and those of several rows, which are neighbours in
//! the stage. And lane by lane they begin with another word of their vectors: word `w ^ turn` of the vector in place of
//! `w`, which moves them four rows apart. What came in turns is put in order in registers.

use super::shared::{load_u8, permute};
use super::stage::Stage;
use super::{past_sector, Extent, SECTOR, VECTOR};
use crate::element::{Element, B16};
use crate::global::store_vector;
use crate::matrices::Matrices;
use crate::opaque::opaque;
use cuda_std::{shared, thread};

/// Vectors of a destination row that threads side by side take.
const SIDE: u32 = 4;

/// Up to so many columns, two vectors of a row begin with the same word: they are near enough.
const FEW_COLS: u32 = 4;

/// Transposes the rows of one block, whose windows have `window` bytes, a multiple of `SIDE` vectors.
///
/// # Safety
/// The obligations of the entry points; `base` is the shared-memory address, aligned to 16, of enough
/// memory for `window` rows, a sector's worth of rows and a vector.
#[inline(always)]
unsafe fn transpose(matrices: Matrices<u8>, window: u32, base: u32) {
    let Matrices { src, rows, cols, src_ld, .. } = matrices;
    let nominal = thread::block_idx_x() as u64 * window as u64;
    let first_row = nominal.saturating_sub(SECTOR as u64 - 1);
    let end_row = (nominal + window as u64).min(rows);
    if first_row >= rows {
        return;
    }
    let from = src as u64 + first_row * src_ld;
    let to = src as u64 + (end_row - 1) * src_ld + cols;
    // The stage's address of the row that the window starts with.
    let corner = base + from as u32 % VECTOR + (nominal - first_row) as u32 * src_ld as u32;
    // SAFETY: the caller's obligations.
    unsafe {
        let stage = Stage::<false> { base };
        stage.load::<u8>(from, to, Extent::of(src, rows, cols, src_ld));
        thread::sync_threads();
        store(&matrices, nominal, window, corner);
    }
}

/// Gathers and stores the windows that start at row `nominal`, which is staged at `corner`, or before.
///
/// # Safety
/// Those of [`transpose`], and the rows were loaded before the last barrier.
#[inline(always)]
unsafe fn store(matrices: &Matrices<u8>, nominal: u64, window: u32, corner: u32) {
    let Matrices { dst, rows, cols, src_ld, dst_ld, .. } = *matrices;
    let (cols, pitch) = (cols as u32, src_ld as u32);
    let shift = u32::from(cols <= FEW_COLS);
    let (t, threads) = (thread::thread_idx_x(), thread::block_dim_x() / SIDE);
    // One division each finds the first vector and the way to the next.
    let (mut group, mut col) = (t / SIDE / cols, t / SIDE % cols);
    let (groups, columns) = (threads / cols, threads % cols);
    while group < window / (SIDE * VECTOR) {
        let vector = group * SIDE + t % SIDE;
        let start = dst as u64 + col as u64 * dst_ld;
        let early = past_sector::<u8>(start);
        let row = (nominal + (vector * VECTOR) as u64) as i64 - early as i64;
        let first = corner.wrapping_add((vector * VECTOR).wrapping_sub(early).wrapping_mul(pitch));
        let first = first.wrapping_add(col);
        let to = start.wrapping_add(row as u64);
        if row >= 0 && row as u64 + VECTOR as u64 <= rows {
            // SAFETY: the rows were loaded; the vector is in the destination's row and aligned.
            unsafe { store_vector(to, gather(first, pitch, (vector >> shift) % 4)) };
        } else {
            let first = opaque(first);
            for i in 0..VECTOR {
                if ((row + i as i64) as u64) < rows {
                    let from = first.wrapping_add(i.wrapping_mul(pitch));
                    // SAFETY: as above, for one byte.
                    unsafe { u8::load_shared(from).store(to.wrapping_add(i as u64) as *mut u8) };
                }
            }
        }
        group += groups;
        col += columns;
        if col >= cols {
            col -= cols;
            group += 1;
        }
    }
}

/// The vector of 16 bytes `pitch` apart, of which word `turn` is gathered first.
///
/// # Safety
/// The bytes were written before the last barrier.
#[inline(always)]
unsafe fn gather(first: u32, pitch: u32, turn: u32) -> B16 {
    let word = |number: u32| {
        let at = first.wrapping_add((number ^ turn).wrapping_mul(4 * pitch));
        let byte = |i: u32| at.wrapping_add(i.wrapping_mul(pitch));
        // SAFETY: the caller's obligations.
        let (a, b, c, d) =
            unsafe { (load_u8(byte(0)), load_u8(byte(1)), load_u8(byte(2)), load_u8(byte(3))) };
        permute(permute(a, b, 0x0040), permute(c, d, 0x0040), 0x5410)
    };
    let (a, b, c, d) = (word(0), word(1), word(2), word(3));
    let swap = |bit: u32, x, y| if turn & bit != 0 { (y, x) } else { (x, y) };
    let ((a, b), (c, d)) = (swap(1, a, b), swap(1, c, d));
    let ((a, c), (b, d)) = (swap(2, a, c), swap(2, b, d));
    B16(a, b, c, d)
}

crate::fast_entry! {
    "Transposes matrices of few columns; `window` is how many elements of a destination row a block \
     stores.",
    tall_b1: u8, |matrices, window| {
        let base = crate::tile::shared_address(shared::dynamic_shared_mem::<u8>());
        transpose(matrices, window as u32, base)
    }
}
