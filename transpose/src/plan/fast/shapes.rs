//! How much of a matrix a block of each kernel takes, and with how many threads.
//!
//! The constants that shape a kernel are written once here and once in the kernel; the tests run every
//! kernel, so a difference would show. Those that are a choice were measured: docs/decisions/014 to 021.

use crate::kernels::Width;

/// Bytes of a vector, and of a sector (`VECTOR` and `SECTOR` of the kernel crate).
pub(super) const VECTOR: usize = crate::plan::problem::VECTOR;
pub(super) const SECTOR: usize = 32;
const WARP: usize = 32;

/// The threads of the kernels that stage pieces of memory, and the shared memory that they aim at: enough
/// bytes in flight, and several blocks to a multiprocessor. Measured, see docs/decisions/014 to 017.
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

/// A window that every thread loads four vectors of at most.
pub(super) struct OneRound {
    pub threads: u32,
    /// Bytes of the window in each of the rows, or columns: whole lines of the cache.
    pub line_bytes: usize,
}

/// The vectors that a thread loads before it stores the first (`IN_FLIGHT` of the kernels).
const VECTORS: usize = 4;

/// For bytes and half-words in so many rows in `lines`, or columns in `tall`, if no memory beside the window is loaded: exactly four
/// vectors for each thread. None where such a window takes very many threads, or is too short.
pub(super) fn full_round(lines: usize) -> Option<OneRound> {
    const MOST_WARPS: usize = 5;
    let bytes = |threads: usize| threads * VECTORS * VECTOR;
    (1..=MOST_WARPS)
        .map(|warps| warps * WARP)
        .filter(|&threads| bytes(threads).is_multiple_of(lines * LINE))
        .map(|threads| OneRound { threads: threads as u32, line_bytes: bytes(threads) / lines })
        .filter(|round| round.line_bytes >= LINE)
        .min_by_key(|round| round.threads.abs_diff(128))
}

/// For words and double words in so many rows in `lines`, each of which touches `extra` vectors more than the window fills: about three
/// vectors for each thread. None where that takes very many threads.
pub(super) fn three_quarters(lines: usize, extra: usize) -> Option<OneRound> {
    const THREADS: [usize; 6] = [128, 160, 96, 192, 224, 256];
    const STEP: usize = 2 * LINE;
    THREADS.into_iter().find_map(|threads| {
        // In twentieths of what each thread may load.
        let load =
            |line_bytes: usize| lines * (line_bytes / VECTOR + extra) * 20 / (threads * VECTORS);
        (1..=threads * VECTORS * VECTOR / STEP)
            .map(|steps| steps * STEP)
            .filter(|&line_bytes| (12..=19).contains(&load(line_bytes)))
            .min_by_key(|&line_bytes| load(line_bytes).abs_diff(15))
            .map(|line_bytes| OneRound { threads: threads as u32, line_bytes })
    })
}

/// The windows of `tall` with single bytes, in rows of so many of them, if `early` rows before a window are loaded too: whole lines of
/// the destination's rows, and a bit more than three vectors for each thread. None for long rows.
pub(super) fn long_tall_bytes(row_bytes: usize, early: usize) -> Option<OneRound> {
    const STEP: usize = 2 * LINE;
    const MOST_WARPS: usize = 14;
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

/// For `tall` with single bytes in longer rows.
pub(super) fn tall_bytes(row_bytes: usize) -> Rounds {
    let threads = if row_bytes <= 32 { 128 } else { 256 };
    Rounds { threads, vectors: 4, step: 64 }
}

/// For `lines`, whose columns have so many bytes, and whose source's rows start on vectors or not.
pub(super) fn lines(word: Width, col_bytes: usize, aligned: bool) -> Rounds {
    let (threads, vectors, step) = match word {
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

/// Bytes of a line of the cache.
pub(super) const LINE: usize = 128;

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

impl RowsShape {
    /// The rows of a window, which may start up to a sector earlier than the tile's, and the columns of a tile.
    pub fn window(&self, word: Width) -> [usize; 2] {
        let word_bytes = word.bytes() as usize;
        [self.rows - SECTOR / word_bytes, (self.chunks - 1) * VECTOR / word_bytes]
    }
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
