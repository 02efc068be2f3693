//! How a box is held in shared memory: how far apart its stretches of the source are, and what lies in which bank.

use super::super::canonical::{Canonical, OnTheWay};
use super::super::sectors::SECTOR;
use super::pieces::{self, are_pieces};
use super::share::Share;
use super::tile::{FewAxes, Stretches, Tile};
use crate::plan::problem::VECTOR;
use kernel_abi::tensor::{BOX_THREADS, MOST_DIGITS, MOST_TURNS};
use smallvec::SmallVec;

/// Banks of shared memory, of 4 bytes each.
const BANKS: usize = 32;

/// Instructions that a multiprocessor issues while it loads a word of each bank.
const MEANWHILE: f64 = 4.0;

/// The part of waiting for banks that others do not hide where pieces are stored.
const WAITED: f64 = 0.2;

/// The part of what warps wait for banks that takes time even if they had as much else to do, where pieces are stored.
const BANKS_OF_PIECES: f64 = 0.55;

/// How many times as long as warps issue instructions they wait for banks, at least, where stretches of the source are looked at row by row, and lanes as well that
/// issue more.
const LONG: f64 = 1.25;
const VERY_LONG: f64 = 2.0;

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
    /// Bytes of all stretches, and the most that these may be where they are further apart than they need be.
    pub image: usize,
    pub most: usize,
    /// Bytes of what waits outside the image, to be converted or to be added, and of a vector or a sector more, so that it may start on one.
    pub waiting: usize,
    /// Words of a run, if stretches of the destination are gathered run by run; else 1.
    pub run: usize,
}

/// How what is added to a box waits beside it, as it lies in memory.
#[derive(Clone, Copy)]
pub(in super::super) struct Beside {
    /// How many stretches there are: those of the destination, or one if they follow each other.
    pub stretches: usize,
    /// Bytes that are copied at a time.
    pub vector: usize,
    /// What these are counted from multiples of.
    pub align: usize,
    /// How many of these there is room for, of a stretch.
    pub vectors: usize,
}

/// Bytes of the tables that say where a block's boxes start in what is added, and where each of `stretches` stretches does; and of an entry more, so that the tables may start on a multiple of one.
pub(in super::super) fn others_bytes(stretches: usize) -> usize {
    (MOST_TURNS as usize + stretches + 1) * size_of::<u64>()
}

impl Beside {
    /// That of `stretches` stretches of the destination, each of `bytes` bytes in words of `word` bytes, which follow each other if they `are_one`.
    pub fn of(stretches: usize, bytes: usize, word: usize, are_one: bool) -> Self {
        /// Bytes of a stretch that is copied by words: by vectors it would leave much room.
        const SHORT: usize = 64;
        let (stretches, bytes) = if are_one { (1, stretches * bytes) } else { (stretches, bytes) };
        let least = word.max(4);
        // Lanes that are served together then ask for whole sectors, if they are even. The kernel counts vectors from sectors, also such as are one word.
        let by_words = bytes < SHORT && least < VECTOR;
        let (vector, align) = if by_words { (least, least) } else { (VECTOR, SECTOR) };
        // It may start behind a multiple by all words but one.
        let vectors = (bytes + align - word.min(align)).div_ceil(align) * (align / vector);
        Beside { stretches, vector, align, vectors }
    }

    /// Its bytes, and a sector more, so that it may start on one.
    pub fn bytes(self) -> usize {
        self.stretches * self.vectors * self.vector + SECTOR
    }
}

impl Held {
    /// With stretches as near each other as they can be, not shared out yet.
    pub fn of(
        canonical: &Canonical,
        src: &Stretches,
        tile: &Tile,
        run: usize,
        most: usize,
    ) -> Self {
        let share = Share::default();
        let waiting = match canonical.on_the_way {
            // At least: of stretches of the destination nothing is known here.
            OnTheWay::Added => tile.words * canonical.word_bytes() + SECTOR,
            _ if canonical.changes_width() => {
                src.count * src.vectors(canonical) * src.loaded_at_a_time(canonical) + VECTOR
            }
            _ => 0,
        };
        let pitches = [0; MOST_DIGITS];
        let mut held = Held { share, pitches, by_vectors: true, image: 0, most, waiting, run };
        held.space(canonical, src, tile, 0);
        held
    }

