//! Tiles and single elements that move along cycles.

use super::{WORD, flag_bytes, launch, threads_for};
use crate::divide::divisor;
use crate::facts::Facts;
use crate::kernels::Width;
use crate::launch::Launch;
use kernel_abi::in_place::{CYCLE, Cycle, FLAGS, FUSED, Flags, Fused, STUDY_THREADS};

/// The most threads of a block.
const THREADS: usize = STUDY_THREADS as usize;

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
    let threads = if facts.in_turn { 1 } else { threads_for(rows * cols, THREADS) };
    let words = (rows * cols * spread).div_ceil(32);
    let words = if padding { words + words / 32 } else { words };
    let params = Flags {
        rows: rows as u64,
        cols: divisor(cols),
        spread: u64::from(spread.ilog2()),
        padding: u64::from(padding),
        flag_words: words as u64,
    };
    launch(&FLAGS, width, [count, 1], threads, words * WORD, params)
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
    let params = Fused {
        rows: rows as u64,
        cols: divisor(cols),
        tile_rows: divisor(tile_rows),
        tile_cols: tile_cols as u64,
        pitch: (tile_cols | 1) as u64,
    };
    let threads = threads_for(tile_rows * tile_cols, THREADS);
    let launch = launch(&FUSED, width, [blocks, 1], threads, shared, params);
    (launch, flag_bytes(rows * cols))
}

/// Elements moved along cycles, a thread per cycle.
pub fn cycles(rows: usize, cols: usize, width: Width, facts: &Facts) -> Launch {
    let threads = if facts.in_turn { 1 } else { THREADS };
    let blocks = (rows * cols).div_ceil(threads).min(facts.multiprocessors * 64);
    let params = Cycle { rows: rows as u64, cols: divisor(cols) };
    launch(&CYCLE, width, [blocks, 1], threads, 0, params)
}
