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
//! the stage. And where vectors of a row still meet in a bank, each lane takes the four rows of a word in an order of its own:
//! row `i ^ turn` in place of row `i`, which moves the lanes' accesses a row or two apart. The permutation that makes a word of
//! four bytes puts them in order, and costs no more for that.

use super::shared::{load_u8, permute};
use super::stage::Stage;
use super::{most_early, past_sector, Extent, VECTOR};
use crate::element::{Element, B16};
use crate::global::store_vector;
use crate::matrices::Matrices;
use crate::opaque::opaque;
use cuda_std::{shared, thread};

/// Vectors of a destination row that threads side by side take.
const SIDE: u32 = 4;

/// In which order a lane takes the rows of a word: row `i ^ turn` for row `i`.
#[derive(Clone, Copy)]
struct Turn {
    /// The vectors of a destination row that have the same turn, as a power of two.
    shift: u32,
    /// Which bits of the turn there are.
    bits: u32,
}

impl Turn {
    /// The one with fewest bank conflicts for rows of `pitch` bytes, found by counting them for all up to 64. Rows of an odd
    /// number of bytes, or of half-words, lie in many banks by themselves.
    #[inline(always)]
    fn of(pitch: u32) -> Self {
        const SHORT: u32 = 8;
        match (pitch.is_multiple_of(4), pitch.is_multiple_of(2) && pitch < SHORT) {
            (_, true) => Turn { shift: 1, bits: 3 },
            (true, _) => Turn { shift: 0, bits: 3 },
            _ => Turn { shift: 0, bits: 0 },
        }
    }

    /// The turn of a vector.
    #[inline(always)]
    fn of_vector(self, vector: u32) -> u32 {
        (vector >> self.shift) & self.bits
    }
}

/// Transposes the rows of one block, whose windows have `window` bytes, a multiple of `SIDE` vectors.
///
/// # Safety
/// The obligations of the entry points; `base` is the shared-memory address, aligned to 16, of enough
/// memory for `window` rows, a sector's worth of rows and a vector.
#[inline(always)]
unsafe fn transpose(matrices: Matrices<u8>, window: u32, base: u32) {
    let Matrices { src, rows, cols, src_ld, .. } = matrices;
    let nominal = thread::block_idx_x() as u64 * window as u64;
    let first_row = nominal.saturating_sub(most_early(&matrices));
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
    let turn = Turn::of(pitch);
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
            unsafe { store_vector(to, gather(first, pitch, turn.of_vector(vector))) };
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

/// The vector of 16 bytes `pitch` apart; of the four bytes of a word, byte `i ^ turn` is loaded in place of byte `i`.
///
/// # Safety
/// The bytes were written before the last barrier.
#[inline(always)]
unsafe fn gather(first: u32, pitch: u32, turn: u32) -> B16 {
    let at = |i: u32| first.wrapping_add((i ^ turn).wrapping_mul(pitch));
    let at = [at(0), at(1), at(2), at(3)];
    // Of two pairs, the bytes in their order: 0 1, 4 5; or with neighbours, with pairs, with both changed places.
    let order = if turn & 1 == 0 { 0x5410 } else { 0x4501 };
    let order = if turn & 2 == 0 { order } else { (order << 8 | order >> 8) & 0xffff };
    let word = |number: u32| {
        let byte = |i: usize| at[i].wrapping_add(number.wrapping_mul(4 * pitch));
        // SAFETY: the caller's obligations.
        let (a, b, c, d) =
            unsafe { (load_u8(byte(0)), load_u8(byte(1)), load_u8(byte(2)), load_u8(byte(3))) };
        permute(permute(a, b, 0x0040), permute(c, d, 0x0040), order)
    };
    B16(word(0), word(1), word(2), word(3))
}

crate::fast_entry! {
    "Transposes matrices of few columns; `window` is how many elements of a destination row a block \
     stores.",
    tall_b1: u8, |matrices, window| {
        let base = crate::tile::shared_address(shared::dynamic_shared_mem::<u8>());
        transpose(matrices, window as u32, base)
    }
}
