//! Loads a tile of narrow words whose rows start anywhere: a thread loads the aligned vector that its words of a row start in, and slides them out of that
//! and the next lane's. (If each thread loaded both, neither would be in the cache yet, and memory would be asked for all of them twice.)

use super::axes::divide;
use super::on_the_way::OnTheWay;
use super::tile::{Offsets, Place, Source, Tile};
use crate::element::{Element, B16};
use crate::global::load_vector;
use crate::micro_block::MicroBlock;
use crate::slide::slide;
use crate::warp::next_lanes_vector;
use cuda_std::thread;
use kernel_abi::fast::{VECTOR, WARP};
use kernel_abi::tensor::Tiles;

/// Loads a tile and transposes it into shared memory. What is kept of a column is whole vectors; what there is behind its last row may be anything.
///
/// # Safety
/// Those of [`load`](super::tiles::load); all threads of the block call this together, and each has one micro-block.
#[inline(always)]
pub unsafe fn load_slid<E: MicroBlock<R>, const R: usize>(
    source: Source<E>,
    params: &Tiles,
    on_the_way: impl OnTheWay<E>,
    offsets: Offsets,
    tile: Tile<E>,
    place: Place,
) {
    let of_vector = VECTOR / size_of::<E>() as u32;
    let (group, vector) = divide(thread::thread_idx_x(), params.row_vectors);
    let (top, first) = (group * R as u32, vector * of_vector);
    let is_last = vector + 1 == params.row_vectors as u32;
    let has_next = !is_last && thread::thread_idx_x() % WARP != WARP - 1;
    let mut held = [B16::ANY; R];
    // The last row again where there are no more.
    let row = |i: usize| (top + i as u32).min(place.rows - 1);
    // SAFETY: an entry of the table.
    let from = |i: usize| source.address(unsafe { Offsets::of(offsets.rows, row(i)) }, first);
    let mut all_inside = true;
    // The lane before may need what lies behind the last column.
    if top < place.rows && first < place.cols + of_vector {
        let mut aligned = [0; R];
        for i in 0..R {
            let from = from(i);
            aligned[i] = from - from % VECTOR as u64;
            all_inside &= source.holds(aligned[i], 2 * VECTOR);
        }
        // SAFETY: aligned vectors of what lies between the source's words.
        unsafe {
            if all_inside {
                for i in 0..R {
                    held[i] = load_vector(aligned[i]);
                }
            } else {
                // The lane before may need these.
                for i in 0..R {
                    if source.holds(aligned[i], VECTOR) {
                        held[i] = load_vector(aligned[i]);
                    }
                }
            }
        }
    }
    let is_there = top < place.rows && first < place.cols && all_inside;
    for i in 0..R {
        // SAFETY: the caller's obligations.
        let mut next = unsafe { next_lanes_vector(held[i]) };
        let mut past = 0;
        if is_there {
            let from = from(i);
            past = from as u32 % VECTOR;
            if !has_next {
                // SAFETY: an aligned vector of what lies between the source's words.
                next = unsafe { load_vector(from - from % VECTOR as u64 + VECTOR as u64) };
            }
        }
        held[i] = on_the_way.vector(slide::<E>(held[i], next, past));
    }
    if top < place.kept_rows::<E>() {
        // SAFETY: no two threads have a micro-block in common, and the tile has its columns.
        unsafe {
            E::store_columns(held, tile.address(top, first, vector), tile.pitch());
            if !all_inside {
                load_singly(
                    source,
                    on_the_way,
                    offsets,
                    tile,
                    place,
                    [top, R as u32],
                    [first, vector],
                );
            }
        }
    }
}

/// Loads the words of a micro-block one by one, and stores them to the tile.
///
/// # Safety
/// Those of [`load_slid`]; the micro-block, of so many rows, is this thread's.
#[inline(always)]
unsafe fn load_singly<E: Element>(
    source: Source<E>,
    on_the_way: impl OnTheWay<E>,
    offsets: Offsets,
    tile: Tile<E>,
    place: Place,
    [top, rows]: [u32; 2],
    [first, vector]: [u32; 2],
) {
    let cols = place.cols.min(first + VECTOR / size_of::<E>() as u32);
    let mut row = top;
    while row < place.rows.min(top + rows) {
        let mut col = first;
        while col < cols {
            // SAFETY: the caller's obligations; a word of the source.
            unsafe {
                let from = source.address(Offsets::of(offsets.rows, row), col);
                on_the_way
                    .word(E::load(from as *const E))
                    .store_shared(tile.address(row, col, vector));
            }
            col += 1;
        }
        row += 1;
    }
}
