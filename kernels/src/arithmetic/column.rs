//! Units of a column of a transposed tile: out of shared memory, wherever they start there, and to the destination, whatever part of them there is.
//!
//! A thread has one unit at a time, or two that follow each other where the destination's elements are the narrower ones: then it stores as many bytes as it can,
//! and looks at the formats once for both.

use super::memory::{get, load_part, load_shared_part, put, slide_part, store_part};
use super::operation::{Channels, HeldPairs};
use super::pair::Pair;
use super::real::Real;
use crate::element::B16;
use crate::opaque::opaque;
use crate::tensor::axes::unrolled;

/// Units of which there are the elements from `first` to before `end`.
#[derive(Clone, Copy)]
pub struct Units {
    /// The destination's address of the first element, which is a multiple of the bytes of all.
    pub at: u64,
    /// The first element that there is.
    pub first: i32,
    /// The element behind the last that there is.
    pub end: i32,
}

impl Units {
    /// Elements of `K` units.
    const fn elements<P: Pair, const K: usize>() -> usize {
        K * P::UNIT
    }

    /// Whether there are all elements.
    #[inline(always)]
    pub fn are_whole<P: Pair, const K: usize>(&self) -> bool {
        self.first <= 0 && self.end >= Self::elements::<P, K>() as i32
    }

    /// A copy of the units, so that what is found out about each element is found out where the copy is made, and not before a loop around that.
    #[inline(always)]
    fn here(&self) -> Self {
        let here = |element: i32| opaque(element as u32) as i32;
        Units { at: self.at, first: here(self.first), end: here(self.end) }
    }

    /// Whether there is the `j`-th element.
    #[inline(always)]
    fn has(&self, j: usize) -> bool {
        self.first <= j as i32 && self.end > j as i32
    }

    /// The elements of the second operand, the first of which is at `at`.
    ///
    /// # Safety
    /// The operand has these elements.
    #[inline(always)]
    pub unsafe fn others<P: Pair, const K: usize>(&self, at: u64) -> [B16; K] {
        let bytes = Self::elements::<P, K>() * P::DST;
        // SAFETY: the caller's obligations.
        let all = unsafe {
            if self.are_whole::<P, K>() && (at as usize).is_multiple_of(bytes) {
                load_part(at, bytes)
            } else {
                let (mut words, here) = ([0u32; 4], self.here());
                unrolled! { J in [0 1 2 3 4 5 6 7] of Self::elements::<P, K>() => {
                    if here.has(J) {
                        let element = load_part(at.wrapping_add((J * P::DST) as u64), P::DST);
                        put(&mut words, J, P::DST, element);
                    }
                } }
                B16::from_u32s(words)
            }
        };
        core::array::from_fn(|k| get(all, k, P::UNIT * P::DST))
    }

    /// Stores the results.
    ///
    /// # Safety
    /// The destination has these elements, and no other thread stores to them.
    #[inline(always)]
    pub unsafe fn store<P: Pair, const K: usize>(&self, results: [B16; K]) {
        let mut words = [0u32; 4];
        for k in 0..K {
            put(&mut words, k, P::UNIT * P::DST, results[k]);
        }
        let (at, all) = (self.at, B16::from_u32s(words));
        // SAFETY: the caller's obligations.
        unsafe {
            if self.are_whole::<P, K>() {
                store_part(at, Self::elements::<P, K>() * P::DST, all);
            } else {
                let here = self.here();
                unrolled! { J in [0 1 2 3 4 5 6 7] of Self::elements::<P, K>() => {
                    if here.has(J) {
                        let element = get(all, J, P::DST);
                        store_part(at.wrapping_add((J * P::DST) as u64), P::DST, element);
                    }
                } }
            }
        }
    }
}

/// The channels of a unit's elements.
pub struct Column {
    /// The unit, or it and others beside it.
    pub units: Units,
    /// Elements of those before the unit's first.
    pub before: usize,
    /// The address of an element's pair.
    pub pair: u64,
    /// Elements from the first of all units to that one.
    pub early: u32,
    /// Bytes from an element's pair to the next one's.
    pub step: u64,
}

impl Channels for Column {
    const ARE_THERE: bool = true;

    #[inline(always)]
    fn pair_of(&self, j: usize, _: u64, _: usize) -> u64 {
        // Of an element that there is not, the pair of the nearest that there is: the table ends there.
        let element = ((self.before + j) as i32).max(self.units.first).min(self.units.end - 1);
        // What LLVM would find for all elements before the loop over units, and keep.
        let step = opaque(self.step as u32) as i32;
        self.pair.wrapping_add((element - self.early as i32).wrapping_mul(step) as i64 as u64)
    }

