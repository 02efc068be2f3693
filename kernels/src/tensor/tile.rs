//! What kernels know of their tile: where it starts and how much of it there is ([`Place`]), where its rows and columns lie ([`Offsets`]), what may be loaded
//! of the source ([`Source`]), and where shared memory holds its words ([`Tile`]).

use super::axes::{divide, elsewhere, elsewhere_of_few, steps, unrolled};
use crate::element::{Element, B16};
use core::marker::PhantomData;
use cuda_std::thread;
use kernel_abi::fast::{SECTOR, VECTOR, WARP};
use kernel_abi::tensor::{Loading, Run, Tiles, MOST_BLOCK_AXES};

/// Words of a vector.
pub const fn per_vector<E>() -> u32 {
    VECTOR / size_of::<E>() as u32
}

/// Where a block's tile starts, and how much of it there is.
#[derive(Clone, Copy)]
pub struct Place {
    /// Words of the source before it.
    from: u64,
    /// Words of the destination before it.
    pub to: u64,
    /// Its rows: words of a column, early ones as well.
    pub rows: u32,
    /// Its columns: words of a row.
    pub cols: u32,
    /// How many of its rows are early.
    early: u32,
    /// Whether another tile goes on behind its last row, which has early rows.
    goes_on: bool,
}

impl Place {
    /// That of this block.
    #[inline(always)]
    pub fn of_block(params: &Tiles) -> Self {
        let (mut from, mut to) = (0u64, 0u64);
        // Which of the tiles of its runs it is.
        let (mut row_tile, mut col_tile) = (0, 0);
        let mut rest = thread::block_idx_x();
        unrolled! { AXIS in [0 1 2 3 4 5 6 7 8 9] of params.count => {
            const { assert!(MOST_BLOCK_AXES == 10) };
            let axis = &params.blocks[AXIS];
            let (quotient, index) = divide(rest, axis.divisor);
            from = from.wrapping_add(steps(index, axis.src));
            to = to.wrapping_add(steps(index, axis.dst));
            if AXIS as u32 == params.rows.axis as u32 {
                row_tile = index;
            }
            if AXIS as u32 == params.cols.axis as u32 {
                col_tile = index;
            }
            rest = quotient;
        } }
        let _ = rest;
        let left = |run: &Run, tile: u32| run.all as u32 - tile * run.tile as u32;
        let (rows_left, cols_left) = (left(&params.rows, row_tile), left(&params.cols, col_tile));
        let (rows, cols) = (params.rows.tile as u32, params.cols.tile as u32);
        let (goes_on, cols) = (rows_left > rows, cols.min(cols_left));
        let mut place = Place { from, to, rows: rows.min(rows_left), cols, early: 0, goes_on };
        if params.early != 0 && row_tile > 0 {
            place.early = params.early as u32;
            place.rows += place.early;
            place.from = from.wrapping_sub(params.early_from);
            place.to = to.wrapping_sub(place.early as u64);
        }
        place
    }

    /// Has the block's last warp find its place and store it at `at`, for the others to be [told](Self::told): finding it takes a division for each axis.
    ///
    /// # Safety
    /// `at` is a multiple of 16, and [`PLACE_BYTES`](kernel_abi::tensor::PLACE_BYTES) bytes of shared memory there are used by nothing else; a barrier separates this from [`Self::told`].
    #[inline(always)]
    pub unsafe fn tell(params: &Tiles, at: u32) {
        if thread::thread_idx_x() / WARP + 1 != thread::block_dim_x() / WARP {
            return;
        }
        let Place { from, to, rows, cols, early, goes_on } = Self::of_block(params);
        if thread::thread_idx_x().is_multiple_of(WARP) {
            // SAFETY: the caller's obligations; no other thread stores it.
            unsafe {
                B16(from as u32, (from >> 32) as u32, rows, cols).store_shared(at);
                B16(to as u32, (to >> 32) as u32, early, goes_on as u32).store_shared(at + VECTOR);
            }
        }
    }

    /// Of what [`Self::tell`] stored at `at`, what loading the tile takes.
    ///
    /// # Safety
    /// A barrier has separated that from this.
    #[inline(always)]
    pub unsafe fn told_to_load(at: u32) -> Self {
        // SAFETY: the caller's obligations.
        let B16(low, high, rows, cols) = unsafe { B16::load_shared(at) };
        let from = low as u64 | (high as u64) << 32;
        Place { from, to: 0, rows, cols, early: 0, goes_on: false }
    }

    /// What [`Self::tell`] stored at `at`. (Asked for behind the second barrier, it takes no registers while the tile is loaded.)
    ///
    /// # Safety
    /// That of [`Self::told_to_load`].
    #[inline(always)]
    pub unsafe fn told(at: u32) -> Self {
        // SAFETY: the caller's obligations.
        let (place, B16(low, high, early, goes_on)) =
            unsafe { (Self::told_to_load(at), B16::load_shared(at + VECTOR)) };
        let to = low as u64 | (high as u64) << 32;
        Place { to, early, goes_on: goes_on != 0, ..place }
    }

