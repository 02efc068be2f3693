//! A square matrix whose elements have several words: two tiles, mirrored at the diagonal, change places.
//!
//! As `square`, for elements of any number of words: each is moved word by word, and a row of a tile
//! in shared memory is as long as the host found to be free of bank conflicts.

use super::segments::{self, Segments};
use super::square::tiles;
use crate::divide::Divisor32;
use crate::element::{Element, B16};
use crate::tile::shared_address;
use cuda_std::shared::dynamic_shared_mem;
use cuda_std::thread;
use kernel_abi::in_place::SquareTuples;

/// A tile of the matrix, and one in shared memory that has its content, or will have.
struct Tile<E> {
    start: *mut E,
    /// Words from one row of the matrix to the next.
    ld: u64,
    held: u32,
    pitch: u32,
    tuple: Divisor32,
    /// The tile's rows are the columns of what is held.
    crosswise: bool,
}

impl<E> Segments<E> for Tile<E> {
    const REGULAR: bool = false;

    #[inline(always)]
    fn global(&self, segment: u32) -> *mut E {
        self.start.wrapping_add(segment as usize * self.ld as usize)
    }

    #[inline(always)]
    fn shared(&self, segment: u32, position: u32) -> u32 {
        let index = if self.crosswise {
            let (row, word) = self.tuple.divide(position);
            row * self.pitch + segment * self.tuple.divisor + word
        } else {
            segment * self.pitch + position
        };
        self.held + index * size_of::<E>() as u32
    }
}

/// Exchanges the two tiles of this block.
///
/// # Safety
/// The obligations of the entry points.
#[inline(always)]
unsafe fn square_tuples<E: Element>(matrix: *mut E, _: *mut u32, params: SquareTuples) {
    let square = params.square;
    let Some((upper, has_mirror)) = tiles(square.tiles, square.apart) else { return };
    // SAFETY: the launch has dynamic shared memory for two tiles.
    let base = unsafe { shared_address(dynamic_shared_mem::<u8>()) };
    let tuple = Divisor32::from(params.tuple);
    let (ld, pitch) = (square.ld * params.tuple.divisor, params.pitch as u32);
    let tile_bytes = params.tile as u32 * pitch * size_of::<E>() as u32;
    let length = |tile: u64| params.tile.min(square.side - tile * params.tile) as u32;
    let (rows, cols) = (length(upper.0), length(upper.1));
    let at = |(row, col): (u64, u64), held: u32, crosswise: bool| {
        let index = (row * square.ld + col) * params.tile * params.tuple.divisor;
        // SAFETY: inside the matrix.
        Tile { start: unsafe { matrix.add(index as usize) }, ld, held, pitch, tuple, crosswise }
    };
    let mirror = (upper.1, upper.0);
    let (row_words, col_words) = (cols * tuple.divisor, rows * tuple.divisor);
    // SAFETY: the tiles are inside the matrix and this block's alone; both have been loaded before
    // either is overwritten.
    unsafe {
        segments::load(rows, row_words, 0, &at(upper, base, false));
        if has_mirror {
            segments::load(cols, col_words, 0, &at(mirror, base + tile_bytes, false));
        }
        thread::sync_threads();
        segments::store(cols, col_words, 0, &at(mirror, base, true));
        if has_mirror {
            segments::store(rows, row_words, 0, &at(upper, base + tile_bytes, true));
        }
    }
}

crate::in_place::in_place_entries! {
    "Transposes a square matrix of elements of several words.",
    SQUARE_TUPLES: SquareTuples, square_tuples =>
        square_tuples_b1: u8; square_tuples_b2: u16; square_tuples_b4: u32; square_tuples_b8: u64;
        square_tuples_b16: B16
}
