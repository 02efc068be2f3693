//! What is known of rows and columns by themselves, and what tiles of both cost at least.

use super::super::canonical::{Axis, Canonical};
use super::super::cuts::{Cut, Placed};
use super::super::gaps::Gaps;
use super::super::model::{
    MOST_BESIDE, Tally, are_fours, at_least, beside_each_other, cost_of_block, cost_of_joint,
    cost_of_part, have_bursts, lines, same_of_tiles,
};
use super::super::sectors::{BURST, SECTOR, bursts, float, sectors_of_one};
use super::Kernel;
use super::MOST_SHARED;
use super::early::Early;
use super::joints::joints;
use super::size::{ALL_BANKS, FEW_THREADS};
use super::units::{NARROW, are_rows_in_units, is_in_units, of_few_vectors};
use crate::facts::Facts;
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
    /// Whether it is loaded in units of narrow words, or by vectors; of rows whether it is stored in such units.
    pub(super) in_units: bool,
    /// Of rows those before them, if columns are long enough.
    pub(super) early: Early,
    /// Of columns the sectors of a row that warps ask for beyond those that it lies in: of words for which that counts.
    pub(super) asked_again: f64,
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
    pub(super) fn rows(
        word: Width,
        words: f64,
        placed: Placed,
        early: usize,
        kernel: Kernel,
    ) -> Self {
        let Placed { cut, aligned, nearest, .. } = &placed;
        let each = placed.sectors(word.bytes());
        let early = Early::of(early, word.bytes(), &placed, kernel);
        let once = || sectors_of_one(cut.all, *nearest, word.bytes(), *aligned);
        let each_least = if early.rows > 0 { each.min(once()) } else { each };
        let in_units = is_in_units(word.bytes(), &placed);
        let mut moved = Self::of(word, words, placed, each, each_least);
        (moved.in_units, moved.early) = (in_units, early);
        moved
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
        if are_fours(word) && moved.placed.aligned < VECTOR {
            moved.asked_again = asked_again(word, moved.placed.cut.words);
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
            early: Early::default(),
            asked_again: 0.0,
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
        let singly = if placed.aligned < VECTOR && !in_units { [words, lines] } else { [0.0; 2] };
        match part {
            Part::Rows => {
                let (stored, beside) = (singly, [0.0, beside]);
                let in_units = if in_units { words } else { 0.0 };
                let ragged = if self.early.rows > 0 { 0.0 } else { singly[1] };
                let least = Tally { moved, words, beside, cols: lines, ..Tally::default() };
                Tally { stored, in_units, ragged, ..least }
            }
            Part::Cols => {
                let (loaded, beside) = (singly, [beside, 0.0]);
                let whole =
                    if are_whole_parts(word.bytes(), placed) { [words, lines] } else { [0.0; 2] };
                let asked_again = lines * self.asked_again;
                let least = Tally { moved, words, beside, rows: lines, ..Tally::default() };
                Tally { loaded, whole, asked_again, ..least }
            }
        }
    }
}

/// Sectors of a row of so many words that warps ask for beyond those that it lies in, where the words of a thread's vector are as far apart as a row has vectors.
fn asked_again(word: Width, words: usize) -> f64 {
    let vector = TileShape::vector(word) as usize;
    // A power of two.
    let beside = (words + vector - 1) >> vector.trailing_zeros();
    let times = words.div_ceil(beside).min(vector);
    let of = |words: usize| (words * word.bytes() + SECTOR - word.bytes()) as f64 / SECTOR as f64;
    (times as f64 * of(beside) - of(words)).max(0.0)
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
    facts: &'a Facts,
    kernel: Kernel,
    /// What gaps cost.
    of_gaps: f64,
    /// What all tiles cost alike: where all are vectors, and where not.
    same: [f64; 2],
    /// What tiles cost at least beside their rows and columns.
    beside: [f64; 2],
    /// The most words that a tile may have, and those of the move.
    words: usize,
    all: f64,
}

