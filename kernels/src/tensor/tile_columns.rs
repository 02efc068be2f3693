//! Stores a transposed tile of narrow words whose columns start anywhere in the destination: first what of each column is whole vectors there, each slid out
//! of two of shared memory, and then its ends, a lane for each word.
//!
//! Neighbouring lanes have neighbouring vectors, as many lanes a column as the planner says: one for each of few vectors, so that none is idle; fewer for many, so that a thread looks up where
//! a column goes for several of them. The ends have a loop of their own, since most warps would have one, and wait for the few lanes that store it by 1, 2 and 4 bytes; where tiles
//! meet on sectors there are none.

use super::axes::divide;
use super::tile::{turn, Offsets, Place, Tile};
use crate::element::{Element, B16};
use crate::global::store_vector;
use crate::slide::slide;
use cuda_std::thread;
use kernel_abi::fast::VECTOR;
use kernel_abi::tensor::Tiles;

/// Stores the tile.
///
/// # Safety
/// Those of [`move_tile`](super::tiles); a barrier separates this from [`load`](super::tiles::load).
#[inline(always)]
pub unsafe fn store_columns<E: Element>(
    dst: *mut E,
    params: &Tiles,
    offsets: Offsets,
    tile: Tile<E>,
    place: Place,
) {
    // SAFETY: the caller's obligations; columns that there are.
    let column = |col: u32| unsafe { Column::of(dst, params, offsets, tile, place, col) };
    let lanes = params.units as u32;
    let (mut col, lane) = divide(thread::thread_idx_x(), params.units);
    let (every, _) = divide(thread::block_dim_x(), params.units);
    // Threads that are too many have none.
    if col < every {
        while col < place.cols {
            // SAFETY: vectors that no other thread has.
            unsafe { column(col).store_whole(lane, lanes) }
            col += every;
        }
    }
    let (start_inside, end_inside) = place.are_inside_sectors(params);
    // SAFETY: the caller's obligations.
    unsafe {
        if start_inside {
            store_ends::<E>(place, |col| column(col).before());
        }
        if end_inside {
            store_ends::<E>(place, |col| column(col).behind());
        }
    }
}

/// Stores an end of each column, of less than a vector, word by word.
///
/// # Safety
/// The ends' words are the tile's, and the destination's, which no other threads have.
#[inline(always)]
unsafe fn store_ends<E: Element>(place: Place, end: impl Fn(u32) -> (Column, u32, u32)) {
    let size = size_of::<E>() as u32;
    let lanes = VECTOR / size;
    let (mut col, lane) = (thread::thread_idx_x() / lanes, thread::thread_idx_x() % lanes);
    while col < place.cols {
        let (column, from, to) = end(col);
        let at = from + lane * size;
        if at < to {
            // SAFETY: the caller's obligations.
            unsafe {
                let word = E::load_shared(column.address(at));
                word.store(column.to.wrapping_add(at as u64) as *mut E);
            }
        }
        col += thread::block_dim_x() / lanes;
    }
}

/// A column of a tile in shared memory, whose bytes are counted from its first.
struct Column {
    /// Where its first vector would be if it were not [turned](Self::turned).
    start: u32,
    /// What is exclusive-ored to where a byte is in the column to find it.
    turned: u32,
    /// Where the column's first byte goes.
    to: u64,
    /// The first byte that is stored.
    first: u32,
    /// Behind the last.
    end: u32,
}

impl Column {
    /// That of a number.
    ///
    /// # Safety
    /// Those of [`store_columns`]; there is such a column.
    #[inline(always)]
    unsafe fn of<E>(
        dst: *mut E,
        params: &Tiles,
        offsets: Offsets,
        tile: Tile<E>,
        place: Place,
        col: u32,
    ) -> Self {
        let size = size_of::<E>() as u32;
        // SAFETY: the caller's obligations.
        let to = dst.wrapping_byte_add(unsafe { Offsets::of(offsets.cols, col) } as usize);
        let (first, end) = place.stored(to, params);
        Column {
            start: tile.address(0, col, 0),
            turned: turn::<E>(params, col) % 8 * VECTOR,
            to: to as u64,
            first: first * size,
            end: end * size,
        }
    }

    /// Where a byte is in shared memory.
    #[inline(always)]
    fn address(&self, at: u32) -> u32 {
        self.start + (at ^ self.turned)
    }

    /// The first byte that starts a vector of the destination, which may be behind the end.
    #[inline(always)]
    fn whole(&self) -> u32 {
        self.first + (self.to as u32).wrapping_add(self.first).wrapping_neg() % VECTOR
    }

    /// The column, and its bytes before the first whole vector of the destination.
    #[inline(always)]
    fn before(self) -> (Self, u32, u32) {
        let (from, to) = (self.first, self.whole().min(self.end));
        (self, from, to)
    }

    /// The column, and its bytes behind the last whole vector.
    #[inline(always)]
    fn behind(self) -> (Self, u32, u32) {
        let past = (self.to as u32).wrapping_add(self.end) % VECTOR;
        let (from, to) = (self.end.saturating_sub(past).max(self.whole()), self.end);
        (self, from, to)
    }

    /// Stores every `step`-th whole vector of the destination, from one on.
    ///
    /// # Safety
    /// The column's bytes are the tile's, and the destination's, and no other thread stores these vectors.
    #[inline(always)]
    unsafe fn store_whole(&self, first: u32, step: u32) {
        let mut at = self.whole() + first * VECTOR;
        // Each vector of the destination starts at this byte of a vector of shared memory.
        let past = at % VECTOR;
        while at + VECTOR <= self.end {
            // The next vector, where it is needed.
            let high = (at + VECTOR - 1) & !(VECTOR - 1);
            // SAFETY: the caller's obligations.
            unsafe {
                let low = B16::load_shared(self.address(at - past));
                let high = B16::load_shared(self.address(high));
                store_vector(self.to.wrapping_add(at as u64), slide::<u8>(low, high, past));
            }
            at += step * VECTOR;
        }
    }
}
