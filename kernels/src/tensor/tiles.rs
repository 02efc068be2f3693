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
//! the threads of a warp then load neighbouring words. Where columns do not, each lane stores a word. Words of less than 4 bytes would be
//! too many: a thread slides its vector out of two, and a lane stores a vector; or both move 4 or 8 bytes, if all rows, or columns, start and end on those.
//!
//! # Whole sectors
//! Where columns do not all start on a sector, the border between two tiles would lie inside one in most columns, and its two parts would be stored
//! at different times. So tiles have a few rows more, *early* ones, which the tile before has as well; and of each column a tile stores what lies between
//! the sector that its own first row lies in, and the next one's ([`Place::stored`]).
//!
//! # Banks
//! Neighbouring threads store vectors of columns that a row's neighbouring vectors have, and load neighbouring vectors of a column. All banks are eight vectors wide, so eight
//! threads meet in none if the places of what they store are, modulo eight vectors, all different.
//!
//! - *Padding*, in tiles of words of 4 and 8 bytes: a column follows the one before, and behind the columns of each vector of a row there is a vector of padding, so that threads
//!   store an odd number of vectors apart; what they load lies together but for the padding. Where rows are loaded word by word, neighbouring threads have neighbouring
//!   columns, and each column is an odd number of vectors. (Of rows of two vectors the step is an odd number of halves of all banks, of four an odd number of quarters.)
//!   So a tile takes little more shared memory than it has words, and the more is left to the cache for what is on its way.
//! - *Padding* too, in tiles of narrow words whose columns would else have other bytes between them: columns of whole vectors behind each other, and a vector behind those of each vector of a row.
//! - *Turned vectors*, in all other tiles, and in those of kernels that compute: columns are a multiple of 128 bytes apart, and vector `k` of the columns that the `v`-th thread of
//!   a row has, or that are the row's `v`-th unit, is kept at `k ^ v mod 8`. Who reads a column meets each of its vectors once.

use super::axes::{divide, unrolled};
use super::on_the_way::{AsTheyAre, Flipped, OnTheWay};
use super::tensor_entry;
use super::tile::{is_padded, per_vector, turn, Offsets, Place, Source, Tile};
use super::tile_columns::store_columns;
use super::tile_rows::load_rows;
use super::tile_units::{load_units, store_units};
use super::vector::Word;
use crate::element::{Element, B16};
use crate::global::{fetch_ends, load_vector, store_vector};
use crate::launch::{at_most_registers, is_hopper, never_more_registers};
use crate::micro_block::MicroBlock;
use cuda_std::thread;
use kernel_abi::fast::VECTOR;
use kernel_abi::tensor::{Loading, TileShape, Tiles, PLACE_BYTES};
use kernel_abi::Width;

/// Vectors that a thread loads: all of its micro-blocks.
const LOADS: usize = 4;

/// Moves one tile, of which each thread has `BLOCKS` micro-blocks of `R` rows.
///
/// # Safety
/// The obligations of the entry points.
#[inline(always)]
unsafe fn move_tile<E: MicroBlock<R> + Word, const R: usize, const BLOCKS: usize>(
    src: *const E,
    dst: *mut E,
    params: &Tiles,
    on_the_way: impl OnTheWay<E>,
) {
    // Left to itself the assembler stops at 48 for vectors, and at 40 for narrow words on some chips, and spills; and takes 54 and more for other words, which need no
    // more than 40.
    match size_of::<E>() {
        16 => never_more_registers::<56>(),
        1 | 2 if !is_hopper() => never_more_registers::<56>(),
        _ => at_most_registers::<40>(),
    }
    let memory = cuda_std::shared::dynamic_shared_mem::<u8>();
    // SAFETY: the caller's obligations, and the barriers between what is stored to shared memory and what is loaded from there.
    unsafe {
        let base = crate::tile::shared_address(memory);
        let tile = Tile::<E>::new(base, params);
        let behind = base + params.tile as u32;
        // Of the instructions in front of the first barrier most find the tile's place: one warp does, but of words of 16 bytes, of which nothing is transposed in registers.
        let is_told = size_of::<E>() < VECTOR as usize;
        let tables = if is_told { behind + PLACE_BYTES } else { behind };
        let offsets = Offsets::fill::<E>(params, tables);
        let found = if is_told {
            Place::tell(params, behind);
            None
        } else {
            Some(Place::of_block(params))
        };
        thread::sync_threads();
        let place = found.unwrap_or_else(|| Place::told_to_load(behind));
        let source = Source::new(src, place, params);
        let all = || found.unwrap_or_else(|| Place::told(behind));
        let found_dst = dst.wrapping_add(place.to as usize);
        // What is told to load says nothing of the destination.
        let to =
            |place: Place| if is_told { dst.wrapping_add(place.to as usize) } else { found_dst };
        if params.fetch != 0 {
            let place = all();
            fetch_columns(to(place), params, offsets, place);
        }
        load::<E, R, BLOCKS, false>(source, params, on_the_way, offsets, tile, place);
        thread::sync_threads();
        let place = all();
        let dst = to(place);
        if size_of::<E>() == VECTOR as usize || params.lanes == 0 {
            store_vectors(dst, params, offsets, tile, place);
        } else if size_of::<E>() < 4 {
            match params.lanes as u32 {
                4 => store_units::<E, 16>(dst, params, offsets, tile, place),
                3 => store_units::<E, 8>(dst, params, offsets, tile, place),
                2 => store_units::<E, 4>(dst, params, offsets, tile, place),
                _ => store_columns(dst, params, offsets, tile, place),
            }
        } else {
            store_words(dst, params, offsets, tile, place);
        }
    }
}

