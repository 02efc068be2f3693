//! Rows that are too long for the chip: shuffled into scratch memory, from where the host copies them
//! back. The permutation is that of `rows`; a launch takes as many rows as the scratch memory holds.

use super::rows::source;
use super::sweep::sweep;
use crate::element::{Element, B16};
use cuda_std::thread;
use kernel_abi::in_place::{StagedRows, STAGED_ELEMENTS};

/// Shuffles a part of a row into the scratch memory.
///
/// # Safety
/// The obligations of the entry points.
#[inline(always)]
unsafe fn stage_rows<E: Element>(matrix: *mut E, scratch: *mut u32, params: StagedRows) {
    let (shuffle, cols) = (params.shuffle, params.shuffle.cols.divisor);
    let held = thread::block_idx_y() as u64;
    let row = params.first + held;
    let first = thread::block_idx_x() as u64 * STAGED_ELEMENTS;
    // SAFETY: the caller's obligations: the row is inside the matrix, its copy in the scratch memory.
    let (from, to) = unsafe {
        (matrix.add((row * cols) as usize), scratch.cast::<E>().add((held * cols + first) as usize))
    };
    sweep(
        1,
        STAGED_ELEMENTS.min(cols - first) as u32,
        thread::block_dim_x().trailing_zeros(),
        // SAFETY: a source is a column of the row.
        |_, at| unsafe {
            E::load(from.add(source(&shuffle, row as u32, first as u32 + at) as usize))
        },
        // SAFETY: inside the part.
        |_, at, element| unsafe { element.store(to.add(at as usize)) },
    );
}

crate::in_place::in_place_entries! {
    "Shuffles rows as the C2R and R2C decompositions do, into the scratch memory.",
    STAGE_ROWS: StagedRows, stage_rows =>
        stage_rows_b1: u8; stage_rows_b2: u16; stage_rows_b4: u32; stage_rows_b8: u64;
        stage_rows_b16: B16
}
