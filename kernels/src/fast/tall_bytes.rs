//! The transpose of matrices with few columns, for single bytes.
//!
//! A block moves a band of rows, as in [`tall`](super::tall). But a thread gathers sixteen bytes for each vector, so that
//! the address of every one must cost next to nothing. The band is staged without gaps, and the bytes of a
//! vector are `src_ld` apart:
//!
//! ```text
//! staging = src[first_row ..= last_row]
//! barrier
//! dst[c][row .. row + 16] = the staged bytes first, first + src_ld, …, first + 15 · src_ld
//! ```
//!
//! # Banks
//! Without gaps, vectors of one destination row start `16 · src_ld` bytes apart, which is often a multiple of all
//! 32 banks. So the lanes of a warp take few vectors of a row, and those of several rows, which are neighbours in
//! the staging buffer. And where vectors of a row still meet in a bank, each lane takes the four bytes that make a
//! `u32` of its vector in an order of its own: byte `i ^ turn` in place of byte `i`, which moves the lanes' accesses a
//! source row or two apart. The permutation that joins the four puts them in order, and costs no more for that.
//!
//! Where destination rows start differently far past a sector, their vectors hold different rows of the source, and
//! neighbours in one are no neighbours in the staging buffer. Then the lanes take columns that are four apart if source
//! rows are whole vectors: those are in other bank words. And where nearly any two vectors start differently far (an odd
//! `dst_ld`) and rows are whole bank words, a lane takes the four `u32` of a vector in an order of its own instead.

use super::edges::{store_each, Extent};
use super::shared::{load_u8, permute};
use super::staging::Staging;
use super::{most_early, past_sector, SECTOR, VECTOR};
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
    /// Byte `i ^ turn` of each `u32` in place of byte `i`. So many vectors of a destination row, as a power of two, have the
    /// same turn, and those after them the next.
    Bytes(u32),
    /// Byte `i ^ turn` of each `u32` in place of byte `i`, each vector with another turn, and each column followed by the one
    /// four further on.
    Spaced,
    /// The `u32` with number `i ^ turn` of a vector in place of number `i`, each vector with another turn.
    Fours,
}

