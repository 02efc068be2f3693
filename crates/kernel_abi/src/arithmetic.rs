//! The kernels that compute on the way: formats of numbers, parameters, and rows of the table.
//!
//! They move elements of a source, which are 1, 2, 4, 8 or 16 bytes, to elements of a destination of a format of its own, and there
//! compute `α·a` or `α·a + β·b`, in numbers of 32 or 64 bits that hold every number of both formats exactly.
//!
//! Strides count elements, of the memory that they are of. Packed divisors are those of [`tensor`](crate::tensor).

use crate::fast::{Batched, SECTOR, VECTOR};
use crate::tensor::{Boxes, Pieces, Tiles, BOX_THREADS, MOST_AXES, MOST_BLOCK_AXES, MOST_DIGITS};
use crate::{params, table, Width};

/// A format of real numbers; complex ones are two of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Format {
    /// An integer of 8 bits without a sign.
    U8,
    /// An integer of 8 bits.
    I8,
    /// An integer of 16 bits without a sign.
    U16,
    /// An integer of 16 bits.
    I16,
    /// An integer of 32 bits without a sign.
    U32,
    /// An integer of 32 bits.
    I32,
    /// 4 bits of exponent and 3 of fraction, without infinities: `E4M3` of the OCP's 8-bit formats.
    E4M3,
    /// 5 bits of exponent and 2 of fraction: `E5M2` of the OCP's 8-bit formats.
    E5M2,
    /// IEEE's of 16 bits.
    F16,
    /// The upper half of [`F32`](Self::F32).
    BF16,
    /// IEEE's of 32 bits.
    F32,
    /// IEEE's of 64 bits.
    F64,
}

impl Format {
    /// Every format.
    pub const ALL: [Format; 12] = [
        Format::U8,
        Format::I8,
        Format::U16,
        Format::I16,
        Format::U32,
        Format::I32,
        Format::E4M3,
        Format::E5M2,
        Format::F16,
        Format::BF16,
        Format::F32,
        Format::F64,
    ];

    /// Bytes of a number.
    pub const fn bytes(self) -> usize {
        match self {
            Format::U8 | Format::I8 | Format::E4M3 | Format::E5M2 => 1,
            Format::U16 | Format::I16 | Format::F16 | Format::BF16 => 2,
            Format::U32 | Format::I32 | Format::F32 => 4,
            Format::F64 => 8,
        }
    }

    /// Whether only numbers of 64 bits hold all of these exactly.
    pub const fn is_wide(self) -> bool {
        matches!(self, Format::U32 | Format::I32 | Format::F64)
    }
}

/// Bits of [`Operation::flags`].
pub mod flags {
    /// Elements are complex: two numbers each.
    pub const COMPLEX: u64 = 1;
    /// Source elements are conjugated first.
    pub const CONJUGATE: u64 = 2;
    /// Factors are complex.
    pub const COMPLEX_FACTORS: u64 = 4;
    /// There is a second operand.
    pub const OTHER: u64 = 8;
    /// It is computed in numbers of 64 bits.
    pub const WIDE: u64 = 16;
    /// Each channel has a factor and a summand of its own, which are the second operand: a table of pairs.
    pub const CHANNELS: u64 = 32;
    /// What is added is fetched into the L2 cache where columns of tiles end inside lines of it, by kernels of micro-blocks and of tiles that are built for compute capability 9.0.
    pub const FETCH: u64 = 64;
}

