//! The transpose of matrices whose rows start anywhere.
//!
//! A thread holds a vector of each of up to four rows and transposes them in registers, as in
//! [`micro`](super::micro). But a row starts somewhere inside a vector, so each vector is first *slid*: its
//! bytes from the row's start on, and the first bytes of the next lane's. The other way round, the
//! [spans](super::spans) of the transposed tile's rows are slid to where destination rows start.
//!
//! ```text
//! block[i] = slide(source vector, the next lane's, bytes before the row's start)
//! tile[col + j][row .. row + R] = (block[0][j], …, block[R - 1][j])
//! barrier
//! dst[c][r .. r + V] = slide(tile[c][q .. q + V], tile[c][q + V .. q + 2 V], r - q)
//! ```
//!
//! The last lane of a row has no next one: it loads for its neighbour, and has no columns of its own.
//!
//! # Turns
//! Blocks may take tiles of two matrices in turns, whose addresses are any distances apart: one that stays on the device, and one that is
//! stored to another device. While the stores of the one wait for the link, the memory moves the other.

use super::edges::Extent;
use super::gather::Gather;
use super::spans::{Destination, Spans, Transposed};
use super::{per_vector, SECTOR, VECTOR};
use crate::element::{Element, B16};
use crate::global::load_vector;
use crate::matrices::Matrices;
use crate::micro_block::MicroBlock;
use crate::opaque::opaque_u64;
use crate::slide::slide;
use crate::warp::next_lanes_vector;
use cuda_std::thread;
use kernel_abi::fast::RowsTile;
use kernel_abi::Width;

/// What becomes of loaded vectors before they change places: they stay what they are, if nothing else is said.
pub trait OnTheWayIn<E: Element> {
    /// Whether it is looked at once whether all vectors of a tile are inside the source, and not for each: fewer instructions of a thread, and more code.
    const LOOKS_ONCE: bool = false;

    /// Whether the block has more threads than load.
    const SOME_LOAD: bool = false;

    /// Whether threads step from row to row, and do not find each row's start: fewer instructions, but where more is computed LLVM would
    /// not unroll their loop.
    const STEPS: bool = false;

    /// What becomes of vectors; `from` is where each was loaded from, if it was.
    ///
    /// # Safety
    /// The vectors were loaded from there, and what this has beside each of them can be loaded, too.
    #[inline(always)]
    unsafe fn vectors<const R: usize>(
        &self,
        vectors: [B16; R],
        _from: impl Fn(usize) -> Option<u64>,
    ) -> [B16; R] {
        vectors
    }

    /// What becomes of an element loaded from `from`: at `at` in shared memory.
    ///
    /// # Safety
    /// It was loaded from there, and what this has beside it can be loaded, too; its place is this thread's.
    #[inline(always)]
    unsafe fn keep(&self, element: E, _from: u64, at: u32) {
        // SAFETY: the caller's obligations.
        unsafe { element.store_shared(at) }
    }

    /// In which place of a row of the transposed tile a byte is kept; bytes of a vector stay together.
    #[inline(always)]
    fn place(&self, byte: u32) -> u32 {
        byte
    }
}

/// They stay what they are.
pub struct AsTheyAre;

impl<E: Element> OnTheWayIn<E> for AsTheyAre {
    // Words of 2 bytes and more were not faster by that.
    const STEPS: bool = size_of::<E>() == 1;
}

/// A tile of `ROWS` rows of `ROW_VECTORS - 1` vectors of the source, and where it goes.
#[derive(Clone, Copy)]
pub struct Tile<E, const ROW_VECTORS: u32, const ROWS: u32, const PITCH: u32, const GROUP: u32> {
    /// The source's row at its corner; it may lie before the matrix.
    pub row: i64,
    /// The source's column there.
    pub col: u64,
    /// What it is stored to.
    pub transposed: Transposed<PITCH, GROUP>,
    element: core::marker::PhantomData<E>,
}

