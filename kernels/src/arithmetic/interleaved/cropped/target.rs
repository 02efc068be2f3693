//! How a warp writes a window: whole units of each plane, slid by its lanes, or units side by side; elements at the window's two ends.

use super::super::super::lines::store_between;
use super::super::super::memory::{slide_part, store_part};
use super::super::super::pair::Pair;
use super::super::registers::pixels_of;
use super::super::rows::{pixels_on_starts, pixels_past};
use super::super::store_exchanged;
use crate::element::B16;
use crate::tensor::axes::unrolled;
use crate::warp::next_lanes_vector;
use cuda_std::warp::lane_id;
use kernel_abi::arithmetic::ComputeCropped;
use kernel_abi::fast::WARP;

/// How a warp writes its window.
#[derive(Clone, Copy)]
pub struct Target<const C: usize> {
    /// The address of the window's first pixel.
    start: u64,
    /// Bytes from a plane to the next; 0 where channels come to lie together.
    plane: u64,
    /// How many elements of each plane are before its first unit; or else, in the first place, how many pixels are before the first one that a unit starts with.
    until: [i32; C],
    /// Pixels of the window.
    pixels: i32,
}

impl<const C: usize> Target<C> {
    /// That of a window that starts at an address.
    #[inline(always)]
    pub fn of<P: Pair, const TO_PIXELS: bool>(start: u64, params: &ComputeCropped) -> Self {
        let plane = params.dst_plane.wrapping_mul(P::DST as u64);
        let mut target = Target { start, plane, until: [0; C], pixels: params.pixels as i32 };
        if TO_PIXELS {
            let past = pixels_past::<C>(start as u32 / P::DST as u32 % P::UNIT as u32, P::UNIT);
            target.until[0] = (past.wrapping_neg() % pixels_on_starts::<C>(P::UNIT)) as i32;
        } else {
            unrolled! { K in [0 1 2 3] of C => {
                let elements = target.plane(K) as u32 / P::DST as u32;
                target.until[K] = (elements.wrapping_neg() % P::UNIT as u32) as i32;
            } }
        }
        target
    }

    /// Where the `k`-th plane starts.
    #[inline(always)]
    fn plane(&self, k: usize) -> u64 {
        self.start.wrapping_add((k as u64).wrapping_mul(self.plane))
    }

    /// The first pixel of the window's first group: below 0 if there is a part of a unit before its first whole one.
    #[inline(always)]
    pub fn first<P: Pair, const TO_PIXELS: bool>(&self) -> i32 {
        let mut before = 0;
        unrolled! { K in [0 1 2 3] of C => {
            before |= self.until[K];
        } }
        let first = if before != 0 { -(P::UNIT as i32) } else { 0 };
        if TO_PIXELS {
            first + self.until[0]
        } else {
            first
        }
    }

    /// Units of planes of elements of `bytes` bytes, each from its plane's unit on: of this lane's elements and the next one's.
    ///
    /// # Safety
    /// All lanes of a warp come here.
    #[inline(always)]
    pub unsafe fn slid<P: Pair>(&self, mut held: [B16; C], bytes: usize) -> [B16; C] {
        unrolled! { K in [0 1 2 3] of C => {
            // SAFETY: the caller's obligation.
            let next = unsafe { next_lanes_vector(held[K]) };
            let past = self.until[K] as usize * bytes;
            held[K] = slide_part(bytes, P::UNIT * bytes, held[K], next, past as u32);
        } }
        held
    }

    /// Stores a lane's results, which are units of planes: those of the pixels from one on, or each from its plane's first unit at or behind that pixel on.
    ///
    /// # Safety
    /// No other thread has these elements; all lanes of a warp come here; `slots` is the address of `C` vectors of shared memory of each, which nobody else accesses.
    #[inline(always)]
    pub unsafe fn store<P: Pair, const TO_PIXELS: bool>(
        &self,
        pixel: i32,
        results: [B16; C],
        slots: impl Fn() -> u32,
    ) {
        let (unit, pixels) = (P::UNIT as i32, self.pixels);
        // SAFETY: the caller's obligations.
        unsafe {
            if TO_PIXELS {
                let units = pixels_of::<C>(P::DST, P::UNIT, results);
                let to = self.start.wrapping_add((pixel as i64 * (C * P::DST) as i64) as u64);
                let is_whole = pixel >= 0 && pixel + unit <= pixels;
                let all = (to, is_whole, WARP);
                if !store_exchanged(all, units, P::UNIT * P::DST, slots()) {
                    unrolled! { K in [0 1 2 3] of C => {
                        let element = pixel * C as i32 + K as i32 * unit;
                        let at = to + (K * P::UNIT * P::DST) as u64;
                        store_unit::<P>(at, units[K], element, pixels * C as i32);
                    } }
                }
            } else if lane_id() < lanes::<TO_PIXELS>() {
                unrolled! { K in [0 1 2 3] of C => {
                    let element = pixel + self.until[K];
                    let at = self.plane(K).wrapping_add((element as i64 * P::DST as i64) as u64);
                    store_unit::<P>(at, results[K], element, pixels);
                } }
            }
        }
    }
}

/// Lanes of a warp that store: all, or, of planes that are slid by the next lane's, all but the last.
pub const fn lanes<const TO_PIXELS: bool>() -> u32 {
    if TO_PIXELS {
        WARP
    } else {
        WARP - 1
    }
}

/// Stores the elements of a unit that are in a line of `elements` elements. The unit's first one is number `element` of the line, and before it if that is below 0.
///
/// # Safety
/// Those elements are writable, and nobody else accesses them.
#[inline(always)]
unsafe fn store_unit<P: Pair>(to: u64, unit: B16, element: i32, elements: i32) {
    let count = P::UNIT as i32;
    // SAFETY: the caller's obligations.
    unsafe {
        if element >= 0 && element + count <= elements {
            store_part(to, P::UNIT * P::DST, unit);
        } else {
            let inside = |end: i32| (end - element).clamp(0, count) as u32;
            store_between::<P>(to, unit, [inside(0), inside(elements)]);
        }
    }
}