params! {
    /// What is computed on the way.
    Operation {
        /// The source's [`Format`].
        src,
        /// The destination's, and the second operand's.
        dst,
        /// Bytes of an element of the destination, and of the second operand.
        dst_bytes,
        /// [`flags`].
        flags,
        /// The bits of the real part of α, as a number of those that it is computed in.
        alpha,
        /// The imaginary part's.
        alpha_im,
        /// Of β, likewise.
        beta,
        /// The imaginary part's.
        beta_im,
        /// The address of the second operand where the destination has the address that the kernel is given.
        other,
    }

    /// An axis whose index is the remainder of a division.
    OperandAxis {
        /// The number of indices, as a packed divisor.
        divisor,
        /// Elements of the source from one index to the next.
        src,
        /// Elements of the destination.
        dst,
        /// Elements of the second operand.
        other,
    }

    /// For [`COMPUTE_UNITS`].
    ComputeUnits {
        /// What is computed. It is first, so that addresses in it are at the same place in the parameters of both kernels.
        operation: Operation,
        /// The axes, the destination's fastest first; the first one in steps of a unit.
        axes: [OperandAxis; MOST_AXES],
        /// How many there are.
        count: u64,
        /// How many times as many elements are a unit here as [`unit`](fn@unit) says, which lie together on vectors on all sides: once, or twice of bytes that stay bytes; or a unit is one element (0).
        whole: u64,
        /// Units to compute.
        units: u64,
        /// Channels from one element of a unit to the next, if channels have numbers of their own.
        channel_step: u64,
    }

    /// For [`COMPUTE_SLID`].
    ComputeSlid {
        /// What is computed.
        operation: Operation,
        /// The axes: that along which elements lie together, in steps of a [`unit`](fn@unit); that of rows, in steps of [`ROWS_OF_THREAD`]; and the others.
        axes: [OperandAxis; MOST_AXES],
        /// How many there are: two at least.
        count: u64,
        /// Threads that have units.
        threads: u64,
        /// Rows along their axis, of which the last thread may have fewer.
        rows: u64,
        /// Elements of the source from one row to the next.
        row_src: u64,
        /// Of the destination.
        row_dst: u64,
        /// Of the second operand; or channels, if these have numbers of their own.
        row_other: u64,
        /// Channels from one element of a unit to the next.
        channel_step: u64,
        /// Bytes from the address that the kernel is given to the lowest element of the source.
        lowest: u64,
        /// Bytes from there to behind the highest.
        reach: u64,
    }

    /// For [`COMPUTE_LINES`] and [`COMPUTE_LINES_BY_PAIRS`].
    ComputeLines {
        /// What is computed.
        operation: Operation,
        /// The axes of a line, whose elements lie together in the destination: the first is a row's, along which they lie together in the source, too.
        inner: [OperandAxis; MOST_LINE_AXES],
        /// How many there are.
        inner_count: u64,
        /// The axes of lines.
        outer: [OperandAxis; MOST_LINE_AXES],
        /// How many there are.
        outer_count: u64,
        /// Elements of a line.
        elements: u64,
        /// Channels of the pixels that follow each other in a line, as a packed divisor; 1 if all of it is of one channel, or if channels have no numbers of their own.
        channels: u64,
        /// Warps that have a line, as a packed divisor: each has [`LINE_UNITS`] [units](fn@unit) of each lane, from the line's first whole unit on.
        chunks: u64,
        /// Bytes from the address that the kernel is given to the lowest element of the source.
        lowest: u64,
        /// Bytes from there to behind the highest.
        reach: u64,
    }

    /// For [`COMPUTE_RUNS`] and [`COMPUTE_RUNS_BY_PAIRS`].
    ComputeRuns {
        /// What is computed.
        operation: Operation,
        /// The axes, but for that along which elements lie together: the destination's fastest first.
        axes: [OperandAxis; MOST_AXES],
        /// How many there are.
        count: u64,
        /// Elements of a run: four [units](fn@unit) at least, 2³⁰ at most.
        elements: u64,
        /// Parts of a run, as a packed divisor.
        parts: u64,
        /// How many lanes have a part, as a power of two: as many as four [units](fn@unit) have elements, or more.
        lanes: u64,
        /// How many [units](fn@unit) each has of it at most: [`MOST_RUN_STEPS`] or fewer.
        steps: u64,
        /// As of [`Runs`](crate::tensor::Runs).
        fetch: u64,
    }

    /// For [`COMPUTE_CHANNELS`] and [`COMPUTE_WIDE_CHANNELS`].
    ComputeChannels {
        /// What is computed.
        operation: Operation,
        /// Elements, below 2³¹.
        elements: u64,
        /// Elements of a channel that follow each other, as a packed divisor.
        inner: u64,
        /// Channels, as a packed divisor.
        channels: u64,
        /// [Units](fn@unit) from one of a thread to its next, as a packed divisor.
        apart: u64,
        /// Whether a channel has as many elements in a row as a unit (1). Else (0) all units of a thread have elements of like channels.
        are_planes: u64,
        /// Whether pairs of the table are loaded two at a time (1): channels change with each element, their number is even, and the table starts on 16 bytes; by `compute_wide_channels` never.
        by_twos: u64,
    }

    /// For [`COMPUTE_PIXELS`].
    ComputePixels {
        /// What is computed.
        operation: Operation,
        /// The axes that blocks are counted along: first that of groups, which are pixels or images, in steps of a block's.
        blocks: [OperandAxis; MOST_BLOCK_AXES],
        /// How many there are.
        count: u64,
        /// Groups of a block.
        per: u64,
        /// Groups of all blocks.
        groups: u64,
        /// What lies together of a block's part of the source.
        stretches: PixelStretches,
        /// What lies together of its part of the destination.
        runs: PixelRuns,
        /// Which channels elements have.
        channels: ChannelPlaces,
        /// Bytes from the address that the kernel is given to the lowest element of the source.
        lowest: u64,
        /// Bytes from there to behind the highest.
        reach: u64,
    }

    /// What a block of [`COMPUTE_PIXELS`] loads: stretches of the source, equally far apart there and in shared memory.
    PixelStretches {
        /// Stretches of a block if groups lengthen them, else of each group.
        count: u64,
        /// Elements of a stretch that each group has if groups lengthen it, else all of them.
        elements: u64,
        /// Whether more groups make stretches longer (1), or more of them (0).
        lengthen: u64,
        /// Elements of the source from one stretch to the next.
        step: u64,
        /// Elements of a block that lie before its first one in the source, where channels are in descending order.
        before: u64,
        /// Bytes of shared memory from the first element of one to that of the next, modulo a vector as many as in the source.
        pitch: u64,
        /// Vectors of a stretch, wherever it starts, as a packed divisor.
        vectors: u64,
    }

    /// What a block of [`COMPUTE_PIXELS`] stores: runs of the destination, and where their elements wait in shared memory. An element of a run is the `e`-th of a line, which is the `i`-th of a plane:
    /// of the `j`-th plane it waits `e · element + i · next + j · plane` bytes behind where its run begins.
    PixelRuns {
        /// Runs of a block.
        count: u64,
        /// Elements of a run that each group has.
        elements: u64,
        /// Elements of the destination from one to the next.
        step: u64,
        /// [Units](fn@unit) that a warp stores of a run before those of the next, as a power of two.
        units: u64,
        /// As many of all runs, as a packed divisor.
        turn: u64,
        /// Units of a block, and what there is beside them of whole turns.
        all: u64,
        /// Whether runs start on units of the destination (1), or anywhere (0).
        whole: u64,
        /// Bytes of shared memory from where one run begins to where the next does: a number that wraps around where channels are in descending order, as the next one does.
        run: u64,
        /// Bytes from one element of a line to the next.
        element: u64,
        /// Elements of a line, as a packed divisor: a unit has elements of three lines at most.
        line: u64,
        /// Bytes from one line to the next.
        next: u64,
        /// Lines of a plane, as a packed divisor.
        lines: u64,
        /// Bytes from one plane to the next.
        plane: u64,
        /// Whether the elements of a line have a channel each (1), or all of them one, which lines or else runs are counted by (0).
        are_channels: u64,
    }

    /// For [`COMPUTE_INTERLEAVED2`], [`COMPUTE_INTERLEAVED_SUMS2`] and their like.
    ComputeInterleaved {
        /// What is computed.
        operation: Operation,
        /// The axes: first that of pixels, in steps of a [`unit`](fn@unit) of them; and one step more than units that a row has parts of, if rows start anywhere, or two more between planes.
        axes: [OperandAxis; MOST_BLOCK_AXES],
        /// How many there are.
        count: u64,
        /// Units of pixels, along all axes: one for each thread, but for the last of each warp if rows start anywhere.
        units: u64,
        /// Elements from one channel to the next in the source, if pixels lie together there, a number that wraps around where channels are in descending order; else 0, and channels lie together.
        src_plane: u64,
        /// Elements from one channel to the next in the destination, if pixels lie together there; else 0, and channels lie together.
        dst_plane: u64,
        /// Pixels along the first axis, whose rows may start anywhere; 0 if all units are whole ones.
        pixels: u64,
        /// Bytes from the address that the kernel is given to the lowest element of the source.
        lowest: u64,
        /// Bytes from there to behind the highest.
        reach: u64,
    }

    /// For [`COMPUTE_MIRRORED2`], [`COMPUTE_WINDOWS2`] and their like.
    ComputeMirrored {
        /// The pixels. Channels may lie together on both sides, or on neither. If pixels descend, the address that the kernel is given is that of a row's last unit of the source, or of its
        /// lowest element where rows start anywhere; if channels do, that of the lowest element of a pixel.
        pixels: ComputeInterleaved,
        /// Whether pixels are in descending order in the source (1) or ascending (0); rows of planes of the source that start anywhere have them in descending order.
        descending_pixels: u64,
        /// Whether channels that lie together on both sides are in descending order in the source.
        descending_channels: u64,
    }

    /// For [`COMPUTE_CROPPED2`] and its like.
    ComputeCropped {
        /// What is computed.
        operation: Operation,
        /// The axes of windows.
        axes: [OperandAxis; MOST_LINE_AXES],
        /// How many there are.
        count: u64,
        /// Pixels of a row, as a packed divisor: as many as are a [`unit`](fn@unit) of elements, or more.
        columns: u64,
        /// Elements of the source from a row of a window to its next row, a number that wraps around. Rows do not overlap.
        row: u64,
        /// Pixels of a window.
        pixels: u64,
        /// Elements from one channel to the next in the source, if pixels lie together there; else 0, and channels lie together.
        src_plane: u64,
        /// Elements from one channel to the next in the destination, if pixels lie together there; else 0, and channels lie together.
        dst_plane: u64,
        /// Warps that have a window, as a packed divisor.
        parts: u64,
        /// Groups of pixels that each of these warps has: a [`unit`](fn@unit) of pixels for each lane, but for the last lane where channels do not come to lie together.
        groups: u64,
        /// Bytes from the address that the kernel is given to the lowest element of the source.
        lowest: u64,
        /// Bytes from there to behind the highest.
        reach: u64,
    }

    /// For [`COMPUTE_MICRO`], [`COMPUTE_ROWS`], [`COMPUTE_ROWS_LARGE`], [`COMPUTE_ROWS_BY_PAIRS`], [`COMPUTE_ROWS_BESIDE`], [`COMPUTE_SUMS`] and [`COMPUTE_SUM_ROWS`].
    ComputeMatrices {
        /// What is computed.
        operation: Operation,
        /// The matrices, what is counted in elements of each side.
        matrices: Batched,
        /// As of [`Micro`](crate::fast::Micro); 0 for [`COMPUTE_ROWS`].
        apart: u64,
        /// Bytes of the second operand, or of the table of channels, from what belongs to a row of the source to what belongs to the next. An operand that is no
        /// source has an element's there.
        other_rows: u64,
        /// Bytes of the second operand, or of the table, from column to column. Both sources of [`COMPUTE_SUMS`] and [`COMPUTE_SUM_ROWS`] have an element's there.
        other_cols: u64,
        /// Bytes of the second operand, or of the table, from matrix to matrix.
        other_batch: u64,
    }

    /// For [`COMPUTE_TILES`].
    ComputeTiles {
        /// What is computed.
        operation: Operation,
        /// The tiles, in words that are elements of the source; the second operand is laid out like the destination.
        tiles: Tiles,
        /// The most [units](fn@unit) that a tile stores of a column, the first and the last perhaps in part, as a packed divisor.
        col_units: u64,
        /// Elements of a unit, which tiles that have early rows meet on in the destination.
        unit: u64,
        /// Whether columns start on units of the destination (1), or anywhere (0).
        whole: u64,
    }

    /// For [`COMPUTE_TILES_BY_PAIRS`].
    ComputeTilesByPairs {
        /// The tiles.
        tiles: ComputeTiles,
        /// Which channels elements of the destination have.
        channels: ChannelPlaces,
    }

    /// How the source of [`COMPUTE_BOXES`] and [`COMPUTE_PIECES`] is computed before it is gathered. Words are one element each, or as many as lie together on both sides.
    Computed {
        /// What is computed.
        operation: Operation,
        /// Bytes of an element of the source.
        src_bytes: u64,
        /// Bytes of a word of the source, as a power of two.
        src_word: u64,
        /// Bytes from where the image starts to where what is loaded waits until it is computed, behind the tables, a multiple of 16; 0 if it waits in the image, and no element changes its size.
        waiting: u64,
    }

    /// For [`COMPUTE_BOXES`].
    ComputeBoxes {
        /// What is computed.
        computed: Computed,
        /// The boxes, in words of the destination: bytes in shared memory are of results, but vectors are of the source, as `lowest` and `reach` are. They have as many bytes as [`box_vector`](crate::tensor::box_vector) says, or 16.
        boxes: Boxes,
    }

    /// Which channel an element has by where it lies in a memory: `⌊e / inner⌋` modulo the channels, where `e` elements are before it.
    ChannelPlaces {
        /// Elements of a channel that follow each other, as a packed divisor.
        inner: u64,
        /// Channels, as a packed divisor.
        channels: u64,
        /// Bytes of elements of all channels, a vector's or more: with them no vector that has an element lies before the first one.
        behind: u64,
        /// Bytes from where a block's shared memory starts to [rows of pairs](pair_rows_bytes), behind all else, a multiple of 8: channels change with each element. 0 if a channel has as many elements in a row as a
        /// [unit](fn@unit): then pairs are loaded for each.
        pairs: u64,
    }

    /// How far apart in a memory the indices of an axis are.
    Step {
        /// Elements from one to the next.
        elements: u64,
    }

    /// For [`COMPUTE_BOXES_BESIDE`] and [`COMPUTE_BOXES_MIXED`].
    ComputeBoxesBeside {
        /// What is computed.
        operation: Operation,
        /// Bytes from where the image starts to where what is added waits, behind the tables, a multiple of 16.
        waiting: u64,
        /// Whether the stretches of the destination follow each other, so that what is added to a box is one stretch (1), or not (0).
        are_one: u64,
        /// Bytes that are copied of it at a time: 16, or as many as a word has, 4 at least.
        vector: u64,
        /// What these are counted from multiples of, in bytes: a sector's for vectors of 16, else a vector's.
        align: u64,
        /// How many of these a stretch has room for, wherever it starts.
        vectors: u64,
        /// How many threads share the vectors of a stretch, as a packed divisor.
        lanes: u64,
        /// Of how many stretches a block's threads then copy at a time.
        at_once: u64,
        /// Bytes from where the image starts to a table of where what is added to the block's boxes starts, and each of their stretches, behind the other tables, a multiple of 8; 0 if
        /// it lies as the destination does.
        others: u64,
        /// If there is such a table, how far apart in the second operand the indices of each axis are that boxes are counted along.
        other_blocks: [Step; MOST_BLOCK_AXES],
        /// If there is such a table, how far apart in the second operand the indices of each digit of the destination's stretches are.
        other_targets: [Step; MOST_DIGITS],
        /// The boxes; nothing is fetched.
        boxes: Boxes,
    }

    /// For [`COMPUTE_PIECES`].
    ComputePieces {
        /// What is computed.
        computed: Computed,
        /// The pieces, as the boxes of [`ComputeBoxes`].
        pieces: Pieces,
    }
}

