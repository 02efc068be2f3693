//! The launches of the in-place kernels: words, blocks, grids and shared memory.
//!
//! | file | kernels |
//! |---|---|
//! | `square` | `square`, `square_tuples` |
//! | `panels` | `panel`, `panel_tuples` |
//! | `slots` | `permute` and its like, `leaders`, `carry` |
//! | `tiles` | `flags`, `fused`, `cycle` |
//! | `shuffles` | `rows`, `stage_rows`, `columns` |

mod panels;
mod pitch;
mod shuffles;
mod slots;
mod square;
mod tiles;

pub(super) use panels::Panels;
#[cfg(all(test, feature = "simulator"))]
pub(super) use pitch::PITCHES;
pub(super) use shuffles::{Columns, shuffle_rows, stage_rows};
pub(super) use slots::Slots;
pub(super) use square::{Squares, square};
pub(super) use tiles::{cycles, flags, fused, fused_shared_bytes};

use crate::kernels::{self, Width};
use crate::launch::{Fields, Launch};
use kernel_abi::{Kernel, Params};

/// Bytes of a bank-conflict-free row of banks: shared memory's width.
const BANKS_BYTES: usize = 128;

/// Bytes of a coordination word: 32 flags, or a counter.
pub(super) const WORD: usize = 4;

/// The bytes of `flags` flags.
pub(super) fn flag_bytes(flags: usize) -> usize {
    flags.div_ceil(32) * WORD
}

/// A launch of a kernel in a grid of so many blocks along x and y, each of so many threads and bytes of shared memory.
fn launch<P: Params>(
    kernel: &Kernel<P>,
    width: Width,
    grid: [usize; 2],
    threads: usize,
    shared: usize,
    params: P,
) -> Launch {
    // The kernels in place exist for every width; only `SQUARE` leaves the widest to `SQUARE_WIDE`. Nothing is planned with
    // those that this library is built without.
    let entry = kernels::entry_in_place(kernel, width).expect("a kernel that there is");
    let block = [threads as u32, 1, 1];
    // Some rows name their blocks to the host alone, so neither driver nor simulator would refuse another.
    debug_assert!(kernel.entry(width).is_some_and(|row| row.block.allows(block)), "{block:?}");
    Launch {
        entry,
        grid: [grid[0] as u32, grid[1] as u32, 1],
        block,
        dynamic_shared_bytes: shared as u32,
        blocks_per_multiprocessor: 0,
        cooperative: false,
        evict_last: false,
        offsets: [0, 0],
        params: Fields::of(&params),
    }
}

/// log2 of the threads along a segment, for the fewest idle ones.
fn along(length: usize, threads: usize) -> usize {
    let most = threads.ilog2() as usize;
    if length < 32 {
        return (length.next_power_of_two().ilog2() as usize).min(most);
    }
    (5..=most).rev().min_by_key(|&along| length.next_multiple_of(1 << along)).unwrap_or(most)
}

/// Threads for a block that holds so many elements: eight each, a power of two, up to a limit.
fn threads_for(elements: usize, most: usize) -> usize {
    elements.div_ceil(8).next_power_of_two().clamp(32, most)
}
