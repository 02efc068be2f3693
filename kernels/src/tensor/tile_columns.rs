//! Stores a transposed tile of narrow words whose columns start anywhere in the destination: by vectors, each slid out of two
//! of shared memory.

use super::tile::{turn, Offsets, Place, Tile};
use crate::element::{Element, B16};
use crate::global::store_vector;
use crate::opaque::opaque;
use crate::slide::slide;
use cuda_std::thread;
use kernel_abi::fast::{SECTOR, VECTOR};
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
    let size = size_of::<E>() as u32;
    let lanes = params.lanes as u32;
    let (lane, mut col) = (thread::thread_idx_x() % (1 << lanes), thread::thread_idx_x() >> lanes);
    while col < place.cols {
        // SAFETY: a column that there is, and its place in the destination, which no other threads have.
        unsafe {
            let to = dst.wrapping_byte_add(Offsets::of(offsets.cols, col) as usize);
            let (first, end) = place.stored(to, params);
            let column = Column {
                start: tile.address(0, col, 0),
                turned: turn::<E>(params, col) % 8 * 16,
                to: to as u64,
                first: (first * size) as i32,
                end: (end * size) as i32,
            };
            column.store(size, lane, 1 << lanes);
        }
        col += thread::block_dim_x() >> lanes;
    }
}

/// A column of a tile in shared memory.
struct Column {
    /// Where its first vector would be if it were not [turned](Self::turned).
    start: u32,
    /// What is exclusive-ored to where a byte is in the column to find it.
    turned: u32,
    /// Where the column's first byte goes.
    to: u64,
    /// The first byte that is stored.
    first: i32,
    /// Behind the last.
    end: i32,
}

impl Column {
    /// Stores each `step`-th vector of the destination, from the `lane`-th on.
    ///
    /// # Safety
    /// The column's bytes are the tile's, and the destination's, which no other lanes have.
    #[inline(always)]
    unsafe fn store(&self, size: u32, lane: u32, step: u32) {
        // Counted from where the sector of the destination starts that the first byte goes to: where lanes' stores meet is the start of one.
        let before = (self.to as u32).wrapping_add(self.first as u32) % SECTOR;
        let mut at = self.first - before as i32 + (lane * VECTOR) as i32;
        // The same for all vectors, as is which of the bytes of shared memory are theirs.
        let past = at as u32 % VECTOR;
        while at < self.end {
            // SAFETY: the caller's obligations.
            unsafe {
                let low = at - past as i32;
                let vector = slide::<u8>(self.load(low), self.load(low + VECTOR as i32), past);
                let to = self.to.wrapping_add(at as i64 as u64);
                if at >= self.first && at + VECTOR as i32 <= self.end {
                    store_vector(to, vector);
                } else {
                    let [low, high] = vector.u64s();
                    let (from, end) = (self.first - at, self.end - at);
                    store_part(to, low, size, [from, end]);
                    store_part(to + 8, high, size, [from - 8, end - 8]);
                }
            }
            at += (step * VECTOR) as i32;
        }
    }

    /// The vector from byte `at` on, a multiple of 16; any other where the column has none there, which is not needed.
    ///
    /// # Safety
    /// The column's vectors are the tile's.
    #[inline(always)]
    unsafe fn load(&self, at: i32) -> B16 {
        // In two instructions: the one for both that compute capability 9.0 has (min.relu) is none of the simulator's.
        let at = opaque(at.min((self.end - 1) & !15) as u32) as i32;
        let at = at.max(0);
        // SAFETY: the caller's obligations.
        unsafe { B16::load_shared(self.start + (at as u32 ^ self.turned)) }
    }
}

/// Stores of 8 bytes those from one on to before another, of words of `size` bytes, by 1, 2 and 4 if they are not all.
///
/// # Safety
/// They are the caller's to store; `to` is a multiple of 8.
#[inline(always)]
unsafe fn store_part(to: u64, held: u64, size: u32, [from, end]: [i32; 2]) {
    let (mut from, end) = (from.max(0) as u32, end.clamp(0, 8) as u32);
    let part = |from: u32| held >> (from * 8);
    // SAFETY: the caller's obligations; each is aligned.
    unsafe {
        if size == 1 && from & 1 != 0 && from < end {
            ((to + from as u64) as *mut u8).write(part(from) as u8);
            from += 1;
        }
        if from & 2 != 0 && from + 2 <= end {
            ((to + from as u64) as *mut u16).write(part(from) as u16);
            from += 2;
        }
        if from + 4 <= end {
            ((to + from as u64) as *mut u32).write(part(from) as u32);
            from += 4;
        }
        if from + 4 <= end {
            ((to + from as u64) as *mut u32).write(part(from) as u32);
            from += 4;
        }
        if from + 2 <= end {
            ((to + from as u64) as *mut u16).write(part(from) as u16);
            from += 2;
        }
        if size == 1 && from < end {
            ((to + from as u64) as *mut u8).write(part(from) as u8);
        }
    }
}
