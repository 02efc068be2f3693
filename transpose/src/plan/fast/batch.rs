//! `batch`: many small matrices without gaps in or between them.

use super::rounds::{Rounds, WARP};
use super::task::{Block, SECTOR, Task, VECTOR, staging_bytes, staging_bytes_with};
use crate::divide::gcd;
use crate::launch::Launch;
use crate::plan::problem::Problem;
use kernel_abi::fast::{BATCH, Batch};
use std::cmp::Reverse;

/// Words of fewer bytes are gathered by threads that step from vector to vector.
const NARROW: usize = 4;

/// Below this many bytes a matrix of a batch is small: it would not fill a tile.
pub(crate) const SMALL_MATRIX: usize = 8 << 10;

/// Shared memory that a block may have, in bytes.
const MOST_SHARED: usize = 48 << 10;

/// The rounds to choose from, the best first. The last, which the kernels of wide words have no threads for, loads as much as the one before: it is taken only where that makes
/// narrow words' threads step.
const ROUNDS: [Rounds; 5] = [
    Rounds { threads: 128, vectors: 4, step: SECTOR },
    Rounds { threads: 256, vectors: 4, step: SECTOR },
    Rounds { threads: 128, vectors: 8, step: SECTOR },
    Rounds { threads: 256, vectors: 8, step: SECTOR },
    Rounds { threads: 512, vectors: 4, step: SECTOR },
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
    let narrow = task.word_bytes() < NARROW;
    let Gathering { threads, gap } = match narrow {
        true => Gathering::of(rounds.threads as usize, src.rows, src.cols, task.word_bytes()),
        false => Gathering { threads: 0, gap: 0 },
    };
    let staged = (band + extra) * bytes;
    let shared = if narrow { staging_bytes_with(staged, gap) } else { staging_bytes(staged) };
    let block = Block { threads: rounds.threads, shared };
    if block.shared > MOST_SHARED {
        return None;
    }
    let params = |matrices| Batch {
        matrices,
        count: batch.count as u64,
        band_matrices: band as u64,
        gatherers: threads as u64,
        gap: gap as u64,
    };
    Some(vec![task.launch(&BATCH, block, task.everything(), params)?])
}

/// How words of 1 and 2 bytes are gathered.
#[derive(Clone, Copy)]
struct Gathering {
    /// The threads of a block that gather: their vectors are whole matrices together; 0 where no number of threads has such vectors.
    threads: usize,
    /// Bytes that the staging buffer leaves out behind each 128.
    gap: usize,
}

impl Gathering {
    /// How matrices of `rows` rows and `cols` columns of words are gathered by a block of `all` threads.
    fn of(all: usize, rows: usize, cols: usize, word_bytes: usize) -> Self {
        let period = period(rows * cols, word_bytes);
        // What threads step by must be whole groups where the buffer has gaps.
        let grouped = period * (GROUP / VECTOR / gcd(period, GROUP / VECTOR));
        let [threads, in_groups] = [period, grouped].map(|of| all / of * of);
        // Matrices of odd sizes mostly lie so that lanes meet seldom: for those it takes all lanes to be fast.
        let few = if 4 * in_groups >= 3 * threads { FEW } else { MANY };
        let gap = best_gap(rows, cols, word_bytes, few);
        Gathering { threads: if gap == 0 { threads } else { in_groups }, gap }
    }
}

/// Bytes of all banks.
const GROUP: usize = 128;

/// Vectors that are whole matrices of `each` words together.
fn period(each: usize, word_bytes: usize) -> usize {
    let bytes = each * word_bytes;
    bytes / gcd(bytes, VECTOR)
}

/// Words that lanes may ask of a bank at a time before it costs, and before it costs more than finding each vector anew.
const FEW: u32 = 2;
const MANY: u32 = 7;

/// The gap with which the lanes of a warp, which gather vectors that follow each other, meet in the fewest banks: none if they ask for no more than a `few` words of one without. By
/// what the first warp gathers first.
fn best_gap(rows: usize, cols: usize, word_bytes: usize, few: u32) -> usize {
    /// Bytes: a vector, so that vectors stay aligned, and a bank.
    const GAPS: [usize; 2] = [16, 4];
    const BANK: usize = 4;
    let each = rows * cols;
    let bytes: [usize; WARP] = std::array::from_fn(|lane| {
        let first = lane * (VECTOR / word_bytes);
        let (matrix, inside) = (first / each, first % each);
        (matrix * each + inside % rows * cols + inside / rows) * word_bytes
    });
    // The words of each bank that are asked for, as bits: of 16 KiB at most.
    let conflicts = |gap: usize| {
        let mut banks = [0u128; GROUP / BANK];
        for byte in bytes {
            let word = (byte + byte / GROUP * gap) / BANK;
            banks[word % banks.len()] |= 1 << (word / banks.len());
        }
        banks.map(u128::count_ones).into_iter().max().unwrap_or(0)
    };
    let without = conflicts(0);
    if without <= few {
        return 0;
    }
    let best = GAPS.map(|gap| (conflicts(gap), gap)).into_iter().min_by_key(|best| best.0);
    best.filter(|&(times, _)| times < without).map_or(0, |(_, gap)| gap)
}

/// How many matrices a block moves that loads `early` more: of those whose threads step, if there are any, the first choice whose rounds of
/// loads are nearly full, or else that with the fullest.
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
    // Of narrow words it takes half as long again, or more, to find each vector anew.
    let narrow = task.word_bytes() < NARROW;
    let period = if narrow { period(each, task.word_bytes()) } else { 0 };
    let steps = |rounds: &Rounds| period <= rounds.threads as usize;
    choices.min_by_key(|choice| Reverse((steps(&choice.0), eighths(choice).min(NEARLY))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_do_not_all_meet_in_one_bank() {
        let of = |rows, cols, word_bytes| Gathering::of(512, rows, cols, word_bytes);
        // No number of threads steps by whole groups of these: 16 and 32 lanes would meet.
        for (rows, cols, word_bytes) in [(442, 4, 1), (235, 16, 2)] {
            let Gathering { threads, gap } = of(rows, cols, word_bytes);
            assert!(threads == 0 && gap > 0, "{rows} × {cols}: {threads} threads, gaps of {gap}");
        }
        // Of these lanes meet seldom.
        for (rows, cols, word_bytes) in [(43, 6, 1), (31, 26, 2)] {
            let Gathering { threads, gap } = of(rows, cols, word_bytes);
            assert!(threads > 0 && gap == 0, "{rows} × {cols}: {threads} threads, gaps of {gap}");
        }
    }
}
