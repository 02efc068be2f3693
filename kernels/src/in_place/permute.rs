//! Super-elements moved along cycles: transpositions 100!, 0100! and 1000!, by PTTWAC.
//!
//! A warp moves a super-element, or a chunk of one (see `slots`). Any warp may start anywhere in a cycle, because a flag per chunk settles who moves
//! it. Whoever sets the flag of a place owns what stood there, provided that it was read before:
//!
//! ```text
//! read the places p₀, p₁ = next(p₀), … pₙ     all loads in flight together
//! barrier
//! set their flags, a lane each                owned: those whose flag was clear
//! barrier
//! what is owned of pᵢ goes to pᵢ₊₁            read by us, or by the warp that was first
//! carry on from pₙ₊₁ as long as pₙ is owned
//! ```
//!
//! This is the rule of `strong`, with warps for parties: whatever is read of a round is read before its first barrier,
//! whatever is stored is stored after the second, and the flags of all places that are stored to are claimed between.
//! Of a place that was seen taken in advance nothing is read. If something is stored there, its flag is still
//! accessed by the atomic, which then sets nothing ([`claim_if`]). It finds the flag set: a lane saw it set by a load that precedes the
//! atomic in causality order, through a barrier, so the atomic reads no older value. (Or it is a place of the same
//! round, for the second time round a short cycle; then it was claimed the first time.) Looking in advance is a hint
//! and nothing rests on its order.
//!
//! A place that somebody else owns may be overwritten while it is read here; what was read is then
//! thrown away. Source: Sung et al. (PPoPP 2014), section 5.2, which moves one super-element at a
//! time (`carry` does it that way); taking several steps of a cycle at once hides the memory's
//! latency. The flags of the next steps are looked at in advance, so that little is read in vain where
//! a cycle has been cut.

use super::slots::{each_element, each_start, Cycles, Layer};
use super::strong::{claim_if, is_clear, Strong};
use crate::element::B16;
use crate::warp::ballot;
use cuda_std::{thread, warp};
use kernel_abi::in_place::Slots;

/// A chunk in the registers of a warp.
pub trait Chunk<E>: Copy {
    /// Any content.
    const ANY: Self;

    /// Loads the chunk of a slot that begins `offset` elements behind the layer's start.
    ///
    /// # Safety
    /// The obligations of the entry points. All lanes of a warp call it together.
    unsafe fn load(layer: &Layer<E>, offset: usize) -> Self;

    /// Stores what was loaded from one slot's chunk to another's.
    ///
    /// # Safety
    /// The obligations of the entry points. All lanes of a warp call it together, the other chunk was claimed, and a barrier stands between.
    unsafe fn store(self, layer: &Layer<E>, from: usize, to: usize);
}

/// A lane's elements of a chunk: every 32nd.
impl<E: Strong, const ELEMENTS: usize> Chunk<E> for [E; ELEMENTS] {
    const ANY: Self = [E::ANY; ELEMENTS];

    #[inline(always)]
    unsafe fn load(layer: &Layer<E>, offset: usize) -> Self {
        let mut held = Self::ANY;
        each_element::<ELEMENTS>(layer.length, |k, position| {
            // SAFETY: inside the chunk.
            held[k] = unsafe { E::load_strong(layer.start.add(offset + position)) };
        });
        held
    }

    #[inline(always)]
    unsafe fn store(self, layer: &Layer<E>, _: usize, to: usize) {
        each_element::<ELEMENTS>(layer.length, |k, position| {
            // SAFETY: inside the chunk.
            unsafe { self[k].store_strong(layer.start.add(to + position)) };
        });
    }
}

/// Moves what is unmoved, through registers.
///
/// # Safety
/// The obligations of the entry points.
#[inline(always)]
unsafe fn permute<E: Strong, const ELEMENTS: usize, const STEPS: usize>(
    matrix: *mut E,
    flags: *mut u32,
    params: Slots,
) {
    // SAFETY: the caller's obligations; a start lies in its layer, and is clear.
    unsafe {
        each_start(matrix, flags, params, |cycles, layer, slot| {
            follow::<E, [E; ELEMENTS], STEPS>(cycles, layer, slot)
        })
    }
}

/// Which of the first `steps` places of a cycle nobody owns, one bit each.
///
/// # Safety
/// All lanes of a warp call it together; `start` lies in the layer.
#[inline(always)]
unsafe fn look_ahead<E>(cycles: &Cycles, layer: &Layer<E>, start: u32, steps: u32) -> u32 {
    let lane = thread::thread_idx_x() & 31;
    let mut place = start;
    let mut step = 0;
    while step < lane && step < steps {
        place = cycles.next(place);
        step += 1;
    }
    // SAFETY: the flag of a slot of the layer; all lanes are here.
    unsafe {
        let free = lane < steps && is_clear(layer.flags, layer.first_flag + place as u64);
        // A short cycle comes back to its start: each place of it once.
        let back = ballot(lane > 0 && lane < steps && place == start);
        let once = if back == 0 { u32::MAX } else { (back & back.wrapping_neg()) - 1 };
        ballot(free) & once
    }
}

