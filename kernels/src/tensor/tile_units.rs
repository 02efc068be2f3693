//! Tiles of narrow words by *units*, where all rows, or all columns, start and end on 4 or 8 bytes: neighbouring lanes have neighbouring units, and nothing is
//! slid. Columns that are whole vectors are stored so too, by units of 16 bytes.

use super::tile::{turn, Offsets, Place, Source, Tile};
use crate::element::{Element, B16};
use crate::global::{load_eight, load_four, store_eight, store_four, store_vector};
use crate::micro_block::store_columns_of_unit;
use crate::shared::{load_u32, load_u32x2};
use crate::tensor::axes::divide;
use cuda_std::thread;
use kernel_abi::fast::VECTOR;
use kernel_abi::tensor::{TileShape, Tiles};
use kernel_abi::Width;

/// Rows of a micro-block of narrow words.
const ROWS: usize = TileShape::of(Width::B2).block_rows as usize;

/// Loads a tile and transposes it into shared memory, by units of `UNIT` bytes: of each row, a thread has as many as are a vector, as far apart as a row has
/// vectors. What there is behind a column's last row may be anything. Words arrive as they are: none of narrow ones has its bits flipped.
///
/// # Safety
/// Those of [`load`](super::tiles::load); each thread has one micro-block, and rows start and end on units.
#[inline(always)]
pub unsafe fn load_units<E: Element, const UNIT: u32>(
    source: Source<E>,
    params: &Tiles,
    offsets: Offsets,
    tile: Tile<E>,
    place: Place,
) {
    const { assert!(UNIT == 4 || UNIT == 8) };
    let of_unit = UNIT / size_of::<E>() as u32;
    let apart = params.row_vectors as u32;
    let (group, first) = divide(thread::thread_idx_x(), params.row_vectors);
    let top = group * ROWS as u32;
    // The unit of a thread's vector that 4 bytes are of, and which of its parts of 4 bytes.
    let unit = |part: usize| (part as u32 * 4 / UNIT, part % (UNIT as usize / 4));
    let mut held = [[0; ROWS]; 4];
    for i in 0..ROWS {
        // The last row again where there are no more.
        let row = (top + i as u32).min(place.rows - 1);
        // SAFETY: an entry of the table.
        let from = source.address(unsafe { Offsets::of(offsets.rows, row) }, first * of_unit);
        for part in 0..4 {
            let (number, within) = unit(part);
            let is_there = top < place.rows && (first + number * apart) * of_unit < place.cols;
            if within > 0 || !is_there {
                continue;
            }
            let from = from + (number * apart * UNIT) as u64;
            // SAFETY: a unit of the source.
            unsafe {
                if UNIT == 4 {
                    held[part][i] = load_four(from);
                } else {
                    [held[part][i], held[part + 1][i]] = load_eight(from);
                }
            }
        }
    }
    if top < place.kept_rows::<E>() {
        for part in 0..4 {
            let (number, within) = unit(part);
            let unit = first + number * apart;
            let at = tile.address(top, unit * of_unit, unit);
            let at = at + within as u32 * 4 / size_of::<E>() as u32 * tile.pitch();
            // SAFETY: no two threads have a micro-block in common, and the tile has its columns.
            unsafe { store_columns_of_unit::<E>(held[part], at, tile.pitch()) }
        }
    }
}

/// Stores the tile by units of `UNIT` bytes, whatever columns they are of: where columns lie together, a warp's stores do.
///
/// # Safety
/// Those of [`move_tile`](super::tiles); a barrier separates this from [`load`](super::tiles::load), and columns start and end on units.
#[inline(always)]
pub unsafe fn store_units<E: Element, const UNIT: u32>(
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
            let (row, turn) = (byte / size_of::<E>() as u32, turn::<E>(params, col));
            // Where all columns start on vectors there may be padding between them.
            let from = match UNIT {
                VECTOR => tile.kept::<false>(row, col, turn),
                _ => tile.address(row, col, turn),
            };
            // SAFETY: a column that there is, and a unit of it, which no other thread has.
            unsafe {
                let to = dst.wrapping_byte_add(Offsets::of(offsets.cols, col) as usize);
                let to = to.wrapping_byte_add(byte as usize) as u64;
                match UNIT {
                    4 => store_four(to, load_u32(from)),
                    8 => store_eight(to, load_u32x2(from)),
                    _ => store_vector(to, B16::load_shared(from)),
                }
            }
            col += every;
        }
        byte += lanes * UNIT;
    }
}
