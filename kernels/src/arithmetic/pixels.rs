//! Moves that compute, of pixels of few channels: channels lie together in the source, and planes of pixels in the destination, or the other way round, or
//! channels on both sides.
//!
//! A block takes some pixels of an image, or some whole images. It loads what lies together of them, one stretch or one of each plane, by vectors into shared memory, as it lies. A thread gathers
//! the elements of a unit of the destination from there, computes it, and stores it.
//!
//! A stretch may start anywhere: it is kept as far behind a vector's start as it is in the source. The distance of stretches in shared memory is, modulo a vector, their distance in the source, so where an element waits is
//!
//! ```text
//! e · element + i · next + j · plane
//! ```
//!
//! for the `e`-th element of the `i`-th line of the `j`-th plane; where channels are in descending order, their steps are negative. A unit has two divisions, and an element an addition and, where a line may end before it, a choice. Elements that wait in few banks are shared out so that a warp has
//! some units of each of several runs.

use super::arithmetic_entry;
use super::memory::{get, load_shared_part, put, store_part};
use super::operation::{Each, NothingBeside};
use super::pair::{for_sizes, Pair};
use super::placed_pairs::PlacedPairs;
use crate::element::{Element, B16};
use crate::global::load_vector;
use crate::launch::never_more_registers;
use crate::opaque::not_unrolled;
use crate::tensor::axes::{divide, steps, unrolled};
use cuda_std::thread;
use kernel_abi::arithmetic::{ComputePixels, PIXEL_THREADS};
use kernel_abi::fast::VECTOR;
use kernel_abi::tensor::MOST_BLOCK_AXES;

/// Vectors of a thread that are in flight together.
const LOADS: usize = 4;

/// No address of shared memory.
const NOWHERE: u32 = u32::MAX;

/// A block's part: where it starts, and how many groups it has.
#[derive(Clone, Copy)]
struct Part {
    /// Elements of the source before it, and of the destination.
    src: u64,
    dst: u64,
    groups: u32,
}

impl Part {
    /// That of this block.
    #[inline(always)]
    fn of_block(params: &ComputePixels) -> Self {
        let mut part = Part { src: 0, dst: 0, groups: 0 };
        let mut rest = thread::block_idx_x();
        unrolled! { AXIS in [0 1 2 3 4 5 6 7 8 9] of params.count => {
            const { assert!(MOST_BLOCK_AXES == 10) };
            let axis = &params.blocks[AXIS];
            let (quotient, index) = divide(rest, axis.divisor);
            part.src = part.src.wrapping_add(steps(index, axis.src));
            part.dst = part.dst.wrapping_add(steps(index, axis.dst));
            if AXIS == 0 {
                let (all, per) = (params.groups as u32, params.per as u32);
                part.groups = (all - index * per).min(per);
            }
            rest = quotient;
        } }
        let _ = rest;
        part
    }
}

/// Keeps the elements between `start` and `end` of the vector at `aligned`, one by one.
///
/// # Safety
/// These are readable, and `to` is a vector of the block's shared memory that no other thread accesses before the next barrier.
#[inline(always)]
unsafe fn keep_elements<E: Element>(aligned: u64, start: u64, end: u64, to: u32) {
    let mut past = 0;
    while past < VECTOR {
        not_unrolled();
        let at = aligned + past as u64;
        if at >= start && at < end {
            // SAFETY: an element between them, and its place.
            unsafe { E::load(at as *const E).store_shared(to + past) }
        }
        past += size_of::<E>() as u32;
    }
}

/// Loads the stretches of a part. Returns where its first element waits.
///
/// # Safety
/// The obligations of the entry points; `shared` is where the block's shared memory starts.
#[inline(always)]
unsafe fn load<E: Element>(src: *const E, params: &ComputePixels, part: Part, shared: u32) -> u32 {
    let (stretches, size) = (&params.stretches, size_of::<E>() as u64);
    // Channels in descending order start before their first element.
    let from = part.src.wrapping_sub(stretches.before);
    let first = (src as u64).wrapping_add(from.wrapping_mul(size));
    let held = shared + first as u32 % VECTOR;
    let lowest = (src as u64).wrapping_add(params.lowest);
    let (mut count, mut elements) = (stretches.count as u32, stretches.elements as u32);
    if stretches.lengthen != 0 {
        elements *= part.groups;
    } else {
        count *= part.groups;
    }
    let all = count * stretches.vectors as u32;
    let mut base = thread::thread_idx_x();
    while base < all {
        let (mut loaded, mut to) = ([B16::ANY; LOADS], [NOWHERE; LOADS]);
        unrolled! { K in [0 1 2 3] of LOADS => {
            let number = base + K as u32 * PIXEL_THREADS;
            let (stretch, vector) = divide(number, stretches.vectors);
            let start = first.wrapping_add(steps(stretch, stretches.step.wrapping_mul(size)));
            let end = start + elements as u64 * size;
            let at = start / VECTOR as u64 * VECTOR as u64 + (vector * VECTOR) as u64;
            if number < all && at < end {
                let slot = held + stretch * stretches.pitch as u32;
                let slot = slot / VECTOR * VECTOR + vector * VECTOR;
                // SAFETY: a vector of what lies between the source's elements, or elements; a place of the block's, which no other thread stores to.
                unsafe {
                    if at >= lowest && at + VECTOR as u64 <= lowest + params.reach {
                        loaded[K] = load_vector(at);
                        to[K] = slot;
                    } else {
                        keep_elements::<E>(at, start, end, slot);
                    }
                }
            }
        } }
        unrolled! { K in [0 1 2 3] of LOADS => {
            if to[K] != NOWHERE {
                // SAFETY: a place of the block's, which no other thread stores to.
                unsafe { loaded[K].store_shared(to[K]) };
            }
        } }
        base += LOADS as u32 * PIXEL_THREADS;
    }
    held + (stretches.before * size) as u32
}

