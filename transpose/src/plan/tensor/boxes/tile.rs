//! A box, and its words as either side has them.

use super::super::canonical::{Axis, Canonical};
use super::super::cuts::{Cut, Gapped};
use super::super::sectors::SECTOR;
use super::super::side::{Side, starts_on};
use super::piece::{Piece, piece_of};
use crate::divide::TOO_LARGE;
use crate::plan::problem::VECTOR;
use kernel_abi::tensor::{MOST_AXES, MOST_DIGITS, box_vector};

/// Bytes of shared memory that stretches of a box may take.
pub(super) const MOST_IMAGE: usize = 32 << 10;

/// The most stretches on either side.
pub(super) const MOST_STRETCHES: usize = 1024;

/// A box: of each axis some indices, in canonical order.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Tile {
    /// Words of it: what is compared first.
    pub words: usize,
    indices: [u32; MOST_AXES],
}

/// A cut, and the smallest box that has it.
pub(super) struct Cutting {
    words: usize,
    /// Its axes.
    bits: u32,
    indices: [u32; MOST_AXES],
}

impl Cutting {
    /// That of a source in which nothing lies together: a box may have any part of the axes along which it is repeated.
    pub fn none() -> Self {
        Cutting { words: 1, bits: 0, indices: [1; MOST_AXES] }
    }

    #[inline(always)]
    pub fn of(canonical: &Canonical, cut: &Cut) -> Self {
        let mut indices = [1; MOST_AXES];
        for axis in cut.axes() {
            let is_slowest = axis == cut.slowest();
            let has = if is_slowest { cut.indices } else { canonical.axes()[axis].length };
            // No more than a cut has words.
            indices[axis] = has as u32;
        }
        Cutting { words: cut.words, bits: cut.bits, indices }
    }

    /// Words of the smallest box that has this cut and another.
    fn words_with(&self, other: &Self, rank: usize) -> usize {
        if self.bits & other.bits == 0 {
            return self.words * other.words;
        }
        let both = self.indices[..rank].iter().zip(&other.indices);
        both.map(|(&a, &b)| a.max(b) as usize).product()
    }
}

/// What boxes of a move have room for.
pub(super) struct Room<'a> {
    canonical: &'a Canonical,
    /// Words of a box, at most.
    words: usize,
    /// Whether the source is repeated.
    repeats: bool,
}

impl<'a> Room<'a> {
    pub fn of(canonical: &'a Canonical) -> Self {
        let words = MOST_IMAGE / canonical.held_word_bytes;
        Room { canonical, words, repeats: canonical.repeats() }
    }

    /// Whether boxes may have both cuts.
    pub fn is_for(&self, a: &Cutting, b: &Cutting) -> bool {
        a.words_with(b, self.canonical.axes().len()) <= self.words
    }

    /// The smallest box that has both cuts, of the source and of the destination, and as much of another axis as there is room for; `None` if it is too large.
    #[inline]
    pub fn tile(&self, a: &Cutting, b: &Cutting) -> Option<Tile> {
        // Stretches are no shorter than the cuts; where words are repeated, of the source there are fewer.
        let shortest = if self.repeats { b.words } else { a.words.min(b.words) };
        let most = self.words.min(MOST_STRETCHES * shortest);
        let mut tile = Tile { words: 1, indices: a.indices };
        let both = tile.indices.iter_mut().zip(&b.indices);
        for (has, &other) in both.take(self.canonical.axes().len()) {
            *has = (*has).max(other);
            tile.words *= *has as usize;
        }
        (tile.words <= most).then(|| tile.filled(self.canonical, most))
    }
}

impl Tile {
    /// That of all indices of all axes but one, of which it has so many.
    pub fn with_all_but(canonical: &Canonical, axis: usize, indices: usize) -> Self {
        let mut tile = Tile { words: 1, indices: [1; MOST_AXES] };
        for (number, Axis { length, .. }) in canonical.axes().iter().enumerate() {
            let has = if number == axis { indices } else { *length };
            tile.words *= has;
            // No more than there is room for.
            tile.indices[number] = has as u32;
        }
        tile
    }

