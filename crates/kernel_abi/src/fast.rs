//! The kernels that reach the speed of a copy: parameters, tiles, and rows of the table.
//!
//! All of them take [`Batched`] matrices, measured in *words* of 1, 2, 4, 8 or 16 bytes: the widest that the element and both
//! memories' alignments are multiples of. An element is one word, or a tuple of several.
//!
//! # Grids
//! A block's z index is the number of its matrix in the batch. Along x and y the row of a kernel says how many blocks its
//! parameters take, and launches have those and no others. The kernels do not look whether a block has nothing to move:
//! that would be 6 to 13 instructions of every thread, 1 to 3 %, for what the host knows.

use crate::{params, table, Width};

/// Bytes of a vector: the widest access of a thread.
pub const VECTOR: u32 = 16;

/// Bytes of a sector: the least that the memory moves.
pub const SECTOR: u32 = 32;

/// Threads of a warp.
pub const WARP: u32 = 32;

params! {
    /// Equally laid out matrices at equal distances: shapes and distances in words.
    Batched {
        /// Rows of a source.
        rows,
        /// Words of a source's row.
        cols,
        /// Words from one row of a source to the next.
        src_ld,
        /// Words from one row of a destination to the next.
        dst_ld,
        /// Words from one source to the next.
        src_batch,
        /// Words from one destination to the next.
        dst_batch,
    }

    /// Nothing but matrices.
    Plain {
        /// The matrices.
        matrices: Batched,
    }

    /// For [`MICRO`].
    Micro {
        /// The matrices.
        matrices: Batched,
        /// Columns of tiles `apart` from each other take turns; 0 where every column is walked by itself. A power of
        /// two otherwise.
        apart,
    }

    /// For [`ROWS`].
    InTurns {
        /// The matrices.
        matrices: Batched,
        /// 1 where there are two matrices and blocks along x take tiles of one and the other in turns, 0 where they take tiles of one.
        turns,
    }

    /// For [`TUPLES`].
    Tuples {
        /// The matrices.
        matrices: Batched,
        /// Words of an element.
        tuple,
        /// 2³² / `tuple`, rounded up.
        tuple_magic,
        /// Elements of a tile's row.
        tile_cols,
        /// Words of a span: the stretch of a destination row that a block stores.
        span,
    }

    /// For [`TALL`].
    RowBand {
        /// The matrices.
        matrices: Batched,
        /// Rows of a band: those that a block moves.
        band_rows,
    }

    /// For [`WIDE`] and [`LINES`].
    ColumnBand {
        /// The matrices.
        matrices: Batched,
        /// Columns of a band: those that a block moves.
        band_cols,
    }

    /// For [`BATCH`].
    Batch {
        /// One matrix of the batch, without gaps; the distances are its elements.
        matrices: Batched,
        /// Matrices of the batch.
        count,
        /// Matrices of a band: those that a block moves.
        band_matrices,
        /// Of words of 1 and 2 bytes: the threads of a block that gather, whose vectors are whole matrices together. 0 if all do, and find each vector anew.
        gatherers,
        /// Of words of 1 and 2 bytes: bytes that the staging buffer leaves out behind each 128, a multiple of 4. Where it has gaps, what those threads gather at a time is
        /// whole groups of 128 bytes.
        gap,
    }
}

/// A tile of [`MICRO`].
#[derive(Clone, Copy, Debug)]
pub struct MicroTile {
    /// Rows of the source.
    pub rows: u32,
    /// Vectors of a row.
    pub row_vectors: u32,
    /// Rows of the micro-block that a thread transposes in registers.
    pub block_rows: u32,
    /// Micro-blocks of a thread.
    pub micro_blocks: u32,
}

impl MicroTile {
    /// The tile for words of a width.
    pub const fn of(width: Width) -> Self {
        let (rows, block_rows, micro_blocks) = match width {
            Width::B1 => (128, 4, 1),
            Width::B2 => (128, 4, 1),
            Width::B4 => (64, 4, 1),
            Width::B8 => (64, 2, 1),
            Width::B16 => (32, 1, 2),
        };
        MicroTile { rows, row_vectors: 16, block_rows, micro_blocks }
    }

    /// Words of a row.
    pub const fn cols(&self, width: Width) -> u32 {
        self.row_vectors * VECTOR / width.bytes() as u32
    }

    /// Threads of a block.
    pub const fn block(&self) -> [u32; 3] {
        [self.row_vectors * self.rows / (self.block_rows * self.micro_blocks), 1, 1]
    }
}

