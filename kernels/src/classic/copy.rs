//! The copy: what a transpose is measured against.
//!
//! It moves the same tiles with the same threads and leaves every element where it stood, so
//! both its loads and its stores are coalesced: nothing that moves tiles this way is faster.

use crate::element::{Element, B16};
use crate::matrices::Matrices;
use crate::{walk, BLOCK_ROWS, ROWS_PER_THREAD, TILE};
use cuda_std::thread;

/// Copies one tile.
///
/// # Safety
/// The obligations of the entry points, the destination being `rows × cols`.
#[inline(always)]
unsafe fn copy<E: Element>(matrices: Matrices<E>) {
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
        unsafe { matrices.write_copied(row + (k as u64) * BLOCK_ROWS as u64, col, element) };
    }
}

crate::entries! {
    "Copies the source to a destination of the same shape.", classic::COPY,
    copy => copy_b1: u8, copy_b2: u16, copy_b4: u32, copy_b8: u64, copy_b16: B16
}
