//! How a box is held in shared memory, and who stores what of it: what lies in which bank, and the instructions that it takes.

use super::super::canonical::Canonical;
use super::tile::{FewAxes, Stretches, Tile};
use crate::plan::problem::VECTOR;
use kernel_abi::tensor::{BOX_THREADS, MOST_DIGITS};

/// Banks of shared memory.
const BANKS: usize = 32;

/// How a box is held in shared memory.
pub(super) struct Held {
    /// log2 of the lanes that store a stretch of the destination.
    pub lanes: u32,
    /// Instructions that warps issue to store all of them.
    pub issued: f64,
    /// Bytes from one stretch of the source to the next.
    pub pitch: usize,
    /// Bytes of all of them.
    pub image: usize,
    /// Words of a run, if stretches of the destination are gathered run by run; else 1.
    pub run: usize,
}

impl Held {
    pub fn of(
        canonical: &Canonical,
        tile: &Tile,
        src: &Stretches,
        dst: &Stretches,
        run: usize,
    ) -> Self {
        let word = canonical.word_bytes();
        let Gather { lanes, issued } = Gather::of(canonical, dst, run);
        let row = least_pitch(canonical, tile, src, dst);
        let pitch = if src.count > 1 {
            let together = together_in_both(tile, src, dst) * word;
            let taken = (together << 5u32.saturating_sub(lanes)).div_ceil(4).clamp(1, BANKS);
            best_pitch(row, taken, word.max(4) / 4)
        } else {
            row
        } * 4;
        Held { lanes, issued, pitch, image: (src.count * pitch).next_multiple_of(VECTOR), run }
    }

    /// Bytes in shared memory from one index of an axis to the next.
    pub fn step(&self, tile: &Tile, src: &Stretches, axis: usize, word: usize) -> usize {
        let before = |axes: &[usize]| -> Option<usize> {
            let place = axes.iter().position(|&other| other == axis)?;
            Some(axes[..place].iter().map(|&axis| tile.has(axis)).product())
        };
        let in_stretch = before(src.within.axes()).map(|words| words * word);
        in_stretch.or_else(|| before(src.apart.axes()).map(|rows| rows * self.pitch)).unwrap_or(0)
    }

    /// How many words of one bank a warp asks for at a time when it stores a box, at most of any bank: the first warp, as if nothing were skewed.
    fn waits(&self, tile: &Tile, [src, dst]: [&Stretches; 2], word: usize) -> usize {
        let steps = |axes: &FewAxes| {
            let mut steps = [(usize::MAX, 0); MOST_DIGITS];
            for (step, &axis) in steps.iter_mut().zip(axes.axes()) {
                *step = (tile.has(axis), self.step(tile, src, axis, word));
            }
            steps
        };
        let sum = |steps: &[(usize, usize)], mut number: usize| {
            let mut sum = 0;
            for &(indices, step) in steps {
                sum += number % indices * step;
                number /= indices;
            }
            sum
        };
        let (words, stretches) = (steps(&dst.within), steps(&dst.apart));
        let (words, stretches) = (&words[..dst.within.count], &stretches[..dst.apart.count]);
        let of_unit = (4 / word).max(1);
        let (mut last, mut asked) = ([usize::MAX; BANKS], [0; BANKS]);
        // Words of 8 and 16 bytes are loaded for a half and a quarter of a warp at a time.
        for lane in 0..BANKS / (word / 4).max(1) {
            let (unit, stretch) = (lane & ((1 << self.lanes) - 1), lane >> self.lanes);
            if unit * of_unit < dst.words && stretch < dst.count {
                let at = (sum(words, unit * of_unit) + sum(stretches, stretch)) / 4;
                if last[at % BANKS] != at {
                    (last[at % BANKS], asked[at % BANKS]) = (at, asked[at % BANKS] + 1);
                }
            }
        }
        asked.into_iter().max().unwrap_or(1)
    }

    /// Instructions that warps issue to store a box, or could have issued while they waited for words of one bank.
    pub fn gathered(&self, tile: &Tile, [src, dst]: [&Stretches; 2], word: usize) -> f64 {
        /// Instructions that a multiprocessor issues while it loads a word of each bank.
        const MEANWHILE: f64 = 4.0;
        let loads = (dst.count * dst.words).div_ceil(BANKS) * (word / 4).max(1);
        let waits = self.waits(tile, [src, dst], word);
        self.issued.max((loads * waits) as f64 * MEANWHILE)
    }

    /// Instructions that warps issue to load a box's stretches of the source.
    pub fn loaded(&self, word: usize, src: &Stretches) -> f64 {
        let vectors = src.count * src.vectors(word);
        let warps = vectors.next_multiple_of(BOX_THREADS as usize) / 32;
        let held = if self.pitch.is_multiple_of(VECTOR) { 4.0 } else { 26.0 };
        warps as f64 * (44.0 + held)
    }
}

