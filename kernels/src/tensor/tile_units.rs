//! Stores a transposed tile of narrow words whose columns all start and end on 4 bytes of the destination, though not on vectors: 4 bytes at a time,
//! neighbours by neighbouring lanes, whatever columns they are of. Where columns lie together, a warp's stores do.

use super::tile::{Offsets, Place, Tile};
use crate::element::Element;
use crate::shared::load_u32;
use crate::tensor::axes::divide;
use cuda_std::thread;
use kernel_abi::fast::VECTOR;
use kernel_abi::tensor::Tiles;

/// Bytes that a lane stores at a time.
const UNIT: u32 = 4;

/// Stores the tile.
///
/// # Safety
/// Those of [`move_tile`](super::tiles); a barrier separates this from [`load`](super::tiles::load), and columns start and end on units.
#[inline(always)]
pub unsafe fn store_units<E: Element>(
    dst: *mut E,
    params: &Tiles,
    offsets: Offsets,
    tile: Tile<E>,
    place: Place,
) {
    let lanes = params.units as u32;
    let (first, lane) = divide(thread::thread_idx_x(), params.units);
    let (every, _) = divide(thread::block_dim_x(), params.units);
    // A thread that is one too many.
    if first >= every {
        return;
    }
    // A thread has the same unit of some columns.
    let mut byte = lane * UNIT;
    while byte < place.rows * size_of::<E>() as u32 {
        let mut col = first;
        while col < place.cols {
            // Narrow words are loaded by vectors, slid or not.
            let vector = col / (VECTOR / size_of::<E>() as u32);
            let from = tile.address(byte / size_of::<E>() as u32, col, vector);
            // SAFETY: a column that there is, and a unit of it, which no other thread has.
            unsafe {
                let to = dst.wrapping_byte_add(Offsets::of(offsets.cols, col) as usize);
                (to.wrapping_byte_add(byte as usize) as *mut u32).write(load_u32(from));
            }
            col += every;
        }
        byte += lanes * UNIT;
    }
}