    /// The rows that are kept of a column: of narrow words whole vectors, what is behind the last row being anything.
    #[inline(always)]
    pub fn kept_rows<E>(&self) -> u32 {
        match size_of::<E>() {
            1 | 2 => self.rows.next_multiple_of(per_vector::<E>()),
            _ => self.rows,
        }
    }

    /// The rows that the tile stores of a column whose first one goes to `to`, and behind the last of them.
    #[inline(always)]
    pub fn stored<E>(&self, to: *mut E, params: &Tiles) -> (u32, u32) {
        self.meeting(params, |row| {
            // Words of the sector that the row lies in, before it.
            let size = size_of::<E>() as u32;
            (to as u64 as u32).wrapping_add(row * size) % SECTOR / size
        })
    }

    /// The rows that the tile stores of a column, and behind the last of them, where tiles meet on borders in the destination; `before` says how many words there are between a row and the border before it.
    #[inline(always)]
    pub fn meeting(&self, params: &Tiles, before: impl Fn(u32) -> u32) -> (u32, u32) {
        if params.early == 0 {
            return (0, self.rows);
        }
        let first = if self.early > 0 { self.early - before(self.early) } else { 0 };
        (first, if self.goes_on { self.rows - before(self.rows) } else { self.rows })
    }

    /// Whether the columns that the tile [stores](Self::stored) may start inside sectors, and whether they may end inside some.
    #[inline(always)]
    pub fn are_inside_sectors(&self, params: &Tiles) -> (bool, bool) {
        let meet = params.early != 0;
        (!(meet && self.early > 0), !(meet && self.goes_on))
    }
}

/// Words of the runs, of rows and of columns, before this block's tile, where tiles go across axes, as those of 2, 4 and 8 bytes may; else 0.
#[inline(always)]
fn words_before<E>(params: &Tiles) -> (u32, u32) {
    let are_across = (params.rows.axis | params.cols.axis) >> 32 != 0;
    if !matches!(size_of::<E>(), 2 | 4 | 8) || !are_across {
        return (0, 0);
    }
    let each = |run: &Run| (run.axis >> 32) as u32;
    let (mut rows, mut cols) = (0, 0);
    let mut rest = thread::block_idx_x();
    unrolled! { AXIS in [0 1 2 3 4 5 6 7 8 9] of params.count => {
        const { assert!(MOST_BLOCK_AXES == 10) };
        let (quotient, index) = divide(rest, params.blocks[AXIS].divisor);
        if AXIS as u32 == params.rows.axis as u32 {
            rows = index * each(&params.rows);
        }
        if AXIS as u32 == params.cols.axis as u32 {
            cols = index * each(&params.cols);
        }
        rest = quotient;
    } }
    let _ = rest;
    (rows, cols)
}

/// Where the rows of a tile start in the source, and its columns in the destination: two tables in shared memory, in bytes from where
/// the tile starts.
///
/// An offset takes a division for each axis of a run, and is needed by many threads. A tile that goes across axes starts inside an index of its run's slower ones,
/// so each has offsets of its own, and its place says nothing of that run's other side.
#[derive(Clone, Copy)]
pub struct Offsets {
    /// The table of rows.
    pub rows: u32,
    /// The table of columns.
    pub cols: u32,
    /// Behind both.
    pub end: u32,
}

impl Offsets {
    /// Bytes of an offset.
    pub const BYTES: u32 = size_of::<u64>() as u32;

    /// The tables at `base`, for rows and columns of a whole tile.
    ///
    /// # Safety
    /// There is shared memory for them, which nothing else uses; a barrier separates this from [`Self::of`].
    #[inline(always)]
    pub unsafe fn fill<E>(params: &Tiles, base: u32) -> Self {
        let rows = params.rows.tile as u32 + params.early as u32;
        let cols = params.cols.tile as u32;
        let (rows_before, cols_before) = words_before::<E>(params);
        let mut index = thread::thread_idx_x();
        while index < rows + cols {
            let of = |run: &Run, index: u32| match size_of::<E>() {
                1 | 2 => elsewhere_of_few(run, index),
                _ => elsewhere(run, index),
            };
            let words = if index < rows {
                of(&params.rows, rows_before + index)
            } else {
                of(&params.cols, cols_before + index - rows)
            };
            // SAFETY: an entry of the tables, which no other thread has.
            unsafe {
                words.wrapping_mul(size_of::<E>() as u64).store_shared(base + index * Self::BYTES);
            }
            index += thread::block_dim_x();
        }
        let cols_at = base + rows * Self::BYTES;
        Offsets { rows: base, cols: cols_at, end: cols_at + cols * Self::BYTES }
    }

