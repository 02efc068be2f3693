//! Moves that compute of windows: what lies together in all memories, on units of the destination, and anywhere in the source.
//!
//! A thread has one [unit](fn@kernel_abi::arithmetic::unit) of the destination of each of four rows, whose numbers differ along one axis: where its units are is found by one division for each axis, and neighbouring lanes have neighbouring units. Of each unit it
//! loads the two units of the source in which that one's elements begin and end, which lanes beside it load too, and slides them:
//!
//! ```text
//! past = source address mod bytes of a unit
//! elements = slide(unit of the first element, unit of the last element, past)
//! ```
//!
//! What is loaded may lie between rows of the source, but neither before its lowest element nor behind its highest: a unit that would reach there is loaded element by element.
//! A second operand is on units, as the destination is.

use super::arithmetic_entry;
use super::memory::{arrived, load_elements, load_part, slide_part, store_part, unit_start};
use super::operation::Stepping;
use super::pair::{for_sizes, Pair};
use super::units::Place;
use crate::element::{Element, B16};
use crate::launch::never_more_registers;
use crate::tensor::axes::{divide, steps, unrolled};
use cuda_std::thread;
use kernel_abi::arithmetic::{flags, ComputeSlid, ROWS_OF_THREAD, UNIT_THREADS};
use kernel_abi::fast::VECTOR;
use kernel_abi::tensor::MOST_AXES;

/// Where a thread's units are.
#[derive(Clone, Copy)]
struct Places {
    /// Its unit of the first row.
    first: Place,
    /// The first row's number along its axis.
    row: u32,
}

impl Places {
    /// Those of this thread.
    #[inline(always)]
    fn of_thread<P: Pair>(src: u64, dst: u64, params: &ComputeSlid) -> Self {
        const { assert!(MOST_AXES == 17) };
        let number = thread::block_idx_x() * UNIT_THREADS + thread::thread_idx_x();
        let (mut rest, mut row) = (number, 0);
        // Elements from where each side starts.
        let mut at = [0u64; 3];
        unrolled! { AXIS in [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16] of params.count => {
            let axis = &params.axes[AXIS];
            let (quotient, index) = divide(rest, axis.divisor);
            at[0] = at[0].wrapping_add(steps(index, axis.src));
            at[1] = at[1].wrapping_add(steps(index, axis.dst));
            at[2] = at[2].wrapping_add(steps(index, axis.other));
            if AXIS == 1 {
                row = index * ROWS_OF_THREAD;
            }
            rest = quotient;
        } }
        let _ = rest;
        let first = Place {
            src: src.wrapping_add(at[0].wrapping_mul(P::SRC as u64)),
            dst: dst.wrapping_add(at[1].wrapping_mul(P::DST as u64)),
            other: params.operation.other.wrapping_add(at[2].wrapping_mul(P::DST as u64)),
            channel: at[2] as u32,
            is_there: number < params.threads as u32,
        };
        Places { first, row }
    }

    /// Its unit of the `k`-th row.
    #[inline(always)]
    fn of_row<P: Pair>(self, k: u32, params: &ComputeSlid) -> Place {
        let Place { src, dst, other, channel, is_there } = self.first;
        let behind = |step: u64, bytes: usize| steps(k, step.wrapping_mul(bytes as u64));
        Place {
            src: src.wrapping_add(behind(params.row_src, P::SRC)),
            dst: dst.wrapping_add(behind(params.row_dst, P::DST)),
            other: other.wrapping_add(behind(params.row_other, P::DST)),
            channel: channel.wrapping_add(k * params.row_other as u32),
            is_there: is_there && self.row + k < params.rows as u32,
        }
    }
}

/// A unit of which everything is loaded.
#[derive(Clone, Copy)]
struct Held {
    dst: u64,
    is_there: bool,
    /// The units of the source in which it begins and ends, and how many bytes of the first one are before it.
    source: [B16; 2],
    past: u32,
    /// The second operand's.
    other: B16,
    channel: u32,
}

impl Held {
    /// None.
    const NONE: Self = Held {
        dst: 0,
        is_there: false,
        source: [B16::ANY; 2],
        past: 0,
        other: B16::ANY,
        channel: 0,
    };

