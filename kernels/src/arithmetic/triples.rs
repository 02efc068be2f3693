//! Moves that compute, of pixels of three channels, which lie together on one side, and planes of pixels on the other.
//!
//! A thread has as many pixels as are a unit of elements: a unit of each plane, and three units side by side where channels lie together. It loads them,
//! changes their places in registers, and computes all of them at once.
//!
//! Where three units side by side are stored, the lanes of a warp exchange them first, so that neighbouring lanes store neighbouring ones.

use super::arithmetic_entry;
use super::memory::{load_part, load_shared_part, store_part, store_shared_part};
use super::operation::Each;
use super::pair::{for_sizes, Pair};
use crate::element::{Element, B16};
use crate::shared::permute;
use crate::tensor::axes::{divide, steps, unrolled};
use crate::warp::{ballot, broadcast};
use cuda_std::{thread, warp};
use kernel_abi::arithmetic::{ComputeTriples, TRIPLE_THREADS};
use kernel_abi::fast::WARP;
use kernel_abi::tensor::MOST_BLOCK_AXES;

/// The `word`-th word of three units of `words` words each, side by side.
#[inline(always)]
fn word_of(units: &[B16; 3], words: usize, word: usize) -> u32 {
    units[word / words].u32s()[word % words]
}

/// Three units of `N` elements of `BYTES` bytes: the words of which are what `word` says.
#[inline(always)]
fn units<const BYTES: usize, const N: usize>(word: impl Fn(usize, usize) -> u32) -> [B16; 3] {
    let words = N * BYTES / 4;
    let unit = |k: usize| {
        let mut parts = [0u32; 4];
        for w in 0..words {
            parts[w] = word(k, w);
        }
        B16::from_u32s(parts)
    };
    [unit(0), unit(1), unit(2)]
}

/// Four bytes, of which `of` says the word of three, and the byte there, that each comes from.
#[inline(always)]
fn bytes_of_three(words: [u32; 3], of: impl Fn(u32) -> (u32, u32)) -> u32 {
    let (mut of_two, mut of_all) = (0, 0);
    for j in 0..4 {
        let (word, byte) = of(j);
        if word < 2 {
            of_two |= (4 * word + byte) << (4 * j);
            of_all |= j << (4 * j);
        } else {
            of_all |= (4 + byte) << (4 * j);
        }
    }
    permute(permute(words[0], words[1], of_two), words[2], of_all)
}

/// Two halves of words: of each the word, and whether it is the upper half.
#[inline(always)]
fn halves(low: (u32, bool), high: (u32, bool)) -> u32 {
    let (a, b) = (if low.1 { 0x32 } else { 0x10 }, if high.1 { 0x7600 } else { 0x5400 });
    permute(low.0, high.0, a | b)
}

/// Units of planes out of three units of pixels.
#[inline(always)]
fn planes<const BYTES: usize, const N: usize>(pixels: [B16; 3]) -> [B16; 3] {
    let words = N * BYTES / 4;
    let word = |at: usize| word_of(&pixels, words, at);
    units::<BYTES, N>(|channel, w| match BYTES {
        1 => bytes_of_three([word(3 * w), word(3 * w + 1), word(3 * w + 2)], |j| {
            let byte = channel as u32 + 3 * j;
            (byte / 4, byte % 4)
        }),
        2 => {
            let half = |at: usize| (word(at / 2), at % 2 == 1);
            let first = 6 * w + channel;
            halves(half(first), half(first + 3))
        }
        _ => word(3 * w + channel),
    })
}

