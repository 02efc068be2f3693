//! Moves that compute, of pixels of two, three or four channels, which lie together on one side, and planes of pixels on the other.
//!
//! A thread has as many pixels as are a unit of elements: a unit of each plane, and as many units side by side where channels lie together. It loads them,
//! changes their places in registers, and computes all of them at once. So it does with a second operand, which is laid out like the destination.
//!
//! Where units side by side are stored, the lanes of a warp exchange them first, so that neighbouring lanes store neighbouring ones.
//!
//! # Order
//! The second operand may be the destination. Then a lane may store over what another lane has loaded. That load comes before the other lane's `bar.warp.sync` in program order, and the store behind this lane's; the
//! barrier synchronizes both, so the load precedes the store in causality order (PTX ISA, memory consistency model), and does not see it. By the same barrier a lane's units in shared memory are seen by those that
//! load them. Where lanes exchange nothing each loads and stores its own units.

use super::arithmetic_entry;
use super::memory::{load_part, load_shared_part, store_part, store_shared_part};
use super::operation::{Each, NoChannels};
use super::pair::{for_sizes, Pair};
use crate::element::{Element, B16};
use crate::shared::permute;
use crate::tensor::axes::{divide, steps, unrolled};
use crate::warp::{ballot, broadcast};
use cuda_std::{thread, warp};
use kernel_abi::arithmetic::{ComputeInterleaved, INTERLEAVED_THREADS};
use kernel_abi::fast::WARP;
use kernel_abi::tensor::MOST_BLOCK_AXES;

/// The `word`-th word of units of `words` words each, side by side.
#[inline(always)]
fn word_of<const C: usize>(units: &[B16; C], words: usize, word: usize) -> u32 {
    units[word / words].u32s()[word % words]
}

/// `C` units of `N` elements of `BYTES` bytes: the words of which are what `word` says.
#[inline(always)]
fn units<const C: usize, const BYTES: usize, const N: usize>(
    word: impl Fn(usize, usize) -> u32,
) -> [B16; C] {
    let mut units = [B16::ANY; C];
    unrolled! { K in [0 1 2 3] of C => {
        let mut parts = [0u32; 4];
        unrolled! { W in [0 1 2 3] of N * BYTES / 4 => {
            parts[W] = word(K, W);
        } }
        units[K] = B16::from_u32s(parts);
    } }
    units
}

/// Four bytes, of which `of` says the word of these, and the byte there, that each comes from.
#[inline(always)]
fn bytes_of<const C: usize>(words: [u32; C], of: impl Fn(u32) -> (u32, u32)) -> u32 {
    let mut bytes = words[0];
    unrolled! { NUMBER in [0 1 2 3] of C => {
        if NUMBER != 0 {
            // Of the words before, the bytes are in their places, but for the first one's.
            let mut selector = 0;
            for j in 0..4 {
                let (word, byte) = of(j);
                let before = if NUMBER == 1 { byte } else { j };
                let from = if word == NUMBER as u32 { 4 + byte } else { before };
                selector |= from << (4 * j);
            }
            bytes = permute(bytes, words[NUMBER], selector);
        }
    } }
    bytes
}

/// Two halves of words: of each the word, and whether it is the upper half.
#[inline(always)]
fn halves(low: (u32, bool), high: (u32, bool)) -> u32 {
    let (a, b) = (if low.1 { 0x32 } else { 0x10 }, if high.1 { 0x7600 } else { 0x5400 });
    permute(low.0, high.0, a | b)
}

/// Units of planes out of as many units of pixels.
#[inline(always)]
fn planes<const C: usize, const BYTES: usize, const N: usize>(pixels: [B16; C]) -> [B16; C] {
    let word = |at: usize| word_of(&pixels, N * BYTES / 4, at);
    units::<C, BYTES, N>(|channel, w| match BYTES {
        1 => bytes_of::<C>(core::array::from_fn(|k| word(C * w + k)), |j| {
            let byte = channel as u32 + C as u32 * j;
            (byte / 4, byte % 4)
        }),
        2 => {
            let half = |at: usize| (word(at / 2), at % 2 == 1);
            let first = 2 * C * w + channel;
            halves(half(first), half(first + C))
        }
        _ => word(C * w + channel),
    })
}

