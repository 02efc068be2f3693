//! The ends of matrices and of rows: vectors of which some elements are inside and some are not.
//!
//! A vector may hold bytes of a matrix and bytes before its first or behind its last. Such a vector is not loaded as
//! one, for what is out there may not be readable, and not stored as one, for what is out there is somebody else's: its
//! elements that are inside are moved one by one, by the functions of this file. That is slow, and rare: a matrix has two
//! such vectors to load, and each row of a destination two to store. (Those of narrow elements are more to store one by
//! one: [`parts`](crate::parts) has fewer pieces.)

use super::{per_vector, VECTOR};
use crate::element::Element;

/// A source from its first byte to its last, which vectors may be partly outside of.
#[derive(Clone, Copy)]
pub struct Extent {
    /// The first byte.
    pub first: u64,
    /// One past the last byte.
    pub end: u64,
}

impl Extent {
    /// From the first byte of a `rows × cols` matrix to its last.
    #[inline(always)]
    pub fn of<E>(matrix: *const E, rows: u64, cols: u64, ld: u64) -> Self {
        let first = matrix as u64;
        Extent { first, end: first + ((rows - 1) * ld + cols) * size_of::<E>() as u64 }
    }

    /// Whether all 16 bytes at `address` are inside.
    #[inline(always)]
    pub fn holds_vector(self, address: u64) -> bool {
        address >= self.first && address + VECTOR as u64 <= self.end
    }

    /// Whether the byte at `address` is inside.
    #[inline(always)]
    pub fn holds(self, address: u64) -> bool {
        address >= self.first && address < self.end
    }

    /// The element at `from`, if it is inside.
    ///
    /// # Safety
    /// `from` is aligned to the element. What is inside is readable; elements of the matrix, which may have others between its rows, are written by nobody during the launch.
    #[inline(always)]
    pub unsafe fn load<E: Element>(self, from: u64) -> Option<E> {
        // SAFETY: the caller's obligations; the element is inside.
        self.holds(from).then(|| unsafe { E::load(from as *const E) })
    }

    /// Loads those elements of the vector at `from` that are inside, and hands each to `put`, with its byte in the vector.
    ///
    /// # Safety
    /// `from` is a multiple of 16. What is inside is readable, and written by nobody during the launch.
    #[inline(always)]
    pub unsafe fn load_each<E: Element>(self, from: u64, put: impl Fn(u32, E)) {
        let mut byte = 0;
        while byte < VECTOR {
            let from = from + byte as u64;
            if self.holds(from) {
                // SAFETY: the caller's obligations; the element is inside.
                put(byte, unsafe { E::load(from as *const E) });
            }
            byte += size_of::<E>() as u32;
        }
    }
}

/// Stores those elements of the vector at `to` that are inside a row of the destination. `first` is the number of the
/// vector's first element in the row, negative before it, and `end` the number of elements in the row; `get` fetches the
/// element at a byte of the vector.
///
/// # Safety
/// `to` is a multiple of 16. The row is writable, and what is stored accessed by no other thread during the launch.
#[inline(always)]
pub unsafe fn store_each<E: Element>(to: u64, first: i64, end: u64, get: impl Fn(u32) -> E) {
    for i in 0..per_vector::<E>() {
        if ((first + i as i64) as u64) < end {
            let byte = i * size_of::<E>() as u32;
            // SAFETY: the caller's obligations; the element is inside.
            unsafe { get(byte).store(to.wrapping_add(byte as u64) as *mut E) };
        }
    }
}
