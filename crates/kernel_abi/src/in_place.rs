//! The kernels that work inside a matrix's own memory: parameters, tiles, and rows of the table.
//!
//! All of them take the matrix, scratch memory, and what the host computed. Those of [`IN_PLACE`] are what the library chooses
//! from by itself; those of [`STUDIES`] run only where a caller asks for them.

use crate::{params, table};

params! {
    /// A number that does not change in a launch, to divide 64-bit numbers by.
    Divisor {
        /// The number, not 0.
        divisor,
        /// 2⁶⁴ / `divisor`, rounded up; 0 for 1.
        magic,
    }

    /// A number that does not change in a launch, to divide 32-bit numbers by.
    Divisor32 {
        /// The number, not 0 and below 2³¹.
        divisor,
        /// (2³² − 1) / `divisor`, rounded down.
        magic,
    }

    /// A factor that does not change in a launch, to multiply 32-bit numbers by, modulo a divisor.
    Factor {
        /// The factor, below the divisor.
        factor,
        /// 2³² · `factor` / divisor, rounded down.
        magic,
    }

    /// Square matrices, alike and equally far apart. For [`SQUARE`] and [`SQUARE_WIDE`].
    Square {
        /// Rows and columns.
        side,
        /// Elements from one row to the next.
        ld,
        /// Tiles along a side.
        tiles,
        /// How far apart rows of tiles are that take turns; a power of two, or 0.
        apart,
        /// Elements from one matrix to the next.
        stride,
        /// Blocks of a matrix along the grid's x axis.
        across: Divisor32,
    }

    /// For [`SQUARE_TUPLES`].
    SquareTuples {
        /// The matrices.
        square: Square,
        /// Rows and columns of a tile.
        tile,
        /// Bytes from one row of a tile in shared memory to the next, a multiple of 4 and of a word.
        pitch,
        /// log2 of the threads along a row of units: fewer than 7 if a word has less than 4 bytes.
        units_along,
        /// log2 of the threads along a row of vectors.
        vectors_along,
        /// Words of an element.
        tuple: Divisor32,
    }

    /// Panels whose rows become slots, or the reverse. For [`PANEL`] and [`PANEL_TUPLES`].
    Panels {
        /// Rows of a panel: elements of a slot.
        length,
        /// Elements of a row: slots of a panel.
        width,
        /// Words of a row.
        row: Divisor,
        /// Panels, and slots between two gaps.
        panels: Divisor,
        /// Elements left out after every `panels` slots.
        gap,
        /// Rows of a tile.
        tile_length,
        /// Columns of a tile.
        tile_width,
        /// Words from one segment of the tile in shared memory to the next; bytes, a multiple of 4, with [`UNITS`].
        pitch,
        /// [`TO_ROWS`], [`PADDED`], [`GROUPED`], [`UNITS`], [`UNITS_ALIGNED`], [`BY_VECTORS`].
        mode,
        /// Words of an element.
        tuple: Divisor32,
        /// Slots between two gaps, with [`UNITS`]: there are fewer than 2³¹ slots where there are gaps.
        period: Divisor32,
        /// log2 of the threads along a segment that is loaded, with [`UNITS`].
        load_along,
        /// log2 of the threads along a segment that is stored, with [`UNITS`].
        store_along,
        /// Words from one segment that is loaded to the next, with [`UNITS`].
        load_step,
        /// Words of the gap after each period of those.
        load_gap,
        /// Words from one segment that is stored to the next, with [`UNITS`].
        store_step,
        /// Words of the gap after each period of those.
        store_gap,
    }

    /// Slots that move along the cycles of their transposition, in chunks. For [`PERMUTE`] and its like.
    Slots {
        /// Rows of the matrix of slots.
        rows,
        /// Its columns.
        cols: Divisor32,
        /// Elements of a slot.
        length,
        /// Elements of a chunk; the last chunk of a slot may be shorter.
        chunk,
        /// Chunks of a slot.
        chunks,
        /// Slots between two gaps.
        period: Divisor32,
        /// Elements left out after every period.
        gap,
        /// Matrices of slots, one after the other, all permuted alike.
        instances,
        /// Slots of an instance.
        slots: Divisor32,
        /// A number without a common divisor with the number of words of flags.
        scramble,
    }

    /// The row permutation of the C2R and R2C decompositions. All numbers are below [`DECOMPOSED_SIDE`].
    Shuffle {
        /// Rows of the matrix.
        rows,
        /// Columns of the matrix.
        cols: Divisor32,
        /// `c`, the greatest common divisor of both.
        common: Divisor32,
        /// `b = cols / c`.
        cols_per_c: Divisor32,
        /// The inverse of `rows / c`, modulo `b`.
        inverse: Factor,
        /// The rows, modulo the columns.
        rows_factor: Factor,
        /// 1 for R2C.
        backwards,
    }

    /// For [`ROWS`].
    Rows {
        /// The permutation.
        shuffle: Shuffle,
        /// Rows that a block holds.
        block_rows,
    }

    /// For [`STAGE_ROWS`].
    StagedRows {
        /// The permutation.
        shuffle: Shuffle,
        /// The first row that is taken; the grid has a row of blocks for each.
        first,
    }

    /// The column permutations of the C2R and R2C decompositions. For [`COLUMNS`]. All numbers are below [`DECOMPOSED_SIDE`].
    Columns {
        /// Rows of the matrix.
        rows: Divisor32,
        /// Columns of the matrix.
        cols,
        /// Columns of a strip.
        strip,
        /// Rows of a part.
        part_rows,
        /// `c`, the greatest common divisor of rows and columns.
        common: Divisor32,
        /// `a = rows / c`.
        rows_per_c,
        /// `b = cols / c`.
        cols_per_c: Divisor32,
        /// The inverse of `b`, modulo `a`.
        inverse: Factor,
        /// [`SHUFFLE`], [`BACKWARDS`], and from bit [`ALONG`] log2 of the threads along a strip's row.
        mode,
    }

    /// Tiles that are transposed along the cycles of their elements. For [`FLAGS`].
    Flags {
        /// Rows of a tile.
        rows,
        /// Columns of a tile.
        cols: Divisor,
        /// log2 of the spreading factor, 0 to 5.
        spread,
        /// 1 to leave every 33rd word empty.
        padding,
        /// Words of flags.
        flag_words,
    }

    /// Tiles that move along their cycles and are transposed. For [`FUSED`].
    Fused {
        /// Rows of tiles.
        rows,
        /// Columns of tiles.
        cols: Divisor,
        /// Rows of a tile.
        tile_rows: Divisor,
        /// Columns of a tile.
        tile_cols,
        /// Elements from one row of the tile in shared memory to the next.
        pitch,
    }

    /// A matrix whose elements move along their cycles. For [`CYCLE`].
    Cycle {
        /// Rows of the matrix.
        rows,
        /// Its columns.
        cols: Divisor,
    }
}

