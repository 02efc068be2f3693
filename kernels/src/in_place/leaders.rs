//! Super-elements moved along short cycles: 100!, 0100! and 1000! without flags.
//!
//! Where the sides are powers of two, or equal, every cycle is short. Then a lane can afford to walk
//! the whole cycle of its slot to see whether the slot is the lowest one of it. The warp moves the
//! cycles of which its lanes have found the lowest slots, so there is nobody to agree with: no
//! flags, no fences, nothing read in vain. It goes from one cycle to the next without waiting, so that
//! as much is in flight where cycles have two places as where they have twenty.
//!
//! Nothing is ordered between threads: the warp whose lane found a cycle's lowest slot is the only one that accesses
//! the cycle, and an element of a chunk is the same lane's in every place. So a lane loads and stores the same elements alone, and
//! its program order has the load of a place before the store to it. Votes and shuffles only pass numbers of slots.
//!
//! `permute` serves cycles of any length.

use super::slots::{each_element, Cycles, Layer};
use crate::divide::Divisor32;
use crate::element::{Element, B16};
use crate::warp::{ballot, shuffle};
use cuda_std::thread;
use kernel_abi::in_place::Slots;

/// Moves the cycles whose lowest slots fall to this warp.
///
/// # Safety
/// The obligations of the entry points.
#[inline(always)]
unsafe fn leaders<E: Element, const ELEMENTS: usize, const STEPS: usize>(
    matrix: *mut E,
    flags: *mut u32,
    params: Slots,
) {
    let cycles = Cycles::new(&params);
    let slots = Divisor32::from(params.slots);
    let lane = thread::thread_idx_x() & 31;
    let warps_per_block = thread::block_dim_x() / 32;
    let warps = thread::grid_dim_x() * warps_per_block;
    let own = thread::block_idx_x() * warps_per_block + thread::thread_idx_x() / 32;
    let units = slots.divisor * (params.chunks * params.instances) as u32;
    // The lowest slots of cycles are low: each warp looks at some low ones and some high ones.
    let mut unit = lane * warps + own;
    while unit - lane * warps < units {
        let (layer, slot) = slots.divide(unit.min(units - 1));
        let mut place = cycles.next(slot);
        while place > slot {
            place = cycles.next(place);
        }
        // A slot that is its own cycle stays where it is.
        let leads = unit < units && place == slot && cycles.next(slot) != slot;
        // SAFETY: the whole warp is here.
        let mut leading = unsafe { ballot(leads) };
        while leading != 0 {
            // SAFETY: the whole warp is here; the caller's obligations.
            unsafe {
                // All that are in one layer together.
                let number = shuffle(layer, leading.trailing_zeros());
                let starts = leading & ballot(layer == number);
                leading &= !starts;
                let layer = Layer::of(matrix, flags, &params, number as u64);
                follow::<E, ELEMENTS, STEPS>(&cycles, &layer, slot, starts);
            }
        }
        unit += warps * 32;
    }
}

/// Moves whole cycles, so many places at a time. Lane `k` has the start of one if bit `k` of `starts` is
/// set, and at least one is.
///
/// # Safety
/// The obligations of the entry points; all lanes of a warp call it together, and the cycles are this
/// warp's.
#[inline(always)]
unsafe fn follow<E: Element, const ELEMENTS: usize, const STEPS: usize>(
    cycles: &Cycles,
    layer: &Layer<E>,
    own: u32,
    mut starts: u32,
) {
    // SAFETY: the whole warp is here.
    let mut start = unsafe { shuffle(own, starts.trailing_zeros()) };
    starts &= starts - 1;
    let mut slot = start;
    // What was read last goes to the place that is read next, if its cycle goes on.
    let mut carried = [E::ANY; ELEMENTS];
    let mut carrying = false;
    let mut carried_to = start;
    loop {
        let mut targets = [start; STEPS];
        let mut held = [[E::ANY; ELEMENTS]; STEPS];
        let (mut count, mut is_open) = (0, true);
        crate::unroll!(STEP in [0 1 2 3 4 5 6 7] {
            if STEP < STEPS && (is_open || starts != 0) {
                if !is_open {
                    // SAFETY: the whole warp is here.
                    start = unsafe { shuffle(own, starts.trailing_zeros()) };
                    starts &= starts - 1;
                    slot = start;
                }
                // SAFETY: the caller's obligations.
                unsafe { load(layer, cycles.offset(slot), &mut held[STEP]) };
                slot = cycles.next(slot);
                targets[STEP] = slot;
                count = STEP + 1;
                is_open = slot != start;
            }
        });
        if carrying {
            // SAFETY: the caller's obligations; what stood there has been read.
            unsafe { store(layer, cycles.offset(carried_to), &carried) };
        }
        crate::unroll!(STEP in [0 1 2 3 4 5 6 7] {
            if STEP < STEPS && STEP < count && (STEP + 1 < STEPS || !is_open) {
                // SAFETY: the caller's obligations; what stood there has been read.
                unsafe { store(layer, cycles.offset(targets[STEP]), &held[STEP]) };
            }
        });
        if !is_open && starts == 0 {
            return;
        }
        carrying = is_open;
        carried = held[STEPS - 1];
        carried_to = targets[STEPS - 1];
        if !is_open {
            // SAFETY: the whole warp is here.
            start = unsafe { shuffle(own, starts.trailing_zeros()) };
            starts &= starts - 1;
            slot = start;
        }
    }
}

/// Loads a lane's elements of a chunk.
///
/// # Safety
/// The obligations of the entry points.
#[inline(always)]
unsafe fn load<E: Element, const ELEMENTS: usize>(
    layer: &Layer<E>,
    offset: usize,
    held: &mut [E; ELEMENTS],
) {
    each_element::<ELEMENTS>(layer.length, |k, position| {
        // SAFETY: inside the chunk; the same lane stores there, later.
        held[k] = unsafe { E::load(layer.start.add(offset + position)) };
    });
}

/// Stores a lane's elements of a chunk.
///
/// # Safety
/// The obligations of the entry points.
#[inline(always)]
unsafe fn store<E: Element, const ELEMENTS: usize>(
    layer: &Layer<E>,
    offset: usize,
    held: &[E; ELEMENTS],
) {
    each_element::<ELEMENTS>(layer.length, |k, position| {
        // SAFETY: inside the chunk; the same lane has loaded what stood there.
        unsafe { held[k].store(layer.start.add(offset + position)) };
    });
}

crate::in_place::in_place_entries! {
    "Moves super-elements along the short cycles of their transposition, four steps at a time.",
    LEADERS: Slots, leaders =>
        leaders_b1: u8, 8, 4; leaders_b2: u16, 8, 4; leaders_b4: u32, 8, 4; leaders_b8: u64, 8, 4;
        leaders_b16: B16, 4, 4
}

crate::in_place::in_place_entries! {
    "Moves shorter super-elements along short cycles, eight steps at a time.",
    LEADERS_SHORT: Slots, leaders =>
        leaders_short_b1: u8, 2, 8; leaders_short_b2: u16, 2, 8; leaders_short_b4: u32, 2, 8;
        leaders_short_b8: u64, 2, 8; leaders_short_b16: B16, 1, 8
}