    /// Loads the unit of a place; what is `readable` of the source is between these addresses.
    ///
    /// # Safety
    /// The obligations of the entry points.
    #[inline(always)]
    unsafe fn load<P: Pair>(place: Place, params: &ComputeSlid, [lowest, end]: [u64; 2]) -> Self {
        let Place { src, dst, other, channel, is_there } = place;
        let bytes = P::SRC * P::UNIT;
        let first = unit_start(src, bytes as u64);
        let last = unit_start(src + bytes as u64 - 1, bytes as u64);
        let is_whole = first >= lowest && last + bytes as u64 <= end;
        let (mut source, mut second) = ([B16::ANY; 2], B16::ANY);
        // SAFETY: the unit's elements, and what lies between the lowest and the highest of the source.
        unsafe {
            // These are rare, and first: no units wait in registers meanwhile.
            if is_there && !is_whole {
                source[0] = load_elements(src, P::SRC, [0, P::UNIT as u32]);
            }
            if is_there && is_whole {
                source = [load_part(first, bytes), load_part(last, bytes)];
            }
            if is_there && params.operation.flags & flags::OTHER != 0 {
                second = load_part(other, P::DST * P::UNIT);
            }
        }
        let past = if is_whole { src as u32 } else { 0 };
        // A unit that is not there has the first channel: the table ends with the last.
        let channel = if is_there { channel } else { 0 };
        Held { dst, is_there, source, past, other: second, channel }
    }

    /// Computes the unit and stores it.
    ///
    /// # Safety
    /// Those of [`load`](Self::load).
    #[inline(always)]
    unsafe fn store<P: Pair>(self, params: &ComputeSlid) {
        let [first, second] = self.source.map(arrived);
        let source = slide_part(P::SRC, P::SRC * P::UNIT, first, second, self.past);
        let other = arrived(self.other);
        let channels = [Stepping { first: self.channel, step: params.channel_step as u32 }];
        let operation = &params.operation;
        let [result] = P::compute::<true, 1>(operation, [source], [other], &channels);
        if self.is_there {
            // SAFETY: the caller's obligations; no other thread has the unit.
            unsafe { store_part(self.dst, P::DST * P::UNIT, result) };
        }
    }
}

/// Computes the thread's units of rows from `row` on, whose loads are in flight together.
///
/// # Safety
/// The obligations of the entry points.
#[inline(always)]
unsafe fn compute_rows<P: Pair, const TOGETHER: usize>(
    places: Places,
    row: u32,
    params: &ComputeSlid,
    readable: [u64; 2],
) {
    let mut held = [Held::NONE; TOGETHER];
    // SAFETY: the caller's obligations.
    unsafe {
        unrolled! { K in [0 1 2 3] of TOGETHER => {
            let place = places.of_row::<P>(row + K as u32, params);
            held[K] = Held::load::<P>(place, params, readable);
        } }
        unrolled! { K in [0 1 2 3] of TOGETHER => {
            held[K].store::<P>(params);
        } }
    }
}

/// Computes the thread's units: of all rows together, or of two if the source's units are vectors, which would take half as many registers more.
///
/// # Safety
/// The obligations of the entry points.
#[inline(always)]
unsafe fn compute_slid<P: Pair>(src: u64, dst: u64, params: &ComputeSlid) {
    const { assert!(ROWS_OF_THREAD == 4) };
    let places = Places::of_thread::<P>(src, dst, params);
    let lowest = src.wrapping_add(params.lowest);
    let readable = [lowest, lowest.wrapping_add(params.reach)];
    // SAFETY: the caller's obligations.
    unsafe {
        if P::SRC * P::UNIT < VECTOR as usize {
            compute_rows::<P, 4>(places, 0, params, readable);
        } else {
            compute_rows::<P, 2>(places, 0, params, readable);
            compute_rows::<P, 2>(places, 2, params, readable);
        }
    }
}

/// Defines an entry point.
macro_rules! compute_slid {
    ($name:ident: $element:ty, $bytes:tt) => {
        #[cfg(feature = "arithmetic_rows")]
        arithmetic_entry! {
            "Computes units of the destination that start anywhere in the source.",
            COMPUTE_SLID: ComputeSlid, $name: $element, |src, dst, params| {
                never_more_registers::<{ if $bytes == 4 { 64 } else { 72 } }>();
                for_sizes!($bytes narrow, params, compute_slid(src as u64, dst as u64, &params))
            }
        }
    };
}

compute_slid!(compute_slid_b1: u8, 1);
compute_slid!(compute_slid_b2: u16, 2);
compute_slid!(compute_slid_b4: u32, 4);