/// A tile of [`COMPUTE_MICRO`]: fields as of [`MicroTile`](crate::fast::MicroTile).
#[derive(Clone, Copy, Debug)]
pub struct MatrixTile {
    /// Rows of the source.
    pub rows: u32,
    /// Vectors of a row.
    pub row_vectors: u32,
    /// Rows of a micro-block.
    pub block_rows: u32,
    /// Micro-blocks of a thread.
    pub micro_blocks: u32,
}

impl MatrixTile {
    /// The tile for source elements of a width.
    pub const fn of(width: Width) -> Self {
        let (rows, block_rows, micro_blocks) = match width {
            Width::B1 | Width::B2 | Width::B4 => (128, 4, 1),
            Width::B8 => (64, 2, 1),
            Width::B16 => (32, 1, 2),
        };
        MatrixTile { rows, row_vectors: 16, block_rows, micro_blocks }
    }

    /// The tile of [`COMPUTE_NARROW`], for source elements of 1 byte: more rows, fewer columns.
    pub const fn narrow() -> Self {
        MatrixTile { rows: 512, row_vectors: 4, block_rows: 4, micro_blocks: 1 }
    }

    /// The tile of [`COMPUTE_SHORT`]: half as many rows.
    pub const fn short() -> Self {
        MatrixTile { rows: 64, row_vectors: 16, block_rows: 4, micro_blocks: 1 }
    }

