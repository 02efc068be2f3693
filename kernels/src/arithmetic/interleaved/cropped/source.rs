//! How a warp reads a window: units of memory that pixels lie in, slid, of a row and of the next one; near the ends of the source, elements.

use super::super::super::lines::merged;
use super::super::super::memory::{
    arrived, load_part, load_shared_part, slide_part, store_shared_part, unit_start,
};
use super::super::super::pair::Pair;
use crate::element::{Element, B16};
use crate::opaque::{not_unrolled, opaque};
use crate::slide::slide_apart;
use crate::tensor::axes::{divide, steps, unrolled};
use crate::warp::ballot;
use cuda_std::warp::{self, lane_id};
use kernel_abi::arithmetic::ComputeCropped;
use kernel_abi::fast::VECTOR;

/// Pixels of a lane as they are loaded: the units of memory that they lie in.
#[derive(Clone, Copy)]
struct Loaded<const C: usize> {
    units: [B16; C],
    /// The one behind each; where channels lie together, behind the last.
    next: [B16; C],
}

impl<const C: usize> Loaded<C> {
    /// None.
    const NONE: Self = Loaded { units: [B16::ANY; C], next: [B16::ANY; C] };
}

/// Pixels of which each lane has a unit, on their way.
#[derive(Clone, Copy)]
pub struct Group<const C: usize> {
    /// The lane's first pixel, where it is in the source, and how many its row has from there on.
    pub pixel: i32,
    address: u64,
    left: i32,
    loaded: Loaded<C>,
}

impl<const C: usize> Group<C> {
    /// None.
    pub const NONE: Self = Group { pixel: 0, address: 0, left: 0, loaded: Loaded::NONE };
}

/// How a warp reads its window.
#[derive(Clone, Copy)]
pub struct Source<'a> {
    /// The address of the window's first pixel.
    pub start: u64,
    pub params: &'a ComputeCropped,
}

