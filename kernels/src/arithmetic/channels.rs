//! Numbers that stay in their order, without gaps, each times the factor and plus the summand of its channel.
//!
//! Elements are counted as they lie. Channel `c` has those whose number, divided by how many elements of a channel follow each other, is `c` modulo the channels:
//!
//! ```text
//! channel of element e = ⌊e / inner⌋ mod channels
//! ```
//!
//! So a unit starts in any channel, whatever its shape, and all units but the last are whole.
//!
//! - *Planes.* Where a channel has a unit's elements in a row, or more, a unit has elements of two channels at most: their pairs are loaded for each unit.
//! - *Pixels.* Where channels change faster, units that lie a multiple of `inner · channels` elements apart have elements of like channels. A thread's units do, so it loads the pairs once, and holds them.
//!
//! Pairs are numbers of 32 bits or of 64, as what is computed is.

use super::arithmetic_entry;
use super::column::{PairOfEach, UnitPairs, Units};
use super::memory::{arrived, load_part, put};
use super::operation::HeldPairs;
use super::pair::{for_sizes, Pair};
use super::real::Real;
use crate::element::{Element, B16};
use crate::launch::at_most_registers;
use crate::tensor::axes::{divide, unrolled};
use cuda_std::thread;
use kernel_abi::arithmetic::{ComputeChannels, CHANNEL_THREADS, CHANNEL_UNITS};

/// Units of a thread.
const EACH: usize = CHANNEL_UNITS as usize;

/// The number of this thread's `k`-th unit: with others of as many threads as units are apart between it and the one before.
#[inline(always)]
fn number(first: u32, k: usize, params: &ComputeChannels) -> u32 {
    first + k as u32 * params.apart as u32
}

/// The element behind the last of a unit, as far as it matters: 0 or less of one that there is not.
#[inline(always)]
fn end<P: Pair>(number: u32, params: &ComputeChannels) -> i32 {
    params.elements as i32 - (number * P::UNIT as u32) as i32
}

/// The elements of the source's unit at `at`, of which there are the first `end`.
///
/// # Safety
/// The source has these.
#[inline(always)]
unsafe fn load<P: Pair>(at: u64, end: i32) -> B16 {
    let mut words = [0; 4];
    // SAFETY: the caller's obligations.
    unsafe {
        if end >= P::UNIT as i32 {
            return load_part(at, P::UNIT * P::SRC);
        }
        unrolled! { J in [0 1 2 3 4 5 6 7] of P::UNIT => {
            if (J as i32) < end {
                put(&mut words, J, P::SRC, load_part(at + (J * P::SRC) as u64, P::SRC));
            }
        } }
    }
    B16::from_u32s(words)
}

/// Pairs of 64-bit numbers for each element of a unit, which has two, or four of those integers that are computed in 64 bits.
struct WidePairs([B16; 4]);

impl HeldPairs<f64> for WidePairs {
    #[inline(always)]
    fn of(&self, j: usize) -> [f64; 2] {
        f64::pair(self.0[j])
    }
}

impl UnitPairs<f64> for WidePairs {
    const NONE: Self = WidePairs([B16(0, 0, 0, 0); 4]);

    #[inline(always)]
    fn set(&mut self, j: usize, pair: B16) {
        self.0[j] = pair;
    }
}

/// Where the pair of a channel is, of numbers of `F`.
#[inline(always)]
fn place_of<F>(params: &ComputeChannels, channel: u32) -> u64 {
    params.operation.other + channel as u64 * (2 * size_of::<F>()) as u64
}

/// The pair of a channel.
///
/// # Safety
/// The table has it.
#[inline(always)]
unsafe fn pair_of<F>(params: &ComputeChannels, channel: u32) -> B16 {
    // SAFETY: the caller's obligations.
    unsafe { load_part(place_of::<F>(params, channel), 2 * size_of::<F>()) }
}

/// The channel behind one: the first behind the last.
#[inline(always)]
pub fn behind(channel: u32, channels: u32) -> u32 {
    if channel + 1 == channels {
        0
    } else {
        channel + 1
    }
}

