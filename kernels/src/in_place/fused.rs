//! Tiles moved along cycles and transposed on the way: stages 2 and 3 of the 4-stage algorithm.
//!
//! The matrix is `rows × cols` tiles, each `tile_rows × tile_cols` elements of consecutive memory.
//! Tile `(a, b)` moves to tile `(b, a)`'s place and is transposed. A block carries a tile in shared
//! memory and goes along the cycle as `permute` does, one step at a time.
//!
//! This is the rule of `strong`, with blocks for parties: [`ask`] is its steps 2 to 4 when it asks for a claim, and every tile that
//! is stored to was claimed before.

use super::strong::{claim, is_clear, Strong};
use super::sweep::sweep;
use crate::divide::Divisor;
use crate::element::{Element, B16};
use crate::tile::shared_address;
use cuda_std::shared::dynamic_shared_mem;
use cuda_std::thread;
use kernel_abi::in_place::Fused;

/// Bytes in front of the two tiles: the mailbox.
const MAILBOX: u32 = 16;

/// A yes or no that thread 0 finds out, for the whole block, between two barriers.
///
/// # Safety
/// All threads of the block call it; `mailbox` is a word of shared memory of its own.
#[inline(always)]
unsafe fn ask(mailbox: u32, answer: impl FnOnce() -> bool) -> bool {
    thread::sync_threads();
    if thread::thread_idx_x() == 0 {
        // SAFETY: the mailbox is read after the barrier only.
        unsafe { (answer() as u32).store_shared(mailbox) };
    }
    thread::sync_threads();
    // SAFETY: written before the barrier.
    unsafe { u32::load_shared(mailbox) != 0 }
}

/// Moves tiles from the starts that fall to this block.
///
/// # Safety
/// The obligations of the entry points.
#[inline(always)]
unsafe fn fused<E: Strong>(matrix: *mut E, flags: *mut u32, params: Fused) {
    let Fused { rows, tile_cols, .. } = params;
    let (cols, per_col) = (Divisor::from(params.cols), Divisor::from(params.tile_rows));
    let tile_rows = per_col.divisor;
    let (tiles, elements) = (rows * cols.divisor, tile_rows * tile_cols);
    let pitch = params.pitch as u32;
    // SAFETY: the launch has dynamic shared memory for the mailbox and two tiles.
    let mailbox = unsafe { shared_address(dynamic_shared_mem::<u8>()) };
    let buffer_bytes = tile_rows as u32 * pitch * size_of::<E>() as u32;

    let load = |tile: u64, buffer: u32| {
        let start = (tile * elements) as usize;
        sweep(
            tile_rows as u32,
            tile_cols as u32,
            5,
            // SAFETY: inside the tile.
            |row, col| unsafe {
                E::load_strong(matrix.add(start + (row as u64 * tile_cols) as usize + col as usize))
            },
            // SAFETY: inside the buffer, each place once, and a barrier follows.
            |row, col, element| unsafe {
                element.store_shared(buffer + (row * pitch + col) * size_of::<E>() as u32)
            },
        );
    };
    let store = |tile: u64, buffer: u32| {
        let start = (tile * elements) as usize;
        sweep(
            1,
            elements as u32,
            5 + (thread::block_dim_x() / 32).trailing_zeros(),
            |_, at| {
                let (col, row) = per_col.divide(at as u64);
                // SAFETY: written before a barrier.
                unsafe {
                    E::load_shared(
                        buffer + (row as u32 * pitch + col as u32) * size_of::<E>() as u32,
                    )
                }
            },
            // SAFETY: inside the tile, which was claimed: its owner has read it.
            |_, at, element| unsafe { element.store_strong(matrix.add(start + at as usize)) },
        );
    };

    let mut start = thread::block_idx_x() as u64;
    while start < tiles {
        let mut buffer = mailbox + MAILBOX;
        let mut other = buffer + buffer_bytes.next_multiple_of(16);
        // A hint, so that little is loaded in vain.
        // SAFETY: all threads are here; the flag of a tile.
        let mut owned = unsafe { ask(mailbox, || is_clear(flags, start)) };
        if owned {
            load(start, buffer);
            // SAFETY: all threads are here; the flag of a tile.
            owned = unsafe { ask(mailbox, || claim(flags, start)) };
        }
        let mut tile = start;
        while owned {
            let (row, col) = cols.divide(tile);
            tile = col * rows + row;
            load(tile, other);
            // SAFETY: all threads are here; the flag of a tile.
            owned = unsafe { ask(mailbox, || claim(flags, tile)) };
            store(tile, buffer);
            // The next tile is loaded into the buffer that others may still be reading.
            thread::sync_threads();
            (buffer, other) = (other, buffer);
        }
        start += thread::grid_dim_x() as u64;
    }
}

crate::in_place::in_place_entries! {
    "Moves tiles along the cycles of their transposition and transposes each.",
    FUSED: Fused, fused =>
        fused_b1: u8; fused_b2: u16; fused_b4: u32; fused_b8: u64; fused_b16: B16
}
