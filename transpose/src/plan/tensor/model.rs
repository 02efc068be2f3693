//! What a move costs, counted before it is made, in bytes that the memory could have moved meanwhile.

use super::canonical::Canonical;
use super::gaps::Gaps;
use super::sectors::sectors_of_one;
use super::side::Side;
use crate::facts::Facts;
use crate::launch::Launch;
use crate::plan::fast::Tuning;
use crate::plan::problem::Problem;
use kernel_abi::Width;
use kernel_abi::fast::WARP;
use kernel_abi::tensor::TileShape;

/// What moving in tiles takes.
#[derive(Default)]
pub(super) struct Tally {
    /// Bytes of sectors, on both sides.
    pub moved: f64,
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
    /// Columns of narrow words that end inside a sector that another tile stores the rest of, where they are not stored one by one.
    pub joints: f64,
}

/// What moving in boxes takes.
pub(super) struct BoxTally {
    /// Bytes of sectors, on both sides, those that two boxes have parts of once for each.
    pub moved: f64,
    /// Sectors of the destination that a box stores a part of, and nothing else of the box's lies in.
    pub in_part: f64,
    /// Stretches of the source that start or end inside the 64 bytes that memory reads at a time.
    pub uneven: f64,
    /// Boxes.
    pub boxes: f64,
    /// Bytes of shared memory of a block.
    pub shared: f64,
    /// Of a box, instructions that warps issue to load it.
    pub loaded: f64,
    /// Of a box, instructions that warps issue to store it, but for ends.
    pub gathered: f64,
    /// Of a box, stretches of the destination that start or end inside a unit.
    pub ends: f64,
    /// Of a box, how many times its stretches of the destination go on inside a sector, at another time.
    pub joints: f64,
    /// Of a box, the entries of its tables, those of several boxes of a block once.
    pub entries: f64,
    /// Of a box, its stretches of the source, and of the destination.
    pub stretches: [f64; 2],
    /// Whether rows of the destination are short, and have gaps behind them.
    pub has_short_rows: bool,
    /// What each of the sectors stored in part costs, if gaps make that more.
    pub of_gap: Option<f64>,
    /// To what degree, from 0 to 1, these are narrow words and far apart.
    pub far_rows: f64,
}

