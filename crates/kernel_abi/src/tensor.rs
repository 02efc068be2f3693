//! The kernels that move arrays of any rank: parameters, tiles, and rows of the table.
//!
//! All count in *words*: the widest pieces that elements, strides and both memories' alignments are multiples of. Strides may be
//! negative: a field holds the two's complement, and what is computed with it wraps.
//!
//! A *packed divisor* is a number below 2³¹, and in the upper half (2³² − 1) / number, rounded down.

use crate::fast::{VECTOR, WARP};
use crate::{params, table, Width};

/// Threads of a block of [`WORDS`].
pub const WORDS_THREADS: u32 = 256;

/// The most axes of a move: as many as a tensor has, and one more for elements of several words.
pub const MOST_AXES: usize = 17;

/// The most axes that blocks of [`TILES`] are counted along.
pub const MOST_BLOCK_AXES: usize = 10;

/// Bytes of shared memory in which the warps of a block of [`TILES`] of words of less than 16 bytes are told which tile is theirs.
pub const PLACE_BYTES: u32 = 32;

/// The most axes that a run is made of.
pub const MOST_RUN_AXES: usize = 4;

/// The most axes that a number of [`BOXES`] is made of: of a stretch, of a place in one, or of a block's stretches.
pub const MOST_DIGITS: usize = 6;

/// Threads of a block of [`BOXES`].
pub const BOX_THREADS: u32 = 256;

/// The entry of [`PIECES`]' table of words that says that there is a gap. Others say how many bytes from a piece's first word a word is: fewer than this.
pub const GAP: u32 = u16::MAX as u32;

/// Bytes of shared memory, at most, that a target of [`PIECES`] may start before the image: the last piece of a stretch that is in descending order there may be shorter than the others.
pub const PIECES_BELOW: u32 = 2048;

/// Boxes that a block of [`BOXES`] moves at most.
pub const MOST_TURNS: u32 = 8;

/// Words that a thread of [`WORDS`] moves.
pub const WORDS_OF_THREAD: u32 = 4;

/// Threads of a block of [`RUNS`].
pub const RUNS_THREADS: u32 = 256;

/// Words that a warp of [`CONSTANTS`] writes.
pub const WORDS_OF_WARP: usize = 32;

/// Words among the parameters of [`CONSTANTS`]: a quarter of what a kernel's parameters may be, for each word is code of its own.
pub const CONSTANT_WORDS: usize = 128;

/// Vectors that a thread of [`RUNS`] moves.
pub const VECTORS_OF_THREAD: u32 = 2;

