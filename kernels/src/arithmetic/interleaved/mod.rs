//! Moves that compute, of pixels of two, three or four channels, which lie together on one side, and planes of pixels on the other. Pixels may be in descending order in the source, and stay together or in planes then; and
//! channels that stay together may be in reverse order.
//!
//! A thread has as many pixels as are a unit of elements: a unit of each plane, and as many units side by side where channels lie together. It loads them,
//! changes their places in registers, and computes all of them at once. So it does with a second operand, which is laid out like the destination. What is in descending order is loaded as it lies, and turned around between planes and results.
//!
//! Where units side by side are stored, the lanes of a warp exchange them first, so that neighbouring lanes store neighbouring ones.
//!
//! Rows of pixels that start anywhere, or have parts of units, go that way too, and what a lane holds of a plane is slid first: [`rows`]. If they do so in the source alone, as windows do, each thread slides what it loads: one unit more where channels lie together, two for each plane.
//!
//! # Order
//! The second operand may be the destination. Then a lane may store over what another lane has loaded. That load comes before the other lane's `bar.warp.sync` in program order, and the store behind this lane's; the
//! barrier synchronizes both, so the load precedes the store in causality order (PTX ISA, memory consistency model), and does not see it. By the same barrier a lane's units in shared memory are seen by those that
//! load them. Where lanes exchange nothing each loads and stores its own units, and of units that a row has a part of each lane stores the elements that it has loaded.

mod cropped;
mod registers;
mod rows;

use self::registers::{mirrored, pixels_of, planes_of};
use self::rows::{pixels_on_starts, pixels_past, Units};
use super::arithmetic_entry;
use super::memory::{load_shared_part, slide_part, store_part, store_shared_part};
use super::operation::{Each, NoChannels};
use super::pair::{for_sizes, Pair};
use crate::element::{Element, B16};
use crate::launch::at_most_registers;
use crate::opaque::{apart_from_others, lane_again, thread_again};
use crate::tensor::axes::{divide, steps, unrolled};
use crate::warp::{ballot, exchange_u64, next_lanes_vector};
use cuda_std::{thread, warp};
use kernel_abi::arithmetic::{ComputeInterleaved, INTERLEAVED_THREADS};
use kernel_abi::fast::{VECTOR, WARP};
use kernel_abi::tensor::MOST_BLOCK_AXES;

/// How a source is read that may lie otherwise than in ascending order and by the destination's units.
#[derive(Clone, Copy)]
struct Reading {
    descending_pixels: bool,
    /// Of channels that lie together on both sides.
    descending_channels: bool,
    /// Whether units of the destination, which are all whole ones, start anywhere in the source. It is known where a kernel is built.
    anywhere: bool,
}

/// Whether rows have parts of units of the destination.
#[inline(always)]
fn are_ragged(params: &ComputeInterleaved, reading: Option<Reading>) -> bool {
    let may_be = !reading.is_some_and(|reading| reading.anywhere);
    may_be && params.pixels != 0
}

/// Where a thread's pixels are.
#[derive(Clone, Copy)]
struct Place {
    /// The address of its first pixel, or of its row's.
    src: u64,
    dst: u64,
    /// Its first pixel's number in the destination's row, if rows start anywhere: that of a unit where channels lie together, which may be before the row.
    pixel: i32,
    is_there: bool,
    /// Lanes of a warp that store.
    lanes: u32,
}

