//! Moves that compute of rows that follow each other in the destination, wherever they start and end: windows of arrays that are put together without gaps.
//!
//! What lies together in the destination is a line: several rows, or one. A warp has neighbouring [units](fn@kernel_abi::arithmetic::unit) of a line, its chunk, and a lane every 32nd of these. They are whole, but for the line's first and last: a chunk starts with a whole one, and the first chunk has what is before that. Where rows are in the source is found by
//! division, one row by each lane, from the first on that the warp has elements of. Then the number of a unit's first element, counted from the start of that row, says by one division which row it is in, and its lane asks that row's where
//! it starts:
//!
//! ```text
//! row, column = number / columns
//! address in the source = (start of the row, from lane `row`) + column
//! ```
//!
//! A unit starts anywhere in the source: two units of memory are loaded, and slid. If it has the start of the next row, too, that is loaded likewise, once the unit is to be computed, and put behind it: neighbouring lanes have loaded most of it then. A unit has elements of two rows at most.
//!
//! What is loaded may lie between rows of the source, but neither before its lowest element nor behind its highest. Chunks of rows that come near these load their elements one by one; so do others what a line has of its first and its last unit. A second operand lies as the destination does.
//!
//! Where channels have a factor and a summand each, all of a line is of one channel, or pixels follow each other in it, whose elements are of one channel after the other. Such lines may be as short as a plane of a small window, and the last chunk of each, which is no full one, is computed by units, too.
//! Without channels it is computed by elements: lines are long then, and the code for parts of chunks, though hardly any warp comes to it, takes 3 % of the speed of the others.

use super::arithmetic_entry;
use super::channels::behind;
use super::column::{ColumnPairs, OnePair, PairOfEach, UnitPairs};
use super::memory::{arrived, get, load_elements, load_part, slide_part, store_part, unit_start};
use super::operation::{pair_of, NoChannels, NothingBeside};
use super::pair::{for_sizes, Pair};
use super::row_pairs::PAIR;
use crate::element::{Element, B16};
use crate::launch::never_more_registers;
use crate::opaque::{not_unrolled, opaque, thread_again};
use crate::tensor::axes::{divide, steps, unrolled};
use crate::warp::{ballot, exchange_u64};
use cuda_std::thread;
use cuda_std::warp::lane_id;
use kernel_abi::arithmetic::{
    flags, ComputeLines, Operation, LINE_UNITS, MOST_LINE_AXES, UNIT_THREADS,
};
use kernel_abi::fast::{VECTOR, WARP};

/// What a warp has of a line: its chunk, whose first unit is a whole one.
#[derive(Clone, Copy)]
struct Chunk {
    /// The address in the destination of its first unit.
    dst: u64,
    /// Elements that the first row it has elements of has before that unit.
    col: u32,
    /// Elements of the line from that unit on: 0 or less if there are none.
    left: i32,
    /// Elements that the line has before its first whole unit, if that is the chunk's: fewer than a unit.
    head: u32,
    /// Where this lane's row starts in the source.
    src: u64,
    /// The line's channel, if channels have pairs.
    channel: u32,
    /// Whether what units of memory have beside its rows may be loaded.
    is_inside: bool,
}

