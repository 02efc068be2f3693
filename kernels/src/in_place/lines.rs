//! Lines of a tile, moved between global and shared memory by a warp each.
//!
//! A kernel that moves bytes at the speed of the memory has a few instructions per element to
//! spend. So addresses are computed once per line; from one access to the next, 32 elements on,
//! they differ by a constant, in shared memory too.

use crate::element::Element;
use crate::opaque::lane_again;
use cuda_std::{thread, warp};

/// Lines in global memory, and where they are in shared memory.
pub trait Lines<E> {
    /// Whether elements of a line that are 32 apart are at the same distance everywhere in shared
    /// memory.
    const REGULAR: bool = true;

    /// The first element of a line in global memory.
    fn global(&self, line: u32) -> *mut E;

    /// The address of an element of a line in shared memory.
    fn shared(&self, line: u32, position: u32) -> u32;
}

/// Loads `lines` lines of `length` elements into shared memory. `step` is the distance there of
/// elements of a line that are 32 apart, in bytes, for regular lines.
///
/// # Safety
/// - All threads of a block of whole warps call it together.
/// - The lines are readable, as for [`Element::load`]; their places in shared memory are distinct and not in use.
#[inline(always)]
pub unsafe fn load<E: Element>(lines: u32, length: u32, step: u32, of: &impl Lines<E>) {
    // SAFETY: the caller's obligations.
    unsafe { dispatch::<E, false>(lines, length, step, of) }
}

/// Stores lines from shared memory; the arguments are those of [`load`].
///
/// # Safety
/// - All threads of a block of whole warps call it together.
/// - The lines are writable, as for [`Element::store`]; their places in shared memory were written before a
///   barrier.
#[inline(always)]
pub unsafe fn store<E: Element>(lines: u32, length: u32, step: u32, of: &impl Lines<E>) {
    // SAFETY: the caller's obligations.
    unsafe { dispatch::<E, true>(lines, length, step, of) }
}

/// Elements that a thread has in flight.
const IN_FLIGHT: usize = 16;

/// The same for elements that take more registers: of 8 bytes, and of 1 and 2, for which the
/// compiler takes more. Blocks that wait for each other are planned with at most 64 per thread.
const FEWER_IN_FLIGHT: usize = 8;

/// The same for elements of 16 bytes.
const FEWEST_IN_FLIGHT: usize = 6;

/// Chooses by the length how many elements of how many lines a thread moves at a time.
///
/// # Safety
/// Those of [`load`] or [`store`].
#[inline(always)]
unsafe fn dispatch<E: Element, const STORE: bool>(
    lines: u32,
    length: u32,
    step: u32,
    of: &impl Lines<E>,
) {
    // SAFETY: the caller's obligations.
    unsafe {
        if size_of::<E>() == 16 {
            move_lines::<E, 2, FEWEST_IN_FLIGHT, STORE>(lines, length, step, of)
        } else if size_of::<E>() != 4 || !is_regular(of) {
            move_lines::<E, 4, FEWER_IN_FLIGHT, STORE>(lines, length, step, of)
        } else if length > 128 {
            move_lines::<E, 8, IN_FLIGHT, STORE>(lines, length, step, of)
        } else {
            move_lines::<E, 4, IN_FLIGHT, STORE>(lines, length, step, of)
        }
    }
}

/// Whether lines are regular.
#[inline(always)]
fn is_regular<E, L: Lines<E>>(_: &L) -> bool {
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

/// Moves lines, `FLIGHT` elements per thread at a time: `ALONG` of each of `FLIGHT / ALONG` lines.
///
/// # Safety
/// Those of [`load`] or [`store`].
#[inline(always)]
unsafe fn move_lines<E: Element, const ALONG: usize, const FLIGHT: usize, const STORE: bool>(
    lines: u32,
    length: u32,
    step: u32,
    of: &impl Lines<E>,
) {
    let (lane, warp) = (thread::thread_idx_x() & 31, thread::thread_idx_x() >> 5);
    let warps = thread::block_dim_x() >> 5;
    let mut line = warp;
    while line < lines {
        let mut position = lane;
        loop {
            let mut held = [E::ANY; FLIGHT];
            let place = |k: usize, position: u32| {
                let (across, along) = ((k / ALONG) as u32, (k % ALONG) as u32);
                let line = line + across * warps;
                (line < lines && position + along * 32 < length, line, along)
            };
            let ahead = |line, along| {
                if is_regular(of) {
                    of.shared(line, position) + along * step
                } else {
                    of.shared(line, position + along * 32)
                }
            };
            crate::unroll!(K in [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15] {
                let (inside, line, along) = place(K, position);
                if K < FLIGHT && inside {
                    // SAFETY: the caller's obligations.
                    held[K] = unsafe {
                        if STORE {
                            E::load_shared(ahead(line, along))
                        } else {
                            E::load(of.global(line).add((position + along * 32) as usize))
                        }
                    };
                }
            });
            // SAFETY: which lines are moved, and how far, is the same for all lanes of a warp.
            unsafe { all_in_flight() };
            let same_position = position - lane + lane_again();
            crate::unroll!(K in [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15] {
                let (inside, line, along) = place(K, same_position);
                if K < FLIGHT && inside {
                    // SAFETY: the caller's obligations.
                    unsafe {
                        if STORE {
                            held[K].store(of.global(line).add((position + along * 32) as usize))
                        } else {
                            held[K].store_shared(ahead(line, along))
                        }
                    }
                }
            });
            position += 32 * ALONG as u32;
            if position - lane >= length {
                break;
            }
        }
        line += warps * (FLIGHT / ALONG) as u32;
    }
}