/// Slots become rows; otherwise rows become slots.
pub const TO_ROWS: u64 = 1;
/// One word in 32 of shared memory stays empty.
pub const PADDED: u64 = 2;
/// Blocks wait for each other.
pub const GROUPED: u64 = 4;
/// Words of 1 and 2 bytes move by units of 4 bytes.
pub const UNITS: u64 = 8;
/// All segments start and end on multiples of 4 bytes.
pub const UNITS_ALIGNED: u64 = 16;
/// All segments that are loaded start and end on multiples of 16 bytes, and are loaded by so many.
pub const BY_VECTORS: u64 = 32;

/// Columns are shuffled; otherwise rotated.
pub const SHUFFLE: u64 = 1;
/// The inverse.
pub const BACKWARDS: u64 = 2;
/// The bit from which a number stands.
pub const ALONG: u32 = 8;

/// The decomposition serves sides below this: sums of three are computed in 31 bits.
pub const DECOMPOSED_SIDE: u64 = 1 << 29;

/// Elements of a row that a block of [`STAGE_ROWS`] moves.
pub const STAGED_ELEMENTS: u64 = 2048;

/// Threads of the blocks that exchange two tiles.
pub const SQUARE_THREADS: u32 = 256;
const SQUARE_BLOCK: [u32; 3] = [SQUARE_THREADS, 1, 1];

/// The most threads of a block that holds what it moves in shared memory.
pub const HOLDING_THREADS: u32 = 512;

/// Threads of the blocks whose warps move chunks along cycles; fewer where one warp does everything.
pub const MOVING_THREADS: u32 = 128;

/// The most bytes of a chunk of [`PERMUTE_BYTES`]: 128 words that it touches, and may start in the last byte of the first.
pub const MOST_BYTES: u64 = 128 * 4 - 3;

/// Threads of the blocks that stage rows.
pub const STAGING_THREADS: u32 = 256;
const STAGING_BLOCK: [u32; 3] = [STAGING_THREADS, 1, 1];

/// The most threads of a block of the studies.
pub const STUDY_THREADS: u32 = 256;

