//! How a box is held in shared memory: how far apart its stretches of the source are, and what lies in which bank.

use super::super::canonical::Canonical;
use super::pieces::{self, are_pieces};
use super::share::Share;
use super::tile::{FewAxes, MOST_IMAGE, Stretches, Tile};
use crate::plan::problem::VECTOR;
use kernel_abi::tensor::{BOX_THREADS, MOST_DIGITS};
use smallvec::SmallVec;

/// Banks of shared memory, of 4 bytes each.
const BANKS: usize = 32;

/// Instructions that a multiprocessor issues while it loads a word of each bank.
const MEANWHILE: f64 = 4.0;

/// The part of waiting for banks that others do not hide where pieces are stored.
const WAITED: f64 = 0.2;

/// Distances between stretches that are tried. With as many, vectors apart, they start in all banks.
const TRIED: usize = 8;

/// How a box is held in shared memory.
pub(super) struct Held {
    /// Who stores what of it.
    pub share: Share,
    /// Bytes in shared memory from one index to the next of each axis that tells stretches of the source apart.
    pub pitches: [usize; MOST_DIGITS],
    /// Whether these are what the axes add to addresses, modulo 16, so that a vector of memory is one of shared memory; else modulo 4, or a word.
    pub by_vectors: bool,
    /// Bytes of all stretches.
    pub image: usize,
    /// Words of a run, if stretches of the destination are gathered run by run; else 1.
    pub run: usize,
}

impl Held {
    /// With stretches as near each other as they can be, not shared out yet.
    pub fn of(canonical: &Canonical, src: &Stretches, tile: &Tile, run: usize) -> Self {
        let share = Share::default();
        let mut held = Held { share, pitches: [0; MOST_DIGITS], by_vectors: true, image: 0, run };
        held.space(canonical, src, tile, 0);
        held
    }

    /// Says who stores what.
    pub fn share_out(&mut self, canonical: &Canonical, tile: &Tile, dst: &Stretches) {
        self.share = match are_pieces(dst) {
            true => pieces::share(canonical, tile, dst),
            false => Share::of(canonical, dst, self.run),
        };
    }

    /// Spaces the stretches, `beside` bytes further apart than they need to be.
    fn space(&mut self, canonical: &Canonical, src: &Stretches, tile: &Tile, beside: usize) {
        let word = canonical.word_bytes();
        let bytes = src.words * word;
        // To where a vector starts that has nothing of the stretch, wherever that starts.
        let mut least = bytes - 1 + VECTOR - (bytes - 1) % src.starts;
        if !self.by_vectors {
            least += VECTOR - src.starts;
        }
        let modulo = if self.by_vectors { VECTOR } else { word.max(4) };
        let mut pitch = least + beside;
        for (axis, held) in src.apart.iter().zip(&mut self.pitches) {
            let step = canonical.axes()[axis].src * word as isize;
            // A power of two.
            let behind = (step - pitch as isize) as usize & (modulo - 1);
            *held = pitch + behind;
            pitch = *held * tile.has(axis);
        }
        // Where it starts behind a vector.
        self.image = (pitch + VECTOR).next_multiple_of(VECTOR);
    }

    /// Spaces the stretches so that a warp waits least for words of one bank when it stores a box, and returns the instructions that warps issue to
    /// store it, or could have issued while they waited.
    pub fn spread(
        &mut self,
        canonical: &Canonical,
        tile: &Tile,
        [src, dst]: [&Stretches; 2],
    ) -> f64 {
        let word = canonical.word_bytes();
        let asked = Asked::of(tile, [src, dst], word, &self.share);
        let loads = (dst.count * dst.words).div_ceil(BANKS) * (word / 4).max(1);
        let waited = |held: &Held| (loads * asked.of_one_bank(&held.pitches)) as f64 * MEANWHILE;
        let least = waited(self);
        // Of pieces a warp has enough else to do meanwhile, nearly always.
        let hidden = if are_pieces(dst) { WAITED } else { 1.0 };
        let stored =
            |held: &Held| held.share.issued + hidden * (waited(held) - held.share.issued).max(0.0);
        if least <= self.share.issued || src.apart.count() == 0 {
            return stored(self);
        }
        let cost = |held: &Held| held.share.issued.max(waited(held)) + held.loaded(word, src);
        let (mut best, mut chosen) = (cost(self), (true, 0));
        'all: for (by_vectors, unit) in [(true, VECTOR), (false, word.max(4))] {
            self.by_vectors = by_vectors;
            for number in 0..TRIED {
                self.space(canonical, src, tile, number * unit);
                let cost = cost(self);
                if cost < best && self.image <= MOST_IMAGE {
                    (best, chosen) = (cost, (by_vectors, number * unit));
                }
                // Nothing waits: what else there is takes no fewer instructions.
                if best <= self.share.issued + self.loaded(word, src) {
                    break 'all;
                }
            }
        }
        self.by_vectors = chosen.0;
        self.space(canonical, src, tile, chosen.1);
        stored(self)
    }

    /// Bytes in shared memory from one index of an axis to the next.
    pub fn step(&self, src: &Stretches, axis: usize, word: usize) -> usize {
        let in_words = src.step(axis).map(|words| words * word);
        let apart = || src.apart.position(axis).map(|place| self.pitches[place]);
        in_words.or_else(apart).unwrap_or(0)
    }

    /// Instructions that warps issue to load a box's stretches of the source.
    pub fn loaded(&self, word: usize, src: &Stretches) -> f64 {
        let vectors = src.count * src.vectors(word);
        let warps = vectors.next_multiple_of(BOX_THREADS as usize) / 32;
        let stretches = src.count.div_ceil(32);
        let held = if self.by_vectors { 4.0 } else { 22.0 };
        warps as f64 * (30.0 + held) + stretches as f64 * 40.0
    }
}