/// Units of pixels out of as many units of planes.
#[inline(always)]
fn pixels<const C: usize, const BYTES: usize, const N: usize>(planes: [B16; C]) -> [B16; C] {
    units::<C, BYTES, N>(|unit, w| {
        // The word's number, of all units.
        let at = unit * (N * BYTES / 4) + w;
        match BYTES {
            1 => bytes_of::<C>(core::array::from_fn(|c| planes[c].u32s()[at / C]), |j| {
                let element = (4 * (at % C)) as u32 + j;
                (element % C as u32, element / C as u32)
            }),
            2 => {
                let half = |element: usize| {
                    let pixel = element / C;
                    (planes[element % C].u32s()[pixel / 2], pixel % 2 == 1)
                };
                halves(half(2 * at), half(2 * at + 1))
            }
            _ => planes[at % C].u32s()[at / C],
        }
    })
}

/// Where a thread's pixels are.
#[derive(Clone, Copy)]
struct Place {
    src: u64,
    dst: u64,
    is_there: bool,
}

impl Place {
    /// Those of this thread.
    #[inline(always)]
    fn of_thread([src, dst]: [u64; 2], bytes: [usize; 2], params: &ComputeInterleaved) -> Self {
        let number = thread::block_idx_x() * INTERLEAVED_THREADS + thread::thread_idx_x();
        let (mut rest, mut at) = (number, [0u64; 2]);
        unrolled! { AXIS in [0 1 2 3 4 5 6 7 8 9] of params.count => {
            const { assert!(MOST_BLOCK_AXES == 10) };
            let axis = &params.axes[AXIS];
            // There is nothing behind the last axis: what is left is its index.
            let is_last = AXIS as u32 + 1 == params.count as u32;
            let (quotient, index) = if is_last { (0, rest) } else { divide(rest, axis.divisor) };
            at[0] = at[0].wrapping_add(steps(index, axis.src));
            at[1] = at[1].wrapping_add(steps(index, axis.dst));
            rest = quotient;
        } }
        let _ = rest;
        let behind = |side: usize| at[side].wrapping_mul(bytes[side] as u64);
        Place {
            src: src.wrapping_add(behind(0)),
            dst: dst.wrapping_add(behind(1)),
            is_there: number < params.units as u32,
        }
    }
}

/// Computes the pixels of this block, and `ADDS` a second operand. `base` is the address of a vector of shared memory for each thread and channel.
///
/// # Safety
/// The obligations of the entry points.
#[inline(always)]
unsafe fn compute_interleaved<P: Pair, const C: usize, const ADDS: bool>(
    src: u64,
    dst: u64,
    params: &ComputeInterleaved,
    base: u32,
) {
    let place = Place::of_thread([src, dst], [P::SRC, P::DST], params);
    let (src_bytes, dst_bytes) = (P::UNIT * P::SRC, P::UNIT * P::DST);
    let from_planes = params.src_plane != 0;
    // From one of the units to the next.
    let src_step = if from_planes { params.src_plane * P::SRC as u64 } else { src_bytes as u64 };
    let mut held = [B16::ANY; C];
    if place.is_there {
        unrolled! { K in [0 1 2 3] of C => {
            // SAFETY: a unit of the source.
            held[K] = unsafe { load_part(place.src.wrapping_add(K as u64 * src_step), src_bytes) };
        } }
    }
    let dst_step = if from_planes { dst_bytes as u64 } else { params.dst_plane * P::DST as u64 };
    let mut others = [B16::ANY; C];
    if ADDS && place.is_there {
        let at = place.dst.wrapping_add(params.operation.other.wrapping_sub(dst));
        unrolled! { K in [0 1 2 3] of C => {
            // SAFETY: a unit of the second operand.
            others[K] = unsafe { load_part(at.wrapping_add(K as u64 * dst_step), dst_bytes) };
        } }
    }
    if !from_planes {
        held = planes_of::<C>(P::SRC, P::UNIT, held);
    } else if ADDS {
        others = planes_of::<C>(P::DST, P::UNIT, others);
    }
    let results = if ADDS {
        P::compute::<true, C>(&params.operation, held, others, &[NoChannels; C])
    } else {
        // (Told that there is no second operand, the assembler takes half as many registers more.)
        let of = |channel: usize| Each { channels: [channel as u32; 8], are_one: true };
        let channels = core::array::from_fn(of);
        P::compute::<true, C>(&params.operation, held, others, &channels)
    };
    // SAFETY: units of the destination, which no other thread has; the block's own memory.
    unsafe {
        if from_planes {
            store_exchanged(place, pixels_of::<C>(P::DST, P::UNIT, results), dst_bytes, base);
        } else if place.is_there {
            unrolled! { K in [0 1 2 3] of C => {
                store_part(place.dst.wrapping_add(K as u64 * dst_step), dst_bytes, results[K]);
            } }
        }
    }
}

