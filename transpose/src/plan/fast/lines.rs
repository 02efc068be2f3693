//! `lines`: few rows of elements of up to 8 bytes, gathered, and a destination without gaps.

use super::rounds::{OneRound, Rounds, full_round, three_quarters};
use super::task::{Block, LINE, SECTOR, Task, VECTOR};
use crate::launch::Launch;
use crate::plan::problem::Problem;
use kernel_abi::Width;
use kernel_abi::fast::{LINES, Window};

/// The launches, if the destination has no gaps and a block has a thread for each row.
pub(super) fn launches(task: &Task<'_>) -> Option<Vec<Launch>> {
    let Problem { src, dst, .. } = task.problem;
    if dst.ld != src.rows || task.word == Width::B16 {
        return None;
    }
    let (threads, window) = match one_round(task) {
        Some(OneRound { threads, line_bytes }) => (threads, line_bytes / task.word_bytes()),
        None => {
            let rounds = rounds(task);
            (rounds.threads, window(task, &rounds))
        }
    };
    if src.rows > threads as usize {
        return None;
    }
    let blocks = (src.len() + task.sector() - 1).div_ceil(window * src.rows);
    let shared = shared_bytes(src.rows, window * task.word_bytes(), gap(task));
    let block = Block { threads, shared };
    task.in_layers(&LINES, [blocks, 1], block, |matrices| Window {
        matrices,
        window: window as u64,
    })
}

/// The windows if they can be a single round of loads. For words of 1 and 2 bytes that is a full one, of whole vectors of
/// every row of the source and whole sectors of the destination.
pub(super) fn one_round(task: &Task<'_>) -> Option<OneRound> {
    let rows = task.problem.src.rows;
    let whole = task.src_aligned && task.dst_starts_on_sectors();
    match task.word {
        Width::B1 | Width::B2 => full_round(rows).filter(|_| whole),
        Width::B4 | Width::B8 => three_quarters(rows, usize::from(!whole)),
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
        Width::B2 => (256, 8, LINE),
        Width::B4 | Width::B8 | Width::B16 => (128, 8, LINE),
    };
    Rounds { threads, vectors, step }
}

/// The columns of a block: as many as its threads load in their rounds. A row's window touches one vector more than it fills, or
/// two. Where rows start anywhere few windows touch two, so one is reckoned with, unless the blocks' shared memory would leave the
/// L1 cache too little of the memory that both share.
fn window(task: &Task<'_>, rounds: &Rounds) -> usize {
    const MOST_SHARED: usize = 19_000;
    let rows = task.problem.src.rows;
    let sector = task.sector();
    // Whole lines of the cache, where rows start on them.
    let step = if task.src_aligned { rounds.step / task.word_bytes() } else { sector };
    let window = |more: usize| {
        let line = (rounds.block_vectors() / rows).saturating_sub(more) * VECTOR;
        let cols = line / task.word_bytes();
        if cols >= step { cols / step * step } else { (cols / sector).max(1) * sector }
    };
    let long = window(1);
    let fits = shared_bytes(rows, long.saturating_mul(task.word_bytes()), gap(task)) <= MOST_SHARED;
    if fits && !task.src_aligned { long } else { window(2) }
}

/// The vectors that are left out behind every eighth row of the stage, at most.
fn gap(task: &Task<'_>) -> usize {
    if task.src_aligned { 1 } else { 2 }
}

/// Shared memory for so many rows of a window of `bytes` bytes, and of the columns that a block may start earlier
/// with: an odd number of vectors and up to one more for each, and up to `gap` for every eight.
fn shared_bytes(rows: usize, bytes: usize, gap: usize) -> usize {
    let vectors = (bytes + SECTOR).div_ceil(VECTOR) + 1;
    (rows.saturating_mul((vectors | 1) + 1) + rows.div_ceil(8) * gap + 1).saturating_mul(VECTOR)
}