    /// Elements of a row.
    pub const fn cols(&self, width: Width) -> u32 {
        self.row_vectors * VECTOR / width.bytes() as u32
    }

    /// Threads of a block.
    pub const fn block(&self) -> [u32; 3] {
        [self.row_vectors * self.rows / (self.block_rows * self.micro_blocks), 1, 1]
    }
}

/// A tile of [`COMPUTE_ROWS`] and of the kernels that are like it: fields as of [`RowsTile`](crate::fast::RowsTile).
#[derive(Clone, Copy, Debug)]
pub struct SpanTile {
    /// Vectors of a row, one more than its elements fill.
    pub row_vectors: u32,
    /// Rows of the source that are loaded.
    pub rows: u32,
    /// Rows of each of the micro-blocks of a thread that loads.
    pub block_rows: u32,
    /// Micro-blocks of such a thread.
    pub micro_blocks: u32,
}

impl SpanTile {
    /// The tile for source elements of a width, up to 8 bytes.
    pub const fn of(width: Width) -> Self {
        match width {
            Width::B4 | Width::B8 | Width::B16 => {
                SpanTile { row_vectors: 32, rows: 64, block_rows: 4, micro_blocks: 2 }
            }
            _ => SpanTile { row_vectors: 16, rows: 128, block_rows: 4, micro_blocks: 2 },
        }
    }

    /// The tile of [`COMPUTE_SUM_ROWS`], whose threads hold vectors of both operands: fewer of elements of 8 bytes.
    pub const fn of_sums(width: Width) -> Self {
        let tile = Self::of(width);
        match width {
            Width::B8 | Width::B16 => SpanTile { block_rows: 2, ..tile },
            _ => tile,
        }
    }

    /// The tile of [`COMPUTE_ROWS_LARGE`], for source elements of 2 and 4 bytes: twice as many elements as [`of`](Self::of) has.
    pub const fn large() -> Self {
        SpanTile { row_vectors: 32, rows: 128, block_rows: 4, micro_blocks: 2 }
    }

    /// The tile of [`COMPUTE_ROWS_BESIDE`], for source elements of a width, up to 8 bytes, and destination elements of `dst_bytes` bytes. Where results are wider it has fewer columns, so that there is room
    /// beside the tile for what is added to it. It has as many rows as leave the cache its room: tile and what is added take some 70 KiB, 80 where bytes become 2 (decision 129).
    pub const fn beside(width: Width, dst_bytes: usize) -> Self {
        let tile = Self::of(width);
        let one = SpanTile { micro_blocks: 1, ..tile };
        match (width, dst_bytes) {
            (Width::B1, 2) => SpanTile { row_vectors: 8, rows: 256, ..one },
            (Width::B1, 4) => SpanTile { row_vectors: 8, ..one },
            (Width::B2, 1) => SpanTile { rows: 192, ..tile },
            (Width::B2, 4) => SpanTile { row_vectors: 8, rows: 192, ..one },
            (Width::B4, 1 | 2) => SpanTile { rows: 96, ..tile },
            (Width::B4, 8) => SpanTile { row_vectors: 16, ..one },
            (Width::B8, 2 | 4) => SpanTile { rows: 96, ..tile },
            (Width::B8 | Width::B16, _) => SpanTile { block_rows: 2, ..tile },
            _ => one,
        }
    }

    /// Vectors of the elements, as many as are kept in shared memory.
    pub const fn vectors(&self) -> u32 {
        (self.row_vectors - 1) * self.rows
    }

    /// Rows of a span, where elements of so many bytes become such of so many.
    pub const fn span_rows(&self, src_bytes: usize, dst_bytes: usize) -> u64 {
        (self.rows - span_elements(src_bytes, dst_bytes)) as u64
    }

    /// Elements of a row.
    pub const fn cols(&self, width: Width) -> u32 {
        (self.row_vectors - 1) * VECTOR / width.bytes() as u32
    }

    /// Threads that load the tile: as many as a block has, but for [`COMPUTE_ROWS_BESIDE`].
    pub const fn loaders(&self) -> u32 {
        self.row_vectors * self.rows / self.block_rows / self.micro_blocks
    }