/// Three units of pixels out of units of planes.
#[inline(always)]
fn pixels<const BYTES: usize, const N: usize>(planes: [B16; 3]) -> [B16; 3] {
    let words = N * BYTES / 4;
    units::<BYTES, N>(|unit, w| {
        // The word's number, of all three.
        let at = unit * words + w;
        match BYTES {
            1 => {
                let parts = [0, 1, 2].map(|channel: usize| planes[channel].u32s()[at / 3]);
                bytes_of_three(parts, |j| {
                    let element = (4 * (at % 3)) as u32 + j;
                    (element % 3, element / 3)
                })
            }
            2 => {
                let half = |element: usize| {
                    let pixel = element / 3;
                    (planes[element % 3].u32s()[pixel / 2], pixel % 2 == 1)
                };
                halves(half(2 * at), half(2 * at + 1))
            }
            _ => planes[at % 3].u32s()[at / 3],
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
    fn of_thread([src, dst]: [u64; 2], bytes: [usize; 2], params: &ComputeTriples) -> Self {
        let number = thread::block_idx_x() * TRIPLE_THREADS + thread::thread_idx_x();
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

/// Computes the pixels of this block. `base` is the address of three vectors of shared memory for each thread.
///
/// # Safety
/// The obligations of the entry points.
#[inline(always)]
unsafe fn compute_triples<P: Pair>(src: u64, dst: u64, params: &ComputeTriples, base: u32) {
    let place = Place::of_thread([src, dst], [P::SRC, P::DST], params);
    let (src_bytes, dst_bytes) = (P::UNIT * P::SRC, P::UNIT * P::DST);
    let from_planes = params.src_plane != 0;
    // From one of the three units to the next.
    let src_step = if from_planes { params.src_plane * P::SRC as u64 } else { src_bytes as u64 };
    let mut held = [B16::ANY; 3];
    if place.is_there {
        unrolled! { K in [0 1 2] of 3 => {
            // SAFETY: a unit of the source.
            held[K] = unsafe { load_part(place.src.wrapping_add(K as u64 * src_step), src_bytes) };
        } }
    }
    if !from_planes {
        held = planes_of::<P>(held);
    }
    let of = |channel: u32| Each { channels: [channel; 8], are_one: true };
    let results =
        P::compute::<true, _>(&params.operation, held, [B16::ANY; 3], &[of(0), of(1), of(2)]);
    // SAFETY: units of the destination, which no other thread has; the block's own memory.
    unsafe {
        if from_planes {
            store_exchanged(place, pixels_of::<P>(results), dst_bytes, base);
        } else if place.is_there {
            let step = params.dst_plane * P::DST as u64;
            unrolled! { K in [0 1 2] of 3 => {
                store_part(place.dst.wrapping_add(K as u64 * step), dst_bytes, results[K]);
            } }
        }
    }
}

/// [`planes`] of a source's elements.
#[inline(always)]
fn planes_of<P: Pair>(units: [B16; 3]) -> [B16; 3] {
    match (P::SRC, P::UNIT) {
        (1, 8) => planes::<1, 8>(units),
        (1, _) => planes::<1, 4>(units),
        (2, 8) => planes::<2, 8>(units),
        (2, _) => planes::<2, 4>(units),
        _ => planes::<4, 4>(units),
    }
}

/// [`pixels`] of a destination's elements.
#[inline(always)]
fn pixels_of<P: Pair>(units: [B16; 3]) -> [B16; 3] {
    match (P::DST, P::UNIT) {
        (1, 8) => pixels::<1, 8>(units),
        (1, _) => pixels::<1, 4>(units),
        (2, 8) => pixels::<2, 8>(units),
        (2, _) => pixels::<2, 4>(units),
        _ => pixels::<4, 4>(units),
    }
}

/// Stores three units of `bytes` bytes side by side, those of a warp that are all side by side by neighbouring lanes.
///
/// # Safety
/// All lanes of the warp call it together. The units are the destination's, where there are such, and no other thread has them; `base` is the address of
/// three vectors of shared memory for each thread.
#[inline(always)]
unsafe fn store_exchanged(place: Place, units: [B16; 3], bytes: usize, base: u32) {
    let t = thread::thread_idx_x();
    let lane = t % WARP;
    // SAFETY: the caller's obligations.
    unsafe {
        let first =
            broadcast(place.dst as u32) as u64 | (broadcast((place.dst >> 32) as u32) as u64) << 32;
        let is_next = place.dst == first.wrapping_add((lane * 3) as u64 * bytes as u64);
        let all = ballot(place.is_there && is_next) == u32::MAX;
        let of_warp = base + (t - lane) * 3 * bytes as u32;
        unrolled! { K in [0 1 2] of 3 => {
            store_shared_part(of_warp + (3 * lane + K as u32) * bytes as u32, bytes, units[K]);
        } }
        warp::sync_warp(u32::MAX);
        unrolled! { K in [0 1 2] of 3 => {
            let number = K as u32 * WARP + lane;
            if all {
                let unit = load_shared_part(of_warp + number * bytes as u32, bytes);
                store_part(first.wrapping_add(number as u64 * bytes as u64), bytes, unit);
            } else if place.is_there {
                store_part(place.dst.wrapping_add((K * bytes) as u64), bytes, units[K]);
            }
        } }
    }
}

/// Defines an entry point.
macro_rules! compute_triples {
    ($name:ident: $element:ty, $bytes:tt) => {
        arithmetic_entry! {
            "Computes pixels of three channels.",
            COMPUTE_TRIPLES: ComputeTriples, $name: $element, |src, dst, params| {
                let memory = cuda_std::shared_array![B16; 3 * TRIPLE_THREADS as usize];
                let base = crate::tile::shared_address(memory.cast());
                for_sizes!($bytes narrow, params, compute_triples(src as u64, dst as u64, &params, base))
            }
        }
    };
}

compute_triples!(compute_triples_b1: u8, 1);
compute_triples!(compute_triples_b2: u16, 2);
compute_triples!(compute_triples_b4: u32, 4);