/// The pairs of a unit's elements.
///
/// # Safety
/// The table is readable, and nothing writes it.
#[inline(always)]
unsafe fn pairs_of<P: Pair, F, T: UnitPairs<F>>(number: u32, params: &ComputeChannels) -> T {
    let (inner, channels) = (params.inner as u32, params.channels as u32);
    let (follow, passed) = divide(number * P::UNIT as u32, params.inner);
    let (_, mut channel) = divide(follow, params.channels);
    let mut pairs = T::NONE;
    // SAFETY: channels of the table.
    unsafe {
        if params.are_planes != 0 {
            let (this, next) =
                (pair_of::<F>(params, channel), pair_of::<F>(params, behind(channel, channels)));
            unrolled! { J in [0 1 2 3 4 5 6 7] of P::UNIT => {
                pairs.set(J, if passed + (J as u32) < inner { this } else { next });
            } }
            return pairs;
        }
        if size_of::<F>() == 4 && params.by_twos != 0 {
            unrolled! { J in [0 1 2 3] of P::UNIT / 2 => {
                if J != 0 {
                    channel = behind(channel + 1, channels);
                }
                let B16(x, y, z, w) = load_part(place_of::<F>(params, channel), 16);
                pairs.set(2 * J, B16(x, y, 0, 0));
                pairs.set(2 * J + 1, B16(z, w, 0, 0));
            } }
            return pairs;
        }
        // How many elements of the channel there are yet, and the channel.
        let mut here = [inner - passed, channel];
        unrolled! { J in [0 1 2 3 4 5 6 7] of P::UNIT => {
            if here[0] == 0 {
                here = [inner, behind(here[1], channels)];
            }
            pairs.set(J, pair_of::<F>(params, here[1]));
            here[0] -= 1;
        } }
    }
    pairs
}

/// Computes this thread's units in numbers of `F`.
///
/// # Safety
/// The obligations of the entry points.
#[inline(always)]
unsafe fn compute<P: Pair, F: Real, T: UnitPairs<F>>(src: u64, dst: u64, params: &ComputeChannels) {
    let thread = thread::block_idx_x() * CHANNEL_THREADS + thread::thread_idx_x();
    let (turn, place) = divide(thread, params.apart);
    let first = turn * (params.apart as u32 * CHANNEL_UNITS) + place;
    let at =
        |start: u64, number: u32, bytes: usize| start + number as u64 * (P::UNIT * bytes) as u64;
    // SAFETY: elements of the source that there are.
    let load = |k: usize| unsafe {
        let number = number(first, k, params);
        load::<P>(at(src, number, P::SRC), end::<P>(number, params))
    };
    const { assert!(EACH == 4) };
    let mut held = [load(0), load(1), load(2), load(3)];
    let mut pairs = T::NONE;
    let mut k = 0;
    while k < EACH {
        let number = number(first, k, params);
        let end = end::<P>(number, params);
        if end <= 0 {
            return;
        }
        // SAFETY: pairs of the table, and elements of the destination, which no other thread has.
        unsafe {
            if k == 0 || params.are_planes != 0 {
                pairs = pairs_of::<P, F, T>(number, params);
            }
            let results = P::by_pairs(&params.operation, [arrived(held[0])], &pairs);
            let units = Units { at: at(dst, number, P::DST), first: 0, end };
            units.store::<P, 1>(results);
        }
        held = [held[1], held[2], held[3], B16::ANY];
        k += 1;
    }
}

/// Defines an entry point, which computes in numbers of 32 bits, or of 64 if it is `wide`: of both there are destinations of 4 bytes. One kernel for both would have registers for fewer blocks than that of 32 bits alone.
macro_rules! compute_channels {
    ($name:ident: $element:ty, $bytes:tt narrow) => {
        compute_channels!($name: $element, $bytes narrow, COMPUTE_CHANNELS, f32 PairOfEach);
    };
    ($name:ident: $element:ty, $bytes:tt wide) => {
        compute_channels!($name: $element, $bytes wide, COMPUTE_WIDE_CHANNELS, f64 WidePairs);
    };
    ($name:ident: $element:ty, $bytes:tt $sizes:ident, $kernel:ident, $number:ident $pairs:ident) => {
        #[cfg(feature = "arithmetic_rows")]
        arithmetic_entry! {
            "Computes numbers that stay in their order, each by the factor and summand of its channel.",
            $kernel: ComputeChannels, $name: $element, |src, dst, params| {
                at_most_registers::<64>();
                for_sizes!($bytes $sizes, params, compute(src as u64, dst as u64, &params), [$number, $pairs])
            }
        }
    };
}

compute_channels!(compute_channels_b1: u8, 1 narrow);
compute_channels!(compute_channels_b2: u16, 2 narrow);
compute_channels!(compute_channels_b4: u32, 4 narrow);
compute_channels!(compute_wide_channels_b1: u8, 1 wide);
compute_channels!(compute_wide_channels_b2: u16, 2 wide);
compute_channels!(compute_wide_channels_b4: u32, 4 wide);
compute_channels!(compute_wide_channels_b8: u64, 8 wide);