    /// Says how much room there is for what is added to such stretches of the destination.
    pub fn add_to(&mut self, canonical: &Canonical, dst: &Stretches) {
        if canonical.on_the_way == OnTheWay::Added {
            let word = canonical.word_bytes();
            let are_one = dst.follow_each_other(canonical);
            let beside = Beside::of(dst.count, dst.words * word, word, are_one);
            let tables = if canonical.is_added_alike() { 0 } else { others_bytes(dst.count) };
            self.waiting = beside.bytes() + tables;
        }
    }

    /// Says who stores what, where warps that store so wait for banks as long as `waits` says.
    pub fn share_out(
        &mut self,
        canonical: &Canonical,
        tile: &Tile,
        dst: &Stretches,
        waits: impl Fn(&Share) -> f64,
    ) {
        self.share = match are_pieces(dst) {
            true => pieces::share(canonical, tile, dst, waits),
            false => Share::of(canonical, dst, self.run, waits),
        };
    }

    /// Spaces the stretches, `beside` bytes further apart than they need to be.
    fn space(&mut self, canonical: &Canonical, src: &Stretches, tile: &Tile, beside: usize) {
        let word = canonical.held_word_bytes;
        let bytes = src.words * word;
        let starts = (src.starts * word / canonical.word_bytes()).min(VECTOR);
        // To where a vector starts that has nothing of the stretch, wherever that starts: on a multiple of a power of two.
        let loaded = canonical.in_image(src.loaded_at_a_time(canonical)).max(VECTOR);
        let mut least = bytes - 1 + loaded - ((bytes - 1) & (starts - 1));
        if !self.by_vectors || loaded > VECTOR {
            least += loaded - starts.min(loaded);
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
        self.image = (pitch + loaded).next_multiple_of(VECTOR);
    }

    /// Spaces the stretches so that a warp waits least for words of one bank when it stores a box, and returns the instructions that warps issue to
    /// store it, or could have issued while they waited; and whether they wait [long](LONG) as the box was shared out before.
    pub fn spread(
        &mut self,
        canonical: &Canonical,
        tile: &Tile,
        [src, dst]: [&Stretches; 2],
    ) -> (f64, bool) {
        let word = canonical.held_word_bytes;
        let asked = Asked::of(canonical, tile, [src, dst], &self.share);
        let loads = (dst.count * dst.words).div_ceil(BANKS) * (word / 4).max(1);
        let waited = |of_one_bank: usize| (loads * of_one_bank) as f64 * MEANWHILE;
        // Of pieces a warp has enough else to do meanwhile, nearly always.
        let beyond = |issued: f64, waited: f64| match are_pieces(dst) {
            true => (WAITED * (waited - issued)).max(BANKS_OF_PIECES * waited - issued).max(0.0),
            false => (waited - issued).max(0.0),
        };
        // As near each other as they can be.
        let mut least = asked.of_one_bank(&self.pitches, BANKS).unwrap_or(BANKS);
        if waited(least) > self.share.issued && src.apart.count() > 0 {
            least = self.space_for(canonical, tile, src, &asked, least, waited);
        }
        let waits = |share: &Share, of_one_bank| waited(of_one_bank) / share.issued;
        let waits_long = waits(&self.share, least) > LONG;
        if waits(&self.share, least) > VERY_LONG && !self.share.singly {
            // Other lanes of a stretch may ask for words of more banks.
            let pitches = self.pitches;
            let of_one_bank = |share: &Share| {
                let asked = Asked::of(canonical, tile, [src, dst], share);
                asked.of_one_bank(&pitches, BANKS).unwrap_or(BANKS)
            };
            self.share_out(canonical, tile, dst, |share| match share.singly {
                true => f64::INFINITY,
                false => beyond(share.issued, waited(of_one_bank(share))),
            });
            least = of_one_bank(&self.share);
        }
        (self.share.issued + beyond(self.share.issued, waited(least)), waits_long)
    }

    /// Spaces the stretches, of which `nearest` words of one bank are asked for where they are as near each other as they can be, so that storing and loading the box takes least
    /// if it is `waited` so long for words of one bank; and returns how many those are then.
    fn space_for(
        &mut self,
        canonical: &Canonical,
        tile: &Tile,
        src: &Stretches,
        asked: &Asked,
        nearest: usize,
        waited: impl Fn(usize) -> f64,
    ) -> usize {
        let word = canonical.held_word_bytes;
        let issued = self.share.issued;
        let (mut chosen, mut least) = ((true, 0), nearest);
        let mut best = issued.max(waited(nearest)) + self.loaded(canonical, src);
        // As many words of one bank as may be asked for: with none left nothing is better.
        let mut most = nearest;
        for (by_vectors, unit) in [(true, VECTOR), (false, word.max(4))] {
            self.by_vectors = by_vectors;
            let loaded = self.loaded(canonical, src);
            let cost = |of_one_bank| issued.max(waited(of_one_bank)) + loaded;
            // Vectors as near as they can be are known.
            for number in usize::from(by_vectors)..TRIED {
                while most > 0 && cost(most) >= best {
                    most -= 1;
                }
                if most == 0 {
                    break;
                }
                self.space(canonical, src, tile, number * unit);
                if self.image > self.most {
                    continue;
                }
                if let Some(of_one_bank) = asked.of_one_bank(&self.pitches, most) {
                    (chosen, least) = ((by_vectors, number * unit), of_one_bank);
                    best = cost(of_one_bank);
                }
            }
        }
        self.by_vectors = chosen.0;
        self.space(canonical, src, tile, chosen.1);
        least
    }

    /// Bytes in shared memory from one index of an axis to the next.
    pub fn step(&self, src: &Stretches, axis: usize, word: usize) -> usize {
        let in_words = src.step(axis).map(|words| words * word);
        let apart = || src.apart.position(axis).map(|place| self.pitches[place]);
        in_words.or_else(apart).unwrap_or(0)
    }

    /// Instructions that warps issue to load a box's stretches of the source; of words of 16 bytes, of which nothing is looked at before a block's threads have each loaded four vectors, as if
    /// the last of several such rounds were full. (By 470 boxes: of two rounds those that fill half of the second are slower by a tenth than those that fill it, decision 094.)
    pub fn loaded(&self, canonical: &Canonical, src: &Stretches) -> f64 {
        const ROUND: usize = 4 * BOX_THREADS as usize;
        let vectors = src.count * src.vectors(canonical);
        let step = if canonical.word_bytes() == 16 && vectors > ROUND {
            ROUND
        } else {
            BOX_THREADS as usize
        };
        let warps = vectors.next_multiple_of(step) / 32;
        let stretches = src.count.div_ceil(32);
        let held = if self.by_vectors { 4.0 } else { 22.0 };
        warps as f64 * (30.0 + held) + stretches as f64 * 40.0
    }
}

/// What the first warp asks of shared memory when it begins to store a box: some units of some stretches.
struct Asked {
    units: Places,
    stretches: Places,
}

/// So many first places of those that some axes of a box number: where they are in shared memory.
struct Places {
    count: usize,
    /// Bytes to each place, but for what axes add that tell stretches of the source apart.
    bytes: [u32; BANKS],
    /// Those of these axes that do so, each with the index that each place has of it.
    apart: SmallVec<[(u8, [u32; BANKS]); 2]>,
}

impl Places {
    /// The first `count` of the places that these axes of a box number, `each` numbers from one to the next: of an axis `has` tells how many numbers it has, and
    /// how many indices it is from one to the next.
    #[inline(always)]
    fn of(
        count: usize,
        each: u32,
        src: &Stretches,
        word: usize,
        axes: &FewAxes,
        has: impl Fn(usize) -> (usize, usize),
    ) -> Self {
        let mut places = Places { count, bytes: [0; BANKS], apart: SmallVec::new() };
        // Numbers before the digit changes: from the last place's number on the digits are 0.
        let mut below = 1;
        for axis in axes.iter() {
            let (has, indices) = has(axis);
            let (has, indices) = (has as u32, indices as u32);
            if below > (count as u32 - 1) * each {
                break;
            }
            // Most numbers are below what they would be divided by.
            let index = |place: usize| {
                let number = place as u32 * each;
                let above = if below == 1 { number } else { number / below };
                (if above < has { above } else { above % has }) * indices
            };
            if let Some(words) = src.step(axis) {
                let step = (words * word) as u32;
                let places = places.bytes[..count].iter_mut().enumerate();
                places.for_each(|(place, bytes)| *bytes += index(place) * step);
            } else if let Some(digit) = src.apart.position(axis) {
                let mut all = [0; BANKS];
                let places_of = all[..count].iter_mut().enumerate();
                places_of.for_each(|(place, all)| *all = index(place));
                places.apart.push((digit as u8, all));
            }
            below *= has;
        }
        places
    }

