//! `batch`: many small matrices without gaps in or between them.

use super::rounds::Rounds;
use super::task::{Block, SECTOR, Task, VECTOR, staging_bytes};
use crate::divide::gcd;
use crate::launch::Launch;
use crate::plan::problem::Problem;
use kernel_abi::fast::{BATCH, Batch};
use std::cmp::Reverse;

/// Below this many bytes a matrix of a batch is small: it would not fill a tile.
const SMALL_MATRIX: usize = 8 << 10;

/// Shared memory that a block may have, in bytes.
const MOST_SHARED: usize = 48 << 10;

/// The rounds to choose from, the best first.
const ROUNDS: [Rounds; 4] = [
    Rounds { threads: 128, vectors: 4, step: SECTOR },
    Rounds { threads: 256, vectors: 4, step: SECTOR },
    Rounds { threads: 128, vectors: 8, step: SECTOR },
    Rounds { threads: 256, vectors: 8, step: SECTOR },
];

/// The launch, if there are many small matrices and nothing between them.
pub(super) fn launches(task: &Task<'_>) -> Option<Vec<Launch>> {
    let Problem { src, dst, batch, .. } = task.problem;
    let each = src.len();
    let contiguous = src.ld == src.cols
        && dst.ld == dst.cols
        && (batch.src_stride, batch.dst_stride) == (each, each);
    let bytes = each.saturating_mul(task.word_bytes());
    if batch.count < 2 || !contiguous || bytes > SMALL_MATRIX {
        return None;
    }
    // What a block stores starts up to a sector early: with elements of the matrices before its band.
    let extra = (task.sector() - 1).div_ceil(each);
    // A destination that starts on a vector mostly starts on a sector.
    let likely = if task.problem.dst_align == VECTOR { 0 } else { extra };
    let (rounds, band) = rounds(task, likely)?;
    let block = Block { threads: rounds.threads, shared: staging_bytes((band + extra) * bytes) };
    if block.shared > MOST_SHARED {
        return None;
    }
    let params =
        |matrices| Batch { matrices, count: batch.count as u64, band_matrices: band as u64 };
    Some(vec![task.launch(&BATCH, block, task.everything(), params)?])
}

/// How many matrices a block moves that loads `early` more: the first choice whose rounds of loads are nearly
/// full, or else that with the fullest.
fn rounds(task: &Task<'_>, early: usize) -> Option<(Rounds, usize)> {
    const NEARLY: usize = 7; // eighths
    let each = task.problem.src.len();
    let bytes = each * task.word_bytes();
    // Matrices that start anywhere in a vector touch one more.
    let ends = usize::from(!task.src_aligned);
    let eighths = |(rounds, band): &(Rounds, usize)| {
        ((band + early) * bytes).div_ceil(VECTOR) * 8 / rounds.block_vectors()
    };
    let choices = ROUNDS.into_iter().filter_map(|rounds| {
        let fits = (rounds.block_vectors() - ends) * VECTOR / bytes;
        let step = rounds.step / task.word_bytes();
        let step = step / gcd(step, each);
        let band = fits.saturating_sub(early) / step * step;
        (band > 0).then_some((rounds, band))
    });
    choices.min_by_key(|choice| Reverse(eighths(choice).min(NEARLY)))
}
