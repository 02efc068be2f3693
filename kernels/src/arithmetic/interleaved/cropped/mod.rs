//! Windows out of images of two, three or four channels, put together without gaps: pixels that become planes, or planes that become pixels, wherever rows of the source start.
//!
//! The rows of a window follow each other in the destination, so its pixels are one line there, of which a thread has as many as are a unit of elements: a whole unit of each plane, or as many units side by side. A division says where they are in the source:
//!
//! ```text
//! row, column = pixel / columns
//! address = start of the window + row · (from row to row) + column · (from pixel to pixel)
//! ```
//!
//! They start anywhere there: the units of memory that they lie in are loaded, one more than they have where channels lie together, two for each plane, and slid. If they are the end of one row and the start of the next, that is loaded likewise, and put behind. So rows
//! have no ends that need anything of their own; lines have, two each.
//!
//! Planes start anywhere in the destination, each at its own distance from a unit. So what a lane has of a plane is slid once more, by its own elements and the next lane's: the last lane of a warp stores nothing. Where channels come to lie together, each lane's first
//! pixel is one that a unit starts with.
//!
//! A warp has some such groups of pixels one after the other, so that what it finds out about its line serves all of them.

mod source;
mod target;

use self::source::{Group, Source};
use self::target::{lanes, Target};
use super::super::arithmetic_entry;
use super::super::memory::load_part;
use super::super::operation::{pair_of, HeldPairs};
use super::super::pair::{for_sizes, Pair};
use super::super::real::Real;
use super::super::row_pairs::PAIR;
use super::registers::planes_of;
use crate::element::B16;
use crate::launch::{is_hopper, never_more_registers};
use crate::opaque::{not_unrolled, thread_again};
use crate::tensor::axes::{divide, steps, unrolled};
use core::marker::PhantomData;
use cuda_std::thread;
use cuda_std::warp::lane_id;
use kernel_abi::arithmetic::{flags, ComputeCropped, Operation, CROPPED_THREADS, MOST_LINE_AXES};
use kernel_abi::fast::{VECTOR, WARP};

/// A window: where its first pixel is in both memories.
#[derive(Clone, Copy)]
struct Window {
    src: u64,
    dst: u64,
    /// Which of its groups of pixels the warp has first.
    group: u32,
}

impl Window {
    /// That of this warp, if there is one.
    #[inline(always)]
    fn of_warp<P: Pair>(src: u64, dst: u64, params: &ComputeCropped) -> Option<Self> {
        const { assert!(MOST_LINE_AXES == 4) };
        let number = (thread::block_idx_x() * CROPPED_THREADS + thread::thread_idx_x()) / WARP;
        let (mut rest, part) = divide(number, params.parts);
        let mut at = [0u64; 2];
        unrolled! { AXIS in [0 1 2 3] of params.count => {
            let axis = &params.axes[AXIS];
            let (quotient, index) = divide(rest, axis.divisor);
            at[0] = at[0].wrapping_add(steps(index, axis.src));
            at[1] = at[1].wrapping_add(steps(index, axis.dst));
            rest = quotient;
        } }
        (rest == 0).then(|| Window {
            src: src.wrapping_add(at[0].wrapping_mul(P::SRC as u64)),
            dst: dst.wrapping_add(at[1].wrapping_mul(P::DST as u64)),
            group: part * params.groups as u32,
        })
    }
}

/// A factor and a summand of each channel, in registers, for units that are one channel's each.
struct PairOfUnits<P, const C: usize>([B16; C], PhantomData<P>);

impl<P: Pair, const C: usize> HeldPairs for PairOfUnits<P, C> {
    #[inline(always)]
    fn of(&self, j: usize) -> [f32; 2] {
        f32::pair(self.0[j / P::UNIT])
    }
}

