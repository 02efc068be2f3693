//! Who stores what of a box: how many lanes a stretch of the destination has, and the instructions that it takes.

use super::super::canonical::Canonical;
use super::tile::Stretches;
use kernel_abi::tensor::BOX_THREADS;

/// How a box's stretches of the destination are shared out.
#[derive(Default)]
pub(super) struct Share {
    /// log2 of the lanes that store a stretch.
    pub lanes: u32,
    /// Whether words are stored one at a time instead, neighbours by neighbouring lanes of all.
    pub singly: bool,
    /// Instructions that warps issue to store all of them.
    pub issued: f64,
    /// Instructions that take as long as what runs of a warp wait for each other.
    pub shared: f64,
    /// How many times a stretch goes on where its lanes have stored all that they store at a time: most likely inside a sector, which is stored in two
    /// parts then.
    pub joints: f64,
    /// How many stretches start or end inside a unit.
    pub ends: f64,
    /// Of pieces, how many of a row are stored at a time, and of how many rows.
    pub at_a_time: [usize; 2],
}

impl Share {
    /// That which takes the least time, where warps that store so wait for banks as long as `waits` says.
    pub fn of(
        canonical: &Canonical,
        dst: &Stretches,
        run: usize,
        waits: impl Fn(&Self) -> f64,
    ) -> Self {
        let word = canonical.word_bytes();
        // So many lanes at least that what the others of a warp need of a place lies beside it in a bank.
        let least = match word {
            1 => 3,
            2 => 4,
            _ => 5,
        };
        let unit = unit(word, run);
        let units = rounds(dst.words * word, unit.trailing_zeros());
        let most = units.next_power_of_two().trailing_zeros().min(BOX_THREADS.trailing_zeros());
        let all = (least.min(most)..=most).map(|lanes| {
            let each_run = (run > 1).then_some(if unit == 4 { BY_RUNS } else { BY_LONG_RUNS });
            let issued = Self::issued(canonical, dst, units, lanes, each_run);
            // Runs are stored from sector to sector.
            let joints = if run > 1 { 0 } else { dst.count * (rounds(units, lanes) - 1) };
            let ends = if dst.have_ends(word) { dst.count as f64 } else { 0.0 };
            let joints = joints as f64;
            let shared = each_run.map_or(0.0, |each| issued / each * shared(run * word));
            Share { lanes, singly: false, issued, shared, joints, ends, at_a_time: [0; 2] }
        });
        let singly = (word < 4 && run == 1).then(|| Self::singly(dst));
        let cost =
            |share: &Share| share.issued + share.joints * JOINT + share.ends * END + waits(share);
        Self::cheapest(all.chain(singly), cost)
    }

    /// The one of some that costs least, of equals the first.
    #[inline(always)]
    pub fn cheapest(all: impl Iterator<Item = Self>, cost: impl Fn(&Self) -> f64) -> Self {
        let (mut least, mut cheapest) = (f64::INFINITY, Share::default());
        all.for_each(|share| {
            let cost = cost(&share);
            if cost < least {
                (least, cheapest) = (cost, share);
            }
        });
        cheapest
    }

    /// That in which each lane stores a word at a time.
    fn singly(dst: &Stretches) -> Self {
        let each = if dst.apart.count() <= 1 { SINGLY } else { SINGLY + UNEVEN };
        let rounds = (dst.count * dst.words).div_ceil(BOX_THREADS as usize) as f64;
        let issued = (rounds * each + BEGUN) * (BOX_THREADS / 32) as f64;
        Share { singly: true, issued, ..Share::default() }
    }

    /// Instructions that warps issue to store a box's stretches of `units` units with 2 to the power of `lanes` lanes to each, near those of the
    /// machine code: as if all warps issued as many as the one that has the most, for which the others wait.
    fn issued(
        canonical: &Canonical,
        dst: &Stretches,
        units: usize,
        lanes: u32,
        each_run: Option<f64>,
    ) -> f64 {
        let word = canonical.word_bytes();
        let every = BOX_THREADS as usize >> lanes;
        let stretches = rounds(dst.count, BOX_THREADS.trailing_zeros() - lanes) as f64;
        let rounds = rounds(units, lanes) as f64;
        let each = of_unit(word);
        // A thread's stretches are as far apart as each other, and start alike on a unit.
        let is_even = match *dst.apart.numbers() {
            [] => true,
            [axis] => {
                // Of the product the low bits alone are asked for.
                let stride = canonical.axes()[usize::from(axis)].dst as usize;
                stride.wrapping_mul(word * every) & (word.max(4) - 1) == 0
            }
            _ => false,
        };
        let of_thread = match (each_run, is_even) {
            (Some(each), _) => stretches * (rounds * each + UNEVEN),
            // Threads look up places once for all stretches of theirs.
            (None, true) => rounds * (LOOKED_UP + stretches * each),
            (None, false) => rounds * (LOOKED_UP + stretches * (each + UNEVEN)),
        };
        of_thread * (BOX_THREADS / 32) as f64
    }
}

/// Instructions that store a unit of words.
fn of_unit(word: usize) -> f64 {
    match word {
        1 => 20.0,
        2 => 16.0,
        _ => 12.0,
    }
}

/// Instructions of a thread that store a word, at least: units have up to 4 bytes of words of less, runs and words by themselves take more.
pub(super) fn least_of_word(word: usize) -> f64 {
    of_unit(word) / (4 / word).max(1) as f64
}

/// How many times 2 to the power of `lanes` things are done until all are.
fn rounds(all: usize, lanes: u32) -> usize {
    (all + (1 << lanes) - 1) >> lanes
}

/// The bytes of a unit that a lane stores, of words, or of runs of so many.
pub(super) fn unit(word: usize, run: usize) -> usize {
    if run > 1 && run * word >= 8 { 8 } else { word.max(4) }
}

/// Instructions that store a unit of 4 bytes, or of 8, of runs.
const BY_RUNS: f64 = 40.0;
const BY_LONG_RUNS: f64 = 58.0;

/// Instructions that take as long as what a warp waits because a unit of it is of two runs of so many bytes, for each that it stores: most likely if they
/// are shorter than what it stores at a time.
fn shared(run: usize) -> f64 {
    const MOST: f64 = 14.0;
    const OF_WARP: f64 = 256.0;
    MOST * (OF_WARP / run as f64).min(1.0)
}

/// Instructions that look up where the words of a unit are.
pub(super) const LOOKED_UP: f64 = 18.0;

/// Instructions that look up where a stretch is.
pub(super) const UNEVEN: f64 = 14.0;

/// Instructions that store a word by itself, and that begin doing so.
const SINGLY: f64 = 17.0;
const BEGUN: f64 = 60.0;

/// Instructions that take as long as storing where a stretch starts and ends inside a unit.
const END: f64 = 12.0;

/// Instructions that take as long as storing a sector in two parts.
const JOINT: f64 = 19.0;
