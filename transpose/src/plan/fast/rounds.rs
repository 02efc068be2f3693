//! Rounds of loads: how much of a matrix is a band that the threads of a block load without one of them having to come again.
//!
//! A thread has four loads in flight. Where a band takes one vector more than the threads load in their
//! rounds, all wait for another round. The numbers were measured: `docs/decisions`.

use super::task::{CACHE_LINE, Task, VECTOR};
use kernel_abi::fast::WARP as WARP_THREADS;

pub(super) const WARP: usize = WARP_THREADS as usize;

/// The vectors that a thread loads before it stores the first (`IN_FLIGHT` of the kernels).
const VECTORS: usize = 4;

/// Threads, and the shared memory that a band should take: enough bytes in flight, and several blocks to a multiprocessor.
#[derive(Clone, Copy)]
pub(super) struct Target {
    pub threads: u32,
    pub bytes: usize,
}

/// Threads of which each loads `vectors` vectors at most, four at a time.
pub(super) struct Rounds {
    pub threads: u32,
    pub vectors: usize,
    /// Bytes of each row, or column, that a band is a multiple of.
    pub step: usize,
}

impl Rounds {
    /// The vectors that a block loads.
    pub fn block_vectors(&self) -> usize {
        self.threads as usize * self.vectors
    }
}

/// A band of which every thread loads four vectors at most.
pub(super) struct OneRound {
    pub threads: u32,
    /// Bytes of the band in each of the few rows, or columns: whole cache lines.
    pub bytes: usize,
}

/// The band of `few` rows, or columns, beside which no memory is loaded, that is exactly `vectors` vectors for each thread. None where
/// it takes more than five warps, or has less than a cache line of each row.
#[inline(never)] // Three callers, and a program is held to a size.
pub(super) fn exactly(vectors: usize, few: usize) -> Option<OneRound> {
    const MOST_WARPS: usize = 5;
    let bytes = |threads: usize| threads * vectors * VECTOR;
    (1..=MOST_WARPS)
        .map(|warps| warps * WARP)
        .filter(|&threads| bytes(threads).is_multiple_of(few * CACHE_LINE))
        .map(|threads| OneRound { threads: threads as u32, bytes: bytes(threads) / few })
        .filter(|round| round.bytes >= CACHE_LINE)
        .min_by_key(|round| round.threads.abs_diff(128))
}

/// For so few rows, in each of which the band touches `extra` vectors more than it fills: about three vectors for each thread, and at least
/// `least` twentieths of four. None where that takes very many threads.
pub(super) fn three_quarters(few: usize, extra: usize, least: usize) -> Option<OneRound> {
    const THREADS: [usize; 6] = [128, 160, 96, 192, 224, 256];
    const STEP: usize = 2 * CACHE_LINE;
    THREADS.into_iter().find_map(|threads| {
        // In twentieths of what each thread may load.
        let load = |bytes: usize| few * (bytes / VECTOR + extra) * 20 / (threads * VECTORS);
        (1..=threads * VECTORS * VECTOR / STEP)
            .map(|steps| steps * STEP)
            .filter(|&bytes| (least..=19).contains(&load(bytes)))
            .min_by_key(|&bytes| load(bytes).abs_diff(15))
            .map(|bytes| OneRound { threads: threads as u32, bytes })
    })
}

/// The blocks that move bands of `cols` columns.
pub(super) fn blocks_of_bands(task: &Task<'_>, cols: usize) -> usize {
    task.problem.src.cols.div_ceil(cols) * task.problem.batch.count
}

/// Of bands of `cols` columns, the bands that a small move is shared out in: halves of them, of whole sectors, as long as a multiprocessor has few blocks and
/// threads are left more than a vector each. No multiprocessor then waits for another that has a band more to move. (8 · 49 × 2048 of 1 byte: 1.13 of a
/// copy in bands of 256 columns, 1.34 in bands of 64, decision 078.)
pub(super) fn shared_out(task: &Task<'_>, threads: u32, mut cols: usize) -> usize {
    let rows = task.problem.src.rows;
    let few = task.few_blocks();
    // Vectors in halves.
    let least = 3 * threads as usize * VECTOR;
    loop {
        let half = (cols / 2).next_multiple_of(task.sector());
        let blocks = blocks_of_bands(task, cols);
        if half == cols || blocks >= few || 2 * rows * half * task.word_bytes() < least {
            return cols;
        }
        cols = half;
    }
}
