//! `lines`: few rows of elements of up to 8 bytes, gathered, and a destination without gaps.

use super::rounds::{OneRound, Rounds, blocks_of_bands, exactly, shared_out, three_quarters};
use super::task::{Block, CACHE_LINE, SECTOR, Task, VECTOR};
use crate::launch::Launch;
use crate::plan::problem::Problem;
use kernel_abi::Width;
use kernel_abi::fast::{ColumnBand, LINES};

/// The launches, if the destination has no gaps and a block has a thread for each row.
pub(super) fn launches(task: &Task<'_>) -> Option<Vec<Launch>> {
    let Problem { src, dst, .. } = task.problem;
    if dst.ld != src.rows || task.word == Width::B16 {
        return None;
    }
    let (threads, band) = match one_round(task) {
        Some(OneRound { threads, bytes }) => (threads, bytes / task.word_bytes()),
        None => {
            let rounds = rounds(task);
            (rounds.threads, band_cols(task, &rounds))
        }
    };
    if src.rows > threads as usize {
        return None;
    }
    let band = shared_out(task, threads, band);
    let shared = shared_bytes(src.rows, band * task.word_bytes(), gap(task));
    let block = Block { threads, shared };
    task.in_layers(&LINES, block, |matrices| ColumnBand { matrices, band_cols: band as u64 })
}

/// The bands if each can be a single round of loads, and is faster so. Four vectors for each thread move narrow words fastest where many blocks follow
/// each other, three where most run at a time: then all of them first load and then all of them store.
pub(super) fn one_round(task: &Task<'_>) -> Option<OneRound> {
    const LEAST: usize = 15;
    let rows = task.problem.src.rows;
    // Whole vectors of every row of the source and whole sectors of the destination.
    let whole = task.src_aligned && task.dst_starts_on_sectors();
    let extra = usize::from(!whole);
    // Else bands would be shared out, to where threads have less than three vectors.
    let has_blocks = |round: &OneRound| {
        blocks_of_bands(task, round.bytes / task.word_bytes()) >= task.few_blocks()
    };
    match task.word {
        Width::B1 => exactly(4, rows).filter(|_| whole).or_else(|| {
            // Of fewer blocks with longer rounds each is shared out, and more of them win.
            let several = task.few_blocks()..4 * task.few_blocks();
            let blocks = || blocks_of_bands(task, band_cols(task, &rounds(task)));
            let is_wanted = rows > 8 && several.contains(&blocks());
            is_wanted.then(|| three_quarters(rows, extra, LEAST)).flatten()
        }),
        Width::B2 if whole => exactly(3, rows)
            .or_else(|| three_quarters(rows, extra, LEAST))
            .filter(has_blocks)
            .or_else(|| exactly(4, rows)),
        Width::B2 => None,
        Width::B4 | Width::B8 => three_quarters(rows, extra, 12),
        Width::B16 => None,
    }
}

/// The rounds where one is not enough.
fn rounds(task: &Task<'_>) -> Rounds {
    let col_bytes = task.problem.src.rows.saturating_mul(task.word_bytes());
    let aligned = task.src_aligned;
    let (threads, vectors, step) = match task.word {
        Width::B1 if col_bytes <= 8 => (128, 4, SECTOR),
        Width::B1 if col_bytes <= 72 => (128, 8, SECTOR),
        Width::B1 => (256, 8, SECTOR),
        Width::B2 if col_bytes <= 32 || !aligned && col_bytes <= 48 => (128, 4, SECTOR),
        Width::B2 if !aligned => (256, 4, SECTOR),
        Width::B2 => (256, 8, CACHE_LINE),
        Width::B4 | Width::B8 | Width::B16 => (128, 8, CACHE_LINE),
    };
    Rounds { threads, vectors, step }
}

/// The columns of a band: as many as make no more vectors than the block's threads load, though in each row a band touches one vector
/// more than it fills, or two. Of bands that start anywhere few touch two: those get more columns, as long as their blocks leave the
/// L1 cache enough of what they share with it.
fn band_cols(task: &Task<'_>, rounds: &Rounds) -> usize {
    const MOST_SHARED: usize = 19_000;
    let rows = task.problem.src.rows;
    let sector = task.sector();
    // Whole cache lines, where rows start on them.
    let step = if task.src_aligned { rounds.step / task.word_bytes() } else { sector };
    let cols = |more: usize| {
        let bytes = (rounds.block_vectors() / rows).saturating_sub(more) * VECTOR;
        let cols = bytes / task.word_bytes();
        if cols >= step { cols / step * step } else { (cols / sector).max(1) * sector }
    };
    let long = cols(1);
    let fits = shared_bytes(rows, long.saturating_mul(task.word_bytes()), gap(task)) <= MOST_SHARED;
    if fits && !task.src_aligned { long } else { cols(2) }
}

/// The vectors that are left out behind every eighth staged row, at most.
fn gap(task: &Task<'_>) -> usize {
    if task.src_aligned { 1 } else { 2 }
}

/// Shared memory for so many rows of a band, `bytes` bytes each, and of the columns that a block may start earlier
/// with: an odd number of vectors and up to one more for each, and up to `gap` for every eight.
fn shared_bytes(rows: usize, bytes: usize, gap: usize) -> usize {
    let vectors = (bytes + SECTOR).div_ceil(VECTOR) + 1;
    (rows.saturating_mul((vectors | 1) + 1) + rows.div_ceil(8) * gap + 1).saturating_mul(VECTOR)
}
