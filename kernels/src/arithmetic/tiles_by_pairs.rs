//! Moves that compute, whose fastest axis changes, where channels have a factor and a summand each: the tiles of [`tiles`](super::tiles).
//!
//! A tile is computed unit by unit of the destination, so it is where units lie there that says [which pairs](super::placed_pairs) their elements have. It is a kernel of its own for what it takes of registers.

use super::arithmetic_entry;
use super::pair::{for_sizes, Pair};
use super::placed_pairs::PlacedPairs;
use super::tiles::{Held, Spot};
use crate::element::Element;
use crate::launch::never_more_registers;
use crate::tensor::on_the_way::AsTheyAre;
use crate::tensor::tile::Source;
use crate::tensor::tiles::load;
use cuda_std::shared::dynamic_shared_mem;
use cuda_std::thread;
use kernel_abi::arithmetic::ComputeTilesByPairs;
use kernel_abi::tensor::TileShape;
use kernel_abi::Width;

/// Computes a tile.
///
/// # Safety
/// The obligations of the entry points; a barrier separates this from what loaded the tile, and from what kept the pairs.
#[inline(always)]
unsafe fn store<P: Pair>(
    dst: u64,
    params: &ComputeTilesByPairs,
    held: Held<impl Element>,
    pairs: PlacedPairs<'_>,
) {
    // SAFETY: the caller's obligations.
    unsafe {
        if params.tiles.whole != 0 {
            store_columns::<P, _, true>(dst, params, held, pairs);
        } else {
            store_columns::<P, _, false>(dst, params, held, pairs);
        }
    }
}

/// Computes a tile whose columns start on units, or anywhere.
///
/// # Safety
/// Those of [`store`].
#[inline(always)]
unsafe fn store_columns<P: Pair, E: Element, const WHOLE: bool>(
    dst: u64,
    params: &ComputeTilesByPairs,
    held: Held<E>,
    pairs: PlacedPairs<'_>,
) {
    let params = &params.tiles;
    let all = held.place.cols * params.col_units as u32;
    let mut number = thread::thread_idx_x();
    while number < all {
        // SAFETY: the caller's obligations; units are shared out among threads.
        unsafe {
            let spot = Spot::of::<P, E, WHOLE>(number, params, held);
            let values = spot.elements::<P, E, WHOLE>(params, held);
            let results = pairs.compute::<P>(values, pairs.before(spot.at, dst), P::DST);
            spot.store::<P>(results);
        }
        number += thread::block_dim_x();
    }
}

/// Defines an entry point.
macro_rules! compute_tiles_by_pairs {
    ($name:ident: $element:ty, $width:ident, $bytes:tt) => {
        #[cfg(feature = "arithmetic_tensors")]
        arithmetic_entry! {
            "Computes tiles of what lies together in the source by what lies together in the destination, by the pairs of their channels.",
            COMPUTE_TILES_BY_PAIRS: ComputeTilesByPairs, $name: $element, |src, dst, params| {
                const SHAPE: TileShape = TileShape::of(Width::$width);
                const ROWS: usize = SHAPE.block_rows as usize;
                const BLOCKS: usize = SHAPE.micro_blocks as usize;
                never_more_registers::<56>();
                let shared = crate::tile::shared_address(dynamic_shared_mem::<u8>());
                let tiles = &params.tiles;
                let pairs = PlacedPairs { operation: &tiles.operation, channels: &params.channels, shared };
                pairs.keep(thread::block_dim_x());
                let held = Held::<$element>::of_block(dst as u64, tiles);
                let Held { tile, offsets, place } = held;
                let source = Source::<$element>::new(src, place, &tiles.tiles);
                load::<_, ROWS, BLOCKS, true>(source, &tiles.tiles, AsTheyAre, offsets, tile, place);
                thread::sync_threads();
                for_sizes!($bytes narrow, tiles, store(dst as u64, &params, held, pairs))
            }
        }
    };
}

compute_tiles_by_pairs!(compute_tiles_by_pairs_b1: u8, B1, 1);
compute_tiles_by_pairs!(compute_tiles_by_pairs_b2: u16, B2, 2);
compute_tiles_by_pairs!(compute_tiles_by_pairs_b4: u32, B4, 4);
