//! A box, and its words as either side has them.

use super::super::canonical::{Axis, Canonical, starts_on};
use super::super::cuts::{Cut, Gapped, Side};
use super::super::sectors::SECTOR;
use crate::plan::problem::VECTOR;
use kernel_abi::tensor::{MOST_AXES, MOST_DIGITS};

/// Bytes of shared memory that stretches of a box may take.
pub(super) const MOST_IMAGE: usize = 32 << 10;

/// The most stretches on either side.
pub(super) const MOST_STRETCHES: usize = 1024;

/// A box: of each axis some indices, in canonical order.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Tile {
    indices: [u32; MOST_AXES],
}

impl Tile {
    /// The smallest that has both cuts, and as much of another axis as there is room for; `None` if it is too large.
    pub fn of(canonical: &Canonical, cuts: [&Cut; 2]) -> Option<Self> {
        // Stretches are no shorter than the cuts.
        let shorter = cuts[0].words.min(cuts[1].words);
        let most = (MOST_IMAGE / canonical.word_bytes()).min(MOST_STRETCHES * shorter);
        if cuts[0].bits() & cuts[1].bits() == 0 && cuts[0].words * cuts[1].words > most {
            return None;
        }
        let mut indices = [1; MOST_AXES];
        for cut in cuts {
            for &axis in cut.axes() {
                let has =
                    if axis == cut.slowest() { cut.indices } else { canonical.axes()[axis].length };
                // No more than a cut has words.
                indices[axis] = indices[axis].max(has as u32);
            }
        }
        let tile = Tile { indices };
        let words = tile.words(canonical);
        (words <= most).then(|| tile.filled(canonical, most / words))
    }

    /// With up to `most` indices of one more axis, if it has every index of each axis of which it has more than one.
    fn filled(mut self, canonical: &Canonical, most: usize) -> Self {
        let is_in_part =
            |(_, axis, indices): (usize, &Axis, usize)| indices > 1 && indices < axis.length;
        if most < 2 || self.axes(canonical).any(is_in_part) {
            return self;
        }
        let others = self.axes(canonical).filter(|&(_, axis, indices)| indices < axis.length);
        let stride = |axis: &Axis| axis.src.unsigned_abs().min(axis.dst.unsigned_abs());
        if let Some((number, axis, _)) = others.min_by_key(|(_, axis, _)| stride(axis)) {
            self.indices[number] = axis.length.div_ceil(axis.length.div_ceil(most)) as u32;
        }
        self
    }

    /// How many indices of an axis it has.
    pub fn has(&self, axis: usize) -> usize {
        self.indices[axis] as usize
    }