impl Place {
    /// Those of this thread.
    #[inline(always)]
    fn of_thread<const C: usize>(
        [src, dst]: [u64; 2],
        bytes: [usize; 2],
        unit: usize,
        params: &ComputeInterleaved,
        reading: Option<Reading>,
    ) -> Self {
        let thread = thread::block_idx_x() * INTERLEAVED_THREADS + thread::thread_idx_x();
        let slides = are_ragged(params, reading);
        let lanes = if slides { WARP - 1 } else { WARP };
        let number = thread / WARP * lanes + thread % WARP;
        let (mut rest, mut at, mut first) = (number, [0u64; 2], 0);
        unrolled! { AXIS in [0 1 2 3 4 5 6 7 8 9] of params.count => {
            const { assert!(MOST_BLOCK_AXES == 10) };
            let axis = &params.axes[AXIS];
            // There is nothing behind the last axis: what is left is its index.
            let is_last = AXIS as u32 + 1 == params.count as u32;
            let (quotient, index) = if is_last { (0, rest) } else { divide(rest, axis.divisor) };
            if AXIS == 0 && slides {
                first = index;
            } else {
                at[0] = at[0].wrapping_add(steps(index, axis.src));
                at[1] = at[1].wrapping_add(steps(index, axis.dst));
            }
            rest = quotient;
        } }
        let _ = rest;
        let behind = |side: usize| at[side].wrapping_mul(bytes[side] as u64);
        let (src, dst) = (src.wrapping_add(behind(0)), dst.wrapping_add(behind(1)));
        let mut pixel = 0;
        if slides {
            // Elements between the start of a unit and the row's first pixel, where channels lie together.
            let from_planes = params.src_plane != 0;
            let (together, bytes) = if from_planes { (dst, bytes[1]) } else { (src, bytes[0]) };
            let past = together as u32 / bytes as u32 % unit as u32;
            let mut before = pixels_past::<C>(past, unit);
            if !from_planes && reading.is_some_and(|reading| reading.descending_pixels) {
                // So many before the first that the unit which ends with it starts with a pixel.
                let all = before.wrapping_add(params.pixels as u32);
                before = all.wrapping_neg() % pixels_on_starts::<C>(unit);
            }
            // Where units that are stored are behind the first lane's pixels, its next one has the first of a row.
            let to_pixels = reading.is_none() || params.dst_plane == 0;
            before += if from_planes && to_pixels { 0 } else { unit as u32 };
            pixel = (first * unit as u32) as i32 - before as i32;
        }
        Place { src, dst, pixel, is_there: number < params.units as u32, lanes }
    }

    /// Its units of the source. Of rows in descending order these are the ones that end where its pixels begin.
    #[inline(always)]
    fn source<const C: usize>(
        &self,
        [bytes, unit]: [usize; 2],
        params: &ComputeInterleaved,
        reading: Option<Reading>,
    ) -> Units<C> {
        let (pixels, plane) = (params.pixels as i32, params.src_plane * bytes as u64);
        let turns = pixels != 0 && reading.is_some_and(|reading| reading.descending_pixels);
        let pixel = if turns { pixels - unit as i32 - self.pixel } else { self.pixel };
        let (start, behind) = (self.src, reading.is_some());
        let (before, anywhere) = (None, false);
        let units = Units { start, plane, pixels, pixel, bytes, unit, behind, before, anywhere };
        match reading {
            // As many pixels as are a unit, from the thread's first on.
            Some(Reading { anywhere: true, .. }) => {
                Units { pixels: unit as i32, pixel: 0, anywhere: true, ..units }
            }
            _ => units,
        }
    }

    /// Its units of the destination. Where channels lie together on both sides, its first pixel there is the first one behind that a unit starts with.
    #[inline(always)]
    fn destination<const C: usize>(
        &self,
        [bytes, unit]: [usize; 2],
        params: &ComputeInterleaved,
        reading: Option<Reading>,
    ) -> Units<C> {
        let (pixels, plane) = (params.pixels as i32, params.dst_plane * bytes as u64);
        let (start, pixel, behind) = (self.dst, self.pixel, true);
        let (before, anywhere) = (None, false);
        let mut to = Units { start, plane, pixels, pixel, bytes, unit, behind, before, anywhere };
        if reading.is_some() && pixels != 0 && params.src_plane == 0 && plane == 0 {
            to.pixel += to.until_start() as i32;
        }
        to
    }
}

