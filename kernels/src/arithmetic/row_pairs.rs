//! Pairs of channels that the rows of a tile have, a factor and a summand each, in shared memory: every column needs all of them, and loaded for each number they would be most of what is loaded.
//!
//! Elements of a unit are rows that follow each other, and neighbouring lanes have units that do. Lanes load a pair for the first of their elements, then one for the second, and so on: pairs of rows
//! that are a unit apart. Those lie together, so that lanes meet in no bank:
//!
//! ```text
//! pair of row r at (r mod unit) · rows / unit + r / unit
//! ```

use super::operation::HeldPairs;
use super::real::Real;
use crate::element::{Element, B16};
use crate::opaque::opaque;

/// Bytes of a pair.
pub const PAIR: u32 = 8;

/// Where the pairs of `rows` rows are, which units of so many elements are of.
#[derive(Clone, Copy)]
pub struct RowPairs {
    /// The address of the first, a multiple of 8.
    pub base: u32,
    /// Rows that there are pairs of, a multiple of a unit's elements.
    pub rows: u32,
    /// Elements of a unit.
    pub unit: u32,
}

impl RowPairs {
    /// Where the pair of a row is.
    #[inline(always)]
    fn address(self, row: u32) -> u32 {
        self.base + (row % self.unit * (self.rows / self.unit) + row / self.unit) * PAIR
    }

    /// Keeps the pair of a row, which no other thread keeps.
    ///
    /// # Safety
    /// The memory is the block's, and there is one for each row.
    #[inline(always)]
    pub unsafe fn keep(self, row: u32, pair: B16) {
        // SAFETY: the caller's obligations.
        unsafe { pair.u64s()[0].store_shared(self.address(row)) };
    }

    /// Those of elements that are rows from `first` on.
    ///
    /// # Safety
    /// A barrier separates this from what kept them; there are rows for the elements that are asked for.
    #[inline(always)]
    pub unsafe fn of_elements(self, first: u32) -> OfElements {
        OfElements { pairs: self, first }
    }
}

/// The pairs of elements.
pub struct OfElements {
    pairs: RowPairs,
    first: u32,
}

impl HeldPairs for OfElements {
    #[inline(always)]
    fn of(&self, j: usize) -> [f32; 2] {
        // Else addresses would be found once for all columns, and held.
        let row = opaque(self.first) + j as u32;
        // SAFETY: a pair that was kept: who made this said so.
        let pair = unsafe { u64::load_shared(self.pairs.address(row)) };
        f32::pair(B16::from_u64s([pair, 0]))
    }
}
