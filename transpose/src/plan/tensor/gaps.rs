//! Gaps in the destination: sectors that the move has only a part of, and whose rest nothing is stored to.
//!
//! A GPU's L2 cache keeps such a sector as a part, and reads the rest of it when it gives the sector up. That is slow where sectors beside it are stored
//! as a whole: kernels that fetch the sector first, all together, were twice as fast (decision 042).

use super::canonical::Canonical;
use super::sectors::{SECTOR, sectors_in_part};
use super::side::Side;

/// What gaps in the destination cost.
pub(super) struct Gaps {
    /// Sectors that have gaps beside what is stored, of the whole move.
    pub sectors: f64,
    /// Whether kernels are to fetch them: where rows are far apart and shorter than two sectors there is no other sector for them to delay.
    pub fetch: bool,
    /// Whether there are gaps, and what lies between them is short.
    pub has_short_rows: bool,
}

/// Bytes of a row below which gaps are most of what it costs.
const SHORT: usize = 400;

impl Gaps {
    /// Those of a move.
    pub fn of(canonical: &Canonical) -> Self {
        let [_, Side { together, aligned, pitch, .. }] = canonical.sides;
        let word = canonical.word_bytes();
        let pitch = pitch.saturating_mul(word);
        let bytes = together * word;
        let in_part = if pitch == usize::MAX { 0.0 } else { sectors_in_part(bytes, aligned) };
        // One sector may have the end of a row and the start of the next.
        let of_row = if pitch - bytes < SECTOR { in_part.min(1.0) } else { in_part };
        let is_dense = bytes >= 2 * SECTOR || 2 * bytes >= pitch;
        let has_short_rows = in_part > 0.0 && bytes < SHORT;
        Gaps {
            sectors: canonical.words() as f64 / together as f64 * of_row,
            has_short_rows,
            fetch: in_part > 0.0 && is_dense,
        }
    }
}
