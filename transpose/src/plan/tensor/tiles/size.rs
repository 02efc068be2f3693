//! What a tile takes of a block: threads, and shared memory, with padding between the columns.

use super::super::canonical::Canonical;
use super::super::cuts::Placed;
use super::super::model::TAKEN;
use super::early::Early;
use super::units::{NARROW, loading, units};
use super::{Kernel, MOST_SHARED};
use crate::facts::Facts;
use crate::plan::problem::VECTOR;
use kernel_abi::Width;
use kernel_abi::tensor::{Loading, PLACE_BYTES, TileShape};

/// Bytes that the blocks of a multiprocessor have on their way where memory moves little else than sectors in part, and threads of such a block, at most.
pub(super) const FEW_BYTES: usize = 32 << 10;
pub(super) const FEW_THREADS: u32 = 128;

/// Bytes of all banks of shared memory. Columns whose vectors are turned start a multiple of 128 bytes apart.
pub(super) const ALL_BANKS: usize = 128;

/// What a tile takes of a block.
pub(super) struct Size {
    /// Vectors of a row, the last perhaps in part.
    pub(super) row_vectors: usize,
    /// Vectors of a column, the last perhaps in part.
    pub(super) col_vectors: usize,
    pub(super) threads: usize,
    /// Bytes from a column to the next, and between the columns of a vector of a row and the next.
    pub(super) pitch: usize,
    pub(super) padding: usize,
    /// Bytes of the transposed tile, and of shared memory, the tables included.
    pub(super) tile: usize,
    pub(super) shared: usize,
}

impl Size {
    pub(super) fn of(
        canonical: &Canonical,
        early: Early,
        rows: &Placed,
        cols: &Placed,
        kernel: Kernel,
    ) -> Self {
        let shape = TileShape::of(canonical.word);
        let tile_rows = rows.cut.words + early.rows;
        let (vector, block_rows) =
            (TileShape::vector(canonical.word) as usize, shape.block_rows as usize);
        // Of narrow words whole vectors of a column are kept.
        let kept = if canonical.word_bytes() < NARROW {
            tile_rows.next_multiple_of(vector)
        } else {
            tile_rows
        };
        let groups = kept.div_ceil(block_rows);
        let row_vectors = cols.cut.words.div_ceil(vector);
        let col_bytes = (groups * block_rows).max(vector) * canonical.word_bytes();
        // Kernels that compute turn the vectors of columns, each warp of theirs finds the tile's place, and what they know of a column is a vector.
        let moves = kernel == Kernel::Moving;
        let by_vectors = cols.aligned >= VECTOR;
        let behind_vectors = || (col_bytes, padding(vector * col_bytes, row_vectors));
        // Where columns are stored by units of less than a vector, each of these is looked for where it was turned to.
        let by_units = || matches!(units(canonical.word_bytes(), rows), Some(4 | 8));
        let (pitch, padding) = match canonical.word {
            Width::B1 | Width::B2
                if moves
                    && by_vectors
                    && rows.aligned >= VECTOR
                    && !by_units()
                    && !col_bytes.is_multiple_of(ALL_BANKS) =>
            {
                // Where there is padding nothing is turned: so the kernel tells these tiles from others.
                behind_vectors()
            }
            Width::B4 | Width::B8 if moves && by_vectors => behind_vectors(),
            Width::B4 | Width::B8 if moves => (col_bytes + padding(col_bytes, row_vectors), 0),
            _ => (col_bytes.next_multiple_of(ALL_BANKS), 0),
        };
        let tile = row_vectors * (vector * pitch + padding);
        let place = if moves && canonical.word_bytes() < VECTOR { PLACE_BYTES as usize } else { 0 };
        let column = if moves { size_of::<u64>() } else { VECTOR };
        let tables = place + tile_rows * size_of::<u64>() + cols.cut.words * column;
        let threads = shape.threads(groups * row_vectors);
        let shared = match loading(canonical.word_bytes(), cols, kernel) {
            Loading::Slid => {
                (tile + tables).next_multiple_of(VECTOR) + shape.beside(threads, row_vectors)
            }
            _ => tile + tables,
        };
        Size {
            row_vectors,
            col_vectors: tile_rows.div_ceil(vector),
            threads,
            pitch,
            padding,
            tile,
            shared,
        }
    }
}

/// Bytes behind so many whole vectors that the threads of a row step by in shared memory, so that eight neighbouring threads store to eight different groups of banks: the
/// step is an odd number of vectors, or of eighths of all banks where a row has no more than that many vectors.
pub(super) fn padding(step: usize, row_vectors: usize) -> usize {
    let least = match row_vectors {
        1 => return 0,
        2 | 4 => ALL_BANKS / row_vectors,
        _ => VECTOR,
    };
    // To an odd multiple of the least.
    (step + least).next_multiple_of(2 * least) - least - step
}

/// Bytes of shared memory with which a block has no more others beside it than have [`FEW_BYTES`] on their way together.
pub(super) fn alone(size: &Size, facts: &Facts) -> usize {
    /// Bytes that a thread loads.
    const OF_THREAD: usize = 4 * VECTOR;
    let beside = (FEW_BYTES / (size.threads * OF_THREAD)).max(1);
    (facts.multiprocessor_shared / beside).saturating_sub(TAKEN).min(MOST_SHARED)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A column of narrow words is some vectors, and a vector of a row has 8 or 16 columns.
    #[test]
    fn narrow_words_have_padding_behind_every_vector() {
        for (vectors, row_vectors) in (1..64).flat_map(|v| (2..40).map(move |rows| (v, rows))) {
            assert!([8, 16].iter().all(|cols| padding(cols * vectors * VECTOR, row_vectors) > 0));
        }
    }

    #[test]
    fn padding_keeps_neighbours_out_of_each_others_banks() {
        for (step, vectors) in (1..64).flat_map(|step| (1..40).map(move |vectors| (step, vectors)))
        {
            let padded = step + padding(step * VECTOR, vectors) / VECTOR;
            assert!(padded < step + 8, "{step} {vectors}");
            // Eight neighbours from any on, if they are of one row, or rows are a power of two of vectors.
            for first in 0..2 * vectors {
                let eight = first..first + 8;
                let is_one_row = first / vectors == (first + 7) / vectors;
                if is_one_row || vectors.is_power_of_two() && first.is_multiple_of(8) {
                    let banks = eight.map(|at| (at % vectors * padded + at / vectors) % 8);
                    let banks: std::collections::HashSet<usize> = banks.collect();
                    assert_eq!(banks.len(), 8, "{step} {vectors} {first}");
                }
            }
        }
    }
}
