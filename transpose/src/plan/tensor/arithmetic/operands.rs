//! A move that computes, in canonical form: the axes of source, destination and second operand, as few as there can be, in elements.

use crate::plan::problem::{VECTOR, alignment};
use crate::tensor::TensorLayout;
use kernel_abi::arithmetic::{Operation, flags, unit};

/// The memories of a move, by their places in what is indexed by them: source, destination, second operand.
pub(super) const SRC: usize = 0;
pub(super) const DST: usize = 1;
pub(super) const OTHER: usize = 2;

/// Memory that a plan takes while it runs, behind the memories of a move.
pub(super) const SCRATCH: usize = 3;

/// How elements lie in a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Operand {
    pub layout: TensorLayout,
    pub element_bytes: usize,
    /// The largest power of two, up to a vector's bytes, that divides the address of the lowest element.
    pub align: usize,
}

impl Operand {
    /// Bytes, up to a vector's, that divide the address of the element that is `elements` elements behind element `[0, …, 0]`.
    pub fn aligned(&self, elements: isize) -> usize {
        let (_, from_lowest) = self.layout.lowest_on();
        let from_lowest = from_lowest.offset() as isize + elements;
        let bytes = from_lowest.unsigned_abs() * self.element_bytes;
        self.align.min(alignment(bytes as u64))
    }
}

/// An axis: how many indices, and how many elements they are apart in each memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Axis {
    pub length: usize,
    pub strides: [isize; 3],
}

impl Axis {
    /// Counts it from its last index on, for a move that starts there: in each memory as far behind `starts` as the axis reaches.
    fn count_from_end(&mut self, starts: &mut [isize; 3]) {
        for (start, stride) in starts.iter_mut().zip(&mut self.strides) {
            *start += (self.length as isize - 1) * *stride;
            *stride = -*stride;
        }
    }
}

/// What is computed with beside the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Other {
    /// Nothing.
    None,
    /// What the destination holds.
    Destination,
    /// Numbers like the destination's.
    Numbers(Operand),
    /// A pair of numbers for each index of an axis.
    Channels(Operand),
}

impl Other {
    /// Whether it is added.
    pub fn is_added(&self) -> bool {
        matches!(self, Other::Destination | Other::Numbers(_))
    }
}

/// What an alignment of elements of `from` bytes is if they have `to` bytes: what is as well aligned as is ever asked for is better aligned than that.
pub(super) fn scaled_alignment(aligned: usize, from: usize, to: usize) -> usize {
    match aligned >= VECTOR {
        true => VECTOR,
        false => (aligned / from * to).clamp(1, VECTOR),
    }
}

/// The axes of a move with elements, and where it starts.
///
/// The destination's strides are positive and the axes in their order, the fastest first. Without a second operand its strides are those of the destination.
#[derive(Clone, Debug)]
pub(super) struct Operands {
    /// How elements lie in each memory; without a second operand the destination twice.
    operands: [Operand; 3],
    pub other: Other,
    pub axes: Vec<Axis>,
    /// Bytes of an element.
    pub bytes: [usize; 3],
    /// Elements from element `[0, …, 0]` to where the move starts.
    pub starts: [isize; 3],
    /// Bytes, up to a vector's, that divide the addresses there.
    pub aligned: [usize; 3],
}

impl Operands {
    /// Those of memories of the same shape that has elements.
    pub fn of(src: &Operand, dst: &Operand, other: &Other) -> Self {
        let second = match other {
            Other::None | Other::Destination => dst,
            Other::Numbers(operand) | Other::Channels(operand) => operand,
        };
        let operands = [src, dst, second];
        let mut starts = [0; 3];
        let mut axes = Vec::with_capacity(src.layout.shape().len());
        for (number, &length) in src.layout.shape().iter().enumerate() {
            if length == 1 {
                continue;
            }
            let strides = operands.map(|operand| operand.layout.strides()[number]);
            let mut axis = Axis { length, strides };
            if axis.strides[DST] < 0 {
                axis.count_from_end(&mut starts);
            }
            axes.push(axis);
        }
        axes.sort_by_key(|axis| axis.strides[DST]);
        let bytes = operands.map(|operand| operand.element_bytes);
        let operands = operands.map(|operand| *operand);
        let aligned = aligned(&operands, &starts);
        Operands { operands, other: *other, axes: joined(axes), bytes, starts, aligned }
    }