/// The pairs of the channels; where one factor serves all, it and what changes nothing, which is -0.
///
/// # Safety
/// The table is readable, and nothing writes it.
#[inline(always)]
unsafe fn pairs_of<P: Pair, const C: usize>(operation: &Operation) -> PairOfUnits<P, C> {
    let alone = B16(f32::factor(operation.alpha).to_bits(), (-0f32).to_bits(), 0, 0);
    let mut pairs = PairOfUnits([alone; C], PhantomData);
    if operation.flags & flags::CHANNELS != 0 {
        unrolled! { K in [0 1 2 3] of C => {
            let at = pair_of(K as u32, operation.other, PAIR as usize);
            // SAFETY: the caller's obligation.
            pairs.0[K] = unsafe { load_part(at, PAIR as usize) };
        } }
    }
    pairs
}

/// The results for a lane's pixels, in units of planes, as the target has them. What is narrower is slid, elements or results.
///
/// # Safety
/// All lanes of a warp come here.
#[inline(always)]
unsafe fn computed<P: Pair, const C: usize, const TO_PIXELS: bool>(
    operation: &Operation,
    mut held: [B16; C],
    pairs: &PairOfUnits<P, C>,
    target: &Target<C>,
) -> [B16; C] {
    if !TO_PIXELS {
        held = planes_of::<C>(P::SRC, P::UNIT, held);
    }
    if !TO_PIXELS && P::SRC <= P::DST {
        // SAFETY: the caller's obligation.
        held = unsafe { target.slid::<P>(held, P::SRC) };
    }
    let mut results = P::by_pairs::<_, C>(operation, held, pairs);
    if !TO_PIXELS && P::SRC > P::DST {
        // SAFETY: the caller's obligation.
        results = unsafe { target.slid::<P>(results, P::DST) };
    }
    results
}

/// Computes the pixels of a warp: planes that become pixels, or pixels that become planes. `base` is the address of a vector of shared memory for each thread and channel.
///
/// # Safety
/// The obligations of the entry points; all lanes of a warp come here.
#[inline(always)]
unsafe fn compute<P: Pair, const C: usize, const TO_PIXELS: bool>(
    src: u64,
    dst: u64,
    params: &ComputeCropped,
    base: u32,
) {
    let Some(window) = Window::of_warp::<P>(src, dst, params) else { return };
    let (unit, pixels) = (P::UNIT as i32, params.pixels as i32);
    let of_group = lanes::<TO_PIXELS>() as i32 * unit;
    let target = Target::<C>::of::<P, TO_PIXELS>(window.dst, params);
    let mut first = window.group as i32 * of_group + target.first::<P, TO_PIXELS>();
    // SAFETY: the caller's obligations.
    let pairs = unsafe { pairs_of::<P, C>(&params.operation) };
    let source = Source { start: window.src, params };
    let is_inside = |first: i32, groups: i32| {
        let last = (first + groups * of_group + unit).min(pixels - 1);
        source.is_inside::<P, C, TO_PIXELS>(src, [first.min(last), last])
    };
    let are_inside = is_inside(first, params.groups as i32);
    let is_readable = |first: i32| are_inside || is_inside(first, 1);
    // SAFETY: the caller's obligations.
    let begin =
        |first: i32, inside: bool| unsafe { source.begin::<P, C, TO_PIXELS>(first, inside) };
    // The next group is loaded while one is computed, if it takes few registers. (Three channels of bytes that stay bytes would take one too many.)
    let is_ahead = P::UNIT * P::SRC * C < 2 * VECTOR as usize && !(C == 3 && P::DST == 1);
    let (mut groups, mut inside) = (params.groups as u32, is_readable(first));
    let mut group = Group::NONE;
    if is_ahead {
        group = begin(first, inside);
    }
    loop {
        not_unrolled();
        if !is_ahead {
            group = begin(first, inside);
        }
        first += of_group;
        groups -= 1;
        let goes_on = groups > 0 && first < pixels;
        let next_inside = goes_on && is_readable(first);
        let mut next = Group::NONE;
        if is_ahead {
            next = begin(first, next_inside);
        }
        let pixel = group.pixel;
        // Found anew where it is needed, so that it does not wait in a register.
        let slots = || base + thread_again() / WARP * WARP * C as u32 * VECTOR;
        // SAFETY: the caller's obligations; where the group is inside so is what is around its pixels. No other thread has its elements in the destination.
        unsafe {
            let held = if inside {
                source.pixels::<P, C, TO_PIXELS>(group)
            } else {
                let of_lane = slots() + lane_id() * C as u32 * VECTOR;
                source.by_elements::<P, C, TO_PIXELS>(pixel, of_lane)
            };
            let results = computed::<P, C, TO_PIXELS>(&params.operation, held, &pairs, &target);
            target.store::<P, TO_PIXELS>(pixel, results, slots);
        }
        if !goes_on {
            break;
        }
        (inside, group) = (next_inside, next);
    }
}