impl<E: Element, const ROW_VECTORS: u32, const ROWS: u32, const PITCH: u32, const GROUP: u32>
    Tile<E, ROW_VECTORS, ROWS, PITCH, GROUP>
{
    const SIZE: u32 = size_of::<E>() as u32;
    /// Columns of a tile.
    pub const COLS: u32 = (ROW_VECTORS - 1) * per_vector::<E>();

    /// The tile of a number down the rows, in the block's column of tiles, at `base`; `of_sector` of its rows are a sector of the destination.
    #[inline(always)]
    pub fn new(down: u32, base: u32, of_sector: u32) -> Self {
        let (early, span) = (of_sector - 1, ROWS - of_sector);
        Tile {
            row: down as i64 * span as i64 - early as i64,
            col: thread::block_idx_y() as u64 * Self::COLS as u64,
            transposed: Transposed { base },
            element: core::marker::PhantomData,
        }
    }

    /// The columns that there are of the tile.
    #[inline(always)]
    pub fn cols(&self, matrices: &Matrices<E>) -> u32 {
        let left = matrices.cols - self.col;
        if left < Self::COLS as u64 {
            left as u32
        } else {
            Self::COLS
        }
    }

    /// Whether all vectors of the tile are inside the source, also those beside its columns.
    #[inline(always)]
    fn is_interior(&self, matrices: &Matrices<E>, extent: Extent) -> bool {
        let start = |row: i64| {
            (matrices.src as u64)
                .wrapping_add((row as u64).wrapping_mul(matrices.src_ld * Self::SIZE as u64))
                .wrapping_add(self.col * Self::SIZE as u64)
        };
        let end_row = self.row + ROWS as i64;
        self.row >= 0
            && end_row as u64 <= matrices.rows
            && start(self.row) >= extent.first + VECTOR as u64
            && start(end_row - 1) + (ROW_VECTORS * VECTOR) as u64 <= extent.end
    }

    /// Loads the tile and transposes it into shared memory; a barrier stands at the end.
    ///
    /// # Safety
    /// The source is readable from its first element to its last. The block has `ROW_VECTORS * ROWS / R / 2` threads, and the tile is its own.
    #[inline(always)]
    pub unsafe fn load<const R: usize>(&self, matrices: &Matrices<E>)
    where
        E: MicroBlock<R>,
    {
        // SAFETY: the caller's obligations.
        unsafe { self.load_as::<R, 2, _>(matrices, &AsTheyAre) }
    }

    /// Loads the tile as [`load`](Self::load) does, but what `way` makes of its elements, with `BLOCKS` micro-blocks for each thread.
    ///
    /// # Safety
    /// Those of [`load`](Self::load); the block has `ROW_VECTORS * ROWS / R / BLOCKS` threads.
    #[inline(always)]
    pub unsafe fn load_as<const R: usize, const BLOCKS: usize, W: OnTheWayIn<E>>(
        &self,
        matrices: &Matrices<E>,
        way: &W,
    ) where
        E: MicroBlock<R>,
    {
        let loaders = ROW_VECTORS * ROWS / (R * BLOCKS) as u32;
        let extent = Extent::of(matrices.src, matrices.rows, matrices.cols, matrices.src_ld);
        let near = per_vector::<E>() as i64;
        let at_an_end = self.row <= near || self.row + ROWS as i64 + near >= matrices.rows as i64;
        // SAFETY: the caller's obligations; the condition is the same for the whole block.
        unsafe {
            if !W::SOME_LOAD || thread::thread_idx_x() < loaders {
                self.load_vectors::<R, BLOCKS, W>(matrices, extent, way);
            }
            thread::sync_threads();
            if at_an_end {
                self.load_ends(matrices, extent, way);
                thread::sync_threads();
            }
        }
    }

    /// Loads the rows' vectors and stores their transposed micro-blocks.
    ///
    /// # Safety
    /// Those of [`load_as`](Self::load_as).
    #[inline(always)]
    unsafe fn load_vectors<const R: usize, const BLOCKS: usize, W: OnTheWayIn<E>>(
        &self,
        matrices: &Matrices<E>,
        extent: Extent,
        way: &W,
    ) where
        E: MicroBlock<R>,
    {
        let t = thread::thread_idx_x();
        let (vector, top) = (t % ROW_VECTORS, t / ROW_VECTORS * R as u32);
        // As one number: LLVM would multiply the leading dimension by each row's number times the element's bytes, and the assembler find
        // `rows_b2` three registers more and an instruction for every row.
        let stride = opaque_u64(matrices.src_ld * Self::SIZE as u64);
        // Rows before the first are not dereferenced.
        let row = self.row + top as i64;
        let start = (matrices.src as u64)
            .wrapping_add((row as u64).wrapping_mul(stride))
            .wrapping_add(self.col * Self::SIZE as u64);
        let offset = |block: usize, i: usize| block as u32 * (ROWS / BLOCKS as u32) + i as u32;
        let interior = self.is_interior(matrices, extent);
        // This thread's vector of the row that starts there.
        let in_row =
            |row_start: u64| row_start / VECTOR as u64 * VECTOR as u64 + (vector * VECTOR) as u64;
        let from = |block: usize, i: usize| {
            let offset = offset(block, i);
            let row_start = start.wrapping_add(offset as u64 * stride);
            let from = in_row(row_start);
            let inside = interior
                || (((row + offset as i64) as u64) < matrices.rows && extent.holds_vector(from));
            inside.then_some(from)
        };

        // Rows of both micro-blocks start inside vectors alike.
        const { assert!(matches!(BLOCKS, 1 | 2) && (ROWS / 2 * Self::SIZE).is_multiple_of(VECTOR)) };
        let mut held = [[B16::ANY; R]; BLOCKS];
        if W::STEPS && interior {
            let mut row_start = start;
            for block in &mut held {
                for held in block {
                    let from = in_row(row_start);
                    // SAFETY: the vector is inside the source and aligned.
                    *held = unsafe { load_vector(from) };
                    row_start = row_start.wrapping_add(stride);
                }
                row_start =
                    row_start.wrapping_add((ROWS / BLOCKS as u32 - R as u32) as u64 * stride);
            }
        } else {
            for (number, block) in held.iter_mut().enumerate() {
                if W::LOOKS_ONCE && interior {
                    let behind = (number as u32 * (ROWS / BLOCKS as u32)) as u64 * stride;
                    for (i, held) in block.iter_mut().enumerate() {
                        let row_start = start.wrapping_add(i as u64 * stride);
                        let from = in_row(row_start);
                        // SAFETY: the vector is inside the source and aligned.
                        *held = unsafe { load_vector(from.wrapping_add(behind)) };
                    }
                    continue;
                }
                for (i, held) in block.iter_mut().enumerate() {
                    let offset = offset(number, i);
                    let row_start = start.wrapping_add(offset as u64 * stride);
                    let from = in_row(row_start);
                    let inside = interior
                        || (((row + offset as i64) as u64) < matrices.rows
                            && extent.holds_vector(from));
                    if inside {
                        // SAFETY: the vector is inside the source and aligned.
                        *held = unsafe { load_vector(from) };
                    }
                }
            }
        }
        // Two calls, and not a loop: LLVM would keep what a loop this long indexes in memory.
        let store = |number: usize, vectors: [B16; R]| {
            let mut block = [B16::ANY; R];
            for i in 0..R {
                let row = if W::LOOKS_ONCE { i as u32 } else { offset(number, i) };
                let past = (start as u32).wrapping_add(row.wrapping_mul(stride as u32));
                // SAFETY: the block's threads are whole warps, and all come here.
                let next = unsafe { next_lanes_vector(vectors[i]) };
                block[i] = slide::<E>(vectors[i], next, past % VECTOR);
            }
            if vector < ROW_VECTORS - 1 {
                let byte = way.place((top + offset(number, 0)) * Self::SIZE);
                let at = self.transposed.address(vector * per_vector::<E>(), byte);
                // SAFETY: no two threads have a micro-block in common.
                unsafe { E::store_columns(block, at, PITCH) };
            }
        };
        let (first, second) = (held[0], held[BLOCKS - 1]);
        // SAFETY: they were loaded from there.
        store(0, unsafe { way.vectors(first, |i| from(0, i)) });
        if BLOCKS == 2 {
            // SAFETY: the second micro-block's were loaded from there, too.
            store(1, unsafe { way.vectors(second, |i| from(1, i)) });
        }
    }

    /// Loads, one by one, the elements of the vectors that hold the matrix's first and last byte and
    /// bytes outside the matrix too.
    ///
    /// # Safety
    /// Those of [`load`](Self::load), and a barrier after [`load_vectors`](Self::load_vectors).
    #[inline(always)]
    unsafe fn load_ends(&self, matrices: &Matrices<E>, extent: Extent, way: &impl OnTheWayIn<E>) {
        let t = thread::thread_idx_x();
        let vector_of = |byte: u64| byte / VECTOR as u64 * VECTOR as u64;
        let (first, last) = (vector_of(extent.first), vector_of(extent.end - 1));
        let is_first = t < per_vector::<E>();
        if t >= 2 * per_vector::<E>() || (!is_first && first == last) {
            return;
        }
        let vector = if is_first { first } else { last };
        let from = vector + (t % per_vector::<E>() * Self::SIZE) as u64;
        if extent.holds_vector(vector) {
            return;
        }
        let offset = from.wrapping_sub(extent.first) / Self::SIZE as u64;
        let row = (offset / matrices.src_ld) as i64 - self.row;
        let col = (offset % matrices.src_ld).wrapping_sub(self.col);
        if (row as u64) < ROWS as u64 && col < Self::COLS as u64 {
            let byte = way.place(row as u32 * Self::SIZE);
            let at = self.transposed.address(col as u32, byte);
            // SAFETY: the source is readable; the element's place is this thread's.
            unsafe {
                if let Some(element) = extent.load::<E>(from) {
                    way.keep(element, from, at);
                }
            }
        }
    }

    /// Stores the spans of the tile's columns.
    ///
    /// # Safety
    /// The obligations of the entry points, and a barrier after the loads.
    #[inline(always)]
    pub unsafe fn store<const THREADS: u32, const SPAN_VECTORS: u32>(&self, matrices: &Matrices<E>)
    where
        E: Gather,
    {
        let spans = Spans::<SPAN_VECTORS> {
            first: self.row * Self::SIZE as i64,
            lead: SECTOR - Self::SIZE,
            rows: Self::COLS,
            end: matrices.rows * Self::SIZE as u64,
        };
        let stride = matrices.dst_ld * Self::SIZE as u64;
        let to = Destination {
            start: matrices.dst as u64 + self.col * stride,
            stride,
            left: matrices.cols - self.col,
        };
        // SAFETY: the caller's obligations.
        unsafe { self.transposed.store::<E, THREADS, SPAN_VECTORS>(spans, to) };
    }
}

