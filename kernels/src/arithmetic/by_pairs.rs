//! Matrices that are transposed and computed, where rows start anywhere and each row, or each column, is a channel with a factor and a summand of its own: the tiles of `compute_rows`.
//!
//! Pairs of columns are held by the threads that compute them, and pairs of rows wait in shared memory ([`row_pairs`](super::row_pairs)). It is a kernel of its own because `compute_rows` has no registers for either: on 9.0 its
//! tiles are loaded with all that a thread may have.

use super::arithmetic_entry;
use super::matrices::{
    of_sector, store_span_units, together, Pieces, SpansOf, COLUMN_PAIRS, ROW_PAIRS,
};
use super::memory::load_part;
use super::pair::{for_sizes, Pair};
use super::row_pairs::{RowPairs, PAIR};
use super::twos::PerhapsByTwos;
use crate::element::Element;
use crate::fast::per_vector;
use crate::launch::at_most_registers;
use cuda_std::shared::dynamic_shared_mem;
use cuda_std::thread;
use kernel_abi::arithmetic::{ComputeMatrices, SpanTile};
use kernel_abi::Width;

/// Keeps the pairs of a tile's rows, and computes its spans.
///
/// # Safety
/// The obligations of the entry points; a barrier separates this from what loaded the tile. `pairs` is the address of shared memory for a pair of each row.
#[inline(always)]
unsafe fn store<
    P: Pair,
    E: Element,
    const ROW_VECTORS: u32,
    const ROWS: u32,
    const PITCH: u32,
    const GROUP: u32,
    const THREADS: u32,
>(
    params: &ComputeMatrices,
    pieces: &Pieces<E>,
    tile: SpansOf<E, ROW_VECTORS, ROWS, PITCH, GROUP>,
    pairs: u32,
) {
    macro_rules! store {
        ($k:literal, $pairs:ident) => {
            store_span_units::<P, E, ROW_VECTORS, ROWS, PITCH, GROUP, THREADS, $k, $pairs, 1>(
                params, pieces, tile, pairs,
            )
        };
    }
    // SAFETY: the caller's obligations.
    unsafe {
        if params.other_cols != 0 {
            match together::<P>() {
                2 => store!(2, COLUMN_PAIRS),
                _ => store!(1, COLUMN_PAIRS),
            }
            return;
        }
        let row = thread::thread_idx_x();
        if row < ROWS {
            // Of a row that there is not, the pair of the nearest that there is: the table ends there.
            let there = (tile.row + row as i64).clamp(0, pieces.matrices.rows as i64 - 1);
            let pair = load_part(pieces.second_of(params, there, 0), PAIR as usize);
            RowPairs { base: pairs, rows: ROWS, unit: P::UNIT as u32 }.keep(row, pair);
        }
        thread::sync_threads();
        match together::<P>() {
            2 => store!(2, ROW_PAIRS),
            _ => store!(1, ROW_PAIRS),
        }
    }
}

/// Defines an entry point.
macro_rules! compute_rows_by_pairs {
    ($name:ident: $element:ty, $width:ident, $bytes:tt) => {
        #[cfg(feature = "arithmetic_matrices")]
        arithmetic_entry! {
            "Transposes and computes matrices whose rows start anywhere, by the factor and summand of each row, or of each column.",
            COMPUTE_ROWS_BY_PAIRS: ComputeMatrices, $name: $element, |src, dst, params| {
                const TILE: SpanTile = SpanTile::of(Width::$width);
                at_most_registers::<64>();
                const PITCH: u32 = TILE.rows * size_of::<$element>() as u32;
                const GROUP: u32 = per_vector::<$element>();
                const R: usize = TILE.block_rows as usize;
                const BLOCKS: usize = TILE.micro_blocks as usize;
                const THREADS: u32 = TILE.block()[0];
                // The tile, and behind it the pairs of its rows.
                let base = crate::tile::shared_address(dynamic_shared_mem::<u8>());
                let pairs = base + TILE.vectors() * kernel_abi::fast::VECTOR;
                let pieces = Pieces::of_block(src, dst, &params);
                const OF_SECTOR: u64 = of_sector(size_of::<$element>());
                let of_sector = (OF_SECTOR >> (7 * params.operation.dst_bytes)) as u32 % 128;
                let tile = SpansOf::<$element, { TILE.row_vectors }, { TILE.rows }, PITCH, GROUP>::new(thread::block_idx_x(), base, of_sector);
                tile.load_as::<R, BLOCKS, _>(&pieces.matrices, &PerhapsByTwos::<true> { params: &params });
                for_sizes!($bytes narrow, params, store(&params, &pieces, tile, pairs),
                    [$element, { TILE.row_vectors }, { TILE.rows }, PITCH, GROUP, THREADS])
            }
        }
    };
}

compute_rows_by_pairs!(compute_rows_by_pairs_b1: u8, B1, 1);
compute_rows_by_pairs!(compute_rows_by_pairs_b2: u16, B2, 2);
compute_rows_by_pairs!(compute_rows_by_pairs_b4: u32, B4, 4);