/// What moving word by word takes.
pub(super) struct WordTally {
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

/// What moving runs takes that lie together on both sides.
pub(super) struct RunTally {
    /// Bytes of the sectors that blocks' words lie in, on both sides.
    pub moved: f64,
    /// Runs.
    pub runs: f64,
    /// What gaps cost that are fetched.
    pub gaps: f64,
}

/// The weights of what is counted, in bytes that a copy could have moved meanwhile: of words of 1, 2, 4, 8 and 16 bytes. They are
/// near the least squares of the relative errors over the ways of random moves, as an H200 timed them (`compare --sweep 1 --candidates`, to 4), rounded
/// between two fits: of seeds 1 and 2, and of seeds 3 and 4; those of boxes are of seeds 22 and 24, of narrow words by 1280 boxes of 295 random moves (decision 073), and those of single words of 20 to 24.
struct Weights {
    /// Of a byte of a sector, of a row or a column of a tile, and of a tile, where all words are of 1 byte, loaded and stored by vectors. (Not by random moves, of
    /// which few are like that, but by the speeds of seven shapes of tile: of 64 × 64, 128 × 32 and 32 × 64 words of 4 bytes the first is fastest. So
    /// chosen, tiles of the 57 permutations of the literature reach 0.93 of a copy in the mean for 1 byte, where the others choose ones of 0.89.)
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
    /// Of a column of such, and what it costs more if it is ragged. (Of narrow words by 1600 tiles of random moves, decision 082.)
    stored_col: [f64; 5],
    ragged: [f64; 5],
    /// Of a narrow word that is stored with others, by 4 bytes. (By seven layouts of images; of 2 bytes by units of 8 bytes too, decision 067.)
    in_units: [f64; 5],
    /// Of a column of narrow words that shares a sector with another tile's. (By four of the permutations of the literature.)
    shared_sector: f64,
    /// Of a word of `words`.
    word: [f64; 5],
    /// Of a word of `words`, for each axis.
    axis: [f64; 5],
    /// Of a byte of a sector that `runs` moves, of a run, and of what gaps cost. (By 263 random moves of runs of 69 bytes to 10 MB, decision 079; of wider words there are none.)
    run_moved: [f64; 3],
    run: [f64; 3],
    run_gaps: [f64; 3],
    /// Of a byte of a sector that `words` loads for a word beside it.
    beside: [f64; 5],
    /// The same, where neighbours are within a sector.
    beside_steps: [f64; 5],
    /// Of a byte of a sector, where boxes move it, and more of it for each 16 KiB of shared memory above the first, or 24 of narrow words.
    box_moved: [f64; 5],
    box_crowded: [f64; 5],
    /// More of it for each 16 KiB of shared memory above the first where a box has [many](many) stretches of the destination. (By 12,000 ways of 840 random moves, boxes of
    /// which are at 0.97 of the time that the rest says where they have fewer, whatever their size, and at 0.93 to 1.05, the larger the slower, where they have many; decision 082.)
    box_many: [f64; 5],
    /// Of the same byte, for each 8 KiB of shared memory above the first, or 16 of narrow words, where short rows have gaps behind them: the more a block moves, the longer it
    /// takes from when it has such sectors fetched to when it stores them. (By boxes of 6 to 32 KiB side by side, on an H200.)
    box_gaps: [f64; 5],
    /// Of a sector that a box stores a part of: it is loaded, changed, and stored again.
    in_part: [f64; 5],
    /// Of a stretch of the source that is uneven.
    uneven: [f64; 5],
    /// Of a box.
    box_: [f64; 5],
    /// Of an instruction that loads or stores a box.
    load: [f64; 5],
    gather: [f64; 5],
    /// Of a stretch that starts or ends inside a unit.
    end: [f64; 5],
    /// Of a sector of a box that is stored in two parts.
    joint: [f64; 5],
    /// Of an entry of a box's tables.
    entry: [f64; 5],
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
        let Tally { moved, bytes, beside, blocks, warps, rows, cols, .. } = tally;
        let of_block = Self::BLOCKS[(warps / blocks.max(1.0)) as usize];
        moved * self.moved
            + rows * self.line[0]
            + cols * self.line[1]
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
        let Tally { moved, bytes, beside, blocks, rows, cols, .. } = tally;
        moved * self.moved
            + (rows + cols) * self.line
            + blocks * self.tile
            + beside[0] * self.beside[0]
            + beside[1] * self.beside[1]
            - bytes * self.least
    }
}

/// Whether words are of 4 or 8 bytes, whose tiles of vectors cost what [`FourByVectors`] says.
pub(super) fn are_fours(word: Width) -> bool {
    matches!(word, Width::B4 | Width::B8)
}

/// Whether it counts how much of bursts tiles have, and whether they go across axes: what was measured.
pub(super) fn have_bursts(word: Width) -> bool {
    matches!(word, Width::B2 | Width::B4 | Width::B8)
}

/// What a tile of such words and so many micro-blocks costs, beside what it moves; `None` if that is too many.
#[inline]
pub(super) fn cost_of_block_of_fours(word: Width, micro_blocks: usize) -> Option<f64> {
    let of_warp = TileShape::of(word).micro_blocks as usize * WARP as usize;
    let warps = (micro_blocks + of_warp - 1) >> of_warp.trailing_zeros();
    FourByVectors::BLOCKS.get(warps).copied()
}

/// What is the same of all tiles of vectors.
pub(super) fn same_of_tiles(word: Width, bytes: f64) -> f64 {
    let least = match word {
        Width::B2 => WEIGHTS.two_by_vectors.least,
        Width::B4 | Width::B8 => WEIGHTS.four_by_vectors.least,
        Width::B1 | Width::B16 => 0.0,
    };
    -bytes * least
}