    /// With some indices of one more axis, for up to `most` words, if it has every index of each axis of which it has more than one: of one whose length the kernel, which counts what
    /// is left of an axis in 32 bits, can be told.
    #[inline]
    fn filled(mut self, canonical: &Canonical, most: usize) -> Self {
        let is_in_part =
            |(_, axis, indices): (usize, &Axis, usize)| indices > 1 && indices < axis.length;
        if most < 2 * self.words || self.axes(canonical).any(is_in_part) {
            return self;
        }
        let most = most / self.words;
        let is_left = |&(_, axis, indices): &(usize, &Axis, usize)| {
            indices < axis.length && axis.length < TOO_LARGE
        };
        let others = self.axes(canonical).filter(is_left);
        let stride = |axis: &Axis| axis.src.unsigned_abs().min(axis.dst.unsigned_abs());
        if let Some((number, axis, _)) = others.min_by_key(|(_, axis, _)| stride(axis)) {
            let indices = axis.length.div_ceil(axis.length.div_ceil(most));
            self.words = self.words / self.has(number) * indices;
            self.indices[number] = indices as u32;
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

    /// What of it lies in sectors that follow each other on a side: the words from the first to behind the last, those of gaps as well, and those of the box.
    pub fn cluster(&self, canonical: &Canonical, side: &Side) -> (usize, usize) {
        let (mut extent, mut words, mut seen) = (1, 1, 0);
        for _ in 0..MOST_DIGITS {
            let next = side.next(canonical, [extent, extent - 1], Gapped::InSector, &mut seen);
            let Some(number) = next.filter(|&number| self.has(number) > 1) else { break };
            let (axis, indices) = (&canonical.axes()[number], self.has(number));
            extent += side.stride(axis) as usize * (indices - 1);
            words *= indices;
            if indices < axis.length {
                break;
            }
        }
        (extent, words)
    }

    /// Its stretches on a side, with gaps in them or not; `None` if they have too many axes.
    pub fn stretches(
        &self,
        canonical: &Canonical,
        side: &Side,
        gaps: Gapped,
        most: Most,
    ) -> Option<Stretches> {
        let mut stretch = Stretches { words: 1, together: 1, moved: 1, ..Stretches::default() };
        self.together(canonical, side, gaps, most, &mut stretch)?;
        let (mut apart, mut count, mut in_part) = (FewAxes::default(), 1, None);
        // All strides between stretches of a box, and between what lies together in boxes, as far as their lowest bits go.
        let (mut between, mut beside) = (0, 0);
        let mut in_piece = None;
        let (within, piece) = (stretch.within.bits(), stretch.piece);
        for (number, axis) in canonical.axes().iter().enumerate() {
            let (stride, indices) = (side.stride(axis).unsigned_abs(), self.has(number));
            if side.repeats(axis) {
                // Every index has the words of the others.
                continue;
            }
            if indices == 1 {
                beside |= stride;
                continue;
            }
            beside |= match stride < stretch.together {
                // In descending order boxes are counted from the other end of the axis.
                true if indices < axis.length && side.descends(canonical, number) => {
                    (stride * indices) | (stride * axis.length)
                }
                // Where axes lie together, what follows starts where they end.
                true if indices < axis.length => stride * indices,
                true => 0,
                false => stride,
            };
            let piece = piece.filter(|piece| piece.axis() == number);
            if within >> number & 1 == 1 && piece.is_none() {
                continue;
            }
            let (count_apart, step) = stretch.has_apart(self, number);
            between |= stride * step;
            count *= count_apart;
            if indices < axis.length {
                // The last digit of a number may have fewer indices in a part at the end, the others not.
                if in_part.replace(number).is_some() {
                    return None;
                }
            } else if piece.is_some() {
                in_piece = Some(number);
            } else {
                apart.push(number)?;
            }
        }
        // Pieces of a stretch are neighbours, unless boxes have parts of another axis.
        for number in in_piece.into_iter().chain(in_part) {
            apart.push(number)?;
        }
        let starts_on = |address, stride: usize, most| {
            starts_on(address, std::iter::once(stride as isize), canonical.word_bytes(), most)
        };
        let aligned = starts_on(side.address, beside, SECTOR);
        let starts = starts_on(aligned, between, VECTOR);
        if gaps != Gapped::No {
            let within = stretch.within.iter().zip(&stretch.steps);
            let far = |(axis, &step)| (stretch.has_within(self, axis) - 1) * step as usize;
            let last: usize = within.map(far).sum();
            stretch.gap = stretch.words - (last + 1);
        }
        (stretch.apart, stretch.count) = (apart, count);
        (stretch.aligned, stretch.starts) = (aligned, starts);
        Some(stretch)
    }

    /// Finds what of them one stretch has, which has nothing yet.
    fn together(
        &self,
        canonical: &Canonical,
        side: &Side,
        gaps: Gapped,
        most: Most,
        stretch: &mut Stretches,
    ) -> Option<()> {
        let (most, mut in_pieces) = match most {
            Most::Words(most) => (most, false),
            Most::OfPiece(most) => (most, true),
        };
        let (mut seen, mut last) = (0, 0);
        for inside in 0.. {
            let next = side.next(canonical, [stretch.together, last], gaps, &mut seen);
            let Some(number) = next.filter(|&number| self.has(number) > 1) else { break };
            if inside == MOST_DIGITS {
                return None;
            }
            let (axis, indices) = (&canonical.axes()[number], self.has(number));
            let step = side.stride(axis) as usize;
            stretch.together = step * indices;
            last += step * (indices - 1);
            stretch.moved *= indices;
            if stretch.together <= most {
                stretch.steps[stretch.within.count()] = step as u32;
                stretch.within.push(number)?;
                stretch.words = stretch.together;
            } else if in_pieces && stretch.piece.is_none() {
                if let Some(indices) = piece_of(step, indices, most, canonical.word_bytes()) {
                    stretch.steps[stretch.within.count()] = step as u32;
                    stretch.within.push(number)?;
                    stretch.words = step * indices;
                    stretch.piece = Some(Piece::of(number, indices));
                }
                in_pieces = false;
            }
            if indices < axis.length {
                break;
            }
        }
        Some(())
    }
}

/// How long stretches may be.
#[derive(Clone, Copy)]
pub(super) enum Most {
    /// As many words: what lies together for more is several of them.
    Words(usize),
    /// As many words of a [piece](Piece).
    OfPiece(usize),
}

/// Axes by their numbers, at most as many as a number has digits.
#[derive(Clone, Copy, Default)]
pub(super) struct FewAxes {
    numbers: [u8; MOST_DIGITS],
    count: u8,
}

impl FewAxes {
    /// How many.
    pub fn count(&self) -> usize {
        usize::from(self.count)
    }

    /// Their numbers.
    pub fn numbers(&self) -> &[u8] {
        &self.numbers[..self.count()]
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = usize> + Clone {
        self.numbers().iter().map(|&number| usize::from(number))
    }

    /// The axes as bits.
    fn bits(&self) -> u32 {
        self.iter().fold(0, |bits, number| bits | 1 << number)
    }

    /// Which of them an axis is, if it is one.
    pub fn position(&self, axis: usize) -> Option<usize> {
        self.iter().position(|other| other == axis)
    }

    pub fn push(&mut self, axis: usize) -> Option<()> {
        let next = self.count();
        *self.numbers.get_mut(next)? = axis as u8;
        self.count += 1;
        Some(())
    }
}

/// A box's words as one side has them: stretches, and the axes that number them.
#[derive(Clone, Copy, Default)]
pub(super) struct Stretches {
    /// The axes of a stretch, the fastest first.
    pub within: FewAxes,
    /// Words from one index to the next of each of them: what lies together is no longer than a box is large, and a sector's gaps.
    steps: [u32; MOST_DIGITS],
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
    /// If stretches are pieces of what lies together.
    pub piece: Option<Piece>,
    /// Words of the gap behind a stretch's last word, if there are gaps in it.
    pub gap: usize,
}

impl Stretches {
    /// Words of a stretch from one index of an axis to the next, if the stretch has the axis.
    pub fn step(&self, axis: usize) -> Option<usize> {
        Some(self.steps[self.within.position(axis)?] as usize)
    }

    /// Words from one row of this stretch of the source to the next, if what a stretch of the destination gathers lies one below the other in rows.
    pub fn rows_below(&self, dst: &Stretches) -> Option<usize> {
        let mut steps = dst.within.iter().filter_map(|axis| self.step(axis));
        steps.find(|&step| step > 1)
    }

    /// Indices of an axis of the tile that a stretch has.
    pub fn has_within(&self, tile: &Tile, axis: usize) -> usize {
        let piece = self.piece.filter(|piece| piece.axis() == axis);
        piece.map_or(tile.has(axis), |piece| piece.indices())
    }

    /// How many stretches an axis tells apart, and how many of its indices there are from one to the next.
    pub fn has_apart(&self, tile: &Tile, axis: usize) -> (usize, usize) {
        match self.piece {
            Some(piece) if piece.axis() == axis => {
                (tile.has(axis).div_ceil(piece.indices()), piece.indices())
            }
            _ => (tile.has(axis), 1),
        }
    }

    /// Whether those of the destination follow each other, there and in what is added, so that they lie together as one.
    pub fn follow_each_other(&self, canonical: &Canonical) -> bool {
        let mut axes = self.apart.iter();
        let words = self.words as isize;
        let follow = |axis: usize| [canonical.axes()[axis].dst, canonical.added_stride(axis)];
        let first = axes.next().map(|axis| follow(axis) == [words; 2]);
        first.unwrap_or(true) && axes.next().is_none()
    }

    /// How many differ in the last of the axes that tell them apart alone.
    pub fn row(&self, tile: &Tile) -> usize {
        self.apart.iter().next_back().map_or(1, |axis| self.has_apart(tile, axis).0)
    }

    /// Whether one may start or end inside 4 bytes, of words that are less.
    pub fn have_ends(&self, word: usize) -> bool {
        self.starts < 4 || !((self.words - self.gap) * word).is_multiple_of(4)
    }

    /// Bytes of what is loaded at a time of one of the source: a vector, or what becomes one of wider words if it is short, which leaves less room between stretches in shared memory.
    pub fn loaded_at_a_time(&self, canonical: &Canonical) -> usize {
        /// Bytes of a stretch that are many times what room is left.
        const LONG: usize = 256;
        if !canonical.changes_width() {
            return VECTOR;
        }
        let is_short = self.words * canonical.src_word_bytes < LONG;
        // Kernels of wider words have no registers for several vectors.
        match is_short || canonical.held_word_bytes >= 8 {
            true => box_vector(canonical.src_word_bytes, canonical.held_word_bytes),
            false => VECTOR,
        }
    }

    /// The vectors that one of the source has words in, at most: of those that it is [loaded](Self::loaded_at_a_time) by.
    pub fn vectors(&self, canonical: &Canonical) -> usize {
        let vector = self.loaded_at_a_time(canonical);
        let starts = canonical.in_source(self.starts).min(vector);
        // A power of two.
        (self.words * canonical.src_word_bytes + 2 * vector - 1 - starts) >> vector.trailing_zeros()
    }
}