/// Moves a cycle from `start` on, until somebody else moves the rest.
///
/// # Safety
/// The obligations of the entry points; all lanes of a warp agree on the arguments.
#[inline(always)]
pub unsafe fn follow<E, C: Chunk<E>, const STEPS: usize>(
    cycles: &Cycles,
    layer: &Layer<E>,
    start: u32,
) {
    let lane = thread::thread_idx_x() & 31;
    let (mut carried, mut carried_from) = (C::ANY, start);
    let mut carrying = false;
    let mut slot = start;
    // The places, of those that come, which nobody owned when last looked at: only they are read.
    // SAFETY: all lanes are here; the flags of slots of the layer.
    let mut promising = unsafe { look_ahead(cycles, layer, start, STEPS as u32) };
    loop {
        let mut places = [slot; STEPS];
        let mut held = [C::ANY; STEPS];
        let mut mine = slot;
        crate::unroll!(STEP in [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15] {
            if STEP < STEPS {
                places[STEP] = slot;
                if lane == STEP as u32 {
                    mine = slot;
                }
                if promising >> STEP & 1 != 0 {
                    // SAFETY: the caller's obligations.
                    held[STEP] = unsafe { C::load(layer, cycles.offset(slot)) };
                }
                slot = cycles.next(slot);
            }
        });
        // The places of the next round are looked at by other lanes while the flags are set.
        let mut ahead = slot;
        crate::unroll!(STEP in [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15] {
            if STEP < STEPS {
                if lane == (STEPS + STEP) as u32 {
                    mine = ahead;
                }
                ahead = cycles.next(ahead);
            }
        });
        // Where something may be stored, and be it known to belong to somebody else.
        let reached = promising | promising << 1 | u32::from(carrying);
        // What any lane read is read before any flag says so.
        // SAFETY: the whole warp is here.
        unsafe { warp::sync_warp(u32::MAX) };
        let flag = layer.first_flag + mine as u64;
        let mut free = false;
        if lane < STEPS as u32 {
            if reached >> lane & 1 != 0 {
                // SAFETY: the flag of a slot of the layer.
                free = unsafe { claim_if(promising >> lane & 1 != 0, layer.flags, flag) };
            }
        } else if lane < 2 * STEPS as u32 {
            // SAFETY: the flag of a slot of the layer.
            free = unsafe { is_clear(layer.flags, flag) };
        }
        // SAFETY: the whole warp is here.
        let free = unsafe {
            // What any lane stores is stored after all flags were seen.
            warp::sync_warp(u32::MAX);
            ballot(free)
        };
        let owned = free & !(u32::MAX << STEPS);
        if carrying {
            // SAFETY: the caller's obligations; the place was claimed and a barrier stands between.
            unsafe {
                carried.store(layer, cycles.offset(carried_from), cycles.offset(places[0]));
            }
        }
        crate::unroll!(STEP in [1 2 3 4 5 6 7 8 9 10 11 12 13 14 15] {
            if STEP < STEPS && owned >> (STEP - 1) & 1 != 0 {
                // SAFETY: the caller's obligations; the place was claimed and a barrier stands between.
                unsafe {
                    let [from, to] = [places[STEP - 1], places[STEP]].map(|slot| cycles.offset(slot));
                    held[STEP - 1].store(layer, from, to);
                }
            }
        });
        if owned >> (STEPS - 1) & 1 == 0 {
            return;
        }
        (carried, carried_from) = (held[STEPS - 1], places[STEPS - 1]);
        carrying = true;
        promising = free >> STEPS;
    }
}

crate::in_place::in_place_entries! {
    "Moves super-elements along the cycles of their transposition, four steps at a time.",
    PERMUTE: Slots, permute =>
        permute_b1: u8, 8, 4; permute_b2: u16, 8, 4; permute_b4: u32, 8, 4; permute_b8: u64, 8, 4;
        permute_b16: B16, 4, 4
}

crate::in_place::in_place_entries! {
    "Moves shorter super-elements along cycles, eight steps at a time.",
    PERMUTE_SHORT: Slots, permute =>
        permute_short_b1: u8, 4, 8; permute_short_b2: u16, 4, 8; permute_short_b4: u32, 4, 8;
        permute_short_b8: u64, 4, 8; permute_short_b16: B16, 2, 8
}

crate::in_place::in_place_entries! {
    "Moves the shortest super-elements along cycles, sixteen steps at a time.",
    PERMUTE_SHORTEST: Slots, permute =>
        permute_shortest_b1: u8, 2, 16; permute_shortest_b2: u16, 2, 16;
        permute_shortest_b4: u32, 2, 16; permute_shortest_b8: u64, 2, 16;
        permute_shortest_b16: B16, 1, 16
}