/// What the first warp asks of shared memory when it begins to store a box: some units of some stretches.
struct Asked {
    units: SmallVec<[Place; BANKS]>,
    stretches: SmallVec<[Place; BANKS]>,
    /// How many axes tell stretches of the source apart.
    apart: usize,
}

/// So many bytes into a stretch of the source, which has such an index of each axis that tells stretches apart.
#[derive(Clone, Copy, Default)]
struct Place {
    bytes: u32,
    apart: [u32; MOST_DIGITS],
}

impl Place {
    /// That of the number that these axes of a box make, each of which has so many numbers, and so many indices from one to the next.
    fn of(
        src: &Stretches,
        word: usize,
        axes: &FewAxes,
        has: impl Fn(usize) -> (usize, usize),
        mut number: u32,
    ) -> Self {
        let mut place = Place::default();
        for axis in axes.iter() {
            let (has, each) = has(axis);
            let index = number % has as u32 * each as u32;
            number /= has as u32;
            if let Some(words) = src.step(axis) {
                place.bytes += index * (words * word) as u32;
            } else if let Some(digit) = src.apart.position(axis) {
                place.apart[digit] = index;
            }
        }
        place
    }
}

impl Asked {
    fn of(tile: &Tile, [src, dst]: [&Stretches; 2], word: usize, share: &Share) -> Self {
        let lanes = share.lanes;
        // Of pieces that are stored word by word a warp has neighbouring words.
        let of_unit = if share.singly && are_pieces(dst) { 1 } else { (4 / word).max(1) };
        // Words of 8 and 16 bytes are loaded for a half and a quarter of a warp at a time.
        let asking = BANKS / (word / 4).max(1);
        let units = dst.words.div_ceil(of_unit).min(asking).min(1 << lanes);
        let stretches = (asking >> lanes).max(1).min(dst.count);
        let (within, apart) = (&dst.within, &dst.apart);
        let unit = |at: usize| {
            let has = |axis| (dst.has_within(tile, axis), 1);
            Place::of(src, word, within, has, (at * of_unit) as u32)
        };
        let stretch =
            |at: usize| Place::of(src, word, apart, |axis| dst.has_apart(tile, axis), at as u32);
        let (units, stretches) =
            ((0..units).map(unit).collect(), (0..stretches).map(stretch).collect());
        Asked { units, stretches, apart: src.apart.count() }
    }

    /// How many words of one bank that is, at most of any, where stretches are so far apart.
    fn of_one_bank(&self, pitches: &[usize; MOST_DIGITS]) -> usize {
        let pitches = pitches.map(|pitch| pitch as u32);
        let bytes = |Place { bytes, apart }: &Place| {
            let apart = apart[..self.apart].iter().zip(&pitches);
            bytes + apart.map(|(index, pitch)| index * pitch).sum::<u32>()
        };
        let mut units = [0; BANKS];
        for (at, unit) in units.iter_mut().zip(&self.units) {
            *at = bytes(unit);
        }
        let units = &units[..self.units.len()];
        let (mut last, mut asked) = ([u32::MAX; BANKS], [0u8; BANKS]);
        for stretch in self.stretches.iter().map(bytes) {
            for unit in units {
                let at = (stretch + unit) / 4;
                let bank = at as usize % BANKS;
                asked[bank] += u8::from(last[bank] != at);
                last[bank] = at;
            }
        }
        usize::from(asked.into_iter().fold(0, u8::max)).max(1)
    }
}
