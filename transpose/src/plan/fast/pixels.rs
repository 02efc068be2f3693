//! `pixels`: triples of 1-byte or 2-byte words in rows that start on vectors.

use super::task::{Block, Task, VECTOR};
use crate::launch::Launch;
use kernel_abi::fast::{PIXELS, PixelsTile, Plain};

/// The launches, if elements are such triples and all rows start on vectors.
pub(super) fn launches(task: &Task<'_>) -> Option<Vec<Launch>> {
    if task.tuple != 3 || task.word_bytes() > 2 || !task.aligned {
        return None;
    }
    let tile_cols = PixelsTile::ROW_VECTORS as usize * VECTOR / task.problem.element_bytes;
    let block = Block::of(PixelsTile::BLOCK);
    task.in_tiles(&PIXELS, [tile_cols, 1], block, |matrices| Plain { matrices })
}