/// Computes the pixels of this block, and `ADDS` a second operand. If something may be `descending`, channels may lie together on both sides, or on neither, and rows of the source's planes that start anywhere have their pixels in descending order. `base` is the address of a vector of shared memory for each thread and channel.
///
/// # Safety
/// The obligations of the entry points.
#[inline(always)]
unsafe fn compute_interleaved<P: Pair, const C: usize, const ADDS: bool>(
    src: u64,
    dst: u64,
    params: &ComputeInterleaved,
    reading: Option<Reading>,
    base: u32,
) {
    let bytes = [P::SRC, P::DST];
    let place = Place::of_thread::<C>([src, dst], bytes, P::UNIT, params, reading);
    let (slides, from_planes) = (are_ragged(params, reading), params.src_plane != 0);
    let to_pixels = if reading.is_some() { params.dst_plane == 0 } else { from_planes };
    let mut from = place.source::<C>([P::SRC, P::UNIT], params, reading);
    let to = place.destination::<C>([P::DST, P::UNIT], params, reading);
    if reading.is_some() {
        let are_planes = from_planes && !to_pixels;
        from.before = Some(if slides && are_planes { to.all_until() } else { 0 });
    }
    let lowest = src.wrapping_add(params.lowest);
    let readable = [lowest, lowest.wrapping_add(params.reach)];
    let lane = thread::thread_idx_x() % WARP;
    let is_stored = place.is_there && lane < place.lanes;
    let beside =
        Units { start: to.start.wrapping_add(params.operation.other.wrapping_sub(dst)), ..to };
    let slots = base + (thread::thread_idx_x() - lane) * C as u32 * VECTOR;
    let held_whole = !(slides || from.anywhere) || from.are_between(readable);
    let stored_whole = !slides || to.are_whole();
    // Found anew where results are stored, so that it does not wait in a register.
    let slots_again = || base + thread_again() / WARP * WARP * C as u32 * VECTOR;
    let (mut held, mut others) = ([B16::ANY; C], [B16::ANY; C]);
    // SAFETY: units of the source and of the second operand, or what their rows have of them.
    unsafe {
        // These are rare, and first: while elements are exchanged no units wait in registers.
        if slides || from.anywhere {
            from.load_parts(place.is_there && !held_whole, slots, &mut held);
        }
        if place.is_there && held_whole {
            held = if from.anywhere { from.load_slid() } else { from.load() };
        }
        if ADDS && is_stored && stored_whole {
            others = beside.load();
        }
        if ADDS && slides {
            beside.load_parts(is_stored && !stored_whole, slots, &mut others);
        }
    }
    if !from_planes {
        held = planes_of::<C>(P::SRC, P::UNIT, held);
    }
    if ADDS && to_pixels {
        others = planes_of::<C>(P::DST, P::UNIT, others);
    }
    if let Some(reading) = reading {
        if reading.descending_pixels {
            apart_from_others();
            held = mirrored(P::SRC, P::UNIT, held);
        }
        if reading.descending_channels {
            apart_from_others();
            held = core::array::from_fn(|k| held[C - 1 - k]);
        }
    }
    if slides {
        unrolled! { K in [0 1 2 3] of C => {
            let past = match reading {
                Some(_) if from_planes => from.until(K),
                Some(_) if to_pixels => (to.pixel - place.pixel) as u32,
                None if from_planes => from.past(K),
                _ => to.until(K),
            };
            // SAFETY: the whole warp is here.
            let next = unsafe { next_lanes_vector(held[K]) };
            held[K] = slide_part(P::SRC, P::UNIT * P::SRC, held[K], next, past * P::SRC as u32);
        } }
    }
    let results = if ADDS {
        P::compute::<true, C>(&params.operation, held, others, &[NoChannels; C])
    } else {
        // (Told that there is no second operand, the assembler takes half as many registers more.)
        let of = |channel: usize| Each { channels: [channel as u32; 8], are_one: true };
        let channels = core::array::from_fn(of);
        P::compute::<true, C>(&params.operation, held, others, &channels)
    };
    // SAFETY: units of the destination, or what its rows have of them, which no other thread has; the block's own memory.
    unsafe {
        let (mut units, mut are_stored) = (results, false);
        if to_pixels {
            units = pixels_of::<C>(P::DST, P::UNIT, results);
            let all = (to.address(0), is_stored && stored_whole, place.lanes);
            are_stored = store_exchanged(all, units, P::UNIT * P::DST, slots_again());
        }
        if !are_stored {
            if is_stored && stored_whole {
                to.store(&units);
            }
            if slides {
                to.store_parts(is_stored && !stored_whole, slots_again(), &units);
            }
        }
    }
}

/// Where the unit of a number is kept, of those that a warp exchanges, so that neither the lanes that store it nor those that load it meet in a bank: each has `channels` units side by side, of `bytes`
/// bytes. Three are an odd number and meet in none.
#[inline(always)]
fn kept(number: u32, channels: u32, bytes: u32) -> u32 {
    /// Bytes of all banks.
    const BANKS: u32 = 128;
    if channels.is_power_of_two() {
        number ^ (number / (BANKS / bytes) % channels)
    } else {
        number
    }
}