/// Where the elements of a unit wait, and which channels they have: those of its first line, of the one behind it, and of a third.
#[derive(Clone, Copy)]
struct Unit {
    /// Addresses that the unit's first element would have, if it were of this line.
    lines: [u32; 3],
    /// Channels, likewise.
    channels: [u32; 3],
    /// Elements of the first line, and of the first two.
    left: [u32; 2],
    /// Channels, and bytes, from one element to the next.
    steps: [u32; 2],
}

impl Unit {
    /// The unit that starts with the `first`-th element of a run, which may be before the run's.
    #[inline(always)]
    fn of(first: i32, run: u32, held: u32, params: &ComputePixels) -> Self {
        let runs = &params.runs;
        let [element, next, plane] =
            [runs.element, runs.next, runs.plane].map(|bytes| bytes as u32);
        let (line, lines) = (runs.line as u32, runs.lines as u32);
        // Counted from two lines, and from a plane, before the run's first: a unit that starts before the run is of lines there.
        let (counted, past) = divide((first + 2 * line as i32) as u32, runs.line);
        let (planes, number) = divide(counted + lines - 1, runs.lines);
        let second = held + run * runs.run as u32 + (planes - 1) * plane + number * next;
        let back = if number == 0 { plane - (lines - 1) * next } else { next };
        let forth = if number + 1 == lines { plane - (lines - 1) * next } else { next };
        let (left, both) = (line - past, line - past + line);
        let start = [
            second - back + past * element,
            second - left * element,
            second + forth - both * element,
        ];
        let channel = |number: u32| if number >= lines { 0 } else { number };
        let are_channels = runs.are_channels != 0;
        let channels = if are_channels {
            [past, 0u32.wrapping_sub(left), 0u32.wrapping_sub(both)]
        } else {
            let before = if number == 0 { lines - 1 } else { number - 1 };
            [run + before, run + number, run + channel(number + 1)]
        };
        Unit { lines: start, channels, left: [left, both], steps: [are_channels as u32, element] }
    }

    /// The unit that starts with the `first`-th element of a run which is one line.
    #[inline(always)]
    fn of_endless(first: i32, run: u32, held: u32, params: &ComputePixels) -> Self {
        let element = params.runs.element as u32;
        let start = held + run * params.runs.run as u32 + first as u32 * element;
        Unit { lines: [start; 3], channels: [run; 3], left: [u32::MAX; 2], steps: [0, element] }
    }

    /// Which of some numbers is that of the line of the `j`-th element.
    #[inline(always)]
    fn of_line(&self, j: u32, of: [u32; 3]) -> u32 {
        let [first, second, third] = of;
        // Lines have three elements at least, and units of more than four have lines of four.
        let behind = if j >= 5 && j >= self.left[1] { third } else { second };
        if j < self.left[0] {
            first
        } else {
            behind
        }
    }

    /// Where the `j`-th element waits.
    #[inline(always)]
    fn address(&self, j: u32) -> u32 {
        self.of_line(j, self.lines) + j * self.steps[1]
    }

    /// Its channel.
    #[inline(always)]
    fn channel(&self, j: u32) -> u32 {
        self.of_line(j, self.channels) + j * self.steps[0]
    }
}

/// The elements that wait at the addresses that there are.
///
/// # Safety
/// They are of the part; a barrier separates this from what loaded it.
#[inline(always)]
unsafe fn gathered<P: Pair>(address: impl Fn(usize) -> Option<u32>) -> B16 {
    let mut words = [0u32; 4];
    unrolled! { J in [0 1 2 3 4 5 6 7] of P::UNIT => {
        if let Some(address) = address(J) {
            // SAFETY: the caller's obligations.
            put(&mut words, J, P::SRC, unsafe { load_shared_part(address, P::SRC) });
        }
    } }
    B16::from_u32s(words)
}

