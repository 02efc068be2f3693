//! Moves that compute of rows that follow each other in the destination, wherever they start and end: windows of arrays that are put together without gaps.
//!
//! What lies together in the destination is a line: several rows, or one. A warp has neighbouring [units](fn@kernel_abi::arithmetic::unit) of a line, its chunk, and a lane every 32nd of these. They are whole, but for the line's first and last. Where rows are in the source is found by
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
//! What is loaded may lie between rows of the source, but neither before its lowest element nor behind its highest. Chunks of rows that come near these load their elements one by one, and so do the first and the last chunk of a line. A second operand lies as the destination does.

use super::arithmetic_entry;
use super::memory::{arrived, get, load_elements, load_part, slide_part, store_part, unit_start};
use super::operation::{NoChannels, NothingBeside};
use super::pair::{for_sizes, Pair};
use crate::element::{Element, B16};
use crate::launch::never_more_registers;
use crate::opaque::{not_unrolled, opaque, thread_again};
use crate::tensor::axes::{divide, steps, unrolled};
use crate::warp::{ballot, exchange_u64};
use cuda_std::thread;
use cuda_std::warp::lane_id;
use kernel_abi::arithmetic::{flags, ComputeLines, LINE_UNITS, MOST_LINE_AXES, UNIT_THREADS};
use kernel_abi::fast::{VECTOR, WARP};

/// What a warp has of a line: its chunk.
#[derive(Clone, Copy)]
struct Chunk {
    /// The address in the destination of its first unit.
    dst: u64,
    /// The number of that unit's first element in the line: below 0 if the line starts inside the unit.
    first: i32,
    /// The number of the first element of the first row that it has elements of.
    row: i32,
    /// Where this lane's row starts in the source.
    src: u64,
    /// Whether all its units are whole, and what units of memory have beside its rows may be loaded.
    is_plain: bool,
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
        let mut at = [0u64; 2];
        unrolled! { AXIS in [0 1 2 3] of params.outer_count => {
            let axis = &params.outer[AXIS];
            let (quotient, index) = divide(rest, axis.divisor);
            at[0] = at[0].wrapping_add(steps(index, axis.src));
            at[1] = at[1].wrapping_add(steps(index, axis.dst));
            rest = quotient;
        } }
        let (unit, elements) = (P::UNIT as u32, params.elements as i32);
        let line = dst.wrapping_add(at[1].wrapping_mul(P::DST as u64));
        // Elements that the line's first unit has before the line.
        let before = line as u32 / P::DST as u32 % unit;
        let all = WARP * LINE_UNITS * unit;
        // Behind the last line there is nothing but what is behind a line.
        let first = match rest {
            0 => (chunk * all).wrapping_sub(before) as i32,
            _ => elements,
        };
        let (row, col) = divide(first.max(0) as u32, params.inner[0].divisor);
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
        let at = |element: u64| row_src.wrapping_add((element - row_begin) * bytes);
        let (lowest, around) = (src.wrapping_add(params.lowest), 2 * unit as u64 * bytes);
        let is_inside = at(begin.max(row_begin)) >= lowest + around
            && at(end.min(row_begin + cols)) + around <= lowest.wrapping_add(params.reach);
        // Behind the line there are no rows.
        let is_there = rest == 0 && row_begin < end;
        // SAFETY: the caller's obligation.
        let are_inside = unsafe { ballot(is_inside || !is_there) == u32::MAX };
        Chunk {
            dst: line.wrapping_add((first as i64 * P::DST as i64) as u64),
            first,
            row: first.max(0) - col as i32,
            src: row_src,
            is_plain: are_inside && first >= 0 && first + all as i32 <= elements,
        }
    }

    /// The number of a lane's unit of a number, of the warp's.
    #[inline(always)]
    fn unit(lane: u32, number: u32) -> u32 {
        number * WARP + lane
    }

    /// The address of a unit in the destination.
    #[inline(always)]
    fn dst<P: Pair>(&self, unit: u32) -> u64 {
        self.dst + (unit * (P::UNIT * P::DST) as u32) as u64
    }

    /// The number of a whole unit's first element, from the start of the warp's first row on.
    #[inline(always)]
    fn element<P: Pair>(&self, unit: u32) -> u32 {
        (self.first - self.row) as u32 + unit * P::UNIT as u32
    }
}