    /// Threads of a block.
    pub const fn block(&self) -> [u32; 3] {
        [self.loaders(), 1, 1]
    }
}

/// Bytes of shared memory of a block of [`COMPUTE_ROWS_BY_PAIRS`]: its tile, and a pair for each row.
pub const fn by_pairs_bytes(tile: &SpanTile) -> u32 {
    tile.vectors() * VECTOR + tile.rows * 8
}

/// Channels that a row of pairs starts with in shared memory, where channels [change with each element](ChannelPlaces::pairs).
pub const PAIRS_OF_ROW: u32 = 16;

/// Pairs of a row: behind the first ones as many more as a unit may have that starts with the last of them.
pub const PAIRS_IN_ROW: u32 = PAIRS_OF_ROW + 7;

/// Bytes from one row of pairs to the next: units whose first channels are a power of two apart then start in different banks.
pub const PAIR_ROW_BYTES: u32 = (PAIRS_OF_ROW + 9) * 8;

/// Bytes of shared memory that the rows of pairs of `channels` channels take.
pub const fn pair_rows_bytes(channels: usize) -> usize {
    channels.div_ceil(PAIRS_OF_ROW as usize) * PAIR_ROW_BYTES as usize
}

/// Threads of a block of [`COMPUTE_ROWS_BESIDE`].
pub const BESIDE_THREADS: u32 = 512;

/// Columns from one that a thread has to its next, of `most` that a block has units of at a time: if it can be a number whose spans start alike, those a multiple of `of_sector` apart.
pub const fn step_alike(most: u32, of_sector: u32) -> u32 {
    if most >= of_sector {
        most / of_sector * of_sector
    } else {
        most
    }
}

/// Bytes of shared memory of a block of [`COMPUTE_ROWS_BESIDE`]: its tile, and a place for each element of the spans of its columns.
pub const fn beside_bytes(tile: &SpanTile, width: Width, dst_bytes: usize) -> u32 {
    let span = tile.span_rows(width.bytes(), dst_bytes) as u32 * dst_bytes as u32;
    tile.vectors() * VECTOR + tile.cols(width) * span
}

/// Bytes that spans of [`COMPUTE_ROWS`] start on multiples of, in a destination of elements of so many bytes: a sector. Of wide elements' narrow results a span
/// would be much shorter than what is loaded for it: there it is a part of one.
pub const fn span_align(src_bytes: usize, dst_bytes: usize) -> usize {
    match (src_bytes, dst_bytes) {
        (4, 1) => 8,
        (4, 2) | (8, 4) => 16,
        _ => SECTOR as usize,
    }
}

/// Elements of the destination that spans of [`COMPUTE_ROWS`] start on multiples of.
pub const fn span_elements(src_bytes: usize, dst_bytes: usize) -> u32 {
    (span_align(src_bytes, dst_bytes) / dst_bytes) as u32
}

/// The grid of [`COMPUTE_MICRO`] and [`COMPUTE_SUMS`].
fn micro_grid(params: &ComputeMatrices, width: Width) -> [u64; 2] {
    grid_of(&MatrixTile::of(width), params, width)
}

/// The grid of [`COMPUTE_NARROW`].
fn narrow_grid(params: &ComputeMatrices, width: Width) -> [u64; 2] {
    grid_of(&MatrixTile::narrow(), params, width)
}

/// The grid of [`COMPUTE_SHORT`].
fn short_grid(params: &ComputeMatrices, width: Width) -> [u64; 2] {
    grid_of(&MatrixTile::short(), params, width)
}

/// A grid of such tiles: whole groups of the columns of tiles that take turns.
fn grid_of(tile: &MatrixTile, params: &ComputeMatrices, width: Width) -> [u64; 2] {
    let ComputeMatrices { matrices, apart, .. } = *params;
    let cols = matrices.cols.div_ceil(tile.cols(width) as u64);
    [matrices.rows.div_ceil(tile.rows as u64), cols.next_multiple_of((2 * apart).max(1))]
}

/// The grid of [`COMPUTE_ROWS`] and [`COMPUTE_SUM_ROWS`].
fn rows_grid(params: &ComputeMatrices, width: Width) -> [u64; 2] {
    spans_grid(&SpanTile::of(width), params, width)
}

/// The grid of [`COMPUTE_ROWS_LARGE`].
fn large_rows_grid(params: &ComputeMatrices, width: Width) -> [u64; 2] {
    spans_grid(&SpanTile::large(), params, width)
}

/// The grid of [`COMPUTE_ROWS_BESIDE`].
fn beside_grid(params: &ComputeMatrices, width: Width) -> [u64; 2] {
    spans_grid(&SpanTile::beside(width, params.operation.dst_bytes as usize), params, width)
}

/// The grid of a kernel whose tiles are [`SpanTile`]s.
fn spans_grid(tile: &SpanTile, params: &ComputeMatrices, width: Width) -> [u64; 2] {
    let Batched { rows, cols, .. } = params.matrices;
    let [src, dst] = [width.bytes(), params.operation.dst_bytes as usize];
    let early = u64::from(span_elements(src, dst)) - 1;
    [(rows + early).div_ceil(tile.span_rows(src, dst)), cols.div_ceil(tile.cols(width) as u64)]
}

/// Threads of a block of [`COMPUTE_PIXELS`].
pub const PIXEL_THREADS: u32 = 192;

/// Bytes of the source that a block of [`COMPUTE_PIXELS`] has, about: four vectors of each thread.
pub const PIXEL_BYTES: usize = PIXEL_THREADS as usize * 4 * 16;

/// Threads of a block of [`COMPUTE_INTERLEAVED2`] and its like.
pub const INTERLEAVED_THREADS: u32 = 256;

/// Threads of a block of [`COMPUTE_CROPPED2`] and its like.
pub const CROPPED_THREADS: u32 = 128;

/// Threads of a block of [`COMPUTE_UNITS`].
pub const UNIT_THREADS: u32 = 256;

/// Units that a thread of [`COMPUTE_UNITS`] has.
pub const UNITS_OF_THREAD: u32 = 4;

/// Rows of which a thread of [`COMPUTE_SLID`] has a unit each.
pub const ROWS_OF_THREAD: u32 = 4;

/// Axes of a line of [`COMPUTE_LINES`], and of lines, at most.
pub const MOST_LINE_AXES: usize = 4;