params! {
    /// An axis whose index is the remainder of a division.
    Axis {
        /// The number of indices, as a packed divisor.
        divisor,
        /// Words of the source from one index to the next.
        src,
        /// Words of the destination from one index to the next.
        dst,
    }

    /// An axis of a run, but for the slowest.
    RunAxis {
        /// The number of indices, as a packed divisor.
        divisor,
        /// Words from one index to the next on the other side: where it is no run.
        stride,
    }

    /// For [`CONSTANTS`].
    Constants {
        /// The words. A block of fewer warps writes those that are theirs.
        words: [u64; CONSTANT_WORDS],
    }

    /// What lies together on one side, and is found on the other by dividing an index. A tile takes some indices of the slowest
    /// axis, so that what is left of a tile at the end is a prefix of it; or it goes *across* axes, and takes any words that follow each other.
    Run {
        /// The axes but for the slowest, the fastest first.
        inner: [RunAxis; MOST_RUN_AXES - 1],
        /// Words from one index of the slowest axis to the next on the other side.
        outer,
        /// Words of a tile.
        tile,
        /// Words of all tiles together.
        all,
        /// Which of the axes of blocks steps from tile to tile; none if it is [`MOST_BLOCK_AXES`]. In the upper half, of tiles that go across axes, a tile's words: such a step is none on
        /// the other side, where a word's place is found by its index in the run.
        axis,
    }

    /// For [`WORDS`].
    Words {
        /// The axes, the destination's fastest first.
        axes: [Axis; MOST_AXES],
        /// How many there are.
        count,
        /// Words to move.
        words,
    }

    /// For [`RUNS`].
    Runs {
        /// The axes but the one that lies together on both sides, the destination's fastest first, in bytes: words are bytes here, whatever they are otherwise.
        axes: [Axis; MOST_AXES - 1],
        /// How many there are.
        count,
        /// Bytes of a run: of what lies together on both sides wherever one byte does.
        bytes,
        /// How many vectors of the destination a run has bytes of at most, as a packed divisor.
        vectors,
        /// Those of all runs.
        all,
        /// Bytes from the address that the kernel is given to the lowest word of the source: what lies between it and the highest may be
        /// loaded with the words.
        lowest,
        /// Bytes from the lowest word to behind the highest.
        reach,
        /// How the sectors of the destination that a run has only a part of are fetched before it is stored: a [`Fetching`].
        fetch,
    }

    /// For [`TILES`].
    Tiles {
        /// The axes that blocks are counted along, first the one that changes fastest.
        blocks: [Axis; MOST_BLOCK_AXES],
        /// How many there are.
        count,
        /// What lies together in the destination: rows of a tile.
        rows: Run,
        /// What lies together in the source: columns of a tile.
        cols: Run,
        /// A tile's vectors of a row, the last one perhaps in part, as a packed divisor.
        row_vectors: u64,
        /// A tile's vectors of a column, as a packed divisor.
        col_vectors: u64,
        /// Bytes from one column of the transposed tile to the next: of narrow words, and where words are computed with, a multiple of 128. In the upper half, of others,
        /// bytes of padding behind the columns of each vector of a row.
        pitch: u64,
        /// Bytes of the transposed tile. Two tables follow it in shared memory, behind [`PLACE_BYTES`] bytes if words have less than 16 bytes and are only moved: for each row, early ones as
        /// well, where it starts in the source, and for each column where it starts in the destination, 64 bits each. Behind them, from a multiple of 16 bytes on, are
        /// [vectors beside](TileShape::beside) those of rows that are slid.
        tile: u64,
        /// How rows are loaded: a [`Loading`].
        loading: u64,
        /// Bytes from the address that the kernel is given to the lowest word of the source: what lies between it and the highest may be
        /// loaded with the words.
        lowest: u64,
        /// Bytes from the lowest word to behind the highest.
        reach: u64,
        /// How columns are stored: as vectors, on which they all start (0), or word by word, `1 << lanes` lanes a column; of words of less than 4 bytes by units of `1 << lanes` bytes, 4, 8
        /// or 16, on which columns all start and end, or by vectors that start anywhere in them, and their ends word by word (1).
        lanes: u64,
        /// How the sectors of the destination that a column has only a part of are fetched before it is stored: a [`Fetching`].
        fetch: u64,
        /// Rows that tiles but the first of a run have before their own: of each column, a tile stores from where the sector begins that its
        /// own first row lies in, to where the next one does. With none, it stores its own rows.
        early: u64,
        /// Words of the source from the first of those rows to the first of the tile's own.
        early_from: u64,
        /// How many lanes store a column, as a packed divisor, if words are narrow and are not stored as vectors that all columns start on; else 0.
        units: u64,
    }
}

params! {
    /// Which bits are flipped on the way: those of a vector of 16 bytes, in which every word is the same.
    Mask {
        /// Those of the first 8 bytes.
        low,
        /// Those of the last.
        high,
    }

    /// For [`WORDS_XOR`].
    WordsXor {
        /// The move.
        words: Words,
        /// What is flipped.
        mask: Mask,
    }

    /// For [`TILES_XOR`].
    TilesXor {
        /// The move.
        tiles: Tiles,
        /// What is flipped.
        mask: Mask,
    }
}

