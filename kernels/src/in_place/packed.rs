//! A square matrix of 1- or 2-byte elements: `square`, four bytes at a time.
//!
//! Shared memory and registers work in words of 4 bytes, so single bytes would leave most of both
//! idle. A thread loads 16 bytes of each of `R` neighbouring rows, `R` elements being a word,
//! and transposes `R × R` blocks by exchanging bytes between words. What is left is the transposition
//! of a tile of words, each of `R` elements of one column.
//!
//! Column `c` of the tile is held at `33 · c`, its words rotated by four for every 16 bytes of a row:
//! then neither the stores of a warp (8 places in a row, 4 rows of words) nor its loads
//! (4 words of each of 8 places, in 4 columns) meet in a bank.

use super::square::{place, Place};
use crate::element::{Element, B16};
use crate::global::{load_vector, store_vector};
use crate::tile::shared_address;
use cuda_std::shared::dynamic_shared_mem;
use cuda_std::{gpu_only, thread};
use kernel_abi::in_place::Square;

/// Words of a column of the tile, and vectors of a row times four.
const COLUMN_WORDS: u32 = 32;

/// Four of the eight bytes of two words, as the digits of `selector` number them.
#[gpu_only]
#[inline(always)]
fn pick(low: u32, high: u32, selector: u32) -> u32 {
    let picked;
    // SAFETY: arithmetic on registers.
    unsafe {
        core::arch::asm!("prmt.b32 {picked}, {low}, {high}, {selector};",
            picked = out(reg32) picked, low = in(reg32) low, high = in(reg32) high,
            selector = in(reg32) selector, options(pure, nomem, nostack, preserves_flags));
    }
    picked
}

/// Words of `R` elements each that a thread exchanges bytes between.
trait Block {
    /// Transposes the block.
    fn transposed(self) -> Self;
}

impl Block for [u32; 4] {
    #[inline(always)]
    fn transposed(self) -> Self {
        let [a, b, c, d] = self;
        let (ab_low, ab_high) = (pick(a, b, 0x5140), pick(a, b, 0x7362));
        let (cd_low, cd_high) = (pick(c, d, 0x5140), pick(c, d, 0x7362));
        [
            pick(ab_low, cd_low, 0x5410),
            pick(ab_low, cd_low, 0x7632),
            pick(ab_high, cd_high, 0x5410),
            pick(ab_high, cd_high, 0x7632),
        ]
    }
}

impl Block for [u32; 2] {
    #[inline(always)]
    fn transposed(self) -> Self {
        [pick(self[0], self[1], 0x5410), pick(self[0], self[1], 0x7632)]
    }
}

/// Exchanges the two tiles of this block. `R` is 4 for 1-byte elements, 2 for 2-byte ones.
///
/// # Safety
/// The obligations of the entry points; rows begin at multiples of 16 bytes and have whole ones.
#[inline(always)]
unsafe fn packed<E: Element, const R: usize>(matrix: *mut E, _: *mut u32, params: Square)
where
    [u32; R]: Block,
{
    let Some(Place { upper, has_mirror, before }) = place(&params) else { return };
    // SAFETY: where this block's matrix starts.
    let matrix = unsafe { matrix.add(before as usize) };
    // SAFETY: the launch has dynamic shared memory for two tiles.
    let base = unsafe { shared_address(dynamic_shared_mem::<u8>()) };
    let side = COLUMN_WORDS * R as u32;
    let per_vector = 4 * R as u32;
    let (vector, line) = (thread::thread_idx_x() & 7, thread::thread_idx_x() >> 3);
    let mirror = (upper.1, upper.0);
    let address = |tile: u32, col: u32, word: u32| {
        let word = (word + col / per_vector * 4) & 31;
        base + (tile * side * 33 + col * 33 + word) * 4
    };
    let inside = |tile: (u64, u64), row: u32| {
        tile.0 * side as u64 + (row as u64) < params.side
            && tile.1 * side as u64 + ((vector * per_vector) as u64) < params.side
    };
    let address_in = |tile: (u64, u64), row: u32| {
        let col = tile.1 * side as u64 + (vector * per_vector) as u64;
        let index = (tile.0 * side as u64 + row as u64) * params.ld + col;
        // SAFETY: inside the matrix, as `inside` is asked first.
        unsafe { matrix.add(index as usize) as u64 }
    };
    let load = |tile, row| {
        if inside(tile, row) {
            // SAFETY: inside the matrix, and aligned.
            unsafe { load_vector(address_in(tile, row)) }.u32s()
        } else {
            [0; 4]
        }
    };
    let mut held = [[[0; 4]; R]; 2];
    crate::unroll!(K in [0 1 2 3] {
        if K < R {
            held[0][K] = load(upper, line * R as u32 + K as u32);
            if has_mirror {
                held[1][K] = load(mirror, line * R as u32 + K as u32);
            }
        }
    });
    crate::unroll!(STEP in [0 1 2 3 4 5 6 7] {
        const TILE: usize = STEP / 4;
        const WORD: usize = STEP % 4;
        let mut block = [0; R];
        crate::unroll!(K in [0 1 2 3] {
            if K < R {
                block[K] = held[TILE][K][WORD];
            }
        });
        let block = block.transposed();
        crate::unroll!(K in [0 1 2 3] {
            if K < R {
                let col = vector * per_vector + (WORD * R + K) as u32;
                // SAFETY: inside the tile; each place once, and a barrier follows.
                unsafe { block[K].store_shared(address(TILE as u32, col, line)) };
            }
        });
    });
    thread::sync_threads();
    // SAFETY: called after the barrier, for a place inside the matrix; both tiles have been read.
    let store = |tile: u32, target: (u64, u64), row: u32| unsafe {
        let mut words = [0; 4];
        for (k, word) in words.iter_mut().enumerate() {
            *word = u32::load_shared(address(tile, row, vector * 4 + k as u32));
        }
        store_vector(address_in(target, row), B16::from_u32s(words))
    };
    for step in 0..R {
        let row = line + step as u32 * 32;
        if inside(mirror, row) {
            store(0, mirror, row);
        }
        if has_mirror && inside(upper, row) {
            store(1, upper, row);
        }
    }
}

crate::in_place::in_place_entries! {
    "Transposes a square matrix of narrow elements by 16-byte accesses.",
    SQUARE_WIDE: Square, packed => square_wide_b1: u8, 4; square_wide_b2: u16, 2
}
