//! Moves whose fastest axis changes: through a transposed tile.
//!
//! A tile is a matrix. Its rows' words lie together in the source, its columns' in the destination; where the rows start, and where the
//! columns go to, is in two tables in shared memory that each block begins by filling ([`Offsets`]):
//!
//! ```text
//! row r, column c of a tile:   src[from + source(r) + c]   →   dst[to + destination(c) + r]
//! ```
//!
//! A thread loads the same vector of up to four consecutive rows, transposes that micro-block in registers, and stores its columns to
//! a transposed tile in shared memory, whose columns are then stored to the destination, as vectors too.
//!
//! # Rows that start anywhere
//! Where rows do not all start on a vector, the words of a thread's vector are not neighbours but as far apart as a row has vectors:
//! the threads of a warp then load neighbouring words. Where columns do not, each lane stores a word.
//!
//! # Banks
//! The tile's columns are a multiple of 128 bytes apart. Vector `k` of the columns that the `v`-th thread of a row has is kept at `k ^ v mod
//! 8`: eight neighbouring threads store to eight different groups of banks, and who reads a column meets each of its vectors once.

use super::axes::{divide, elsewhere, steps, unrolled};
use super::tensor_entry;
use super::vector::Word;
use crate::element::{Element, B16};
use crate::global::{load_vector, store_vector};
use crate::launch::at_most_registers;
use crate::micro_block::MicroBlock;
use core::marker::PhantomData;
use cuda_std::thread;
use kernel_abi::fast::VECTOR;
use kernel_abi::tensor::{Run, TileShape, Tiles, MOST_BLOCK_AXES};
use kernel_abi::Width;

/// Vectors that a thread loads: all of its micro-blocks.
const LOADS: usize = 4;

/// Words of a vector.
const fn per_vector<E>() -> u32 {
    VECTOR / size_of::<E>() as u32
}

/// Where a block's tile starts, and how much of it there is.
#[derive(Clone, Copy)]
struct Place {
    /// Words of the source before it.
    from: u64,
    /// Words of the destination before it.
    to: u64,
    /// Its rows: words of a column.
    rows: u32,
    /// Its columns: words of a row.
    cols: u32,
}

impl Place {
    /// That of this block.
    #[inline(always)]
    fn of_block(params: &Tiles) -> Self {
        let left = |run: &Run, index: u32| {
            let (all, tile) = (run.all as u32, run.tile as u32);
            (all - index * tile).min(tile)
        };
        let mut place =
            Place { from: 0, to: 0, rows: left(&params.rows, 0), cols: left(&params.cols, 0) };
        let mut rest = thread::block_idx_x();
        unrolled! { AXIS in [0 1 2 3 4 5 6 7 8 9] of params.count => {
            const { assert!(MOST_BLOCK_AXES == 10) };
            let axis = &params.blocks[AXIS];
            let (quotient, index) = divide(rest, axis.divisor);
            place.from = place.from.wrapping_add(steps(index, axis.src));
            place.to = place.to.wrapping_add(steps(index, axis.dst));
            if AXIS as u32 == params.rows.axis as u32 {
                place.rows = left(&params.rows, index);
            }
            if AXIS as u32 == params.cols.axis as u32 {
                place.cols = left(&params.cols, index);
            }
            rest = quotient;
        } }
        let _ = rest;
        place
    }
}

/// A tile in shared memory, transposed.
#[derive(Clone, Copy)]
struct Tile<E> {
    base: u32,
    /// Bytes from one column to the next.
    pitch: u32,
    element: PhantomData<E>,
}

impl<E> Tile<E> {
    /// Where word `row` of column `col` is kept, which thread `vector` of each row has loaded.
    #[inline(always)]
    fn address(&self, row: u32, col: u32, vector: u32) -> u32 {
        let byte = row * size_of::<E>() as u32;
        let kept = (byte / VECTOR) ^ (vector % 8);
        self.base + col * self.pitch + kept * VECTOR + byte % VECTOR
    }
}

/// Where the rows of a tile start in the source, and its columns in the destination: two tables in shared memory, in bytes from where
/// the tile starts.
///
/// An offset takes a division for each axis of a run, and is needed by many threads.
#[derive(Clone, Copy)]
struct Offsets {
    rows: u32,
    cols: u32,
}

