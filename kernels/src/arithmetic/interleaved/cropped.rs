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

use super::super::arithmetic_entry;
use super::super::lines::{merged, store_between};
use super::super::memory::{
    arrived, load_part, load_shared_part, slide_part, store_part, store_shared_part, unit_start,
};
use super::super::operation::{pair_of, HeldPairs};
use super::super::pair::{for_sizes, Pair};
use super::super::real::Real;
use super::super::row_pairs::PAIR;
use super::registers::{pixels_of, planes_of};
use super::rows::{pixels_on_starts, pixels_past};
use super::store_exchanged;
use crate::element::{Element, B16};
use crate::launch::never_more_registers;
use crate::opaque::{not_unrolled, opaque, thread_again};
use crate::slide::slide_apart;
use crate::tensor::axes::{divide, steps, unrolled};
use crate::warp::{ballot, next_lanes_vector};
use core::marker::PhantomData;
use cuda_std::thread;
use cuda_std::warp::{self, lane_id};
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
struct Group<const C: usize> {
    /// The lane's first pixel, where it is in the source, and how many its row has from there on.
    pixel: i32,
    address: u64,
    left: i32,
    loaded: Loaded<C>,
}

impl<const C: usize> Group<C> {
    /// None.
    const NONE: Self = Group { pixel: 0, address: 0, left: 0, loaded: Loaded::NONE };
}

/// How a warp reads its window.
#[derive(Clone, Copy)]
struct Source<'a> {
    /// The address of the window's first pixel.
    start: u64,
    params: &'a ComputeCropped,
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
    fn is_inside<P: Pair, const C: usize, const TO_PIXELS: bool>(
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
    unsafe fn begin<P: Pair, const C: usize, const TO_PIXELS: bool>(
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
    unsafe fn pixels<P: Pair, const C: usize, const TO_PIXELS: bool>(
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
    unsafe fn by_elements<P: Pair, const C: usize, const TO_PIXELS: bool>(
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

/// How a warp writes its window.
#[derive(Clone, Copy)]
struct Target<const C: usize> {
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
    fn of<P: Pair, const TO_PIXELS: bool>(start: u64, params: &ComputeCropped) -> Self {
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
    fn first<P: Pair, const TO_PIXELS: bool>(&self) -> i32 {
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
    unsafe fn slid<P: Pair>(&self, mut held: [B16; C], bytes: usize) -> [B16; C] {
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
    unsafe fn store<P: Pair, const TO_PIXELS: bool>(
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
const fn lanes<const TO_PIXELS: bool>() -> u32 {
    if TO_PIXELS {
        WARP
    } else {
        WARP - 1
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
    let mut results = P::by_pairs::<C>(operation, held, pairs);
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
    // The next group is loaded while one is computed, if it takes few registers.
    let is_ahead = P::UNIT * P::SRC * C < 2 * VECTOR as usize;
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

/// Registers that a thread has.
const fn most_registers(channels: usize, bytes: usize) -> u32 {
    match (channels, bytes) {
        (2, 1 | 4) => 64,
        (2, _) | (3, 1) => 72,
        (4, _) => 96,
        _ => 80,
    }
}

/// Defines an entry point for pixels of `$channels` channels.
macro_rules! compute_cropped {
    ($name:ident: $channels:literal $entry:ident, $element:ty, $bytes:tt) => {
        #[cfg(feature = "arithmetic_pixels")]
        arithmetic_entry! {
            "Computes windows of pixels of few channels.",
            $entry: ComputeCropped, $name: $element, |src, dst, params| {
                never_more_registers::<{ most_registers($channels, $bytes) }>();
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