/// [Units](fn@unit) of a lane of [`COMPUTE_LINES`].
pub const LINE_UNITS: u32 = 4;

/// Rows at most that a warp of [`COMPUTE_LINES`] has elements of: each lane finds one.
pub const LINE_ROWS: u32 = 32;

/// Threads of a block of [`COMPUTE_RUNS`].
pub const RUN_THREADS: u32 = 128;

/// Threads of a block of [`COMPUTE_CHANNELS`] and [`COMPUTE_WIDE_CHANNELS`].
pub const CHANNEL_THREADS: u32 = 256;

/// [Units](fn@unit) of a thread of [`COMPUTE_CHANNELS`] and [`COMPUTE_WIDE_CHANNELS`].
pub const CHANNEL_UNITS: u32 = 4;

/// Units that a thread of [`COMPUTE_RUNS`] has at most.
pub const MOST_RUN_STEPS: u32 = 4;

/// Elements that a thread computes together: as many as fill 16 bytes on the side whose elements have more bytes; half as many of bytes that stay bytes,
/// of which more would take too many instructions.
pub const fn unit(src_bytes: usize, dst_bytes: usize) -> usize {
    match (src_bytes, dst_bytes) {
        (1, 1) => 8,
        _ if src_bytes > dst_bytes => 16 / src_bytes,
        _ => 16 / dst_bytes,
    }
}

/// [Units](fn@unit) that a thread of [`COMPUTE_MICRO`] computes and stores together: rows of the destination start on as many.
pub const fn units_together(src_bytes: usize, dst_bytes: usize) -> usize {
    // Of narrower elements more would take registers that the kernel has not.
    if src_bytes == 8 && dst_bytes < 8 {
        2
    } else {
        1
    }
}

/// [Units](fn@unit) of a span that a thread computes and stores together: two of results that are narrower, which fill a vector together, or half of one.
pub const fn span_units_together(src_bytes: usize, dst_bytes: usize) -> usize {
    if src_bytes > dst_bytes && unit(src_bytes, dst_bytes) <= 4 {
        2
    } else {
        1
    }
}

table! { ARITHMETIC_ROWS of ArithmeticRows:
    /// Any move that computes: in the destination's order, without a transposition.
    COMPUTE_UNITS = "compute_units" takes ComputeUnits {
        1: exactly [UNIT_THREADS, 1, 1], 2: exactly [UNIT_THREADS, 1, 1], 4: exactly [UNIT_THREADS, 1, 1], 8: exactly [UNIT_THREADS, 1, 1], 16: exactly [UNIT_THREADS, 1, 1]
    }
    /// Moves that compute, of what lies together in all memories, on units of the destination and anywhere in the source.
    COMPUTE_SLID = "compute_slid" takes ComputeSlid {
        1: exactly [UNIT_THREADS, 1, 1], 2: exactly [UNIT_THREADS, 1, 1], 4: exactly [UNIT_THREADS, 1, 1]
    }
    /// Moves that compute, of rows that lie together in all memories and follow each other in the destination: by units of that, which hold the end of one row and the start of the next.
    COMPUTE_LINES = "compute_lines" takes ComputeLines {
        1: exactly [UNIT_THREADS, 1, 1], 2: exactly [UNIT_THREADS, 1, 1], 4: exactly [UNIT_THREADS, 1, 1]
    }
    /// Lines of [`COMPUTE_LINES`] whose channels have a factor and a summand each, of numbers of 32 bits.
    COMPUTE_LINES_BY_PAIRS = "compute_lines_by_pairs" takes ComputeLines {
        1: exactly [UNIT_THREADS, 1, 1], 2: exactly [UNIT_THREADS, 1, 1], 4: exactly [UNIT_THREADS, 1, 1]
    }
    /// Moves that compute, of what lies together in all memories, in runs that start anywhere.
    COMPUTE_RUNS = "compute_runs" takes ComputeRuns {
        1: exactly [RUN_THREADS, 1, 1], 2: exactly [RUN_THREADS, 1, 1], 4: exactly [RUN_THREADS, 1, 1], 8: exactly [RUN_THREADS, 1, 1]
    }
    /// Runs of [`COMPUTE_RUNS`] whose channels have a factor and a summand each, of numbers of 32 bits.
    COMPUTE_RUNS_BY_PAIRS = "compute_runs_by_pairs" takes ComputeRuns {
        1: exactly [RUN_THREADS, 1, 1], 2: exactly [RUN_THREADS, 1, 1], 4: exactly [RUN_THREADS, 1, 1]
    }
    /// Numbers that stay in their order, without gaps, and have the factor and summand of their channel.
    COMPUTE_CHANNELS = "compute_channels" takes ComputeChannels {
        1: exactly [CHANNEL_THREADS, 1, 1], 2: exactly [CHANNEL_THREADS, 1, 1], 4: exactly [CHANNEL_THREADS, 1, 1]
    }
    /// Numbers that stay in their order, without gaps, and have the factor and summand of their channel, which are numbers of 64 bits.
    COMPUTE_WIDE_CHANNELS = "compute_wide_channels" takes ComputeChannels {
        1: exactly [CHANNEL_THREADS, 1, 1], 2: exactly [CHANNEL_THREADS, 1, 1], 4: exactly [CHANNEL_THREADS, 1, 1], 8: exactly [CHANNEL_THREADS, 1, 1]
    }
}

