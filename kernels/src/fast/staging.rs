//! A staging buffer for contiguous memory as it lies, without rows.
//!
//! Shared memory has 32 banks of four bytes. Whoever reads (or writes) every `n`-th 4-byte element of a buffer
//! meets few banks if `n` is even, and one if `n` is a multiple of 32. So in a buffer with `GAPS` four bytes
//! are left out behind each 128: then steps of any small `n` meet most banks.

use super::edges::Extent;
use super::shared::store_u32x4;
use super::VECTOR;
use crate::element::{Element, B16};
use crate::global::load_vector;
use cuda_std::thread;

/// The vectors that a thread loads before it stores the first.
const IN_FLIGHT: usize = 4;

/// Bytes of all banks, and those that are left out behind them.
pub const GROUP: u32 = 128;
const GAP: u32 = 4;

/// Contiguous global memory in shared memory.
#[derive(Clone, Copy)]
pub struct Staging<const GAPS: bool> {
    /// Its shared-memory address.
    pub base: u32,
}

impl<const GAPS: bool> Staging<GAPS> {
    /// Where byte `byte` is staged, counted from the first staged vector on.
    #[inline(always)]
    pub fn address(self, byte: u32) -> u32 {
        self.base + byte + if GAPS { byte / GROUP * GAP } else { 0 }
    }

    /// As [`load`], to here.
    ///
    /// # Safety
    /// Those of [`load`].
    #[inline(always)]
    pub unsafe fn load<E: Element>(self, from: u64, to: u64, extent: Extent) {
        // SAFETY: the caller's obligations.
        unsafe {
            if GAPS {
                load::<E, false>(self.base, GAP, from, to, extent)
            } else {
                load::<E, true>(self.base, 0, from, to, extent)
            }
        }
    }
}

/// Loads the aligned vectors that cover the bytes from `from` to `to`, to a buffer at `base` that leaves out `gap` bytes behind each 128, a multiple of 4, or of 16 if vectors are `ALIGNED` there. Byte 0 of
/// the buffer is the first byte of the first vector.
///
/// # Safety
/// `extent` is readable, the buffer holds the vectors, and all threads of the block call this.
#[inline(always)]
pub unsafe fn load<E: Element, const ALIGNED: bool>(
    base: u32,
    gap: u32,
    from: u64,
    to: u64,
    extent: Extent,
) {
    let first = from / VECTOR as u64 * VECTOR as u64;
    let count = (to - first).div_ceil(VECTOR as u64) as u32;
    let threads = thread::block_dim_x();
    let vector = |number: u32| first + number as u64 * VECTOR as u64;
    let address = |byte: u32| base + byte + byte / GROUP * gap;

    let mut number = thread::thread_idx_x();
    while number < count {
        let mut held = [B16::ANY; IN_FLIGHT];
        for (i, held) in held.iter_mut().enumerate() {
            let number = number + i as u32 * threads;
            if number < count && extent.holds_vector(vector(number)) {
                // SAFETY: the vector is readable and aligned.
                *held = unsafe { load_vector(vector(number)) };
            }
        }
        for i in 0..IN_FLIGHT {
            let number = number + i as u32 * threads;
            if number < count {
                let at = address(number * VECTOR);
                // SAFETY: the place is this thread's. No 128-byte group ends inside a vector, and
                // with gaps of whole vectors, or none, it is aligned as the buffer is.
                unsafe {
                    if ALIGNED {
                        held[i].store_shared(at);
                    } else {
                        store_u32x4(at, held[i]);
                    }
                }
            }
        }
        number += IN_FLIGHT as u32 * threads;
    }

    // The vectors that hold the matrix's first and last byte, if this thread has them.
    let mut number = thread::thread_idx_x();
    while number < count {
        if !extent.holds_vector(vector(number)) {
            // SAFETY: the extent is readable, and the places are this thread's.
            unsafe {
                extent.load_each(vector(number), |byte, element: E| {
                    store_element(element, address(number * VECTOR + byte));
                });
            }
        }
        number += threads;
    }
}

/// Stores an element whose place need only be aligned to 4 bytes if the element is larger.
///
/// # Safety
/// The element's bytes at `at` are in the block's shared memory, and accessed by no other thread before
/// the next barrier.
#[inline(always)]
pub unsafe fn store_element<E: Element>(element: E, at: u32) {
    if size_of::<E>() <= 4 {
        // SAFETY: the caller's obligations; an element of up to 4 bytes is aligned.
        return unsafe { element.store_shared(at) };
    }
    let parts = &raw const element as *const u32;
    for i in 0..size_of::<E>() as u32 / 4 {
        // SAFETY: the caller's obligations; part `i` is inside the element.
        unsafe { super::shared::store_u32(at + i * 4, *parts.add(i as usize)) };
    }
}