impl Offsets {
    /// Bytes of an offset.
    const BYTES: u32 = size_of::<u64>() as u32;

    /// The tables at `base`, for rows and columns of a whole tile.
    ///
    /// # Safety
    /// There is shared memory for them, which nothing else uses; a barrier separates this from [`Self::of`].
    #[inline(always)]
    unsafe fn fill<E>(params: &Tiles, base: u32) -> Self {
        let (rows, cols) = (params.rows.tile as u32, params.cols.tile as u32);
        let mut index = thread::thread_idx_x();
        while index < rows + cols {
            let words = if index < rows {
                elsewhere(&params.rows, index)
            } else {
                elsewhere(&params.cols, index - rows)
            };
            // SAFETY: an entry of the tables, which no other thread has.
            unsafe {
                words.wrapping_mul(size_of::<E>() as u64).store_shared(base + index * Self::BYTES);
            }
            index += thread::block_dim_x();
        }
        Offsets { rows: base, cols: base + rows * Self::BYTES }
    }

    /// An entry of one of the tables.
    ///
    /// # Safety
    /// There is such an entry, and a barrier has separated its store from this.
    #[inline(always)]
    unsafe fn of(table: u32, index: u32) -> u64 {
        // SAFETY: the caller's obligations.
        unsafe { u64::load_shared(table + index * Self::BYTES) }
    }
}

/// Moves one tile, of which each thread has `BLOCKS` micro-blocks of `R` rows.
///
/// # Safety
/// The obligations of the entry points; `base` is the shared-memory address of the tile and the tables behind it.
#[inline(always)]
unsafe fn move_tile<E: MicroBlock<R> + Word, const R: usize, const BLOCKS: usize>(
    src: *const E,
    dst: *mut E,
    params: &Tiles,
    base: u32,
) {
    let tile = Tile::<E> { base, pitch: params.pitch as u32, element: PhantomData };
    // SAFETY: the caller's obligations, and the barriers between what is stored to shared memory and what is loaded from there.
    unsafe {
        let offsets = Offsets::fill::<E>(params, base + params.tile as u32);
        let place = Place::of_block(params);
        let bytes = |words: u64| words.wrapping_mul(size_of::<E>() as u64);
        let (src, dst) = (src as u64, dst as u64);
        thread::sync_threads();
        load::<E, R, BLOCKS>(src.wrapping_add(bytes(place.from)), params, offsets, tile, place);
        thread::sync_threads();
        let dst = dst.wrapping_add(bytes(place.to));
        if params.lanes == 0 {
            store_vectors(dst, params, offsets, tile, place);
        } else {
            store_words(dst, params, offsets, tile, place);
        }
    }
}

/// Loads a tile and transposes it into shared memory.
///
/// # Safety
/// Those of [`move_tile`]; a barrier separates this from what filled the tables.
#[inline(always)]
unsafe fn load<E: MicroBlock<R> + Word, const R: usize, const BLOCKS: usize>(
    src: u64,
    params: &Tiles,
    offsets: Offsets,
    tile: Tile<E>,
    place: Place,
) {
    let size = size_of::<E>() as u32;
    let (vectors, aligned) = (params.row_vectors as u32, params.src_vectors != 0);
    // The first word of a thread's vector of a row, and how far the next is from it.
    let spread = |vector: u32| {
        if aligned {
            (vector * per_vector::<E>(), 1)
        } else {
            (vector, vectors)
        }
    };
    let place_of = |k: usize| {
        let (group, vector) =
            divide(thread::thread_idx_x() + k as u32 * thread::block_dim_x(), params.row_vectors);
        (group * R as u32, vector)
    };
    const { assert!(R * BLOCKS == LOADS) };
    let mut held = [B16::ANY; LOADS];
    unrolled! { LOAD in [0 1 2 3] of LOADS => {
        let (first_row, vector) = place_of(LOAD / R);
        let row = first_row + (LOAD % R) as u32;
        let (first, step) = spread(vector);
        if row < place.rows {
            // SAFETY: words of the source, and an aligned vector where all rows start on one.
            held[LOAD] = unsafe {
                let from = src.wrapping_add(Offsets::of(offsets.rows, row));
                let from = from.wrapping_add((first * size) as u64);
                if aligned && first + per_vector::<E>() <= place.cols {
                    load_vector(from)
                } else {
                    E::vector(|j| {
                        if first + j * step < place.cols {
                            E::load(from.wrapping_add((j * step * size) as u64) as *const E)
                        } else {
                            E::ANY
                        }
                    })
                }
            };
        }
    } }
    for k in 0..BLOCKS {
        let (row, vector) = place_of(k);
        let (first, step) = spread(vector);
        if row < place.rows {
            let at = tile.address(row, first, vector);
            // SAFETY: no two threads have a micro-block in common, and the tile has its columns.
            unsafe {
                let block = core::array::from_fn(|i| held[k * R + i]);
                E::store_columns(block, at, step * tile.pitch);
            }
        }
    }
}

