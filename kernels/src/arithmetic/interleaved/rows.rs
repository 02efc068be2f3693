//! Rows of pixels that start anywhere: units of which a row has a part, and units that are slid into place.
//!
//! Where channels lie together, a thread's pixels start on a unit: the row's first one is some pixels behind such a start. A plane's units start elsewhere, each plane's at its own distance. So what a
//! lane holds of a plane is slid: a unit from its own elements and the next lane's, which are the plane's next ones. The last lane of a warp has no next one. It holds what the first lane of the next warp holds too,
//! and stores nothing. Where channels lie together on both sides, those of the destination start elsewhere than the source's, and all of a lane's planes are slid by as many pixels.
//!
//! Rows of a source whose pixels are in descending order are counted from their lowest element, and a lane that has the destination's pixels from `p` on has a unit that ends with the source's `pixels - 1 - p`.
//! Turned around, its elements are in the destination's order, and slid like others.
//!
//! A unit that a row has a part of is loaded and stored element by element, by the whole warp: for one lane that has such units after the other each lane takes an element, through shared memory.

use super::super::memory::{
    load_part, load_shared_part, slide_part, store_part, store_shared_part, unit_start,
};
use crate::element::{Element, B16};
use crate::tensor::axes::unrolled;
use crate::warp::{ballot, exchange, exchange_u64};
use cuda_std::warp::{self, lane_id};
use kernel_abi::fast::{VECTOR, WARP};

/// Channels at most, and elements of a unit.
const MOST_CHANNELS: usize = 4;
const MOST_UNIT: usize = 8;

/// A row of elements in global memory, in units of `unit` elements of `bytes` bytes.
#[derive(Clone, Copy)]
pub struct Row {
    /// The address of its first element.
    pub start: u64,
    /// How many it has.
    pub count: i32,
    pub bytes: usize,
    pub unit: usize,
}

impl Row {
    /// The address of an element.
    #[inline(always)]
    pub fn address(&self, element: i32) -> u64 {
        self.start.wrapping_add((element as i64 * self.bytes as i64) as u64)
    }

    /// How many elements behind the start of a unit an element is.
    #[inline(always)]
    pub fn phase(&self, element: i32) -> u32 {
        (self.start as u32 / self.bytes as u32).wrapping_add(element as u32) % self.unit as u32
    }

    /// Whether it has all elements of the unit that begins with this one.
    #[inline(always)]
    pub fn has_unit(&self, first: i32) -> bool {
        first >= 0 && first + self.unit as i32 <= self.count
    }

    /// Whether it has this element.
    #[inline(always)]
    fn has(&self, element: i32) -> bool {
        element >= 0 && element < self.count
    }
}

/// Of how many pixels one starts with a unit, where `C` channels lie together and some pixel does.
#[inline(always)]
pub const fn pixels_on_starts<const C: usize>(unit: usize) -> u32 {
    if C == 3 {
        unit as u32
    } else {
        (unit / C) as u32
    }
}

/// How many pixels are between a unit's start that is a pixel's too and a pixel that starts `elements` elements behind a unit's start: modulo those of which one starts with a unit.
#[inline(always)]
pub fn pixels_past<const C: usize>(elements: u32, unit: usize) -> u32 {
    // Three is its own inverse modulo four and eight.
    let pixels = if C == 3 { elements * 3 } else { elements / C as u32 };
    pixels % pixels_on_starts::<C>(unit)
}

/// The units of a thread on one side: one of each plane, or `C` side by side.
#[derive(Clone, Copy)]
pub struct Units<const C: usize> {
    /// The address of the row's first pixel, of the first plane.
    pub start: u64,
    /// Bytes from one plane to the next; 0 if channels lie together.
    pub plane: u64,
    /// Pixels of the row, and the number of the thread's first one.
    pub pixels: i32,
    pub pixel: i32,
    /// Bytes of an element, and elements of a unit.
    pub bytes: usize,
    pub unit: usize,
    /// Whether a plane's is the first one at or behind the thread's pixel, or else the last one at or before it. What is stored lies behind, and so does what is turned around once it is loaded.
    pub behind: bool,
    /// How many pixels before the thread's first the pixel is by which each plane's unit is found: [`BEFORE`] bits for each plane. `None` if that pixel is the thread's first. Where pixels lie together on both sides, in opposite order, a unit of the
    /// source is the one that ends where the destination's begins.
    pub before: Option<u32>,
    /// Whether they are none of the memory's units: each starts with the thread's pixel, wherever that is.
    pub anywhere: bool,
}

