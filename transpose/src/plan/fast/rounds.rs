//! Rounds of loads: how long a window may be so that no thread has to load a second time.
//!
//! A thread has four loads in flight. Where a window takes one vector more than the threads load in their
//! rounds, all wait for another round. The numbers were measured: `docs/decisions`.

use super::task::{LINE, VECTOR};
use kernel_abi::fast::WARP as WARP_THREADS;

pub(super) const WARP: usize = WARP_THREADS as usize;

/// The vectors that a thread loads before it stores the first (`IN_FLIGHT` of the kernels).
const VECTORS: usize = 4;

/// Threads, and the shared memory that a window should take: enough bytes in flight, and several blocks to a multiprocessor.
#[derive(Clone, Copy)]
pub(super) struct Target {
    pub threads: u32,
    pub bytes: usize,
}

/// Threads of which each loads `vectors` vectors at most, four at a time.
pub(super) struct Rounds {
    pub threads: u32,
    pub vectors: usize,
    /// Bytes that a window is a multiple of.
    pub step: usize,
}

impl Rounds {
    /// The vectors that a block loads.
    pub fn block_vectors(&self) -> usize {
        self.threads as usize * self.vectors
    }
}

/// A window of which every thread loads four vectors at most.
pub(super) struct OneRound {
    pub threads: u32,
    /// Bytes of the window in each row, or column: whole lines of the cache.
    pub line_bytes: usize,
}

/// For so many rows, or columns, beside which no memory is loaded: exactly four vectors for each thread. None where such a
/// window takes very many threads, or is too short.
pub(super) fn full_round(lines: usize) -> Option<OneRound> {
    const MOST_WARPS: usize = 5;
    let bytes = |threads: usize| threads * VECTORS * VECTOR;
    (1..=MOST_WARPS)
        .map(|warps| warps * WARP)
        .filter(|&threads| bytes(threads).is_multiple_of(lines * LINE))
        .map(|threads| OneRound { threads: threads as u32, line_bytes: bytes(threads) / lines })
        .filter(|round| round.line_bytes >= LINE)
        .min_by_key(|round| round.threads.abs_diff(128))
}

/// For so many rows, each of which touches `extra` vectors more than the window fills: about three vectors for each thread. None
/// where that takes very many threads.
pub(super) fn three_quarters(lines: usize, extra: usize) -> Option<OneRound> {
    const THREADS: [usize; 6] = [128, 160, 96, 192, 224, 256];
    const STEP: usize = 2 * LINE;
    THREADS.into_iter().find_map(|threads| {
        // In twentieths of what each thread may load.
        let load =
            |line_bytes: usize| lines * (line_bytes / VECTOR + extra) * 20 / (threads * VECTORS);
        (1..=threads * VECTORS * VECTOR / STEP)
            .map(|steps| steps * STEP)
            .filter(|&line_bytes| (12..=19).contains(&load(line_bytes)))
            .min_by_key(|&line_bytes| load(line_bytes).abs_diff(15))
            .map(|line_bytes| OneRound { threads: threads as u32, line_bytes })
    })
}
