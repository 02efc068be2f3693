//! Moves of runs, stretches that lie together on both sides, which start anywhere: a vector of the destination a thread at a time.
//!
//! A run's vectors in the destination are not its vectors in the source, as it starts elsewhere inside one. So a thread loads the aligned vector of the source in
//! which its own begins, takes what follows from the next lane, and slides the two:
//!
//! ```text
//! past = (source address - destination address) mod 16
//! destination vector v of a run = slide(source vector v, source vector v + 1, past)
//! ```
//!
//! The lane that has a run's last vector, and the last one of a warp, load the second vector themselves: a warp's vectors follow each other, also those of its lanes'
//! second turn. Where a run starts or ends inside a vector of the destination, what it has of that is stored in pieces of 8, 4, 2 and 1 bytes, one of each at
//! most. One kernel serves words of every width: it knows of bytes alone.
//!
//! Threads are counted along vectors, then along the other axes, the destination's fastest first, as words are by [`words`](super::words).

use super::axes::{divide, steps, unrolled};
use super::tensor_entry;
use crate::element::{Element, B16};
use crate::global::{fetch_ends, load_vector, store_vector};
use crate::launch::never_more_registers;
use crate::opaque::opaque;
use crate::parts::store_part;
use crate::slide::slide;
use crate::warp::exchange;
use cuda_std::thread;
use kernel_abi::fast::{VECTOR, WARP};
use kernel_abi::tensor::{Runs, MOST_AXES, RUNS_THREADS, VECTORS_OF_THREAD};

/// Vectors of a thread.
const EACH: usize = VECTORS_OF_THREAD as usize;

/// A vector of the destination, and where it comes from.
#[derive(Clone, Copy)]
struct Unit {
    /// Its address.
    to: u64,
    /// The address of the source's vector in which it begins.
    from: u64,
    /// How many bytes of that are before its first.
    past: u32,
    /// The byte of the run that it begins with, negative before the run's first.
    begin: i32,
    /// Bytes of the run; none if there is no such vector.
    bytes: i32,
}

impl Unit {
    /// The vector that a run from `from` to `to` has at a number, if it `is_there`.
    #[inline(always)]
    fn of(number: u32, from: u64, to: u64, bytes: i32, is_there: bool) -> Self {
        let before = to as u32 % VECTOR;
        let begin = (number * VECTOR) as i32 - before as i32;
        let first = from.wrapping_add(begin as i64 as u64);
        let past = first as u32 % VECTOR;
        Unit {
            to: to.wrapping_add(begin as i64 as u64),
            from: first - past as u64,
            past,
            begin,
            bytes: if is_there { bytes } else { i32::MIN / 2 },
        }
    }

    /// Whether the source's vector has bytes of the run.
    #[inline(always)]
    fn has_first(&self) -> bool {
        self.begin - (self.past as i32) < self.bytes
    }

    /// Whether the vector behind it has bytes that are this one's.
    #[inline(always)]
    fn has_second(&self) -> bool {
        self.past != 0 && self.begin + ((VECTOR - self.past) as i32) < self.bytes
    }

    /// Whether all of it is the run's.
    #[inline(always)]
    fn is_whole(&self) -> bool {
        self.begin >= 0 && self.begin + VECTOR as i32 <= self.bytes
    }

    /// Whether a byte of it is the run's.
    #[inline(always)]
    fn has(&self, byte: u32) -> bool {
        let byte = self.begin + byte as i32;
        byte >= 0 && byte < self.bytes
    }

    /// Stores what the run has of a vector that is not whole: its end, or its start, for no run is so short that it has neither.
    ///
    /// # Safety
    /// Those of the entry points.
    #[inline(always)]
    unsafe fn store_part(&self, vector: B16) {
        let first = (-self.begin).max(0) as u32;
        let end = ((self.bytes - self.begin) as u32).min(VECTOR);
        // SAFETY: the caller's obligations: these are bytes of the run.
        unsafe { store_part::<u8>(self.to, vector, first, end) }
    }

    /// Moves the run's bytes one by one.
    ///
    /// # Safety
    /// Those of the entry points.
    #[inline(always)]
    unsafe fn move_bytes(&self) {
        let mut byte = opaque(0);
        while byte < VECTOR {
            if self.has(byte) {
                let from = self.from + (self.past + byte) as u64;
                let to = self.to + byte as u64;
                // SAFETY: the caller's obligations: a byte of the run.
                unsafe { (to as *mut u8).write((from as *const u8).read()) };
            }
            // Not written out for each of the bytes: no more than two vectors of a move are moved so.
            byte = opaque(byte + 1);
        }
    }
}