/// Bits that each plane has in [`Units::before`].
const BEFORE: u32 = 8;

impl<const C: usize> Units<C> {
    /// The row that the `k`-th is in.
    #[inline(always)]
    pub fn row(&self, k: usize) -> Row {
        let (plane, count) = match self.plane {
            0 => (0, self.pixels * C as i32),
            plane => (k as u64 * plane, self.pixels),
        };
        Row { start: self.start.wrapping_add(plane), count, bytes: self.bytes, unit: self.unit }
    }

    /// The pixel by which the `k`-th plane's unit is found.
    #[inline(always)]
    fn pixel_of(&self, k: usize) -> i32 {
        let before = self.before.map_or(0, |all| all >> (BEFORE * k as u32) & ((1 << BEFORE) - 1));
        self.pixel - before as i32
    }

    /// How many pixels behind the thread's first each plane's unit starts, as [`before`](Self::before) has them.
    #[inline(always)]
    pub fn all_until(&self) -> u32 {
        let mut all = 0;
        unrolled! { K in [0 1 2 3] of C => {
            all |= self.until(K) << (BEFORE * K as u32);
        } }
        all
    }

    /// How many elements before that pixel there is the start of a unit of the `k`-th plane.
    #[inline(always)]
    pub fn past(&self, k: usize) -> u32 {
        self.row(k).phase(self.pixel_of(k))
    }

    /// How many behind it.
    #[inline(always)]
    pub fn until(&self, k: usize) -> u32 {
        self.past(k).wrapping_neg() % self.unit as u32
    }

    /// How many pixels behind the thread's first there is one that a unit starts with, where channels lie together.
    #[inline(always)]
    pub fn until_start(&self) -> u32 {
        let past = pixels_past::<C>(self.row(0).phase(self.pixel * C as i32), self.unit);
        past.wrapping_neg() % pixels_on_starts::<C>(self.unit)
    }

    /// The number of the `k`-th one's first element in its row.
    #[inline(always)]
    fn first(&self, k: usize) -> i32 {
        if self.plane == 0 {
            self.pixel * C as i32 + (k * self.unit) as i32
        } else if self.anywhere {
            self.pixel
        } else if self.behind {
            self.pixel_of(k) + self.until(k) as i32
        } else {
            self.pixel_of(k) - self.past(k) as i32
        }
    }

    /// The address of the `k`-th one.
    #[inline(always)]
    pub fn address(&self, k: usize) -> u64 {
        self.row(k).address(self.first(k))
    }

    /// Whether their rows have all of them.
    #[inline(always)]
    pub fn are_whole(&self) -> bool {
        let mut are = true;
        unrolled! { K in [0 1 2 3] of C => {
            are &= self.row(K).has_unit(self.first(K));
        } }
        are
    }

    /// Whether all of them, and what else those units of the memory have that they are in, are between these addresses.
    #[inline(always)]
    pub fn are_between(&self, [lowest, end]: [u64; 2]) -> bool {
        let mut are = true;
        unrolled! { K in [0 1 2 3] of C => {
            let (mut at, bytes) = (self.address(K), (self.unit * self.bytes) as u64);
            let mut last = at;
            if self.anywhere {
                (at, last) = (unit_start(at, bytes), unit_start(at + bytes - 1, bytes));
            }
            are &= at >= lowest && last + bytes <= end;
        } }
        are
    }

    /// Loads them.
    ///
    /// # Safety
    /// They are readable.
    #[inline(always)]
    pub unsafe fn load(&self) -> [B16; C] {
        let mut units = [B16::ANY; C];
        unrolled! { K in [0 1 2 3] of C => {
            // SAFETY: the caller's obligation.
            units[K] = unsafe { load_part(self.address(K), self.unit * self.bytes) };
        } }
        units
    }

    /// Loads them from anywhere: the units of the memory that each is in, which are slid.
    ///
    /// # Safety
    /// Those units are readable.
    #[inline(always)]
    pub unsafe fn load_slid(&self) -> [B16; C] {
        let bytes = self.unit * self.bytes;
        // SAFETY: the caller's obligation: it has an element of what is loaded.
        let load_with =
            |address: u64| unsafe { load_part(unit_start(address, bytes as u64), bytes) };
        let (mut units, mut next) = ([B16::ANY; C], [B16::ANY; C]);
        unrolled! { K in [0 1 2 3] of C => {
            units[K] = load_with(self.address(K));
        } }
        unrolled! { K in [0 1 2 3] of C => {
            if K + 1 == C || self.plane != 0 {
                next[K] = load_with(self.address(K) + bytes as u64 - 1);
            }
        } }
        unrolled! { K in [0 1 2 3] of C => {
            let second = if K + 1 < C && self.plane == 0 { units[(K + 1) % C] } else { next[K] };
            next[K] = slide_part(self.bytes, bytes, units[K], second, self.address(K) as u32);
        } }
        next
    }

