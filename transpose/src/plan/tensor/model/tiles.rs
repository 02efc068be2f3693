//! What moving in tiles costs.

use super::of_width;
use crate::facts::Facts;
use kernel_abi::Width;

/// What moving in tiles takes.
#[derive(Default)]
pub(in super::super) struct Tally {
    /// Bytes of sectors, on both sides.
    pub moved: f64,
    /// Words.
    pub words: f64,
    /// Bytes of the words themselves, once.
    pub bytes: f64,
    /// Bytes of bursts that rows of tiles, and columns, lie in, beyond their own; of words of 2, 4 and 8 bytes.
    pub beside: [f64; 2],
    /// Bytes of gaps in the source that memory reads with what is beside them.
    pub gaps_read: f64,
    /// Narrow words that are loaded by vectors where not all are stored so, and rows of them, beside which is what other tiles load.
    pub whole: [f64; 2],
    /// Tiles.
    pub blocks: f64,
    /// Tiles, each divided by how many a multiprocessor has beside each other.
    pub shares: f64,
    /// Warps.
    pub warps: f64,
    /// Rows of all tiles.
    pub rows: f64,
    /// Columns of all tiles.
    pub cols: f64,
    /// Whether all words are loaded and stored by vectors.
    pub by_vectors: bool,
    /// Words that are loaded one by one, or by vectors that are slid between lanes, and rows of them.
    pub loaded: [f64; 2],
    /// Sectors that warps ask for more than once to do so: the rows of short ones have few words beside each other.
    pub asked_again: f64,
    /// Words that are stored so, and columns of them.
    pub stored: [f64; 2],
    /// Of those columns the ones that start and end inside sectors.
    pub ragged: f64,
    /// Narrow words that are stored by 4 bytes.
    pub in_units: f64,
    /// Columns that end inside a sector that another tile stores the rest of: of narrow words where they are not stored one by one, of others where they are far apart.
    pub joints: f64,
}

/// The weights of what is counted.
struct Weights {
    /// Of a byte of a sector, of a row and of a column of a tile, and of a tile, where all words are of 1 byte, loaded and stored by vectors. (By the speeds of 4000 tiles of
    /// 121 permutations, of the literature and random ones whose fastest axes are vectors, decision 083: what is so chosen has 0.988 of the fastest tile's speed in the mean.)
    by_vectors: [f64; 4],
    /// The same of 4- and 8-byte words.
    four_by_vectors: FourByVectors,
    /// The same where words are vectors, and nothing is transposed in registers. (By 475 tiles of random moves, all ways; of 134 others they tell the time to 0.099,
    /// the root of the mean of the squares of its logarithm, where weights by 90 moves told it to 0.122, decision 071.)
    wide_by_vectors: [f64; 4],
    /// What tiles of 2-byte words cost where all are loaded and stored by vectors.
    two_by_vectors: TwoByVectors,
    /// What tiles of words of 1, 2, 4 and 8 bytes cost where not all are.
    by_words: [ByWords; 4],
    /// Of a column that shares a sector with another tile's, where all words are of 1 byte, loaded and stored by vectors, by the 4000 tiles; and where they are of 2 bytes.
    shared_by_vectors: [f64; 2],
}

/// What tiles cost where not all words are loaded and stored by vectors. (Of narrow words by 3400 tiles of random moves on an H200, decision 096: near the fastest way of a move they tell the time to 0.12
/// and 0.10, the root of the mean of the squares of its logarithm. What a byte of a sector of 4- and 8-byte words costs, and of a burst beside, by 5150 tiles of 1700 moves, decision 090.)
struct ByWords {
    /// Of a byte of a sector.
    moved: f64,
    /// Of a byte of a burst beside a row, or a column: another tile moves it.
    beside: [f64; 2],
    /// Of a byte of the source's gaps that memory reads.
    gaps_read: f64,
    /// Of a row and of a column of a tile.
    line: [f64; 2],
    /// Of a word that is loaded by vectors beside what others load, less than of others, and of a row of them. (By 144 tiles of 24 matrices, decision 100.)
    whole: [f64; 2],
    /// Of a word that is loaded by itself, or by a vector that is slid between lanes, and of a row of them; and of a sector that is asked for again.
    loaded: [f64; 2],
    asked_again: f64,
    /// Of a word that is stored so, or in a unit, and of a column of those that are not stored in units.
    stored: [f64; 2],
    /// What such a column costs more if it starts and ends inside sectors.
    ragged: f64,
    /// Of a column that shares a sector with another tile's.
    joint: f64,
    /// Of a warp.
    warp: f64,
    /// Of a tile that has a multiprocessor for itself: it loads, waits for all of its threads, and stores. Of several beside each other each has a part of that.
    share: f64,
}

