//! What moving in tiles costs.

use super::of_width;
use kernel_abi::Width;
use kernel_abi::fast::WARP;
use kernel_abi::tensor::TileShape;

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
    /// Tiles.
    pub blocks: f64,
    /// Warps.
    pub warps: f64,
    /// Rows of all tiles.
    pub rows: f64,
    /// Columns of all tiles.
    pub cols: f64,
    /// Words that are loaded one by one, or in units.
    pub loaded: f64,
    /// Whether rows of narrow words are loaded by vectors or in units, and none is slid between lanes.
    pub rows_in_units: bool,
    /// Sectors that warps ask for more than once to do so: the rows of short ones have few words beside each other.
    pub asked_again: f64,
    /// Words that are stored one by one, and columns of them.
    pub stored: [f64; 2],
    /// Of those columns of narrow words the ones that start and end inside sectors.
    pub ragged: f64,
    /// Narrow words that are stored by 4 bytes.
    pub in_units: f64,
    /// Columns that end inside a sector that another tile stores the rest of: of narrow words where they are not stored one by one, of others where they are far apart.
    pub joints: f64,
}

/// The weights of what is counted; of seeds 1 to 4, but for what says otherwise.
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
    /// What narrow words take of what follows since their rows are slid between lanes, and their columns stored by vectors. (By 90 tiles of random moves.)
    narrow_slid: [f64; 5],
    /// Of a byte of a sector, where tiles move it.
    moved: [f64; 5],
    /// Of a byte of a burst beside a row, and a column, where not all is vectors: another tile moves it. (As is what a byte of a sector of 4- and 8-byte words costs, by 5150
    /// tiles of 1700 moves, decision 090.)
    beside: [[f64; 2]; 5],
    /// Of a warp of `tiles`, and of one that loads rows of narrow words in units or by vectors, for which loading takes nothing else.
    warp: [f64; 5],
    warp_of_units: f64,
    /// Of a row of a tile.
    row: [f64; 5],
    /// Of a column of a tile, and of a narrow one that is stored in units or by vectors, whatever else costs, where not all is vectors.
    col: [f64; 5],
    col_in_units: [f64; 5],
    /// Of a word that `tiles` loads by itself, or stores so; and of a sector that is asked for again.
    loaded: [f64; 5],
    asked_again: [f64; 5],
    stored: [f64; 5],
    /// Of a column of such, and what it costs more if it is ragged. (Of narrow words by 1044 tiles of random moves, as are
    /// their warps and what is stored; decision 088.)
    stored_col: [f64; 5],
    ragged: [f64; 5],
    /// Of a narrow word that is stored with others, by 4 bytes. (By seven layouts of images; of 2 bytes by units of 8 bytes too, decision 067.)
    in_units: [f64; 5],
    /// Of a column that shares a sector with another tile's: of narrow words by four of the permutations of the literature, of 4 and 8 bytes by the tiles that `beside` is by; and of one of 1-byte words
    /// where all are loaded and stored by vectors, by the 4000 tiles.
    shared_sector: [f64; 5],
    shared_by_vectors: f64,
}

/// What tiles of 4- and 8-byte words cost where all are loaded and stored by vectors. (By the speeds of 3034 tiles of the permutations of the literature, decision
/// 062: those that fill a multiprocessor with warps, idle in no lane, are the fastest. What is beside rows and columns is by 6600 tiles more, some across axes, decision 076.)
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

