//! How much of a matrix a block of each kernel takes, and with how many threads.
//!
//! The constants that shape a kernel are written once here and once in the kernel; the tests run every
//! kernel, so a difference would show. Those that are a choice were measured: docs/performance.md.

use crate::kernels::Width;

/// Bytes of a vector, and of a sector (`VECTOR` and `SECTOR` of the kernel crate).
pub(super) const VECTOR: usize = crate::plan::problem::VECTOR;
pub(super) const SECTOR: usize = 32;

/// The threads of the kernels that stage pieces of memory, and the shared memory that they aim at: enough
/// bytes in flight, and several blocks to a multiprocessor. Measured, see docs/performance.md.
#[derive(Clone, Copy)]
pub(super) struct Pieces {
    pub threads: u32,
    pub bytes: usize,
}

/// For batches of small matrices.
pub(super) const BATCH: Pieces = Pieces { threads: 256, bytes: 26 << 10 };

/// For rows, in `tall`, or columns, in `wide`, of at most [`SHORT_LINE`] bytes, and for longer ones.
pub(super) const TALL: [Pieces; 2] =
    [Pieces { threads: 128, bytes: 9 << 10 }, Pieces { threads: 256, bytes: 18 << 10 }];
pub(super) const WIDE: [Pieces; 2] =
    [Pieces { threads: 128, bytes: 10 << 10 }, Pieces { threads: 256, bytes: 20 << 10 }];
pub(super) const SHORT_LINE: usize = 64;

/// For `wide` with single bytes, which are scattered one by one.
pub(super) const WIDE_OF_BYTES: Pieces = Pieces { threads: 256, bytes: 30 << 10 };

/// The shape of a tile of the `micro` kernel (its chunks, groups, passes and block rows).
pub(super) struct MicroShape {
    pub rows: usize,
    pub cols: usize,
    pub threads: u32,
    /// Blocks that a multiprocessor should run at a time if the matrices are large.
    pub at_once: u32,
}

pub(super) const fn micro_shape(word: Width) -> MicroShape {
    let (rows, cols, threads, at_once) = match word {
        Width::B1 => (128, 256, 512, 2),
        Width::B2 => (128, 128, 512, 2),
        Width::B4 => (64, 64, 256, 4),
        Width::B8 => (64, 32, 512, 0),
        Width::B16 => (32, 16, 256, 5),
    };
    MicroShape { rows, cols, threads, at_once }
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