impl Chunk {
    /// That of this warp.
    ///
    /// # Safety
    /// All lanes of a warp come here.
    #[inline(always)]
    unsafe fn of_warp<P: Pair>(src: u64, dst: u64, params: &ComputeLines) -> Self {
        const { assert!(MOST_LINE_AXES == 4) };
        let number = (thread::block_idx_x() * UNIT_THREADS + thread::thread_idx_x()) / WARP;
        let (mut rest, chunk) = divide(number, params.chunks);
        // Elements from where each side starts.
        let mut at = [0u64; 3];
        unrolled! { AXIS in [0 1 2 3] of params.outer_count => {
            let axis = &params.outer[AXIS];
            let (quotient, index) = divide(rest, axis.divisor);
            at[0] = at[0].wrapping_add(steps(index, axis.src));
            at[1] = at[1].wrapping_add(steps(index, axis.dst));
            at[2] = at[2].wrapping_add(steps(index, axis.other));
            rest = quotient;
        } }
        let (unit, elements) = (P::UNIT as u32, params.elements as u32);
        let line = dst.wrapping_add(at[1].wrapping_mul(P::DST as u64));
        let head = (line as u32 / P::DST as u32).wrapping_neg() % unit;
        let all = WARP * LINE_UNITS * unit;
        // Behind the last line there is nothing but what is behind a line.
        let is_line = rest == 0;
        let first = if is_line { chunk * all + head } else { elements };
        let (row, col) = divide(first, params.inner[0].divisor);
        let mut rest = row + lane_id();
        unrolled! { AXIS in [1 2 3] of params.inner_count => {
            let axis = &params.inner[AXIS];
            let (quotient, index) = divide(rest, axis.divisor);
            at[0] = at[0].wrapping_add(steps(index, axis.src));
            rest = quotient;
        } }
        let (cols, bytes) = (params.inner[0].divisor as u32 as u64, P::SRC as u64);
        let row_src = src.wrapping_add(at[0].wrapping_mul(bytes));
        // What the warp has of this lane's row, and what may be loaded with it, is between the source's lowest and highest element.
        let (row_begin, begin) = (lane_id() as u64 * cols, col as u64);
        let end = begin + all as u64;
        let address = |element: u64| row_src.wrapping_add((element - row_begin) * bytes);
        let (lowest, around) = (src.wrapping_add(params.lowest), 2 * unit as u64 * bytes);
        let is_inside = address(begin.max(row_begin)) >= lowest + around
            && address(end.min(row_begin + cols)) + around <= lowest.wrapping_add(params.reach);
        // Behind the line there are no rows.
        let is_there = rest == 0 && row_begin < end;
        // SAFETY: the caller's obligation.
        let is_inside = unsafe { ballot(is_inside || !is_there) == u32::MAX };
        Chunk {
            dst: line.wrapping_add(first as u64 * P::DST as u64),
            col,
            left: elements as i32 - first as i32,
            head: if is_line && chunk == 0 { head } else { 0 },
            src: row_src,
            channel: at[2] as u32,
            is_inside,
        }
    }

    /// The number of a lane's unit of a number, of the warp's.
    #[inline(always)]
    fn unit(lane: u32, number: u32) -> i32 {
        (number * WARP + lane) as i32
    }

    /// The address of a unit in the destination.
    #[inline(always)]
    fn dst<P: Pair>(&self, unit: i32) -> u64 {
        self.dst.wrapping_add((unit * (P::UNIT * P::DST) as i32) as i64 as u64)
    }

    /// The number of a unit's first element, from the start of the warp's first row on: below 0 if that is before the line.
    #[inline(always)]
    fn element<P: Pair>(&self, unit: i32) -> i32 {
        self.col as i32 + unit * P::UNIT as i32
    }

    /// The last of its units of which the line has all; below 0 if there are none.
    #[inline(always)]
    fn last<P: Pair>(&self) -> i32 {
        (self.left / P::UNIT as i32).min((WARP * LINE_UNITS) as i32) - 1
    }
}

/// What units are computed with.
trait With: Copy {
    /// Whether there is a second operand.
    const ADDS: bool;

    /// Whether lines may be short: what a warp has of a line's end is computed by units, too.
    const MAY_BE_SHORT: bool;

    /// Computes a unit whose first element has this number, from the start of a row on.
    ///
    /// # Safety
    /// Pairs of the line's channels are readable, and nothing writes them.
    unsafe fn computed<P: Pair>(
        &self,
        operation: &Operation,
        units: [B16; 2],
        element: i32,
    ) -> [B16; 1];
}

/// One factor, and another for a second operand if it `ADDS`.
#[derive(Clone, Copy)]
struct Factors<const ADDS: bool>;

impl<const ADDS: bool> With for Factors<ADDS> {
    const ADDS: bool = ADDS;
    const MAY_BE_SHORT: bool = false;

    #[inline(always)]
    unsafe fn computed<P: Pair>(
        &self,
        operation: &Operation,
        [source, other]: [B16; 2],
        _: i32,
    ) -> [B16; 1] {
        if ADDS {
            P::compute::<true, 1>(operation, [source], [other], &[NoChannels])
        } else {
            P::compute::<true, 1>(operation, [source], [other], &[NothingBeside])
        }
    }
}