    /// This move from the last index on of the first axis of which `is_one` is true: in every memory the axis's stride has the other sign.
    pub fn counted_from_end(&self, is_one: impl Fn(&Axis) -> bool) -> Option<Self> {
        let number = self.axes.iter().position(is_one)?;
        let mut other = self.clone();
        other.axes[number].count_from_end(&mut other.starts);
        other.aligned = aligned(&other.operands, &other.starts);
        Some(other)
    }

    /// Bytes that are read and written.
    pub fn traffic(&self) -> f64 {
        let elements: f64 = self.axes.iter().map(|axis| axis.length as f64).product();
        let results = if self.other.is_added() { 2 } else { 1 };
        (self.bytes[SRC] + results * self.bytes[DST]) as f64 * elements
    }

    /// Elements of a [`unit`](fn@unit).
    pub fn unit(&self) -> usize {
        unit(self.bytes[SRC], self.bytes[DST])
    }

    /// Whether each channel has a pair of numbers.
    pub fn has_channels(&self) -> bool {
        matches!(self.other, Other::Channels(_))
    }

    /// Whether elements have up to 4 bytes, in the source and in the destination.
    pub fn are_narrow(&self) -> bool {
        self.bytes[..OTHER].iter().all(|&bytes| bytes <= 4)
    }

    /// Whether elements have one byte, in the source and in the destination.
    pub fn are_bytes(&self) -> bool {
        self.bytes[..OTHER] == [1; 2]
    }

    /// Whether there are channels whose pairs are numbers of 32 bits, of elements of up to 4 bytes.
    pub fn has_narrow_pairs(&self, operation: &Operation) -> bool {
        self.has_channels() && operation.flags & flags::WIDE == 0 && self.are_narrow()
    }

    /// Whether elements lie together in all memories along the first axis, and start on units along the others.
    pub fn are_in_units(&self) -> bool {
        let Some((_, others)) = self.axes.split_first() else { return false };
        let sides: &[usize] = if self.has_channels() { &[SRC, DST] } else { &[SRC, DST, OTHER] };
        self.lie_together() && self.start_on_units(others, sides)
    }

    /// Whether elements lie together along the first axis: in source and destination where channels have pairs, or else in all memories.
    pub fn lie_together(&self) -> bool {
        match self.axes.first() {
            Some(first) if self.has_channels() => first.strides[..OTHER] == [1; 2],
            _ => self.are_runs(),
        }
    }

    /// Whether elements lie together in all memories along the first axis: what stays in its order.
    pub fn are_runs(&self) -> bool {
        self.axes.first().is_some_and(|axis| axis.strides == [1; 3])
    }

    /// Whether elements along these axes start on units in these memories.
    pub fn start_on_units(&self, axes: &[Axis], sides: &[usize]) -> bool {
        sides.iter().all(|&side| self.start_on(self.unit_bytes(side), axes, side))
    }

    /// Whether elements along these axes start on multiples of so many bytes, up to a vector's, in a memory.
    pub fn start_on(&self, bytes: usize, axes: &[Axis], side: usize) -> bool {
        self.aligned[side] >= bytes
            && axes.iter().all(|axis| {
                (axis.strides[side].unsigned_abs() * self.bytes[side]).is_multiple_of(bytes)
            })
    }

    /// Bytes of a unit.
    fn unit_bytes(&self, side: usize) -> usize {
        self.unit() * self.bytes[side]
    }

    /// Whether the elements of the second operand, if there is one, lie together where the destination's do, along the first axis.
    pub fn other_runs_with_destination(&self) -> bool {
        let first_is_one = |axis: &Axis| axis.strides[OTHER] == 1;
        !matches!(self.other, Other::Numbers(_)) || self.axes.first().is_none_or(first_is_one)
    }

    /// Whether the source's do.
    fn source_runs_with_destination(&self) -> bool {
        self.axes.first().is_none_or(|axis| axis.strides[SRC] == 1)
    }

    /// Whether only the source has to be transposed.
    pub fn only_source_is_transposed(&self) -> bool {
        self.other_runs_with_destination() && !self.source_runs_with_destination()
    }

