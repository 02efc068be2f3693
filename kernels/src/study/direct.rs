//! Rows and columns without shared memory, for blocks of any shape.
//!
//! A *row* kernel lets neighbouring threads read along a row and write down a column, a *col*
//! kernel the other way round. A strided read is kinder than a strided write: the sectors that it
//! touches stay in the L1 cache for the neighbours, and writes are not cached there.
//!
//! The grid's and the block's x axis run along the rows' elements in the row kernels, and
//! down the rows in the col kernels.
//!
//! Source: Dalmasso, `matrixTransposeCUDA`: `copyRow`, `copyCol`, `transposeNaiveRow`,
//! `transposeNaiveCol`, `transposeUnroll4Row`, `transposeUnroll4Col`, `transposeDiagonalRow`,
//! `transposeDiagonalCol`. There an unrolled block that crosses the edge moves nothing; here it
//! moves what is inside.

use crate::element::{Element, B16};
use crate::matrices::Matrices;
use crate::walk::{self, TileIndex};
use cuda_std::thread;

/// The elements that a thread of an unrolled kernel moves.
const UNROLL: usize = 4;

/// This thread's place, counted in threads, along x and along y, in the block at `at`.
#[inline(always)]
fn place(at: TileIndex) -> (u64, u64) {
    let x = at.col * thread::block_dim_x() as u64 + thread::thread_idx_x() as u64;
    let y = at.row * thread::block_dim_y() as u64 + thread::thread_idx_y() as u64;
    (x, y)
}

/// # Safety
/// The obligations of the entry points, the destination being `rows × cols`.
#[inline(always)]
unsafe fn copy_row<E: Element>(matrices: Matrices<E>) {
    let (col, row) = place(walk::cartesian());
    // SAFETY: the caller's obligations.
    unsafe { matrices.write_copied(row, col, matrices.read(row, col)) };
}

/// # Safety
/// The obligations of the entry points, the destination being `rows × cols`.
#[inline(always)]
unsafe fn copy_col<E: Element>(matrices: Matrices<E>) {
    let (row, col) = place(walk::cartesian());
    // SAFETY: the caller's obligations.
    unsafe { matrices.write_copied(row, col, matrices.read(row, col)) };
}

/// # Safety
/// The obligations of the entry points.
#[inline(always)]
unsafe fn naive_row<E: Element>(matrices: Matrices<E>) {
    let (col, row) = place(walk::cartesian());
    // SAFETY: the caller's obligations.
    unsafe { matrices.write_transposed(row, col, matrices.read(row, col)) };
}

/// # Safety
/// The obligations of the entry points.
#[inline(always)]
unsafe fn naive_col<E: Element>(matrices: Matrices<E>) {
    let (row, col) = place(walk::cartesian());
    // SAFETY: the caller's obligations.
    unsafe { matrices.write_transposed(row, col, matrices.read(row, col)) };
}

/// The x coordinate of this thread's first element, and the distance to its next, in a block
/// that covers [`UNROLL`] times its width.
#[inline(always)]
fn unrolled() -> (u64, u64, u64) {
    let at = walk::cartesian();
    let (x, y) = place(TileIndex { row: at.row, col: at.col * UNROLL as u64 });
    (x, y, thread::block_dim_x() as u64)
}

/// # Safety
/// The obligations of the entry points, a block covering four times its width.
#[inline(always)]
unsafe fn unroll4_row<E: Element>(matrices: Matrices<E>) {
    let (first, row, step) = unrolled();
    // All loads before the first store: they are in flight together.
    let mut held = [E::ANY; UNROLL];
    for (k, element) in held.iter_mut().enumerate() {
        // SAFETY: the caller's obligations.
        *element = unsafe { matrices.read(row, first + k as u64 * step) };
    }
    for (k, element) in held.into_iter().enumerate() {
        // SAFETY: the caller's obligations.
        unsafe { matrices.write_transposed(row, first + k as u64 * step, element) };
    }
}

