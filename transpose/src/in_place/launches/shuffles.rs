//! The row and column permutations of the decomposition.

use super::{WORD, along, launch, threads_for};
use crate::divide::{divisor32, factor};
use crate::in_place::decomposition::Decomposition;
use crate::kernels::Width;
use crate::launch::Launch;
use kernel_abi::in_place::{
    self as abi, ALONG, BACKWARDS, COLUMNS, HOLDING_THREADS, ROWS, Rows, SHUFFLE, STAGE_ROWS,
    STAGED_ELEMENTS, STAGING_THREADS, Shuffle, StagedRows,
};

/// The most threads of a block that holds what it moves.
const THREADS: usize = HOLDING_THREADS as usize;

/// The row shuffle of the decomposition, so many rows to a block.
pub fn shuffle_rows(d: &Decomposition, block_rows: usize, backwards: bool, width: Width) -> Launch {
    let elements = block_rows * d.cols;
    launch(
        &ROWS,
        width,
        [d.rows.div_ceil(block_rows), 1],
        threads_for(elements, THREADS),
        elements * width.bytes(),
        Rows { shuffle: shuffle(d, backwards), block_rows: block_rows as u64 },
    )
}

/// The row shuffle into the scratch memory, for so many rows from `first` on.
pub fn stage_rows(
    d: &Decomposition,
    (first, count): (usize, usize),
    backwards: bool,
    width: Width,
) -> Launch {
    launch(
        &STAGE_ROWS,
        width,
        [d.cols.div_ceil(STAGED_ELEMENTS as usize), count],
        STAGING_THREADS as usize,
        0,
        StagedRows { shuffle: shuffle(d, backwards), first: first as u64 },
    )
}

/// The permutation of the rows.
fn shuffle(d: &Decomposition, backwards: bool) -> Shuffle {
    Shuffle {
        rows: d.rows as u64,
        cols: divisor32(d.cols),
        common: divisor32(d.common),
        cols_per_c: divisor32(d.cols_per_c),
        inverse: factor(d.rows_per_c_inverse, d.cols_per_c),
        rows_factor: factor(d.rows, d.cols),
        backwards: u64::from(backwards),
    }
}

/// A column permutation of the decomposition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Columns {
    /// Shuffle; otherwise rotate.
    pub shuffle: bool,
    /// The inverse.
    pub backwards: bool,
    /// Columns of a strip.
    pub strip: usize,
    /// Rows of a part of a strip.
    pub part_rows: usize,
}

impl Columns {
    /// The bytes of the counters.
    pub fn counter_bytes(&self, d: &Decomposition) -> usize {
        if self.part_rows < d.rows { (1 + d.cols.div_ceil(self.strip)) * WORD } else { 0 }
    }

    pub fn launch(&self, d: &Decomposition, width: Width) -> Launch {
        let Columns { strip, part_rows, .. } = *self;
        // Two blocks are to run on a multiprocessor, and elements of 16 bytes take more registers than leave room for 512 threads each.
        let most = if width == Width::B16 { THREADS / 2 } else { THREADS };
        let threads = threads_for(part_rows * strip, most);
        let held = (part_rows + strip - 1) * strip * width.bytes();
        let set = |bit, is: bool| if is { bit } else { 0 };
        let params = abi::Columns {
            rows: divisor32(d.rows),
            cols: d.cols as u64,
            strip: strip as u64,
            part_rows: part_rows as u64,
            common: divisor32(d.common),
            rows_per_c: d.rows_per_c as u64,
            cols_per_c: divisor32(d.cols_per_c),
            inverse: factor(d.cols_per_c_inverse, d.rows_per_c),
            mode: set(SHUFFLE, self.shuffle)
                | set(BACKWARDS, self.backwards)
                | (along(strip, threads) as u64) << ALONG,
        };
        let blocks = d.cols.div_ceil(strip) * d.rows.div_ceil(part_rows);
        let launch = launch(&COLUMNS, width, [blocks, 1], threads, held.max(WORD), params);
        Launch { cooperative: part_rows < d.rows, ..launch }
    }
}
