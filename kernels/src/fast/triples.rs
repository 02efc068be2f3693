//! The transpose of matrices of triples of 1- or 2-byte words: RGB pixels of 8 or 16 bits.
//!
//! Three words are never as long as a vector, but 12 bytes are always a whole number `M` of triples: 4
//! of 1-byte words, 2 of 2-byte words. So threads move *pieces* of 12 bytes. The source is [staged as it
//! lies](super::row_stage). A thread takes one piece from each of `M` rows, which is a block of `M × M`
//! triples, and transposes it in registers; the transposed tile takes the stage's place, and its rows are stored by
//! [windows](super::windows).
//!
//! ```text
//! stage[r] = src[first_row + r], the tile's columns
//! barrier
//! piece[i] = stage[row + i], triples col .. col + M           each 12 bytes
//! barrier
//! tile[col + j], bytes from 12 · (row / M) on = (piece[0][j], …, piece[M - 1][j])
//! barrier
//! dst[c], bytes b .. b + 16 = tile[c], bytes b .. b + 16
//! ```

use super::gather::Gather;
use super::row_stage::{Stage, Staged};
use super::shared::{load_u32, permute, store_u32};
use super::windows::{slide_word, Rows, Transposed, Windows};
use super::{SECTOR, VECTOR};
use crate::matrices::Matrices;
use cuda_std::thread;
use kernel_abi::fast::TriplesTile;

/// Bytes of a piece.
pub const PIECE: u32 = TriplesTile::PIECE;

/// Three words: a piece.
pub type Piece = [u32; 3];

/// What a triple is made of; a block has `M × M` triples.
pub trait Triple<const M: usize>: Gather {
    /// The transposed block.
    fn transpose(pieces: [Piece; M]) -> [Piece; M];
}

impl Triple<2> for u16 {
    #[inline(always)]
    fn transpose([a, b]: [Piece; 2]) -> [Piece; 2] {
        let (halves, swapped) = (0x5410, 0x5432);
        [
            [a[0], permute(a[1], b[0], halves), permute(b[0], b[1], swapped)],
            [permute(a[1], a[2], swapped), permute(a[2], b[1], 0x7632), b[2]],
        ]
    }
}

impl Triple<4> for u8 {
    #[inline(always)]
    fn transpose(pieces: [Piece; 4]) -> [Piece; 4] {
        // The triple `j` of a piece, and one byte more.
        let triple = |piece: Piece, j: u32| match j {
            0 => piece[0],
            1 => permute(piece[0], piece[1], 0x6543),
            2 => permute(piece[1], piece[2], 0x5432),
            _ => piece[2] >> 8,
        };
        let column = |j: u32| {
            let [a, b, c, d] = pieces;
            let (a, b, c, d) = (triple(a, j), triple(b, j), triple(c, j), triple(d, j));
            [permute(a, b, 0x4210), permute(b, c, 0x5421), permute(c, d, 0x6542)]
        };
        [column(0), column(1), column(2), column(3)]
    }
}

/// Pieces of a stage's row: 20 in the 240 bytes that 16 vectors hold wherever a row starts.
const PIECES: u32 = TriplesTile::PIECES;

/// Vectors of a stage's row.
const CHUNKS: u32 = TriplesTile::CHUNKS;

/// Groups of `M` rows in a tile: 9 sectors' worth, and what windows may start early with.
const GROUPS: u32 = (WINDOW + LEAD) / PIECE;

/// Bytes of a window: whole sectors and whole pieces.
const WINDOW: u32 = TriplesTile::WINDOW;

/// Bytes that windows may start early with, as whole pieces.
const LEAD: u32 = SECTOR.next_multiple_of(PIECE);

/// Threads of a block: each has up to two blocks of triples.
const THREADS: u32 = TriplesTile::BLOCK[0];

/// Bytes of a transposed tile's row, rounded up to all banks.
const PITCH: u32 = (GROUPS * PIECE).next_multiple_of(128);

/// A tile, staged or transposed.
#[derive(Clone, Copy)]
struct Tile<E, const M: usize, const GROUP: u32, const ROWS: u32> {
    stage: Stage<E, CHUNKS, ROWS>,
    transposed: Transposed<PITCH, GROUP>,
    /// The source's row and triple at its corner; the row may lie before the matrix.
    row: i64,
    col: u64,
}