impl ByWords {
    /// What costs nothing: most of these words leave some of it out.
    const NOTHING: Self = ByWords {
        moved: 0.0,
        beside: [0.0; 2],
        gaps_read: 0.0,
        line: [0.0; 2],
        whole: [0.0; 2],
        loaded: [0.0; 2],
        asked_again: 0.0,
        stored: [0.0; 2],
        ragged: 0.0,
        joint: 0.0,
        warp: 0.0,
        share: 0.0,
    };

    fn cost(&self, tally: &Tally) -> f64 {
        let Tally { moved, beside, warps, shares, rows, cols, loaded, stored, .. } = tally;
        moved * self.moved
            + beside[0] * self.beside[0]
            + beside[1] * self.beside[1]
            + tally.gaps_read * self.gaps_read
            + rows * self.line[0]
            + cols * self.line[1]
            + tally.whole[0] * self.whole[0]
            + tally.whole[1] * self.whole[1]
            + loaded[0] * self.loaded[0]
            + loaded[1] * self.loaded[1]
            + tally.asked_again * self.asked_again
            + (stored[0] + tally.in_units) * self.stored[0]
            + stored[1] * self.stored[1]
            + tally.ragged * self.ragged
            + warps * self.warp
            + shares * self.share
    }
}

/// What is told of tiles of such words where not all are loaded and stored by vectors: words of 16 bytes always are.
fn by_words(word: Width) -> &'static ByWords {
    &WEIGHTS.by_words[of_width(word).min(3)]
}

/// What tiles of 4- and 8-byte words cost where all are loaded and stored by vectors. (By the speeds of 3034 tiles of the permutations of the literature, decision
/// 062: those that fill a multiprocessor with warps, idle in no lane, are the fastest. What is beside rows and columns is by 6600 tiles more, some across axes, decision 076; what a column and a block cost
/// by 1780 of random moves, decision 098.)
struct FourByVectors {
    /// Of a byte of a sector.
    moved: f64,
    /// Of a row and of a column of a tile.
    line: [f64; 2],
    /// Of a byte of a burst beside a row, or a column: another tile moves it.
    beside: [f64; 2],
    /// Of a warp.
    warp: f64,
    /// Of a block, if it has a multiprocessor for itself; of several beside each other each has a part of that.
    block: f64,
    /// Of a byte that is moved: what warps and blocks cost at least is in the first of these already.
    least: f64,
}

/// Words of a row or column of vectors, of words of 2 to 8 bytes, shorter ones of which cost as much for each word: their vectors are asked for by lanes that would ask for others of a longer one. (By
/// 500 tiles of 2 to 8 rows or columns, which took 0.5 to 0.95 of the time that was said, decision 095.)
const SHORT: f64 = 16.0;

/// Warps of `tiles` that a multiprocessor has registers for.
const RESIDENT_WARPS: usize = 48;

/// Blocks that it can have beside each other, at most.
pub(in super::super) const MOST_BESIDE: usize = 32;

/// Bytes of shared memory that a block takes beside what it asks for.
pub(in super::super) const TAKEN: usize = 1 << 10;

/// How many blocks a multiprocessor has beside each other, if there are enough of them, each of `warps` warps and `shared` bytes of shared memory.
pub(in super::super) fn beside_each_other(warps: usize, shared: usize, facts: &Facts) -> usize {
    let of_shared = facts.multiprocessor_shared / (shared + TAKEN);
    (RESIDENT_WARPS / warps.max(1)).min(of_shared).clamp(1, MOST_BESIDE)
}

/// Warps of a block of `tiles`, at most.
const MOST_WARPS: usize = 16;