/// Loads a tile and transposes it into shared memory: of a kernel that only moves, or `ALONE`, of one that computes, which loads no units. Of columns there is what [`Place::kept_rows`] says.
///
/// # Safety
/// Those of [`move_tile`]; a barrier separates this from what filled the tables.
#[inline(always)]
pub unsafe fn load<
    E: MicroBlock<R> + Word,
    const R: usize,
    const BLOCKS: usize,
    const ALONE: bool,
>(
    source: Source<E>,
    params: &Tiles,
    on_the_way: impl OnTheWay<E>,
    offsets: Offsets,
    tile: Tile<E>,
    place: Place,
) {
    let loading = params.loading as u32;
    let by_words = loading == Loading::Words as u32;
    if !ALONE && size_of::<E>() < 4 && loading == Loading::Fours as u32 {
        // SAFETY: the caller's obligations; threads have a micro-block of narrow words, and rows start and end on units.
        return unsafe { load_units::<E, 4>(source, params, offsets, tile, place) };
    }
    if !ALONE && size_of::<E>() < 4 && loading == Loading::Eights as u32 {
        // SAFETY: what holds for units of 4 bytes holds for those of 8, on which rows start and end here.
        return unsafe { load_units::<E, 8>(source, params, offsets, tile, place) };
    }
    if size_of::<E>() < 4 {
        // SAFETY: the caller's obligations; threads have a micro-block of narrow words, and all of the block come here.
        return unsafe {
            if loading == Loading::Slid as u32 {
                load_rows::<E, R, true, true>(source, params, on_the_way, offsets, tile, place)
            } else {
                load_rows::<E, R, false, ALONE>(source, params, on_the_way, offsets, tile, place)
            }
        };
    }
    // The first word of a thread's vector of a row, and how far the next is from it.
    let spread = |vector: u32| {
        if by_words {
            (vector, params.row_vectors as u32)
        } else {
            (vector * per_vector::<E>(), 1)
        }
    };
    let place_of = |k: usize| {
        let number = thread::thread_idx_x() + k as u32 * thread::block_dim_x();
        let (group, vector) = divide(number, params.row_vectors);
        (group * R as u32, vector)
    };
    const { assert!(R * BLOCKS == LOADS) };
    let mut held = [B16::ANY; LOADS];
    unrolled! { LOAD in [0 1 2 3] of LOADS => {
        let (first_row, vector) = place_of(LOAD / R);
        let row = first_row + (LOAD % R) as u32;
        let (first, step) = spread(vector);
        if row < place.rows && first < place.cols {
            // SAFETY: an entry of the table; words of the source, and aligned vectors of what lies between its words.
            held[LOAD] = unsafe {
                let from = source.tile.wrapping_byte_add(Offsets::of(offsets.rows, row) as usize);
                let from = from.wrapping_add(first as usize);
                let past = from as u64 as u32 % VECTOR;
                let aligned = from as u64 - past as u64;
                // A word of 16 bytes is a vector.
                if size_of::<E>() == VECTOR as usize {
                    load_vector(from as u64)
                } else if !by_words && past == 0 && source.holds(aligned, VECTOR) {
                    load_vector(aligned)
                } else {
                    E::vector(|j| {
                        if first + j * step < place.cols {
                            E::load(from.wrapping_add((j * step) as usize))
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
            let at = tile.kept::<ALONE>(row, first, vector);
            // SAFETY: no two threads have a micro-block in common, and the tile has its columns.
            unsafe {
                let block = core::array::from_fn(|i| on_the_way.vector(held[k * R + i]));
                E::store_columns(block, at, step * tile.pitch());
            }
        }
    }
}

/// Fetches the sectors of the destination that columns start and end inside.
///
/// # Safety
/// Those of [`move_tile`]; a barrier separates this from what filled the tables.
#[inline(always)]
unsafe fn fetch_columns<E>(dst: *mut E, params: &Tiles, offsets: Offsets, place: Place) {
    let mut col = thread::thread_idx_x();
    while col < place.cols {
        // SAFETY: a column that there is, and its words of the destination.
        unsafe {
            let to = dst.wrapping_byte_add(Offsets::of(offsets.cols, col) as usize);
            let (first, end) = place.stored(to, params);
            let first_to = to.wrapping_add(first as usize);
            fetch_ends(first_to as u64, (end - first) * size_of::<E>() as u32, params.fetch);
        }
        col += thread::block_dim_x();
    }
}

/// Stores a transposed tile whose columns all start on a vector of the destination.
///
/// # Safety
/// Those of [`move_tile`], and that a barrier separates this from [`load`].
#[inline(always)]
unsafe fn store_vectors<E: Element>(
    dst: *mut E,
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
        let from = if is_padded::<E>() {
            tile.kept::<false>(row, col, 0)
        } else {
            tile.kept::<false>(row, col, turn::<E>(params, col))
        };
        // SAFETY: a column that there is, words of the destination, and a whole vector where there is one.
        unsafe {
            let to = dst.wrapping_byte_add(Offsets::of(offsets.cols, col) as usize);
            let to = to.wrapping_add(row as usize);
            if row + per_vector::<E>() <= place.rows {
                store_vector(to as u64, B16::load_shared(from));
            } else if row < place.rows {
                for i in 0..place.rows - row {
                    let word = E::load_shared(from + i * size_of::<E>() as u32);
                    word.store(to.wrapping_add(i as usize));
                }
            }
        }
        number += thread::block_dim_x();
    }
}

/// Stores a transposed tile word by word.
///
/// # Safety
/// As [`store_vectors`].
#[inline(always)]
unsafe fn store_words<E: Element>(
    dst: *mut E,
    params: &Tiles,
    offsets: Offsets,
    tile: Tile<E>,
    place: Place,
) {
    let lanes = params.lanes as u32;
    let (lane, mut col) = (thread::thread_idx_x() % (1 << lanes), thread::thread_idx_x() >> lanes);
    while col < place.cols {
        // SAFETY: a column that there is, and its place in the destination, which no other threads have.
        unsafe {
            let to = dst.wrapping_byte_add(Offsets::of(offsets.cols, col) as usize);
            let (first, end) = place.stored(to, params);
            let mut row = first + lane;
            while row < end {
                let word = E::load_shared(tile.kept::<false>(row, col, 0));
                word.store(to.wrapping_add(row as usize));
                row += 1 << lanes;
            }
        }
        col += thread::block_dim_x() >> lanes;
    }
}

/// Defines an entry point that moves words as they are.
macro_rules! tiles {
    ($name:ident: $element:ty, $width:ident) => {
        tensor_entry! {
            "Moves tiles of what lies together in the source by what lies together in the destination.",
            TILES: Tiles, $name: $element, |src, dst, params| {
                const SHAPE: TileShape = TileShape::of(Width::$width);
                const ROWS: usize = SHAPE.block_rows as usize;
                const BLOCKS: usize = SHAPE.micro_blocks as usize;
                move_tile::<$element, ROWS, BLOCKS>(src, dst, &params, AsTheyAre)
            }
        }
    };
}

tiles!(tiles_b1: u8, B1);
tiles!(tiles_b2: u16, B2);
tiles!(tiles_b4: u32, B4);
tiles!(tiles_b8: u64, B8);
tiles!(tiles_b16: B16, B16);

/// Defines an entry point that flips bits on the way.
macro_rules! tiles_xor {
    ($name:ident: $element:ty, $width:ident) => {
        tensor_entry! {
            "Moves tiles of what lies together in the source by what lies together in the destination, and flips bits of the words.",
            TILES_XOR: TilesXor, $name: $element, |src, dst, params| {
                const SHAPE: TileShape = TileShape::of(Width::$width);
                const ROWS: usize = SHAPE.block_rows as usize;
                const BLOCKS: usize = SHAPE.micro_blocks as usize;
                let flipped = Flipped::by(params.mask);
                move_tile::<$element, ROWS, BLOCKS>(src, dst, &params.tiles, flipped)
            }
        }
    };
}

tiles_xor!(tiles_xor_b4: u32, B4);
tiles_xor!(tiles_xor_b8: u64, B8);
tiles_xor!(tiles_xor_b16: B16, B16);
