//! Any move that computes: units of elements, in the destination's order.
//!
//! Where elements lie together on all sides, and on vectors, a unit is as many of them as are a vector of the side whose elements have more bytes: that side is
//! accessed by vectors, the other by as much as a warp has side by side. Two such units of bytes that stay bytes are a vector on both sides, and go together where all rows are
//! whole vectors. Else a unit is one element. A thread has four units, a block's threads apart.

use super::arithmetic_entry;
use super::memory::{arrived, load_part, store_part};
use super::operation::{NoChannels, Stepping};
use super::pair::{for_sizes, Pair};
use crate::element::{Element, B16};
use crate::launch::{is_hopper, never_more_registers};
use crate::opaque::opaque;
use crate::tensor::axes::{divide, steps, unrolled};
use cuda_std::thread;
use kernel_abi::arithmetic::{flags, ComputeUnits, UNITS_OF_THREAD, UNIT_THREADS};
use kernel_abi::fast::VECTOR;
use kernel_abi::tensor::MOST_AXES;

/// Units of a thread.
const EACH: usize = UNITS_OF_THREAD as usize;

/// Where a unit is on each side: addresses, and its first channel, and whether there is one.
#[derive(Clone, Copy)]
pub struct Place {
    /// The address of its first element in the source.
    pub src: u64,
    /// In the destination.
    pub dst: u64,
    /// In the second operand, if there is one.
    pub other: u64,
    /// Its first channel.
    pub channel: u32,
    /// Whether there is one.
    pub is_there: bool,
}

/// A unit of which everything is loaded.
#[derive(Clone, Copy)]
struct Held {
    dst: u64,
    is_there: bool,
    /// Its elements of the source.
    source: B16,
    /// Those of the second operand; or the number of its first channel, where channels have numbers of their own.
    other: B16,
}

impl Held {
    /// Loads the unit of a place, of so many elements.
    ///
    /// # Safety
    /// The obligations of the entry points.
    #[inline(always)]
    unsafe fn load<P: Pair>(place: Place, params: &ComputeUnits, elements: usize) -> Self {
        let Place { src, dst, other, channel, is_there } = place;
        let flags = params.operation.flags;
        // Where there are channels there is no operand to load: the registers have which channel it is. A unit that is not there has the first: the table ends with the last.
        let of_channel = if flags & flags::CHANNELS != 0 && is_there { channel } else { 0 };
        let mut held = Held { dst, is_there, source: B16::ANY, other: B16(of_channel, 0, 0, 0) };
        if is_there {
            // SAFETY: the elements of a unit, which lie together on a multiple of their bytes.
            unsafe {
                held.source = load_part(src, P::SRC * elements);
                if flags & flags::OTHER != 0 {
                    held.other = load_part(other, P::DST * elements);
                }
            }
        }
        held
    }

    /// Computes the unit and stores it.
    ///
    /// # Safety
    /// Those of [`load`](Self::load).
    #[inline(always)]
    unsafe fn store<P: Pair, const WHOLE: bool>(self, params: &ComputeUnits) {
        let elements = if WHOLE { P::UNIT } else { 1 };
        let (a, b) = ([arrived(self.source)], [arrived(self.other)]);
        let channels = [Stepping { first: b[0].0, step: params.channel_step as u32 }];
        let [result] = P::compute::<WHOLE, 1>(&params.operation, a, b, &channels);
        if self.is_there {
            // SAFETY: the caller's obligations; no other thread has the unit.
            unsafe { store_part(self.dst, P::DST * elements, result) };
        }
    }
}

/// Computes the units of these places.
///
/// # Safety
/// The obligations of the entry points.
#[inline(always)]
unsafe fn compute_units<P: Pair>(places: [Place; EACH], params: &ComputeUnits) {
    // SAFETY: the caller's obligations.
    unsafe {
        if P::SRC + P::DST == 2 && params.whole == 2 {
            by_twos::<P>(places, params);
        } else if params.whole != 0 {
            by_vectors::<P>(places, params);
        } else {
            by_elements::<P>(places, params);
        }
    }
}