const WEIGHTS: Weights = Weights {
    by_vectors: [0.782, 40.0, 17.0, 800.7],
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
    moved: [0.56, 0.60, 0.95, 0.98, 0.95],
    warp: [1800.0, 1550.0, 200.0, 120.0, 110.0],
    warp_of_units: 200.0,
    row: [5.7, 5.0, 3.0, 1.0, 5.0],
    col: [26.0, 5.0, 5.0, 10.0, 3.0],
    col_in_units: [10.0, 10.0, 0.0, 0.0, 0.0],
    loaded: [0.17, 0.25, 0.1, 0.0, 0.0],
    asked_again: [0.0, 0.0, 0.8, 1.0, 0.0],
    stored: [0.9, 1.8, 0.6, 0.6, 0.0],
    stored_col: [128.0, 40.0, 42.0, 24.0, 0.0],
    ragged: [150.0, 110.0, 0.0, 0.0, 0.0],
    in_units: [0.6, 0.8, 0.0, 0.0, 0.0],
    shared_sector: 70.0,
    word: [2.7, 3.7, 6.8, 15.0, 30.0],
    axis: [1.75, 1.25, 0.7, 0.1, 0.3],
    run_moved: [1.04, 1.035, 1.025],
    run: [76.0, 80.0, 59.0],
    run_gaps: [0.4, 1.5, 1.8],
    beside: [0.4, 1.2, 1.6, 2.0, 2.4],
    beside_steps: [0.4, 0.9, 1.0, 1.0, 2.4],
    box_moved: [0.60, 0.69, 0.75, 0.59, 0.57],
    box_crowded: [0.125, 0.13, 0.11, 0.13, 0.12],
    box_many: [0.17, 0.17, 0.0, 0.0, 0.0],
    box_gaps: [0.35, 0.39, 0.12, 0.15, 0.2],
    in_part: [25.0, 37.0, 32.0, 44.0, 15.0],
    uneven: [0.0, 0.0, 10.0, 10.0, 10.0],
    box_: [6200.0, 6200.0, 5600.0, 5200.0, 6200.0],
    load: [0.0, 0.0, 0.0, 5.6, 6.9],
    gather: [3.2, 2.65, 2.0, 2.0, 1.0],
    end: [53.0, 23.0, 0.0, 0.0, 0.0],
    joint: [26.0, 28.0, 43.0, 0.0, 20.0],
    entry: [0.6, 0.6, 1.75, 0.7, 0.0],
};

/// Those of boxes that are stored in pieces. (By 420 of 295 random moves, decision 073.)
const PIECES: Weights = Weights {
    box_moved: [0.74, 0.77, 0.0, 0.0, 0.0],
    box_crowded: [0.10, 0.12, 0.0, 0.0, 0.0],
    box_many: [0.08, 0.08, 0.0, 0.0, 0.0],
    box_gaps: [0.24, 0.46, 0.0, 0.0, 0.0],
    in_part: [3.0, 0.0, 0.0, 0.0, 0.0],
    box_: [5000.0, 5000.0, 0.0, 0.0, 0.0],
    gather: [4.3, 3.85, 0.0, 0.0, 0.0],
    end: [38.0, 39.0, 0.0, 0.0, 0.0],
    joint: [30.0, 26.0, 0.0, 0.0, 0.0],
    entry: [3.0, 2.0, 0.0, 0.0, 0.0],
    ..WEIGHTS
};

/// The place of a word's size in tables.
fn of_width(word: Width) -> usize {
    word.bytes().trailing_zeros() as usize
}

/// What moving in tiles costs.
pub(super) fn cost_of_tiles(word: Width, tally: &Tally) -> f64 {
    let Tally { moved, cols, loaded, stored: [stored, _], in_units, joints, .. } = tally;
    let vectors = loaded + stored + in_units == 0.0;
    let joined = if *stored == 0.0 { joints * WEIGHTS.shared_sector } else { 0.0 };
    let in_units =
        if vectors || *stored > 0.0 { 0.0 } else { cols * WEIGHTS.col_in_units[of_width(word)] };
    at_least(word, cost_of_part(word, tally, vectors), *moved, vectors) + joined + in_units
}

/// Tiles of words of 4 bytes and more were seen to be that much faster than a copy.
const FASTEST: f64 = 0.95;

/// What tiles and boxes cost at least, whatever their shape: both move every word's sectors on both sides.
pub(super) fn least_of_words(canonical: &Canonical) -> f64 {
    /// Less than what either is priced at for each byte, by more than rounding.
    const LEAST: f64 = 0.92;
    const { assert!(LEAST < FASTEST && LEAST < BEST) };
    (canonical.words() * canonical.word_bytes()) as f64 * 2.0 * LEAST
}

/// The part that counts of what tiles would cost less than they cost at least, so that of those which cost alike the one is taken that has the most room for what is not counted.
/// (By 2976 tiles of 2-byte words, decision 076.)
const OF_ROOM: f64 = 0.02;

