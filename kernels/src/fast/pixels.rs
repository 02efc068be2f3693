//! The transpose of matrices of triples of 1-byte or 2-byte words, RGB pixels, whose rows all start on 16 bytes.
//!
//! As in [`triples`](super::triples), threads move *packets* of 12 bytes, which are `M` triples, and transpose blocks
//! of `M × M` triples in registers. Where rows start on vectors nothing has to be slid: a vector of a row is a vector of
//! the staging buffer, and one of the transposed tile is one of the destination.
//!
//! ```text
//! staging[r] = src[first_row + r], the tile's columns          vectors
//! barrier
//! packet[i] = staging[row + i], triples col .. col + M         12 bytes each
//! barrier
//! tile[col + j], bytes from 12 · (row / M) on = (packet[0][j], …, packet[M - 1][j])
//! barrier
//! dst[c] = tile[c]                                             vectors
//! ```
//!
//! # Banks
//! A staged row is 13 vectors apart from the next, of which it fills 12: then the 16 packets of a group of rows
//! and those of the next group meet no bank twice. Rows of the transposed tile lie a multiple of all banks apart; vector
//! `k` of row `c` is kept at `k ^ (c / M) mod 8`.

use super::edges::{store_each, Extent};
use super::shared::{load_u32, store_u32};
use super::triples::{Packet, Triple, PACKET};
use super::VECTOR;
use crate::element::Element;
use crate::element::B16;
use crate::global::{load_vector, store_vector};
use crate::matrices::Matrices;
use cuda_std::thread;
use kernel_abi::fast::PixelsTile;

/// Rows of a tile.
const ROWS: u32 = PixelsTile::ROWS;

/// Vectors of a tile's row, and packets.
const ROW_VECTORS: u32 = PixelsTile::ROW_VECTORS;
const PACKETS: u32 = ROW_VECTORS * VECTOR / PACKET;

/// Bytes from one staged row to the next.
const PITCH: u32 = (ROW_VECTORS + 1) * VECTOR;

/// Threads of a block, and the vectors that each loads and stores.
const THREADS: u32 = PixelsTile::BLOCK[0];
const LOADS: usize = (ROWS * ROW_VECTORS / THREADS) as usize;

/// Bytes of shared memory: the staging buffer, or the transposed tile.
const SHARED: u32 = ROWS * PITCH;

/// A tile of `M × M` blocks of triples.
#[derive(Clone, Copy)]
struct Tile<E, const M: usize> {
    /// The shared-memory address of both its forms.
    base: u32,
    /// The source's address of its corner, and the destination's.
    src: u64,
    dst: u64,
    /// Bytes from one row to the next.
    src_stride: u64,
    dst_stride: u64,
    /// How many rows and bytes of a row of the source are in the tile and to the right of and below it.
    rows: u64,
    row_bytes: u64,
    /// The source.
    extent: Extent,
    element: core::marker::PhantomData<E>,
}

impl<E: Triple<M>, const M: usize> Tile<E, M> {
    const SIZE: u32 = size_of::<E>() as u32;
    /// Bytes of a triple.
    const TRIPLE: u32 = 3 * Self::SIZE;
    /// Bytes and vectors of a transposed tile's row, and how many rows it has.
    const DST_BYTES: u32 = ROWS * Self::TRIPLE;
    const DST_VECTORS: u32 = Self::DST_BYTES / VECTOR;
    const COLS: u32 = PACKETS * M as u32;
    /// Blocks of triples that a thread transposes.
    const BLOCKS: usize = (ROWS / M as u32 * PACKETS / THREADS) as usize;

    /// The block's tile.
    #[inline(always)]
    fn new(matrices: &Matrices<E>, base: u32) -> Self {
        let Matrices { src, dst, rows, cols, src_ld, dst_ld } = *matrices;
        let (size, triple) = (Self::SIZE as u64, Self::TRIPLE as u64);
        let row = thread::block_idx_x() as u64 * ROWS as u64;
        let col = thread::block_idx_y() as u64 * Self::COLS as u64;
        Tile {
            base,
            src: src as u64 + row * src_ld * size + col * triple,
            dst: dst as u64 + col * dst_ld * size + row * triple,
            src_stride: src_ld * size,
            dst_stride: dst_ld * size,
            rows: rows - row,
            row_bytes: cols * size - col * triple,
            extent: Extent::of(src, rows, cols, src_ld),
            element: core::marker::PhantomData,
        }
    }

