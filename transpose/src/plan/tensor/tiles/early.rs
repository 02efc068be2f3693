//! Rows that tiles load once more, so that they meet on sectors of the destination.

use super::super::cuts::Placed;
use super::super::sectors::SECTOR;
use super::Overlap;
use super::units::is_in_units;
use crate::plan::problem::VECTOR;

/// Rows that tiles but the first of a run have before their own, so that tiles meet where sectors of the destination do.
#[derive(Clone, Copy, Default)]
pub(super) struct Early {
    pub(super) rows: usize,
    /// Indices of the run's slowest axis that these are.
    pub(super) indices: usize,
}

impl Early {
    /// A sector's: one more than may lie in it before another word, so that tiles have whole groups of rows. None where columns start on vectors, which are
    /// stored as such.
    pub(super) fn least(word: usize, aligned: usize, overlap: Overlap) -> usize {
        let serves = overlap == Overlap::Wanted && aligned < VECTOR;
        if serves { SECTOR / word } else { 0 }
    }

    /// At least `least` rows; none where tiles have all of their run, or little of what lies together in the source: those are faster without.
    pub(super) fn of(least: usize, word: usize, rows: &Placed, cols: &Placed) -> Self {
        /// Bytes of a row, at least.
        const ROW: usize = 3 * SECTOR;
        /// How many times as many rows there are at least as early ones.
        const RARE: usize = 7;
        /// Bytes of a row of narrow words, and how many times as many rows there are, at least.
        const NARROW_ROW: usize = 2 * SECTOR;
        const NARROW_RARE: usize = 4;
        let (row, rare) = if word < 4 { (NARROW_ROW, NARROW_RARE) } else { (ROW, RARE) };
        let cut = &rows.cut;
        let are_parts = cut.tiles > 1 && rows.aligned < VECTOR && !is_in_units(word, rows);
        let serves = are_parts && cols.cut.words * word >= row;
        // Tiles across axes start on bursts.
        if least == 0 || !serves || cut.is_across() {
            return Early::default();
        }
        let indices = least.div_ceil(cut.words / cut.indices);
        if indices * rare > cut.indices {
            return Early::default();
        }
        Early { rows: indices * (cut.words / cut.indices), indices }
    }
}