/// What tiles cost that are priced at `cost` and move `moved` bytes of sectors: the price of the sectors at least, less the part `OF_ROOM` of what the price stays below them.
#[inline]
pub(super) fn at_least(word: Width, cost: f64, moved: f64, vectors: bool) -> f64 {
    let least = if vectors && word.bytes() >= 4 { moved * FASTEST } else { moved };
    let room = if vectors && have_bursts(word) { (least - cost).max(0.0) } else { 0.0 };
    cost.max(least) - room * OF_ROOM
}

/// What a part of what moving in tiles takes costs, at least, where all is vectors or not.
#[inline]
pub(super) fn cost_of_part(word: Width, tally: &Tally, vectors: bool) -> f64 {
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
        bytes: _,
        beside: _,
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
pub(super) fn cost_of_block(word: Width, vectors: bool, rows_in_units: bool) -> f64 {
    let block = Tally { blocks: 1.0, warps: 1.0, rows_in_units, ..Tally::default() };
    cost_of_part(word, &block, vectors)
}

/// How many rows, or columns, of all tiles are paid for, of `count` that have `words` words altogether: rows of 4 to 6 words of 16 bytes are no dearer for each word than rows of 6.25. (By matrices of 4 to 7
/// rows, which tiles move as fast as longer ones, and of two and three rows, which most tiles do not.)
pub(super) fn lines(word: Width, count: f64, words: f64) -> f64 {
    const SHORT: f64 = 6.25;
    if word == Width::B16 && words >= 4.0 * count { count.min(words / SHORT) } else { count }
}

/// Of a byte of a sector, of a row or a column of a tile, and of a tile, where all are loaded and stored by vectors.
fn by_vectors(word: Width) -> [f64; 4] {
    if word == Width::B16 { WEIGHTS.wide_by_vectors } else { WEIGHTS.by_vectors }
}

/// Bytes of shared memory above which blocks of boxes are slower, and of narrow words, of which five blocks run beside each other.
const CROWDED: f64 = (16 << 10) as f64;
const CROWDED_NARROW: f64 = (24 << 10) as f64;

/// The same where short rows have gaps behind them, of words of 4 bytes and more, and of narrow ones far apart.
const CROWDED_GAPS: f64 = (8 << 10) as f64;

/// What a byte of a sector costs boxes of narrow words more for each 8 KiB of shared memory above the first, where short rows are far apart.
const FAR_ROWS: f64 = 0.33;

/// What boxes cost at least for each byte of a sector: they were never seen to be much faster.
const BEST: f64 = 1.08;

/// What a stretch costs on top of that, of words of 16 bytes, so that of boxes which cost alike the one of the fewest stretches is taken: 1 stretch to 512 of 32 bytes reaches 0.56 of a
/// copy, 16 of 1024 bytes to 32 of 512 reach 0.97. (By boxes of elements of 32 and 64 bytes on an H200, decision 075.)
const STRETCH: [f64; 5] = [0.0, 0.0, 0.0, 0.0, 2.0];

/// To what degree, from 0 to 1, so many stretches of the destination are many for a box.
fn many(stretches: f64) -> f64 {
    const FEW: f64 = 12.0;
    const MANY: f64 = 48.0;
    ((stretches - FEW) / (MANY - FEW)).clamp(0.0, 1.0)
}

/// What moving in boxes costs, or in boxes that are stored in pieces.
pub(super) fn cost_of_boxes(word: Width, tally: &BoxTally, are_pieces: bool) -> f64 {
    let (w, k) = (if are_pieces { &PIECES } else { &WEIGHTS }, of_width(word));
    let BoxTally {
        moved,
        in_part,
        uneven,
        boxes,
        shared,
        loaded,
        gathered,
        ends,
        joints,
        entries,
        stretches,
        has_short_rows,
        of_gap,
        far_rows,
    } = tally;
    let above = |most: f64| (shared / most - 1.0).max(0.0);
    let (crowded, most) =
        if word.bytes() < 4 { (CROWDED_NARROW, CROWDED) } else { (CROWDED, CROWDED_GAPS) };
    let gaps = if *has_short_rows { above(most) * w.box_gaps[k] } else { 0.0 };
    let gaps = gaps + far_rows * above(CROWDED_GAPS) * FAR_ROWS;
    let many = many(stretches[1]) * above(CROWDED) * w.box_many[k];
    let of_box = w.box_[k]
        + loaded * w.load[k]
        + gathered * w.gather[k]
        + ends * w.end[k]
        + joints * w.joint[k]
        + entries * w.entry[k];
    let cost = moved * (w.box_moved[k] + above(crowded) * w.box_crowded[k] + many + gaps)
        + in_part * of_gap.unwrap_or(w.in_part[k])
        + uneven * w.uneven[k]
        + boxes * of_box;
    cost.max(moved * BEST + boxes * (stretches[0] + stretches[1]) * STRETCH[k])
}

/// What moving word by word costs.
pub(super) fn cost_of_words(word: Width, tally: &WordTally) -> f64 {
    let (w, k) = (&WEIGHTS, of_width(word));
    let WordTally { words, axes, src, dst, is_step } = tally;
    let own = 2.0 * word.bytes() as f64;
    let issued = w.word[k] + w.axis[k] * axes;
    let beside = if *is_step { w.beside_steps[k] } else { w.beside[k] };
    words * (issued.max(own) + src * beside + 2.0 * dst)
}

/// What moving runs costs: of words of up to 4 bytes.
pub(super) fn cost_of_runs(word: Width, tally: &RunTally) -> f64 {
    let (w, k) = (&WEIGHTS, of_width(word));
    let RunTally { moved, runs, gaps } = tally;
    moved * w.run_moved[k] + runs * w.run[k] + gaps * w.run_gaps[k]
}

/// How many times as long it takes where so many blocks leave multiprocessors idle.
pub(super) fn idle(blocks: f64, facts: &Facts) -> f64 {
    (facts.multiprocessors as f64 / blocks.max(1.0)).max(1.0)
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
pub(super) const BOXES_LATE: f64 = 12e6;

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
    let side = |side: &Side| {
        let Side { together, aligned, pitch, .. } = *side;
        words / together as f64 * sectors_of_one(together, pitch, canonical.word_bytes(), aligned)
    };
    canonical.sides().iter().map(side).sum()
}

/// What a sector costs that a gap follows, where it is fetched before it is stored, and where it is not, of words of 4 bytes and more
/// or of less. (By rows of 36 to 272 bytes with gaps, on an H200.)
const FETCHED_GAP: f64 = 60.0;
const GAP: f64 = 130.0;
const NARROW_GAP: f64 = 150.0;

/// What it costs tiles where rows are so far apart that nobody fetches it. (Boxes and words count it themselves.)
const FAR_GAP: f64 = 50.0;

/// What it costs tiles and words of 4 bytes and more where some of those rows have a whole sector beside it. (By rows of 32 and 40 bytes, 176 and 84 apart, of
/// which their other costs leave 98 to 147, and those of boxes 91 to 144; of rows of 20 and 28 bytes they leave 8 to 27.)
const GAP_BESIDE: f64 = 100.0;

/// What each costs where memory moves little else, if it is fetched by few blocks at a time, by many, and not at all. (By rows of 48 and 80 bytes, 320
/// and 768 apart, on an H200.)
const FAR_GAPS: [f64; 3] = [180.0, 285.0, 360.0];

/// What the gaps of a destination cost kernels that fetch what is beside them where that pays, and kernels that do not.
pub(super) fn cost_of_gaps(canonical: &Canonical, gaps: &Gaps, is_fetched: bool) -> f64 {
    let Gaps { sectors, fetch, beside_whole, are_all, .. } = *gaps;
    let [by_few, _, not_fetched] = FAR_GAPS;
    match (fetch, is_fetched) {
        (false, _) if beside_whole => sectors * GAP_BESIDE,
        (true, true) if are_all => sectors * by_few,
        (true, false) if are_all => sectors * not_fetched,
        (false, true) => sectors * FAR_GAP,
        (false, false) => 0.0,
        (true, true) => sectors * FETCHED_GAP,
        (true, false) if canonical.word_bytes() < 4 => sectors * NARROW_GAP,
        (true, false) => sectors * GAP,
    }
}

/// What a sector costs boxes that they store a part of and a gap follows, where that is more than what others do.
pub(super) fn of_gap_in_boxes(word: Width, gaps: &Gaps) -> Option<f64> {
    match gaps {
        Gaps { are_all: true, .. } => Some(FAR_GAPS[1]),
        Gaps { beside_whole: true, .. } => Some(GAP),
        Gaps { fetch, has_short_rows, .. } => {
            (word.bytes() >= 4 && *fetch && *has_short_rows).then_some(FETCHED_GAP)
        }
    }
}

/// What a sector costs boxes that they store a part of and nothing near it, where they store the others at another time. (By eight boxes of rows of 8 bytes, 24 and 32 bytes apart in the
/// destination and 3 and 38 KB in the box, which took 2.5 times as long as was said, decision 082.)
pub(super) const ALONE: f64 = 140.0;

/// Bytes of an element beyond which `tuples` is slower.
const TUPLE: f64 = 24.0;

/// Rows beyond which `lines_b1` is slower, of a matrix and of each of a batch, and by which power of how many times as many they are. (By nine moves of 88 to 196
/// rows on an H200.)
const LINES: [(f64, f64); 2] = [(80.0, 0.8), (64.0, 1.0)];

/// Rows below which kernels are slower whose rows start anywhere, and by which power of how many times fewer they are: a row of the destination starts and ends
/// inside sectors, and so does what each tile stores of it. (By 101 random moves on an H200, decision 071.)
const ROWS_B1: (f64, f64) = (1700.0, 0.34);
const ROWS_B2: (f64, f64) = (800.0, 0.22);
/// `rows` of words of 4 and 8 bytes, by 22 random moves of less than 250 and 100 rows.
const ROWS_B4: (f64, f64) = (250.0, 0.11);
const ROWS_B8: (f64, f64) = (100.0, 0.17);
const TRIPLES_B1: (f64, f64) = (1000.0, 0.27);

/// What `lines` reaches in batches of matrices that have one, two and three bands each: the last band is short, and so are all that start and end inside
/// vectors. (By 14 random moves on an H200, of words of 1 to 8 bytes; with two bands they had 0.75 to 0.82, whatever there was to move in them.)
const FEW_BANDS: [f64; 3] = [0.74, 0.80, 0.95];

/// The part that `tall_b16` reads of gaps behind rows of the source. (By 48 random moves on an H200, decision 071. Where words have less, its threads are as many
/// as if gaps were moved, and that says it.)
const TALL_GAPS: f64 = 0.75;

/// What a sector of the destination that a gap follows costs `tall` of narrow words, where no other sector waits for it, and where one does. (By four random batches on an
/// H200, whose rows of 11 to 312 words are 12 to 76 bytes apart.)
const TALL_GAP: [f64; 2] = [220.0, 375.0];

/// Columns of a batch's matrices, of two bands at most, beyond which `tall_b1` reaches so much of what it does otherwise. (By five batches on an H200, of 57 to 115 columns.)
const WIDE_BATCHES: (usize, f64) = (50, 0.55);

/// What `tall_b2` reaches of batches of matrices, of what it does of one. (By 30 of random moves on an H200.)
const OF_BATCHES: f64 = 0.80;

/// What kernels of few columns or rows of bytes reach where the matrices of a batch start anywhere, of what they reach where all start alike. (By eight
/// random moves on an H200.)
const OF_ODD_BATCHES: f64 = 0.6;

/// That, or 1 where matrices start alike.
fn of_odd_batches(canonical: &Canonical) -> f64 {
    let apart = canonical.axes().get(2);
    match apart.is_some_and(|axis| (axis.src | axis.dst) % 4 != 0) {
        true => OF_ODD_BATCHES,
        false => 1.0,
    }
}

/// Columns beyond which `tall_b1` is slower.
const TALL: f64 = 96.0;

/// What the launches of a matrix's plan cost: as many threads as they have take their time, whether there is much for each to move or little.
pub(super) fn cost_of_matrix(canonical: &Canonical, facts: &Facts, launches: &[Launch]) -> f64 {
    let efficiency = Efficiency::of(launches);
    let bytes = (canonical.words() * canonical.word_bytes()) as f64;
    // A single row or column has no axis, and elements of several words have one of their own.
    let first = usize::from(canonical.run() > 1);
    let length = |axis: usize| canonical.axes().get(first + axis).map_or(1, |axis| axis.length);
    let shape = [0, 1, 2].map(length);
    let alike = match efficiency.kernel {
        "lines_b1" => of_odd_batches(canonical),
        "tall_b1" if shape[2] > 1 && shape[1] > WIDE_BATCHES.0 && launches[0].grid[0] <= 2 => {
            WIDE_BATCHES.1
        }
        "tall_b2" if shape[2] > 1 => OF_BATCHES,
        _ => 1.0,
    };
    let element_bytes = canonical.run() * canonical.word_bytes();
    let most = alike * efficiency.most_of(element_bytes, shape);
    let filled = efficiency.filled(bytes, facts, launches);
    let power = efficiency.power_of(shape[2]);
    let filled = if power == 1.0 { filled } else { filled.powf(power) };
    let read = fewest_sectors(canonical) + efficiency.gaps_read(canonical);
    let reached = (most * filled).min(efficiency.of_bands(launches));
    let cost = (read / most).max(2.0 * bytes / reached);
    let gaps = Gaps::of(canonical);
    let of_gaps = match efficiency.kernel {
        "tall_b1" | "tall_b2" => gaps.sectors * TALL_GAP[usize::from(gaps.fetch)],
        _ => cost_of_gaps(canonical, &gaps, false),
    };
    (cost + of_gaps) * idle(blocks(launches), facts)
}

/// Of what these launches of a matrix's plan cost, what others must cost at most to be taken instead, for a model errs: less where a thread has less than
/// `full` of what it could move, of which the cost is guessed, than where the kernel was never seen to be fast for such elements. `None` where neither is so.
pub(super) fn if_poor(
    problem: &Problem,
    facts: &Facts,
    launches: &[Launch],
    full: f64,
) -> Option<f64> {
    /// The fraction of a copy's speed from which on a kernel is fast.
    const FAST: f64 = 0.9;
    let efficiency = Efficiency::of(launches);
    let filled = efficiency.filled(problem.bytes() as f64, facts, launches);
    let shape = [problem.src.rows, problem.src.cols, problem.batch.count];
    let is_slow = efficiency.most_of(problem.element_bytes, shape) < FAST;
    if filled < full { Some(CLEARLY) } else { is_slow.then_some(0.9) }
}

/// The same where the cost is guessed.
const CLEARLY: f64 = 0.8;

/// Blocks of launches.
fn blocks(launches: &[Launch]) -> f64 {
    launches.iter().map(|launch| product(launch.grid)).sum()
}

/// Threads of launches.
fn threads(launches: &[Launch]) -> f64 {
    launches.iter().map(|launch| product(launch.grid) * product(launch.block)).sum()
}

fn product(sizes: [u32; 3]) -> f64 {
    sizes.iter().map(|&size| f64::from(size)).product()
}

/// How fast a kernel of the other planners is, measured on 400 random moves on an H200.
struct Efficiency {
    /// Its name, with the bytes of its word.
    kernel: &'static str,
    /// The fraction of a copy's speed that it reaches at most.
    most: f64,
    /// The bytes that a thread moves there. With fewer it is slower, by this power of how many times fewer they are.
    full: f64,
    power: f64,
}

/// Bytes of a thread, at least, where small moves are shared out: a vector, for the last bands have less than others.
const SHARED_OUT: f64 = 16.0;

/// What has not been measured is taken to be good.
const UNKNOWN: Efficiency = Efficiency { kernel: "", most: 1.0, full: 20.0, power: 1.0 };

const EFFICIENCIES: [Efficiency; 24] = {
    const fn of(kernel: &'static str, most: f64, full: f64, power: f64) -> Efficiency {
        Efficiency { kernel, most, full, power }
    }
    [
        of("tuples_b4", 0.98, 49.0, 1.0),
        of("tuples_b8", 1.00, 40.0, 1.0),
        of("triples_b1", 0.91, 80.0, 0.8),
        of("triples_b2", 1.00, 40.0, 1.0),
        of("rows_b1", 0.92, 88.0, 0.6),
        of("rows_b2", 0.965, 78.0, 0.5),
        of("rows_b4", 1.00, 87.0, 1.0),
        of("rows_b8", 1.03, 36.8, 1.0),
        of("rows_b16", 1.03, 36.8, 1.0),
        of("micro_b16", 1.03, 20.6, 1.0),
        of("tall_b1", 1.00, 52.6, 1.0),
        of("tall_b2", 1.02, 37.8, 1.0),
        of("tall_b4", 1.02, 31.9, 1.0),
        of("tall_b8", 1.03, 31.2, 1.0),
        of("tall_b16", 1.03, 28.6, 1.0),
        of("lines_b1", 1.02, 61.8, 1.0),
        of("lines_b2", 1.05, 52.5, 1.0),
        of("lines_b4", 1.05, 45.7, 1.0),
        of("lines_b8", 1.05, 43.8, 1.0),
        of("wide_b4", 1.03, 34.3, 1.0),
        of("batch_b1", 1.00, 66.7, 1.0),
        of("batch_b2", 1.00, 64.5, 1.0),
        of("batch_b4", 1.05, 52.5, 1.0),
        of("batch_b8", 1.05, 52.5, 1.0),
    ]
};

impl Efficiency {
    /// The fraction of a copy's speed that it reaches at most of elements of so many bytes, and of so many rows and columns of so many matrices. Of what a kernel
    /// is good for up to some number, or from some number on, more, or less, is slower by a power of how many times as much, or as little, it is.
    fn most_of(&self, element_bytes: usize, [rows, cols, count]: [usize; 3]) -> f64 {
        let up_to =
            |good: f64, number: usize, power: f64| (good / number as f64).min(1.0).powf(power);
        let from = |(good, power): (f64, f64)| (rows as f64 / good).min(1.0).powf(power);
        self.most
            * match self.kernel {
                kernel if kernel.starts_with("tuples") => up_to(TUPLE, element_bytes, 0.3),
                "lines_b1" => {
                    let (good, power) = LINES[usize::from(count > 1)];
                    up_to(good, rows, power)
                }
                "tall_b1" => up_to(TALL, cols, 0.3),
                "rows_b1" => from(ROWS_B1),
                "rows_b2" => from(ROWS_B2),
                "rows_b4" => from(ROWS_B4),
                "rows_b8" => from(ROWS_B8),
                "triples_b1" => from(TRIPLES_B1),
                _ => 1.0,
            }
    }

    /// By which power of how many times fewer bytes a thread moves than it could the kernel is slower, of so many matrices. Where few columns, or rows, of a single matrix leave lanes
    /// idle, other threads move meanwhile; small matrices have no others. (By 24 single matrices of two kernels of few columns and one of few rows, which have 0.85 to 1.08 of a copy
    /// where their threads have 0.5 to 0.95 of what they could; decision 082.)
    fn power_of(&self, count: usize) -> f64 {
        const OF_ONE: f64 = 0.4;
        let is_known =
            matches!(self.kernel, "tall_b1" | "tall_b2") || self.kernel.starts_with("lines");
        if count == 1 && is_known { OF_ONE } else { self.power }
    }

    /// Of what the threads of launches could move, the part that so many bytes are, 1 at most: what [few](Tuning::few_blocks) blocks of `lines` move is shared out among more
    /// of them on purpose, until their threads have little more than a vector each.
    fn filled(&self, bytes: f64, facts: &Facts, launches: &[Launch]) -> f64 {
        let few = facts.multiprocessors * Tuning::of(facts.compute_capability).few_blocks;
        let are_few = self.kernel.starts_with("lines") && blocks(launches) < 2.0 * few as f64;
        let of_thread = bytes / threads(launches);
        if are_few && of_thread >= SHARED_OUT { 1.0 } else { (of_thread / self.full).min(1.0) }
    }

    /// The fraction of a copy's speed that it reaches at most in so few bands of each matrix of a batch.
    fn of_bands(&self, launches: &[Launch]) -> f64 {
        let few = |launch: &Launch| {
            let [bands, _, matrices] = launch.grid;
            let is_batch = self.kernel.starts_with("lines") && matrices > 1;
            is_batch.then(|| FEW_BANDS.get((bands as usize).wrapping_sub(1)).copied()).flatten()
        };
        launches.first().and_then(few).unwrap_or(f64::INFINITY)
    }

    /// Bytes of gaps behind rows of the source that it reads.
    fn gaps_read(&self, canonical: &Canonical) -> f64 {
        if self.kernel != "tall_b16" {
            return 0.0;
        }
        let [Side { together, pitch, .. }, _] = *canonical.sides();
        let rows = canonical.words() as f64 / together as f64;
        let gap = if pitch == usize::MAX { 0 } else { pitch - together };
        rows * (gap * canonical.word_bytes()) as f64 * TALL_GAPS
    }

    /// That of the kernel that these launches start with.
    fn of(launches: &[Launch]) -> &'static Self {
        let name = launches.first().map_or("", |launch| launch.entry.name);
        EFFICIENCIES.iter().find(|known| known.kernel == name).unwrap_or(&UNKNOWN)
    }
}
