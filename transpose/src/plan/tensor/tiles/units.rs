//! How rows of a tile are loaded, and columns stored: by vectors, units of narrow words, or words.

use super::super::cuts::Placed;
use super::Kernel;
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

/// How many times as much tiles of narrow words cost whose rows are loaded by vectors or in units, where not all words are loaded and stored by vectors, and have so few vectors of what lies together in the source:
/// what is beside them is moved by other tiles, most likely at another time, and read again. (By 60 tiles of random moves, and more than those say, for the few that were chosen by less were up to twice as slow as
/// others.)
pub(super) fn of_few_vectors(word: usize, words: usize) -> f64 {
    const VECTORS: [f64; 3] = [1.5, 1.3, 1.1];
    match words.saturating_mul(word).div_ceil(VECTOR) {
        vectors @ 1..=3 => VECTORS[vectors - 1],
        _ => 1.0,
    }
}

/// How rows are loaded, perhaps by units.
pub(super) fn loading(word: usize, cols: &Placed, kernel: Kernel) -> Loading {
    // Kernels that compute load no units.
    let by_units = kernel == Kernel::Moving;
    match units(word, cols) {
        _ if cols.aligned >= VECTOR => Loading::Vectors,
        _ if word >= NARROW => Loading::Words,
        Some(8) if by_units => Loading::Eights,
        Some(_) if by_units => Loading::Fours,
        _ => Loading::Slid,
    }
}

/// Whether rows of narrow words are loaded by vectors or in units.
pub(super) fn are_rows_in_units(word: usize, cols: &Placed, kernel: Kernel) -> bool {
    word < NARROW && loading(word, cols, kernel) != Loading::Slid
}

/// How many lanes store a column of narrow words by vectors that start anywhere in it. Finding a column takes nearly as long as storing a vector of it: of many vectors a lane stores several,
/// but no fewer lanes than store a line of the cache.
pub(super) fn lanes_of_vectors(bytes: usize) -> usize {
    /// What finding a column takes, and storing a vector: instructions of a lane.
    const COLUMN: usize = 35;
    const EACH: usize = 45;
    /// Lanes that store a line of the cache, and vectors that a lane stores, at most.
    const LINE: usize = 8;
    const MOST: usize = 9;
    let vectors = (bytes / VECTOR).max(1);
    let cost = |lanes: &usize| lanes * (COLUMN + EACH * vectors.div_ceil(*lanes));
    let fewer = (2..=MOST).map(|each| vectors.div_ceil(each)).filter(|&lanes| lanes >= LINE);
    fewer.chain([vectors]).min_by_key(cost).unwrap_or(vectors)
}

/// How many lanes store a column of so many words of 4 bytes and more, as a power of two: as many as leave few lanes idle. Columns start anywhere, so the words that a group of lanes stores at a
/// time touch nearly a sector more than they fill: with 8 lanes that is twice as much to store.
pub(super) fn lanes(words: usize) -> u64 {
    let cost = |lanes: u32| {
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
    use super::{lanes, lanes_of_vectors};

    #[test]
    fn lanes_are_neither_idle_nor_in_many_sectors() {
        assert_eq!([504, 512, 36, 48].map(lanes), [5, 5, 3, 4]);
        assert_eq!([5, 61, 224, 255, 320, 512].map(lanes_of_vectors), [1, 3, 14, 8, 10, 8]);
    }
}
