//! Boxes of narrow words that are stored in pieces: who stores what of them, and what their kernel is told.

use super::super::canonical::{Canonical, OnTheWay};
use super::super::cuts::Gapped;
use super::super::sectors::SECTOR;
pub(super) use super::piece::UNIT;
use super::share::{LOOKED_UP, Share, UNEVEN};
use super::tile::{Most, Stretches, Tile};
use crate::divide::packed_divisor;
use crate::plan::problem::VECTOR;
use kernel_abi::tensor::{BOX_THREADS, Boxes, Digit, Digits, Pieces};

/// The words that a piece has at most: entries of a table, which all pieces of a box share.
const MOST: usize = 512;

/// Whether a box's stretches of the destination are stored as pieces: those of other boxes neither are pieces nor have gaps in them.
pub(super) fn are_pieces(dst: &Stretches) -> bool {
    dst.piece.is_some() || dst.gap > 0
}

/// The destination's stretches of a box in pieces, those that take the least time to store, in runs of a word; `None` if there are no such. They are known
/// by words: what lies together for no more than a piece is none.
pub(super) fn targets(
    canonical: &Canonical,
    tile: &Tile,
    by_words: Option<Stretches>,
) -> Option<(Stretches, usize)> {
    if !are_stored(canonical) {
        return None;
    }
    let [_, to] = canonical.sides();
    let is_long = may_be(canonical, by_words.as_ref());
    let kinds =
        [(Gapped::No, is_long), (Gapped::Little, to.has_little_gaps(canonical.word_bytes()))];
    let kinds = kinds.into_iter().filter(|(_, are_any)| *are_any);
    let stretches = |(gaps, _)| tile.stretches(canonical, to, gaps, Most::OfPiece(MOST));
    let all = kinds.filter_map(stretches);
    let all = all.filter(|dst| are_pieces(dst) && is_full(tile, dst));
    let cost = |dst: &Stretches| {
        let Share { issued, joints, ends, .. } = share(canonical, tile, dst, |_| 0.0);
        let price = Price::of(canonical.word_bytes());
        issued + joints * price.joint + ends * price.end + (dst.count + dst.words) as f64
    };
    all.min_by(|a, b| cost(a).total_cmp(&cost(b))).map(|dst| (dst, 1))
}

/// Whether a box's stretches of the destination, known by words, may be in pieces though there are no gaps.
pub(super) fn may_be(canonical: &Canonical, by_words: Option<&Stretches>) -> bool {
    are_stored(canonical) && by_words.is_none_or(|dst| dst.together > MOST)
}

/// Whether there are kernels that store pieces of such words: of narrow ones, to which nothing is added.
fn are_stored(canonical: &Canonical) -> bool {
    canonical.word_bytes() < UNIT && canonical.on_the_way != OnTheWay::Added
}

/// Instructions of a thread that store a word of a piece, at least.
pub(super) fn least_of_word(word: usize) -> f64 {
    let price = Price::of(word);
    price.word.min(price.unit / (UNIT / word).max(1) as f64)
}

/// Whether a fourth of a piece is words, at least.
fn is_full(tile: &Tile, dst: &Stretches) -> bool {
    let words: usize = dst.within.iter().map(|axis| dst.has_within(tile, axis)).product();
    4 * words >= dst.words
}

/// How pieces are shared out, where warps that store so wait for banks as long as `waits` says.
pub(super) fn share(
    canonical: &Canonical,
    tile: &Tile,
    dst: &Stretches,
    waits: impl Fn(&Share) -> f64,
) -> Share {
    let word = canonical.word_bytes();
    let price = Price::of(word);
    if dst.gap > 0 {
        return singly(canonical, tile, dst);
    }
    // So many lanes at least that what the others of a warp need of a place lies beside it in a bank.
    let least = if word == 1 { 3 } else { 4 };
    let units = (dst.words * word).div_ceil(UNIT);
    let most = units.next_power_of_two().trailing_zeros().min(BOX_THREADS.trailing_zeros());
    let ends = if dst.have_ends(word) { dst.count as f64 } else { 0.0 };
    let all = (least.min(most)..=most).map(|lanes| {
        let rounds = units.div_ceil(1 << lanes);
        let joints = (dst.count * (rounds - 1)) as f64;
        let every = BOX_THREADS as usize >> lanes;
        let (issued, at_a_time) = issued(canonical, tile, dst, rounds, every, UNIT);
        Share { lanes, issued, joints, ends, at_a_time, ..Share::default() }
    });
    let cost = |share: &Share| {
        share.issued + share.joints * price.joint + share.ends * price.end + waits(share)
    };
    Share::cheapest(all.chain([singly(canonical, tile, dst)]), cost)
}