/// The pair of the line's channel.
#[derive(Clone, Copy)]
struct PairOfLine(OnePair);

impl With for PairOfLine {
    const ADDS: bool = false;
    const MAY_BE_SHORT: bool = true;

    #[inline(always)]
    unsafe fn computed<P: Pair>(
        &self,
        operation: &Operation,
        [source, _]: [B16; 2],
        _: i32,
    ) -> [B16; 1] {
        P::by_pairs(operation, [source], &self.0)
    }
}

/// Pairs of the channels of pixels, whose number is a packed divisor.
#[derive(Clone, Copy)]
struct PairsOfPixels {
    channels: u64,
}

impl With for PairsOfPixels {
    const ADDS: bool = false;
    const MAY_BE_SHORT: bool = true;

    #[inline(always)]
    unsafe fn computed<P: Pair>(
        &self,
        operation: &Operation,
        [source, _]: [B16; 2],
        element: i32,
    ) -> [B16; 1] {
        let channels = self.channels as u32;
        // Elements before the row have the channels of others.
        let (_, mut channel) =
            divide((element + (P::UNIT as u32 * channels) as i32) as u32, self.channels);
        let mut pairs = PairOfEach::NONE;
        unrolled! { J in [0 1 2 3 4 5 6 7] of P::UNIT => {
            // SAFETY: the caller's obligation.
            pairs.set(J, unsafe { load_part(pair_of(channel, operation.other, PAIR as usize), PAIR as usize) });
            channel = behind(channel, channels);
        } }
        P::by_pairs(operation, [source], &pairs)
    }
}

/// A whole unit on its way: what it has of its first row, and what is added.
#[derive(Clone, Copy)]
struct Held {
    /// The units of memory that it begins and ends in.
    source: [B16; 2],
    /// Which row of the warp's it begins in, and in the last bits, fewer than those of a vector's bytes, how many bytes of the first of `source` are before it.
    row_and_past: u32,
    other: B16,
}

impl Held {
    /// None.
    const NONE: Self = Held { source: [B16::ANY; 2], row_and_past: 0, other: B16::ANY };
}

/// Loads the units of memory that elements from an address on lie in: as many as are a unit.
///
/// # Safety
/// They are readable.
#[inline(always)]
unsafe fn load_around<P: Pair>(src: u64) -> [B16; 2] {
    let bytes = P::SRC * P::UNIT;
    let first = unit_start(src, bytes as u64);
    let mut second = B16::ANY;
    // SAFETY: the caller's obligation.
    unsafe {
        if first != src {
            second = load_part(first + bytes as u64, bytes);
        }
        [load_part(first, bytes), second]
    }
}

/// A unit out of those of memory that it begins and ends in: `past` bytes of the first are before it.
#[inline(always)]
fn slid<P: Pair>(source: [B16; 2], past: u32) -> B16 {
    let [first, second] = source.map(arrived);
    slide_part(P::SRC, P::SRC * P::UNIT, first, second, past)
}

/// What all units are of.
struct Lines<'a, W> {
    /// The second operand is so many bytes behind the destination.
    behind: u64,
    chunk: Chunk,
    /// The last of the chunk's units of which the line has all.
    last: i32,
    with: W,
    params: &'a ComputeLines,
}

