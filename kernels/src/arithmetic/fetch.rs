//! What a block that adds to matrices, or to tiles, adds to: fetched into the L2 cache while the block loads.
//!
//! A thread has registers for what is added to one column of its own, so it asks for that when it is about to store. In the cache it costs no registers, which would be blocks.
//!
//! Where a block's columns end inside lines of the caches, the block after it reads and stores the rest of those lines. A sector that is read for the first time when another block has stored to its line comes
//! late: on an H200 such sums had three quarters of the speed of those whose columns end with lines, though as many bytes moved. Fetched before anything is stored, it does not (decision 153).

use super::matrices::Pieces;
use crate::element::Element;
use crate::fast::micro::Place;
use crate::fast::SECTOR;
use crate::global::fetch_sector;
use crate::launch::is_hopper;
use crate::opaque::{opaque, opaque_u64};
use cuda_std::thread;
use kernel_abi::arithmetic::{flags, ComputeMatrices, Operation};

/// Bytes of a line of the caches.
pub(super) const LINE: u32 = 128;

/// Whether it is asked for that what lies between lines is fetched, of code for a chip that was measured.
#[inline(always)]
pub(super) fn is_wanted(operation: &Operation) -> bool {
    is_hopper() && operation.flags & flags::FETCH != 0
}

/// Fetches what a block adds to: of `cols` rows of the second operand, the first of which has the element at `start`, those of `1 << log_sectors` sectors that lie
/// between the bytes `low` and `high` of `start`.
///
/// # Safety
/// The second operand has these.
#[inline(always)]
pub(super) unsafe fn fetch_sectors(
    start: u64,
    stride: u64,
    cols: u32,
    log_sectors: u32,
    [low, high]: [i32; 2],
) {
    let t = thread::thread_idx_x();
    let byte = ((t & ((1 << log_sectors) - 1)) * SECTOR) as i32;
    let (mut col, step) = (t >> log_sectors, thread::block_dim_x() >> log_sectors);
    if byte < low || byte >= high {
        return;
    }
    while col < cols {
        let row = start.wrapping_add((col as u64).wrapping_mul(stride));
        // SAFETY: the caller's obligations.
        unsafe { fetch_sector(row.wrapping_add(byte as u64)) };
        col += step;
    }
}

/// Fetches what a block adds to where its rows of the destination do not all start on lines of the caches, of a tile of `ROWS` rows and `COLS` columns: the lines that its columns end in, and all other lines
/// of them too if no more than every other thread has one to ask for. The lines that columns start in are those that the columns of the block before end in.
///
/// # Safety
/// The obligations of the entry points.
#[inline(always)]
pub(super) unsafe fn fetch_between_lines<
    E: Element,
    const ROWS: u32,
    const COLS: u32,
    const THREADS: u32,
>(
    params: &ComputeMatrices,
    pieces: &Pieces<E>,
    place: Place,
) {
    let bytes = params.operation.dst_bytes as u32;
    let lines = match ROWS * bytes / LINE {
        lines if lines * COLS <= THREADS / 2 => lines.max(1),
        _ => 1,
    };
    // What is found for this is not kept until the tile is stored.
    let t = opaque(thread::thread_idx_x());
    let (row, first) = (opaque_u64(place.row), opaque_u64(place.col));
    // A power of two: a division would take longer than all of this.
    let (line, col) = (t & (lines - 1), t >> lines.trailing_zeros());
    let last = place.rows.min(ROWS) * bytes - 1;
    if col < place.cols.min(COLS) && line * LINE <= last {
        let start = pieces.second_of(params, row as i64, first + col as u64);
        // SAFETY: the byte is of an element of the second operand.
        unsafe { fetch_sector(start.wrapping_add((last - line * LINE) as u64)) };
    }
}