    /// Whether what is added is faster if what blocks share of lines of the caches is fetched: the destination itself, and other numbers where results are no wider than the source's elements (decision 153).
    pub fn gain_by_fetching(&self) -> bool {
        match self.other {
            Other::Destination => true,
            Other::Numbers(_) => self.bytes[DST] <= self.bytes[SRC],
            Other::None | Other::Channels(_) => false,
        }
    }

    /// Whether the second operand, if there is one, lies as the destination does, and on units where that does.
    pub fn other_is_like_destination(&self) -> bool {
        self.other_is_like_destination_on(self.unit_bytes(DST))
    }

    /// Whether the second operand, if there is one, lies as the destination does, and both start on multiples of so many bytes.
    pub fn other_is_like_destination_on(&self, bytes: usize) -> bool {
        match self.other {
            Other::None | Other::Destination => true,
            Other::Numbers(_) => {
                self.axes.iter().all(|axis| axis.strides[OTHER] == axis.strides[DST])
                    && [DST, OTHER].iter().all(|&side| self.aligned[side] >= bytes)
            }
            Other::Channels(_) => false,
        }
    }
}

/// These axes in two parts, of which the first has `first` indices of the axis `cut`, each `step` elements' strides apart, and how many elements further than `offsets` each starts in each memory.
pub(super) fn halves(
    axes: &[Axis],
    cut: usize,
    first: usize,
    step: isize,
    offsets: [isize; 3],
) -> [(Vec<Axis>, [isize; 3]); 2] {
    [(0, first), (first, axes[cut].length - first)].map(|(begin, length)| {
        let mut part = axes.to_vec();
        part[cut].length = length;
        let behind = |side: usize| offsets[side] + begin as isize * step * axes[cut].strides[side];
        (part, [SRC, DST, OTHER].map(behind))
    })
}

/// Bytes, up to a vector's, that divide the address of an element of each memory, which is `elements` elements behind its element `[0, …, 0]`.
fn aligned(operands: &[Operand; 3], elements: &[isize; 3]) -> [usize; 3] {
    [SRC, DST, OTHER].map(|side| operands[side].aligned(elements[side]))
}

/// One axis for neighbours that lie together in all memories.
fn joined(axes: Vec<Axis>) -> Vec<Axis> {
    let mut all: Vec<Axis> = Vec::with_capacity(axes.len());
    for axis in axes {
        match all.last_mut() {
            Some(inner)
                if inner.strides.map(|stride| stride * inner.length as isize) == axis.strides =>
            {
                inner.length *= axis.length;
            }
            _ => all.push(axis),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operand(layout: TensorLayout, element_bytes: usize) -> Operand {
        Operand { layout, element_bytes, align: 16 }
    }

    #[test]
    fn what_lies_together_everywhere_is_one_axis() {
        let rows = TensorLayout::contiguous(&[4, 6], 8).unwrap();
        let (src, dst) = (operand(rows, 1), operand(rows, 2));
        let both = Operands::of(&src, &dst, &Other::None);
        assert_eq!(both.axes, [Axis { length: 24, strides: [1; 3] }]);
        assert!(both.are_in_units());
        let columns = TensorLayout::contiguous(&[6, 4], 8).unwrap().t();
        let other = operand(columns, 2);
        let all = Operands::of(&src, &dst, &Other::Numbers(other));
        let axes = [([1, 1, 4], 6), ([6, 6, 1], 4)];
        let expected = axes.map(|(strides, length)| Axis { length, strides });
        assert_eq!(all.axes, expected);
        assert!(!all.are_in_units() && !all.other_is_like_destination());
    }

    #[test]
    fn the_destination_decides_the_direction() {
        let forwards = TensorLayout::contiguous(&[10], 8).unwrap();
        let backwards = forwards.slice(0, .., -1).unwrap();
        let operands = Operands::of(&operand(forwards, 4), &operand(backwards, 8), &Other::None);
        assert_eq!(operands.axes, [Axis { length: 10, strides: [-1, 1, 1] }]);
        assert_eq!((operands.starts, operands.aligned), ([9, -9, -9], [4, 16, 16]));
        let again = operands.counted_from_end(|axis| axis.strides[SRC] == -1).unwrap();
        assert_eq!(again.axes, [Axis { length: 10, strides: [1, -1, -1] }]);
        assert_eq!((again.starts, again.aligned), ([0; 3], [16, 8, 8]));
    }
}