/// Computes planes that become pixels, or pixels that become planes.
///
/// # Safety
/// The obligations of the entry points; all lanes of a warp come here.
#[inline(always)]
unsafe fn compute_cropped<P: Pair, const C: usize>(
    src: u64,
    dst: u64,
    params: &ComputeCropped,
    base: u32,
) {
    // SAFETY: the caller's obligations.
    unsafe {
        if params.src_plane != 0 {
            compute::<P, C, true>(src, dst, params, base)
        } else {
            compute::<P, C, false>(src, dst, params, base)
        }
    }
}

/// Registers that a thread has where the code is built for compute capability 9.0.
const fn most_registers(channels: usize, bytes: usize) -> u32 {
    match (channels, bytes) {
        (2, 1 | 4) => 64,
        (2, _) | (3, 1) => 72,
        (4, _) => 96,
        _ => 80,
    }
}

/// Registers that a thread has where the code is built for other chips than those of compute capability 9.0: that code has no instructions for two bytes at a time.
const fn most_elsewhere(channels: usize, bytes: usize) -> u32 {
    match (channels, bytes) {
        (2, 1) => 80,
        (3, 1) => 96,
        _ => most_registers(channels, bytes),
    }
}

/// Defines an entry point for pixels of `$channels` channels.
macro_rules! compute_cropped {
    ($name:ident: $channels:literal $entry:ident, $element:ty, $bytes:tt) => {
        #[cfg(feature = "arithmetic_pixels")]
        arithmetic_entry! {
            "Computes windows of pixels of few channels.",
            $entry: ComputeCropped, $name: $element, |src, dst, params| {
                if is_hopper() {
                    never_more_registers::<{ most_registers($channels, $bytes) }>();
                } else {
                    never_more_registers::<{ most_elsewhere($channels, $bytes) }>();
                }
                let memory = cuda_std::shared_array![B16; $channels * CROPPED_THREADS as usize];
                let base = crate::tile::shared_address(memory.cast());
                for_sizes!($bytes narrow, params, compute_cropped(src as u64, dst as u64, &params, base), [$channels])
            }
        }
    };
}

compute_cropped!(compute_cropped2_b1: 2 COMPUTE_CROPPED2, u8, 1);
compute_cropped!(compute_cropped2_b2: 2 COMPUTE_CROPPED2, u16, 2);
compute_cropped!(compute_cropped2_b4: 2 COMPUTE_CROPPED2, u32, 4);
compute_cropped!(compute_cropped3_b1: 3 COMPUTE_CROPPED3, u8, 1);
compute_cropped!(compute_cropped3_b2: 3 COMPUTE_CROPPED3, u16, 2);
compute_cropped!(compute_cropped3_b4: 3 COMPUTE_CROPPED3, u32, 4);
compute_cropped!(compute_cropped4_b1: 4 COMPUTE_CROPPED4, u8, 1);
compute_cropped!(compute_cropped4_b2: 4 COMPUTE_CROPPED4, u16, 2);
