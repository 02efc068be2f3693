//! The transpose of matrices of triples of 1-byte or 2-byte words: RGB pixels of 8 or 16 bits.
//!
//! A triple never fills a vector, but 12 bytes are always a whole number `M` of triples: 4 of 1-byte words, 2 of 2-byte
//! words. So threads move *packets* of 12 bytes. The source is [staged as it lies](super::row_staging). A thread takes one
//! packet from each of `M` rows, which is a block of `M × M` triples, and transposes it in registers; the transposed tile
//! takes the staging buffer's place, and [spans](super::spans) of its rows are stored.
//!
//! ```text
//! staging[r] = src[first_row + r], the tile's columns
//! barrier
//! packet[i] = staging[row + i], triples col .. col + M        each 12 bytes
//! barrier
//! tile[col + j], bytes from 12 · (row / M) on = (packet[0][j], …, packet[M - 1][j])
//! barrier
//! dst[c], bytes b .. b + 16 = tile[c], bytes b .. b + 16
//! ```

use super::gather::Gather;
use super::row_staging::{RowStaging, ToStaging};
use super::shared::{load_u32, permute, store_u32};
use super::spans::{Destination, Spans, Transposed};
use super::{SECTOR, VECTOR};
use crate::matrices::Matrices;
use crate::slide::slide_u32;
use cuda_std::thread;
use kernel_abi::fast::TriplesTile;

/// Bytes of a packet.
pub const PACKET: u32 = TriplesTile::PACKET;

/// The 12 bytes of a packet.
pub type Packet = [u32; 3];

/// What a triple is made of; a block has `M × M` triples.
pub trait Triple<const M: usize>: Gather {
    /// The transposed block.
    fn transpose(packets: [Packet; M]) -> [Packet; M];
}

impl Triple<2> for u16 {
    #[inline(always)]
    fn transpose([a, b]: [Packet; 2]) -> [Packet; 2] {
        let (halves, swapped) = (0x5410, 0x5432);
        [
            [a[0], permute(a[1], b[0], halves), permute(b[0], b[1], swapped)],
            [permute(a[1], a[2], swapped), permute(a[2], b[1], 0x7632), b[2]],
        ]
    }
}

impl Triple<4> for u8 {
    #[inline(always)]
    fn transpose(packets: [Packet; 4]) -> [Packet; 4] {
        // The triple `j` of a packet, and one byte more.
        let triple = |packet: Packet, j: u32| match j {
            0 => packet[0],
            1 => permute(packet[0], packet[1], 0x6543),
            2 => permute(packet[1], packet[2], 0x5432),
            _ => packet[2] >> 8,
        };
        let column = |j: u32| {
            let [a, b, c, d] = packets;
            let (a, b, c, d) = (triple(a, j), triple(b, j), triple(c, j), triple(d, j));
            [permute(a, b, 0x4210), permute(b, c, 0x5421), permute(c, d, 0x6542)]
        };
        [column(0), column(1), column(2), column(3)]
    }
}

/// Packets of a staged row: 20 in the 240 bytes that 16 vectors hold wherever a row starts.
const PACKETS: u32 = TriplesTile::PACKETS;

/// Vectors of a staged row.
const ROW_VECTORS: u32 = TriplesTile::ROW_VECTORS;

/// Groups of `M` rows in a tile: 9 sectors' worth, and what spans may start early with.
const GROUPS: u32 = (SPAN + LEAD) / PACKET;

/// Bytes of a span: whole sectors and whole packets.
const SPAN: u32 = TriplesTile::SPAN;

/// Bytes that spans may start early with, as whole packets.
const LEAD: u32 = SECTOR.next_multiple_of(PACKET);

/// Threads of a block: each has up to two blocks of triples.
const THREADS: u32 = TriplesTile::BLOCK[0];

/// Bytes of a transposed tile's row, rounded up to all banks.
const PITCH: u32 = (GROUPS * PACKET).next_multiple_of(128);

/// A tile, staged or transposed.
#[derive(Clone, Copy)]
struct Tile<E, const M: usize, const GROUP: u32, const ROWS: u32> {
    staging: RowStaging<E, ROW_VECTORS, ROWS>,
    transposed: Transposed<PITCH, GROUP>,
    /// The source's row and triple at its corner; the row may lie before the matrix.
    row: i64,
    col: u64,
}

