//! `micro`: tiles of rows that start on vectors, on both sides.

use super::task::{Block, Task};
use super::tuning::Tuning;
use crate::far_rows;
use crate::launch::Launch;
use crate::layout::Layout;
use kernel_abi::fast::{MICRO, Micro, MicroTile};

/// The launches, if all rows start on vectors; columns of tiles in pairs where rows meet in few of the memory's banks.
pub(super) fn launches(task: &Task<'_>) -> Option<Vec<Launch>> {
    in_pairs(task, tiles_apart(task))
}

/// The launches that walk every column of tiles by itself, where [`launches`] walks them in pairs.
pub(super) fn unpaired(task: &Task<'_>) -> Option<Vec<Launch>> {
    in_pairs(task, 0).filter(|_| tiles_apart(task) > 0)
}

/// Columns of tiles that lie `apart` tiles from each other take turns; 0 for none.
fn in_pairs(task: &Task<'_>, apart: usize) -> Option<Vec<Launch>> {
    if !task.aligned {
        return None;
    }
    let tile = MicroTile::of(task.word);
    let across = [tile_cols(task), (2 * apart).max(1)];
    let mut launches = task.in_tiles(&MICRO, across, Block::of(tile.block()), |matrices| {
        Micro { matrices, apart: apart as u64 }
    })?;
    let blocks_per_multiprocessor = blocks_per_multiprocessor(task);
    launches
        .iter_mut()
        .for_each(|launch| launch.blocks_per_multiprocessor = blocks_per_multiprocessor);
    Some(launches)
}

/// Columns of a tile.
pub(super) fn tile_cols(task: &Task<'_>) -> usize {
    MicroTile::of(task.word).cols(task.word) as usize
}

/// How many blocks a multiprocessor should run together: fewer than fit if they are full and the matrices
/// large, or sectors are written in parts: those meet in the cache then.
fn blocks_per_multiprocessor(task: &Task<'_>) -> u32 {
    let rows = MicroTile::of(task.word).rows as usize;
    let src = task.problem.src;
    let full = src.rows >= rows && src.cols >= tile_cols(task);
    let parts = task.vectors_split_sectors() && src.rows > rows && task.leaves_the_cache();
    let few = full && (task.bytes() >= task.tuning.large || parts);
    if few { Tuning::by_word(&task.tuning.micro_blocks_per_multiprocessor, task.word) } else { 0 }
}

/// How far apart two columns of tiles should be that are walked together, in tiles.
fn tiles_apart(task: &Task<'_>) -> usize {
    let Layout { cols: all, ld, .. } = task.problem.src;
    let cols = tile_cols(task);
    let pitch = ld.checked_mul(task.word_bytes());
    let Tuning { far_rows, pair_distance, .. } = *task.tuning;
    far_rows::tiles_apart(far_rows, pair_distance, cols * task.word_bytes(), all / cols, pitch)
}