/// # Safety
/// The obligations of the entry points, a block covering four times its width.
#[inline(always)]
unsafe fn unroll4_col<E: Element>(matrices: Matrices<E>) {
    let (first, col, step) = unrolled();
    // All loads before the first store: they are in flight together.
    let mut held = [E::ANY; UNROLL];
    for (k, element) in held.iter_mut().enumerate() {
        // SAFETY: the caller's obligations.
        *element = unsafe { matrices.read(first + k as u64 * step, col) };
    }
    for (k, element) in held.into_iter().enumerate() {
        // SAFETY: the caller's obligations.
        unsafe { matrices.write_transposed(first + k as u64 * step, col, element) };
    }
}

/// The block's position along diagonals, where `extent` elements lie along the y axis.
#[inline(always)]
fn diagonal(extent: u64) -> TileIndex {
    walk::along_diagonals(extent.div_ceil(thread::block_dim_y() as u64))
}

/// # Safety
/// The obligations of the entry points.
#[inline(always)]
unsafe fn diagonal_row<E: Element>(matrices: Matrices<E>) {
    let (col, row) = place(diagonal(matrices.rows));
    // SAFETY: the caller's obligations.
    unsafe { matrices.write_transposed(row, col, matrices.read(row, col)) };
}

/// # Safety
/// The obligations of the entry points.
#[inline(always)]
unsafe fn diagonal_col<E: Element>(matrices: Matrices<E>) {
    let (row, col) = place(diagonal(matrices.cols));
    // SAFETY: the caller's obligations.
    unsafe { matrices.write_transposed(row, col, matrices.read(row, col)) };
}

crate::entries! {
    "Copies along rows: the upper bound.", study::COPY_ROW,
    copy_row => copy_row_b1: u8, copy_row_b2: u16, copy_row_b4: u32, copy_row_b8: u64,
        copy_row_b16: B16
}

crate::entries! {
    "Copies down columns: the lower bound.", study::COPY_COL,
    copy_col => copy_col_b1: u8, copy_col_b2: u16, copy_col_b4: u32, copy_col_b8: u64,
        copy_col_b16: B16
}

crate::entries! {
    "Transposes: reads rows, writes columns.", study::NAIVE_ROW,
    naive_row => naive_row_b1: u8, naive_row_b2: u16, naive_row_b4: u32, naive_row_b8: u64,
        naive_row_b16: B16
}

crate::entries! {
    "Transposes: reads columns, writes rows.", study::NAIVE_COL,
    naive_col => naive_col_b1: u8, naive_col_b2: u16, naive_col_b4: u32, naive_col_b8: u64,
        naive_col_b16: B16
}

crate::entries! {
    "Transposes four elements a thread: reads rows, writes columns.", study::UNROLL4_ROW,
    unroll4_row => unroll4_row_b1: u8, unroll4_row_b2: u16, unroll4_row_b4: u32,
        unroll4_row_b8: u64, unroll4_row_b16: B16
}

crate::entries! {
    "Transposes four elements a thread: reads columns, writes rows.", study::UNROLL4_COL,
    unroll4_col => unroll4_col_b1: u8, unroll4_col_b2: u16, unroll4_col_b4: u32,
        unroll4_col_b8: u64, unroll4_col_b16: B16
}

crate::entries! {
    "Transposes along diagonals: reads rows, writes columns.", study::DIAGONAL_ROW,
    diagonal_row => diagonal_row_b1: u8, diagonal_row_b2: u16, diagonal_row_b4: u32,
        diagonal_row_b8: u64, diagonal_row_b16: B16
}

crate::entries! {
    "Transposes along diagonals: reads columns, writes rows.", study::DIAGONAL_COL,
    diagonal_col => diagonal_col_b1: u8, diagonal_col_b2: u16, diagonal_col_b4: u32,
        diagonal_col_b8: u64, diagonal_col_b16: B16
}
