//! What lies together on one side of a move, and the ways to cut it into parts for tiles and boxes.

use super::canonical::{Axis, Canonical, starts_on};
use super::sectors::{SECTOR, sectors, sectors_of_one};
use crate::divide::TOO_LARGE;
use kernel_abi::tensor::MOST_DIGITS;

/// What lies together on one side: some axes, and of the slowest of them as many indices as each tile has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cut {
    /// The axes, by their numbers, the fastest first.
    pub axes: [usize; MOST_DIGITS],
    pub count: usize,
    /// Indices of the slowest axis that a tile has.
    pub indices: usize,
    /// Words of a tile, of all tiles together, and how many tiles.
    pub words: usize,
    pub all: usize,
    pub tiles: usize,
}

impl Cut {
    /// Its axes.
    pub fn axes(&self) -> &[usize] {
        &self.axes[..self.count]
    }

    /// The slowest of them, which tiles have a part of.
    pub fn slowest(&self) -> usize {
        self.axes[self.count - 1]
    }

    /// The axes as bits.
    pub fn bits(&self) -> u32 {
        self.axes().iter().fold(0, |bits, axis| bits | 1 << axis)
    }
}

/// A cut, and where its parts lie.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Placed {
    pub cut: Cut,
    /// Bytes, up to a sector's, that a tile's part of it starts on a multiple of wherever it lies.
    pub aligned: usize,
    /// Words from it to the nearest other one on its side.
    pub nearest: usize,
}

impl Placed {
    /// Bytes of sectors that all tiles' parts of it lie in.
    pub fn sectors(&self, word_bytes: usize) -> f64 {
        if self.cut.tiles == 1 {
            return sectors_of_one(self.cut.words, self.nearest, word_bytes, self.aligned);
        }
        let last = self.cut.all - (self.cut.tiles - 1) * self.cut.words;
        let whole =
            (self.cut.tiles - 1) as f64 * sectors(self.cut.words * word_bytes, self.aligned);
        whole + sectors(last * word_bytes, self.aligned)
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

/// What lies together on one side, and where a tile's part of it starts.
pub(super) struct Side {
    /// Bytes that the address is known to be a multiple of.
    pub address: usize,
    /// An axis's stride there.
    pub stride: fn(&Axis) -> isize,
}

impl Side {
    /// The source's and the destination's.
    pub fn both(canonical: &Canonical) -> [Self; 2] {
        let [src, dst] = canonical.aligned;
        [
            Side { address: src, stride: |axis| axis.src },
            Side { address: dst, stride: |axis| axis.dst },
        ]
    }

    /// The axis along which memory goes on behind `extent` words that lie together, none of `before`: at once, or behind a gap that is part of a sector
    /// if there may be `gaps`.
    pub fn next(
        &self,
        canonical: &Canonical,
        extent: usize,
        gaps: Gapped,
        before: &[usize],
    ) -> Option<usize> {
        let in_sector = extent + (SECTOR - 1) / canonical.word_bytes();
        let most = match gaps {
            Gapped::No => extent,
            Gapped::InSector => in_sector,
            Gapped::Little => in_sector.min(4 * extent),
        };
        let axes = canonical.axes().iter().enumerate();
        let next = axes.filter(|(number, axis)| {
            let stride = (self.stride)(axis);
            stride >= extent as isize && stride <= most as isize && !before.contains(number)
        });
        next.min_by_key(|(_, axis)| (self.stride)(axis)).map(|(number, _)| number)
    }

    /// The ways to cut what lies together into parts of about as many words as each of the `tried` says, which ascend.
    pub fn cuts(&self, canonical: &Canonical, tried: &[usize], gaps: Gapped) -> Vec<Cut> {
        let axes = canonical.axes();
        let sector = SECTOR / canonical.word_bytes();
        let mut cuts: Vec<Cut> = Vec::with_capacity(2 * tried.len());
        let mut run = [0; MOST_DIGITS];
        let (mut inner, mut extent) = (1usize, 1);
        for count in 1..=MOST_DIGITS {
            let next = self.next(canonical, extent, gaps, &run[..count - 1]);
            let Some(next) = next else { break };
            run[count - 1] = next;
            extent = (self.stride)(&axes[next]) as usize * axes[next].length;
            let length = axes[next].length;
            let Some(all) = inner.checked_mul(length).filter(|&all| all < TOO_LARGE) else { break };
            // Sectors are powers of two.
            let in_sectors = sector >> inner.trailing_zeros().min(sector.trailing_zeros());
            for &tried in tried.iter().filter(|&&tried| tried >= inner) {
                // As few tiles as that makes, of about the same length, in whole sectors if that is not much more.
                let most = (tried / inner).min(length);
                let indices = length.div_ceil(length.div_ceil(most));
                let whole = indices.next_multiple_of(in_sectors).min(length);
                let indices = if inner * whole <= tried + sector { whole } else { indices };
                let (words, tiles) = (inner * indices, length.div_ceil(indices));
                if cuts.last().is_none_or(|last| (last.words, last.count) != (words, count)) {
                    cuts.push(Cut { axes: run, count, indices, words, all, tiles });
                }
                // With more it is the same.
                if most == length {
                    break;
                }
            }
            inner = all;
        }
        cuts
    }

    /// The cuts of no more than `most` axes, each with where its parts lie.
    pub fn placed_cuts(&self, canonical: &Canonical, tried: &[usize], most: usize) -> Vec<Placed> {
        let cuts = self.cuts(canonical, tried, Gapped::No);
        let mut placed: Vec<Placed> = Vec::with_capacity(cuts.len());
        // Cuts of the same axes differ in nothing but the steps of their parts.
        let (mut count, mut aligned, mut nearest) = (0, 0, 0);
        for cut in cuts.into_iter().take_while(|cut| cut.count <= most) {
            if cut.count != count {
                count = cut.count;
                aligned = self.aligned(canonical, &cut);
                nearest = self.nearest(canonical, cut.all);
            }
            let step = (cut.words * canonical.word_bytes()).trailing_zeros();
            let steps = if cut.tiles > 1 { 1 << step.min(SECTOR.trailing_zeros()) } else { SECTOR };
            placed.push(Placed { cut, aligned: aligned.min(steps), nearest });
        }
        placed
    }

    /// Words from the start of one stretch of `stretch` words to that of the nearest other.
    pub fn nearest(&self, canonical: &Canonical, stretch: usize) -> usize {
        let strides = canonical.axes().iter().map(|axis| (self.stride)(axis).unsigned_abs());
        strides.filter(|&stride| stride >= stretch).min().unwrap_or(usize::MAX)
    }

    /// The words that lie together wherever one does, and bytes, up to a sector's, that where they start is a multiple of.
    pub fn together(&self, canonical: &Canonical) -> (usize, usize) {
        let axes = canonical.axes();
        let mut together = 1;
        while let Some(axis) = axes.iter().find(|axis| (self.stride)(axis) == together as isize) {
            together *= axis.length;
        }
        let others =
            axes.iter().map(self.stride).filter(|stride| stride.unsigned_abs() >= together);
        (together, starts_on(self.address, others, canonical.word_bytes(), SECTOR))
    }

    /// Bytes, up to a sector's, that a cut's axes start on a multiple of, wherever they lie.
    fn aligned(&self, canonical: &Canonical, cut: &Cut) -> usize {
        let others = canonical.axes().iter().enumerate();
        let others = others.filter(|(number, _)| !cut.axes().contains(number));
        let strides = others.map(|(_, axis)| (self.stride)(axis));
        starts_on(self.address, strides, canonical.word_bytes(), SECTOR)
    }
}
