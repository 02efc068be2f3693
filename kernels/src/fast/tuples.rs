//! The transpose of matrices of tuples: elements of `k` words of 4 or 8 bytes.
//!
//! The source is [staged as it lies](super::row_staging). A vector of the destination is gathered down a column of
//! the staging buffer and stored as a whole, in the spans that the [module's page](super) describes. A
//! destination row is a row of words; a span may start inside a tuple, and word `q` of the row
//! comes from row `q / k`, word `q mod k` of the element.
//!
//! # Banks
//! A warp gathers eight vectors down the rows in each of four neighbouring columns, as the staging buffer has it.
//!
//! # Registers
//! 32 registers a thread are enough, and a multiprocessor then has room for four blocks. Told only how many threads a block has, the assembler
//! takes 40 for words of 4 bytes, which leave room for three.

use super::gather::store_vector;
use super::row_staging::{row_bytes, skew, RowStaging, ToStaging};
use super::{per_vector, SECTOR};
use crate::element::B16;
use crate::launch::at_most_registers;
use crate::matrices::Matrices;
use crate::multiply;
use cuda_std::thread;
use kernel_abi::{fast::TuplesTile, Width};

/// Which vectors a thread gathers.
struct Lanes {
    /// Vectors from a span's start.
    vector: u32,
    /// Columns from the tile's first.
    col: u32,
}

/// Walks the vectors of a warp: eight down each of four neighbouring columns at a time.
#[inline(always)]
fn lanes(warps: u32, vectors: u32, cols: u32) -> impl Iterator<Item = Lanes> {
    let (lane, warp) = (thread::thread_idx_x() % 32, thread::thread_idx_x() / 32);
    let blocks = vectors.div_ceil(8);
    let mut number = warp;
    core::iter::from_fn(move || {
        (number < cols.div_ceil(4) * blocks).then(|| {
            let col = number / blocks * 4 + lane / 8;
            let vector = number % blocks * 8 + lane % 8;
            number += warps;
            Lanes { vector, col }
        })
    })
    .filter(move |lanes| lanes.vector < vectors && lanes.col < cols)
}

/// What the kernel of tuples is told besides its matrices.
#[derive(Clone, Copy)]
struct Tuples {
    /// Words of an element.
    k: u32,
    /// The inverse of `k`: 2³² / `k`, rounded up.
    inverse: u32,
    /// Columns of a tile.
    cols: u32,
    /// Words of a span: whole sectors and whole elements.
    span: u32,
}

impl Tuples {
    /// The element that a word is part of, and which of its words it is. `word * k` must be below 2³².
    #[inline(always)]
    fn split(self, word: u32) -> (u32, u32) {
        let element = multiply::high(word, self.inverse);
        (element, word - element * self.k)
    }
}

/// Transposes one tile of tuples: `matrices` counts words along the rows of both matrices, and rows in
/// `rows`.
///
/// # Safety
/// The obligations of the entry points; `base` is the shared-memory address of a staging buffer.
/// `cols * k` words fit a row of the buffer, and `span` words, a sector and three tuples its rows.
#[inline(always)]
unsafe fn transpose_tuples<
    E: ToStaging,
    const ROW_VECTORS: u32,
    const ROWS: u32,
    const LOADS: usize,
>(
    matrices: Matrices<E>,
    tuples: Tuples,
    base: u32,
) {
    let staging = RowStaging::<E, ROW_VECTORS, ROWS> { base, element: core::marker::PhantomData };
    let size = size_of::<E>() as u32;
    let align = SECTOR / size;
    let Tuples { k, cols, span, .. } = tuples;
    // The rows that hold the words that a span may start early with.
    let above = tuples.split(align - 1).0 + 1;
    let nominal_row = thread::block_idx_x() as i64 * tuples.split(span).0 as i64;
    let first_row = nominal_row - above as i64;
    let tile_col = thread::block_idx_y() as u64 * cols as u64;
    // SAFETY: the caller's obligations.
    unsafe {
        staging.load::<{ TuplesTile::THREADS }, LOADS>(
            &matrices,
            first_row,
            tile_col * k as u64,
            false,
        )
    };
    thread::sync_threads();

    let stride = matrices.src_ld as u32 * size;
    let corner = (matrices.src as u32)
        .wrapping_add((first_row as u32).wrapping_mul(stride))
        .wrapping_add(tile_col as u32 * k * size);
    let nominal = thread::block_idx_x() as i64 * span as i64;
    for Lanes { vector, col } in lanes(TuplesTile::THREADS / 32, span / per_vector::<E>(), cols) {
        let to_col = tile_col + col as u64;
        if to_col * (k as u64) < matrices.cols {
            let start = matrices.dst as u64 + to_col * matrices.dst_ld * size as u64;
            let early = start as u32 % SECTOR / size;
            let below = vector * per_vector::<E>();
            let word = nominal + below as i64 - early as i64;
            let to = start.wrapping_add((word as u64).wrapping_mul(size as u64));
            let staged = above * k + below - early;
            let tuple = |row: u32| staging.row_to_the_byte(row, corner, stride) + col * k * size;
            let (mut row, mut part) = tuples.split(staged);
            let mut start_of_tuple = tuple(row);
            let next = || {
                let address = start_of_tuple + part * size;
                part += 1;
                if part == k {
                    (row, part) = (row + 1, 0);
                    start_of_tuple += row_bytes::<E>(ROW_VECTORS) + skew::<E>();
                }
                address
            };
            // SAFETY: the span's rows were loaded; the vector is aligned as the span is.
            unsafe {
                store_vector::<E>(to, word, matrices.rows * k as u64, next, |i| {
                    let (row, part) = tuples.split(staged + i);
                    tuple(row) + part * size
                });
            }
        }
    }
}

/// Defines the entry point of one width for tuples of such words.
macro_rules! tuples {
    ($name:ident: $element:ty, $width:ident) => {
        crate::fast_entry! {
            "Transposes matrices of tuples of `k` words; all columns and leading dimensions are \
given in words.",
            TUPLES: Tuples, $name: $element, |matrices, params| {
                const TILE: TuplesTile = match TuplesTile::of(Width::$width) {
                    Some(tile) => tile,
                    None => panic!("no tile of that width"),
                };
                at_most_registers::<32>();
                let bytes = cuda_std::shared_array![
                    B16; (super::row_staging::staging_bytes::<$element>(TILE.row_vectors, TILE.rows) / super::VECTOR) as usize
                ];
                let base = crate::tile::shared_address(bytes.cast());
                let tuples = Tuples {
                    k: params.tuple as u32,
                    inverse: params.tuple_magic as u32,
                    cols: params.tile_cols as u32,
                    span: params.span as u32,
                };
                transpose_tuples::<
                    $element,
                    { TILE.row_vectors },
                    { TILE.rows },
                    { (TILE.rows * TILE.row_vectors / TuplesTile::THREADS) as usize },
                >(matrices, tuples, base)
            }
        }
    };
}

tuples!(tuples_b4: u32, B4);
tuples!(tuples_b8: u64, B8);