/// What a tile of such words and so many micro-blocks costs, beside what it moves; `None` if that is too many.
#[inline]
pub(in super::super) fn cost_of_block_of_fours(word: Width, micro_blocks: usize) -> Option<f64> {
    let of_warp = TileShape::of(word).micro_blocks as usize * WARP as usize;
    let warps = (micro_blocks + of_warp - 1) >> of_warp.trailing_zeros();
    FourByVectors::BLOCKS.get(warps).copied()
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
        line: [5.1, 9.2],
        beside: [0.12, 0.06],
        warp: 1250.0,
        block: 25_000.0,
        least: 0.96,
    },
    wide_by_vectors: [0.94, 10.0, 10.0, 200.0],
    two_by_vectors: TwoByVectors {
        moved: 0.828,
        line: 18.0,
        tile: 848.0,
        beside: [0.09, 0.036],
        least: 0.135,
    },
    narrow_slid: [0.80, 0.90, 1.0, 1.0, 1.0],
    moved: [0.56, 0.60, 0.82, 0.85, 0.95],
    beside: [[0.0; 2], [0.0; 2], [0.092, 0.0], [0.103, 0.038], [0.0; 2]],
    warp: [1300.0, 1800.0, 200.0, 120.0, 110.0],
    warp_of_units: 200.0,
    row: [5.7, 5.0, 3.0, 1.0, 5.0],
    col: [26.0, 5.0, 5.0, 10.0, 3.0],
    col_in_units: [10.0, 10.0, 0.0, 0.0, 0.0],
    loaded: [0.17, 0.25, 0.1, 0.0, 0.0],
    asked_again: [0.0, 0.0, 0.8, 1.0, 0.0],
    stored: [1.3, 1.3, 0.6, 0.6, 0.0],
    stored_col: [100.0, 60.0, 42.0, 24.0, 0.0],
    ragged: [110.0, 40.0, 0.0, 0.0, 0.0],
    in_units: [0.6, 0.8, 0.0, 0.0, 0.0],
    shared_sector: [70.0, 70.0, 138.0, 75.0, 0.0],
    shared_by_vectors: 25.0,
};

/// What moving in tiles costs.
pub(in super::super) fn cost_of_tiles(word: Width, tally: &Tally) -> f64 {
    let Tally { moved, cols, loaded, stored: [stored, _], in_units, joints, .. } = tally;
    let vectors = loaded + stored + in_units == 0.0;
    let are_joined = *stored == 0.0 || are_fours(word);
    let joined = if are_joined { joints * cost_of_joint(word, vectors) } else { 0.0 };
    let in_units =
        if vectors || *stored > 0.0 { 0.0 } else { cols * WEIGHTS.col_in_units[of_width(word)] };
    at_least(word, cost_of_part(word, tally, vectors), *moved, vectors) + joined + in_units
}

/// What a column costs that shares a sector with another tile's, where all words are loaded and stored by vectors or not.
#[inline]
pub(in super::super) fn cost_of_joint(word: Width, vectors: bool) -> f64 {
    match word {
        Width::B1 if vectors => WEIGHTS.shared_by_vectors,
        _ => WEIGHTS.shared_sector[of_width(word)],
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
    let (w, k) = (&WEIGHTS, of_width(word));
    let Tally {
        moved,
        blocks,
        warps,
        rows,
        cols,
        loaded,
        rows_in_units,
        asked_again,
        stored: [stored, stored_cols],
        ragged,
        in_units,
        joints: _,
        words: _,
        bytes: _,
        beside,
    } = tally;
    if vectors && are_fours(word) {
        return w.four_by_vectors.cost(tally);
    }
    if vectors {
        if word == Width::B2 {
            return w.two_by_vectors.cost(tally);
        }
        let [byte, row, col, tile] = by_vectors(word);
        return moved * byte + rows * row + cols * col + blocks * tile;
    }
    let (warp, of_loaded) =
        if *rows_in_units { (w.warp_of_units, 0.0) } else { (w.warp[k], w.loaded[k]) };
    let cost = moved * w.moved[k]
        + beside[0] * w.beside[k][0]
        + beside[1] * w.beside[k][1]
        + warps * warp
        + rows * w.row[k]
        + cols * w.col[k]
        + loaded * of_loaded
        + asked_again * w.asked_again[k]
        + stored * w.stored[k]
        + stored_cols * w.stored_col[k]
        + ragged * w.ragged[k]
        + in_units * w.in_units[k];
    cost * w.narrow_slid[k]
}

/// What a tile of a warp costs at least, beside what it moves.
pub(in super::super) fn cost_of_block(word: Width, vectors: bool, rows_in_units: bool) -> f64 {
    let block = Tally { blocks: 1.0, warps: 1.0, rows_in_units, ..Tally::default() };
    cost_of_part(word, &block, vectors)
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
