//! What a move costs, counted before it is made, in bytes that the memory could have moved meanwhile.
//!
//! What a way takes is counted, a *tally*, and each of its counts has a weight. Weights are near the least squares of the relative errors over the ways of random moves, as an H200 timed
//! them (`compare --sweep SEED --candidates`), rounded between fits of several seeds; where they are of other measurements they say so. Those of words of 1, 2, 4, 8 and 16 bytes are in
//! tables, in this order.
//!
//! | file | what it prices |
//! |---|---|
//! | `tiles` | tiles |
//! | `boxes` | boxes, and those that are stored in pieces |
//! | `words` | single words |
//! | `runs` | stretches that lie together on both sides |
//! | `matrices` | the kernels of matrices |
//! | `gaps` | sectors of the destination that a move has a part of |

mod boxes;
mod gaps;
mod matrices;
mod runs;
mod tiles;
mod words;

use super::canonical::Canonical;
use super::sectors::sectors_of_one;
use super::side::Side;
use crate::facts::Facts;
pub(super) use boxes::{BoxTally, cost_of_boxes};
pub(super) use gaps::{
    ALONE, NOT_FETCHED, are_alone, are_far, cost_of_gaps, cost_of_gaps_by_words, of_gap_in_boxes,
    scattered,
};
use kernel_abi::Width;
pub(super) use matrices::{cost_of_matrix, if_poor};
pub(super) use runs::{RunTally, cost_of_computed_runs, cost_of_computed_units, cost_of_runs};
pub(super) use tiles::{
    MOST_BESIDE, TAKEN, Tally, are_fours, at_least, beside_each_other, cost_of_block,
    cost_of_joint, cost_of_part, cost_of_tiles, have_bursts, lines, same_of_tiles,
};
pub(super) use words::{WordTally, cost_of_words};

/// The place of a word's size in tables.
fn of_width(word: Width) -> usize {
    word.bytes().trailing_zeros() as usize
}

/// Blocks of a multiprocessor from which on it does not matter how many others have: those that are done take what is left.
const MANY: f64 = 8.0;

/// How many times as long it takes where so few blocks leave multiprocessors idle, or some with one block more than others.
pub(super) fn idle(blocks: f64, facts: &Facts) -> f64 {
    idle_beside(blocks, facts, 0.0)
}

/// How many times as long boxes take of which there are so few: a block loads and then stores, and of few that a multiprocessor has none stores while another loads. (Of 1000 moves of 0.5 to 8 MB what is
/// taken has 0.960 of the fastest way's speed with half a block's time on top, 0.956 without; decision 094.)
pub(super) fn idle_in_boxes(blocks: f64, facts: &Facts) -> f64 {
    idle_beside(blocks, facts, 0.5)
}

/// How many times as long so few blocks take, if the part `alone` of a block's time is spent while its multiprocessor has no other block at work.
fn idle_beside(blocks: f64, facts: &Facts, alone: f64) -> f64 {
    let each = blocks.max(1.0) / facts.multiprocessors as f64;
    if each < MANY { (each.ceil() + alone * (1.0 - each / MANY)) / each } else { 1.0 }
}

/// The part of what tiles cost otherwise that those of a repeated source do, which the cache has after it was read once. (By 100 moves of 1 to 24 bytes an element, decision 134.)
pub(super) fn of_repeated(canonical: &Canonical) -> f64 {
    /// What is left of it where each word is moved many times.
    const STORED: [f64; 5] = [0.8, 0.7, 0.6, 0.6, 0.6];
    let stored = STORED[of_width(canonical.word)];
    stored + (1.0 - stored) / canonical.repeated() as f64
}

/// What a launch costs, and a copy's, whatever they move: on an H200 small ones take 2.4 µs after one another, in which a large copy moves so many bytes.
pub(super) const LATENCY: f64 = 1e7;

/// Of fewer bytes the time is a launch's latency, whichever way they go.
pub(super) const SMALL: usize = 128 << 10;

/// Whether a move takes its launches' latency and no longer.
pub(super) fn is_small(canonical: &Canonical) -> bool {
    canonical.words() * canonical.word_bytes() < SMALL
}

/// What tiles and boxes of small moves cost beyond single words and what kernels of matrices move: they fill tables before anything is stored, and words find in
/// the cache what they ask for again. (By half of 2500 random moves of 128 KiB to 9 MiB on an H200, decision 063.)
pub(super) const TILES_LATE: f64 = 5e6;
pub(super) const BOXES_LATE: f64 = 10e6;

/// What such latency costs a move: the less the larger it is, and nothing where it is part of what all of its blocks cost.
pub(super) fn late(canonical: &Canonical, latency: f64) -> f64 {
    let bytes = (canonical.words() * canonical.word_bytes()) as f64;
    latency * (1.0 - bytes / LARGE as f64).max(0.0)
}

/// Bytes of a move from which on no way is late.
const LARGE: usize = 16 << 20;

/// Whether a move is so large that no way of it is late.
pub(super) fn is_large(canonical: &Canonical) -> bool {
    canonical.words() * canonical.word_bytes() >= LARGE
}

/// The fraction of a copy's speed at such a cost, with the latency of the launches and the copy's own.
pub(super) fn expected(canonical: &Canonical, cost: f64, launches: usize) -> f64 {
    let copied = 2.0 * (canonical.words() * canonical.word_bytes()) as f64;
    let moved = if is_small(canonical) { copied } else { cost };
    (copied + LATENCY) / (moved + LATENCY * launches as f64)
}

/// Bytes of the sectors that have words of the move, on both sides.
pub(super) fn fewest_sectors(canonical: &Canonical) -> f64 {
    let words = canonical.words() as f64;
    let [from, to] = canonical.sides();
    let side = |side: &Side, words: f64| {
        let Side { together, aligned, pitch, .. } = *side;
        words / together as f64 * sectors_of_one(together, pitch, canonical.word_bytes(), aligned)
    };
    side(from, words / canonical.repeated() as f64) + side(to, words)
}

/// What tiles and boxes cost at least, whatever their shape: both move every word's sectors on both sides, of words of the source that are repeated once.
pub(super) fn least_of_words(canonical: &Canonical) -> f64 {
    /// Less than what either is priced at for each byte, by more than rounding.
    const LEAST: f64 = 0.92;
    const { assert!(LEAST < tiles::FASTEST && LEAST < boxes::BEST) };
    let read = canonical.words() / canonical.repeated();
    ((canonical.words() + read) * canonical.word_bytes()) as f64 * LEAST
}
