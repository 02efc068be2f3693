//! A stage for pieces of memory as they lie, without rows.
//!
//! Shared memory has 32 banks of four bytes. Whoever reads (or writes) every `n`-th element of a piece
//! meets few banks if `n` is even, and one if `n` is a multiple of 32. So in a stage with `GAPS` one word
//! is left out behind each 128 bytes: then steps of any small `n` meet most banks.

use super::shared::store_words;
use super::{Extent, VECTOR};
use crate::element::{Element, B16};
use crate::global::load_vector;
use cuda_std::thread;

/// The vectors that a thread loads before it stores the first.
const IN_FLIGHT: usize = 4;

/// A piece of memory in shared memory.
#[derive(Clone, Copy)]
pub struct Stage<const GAPS: bool> {
    /// Its shared-memory address.
    pub base: u32,
}

impl<const GAPS: bool> Stage<GAPS> {
    /// Where byte `byte` of the piece lies.
    #[inline(always)]
    pub fn address(self, byte: u32) -> u32 {
        self.base + byte + if GAPS { byte / 128 * 4 } else { 0 }
    }

    /// Loads the aligned vectors that cover the bytes from `from` to `to`; byte 0 of the stage is
    /// the first byte of the first vector.
    ///
    /// # Safety
    /// `extent` is readable, the stage holds the vectors, and all threads of the block call this.
    #[inline(always)]
    pub unsafe fn load<E: Element>(self, from: u64, to: u64, extent: Extent) {
        let first = from / VECTOR as u64 * VECTOR as u64;
        let count = (to - first).div_ceil(VECTOR as u64) as u32;
        let threads = thread::block_dim_x();
        let vector = |number: u32| first + number as u64 * VECTOR as u64;

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
                    let at = self.address(number * VECTOR);
                    // SAFETY: the place is this thread's. No 128-byte group ends inside a vector, and
                    // without gaps it is aligned as the stage is.
                    unsafe {
                        if GAPS {
                            store_words(at, held[i]);
                        } else {
                            held[i].store_shared(at);
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
                let mut byte = 0;
                while byte < VECTOR {
                    let from = vector(number) + byte as u64;
                    if extent.holds(from) {
                        // SAFETY: the element is readable, and its place is this thread's.
                        unsafe {
                            store_element(
                                E::load(from as *const E),
                                self.address(number * VECTOR + byte),
                            );
                        }
                    }
                    byte += size_of::<E>() as u32;
                }
            }
            number += threads;
        }
    }
}

/// Stores an element that need only be aligned to words, if it is larger than one.
///
/// # Safety
/// The element's bytes at `at` are in the block's shared memory, and accessed by no other thread before
/// the next barrier.
#[inline(always)]
pub unsafe fn store_element<E: Element>(element: E, at: u32) {
    if size_of::<E>() <= 4 {
        // SAFETY: the caller's obligations; an element of up to a word is aligned.
        return unsafe { element.store_shared(at) };
    }
    let words = &raw const element as *const u32;
    for word in 0..size_of::<E>() as u32 / 4 {
        // SAFETY: the caller's obligations; `word` is inside the element.
        unsafe { super::shared::store_u32(at + word * 4, *words.add(word as usize)) };
    }
}
