//! The transpose of many small matrices that follow each other without a gap, in the source and in
//! the destination.
//!
//! A block moves a *band* of matrices. It stages the matrices that have an element in what it stores, as they lie, and
//! gathers:
//!
//! ```text
//! staging = matrices first ..= last of the source
//! barrier
//! dst[q .. q + V]: element q is in matrix q / (rows · cols), and there in column
//!                  (q mod rows · cols) / rows, row q mod rows
//! ```
//!
//! One division finds a vector's first element; the others are found by stepping. Elements of 1 and 2 bytes are moved by
//! [`batch_narrow`](super::batch_narrow).

use super::edges::Extent;
use super::gather::{store_vector, Gather};
use super::staging::Staging;
use super::{past_sector, per_vector, VECTOR};
use crate::element::B16;
use crate::launch::at_most_registers;
use crate::matrices::Matrices;
use cuda_std::thread;
use kernel_abi::fast::Batch;

/// Transposes the band of one block: `band_matrices` of `count` matrices, whose elements are whole sectors.
///
/// # Safety
/// The obligations of the entry points; `base` is the shared-memory address of enough memory for
/// `band_matrices` matrices, those of the sector before and two sectors, and 4 bytes for every 128 of those.
#[inline(always)]
unsafe fn transpose<E: Gather>(matrices: Matrices<E>, params: &Batch, base: u32) {
    let Matrices { src, dst, rows, cols, .. } = matrices;
    let (count, band_matrices) = (params.count, params.band_matrices as u32);
    // With more registers a multiprocessor has room for a sixth less of the blocks. (16-byte elements take 39 by themselves.)
    if size_of::<E>() < VECTOR as usize {
        at_most_registers::<40>();
    }
    let size = size_of::<E>() as u64;
    let staging = Staging::<true> { base };
    let each = rows * cols;
    let early = past_sector::<E>(dst as u64) as u64;
    let nominal = thread::block_idx_x() as u64 * band_matrices as u64;
    let first = nominal.saturating_sub(early.div_ceil(each));
    let end = (nominal + band_matrices as u64).min(count);
    if first >= count {
        return;
    }
    let from = src as u64 + first * each * size;
    let to = src as u64 + end * each * size;
    // SAFETY: the caller's obligations; all matrices are one of `count` rows.
    unsafe { staging.load::<E>(from, to, Extent::of(src, count, each, each)) };
    thread::sync_threads();

    let start = (nominal * each) as i64 - early as i64;
    let (rows, cols, each) = (rows as u32, cols as u32, each as u32);
    let mut number = thread::thread_idx_x();
    while number < band_matrices * each / per_vector::<E>() {
        let element = start + (number * per_vector::<E>()) as i64;
        let staged = (element - (first * each as u64) as i64) as u32;
        let to = (dst as u64).wrapping_add((element as u64).wrapping_mul(size));
        // The matrix, column and row of an element, by its number from the first staged one on.
        let place = |element: u32| {
            let (matrix, inside) = (element / each, element % each);
            (matrix, inside / rows, inside % rows)
        };
        let byte = |(matrix, col, row): (u32, u32, u32)| {
            from as u32 % VECTOR + (matrix * each + row * cols + col) * size as u32
        };
        let mut at = place(staged);
        let next = || {
            let address = staging.address(byte(at));
            let (matrix, col, row) = at;
            at = match (row + 1 == rows, col + 1 == cols) {
                (false, _) => (matrix, col, row + 1),
                (true, false) => (matrix, col + 1, 0),
                (true, true) => (matrix + 1, 0, 0),
            };
            address
        };
        // SAFETY: matrices `first` to `end` were loaded.
        unsafe {
            let at = |i: u32| staging.address(byte(place(staged.wrapping_add(i))));
            store_vector::<E>(to, element, count * each as u64, next, at);
        }
        number += thread::block_dim_x();
    }
}

/// Defines the entry points of both kernels for batches.
macro_rules! batch_entries {
    ($transpose:ident => $($name:ident: $element:ty),+) => {
        $(crate::fast_entry! {
            "Transposes `count` small matrices without gaps in or between them, a band of matrices a block.",
            BATCH: Batch, $name: $element, |matrices, params| {
                let memory = cuda_std::shared::dynamic_shared_mem::<u8>();
                let base = crate::tile::shared_address(memory);
                $transpose::<$element>(matrices, &params, base)
            }
        })+
    };
}

pub(super) use batch_entries;

batch_entries!(transpose => batch_b4: u32, batch_b8: u64, batch_b16: B16);
