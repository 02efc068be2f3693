//! Any move that computes: units of elements, in the destination's order.
//!
//! Where elements lie together on all sides, and on vectors, a unit is as many of them as are a vector of the side whose elements have more bytes: that side is
//! accessed by vectors, the other by as much as a warp has side by side. Else a unit is one element. A thread has four units, a block's threads
//! apart, whose loads are in flight together.

use super::arithmetic_entry;
use super::memory::{arrived, load_part, store_part};
use super::operation::Stepping;
use super::pair::{for_sizes, Pair};
use crate::element::{Element, B16};
use crate::launch::never_more_registers;
use crate::tensor::axes::{divide, steps, unrolled};
use cuda_std::thread;
use kernel_abi::arithmetic::{flags, ComputeUnits, UNITS_OF_THREAD, UNIT_THREADS};
use kernel_abi::tensor::MOST_AXES;

/// Units of a thread.
const EACH: usize = UNITS_OF_THREAD as usize;

/// Where a unit is on each side: addresses, and its first channel, and whether there is one.
#[derive(Clone, Copy)]
struct Place {
    src: u64,
    dst: u64,
    other: u64,
    channel: u32,
    is_there: bool,
}

/// Computes the units of this block.
///
/// # Safety
/// The obligations of the entry points.
#[inline(always)]
unsafe fn compute_units<P: Pair>(src: u64, dst: u64, params: &ComputeUnits) {
    // SAFETY: the caller's obligations.
    unsafe {
        if params.whole != 0 {
            of_elements::<P, true>(src, dst, params);
        } else {
            of_elements::<P, false>(src, dst, params);
        }
    }
}

/// Computes units of as many elements as fill vectors, or of one.
///
/// # Safety
/// Those of [`compute_units`].
#[inline(always)]
unsafe fn of_elements<P: Pair, const WHOLE: bool>(src: u64, dst: u64, params: &ComputeUnits) {
    const { assert!(EACH == 4) };
    let operation = &params.operation;
    let elements = if WHOLE { P::UNIT } else { 1 };
    let places = places([src, dst], params, [P::SRC, P::DST], elements);
    let (src_bytes, dst_bytes) = (P::SRC * elements, P::DST * elements);
    let has_other = operation.flags & flags::OTHER != 0;
    let (mut held, mut others) = ([B16::ANY; EACH], [B16::ANY; EACH]);
    unrolled! { K in [0 1 2 3] of EACH => {
        if places[K].is_there {
            // SAFETY: the elements of a unit, which lie together on a multiple of their bytes.
            held[K] = unsafe { load_part(places[K].src, src_bytes) };
        }
    } }
    if operation.flags & flags::CHANNELS != 0 {
        // Where there are channels there is no operand to load: the registers have which channel it is.
        unrolled! { K in [0 1 2 3] of EACH => {
            others[K] = B16(places[K].channel, 0, 0, 0);
        } }
    } else if has_other {
        unrolled! { K in [0 1 2 3] of EACH => {
            if places[K].is_there {
                // SAFETY: the same of the second operand.
                others[K] = unsafe { load_part(places[K].other, dst_bytes) };
            }
        } }
    }
    let step = params.axes[0].other as u32;
    // One after the other: what all of them need together would leave registers for half as many blocks.
    unrolled! { K in [0 1 2 3] of EACH => {
        let (a, b) = ([arrived(held[K])], [arrived(others[K])]);
        let channels = [Stepping { first: b[0].0, step }];
        let [result] = if WHOLE {
            P::whole(operation, a, b, &channels)
        } else {
            P::single(operation, a, b, &channels)
        };
        if places[K].is_there {
            // SAFETY: the same of the destination; no other thread has them.
            unsafe { store_part(places[K].dst, dst_bytes, result) };
        }
    } }
}

/// The places of this thread's units, which are of so many elements.
#[inline(always)]
fn places(
    [src, dst]: [u64; 2],
    params: &ComputeUnits,
    [src_bytes, dst_bytes]: [usize; 2],
    elements: usize,
) -> [Place; EACH] {
    let first = thread::block_idx_x() * (UNIT_THREADS * UNITS_OF_THREAD) + thread::thread_idx_x();
    let number = |k: usize| first + k as u32 * UNIT_THREADS;
    let mut rest = [number(0), number(1), number(2), number(3)];
    // Elements from where each side starts.
    let mut at = [[0u64; 3]; EACH];
    unrolled! { AXIS in [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16] of params.count => {
        const { assert!(MOST_AXES == 17) };
        let axis = &params.axes[AXIS];
        for k in 0..EACH {
            let (quotient, index) = divide(rest[k], axis.divisor);
            let index = if AXIS == 0 { index * elements as u32 } else { index };
            at[k][0] = at[k][0].wrapping_add(steps(index, axis.src));
            at[k][1] = at[k][1].wrapping_add(steps(index, axis.dst));
            at[k][2] = at[k][2].wrapping_add(steps(index, axis.other));
            rest[k] = quotient;
        }
    } }
    let place = |k: usize| Place {
        src: src.wrapping_add(at[k][0].wrapping_mul(src_bytes as u64)),
        dst: dst.wrapping_add(at[k][1].wrapping_mul(dst_bytes as u64)),
        other: params.operation.other.wrapping_add(at[k][2].wrapping_mul(dst_bytes as u64)),
        channel: at[k][2] as u32,
        is_there: number(k) < params.units as u32,
    };
    [place(0), place(1), place(2), place(3)]
}

/// Defines an entry point.
macro_rules! compute_units {
    ($name:ident: $element:ty, $bytes:tt) => {
        arithmetic_entry! {
            "Computes units of elements, in the destination's order.",
            COMPUTE_UNITS: ComputeUnits, $name: $element, |src, dst, params| {
                never_more_registers::<{ if $bytes == 8 { 72 } else { 64 } }>();
                for_sizes!($bytes, params, compute_units(src as u64, dst as u64, &params))
            }
        }
    };
}

compute_units!(compute_units_b1: u8, 1);
compute_units!(compute_units_b2: u16, 2);
compute_units!(compute_units_b4: u32, 4);
compute_units!(compute_units_b8: u64, 8);
compute_units!(compute_units_b16: B16, 16);
