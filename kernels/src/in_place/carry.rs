//! Super-elements moved along cycles through shared memory: 100!, one step at a time.
//!
//! As in `permute` a warp moves a super-element, or a chunk of one, and flags say who moves what. But
//! it keeps what it carries in shared memory and not in registers, so that the length may be any
//! that the chip holds. A lane reads only what it wrote itself there, so nobody waits for that.
//!
//! This is the rule of `strong`, with warps for parties: [`take`] is its steps 1 to 4, and every place that is stored to
//! was taken before. Source: Sung et
//! al. (PPoPP 2014), section 5.2.1, where it is called local memory tiling.

use super::slots::{each_start, Cycles, Layer};
use super::strong::{claim, Strong};
use crate::element::B16;
use crate::tile::shared_address;
use crate::warp::broadcast;
use cuda_std::shared::dynamic_shared_mem;
use cuda_std::{thread, warp};
use kernel_abi::in_place::Slots;

/// Moves what is unmoved.
///
/// # Safety
/// The obligations of the entry points.
#[inline(always)]
unsafe fn carry<E: Strong>(matrix: *mut E, flags: *mut u32, params: Slots) {
    // SAFETY: the launch has dynamic shared memory for two chunks per warp.
    let base = unsafe { shared_address(dynamic_shared_mem::<u8>()) };
    let bytes = params.chunk as u32 * size_of::<E>() as u32;
    let own = base + thread::thread_idx_x() / 32 * 2 * bytes;
    // SAFETY: the caller's obligations; a start lies in its layer.
    unsafe {
        each_start(matrix, flags, params, |cycles, layer, slot| {
            follow(cycles, layer, slot, own, bytes)
        })
    }
}

/// Moves a cycle from `start` on, until somebody else moves the rest.
///
/// # Safety
/// The obligations of the entry points; all lanes of a warp agree on the arguments.
#[inline(always)]
unsafe fn follow<E: Strong>(
    cycles: &Cycles,
    layer: &Layer<E>,
    start: u32,
    buffer: u32,
    bytes: u32,
) {
    let (mut held, mut other) = (buffer, buffer + bytes);
    let mut slot = start;
    // SAFETY: the caller's obligations.
    let mut owned = unsafe { take(cycles, layer, slot, held) };
    while owned {
        slot = cycles.next(slot);
        // SAFETY: the caller's obligations; the place is taken before it is stored to, and the lane wrote
        // what it loads.
        unsafe {
            owned = take(cycles, layer, slot, other);
            let to = layer.start.add(cycles.offset(slot));
            in_turns(
                layer.length,
                |at| E::load_shared(held + at * size_of::<E>() as u32),
                |at, element| element.store_strong(to.add(at as usize)),
            );
        }
        (held, other) = (other, held);
    }
}

/// Reads a chunk into shared memory, then sets its flag. Says whether it is this warp's to move.
///
/// # Safety
/// Those of [`follow`]; the buffer is this warp's.
#[inline(always)]
unsafe fn take<E: Strong>(cycles: &Cycles, layer: &Layer<E>, slot: u32, buffer: u32) -> bool {
    // SAFETY: the caller's obligations; the whole warp is here.
    unsafe {
        let from = layer.start.add(cycles.offset(slot));
        in_turns(
            layer.length,
            |at| E::load_strong(from.add(at as usize)),
            |at, element| element.store_shared(buffer + at * size_of::<E>() as u32),
        );
        // What any lane read is read before the flag says so.
        warp::sync_warp(u32::MAX);
        let first = thread::thread_idx_x() & 31 == 0;
        let owned = first && claim(layer.flags, layer.first_flag + slot as u64);
        // What any lane stores is stored after the flag was seen.
        warp::sync_warp(u32::MAX);
        broadcast(owned as u32) != 0
    }
}

/// Moves the elements of a chunk, each lane every 32nd, four of them at a time.
#[inline(always)]
fn in_turns<E: Strong>(length: u32, load: impl Fn(u32) -> E, store: impl Fn(u32, E)) {
    let mut first = thread::thread_idx_x() & 31;
    while first < length {
        let mut moved = [E::ANY; 4];
        crate::unroll!(K in [0 1 2 3] {
            if first + K as u32 * 32 < length {
                moved[K] = load(first + K as u32 * 32);
            }
        });
        crate::unroll!(K in [0 1 2 3] {
            if first + K as u32 * 32 < length {
                store(first + K as u32 * 32, moved[K]);
            }
        });
        first += 128;
    }
}

crate::in_place::in_place_entries! {
    "Moves super-elements along the cycles of their transposition, through shared memory.",
    CARRY: Slots, carry =>
        carry_b1: u8; carry_b2: u16; carry_b4: u32; carry_b8: u64; carry_b16: B16
}