/// That in which each lane stores a word at a time.
fn singly(canonical: &Canonical, tile: &Tile, dst: &Stretches) -> Share {
    let word = canonical.word_bytes();
    let price = Price::of(word);
    let lanes = lanes_of_words(dst);
    let (every, rounds) = (BOX_THREADS as usize / lanes, dst.words.div_ceil(lanes));
    let (issued, at_a_time) = issued(canonical, tile, dst, rounds, every, word);
    let split = if dst.starts < VECTOR { (dst.words * word / SECTOR) as f64 } else { 0.0 };
    let issued = issued + dst.count as f64 * (price.stretch + price.split * split);
    let lanes = lanes.ilog2().min(5);
    Share { lanes, singly: true, issued, at_a_time, ..Share::default() }
}

/// How many lanes store a piece where each stores a word at a time: as many as leave few idle.
fn lanes_of_words(dst: &Stretches) -> usize {
    dst.words.div_ceil(dst.words.div_ceil(BOX_THREADS as usize))
}

/// Instructions that warps issue to store units of `unit` bytes in so many rounds where `every` pieces are stored at a time, near those
/// of the machine code, as if all warps issued as many as the one that has the most; and how many of those pieces are of a row, and of how many rows.
fn issued(
    canonical: &Canonical,
    tile: &Tile,
    dst: &Stretches,
    rounds: usize,
    every: usize,
    unit: usize,
) -> (f64, [usize; 2]) {
    let word = canonical.word_bytes();
    let price = Price::of(word);
    let each = if unit > word { price.unit } else { price.word };
    let cols = dst.row(tile);
    let rows = dst.count / cols;
    // Its low bits alone are asked for.
    let step = dst.apart.iter().next_back().map_or(0, |axis| {
        let stride = canonical.axes()[axis].dst as usize;
        stride.wrapping_mul(dst.has_apart(tile, axis).1 * word)
    });
    let rounds = rounds as f64;
    let (mut least, mut at_a_time) = (f64::INFINITY, [every, 1]);
    for log in 0..=every.ilog2() {
        let along = every >> log;
        let down = every / along;
        let (of_row, rows) = (parts(cols, along) as f64, parts(rows, down) as f64);
        // A thread's pieces start alike on a unit, which is a power of two: it looks up places once for all of them.
        let issued = match step.wrapping_mul(along) & (unit - 1) {
            0 => rows * (2.0 * UNEVEN + rounds * (LOOKED_UP + of_row * each)),
            _ => rows * of_row * rounds * (LOOKED_UP + each + UNEVEN),
        };
        let issued = issued * (BOX_THREADS / 32) as f64;
        if issued < least {
            (least, at_a_time) = (issued, [along, down]);
        }
    }
    (least, at_a_time)
}

/// Parts of `of` stretches each that a number of stretches has, the last one included if it has fewer.
fn parts(number: usize, of: usize) -> u32 {
    (number as u32).div_ceil(of as u32)
}

/// Instructions that take as long as what is stored, near the least squares of the relative errors over boxes of random moves that an H200 timed.
struct Price {
    /// A unit.
    unit: f64,
    /// A word by itself.
    word: f64,
    /// A piece that starts or ends inside a unit.
    end: f64,
    /// A sector that is stored in two parts.
    joint: f64,
    /// The same where words are stored by themselves, by warps that have parts of two sectors.
    split: f64,
    /// A piece where words are stored by themselves.
    stretch: f64,
}

