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
//!
//! Where destination rows start differently far past a sector, their vectors hold different rows of the source, and neighbours in one
//! are no neighbours in the stage. Then the lanes take columns that are four apart if source rows are whole vectors: those are in
//! other words. And where nearly any two vectors start differently far (an odd `dst_ld`) and rows are whole words, a
//! lane takes the four *words* of a vector in an order of its own instead.

use super::shared::{load_u8, permute};
use super::stage::Stage;
use super::{most_early, past_sector, Extent, SECTOR, VECTOR};
use crate::element::{Element, B16};
use crate::global::store_vector;
use crate::launch::at_most_registers;
use crate::matrices::Matrices;
use crate::opaque::opaque;
use cuda_std::{shared, thread};

/// Vectors of a destination row that threads side by side take.
const SIDE: u32 = 4;

/// In which order a block takes the bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    /// Of so many vectors of a destination row, as a power of two, each has the same turn, and those after them the next: row
    /// `i ^ turn` of a word for row `i`.
    Rows(u32),
    /// The same, each vector with another turn, and each column followed by the one four further on.
    Spaced,
    /// Word `i ^ turn` of a vector for word `i`, each vector with another turn.
    Words,
}

impl Order {
    /// The one with fewest bank conflicts for `cols` bytes of rows of `pitch` bytes whose columns go to memory `dst_ld` bytes apart,
    /// found by counting them for all `pitch` up to 64.
    #[inline(always)]
    fn of(cols: u32, pitch: u32, dst_ld: u32) -> Self {
        const NEVER: u32 = 31;
        let (even, words) = (pitch.is_multiple_of(2), pitch.is_multiple_of(4));
        if pitch.is_multiple_of(VECTOR) && cols.is_multiple_of(4) {
            if dst_ld.is_multiple_of(SECTOR) {
                Order::Rows(0)
            } else {
                Order::Spaced
            }
        } else if words && !dst_ld.is_multiple_of(2) {
            Order::Words
        } else if words && !dst_ld.is_multiple_of(4) || even && pitch < 8 {
            Order::Rows(1)
        } else if words {
            Order::Rows(0)
        } else {
            // An odd number of bytes, or of pairs of bytes: rows lie in many banks by themselves, unless what lanes side by side take
            // of neighbouring columns is a few bank words, or a byte less, apart.
            let apart = 1u32.wrapping_sub(pitch.wrapping_mul(dst_ld));
            let meet = apart.is_multiple_of(8) || apart % 16 == 15;
            if meet {
                Order::Words
            } else {
                Order::Rows(NEVER)
            }
        }
    }
}

/// The column that is taken as number `number`, if each of `cols` is followed by the one four further on.
#[inline(always)]
fn spaced(number: u32, cols: u32) -> u32 {
    let quarter = cols / 4;
    let first = [1, 2, 3].map(|n| (number >= n * quarter) as u32).iter().sum::<u32>();
    4 * (number - first * quarter) + first
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
        match Order::of(cols as u32, src_ld as u32, matrices.dst_ld as u32) {
            Order::Rows(shift) => store::<false, false>(&matrices, shift, nominal, window, corner),
            Order::Spaced => store::<true, false>(&matrices, 0, nominal, window, corner),
            Order::Words => store::<false, true>(&matrices, 0, nominal, window, corner),
        }
    }
}

/// Gathers and stores the windows that start at row `nominal`, which is staged at `corner`, or before; columns in spaced order or
/// not, words turned or rows, each `2^shift` vectors by another turn.
///
/// # Safety
/// Those of [`transpose`], and the rows were loaded before the last barrier.
#[inline(always)]
unsafe fn store<const SPACED: bool, const WORDS: bool>(
    matrices: &Matrices<u8>,
    shift: u32,
    nominal: u64,
    window: u32,
    corner: u32,
) {
    let Matrices { dst, rows, cols, src_ld, dst_ld, .. } = *matrices;
    let (cols, pitch) = (cols as u32, src_ld as u32);
    let (t, threads) = (thread::thread_idx_x(), thread::block_dim_x() / SIDE);
    // One division each finds the first vector and the way to the next.
    let (mut group, mut number) = (t / SIDE / cols, t / SIDE % cols);
    let (groups, numbers) = (threads / cols, threads % cols);
    while group < window / (SIDE * VECTOR) {
        let vector = group * SIDE + t % SIDE;
        let col = if SPACED { spaced(number, cols) } else { number };
        let start = dst as u64 + col as u64 * dst_ld;
        let early = past_sector::<u8>(start);
        let row = (nominal + (vector * VECTOR) as u64) as i64 - early as i64;
        let first = corner.wrapping_add((vector * VECTOR).wrapping_sub(early).wrapping_mul(pitch));
        let first = first.wrapping_add(col);
        let to = start.wrapping_add(row as u64);
        if row >= 0 && row as u64 + VECTOR as u64 <= rows {
            // SAFETY: the rows were loaded; the vector is in the destination's row and aligned.
            unsafe {
                let turn = (vector >> shift) % 4;
                store_vector(
                    to,
                    if WORDS {
                        gather_words(first, pitch, turn)
                    } else {
                        gather(first, pitch, turn)
                    },
                );
            }
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
        number += numbers;
        if number >= cols {
            number -= cols;
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

/// The vector of 16 bytes `pitch` apart; word `i ^ turn` is loaded in place of word `i`.
///
/// # Safety
/// The bytes were written before the last barrier.
#[inline(always)]
unsafe fn gather_words(first: u32, pitch: u32, turn: u32) -> B16 {
    let word = |number: u32| {
        let first = first.wrapping_add((number ^ turn).wrapping_mul(4 * pitch));
        let byte = |i: u32| {
            // SAFETY: the caller's obligations.
            unsafe { load_u8(first.wrapping_add(i.wrapping_mul(pitch))) }
        };
        let (low, high) = (permute(byte(0), byte(1), 0x0040), permute(byte(2), byte(3), 0x0040));
        permute(low, high, 0x5410)
    };
    let words = [word(0), word(1), word(2), word(3)];
    let swap = |words: [u32; 4], by: usize| {
        let pick = |i: usize| if turn & by as u32 != 0 { words[i ^ by] } else { words[i] };
        [pick(0), pick(1), pick(2), pick(3)]
    };
    let words = swap(swap(words, 1), 2);
    B16(words[0], words[1], words[2], words[3])
}

crate::fast_entry! {
    "Transposes matrices of few columns; `window` is how many elements of a destination row a block \
     stores.",
    TALL: Window, tall_b1: u8, |matrices, params| {
        at_most_registers::<32>();
        let base = crate::tile::shared_address(shared::dynamic_shared_mem::<u8>());
        transpose(matrices, params.window as u32, base)
    }
}