    #[inline(always)]
    fn are_one(&self) -> bool {
        self.step == 0
    }
}

/// Pairs of a unit's elements, as a thread holds them from column to column.
pub trait ColumnPairs: HeldPairs {
    /// Those of a unit, whose first element has its pair at an address and the next one's `step` bytes behind. From `end` on there are no elements.
    ///
    /// # Safety
    /// The pairs are readable, and nothing writes them.
    unsafe fn load<P: Pair>(at: u64, step: u64, end: i32) -> Self;

    /// Takes what the next column's elements have, if that is another pair.
    fn next(&mut self, pair: B16);
}

/// A pair that all elements of a column have.
#[derive(Clone, Copy)]
pub struct OnePair(B16);

impl OnePair {
    /// That of no column.
    pub const NONE: Self = OnePair(B16(0, 0, 0, 0));
}

/// A pair for each element of a unit.
#[derive(Clone, Copy)]
pub struct PairOfEach {
    factors: [u32; 8],
    summands: [u32; 8],
}

/// Pairs of a unit's elements that are given one by one, as numbers of `F`.
pub trait UnitPairs<F>: HeldPairs<F> {
    /// Those of a unit that has no elements yet.
    const NONE: Self;

    /// Gives the `j`-th element its pair.
    fn set(&mut self, j: usize, pair: B16);
}

impl UnitPairs<f32> for PairOfEach {
    const NONE: Self = PairOfEach { factors: [0; 8], summands: [0; 8] };

    #[inline(always)]
    fn set(&mut self, j: usize, pair: B16) {
        (self.factors[j], self.summands[j]) = (pair.0, pair.1);
    }
}

impl HeldPairs for OnePair {
    #[inline(always)]
    fn of(&self, _: usize) -> [f32; 2] {
        f32::pair(self.0)
    }
}

impl ColumnPairs for OnePair {
    #[inline(always)]
    unsafe fn load<P: Pair>(at: u64, _: u64, _: i32) -> Self {
        // SAFETY: the caller's obligations.
        OnePair(unsafe { load_part(at, 8) })
    }

    #[inline(always)]
    fn next(&mut self, pair: B16) {
        self.0 = pair;
    }
}

impl HeldPairs for PairOfEach {
    #[inline(always)]
    fn of(&self, j: usize) -> [f32; 2] {
        f32::pair(B16(self.factors[j], self.summands[j], 0, 0))
    }
}

impl ColumnPairs for PairOfEach {
    #[inline(always)]
    unsafe fn load<P: Pair>(at: u64, step: u64, end: i32) -> Self {
        let mut pairs = Self::NONE;
        unrolled! { J in [0 1 2 3 4 5 6 7] of P::UNIT => {
            // Of an element that there is not, the pair of the last that there is: the table ends there.
            let element = (J as i32).min(end - 1) as u64;
            // SAFETY: the caller's obligations.
            pairs.set(J, unsafe { load_part(at.wrapping_add(step.wrapping_mul(element)), 8) });
        } }
        pairs
    }

    #[inline(always)]
    fn next(&mut self, _: B16) {}
}

/// The source's elements of units that start on their bytes in a column; `address` says where a byte of it is kept, of which vectors are whole.
///
/// # Safety
/// The column has the units, and a barrier separates this from what stored them.
#[inline(always)]
pub unsafe fn aligned<P: Pair, const K: usize>(
    address: impl Fn(u32) -> u32,
    byte: u32,
) -> [B16; K] {
    let bytes = P::UNIT * P::SRC;
    // SAFETY: the caller's obligations.
    core::array::from_fn(|k| unsafe { load_shared_part(address(byte + (k * bytes) as u32), bytes) })
}

/// The same of units that start anywhere.
///
/// # Safety
/// The column has the parts that the units have bytes of, each as many bytes as a unit, and one more, and a barrier separates this from what stored them.
#[inline(always)]
pub unsafe fn slid<P: Pair, const K: usize>(address: impl Fn(u32) -> u32, byte: u32) -> [B16; K] {
    let bytes = (P::UNIT * P::SRC) as u32;
    let start = byte & !(bytes - 1);
    // SAFETY: the caller's obligations.
    let part = |k: u32| unsafe { load_shared_part(address(start + k * bytes), bytes as usize) };
    let mut low = part(0);
    core::array::from_fn(|k| {
        let high = part(k as u32 + 1);
        let unit = slide_part(P::SRC, bytes as usize, low, high, byte);
        low = high;
        unit
    })
}
