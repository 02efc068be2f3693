//! Rows that tiles load once more, so that they meet on sectors of the destination, or on units of one whose elements are computed.

use super::super::cuts::Placed;
use super::super::sectors::SECTOR;
use super::Kernel;
use super::units::{NARROW, is_in_units};

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

    /// At least `least` rows before these, if columns are [long enough](Self::with); none where tiles have all of their run, or have few rows.
    pub(super) fn of(least: usize, word: usize, rows: &Placed, kernel: Kernel) -> Self {
        /// How many times as many rows there are at least as early ones, and of narrow words.
        const RARE: usize = 7;
        const NARROW_RARE: usize = 4;
        let cut = &rows.cut;
        let by_units = || kernel == Kernel::Moving && is_in_units(word, rows);
        // Tiles across axes start on bursts.
        let may_be = least > 0 && cut.tiles > 1 && !cut.is_across();
        if !may_be || rows.aligned >= kernel.stored_by(word) || by_units() {
            return Early::default();
        }
        let of_index = cut.words / cut.indices;
        let indices = least.div_ceil(of_index);
        let rare = if word < NARROW { NARROW_RARE } else { RARE };
        if indices * rare > cut.indices {
            return Early::default();
        }
        Early { rows: indices * of_index, indices }
    }

    /// These, if tiles of such columns have them: none where they have little of what lies together in the source, for those are faster without.
    pub(super) fn with(self, word: usize, cols: &Placed, kernel: Kernel) -> Self {
        /// Bytes of a row, at least, and of one of narrow words.
        const ROW: usize = 3 * SECTOR;
        const NARROW_ROW: usize = 2 * SECTOR;
        /// Bytes of a row that is computed: a unit has fewer rows than a sector. (By 226 arrays of random shapes, decision 113.)
        const COMPUTED_ROW: usize = SECTOR;
        let row = match kernel {
            Kernel::Moving if word < NARROW => NARROW_ROW,
            Kernel::Moving => ROW,
            Kernel::Computing { .. } => COMPUTED_ROW,
        };
        if cols.cut.words * word >= row { self } else { Early::default() }
    }
}