impl Source<'_> {
    /// Bytes from a plane to the next.
    #[inline(always)]
    fn plane<P: Pair>(&self) -> u64 {
        self.params.src_plane.wrapping_mul(P::SRC as u64)
    }

    /// Bytes from a row to the next.
    #[inline(always)]
    fn row<P: Pair>(&self) -> u64 {
        self.params.row.wrapping_mul(P::SRC as u64)
    }

    /// Where a pixel of the window is: its address, and its column. Pixels before the first one are in its row.
    #[inline(always)]
    fn place<P: Pair, const C: usize, const TO_PIXELS: bool>(&self, pixel: i32) -> (u64, i32) {
        let (row, column) = divide(pixel.max(0) as u32, self.params.columns);
        let column = column as i32 + pixel.min(0);
        let behind = (column as i64 as u64).wrapping_mul(of_pixel::<P, C, TO_PIXELS>());
        (self.start.wrapping_add(steps(row, self.row::<P>())).wrapping_add(behind), column)
    }

    /// Whether all memory that is loaded for the pixels between these two, by units of memory, is between the source's lowest and highest element. A unit of pixels behind the last one is loaded, too; `src` is the address that the kernel was given.
    #[inline(always)]
    pub fn is_inside<P: Pair, const C: usize, const TO_PIXELS: bool>(
        &self,
        src: u64,
        ends: [i32; 2],
    ) -> bool {
        let pixel_bytes = of_pixel::<P, C, TO_PIXELS>() as i64;
        let [(first, from), (last, to)] = ends.map(|pixel| self.place::<P, C, TO_PIXELS>(pixel));
        let mut ends = [first, last].map(|address| address.wrapping_sub(src) as i64);
        if (self.params.row as i64) < 0 {
            // The first row ends at the highest address then, and the last one starts at the lowest.
            ends[0] += (self.params.columns as u32 as i32 - from) as i64 * pixel_bytes;
            ends[1] -= to as i64 * pixel_bytes;
        }
        let planes = (C as u64 - 1).wrapping_mul(self.plane::<P>()) as i64;
        let around = 2 * pixel_bytes * P::UNIT as i64;
        let low = ends[0].min(ends[1]) + planes.min(0) - around;
        let high = ends[0].max(ends[1]) + planes.max(0) + around;
        let lowest = self.params.lowest as i64;
        low >= lowest && high <= lowest + self.params.reach as i64
    }

    /// The address of the `k`-th of the units that start with a pixel.
    #[inline(always)]
    fn unit<P: Pair, const TO_PIXELS: bool>(&self, pixel: u64, k: usize) -> u64 {
        if TO_PIXELS {
            pixel.wrapping_add((k as u64).wrapping_mul(self.plane::<P>()))
        } else {
            pixel.wrapping_add((k * P::UNIT * P::SRC) as u64)
        }
    }

    /// Loads the units of memory that pixels from an address on lie in.
    ///
    /// # Safety
    /// They are readable.
    #[inline(always)]
    unsafe fn load<P: Pair, const C: usize, const TO_PIXELS: bool>(&self, pixel: u64) -> Loaded<C> {
        let bytes = P::UNIT * P::SRC;
        let mut loaded = Loaded::NONE;
        // SAFETY: the caller's obligation.
        let load = |address: u64| unsafe { load_part(unit_start(address, bytes as u64), bytes) };
        unrolled! { K in [0 1 2 3] of C => {
            let address = self.unit::<P, TO_PIXELS>(pixel, K);
            loaded.units[K] = load(address);
            if TO_PIXELS || K + 1 == C {
                // (Of pixels that start with a unit, that one again.)
                loaded.next[K] = load(address.wrapping_add(bytes as u64 - 1));
            }
        } }
        loaded
    }

    /// What was loaded of pixels from an address on, in units that start with them.
    #[inline(always)]
    fn slid<P: Pair, const C: usize, const TO_PIXELS: bool>(
        &self,
        loaded: Loaded<C>,
        pixel: u64,
    ) -> [B16; C] {
        let (units, next) = (loaded.units.map(arrived), loaded.next.map(arrived));
        let mut slid = [B16::ANY; C];
        unrolled! { K in [0 1 2 3] of C => {
            let second = if TO_PIXELS || K + 1 == C { next[K] } else { units[(K + 1) % C] };
            let address = self.unit::<P, TO_PIXELS>(pixel, K);
            slid[K] = slid_unit::<P>(units[K], second, address as u32);
        } }
        slid
    }

    /// Starts to load this lane's pixels of the group that begins with a pixel, unless units of memory that they lie in may not be loaded.
    ///
    /// # Safety
    /// The source is readable.
    #[inline(always)]
    pub unsafe fn begin<P: Pair, const C: usize, const TO_PIXELS: bool>(
        &self,
        first: i32,
        is_inside: bool,
    ) -> Group<C> {
        let pixel = first + lane_id() as i32 * P::UNIT as i32;
        // A lane behind the last pixel has that.
        let nearest = pixel.min(self.params.pixels as i32 - 1);
        let (address, column) = self.place::<P, C, TO_PIXELS>(nearest);
        let mut loaded = Loaded::NONE;
        if is_inside {
            // SAFETY: the caller's obligation; all that is around these pixels is inside.
            loaded = unsafe { self.load::<P, C, TO_PIXELS>(address) };
        }
        Group { pixel, address, left: self.params.columns as u32 as i32 - column, loaded }
    }

    /// The pixels of a group, in units of planes, or such side by side.
    ///
    /// # Safety
    /// That of [`begin`](Self::begin), and the group is inside; all lanes of a warp come here.
    #[inline(always)]
    pub unsafe fn pixels<P: Pair, const C: usize, const TO_PIXELS: bool>(
        &self,
        group: Group<C>,
    ) -> [B16; C] {
        let Group { pixel, address, left, loaded } = group;
        let (unit, pixels) = (P::UNIT as i32, self.params.pixels as i32);
        // Whether it has pixels of the next row, which come behind those that are left of this one.
        let turns = left < unit && pixel + left < pixels;
        // SAFETY: the caller's obligations.
        unsafe {
            let mut held = self.slid::<P, C, TO_PIXELS>(loaded, address);
            if ballot(turns) != 0 {
                // From behind a row's last pixel to the next row.
                let row = self.params.columns as u32 as u64 * of_pixel::<P, C, TO_PIXELS>();
                let next = address.wrapping_add(self.row::<P>().wrapping_sub(row));
                let mut loaded = Loaded::NONE;
                if turns {
                    loaded = self.load::<P, C, TO_PIXELS>(next);
                }
                let others = self.slid::<P, C, TO_PIXELS>(loaded, next);
                let left = if turns { left } else { unit };
                unrolled! { K in [0 1 2 3] of C => {
                    let of_unit = if TO_PIXELS { left } else { left * C as i32 - K as i32 * unit };
                    held[K] = merged::<P>(held[K], others[K], of_unit.clamp(0, unit) as u32);
                } }
            }
            held
        }
    }

    /// The pixels of a group of which this lane has those from `pixel` on, loaded element by element, through this lane's part of shared memory: in units of planes, or such side by side.
    ///
    /// # Safety
    /// The source is readable. All lanes of a warp come here; `slots` is the address of `C` vectors of shared memory of this lane, which nobody else accesses.
    #[inline(always)]
    pub unsafe fn by_elements<P: Pair, const C: usize, const TO_PIXELS: bool>(
        &self,
        pixel: i32,
        slots: u32,
    ) -> [B16; C] {
        let pixels = self.params.pixels as i32;
        // SAFETY: the caller's obligations. By the barriers what was there has been read, and what is loaded has been stored there.
        unsafe {
            warp::sync_warp(u32::MAX);
            let (mut k, units) = (0, opaque(C as u32));
            while k < units {
                not_unrolled();
                let slot = slots + k * VECTOR;
                // Where there is no pixel it is not said what a unit has.
                let mut elements = [B16::ANY; 8];
                unrolled! { J in [0 1 2 3 4 5 6 7] of P::UNIT => {
                    let element = k * P::UNIT as u32 + J as u32;
                    let (of_lane, channel) = match TO_PIXELS {
                        true => (J as u32, k),
                        false => (element / C as u32, element % C as u32),
                    };
                    let at = pixel + of_lane as i32;
                    if at >= 0 && at < pixels {
                        let (address, _) = self.place::<P, C, TO_PIXELS>(at);
                        let of_channel = if TO_PIXELS { self.plane::<P>() } else { P::SRC as u64 };
                        let address = address.wrapping_add(steps(channel, of_channel));
                        elements[J] = load_part(address, P::SRC);
                    }
                } }
                unrolled! { J in [0 1 2 3 4 5 6 7] of P::UNIT => {
                    store_shared_part(slot + (J * P::SRC) as u32, P::SRC, arrived(elements[J]));
                } }
                k += 1;
            }
            warp::sync_warp(u32::MAX);
            let mut held = [B16::ANY; C];
            unrolled! { K in [0 1 2 3] of C => {
                held[K] = load_shared_part(slots + K as u32 * VECTOR, P::UNIT * P::SRC);
            } }
            held
        }
    }
}

/// The unit from byte `past`, modulo the bytes of one, on of a unit and the next one.
#[inline(always)]
fn slid_unit<P: Pair>(first: B16, second: B16, past: u32) -> B16 {
    let bytes = P::UNIT * P::SRC;
    if bytes < VECTOR as usize {
        slide_part(P::SRC, bytes, first, second, past)
    } else if P::SRC == 4 {
        slide_apart::<u32>(first, second, past)
    } else {
        slide_apart::<u8>(first, second, past)
    }
}

/// Bytes from a pixel of the source to the next one of its row.
#[inline(always)]
const fn of_pixel<P: Pair, const C: usize, const TO_PIXELS: bool>() -> u64 {
    (if TO_PIXELS { P::SRC } else { C * P::SRC }) as u64
}