impl<E: Triple<M> + ToStaging, const M: usize, const GROUP: u32, const ROWS: u32>
    Tile<E, M, GROUP, ROWS>
{
    const SIZE: u32 = size_of::<E>() as u32;
    /// Bytes of a triple.
    const TRIPLE: u32 = 3 * Self::SIZE;
    /// Triples of a row.
    const COLS: u32 = PACKETS * M as u32;
    /// Blocks of triples.
    const BLOCKS: u32 = GROUPS * PACKETS;

    /// The block's tile; `base` is the shared-memory address of both its forms.
    #[inline(always)]
    fn new(base: u32) -> Self {
        let start = thread::block_idx_x() as i64 * (SPAN / Self::TRIPLE) as i64;
        Tile {
            staging: RowStaging { base, element: core::marker::PhantomData },
            transposed: Transposed { base },
            row: start - (LEAD / Self::TRIPLE) as i64,
            col: thread::block_idx_y() as u64 * Self::COLS as u64,
        }
    }

    /// The packet that is staged at the address `from`.
    ///
    /// # Safety
    /// The packet was stored before the last barrier.
    #[inline(always)]
    unsafe fn packet(from: u32) -> Packet {
        // SAFETY: the caller's obligations.
        let part = |i: u32| unsafe { load_u32(from / 4 * 4 + i * 4) };
        let (a, b, c) = (part(0), part(1), part(2));
        // A packet that starts on a multiple of four bytes does not touch the four bytes behind it, which may not be there.
        let d = if from.is_multiple_of(4) { c } else { part(3) };
        [slide_u32(a, b, from), slide_u32(b, c, from), slide_u32(c, d, from)]
    }

    /// The staged block `number`, transposed.
    ///
    /// # Safety
    /// The buffer was loaded before the last barrier.
    #[inline(always)]
    unsafe fn block(&self, matrices: &Matrices<E>, number: u32) -> [Packet; M] {
        let (group, packet) = (number / PACKETS, number % PACKETS);
        let stride = matrices.src_ld as u32 * Self::SIZE;
        let corner = (matrices.src as u32)
            .wrapping_add((self.row as u32).wrapping_mul(stride))
            .wrapping_add(self.col as u32 * Self::TRIPLE);
        let mut packets = [[0; 3]; M];
        for i in 0..M {
            let row = self.staging.row_to_the_byte(group * M as u32 + i as u32, corner, stride);
            // SAFETY: the caller's obligations.
            packets[i] = unsafe { Self::packet(row + packet * PACKET) };
        }
        E::transpose(packets)
    }

    /// Stores block `number` to the transposed tile.
    ///
    /// # Safety
    /// A barrier since the staging buffer was read; no other thread stores this block.
    #[inline(always)]
    unsafe fn store_block(&self, number: u32, columns: [Packet; M]) {
        let (group, packet) = (number / PACKETS, number % PACKETS);
        for j in 0..M {
            for part in 0..3 {
                let byte = group * PACKET + part as u32 * 4;
                let at = self.transposed.address(packet * M as u32 + j as u32, byte);
                // SAFETY: the caller's obligations.
                unsafe { store_u32(at, columns[j][part]) };
            }
        }
    }

    /// Stores what follows the last packet of each row in its vector, which is read with it.
    ///
    /// # Safety
    /// A barrier since the staging buffer was read.
    #[inline(always)]
    unsafe fn store_padding(&self) {
        let padding = (GROUPS * PACKET).next_multiple_of(VECTOR) / 4 - GROUPS * PACKET / 4;
        let t = thread::thread_idx_x();
        if t < Self::COLS * padding {
            let at = self.transposed.address(t / padding, GROUPS * PACKET + t % padding * 4);
            // SAFETY: the caller's obligations.
            unsafe { store_u32(at, 0) };
        }
    }

    /// Stores the spans of the tile's columns.
    ///
    /// # Safety
    /// The obligations of the entry points, and a barrier since the tile was stored.
    #[inline(always)]
    unsafe fn store(&self, matrices: &Matrices<E>) {
        let spans = Spans::<{ SPAN / VECTOR }> {
            first: self.row * Self::TRIPLE as i64,
            lead: LEAD,
            rows: Self::COLS,
            end: matrices.rows * Self::TRIPLE as u64,
        };
        let stride = matrices.dst_ld * Self::SIZE as u64;
        let to = Destination {
            start: matrices.dst as u64 + self.col * stride,
            stride,
            left: matrices.cols / 3 - self.col,
        };
        // SAFETY: the caller's obligations.
        unsafe { self.transposed.store::<E, THREADS, { SPAN / VECTOR }>(spans, to) };
    }
}

/// Transposes one tile.
///
/// # Safety
/// The obligations of the entry points; a block has [`THREADS`] threads, `ROWS` is `GROUPS * M` and
/// `LOADS` the vectors of a thread; `base` is the shared-memory address, aligned to 16, of enough
/// memory for the staging buffer and for the transposed tile.
#[inline(always)]
unsafe fn transpose<
    E: Triple<M> + ToStaging,
    const M: usize,
    const GROUP: u32,
    const ROWS: u32,
    const LOADS: usize,
>(
    matrices: Matrices<E>,
    base: u32,
) {
    let tile = Tile::<E, M, GROUP, ROWS>::new(base);
    let (first, second) = (thread::thread_idx_x(), thread::thread_idx_x() + THREADS);
    let has_second = second < Tile::<E, M, GROUP, ROWS>::BLOCKS;
    // SAFETY: the caller's obligations, and the barriers; blocks are numbered by thread.
    unsafe {
        let interior = tile.staging.is_interior(&matrices, tile.row, tile.col * 3);
        tile.staging.load::<THREADS, LOADS>(&matrices, tile.row, tile.col * 3, interior);
        thread::sync_threads();
        let one = tile.block(&matrices, first);
        let two = if has_second { tile.block(&matrices, second) } else { [[0; 3]; M] };
        thread::sync_threads();
        tile.store_block(first, one);
        if has_second {
            tile.store_block(second, two);
        }
        tile.store_padding();
        thread::sync_threads();
        tile.store(&matrices);
    }
}

/// Defines one entry point.
macro_rules! triples {
    ($name:ident: $element:ty, block $m:literal, rows $rows:literal, loads $loads:literal) => {
        crate::fast_entry! {
            "Transposes matrices of elements of three words; all columns and leading dimensions are given in \
words.",
            TRIPLES: Plain, $name: $element, |matrices, params| {
                let bytes = cuda_std::shared_array![
                    crate::element::B16; (super::row_staging::staging_bytes::<$element>(ROW_VECTORS, $rows) / VECTOR) as usize
                ];
                let base = crate::tile::shared_address(bytes.cast());
                transpose::<$element, $m, $m, $rows, $loads>(matrices, base)
            }
        }
    };
}

triples!(triples_b1: u8, block 4, rows 108, loads 6);
triples!(triples_b2: u16, block 2, rows 54, loads 3);