/// Moves the vectors of this block.
///
/// # Safety
/// Those of the entry points.
#[inline(always)]
unsafe fn move_runs(src: *const u8, dst: *mut u8, params: &Runs) {
    // With fewer, as the assembler would have it for some chips, it spills.
    never_more_registers::<56>();
    let t = thread::thread_idx_x();
    let lane = t % WARP;
    let first = thread::block_idx_x() * (RUNS_THREADS * VECTORS_OF_THREAD)
        + (t - lane) * VECTORS_OF_THREAD
        + lane;
    let number = |k: usize| first + k as u32 * WARP;
    let (mut rest, mut vector) = ([0; EACH], [0; EACH]);
    for k in 0..EACH {
        (rest[k], vector[k]) = divide(number(k), params.vectors);
    }
    let (mut from, mut to) = ([0u64; EACH], [0u64; EACH]);
    unrolled! { AXIS in [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15] of params.count => {
        const { assert!(MOST_AXES == 17) };
        let axis = &params.axes[AXIS];
        for k in 0..EACH {
            let (quotient, index) = divide(rest[k], axis.divisor);
            from[k] = from[k].wrapping_add(steps(index, axis.src));
            to[k] = to[k].wrapping_add(steps(index, axis.dst));
            rest[k] = quotient;
        }
    } }
    let lowest = (src as u64).wrapping_add(params.lowest);
    // Whether all of a vector lies between the source's lowest word and its highest: a run is longer than a vector.
    let is_inside =
        |vector: u64| vector.wrapping_sub(lowest) <= params.reach.wrapping_sub(VECTOR as u64);
    let unit = |k: usize| {
        let from = src.wrapping_add(from[k] as usize) as u64;
        let to = dst.wrapping_add(to[k] as usize) as u64;
        Unit::of(vector[k], from, to, params.bytes as i32, number(k) < params.all as u32)
    };
    let units: [Unit; EACH] = [unit(0), unit(1)];
    if params.fetch != 0 {
        for k in 0..EACH {
            if vector[k] == 0 && number(k) < params.all as u32 {
                let start = dst.wrapping_add(to[k] as usize) as u64;
                // SAFETY: the run is in the destination.
                unsafe { fetch_ends(start, params.bytes as u32, params.fetch) };
            }
        }
    }
    let mut held = [B16::ANY; EACH];
    let mut is_loaded = [true; EACH];
    for k in 0..EACH {
        if units[k].has_first() {
            is_loaded[k] = is_inside(units[k].from);
            if is_loaded[k] {
                // SAFETY: the vector is inside the source and aligned.
                held[k] = unsafe { load_vector(units[k].from) };
            }
        }
    }
    // What no other lane loads: of all lanes of a warp the last one's, the last time.
    let vectors = params.vectors as u32;
    let is_alone = |k: usize| vector[k] + 1 == vectors || (k + 1 == EACH && lane == WARP - 1);
    let mut second = [B16::ANY; EACH];
    for k in 0..EACH {
        let behind = units[k].from + VECTOR as u64;
        if units[k].has_second() {
            let is_there = is_inside(behind);
            is_loaded[k] &= is_there;
            if is_alone(k) && is_there {
                // SAFETY: the vector is inside the source and aligned.
                second[k] = unsafe { load_vector(behind) };
            }
        }
    }
    let mut in_part = [false; EACH];
    unrolled! { K in [0 1] of EACH => {
        // The first lane tells the last one what it has loaded the next time.
        let told = if lane == 0 && K + 1 < EACH { held[(K + 1) % EACH] } else { held[K] };
        // SAFETY: all lanes come here.
        let next = unsafe { of_lane(told, (lane + 1) % WARP) };
        let second = if is_alone(K) { second[K] } else { next };
        let unit = units[K];
        held[K] = slide::<u8>(held[K], second, unit.past);
        if unit.begin < unit.bytes {
            // SAFETY: bytes of the run, which no other thread has.
            unsafe {
                if !is_loaded[K] {
                    unit.move_bytes();
                } else if unit.is_whole() {
                    store_vector(unit.to, held[K]);
                } else {
                    in_part[K] = true;
                }
            }
        }
    } }
    // Nearly every warp has parts of vectors, but few threads have two: by a loop they are stored together.
    while in_part[0] || in_part[1] {
        let (unit, vector) = if in_part[0] { (units[0], held[0]) } else { (units[1], held[1]) };
        // SAFETY: bytes of the run, which no other thread has.
        unsafe { unit.store_part(vector) }
        in_part = [false, in_part[0] && in_part[1]];
    }
}

/// The vector that a lane holds.
///
/// # Safety
/// All 32 lanes of the warp call it together; `lane` is below 32.
#[inline(always)]
unsafe fn of_lane(vector: B16, lane: u32) -> B16 {
    // SAFETY: the caller's obligations.
    let part = |part: u32| unsafe { exchange(part, lane) };
    B16(part(vector.0), part(vector.1), part(vector.2), part(vector.3))
}

tensor_entry! {
    "Moves what lies together on both sides, wherever it starts, by vectors.",
    RUNS: Runs, runs_b1: u8, |src, dst, params| move_runs(src, dst, &params)
}
