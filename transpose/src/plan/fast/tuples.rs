//! `tuples`: elements of words of 4 and 8 bytes, as long as some fit a tile's row.

use super::task::{Block, Task, VECTOR};
use crate::divide::gcd;
use crate::launch::Launch;
use kernel_abi::fast::{TUPLES, Tuples, TuplesTile};

/// The launches, if a tile's row holds an element and its rows hold a span.
pub(super) fn launches(task: &Task<'_>) -> Option<Vec<Launch>> {
    let tile = TuplesTile::of(task.word)?;
    let tuple = task.tuple;
    // A row that starts between two multiples of 16 bytes touches one vector more.
    let tile_cols = (tile.row_vectors as usize - 1) * VECTOR / (tuple * task.word_bytes());
    // The kernel loads the rows of up to a sector's words and one more above a span, and a span
    // that starts early ends early inside a tuple.
    let most = (tile.rows as usize).checked_sub(task.sector().div_ceil(tuple) + 3)? * tuple;
    let whole = task.sector() * tuple / gcd(task.sector(), tuple);
    let span = most / whole * whole;
    if tile_cols == 0 || span == 0 {
        return None;
    }
    let block = Block { threads: TuplesTile::THREADS, shared: 0 };
    task.in_tiles(&TUPLES, [tile_cols, 1], block, |matrices| Tuples {
        matrices,
        tuple: tuple as u64,
        // Of the 2³² for 1 the kernel takes the lower half, which it knows.
        tuple_magic: (1u64 << 32).div_ceil(tuple.max(1) as u64),
        tile_cols: tile_cols as u64,
        span: span as u64,
    })
}