impl<W: With> Lines<'_, W> {
    /// Elements of a row.
    #[inline(always)]
    fn cols(&self) -> u32 {
        self.params.inner[0].divisor as u32
    }

    /// Where a row of the warp's starts in the source.
    ///
    /// # Safety
    /// All lanes of a warp come here.
    #[inline(always)]
    unsafe fn row_start(&self, row: u32) -> u64 {
        // SAFETY: the caller's obligation.
        unsafe { exchange_u64(self.chunk.src, row % WARP) }
    }

    /// This lane's unit of a number; or the last whole one if that is before it, and the chunk may not be `FULL`.
    #[inline(always)]
    fn nearest<const FULL: bool>(&self, own: i32) -> i32 {
        if FULL {
            own
        } else {
            own.min(self.last)
        }
    }

    /// Loads the unit [nearest](Self::nearest) to this lane's of a number.
    ///
    /// # Safety
    /// The obligations of the entry points; all lanes of a warp come here.
    #[inline(always)]
    unsafe fn load<P: Pair, const FULL: bool>(&self, number: u32) -> Held {
        let unit = self.nearest::<FULL>(Chunk::unit(lane_id(), number));
        let (row, col) = divide(self.chunk.element::<P>(unit) as u32, self.params.inner[0].divisor);
        // SAFETY: the caller's obligations; the second operand has the unit's elements where the destination does.
        unsafe {
            let src = self.row_start(row) + (col * P::SRC as u32) as u64;
            let source = load_around::<P>(src);
            let mut other = B16::ANY;
            if W::ADDS {
                let beside = self.chunk.dst::<P>(unit).wrapping_add(self.behind);
                other = load_part(beside, P::DST * P::UNIT);
            }
            let past = src as u32 % (P::SRC * P::UNIT) as u32;
            Held { source, row_and_past: row * VECTOR + past, other }
        }
    }

    /// Computes what [`load`](Self::load) has, and stores it if it is the lane's own.
    ///
    /// # Safety
    /// The obligations of the entry points; all lanes of a warp come here.
    #[inline(always)]
    unsafe fn store<P: Pair, const FULL: bool>(&self, held: Held, number: u32) {
        // Found again: it does not wait in registers.
        let own = Chunk::unit(thread_again() % WARP, number);
        let unit = self.nearest::<FULL>(own);
        let row = held.row_and_past / VECTOR;
        let mut source = slid::<P>(held.source, held.row_and_past % VECTOR);
        // Where the row ends.
        let until = (row + 1) * self.cols() - self.chunk.element::<P>(unit) as u32;
        // SAFETY: the caller's obligations; no other thread has the unit's elements.
        unsafe {
            if ballot(until < P::UNIT as u32) != 0 {
                let next = self.row_start(row + 1);
                if until < P::UNIT as u32 {
                    let src = next - (until * P::SRC as u32) as u64;
                    let past = src as u32 % (P::SRC * P::UNIT) as u32;
                    let next = slid::<P>(load_around::<P>(src), past);
                    source = merged::<P>(source, next, until);
                }
            }
            let units = [source, arrived(held.other)];
            let element = self.chunk.element::<P>(unit);
            let [result] = self.with.computed::<P>(&self.params.operation, units, element);
            if FULL || unit == own {
                store_part(self.chunk.dst::<P>(unit), P::DST * P::UNIT, result);
            }
        }
    }

    /// Computes this lane's units of a chunk of whole ones: with the loads of `ALL` in flight before, or of two at a time, which takes fewer registers.
    ///
    /// # Safety
    /// The obligations of the entry points; the chunk is inside; all lanes of a warp come here.
    #[inline(always)]
    unsafe fn compute_full<P: Pair, const ALL: bool>(&self) {
        const { assert!(LINE_UNITS == 4) };
        // SAFETY: the caller's obligations.
        unsafe {
            if ALL {
                let mut held = [Held::NONE; 4];
                unrolled! { K in [0 1 2 3] of LINE_UNITS => {
                    held[K] = self.load::<P, true>(K as u32);
                } }
                unrolled! { K in [0 1 2 3] of LINE_UNITS => {
                    self.store::<P, true>(held[K], K as u32);
                } }
                return;
            }
            let (mut number, numbers) = (0, opaque(LINE_UNITS));
            while number < numbers {
                not_unrolled();
                let first = self.load::<P, true>(number);
                let second = self.load::<P, true>(number + 1);
                self.store::<P, true>(first, number);
                self.store::<P, true>(second, number + 1);
                number += 2;
            }
        }
    }

    /// Computes those of this lane's units that the line has all of, of which the chunk has some. Lanes behind the last one have that, too, and do not store it, so that no load depends on a condition.
    ///
    /// # Safety
    /// The obligations of the entry points; the chunk is inside; nothing is added; all lanes of a warp come here.
    #[inline(always)]
    unsafe fn compute_some<P: Pair>(&self) {
        let (mut number, numbers) = (0, self.last as u32 / WARP + 1);
        while number < numbers {
            not_unrolled();
            // SAFETY: the caller's obligations.
            unsafe {
                let held = self.load::<P, false>(number);
                self.store::<P, false>(held, number);
            }
            number += 1;
        }
    }

    /// Computes a unit's elements from one on to before another, which are loaded one by one.
    ///
    /// # Safety
    /// The obligations of the entry points; all lanes of a warp come here.
    #[inline(always)]
    unsafe fn compute_elements<P: Pair>(&self, unit: i32, [begin, end]: [u32; 2]) {
        let (first, dst) = (self.chunk.element::<P>(unit), self.chunk.dst::<P>(unit));
        let (row, col) = divide((first + begin as i32) as u32, self.params.inner[0].divisor);
        let until = (begin + self.cols() - col).min(end);
        // SAFETY: the caller's obligations; no other thread has these elements.
        unsafe {
            let [start, next] = [self.row_start(row), self.row_start(row + 1)];
            let src = start + (col * P::SRC as u32) as u64;
            let source = load_elements(src, P::SRC, [begin, until]);
            let source = merged::<P>(source, load_elements(next, P::SRC, [until, end]), until);
            let mut other = B16::ANY;
            if W::ADDS {
                let beside = dst.wrapping_add(self.behind);
                let beside = beside.wrapping_add((begin * P::DST as u32) as u64);
                other = load_elements(beside, P::DST, [begin, end]);
            }
            let units = [source, arrived(other)];
            let [result] = self.with.computed::<P>(&self.params.operation, units, first);
            store_between::<P>(dst, result, [begin, end]);
        }
    }

    /// Computes of elements what this warp has of the line's first and last unit, if it has a part of them, and `whole` units if asked to.
    ///
    /// # Safety
    /// The obligations of the entry points; all lanes of a warp come here.
    #[inline(always)]
    unsafe fn compute_elements_of<P: Pair>(&self, whole: bool) {
        let Chunk { left, head, .. } = self.chunk;
        let (unit, last) = (P::UNIT as u32, self.last);
        let is_last = last + 1 < (WARP * LINE_UNITS) as i32;
        // Elements that the line has behind its last whole unit, if that is the chunk's.
        let tail = if is_last { left.max(0) as u32 % unit } else { 0 };
        let has_parts = head != 0 || tail != 0;
        // Parts come first, and then a whole unit of each lane.
        let mut number = u32::from(!has_parts);
        let numbers = if whole { 1 + opaque(LINE_UNITS) } else { 1 };
        while number < numbers {
            not_unrolled();
            let lane = lane_id();
            let (mut at, mut elements) = (last + 1, [0, 0]);
            if number != 0 {
                at = Chunk::unit(lane, number - 1);
                elements[1] = if at <= last { unit } else { 0 };
            } else if lane == 0 {
                (at, elements) = (-1, [unit - head, unit]);
            } else if lane == 1 {
                elements[1] = tail;
            }
            // SAFETY: the caller's obligations.
            unsafe { self.compute_elements::<P>(at, elements) }
            number += 1;
        }
    }

    /// Computes the units of a warp: of elements those that a line has a part of, all of rows at the ends of the source, and, where lines are long, all of a line's last chunk.
    ///
    /// # Safety
    /// The obligations of the entry points; all lanes of a warp come here.
    #[inline(always)]
    unsafe fn compute<P: Pair, const ALL: bool>(&self) {
        let is_full = self.last + 1 == (WARP * LINE_UNITS) as i32;
        let by_units = self.chunk.is_inside && (is_full || W::MAY_BE_SHORT);
        // SAFETY: the caller's obligations.
        unsafe {
            self.compute_elements_of::<P>(!by_units);
            if by_units && is_full {
                self.compute_full::<P, ALL>();
            } else if W::MAY_BE_SHORT && by_units && self.last >= 0 {
                self.compute_some::<P>();
            }
        }
    }
}

