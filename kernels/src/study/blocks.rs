//! Through shared memory, one element a thread, for blocks of many shapes.
//!
//! A block of `bx × by` threads loads a tile of as many elements row by row. Then its threads are
//! numbered through and take the elements column by column: of a block of 32 × 8, a warp writes
//! eight neighbours in each of four rows of the destination. Only with 32 rows of threads
//! does a warp write one whole row.
//!
//! Source: Dalmasso, `matrixTransposeCUDA`: `transposeSmem`, `transposeSmemPad`,
//! `transposeSmemUnrollPadDyn`. AMD, "Tiling and coalescing: matrix transpose":
//! `transpose_lds_kernel`, whose block is a square tile of 16 or 32.

use super::shared::SharedArray;
use crate::element::{Element, B16};
use crate::matrices::Matrices;
use crate::walk;
use cuda_std::{shared, thread};

/// The padding behind a tile's row, in elements: as many as make a warp of a `by`-high block read
/// 32 different banks, when elements are four bytes and the tile a multiple of 16 wide.
///
/// A warp reads `32 / by` columns. Rows that are `32 / by` banks apart leave room for just them.
/// A division would cost more than the padding saves: heights between powers of two get the
/// padding of the lower one.
#[inline(always)]
fn padding(by: u32) -> u32 {
    if by < 32 {
        32 >> by.ilog2()
    } else {
        1
    }
}

/// Transposes a tile of `UNROLL` blocks side by side whose rows are `pitch` elements apart.
///
/// # Safety
/// The obligations of the entry points; `tile` holds `by * pitch` elements.
#[inline(always)]
unsafe fn transpose<E: Element, const UNROLL: usize>(
    matrices: Matrices<E>,
    tile: SharedArray<E>,
    pitch: u32,
) {
    let (x, y) = (thread::thread_idx_x(), thread::thread_idx_y());
    let (bx, by) = (thread::block_dim_x(), thread::block_dim_y());
    let at = walk::cartesian();
    let first_row = at.row * by as u64;
    let first_col = at.col * UNROLL as u64 * bx as u64;

    // All loads before the first store to the tile: they are in flight together.
    let mut held = [E::ANY; UNROLL];
    for (k, element) in held.iter_mut().enumerate() {
        let j = x + k as u32 * bx;
        // SAFETY: the caller's obligations.
        *element = unsafe { matrices.read(first_row + y as u64, first_col + j as u64) };
    }
    for (k, element) in held.into_iter().enumerate() {
        // SAFETY: inside the tile, and no two threads share a place in it.
        unsafe { tile.write(y * pitch + x + k as u32 * bx, element) };
    }
    thread::sync_threads();
    let number = y * bx + x;
    let (j, i) = (number / by, number % by);
    for k in 0..UNROLL as u32 {
        let j = j + k * bx;
        // SAFETY: i is below by and j below the tile's width; the barrier has separated writes
        // from reads.
        let element = unsafe { tile.read(i * pitch + j) };
        // SAFETY: the caller's obligations.
        unsafe { matrices.write_transposed(first_row + i as u64, first_col + j as u64, element) };
    }
}

/// # Safety
/// The obligations of the entry points, a block of at most 1024 threads.
#[inline(always)]
unsafe fn smem<E: Element>(matrices: Matrices<E>, tile: SharedArray<E>) {
    // SAFETY: the caller's obligations; a tile has an element for each thread.
    unsafe { transpose::<E, 1>(matrices, tile, thread::block_dim_x()) }
}

/// # Safety
/// The obligations of the entry points, a block of at most 1024 threads and at least 8 × 1.
#[inline(always)]
unsafe fn smem_pad<E: Element>(matrices: Matrices<E>, tile: SharedArray<E>) {
    let pitch = thread::block_dim_x() + padding(thread::block_dim_y());
    // SAFETY: the caller's obligations; the entry points say how large the tile is.
    unsafe { transpose::<E, 1>(matrices, tile, pitch) }
}

