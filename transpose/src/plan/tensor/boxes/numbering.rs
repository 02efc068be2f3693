//! How boxes are numbered, and the stretches of a box and their words: by digits, each of which is an index of an axis.

use super::super::canonical::{Axis, Canonical};
use super::super::side::Side;
use super::held::Held;
use super::tile::{FewAxes, Stretches, Tile};
use crate::divide::{TOO_LARGE, packed_divisor};
use kernel_abi::tensor::{Digit, Digits, MOST_BLOCK_AXES, MOST_DIGITS, Part};
use smallvec::SmallVec;

/// Axes that boxes have parts of.
const PARTS: usize = 2;

/// None of them.
const NONE: u64 = PARTS as u64;

/// The number of no axis.
const NO_AXIS: usize = usize::MAX;

/// For each axis that boxes are counted along its number, and how many of its indices there are from one box to the next; none for what is no axis.
type BlockNumbers = SmallVec<[Option<(usize, isize)>; MOST_BLOCK_AXES]>;

/// The axes that a launch's boxes, and their stretches of the destination, are numbered by: for what has other strides along them.
pub(in super::super) struct Numbering {
    pub(super) blocks: BlockNumbers,
    /// The number of each digit's axis.
    pub(super) targets: FewAxes,
}

impl Numbering {
    /// How far apart boxes are along each axis that they are counted along, where the indices of an axis are as far apart as `of` says.
    pub fn blocks(&self, of: impl Fn(usize) -> isize) -> impl Iterator<Item = isize> {
        self.blocks.iter().map(move |block| block.map_or(0, |(axis, step)| of(axis) * step))
    }

    /// How far apart stretches are along the axis of each digit.
    pub fn targets(&self, of: impl Fn(usize) -> isize) -> impl Iterator<Item = isize> {
        self.targets.iter().map(of)
    }
}

/// How boxes are counted.
pub(super) struct Counting {
    /// The axes that they are counted along: first those that boxes have parts of.
    pub axes: Vec<Axis>,
    pub numbers: BlockNumbers,
    /// Of each axis that boxes have parts of the number, and the part.
    pub in_part: [usize; PARTS],
    pub parts: [Part; PARTS],
    /// How many boxes there are.
    pub boxes: usize,
}

impl Counting {
    /// How boxes are counted that have so many indices of each axis; `None` if there are too many of them, or of axes that they have parts of.
    pub fn of(canonical: &Canonical, tile: &Tile) -> Option<Self> {
        let mut axes = Vec::with_capacity(MOST_BLOCK_AXES);
        axes.extend([Axis { length: 1, src: 0, dst: 0 }; PARTS]);
        let mut numbers = SmallVec::from_elem(None, PARTS);
        let mut parts = [Part { part: 1, all: 1 }; PARTS];
        let (mut in_part, mut count, mut boxes) = ([NO_AXIS; PARTS], 0, 1usize);
        let counted = tile.axes(canonical).filter(|(_, axis, has)| *has < axis.length);
        for (number, axis, indices) in counted {
            let (length, step) = (axis.length.div_ceil(indices), indices as isize);
            let from = if canonical.is_descending(number) { -axis.src } else { axis.src };
            let block = Axis { length, src: from * step, dst: axis.dst * step };
            if indices > 1 {
                *parts.get_mut(count)? = Part { part: indices as u64, all: axis.length as u64 };
                (axes[count], numbers[count]) = (block, Some((number, step)));
                in_part[count] = number;
                count += 1;
            } else {
                axes.push(block);
                numbers.push(Some((number, step)));
            }
            boxes = boxes.checked_mul(length).filter(|&boxes| boxes < TOO_LARGE)?;
        }
        Some(Counting { axes, numbers, in_part, parts, boxes })
    }

    /// Goes first along the axis of which boxes have an index each, as if they had parts of it, if it is nearer in the destination than the only one that they have parts of: so
    /// neighbours there that share sectors are moved at about the same time.
    pub fn go_to_neighbours_first(&mut self) {
        let Some(&Some((beside, _))) = self.numbers.get(PARTS) else { return };
        let [in_part, other] = self.in_part;
        if in_part == NO_AXIS || other != NO_AXIS || in_part < beside {
            return;
        }
        let (axis, number) = (self.axes.remove(PARTS), self.numbers.remove(PARTS));
        (self.axes[1], self.numbers[1]) = (self.axes[0], self.numbers[0]);
        let part = Part { part: 1, all: axis.length as u64 };
        (self.axes[0], self.numbers[0]) = (axis, number);
        (self.parts, self.in_part) = ([part, self.parts[0]], [NO_AXIS, in_part]);
    }
}

/// What the stretches of a box and their words are numbered by.
pub(super) struct Numbers<'a> {
    pub canonical: &'a Canonical,
    pub tile: &'a Tile,
    pub src: &'a Stretches,
    pub held: &'a Held,
    /// The numbers of the axes that boxes have parts of.
    pub in_part: [usize; PARTS],
}

impl Numbers<'_> {
    /// Numbers whose digits are all of these axes.
    pub fn of(&self, axes: &FewAxes, side: &Side) -> Digits {
        self.within(axes.numbers(), axes.numbers(), side)
    }

    /// Numbers whose digits are these axes, so many of which a box has as its indices of the axes `of` say.
    pub fn within(&self, axes: &[u8], of: &[u8], side: &Side) -> Digits {
        let (mut each, mut in_part) = (1, NONE);
        for number in of.iter().map(|&number| usize::from(number)) {
            match self.in_part.iter().position(|&part| part == number) {
                // All of a box is held, also at an axis's end, where what is descending starts behind words that there are not.
                Some(part) if !side.descends(self.canonical, number) => in_part = part as u64,
                _ => each *= self.tile.has(number) as u64,
            }
        }
        let count = axes.len() as u64;
        Digits { digits: self.digits(axes, side), count, each, of: in_part }
    }

    /// Those of the words of a stretch of the source, which goes on to where its slowest axis would have another index, gaps and all.
    pub fn of_source_words(&self, from: &Side) -> Digits {
        let Self { tile, src, .. } = self;
        let mut words = self.of(&src.within, from);
        if let Some(slowest) = src.within.iter().next_back() {
            let indices = if words.of != NONE { 1 } else { tile.has(slowest) };
            words.each = (src.step(slowest).unwrap_or(1) * indices) as u64;
        }
        words
    }

    fn digits(&self, axes: &[u8], side: &Side) -> [Digit; MOST_DIGITS] {
        let none = Digit { divisor: packed_divisor(1), outside: 0, inside: 0 };
        let mut digits = [none; MOST_DIGITS];
        for (digit, &number) in digits.iter_mut().zip(axes) {
            let number = usize::from(number);
            *digit = Digit {
                divisor: packed_divisor(self.tile.has(number)),
                outside: side.stride(&self.canonical.axes()[number]) as u64,
                inside: step_in_image(self.canonical, self.src, self.held, side, number) as u64,
            };
        }
        digits
    }
}

/// Bytes of shared memory from one index of an axis to the next, as a side counts them: the source's words are held in their own order, which may be descending for the destination.
pub(super) fn step_in_image(
    canonical: &Canonical,
    src: &Stretches,
    held: &Held,
    side: &Side,
    axis: usize,
) -> isize {
    let step = held.step(src, axis, canonical.held_word_bytes) as isize;
    if canonical.is_descending(axis) && !side.is_source() { -step } else { step }
}