/// Transposes one tile.
///
/// # Safety
/// The obligations of the entry points; a block has `THREADS`, `ROW_VECTORS * ROWS / R / 2`, in whole warps of
/// whole rows; `PITCH` is `ROWS` elements, `SPAN_VECTORS` the vectors of a span, and `base` is the
/// shared-memory address of a tile, aligned to 16.
#[inline(always)]
unsafe fn transpose<
    E: MicroBlock<R> + Gather,
    const ROW_VECTORS: u32,
    const ROWS: u32,
    const PITCH: u32,
    const GROUP: u32,
    const THREADS: u32,
    const SPAN_VECTORS: u32,
    const R: usize,
>(
    matrices: Matrices<E>,
    down: u32,
    base: u32,
) {
    let of_sector = SECTOR / size_of::<E>() as u32;
    let tile = Tile::<E, ROW_VECTORS, ROWS, PITCH, GROUP>::new(down, base, of_sector);
    // SAFETY: the caller's obligations.
    unsafe {
        tile.load(&matrices);
        tile.store::<THREADS, SPAN_VECTORS>(&matrices);
    }
}

/// Defines one entry point with a tile of its own shape.
macro_rules! rows {
    ($name:ident: $element:ty, $width:ident) => {
        crate::fast_entry! {
            "Transposes matrices whose rows start anywhere.",
            ROWS: InTurns, $name: $element,
            |params| thread::block_idx_z() + (thread::block_idx_x() & params.turns as u32),
            |matrices| {
                const TILE: RowsTile = match RowsTile::of(Width::$width) {
                    Some(tile) => tile,
                    None => panic!("no tile of that width"),
                };
                const PITCH: u32 = TILE.rows * size_of::<$element>() as u32;
                let bytes = cuda_std::shared_array![B16; ((TILE.row_vectors - 1) * TILE.rows) as usize];
                let base = crate::tile::shared_address(bytes.cast());
                let down = thread::block_idx_x() >> params.turns as u32;
                transpose::<
                    $element,
                    { TILE.row_vectors },
                    { TILE.rows },
                    PITCH,
                    { per_vector::<$element>() },
                    { TILE.block()[0] },
                    { (PITCH - SECTOR) / VECTOR },
                    { TILE.block_rows as usize },
                >(matrices, down, base)
            }
        }
    };
}

rows!(rows_b1: u8, B1);
rows!(rows_b2: u16, B2);
rows!(rows_b4: u32, B4);
rows!(rows_b8: u64, B8);
