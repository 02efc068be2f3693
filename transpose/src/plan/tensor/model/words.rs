//! What moving word by word costs.

use super::super::sectors::LINE;
use kernel_abi::Width;

/// What moving word by word takes.
#[derive(Default)]
pub(in super::super) struct WordTally {
    /// Words.
    pub words: f64,
    /// Axes.
    pub axes: f64,
    /// For each word, lines of the source that a warp asks for.
    pub warp_lines: f64,
    /// For each word, lines of the source that a block asks for.
    pub block_lines: f64,
    /// Bytes of the source for each word, less than it has if the source is repeated.
    pub own: f64,
    /// Whether neighbouring threads load words in descending order.
    pub descends: bool,
    /// For each word, bytes of the source that memory reads, those included that it reads again.
    pub read: f64,
    /// For each word, bytes of the destination that memory writes.
    pub written: f64,
    /// What gaps of the destination cost.
    pub gaps: f64,
}

/// What a word costs to issue, and for each axis; what it costs to ask for a line, by a warp, which finds it in its multiprocessor's cache, and by a block, which finds it in the cache
/// that all share; for each byte of a word beside that; and a byte beside a word's own that memory reads, that lies in a block's lines, and that memory writes. (By 7000 moves of words of 1 to
/// 16 bytes, random and round, decision 094.)
const WORD: f64 = 1.8;
const AXIS: f64 = 2.3;
const LINE_OF_WARP: f64 = 7.0;
const LINE_OF_BLOCK: f64 = 24.0;
const ASKED: f64 = 1.0;
const READ: f64 = 0.8;
const IN_LINE: f64 = 0.08;
const WRITTEN: f64 = 0.6;

/// How many times as long it takes to load words of less than 8 bytes in descending order. (By pictures that are flipped, of 1 to 12 bytes an element: 1.06 to 1.25; decision 133.)
const DESCENDING: f64 = 1.1;

/// What moving word by word costs: what is waited for most of instructions, caches and memory, and a little more where another is waited for as long.
pub(in super::super) fn cost_of_words(word: Width, tally: &WordTally) -> f64 {
    let WordTally { words, axes, warp_lines, block_lines, own, descends, read, written, gaps } =
        tally;
    let bytes = word.bytes() as f64;
    let beside = |all: f64| (all - bytes).max(0.0);
    let issued = WORD + AXIS * axes;
    let asked = (warp_lines * LINE_OF_WARP).max(block_lines * LINE_OF_BLOCK) + own * ASKED;
    let in_line = beside(block_lines * LINE as f64) * IN_LINE;
    let moved = bytes + own + beside(*read) * READ + in_line + beside(*written) * WRITTEN;
    let all: f64 = [issued, asked, moved].into_iter().map(|waited: f64| waited.powi(6)).sum();
    let slower = if *descends && word.bytes() < 8 { DESCENDING } else { 1.0 };
    words * all.sqrt().cbrt() * slower + gaps
}
