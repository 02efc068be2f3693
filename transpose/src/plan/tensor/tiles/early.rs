//! Rows that tiles load once more, so that they meet on sectors of the destination, or on units of one whose elements are computed.

use super::super::cuts::Placed;
use super::super::sectors::SECTOR;
use super::Kernel;
use super::units::is_in_units;

/// Rows that tiles but the first of a run have before their own, so that none but the first and the last has parts of what tiles meet on.
#[derive(Clone, Copy, Default)]
pub(super) struct Early {
    pub(super) rows: usize,
    /// Indices of the run's slowest axis that these are.
    pub(super) indices: usize,
}

impl Early {
    /// A sector's or a unit's: one more than may lie in it before another word, so that tiles have whole groups of rows. None where columns start on what they are stored by; of units of two, whose parts are
    /// one element, none either.
    pub(super) fn least(word: usize, aligned: usize, kernel: Kernel) -> usize {
        match kernel {
            _ if aligned >= kernel.stored_by(word) => 0,
            Kernel::Moving => SECTOR / word,
            Kernel::Computing { unit } if unit > 2 => unit,
            Kernel::Computing { .. } => 0,
        }
    }

    /// At least `least` rows; none where tiles have all of their run, or little of what lies together in the source: those are faster without.
    pub(super) fn of(
        least: usize,
        word: usize,
        rows: &Placed,
        cols: &Placed,
        kernel: Kernel,
    ) -> Self {
        /// Bytes of a row, at least.
        const ROW: usize = 3 * SECTOR;
        /// How many times as many rows there are at least as early ones.
        const RARE: usize = 7;
        /// Bytes of a row of narrow words, and how many times as many rows there are, at least.
        const NARROW_ROW: usize = 2 * SECTOR;
        const NARROW_RARE: usize = 4;
        /// Bytes of a row that is computed: a unit has fewer rows than a sector. (By 226 arrays of random shapes, decision 113.)
        const COMPUTED_ROW: usize = SECTOR;
        let (row, rare) = if word < 4 { (NARROW_ROW, NARROW_RARE) } else { (ROW, RARE) };
        let row = if kernel == Kernel::Moving { row } else { COMPUTED_ROW };
        let cut = &rows.cut;
        let by_units = kernel == Kernel::Moving && is_in_units(word, rows);
        let are_parts = cut.tiles > 1 && rows.aligned < kernel.stored_by(word) && !by_units;
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