table! { ARITHMETIC_PIXELS of ArithmeticPixels:
    /// Moves that compute, of pixels of few channels: these lie together on one side, or on both.
    COMPUTE_PIXELS = "compute_pixels" takes ComputePixels {
        1: exactly [PIXEL_THREADS, 1, 1], 2: exactly [PIXEL_THREADS, 1, 1], 4: exactly [PIXEL_THREADS, 1, 1], 8: exactly [PIXEL_THREADS, 1, 1]
    }
    /// Moves that compute, of pixels of two channels, which lie together on one side, and planes of pixels on the other; by units on both, which are slid where rows start anywhere.
    COMPUTE_INTERLEAVED2 = "compute_interleaved2" takes ComputeInterleaved {
        1: exactly [INTERLEAVED_THREADS, 1, 1], 2: exactly [INTERLEAVED_THREADS, 1, 1], 4: exactly [INTERLEAVED_THREADS, 1, 1]
    }
    /// Those of [`COMPUTE_INTERLEAVED2`] with a second operand, which is laid out like the destination.
    COMPUTE_INTERLEAVED_SUMS2 = "compute_interleaved_sums2" takes ComputeInterleaved {
        1: exactly [INTERLEAVED_THREADS, 1, 1], 2: exactly [INTERLEAVED_THREADS, 1, 1], 4: exactly [INTERLEAVED_THREADS, 1, 1]
    }
    /// Moves that compute, of pixels of three channels, which lie together on one side, and planes of pixels on the other; by units on both, which are slid where rows start anywhere.
    COMPUTE_INTERLEAVED3 = "compute_interleaved3" takes ComputeInterleaved {
        1: exactly [INTERLEAVED_THREADS, 1, 1], 2: exactly [INTERLEAVED_THREADS, 1, 1], 4: exactly [INTERLEAVED_THREADS, 1, 1]
    }
    /// Those of [`COMPUTE_INTERLEAVED3`] with a second operand, which is laid out like the destination.
    COMPUTE_INTERLEAVED_SUMS3 = "compute_interleaved_sums3" takes ComputeInterleaved {
        1: exactly [INTERLEAVED_THREADS, 1, 1], 2: exactly [INTERLEAVED_THREADS, 1, 1], 4: exactly [INTERLEAVED_THREADS, 1, 1]
    }
    /// Moves that compute, of pixels of four channels, which lie together on one side, and planes of pixels on the other; by units on both, which are slid where rows start anywhere.
    COMPUTE_INTERLEAVED4 = "compute_interleaved4" takes ComputeInterleaved {
        1: exactly [INTERLEAVED_THREADS, 1, 1], 2: exactly [INTERLEAVED_THREADS, 1, 1], 4: exactly [INTERLEAVED_THREADS, 1, 1]
    }
    /// Those of [`COMPUTE_INTERLEAVED4`] with a second operand, which is laid out like the destination.
    COMPUTE_INTERLEAVED_SUMS4 = "compute_interleaved_sums4" takes ComputeInterleaved {
        1: exactly [INTERLEAVED_THREADS, 1, 1], 2: exactly [INTERLEAVED_THREADS, 1, 1], 4: exactly [INTERLEAVED_THREADS, 1, 1]
    }
    /// Moves that compute, of pixels of two channels that are mirrored, stay together in reverse order, or stay as they are with gaps; by units on both sides.
    COMPUTE_MIRRORED2 = "compute_mirrored2" takes ComputeMirrored {
        1: exactly [INTERLEAVED_THREADS, 1, 1], 2: exactly [INTERLEAVED_THREADS, 1, 1], 4: exactly [INTERLEAVED_THREADS, 1, 1]
    }
    /// Those of [`COMPUTE_MIRRORED2`] for pixels of three channels.
    COMPUTE_MIRRORED3 = "compute_mirrored3" takes ComputeMirrored {
        1: exactly [INTERLEAVED_THREADS, 1, 1], 2: exactly [INTERLEAVED_THREADS, 1, 1], 4: exactly [INTERLEAVED_THREADS, 1, 1]
    }
    /// Those of [`COMPUTE_MIRRORED2`] for pixels of four channels.
    COMPUTE_MIRRORED4 = "compute_mirrored4" takes ComputeMirrored {
        1: exactly [INTERLEAVED_THREADS, 1, 1], 2: exactly [INTERLEAVED_THREADS, 1, 1], 4: exactly [INTERLEAVED_THREADS, 1, 1]
    }
    /// Moves that compute, of pixels of two channels, or planes, whose rows start anywhere in the source, and on units of the destination; in any of the orders of [`COMPUTE_MIRRORED2`].
    COMPUTE_WINDOWS2 = "compute_windows2" takes ComputeMirrored {
        1: exactly [INTERLEAVED_THREADS, 1, 1], 2: exactly [INTERLEAVED_THREADS, 1, 1], 4: exactly [INTERLEAVED_THREADS, 1, 1]
    }
    /// Those of [`COMPUTE_WINDOWS2`] for pixels of three channels.
    COMPUTE_WINDOWS3 = "compute_windows3" takes ComputeMirrored {
        1: exactly [INTERLEAVED_THREADS, 1, 1], 2: exactly [INTERLEAVED_THREADS, 1, 1], 4: exactly [INTERLEAVED_THREADS, 1, 1]
    }
    /// Those of [`COMPUTE_WINDOWS2`] for pixels of four channels.
    COMPUTE_WINDOWS4 = "compute_windows4" takes ComputeMirrored {
        1: exactly [INTERLEAVED_THREADS, 1, 1], 2: exactly [INTERLEAVED_THREADS, 1, 1], 4: exactly [INTERLEAVED_THREADS, 1, 1]
    }
    /// Moves that compute, of pixels of two channels in windows whose rows follow each other in the destination, wherever they start: channels lie together on one side, and planes of pixels on the other.
    COMPUTE_CROPPED2 = "compute_cropped2" takes ComputeCropped {
        1: exactly [CROPPED_THREADS, 1, 1], 2: exactly [CROPPED_THREADS, 1, 1], 4: exactly [CROPPED_THREADS, 1, 1]
    }
    /// Those of [`COMPUTE_CROPPED2`] for pixels of three channels.
    COMPUTE_CROPPED3 = "compute_cropped3" takes ComputeCropped {
        1: exactly [CROPPED_THREADS, 1, 1], 2: exactly [CROPPED_THREADS, 1, 1], 4: exactly [CROPPED_THREADS, 1, 1]
    }
    /// Those of [`COMPUTE_CROPPED2`] for pixels of four channels, of up to 2 bytes in the source.
    COMPUTE_CROPPED4 = "compute_cropped4" takes ComputeCropped {
        1: exactly [CROPPED_THREADS, 1, 1], 2: exactly [CROPPED_THREADS, 1, 1]
    }
}