/// A whole unit on its way: what it has of its first row, and what is added if it `ADDS`.
#[derive(Clone, Copy)]
struct Held<const ADDS: bool> {
    /// The units of memory that it begins and ends in.
    source: [B16; 2],
    /// Which row of the warp's it begins in, and in the last bits, fewer than those of a vector's bytes, how many bytes of the first of `source` are before it.
    row_and_past: u32,
    other: B16,
}

impl<const ADDS: bool> Held<ADDS> {
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
struct Lines<'a> {
    /// The second operand is so many bytes behind the destination.
    behind: u64,
    chunk: Chunk,
    params: &'a ComputeLines,
}

impl Lines<'_> {
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

    /// Computes a unit, to which another is added if it `ADDS`.
    #[inline(always)]
    fn computed<P: Pair, const ADDS: bool>(&self, source: B16, other: B16) -> B16 {
        let (operation, source, other) = (&self.params.operation, [source], [arrived(other)]);
        let [result] = if ADDS {
            P::compute::<true, 1>(operation, source, other, &[NoChannels])
        } else {
            P::compute::<true, 1>(operation, source, other, &[NothingBeside])
        };
        result
    }

    /// Loads this lane's unit of a number, of a plain chunk.
    ///
    /// # Safety
    /// The obligations of the entry points; all lanes of a warp come here.
    #[inline(always)]
    unsafe fn load<P: Pair, const ADDS: bool>(&self, number: u32) -> Held<ADDS> {
        let unit = Chunk::unit(lane_id(), number);
        let element = self.chunk.element::<P>(unit);
        let (row, col) = divide(element, self.params.inner[0].divisor);
        let mut other = B16::ANY;
        // SAFETY: the caller's obligations; the second operand has the unit's elements where the destination does.
        unsafe {
            let src = self.row_start(row) + (col * P::SRC as u32) as u64;
            let source = load_around::<P>(src);
            if ADDS {
                let beside = self.chunk.dst::<P>(unit).wrapping_add(self.behind);
                other = load_part(beside, P::DST * P::UNIT);
            }
            let past = src as u32 % (P::SRC * P::UNIT) as u32;
            Held { source, row_and_past: row * VECTOR + past, other }
        }
    }

    /// Computes this lane's unit of a number, of a plain chunk, and stores it.
    ///
    /// # Safety
    /// The obligations of the entry points; all lanes of a warp come here.
    #[inline(always)]
    unsafe fn store<P: Pair, const ADDS: bool>(&self, held: Held<ADDS>, number: u32) {
        // Found again: it does not wait in registers.
        let unit = Chunk::unit(thread_again() % WARP, number);
        let row = held.row_and_past / VECTOR;
        let mut source = slid::<P>(held.source, held.row_and_past % VECTOR);
        // Where the row ends.
        let until = (row + 1) * self.cols() - self.chunk.element::<P>(unit);
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
            let result = self.computed::<P, ADDS>(source, held.other);
            store_part(self.chunk.dst::<P>(unit), P::DST * P::UNIT, result);
        }
    }

    /// Computes this lane's units of a plain chunk: with the loads of `ALL` in flight before, or of two at a time, which takes fewer registers.
    ///
    /// # Safety
    /// The obligations of the entry points; all lanes of a warp come here.
    #[inline(always)]
    unsafe fn compute_plain<P: Pair, const ADDS: bool, const ALL: bool>(&self) {
        const { assert!(LINE_UNITS == 4) };
        // SAFETY: the caller's obligations.
        unsafe {
            if ALL {
                let mut held = [Held::<ADDS>::NONE; 4];
                unrolled! { K in [0 1 2 3] of LINE_UNITS => {
                    held[K] = self.load::<P, ADDS>(K as u32);
                } }
                unrolled! { K in [0 1 2 3] of LINE_UNITS => {
                    self.store::<P, ADDS>(held[K], K as u32);
                } }
                return;
            }
            let (mut number, numbers) = (0, opaque(LINE_UNITS));
            while number < numbers {
                not_unrolled();
                let first = self.load::<P, ADDS>(number);
                let second = self.load::<P, ADDS>(number + 1);
                self.store::<P, ADDS>(first, number);
                self.store::<P, ADDS>(second, number + 1);
                number += 2;
            }
        }
    }

    /// Computes this lane's units, or what the line has of them, of elements that are loaded one by one: those of the first and the last warp of a line, and of rows at the ends of the source.
    ///
    /// # Safety
    /// The obligations of the entry points; all lanes of a warp come here.
    #[inline(always)]
    unsafe fn compute_any<P: Pair, const ADDS: bool>(&self) {
        let (mut number, numbers) = (0, opaque(LINE_UNITS));
        while number < numbers {
            not_unrolled();
            let unit = Chunk::unit(lane_id(), number);
            let (first, dst) =
                (self.chunk.first + (unit * P::UNIT as u32) as i32, self.chunk.dst::<P>(unit));
            let begin = (-first).max(0);
            let end = (self.params.elements as i32 - first).min(P::UNIT as i32).max(begin);
            let element = (first + begin - self.chunk.row) as u32;
            let (begin, end) = (begin as u32, end as u32);
            let (row, col) = divide(element, self.params.inner[0].divisor);
            let until = (begin + self.cols() - col).min(end);
            // SAFETY: the caller's obligations; no other thread has the unit's elements.
            unsafe {
                let [start, next] = [self.row_start(row), self.row_start(row + 1)];
                let src = start + (col * P::SRC as u32) as u64;
                let source = load_elements(src, P::SRC, [begin, until]);
                let source = merged::<P>(source, load_elements(next, P::SRC, [until, end]), until);
                let mut other = B16::ANY;
                if ADDS {
                    let beside = dst.wrapping_add(self.behind);
                    let beside = beside.wrapping_add((begin * P::DST as u32) as u64);
                    other = load_elements(beside, P::DST, [begin, end]);
                }
                let result = self.computed::<P, ADDS>(source, other);
                store_between::<P>(dst, result, [begin, end]);
            }
            number += 1;
        }
    }

    /// Computes this lane's units.
    ///
    /// # Safety
    /// The obligations of the entry points; all lanes of a warp come here.
    #[inline(always)]
    unsafe fn compute<P: Pair, const ADDS: bool, const ALL: bool>(&self) {
        // SAFETY: the caller's obligations.
        unsafe {
            if self.chunk.is_plain {
                self.compute_plain::<P, ADDS, ALL>();
            } else {
                self.compute_any::<P, ADDS>();
            }
        }
    }
}