/// [`planes`] of elements of `bytes` bytes, of which `unit` are a unit.
#[inline(always)]
fn planes_of<const C: usize>(bytes: usize, unit: usize, units: [B16; C]) -> [B16; C] {
    match (bytes, unit) {
        (1, 8) => planes::<C, 1, 8>(units),
        (1, _) => planes::<C, 1, 4>(units),
        (2, 8) => planes::<C, 2, 8>(units),
        (2, _) => planes::<C, 2, 4>(units),
        _ => planes::<C, 4, 4>(units),
    }
}

/// [`pixels`] of elements of `bytes` bytes, of which `unit` are a unit.
#[inline(always)]
fn pixels_of<const C: usize>(bytes: usize, unit: usize, units: [B16; C]) -> [B16; C] {
    match (bytes, unit) {
        (1, 8) => pixels::<C, 1, 8>(units),
        (1, _) => pixels::<C, 1, 4>(units),
        (2, 8) => pixels::<C, 2, 8>(units),
        (2, _) => pixels::<C, 2, 4>(units),
        _ => pixels::<C, 4, 4>(units),
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

/// Stores units of `bytes` bytes side by side, those of a warp that are all side by side by neighbouring lanes.
///
/// # Safety
/// All lanes of the warp call it together. The units are the destination's, where there are such, and no other thread has them; `base` is the address of
/// a vector of shared memory for each thread and channel.
#[inline(always)]
unsafe fn store_exchanged<const C: usize>(place: Place, units: [B16; C], bytes: usize, base: u32) {
    let t = thread::thread_idx_x();
    let (lane, channels) = (t % WARP, C as u32);
    // SAFETY: the caller's obligations.
    unsafe {
        let first =
            broadcast(place.dst as u32) as u64 | (broadcast((place.dst >> 32) as u32) as u64) << 32;
        let is_next = place.dst == first.wrapping_add((lane * channels) as u64 * bytes as u64);
        let all = ballot(place.is_there && is_next) == u32::MAX;
        let of_warp = base + (t - lane) * channels * bytes as u32;
        let kept = |number: u32| of_warp + kept(number, channels, bytes as u32) * bytes as u32;
        unrolled! { K in [0 1 2 3] of C => {
            store_shared_part(kept(channels * lane + K as u32), bytes, units[K]);
        } }
        warp::sync_warp(u32::MAX);
        unrolled! { K in [0 1 2 3] of C => {
            let number = K as u32 * WARP + lane;
            if all {
                let unit = load_shared_part(kept(number), bytes);
                store_part(first.wrapping_add(number as u64 * bytes as u64), bytes, unit);
            } else if place.is_there {
                store_part(place.dst.wrapping_add((K * bytes) as u64), bytes, units[K]);
            }
        } }
    }
}

/// Defines an entry point for pixels of `$channels` channels, with a second operand if it `$adds` one.
macro_rules! compute_interleaved {
    ($name:ident: $channels:literal $adds:literal $entry:ident, $element:ty, $bytes:tt) => {
        arithmetic_entry! {
            "Computes pixels of few channels.",
            $entry: ComputeInterleaved, $name: $element, |src, dst, params| {
                let memory = cuda_std::shared_array![B16; $channels * INTERLEAVED_THREADS as usize];
                let base = crate::tile::shared_address(memory.cast());
                for_sizes!($bytes narrow, params, compute_interleaved(src as u64, dst as u64, &params, base), [$channels, $adds])
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
