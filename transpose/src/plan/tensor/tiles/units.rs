//! How rows of a tile are loaded, and columns stored: by vectors, units of narrow words, or words.

use super::super::cuts::Placed;
use super::super::sectors::SECTOR;
use super::Overlap;
use crate::plan::problem::VECTOR;
use kernel_abi::tensor::Loading;

/// Bytes of narrow words that a lane loads or stores at a time, the largest first: a vector, if the destination's columns are whole ones, or a part.
pub(super) const UNITS: [usize; 3] = [VECTOR, 8, 4];

/// Narrow words have less bytes.
pub(super) const NARROW: usize = 4;

/// The largest units that rows or columns of narrow words all start and end on.
pub(super) fn units(word: usize, placed: &Placed) -> Option<usize> {
    let [tile, all] = [placed.cut.words, placed.cut.all].map(|words| words * word);
    let are_whole = |unit: &usize| (placed.aligned | tile | all).is_multiple_of(*unit);
    UNITS.into_iter().filter(|_| word < NARROW).find(are_whole)
}

/// Whether there are such units.
pub(super) fn is_in_units(word: usize, placed: &Placed) -> bool {
    placed.aligned < VECTOR && units(word, placed).is_some()
}

/// How many times as much tiles of narrow words cost whose rows have so few vectors, loaded in units or not, where not all words are loaded and stored by vectors.
pub(super) fn of_few_vectors(word: usize, row_vectors: usize, are_in_units: bool) -> f64 {
    /// A warp loads from many rows. (By 60 tiles of random moves, and more than those say, for the few that were chosen by less were up to 1.4 times as slow as others.)
    const IN_UNITS: [f64; 3] = [1.5, 1.3, 1.1];
    /// Of bytes half of the lanes, or all, have no next lane in their row, and load one vector after the other.
    const SLID: f64 = 1.25;
    match row_vectors {
        vectors @ 1..=3 if are_in_units => IN_UNITS[vectors - 1],
        1 | 2 if !are_in_units && word == 1 => SLID,
        _ => 1.0,
    }
}

/// How rows are loaded, perhaps by units.
pub(super) fn loading(word: usize, cols: &Placed, overlap: Overlap) -> Loading {
    // Kernels that compute, of which none overlap, load no units.
    let by_units = overlap == Overlap::Wanted;
    match units(word, cols) {
        _ if cols.aligned >= VECTOR => Loading::Vectors,
        _ if word >= NARROW => Loading::Words,
        Some(8) if by_units => Loading::Eights,
        Some(_) if by_units => Loading::Fours,
        _ => Loading::Slid,
    }
}

/// Whether rows of narrow words are loaded by vectors or in units.
pub(super) fn are_rows_in_units(word: usize, cols: &Placed, overlap: Overlap) -> bool {
    word < NARROW && loading(word, cols, overlap) != Loading::Slid
}

/// How many lanes store a column of so many words, as a power of two. Of narrow words a lane stores vectors, from a sector's start on, and finding a column
/// takes about as long as storing one. Of others as many as leave few idle: those that lanes store together are in nearly a sector more than they have bytes
/// for, as columns start anywhere, which with 8 lanes is twice as much to store.
pub(super) fn lanes(words: usize, word_bytes: usize) -> u64 {
    let cost = |lanes: u32| {
        if word_bytes < 4 {
            let vectors = (words * word_bytes + SECTOR).div_ceil(VECTOR);
            return (1 + vectors.div_ceil(1 << lanes)) << lanes;
        }
        // In quarters of a lane's store.
        const OF_SECTOR: usize = 7;
        let together = words.div_ceil(1 << lanes);
        4 * (together << lanes) + OF_SECTOR * together
    };
    // Of equals the first is taken, which has the most lanes.
    [5, 4, 3].into_iter().min_by_key(|&lanes| cost(lanes)).map_or(5, u64::from)
}

#[cfg(test)]
mod tests {
    use super::lanes;

    #[test]
    fn lanes_are_neither_idle_nor_in_many_sectors() {
        assert_eq!([504, 512, 36, 48].map(|words| lanes(words, 4)), [5, 5, 3, 4]);
        assert_eq!([32, 96, 512].map(|words| lanes(words, 2)), [3, 3, 3]);
    }
}
