//! `elements`: elements so large that each is moved by itself. Serves every problem.

use super::task::{Block, Task};
use crate::launch::Launch;
use kernel_abi::fast::{ELEMENTS, Elements, ElementsTile};

/// The launches.
pub(super) fn launches(task: &Task<'_>) -> Option<Vec<Launch>> {
    let blocks = task.problem.src.len().div_ceil(ElementsTile::ELEMENTS as usize);
    let y = blocks.div_ceil(task.limit[0]);
    let block = Block::of(ElementsTile::BLOCK);
    task.in_layers(&ELEMENTS, [blocks.div_ceil(y), y], block, |matrices| Elements {
        matrices,
        tuple: task.tuple as u64,
    })
}
