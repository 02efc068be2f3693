//! Moves that compute of runs: what lies together in all memories, in stretches that start anywhere. Some lanes of a warp have neighbouring units of a run, several times.
//!
//! A run's units in the destination are not its units in the source, as it starts elsewhere inside one. So a thread loads the aligned unit of the source in which its own begins, takes
//! what follows from the next lane, and slides the two, as the [`runs`](crate::tensor::runs) do that only move; the second operand's likewise:
//!
//! ```text
//! past = source address mod bytes of a unit
//! elements of unit v = slide(source unit v, source unit v + 1, past)
//! ```
//!
//! Units are as [`unit`](fn@kernel_abi::arithmetic::unit) says: 16 bytes of the side whose elements have more bytes. Whole units are those that need nothing but what is the run's; before
//! the first and behind the last there are fewer than two units of elements, which lanes have one by one. So nothing is loaded but what the move is of, and source and second operand may be the destination.
//!
//! Where channels have a factor and a summand each, all of a run is of one channel, and each lane holds its pair.

use super::arithmetic_entry;
use super::column::{ColumnPairs, OnePair};
use super::memory::{arrived, load_part, slide_part, store_part};
use super::operation::{pair_of, NoChannels, Stepping};
use super::pair::{for_sizes, Pair};
use super::row_pairs::PAIR;
use crate::element::{Element, B16};
use crate::global::fetch_ends;
use crate::launch::never_more_registers;
use crate::tensor::axes::{divide, steps, unrolled};
use crate::warp::{ballot, exchange};
use cuda_std::thread;
use kernel_abi::arithmetic::{flags, ComputeRuns, MOST_RUN_STEPS, RUN_THREADS};
use kernel_abi::fast::WARP;
use kernel_abi::tensor::MOST_AXES;

/// Units of a thread at most.
const EACH: usize = MOST_RUN_STEPS as usize;

/// What some lanes have of a run.
#[derive(Clone, Copy)]
struct Part {
    /// Where the run starts in each memory.
    src: u64,
    dst: u64,
    other: u64,
    /// Which channel it is of, if channels have pairs.
    channel: u32,
    /// The number of the part, of those of the run.
    number: u32,
    is_there: bool,
    /// How many lanes there are, a power of two, and which one of them this is.
    lanes: u32,
    lane: u32,
}

/// A run's whole units: elements before the first, and how many units there are, one at least.
#[derive(Clone, Copy)]
struct Whole {
    head: u32,
    units: u32,
}

impl Whole {
    /// Those of the destination that need nothing of the other sides but what is the run's.
    #[inline(always)]
    fn of<P: Pair>(part: Part, elements: u32, is_sum: bool) -> Self {
        let unit = P::UNIT as u32;
        let place = |address: u64, size: usize| (address as u32 / size as u32) % unit;
        let before = place(part.dst, P::DST).wrapping_neg() % unit;
        // Elements that an aligned unit of a side has before the first of the run's own.
        let past = |address: u64, size: usize| (place(address, size) + before) % unit;
        let src = past(part.src, P::SRC);
        let other = if is_sum { past(part.other, P::DST) } else { 0 };
        let head = before + if src.max(other) > before { unit } else { 0 };
        // And how many more are loaded behind the last one: of a side that has some before.
        let behind = |past: u32| if past > 0 { unit - past } else { 0 };
        let needed = head + behind(src).max(behind(other));
        Whole { head, units: (elements - needed) / unit }
    }
}

/// One side of a thread's units.
#[derive(Clone, Copy)]
struct Side {
    /// How many bytes are before its first, of the aligned ones in which that begins.
    past: u32,
    held: [B16; EACH],
    /// What is behind those, where no other lane loads it for this one.
    second: B16,
}

/// A thread's whole units: the number of the first of the run's, how many times lanes have one each, and how many the run has.
#[derive(Clone, Copy)]
struct Units {
    first: u32,
    steps: u32,
    all: u32,
    lanes: u32,
    lane: u32,
}

impl Units {
    /// The number of a step's, counted from the first.
    #[inline(always)]
    fn at(self, step: usize) -> u32 {
        step as u32 * self.lanes
    }

    #[inline(always)]
    fn has(self, step: usize) -> bool {
        self.first + self.at(step) < self.all
    }

    /// Whether nobody else loads what is behind a unit: of all lanes the last one's, in the last step.
    #[inline(always)]
    fn is_alone(self, step: usize) -> bool {
        let is_last = self.lane + 1 == self.lanes && step as u32 + 1 == self.steps;
        is_last || self.first + self.at(step) + 1 == self.all
    }

    /// The lane of the warp that has the next unit.
    #[inline(always)]
    fn next(self) -> u32 {
        let lane = thread::thread_idx_x() % WARP;
        lane - self.lane + (self.lane + 1) % self.lanes
    }
}

