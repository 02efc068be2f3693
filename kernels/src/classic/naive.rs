//! The naive transpose: a copy with the two indices exchanged at the store.
//!
//! A warp reads 32 neighbours of one row, which coalesces, and writes them down one column of
//! the destination: 32 sectors for 32 elements. Source: Ruetsch, Micikevicius and Scudiero,
//! section "Naïve transpose".

use crate::element::{Element, B16};
use crate::matrices::Matrices;
use crate::{walk, BLOCK_ROWS, ROWS_PER_THREAD, TILE};
use cuda_std::thread;

/// Transposes one tile without staging it.
///
/// # Safety
/// The obligations of the entry points.
#[inline(always)]
unsafe fn naive<E: Element>(matrices: Matrices<E>) {
    let at = walk::cartesian();
    let col = at.col * TILE as u64 + thread::thread_idx_x() as u64;
    let row = at.row * TILE as u64 + thread::thread_idx_y() as u64;
    // All loads before the first store: they are in flight together.
    let mut held = [E::ANY; ROWS_PER_THREAD];
    for (k, element) in held.iter_mut().enumerate() {
        // SAFETY: the caller's obligations.
        *element = unsafe { matrices.read(row + (k as u64) * BLOCK_ROWS as u64, col) };
    }
    for (k, element) in held.into_iter().enumerate() {
        // SAFETY: the caller's obligations.
        unsafe { matrices.write_transposed(row + (k as u64) * BLOCK_ROWS as u64, col, element) };
    }
}

crate::entries! {
    "Transposes by strided stores.", classic::NAIVE,
    naive => naive_b1: u8, naive_b2: u16, naive_b4: u32, naive_b8: u64, naive_b16: B16
}