impl Price {
    const fn of(word: usize) -> Self {
        match word {
            1 => Price { unit: 16.0, word: 4.0, end: 18.0, joint: 10.0, split: 5.0, stretch: 4.0 },
            _ => Price { unit: 12.0, word: 7.0, end: 13.0, joint: 17.0, split: 2.0, stretch: 0.0 },
        }
    }
}

/// What the kernel is told of boxes whose parameters are these, but for what pieces change of them. `parts` are the axes that boxes have parts of.
pub(super) fn params_of_pieces(
    canonical: &Canonical,
    tile: &Tile,
    dst: &Stretches,
    share: &Share,
    parts: &[usize],
    mut boxes: Boxes,
) -> Option<Pieces> {
    let apart = dst.apart.iter();
    // What lies together goes on to where its slowest axis would have another index.
    let slowest = dst.within.iter().next_back()?;
    let is_in_part = parts.contains(&slowest);
    let indices = if is_in_part { 1 } else { tile.has(slowest) };
    let words = &mut boxes.target_words;
    words.each = (dst.step(slowest)? * indices) as u64;
    for (digit, number) in words.digits.iter_mut().zip(dst.within.iter()) {
        let has = dst.has_within(tile, number);
        *digit = match dst.gap {
            0 => Digit { divisor: packed_divisor(has), ..*digit },
            _ => {
                Digit { divisor: packed_divisor(dst.step(number)?), outside: has as u64, ..*digit }
            }
        };
    }
    for (digit, number) in boxes.targets.digits.iter_mut().zip(apart.clone()) {
        let (has, each) = dst.has_apart(tile, number);
        *digit = Digit {
            divisor: packed_divisor(has),
            outside: canonical.axes()[number].dst as u64 * each as u64,
            inside: digit.inside.wrapping_mul(each as u64),
        };
    }
    // Boxes count the indices of the axis that they have parts of; the others are the kernel's.
    let others = apart.clone().filter(|number| !parts.contains(number));
    let each = others.map(|number| dst.has_apart(tile, number).0 as u64).product();
    boxes.targets.each = 1;
    let (pieces, per, before) = dst.piece.map_or((1, 1, 1), |piece| {
        let ahead = apart.take_while(|&number| number != piece.axis());
        let before = ahead.map(|number| tile.has(number)).product();
        let per = if parts.contains(&piece.axis()) { piece.indices() } else { 1 };
        (dst.has_apart(tile, piece.axis()).0, per, before)
    });
    let Digits { digits, count, .. } = &boxes.targets;
    let last = digits[(*count).max(1) as usize - 1];
    let lanes = if share.singly { lanes_of_words(dst) } else { 1 << share.lanes };
    Some(Pieces {
        piece: dst.words as u64,
        pieces: packed_divisor(pieces),
        before: packed_divisor(before),
        each,
        per: packed_divisor(per),
        rows: packed_divisor(dst.count / dst.row(tile)),
        outside: last.outside,
        inside: last.inside,
        along: packed_divisor(share.at_a_time[0]),
        down: share.at_a_time[1] as u64,
        lanes: packed_divisor(lanes),
        gapped: dst.gap as u64,
        boxes,
    })
}

/// What a launch of their kernel moves at a time.
pub(super) fn describe_pieces(pieces: &Pieces) -> String {
    let Pieces { boxes, piece, along, lanes, gapped, .. } = pieces;
    let Boxes { boxes, rows, cols, fetch, singly, .. } = boxes;
    let gaps = if *gapped == 0 { "" } else { " with gaps" };
    let shared = match singly {
        0 => format!("{} lanes each", *lanes as u32),
        _ => format!("word by word by {} lanes", *lanes as u32),
    };
    let fetched = if *fetch == 0 { "" } else { ", ends fetched" };
    let along = *along as u32;
    format!(
        "{boxes} boxes of {rows} stretches, to {cols} pieces of {piece} words{gaps}, {along} of a row at a time, {shared}{fetched}"
    )
}
