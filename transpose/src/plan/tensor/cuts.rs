//! What lies together on one side of a move, and the ways to cut it into parts for tiles and boxes.

use super::canonical::{Axis, Canonical};
use super::sectors::{BURST, SECTOR, bursts, float, sectors, sectors_of_one};
use super::side::{Side, starts_on};
use crate::divide::TOO_LARGE;
use kernel_abi::tensor::MOST_DIGITS;

/// What lies together on one side: some axes, and of the slowest of them as many indices as each tile has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cut {
    /// The axes, by their numbers, the fastest first.
    axes: [u8; MOST_DIGITS],
    count: u8,
    /// The axes as bits.
    pub bits: u32,
    /// Indices of the slowest axis that a tile has; 0 if tiles go across axes, and start anywhere in what lies together.
    pub indices: usize,
    /// Words of a tile, of all tiles together, and how many tiles.
    pub words: usize,
    pub all: usize,
    pub tiles: usize,
}

impl Cut {
    /// How many axes.
    pub fn count(&self) -> usize {
        usize::from(self.count)
    }

    /// Its axes.
    pub fn axes(&self) -> impl DoubleEndedIterator<Item = usize> {
        self.axes[..self.count()].iter().map(|&axis| usize::from(axis))
    }

    /// The slowest of them, which tiles have a part of.
    pub fn slowest(&self) -> usize {
        usize::from(self.axes[self.count() - 1])
    }

    /// A cut of this cut's axes whose tiles have so many words and go across axes, unless so many words are whole indices.
    fn across(&self, words: usize) -> Option<Self> {
        let index = self.words / self.indices;
        let tiles = parts(self.all, words);
        let is_needed = !words.is_multiple_of(index) && !index.is_multiple_of(words);
        is_needed.then_some(Cut { indices: 0, words, tiles, ..*self })
    }

    /// Whether tiles go across axes.
    pub fn is_across(&self) -> bool {
        self.indices == 0
    }

    /// Whether it has an axis.
    pub fn has(&self, axis: usize) -> bool {
        self.bits >> axis & 1 == 1
    }
}

/// A cut, and where its parts lie.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Placed {
    pub cut: Cut,
    /// Bytes, up to a sector's, that a tile's part of it starts on a multiple of wherever it lies.
    pub aligned: usize,
    /// The same, up to a burst's.
    in_bursts: usize,
    /// Words from it to the nearest other one on its side.
    pub nearest: usize,
}

impl Placed {
    /// Where the parts of a cut lie, if all that is cut starts on a multiple of `starts` bytes.
    fn of(cut: Cut, starts: usize, nearest: usize, word_bytes: usize) -> Self {
        let step = (cut.words * word_bytes).trailing_zeros();
        let steps = if cut.tiles > 1 { 1 << step.min(BURST.trailing_zeros()) } else { BURST };
        let in_bursts = starts.min(steps);
        Placed { cut, aligned: in_bursts.min(SECTOR), in_bursts, nearest }
    }

    /// Bytes of sectors that all tiles' parts of it lie in.
    pub fn sectors(&self, word_bytes: usize) -> f64 {
        if self.cut.tiles == 1 {
            return sectors_of_one(self.cut.words, self.nearest, word_bytes, self.aligned);
        }
        let last = self.cut.all - (self.cut.tiles - 1) * self.cut.words;
        let whole = (self.cut.tiles - 1) * sectors(self.cut.words * word_bytes, self.aligned);
        float(whole + sectors(last * word_bytes, self.aligned))
    }

    /// Whether tiles have all of it and memory goes on behind it, so that a tile may have what follows as well.
    pub fn goes_on(&self) -> bool {
        self.cut.tiles == 1 && self.nearest == self.cut.all
    }

    /// Words that lie together in a tile that has all of it, wherever it lies, and `other` of the other side: more than this has where memory goes on along
    /// axes of the other. `stride` is that of this side.
    pub fn together(&self, axes: &[Axis], stride: fn(&Axis) -> isize, other: &Cut) -> usize {
        let mut words = self.cut.all;
        // Across axes the other has parts of indices.
        while let Some(axis) = other.axes().find(|&axis| stride(&axes[axis]) == words as isize)
            && !other.is_across()
        {
            let length = axes[axis].length;
            let indices = if axis == other.slowest() { other.indices } else { length };
            words *= indices;
            if indices < length {
                break;
            }
        }
        words
    }

