//! `tall`: few columns, close together. Many rows are one stretch of the source.

use super::rounds::{OneRound, Rounds, Target, WARP, full_round};
use super::task::{Block, LINE, SECTOR, Task, VECTOR, stage_bytes};
use crate::launch::Launch;
use crate::plan::problem::Problem;
use kernel_abi::Width;
use kernel_abi::fast::{TALL, Window};

/// What a block aims at for rows of at most [`SHORT_ROW`] bytes, and for longer ones.
const TARGETS: [Target; 2] =
    [Target { threads: 128, bytes: 9 << 10 }, Target { threads: 256, bytes: 18 << 10 }];

/// Bytes of a row that is short.
const SHORT_ROW: usize = 64;

/// The launches, if at most as much lies between the rows as in them.
pub(super) fn launches(task: &Task<'_>) -> Option<Vec<Launch>> {
    let src = task.problem.src;
    let row_bytes = src.ld.checked_mul(task.word_bytes()).filter(|_| src.ld <= 2 * src.cols)?;
    let shared = |window: usize| stage_bytes((window + task.sector()) * row_bytes);
    let round = full_half_words(task, row_bytes).or_else(|| long_bytes(task, row_bytes));
    let (threads, window) = if let Some(OneRound { threads, line_bytes }) = round {
        (threads, line_bytes / task.word_bytes())
    } else if task.word == Width::B1 {
        let rounds = bytes(row_bytes);
        let rows = (rounds.block_vectors() - 1) * VECTOR / row_bytes;
        let steps = rows.saturating_sub(task.sector()) / rounds.step;
        (rounds.threads, steps.max(1) * rounds.step)
    } else {
        let target = TARGETS[usize::from(row_bytes > SHORT_ROW)];
        let mut window = 2 * task.sector();
        while shared(2 * window) <= target.bytes {
            window *= 2;
        }
        (target.threads, window)
    };
    let blocks = (src.rows + task.sector() - 1).div_ceil(window);
    let block = Block { threads, shared: shared(window) };
    task.in_layers(&TALL, [blocks, 1], block, |matrices| Window { matrices, window: window as u64 })
}

/// The windows for 2-byte words, if whole vectors of the source and whole sectors of every row of the destination make a
/// full round. Short rows gain nothing by that.
fn full_half_words(task: &Task<'_>, row_bytes: usize) -> Option<OneRound> {
    let Problem { src, dst, src_align, batch, .. } = task.problem;
    if task.word != Width::B2 || row_bytes < SHORT_ROW {
        return None;
    }
    let whole = |words: usize, bytes: usize| (words * task.word_bytes()).is_multiple_of(bytes);
    let src_starts = *src_align == VECTOR && (batch.count == 1 || whole(batch.src_stride, VECTOR));
    let dst_rows = dst.rows == 1 || task.dst_rows_on_sectors();
    let whole = src_starts && dst_rows && task.dst_starts_on_sectors();
    full_round(src.ld).filter(|round| whole && round.line_bytes >= 2 * LINE)
}

/// The windows for single bytes, in rows that are not too long: whole lines of the destination's rows, and a bit more than three vectors
/// for each thread.
fn long_bytes(task: &Task<'_>, row_bytes: usize) -> Option<OneRound> {
    const STEP: usize = 2 * LINE;
    const MOST_WARPS: usize = 14;
    if task.word != Width::B1 {
        return None;
    }
    // Rows before a window that are loaded too.
    let on_sectors = task.problem.dst_align == VECTOR && task.dst_rows_on_sectors();
    let early = if on_sectors { 0 } else { SECTOR - 1 };
    let vectors = |rows: usize| (rows * row_bytes).div_ceil(VECTOR);
    (3..=MOST_WARPS)
        .map(|warps| warps * WARP)
        .filter_map(|threads| {
            let rows = threads * 11 / 3 * VECTOR / row_bytes / STEP * STEP;
            let fits = vectors(rows) >= 3 * threads && vectors(rows + early) < 4 * threads;
            fits.then_some(OneRound { threads: threads as u32, line_bytes: rows })
        })
        .min_by_key(|round| round.threads.abs_diff(160))
}

/// For single bytes in longer rows.
fn bytes(row_bytes: usize) -> Rounds {
    let threads = if row_bytes <= 32 { 128 } else { 256 };
    Rounds { threads, vectors: 4, step: 64 }
}