/// Stores units of `bytes` bytes side by side, of as many lanes of the warp as store, by neighbouring lanes, if those of all lanes are side by side: whether it has.
///
/// # Safety
/// All lanes of the warp call it together. The units at `dst` are the destination's, where there `is` such, and no other thread has them. `slots` is the address of `C` vectors of shared memory of each lane of the warp,
/// which nobody else accesses.
#[inline(always)]
unsafe fn store_exchanged<const C: usize>(
    (dst, is, lanes): (u64, bool, u32),
    units: [B16; C],
    bytes: usize,
    slots: u32,
) -> bool {
    let (lane, channels) = (lane_again(), C as u32);
    // SAFETY: the caller's obligations.
    unsafe {
        let first = exchange_u64(dst, 0);
        let is_next = dst == first.wrapping_add((lane * channels) as u64 * bytes as u64);
        let all = ballot(lane >= lanes || is && is_next) == u32::MAX;
        let kept = |number: u32| slots + kept(number, channels, bytes as u32) * bytes as u32;
        // What was in shared memory has been read.
        warp::sync_warp(u32::MAX);
        unrolled! { K in [0 1 2 3] of C => {
            store_shared_part(kept(channels * lane + K as u32), bytes, units[K]);
        } }
        warp::sync_warp(u32::MAX);
        if all {
            unrolled! { K in [0 1 2 3] of C => {
                let number = K as u32 * WARP + lane;
                if number < lanes * channels {
                    let unit = load_shared_part(kept(number), bytes);
                    store_part(first.wrapping_add(number as u64 * bytes as u64), bytes, unit);
                }
            } }
        }
        all
    }
}

/// Registers that a thread has without a second operand: left to itself the assembler takes up to half as many more, for fewer blocks. (With fewer for three channels of 4 bytes it spills.)
const fn most_registers(channels: usize, bytes: usize) -> u32 {
    match (channels, bytes) {
        (2, 4) => 40,
        (2, _) => 32,
        (3, 4) => 56,
        (3, _) => 48,
        _ => 64,
    }
}

/// Defines an entry point for pixels of `$channels` channels, with a second operand if it `$adds` one.
macro_rules! compute_interleaved {
    ($name:ident: $channels:literal $adds:literal $entry:ident, $element:ty, $bytes:tt) => {
        #[cfg(feature = "arithmetic_pixels")]
        arithmetic_entry! {
            "Computes pixels of few channels.",
            $entry: ComputeInterleaved, $name: $element, |src, dst, params| {
                if !$adds {
                    at_most_registers::<{ most_registers($channels, $bytes) }>();
                }
                let memory = cuda_std::shared_array![B16; $channels * INTERLEAVED_THREADS as usize];
                let base = crate::tile::shared_address(memory.cast());
                for_sizes!($bytes narrow, params, compute_interleaved(src as u64, dst as u64, &params, None, base), [$channels, $adds])
            }
        }
    };
}

/// Defines an entry point for pixels of `$channels` channels of which pixels, or channels that stay together, may be in descending order in the source; and which may start `$anywhere` there.
macro_rules! compute_mirrored {
    ($name:ident: $channels:literal $anywhere:literal $entry:ident, $element:ty, $bytes:tt) => {
        #[cfg(feature = "arithmetic_pixels")]
        arithmetic_entry! {
            "Computes pixels of few channels that are mirrored, or stay together or planes, or start anywhere in the source alone.",
            $entry: ComputeMirrored, $name: $element, |src, dst, params| {
                at_most_registers::<{ most_registers($channels, $bytes) }>();
                let memory = cuda_std::shared_array![B16; $channels * INTERLEAVED_THREADS as usize];
                let base = crate::tile::shared_address(memory.cast());
                let pixels = &params.pixels;
                let reading = Some(Reading {
                    descending_pixels: params.descending_pixels != 0,
                    descending_channels: params.descending_channels != 0,
                    anywhere: $anywhere,
                });
                for_sizes!($bytes narrow, pixels, compute_interleaved(src as u64, dst as u64, pixels, reading, base), [$channels, false])
            }
        }
    };
}

