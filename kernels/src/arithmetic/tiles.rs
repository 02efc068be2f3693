//! Moves that compute, whose fastest axis changes: through the transposed tile of [`tensor::tiles`](crate::tensor::tiles).
//!
//! The tile is loaded as there, in elements of the source. It is computed on the way out: a thread loads a unit of a column from shared memory, computes it, and
//! stores it, by vectors on the side whose elements have more bytes.

use super::arithmetic_entry;
use super::memory::{load_part, load_shared_part, store_part};
use super::pair::{for_sizes, Pair};
use crate::element::{Element, B16};
use crate::micro_block::MicroBlock;
use crate::tensor::axes::divide;
use crate::tensor::on_the_way::AsTheyAre;
use crate::tensor::tiles::{load, loader, Offsets, Place, Source, Tile};
use crate::tensor::vector::Word;
use cuda_std::thread;
use kernel_abi::arithmetic::{flags, ComputeTiles};
use kernel_abi::tensor::{TileShape, Tiles};
use kernel_abi::Width;

/// Loads one tile, of which each thread has `BLOCKS` micro-blocks of `R` rows, and says where it is.
///
/// # Safety
/// The obligations of the entry points.
#[inline(always)]
unsafe fn load_tile<E: MicroBlock<R> + Word, const R: usize, const BLOCKS: usize>(
    src: *const E,
    params: &Tiles,
) -> Loaded<E> {
    let memory = cuda_std::shared::dynamic_shared_mem::<u8>();
    // SAFETY: the caller's obligations, and the barriers between what is stored to shared memory and what is loaded from there.
    unsafe {
        let base = crate::tile::shared_address(memory);
        let tile = Tile::<E>::new(base, params);
        let offsets = Offsets::fill::<E>(params, base + params.tile as u32);
        let place = Place::of_block(params);
        thread::sync_threads();
        let source = Source::<E>::new(src, place, params);
        load::<E, R, BLOCKS>(source, params, AsTheyAre, offsets, tile, place);
        thread::sync_threads();
        Loaded { tile, offsets, place }
    }
}

/// A tile in shared memory.
#[derive(Clone, Copy)]
struct Loaded<E> {
    tile: Tile<E>,
    offsets: Offsets,
    place: Place,
}

impl<E> Loaded<E> {
    /// Bytes from where the destination starts to the first element of a column.
    ///
    /// # Safety
    /// There is such a column.
    #[inline(always)]
    unsafe fn column<P: Pair>(&self, col: u32) -> u64 {
        // SAFETY: an entry of the table, which a barrier separates from its store.
        let offset = unsafe { Offsets::of(self.offsets.cols, col) };
        // The table counts in bytes of the source's elements. Strides of a destination are not negative.
        (self.place.to + offset / P::SRC as u64) * P::DST as u64
    }
}

/// Computes a tile, by units or element by element.
///
/// # Safety
/// The obligations of the entry points; the tile was loaded by them.
#[inline(always)]
unsafe fn store<P: Pair>(dst: u64, params: &ComputeTiles, loaded: Loaded<impl Element>) {
    // SAFETY: the caller's obligations.
    unsafe {
        if params.col_units != 0 {
            by_units::<P, _>(dst, params, loaded);
        } else {
            by_elements::<P, _>(dst, params, loaded);
        }
    }
}

/// Computes a tile whose columns all start on units of the destination.
///
/// # Safety
/// Those of [`store`].
#[inline(always)]
unsafe fn by_units<P: Pair, E: Element>(dst: u64, params: &ComputeTiles, loaded: Loaded<E>) {
    let operation = &params.operation;
    let has_other = operation.flags & flags::OTHER != 0;
    let place = loaded.place;
    let mut number = thread::thread_idx_x();
    loop {
        let (col, index) = divide(number, params.col_units);
        if col >= place.cols {
            break;
        }
        let row = index * P::UNIT as u32;
        let from = loaded.tile.address(row, col, loader::<E>(&params.tiles, col));
        // SAFETY: a column that there is, elements of the destination, and a whole unit where there is one.
        unsafe {
            let at = loaded.column::<P>(col) + row as u64 * P::DST as u64;
            if row + P::UNIT as u32 <= place.rows {
                let bytes = P::UNIT * P::DST;
                let other =
                    if has_other { load_part(operation.other + at, bytes) } else { B16::ANY };
                let values = load_shared_part(from, P::UNIT * P::SRC);
                store_part(dst + at, bytes, P::whole(operation, values, other));
            } else if row < place.rows {
                for j in 0..place.rows - row {
                    let at = at + j as u64 * P::DST as u64;
                    element::<P>(dst, params, at, from + j * P::SRC as u32);
                }
            }
        }
        number += thread::block_dim_x();
    }
}

/// Computes a tile whose columns start anywhere: neighbouring lanes have neighbouring elements.
///
/// # Safety
/// Those of [`store`].
#[inline(always)]
unsafe fn by_elements<P: Pair, E: Element>(dst: u64, params: &ComputeTiles, loaded: Loaded<E>) {
    let lanes = params.tiles.lanes as u32;
    let (lane, mut col) = (thread::thread_idx_x() % (1 << lanes), thread::thread_idx_x() >> lanes);
    while col < loaded.place.cols {
        let vector = loader::<E>(&params.tiles, col);
        let mut row = lane;
        while row < loaded.place.rows {
            // SAFETY: an element of a column that there is.
            unsafe {
                let at = loaded.column::<P>(col) + row as u64 * P::DST as u64;
                element::<P>(dst, params, at, loaded.tile.address(row, col, vector));
            }
            row += 1 << lanes;
        }
        col += thread::block_dim_x() >> lanes;
    }
}

/// Computes the element that is kept at `from`, and goes `at` bytes behind the destination's start.
///
/// # Safety
/// There is such an element, and no other thread has it.
#[inline(always)]
unsafe fn element<P: Pair>(dst: u64, params: &ComputeTiles, at: u64, from: u32) {
    let operation = &params.operation;
    // SAFETY: the caller's obligations.
    unsafe {
        let other = if operation.flags & flags::OTHER != 0 {
            load_part(operation.other + at, P::DST)
        } else {
            B16::ANY
        };
        let value = load_shared_part(from, P::SRC);
        store_part(dst + at, P::DST, P::single(operation, value, other));
    }
}

/// Defines an entry point.
macro_rules! compute_tiles {
    ($name:ident: $element:ty, $width:ident, $bytes:tt) => {
        arithmetic_entry! {
            "Computes tiles of what lies together in the source by what lies together in the destination.",
            COMPUTE_TILES: ComputeTiles, $name: $element, |src, dst, params| {
                const SHAPE: TileShape = TileShape::of(Width::$width);
                const ROWS: usize = SHAPE.block_rows as usize;
                const BLOCKS: usize = SHAPE.micro_blocks as usize;
                let loaded = load_tile::<$element, ROWS, BLOCKS>(src, &params.tiles);
                for_sizes!($bytes, params, store(dst as u64, &params, loaded))
            }
        }
    };
}

compute_tiles!(compute_tiles_b1: u8, B1, 1);
compute_tiles!(compute_tiles_b2: u16, B2, 2);
compute_tiles!(compute_tiles_b4: u32, B4, 4);
compute_tiles!(compute_tiles_b8: u64, B8, 8);
compute_tiles!(compute_tiles_b16: B16, B16, 16);
