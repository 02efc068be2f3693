//! Which kernel serves a problem best.
//!
//! Tiles are best while they are full. Few columns, and few rows, are moved in bands instead; and so are a few more columns than
//! tiles have, which would leave the last tile nearly empty. All lengths were measured ([`Tuning`]).

use super::task::Task;
use super::tuning::Tuning;
use super::{batch, lines, micro, pixels, rows, tall, triples, tuples, wide};
use crate::launch::Launch;
use crate::layout::Layout;
use kernel_abi::Width;

/// The launches of the best kernel.
pub(super) fn best(task: &Task<'_>) -> Option<Vec<Launch>> {
    if task.tuple > 1 {
        pixels::launches(task)
            .or_else(|| triples::launches(task))
            .or_else(|| tuples::launches(task))
    } else {
        batch::launches(task).or_else(|| single_words(task))
    }
}

/// The launches of the best kernel for elements of one word that are no batch of small matrices.
fn single_words(task: &Task<'_>) -> Option<Vec<Launch>> {
    let columns = || few_cols(task).then(|| tall::launches(task))?;
    let rows = || few_rows(task).then(|| gathered_or_scattered(task))?;
    let bands = columns().or_else(rows);
    // Of wide words there are no other bands: the kernels of tensors have tiles that few rows fill.
    let is_for_tensors = bands.is_none() && task.word >= Width::B8 && few_rows(task);
    if is_for_tensors { None } else { bands.or_else(|| tiled(task)) }
}

/// Whether there are so few columns, or so few more than tiles have, that bands are better than tiles.
fn few_cols(task: &Task<'_>) -> bool {
    let Tuning { many, long_row, .. } = *task.tuning;
    let Layout { rows, cols, ld } = task.problem.src;
    let split = task.vectors_split_sectors() && task.leaves_the_cache() && rows >= many;
    let least = match (task.aligned, split) {
        (true, false) => Tuning::by_word(&task.tuning.least, task.word)[1],
        (true, true) => Tuning::by_word(&task.tuning.least_cols_past_sectors, task.word),
        (false, _) => Tuning::by_word(&task.tuning.least_anywhere, task.word)[1],
    };
    let on_sectors = ld.is_multiple_of(task.sector());
    let short = rows >= many && cols.saturating_mul(task.word_bytes()) <= long_row;
    let full = task.tuning.least_full(task.word, task.aligned, on_sectors);
    let empty =
        tile_cols(task).is_some_and(|across| short && cols > across && !fills(cols, across, full));
    cols < least || empty
}

/// Whether there are so few rows that bands are better than tiles. Tiles that are partly empty cost time only where rows start
/// anywhere and words have 4 or 8 bytes; elsewhere the number of rows alone decides.
fn few_rows(task: &Task<'_>) -> bool {
    let Layout { rows, cols, .. } = task.problem.src;
    if task.aligned {
        return rows < Tuning::by_word(&task.tuning.least, task.word)[0];
    }
    let wide = matches!(task.word, Width::B4 | Width::B8) && cols >= task.tuning.many;
    let empty = rows::span(task).filter(|_| wide).is_some_and(|[down, _]| {
        // Spans start up to a sector earlier.
        let early = task.sector() - 1;
        rows + early <= 2 * down && rows * 32 < (rows + early).div_ceil(down) * down * 21
    });
    rows < Tuning::by_word(&task.tuning.least_anywhere, task.word)[0] || empty
}

/// The columns of a tile of the kernel that would move tiles.
fn tile_cols(task: &Task<'_>) -> Option<usize> {
    match task.aligned {
        true => Some(micro::tile_cols(task)),
        false => rows::span(task).map(|[_, cols]| cols),
    }
}

/// Whether tiles of `across` columns are as full as `least`, in 32nds.
fn fills(cols: usize, across: usize, least: usize) -> bool {
    cols.saturating_mul(32) >= cols.div_ceil(across).saturating_mul(across).saturating_mul(least)
}

/// Few rows: elements of 1 and 2 bytes are gathered, and others that are loaded in a single round; what is left of 4 bytes is scattered.
fn gathered_or_scattered(task: &Task<'_>) -> Option<Vec<Launch>> {
    match matches!(task.word, Width::B1 | Width::B2) || lines::one_round(task).is_some() {
        true => lines::launches(task),
        false => wide::launches(task),
    }
}

/// Tiles of rows that start on vectors, or of rows that start anywhere, whichever is better.
fn tiled(task: &Task<'_>) -> Option<Vec<Launch>> {
    match needs_spans(task) {
        true => rows::launches(task).or_else(|| micro::launches(task)),
        false => micro::launches(task).or_else(|| rows::launches(task)),
    }
}

/// Whether rows all start on vectors and yet so many sectors would be written in parts that spans are better: only 1-byte elements gain.
fn needs_spans(task: &Task<'_>) -> bool {
    let Layout { rows, cols, .. } = task.problem.src;
    let Tuning { many_split_bytes, many_split_rows, .. } = *task.tuning;
    let many = task.bytes() >= many_split_bytes && rows >= many_split_rows;
    let full = rows::span(task).is_some_and(|[_, across]| fills(cols, across, 24));
    task.word == Width::B1 && task.vectors_split_sectors() && many && full
}