/// The thread of each row that has loaded a column.
#[inline(always)]
fn loader<E>(params: &Tiles, col: u32) -> u32 {
    if params.src_vectors != 0 {
        col / per_vector::<E>()
    } else {
        divide(col, params.row_vectors).1
    }
}

/// Stores a transposed tile whose columns all start on a vector of the destination.
///
/// # Safety
/// Those of [`move_tile`], and that a barrier separates this from [`load`].
#[inline(always)]
unsafe fn store_vectors<E: Element>(
    dst: u64,
    params: &Tiles,
    offsets: Offsets,
    tile: Tile<E>,
    place: Place,
) {
    let mut number = thread::thread_idx_x();
    loop {
        let (col, vector) = divide(number, params.col_vectors);
        if col >= place.cols {
            break;
        }
        let row = vector * per_vector::<E>();
        let from = tile.address(row, col, loader::<E>(params, col));
        // SAFETY: words of the destination, and a whole vector where there is one.
        unsafe {
            let to = dst.wrapping_add(Offsets::of(offsets.cols, col));
            let to = to.wrapping_add((row * size_of::<E>() as u32) as u64);
            if row + per_vector::<E>() <= place.rows {
                store_vector(to, B16::load_shared(from));
            } else if row < place.rows {
                for i in 0..place.rows - row {
                    let word = E::load_shared(from + i * size_of::<E>() as u32);
                    word.store((to as *mut E).wrapping_add(i as usize));
                }
            }
        }
        number += thread::block_dim_x();
    }
}

/// Stores a transposed tile, a word a lane.
///
/// # Safety
/// As [`store_vectors`].
#[inline(always)]
unsafe fn store_words<E: Element>(
    dst: u64,
    params: &Tiles,
    offsets: Offsets,
    tile: Tile<E>,
    place: Place,
) {
    let lanes = params.lanes as u32;
    let (lane, mut col) =
        (thread::thread_idx_x() & ((1 << lanes) - 1), thread::thread_idx_x() >> lanes);
    while col < place.cols {
        // SAFETY: a column that there is.
        let to = unsafe { dst.wrapping_add(Offsets::of(offsets.cols, col)) as *mut E };
        let vector = loader::<E>(params, col);
        let mut row = lane;
        while row < place.rows {
            // SAFETY: a word of the destination, which no other thread has.
            unsafe {
                E::load_shared(tile.address(row, col, vector)).store(to.wrapping_add(row as usize));
            }
            row += 1 << lanes;
        }
        col += thread::block_dim_x() >> lanes;
    }
}

/// Defines one entry point.
macro_rules! tiles {
    ($name:ident: $element:ty, $width:ident) => {
        tensor_entry! {
            "Moves tiles of what lies together in the source by what lies together in the destination.",
            TILES: Tiles, $name: $element, |src, dst, params| {
                const SHAPE: TileShape = TileShape::of(Width::$width);
                at_most_registers::<32>();
                let memory = cuda_std::shared::dynamic_shared_mem::<u8>();
                let base = crate::tile::shared_address(memory);
                move_tile::<
                    $element,
                    { SHAPE.block_rows as usize },
                    { SHAPE.micro_blocks as usize },
                >(src, dst, &params, base)
            }
        }
    };
}

tiles!(tiles_b1: u8, B1);
tiles!(tiles_b2: u16, B2);
tiles!(tiles_b4: u32, B4);
tiles!(tiles_b8: u64, B8);
tiles!(tiles_b16: B16, B16);
