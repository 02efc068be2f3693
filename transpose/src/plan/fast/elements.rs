//! `elements`: elements so large that each is moved by itself. Serves every problem.

use super::task::{Block, Slab, Task};
use crate::kernels;
use crate::launch::Launch;
use kernel_abi::fast::{ELEMENTS, Elements, ElementsTile};

/// The launches.
pub(super) fn launches(task: &Task<'_>) -> Option<Vec<Launch>> {
    let entry = kernels::entry(&ELEMENTS, task.word).ok()?;
    // Blocks are numbered along x, then along y; those past the last element do nothing.
    let blocks = task.problem.src.len().div_ceil(ElementsTile::ELEMENTS as usize);
    let y = blocks.div_ceil(task.limit[0]);
    let grid = [blocks.div_ceil(y), y].map(|n| n as u64);
    let block = Block::of(ElementsTile::BLOCK);
    let launch = |slab: Slab| {
        let params = Elements { matrices: task.batched(slab.cols), tuple: task.tuple as u64 };
        task.of_blocks(entry, grid, block, slab, &params)
    };
    task.layers().map(launch).collect()
}