params! {
    /// An axis of a box, as a digit of a number, and what each step along it adds.
    Digit {
        /// The number of indices, as a packed divisor.
        divisor,
        /// Words of the memory that the number counts stretches of.
        outside,
        /// Bytes in shared memory.
        inside,
    }

    /// Numbers of a box that are made of digits, the first one the fastest.
    Digits {
        /// The digits.
        digits: [Digit; MOST_DIGITS],
        /// How many digits there are.
        count,
        /// How many of the numbers there are for each index of the axis that [`of`](Self::of) says.
        each,
        /// Of which of the axes that a box has a part of: the first, the second, or none.
        of,
    }

    /// An axis of which each box has a part.
    Part {
        /// Indices of a part.
        part,
        /// Indices of the axis.
        all,
    }

    /// For [`BOXES`].
    Boxes {
        /// The axes that boxes are counted along: first those that boxes have parts of, two even if there are fewer; the first changes
        /// fastest. If boxes have parts of one, another may come before it, of which each has a single index.
        blocks: [Axis; MOST_BLOCK_AXES],
        /// How many there are.
        count,
        /// How many boxes: at most [`MOST_TURNS`] for each block.
        boxes: u64,
        /// The axes that boxes have parts of.
        parts: [Part; 2],
        /// The source's stretches: where each starts, and its first word in shared memory. Steps along an axis are as many bytes there as in the
        /// source, modulo 4 or a word, and modulo 16 if stretches are held [by vectors](Self::by_vectors); no two stretches have words of the same vector.
        sources: Digits,
        /// The words of a stretch of the source; its digits are not needed.
        source_words: Digits,
        /// The destination's stretches: where each starts, and its first word in shared memory.
        targets: Digits,
        /// The words of a stretch of the destination, or its [runs](Self::run): where each is in shared memory, beside its stretch's first.
        target_words: Digits,
        /// Bytes of shared memory from the image's first word to where the destination's first stretch starts: along an axis that the image has in descending order steps are negative, and the first index
        /// lies at the axis's end. A number that wraps around, as all sums of such steps do.
        first_start: u64,
        /// Bytes from where a stretch of the destination starts to its first word, or run: likewise.
        first_place: u64,
        /// Bytes that lie together on both sides, at least 4, as a packed divisor: stretches of the destination are gathered run by run, in units of
        /// 4 bytes, or 8 where that is not more than a run. 0 if they are gathered word by word.
        run: u64,
        /// Vectors that a stretch of the source has at most, as a packed divisor.
        vectors: u64,
        /// Bytes of such a vector: 16, or perhaps less of words that become wider ones on the way.
        vector: u64,
        /// Whether vectors go to shared memory at once, or by 4 bytes: a [`ByVectors`].
        by_vectors: u64,
        /// Bytes of shared memory for all of them, a multiple of 16. The tables follow.
        image: u64,
        /// Stretches of the source that a whole box has: entries of the tables of these.
        rows: u64,
        /// Stretches of the destination that a whole box has: entries of the tables of these.
        cols: u64,
        /// Words, or runs, of a stretch of the destination that a whole box has: entries of the last table.
        places: u64,
        /// In how many parts places that differ in their first digit alone are filled, each part by a thread, as a packed divisor. Words of 4 bytes and more have them filled
        /// one by one, as all words do where places have two digits at most.
        place_parts: u64,
        /// How many places each of these parts has, but for the last, which may have fewer.
        of_place_part: u64,
        /// How many lanes store a stretch of the destination, as a power of two.
        lanes: u64,
        /// Whether words of less than 4 bytes are stored one at a time (1), neighbours by neighbouring lanes, whatever stretches they are of; else by
        /// units of 4 bytes (0). Not with runs.
        singly: u64,
        /// Bytes of a unit that stretches of the destination start behind, at most.
        ahead: u64,
        /// Bytes from the address that the kernel is given to the lowest word of the source: what lies between it and the highest may be
        /// loaded with the words.
        lowest: u64,
        /// Bytes from the lowest word to behind the highest.
        reach: u64,
        /// What may be loaded with a stretch's words: a [`Loads`].
        loads: u64,
        /// Bytes from where a whole box starts in the source to behind its last word, if that is [all that it may load](Loads::Box).
        own: u64,
        /// How the sectors that a stretch of the destination has only a part of are fetched before it is stored: a [`Fetching`].
        fetch: u64,
    }
}

