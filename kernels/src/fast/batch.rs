//! The transpose of many small matrices that follow each other without a gap, in the source and in
//! the destination.
//!
//! A block moves a piece of the destination. It loads the matrices that have an element in the
//! piece, as they lie, and gathers:
//!
//! ```text
//! stage = matrices first ..= last of the source, one piece
//! barrier
//! dst[q .. q + V]: element q is in matrix q / (rows · cols), and there in column
//!                  (q mod rows · cols) / rows, row q mod rows
//! ```
//!
//! One division finds a vector's first element; the others are found by stepping. For narrow elements see
//! [`batch_narrow`](super::batch_narrow).

use super::gather::{store_vector, Gather};
use super::stage::Stage;
use super::{past_sector, per_vector, Extent, VECTOR};
use crate::element::B16;
use crate::matrices::Matrices;
use cuda_std::thread;

/// Transposes the matrices of one block: `window` of `count`; the elements of `window` matrices are
/// a multiple of a sector's.
///
/// # Safety
/// The obligations of the entry points; `base` is the shared-memory address of enough memory for
/// `window` matrices, those of the sector before and two sectors, and one word for every 32 of those.
#[inline(always)]
unsafe fn transpose<E: Gather>(matrices: Matrices<E>, count: u64, window: u32, base: u32) {
    let Matrices { src, dst, rows, cols, .. } = matrices;
    let size = size_of::<E>() as u64;
    let stage = Stage::<true> { base };
    let each = rows * cols;
    let early = past_sector::<E>(dst as u64) as u64;
    let nominal = thread::block_idx_x() as u64 * window as u64;
    let first = nominal.saturating_sub(early.div_ceil(each));
    let end = (nominal + window as u64).min(count);
    if first >= count {
        return;
    }
    let from = src as u64 + first * each * size;
    let to = src as u64 + end * each * size;
    // SAFETY: the caller's obligations; all matrices are one of `count` rows.
    unsafe { stage.load::<E>(from, to, Extent::of(src, count, each, each)) };
    thread::sync_threads();

    let start = (nominal * each) as i64 - early as i64;
    let (rows, cols, each) = (rows as u32, cols as u32, each as u32);
    let mut number = thread::thread_idx_x();
    while number < window * each / per_vector::<E>() {
        let element = start + (number * per_vector::<E>()) as i64;
        let staged = (element - (first * each as u64) as i64) as u32;
        let to = (dst as u64).wrapping_add((element as u64).wrapping_mul(size));
        // Where an element of the destination lies in the stage: its matrix, column and row.
        let place = |element: u32| {
            let (matrix, inside) = (element / each, element % each);
            (matrix, inside / rows, inside % rows)
        };
        let byte = |(matrix, col, row): (u32, u32, u32)| {
            from as u32 % VECTOR + (matrix * each + row * cols + col) * size as u32
        };
        let mut at = place(staged);
        let next = || {
            let address = stage.address(byte(at));
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
            let at = |i: u32| stage.address(byte(place(staged.wrapping_add(i))));
            store_vector::<E>(to, element, count * each as u64, next, at);
        }
        number += thread::block_dim_x();
    }
}

/// Defines the entry points of both kernels for batches.
macro_rules! batch_entries {
    ($transpose:ident => $($name:ident: $element:ty),+) => {
        $(crate::fast_entry! {
            "Transposes `count` small matrices without gaps in or between them; a block moves \
             `window` of them.",
            BATCH: Batch, $name: $element, |matrices, params| {
                let memory = cuda_std::shared::dynamic_shared_mem::<u8>();
                let base = crate::tile::shared_address(memory);
                $transpose::<$element>(matrices, params.count, params.window as u32, base)
            }
        })+
    };
}

pub(super) use batch_entries;

batch_entries!(transpose => batch_b4: u32, batch_b8: u64, batch_b16: B16);
