//! A transposed tile in shared memory, and storing spans of its rows.
//!
//! The tile's row is a stretch of a destination row, byte by byte. A span of it may start at any of
//! its bytes and is stored by aligned vectors, so each of those is *slid* out of two vectors of the
//! tile: all accesses to shared memory are 16 bytes wide and aligned.
//!
//! # Banks
//! A tile's row is a multiple of 128 bytes, so that its vector `k` lies in the same four banks in every
//! row. Threads that stand side by side store to rows `GROUP` apart, and would all meet there. Vector `k` of
//! row `c` is therefore kept at `k ^ (c / GROUP) mod 8`.

use super::edges::store_each;
use super::gather::Gather;
use super::{SECTOR, VECTOR};
use crate::element::{Element, B16};
use crate::global::store_vector;
use crate::opaque::opaque;
use crate::parts::store_part;
use crate::slide::slide;
use cuda_std::thread;

/// A transposed tile: rows of `PITCH` bytes, a multiple of 128.
#[derive(Clone, Copy)]
pub struct Transposed<const PITCH: u32, const GROUP: u32> {
    /// Its shared-memory address, a multiple of 16; of 32 where threads have micro-blocks of 4 rows of 8 bytes.
    pub base: u32,
}

/// The spans of a tile's rows, `VECTORS` vectors each, in bytes of a destination row.
#[derive(Clone, Copy)]
pub struct Spans<const VECTORS: u32> {
    /// Where the tile's rows start; may lie before the destination's.
    pub first: i64,
    /// How far behind `first` the spans start that start on time; others start up to a sector
    /// early. A multiple of a sector from the destination's start.
    pub lead: u32,
    /// Destination of the tile.
    pub rows: u32,
    /// Bytes of a destination row.
    pub end: u64,
}

/// The destination of a tile's rows.
#[derive(Clone, Copy)]
pub struct Destination {
    /// The address of the destination's row that the tile's first belongs to.
    pub start: u64,
    /// Bytes from one row to the next.
    pub stride: u64,
    /// Destination from the tile's first to the destination's last.
    pub left: u64,
}

impl<const PITCH: u32, const GROUP: u32> Transposed<PITCH, GROUP> {
    /// Where byte `byte` of row `row` lies; bytes up to the next multiple of 16 follow.
    #[inline(always)]
    pub fn address(self, row: u32, byte: u32) -> u32 {
        let swizzle = row / GROUP % 8 * VECTOR;
        self.base + row * PITCH + ((byte / VECTOR * VECTOR) ^ swizzle) + byte % VECTOR
    }

    /// Stores a span of every row, as far as it is inside the destination. Each of `THREADS` threads has
    /// the same vector of all its rows.
    ///
    /// # Safety
    /// - All bytes that spans may hold, and the vectors around them, were stored to the tile before
    ///   the last barrier, where they are inside the destination.
    /// - The destination is writable, and aligned to `E`; all counts of bytes are multiples of `E`'s.
    #[inline(always)]
    pub unsafe fn store<E: Gather, const THREADS: u32, const VECTORS: u32>(
        self,
        spans: Spans<VECTORS>,
        to: Destination,
    ) {
        let t = thread::thread_idx_x();
        let (vector, step) = (t % VECTORS, THREADS / VECTORS);
        let mut row = t / VECTORS;
        if row >= step {
            return;
        }
        let rows = if to.left < spans.rows as u64 { to.left as u32 } else { spans.rows };
        let on_time = spans.lead + vector * VECTOR;
        let offset = spans.first.wrapping_add(on_time as i64);
        // Whether even the span that starts earliest is inside.
        let inside = offset >= SECTOR as i64 && offset as u64 + VECTOR as u64 <= spans.end;
        let mut start = to.start + row as u64 * to.stride;
        while row < rows {
            let early = start as u32 % SECTOR;
            let byte = on_time - early;
            let whole = byte / VECTOR * VECTOR;
            let address = (start - early as u64).wrapping_add(offset as u64);
            let offset = offset - early as i64;
            if inside || (offset >= 0 && offset as u64 + VECTOR as u64 <= spans.end) {
                // SAFETY: the caller's obligations; the address is a multiple of 16.
                unsafe {
                    let first = B16::load_shared(self.address(row, whole));
                    let second = B16::load_shared(self.address(row, whole + VECTOR));
                    store_vector(address, slide::<E>(first, second, byte % VECTOR));
                }
            } else if size_of::<E>() < 4 {
                // SAFETY: the caller's obligations.
                unsafe { self.store_part::<E>(row, byte, offset, address, spans.end) };
            } else {
                // SAFETY: the caller's obligations.
                unsafe { self.store_inside::<E>(row, byte, offset, address, spans.end) };
            }
            row += step;
            start += step as u64 * to.stride;
        }
    }

    /// Stores what of a vector of narrow elements is inside the destination's row, in as few pieces as there can be.
    ///
    /// # Safety
    /// The obligations of [`store`](Self::store).
    #[inline(always)]
    unsafe fn store_part<E: Gather>(self, row: u32, byte: u32, offset: i64, to: u64, end: u64) {
        let left = end as i64 - offset;
        if left <= 0 || offset <= -(VECTOR as i64) {
            return;
        }
        let first = if offset < 0 { -offset as u32 } else { 0 };
        let end = if left < VECTOR as i64 { left as u32 } else { VECTOR };
        // SAFETY: the caller's obligations; these are bytes of the row.
        unsafe {
            if first > 0 && end < VECTOR {
                // All of a short row.
                let mut at = opaque(first);
                while at < end {
                    E::pick(self.address(row, byte + at))
                        .store(to.wrapping_add(at as u64) as *mut E);
                    at = opaque(at + size_of::<E>() as u32);
                }
            } else {
                store_part::<E>(to, self.vector::<E>(row, byte), first, end);
            }
        }
    }

    /// The vector that starts at a byte of a row.
    ///
    /// # Safety
    /// Those of [`store`](Self::store).
    #[inline(always)]
    unsafe fn vector<E>(self, row: u32, byte: u32) -> B16 {
        let whole = byte / VECTOR * VECTOR;
        // SAFETY: the caller's obligations.
        let of = |whole| unsafe { B16::load_shared(self.address(row, whole)) };
        slide::<E>(of(whole), of(whole + VECTOR), byte % VECTOR)
    }

    /// Stores those elements of a vector one by one that are inside the destination's row.
    ///
    /// # Safety
    /// The obligations of [`store`](Self::store).
    #[inline(always)]
    unsafe fn store_inside<E: Gather>(self, row: u32, byte: u32, offset: i64, to: u64, end: u64) {
        let (row, byte) = (opaque(row), opaque(byte));
        let (first, end) = (offset / size_of::<E>() as i64, end / size_of::<E>() as u64);
        // SAFETY: the caller's obligations.
        unsafe { store_each(to, first, end, |i| E::pick(self.address(row, byte + i))) };
    }
}
