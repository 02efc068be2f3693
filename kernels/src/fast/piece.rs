//! The piece of the destination that a block stores where a matrix has few rows.
//!
//! `window` columns of the source are a piece of the destination, if its rows follow each other without a gap. The
//! piece starts on a sector, so up to a sector before its first column; its first and last tuple of `rows` elements may be
//! shared with the blocks beside it.

use super::past_sector;
use crate::element::Element;
use crate::matrices::Matrices;
use cuda_std::thread;

/// The columns of one block, and the piece of the destination that it stores.
pub struct Piece {
    /// Elements of the destination before the piece; negative in the first block.
    pub start: i64,
    /// The first column that has an element in the piece.
    pub first_col: u64,
    /// One past the last column that has.
    pub end_col: u64,
}

impl Piece {
    /// This block's piece; `None` if there is none left for it.
    ///
    /// `div_ceil` divides, rounding up. `wide` does that in 64 bits: with the shorter division the assembler finds
    /// it ten registers more, and at 38 instead of 28 it is slower by 5 %.
    #[inline(always)]
    pub fn new<E: Element>(
        matrices: &Matrices<E>,
        window: u32,
        div_ceil: impl Fn(u32, u64) -> u64,
    ) -> Option<Self> {
        let Matrices { dst, rows, cols, .. } = *matrices;
        let early = past_sector::<E>(dst as u64);
        let nominal = thread::block_idx_x() as u64 * window as u64;
        let piece = Piece {
            start: (nominal * rows) as i64 - early as i64,
            first_col: nominal.saturating_sub(div_ceil(early, rows)),
            end_col: (nominal + window as u64).min(cols),
        };
        (piece.first_col < cols).then_some(piece)
    }
}
