//! The transpose of matrices with few columns: what an array of structures becomes when it is made
//! a structure of arrays.
//!
//! A block moves a *band* of rows: in the source that is contiguous memory. It stages the band as it lies, whatever the
//! rows' length is, and gathers from it a *span* of every destination row:
//!
//! ```text
//! staging = src[first_row ..= last_row]
//! barrier
//! dst[c][row .. row + V] = every src_ld-th element of the staging buffer from (row, c) on
//! ```
//!
//! Single bytes are gathered in another order: see [`tall_bytes`](super::tall_bytes).

use super::edges::Extent;
use super::gather::{store_vector, Gather};
use super::staging::Staging;
use super::{most_early, past_sector, per_vector, VECTOR};
use crate::element::B16;
use crate::matrices::Matrices;
use cuda_std::thread;

/// Transposes the band of one block: `band_rows` rows, which as elements of a destination row are whole sectors.
///
/// # Safety
/// The obligations of the entry points; `base` is the shared-memory address of enough memory for
/// `band_rows` rows, a sector's worth of rows and a vector, and 4 bytes for every 128 of those.
#[inline(always)]
unsafe fn transpose<E: Gather>(matrices: Matrices<E>, band_rows: u32, base: u32) {
    let Matrices { src, dst, rows, cols, src_ld, dst_ld } = matrices;
    let size = size_of::<E>() as u64;
    let staging = Staging::<true> { base };
    let nominal = thread::block_idx_x() as u64 * band_rows as u64;
    let first_row = nominal.saturating_sub(most_early(&matrices));
    let end_row = (nominal + band_rows as u64).min(rows);
    if first_row >= rows {
        return;
    }
    let from = src as u64 + first_row * src_ld * size;
    let to = src as u64 + ((end_row - 1) * src_ld + cols) * size;
    // SAFETY: the caller's obligations.
    unsafe { staging.load::<E>(from, to, Extent::of(src, rows, cols, src_ld)) };
    thread::sync_threads();

    let vectors = band_rows / per_vector::<E>();
    let pitch = src_ld as u32 * size as u32;
    let mut number = thread::thread_idx_x();
    while number < vectors * cols as u32 {
        let (vector, col) = (number % vectors, number / vectors);
        let start = dst as u64 + col as u64 * dst_ld * size;
        let row =
            (nominal + (vector * per_vector::<E>()) as u64) as i64 - past_sector::<E>(start) as i64;
        let first = (from as u32 % VECTOR)
            .wrapping_add(((row - first_row as i64) as u32).wrapping_mul(pitch))
            .wrapping_add(col * size as u32);
        let to = start.wrapping_add((row as u64).wrapping_mul(size));
        // SAFETY: rows from `first_row` to `end_row` were loaded.
        unsafe {
            let mut byte = first;
            let next = || {
                let address = staging.address(byte);
                byte = byte.wrapping_add(pitch);
                address
            };
            let at = |i: u32| staging.address(first.wrapping_add(i.wrapping_mul(pitch)));
            store_vector::<E>(to, row, rows, next, at);
        }
        number += thread::block_dim_x();
    }
}

crate::band_entries! {
    "Transposes matrices of few columns, a band of rows a block.",
    TALL: RowBand.band_rows, transpose => tall_b2: u16, tall_b4: u32, tall_b8: u64, tall_b16: B16
}