impl FourByVectors {
    /// What a block of so many warps costs.
    const BLOCKS: [f64; 1 + MOST_WARPS] = {
        let FourByVectors { warp, block, .. } = WEIGHTS.four_by_vectors;
        let mut blocks = [0.0; 1 + MOST_WARPS];
        let mut warps = 1;
        while warps <= MOST_WARPS {
            blocks[warps] = warps as f64 * warp + block / (RESIDENT_WARPS / warps) as f64;
            warps += 1;
        }
        blocks
    };

    fn cost(&self, tally: &Tally) -> f64 {
        let Tally { moved, words, bytes, beside, blocks, warps, rows, cols, .. } = tally;
        let of_block = Self::BLOCKS[(warps / blocks.max(1.0)) as usize];
        let lines = |lines: &f64| lines.min(words / SHORT);
        moved * self.moved
            + lines(rows) * self.line[0]
            + lines(cols) * self.line[1]
            + beside[0] * self.beside[0]
            + beside[1] * self.beside[1]
            + blocks * of_block
            - bytes * self.least
    }
}

/// What tiles of 2-byte words cost where all are loaded and stored by vectors. (By 4700 tiles, decision 076.)
struct TwoByVectors {
    /// Of a byte of a sector.
    moved: f64,
    /// Of a row or a column of a tile, and of a tile.
    line: f64,
    tile: f64,
    /// Of a byte of a burst beside a row, or a column.
    beside: [f64; 2],
    /// Of a byte that is moved: what is beside at least as a rule.
    least: f64,
}

impl TwoByVectors {
    fn cost(&self, tally: &Tally) -> f64 {
        let Tally { moved, words, bytes, beside, blocks, rows, cols, .. } = tally;
        let lines = |lines: &f64| lines.min(words / SHORT);
        moved * self.moved
            + (lines(rows) + lines(cols)) * self.line
            + blocks * self.tile
            + beside[0] * self.beside[0]
            + beside[1] * self.beside[1]
            - bytes * self.least
    }
}

/// Whether words are of 4 or 8 bytes, whose tiles of vectors cost what [`FourByVectors`] says.
pub(in super::super) fn are_fours(word: Width) -> bool {
    matches!(word, Width::B4 | Width::B8)
}

/// Whether it counts how much of bursts tiles have, and whether they go across axes: what was measured.
pub(in super::super) fn have_bursts(word: Width) -> bool {
    matches!(word, Width::B2 | Width::B4 | Width::B8)
}

/// What is the same of all tiles of vectors.
pub(in super::super) fn same_of_tiles(word: Width, bytes: f64) -> f64 {
    let least = match word {
        Width::B2 => WEIGHTS.two_by_vectors.least,
        Width::B4 | Width::B8 => WEIGHTS.four_by_vectors.least,
        Width::B1 | Width::B16 => 0.0,
    };
    -bytes * least
}

const WEIGHTS: Weights = Weights {
    by_vectors: [0.88, 17.5, 17.5, 150.0],
    four_by_vectors: FourByVectors {
        moved: 0.97,
        line: [5.1, 12.0],
        beside: [0.12, 0.06],
        warp: 1250.0,
        block: 10_000.0,
        least: 0.815,
    },
    wide_by_vectors: [0.94, 10.0, 10.0, 200.0],
    two_by_vectors: TwoByVectors {
        moved: 0.828,
        line: 18.0,
        tile: 848.0,
        beside: [0.09, 0.036],
        least: 0.135,
    },
    by_words: [
        ByWords {
            moved: 0.55,
            gaps_read: 1.0,
            whole: [-0.55, 50.0],
            loaded: [0.1, 12.0],
            stored: [0.0, 88.0],
            ragged: 72.0,
            joint: 82.0,
            share: 63_000.0,
            ..ByWords::NOTHING
        },
        ByWords {
            moved: 0.58,
            gaps_read: 0.82,
            line: [0.0, 50.0],
            whole: [-0.5, 38.0],
            loaded: [0.15, 9.0],
            stored: [0.3, 0.0],
            ragged: 74.0,
            joint: 15.0,
            share: 52_000.0,
            ..ByWords::NOTHING
        },
        ByWords {
            moved: 0.82,
            beside: [0.092, 0.0],
            line: [3.0, 5.0],
            loaded: [0.1, 0.0],
            asked_again: 0.8,
            stored: [0.6, 42.0],
            joint: 138.0,
            warp: 200.0,
            ..ByWords::NOTHING
        },
        ByWords {
            moved: 0.85,
            beside: [0.103, 0.038],
            line: [1.0, 10.0],
            asked_again: 1.0,
            stored: [0.6, 24.0],
            joint: 75.0,
            warp: 120.0,
            ..ByWords::NOTHING
        },
    ],
    shared_by_vectors: [25.0, 70.0],
};

