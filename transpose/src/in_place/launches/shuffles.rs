//! The row and column permutations of the decomposition.

use super::{WORD, along, launch, threads_for};
use crate::divide::magic;
use crate::in_place::decomposition::Decomposition;
use crate::kernels::{InPlaceKernel, Width};
use crate::launch::Launch;

/// The row shuffle of the decomposition, so many rows to a block.
pub fn shuffle_rows(d: &Decomposition, block_rows: usize, backwards: bool, width: Width) -> Launch {
    let elements = block_rows * d.cols;
    launch(
        InPlaceKernel::Rows,
        width,
        [d.rows.div_ceil(block_rows), 1],
        threads_for(elements, 512),
        elements * width.bytes(),
        row_words(d, block_rows, backwards),
        row_magics(d),
    )
}

/// Elements of a row that a block stages (`CHUNK` of the kernel).
const CHUNK: usize = 2048;

/// The row shuffle into the scratch memory, for so many rows from `first` on.
pub fn stage_rows(
    d: &Decomposition,
    (first, count): (usize, usize),
    backwards: bool,
    width: Width,
) -> Launch {
    launch(
        InPlaceKernel::StageRows,
        width,
        [d.cols.div_ceil(CHUNK), count],
        256,
        0,
        row_words(d, first, backwards),
        row_magics(d),
    )
}

/// What the kernels of the row shuffle are told: the permutation, and `rows`, which is the rows of a block
/// to one and the first row to the other.
fn row_words(d: &Decomposition, rows: usize, backwards: bool) -> [usize; 11] {
    let inverse = d.tall_inverse;
    [d.rows, 0, d.cols, 0, d.common, 0, d.wide, 0, inverse, rows, usize::from(backwards)]
}

/// The multipliers among those words.
fn row_magics(d: &Decomposition) -> [(usize, u64); 4] {
    [(1, magic(d.rows)), (3, magic(d.cols)), (5, magic(d.common)), (7, magic(d.wide))]
}

/// A column permutation of the decomposition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Columns {
    /// Shuffle; otherwise turn.
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
        let most = if width == Width::B16 { 256 } else { 512 };
        let threads = threads_for(part_rows * strip, most);
        let held = (part_rows + strip - 1) * strip * width.bytes();
        let mode = usize::from(self.shuffle)
            | usize::from(self.backwards) << 1
            | along(strip, threads) << 8;
        let launch = launch(
            InPlaceKernel::Columns,
            width,
            [d.cols.div_ceil(strip) * d.rows.div_ceil(part_rows), 1],
            threads,
            held.max(WORD),
            [
                d.rows,
                0,
                d.cols,
                strip,
                part_rows,
                d.common,
                0,
                d.tall,
                0,
                d.wide,
                0,
                d.wide_inverse,
                mode,
            ],
            [(1, magic(d.rows)), (6, magic(d.common)), (8, magic(d.tall)), (10, magic(d.wide))],
        );
        Launch { cooperative: part_rows < d.rows, ..launch }
    }
}
