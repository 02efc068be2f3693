//! What moving in boxes costs, and in boxes that are stored in pieces.

use super::super::canonical::{Canonical, OnTheWay};
use super::of_width;

/// What moving in boxes takes.
pub(in super::super) struct BoxTally {
    /// Bytes of sectors, on both sides, those that two boxes have parts of once for each.
    pub moved: f64,
    /// Sectors of the destination that a box stores a part of, and nothing else of the box's lies in.
    pub in_part: f64,
    /// Stretches of the source that start or end inside the 64 bytes that memory reads at a time.
    pub uneven: f64,
    /// Boxes.
    pub boxes: f64,
    /// Bytes of shared memory of a block, and how many blocks a multiprocessor so has beside each other.
    pub shared: f64,
    pub beside: usize,
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
    /// What each of the sectors stored in part costs, if gaps make that more, or what shares them is moved at another time.
    pub of_gap: Option<f64>,
    /// To what degree, from 0 to 1, these are narrow words and far apart.
    pub far_rows: f64,
    /// How many boxes a block moves, one after the other.
    pub turns: f64,
    /// Stretches of the destination that are a sector, of rows that go on: others store the rest of what memory stores at a time.
    pub halves: f64,
}

/// The weights of what is counted: of words of 16 bytes by seeds 22 and 24, of 4 and 8 bytes by 7100 boxes of 1700 moves (decision 090), and of narrow words by 1280 boxes of 295 (decision 073), but for
/// what says otherwise.
struct Weights {
    /// Of a byte of a sector, where boxes move it, and more of it for each 16 KiB of shared memory above the first, or 24 of narrow words. (`crowded` and `each` of 2- and 4-byte
    /// words by which of a move's ways are the fastest, decisions 093 and 095.)
    moved: [f64; 5],
    crowded: [f64; 5],
    /// More of it for each 16 KiB of shared memory above the first where a box has [many](many) stretches of the destination. (By 12,000 ways of 840 random moves, boxes of
    /// which are at 0.97 of the time that the rest says where they have fewer, whatever their size, and at 0.93 to 1.05, the larger the slower, where they have many; decision 082.)
    many: [f64; 5],
    /// More of it where a box has one or two stretches of the destination. (By these ways: choices of 1- and 2-byte words are closer to the fastest by 0.001 on each third of the seeds, by what
    /// the others say.)
    few: [f64; 5],
    /// Of the same byte, for each 8 KiB of shared memory above the first, or 16 of narrow words, where short rows have gaps behind them: the more a block moves, the longer it
    /// takes from when it has such sectors fetched to when it stores them. (By boxes of 6 to 32 KiB side by side, on an H200.)
    gaps: [f64; 5],
    /// Of a sector that a box stores a part of: it is loaded, changed, and stored again.
    in_part: [f64; 5],
    /// The part of that which such a sector costs where gaps make it more, or what shares it is moved at another time: of what is added it has been loaded.
    of_gap: [f64; 5],
    /// Of a stretch of the source that is uneven.
    uneven: [f64; 5],
    /// Of a box, and the part of it that a block's later boxes do not cost: no block is started for them. (Decision 095.)
    each: [f64; 5],
    again: [f64; 5],
    /// Of an instruction that loads or stores a box.
    load: [f64; 5],
    gather: [f64; 5],
    /// Of a stretch that starts or ends inside a unit.
    end: [f64; 5],
    /// Of a sector of a box that is stored in two parts.
    joint: [f64; 5],
    /// Of an entry of a box's tables.
    entry: [f64; 5],
    /// Of a stretch that is a sector, on top of what boxes cost at least: of moves little more than what lets longer stretches win among boxes that cost alike. (Decision 100.)
    half: [f64; 5],
    /// Of a stretch of the destination to which what is added lies elsewhere: it starts and ends inside what memory reads at a time. (Decision 112.)
    beside: [f64; 5],
}

const WEIGHTS: Weights = Weights {
    moved: [0.60, 0.69, 0.79, 0.545, 0.57],
    crowded: [0.125, 0.18, 0.165, 0.09, 0.12],
    many: [0.17, 0.17, 0.0, 0.0, 0.0],
    few: [0.10, 0.10, 0.0, 0.0, 0.0],
    gaps: [0.35, 0.39, 0.12, 0.15, 0.2],
    in_part: [25.0, 37.0, 32.0, 44.0, 15.0],
    of_gap: [1.0; 5],
    uneven: [0.0, 0.0, 5.0, 3.5, 10.0],
    each: [6200.0, 4800.0, 5800.0, 8300.0, 6200.0],
    again: [0.0, 0.0, 0.15, 0.3, 0.0],
    load: [0.0, 0.0, 0.0, 5.6, 6.9],
    gather: [3.2, 2.65, 0.80, 2.0, 1.0],
    end: [53.0, 23.0, 0.0, 0.0, 0.0],
    joint: [26.0, 28.0, 43.0, 0.0, 20.0],
    entry: [0.6, 0.6, 1.75, 0.7, 0.0],
    half: [1.2, 1.2, 0.0, 0.0, 0.0],
    beside: [0.0; 5],
};