impl<E: Triple<M> + Staged, const M: usize, const GROUP: u32, const ROWS: u32>
    Tile<E, M, GROUP, ROWS>
{
    const SIZE: u32 = size_of::<E>() as u32;
    /// Bytes of a triple.
    const TRIPLE: u32 = 3 * Self::SIZE;
    /// Triples of a row.
    const COLS: u32 = PIECES * M as u32;
    /// Blocks of triples.
    const BLOCKS: u32 = GROUPS * PIECES;

    /// The block's tile; `base` is the shared-memory address of both its forms.
    #[inline(always)]
    fn new(base: u32) -> Self {
        let start = thread::block_idx_x() as i64 * (WINDOW / Self::TRIPLE) as i64;
        Tile {
            stage: Stage { base, element: core::marker::PhantomData },
            transposed: Transposed { base },
            row: start - (LEAD / Self::TRIPLE) as i64,
            col: thread::block_idx_y() as u64 * Self::COLS as u64,
        }
    }

    /// The piece at the stage's address `from`.
    ///
    /// # Safety
    /// The piece was stored before the last barrier.
    #[inline(always)]
    unsafe fn piece(from: u32) -> Piece {
        // SAFETY: the caller's obligations.
        let word = |i: u32| unsafe { load_u32(from / 4 * 4 + i * 4) };
        let (a, b, c) = (word(0), word(1), word(2));
        // A piece that starts on a word does not touch a fourth one, which may not be there.
        let d = if from.is_multiple_of(4) { c } else { word(3) };
        [slide_word(a, b, from), slide_word(b, c, from), slide_word(c, d, from)]
    }

    /// Block `number` of the stage, transposed.
    ///
    /// # Safety
    /// The stage was loaded before the last barrier.
    #[inline(always)]
    unsafe fn block(&self, matrices: &Matrices<E>, number: u32) -> [Piece; M] {
        let (group, piece) = (number / PIECES, number % PIECES);
        let stride = matrices.src_ld as u32 * Self::SIZE;
        let corner = (matrices.src as u32)
            .wrapping_add((self.row as u32).wrapping_mul(stride))
            .wrapping_add(self.col as u32 * Self::TRIPLE);
        let mut pieces = [[0; 3]; M];
        for i in 0..M {
            let row = self.stage.row_to_the_byte(group * M as u32 + i as u32, corner, stride);
            // SAFETY: the caller's obligations.
            pieces[i] = unsafe { Self::piece(row + piece * PIECE) };
        }
        E::transpose(pieces)
    }

    /// Stores block `number` to the transposed tile.
    ///
    /// # Safety
    /// A barrier since the stage was read; no other thread stores this block.
    #[inline(always)]
    unsafe fn store_block(&self, number: u32, columns: [Piece; M]) {
        let (group, piece) = (number / PIECES, number % PIECES);
        for j in 0..M {
            for word in 0..3 {
                let byte = group * PIECE + word as u32 * 4;
                let at = self.transposed.address(piece * M as u32 + j as u32, byte);
                // SAFETY: the caller's obligations.
                unsafe { store_u32(at, columns[j][word]) };
            }
        }
    }

    /// Stores what follows the last piece of each row in its vector, which is read with it.
    ///
    /// # Safety
    /// As for [`store_block`](Self::store_block).
    #[inline(always)]
    unsafe fn store_padding(&self) {
        let words = (GROUPS * PIECE).next_multiple_of(VECTOR) / 4 - GROUPS * PIECE / 4;
        let t = thread::thread_idx_x();
        if t < Self::COLS * words {
            let at = self.transposed.address(t / words, GROUPS * PIECE + t % words * 4);
            // SAFETY: the caller's obligations.
            unsafe { store_u32(at, 0) };
        }
    }

    /// Stores the windows of the tile's columns.
    ///
    /// # Safety
    /// The obligations of the entry points, and a barrier since the tile was stored.
    #[inline(always)]
    unsafe fn store(&self, matrices: &Matrices<E>) {
        let windows = Windows::<{ WINDOW / VECTOR }> {
            first: self.row * Self::TRIPLE as i64,
            lead: LEAD,
            rows: Self::COLS,
            end: matrices.rows * Self::TRIPLE as u64,
        };
        let stride = matrices.dst_ld * Self::SIZE as u64;
        let to = Rows {
            start: matrices.dst as u64 + self.col * stride,
            stride,
            left: matrices.cols / 3 - self.col,
        };
        // SAFETY: the caller's obligations.
        unsafe { self.transposed.store::<E, THREADS, { WINDOW / VECTOR }>(windows, to) };
    }
}

/// Transposes one tile.
///
/// # Safety
/// The obligations of the entry points; a block has [`THREADS`] threads, `ROWS` is `GROUPS * M` and
/// `LOADS` the vectors of a thread; `base` is the shared-memory address, aligned to 16, of enough
/// memory for the stage and for the transposed tile.
#[inline(always)]
unsafe fn transpose<
    E: Triple<M> + Staged,
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
        let interior = tile.stage.is_interior(&matrices, tile.row, tile.col * 3);
        tile.stage.load::<THREADS, LOADS>(&matrices, tile.row, tile.col * 3, interior);
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
            "Transposes matrices of three words each; all columns and leading dimensions are given in \
words.",
            TRIPLES: Plain, $name: $element, |matrices, params| {
                let bytes = cuda_std::shared_array![
                    crate::element::B16; (super::row_stage::stage_bytes::<$element>(CHUNKS, $rows) / VECTOR) as usize
                ];
                let base = crate::tile::shared_address(bytes.cast());
                transpose::<$element, $m, $m, $rows, $loads>(matrices, base)
            }
        }
    };
}

triples!(triples_b1: u8, block 4, rows 108, loads 6);
triples!(triples_b2: u16, block 2, rows 54, loads 3);