/// Bytes of what boxes load at a time of elements of `src_bytes` that become elements of `dst_bytes`: what becomes a vector, or a vector if results have no more bytes.
pub const fn box_vector(src_bytes: usize, dst_bytes: usize) -> usize {
    let vector = VECTOR as usize;
    if src_bytes < dst_bytes {
        vector * src_bytes / dst_bytes
    } else {
        vector
    }
}

/// What may be loaded with a stretch's words, which vectors have beside them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loads {
    /// What lies between the source's lowest word and its highest.
    Source,
    /// What of that lies between a box's first word and its last. Other blocks store to the rest.
    Box,
    /// What lies between a stretch's first word and its last. Other blocks store to what is beside it.
    Stretch,
}

/// How what a box loads goes to shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByVectors {
    /// By 4 bytes.
    No,
    /// By vectors, past the L1 cache where they are copied.
    Past,
    /// By vectors, through that cache.
    Cached,
}

/// How sectors of the destination are fetched that are stored in part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fetching {
    /// Not at all.
    None,
    /// With the cache line that they are in.
    Lines,
    /// By themselves, on chips that can: it takes longer to ask for, and moves less.
    Sectors,
}

params! {
    /// For [`PIECES`]. What it stores at a time, a *target*, is a piece of a stretch of the destination. Targets that differ in their last digit alone
    /// are a *row* of them, each as far from the next as the others.
    Pieces {
        /// The box; its targets are pieces. If there are [gaps](Self::gapped), the divisors of the words' digits are steps in the destination, and the
        /// fields for the outside say how many indices there are. It has no runs.
        boxes: Boxes,
        /// Words of a piece but for the last of a stretch, which may be shorter.
        piece: u64,
        /// How many pieces a stretch of a whole box has, as a packed divisor.
        pieces: u64,
        /// How many targets there are before the next piece of the same stretch, as a packed divisor.
        before: u64,
        /// How many targets a box has for each number of indices, [so many](Self::per), that its part of an axis has.
        each: u64,
        /// How many indices of that axis a piece has, as a packed divisor; else 1.
        per: u64,
        /// How many rows of targets there are, as a packed divisor.
        rows: u64,
        /// Words of the destination from one target of a row to the next.
        outside: u64,
        /// Bytes of shared memory from one to the next.
        inside: u64,
        /// How many targets of a row are stored at a time, as a packed divisor.
        along: u64,
        /// Of how many rows.
        down: u64,
        /// How many lanes store a target, as a packed divisor.
        lanes: u64,
        /// Words of the gap that follows a stretch's last word, if stretches have gaps, which nothing is stored to; else 0. Words are stored one at a
        /// time then.
        gapped: u64,
    }
}

/// How [`TILES`] loads rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loading {
    /// Word by word: rows start anywhere.
    Words,
    /// As vectors: all rows of all tiles start on one.
    Vectors,
    /// As vectors out of two vectors each, the second one the next thread's, if that has it: rows start anywhere.
    Slid,
    /// Words of less than 4 bytes by 4 bytes, neighbours by neighbouring threads: all rows start and end on 4.
    Fours,
    /// Words of less than 4 bytes by 8 bytes, neighbours by neighbouring threads: all rows start and end on 8.
    Eights,
}

/// How [`TILES`] shares out a tile.
#[derive(Clone, Copy, Debug)]
pub struct TileShape {
    /// Rows of a micro-block: what a thread loads one vector each of, and transposes.
    pub block_rows: u32,
    /// Micro-blocks of a thread.
    pub micro_blocks: u32,
}