impl Side {
    /// Loads the units of a side whose elements have `size` bytes, and of which the first unit begins at an address.
    ///
    /// # Safety
    /// The obligations of the entry points.
    #[inline(always)]
    unsafe fn load<P: Pair>(first: u64, size: usize, units: Units) -> Self {
        let bytes = size * P::UNIT;
        let past = first as u32 % bytes as u32;
        let from = first - past as u64;
        let mut side = Side { past, held: [B16::ANY; EACH], second: B16::ANY };
        unrolled! { K in [0 1 2 3] of units.steps => {
            if units.has(K) {
                let at = units.at(K) as u64 * bytes as u64;
                // SAFETY: all of it is the run's.
                side.held[K] = unsafe { load_part(from + at, bytes) };
            }
        } }
        if past != 0 {
            unrolled! { K in [0 1 2 3] of units.steps => {
                if units.has(K) && units.is_alone(K) {
                    let behind = (units.at(K) + 1) as u64 * bytes as u64;
                    // SAFETY: what is behind the last whole unit, too.
                    side.second = unsafe { load_part(from + behind, bytes) };
                }
            } }
        }
        side
    }

    /// Whether a lane of the warp has something to slide.
    ///
    /// # Safety
    /// All lanes of a warp come here.
    #[inline(always)]
    unsafe fn slides(&self) -> bool {
        // SAFETY: the caller's obligation.
        unsafe { ballot(self.past != 0) != 0 }
    }

    /// The elements of the `K`-th unit, slid out of what two lanes hold, if a lane of the warp `slides`.
    ///
    /// # Safety
    /// All lanes of a warp come here.
    #[inline(always)]
    unsafe fn unit<P: Pair, const K: usize>(&self, size: usize, units: Units, slides: bool) -> B16 {
        let held = arrived(self.held[K]);
        if !slides {
            return held;
        }
        // The first lane tells the last one what it has loaded for the next step.
        let later = units.lane == 0 && K + 1 < EACH;
        let told = if later { self.held[(K + 1) % EACH] } else { held };
        let bytes = size * P::UNIT;
        let mut next = arrived(told).u32s();
        unrolled! { WORD in [0 1 2 3] of bytes.div_ceil(4) => {
            // SAFETY: the caller's obligation.
            next[WORD] = unsafe { exchange(next[WORD], units.next()) };
        } }
        let is_alone = units.is_alone(K);
        let second = if is_alone { arrived(self.second) } else { B16::from_u32s(next) };
        slide_part(size, bytes, held, second, self.past)
    }
}

/// An element of a run's start or end: what it is computed of, and where it goes.
#[derive(Clone, Copy)]
struct End {
    to: u64,
    source: B16,
    other: B16,
    is_there: bool,
}

impl End {
    /// Loads that of this lane, if it has one: there are as many lanes as both ends have elements at most, less than two units each.
    ///
    /// # Safety
    /// The obligations of the entry points.
    #[inline(always)]
    unsafe fn load<P: Pair>(part: Part, whole: Whole, params: &ComputeRuns) -> Self {
        let (lane, of_first) = (part.lane, 2 * P::UNIT as u32);
        let (element, end, of) = if lane < of_first {
            (lane, whole.head, 0)
        } else {
            let first = whole.head + whole.units * P::UNIT as u32;
            (first + lane - of_first, params.elements as u32, params.parts as u32 - 1)
        };
        let at = |start: u64, size: usize| start + element as u64 * size as u64;
        let is_there = part.is_there && part.number == of && element < end;
        let mut this =
            End { to: at(part.dst, P::DST), source: B16::ANY, other: B16::ANY, is_there };
        if is_there {
            // SAFETY: an element of the run.
            unsafe {
                this.source = load_part(at(part.src, P::SRC), P::SRC);
                if params.operation.flags & flags::OTHER != 0 {
                    this.other = load_part(at(part.other, P::DST), P::DST);
                }
            }
        }
        this
    }

    /// Computes and stores it.
    ///
    /// # Safety
    /// Those of [`load`](Self::load).
    #[inline(always)]
    unsafe fn store<P: Pair, const PAIRS: bool>(self, part: Part, params: &ComputeRuns) {
        let (a, b) = ([arrived(self.source)], [arrived(self.other)]);
        if self.is_there {
            let [result] = if PAIRS {
                let channel = Stepping { first: part.channel, step: 0 };
                P::compute::<false, 1>(&params.operation, a, b, &[channel])
            } else {
                P::compute::<false, 1>(&params.operation, a, b, &[NoChannels])
            };
            // SAFETY: an element of the run, which no other thread has.
            unsafe { store_part(self.to, P::DST, result) }
        }
    }
}

