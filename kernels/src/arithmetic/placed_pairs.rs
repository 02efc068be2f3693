//! The pairs of channels, a factor and a summand each, of elements that say which channel they have by where they lie: channels follow each other as axes do,
//!
//! ```text
//! channel of the element that e elements are before = ⌊e / inner⌋ mod channels
//! ```
//!
//! so the address of a unit says all that is to be known of it, whatever axes have been cut for a tile.
//!
//! - *Planes.* Where a channel has a unit's elements in a row, or more, a unit has elements of two channels at most: their pairs are loaded for each unit.
//! - *Pixels.* Where channels change with each element, pairs wait in shared memory, in rows of 16 channels and the 7 behind them: a unit has its pairs one behind the other, though behind the last channel
//!   the first comes again. Lanes whose units start a power of two of channels apart meet in no bank.

use super::memory::load_part;
use super::operation::HeldPairs;
use super::pair::Pair;
use super::real::Real;
use super::row_pairs::PAIR;
use crate::element::{Element, B16};
use crate::opaque::not_unrolled;
use crate::tensor::axes::divide;
use cuda_std::thread;
use kernel_abi::arithmetic::{
    ChannelPlaces, Operation, PAIRS_IN_ROW, PAIRS_OF_ROW, PAIR_ROW_BYTES,
};

/// The pairs of elements of a memory.
#[derive(Clone, Copy)]
pub struct PlacedPairs<'a> {
    /// What is computed, and where the table of pairs is.
    pub operation: &'a Operation,
    /// Which channels elements have.
    pub channels: &'a ChannelPlaces,
    /// Where the block's shared memory starts.
    pub shared: u32,
}

impl PlacedPairs<'_> {
    /// Whether pairs wait in shared memory.
    #[inline(always)]
    pub fn are_kept(self) -> bool {
        self.channels.pairs != 0
    }

    /// Where the rows of pairs begin that wait in shared memory.
    #[inline(always)]
    fn rows(self) -> u32 {
        self.shared + self.channels.pairs as u32
    }

    /// The pair of a channel.
    ///
    /// # Safety
    /// The table has it, and nothing writes that.
    #[inline(always)]
    unsafe fn pair(self, channel: u32) -> B16 {
        // SAFETY: the caller's obligations.
        unsafe { load_part(self.operation.other + (channel * PAIR) as u64, PAIR as usize) }
    }

    /// Keeps those that wait in shared memory; a barrier follows.
    ///
    /// # Safety
    /// All `threads` threads of the block call it; there is shared memory for the rows, and nothing writes the table.
    #[inline(always)]
    pub unsafe fn keep(self, threads: u32) {
        if !self.are_kept() {
            return;
        }
        let (rows, channels) = (self.rows(), self.channels.channels);
        let all = (channels as u32).div_ceil(PAIRS_OF_ROW) * PAIRS_IN_ROW;
        let mut number = thread::thread_idx_x();
        while number < all {
            not_unrolled();
            let (row, place) = (number / PAIRS_IN_ROW, number % PAIRS_IN_ROW);
            let (_, channel) = divide(row * PAIRS_OF_ROW + place, channels);
            let to = rows + row * PAIR_ROW_BYTES + place * PAIR;
            // SAFETY: a channel of the table, and a place that no other thread has.
            unsafe { self.pair(channel).u64s()[0].store_shared(to) }
            number += threads;
        }
    }

    /// Bytes [behind](ChannelPlaces::behind) where all channels begin to an address of a memory that starts at another one.
    #[inline(always)]
    pub fn before(self, at: u64, start: u64) -> u32 {
        at.wrapping_sub(start).wrapping_add(self.channels.behind) as u32
    }

    /// The results for the unit that a vector begins with, which lies [`before`](Self::before) bytes behind where all channels begin, in a memory of elements of `bytes` bytes.
    ///
    /// # Safety
    /// Nothing writes the table; a barrier separates this from what [kept](Self::keep) pairs in shared memory.
    #[inline(always)]
    pub unsafe fn compute<P: Pair>(self, unit: B16, before: u32, bytes: usize) -> B16 {
        let ChannelPlaces { inner, channels, .. } = self.channels;
        let (follow, passed) = divide(before / bytes as u32, *inner);
        let (_, channel) = divide(follow, *channels);
        let [result] = if self.are_kept() {
            P::by_pairs(self.operation, [unit], &InRow::of(self.rows(), channel))
        } else {
            let next = if channel + 1 == *channels as u32 { 0 } else { channel + 1 };
            // SAFETY: the caller's obligations; channels of the table.
            let pairs = unsafe { [self.pair(channel), self.pair(next)] };
            P::by_pairs(self.operation, [unit], &OfTwo { pairs, here: *inner as u32 - passed })
        };
        result
    }

    /// The results for a unit whose elements have this channel and those behind it.
    ///
    /// # Safety
    /// A barrier separates this from what [kept](Self::keep) the pairs in shared memory, of which there is this channel's.
    #[inline(always)]
    pub unsafe fn compute_from<P: Pair>(self, unit: B16, channel: u32) -> B16 {
        let [result] = P::by_pairs(self.operation, [unit], &InRow::of(self.rows(), channel));
        result
    }

    /// The results for a unit of which `here` elements have the first channel, and the others the second.
    ///
    /// # Safety
    /// A barrier separates this from what [kept](Self::keep) the pairs in shared memory, of which there are both channels'.
    #[inline(always)]
    pub unsafe fn compute_of_two<P: Pair>(
        self,
        unit: B16,
        [first, second]: [u32; 2],
        here: u32,
    ) -> B16 {
        let kept = |channel| InRow::of(self.rows(), channel).bits(0);
        let pairs = OfTwo { pairs: [kept(first), kept(second)], here };
        let [result] = P::by_pairs(self.operation, [unit], &pairs);
        result
    }
}

/// Pairs that follow each other in shared memory.
struct InRow {
    /// The address of the first.
    first: u32,
}

impl InRow {
    /// Those from a channel's on, of rows that begin at an address.
    #[inline(always)]
    fn of(rows: u32, channel: u32) -> Self {
        let (row, place) = (channel / PAIRS_OF_ROW, channel % PAIRS_OF_ROW);
        InRow { first: rows + row * PAIR_ROW_BYTES + place * PAIR }
    }

    /// The `j`-th pair.
    #[inline(always)]
    fn bits(&self, j: u32) -> B16 {
        // SAFETY: a pair of a row, as many of which follow any channel's as a unit has elements: who made this has found its first.
        B16::from_u64s([unsafe { u64::load_shared(self.first + j * PAIR) }, 0])
    }
}

impl HeldPairs for InRow {
    #[inline(always)]
    fn of(&self, j: usize) -> [f32; 2] {
        f32::pair(self.bits(j as u32))
    }
}

/// The pair of a channel, of which a unit has the first `here` elements, and the pair of the channel behind it.
struct OfTwo {
    pairs: [B16; 2],
    here: u32,
}

impl HeldPairs for OfTwo {
    #[inline(always)]
    fn of(&self, j: usize) -> [f32; 2] {
        let [this, next] = self.pairs;
        f32::pair(if (j as u32) < self.here { this } else { next })
    }
}