compute_interleaved!(compute_interleaved2_b1: 2 false COMPUTE_INTERLEAVED2, u8, 1);
compute_interleaved!(compute_interleaved2_b2: 2 false COMPUTE_INTERLEAVED2, u16, 2);
compute_interleaved!(compute_interleaved2_b4: 2 false COMPUTE_INTERLEAVED2, u32, 4);
compute_interleaved!(compute_interleaved_sums2_b1: 2 true COMPUTE_INTERLEAVED_SUMS2, u8, 1);
compute_interleaved!(compute_interleaved_sums2_b2: 2 true COMPUTE_INTERLEAVED_SUMS2, u16, 2);
compute_interleaved!(compute_interleaved_sums2_b4: 2 true COMPUTE_INTERLEAVED_SUMS2, u32, 4);
compute_interleaved!(compute_interleaved3_b1: 3 false COMPUTE_INTERLEAVED3, u8, 1);
compute_interleaved!(compute_interleaved3_b2: 3 false COMPUTE_INTERLEAVED3, u16, 2);
compute_interleaved!(compute_interleaved3_b4: 3 false COMPUTE_INTERLEAVED3, u32, 4);
compute_interleaved!(compute_interleaved_sums3_b1: 3 true COMPUTE_INTERLEAVED_SUMS3, u8, 1);
compute_interleaved!(compute_interleaved_sums3_b2: 3 true COMPUTE_INTERLEAVED_SUMS3, u16, 2);
compute_interleaved!(compute_interleaved_sums3_b4: 3 true COMPUTE_INTERLEAVED_SUMS3, u32, 4);
compute_interleaved!(compute_interleaved4_b1: 4 false COMPUTE_INTERLEAVED4, u8, 1);
compute_interleaved!(compute_interleaved4_b2: 4 false COMPUTE_INTERLEAVED4, u16, 2);
compute_interleaved!(compute_interleaved4_b4: 4 false COMPUTE_INTERLEAVED4, u32, 4);
compute_interleaved!(compute_interleaved_sums4_b1: 4 true COMPUTE_INTERLEAVED_SUMS4, u8, 1);
compute_interleaved!(compute_interleaved_sums4_b2: 4 true COMPUTE_INTERLEAVED_SUMS4, u16, 2);
compute_interleaved!(compute_interleaved_sums4_b4: 4 true COMPUTE_INTERLEAVED_SUMS4, u32, 4);
compute_mirrored!(compute_mirrored2_b1: 2 false COMPUTE_MIRRORED2, u8, 1);
compute_mirrored!(compute_mirrored2_b2: 2 false COMPUTE_MIRRORED2, u16, 2);
compute_mirrored!(compute_mirrored2_b4: 2 false COMPUTE_MIRRORED2, u32, 4);
compute_mirrored!(compute_mirrored3_b1: 3 false COMPUTE_MIRRORED3, u8, 1);
compute_mirrored!(compute_mirrored3_b2: 3 false COMPUTE_MIRRORED3, u16, 2);
compute_mirrored!(compute_mirrored3_b4: 3 false COMPUTE_MIRRORED3, u32, 4);
compute_mirrored!(compute_mirrored4_b1: 4 false COMPUTE_MIRRORED4, u8, 1);
compute_mirrored!(compute_mirrored4_b2: 4 false COMPUTE_MIRRORED4, u16, 2);
compute_mirrored!(compute_mirrored4_b4: 4 false COMPUTE_MIRRORED4, u32, 4);
compute_mirrored!(compute_windows2_b1: 2 true COMPUTE_WINDOWS2, u8, 1);
compute_mirrored!(compute_windows2_b2: 2 true COMPUTE_WINDOWS2, u16, 2);
compute_mirrored!(compute_windows2_b4: 2 true COMPUTE_WINDOWS2, u32, 4);
compute_mirrored!(compute_windows3_b1: 3 true COMPUTE_WINDOWS3, u8, 1);
compute_mirrored!(compute_windows3_b2: 3 true COMPUTE_WINDOWS3, u16, 2);
compute_mirrored!(compute_windows3_b4: 3 true COMPUTE_WINDOWS3, u32, 4);
compute_mirrored!(compute_windows4_b1: 4 true COMPUTE_WINDOWS4, u8, 1);
compute_mirrored!(compute_windows4_b2: 4 true COMPUTE_WINDOWS4, u16, 2);
compute_mirrored!(compute_windows4_b4: 4 true COMPUTE_WINDOWS4, u32, 4);