/// The first `begin` elements of one unit, and behind them those of another.
#[inline(always)]
fn merged<P: Pair>(first: B16, second: B16, begin: u32) -> B16 {
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
unsafe fn store_between<P: Pair>(dst: u64, unit: B16, [begin, end]: [u32; 2]) {
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
        let behind = params.operation.other.wrapping_sub(dst);
        let lines = Lines { behind, chunk, params };
        if params.operation.flags & flags::OTHER != 0 {
            lines.compute::<P, true, false>();
        } else if P::SRC * P::UNIT < VECTOR as usize {
            lines.compute::<P, false, true>();
        } else {
            lines.compute::<P, false, false>();
        }
    }
}

/// Defines an entry point.
macro_rules! compute_lines {
    ($name:ident: $element:ty, $bytes:tt) => {
        arithmetic_entry! {
            "Computes rows that follow each other in the destination, by units of that.",
            COMPUTE_LINES: ComputeLines, $name: $element, |src, dst, params| {
                never_more_registers::<64>();
                for_sizes!($bytes narrow, params, compute_lines(src as u64, dst as u64, &params))
            }
        }
    };
}

compute_lines!(compute_lines_b1: u8, 1);
compute_lines!(compute_lines_b2: u16, 2);
compute_lines!(compute_lines_b4: u32, 4);
