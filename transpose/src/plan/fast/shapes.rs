//! How much of a matrix a block of each kernel takes, and with how many threads.
//!
//! The constants that shape a kernel are written once here and once in the kernel; the tests run every
//! kernel, so a difference would show. Those that are a choice were measured: docs/performance.md.

use crate::kernels::Width;

/// Bytes of a vector, and of a sector (`VECTOR` and `SECTOR` of the kernel crate).
pub(super) const VECTOR: usize = crate::plan::problem::VECTOR;
pub(super) const SECTOR: usize = 32;
const WARP: usize = 32;

/// The threads of the kernels that stage pieces of memory, and the shared memory that they aim at: enough
/// bytes in flight, and several blocks to a multiprocessor. Measured, see docs/performance.md.
#[derive(Clone, Copy)]
pub(super) struct Pieces {
    pub threads: u32,
    pub bytes: usize,
}

/// For rows, in `tall`, or columns, in `wide`, of at most [`SHORT_LINE`] bytes, and for longer ones.
pub(super) const TALL: [Pieces; 2] =
    [Pieces { threads: 128, bytes: 9 << 10 }, Pieces { threads: 256, bytes: 18 << 10 }];
pub(super) const WIDE: [Pieces; 2] =
    [Pieces { threads: 128, bytes: 10 << 10 }, Pieces { threads: 256, bytes: 20 << 10 }];
pub(super) const SHORT_LINE: usize = 64;

/// The same where every thread loads `vectors` vectors at most, four at a time: one more would make all wait
/// for another round.
pub(super) struct Rounds {
    pub threads: u32,
    pub vectors: usize,
    /// Bytes that a window is a multiple of.
    pub step: usize,
}

impl Rounds {
    /// The vectors that a block loads.
    pub fn block_vectors(&self) -> usize {
        self.threads as usize * self.vectors
    }
}

/// For batches of small matrices, the best first.
pub(super) const BATCH: [Rounds; 4] = [
    Rounds { threads: 128, vectors: 4, step: SECTOR },
    Rounds { threads: 256, vectors: 4, step: SECTOR },
    Rounds { threads: 128, vectors: 8, step: SECTOR },
    Rounds { threads: 256, vectors: 8, step: SECTOR },
];

/// A window that every thread loads four vectors of, no more and no less.
pub(super) struct FullRound {
    pub threads: u32,
    /// Bytes of the window in each of the rows, or columns: whole lines of the cache.
    pub line_bytes: usize,
}

/// The best one for so many rows in `lines`, or columns in `tall`, if no memory beside the window is loaded. None where such a
/// window takes very many threads, or is too short.
pub(super) fn full_round(word: Width, lines: usize) -> Option<FullRound> {
    const VECTORS: usize = 4;
    let (most_threads, least_bytes) = match word {
        Width::B1 | Width::B2 => (160, LINE),
        Width::B4 => (128, 2 * LINE),
        Width::B8 => (160, 2 * LINE),
        Width::B16 => return None,
    };
    let bytes = |threads: usize| threads * VECTORS * VECTOR;
    (1..=most_threads / WARP)
        .map(|warps| warps * WARP)
        .filter(|&threads| bytes(threads).is_multiple_of(lines * LINE))
        .map(|threads| FullRound { threads: threads as u32, line_bytes: bytes(threads) / lines })
        .filter(|round| round.line_bytes >= least_bytes)
        .min_by_key(|round| round.threads.abs_diff(128))
}

/// For `tall` with single bytes, whose rows have so many.
pub(super) fn tall_bytes(row_bytes: usize) -> Rounds {
    let threads = if row_bytes <= 32 { 128 } else { 256 };
    Rounds { threads, vectors: 4, step: 64 }
}

/// For `lines`, whose columns have so many bytes.
pub(super) fn lines(word: Width, col_bytes: usize) -> Rounds {
    let (threads, vectors, step) = match word {
        Width::B1 if col_bytes <= 8 => (128, 4, SECTOR),
        Width::B1 => (128, 8, SECTOR),
        Width::B2 if col_bytes <= 32 => (128, 4, SECTOR),
        Width::B2 => (256, 8, LINE),
        Width::B4 | Width::B8 | Width::B16 => (128, 8, LINE),
    };
    Rounds { threads, vectors, step }
}

/// From how many rows on columns are better gathered by `lines` than scattered by `wide`, if the rows start on vectors.
pub(super) const fn gathered_rows(word: Width) -> usize {
    match word {
        Width::B1 | Width::B2 => 1,
        Width::B4 => 12,
        Width::B8 | Width::B16 => 9,
    }
}

/// Bytes of a line of the cache.
pub(super) const LINE: usize = 128;

/// The shape of a tile of the `micro` kernel (its chunks, groups, passes and block rows).
pub(super) struct MicroShape {
    pub rows: usize,
    pub cols: usize,
    pub threads: u32,
    /// Blocks that a multiprocessor should run at a time if the matrices are large.
    pub at_once: u32,
    /// Rows and columns from which on tiles are full enough: matrices with fewer are not cut into tiles.
    pub least: [usize; 2],
}

pub(super) const fn micro_shape(word: Width) -> MicroShape {
    let (rows, cols, threads, at_once, least) = match word {
        Width::B1 => (128, 256, 512, 2, [104, 104]),
        Width::B2 => (128, 128, 512, 2, [80, 64]),
        Width::B4 => (64, 64, 256, 4, [48, 64]),
        Width::B8 => (64, 32, 512, 0, [48, 64]),
        Width::B16 => (32, 16, 256, 5, [24, 32]),
    };
    MicroShape { rows, cols, threads, at_once, least }
}

/// The shape of a tile of the `rows` kernel. Words of 16 bytes need none: their rows start on vectors.
pub(super) struct RowsShape {
    /// Vectors of a row, of which one more than the columns fill.
    pub chunks: usize,
    pub rows: usize,
    pub threads: u32,
}

pub(super) const fn rows_shape(word: Width) -> Option<RowsShape> {
    let (chunks, rows, threads) = match word {
        Width::B1 => (16, 128, 256),
        Width::B2 | Width::B4 => (32, 64, 256),
        Width::B8 => (32, 64, 512),
        Width::B16 => return None,
    };
    Some(RowsShape { chunks, rows, threads })
}

/// The rows of a tile of the `pixels` kernel, its bytes of a row, and its threads.
pub(super) const PIXELS: (usize, usize, u32) = (128, 192, 512);

/// The shape of a stage of the `tuples` kernel.
pub(super) struct TuplesShape {
    /// Vectors of a row.
    pub chunks: usize,
    pub rows: usize,
    pub threads: u32,
    /// Bytes that windows are aligned to.
    pub align: usize,
}

pub(super) const fn tuples_shape(word: Width) -> TuplesShape {
    let (chunks, rows, threads, align) = match word {
        Width::B1 => (8, 256, 512, VECTOR),
        Width::B2 => (16, 128, 512, SECTOR),
        Width::B4 => (16, 128, 512, SECTOR),
        Width::B8 => (32, 64, 512, SECTOR),
        Width::B16 => (16, 64, 256, SECTOR),
    };
    TuplesShape { chunks, rows, threads, align }
}