/// Computes units of as many elements as fill vectors: the loads of all are in flight together.
///
/// # Safety
/// Those of [`compute_units`].
#[inline(always)]
unsafe fn by_vectors<P: Pair>(places: [Place; EACH], params: &ComputeUnits) {
    // SAFETY: the caller's obligations.
    let load = |k: usize| unsafe { Held::load::<P>(places[k], params, P::UNIT) };
    let held = [load(0), load(1), load(2), load(3)];
    const NOT_TOGETHER: u64 = flags::OTHER | flags::CHANNELS | flags::WIDE;
    let are_bytes = P::SRC == 4 && P::DST == 1 && is_hopper();
    if are_bytes && params.operation.flags & NOT_TOGETHER == 0 {
        // SAFETY: the caller's obligations.
        unsafe { store_together::<P>(held, params) };
        return;
    }
    // One after the other: what all of them need together would leave registers for half as many blocks.
    unrolled! { K in [0 1 2 3] of EACH => {
        // SAFETY: the caller's obligations.
        unsafe { held[K].store::<P, true>(params) };
    } }
}

/// Computes vectors of two units of bytes that stay bytes, of no channels: the loads of all are in flight together.
///
/// # Safety
/// Those of [`compute_units`].
#[inline(always)]
unsafe fn by_twos<P: Pair>(places: [Place; EACH], params: &ComputeUnits) {
    // SAFETY: the caller's obligations.
    let load = |k: usize| unsafe { Held::load::<P>(places[k], params, VECTOR as usize) };
    let held = [load(0), load(1), load(2), load(3)];
    // One after the other, as units are.
    let computed = |source: B16, other: B16| {
        P::compute::<true, 1>(&params.operation, [source], [other], &[NoChannels])[0]
    };
    unrolled! { K in [0 1 2 3] of EACH => {
        let (a, b) = (arrived(held[K].source), arrived(held[K].other));
        let low = computed(B16(a.0, a.1, 0, 0), B16(b.0, b.1, 0, 0));
        let high = computed(B16(a.2, a.3, 0, 0), B16(b.2, b.3, 0, 0));
        if held[K].is_there {
            // SAFETY: the caller's obligations; no other thread has the units.
            unsafe { store_part(held[K].dst, VECTOR as usize, B16(low.0, low.1, high.0, high.1)) };
        }
    } }
}

/// Computes the units together, and stores them: formats are looked at once for all. There are registers for that where there is nothing beside the source, and it is
/// computed in 32 bits. It is for results of a byte: of others as many bytes move that there is time to look at the formats of each unit; and for compute
/// capability 9.0, which makes two such numbers by one instruction.
///
/// # Safety
/// Those of [`compute_units`].
#[inline(always)]
unsafe fn store_together<P: Pair>(held: [Held; EACH], params: &ComputeUnits) {
    let sources = held.map(|held| arrived(held.source));
    let others = [B16::ANY; EACH];
    let results = P::compute::<true, EACH>(&params.operation, sources, others, &[NoChannels; EACH]);
    unrolled! { K in [0 1 2 3] of EACH => {
        if held[K].is_there {
            // SAFETY: the caller's obligations; no other thread has the unit.
            unsafe { store_part(held[K].dst, P::DST * P::UNIT, results[K]) };
        }
    } }
}

/// Computes units of one element. They take turns at one place of the code, and move up in registers: written out for each, it would be four times as long.
///
/// # Safety
/// Those of [`compute_units`].
#[inline(always)]
unsafe fn by_elements<P: Pair>(places: [Place; EACH], params: &ComputeUnits) {
    // SAFETY: the caller's obligations.
    let load = |k: usize| unsafe { Held::load::<P>(places[k], params, 1) };
    // Not an array, which would be kept in memory.
    let (mut first, mut second, mut third, fourth) = (load(0), load(1), load(2), load(3));
    let (mut turn, turns) = (0, opaque(UNITS_OF_THREAD));
    while turn < turns {
        // SAFETY: the caller's obligations.
        unsafe { first.store::<P, false>(params) };
        (first, second, third) = (second, third, fourth);
        turn += 1;
    }
}

