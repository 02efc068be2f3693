//! `triples`: triples of 1-byte or 2-byte words in rows that start anywhere.

use super::task::{Block, Task};
use crate::launch::Launch;
use kernel_abi::fast::{Plain, TRIPLES, TriplesTile};

/// The launches, if elements are such triples.
pub(super) fn launches(task: &Task<'_>) -> Option<Vec<Launch>> {
    if task.tuple != 3 || task.word_bytes() > 2 {
        return None;
    }
    let bytes = 3 * task.word_bytes();
    let tile_cols = (TriplesTile::PACKETS * TriplesTile::PACKET) as usize / bytes;
    let block = Block::of(TriplesTile::BLOCK);
    task.in_tiles(&TRIPLES, [tile_cols, 1], block, |matrices| Plain { matrices })
}
