//! What is known of rows and columns by themselves, and what tiles of both cost at least.

use super::super::canonical::{Axis, Canonical};
use super::super::cuts::{Cut, Placed};
use super::super::gaps::Gaps;
use super::super::model::{
    Tally, are_fours, at_least, cost_of_block, cost_of_block_of_fours, cost_of_joint, cost_of_part,
    have_bursts, lines, same_of_tiles,
};
use super::super::sectors::{BURST, bursts, float, sectors_of_one};
use super::Kernel;
use super::MOST_SHARED;
use super::joints::joints;
use super::size::FEW_THREADS;
use super::units::{NARROW, are_rows_in_units, is_in_units, of_few_vectors};
use crate::plan::problem::VECTOR;
use kernel_abi::Width;
use kernel_abi::fast::WARP;
use kernel_abi::tensor::TileShape;

/// Bytes of stretches of 4- and 8-byte words up to which it counts what of a burst the tile has beside them. Longer ones cost as much whatever it has. (By 392 moves of round lengths
/// and 315 permutations, decision 086.)
const SHORT: usize = 64;

/// A cut that is tried, and what of it is the same whatever it is tried with.
pub(super) struct Moved {
    pub(super) placed: Placed,
    /// Bytes of sectors that tiles move for one stretch of it.
    pub(super) each: f64,
    /// The least that it can be for all.
    pub(super) moved: f64,
    /// Of tiles that are cut so the rows' columns that are paid for, or the columns' rows.
    lines: f64,
    /// What that costs, and what else there is of it: where all are vectors, and where not; infinite where that cannot be.
    pub(super) costs: [f64; 2],
    /// Tiles for each of its words.
    pub(super) tiles: f64,
    /// Vectors of a tile's part of it.
    pub(super) vectors: usize,
    /// Whether it is loaded in units of narrow words, or by vectors.
    in_units: bool,
    /// How many times as much tiles of so few vectors cost at least, where not all are vectors.
    few: f64,
    /// Bytes of bursts beside it, for all: of words for which that counts.
    pub(super) beside: f64,
    /// Whether some of those may be of the same tile: of short stretches behind which memory goes on.
    shares_bursts: bool,
    /// Whether they are columns that go with no rows but whole bursts.
    pub(super) are_near: bool,
}

/// What of a tile a cut is.
#[derive(Clone, Copy)]
pub(super) enum Part {
    Rows,
    Cols,
}

impl Moved {
    /// Rows, perhaps with others before them so that sectors are stored once.
    #[inline(always)]
    pub(super) fn rows(word: Width, words: f64, placed: Placed, early: usize) -> Self {
        let Placed { cut, aligned, nearest, .. } = &placed;
        let each = placed.sectors(word.bytes());
        let once = || sectors_of_one(cut.all, *nearest, word.bytes(), *aligned);
        let each_least = if early > 0 { each.min(once()) } else { each };
        Self::of(word, words, placed, each, each_least)
    }

    /// Columns. Those across axes of which the slowest has its indices `near` each other in the destination go with no rows but whole bursts: a burst that two rows of tiles have
    /// parts of would be stored at different times. (By five permutations that lost 0.017 to 0.053 of a copy, decision 076.)
    #[inline(always)]
    pub(super) fn cols(
        word: Width,
        words: f64,
        placed: Placed,
        kernel: Kernel,
        near: isize,
    ) -> Self {
        /// Bytes.
        const NEAR: usize = 32 << 10;
        let in_units = are_rows_in_units(word.bytes(), &placed, kernel);
        let are_near = placed.cut.is_across() && near.unsigned_abs() * word.bytes() < NEAR;
        let each = placed.sectors(word.bytes());
        let mut moved = Self::of(word, words, placed, each, each);
        (moved.in_units, moved.are_near) = (in_units, are_near);
        if in_units && moved.placed.cut.tiles > 1 {
            moved.few = of_few_vectors(word.bytes(), moved.placed.cut.words);
        }
        moved
    }

