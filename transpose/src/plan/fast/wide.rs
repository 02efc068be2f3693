//! `wide`: few rows of elements of 4 bytes, and a destination without gaps. A band of columns is contiguous memory there.

use super::rounds::Target;
use super::task::{Block, CACHE_LINE, SECTOR, Task, staging_bytes};
use crate::launch::Launch;
use crate::plan::problem::Problem;
use kernel_abi::Width;
use kernel_abi::fast::{ColumnBand, WIDE};

/// What a block aims at for columns of at most [`SHORT_COL`] bytes, and for longer ones.
const TARGETS: [Target; 2] =
    [Target { threads: 128, bytes: 10 << 10 }, Target { threads: 256, bytes: 20 << 10 }];

/// Bytes of a column that is short.
const SHORT_COL: usize = 64;

/// The launches, if the destination has no gaps and words have four bytes.
pub(super) fn launches(task: &Task<'_>) -> Option<Vec<Launch>> {
    let Problem { src, dst, .. } = task.problem;
    if dst.ld != src.rows || task.word != Width::B4 {
        return None;
    }
    let col_bytes = src.rows.checked_mul(task.word_bytes())?;
    // Bands of whole cache lines are read best, as long as they are long.
    let long = usize::from(col_bytes > SHORT_COL);
    let (target, step) = (TARGETS[long], [CACHE_LINE, SECTOR][long] / task.word_bytes());
    let band = (target.bytes / col_bytes / step).max(1) * step;
    let block = Block { threads: target.threads, shared: staging_bytes(band * col_bytes) };
    task.in_layers(&WIDE, block, |matrices| ColumnBand { matrices, band_cols: band as u64 })
}
