//! `tall`: few columns, close together. A band of rows is contiguous memory of the source.

use super::rounds::{OneRound, Rounds, Target, WARP, exactly};
use super::task::{Block, CACHE_LINE, SECTOR, Task, VECTOR, staging_bytes};
use crate::launch::Launch;
use crate::plan::problem::Problem;
use kernel_abi::Width;
use kernel_abi::fast::{RowBand, TALL};

/// What a block aims at for rows of at most [`SHORT_ROW`] bytes, and for longer ones.
const TARGETS: [Target; 2] =
    [Target { threads: 128, bytes: 9 << 10 }, Target { threads: 256, bytes: 18 << 10 }];

/// Bytes of a row that is short.
const SHORT_ROW: usize = 64;

/// The launches, if at most as much lies between the rows as in them, and what a warp gathers does not lie in one bank.
pub(super) fn launches(task: &Task<'_>) -> Option<Vec<Launch>> {
    let src = task.problem.src;
    let row_bytes = src.ld.checked_mul(task.word_bytes()).filter(|_| src.ld <= 2 * src.cols)?;
    if task.word == Width::B2 && rows_meet_in_a_bank(row_bytes) {
        return None;
    }
    let shared = |rows: usize| staging_bytes((rows + task.sector()) * row_bytes);
    let round = two_bytes(task, row_bytes).or_else(|| one_byte(task, row_bytes));
    let (threads, band) = if let Some(OneRound { threads, bytes }) = round {
        (threads, bytes / task.word_bytes())
    } else if task.word == Width::B1 {
        let rounds = rounds(row_bytes);
        let rows = (rounds.block_vectors() - 1) * VECTOR / row_bytes;
        let steps = rows.saturating_sub(task.sector()) / rounds.step;
        (rounds.threads, steps.max(1) * rounds.step)
    } else {
        let target = TARGETS[usize::from(row_bytes > SHORT_ROW)];
        let mut rows = 2 * task.sector();
        while shared(2 * rows) <= target.bytes {
            rows *= 2;
        }
        (target.threads, rows)
    };
    let block = Block { threads, shared: shared(band) };
    task.in_layers(&TALL, block, |matrices| RowBand { matrices, band_rows: band as u64 })
}

/// Whether lanes wait for each other because what they load lies in one bank: rows of `row_bytes` bytes all start in one bank, or every eighth row does, which is where a column's next vector begins. The staging
/// buffer has 4 bytes more for every 128. Rows of 124 bytes do the former: of 2-byte elements an H200 moves them at 0.48 of a copy's speed, where it has 0.97 and 0.93 for a column less and more, and 0.95 by
/// tiles. Rows of 62 bytes do the latter, and have 0.44 to 0.69, by boxes 0.83; of 512 bytes 0.88, by tiles 1.07. Where every eighth row starts more than an eighth of a bank
/// further `tall` has 0.84 to 1.08. (Wider elements are gathered by fewer loads.)
fn rows_meet_in_a_bank(row_bytes: usize) -> bool {
    /// Bytes of all banks, and of one.
    const BANKS: usize = 128;
    const BANK: usize = 4;
    /// Rows of a vector of 2-byte elements.
    const ROWS: usize = 8;
    // In parts of a byte, of which each byte of a row takes this many.
    const PARTS: usize = BANKS / BANK;
    let apart = |rows: usize| {
        let step = rows * row_bytes * (PARTS + 1) % (BANKS * PARTS);
        step.min(BANKS * PARTS - step)
    };
    apart(1) * ROWS <= BANK * PARTS || apart(ROWS) * ROWS <= BANK * PARTS
}

/// The bands of 2-byte elements in longer rows, which it makes a difference to, if they can be full rounds: whole
/// vectors of the source, and whole sectors of every row of the destination.
fn two_bytes(task: &Task<'_>, row_bytes: usize) -> Option<OneRound> {
    let Problem { src, dst, src_align, batch, .. } = task.problem;
    if task.word != Width::B2 || row_bytes < SHORT_ROW {
        return None;
    }
    let whole = |words: usize, bytes: usize| (words * task.word_bytes()).is_multiple_of(bytes);
    let src_starts = *src_align == VECTOR && (batch.count == 1 || whole(batch.src_stride, VECTOR));
    let dst_rows = dst.rows == 1 || task.dst_rows_on_sectors();
    let whole = src_starts && dst_rows && task.dst_starts_on_sectors();
    exactly(4, src.ld).filter(|round| whole && round.bytes >= 2 * CACHE_LINE)
}

/// The bands of single bytes, in rows that are not too long: whole cache lines of the destination's rows, and a bit more than three
/// vectors for each thread.
fn one_byte(task: &Task<'_>, row_bytes: usize) -> Option<OneRound> {
    const STEP: usize = 2 * CACHE_LINE;
    const MOST_WARPS: usize = 14;
    if task.word != Width::B1 {
        return None;
    }
    // Rows before a band that are loaded too.
    let on_sectors = task.problem.dst_align == VECTOR && task.dst_rows_on_sectors();
    let early = if on_sectors { 0 } else { SECTOR - 1 };
    let vectors = |rows: usize| (rows * row_bytes).div_ceil(VECTOR);
    (3..=MOST_WARPS)
        .map(|warps| warps * WARP)
        .filter_map(|threads| {
            let rows = threads * 11 / 3 * VECTOR / row_bytes / STEP * STEP;
            let fits = vectors(rows) >= 3 * threads && vectors(rows + early) < 4 * threads;
            fits.then_some(OneRound { threads: threads as u32, bytes: rows })
        })
        .min_by_key(|round| round.threads.abs_diff(160))
}

/// The rounds for single bytes where one is not enough.
fn rounds(row_bytes: usize) -> Rounds {
    let threads = if row_bytes <= 32 { 128 } else { 256 };
    Rounds { threads, vectors: 4, step: 64 }
}

#[cfg(test)]
mod tests {
    use super::rows_meet_in_a_bank;

    #[test]
    fn rows_that_meet_with_the_gaps() {
        let columns: Vec<_> = (1..260).filter(|cols| rows_meet_in_a_bank(cols * 2)).collect();
        assert_eq!(columns, [31, 62, 124, 186, 225, 248, 256]);
    }
}