    /// All axes, each with its number and how many of its indices the box has.
    pub fn axes<'a>(
        &'a self,
        canonical: &'a Canonical,
    ) -> impl Iterator<Item = (usize, &'a Axis, usize)> {
        let axes = canonical.axes().iter().enumerate();
        axes.map(|(number, axis)| (number, axis, self.has(number)))
    }

    pub fn words(&self, canonical: &Canonical) -> usize {
        self.axes(canonical).map(|(_, _, indices)| indices).product()
    }

    /// How many it takes to have everything.
    pub fn count(&self, canonical: &Canonical) -> usize {
        self.axes(canonical).map(|(_, axis, indices)| axis.length.div_ceil(indices)).product()
    }

    /// What of it lies in sectors that follow each other on a side: the words from the first to behind the last, those of gaps as well, and those of the box.
    pub fn cluster(&self, canonical: &Canonical, side: &Side) -> (usize, usize) {
        let (mut extent, mut words, mut inside) = (1, 1, FewAxes::default());
        while let Some(number) = side.next(canonical, extent, Gapped::InSector, inside.axes()) {
            let (axis, indices) = (&canonical.axes()[number], self.has(number));
            if indices == 1 || inside.push(number).is_none() {
                break;
            }
            extent += (side.stride)(axis) as usize * (indices - 1);
            words *= indices;
            if indices < axis.length {
                break;
            }
        }
        (extent, words)
    }

    /// Its stretches of no more than `most` words on the side of an address and strides, with gaps in them or not; `None` if they have too many axes.
    pub fn stretches(
        &self,
        canonical: &Canonical,
        side: &Side,
        gaps: Gapped,
        most: usize,
    ) -> Option<Stretches> {
        let stride = side.stride;
        let (mut within, mut words) = (FewAxes::default(), 1usize);
        let (mut together, mut ended) = (1usize, false);
        let (mut moved, mut inside) = (1, FewAxes::default());
        while let Some(number) = side.next(canonical, together, gaps, inside.axes()) {
            let (axis, indices) = (&canonical.axes()[number], self.has(number));
            if indices == 1 {
                break;
            }
            inside.push(number)?;
            together = stride(axis) as usize * indices;
            moved *= indices;
            ended |= together > most;
            if !ended {
                within.push(number)?;
                words = together;
            }
            if indices < axis.length {
                break;
            }
        }
        let mut apart = FewAxes::default();
        let mut in_part = 0;
        for whole in [true, false] {
            for (number, axis, indices) in self.axes(canonical) {
                let is_whole = indices == axis.length;
                if indices > 1 && is_whole == whole && !within.axes().contains(&number) {
                    apart.push(number)?;
                    in_part += usize::from(!whole);
                }
            }
        }
        // The last digit of a number may have fewer indices in a part at the end, the others not.
        if in_part > 1 {
            return None;
        }
        let count = apart.axes().iter().map(|&number| self.has(number)).product();
        // Where axes lie together, what follows starts where they end.
        let steps = self.axes(canonical).filter_map(|(_, axis, indices)| {
            match indices > 1 && stride(axis).unsigned_abs() < together {
                true => (indices < axis.length).then_some(stride(axis) * indices as isize),
                false => Some(stride(axis)),
            }
        });
        let aligned = starts_on(side.address, steps, canonical.word_bytes(), SECTOR);
        let apart_by = apart.axes().iter().map(|&number| stride(&canonical.axes()[number]));
        let starts = starts_on(aligned, apart_by, canonical.word_bytes(), VECTOR);
        let mut steps = [0; MOST_DIGITS];
        for (step, &number) in steps.iter_mut().zip(within.axes()) {
            *step = stride(&canonical.axes()[number]) as usize;
        }
        Some(Stretches { within, steps, words, together, moved, apart, count, aligned, starts })
    }
}

/// Axes by their numbers, at most as many as a number has digits.
#[derive(Clone, Copy, Default)]
pub(super) struct FewAxes {
    pub axes: [usize; MOST_DIGITS],
    pub count: usize,
}

impl FewAxes {
    pub fn axes(&self) -> &[usize] {
        &self.axes[..self.count]
    }

    pub fn push(&mut self, axis: usize) -> Option<()> {
        *self.axes.get_mut(self.count)? = axis;
        self.count += 1;
        Some(())
    }
}

/// A box's words as one side has them: stretches, and the axes that number them.
#[derive(Clone, Copy)]
pub(super) struct Stretches {
    /// The axes of a stretch, the fastest first.
    pub within: FewAxes,
    /// Words from one index to the next of each of them.
    steps: [usize; MOST_DIGITS],
    /// Words of a stretch, those of gaps as well.
    pub words: usize,
    /// Words that lie together, of stretches that do, those of gaps as well.
    pub together: usize,
    /// Those of them that are moved.
    pub moved: usize,
    /// The axes that tell stretches apart, the one that boxes have parts of last.
    pub apart: FewAxes,
    /// How many stretches.
    pub count: usize,
    /// Bytes, up to a sector's, that what lies together starts on a multiple of in all boxes.
    pub aligned: usize,
    /// Bytes, up to a vector's, that each stretch starts on a multiple of.
    pub starts: usize,
}

impl Stretches {
    /// Words of a stretch from one index of an axis to the next, if the stretch has the axis.
    pub fn step(&self, axis: usize) -> Option<usize> {
        let place = self.within.axes().iter().position(|&other| other == axis)?;
        Some(self.steps[place])
    }

    /// Whether one may start or end inside 4 bytes, of words that are less.
    pub fn have_ends(&self, word: usize) -> bool {
        self.starts < 4 || !(self.words * word).is_multiple_of(4)
    }

    /// The vectors that one has words in, at most.
    pub fn vectors(&self, word: usize) -> usize {
        (self.words * word + VECTOR - self.starts).div_ceil(VECTOR)
    }
}