/// A tile of [`ROWS`].
#[derive(Clone, Copy, Debug)]
pub struct RowsTile {
    /// Vectors of a row, one more than its words fill: a row may start inside a vector.
    pub row_vectors: u32,
    /// Rows of the source that are loaded.
    pub rows: u32,
    /// Rows of each of the two micro-blocks that a thread transposes in registers.
    pub block_rows: u32,
}

impl RowsTile {
    /// The tile for words of a width. Words of 16 bytes have none: their rows start on vectors.
    pub const fn of(width: Width) -> Option<Self> {
        let (row_vectors, rows, block_rows) = match width {
            Width::B1 => (16, 128, 4),
            Width::B2 | Width::B4 => (32, 64, 4),
            Width::B8 => (32, 64, 2),
            Width::B16 => return None,
        };
        Some(RowsTile { row_vectors, rows, block_rows })
    }

    /// Rows that a span holds the words of: fewer than are loaded, for it may start up to a sector earlier.
    pub const fn span_rows(&self, width: Width) -> u32 {
        self.rows - SECTOR / width.bytes() as u32
    }

    /// Words of a row.
    pub const fn cols(&self, width: Width) -> u32 {
        (self.row_vectors - 1) * VECTOR / width.bytes() as u32
    }

    /// Threads of a block.
    pub const fn block(&self) -> [u32; 3] {
        [self.row_vectors * self.rows / self.block_rows / 2, 1, 1]
    }
}

/// The tile of a width that there is one for.
const fn rows_tile(width: Width) -> RowsTile {
    match RowsTile::of(width) {
        Some(tile) => tile,
        None => panic!("no tile of that width"),
    }
}

/// A tile of [`PIXELS`]: triples of words, in rows that start on vectors.
pub struct PixelsTile;

impl PixelsTile {
    /// Rows of the source.
    pub const ROWS: u32 = 128;
    /// Vectors of a row.
    pub const ROW_VECTORS: u32 = 12;
    /// Threads of a block.
    pub const BLOCK: [u32; 3] = [512, 1, 1];
}

/// A tile of [`TRIPLES`]: triples of words, in rows that start anywhere.
pub struct TriplesTile;

impl TriplesTile {
    /// Bytes that a thread moves together: a whole number of triples.
    pub const PACKET: u32 = 12;
    /// Vectors of a row, one more than its packets fill.
    pub const ROW_VECTORS: u32 = 16;
    /// Pieces of a row.
    pub const PACKETS: u32 = (Self::ROW_VECTORS - 1) * VECTOR / Self::PACKET;
    /// Bytes of a span: whole sectors and whole packets.
    pub const SPAN: u32 = 9 * SECTOR;
    /// Threads of a block.
    pub const BLOCK: [u32; 3] = [288, 1, 1];
}

/// A tile of [`TUPLES`].
#[derive(Clone, Copy, Debug)]
pub struct TuplesTile {
    /// Vectors of a row.
    pub row_vectors: u32,
    /// Rows of the source that are loaded.
    pub rows: u32,
}

impl TuplesTile {
    /// Threads of a block.
    pub const THREADS: u32 = 512;

    /// The tile for words of a width; `None` for tuples that the kernels of tensors move faster.
    pub const fn of(width: Width) -> Option<Self> {
        match width {
            Width::B4 => Some(TuplesTile { row_vectors: 16, rows: 128 }),
            Width::B8 => Some(TuplesTile { row_vectors: 32, rows: 64 }),
            Width::B1 | Width::B2 | Width::B16 => None,
        }
    }
}

/// Words of a sector.
const fn sector(width: Width) -> u64 {
    SECTOR as u64 / width.bytes() as u64
}

/// Blocks that store `words` contiguous words, `each` of them a block, where all may start up to a sector early.
const fn early(words: u64, each: u64, width: Width) -> u64 {
    (words + sector(width) - 1).div_ceil(each)
}

/// The grid of [`MICRO`]: whole groups of the columns of tiles that take turns.
fn micro_grid(params: &Micro, width: Width) -> [u64; 2] {
    let (tile, Micro { matrices, apart }) = (MicroTile::of(width), *params);
    let cols = matrices.cols.div_ceil(tile.cols(width) as u64);
    [matrices.rows.div_ceil(tile.rows as u64), cols.next_multiple_of((2 * apart).max(1))]
}

/// The grid of [`ROWS`].
fn rows_grid(params: &InTurns, width: Width) -> [u64; 2] {
    let (tile, Batched { rows, cols, .. }) = (rows_tile(width), params.matrices);
    let down = early(rows, tile.span_rows(width) as u64, width);
    [down << params.turns, cols.div_ceil(tile.cols(width) as u64)]
}

