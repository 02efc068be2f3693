//! Matrices that are transposed and converted, where rows start anywhere: the tiles of `compute_rows`, and twice as many elements in each.
//!
//! What tiles have in common is loaded by both: a sector's rows, and a vector of each row. Of twice as many rows that is half as much, and a span of a column is twice as
//! long: 120 numbers, where 56 of 2 bytes are less than a line of the cache. Half as many blocks then run on a multiprocessor, and each waits at its barrier for
//! twice as many threads, which costs elements of one size, and those that take many instructions, more than it gains: decision 101.
//!
//! There is nothing beside the source. The tile is more than what can be declared of shared memory: it is the launch's.

use super::arithmetic_entry;
use super::matrices::{store_span_units, together, Pieces, SpansOf, NOTHING};
use super::pair::{Pair, Sizes};
use super::twos::{are_taken, Kept};
use crate::fast::per_vector;
use crate::launch::at_most_registers;
use cuda_std::shared::dynamic_shared_mem;
use cuda_std::thread;
use kernel_abi::arithmetic::{span_elements, SpanTile};

/// Defines an entry point, for elements of one size in the source and of one in the destination.
macro_rules! compute_rows_large {
    ($name:ident: $element:ty, $src:literal to $dst:literal) => {
        #[cfg(feature = "arithmetic_matrices")]
        arithmetic_entry! {
            "Transposes and converts matrices whose rows start anywhere.",
            COMPUTE_ROWS_LARGE: ComputeMatrices, $name: $element, |src, dst, params| {
                type P = Sizes<$src, $dst>;
                const TILE: SpanTile = SpanTile::large();
                const PITCH: u32 = TILE.rows * size_of::<$element>() as u32;
                const GROUP: u32 = per_vector::<$element>();
                const R: usize = TILE.block_rows as usize;
                const BLOCKS: usize = TILE.micro_blocks as usize;
                at_most_registers::<64>();
                let base = crate::tile::shared_address(dynamic_shared_mem::<u8>());
                let pieces = Pieces::of_block(src, dst, &params);
                let of_sector = span_elements(P::SRC, P::DST);
                let tile = SpansOf::<$element, { TILE.row_vectors }, { TILE.rows }, PITCH, GROUP>::new(thread::block_idx_x(), base, of_sector);
                tile.load_as::<R, BLOCKS, _>(&pieces.matrices, &Kept::<{ are_taken($src, $dst, false) }>);
                store_span_units::<P, $element, { TILE.row_vectors }, { TILE.rows }, PITCH, GROUP, { TILE.block()[0] }, { together::<P>() }, NOTHING, 1>(&params, &pieces, tile, 0)
            }
        }
    };
}

compute_rows_large!(compute_rows_large_b2: u16, 2 to 4);
compute_rows_large!(compute_rows_large_b4: u32, 4 to 2);