    /// Whether the matrix has all of the tile.
    #[inline(always)]
    fn is_whole(&self) -> bool {
        self.rows >= ROWS as u64 && self.row_bytes >= (ROW_VECTORS * VECTOR) as u64
    }

    /// Loads a whole tile.
    ///
    /// # Safety
    /// The obligations of the entry points, and [`is_whole`](Self::is_whole).
    #[inline(always)]
    unsafe fn load(&self) {
        let mut held = [B16::ANY; LOADS];
        for (load, held) in held.iter_mut().enumerate() {
            let (row, vector) = source_vector(load);
            let from = self.src + row as u64 * self.src_stride + (vector * VECTOR) as u64;
            // SAFETY: the vector is inside the source and aligned.
            *held = unsafe { load_vector(from) };
        }
        for load in 0..LOADS {
            let (row, vector) = source_vector(load);
            // SAFETY: the place is this thread's and aligned.
            unsafe { held[load].store_shared(self.base + row * PITCH + vector * VECTOR) };
        }
    }

    /// Loads the part of a tile that is inside the matrix, and anything for the rest.
    ///
    /// # Safety
    /// The obligations of the entry points.
    #[inline(always)]
    unsafe fn load_part(&self) {
        let mut number = thread::thread_idx_x();
        while number < ROWS * ROW_VECTORS {
            let (row, vector) = (number / ROW_VECTORS, number % ROW_VECTORS);
            let from = self.src + row as u64 * self.src_stride + (vector * VECTOR) as u64;
            let to = self.base + row * PITCH + vector * VECTOR;
            let inside = (row as u64) < self.rows && ((vector * VECTOR) as u64) < self.row_bytes;
            // SAFETY: the vector, or the element, is inside the source and aligned, its place this thread's.
            unsafe {
                if inside && self.extent.holds_vector(from) {
                    load_vector(from).store_shared(to);
                } else {
                    B16::ANY.store_shared(to);
                    if inside {
                        self.extent
                            .load_each(from, |byte, element: E| element.store_shared(to + byte));
                    }
                }
            }
            number += THREADS;
        }
    }

    /// This thread's block `number`: the first of its rows divided by `M`, and its packet.
    #[inline(always)]
    fn block(number: usize) -> (u32, u32) {
        let number = thread::thread_idx_x() + number as u32 * THREADS;
        (number / PACKETS, number % PACKETS)
    }

    /// Takes a block out of the staging buffer and transposes it.
    ///
    /// # Safety
    /// The buffer was loaded before the last barrier.
    #[inline(always)]
    unsafe fn take(&self, number: usize) -> [Packet; M] {
        let (group, packet) = Self::block(number);
        let at = self.base + group * M as u32 * PITCH + packet * PACKET;
        let mut packets = [[0; 3]; M];
        for i in 0..M {
            for part in 0..3 {
                // SAFETY: the caller's obligations.
                packets[i][part] = unsafe { load_u32(at + i as u32 * PITCH + part as u32 * 4) };
            }
        }
        E::transpose(packets)
    }

    /// Puts a block into the transposed tile.
    ///
    /// # Safety
    /// A barrier since the staging buffer was read.
    #[inline(always)]
    unsafe fn put(&self, number: usize, columns: [Packet; M]) {
        let (group, packet) = Self::block(number);
        let corner = self.base + packet * M as u32 * Self::DST_BYTES;
        for part in 0..3 {
            let byte = group * PACKET + part as u32 * 4;
            let at = corner + ((byte / VECTOR) ^ (packet % 8)) * VECTOR + byte % VECTOR;
            for j in 0..M {
                // SAFETY: the caller's obligations; no other thread has this block.
                unsafe { store_u32(at + j as u32 * Self::DST_BYTES, columns[j][part]) };
            }
        }
    }

    /// Where a vector of the transposed tile lies.
    #[inline(always)]
    fn place(&self, col: u32, vector: u32) -> u32 {
        self.base + col * Self::DST_BYTES + (vector ^ (col / M as u32 % 8)) * VECTOR
    }