impl Order {
    /// The one with fewest bank conflicts for `cols` bytes of rows of `pitch` bytes whose columns go to memory `dst_ld` bytes apart,
    /// found by counting them for all `pitch` up to 64.
    #[inline(always)]
    fn of(cols: u32, pitch: u32, dst_ld: u32) -> Self {
        const NEVER: u32 = 31;
        let (even, bank_words) = (pitch.is_multiple_of(2), pitch.is_multiple_of(4));
        if pitch.is_multiple_of(VECTOR) && cols.is_multiple_of(4) {
            if dst_ld.is_multiple_of(SECTOR) {
                Order::Bytes(0)
            } else {
                Order::Spaced
            }
        } else if bank_words && !dst_ld.is_multiple_of(2) {
            Order::Fours
        } else if bank_words && !dst_ld.is_multiple_of(4) || even && pitch < 8 {
            Order::Bytes(1)
        } else if bank_words {
            Order::Bytes(0)
        } else {
            // An odd number of bytes, or of pairs of them: rows lie in many banks by themselves, unless what lanes side by
            // side take of neighbouring columns is a few bank words, or a byte less, apart.
            let apart = 1u32.wrapping_sub(pitch.wrapping_mul(dst_ld));
            let meet = apart.is_multiple_of(8) || apart % 16 == 15;
            if meet {
                Order::Fours
            } else {
                Order::Bytes(NEVER)
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

/// Transposes the band of one block: `band_rows` rows, which as bytes of a destination row are a multiple of `SIDE` vectors.
///
/// # Safety
/// The obligations of the entry points; `base` is the shared-memory address, aligned to 16, of enough
/// memory for `band_rows` rows, a sector's worth of rows and a vector.
#[inline(always)]
unsafe fn transpose(matrices: Matrices<u8>, band_rows: u32, base: u32) {
    let Matrices { src, rows, cols, src_ld, .. } = matrices;
    let nominal = thread::block_idx_x() as u64 * band_rows as u64;
    let first_row = nominal.saturating_sub(most_early(&matrices));
    let end_row = (nominal + band_rows as u64).min(rows);
    if first_row >= rows {
        return;
    }
    let from = src as u64 + first_row * src_ld;
    let to = src as u64 + (end_row - 1) * src_ld + cols;
    // Where the row is staged that the band starts with.
    let corner = base + from as u32 % VECTOR + (nominal - first_row) as u32 * src_ld as u32;
    // SAFETY: the caller's obligations.
    unsafe {
        let staging = Staging::<false> { base };
        staging.load::<u8>(from, to, Extent::of(src, rows, cols, src_ld));
        thread::sync_threads();
        match Order::of(cols as u32, src_ld as u32, matrices.dst_ld as u32) {
            Order::Bytes(shift) => {
                store::<false, false>(&matrices, shift, nominal, band_rows, corner)
            }
            Order::Spaced => store::<true, false>(&matrices, 0, nominal, band_rows, corner),
            Order::Fours => store::<false, true>(&matrices, 0, nominal, band_rows, corner),
        }
    }
}

/// Gathers and stores the spans of the band that starts with row `nominal`, which is staged at `corner`: in the order
/// [`Order::Spaced`], [`Order::Fours`] or, if neither, [`Order::Bytes`] with `shift`.
///
/// # Safety
/// The obligations of [`transpose`], and the rows were loaded before the last barrier.
#[inline(always)]
unsafe fn store<const SPACED: bool, const FOURS: bool>(
    matrices: &Matrices<u8>,
    shift: u32,
    nominal: u64,
    band_rows: u32,
    corner: u32,
) {
    let Matrices { dst, rows, cols, src_ld, dst_ld, .. } = *matrices;
    let (cols, pitch) = (cols as u32, src_ld as u32);
    let (t, threads) = (thread::thread_idx_x(), thread::block_dim_x() / SIDE);
    // One division finds the first vector, another the way to the next.
    let (mut group, mut number) = (t / SIDE / cols, t / SIDE % cols);
    let (groups, numbers) = (threads / cols, threads % cols);
    while group < band_rows / (SIDE * VECTOR) {
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
                    if FOURS {
                        gather_fours(first, pitch, turn)
                    } else {
                        gather(first, pitch, turn)
                    },
                );
            }
        } else {
            let first = opaque(first);
            let at = |byte: u32| first.wrapping_add(byte.wrapping_mul(pitch));
            // SAFETY: the vector is aligned; its rows were loaded.
            unsafe { store_each(to, row, rows, |byte| u8::load_shared(at(byte))) };
        }
        group += groups;
        number += numbers;
        if number >= cols {
            number -= cols;
            group += 1;
        }
    }
}

/// The vector of 16 bytes `pitch` apart; of the four bytes of a `u32`, byte `i ^ turn` is loaded in place of byte `i`.
///
/// # Safety
/// The bytes were written before the last barrier.
#[inline(always)]
unsafe fn gather(first: u32, pitch: u32, turn: u32) -> B16 {
    let at = |i: u32| first.wrapping_add((i ^ turn).wrapping_mul(pitch));
    let at = [at(0), at(1), at(2), at(3)];
    // Of two pairs the bytes in their order, 0 1 and 4 5; or with neighbours, with pairs, with both changed places.
    let order = if turn & 1 == 0 { 0x5410 } else { 0x4501 };
    let order = if turn & 2 == 0 { order } else { (order << 8 | order >> 8) & 0xffff };
    let four = |number: u32| {
        let byte = |i: usize| at[i].wrapping_add(number.wrapping_mul(4 * pitch));
        // SAFETY: the caller's obligations.
        let (a, b, c, d) =
            unsafe { (load_u8(byte(0)), load_u8(byte(1)), load_u8(byte(2)), load_u8(byte(3))) };
        permute(permute(a, b, 0x0040), permute(c, d, 0x0040), order)
    };
    B16(four(0), four(1), four(2), four(3))
}

/// The vector of 16 bytes `pitch` apart; its `u32` number `i ^ turn` is loaded in place of number `i`.
///
/// # Safety
/// The bytes were written before the last barrier.
#[inline(always)]
unsafe fn gather_fours(first: u32, pitch: u32, turn: u32) -> B16 {
    let four = |number: u32| {
        let first = first.wrapping_add((number ^ turn).wrapping_mul(4 * pitch));
        let byte = |i: u32| {
            // SAFETY: the caller's obligations.
            unsafe { load_u8(first.wrapping_add(i.wrapping_mul(pitch))) }
        };
        let (low, high) = (permute(byte(0), byte(1), 0x0040), permute(byte(2), byte(3), 0x0040));
        permute(low, high, 0x5410)
    };
    let loaded = [four(0), four(1), four(2), four(3)];
    let swap = |fours: [u32; 4], by: usize| {
        let pick = |i: usize| if turn & by as u32 != 0 { fours[i ^ by] } else { fours[i] };
        [pick(0), pick(1), pick(2), pick(3)]
    };
    B16::from_u32s(swap(swap(loaded, 1), 2))
}

crate::fast_entry! {
    "Transposes matrices of few columns, a band of rows a block.",
    TALL: RowBand, tall_b1: u8, |matrices, params| {
        at_most_registers::<32>();
        let base = crate::tile::shared_address(shared::dynamic_shared_mem::<u8>());
        transpose(matrices, params.band_rows as u32, base)
    }
}