/// The first `begin` elements of one unit, and behind them those of another.
#[inline(always)]
pub fn merged<P: Pair>(first: B16, second: B16, begin: u32) -> B16 {
    let (mut words, others) = (first.u32s(), second.u32s());
    let bits = begin * 8 * P::SRC as u32;
    unrolled! { WORD in [0 1 2 3] of (P::SRC * P::UNIT).div_ceil(4) => {
        let of_word = bits.saturating_sub(32 * WORD as u32).min(32);
        let mask = (1u64 << of_word).wrapping_sub(1) as u32;
        words[WORD] = words[WORD] & mask | others[WORD] & !mask;
    } }
    B16::from_u32s(words)
}

/// Stores the elements of a unit from one on to before another.
///
/// # Safety
/// They are writable, and nobody else accesses them.
#[inline(always)]
pub unsafe fn store_between<P: Pair>(dst: u64, unit: B16, [begin, end]: [u32; 2]) {
    // SAFETY: the caller's obligations.
    unsafe {
        unrolled! { J in [0 1 2 3 4 5 6 7] of P::UNIT => {
            if J as u32 >= begin && (J as u32) < end {
                store_part(dst + (J * P::DST) as u64, P::DST, get(unit, J, P::DST));
            }
        } }
    }
}

/// Computes the units of a warp: loaded all together, or two at a time if the source's units are vectors or something is added.
///
/// # Safety
/// The obligations of the entry points; all lanes of a warp come here.
#[inline(always)]
unsafe fn compute_lines<P: Pair>(src: u64, dst: u64, params: &ComputeLines) {
    // SAFETY: the caller's obligations.
    unsafe {
        let chunk = Chunk::of_warp::<P>(src, dst, params);
        let last = chunk.last::<P>();
        let behind = params.operation.other.wrapping_sub(dst);
        if params.operation.flags & flags::OTHER != 0 {
            Lines { behind, chunk, last, with: Factors::<true>, params }.compute::<P, false>();
        } else if P::SRC * P::UNIT < VECTOR as usize {
            Lines { behind, chunk, last, with: Factors::<false>, params }.compute::<P, true>();
        } else {
            Lines { behind, chunk, last, with: Factors::<false>, params }.compute::<P, false>();
        }
    }
}