impl TileShape {
    /// That of a word.
    pub const fn of(width: Width) -> Self {
        let (block_rows, micro_blocks) = match width {
            Width::B1 | Width::B2 | Width::B4 => (4, 1),
            Width::B8 => (2, 2),
            Width::B16 => (1, 4),
        };
        TileShape { block_rows, micro_blocks }
    }

    /// Threads that a block has at most: whole warps, as many as its tile has work for. With more of 16 bytes, the assembler would spill.
    pub const fn most_threads(width: Width) -> u32 {
        if width as u8 == Width::B16 as u8 {
            256
        } else {
            512
        }
    }

    /// Threads of a block whose tile has `micro_blocks` micro-blocks.
    pub const fn threads(&self, micro_blocks: usize) -> usize {
        micro_blocks.div_ceil(self.micro_blocks as usize).next_multiple_of(WARP as usize)
    }

    /// Words of a vector.
    pub const fn vector(width: Width) -> u32 {
        VECTOR / width.bytes() as u32
    }

    /// Bytes of shared memory for the vectors that lanes of [`Loading::Slid`] load beside their own: those that are the last of their row, or of their warp.
    pub const fn beside(&self, threads: usize, row_vectors: usize) -> usize {
        let lanes = threads / WARP as usize + threads.div_ceil(row_vectors);
        lanes * (self.block_rows * VECTOR) as usize
    }
}

table! { TENSOR of Tensor:
    /// Any move: a word a thread at a time, in the order of its axes.
    WORDS = "words" takes Words {
        1: exactly [WORDS_THREADS, 1, 1], 2: exactly [WORDS_THREADS, 1, 1], 4: exactly [WORDS_THREADS, 1, 1], 8: exactly [WORDS_THREADS, 1, 1], 16: exactly [WORDS_THREADS, 1, 1]
    }
    /// Moves of long stretches that lie together on both sides, and start anywhere: a vector of the destination a thread at a time.
    RUNS = "runs" takes Runs {
        1: exactly [RUNS_THREADS, 1, 1]
    }
    /// Moves whose fastest axis changes: tiles of what lies together in the source by what lies together in the destination.
    TILES = "tiles" takes Tiles {
        1: at_most TileShape::most_threads(Width::B1), 2: at_most TileShape::most_threads(Width::B2), 4: at_most TileShape::most_threads(Width::B4), 8: at_most TileShape::most_threads(Width::B8), 16: at_most TileShape::most_threads(Width::B16)
    }
    /// Moves of elements of several words, or along short axes: boxes, held as they lie in the source and gathered word by word.
    BOXES = "boxes" takes Boxes {
        1: exactly [BOX_THREADS, 1, 1], 2: exactly [BOX_THREADS, 1, 1], 4: exactly [BOX_THREADS, 1, 1], 8: exactly [BOX_THREADS, 1, 1], 16: exactly [BOX_THREADS, 1, 1]
    }
    /// Moves of narrow words that [`BOXES`] would store in stretches of a few words, or in long ones: in pieces, all of which are alike.
    PIECES = "pieces" takes Pieces {
        1: exactly [BOX_THREADS, 1, 1], 2: exactly [BOX_THREADS, 1, 1]
    }
    /// Writes words that are among its parameters.
    CONSTANTS = "constants" takes Constants {
        8: at_most CONSTANT_WORDS as u32 / WORDS_OF_WARP as u32 * WARP
    }
    /// Moves of [`WORDS`] on which bits are flipped.
    WORDS_XOR = "words_xor" takes WordsXor {
        4: exactly [WORDS_THREADS, 1, 1], 8: exactly [WORDS_THREADS, 1, 1], 16: exactly [WORDS_THREADS, 1, 1]
    }
    /// Moves of [`TILES`] on which bits are flipped.
    TILES_XOR = "tiles_xor" takes TilesXor {
        4: at_most TileShape::most_threads(Width::B4), 8: at_most TileShape::most_threads(Width::B8), 16: at_most TileShape::most_threads(Width::B16)
    }
}