    #[inline(always)]
    fn of(word: Width, words: f64, placed: Placed, each: f64, each_least: f64) -> Self {
        let cut = &placed.cut;
        let all = words / float(cut.all);
        let lines = lines(word, all * float(cut.tiles), words);
        let beside = beside_in_bursts(word, &placed, all);
        let shares_bursts = are_fours(word) && placed.goes_on() && cut.all * word.bytes() <= SHORT;
        let vectors = (cut.words * word.bytes()).div_ceil(VECTOR);
        let (moved, tiles) = (all * each_least, float(cut.tiles) / float(cut.all));
        let (costs, in_units, are_near) = ([f64::INFINITY; 2], false, false);
        Moved {
            placed,
            each,
            moved,
            lines,
            costs,
            tiles,
            vectors,
            in_units,
            few: 1.0,
            beside,
            shares_bursts,
            are_near,
        }
    }

    /// Says what all of these cost: as vectors those that are, and all by words unless none of a move needs that.
    pub(super) fn price(all: &mut [Self], part: Part, word: Width, words: f64, by_words: bool) {
        for moved in all {
            let least = moved.tally(part, word, words);
            if moved.placed.aligned >= VECTOR {
                moved.costs[0] = cost_of_part(word, &least, true);
            }
            if by_words {
                moved.costs[1] = cost_of_part(word, &least, false);
            }
        }
    }

    /// What is counted of it.
    #[inline(always)]
    fn tally(&self, part: Part, word: Width, words: f64) -> Tally {
        let Moved { ref placed, moved, lines, in_units, .. } = *self;
        let beside = if self.shares_bursts { 0.0 } else { self.beside };
        let by_words = placed.aligned < VECTOR;
        match part {
            Part::Rows => {
                let in_units = is_in_units(word.bytes(), placed);
                let stored = if by_words && !in_units { [words, lines] } else { [0.0; 2] };
                let in_units = if in_units { words } else { 0.0 };
                let beside = [0.0, beside];
                Tally { moved, words, beside, cols: lines, stored, in_units, ..Tally::default() }
            }
            Part::Cols => {
                let loaded = if by_words && !in_units { [words, lines] } else { [0.0; 2] };
                let whole =
                    if are_whole_parts(word.bytes(), placed) { [words, lines] } else { [0.0; 2] };
                let beside = [beside, 0.0];
                Tally { moved, words, beside, rows: lines, loaded, whole, ..Tally::default() }
            }
        }
    }
}

/// Bytes of bursts beside all of a cut that goes with `other` of the other side: beside what lies together of both, where it is short itself. `stride` is that of its side.
#[inline(never)] // It would take a program 2 KB for each side.
pub(super) fn beside_both(
    canonical: &Canonical,
    moved: &Moved,
    other: &Cut,
    stride: fn(&Axis) -> isize,
) -> f64 {
    if !moved.shares_bursts {
        return moved.beside;
    }
    let words = moved.placed.together(canonical.axes(), stride, other);
    let bytes = words * canonical.word_bytes();
    // What lies together starts on a multiple of its bytes, most likely.
    let starts = BURST.min(1 << bytes.trailing_zeros());
    let each = float(bursts(bytes, starts) - bytes);
    (canonical.words() as f64 / words as f64 * each).min(moved.beside)
}

/// Bytes of bursts beside the parts of a cut, for `all` of the runs that are cut.
pub(super) fn beside_in_bursts(word: Width, placed: &Placed, all: f64) -> f64 {
    if have_bursts(word) { all * placed.beside_in_bursts(word.bytes()) } else { 0.0 }
}

/// Whether rows of tiles of such columns are loaded by vectors of narrow words, and have beside them what other tiles load.
pub(super) fn are_whole_parts(word_bytes: usize, cols: &Placed) -> bool {
    word_bytes < NARROW && cols.aligned >= VECTOR && cols.cut.tiles > 1
}

/// What tiles cost at least.
pub(super) struct Least<'a> {
    canonical: &'a Canonical,
    /// What gaps cost.
    of_gaps: f64,
    /// What a block does beside what it moves, for each word of the move: where all are vectors, and where not.
    blocks: [f64; 2],
    /// Words of the move, if they are such that a block of vectors costs more the more warps it has.
    fours: Option<f64>,
    /// What all tiles cost alike: where all are vectors, and where not.
    same: [f64; 2],
    /// What tiles cost at least beside their rows and columns.
    beside: [f64; 2],
    /// The most words that a tile may have.
    words: usize,
}