    /// Stores a transposed tile that the matrix has all of.
    ///
    /// # Safety
    /// The obligations of the entry points, [`is_whole`](Self::is_whole), and a barrier since the tile was put together.
    #[inline(always)]
    unsafe fn store(&self) {
        for k in 0..LOADS {
            let number = thread::thread_idx_x() + k as u32 * THREADS;
            let (col, vector) = (number / Self::DST_VECTORS, number % Self::DST_VECTORS);
            let to = self.dst + col as u64 * self.dst_stride + (vector * VECTOR) as u64;
            // SAFETY: the vector is inside the destination and aligned.
            unsafe { store_vector(to, B16::load_shared(self.place(col, vector))) };
        }
    }

    /// Stores the part of a transposed tile that is inside the matrix.
    ///
    /// # Safety
    /// The obligations of the entry points, and a barrier since the tile was put together.
    #[inline(always)]
    unsafe fn store_part(&self) {
        let cols = self.row_bytes / Self::TRIPLE as u64;
        let dst_row_bytes = self.rows * Self::TRIPLE as u64;
        let mut number = thread::thread_idx_x();
        while number < Self::COLS * Self::DST_VECTORS {
            let (col, vector) = (number / Self::DST_VECTORS, number % Self::DST_VECTORS);
            let to = self.dst + col as u64 * self.dst_stride + (vector * VECTOR) as u64;
            let at = self.place(col, vector);
            // SAFETY: the vector, or the element, is inside the destination and aligned.
            unsafe {
                if (col as u64) < cols && ((vector + 1) * VECTOR) as u64 <= dst_row_bytes {
                    store_vector(to, B16::load_shared(at));
                } else if (col as u64) < cols {
                    let size = Self::SIZE;
                    let (first, end) = (vector * VECTOR / size, dst_row_bytes / size as u64);
                    store_each(to, first as i64, end, |byte| E::load_shared(at + byte));
                }
            }
            number += THREADS;
        }
    }
}

/// The row and the number in it of the vector that this thread loads as number `load`.
#[inline(always)]
fn source_vector(load: usize) -> (u32, u32) {
    let number = thread::thread_idx_x() + load as u32 * THREADS;
    (number / ROW_VECTORS, number % ROW_VECTORS)
}

/// Transposes one tile; `BLOCKS` is that of [`Tile`].
///
/// # Safety
/// The obligations of the entry points; a block has [`THREADS`] threads, and `base` is the shared-memory address,
/// aligned to 16, of [`SHARED`] bytes.
#[inline(always)]
unsafe fn transpose<E: Triple<M>, const M: usize, const BLOCKS: usize>(
    matrices: Matrices<E>,
    base: u32,
) {
    const {
        assert!(BLOCKS == Tile::<E, M>::BLOCKS);
        assert!(Tile::<E, M>::COLS * Tile::<E, M>::DST_BYTES <= SHARED);
    }
    let tile = Tile::<E, M>::new(&matrices, base);
    let whole = tile.is_whole();
    // SAFETY: the caller's obligations, and the barriers.
    unsafe {
        if whole {
            tile.load();
        } else {
            tile.load_part();
        }
        thread::sync_threads();
        let mut blocks = [[[0; 3]; M]; BLOCKS];
        for k in 0..BLOCKS {
            blocks[k] = tile.take(k);
        }
        thread::sync_threads();
        for k in 0..BLOCKS {
            tile.put(k, blocks[k]);
        }
        thread::sync_threads();
        if whole {
            tile.store();
        } else {
            tile.store_part();
        }
    }
}

/// Defines one entry point.
macro_rules! pixels {
    ($name:ident: $element:ty, block $m:literal, blocks $blocks:literal) => {
        crate::fast_entry! {
            "Transposes matrices of elements of three words whose rows, in the source and in the destination, all start on \
a multiple of 16 bytes; all columns and leading dimensions are given in words.",
            PIXELS: Plain, $name: $element, |matrices, params| {
                let bytes = cuda_std::shared_array![B16; (SHARED / VECTOR) as usize];
                let base = crate::tile::shared_address(bytes.cast());
                transpose::<$element, $m, $blocks>(matrices, base)
            }
        }
    };
}

pixels!(pixels_b1: u8, block 4, blocks 1);
pixels!(pixels_b2: u16, block 2, blocks 2);