/// Computes what waits, and stores it.
///
/// # Safety
/// The obligations of the entry points; a barrier separates this from what loaded the part, and from what kept pairs.
#[inline(always)]
unsafe fn store<P: Pair>(
    dst: u64,
    params: &ComputePixels,
    part: Part,
    held: u32,
    pairs: PlacedPairs<'_>,
) {
    let runs = &params.runs;
    let elements = part.groups * runs.elements as u32;
    let mut number = thread::thread_idx_x();
    while number < runs.all as u32 {
        let (turn, rest) = divide(number, runs.turn);
        let (run, of_run) = (rest >> runs.units as u32, rest & ((1 << runs.units as u32) - 1));
        let start = part.dst.wrapping_add(steps(run, runs.step)) * P::DST as u64;
        let start = dst.wrapping_add(start);
        // Units start where the destination's do; the first and the last have elements in part.
        let before =
            if runs.whole != 0 { 0 } else { (start as u32 / P::DST as u32) % P::UNIT as u32 };
        let first =
            (((turn << runs.units as u32) + of_run) * P::UNIT as u32) as i32 - before as i32;
        let has = |j: usize| ((first + j as i32) as u32) < elements;
        if first < elements as i32 {
            let is_whole = has(0) && has(P::UNIT - 1);
            // SAFETY: elements of the part, whose places no other thread has, and a whole unit where there is one.
            unsafe {
                // Chosen as a whole: a unit that is chosen before its elements are has its lines in local memory.
                let (unit, elements) = if runs.plane == 0 {
                    let unit = Unit::of_endless(first, run, held, params);
                    let elements = if is_whole {
                        let bytes = unit.steps[1];
                        gathered::<P>(|j| Some(unit.lines[0] + j as u32 * bytes))
                    } else {
                        gathered::<P>(|j| has(j).then(|| unit.address(j as u32)))
                    };
                    (unit, elements)
                } else {
                    let unit = Unit::of(first, run, held, params);
                    let elements = if is_whole {
                        gathered::<P>(|j| Some(unit.address(j as u32)))
                    } else {
                        gathered::<P>(|j| has(j).then(|| unit.address(j as u32)))
                    };
                    (unit, elements)
                };
                let results = compute::<P>(elements, unit, params, pairs);
                let at = start.wrapping_add((first * P::DST as i32) as i64 as u64);
                if is_whole {
                    store_part(at, P::UNIT * P::DST, results);
                } else {
                    unrolled! { J in [0 1 2 3 4 5 6 7] of P::UNIT => {
                        if has(J) {
                            let element = get(results, J, P::DST);
                            store_part(at.wrapping_add((J * P::DST) as u64), P::DST, element);
                        }
                    } }
                }
            }
        }
        number += PIXEL_THREADS;
    }
}

/// The results for the elements of a unit.
///
/// # Safety
/// Those of [`store`].
#[inline(always)]
unsafe fn compute<P: Pair>(
    elements: B16,
    unit: Unit,
    params: &ComputePixels,
    pairs: PlacedPairs<'_>,
) -> B16 {
    let are_channels = params.runs.are_channels != 0;
    if P::SRC < 8 && P::DST < 8 && pairs.are_kept() {
        // SAFETY: the caller's obligations; channels of the table.
        return unsafe {
            if are_channels {
                pairs.compute_from::<P>(elements, unit.channels[0])
            } else {
                let [first, second, _] = unit.channels;
                pairs.compute_of_two::<P>(elements, [first, second], unit.left[0])
            }
        };
    }
    let (operation, elements) = (&params.operation, [elements]);
    if P::SRC < 4 && P::DST < 4 {
        // Where these have channels, their pairs are kept.
        let [results] = P::compute::<true, _>(operation, elements, [B16::ANY], &[NothingBeside]);
        return results;
    }
    let mut channels = [0; 8];
    unrolled! { J in [0 1 2 3 4 5 6 7] of P::UNIT => { channels[J] = unit.channel(J as u32); } }
    let are_one = !are_channels && params.runs.lines as u32 == 1;
    let each = [Each { channels, are_one }];
    let [results] = P::compute::<true, _>(operation, elements, [B16::ANY], &each);
    results
}

/// Defines an entry point.
macro_rules! compute_pixels {
    ($name:ident: $element:ty, $($bytes:tt)+) => {
        #[cfg(feature = "arithmetic_pixels")]
        arithmetic_entry! {
            "Computes pixels of few channels.",
            COMPUTE_PIXELS: ComputePixels, $name: $element, |src, dst, params| {
                never_more_registers::<64>();
                let shared = crate::tile::shared_address(cuda_std::shared::dynamic_shared_mem::<u8>());
                let part = Part::of_block(&params);
                let pairs = PlacedPairs { operation: &params.operation, channels: &params.channels, shared };
                pairs.keep(PIXEL_THREADS);
                let held = load::<$element>(src, &params, part, shared);
                thread::sync_threads();
                for_sizes!($($bytes)+, params, store(dst as u64, &params, part, held, pairs))
            }
        }
    };
}

compute_pixels!(compute_pixels_b1: u8, 1);
compute_pixels!(compute_pixels_b2: u16, 2);
compute_pixels!(compute_pixels_b4: u32, 4);
compute_pixels!(compute_pixels_b8: u64, 8 wide);