/// Those of boxes that are stored in pieces. (By 420 of 295 random moves, decision 073.)
const PIECES: Weights = Weights {
    moved: [0.74, 0.77, 0.0, 0.0, 0.0],
    crowded: [0.10, 0.12, 0.0, 0.0, 0.0],
    many: [0.08, 0.08, 0.0, 0.0, 0.0],
    few: [0.0; 5],
    gaps: [0.24, 0.46, 0.0, 0.0, 0.0],
    in_part: [3.0, 0.0, 0.0, 0.0, 0.0],
    each: [5000.0, 5000.0, 0.0, 0.0, 0.0],
    gather: [4.3, 3.85, 0.0, 0.0, 0.0],
    end: [38.0, 39.0, 0.0, 0.0, 0.0],
    joint: [30.0, 26.0, 0.0, 0.0, 0.0],
    entry: [3.0, 2.0, 0.0, 0.0, 0.0],
    ..WEIGHTS
};

/// Those of boxes that are computed before they are stored, which are as slow as what their warps issue. (By 2157 boxes of 300 random arrays and ten pairs of sizes, decision 106, those of words of 2 and 8 bytes by 869 more of 200, decision 112; there are few of 16 bytes.)
const COMPUTED: Weights = Weights {
    moved: [1.27, 0.75, 0.63, 0.67, 0.79],
    crowded: [0.073, 0.12, 0.097, 0.046, 0.014],
    many: [0.0, 0.0, 0.0, 0.022, 0.18],
    few: [0.0; 5],
    in_part: [6.0, 8.0, 12.0, 16.0, 15.0],
    of_gap: [1.0, 1.0, 1.0, 0.9, 1.0],
    uneven: [13.0, 8.0, 2.6, 9.4, 34.0],
    each: [12_900.0, 9300.0, 15_500.0, 11_300.0, 20_400.0],
    again: [0.0, 0.0, 0.29, 0.22, 0.5],
    load: [0.0, 0.35, 1.55, 3.6, 0.0],
    gather: [1.7, 3.1, 1.57, 2.0, 0.0],
    end: [35.0, 50.0, 0.0, 0.0, 0.0],
    joint: [39.0, 10.0, 59.0, 17.0, 20.0],
    entry: [3.6, 4.6, 0.5, 0.0, 0.0],
    half: [1.2, 2.5, 0.0, 2.3, 0.0],
    ..WEIGHTS
};

/// Those of such boxes that are stored in pieces.
const COMPUTED_PIECES: Weights = Weights {
    moved: [0.90, 0.49, 0.0, 0.0, 0.0],
    crowded: [0.0, 0.10, 0.0, 0.0, 0.0],
    many: [0.23, 0.125, 0.0, 0.0, 0.0],
    uneven: [28.0, 0.0, 0.0, 0.0, 0.0],
    each: [13_800.0, 13_300.0, 0.0, 0.0, 0.0],
    again: [0.0, 0.12, 0.0, 0.0, 0.0],
    load: [0.0, 3.6, 0.0, 0.0, 0.0],
    gather: [5.45, 4.3, 0.0, 0.0, 0.0],
    end: [125.0, 88.0, 0.0, 0.0, 0.0],
    joint: [13.0, 20.0, 0.0, 0.0, 0.0],
    entry: [12.7, 11.1, 0.0, 0.0, 0.0],
    in_part: [11.0, 62.0, 0.0, 0.0, 0.0],
    ..PIECES
};

/// Those of boxes to which something is added: a box waits for twice as much, and for half of what memory reads at a time where a stretch is a sector alone. (Of words of 2, 4 and 8 bytes by 971 boxes of
/// 210 random sums, decision 112; of 16 bytes by those of others.)
const ADDED: Weights = Weights {
    moved: [0.60, 1.04, 0.94, 0.88, 0.51],
    crowded: [0.125, 0.10, 0.092, 0.16, 0.11],
    many: [0.17, 0.06, 0.035, 0.037, 0.0],
    few: [0.10, 0.0, 0.0, 0.0, 0.0],
    gaps: [0.0; 5],
    in_part: [25.0, 10.0, 5.0, 24.0, 13.0],
    of_gap: [1.0, 1.0, 1.0, 0.3, 0.9],
    uneven: [0.0, 0.0, 0.0, 0.0, 9.0],
    each: [6200.0, 11_900.0, 11_000.0, 10_300.0, 17_000.0],
    again: [0.0, 0.0, 0.25, 0.16, 0.0],
    load: [0.0, 0.3, 0.0, 1.5, 6.1],
    gather: [3.2, 2.75, 2.35, 3.1, 0.9],
    end: [53.0, 58.0, 0.0, 0.0, 0.0],
    joint: [26.0, 140.0, 0.0, 0.0, 18.0],
    entry: [0.6, 6.0, 0.5, 8.9, 0.0],
    half: [1.2, 100.0, 15.0, 17.0, 0.0],
    beside: [50.0, 50.0, 43.0, 41.0, 41.0],
};