/// Computes parts of runs; with the `PAIRS` of their channels, of numbers of 32 bits, if these have such.
///
/// # Safety
/// The obligations of the entry points; all lanes of a warp come here.
#[inline(always)]
unsafe fn compute_runs<P: Pair, const PAIRS: bool>(part: Part, params: &ComputeRuns) {
    let operation = &params.operation;
    let is_sum = !PAIRS && operation.flags & flags::OTHER != 0;
    let whole = Whole::of::<P>(part, params.elements as u32, is_sum);
    let (Part { lanes, lane, .. }, steps) = (part, params.steps as u32);
    let first = part.number * (steps * lanes) + lane;
    let all = if part.is_there { whole.units } else { 0 };
    let units = Units { first, steps, all, lanes, lane };
    let begin = (whole.head + first * P::UNIT as u32) as u64;
    let at = |start: u64, size: usize| start + begin * size as u64;
    // SAFETY: the caller's obligations.
    unsafe {
        let source = Side::load::<P>(at(part.src, P::SRC), P::SRC, units);
        // (Of a run that is not there, too: any index of an axis is that of a channel.)
        let pair = if PAIRS {
            OnePair::load::<P>(pair_of(part.channel, operation.other, PAIR as usize), 0, 0)
        } else {
            OnePair::NONE
        };
        let mut other = Side { past: 0, held: [B16::ANY; EACH], second: B16::ANY };
        if is_sum {
            other = Side::load::<P>(at(part.other, P::DST), P::DST, units);
        }
        let end = End::load::<P>(part, whole, params);
        let (source_slides, other_slides) = (source.slides(), other.slides());
        unrolled! { K in [0 1 2 3] of steps => {
            let a = source.unit::<P, K>(P::SRC, units, source_slides);
            let b = other.unit::<P, K>(P::DST, units, other_slides);
            let [result] = if PAIRS {
                P::by_pairs::<_, 1>(operation, [a], &pair)
            } else {
                P::compute::<true, 1>(operation, [a], [b], &[NoChannels])
            };
            if units.has(K) {
                let bytes = P::DST * P::UNIT;
                let behind = units.at(K) as u64 * bytes as u64;
                store_part(at(part.dst, P::DST) + behind, bytes, result);
            }
        } }
        end.store::<P, PAIRS>(part, params)
    }
}

/// The part that a thread's lanes have. It is found before anything that differs from size to size.
#[inline(always)]
fn part<E>(src: *const E, dst: *mut u8, params: &ComputeRuns) -> Part {
    const { assert!(EACH == 4 && MOST_AXES == 17) };
    let (t, lanes) = (thread::thread_idx_x(), params.lanes as u32);
    let part = (thread::block_idx_x() * RUN_THREADS + t) >> lanes;
    let (mut rest, number) = divide(part, params.parts);
    // Elements from where each side starts.
    let mut at = [0u64; 3];
    unrolled! { AXIS in [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15] of params.count => {
        let axis = &params.axes[AXIS];
        let (quotient, index) = divide(rest, axis.divisor);
        at[0] = at[0].wrapping_add(steps(index, axis.src));
        at[1] = at[1].wrapping_add(steps(index, axis.dst));
        at[2] = at[2].wrapping_add(steps(index, axis.other));
        rest = quotient;
    } }
    let bytes = params.operation.dst_bytes;
    Part {
        src: (src as u64).wrapping_add(at[0].wrapping_mul(size_of::<E>() as u64)),
        dst: (dst as u64).wrapping_add(at[1].wrapping_mul(bytes)),
        other: params.operation.other.wrapping_add(at[2].wrapping_mul(bytes)),
        channel: at[2] as u32,
        number,
        // Behind the last run the slowest axis would have another index.
        is_there: rest == 0,
        lanes: 1 << lanes,
        lane: t & ((1 << lanes) - 1),
    }
}

/// Fetches the sectors that a run has only a part of, if they are to be.
///
/// # Safety
/// The run is in the destination.
#[inline(always)]
unsafe fn fetch(part: Part, params: &ComputeRuns) {
    let is_first = part.lane == 0 && part.number == 0 && part.is_there;
    if params.fetch != 0 && is_first {
        let bytes = params.elements as u32 * params.operation.dst_bytes as u32;
        // SAFETY: the caller's obligation.
        unsafe { fetch_ends(part.dst, bytes, params.fetch) }
    }
}

/// Defines an entry point, for such sizes of results, with `$pairs` or without.
macro_rules! compute_runs {
    ($name:ident: $pairs:literal $entry:ident, $element:ty, $bytes:tt $($sizes:ident)?) => {
        #[cfg(feature = "arithmetic_rows")]
        arithmetic_entry! {
            "Computes what lies together in all memories, wherever it starts.",
            $entry: ComputeRuns, $name: $element, |src, dst, params| {
                never_more_registers::<{ if $bytes == 1 { 64 } else { 72 } }>();
                let part = part(src, dst, &params);
                fetch(part, &params);
                for_sizes!($bytes $($sizes)?, params, compute_runs(part, &params), [$pairs])
            }
        }
    };
}

compute_runs!(compute_runs_b1: false COMPUTE_RUNS, u8, 1);
compute_runs!(compute_runs_b2: false COMPUTE_RUNS, u16, 2);
compute_runs!(compute_runs_b4: false COMPUTE_RUNS, u32, 4);
compute_runs!(compute_runs_b8: false COMPUTE_RUNS, u64, 8);
compute_runs!(compute_runs_by_pairs_b1: true COMPUTE_RUNS_BY_PAIRS, u8, 1 narrow);
compute_runs!(compute_runs_by_pairs_b2: true COMPUTE_RUNS_BY_PAIRS, u16, 2 narrow);
compute_runs!(compute_runs_by_pairs_b4: true COMPUTE_RUNS_BY_PAIRS, u32, 4 narrow);
