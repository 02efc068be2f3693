//! What moving word by word costs.

use super::of_width;
use kernel_abi::Width;

/// What moving word by word takes.
pub(in super::super) struct WordTally {
    /// Words.
    pub words: f64,
    /// Axes.
    pub axes: f64,
    /// Bytes of sectors of the source that a block loads for each word, beyond the word's own.
    pub src: f64,
    /// The same of the destination.
    pub dst: f64,
    /// Whether neighbouring words of the destination are within a sector of each other in the source.
    pub is_step: bool,
}

/// The weights of what is counted; of seeds 20 to 24.
struct Weights {
    /// Of a word of `words`.
    word: [f64; 5],
    /// Of a word of `words`, for each axis.
    axis: [f64; 5],
    /// Of a byte of a sector that `words` loads for a word beside it.
    beside: [f64; 5],
    /// The same, where neighbours are within a sector.
    beside_steps: [f64; 5],
}

const WEIGHTS: Weights = Weights {
    word: [2.7, 3.7, 6.8, 15.0, 30.0],
    axis: [1.75, 1.25, 0.7, 0.1, 0.3],
    beside: [0.4, 1.2, 1.6, 2.0, 2.4],
    beside_steps: [0.4, 0.9, 1.0, 1.0, 2.4],
};

/// What moving word by word costs.
pub(in super::super) fn cost_of_words(word: Width, tally: &WordTally) -> f64 {
    let (w, k) = (&WEIGHTS, of_width(word));
    let WordTally { words, axes, src, dst, is_step } = tally;
    let own = 2.0 * word.bytes() as f64;
    let issued = w.word[k] + w.axis[k] * axes;
    let beside = if *is_step { w.beside_steps[k] } else { w.beside[k] };
    words * (issued.max(own) + src * beside + 2.0 * dst)
}
