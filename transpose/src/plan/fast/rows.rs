//! `rows`: tiles of rows that start anywhere.

use super::task::{Block, Task};
use crate::launch::Launch;
use kernel_abi::fast::{InTurns, ROWS, RowsTile};

/// The launches, for words of up to 8 bytes.
pub(super) fn launches(task: &Task<'_>) -> Option<Vec<Launch>> {
    let tile = RowsTile::of(task.word)?;
    let [_, cols] = span(task)?;
    let block = Block::of(tile.block());
    task.in_tiles(&ROWS, [cols, 1], block, |matrices| InTurns { matrices, turns: 0 })
}

/// The rows of a tile's spans, and its columns.
pub(super) fn span(task: &Task<'_>) -> Option<[usize; 2]> {
    let tile = RowsTile::of(task.word)?;
    Some([tile.span_rows(task.word), tile.cols(task.word)].map(|n| n as usize))
}
