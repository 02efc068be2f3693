//! Square matrices: tiles mirrored at the diagonal change places.

use super::pitch::tuple_pitch;
use super::{NONE, launch};
use crate::device::Limits;
use crate::divide::magic32;
use crate::in_place::plan::Shape;
use crate::kernels::{InPlaceKernel, Width};
use crate::launch::Launch;

/// A square matrix, tiles exchanged across the diagonal. `None` if not even two elements fit on chip.
pub fn square(shape: &Shape, limits: &Limits) -> Option<Launch> {
    let Shape { rows: side, ld, width, tuple, .. } = *shape;
    if tuple != 1 {
        return square_tuples(shape, limits);
    }
    let bytes = width.bytes() as usize;
    let wide = ((side | ld) * bytes).is_multiple_of(16);
    // A tile's side, and the bytes that it takes in shared memory.
    let (tile, held) = match (wide, width) {
        // Columns of 32 words, and a word between them.
        (true, Width::B1) => (128, 128 * 33 * 4),
        (true, Width::B2) => (64, 64 * 33 * 4),
        (true, Width::B4) => (64, 64 * 65 * 4),
        _ => (32, 32 * 33 * bytes),
    };
    let tiles = side.div_ceil(tile);
    let words = [side, ld, tiles];
    let mut launch = launch(InPlaceKernel::Square, width, [1, 1], 256, 2 * held, words, [NONE; 4]);
    launch.grid = square_grid(tiles, ld, width);
    if wide {
        launch.entry = InPlaceKernel::wide_square(width);
    }
    Some(launch)
}

/// Tiles along a side of a square of tiles (`SQUARE_LOG2` of the kernel).
const SQUARE: usize = 32;

/// Rows that are a multiple of so many bytes apart meet in few banks of the memory.
const UNLUCKY_PITCH: usize = 1 << 17;

/// The grid that takes pairs of tiles, one after the other or in squares of them.
///
/// Measured on an H200 with 16 bytes: in squares 0.925 of a copy and else 0.902 where rows are 2¹⁸ bytes
/// apart, but 0.92 and 0.93 where they are 3 · 2¹⁶. Fewer bytes gain nothing from it.
fn square_grid(tiles: usize, ld: usize, width: Width) -> [u32; 3] {
    let unlucky = (ld * width.bytes() as usize).is_multiple_of(UNLUCKY_PITCH);
    let square = if width == Width::B16 && unlucky { SQUARE } else { 1 };
    let squares = tiles.div_ceil(square);
    [square * square, squares + 1, squares.div_ceil(2)].map(|n| n as u32)
}

/// Bytes of the two tiles that a block exchanges, if elements have several words.
const TUPLE_TILES_BYTES: usize = 40 << 10;

/// A square matrix of elements of several words.
fn square_tuples(shape: &Shape, limits: &Limits) -> Option<Launch> {
    let Shape { rows: side, ld, width, tuple, .. } = *shape;
    let mut tile = 64;
    while tile > 1 && 2 * tile * tile * shape.element_bytes() > TUPLE_TILES_BYTES {
        tile /= 2;
    }
    let pitch = tuple_pitch(tile * tuple, tuple, width);
    let shared = 2 * tile * pitch * width.bytes() as usize;
    let tiles = side.div_ceil(tile);
    let mut launch = launch(
        InPlaceKernel::SquareTuples,
        width,
        [1, 1],
        256,
        shared,
        [side, ld, tiles, tile, pitch, tuple, 0],
        [(6, magic32(tuple)), NONE, NONE, NONE],
    );
    launch.grid = square_grid(tiles, ld * tuple, width);
    (shared <= limits.block_shared).then_some(launch)
}
