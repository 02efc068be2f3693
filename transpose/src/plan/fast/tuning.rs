//! The numbers that were found by measuring, as data: one [`Tuning`] for each architecture.
//!
//! A number here changes no result, only the time. docs/decisions/014 to 021 say how they were found.

use kernel_abi::Width;

/// Rows and columns.
type Lengths = [usize; 2];

/// What the planners of the fast kernels know of an architecture.
#[derive(Debug)]
pub(crate) struct Tuning {
    /// From this many bytes on no cache holds the source and the destination: the memory gains if what is written leaves the cache
    /// before what is read.
    pub beyond_cache: usize,
    /// Blocks that a multiprocessor should be given: with fewer, each of them moves less where it can.
    pub few_blocks: usize,
    /// From this many bytes on matrices are far larger than any cache: the memory gains from fewer blocks to a multiprocessor.
    pub large: usize,
    /// Blocks of `micro` that a multiprocessor should then run together, by the word; 0 for as many as fit.
    pub micro_blocks_per_multiprocessor: [u32; 5],
    /// Rows a multiple of so many bytes apart meet in few of the memory's banks.
    pub far_rows: usize,
    /// The bytes between two columns of tiles that do not meet there.
    pub pair_distance: usize,
    /// Only matrices with this many rows lose time by tiles that are partly empty across the columns, and only those with this many
    /// columns by tiles that are partly empty down the rows.
    pub many: usize,
    /// Bytes of a row up to which `tall` is better than tiles that are not full.
    pub long_row: usize,
    /// Rows and columns from which on tiles are full enough if all rows start on vectors, by the word.
    pub least: [Lengths; 5],
    /// Columns from which on they are, where the destination's rows do not start on sectors and the matrices leave the cache.
    pub least_cols_past_sectors: [usize; 5],
    /// Rows and columns from which on tiles are full enough if rows start anywhere, by the word.
    pub least_anywhere: [Lengths; 5],
    /// From this many bytes and rows on, 1-byte elements whose sectors would be written in parts are better stored by spans although all
    /// rows start on vectors.
    pub many_split_bytes: usize,
    /// The rows that go with it.
    pub many_split_rows: usize,
}

/// Compute capability 9.0, measured on an H200.
const HOPPER: Tuning = Tuning {
    beyond_cache: 32 << 20,
    few_blocks: 8,
    large: 256 << 20,
    micro_blocks_per_multiprocessor: [2, 2, 4, 0, 5],
    far_rows: 128 << 10,
    pair_distance: 16 << 10,
    many: 1024,
    long_row: 1280,
    least: [[64, 104], [64, 64], [28, 64], [48, 64], [20, 32]],
    least_cols_past_sectors: [180, 112, 129, 64, 32],
    least_anywhere: [[256, 180], [128, 176], [64, 64], [40, 32], [16, 16]],
    many_split_bytes: 80 << 20,
    many_split_rows: 1000,
};

impl Tuning {
    /// The numbers for a chip. Only compute capability 9.0 was measured: the others get its numbers until somebody measures theirs.
    pub fn of(_capability: (i32, i32)) -> &'static Tuning {
        const { &HOPPER }
    }

    /// What a table with a number for each word says of a word.
    pub fn by_word<T: Copy>(table: &[T; 5], word: Width) -> T {
        table[word as usize]
    }

    /// How full, in 32nds, the tiles across more columns than one of them has must be. `aligned` is whether all rows start on vectors,
    /// `on_sectors` whether the source's start on sectors.
    pub fn least_full(&self, word: Width, aligned: bool, on_sectors: bool) -> usize {
        match (word, aligned, on_sectors) {
            (Width::B16, true, _) | (_, true, false) => 31,
            (_, true, true) | (Width::B4 | Width::B8 | Width::B16, false, _) => 28,
            (Width::B1 | Width::B2, false, _) => 24,
        }
    }
}