/// Those of boxes of elements of another type than what they are added to. (By 966 boxes of 192 random sums, decision 111; of results of 4 bytes they are nearly those of one type.)
const MIXED: Weights = Weights {
    moved: [0.60, 0.95, 0.76, 0.93, 0.57],
    crowded: [0.125, 0.21, 0.158, 0.155, 0.12],
    many: [0.17, 0.0, 0.0, 0.04, 0.0],
    gaps: [0.35, 0.13, 0.12, 0.15, 0.2],
    in_part: [25.0, 14.0, 31.0, 0.0, 15.0],
    of_gap: [1.0, 0.5, 0.96, 0.3, 1.0],
    uneven: [0.0, 0.0, 5.0, 0.0, 10.0],
    each: [6200.0, 11_200.0, 17_900.0, 12_150.0, 19_000.0],
    again: [0.0, 0.0, 0.15, 0.14, 0.0],
    load: [0.0, 0.0, 0.0, 2.7, 6.9],
    gather: [3.2, 4.9, 0.77, 1.7, 1.0],
    end: [53.0, 61.0, 0.0, 0.0, 0.0],
    joint: [26.0, 0.0, 41.0, 0.0, 20.0],
    entry: [0.6, 1.0, 1.68, 16.7, 0.0],
    half: [1.2, 1.2, 0.0, 0.0, 0.0],
    beside: [0.0; 5],
    ..ADDED
};

/// Bytes of shared memory above which blocks of boxes are slower, and of narrow words, of which five blocks run beside each other.
const CROWDED: f64 = (16 << 10) as f64;
const CROWDED_NARROW: f64 = (24 << 10) as f64;

/// Bytes of shared memory above which blocks are slower where short rows have gaps behind them, of words of 4 bytes and more, and of narrow ones far apart.
const CROWDED_GAPS: f64 = (8 << 10) as f64;

/// What a byte of a sector costs boxes of narrow words more for each 8 KiB of shared memory above the first, where short rows are far apart.
const FAR_ROWS: f64 = 0.33;

/// How many times as long boxes take that are computed, of which a multiprocessor has one block or two: nothing is loaded or stored while warps compute. (By 923 boxes of seven pairs of sizes, decision 125. Pieces, which are priced as they are, show nothing of it.)
const FEW_BESIDE: [f64; 2] = [1.7, 1.2];

/// What boxes cost at least for each byte of a sector: they were never seen to be much faster.
pub(super) const BEST: f64 = 1.08;

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
pub(in super::super) fn cost_of_boxes(
    canonical: &Canonical,
    tally: &BoxTally,
    are_pieces: bool,
) -> f64 {
    let (word, k) = (canonical.word, of_width(canonical.word));
    let w = match (canonical.on_the_way, are_pieces) {
        (OnTheWay::Nothing, false) => &WEIGHTS,
        (OnTheWay::Added, false) if canonical.held_word_bytes != word.bytes() => &MIXED,
        (OnTheWay::Added, false) => &ADDED,
        (OnTheWay::Nothing | OnTheWay::Added, true) => &PIECES,
        (OnTheWay::Computed, false) => &COMPUTED,
        (OnTheWay::Computed, true) => &COMPUTED_PIECES,
    };
    let BoxTally {
        moved,
        in_part,
        uneven,
        boxes,
        shared,
        beside,
        loaded,
        gathered,
        ends,
        joints,
        entries,
        stretches,
        has_short_rows,
        of_gap,
        far_rows,
        turns,
        halves,
    } = tally;
    let above = |most: f64| (shared / most - 1.0).max(0.0);
    let (crowded, most) =
        if word.bytes() < 4 { (CROWDED_NARROW, CROWDED) } else { (CROWDED, CROWDED_GAPS) };
    let gaps = if *has_short_rows { above(most) * w.gaps[k] } else { 0.0 };
    let gaps = gaps + far_rows * above(CROWDED_GAPS) * FAR_ROWS;
    let many = many(stretches[1]) * above(CROWDED) * w.many[k];
    // Of none it is not known yet how many there are.
    let few = if (1.0..=2.0).contains(&stretches[1]) { w.few[k] } else { 0.0 };
    let apart = if canonical.is_added_alike() { 0.0 } else { w.beside[k] };
    let of_box = w.each[k] * (1.0 - w.again[k] * (1.0 - 1.0 / turns))
        + loaded * w.load[k]
        + gathered * w.gather[k]
        + ends * w.end[k]
        + joints * w.joint[k]
        + entries * w.entry[k]
        + stretches[1] * apart;
    let cost = moved * (w.moved[k] + above(crowded) * w.crowded[k] + many + few + gaps)
        + in_part * of_gap.map_or(w.in_part[k], |cost| cost * w.of_gap[k])
        + uneven * w.uneven[k]
        + boxes * of_box;
    let cost = cost.max(moved * BEST + boxes * (stretches[0] + stretches[1]) * STRETCH[k])
        + halves * w.half[k];
    let is_computed = canonical.on_the_way == OnTheWay::Computed && !are_pieces;
    let few = FEW_BESIDE.get(*beside - 1).filter(|_| is_computed);
    cost * few.unwrap_or(&1.0)
}
