//! Gathering a vector out of shared memory, element by element.

use super::edges::store_each;
use super::shared::{load_u16, load_u32, load_u32x4, load_u8, permute};
use crate::element::{Element, B16};
use crate::global;

/// An element that a vector can be gathered of.
pub trait Gather: Element {
    /// The vector of the elements at the addresses that `next` returns, in that order. Elements of
    /// 8 and 16 bytes need only be aligned to 4 bytes.
    ///
    /// # Safety
    /// Each address is that of an element which was written before the last barrier.
    unsafe fn gather(next: impl FnMut() -> u32) -> B16;

    /// One element, aligned as [`gather`](Self::gather) demands.
    ///
    /// # Safety
    /// The element was written before the last barrier.
    unsafe fn pick(address: u32) -> Self;
}

impl Gather for u8 {
    #[inline(always)]
    unsafe fn gather(mut next: impl FnMut() -> u32) -> B16 {
        // SAFETY: the caller's obligations.
        let mut four = || unsafe {
            let (a, b) = (load_u8(next()), load_u8(next()));
            let (c, d) = (load_u8(next()), load_u8(next()));
            permute(permute(a, b, 0x0040), permute(c, d, 0x0040), 0x5410)
        };
        B16(four(), four(), four(), four())
    }

    #[inline(always)]
    unsafe fn pick(address: u32) -> Self {
        // SAFETY: the caller's obligations.
        unsafe { load_u8(address) as u8 }
    }
}

impl Gather for u16 {
    #[inline(always)]
    unsafe fn gather(mut next: impl FnMut() -> u32) -> B16 {
        // SAFETY: the caller's obligations.
        let mut four = || unsafe { permute(load_u16(next()), load_u16(next()), 0x5410) };
        B16(four(), four(), four(), four())
    }

    #[inline(always)]
    unsafe fn pick(address: u32) -> Self {
        // SAFETY: the caller's obligations.
        unsafe { load_u16(address) as u16 }
    }
}

impl Gather for u32 {
    #[inline(always)]
    unsafe fn gather(mut next: impl FnMut() -> u32) -> B16 {
        // SAFETY: the caller's obligations.
        unsafe { B16(load_u32(next()), load_u32(next()), load_u32(next()), load_u32(next())) }
    }

    #[inline(always)]
    unsafe fn pick(address: u32) -> Self {
        // SAFETY: the caller's obligations.
        unsafe { load_u32(address) }
    }
}

impl Gather for u64 {
    #[inline(always)]
    unsafe fn gather(mut next: impl FnMut() -> u32) -> B16 {
        let (a, b) = (next(), next());
        // SAFETY: the caller's obligations.
        unsafe { B16(load_u32(a), load_u32(a + 4), load_u32(b), load_u32(b + 4)) }
    }

    #[inline(always)]
    unsafe fn pick(address: u32) -> Self {
        // SAFETY: the caller's obligations.
        unsafe { load_u32(address) as u64 | (load_u32(address + 4) as u64) << 32 }
    }
}

impl Gather for B16 {
    #[inline(always)]
    unsafe fn gather(mut next: impl FnMut() -> u32) -> B16 {
        // SAFETY: the caller's obligations.
        unsafe { load_u32x4(next()) }
    }

    #[inline(always)]
    unsafe fn pick(address: u32) -> Self {
        // SAFETY: the caller's obligations.
        unsafe { load_u32x4(address) }
    }
}

/// Stores the elements of one vector of a destination row: as a vector where all of them belong to
/// the row, else those that do, one by one.
///
/// `row` is the number of the first element in its destination row, `end` the number of elements
/// in that row. `at(i)` is where element `i` of the vector is staged; `next` returns the same
/// addresses in order, and may be quicker at that.
///
/// # Safety
/// `to` is the address of element `row`, aligned to 16 bytes; elements `0..end` of the row may be
/// written; and each `at(i)` is as [`Gather::gather`] demands where `row + i` is in `0..end`.
#[inline(always)]
pub unsafe fn store_vector<E: Gather>(
    to: u64,
    row: i64,
    end: u64,
    next: impl FnMut() -> u32,
    at: impl Fn(u32) -> u32,
) {
    let count = super::per_vector::<E>();
    if row >= 0 && row as u64 + count as u64 <= end {
        // SAFETY: the caller's obligations.
        unsafe { global::store_vector(to, E::gather(next)) };
        return;
    }
    // SAFETY: the caller's obligations.
    unsafe { store_each(to, row, end, |byte| E::pick(at(byte / size_of::<E>() as u32))) };
}
