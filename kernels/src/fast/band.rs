//! The band that a block moves where a matrix has few rows: some columns of the source.
//!
//! In the destination a band is contiguous memory, if its rows follow each other without a gap. It is stored from a
//! sector's start on, so up to a sector before its first column; its first and last column may be shared with the blocks
//! beside it.

use super::past_sector;
use crate::element::Element;
use crate::matrices::Matrices;
use cuda_std::thread;

/// The columns of one block, and where what it stores begins in the destination.
pub struct Band {
    /// Elements of the destination before what the block stores; negative in the first block.
    pub start: i64,
    /// The first column that has an element in what the block stores.
    pub first_col: u64,
    /// One past the last column that has.
    pub end_col: u64,
}

impl Band {
    /// This block's band of `band_cols` columns; `None` if there is none left for it.
    ///
    /// `div_ceil` divides, rounding up. `wide` does that in 64 bits: with the shorter division the assembler finds
    /// it ten registers more, and at 38 instead of 28 it is slower by 5 %.
    #[inline(always)]
    pub fn new<E: Element>(
        matrices: &Matrices<E>,
        band_cols: u32,
        div_ceil: impl Fn(u32, u64) -> u64,
    ) -> Option<Self> {
        let Matrices { dst, rows, cols, .. } = *matrices;
        let early = past_sector::<E>(dst as u64);
        let nominal = thread::block_idx_x() as u64 * band_cols as u64;
        let band = Band {
            start: (nominal * rows) as i64 - early as i64,
            first_col: nominal.saturating_sub(div_ceil(early, rows)),
            end_col: (nominal + band_cols as u64).min(cols),
        };
        (band.first_col < cols).then_some(band)
    }
}