    /// The bytes to each, where stretches of the source are so far apart.
    fn at(&self, pitches: &[usize; MOST_DIGITS]) -> [u32; BANKS] {
        let mut all = self.bytes;
        for (digit, indices) in &self.apart {
            let pitch = pitches[usize::from(*digit)] as u32;
            let all = all[..self.count].iter_mut().zip(indices);
            all.for_each(|(bytes, index)| *bytes += index * pitch);
        }
        all
    }
}

impl Asked {
    fn of(canonical: &Canonical, tile: &Tile, [src, dst]: [&Stretches; 2], share: &Share) -> Self {
        let word = canonical.held_word_bytes;
        // Where words are stored one by one, a warp has neighbouring ones: of boxes of as many stretches as that takes, of pieces of one.
        let of_unit = if share.singly { 1 } else { (4 / canonical.word_bytes()).max(1) };
        let lanes = match share.singly && !are_pieces(dst) {
            true => dst.words.min(BANKS).ilog2(),
            false => share.lanes,
        };
        // Words of 8 and 16 bytes are loaded for a half and a quarter of a warp at a time.
        let asking = BANKS / (word / 4).max(1);
        let units = dst.words.div_ceil(of_unit).min(asking);
        let units = if share.singly { units } else { units.min(1 << lanes) };
        let stretches = (asking >> lanes).max(1);
        // Pieces of a row are stored by neighbours, if as many are at a time.
        let (row, along) = (dst.row(tile), share.at_a_time[0]);
        let (stretches, each) = match are_pieces(dst) && along >= stretches.min(row) {
            true => (stretches.min(row), dst.count / row),
            false => (stretches.min(dst.count), 1),
        };
        let units = Places::of(units, of_unit as u32, src, word, &dst.within, |axis| {
            (dst.has_within(tile, axis), 1)
        });
        let stretches = Places::of(stretches, each as u32, src, word, &dst.apart, |axis| {
            dst.has_apart(tile, axis)
        });
        Asked { units, stretches }
    }

    /// How many words of one bank that is, at most of any, where stretches are so far apart; `None` if it is more than `most`.
    fn of_one_bank(&self, pitches: &[usize; MOST_DIGITS], most: usize) -> Option<usize> {
        let (units, stretches) = (self.units.at(pitches), self.stretches.at(pitches));
        let (mut last, mut asked) = ([u32::MAX; BANKS], [0u8; BANKS]);
        let mut of_one = 1;
        for stretch in &stretches[..self.stretches.count] {
            for unit in &units[..self.units.count] {
                let at = (stretch + unit) / 4;
                let bank = at as usize % BANKS;
                asked[bank] += u8::from(last[bank] != at);
                last[bank] = at;
                of_one = of_one.max(usize::from(asked[bank]));
            }
            if of_one > most {
                return None;
            }
        }
        Some(of_one)
    }
}
