//! The transpose of matrices of tuples: elements of any size, as `k` words of 1, 2, 4, 8 or 16 bytes.
//!
//! The source is [staged as it lies](super::row_stage). A vector of the destination is gathered down a column of
//! the stage and stored as a whole, in the windows that the module's page describes. A
//! destination row is a row of words; a window may start inside a tuple, and word `q` of the row
//! comes from row `q / k`, word `q mod k` of the element.
//!
//! # Banks
//! A warp gathers eight vectors down the rows in each of four neighbouring columns, as the stage has it.

use super::gather::store_vector;
use super::per_vector;
use super::row_stage::{row_bytes, skew, Stage, Staged};
use crate::element::B16;
use crate::matrices::Matrices;
use crate::multiply;
use cuda_std::thread;
use kernel_abi::{fast::TuplesTile, Width};

/// Which vectors a thread gathers.
struct Lanes {
    /// Vectors from a window's start.
    vector: u32,
    /// Columns from the tile's first.
    col: u32,
}

/// Walks the vectors of a warp: eight down each of four neighbouring columns at a time.
#[inline(always)]
fn lanes(warps: u32, vectors: u32, cols: u32) -> impl Iterator<Item = Lanes> {
    let (lane, warp) = (thread::thread_idx_x() % 32, thread::thread_idx_x() / 32);
    let blocks = vectors.div_ceil(8);
    let mut slot = warp;
    core::iter::from_fn(move || {
        (slot < cols.div_ceil(4) * blocks).then(|| {
            let col = slot / blocks * 4 + lane / 8;
            let vector = slot % blocks * 8 + lane % 8;
            slot += warps;
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
    /// Words of a window: whole sectors and whole elements.
    window: u32,
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
/// The obligations of the entry points; `base` is the shared-memory address of a stage. `cols * k`
/// words fit a row of the stage, and `window` words, `ALIGN` bytes and three tuples its rows.
#[inline(always)]
unsafe fn transpose_tuples<
    E: Staged,
    const CHUNKS: u32,
    const ROWS: u32,
    const THREADS: u32,
    const PASSES: usize,
    const ALIGN: u32,
>(
    matrices: Matrices<E>,
    tuples: Tuples,
    base: u32,
) {
    let stage = Stage::<E, CHUNKS, ROWS> { base, element: core::marker::PhantomData };
    let size = size_of::<E>() as u32;
    let align = ALIGN / size;
    let Tuples { k, cols, window, .. } = tuples;
    // Above every word that a window may start early with.
    let above = tuples.split(align - 1).0 + 1;
    let nominal_row = thread::block_idx_x() as i64 * tuples.split(window).0 as i64;
    let first_row = nominal_row - above as i64;
    let tile_col = thread::block_idx_y() as u64 * cols as u64;
    // SAFETY: the caller's obligations.
    unsafe { stage.load::<THREADS, PASSES>(&matrices, first_row, tile_col * k as u64, false) };
    thread::sync_threads();

    let stride = matrices.src_ld as u32 * size;
    let corner = (matrices.src as u32)
        .wrapping_add((first_row as u32).wrapping_mul(stride))
        .wrapping_add(tile_col as u32 * k * size);
    let nominal = thread::block_idx_x() as i64 * window as i64;
    for Lanes { vector, col } in lanes(THREADS / 32, window / per_vector::<E>(), cols) {
        let to_col = tile_col + col as u64;
        if to_col * (k as u64) < matrices.cols {
            let start = matrices.dst as u64 + to_col * matrices.dst_ld * size as u64;
            let early = start as u32 % ALIGN / size;
            let below = vector * per_vector::<E>();
            let word = nominal + below as i64 - early as i64;
            let to = start.wrapping_add((word as u64).wrapping_mul(size as u64));
            let staged = above * k + below - early;
            let tuple = |row: u32| stage.row_to_the_byte(row, corner, stride) + col * k * size;
            let (mut row, mut part) = tuples.split(staged);
            let mut start_of_tuple = tuple(row);
            let next = || {
                let address = start_of_tuple + part * size;
                part += 1;
                if part == k {
                    (row, part) = (row + 1, 0);
                    start_of_tuple = if size < 4 {
                        tuple(row)
                    } else {
                        start_of_tuple + row_bytes::<E>(CHUNKS) + skew::<E>()
                    };
                }
                address
            };
            // SAFETY: the window's rows were loaded; the vector is aligned as the window is.
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
                const TILE: TuplesTile = TuplesTile::of(Width::$width);
                let bytes = cuda_std::shared_array![
                    B16; (super::row_stage::stage_bytes::<$element>(TILE.chunks, TILE.rows) / super::VECTOR) as usize
                ];
                let base = crate::tile::shared_address(bytes.cast());
                let tuples = Tuples {
                    k: params.tuple as u32,
                    inverse: params.tuple_magic as u32,
                    cols: params.tile_cols as u32,
                    window: params.window as u32,
                };
                transpose_tuples::<
                    $element,
                    { TILE.chunks },
                    { TILE.rows },
                    { TILE.threads },
                    { (TILE.rows * TILE.chunks / TILE.threads) as usize },
                    { TILE.align },
                >(matrices, tuples, base)
            }
        }
    };
}

tuples!(tuples_b1: u8, B1);
tuples!(tuples_b2: u16, B2);
tuples!(tuples_b4: u32, B4);
tuples!(tuples_b8: u64, B8);
tuples!(tuples_b16: B16, B16);