/// What moving in tiles costs.
pub(in super::super) fn cost_of_tiles(word: Width, tally: &Tally) -> f64 {
    let Tally { moved, by_vectors, stored: [stored, _], joints, .. } = tally;
    let are_joined = *stored == 0.0 || are_fours(word);
    let joined = if are_joined { joints * cost_of_joint(word, *by_vectors) } else { 0.0 };
    at_least(word, cost_of_part(word, tally, *by_vectors), *moved, *by_vectors) + joined
}

/// What a column costs that shares a sector with another tile's, where all words are loaded and stored by vectors or not. (Of words of 4 bytes and more nothing is counted where they are.)
#[inline]
pub(in super::super) fn cost_of_joint(word: Width, vectors: bool) -> f64 {
    match word {
        Width::B1 | Width::B2 if vectors => WEIGHTS.shared_by_vectors[of_width(word)],
        _ => by_words(word).joint,
    }
}

/// Tiles of words of 4 bytes and more were seen to be that much faster than a copy.
pub(super) const FASTEST: f64 = 0.95;

/// The part that counts of what tiles would cost less than they cost at least, so that of those which cost alike the one is taken that has the most room for what is not counted.
/// (By 2976 tiles of 2-byte words, decision 076.)
const OF_ROOM: f64 = 0.02;

/// What tiles cost that are priced at `cost` and move `moved` bytes of sectors: the price of the sectors at least, less the part `OF_ROOM` of what the price stays below them.
#[inline]
pub(in super::super) fn at_least(word: Width, cost: f64, moved: f64, vectors: bool) -> f64 {
    let least = if vectors && word.bytes() >= 4 { moved * FASTEST } else { moved };
    let room = if vectors && word != Width::B16 { (least - cost).max(0.0) } else { 0.0 };
    cost.max(least) - room * OF_ROOM
}

/// What a part of what moving in tiles takes costs, at least, where all is vectors or not.
#[inline]
pub(in super::super) fn cost_of_part(word: Width, tally: &Tally, vectors: bool) -> f64 {
    let Tally { moved, blocks, rows, cols, .. } = tally;
    if !vectors {
        return by_words(word).cost(tally);
    }
    if are_fours(word) {
        return WEIGHTS.four_by_vectors.cost(tally);
    }
    if word == Width::B2 {
        return WEIGHTS.two_by_vectors.cost(tally);
    }
    let [byte, row, col, tile] = by_vectors(word);
    moved * byte + rows * row + cols * col + blocks * tile
}

/// What a tile of so many warps costs, `beside_each_other` of which a multiprocessor has, beside what it moves.
#[inline]
pub(in super::super) fn cost_of_block(
    word: Width,
    warps: usize,
    beside_each_other: usize,
    vectors: bool,
) -> f64 {
    if !vectors {
        let ByWords { warp, share, .. } = by_words(word);
        return warps as f64 * warp + share / beside_each_other as f64;
    }
    match word {
        Width::B2 => WEIGHTS.two_by_vectors.tile,
        Width::B4 | Width::B8 => FourByVectors::BLOCKS[warps],
        Width::B1 | Width::B16 => by_vectors(word)[3],
    }
}

/// How many rows, or columns, of all tiles are paid for, of `count` that have `words` words altogether: rows of 4 to 6 words of 16 bytes are no dearer for each word than rows of 6.25. (By matrices of 4 to 7
/// rows, which tiles move as fast as longer ones, and of two and three rows, which most tiles do not.)
pub(in super::super) fn lines(word: Width, count: f64, words: f64) -> f64 {
    const SHORT: f64 = 6.25;
    if word == Width::B16 && words >= 4.0 * count { count.min(words / SHORT) } else { count }
}

/// Of a byte of a sector, of a row or a column of a tile, and of a tile, where all are loaded and stored by vectors.
fn by_vectors(word: Width) -> [f64; 4] {
    if word == Width::B16 { WEIGHTS.wide_by_vectors } else { WEIGHTS.by_vectors }
}