/// Computes those whose channels have a factor and a summand each.
///
/// # Safety
/// The obligations of the entry points; all lanes of a warp come here.
#[inline(always)]
unsafe fn compute_lines_by_pairs<P: Pair>(src: u64, dst: u64, params: &ComputeLines) {
    // SAFETY: the caller's obligations; any index of an axis is that of a channel.
    unsafe {
        let chunk = Chunk::of_warp::<P>(src, dst, params);
        let last = chunk.last::<P>();
        if params.channels as u32 > 1 {
            let with = PairsOfPixels { channels: params.channels };
            Lines { behind: 0, chunk, last, with, params }.compute::<P, false>();
            return;
        }
        let pair = pair_of(chunk.channel, params.operation.other, PAIR as usize);
        let with = PairOfLine(OnePair::load::<P>(pair, 0, 0));
        let lines = Lines { behind: 0, chunk, last, with, params };
        if P::SRC * P::UNIT < VECTOR as usize {
            lines.compute::<P, true>();
        } else {
            lines.compute::<P, false>();
        }
    }
}

/// Defines an entry point.
macro_rules! compute_lines {
    ($name:ident: $function:ident $entry:ident, $element:ty, $bytes:tt) => {
        #[cfg(feature = "arithmetic_rows")]
        arithmetic_entry! {
            "Computes rows that follow each other in the destination, by units of that.",
            $entry: ComputeLines, $name: $element, |src, dst, params| {
                never_more_registers::<64>();
                for_sizes!($bytes narrow, params, $function(src as u64, dst as u64, &params))
            }
        }
    };
}

compute_lines!(compute_lines_b1: compute_lines COMPUTE_LINES, u8, 1);
compute_lines!(compute_lines_b2: compute_lines COMPUTE_LINES, u16, 2);
compute_lines!(compute_lines_b4: compute_lines COMPUTE_LINES, u32, 4);
compute_lines!(compute_lines_by_pairs_b1: compute_lines_by_pairs COMPUTE_LINES_BY_PAIRS, u8, 1);
compute_lines!(compute_lines_by_pairs_b2: compute_lines_by_pairs COMPUTE_LINES_BY_PAIRS, u16, 2);
compute_lines!(compute_lines_by_pairs_b4: compute_lines_by_pairs COMPUTE_LINES_BY_PAIRS, u32, 4);