    /// Stores them.
    ///
    /// # Safety
    /// They are writable, and nobody else accesses them.
    #[inline(always)]
    pub unsafe fn store(&self, units: &[B16; C]) {
        unrolled! { K in [0 1 2 3] of C => {
            // SAFETY: the caller's obligations.
            unsafe { store_part(self.address(K), self.unit * self.bytes, units[K]) };
        } }
    }

    /// Loads what their rows have of them, of the lanes that have a `part`: for one of them after the other each lane of the warp loads an element.
    ///
    /// # Safety
    /// All lanes of the warp call it together, and the elements are readable. `slots` is the address of `C` vectors of shared memory of each lane of the warp, which nobody else accesses.
    #[inline(always)]
    pub unsafe fn load_parts(&self, part: bool, slots: u32, units: &mut [B16; C]) {
        // SAFETY: the caller's obligations. By the barriers what was in shared memory has been read, and what is loaded has been stored there.
        unsafe {
            let parts = ballot(part);
            if parts == 0 {
                return;
            }
            warp::sync_warp(u32::MAX);
            self.each_element(parts, slots, |has, at, slot| {
                let element = if has { load_part(at, self.bytes) } else { B16::ANY };
                store_shared_part(slot, self.bytes, element);
            });
            warp::sync_warp(u32::MAX);
            if part {
                unrolled! { K in [0 1 2 3] of C => {
                    units[K] = load_shared_part(self.slot(slots, lane_id(), K as u32), self.unit * self.bytes);
                } }
            }
        }
    }

    /// Stores what their rows have of them, of the lanes that have a `part`: for one of them after the other each lane of the warp stores an element.
    ///
    /// # Safety
    /// That of [`load_parts`](Self::load_parts); the elements are writable, and nobody else accesses them.
    #[inline(always)]
    pub unsafe fn store_parts(&self, part: bool, slots: u32, units: &[B16; C]) {
        // SAFETY: the caller's obligations. By the barriers what was in shared memory has been read, and the units have been stored there.
        unsafe {
            let parts = ballot(part);
            if parts == 0 {
                return;
            }
            warp::sync_warp(u32::MAX);
            if part {
                unrolled! { K in [0 1 2 3] of C => {
                    store_shared_part(self.slot(slots, lane_id(), K as u32), self.unit * self.bytes, units[K]);
                } }
            }
            warp::sync_warp(u32::MAX);
            self.each_element(parts, slots, |has, at, slot| {
                if has {
                    store_part(at, self.bytes, load_shared_part(slot, self.bytes));
                }
            });
        }
    }

    /// Where a lane's `k`-th unit is in shared memory.
    #[inline(always)]
    fn slot(&self, slots: u32, lane: u32, k: u32) -> u32 {
        slots + (lane * C as u32 + k) * VECTOR
    }

    /// Has each lane of the warp take an element of the units of each lane of `parts`: whether the row has it, its address, and where it is in shared memory.
    ///
    /// # Safety
    /// All lanes of the warp call it together.
    #[inline(always)]
    unsafe fn each_element(&self, parts: u32, slots: u32, take: impl Fn(bool, u64, u32)) {
        const { assert!(MOST_CHANNELS * MOST_UNIT <= WARP as usize) };
        let (k, j) = (lane_id() / self.unit as u32, lane_id() % self.unit as u32);
        let mut rest = parts;
        while rest != 0 {
            let lane = rest.trailing_zeros();
            rest &= rest - 1;
            // SAFETY: the caller's obligation.
            let (start, pixel, before) = unsafe {
                let of_lane = |number: u32| exchange(number, lane);
                let before = self.before.map(of_lane);
                (exchange_u64(self.start, lane), of_lane(self.pixel as u32), before)
            };
            let units = Units { start, pixel: pixel as i32, before, ..*self };
            let (row, element) = (units.row(k as usize), units.first(k as usize) + j as i32);
            if k < C as u32 {
                take(
                    row.has(element),
                    row.address(element),
                    self.slot(slots, lane, k) + j * self.bytes as u32,
                );
            }
        }
    }
}
