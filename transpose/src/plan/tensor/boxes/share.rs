//! Who stores what of a box: how many lanes a stretch of the destination has, and the instructions that it takes.

use super::super::canonical::Canonical;
use super::super::sectors::SECTOR;
use super::tile::{Stretches, Tile};
use crate::plan::problem::VECTOR;
use kernel_abi::tensor::BOX_THREADS;

/// How a box's stretches of the destination are shared out.
#[derive(Default)]
pub(super) struct Share {
    /// log2 of the lanes that store a stretch.
    pub lanes: u32,
    /// How many stretches that differ in the last digit alone are stored at a time, and of how many others.
    pub at_a_time: [usize; 2],
    /// Whether words are stored one at a time instead, neighbours by neighbouring lanes of all.
    pub singly: bool,
    /// Instructions that warps issue to store all of them.
    pub issued: f64,
    /// How many times a stretch goes on where its lanes have stored all that they store at a time: most likely inside a sector, which is stored in two
    /// parts then.
    pub joints: f64,
    /// How many stretches start or end inside a unit.
    pub ends: f64,
    /// Instructions that take as long as all that.
    pub cost: f64,
}

impl Share {
    /// That which takes the least time.
    pub fn of(canonical: &Canonical, tile: &Tile, dst: &Stretches, run: usize) -> Self {
        let word = canonical.word_bytes();
        // So many lanes at least that what the others of a warp need of a place lies beside it in a bank.
        let least = match word {
            1 => 3,
            2 => 4,
            _ => 5,
        };
        let unit = unit(word, run);
        let units = (dst.words * word).div_ceil(unit);
        let most = units.next_power_of_two().trailing_zeros().min(BOX_THREADS.trailing_zeros());
        let price = Price::of(word);
        let each_run = (run > 1).then_some(if unit == 4 { price.run } else { price.long_run });
        let ends = if dst.have_ends(word) { dst.count as f64 } else { 0.0 };
        let all = (least.min(most)..=most).map(|lanes| {
            // Runs are stored from sector to sector.
            let joints = if run > 1 { 0 } else { dst.count * (units.div_ceil(1 << lanes) - 1) };
            let rounds = units.div_ceil(1 << lanes);
            let every = BOX_THREADS as usize >> lanes;
            let (issued, at_a_time) = match each_run {
                Some(each) => {
                    let stretches = dst.count.div_ceil(every) as f64;
                    (stretches * (rounds as f64 * each + UNEVEN), [every, 1])
                }
                None => Self::issued(canonical, tile, dst, rounds, every, unit),
            };
            let issued = issued * (BOX_THREADS / 32) as f64;
            let joints = joints as f64;
            let cost = issued + joints * price.joint + ends * price.end;
            Share { lanes, at_a_time, singly: false, issued, joints, ends, cost }
        });
        let singly = (word < 4 && run == 1).then(|| Self::singly(canonical, tile, dst));
        let units = all.filter(|_| dst.gap == 0);
        units.chain(singly).min_by(|a, b| a.cost.total_cmp(&b.cost)).expect("there is one at least")
    }

    /// That in which each lane stores a word at a time.
    fn singly(canonical: &Canonical, tile: &Tile, dst: &Stretches) -> Self {
        let lanes = Self::lanes_of_words(dst);
        let (every, rounds) = (BOX_THREADS as usize / lanes, dst.words.div_ceil(lanes));
        let word = canonical.word_bytes();
        let (issued, at_a_time) = Self::issued(canonical, tile, dst, rounds, every, word);
        let price = Price::of(word);
        let split = if dst.starts < VECTOR { (dst.words * word / SECTOR) as f64 } else { 0.0 };
        let stretches = dst.count as f64 * (price.stretch + price.split * split);
        let issued = issued * (BOX_THREADS / 32) as f64 + stretches;
        let (joints, ends) = (0.0, 0.0);
        Share { lanes: 0, at_a_time, singly: true, issued, joints, ends, cost: issued }
    }

    /// How many lanes store a stretch where each stores a word at a time: as many as leave few idle.
    pub fn lanes_of_words(dst: &Stretches) -> usize {
        dst.words.div_ceil(dst.words.div_ceil(BOX_THREADS as usize))
    }

    /// Instructions that a thread issues to store its units of `unit` bytes in so many rounds where `every` stretches are stored at a time, near those
    /// of the machine code, if it has as many as the thread that has the most; and how many of those stretches differ in the last digit alone, and in
    /// the others.
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
        let each = if unit > word || word >= 4 { price.unit } else { price.word };
        let cols = dst.row(tile);
        let rows = dst.count / cols;
        let step = dst.apart.axes().last().map_or(0, |&axis| {
            canonical.axes()[axis].dst as usize * dst.has_apart(tile, axis).1 * word
        });
        let rounds = rounds as f64;
        let shared_out = |along: usize| {
            let down = every / along;
            let (of_row, rows) = (cols.div_ceil(along) as f64, rows.div_ceil(down) as f64);
            // A thread's stretches start alike on a unit: it looks up places once for all of them.
            let issued = match (step * along).is_multiple_of(unit) {
                true => rows * (2.0 * UNEVEN + rounds * (LOOKED_UP + of_row * each)),
                false => rows * of_row * rounds * (LOOKED_UP + each + UNEVEN),
            };
            (issued, [along, down])
        };
        let all = (0..=every.ilog2()).map(|log| shared_out(every >> log));
        all.min_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or_else(|| shared_out(every))
    }
}

/// The bytes of a unit that a lane stores, of words, or of runs of so many.
pub(super) fn unit(word: usize, run: usize) -> usize {
    if run > 1 && run * word >= 8 { 8 } else { word.max(4) }
}

/// Instructions that look up where the words of a unit are.
const LOOKED_UP: f64 = 18.0;

/// Instructions that look up where a stretch is.
const UNEVEN: f64 = 14.0;

/// Instructions that take as long as what is stored, near the least squares of the relative errors over the boxes of random moves that an H200 timed
/// (`compare --sweep 60 --candidates`, and 61).
struct Price {
    /// A unit of words.
    unit: f64,
    /// A word by itself.
    word: f64,
    /// A unit of 4 bytes, or of 8, of runs.
    run: f64,
    long_run: f64,
    /// A stretch that starts or ends inside a unit.
    end: f64,
    /// A sector that is stored in two parts.
    joint: f64,
    /// The same where words are stored by themselves, by warps that have parts of two sectors.
    split: f64,
    /// A stretch where words are stored by themselves.
    stretch: f64,
}

impl Price {
    const fn of(word: usize) -> Self {
        let any = Price {
            unit: 12.0,
            word: 12.0,
            run: 60.0,
            long_run: 64.0,
            end: 0.0,
            joint: 19.0,
            split: 0.0,
            stretch: 0.0,
        };
        match word {
            1 => Price {
                unit: 16.0,
                word: 4.0,
                end: 18.0,
                joint: 10.0,
                split: 5.0,
                stretch: 4.0,
                ..any
            },
            2 => Price { word: 7.0, end: 13.0, joint: 17.0, split: 2.0, ..any },
            _ => any,
        }
    }
}