table! { ARITHMETIC_MATRICES of ArithmeticMatrices:
    /// Matrices that are transposed and computed, whose rows all start on vectors: the tiles of [`MICRO`](crate::fast::MICRO).
    COMPUTE_MICRO = "compute_micro" takes ComputeMatrices, in micro_grid {
        1: exactly MatrixTile::of(Width::B1).block(), 2: exactly MatrixTile::of(Width::B2).block(), 4: exactly MatrixTile::of(Width::B4).block(), 8: exactly MatrixTile::of(Width::B8).block(), 16: exactly MatrixTile::of(Width::B16).block()
    }
    /// Moves of [`COMPUTE_MICRO`], of matrices of few columns: 64 channels behind each other.
    COMPUTE_NARROW = "compute_narrow" takes ComputeMatrices, in narrow_grid {
        1: exactly MatrixTile::narrow().block()
    }
    /// Moves of [`COMPUTE_MICRO`], of matrices of few rows: 64 planes of pixels.
    COMPUTE_SHORT = "compute_short" takes ComputeMatrices, in short_grid {
        1: exactly MatrixTile::short().block(), 2: exactly MatrixTile::short().block()
    }
    /// Matrices that are transposed and computed, whose rows start anywhere: the spans of [`ROWS`](crate::fast::ROWS).
    COMPUTE_ROWS = "compute_rows" takes ComputeMatrices, in rows_grid {
        1: exactly SpanTile::of(Width::B1).block(), 2: exactly SpanTile::of(Width::B2).block(), 4: exactly SpanTile::of(Width::B4).block(), 8: exactly SpanTile::of(Width::B8).block()
    }
    /// Moves of [`COMPUTE_ROWS`] of elements of 2 bytes that become 4, or of 4 that become 2, with nothing beside the source: the tiles are larger.
    COMPUTE_ROWS_LARGE = "compute_rows_large" takes ComputeMatrices, in large_rows_grid {
        2: exactly SpanTile::large().block(), 4: exactly SpanTile::large().block()
    }
    /// Moves of [`COMPUTE_ROWS`] whose rows, or columns, are channels with a factor and a summand each, which are computed with in 32 bits.
    COMPUTE_ROWS_BY_PAIRS = "compute_rows_by_pairs" takes ComputeMatrices, in rows_grid {
        1: exactly SpanTile::of(Width::B1).block(), 2: exactly SpanTile::of(Width::B2).block(), 4: exactly SpanTile::of(Width::B4).block()
    }
    /// Moves of [`COMPUTE_ROWS`] with a second operand that lies as the destination does: what is added is on its way to shared memory while a tile is loaded.
    COMPUTE_ROWS_BESIDE = "compute_rows_beside" takes ComputeMatrices, in beside_grid {
        1: exactly [BESIDE_THREADS, 1, 1], 2: exactly [BESIDE_THREADS, 1, 1], 4: exactly [BESIDE_THREADS, 1, 1], 8: exactly [BESIDE_THREADS, 1, 1]
    }
    /// Sums of matrices that both are transposed, whose rows all start and end on vectors, as the destination's do: the tiles of [`COMPUTE_MICRO`].
    COMPUTE_SUMS = "compute_sums" takes ComputeMatrices, in micro_grid {
        2: exactly MatrixTile::of(Width::B2).block(), 4: exactly MatrixTile::of(Width::B4).block(), 8: exactly MatrixTile::of(Width::B8).block(), 16: exactly MatrixTile::of(Width::B16).block()
    }
    /// Sums of matrices that both are transposed, whose rows start anywhere, but inside vectors alike: the spans of [`COMPUTE_ROWS`].
    COMPUTE_SUM_ROWS = "compute_sum_rows" takes ComputeMatrices, in rows_grid {
        2: exactly SpanTile::of_sums(Width::B2).block(), 4: exactly SpanTile::of_sums(Width::B4).block(), 8: exactly SpanTile::of_sums(Width::B8).block()
    }
}

table! { ARITHMETIC_TENSORS of ArithmeticTensors:
    /// Moves that compute, of short axes and in any order: the boxes of [`BOXES`](crate::tensor::BOXES). Widths are of words of the destination.
    COMPUTE_BOXES = "compute_boxes" takes ComputeBoxes {
        1: exactly [BOX_THREADS, 1, 1], 2: exactly [BOX_THREADS, 1, 1], 4: exactly [BOX_THREADS, 1, 1], 8: exactly [BOX_THREADS, 1, 1], 16: exactly [BOX_THREADS, 1, 1]
    }
    /// Moves of [`COMPUTE_BOXES`] of narrow words: the pieces of [`PIECES`](crate::tensor::PIECES). Widths are of words of the destination.
    COMPUTE_PIECES = "compute_pieces" takes ComputePieces {
        1: exactly [BOX_THREADS, 1, 1], 2: exactly [BOX_THREADS, 1, 1]
    }
    /// Moves of [`COMPUTE_BOXES`] with a second operand whose elements lie together where the destination's do, of elements that keep their size and are one word each.
    COMPUTE_BOXES_BESIDE = "compute_boxes_beside" takes ComputeBoxesBeside {
        2: exactly [BOX_THREADS, 1, 1], 4: exactly [BOX_THREADS, 1, 1], 8: exactly [BOX_THREADS, 1, 1], 16: exactly [BOX_THREADS, 1, 1]
    }
    /// Moves of [`COMPUTE_BOXES_BESIDE`] of elements of another type than the destination's: `u8` and 2 bytes to `f32`, `u8` and `f32` to 2 bytes. Words are elements, in shared memory those of the source.
    COMPUTE_BOXES_MIXED = "compute_boxes_mixed" takes ComputeBoxesBeside {
        1: exactly [BOX_THREADS, 1, 1], 2: exactly [BOX_THREADS, 1, 1], 4: exactly [BOX_THREADS, 1, 1]
    }
    /// Moves that compute, whose fastest axis changes: the tiles of [`TILES`](crate::tensor::TILES).
    COMPUTE_TILES = "compute_tiles" takes ComputeTiles {
        1: at_most crate::tensor::TileShape::most_threads(Width::B1), 2: at_most crate::tensor::TileShape::most_threads(Width::B2), 4: at_most crate::tensor::TileShape::most_threads(Width::B4), 8: at_most crate::tensor::TileShape::most_threads(Width::B8), 16: at_most crate::tensor::TileShape::most_threads(Width::B16)
    }
    /// Moves of [`COMPUTE_TILES`] of elements that have the factor and summand of their channel.
    COMPUTE_TILES_BY_PAIRS = "compute_tiles_by_pairs" takes ComputeTilesByPairs {
        1: at_most crate::tensor::TileShape::most_threads(Width::B1), 2: at_most crate::tensor::TileShape::most_threads(Width::B2), 4: at_most crate::tensor::TileShape::most_threads(Width::B4)
    }
}
