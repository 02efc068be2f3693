//! Segments of a tile, moved between global and shared memory by a warp each.
//!
//! A kernel that moves bytes at the speed of the memory has a few instructions per element to
//! spend. So addresses are computed once per segment; from one access to the next, 32 elements on,
//! they differ by a constant, in shared memory too.

use crate::element::Element;
use crate::opaque::lane_again;
use cuda_std::{thread, warp};

/// Segments in global memory, and where they are in shared memory.
pub trait Segments<E> {
    /// Whether elements of a segment that are 32 apart are at the same distance everywhere in shared
    /// memory.
    const REGULAR: bool = true;

    /// The first element of a segment in global memory.
    fn global(&self, segment: u32) -> *mut E;

    /// The address of an element of a segment in shared memory.
    fn shared(&self, segment: u32, position: u32) -> u32;
}

/// Loads `segments` segments of `length` elements into shared memory. `step` is the distance there of
/// elements of a segment that are 32 apart, in bytes, for regular segments.
///
/// # Safety
/// - All threads of a block of whole warps call it together.
/// - The segments are readable, as for [`Element::load`]; their places in shared memory are distinct and not in use.
#[inline(always)]
pub unsafe fn load<E: Element>(segments: u32, length: u32, step: u32, of: &impl Segments<E>) {
    // SAFETY: the caller's obligations.
    unsafe { dispatch::<E, false>(segments, length, step, of) }
}

/// Stores segments from shared memory; the arguments are those of [`load`].
///
/// # Safety
/// - All threads of a block of whole warps call it together.
/// - The segments are writable, as for [`Element::store`]; their places in shared memory were written before a
///   barrier.
#[inline(always)]
pub unsafe fn store<E: Element>(segments: u32, length: u32, step: u32, of: &impl Segments<E>) {
    // SAFETY: the caller's obligations.
    unsafe { dispatch::<E, true>(segments, length, step, of) }
}

/// Elements that a thread has in flight.
const IN_FLIGHT: usize = 16;

/// Elements of 8 bytes that a thread has in flight, and of 1 and 2 bytes: they take more registers, the narrow ones because the
/// compiler takes more. Blocks that wait for each other are planned with at most 64 per thread.
const FEWER_IN_FLIGHT: usize = 8;

/// Elements of 16 bytes that a thread has in flight.
const FEWEST_IN_FLIGHT: usize = 6;

/// Chooses by the length how many elements of how many segments a thread moves at a time.
///
/// # Safety
/// Those of [`load`] or [`store`].
#[inline(always)]
unsafe fn dispatch<E: Element, const STORE: bool>(
    segments: u32,
    length: u32,
    step: u32,
    of: &impl Segments<E>,
) {
    // SAFETY: the caller's obligations.
    unsafe {
        if size_of::<E>() == 16 {
            move_segments::<E, 2, FEWEST_IN_FLIGHT, STORE>(segments, length, step, of)
        } else if size_of::<E>() != 4 || !is_regular(of) {
            move_segments::<E, 4, FEWER_IN_FLIGHT, STORE>(segments, length, step, of)
        } else if length > 128 {
            move_segments::<E, 8, IN_FLIGHT, STORE>(segments, length, step, of)
        } else {
            move_segments::<E, 4, IN_FLIGHT, STORE>(segments, length, step, of)
        }
    }
}

/// Whether segments are regular.
#[inline(always)]
fn is_regular<E, L: Segments<E>>(_: &L) -> bool {
    L::REGULAR
}

/// Keeps all loads before it in the code ahead of all stores behind it. Left alone, the assembler
/// mixes them to save registers, and each store waits for its load while nothing else is in flight.
///
/// A barrier of the warp does that.
///
/// # Safety
/// All lanes of a warp call it together: blocks are whole warps, and no lane has returned or gone another way.
#[inline(always)]
pub unsafe fn all_in_flight() {
    // SAFETY: the caller's obligation.
    unsafe { warp::sync_warp(u32::MAX) }
}

/// Moves segments, `FLIGHT` elements per thread at a time: `ALONG` of each of `FLIGHT / ALONG` segments.
///
/// # Safety
/// Those of [`load`] or [`store`].
#[inline(always)]
unsafe fn move_segments<E: Element, const ALONG: usize, const FLIGHT: usize, const STORE: bool>(
    segments: u32,
    length: u32,
    step: u32,
    of: &impl Segments<E>,
) {
    let (lane, warp) = (thread::thread_idx_x() & 31, thread::thread_idx_x() >> 5);
    let warps = thread::block_dim_x() >> 5;
    let mut segment = warp;
    while segment < segments {
        let mut position = lane;
        loop {
            let mut held = [E::ANY; FLIGHT];
            let place = |k: usize, position: u32| {
                let (across, along) = ((k / ALONG) as u32, (k % ALONG) as u32);
                let segment = segment + across * warps;
                (segment < segments && position + along * 32 < length, segment, along)
            };
            let ahead = |segment, along| {
                if is_regular(of) {
                    of.shared(segment, position) + along * step
                } else {
                    of.shared(segment, position + along * 32)
                }
            };
            crate::unroll!(K in [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15] {
                let (inside, segment, along) = place(K, position);
                if K < FLIGHT && inside {
                    // SAFETY: the caller's obligations.
                    held[K] = unsafe {
                        if STORE {
                            E::load_shared(ahead(segment, along))
                        } else {
                            E::load(of.global(segment).add((position + along * 32) as usize))
                        }
                    };
                }
            });
            // SAFETY: which segments are moved, and how far, is the same for all lanes of a warp.
            unsafe { all_in_flight() };
            let same_position = position - lane + lane_again();
            crate::unroll!(K in [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15] {
                let (inside, segment, along) = place(K, same_position);
                if K < FLIGHT && inside {
                    // SAFETY: the caller's obligations.
                    unsafe {
                        if STORE {
                            held[K].store(of.global(segment).add((position + along * 32) as usize))
                        } else {
                            held[K].store_shared(ahead(segment, along))
                        }
                    }
                }
            });
            position += 32 * ALONG as u32;
            if position - lane >= length {
                break;
            }
        }
        segment += warps * (FLIGHT / ALONG) as u32;
    }
}