    /// An entry of one of the tables.
    ///
    /// # Safety
    /// There is such an entry, and a barrier has separated its store from this.
    #[inline(always)]
    pub unsafe fn of(table: u32, index: u32) -> u64 {
        // SAFETY: the caller's obligations.
        unsafe { u64::load_shared(table + index * Self::BYTES) }
    }
}

/// The source: what may be loaded of it.
#[derive(Clone, Copy)]
pub struct Source<E> {
    /// Where the tile starts.
    pub tile: *const E,
    /// The lowest word's address.
    first: u64,
    /// Bytes from there to behind the highest word.
    reach: u64,
}

impl<E> Source<E> {
    /// That of a block's place.
    #[inline(always)]
    pub fn new(src: *const E, place: Place, params: &Tiles) -> Self {
        Source {
            tile: src.wrapping_add(place.from as usize),
            first: (src as u64).wrapping_add(params.lowest),
            reach: params.reach,
        }
    }

    /// Where the word of a column is of a row that starts so many bytes from where the tile does.
    #[inline(always)]
    pub fn address(&self, row: u64, col: u32) -> u64 {
        self.tile.wrapping_byte_add(row as usize).wrapping_add(col as usize) as u64
    }

    /// Whether the `bytes` bytes at `address` lie between the lowest word and the highest.
    #[inline(always)]
    pub fn holds(&self, address: u64, bytes: u32) -> bool {
        self.reach >= bytes as u64 && address.wrapping_sub(self.first) <= self.reach - bytes as u64
    }
}

/// Whether columns of every [tile](Tile) of a kernel that only moves have padding between them. (With it the assembler would spill words of 16 bytes on some chips; of narrow words only some tiles have it.)
pub const fn is_padded<E>() -> bool {
    matches!(size_of::<E>(), 4 | 8)
}

/// A tile in shared memory, transposed.
#[derive(Clone, Copy)]
pub struct Tile<E> {
    base: u32,
    /// Bytes from one column to the next.
    pitch: u32,
    /// Bytes behind the columns of each vector of a row.
    padding: u32,
    element: PhantomData<E>,
}

impl<E> Tile<E> {
    /// The tile at `base`.
    #[inline(always)]
    pub fn new(base: u32, params: &Tiles) -> Self {
        let (pitch, padding) = (params.pitch as u32, (params.pitch >> 32) as u32);
        Tile { base, pitch, padding, element: PhantomData }
    }

    /// Bytes from one column to the next, of those of a vector of a row.
    #[inline(always)]
    pub fn pitch(&self) -> u32 {
        self.pitch
    }

    /// Where word `row` of column `col` is kept, which thread `vector` of each row has loaded: in a tile whose vectors are turned.
    #[inline(always)]
    pub fn address(&self, row: u32, col: u32, vector: u32) -> u32 {
        let byte = row * size_of::<E>() as u32;
        let kept = (byte / VECTOR) ^ (vector % 8);
        self.base + col * self.pitch + kept * VECTOR + byte % VECTOR
    }

    /// Where that word is kept in a tile whose vectors are `TURNED` for sure, as those of kernels that compute, or in any other. Of narrow words `vector` is which [vector](turn) of a row has the column: it has turned the
    /// column's, or there is padding behind the columns of each. (A branch would order the instructions of words of 16 bytes anew.)
    #[inline(always)]
    pub fn kept<const TURNED: bool>(&self, row: u32, col: u32, vector: u32) -> u32 {
        if const { size_of::<E>() < 4 && !TURNED } {
            let turn = if self.padding == 0 { vector } else { 0 };
            return self.address(row, col, turn) + vector * self.padding;
        }
        let is_padded = const { (is_padded::<E>() && !TURNED) as u32 };
        let padding = col / per_vector::<E>() * (self.padding * is_padded);
        self.address(row, col, vector * (1 - is_padded)) + padding
    }
}

/// The thread of each row that has loaded a column.
#[inline(always)]
pub fn loader<E>(params: &Tiles, col: u32) -> u32 {
    if params.loading as u32 == Loading::Words as u32 {
        divide(col, params.row_vectors).1
    } else {
        col / per_vector::<E>()
    }
}

/// What the words of a column are [kept by](Tile::address), where nothing is computed on the way: of narrow words, which vector or unit of a row has the
/// column; of others its [`loader`].
#[inline(always)]
pub fn turn<E>(params: &Tiles, col: u32) -> u32 {
    if size_of::<E>() >= 4 {
        return loader::<E>(params, col);
    }
    let loading = params.loading as u32;
    let bytes = if loading == Loading::Fours as u32 {
        4
    } else if loading == Loading::Eights as u32 {
        8
    } else {
        VECTOR
    };
    let of_unit = bytes / size_of::<E>() as u32;
    col >> of_unit.trailing_zeros()
}