    /// Bytes of bursts that all tiles' parts of it lie in, beyond their own.
    pub fn beside_in_bursts(&self, word_bytes: usize) -> f64 {
        let Cut { words, all, tiles, .. } = self.cut;
        let last = all - (tiles - 1) * words;
        let of = |words: usize| bursts(words * word_bytes, self.in_bursts);
        float((tiles - 1) * of(words) + of(last) - all * word_bytes)
    }
}

/// Whether gaps in memory count as what lies together.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Gapped {
    No,
    /// Those within a sector.
    InSector,
    /// Those within a sector that are no more than three times as long as what is between them: held with it, they take no more room than they are worth.
    Little,
}

impl Gapped {
    /// How far behind the start of `extent` words the next may start that lie together with them.
    fn reach(self, extent: usize, word_bytes: usize) -> usize {
        let in_sector = extent + (SECTOR - 1) / word_bytes;
        match self {
            Gapped::No => extent,
            Gapped::InSector => in_sector,
            Gapped::Little => in_sector.min(4 * extent),
        }
    }
}

impl Side {
    /// Whether what lies together goes on behind gaps that are [little](Gapped::Little).
    pub fn has_little_gaps(&self, word_bytes: usize) -> bool {
        self.pitch <= Gapped::Little.reach(self.together, word_bytes)
    }

    /// The axis along which memory goes on behind `extent` words that lie together, of which the last one is at `last`: at once, or behind a gap that is part of a sector if there may be
    /// `gaps`. Of the axes in the order of their strides, those up to `seen` are not looked at any more.
    #[inline]
    pub fn next(
        &self,
        canonical: &Canonical,
        [extent, last]: [usize; 2],
        gaps: Gapped,
        seen: &mut usize,
    ) -> Option<usize> {
        let most = gaps.reach(extent, canonical.word_bytes());
        let axes = canonical.axes();
        for &number in &self.order(axes.len())[*seen..] {
            let stride = self.stride(&axes[usize::from(number)]);
            if stride > most as isize {
                return None;
            }
            *seen += 1;
            // In a source the next index may start in the gap behind the last word; a destination's stretches say by that gap that they have some.
            let before = if self.is_source() { last } else { extent - 1 };
            if stride > before as isize {
                return Some(usize::from(number));
            }
        }
        None
    }

    /// The axis along which words lie side by side, if there is one: what lies together, and every cut of it, has that.
    pub fn fastest(&self, canonical: &Canonical) -> Option<usize> {
        self.next(canonical, [1, 0], Gapped::No, &mut 0)
    }

    /// How many axes a cut has at most without one of them: those before it in the order of their strides, if they are positive; all if its own is not.
    pub fn axes_without(&self, canonical: &Canonical, axis: usize) -> usize {
        let axes = canonical.axes();
        let order = self.order(axes.len()).iter().map(|&number| usize::from(number));
        let mut ascending = order.filter(|&number| self.stride(&axes[number]) > 0);
        ascending.position(|number| number == axis).unwrap_or(axes.len())
    }