/// # Safety
/// The obligations of the entry points, a block covering twice its width, and dynamic shared
/// memory for `by * (2 * bx + padding(by))` elements.
#[inline(always)]
unsafe fn smem_unroll_pad_dyn<E: Element>(matrices: Matrices<E>) {
    let pitch = 2 * thread::block_dim_x() + padding(thread::block_dim_y());
    // SAFETY: the launch's shared memory, aligned to 16 bytes.
    let tile = unsafe { SharedArray::new(shared::dynamic_shared_mem::<E>()) };
    // SAFETY: the caller's obligations.
    unsafe { transpose::<E, 2>(matrices, tile, pitch) }
}

/// # Safety
/// The obligations of the entry points, a block of `SIDE × SIDE` threads.
#[inline(always)]
unsafe fn lds<E: Element, const SIDE: u32>(matrices: Matrices<E>, tile: SharedArray<E>) {
    let (x, y) = (thread::thread_idx_x(), thread::thread_idx_y());
    let at = walk::cartesian();
    let (first_row, first_col) = (at.row * SIDE as u64, at.col * SIDE as u64);
    // SAFETY: the caller's obligations.
    let element = unsafe { matrices.read(first_row + y as u64, first_col + x as u64) };
    // SAFETY: inside the tile, and no two threads share a place in it.
    unsafe { tile.write(y * SIDE + x, element) };
    thread::sync_threads();
    // SAFETY: inside the tile; the barrier has separated writes from reads.
    let element = unsafe { tile.read(x * SIDE + y) };
    // SAFETY: the caller's obligations.
    unsafe { matrices.write_transposed(first_row + x as u64, first_col + y as u64, element) };
}

/// # Safety
/// The obligations of the entry points, a block of 16 × 16 threads.
#[inline(always)]
unsafe fn lds_16<E: Element>(matrices: Matrices<E>, tile: SharedArray<E>) {
    // SAFETY: the caller's obligations.
    unsafe { lds::<E, 16>(matrices, tile) }
}

/// # Safety
/// The obligations of the entry points, a block of 32 × 32 threads.
#[inline(always)]
unsafe fn lds_32<E: Element>(matrices: Matrices<E>, tile: SharedArray<E>) {
    // SAFETY: the caller's obligations.
    unsafe { lds::<E, 32>(matrices, tile) }
}

// One element for each of at most 1024 threads.
crate::entries! {
    "Transposes through a tile of the block's shape.", study::SMEM,
    smem, shared 1024 =>
        smem_b1: u8, smem_b2: u16, smem_b4: u32, smem_b8: u64, smem_b16: B16
}

// In blocks at least 8 wide there are at most 128 rows, with one element of padding each; with
// more padding go fewer rows.
crate::entries! {
    "Transposes through a padded tile of the block's shape.", study::SMEM_PAD,
    smem_pad, shared 1024 + 128 =>
        smem_pad_b1: u8, smem_pad_b2: u16, smem_pad_b4: u32, smem_pad_b8: u64, smem_pad_b16: B16
}

crate::entries! {
    "Transposes two elements a thread through a padded tile in dynamic shared memory.", study::SMEM_UNROLL_PAD_DYN,
    smem_unroll_pad_dyn =>
        smem_unroll_pad_dyn_b1: u8, smem_unroll_pad_dyn_b2: u16, smem_unroll_pad_dyn_b4: u32,
        smem_unroll_pad_dyn_b8: u64, smem_unroll_pad_dyn_b16: B16
}

crate::entries! {
    "Transposes through a 16 × 16 tile.", study::LDS_16,
    lds_16, shared 16 * 16 =>
        lds_16_b1: u8, lds_16_b2: u16, lds_16_b4: u32, lds_16_b8: u64, lds_16_b16: B16
}

crate::entries! {
    "Transposes through a 32 × 32 tile.", study::LDS_32,
    lds_32, shared 32 * 32 =>
        lds_32_b1: u8, lds_32_b2: u16, lds_32_b4: u32, lds_32_b8: u64, lds_32_b16: B16
}
