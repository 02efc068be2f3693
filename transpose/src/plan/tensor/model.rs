//! What a move costs, counted before it is made, in bytes that the memory could have moved meanwhile.

use kernel_abi::Width;

/// Bytes of a sector.
pub(super) const SECTOR: usize = 32;

/// What moving in tiles takes.
pub(super) struct Tally {
    /// Bytes of sectors, on both sides.
    pub moved: f64,
    /// Stretches of memory: rows of all tiles, and columns.
    pub pieces: f64,
    /// Tiles.
    pub blocks: f64,
    /// Words that are accessed one by one, on each side.
    pub singles: f64,
}

/// The weights of what is counted. Those of pieces and blocks are from the speeds of seven shapes of tile in two axes (64 × 64 words of 4
/// bytes reach 0.949 of a copy, 128 × 32 0.914, 32 × 64 0.878), the others estimates.
#[derive(Clone, Copy, Debug)]
pub(super) struct Weights {
    /// What a stretch of memory costs beside its sectors.
    piece: f64,
    /// What a block costs beside what it moves: its start, and the time in which nothing hides its latencies.
    block: f64,
    /// What a lane's instruction costs: a chip that moves 4.3 TB/s issues 28 · 10¹² a second.
    instruction: f64,
    /// Instructions for each word of `words`, and more for each axis.
    word: [f64; 2],
    /// Instructions for each word of `tiles` that is accessed by itself, on one side.
    single: f64,
}

/// Those that plans are made by.
pub(super) const WEIGHTS: Weights =
    Weights { piece: 32.0, block: 1024.0, instruction: 0.15, word: [14.0, 11.0], single: 14.0 };

impl Weights {
    /// Moving `words` words one by one, along so many axes; each word of the source costs `src_bytes`.
    pub fn words(&self, word: Width, words: usize, axes: usize, src_bytes: f64) -> f64 {
        let moved = word.bytes() as f64 + src_bytes;
        let issued = (self.word[0] + self.word[1] * axes as f64) * self.instruction;
        words as f64 * moved.max(issued)
    }

    /// Moving in tiles.
    pub fn tiles(&self, Tally { moved, pieces, blocks, singles }: &Tally) -> f64 {
        let issued = singles * self.single * self.instruction;
        moved + pieces * self.piece + blocks * self.block + issued
    }
}

/// Bytes of the sectors that `bytes` bytes lie in which start on a multiple of `aligned`, in the mean.
pub(super) fn sectors(bytes: usize, aligned: usize) -> f64 {
    let aligned = aligned.min(SECTOR);
    (bytes.next_multiple_of(aligned) + SECTOR - aligned) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sectors_in_the_mean() {
        for aligned in [1, 2, 4, 8, 16, 32] {
            for bytes in (aligned..200).step_by(aligned) {
                let starts = (0..SECTOR).step_by(aligned);
                let touched = starts.clone().map(|start| (start + bytes).div_ceil(SECTOR) * SECTOR);
                let mean = touched.sum::<usize>() as f64 / starts.count() as f64;
                assert_eq!(sectors(bytes, aligned), mean, "{bytes} at {aligned}");
            }
        }
    }
}