    /// Finds the ways to cut what lies together into parts of about as many words as each of the `tried` says, which ascend: of a few axes, then of more.
    pub fn cuts(
        &self,
        canonical: &Canonical,
        tried: &[usize],
        gaps: Gapped,
        most: usize,
        mut found: impl FnMut(Cut),
    ) {
        let axes = canonical.axes();
        let sector = SECTOR / canonical.word_bytes();
        let (mut run, mut bits) = ([0; MOST_DIGITS], 0);
        let (mut inner, mut extent, mut last_word, mut seen) = (1usize, 1, 0, 0);
        for count in 1..=most.min(MOST_DIGITS) {
            if tried.last().is_none_or(|&tried| tried < inner) {
                break;
            }
            let reached = [extent, last_word];
            let Some(next) = self.next(canonical, reached, gaps, &mut seen) else { break };
            run[count - 1] = next as u8;
            bits |= 1 << next;
            let stride = self.stride(&axes[next]) as usize;
            extent = stride * axes[next].length;
            last_word += extent - stride;
            let length = axes[next].length;
            let Some(all) = inner.checked_mul(length).filter(|&all| all < TOO_LARGE) else { break };
            // Sectors are powers of two.
            let in_sectors = sector >> inner.trailing_zeros().min(sector.trailing_zeros());
            let (mut last, mut last_most) = (0, 0);
            for &tried in tried.iter().filter(|&&tried| tried >= inner) {
                // As few tiles as that makes, of about the same length, in whole sectors if that is not much more.
                let most = if inner == 1 { tried } else { quotient(tried, inner) }.min(length);
                // Where any number of indices is whole sectors, all cuts of at most `most` indices are equal.
                if in_sectors == 1 && std::mem::replace(&mut last_most, most) == most {
                    continue;
                }
                let few = parts(length, most);
                let indices = likely_parts(length, few, most);
                let whole = ((indices + in_sectors - 1) & !(in_sectors - 1)).min(length);
                // Else in whole sectors if that is not much less; of narrow words, whose rows start anywhere as a rule, if rows of both sides start on sectors.
                let less = indices & !(in_sectors - 1);
                let may_be_less = || canonical.word_bytes() >= 4 || canonical.starts_on_sectors();
                let indices = if inner * whole <= tried + sector {
                    whole
                } else if 4 * less >= 3 * indices && may_be_less() {
                    less
                } else {
                    indices
                };
                let words = inner * indices;
                if std::mem::replace(&mut last, words) != words {
                    let (count, tiles) = (count as u8, likely_parts(length, indices, few));
                    found(Cut { axes: run, count, bits, indices, words, all, tiles });
                }
                // With more it is the same.
                if most == length {
                    break;
                }
            }
            inner = all;
        }
    }

    /// Finds the cuts of no more than `most` axes, each with where its parts lie; and if parts may go across axes, one whose parts are a burst each: of the fewest axes that start on
    /// bursts and have some, unless whole indices of these have as many words.
    pub fn placed_cuts(
        &self,
        canonical: &Canonical,
        tried: &[usize],
        most: usize,
        may_cross: bool,
        mut found: impl FnMut(Placed),
    ) {
        /// Bursts that the axes have at least.
        const SOME: usize = 3;
        let word = canonical.word_bytes();
        let mut crossing = may_cross.then_some(BURST / word);
        // Cuts of the same axes differ in nothing but the steps of their parts.
        let (mut count, mut aligned, mut nearest) = (0, 0, 0);
        self.cuts(canonical, tried, Gapped::No, most, |cut| {
            if cut.count != count {
                count = cut.count;
                aligned = self.aligned(canonical, &cut);
                nearest = self.nearest(canonical.axes(), cut.all);
                let burst =
                    crossing.take_if(|&mut words| aligned == BURST && cut.all >= SOME * words);
                if let Some(across) = burst.and_then(|words| cut.across(words)) {
                    found(Placed::of(across, aligned, nearest, word));
                }
            }
            // One index of the slowest axis is all of the others, which was found before.
            if cut.indices > 1 || cut.count == 1 {
                found(Placed::of(cut, aligned, nearest, word));
            }
        });
    }

    /// Bytes, up to a burst's, that a cut's axes start on a multiple of, wherever they lie.
    fn aligned(&self, canonical: &Canonical, cut: &Cut) -> usize {
        let others = canonical.axes().iter().enumerate();
        let others = others.filter(|&(number, _)| !cut.has(number));
        let strides = others.map(|(_, axis)| self.stride(axis));
        starts_on(self.address, strides, canonical.word_bytes(), BURST)
    }
}

/// The quotient of numbers of 32 bits: a processor divides those in less time.
fn quotient(number: usize, by: usize) -> usize {
    (number as u32 / by as u32) as usize
}

/// How many parts of `of` a number has, the last part perhaps smaller. The number and `of` are below [`TOO_LARGE`], so that their sum has 32 bits.
fn parts(number: usize, of: usize) -> usize {
    quotient(number + of - 1, of)
}

/// The number of [`parts`], found without a division if it is the `likely` one: a processor multiplies in less time than it divides.
fn likely_parts(number: usize, of: usize, likely: usize) -> usize {
    let are_so_many = (likely - 1) * of < number && number <= likely * of;
    if are_so_many { likely } else { parts(number, of) }
}
