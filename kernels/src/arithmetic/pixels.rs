//! Moves that compute, of pixels of few channels: channels lie together in the source, and planes of pixels in the destination, or the other way round, or
//! channels on both sides.
//!
//! A block takes some pixels. It loads what lies together of them, one stretch or one of each channel, by vectors into shared memory, as it lies. A thread gathers
//! the elements of a unit of the destination from there, computes it, and stores it.
//!
//! A stretch may start anywhere: it is kept as far behind a vector's start as it is in the source.

use super::arithmetic_entry;
use super::memory::{get, load_shared_part, put, store_part};
use super::operation::Each;
use super::pair::{for_sizes, Pair};
use crate::element::{Element, B16};
use crate::global::load_vector;
use crate::launch::never_more_registers;
use crate::tensor::axes::{divide, steps, unrolled};
use crate::tensor::vector::Word;
use cuda_std::thread;
use kernel_abi::arithmetic::{ComputePixels, PIXEL_THREADS};
use kernel_abi::fast::VECTOR;
use kernel_abi::tensor::MOST_BLOCK_AXES;

/// Vectors of a thread that are in flight together.
const LOADS: usize = 4;

/// A block's part: where it starts, and how many pixels it has.
#[derive(Clone, Copy)]
struct Part {
    /// Elements of the source before it, and of the destination.
    src: u64,
    dst: u64,
    pixels: u32,
}

impl Part {
    /// That of this block.
    #[inline(always)]
    fn of_block(params: &ComputePixels) -> Self {
        let mut part = Part { src: 0, dst: 0, pixels: 0 };
        let mut rest = thread::block_idx_x();
        unrolled! { AXIS in [0 1 2 3 4 5 6 7 8 9] of params.count => {
            const { assert!(MOST_BLOCK_AXES == 10) };
            let axis = &params.blocks[AXIS];
            let (quotient, index) = divide(rest, axis.divisor);
            part.src = part.src.wrapping_add(steps(index, axis.src));
            part.dst = part.dst.wrapping_add(steps(index, axis.dst));
            if AXIS == 0 {
                let (all, per) = (params.pixels as u32, params.per as u32);
                part.pixels = (all - index * per).min(per);
            }
            rest = quotient;
        } }
        let _ = rest;
        part
    }
}

/// The stretches of a part in shared memory.
#[derive(Clone, Copy)]
struct Held {
    base: u32,
    /// Bytes from one stretch's first vector to the next one's.
    pitch: u32,
    /// The address of the first stretch, modulo a vector, and how much further each next one starts.
    address: u32,
    plane: u32,
    /// Bytes from one pixel to the next.
    pixel: u32,
    /// Bytes from one channel to the next where they lie together, else 0.
    channel: u32,
}

impl Held {
    /// Where an element is kept.
    #[inline(always)]
    fn address(&self, pixel: u32, channel: u32) -> u32 {
        let stretch = if self.channel == 0 { channel } else { 0 };
        let past = (self.address + stretch * self.plane) % VECTOR;
        self.base + stretch * self.pitch + past + pixel * self.pixel + channel * self.channel
    }
}

/// Loads the pixels of this block.
///
/// # Safety
/// The obligations of the entry points.
#[inline(always)]
unsafe fn load_pixels<E: Word>(src: *const E, params: &ComputePixels) -> (Held, Part) {
    let part = Part::of_block(params);
    let memory = cuda_std::shared::dynamic_shared_mem::<u8>();
    let size = size_of::<E>() as u32;
    let first = (src as u64).wrapping_add(part.src.wrapping_mul(size as u64));
    let channels = params.channels as u32;
    let is_planar = params.src_plane != 0;
    let held = Held {
        // SAFETY: the block's own memory.
        base: unsafe { crate::tile::shared_address(memory) },
        pitch: params.src_vectors as u32 * VECTOR,
        address: first as u32 % VECTOR,
        plane: params.src_plane as u32 * size,
        pixel: if is_planar { size } else { channels * size },
        channel: if is_planar { 0 } else { size },
    };
    // SAFETY: the caller's obligations.
    unsafe { load::<E>(first, src as u64, params, part, held, channels) };
    thread::sync_threads();
    (held, part)
}

/// The vector at `aligned` of which only the elements between `start` and `end` may be loaded.
///
/// # Safety
/// These are readable.
#[inline(always)]
unsafe fn gathered<E: Word>(aligned: u64, start: u64, end: u64) -> B16 {
    E::vector(|j| {
        let at = aligned + (j * size_of::<E>() as u32) as u64;
        if at >= start && at < end {
            // SAFETY: an element between them.
            unsafe { E::load(at as *const E) }
        } else {
            E::ANY
        }
    })
}