/// The places of this thread's units. They are found before anything that differs from size to size: most of the code is this.
#[inline(always)]
fn places<E>(src: *const E, dst: *mut u8, params: &ComputeUnits) -> [Place; EACH] {
    const { assert!(EACH == 4) };
    let first = thread::block_idx_x() * (UNIT_THREADS * UNITS_OF_THREAD) + thread::thread_idx_x();
    let number = |k: usize| first + k as u32 * UNIT_THREADS;
    if params.count == 1 {
        return places_along_one_axis(src, dst, first, params);
    }
    let mut rest = [number(0), number(1), number(2), number(3)];
    // Elements from where each side starts.
    let mut at = [[0u64; 3]; EACH];
    unrolled! { AXIS in [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16] of params.count => {
        const { assert!(MOST_AXES == 17) };
        let axis = &params.axes[AXIS];
        for k in 0..EACH {
            let (quotient, index) = divide(rest[k], axis.divisor);
            at[k][0] = at[k][0].wrapping_add(steps(index, axis.src));
            at[k][1] = at[k][1].wrapping_add(steps(index, axis.dst));
            at[k][2] = at[k][2].wrapping_add(steps(index, axis.other));
            rest[k] = quotient;
        }
    } }
    let bytes = params.operation.dst_bytes;
    let place = |k: usize| Place {
        src: (src as u64).wrapping_add(at[k][0].wrapping_mul(size_of::<E>() as u64)),
        dst: (dst as u64).wrapping_add(at[k][1].wrapping_mul(bytes)),
        other: params.operation.other.wrapping_add(at[k][2].wrapping_mul(bytes)),
        channel: at[k][2] as u32,
        is_there: number(k) < params.units as u32,
    };
    [place(0), place(1), place(2), place(3)]
}

/// Where a thread's units are if all lie along one axis: nothing is divided, and units are as far apart in all threads.
#[inline(always)]
fn places_along_one_axis<E>(
    src: *const E,
    dst: *mut u8,
    first: u32,
    params: &ComputeUnits,
) -> [Place; EACH] {
    let (axis, bytes) = (&params.axes[0], params.operation.dst_bytes);
    let place = |k: u32| {
        let along = |start: u64, stride: u64| {
            let behind = steps(k * UNIT_THREADS, stride);
            start.wrapping_add(steps(first, stride)).wrapping_add(behind)
        };
        Place {
            src: along(src as u64, axis.src.wrapping_mul(size_of::<E>() as u64)),
            dst: along(dst as u64, axis.dst.wrapping_mul(bytes)),
            other: along(params.operation.other, axis.other.wrapping_mul(bytes)),
            channel: along(0, axis.other) as u32,
            is_there: first + k * UNIT_THREADS < params.units as u32,
        }
    };
    [place(0), place(1), place(2), place(3)]
}

/// Defines an entry point.
macro_rules! compute_units {
    ($name:ident: $element:ty, $bytes:tt) => {
        #[cfg(feature = "arithmetic_rows")]
        arithmetic_entry! {
            "Computes units of elements, in the destination's order.",
            COMPUTE_UNITS: ComputeUnits, $name: $element, |src, dst, params| {
                never_more_registers::<{ if $bytes == 8 { 72 } else { 64 } }>();
                let places = places(src, dst, &params);
                for_sizes!($bytes, params, compute_units(places, &params))
            }
        }
    };
}

compute_units!(compute_units_b1: u8, 1);
compute_units!(compute_units_b2: u16, 2);
compute_units!(compute_units_b4: u32, 4);
compute_units!(compute_units_b8: u64, 8);
compute_units!(compute_units_b16: B16, 16);