impl<'a> Least<'a> {
    pub(super) fn of(
        canonical: &'a Canonical,
        facts: &'a Facts,
        kernel: Kernel,
        gaps: &Gaps,
        of_gaps: f64,
    ) -> Self {
        let (word, words) = (canonical.word, canonical.words() as f64);
        let TileShape { block_rows, micro_blocks } = TileShape::of(word);
        let of_thread = micro_blocks * block_rows * TileShape::vector(word);
        let threads = if gaps.are_all { FEW_THREADS } else { TileShape::most_threads(word) };
        let threads = (threads * of_thread) as usize;
        let same = [same_of_tiles(word, words * word.bytes() as f64), 0.0];
        let most = threads.min(MOST_SHARED / word.bytes());
        // All words are in tiles, which have no more than they can have.
        let least = |vectors: bool| {
            let of_warp = f64::from(of_thread * WARP);
            let of_tile = if vectors && are_fours(word) { of_warp } else { most as f64 };
            words * cost_of_block(word, 1, MOST_BESIDE, vectors) / of_tile
        };
        let beside = [same[0] + least(true), same[1] + least(false)];
        Least { canonical, facts, kernel, of_gaps, same, beside, words: most, all: words }
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
        self.of_pair(rows, cols, parts, vectors).filter(|&cost| cost < limit)
    }

    /// That of rows and columns which have room, and of which `parts` is known; `None` if a block would be too large.
    #[inline(never)]
    fn of_pair(&self, rows: &Moved, cols: &Moved, parts: f64, vectors: bool) -> Option<f64> {
        let kind = usize::from(!vectors);
        let blocks = self.all * rows.tiles * cols.tiles;
        let cost = parts + self.block(rows, cols, vectors)? * blocks + self.same[kind];
        let cost = at_least(self.canonical.word, cost, rows.moved + cols.moved, vectors);
        let cost = self.of_gaps + if vectors { cost } else { cost * cols.few };
        Some(cost + self.joined(rows, cols, vectors))
    }

    /// What a block of such rows and columns costs at least, beside what it moves, unless it would be too large. A [size](super::size::Size) counts early rows and tables, too.
    #[inline]
    fn block(&self, rows: &Moved, cols: &Moved, vectors: bool) -> Option<f64> {
        let word = self.canonical.word;
        let (vector, shape) = (TileShape::vector(word) as usize, TileShape::of(word));
        // A vector's rows are whole micro-blocks.
        let micro_blocks = rows.vectors * cols.vectors * (vector / shape.block_rows as usize);
        let of_warp = (shape.micro_blocks * WARP) as usize;
        let warps = (micro_blocks + of_warp - 1) >> of_warp.trailing_zeros();
        if warps > (TileShape::most_threads(word) / WARP) as usize {
            return None;
        }
        if vectors || word.bytes() >= NARROW {
            return Some(cost_of_block(word, warps, MOST_BESIDE, vectors));
        }
        // Their columns are turned.
        let column = (rows.vectors * VECTOR).next_multiple_of(ALL_BANKS);
        let shared = cols.vectors * vector * column;
        if shared > MOST_SHARED {
            return None;
        }
        let beside = beside_each_other(warps, shared, self.facts);
        Some(cost_of_block(word, warps, beside, vectors))
    }

    /// What columns cost that share sectors with those of other tiles: of narrow words those of vectors, of others those that are not.
    #[inline]
    fn joined(&self, rows: &Moved, cols: &Moved, vectors: bool) -> f64 {
        let word = self.canonical.word;
        let is_counted = vectors == (word.bytes() < NARROW);
        if !is_counted || rows.early.with(word.bytes(), &cols.placed, self.kernel).rows > 0 {
            return 0.0;
        }
        let joints = joints(self.canonical, &rows.placed, &cols.placed, rows.lines);
        joints * cost_of_joint(word, vectors)
    }
}