/// The grid of [`PIXELS`].
fn pixels_grid(params: &Plain, width: Width) -> [u64; 2] {
    let Batched { rows, cols, .. } = params.matrices;
    let row_bytes = (PixelsTile::ROW_VECTORS * VECTOR) as u64;
    [rows.div_ceil(PixelsTile::ROWS as u64), (cols * width.bytes() as u64).div_ceil(row_bytes)]
}

/// The grid of [`TRIPLES`].
fn triples_grid(params: &Plain, width: Width) -> [u64; 2] {
    let (bytes, Batched { rows, cols, .. }) = (width.bytes() as u64, params.matrices);
    let row_bytes = (TriplesTile::PACKETS * TriplesTile::PACKET) as u64;
    [early(rows * 3, TriplesTile::SPAN as u64 / bytes, width), (cols * bytes).div_ceil(row_bytes)]
}

/// The grid of [`TUPLES`].
fn tuples_grid(params: &Tuples, width: Width) -> [u64; 2] {
    let Tuples { matrices, tuple, tile_cols, span, .. } = *params;
    [early(matrices.rows * tuple, span, width), matrices.cols.div_ceil(tile_cols * tuple)]
}

/// The grid of [`TALL`].
fn row_bands(params: &RowBand, width: Width) -> [u64; 2] {
    [early(params.matrices.rows, params.band_rows, width), 1]
}

/// The grid of [`WIDE`] and [`LINES`].
fn column_bands(params: &ColumnBand, width: Width) -> [u64; 2] {
    let Batched { rows, cols, .. } = params.matrices;
    [early(rows * cols, params.band_cols * rows, width), 1]
}

/// The grid of [`BATCH`].
fn batch_bands(params: &Batch, width: Width) -> [u64; 2] {
    let each = params.matrices.rows * params.matrices.cols;
    [early(params.count * each, params.band_matrices * each, width), 1]
}

table! { FAST of Fast:
    /// Rows that start on vectors, on both sides: micro-blocks change places in registers.
    MICRO = "micro" takes Micro, in micro_grid {
        1: exactly MicroTile::of(Width::B1).block(),
        2: exactly MicroTile::of(Width::B2).block(),
        4: exactly MicroTile::of(Width::B4).block(),
        8: exactly MicroTile::of(Width::B8).block(),
        16: exactly MicroTile::of(Width::B16).block(),
    }
    /// Rows that start anywhere: vectors are slid to where rows start, and micro-blocks change places in registers.
    ROWS = "rows" takes InTurns, in rows_grid {
        1: exactly rows_tile(Width::B1).block(),
        2: exactly rows_tile(Width::B2).block(),
        4: exactly rows_tile(Width::B4).block(),
        8: exactly rows_tile(Width::B8).block(),
    }
    /// Triples of words, RGB pixels, in rows that start on vectors.
    PIXELS = "pixels" takes Plain, in pixels_grid {
        1: exactly PixelsTile::BLOCK, 2: exactly PixelsTile::BLOCK
    }
    /// Triples of words in rows that start anywhere.
    TRIPLES = "triples" takes Plain, in triples_grid {
        1: exactly TriplesTile::BLOCK, 2: exactly TriplesTile::BLOCK
    }
    /// Elements of any number of words.
    TUPLES = "tuples" takes Tuples, in tuples_grid {
        4: exactly [TuplesTile::THREADS, 1, 1], 8: exactly [TuplesTile::THREADS, 1, 1]
    }
    /// Few columns: a band of rows is contiguous memory of the source, gathered from the staging buffer.
    TALL = "tall" takes RowBand, in row_bands {
        1: at_most 448, 2: at_most 256, 4: at_most 256, 8: at_most 256, 16: at_most 256
    }
    /// Few rows: a band of columns is contiguous memory of the destination, scattered into the staging buffer.
    WIDE = "wide" takes ColumnBand, in column_bands { 4: at_most 256 }
    /// Few rows: a band of columns is contiguous memory of the destination, gathered from the staging buffer.
    LINES = "lines" takes ColumnBand, in column_bands {
        1: at_most 256, 2: at_most 256, 4: at_most 256, 8: at_most 256
    }
    /// Many small matrices without gaps in or between them.
    BATCH = "batch" takes Batch, in batch_bands {
        1: at_most 512, 2: at_most 512, 4: at_most 256, 8: at_most 256, 16: at_most 256
    }
}