table! { IN_PLACE of InPlace:
    /// Exchanges two tiles of a square matrix, element by element.
    SQUARE = "square" takes Square {
        4: exactly SQUARE_BLOCK, 8: exactly SQUARE_BLOCK
    }
    /// Exchanges two tiles of a square matrix by accesses of 16 bytes.
    SQUARE_WIDE = "square_wide" takes Square {
        1: exactly SQUARE_BLOCK, 2: exactly SQUARE_BLOCK, 4: exactly SQUARE_BLOCK, 8: exactly SQUARE_BLOCK, 16: exactly SQUARE_BLOCK
    }
    /// Exchanges two tiles of a square matrix whose elements have several words, or whose rows start anywhere.
    SQUARE_TUPLES = "square_tuples" takes SquareTuples {
        1: exactly SQUARE_BLOCK, 2: exactly SQUARE_BLOCK, 4: exactly SQUARE_BLOCK, 8: exactly SQUARE_BLOCK, 16: exactly SQUARE_BLOCK
    }
    /// Turns the rows of panels into slots, or slots into rows.
    PANEL = "panel" takes Panels {
        1: within HOLDING_THREADS, 2: within HOLDING_THREADS, 4: within HOLDING_THREADS, 8: within HOLDING_THREADS, 16: within HOLDING_THREADS
    }
    /// Turns the rows of panels into slots, or slots into rows, of elements of several words.
    PANEL_TUPLES = "panel_tuples" takes Panels {
        1: within HOLDING_THREADS, 2: within HOLDING_THREADS, 4: within HOLDING_THREADS, 8: within HOLDING_THREADS, 16: within HOLDING_THREADS
    }
    /// Moves super-elements along the cycles of their transposition, four steps at a time.
    PERMUTE = "permute" takes Slots {
        1: within MOVING_THREADS, 2: within MOVING_THREADS, 4: within MOVING_THREADS, 8: within MOVING_THREADS, 16: within MOVING_THREADS
    }
    /// Moves shorter super-elements along the cycles of their transposition, eight steps at a time.
    PERMUTE_SHORT = "permute_short" takes Slots {
        1: within MOVING_THREADS, 2: within MOVING_THREADS, 4: within MOVING_THREADS, 8: within MOVING_THREADS, 16: within MOVING_THREADS
    }
    /// Moves the shortest super-elements along the cycles of their transposition, sixteen steps at a time.
    PERMUTE_SHORTEST = "permute_shortest" takes Slots {
        1: within MOVING_THREADS, 2: within MOVING_THREADS, 4: within MOVING_THREADS, 8: within MOVING_THREADS, 16: within MOVING_THREADS
    }
    /// Moves super-elements that start anywhere along the cycles of their transposition: chunks of 8 to [`MOST_BYTES`] bytes.
    PERMUTE_BYTES = "permute_bytes" takes Slots {
        1: within MOVING_THREADS
    }
    /// Moves super-elements along short cycles, a warp to a cycle.
    LEADERS = "leaders" takes Slots {
        1: within MOVING_THREADS, 2: within MOVING_THREADS, 4: within MOVING_THREADS, 8: within MOVING_THREADS, 16: within MOVING_THREADS
    }
    /// Moves shorter super-elements along short cycles, a warp to a cycle.
    LEADERS_SHORT = "leaders_short" takes Slots {
        1: within MOVING_THREADS, 2: within MOVING_THREADS, 4: within MOVING_THREADS, 8: within MOVING_THREADS, 16: within MOVING_THREADS
    }
    /// Shuffles rows on chip.
    ROWS = "rows" takes Rows {
        1: within HOLDING_THREADS, 2: within HOLDING_THREADS, 4: within HOLDING_THREADS, 8: within HOLDING_THREADS, 16: within HOLDING_THREADS
    }
    /// Shuffles rows into the scratch memory.
    STAGE_ROWS = "stage_rows" takes StagedRows {
        1: exactly STAGING_BLOCK, 2: exactly STAGING_BLOCK, 4: exactly STAGING_BLOCK, 8: exactly STAGING_BLOCK, 16: exactly STAGING_BLOCK
    }
    /// Turns or shuffles columns on chip.
    COLUMNS = "columns" takes Columns {
        1: within HOLDING_THREADS, 2: within HOLDING_THREADS, 4: within HOLDING_THREADS, 8: within HOLDING_THREADS, 16: within HOLDING_THREADS
    }
}

table! { STUDIES of InPlaceStudies:
    /// Moves super-elements along cycles through shared memory.
    CARRY = "carry" takes Slots {
        1: within MOVING_THREADS, 2: within MOVING_THREADS, 4: within MOVING_THREADS, 8: within MOVING_THREADS, 16: within MOVING_THREADS
    }
    /// Moves tiles along cycles and transposes each.
    FUSED = "fused" takes Fused {
        1: within STUDY_THREADS, 2: within STUDY_THREADS, 4: within STUDY_THREADS, 8: within STUDY_THREADS, 16: within STUDY_THREADS
    }
    /// Transposes tiles along the cycles of their elements, with flags in shared memory.
    FLAGS = "flags" takes Flags {
        1: within STUDY_THREADS, 2: within STUDY_THREADS, 4: within STUDY_THREADS, 8: within STUDY_THREADS, 16: within STUDY_THREADS
    }
    /// Moves elements along cycles, a thread to a cycle.
    CYCLE = "cycle" takes Cycle {
        1: within STUDY_THREADS, 2: within STUDY_THREADS, 4: within STUDY_THREADS, 8: within STUDY_THREADS, 16: within STUDY_THREADS
    }
}
