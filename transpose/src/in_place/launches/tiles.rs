//! Tiles and single elements that move along cycles.

use super::{NONE, WORD, flag_bytes, launch, threads_for};
use crate::divide::magic;
use crate::facts::Facts;
use crate::kernels::{InPlaceKernel, Width};
use crate::launch::Launch;

/// Tiles of consecutive memory, `count` of them, each transposed by its cycles.
pub fn flags(
    count: usize,
    rows: usize,
    cols: usize,
    spread: usize,
    padding: bool,
    width: Width,
    facts: &Facts,
) -> Launch {
    let threads = if facts.in_turn { 1 } else { threads_for(rows * cols, 256) };
    let words = (rows * cols * spread).div_ceil(32);
    let words = if padding { words + words / 32 } else { words };
    launch(
        InPlaceKernel::Flags,
        width,
        [count, 1],
        threads,
        words * WORD,
        [rows, cols, 0, spread.ilog2() as usize, usize::from(padding), words],
        [(2, magic(cols)), NONE, NONE, NONE],
    )
}

/// The bytes of shared memory that [`fused`] takes.
pub fn fused_shared_bytes(tile_rows: usize, tile_cols: usize, width: Width) -> usize {
    let buffer = tile_rows * (tile_cols | 1) * width.bytes();
    16 + 2 * buffer.next_multiple_of(16)
}

/// `rows × cols` tiles moved along their cycles, and transposed; with the bytes of the flags.
pub fn fused(
    (rows, cols): (usize, usize),
    (tile_rows, tile_cols): (usize, usize),
    width: Width,
    facts: &Facts,
) -> (Launch, usize) {
    let shared = fused_shared_bytes(tile_rows, tile_cols, width);
    let per_multiprocessor = (facts.multiprocessor_shared / (shared + 1024)).clamp(1, 8);
    let most = if facts.in_turn { 1 } else { facts.multiprocessors * per_multiprocessor };
    let blocks = most.min(rows * cols);
    let launch = launch(
        InPlaceKernel::Fused,
        width,
        [blocks, 1],
        threads_for(tile_rows * tile_cols, 256),
        shared,
        [rows, cols, 0, tile_rows, tile_cols, 0, tile_cols | 1],
        [(2, magic(cols)), (5, magic(tile_rows)), NONE, NONE],
    );
    (launch, flag_bytes(rows * cols))
}

/// Elements moved along cycles, a thread per cycle.
pub fn cycles(rows: usize, cols: usize, width: Width, facts: &Facts) -> Launch {
    let threads = if facts.in_turn { 1 } else { 256 };
    let blocks = (rows * cols).div_ceil(threads).min(facts.multiprocessors * 64);
    launch(
        InPlaceKernel::Cycle,
        width,
        [blocks, 1],
        threads,
        0,
        [rows, cols, 0],
        [(2, magic(cols)), NONE, NONE, NONE],
    )
}