/// The words that lie together both in a stretch of the destination and in the image.
fn together_in_both(tile: &Tile, src: &Stretches, dst: &Stretches) -> usize {
    let mut together = 1;
    for (&axis, &other) in dst.within.axes().iter().zip(src.within.axes()) {
        if axis != other {
            break;
        }
        together *= tile.has(axis);
    }
    together
}

/// The fewest units of 4 bytes from one stretch of the source to the next: its vectors, and one more for each but one of what moves where stretches
/// start: axes that the destination's stretches have, axes that they have not, and boxes.
fn least_pitch(canonical: &Canonical, tile: &Tile, src: &Stretches, dst: &Stretches) -> usize {
    let word = canonical.word_bytes();
    let (mut in_words, mut beside) = (false, false);
    for (number, axis, _) in tile.axes(canonical) {
        let moves = axis.src * word as isize % VECTOR as isize != 0;
        if moves && src.apart.axes().contains(&number) {
            let is_in_words = dst.within.axes().contains(&number);
            *if is_in_words { &mut in_words } else { &mut beside } = true;
        }
    }
    let parts = usize::from(in_words) + usize::from(beside) + usize::from(src.starts < VECTOR);
    (src.vectors(word) + parts.saturating_sub(1)) * VECTOR / 4
}

/// A pitch of `row` units of 4 bytes, a multiple of `unit`, or somewhat more: with which what a warp stores lies in different banks, if there is
/// one; one of whole vectors, which are held at once, rather than another.
fn best_pitch(row: usize, taken: usize, unit: usize) -> usize {
    let free = |step: usize| (row..row + BANKS).step_by(step).find(|&pitch| is_free(pitch, taken));
    free(VECTOR / 4).or_else(|| free(unit)).unwrap_or(row)
}

/// Whether 32 / `taken` stretches, `pitch` words apart, have `taken` neighbouring words each in different banks.
fn is_free(pitch: usize, taken: usize) -> bool {
    let words = u32::MAX >> (BANKS - taken);
    let mut seen = 0u32;
    (0..BANKS / taken).all(|stretch| {
        let mask = words.rotate_left((stretch * pitch % BANKS) as u32);
        let is_free = seen & mask == 0;
        seen |= mask;
        is_free
    })
}

/// How a box's stretches of the destination are shared out.
struct Gather {
    /// log2 of the lanes that store a stretch.
    lanes: u32,
    /// Instructions that warps issue to store all of them.
    issued: f64,
}

impl Gather {
    /// That which takes the fewest instructions.
    pub fn of(canonical: &Canonical, dst: &Stretches, run: usize) -> Self {
        let word = canonical.word_bytes();
        // So many lanes at least that what the others of a warp need of a place lies beside it in a bank.
        let least = match word {
            1 => 3,
            2 => 4,
            _ => 5,
        };
        let units = (dst.words * word).div_ceil(word.max(4));
        let most = units.next_power_of_two().trailing_zeros().min(BOX_THREADS.trailing_zeros());
        let all = (least.min(most)..=most).map(|lanes| {
            let wider = if lanes > least { WIDER } else { 1.0 };
            let issued = Self::issued(canonical, dst, units, lanes, run > 1);
            Gather { lanes, issued: issued * wider }
        });
        all.min_by(|a, b| a.issued.total_cmp(&b.issued)).expect("there is one at least")
    }

    /// Instructions that warps issue to store a box's stretches of `units` units with 2 to the power of `lanes` lanes to each, near those of the
    /// machine code: as if all warps issued as many as the one that has the most, for which the others wait.
    fn issued(
        canonical: &Canonical,
        dst: &Stretches,
        units: usize,
        lanes: u32,
        by_runs: bool,
    ) -> f64 {
        let word = canonical.word_bytes();
        let every = BOX_THREADS as usize >> lanes;
        let stretches = dst.count.div_ceil(every) as f64;
        let rounds = units.div_ceil(1 << lanes) as f64;
        let each = match word {
            _ if by_runs => BY_RUNS,
            1 => 20.0,
            2 => 16.0,
            _ => 12.0,
        };
        // A thread's stretches are as far apart as each other, and start alike on a unit.
        let is_even = match *dst.apart.axes() {
            [] => true,
            [axis] => {
                (canonical.axes()[axis].dst as usize * word * every).is_multiple_of(word.max(4))
            }
            _ => false,
        };
        let of_thread = match (by_runs, is_even) {
            (true, _) => stretches * (rounds * each + UNEVEN),
            // Threads look up places once for all stretches of theirs.
            (false, true) => rounds * (LOOKED_UP + stretches * each),
            (false, false) => rounds * (LOOKED_UP + stretches * (each + UNEVEN)),
        };
        of_thread * (BOX_THREADS / 32) as f64
    }
}

/// Instructions that store a unit of runs.
const BY_RUNS: f64 = 36.0;

/// Instructions that look up where the words of a unit are.
const LOOKED_UP: f64 = 18.0;

/// Instructions that look up where a stretch is.
const UNEVEN: f64 = 14.0;

/// How many times what it issues it costs to take more lanes to a stretch than the fewest: more words lie in one bank.
const WIDER: f64 = 1.2;