impl<'a> Least<'a> {
    pub(super) fn of(canonical: &'a Canonical, gaps: &Gaps, of_gaps: f64) -> Self {
        let (word, words) = (canonical.word, canonical.words() as f64);
        let TileShape { block_rows, micro_blocks } = TileShape::of(word);
        let of_thread = micro_blocks * block_rows * TileShape::vector(word);
        let threads = if gaps.are_all { FEW_THREADS } else { TileShape::most_threads(word) };
        let threads = (threads * of_thread) as usize;
        let blocks = [true, false].map(|vectors| words * cost_of_block(word, vectors));
        let fours = are_fours(word).then_some(words);
        let same = [same_of_tiles(word, words * word.bytes() as f64), 0.0];
        let most = threads.min(MOST_SHARED / word.bytes());
        // All words are in tiles, which have no more than they can have.
        let least = |kind: usize| match (fours, cost_of_block_of_fours(word, 1), kind) {
            (Some(words), Some(warp), 0) => words * warp / f64::from(of_thread * WARP),
            _ => blocks[kind] / most as f64,
        };
        let beside = [0, 1].map(|kind| same[kind] + least(kind));
        Least { canonical, of_gaps, blocks, fours, same, beside, words: most }
    }

    /// Whether a tile has room for so many rows and columns.
    #[inline]
    pub(super) fn fit(&self, rows: &Moved, cols: &Moved) -> bool {
        rows.placed.cut.words * cols.placed.cut.words <= self.words
    }

    /// Whether there can be tiles of such rows and columns.
    #[inline]
    fn have_room(&self, rows: &Moved, cols: &Moved) -> bool {
        let are_apart = rows.placed.cut.bits & cols.placed.cut.bits == 0;
        are_apart && self.fit(rows, cols) && !(cols.are_near && rows.beside > 0.0)
    }

    /// Whether tiles of such rows, and of columns that cost no less than these, may cost less than a `limit`.
    #[inline]
    pub(super) fn may_be_below(&self, rows: &Moved, of_cols: [f64; 2], limit: f64) -> bool {
        let cost =
            |kind: usize| self.of_gaps + (rows.costs[kind] + of_cols[kind] + self.beside[kind]);
        cost(0).min(cost(1)) < limit
    }

    /// That of such rows and columns, if it is less than a `limit` and there can be such tiles.
    #[inline]
    pub(super) fn below(&self, rows: &Moved, cols: &Moved, limit: f64) -> Option<f64> {
        let vectors = rows.placed.aligned.min(cols.placed.aligned) >= VECTOR;
        let kind = usize::from(!vectors);
        let parts = rows.costs[kind] + cols.costs[kind];
        // Of most nothing else need be known, not even whether they have room.
        if self.of_gaps + (parts + self.beside[kind]) >= limit || !self.have_room(rows, cols) {
            return None;
        }
        let block = match self.fours {
            // A micro-block is a vector of as many rows as it has words.
            Some(words) if vectors => {
                words * cost_of_block_of_fours(self.canonical.word, rows.vectors * cols.vectors)?
            }
            _ => self.blocks[kind],
        };
        let cost = parts + block * rows.tiles * cols.tiles + self.same[kind];
        let cost = at_least(self.canonical.word, cost, rows.moved + cols.moved, vectors);
        let cost = if vectors { cost + self.joined(rows, cols) } else { cost * cols.few };
        Some(self.of_gaps + cost).filter(|&cost| cost < limit)
    }

    /// What columns of vectors cost that share sectors with those of other tiles.
    #[inline]
    fn joined(&self, rows: &Moved, cols: &Moved) -> f64 {
        let word = self.canonical.word;
        if word.bytes() >= NARROW {
            return 0.0;
        }
        joints(self.canonical, &rows.placed, &cols.placed, rows.lines) * cost_of_joint(word, true)
    }
}