/// Loads the stretches of a part.
///
/// # Safety
/// Those of [`load_pixels`]; the shared memory is the block's.
#[inline(always)]
unsafe fn load<E: Word>(
    first: u64,
    src: u64,
    params: &ComputePixels,
    part: Part,
    held: Held,
    channels: u32,
) {
    let size = size_of::<E>() as u32;
    let is_planar = params.src_plane != 0;
    let (stretches, elements) =
        if is_planar { (channels, part.pixels) } else { (1, part.pixels * channels) };
    let lowest = src.wrapping_add(params.lowest);
    let all = stretches * params.src_vectors as u32;
    let mut base = thread::thread_idx_x();
    while base < all {
        let mut loaded = [B16::ANY; LOADS];
        unrolled! { K in [0 1 2 3] of LOADS => {
            let number = base + K as u32 * PIXEL_THREADS;
            let (stretch, vector) = divide(number, params.src_vectors);
            let start = first.wrapping_add(steps(stretch, params.src_plane.wrapping_mul(size as u64)));
            let end = start + (elements * size) as u64;
            let at = start / VECTOR as u64 * VECTOR as u64 + (vector * VECTOR) as u64;
            if number < all && at < end {
                // SAFETY: a vector of what lies between the source's elements, or elements.
                loaded[K] = unsafe {
                    if at >= lowest && at + VECTOR as u64 <= lowest + params.reach {
                        load_vector(at)
                    } else {
                        gathered::<E>(at, start, end)
                    }
                };
            }
        } }
        unrolled! { K in [0 1 2 3] of LOADS => {
            let number = base + K as u32 * PIXEL_THREADS;
            if number < all {
                // SAFETY: a place of the block's, which no other thread stores to.
                unsafe { loaded[K].store_shared(held.base + number * VECTOR) };
            }
        } }
        base += LOADS as u32 * PIXEL_THREADS;
    }
}

/// Computes what is held, and stores it.
///
/// # Safety
/// Those of [`load_pixels`]; a barrier separates this from what loaded it.
#[inline(always)]
unsafe fn store<P: Pair>(dst: u64, params: &ComputePixels, (held, part): (Held, Part)) {
    let operation = &params.operation;
    let channels = params.channels as u32;
    let is_planar = params.dst_plane != 0;
    let (stretches, elements) =
        if is_planar { (channels, part.pixels) } else { (1, part.pixels * channels) };
    let all = stretches * params.dst_units as u32;
    let mut number = thread::thread_idx_x();
    while number < all {
        let (stretch, unit) = divide(number, params.dst_units);
        let start = part.dst.wrapping_add(steps(stretch, params.dst_plane)) * P::DST as u64;
        let start = dst.wrapping_add(start);
        // Units start where the destination's do; the first and the last have elements in part.
        let before =
            if params.whole != 0 { 0 } else { (start as u32 / P::DST as u32) % P::UNIT as u32 };
        let first = (unit * P::UNIT as u32) as i32 - before as i32;
        let has = |j: usize| {
            let element = first + j as i32;
            element >= 0 && element < elements as i32
        };
        let from = first.max(0) as u32;
        let (mut pixel, mut channel) =
            if is_planar { (from, stretch) } else { divide(from, params.channels) };
        let (mut words, mut of) = ([0u32; 4], [if is_planar { stretch } else { 0 }; 8]);
        // SAFETY: elements of the part, whose places no other thread has, and a whole unit where there is one.
        unsafe {
            unrolled! { J in [0 1 2 3 4 5 6 7] of P::UNIT => {
                if has(J) {
                    let element = load_shared_part(held.address(pixel, channel), P::SRC);
                    put(&mut words, J, P::SRC, element);
                    of[J] = channel;
                    if is_planar {
                        pixel += 1;
                    } else {
                        channel += 1;
                        let is_next = channel == channels;
                        pixel += is_next as u32;
                        channel = if is_next { 0 } else { channel };
                    }
                }
            } }
            let _ = (pixel, channel);
            let values = [B16::from_u32s(words)];
            let [results] = P::compute::<true, _>(
                operation,
                values,
                [B16::ANY],
                &[Each { channels: of, are_one: is_planar }],
            );
            let at = start.wrapping_add((first * P::DST as i32) as i64 as u64);
            if has(0) && has(P::UNIT - 1) {
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
        number += PIXEL_THREADS;
    }
}

/// Defines an entry point.
macro_rules! compute_pixels {
    ($name:ident: $element:ty, $($bytes:tt)+) => {
        arithmetic_entry! {
            "Computes pixels of few channels.",
            COMPUTE_PIXELS: ComputePixels, $name: $element, |src, dst, params| {
                never_more_registers::<64>();
                let held = load_pixels::<$element>(src, &params);
                for_sizes!($($bytes)+, params, store(dst as u64, &params, held))
            }
        }
    };
}

compute_pixels!(compute_pixels_b1: u8, 1);
compute_pixels!(compute_pixels_b2: u16, 2);
compute_pixels!(compute_pixels_b4: u32, 4);
compute_pixels!(compute_pixels_b8: u64, 8 real);
