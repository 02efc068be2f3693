//! A move in canonical form: few axes, in words, whatever it was asked for as.

use super::problem::{TensorProblem, aligned, to_sector, to_vectors};
use super::sectors::SECTOR;
pub(super) use super::side::Axis;
use super::side::{Side, Which, starts_on};
use crate::divide::packed_divisor;
use crate::kernels::{Width, width_dividing};
use crate::plan::measure::Key;
use kernel_abi::tensor::{Axis as Divided, MOST_AXES};
use std::cell::OnceCell;

impl Axis {
    /// As kernels take it that find an axis's index by division.
    fn divided(self) -> Divided {
        let Axis { length, src, dst } = self;
        Divided { divisor: packed_divisor(length), src: src as u64, dst: dst as u64 }
    }
}

/// As many axes as a kernel takes, these first: the others have one index. `None` if there are more of them.
pub(super) fn divided<'a, const N: usize>(
    axes: impl IntoIterator<Item = &'a Axis>,
) -> Option<[Divided; N]> {
    let mut all = [const { Divided { divisor: packed_divisor(1), src: 0, dst: 0 } }; N];
    let mut places = all.iter_mut();
    for axis in axes {
        *places.next()? = axis.divided();
    }
    Some(all)
}

/// What is done to words on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OnTheWay {
    Nothing,
    /// They are computed where they are held.
    Computed,
    /// They are computed with what is added to them, on their way from there.
    Added,
}

/// A move, brought to the fewest axes that it has.
///
/// - Elements are an axis of bytes like any other. What lies together on both sides is one axis; an axis of one index is none.
/// - The destination's strides are positive and the axes in their order, the fastest first.
/// - Lengths and strides count words, the widest that all of them and both addresses are multiples of.
#[derive(Clone, Debug)]
pub(super) struct Canonical {
    axes: [Axis; MOST_AXES],
    count: usize,
    /// The word that lengths and strides count, as the destination has it.
    pub word: Width,
    /// Bytes of such a word of the source: as many, unless numbers are converted on the way.
    pub src_word_bytes: usize,
    /// Bytes of such a word where boxes hold it: as many as the destination's, unless results are converted as they are gathered.
    pub held_word_bytes: usize,
    /// What is done to words on the way.
    pub on_the_way: OnTheWay,
    /// Words from one index of each axis to the next in what is added, if that does not lie as the destination does. Along the first axis they lie together.
    added: Option<[isize; MOST_AXES]>,
    /// Bytes from the source's element `[0, …, 0]`, and from the destination's, to where the move starts.
    pub starts: [isize; 2],
    /// Bytes, up to a sector's, that divide the addresses there.
    pub aligned: [usize; 2],
    /// The axis, if there is one, that launches count from its end: the destination descends along it. See [`Self::counted_from_end`].
    from_end: Option<usize>,
    /// The axes, as bits, along which the source is in descending order though its strides are positive: see [`Self::with_ascending_source`].
    descending: u32,
    /// Found once, if anything asks for them.
    sides: OnceCell<[Side; 2]>,
}

impl Canonical {
    /// By what a cache knows it: a line of lengths and strides, the fastest axis of the destination first, and whether elements are conjugated.
    pub fn key(&self, conjugates: bool) -> Key {
        let axis = |axis: &Axis| format!("{}:{}:{}", axis.length, axis.src, axis.dst);
        let axes: Vec<String> = self.axes().iter().map(axis).collect();
        let [from, to] = to_vectors(self.aligned);
        let bytes = self.word_bytes();
        let what = if conjugates { "conjugated tensor" } else { "tensor" };
        Key(format!("{bytes} bytes\t{}\taligned {from} {to}\t{what}", axes.join(" ")))
    }

    /// That of a problem with elements.
    #[inline]
    pub fn of(problem: &TensorProblem<'_>) -> Self {
        let bytes = problem.element_bytes;
        let mut canonical = Canonical {
            axes: [Axis::default(); MOST_AXES],
            count: usize::from(bytes > 1),
            word: Width::B1,
            src_word_bytes: 1,
            held_word_bytes: 1,
            on_the_way: OnTheWay::Nothing,
            added: None,
            starts: [0, 0],
            aligned: [problem.src_align, problem.dst_align],
            from_end: None,
            descending: 0,
            sides: OnceCell::new(),
        };
        canonical.axes[0] = Axis { length: bytes, src: 1, dst: 1 };
        for Axis { length, src, dst } in problem.axes().rev().filter(|axis| axis.length != 1) {
            canonical.add(Axis { length, src: src * bytes as isize, dst: dst * bytes as isize });
        }
        for (align, start) in canonical.aligned.iter_mut().zip(canonical.starts) {
            *align = (*align).min(aligned(start.unsigned_abs() as u64));
        }
        canonical.join();
        canonical.widen();
        canonical
    }

    /// Adds an axis of bytes, in its place and in the direction in which the destination is filled.
    fn add(&mut self, mut axis: Axis) {
        if axis.dst < 0 {
            let last = axis.length as isize - 1;
            self.starts[0] += last * axis.src;
            self.starts[1] += last * axis.dst;
            (axis.src, axis.dst) = (-axis.src, -axis.dst);
        }
        // Few, and mostly in order.
        let mut place = self.count;
        while place > 0 && self.axes[place - 1].dst > axis.dst {
            self.axes[place] = self.axes[place - 1];
            place -= 1;
        }
        self.axes[place] = axis;
        self.count += 1;
    }

    /// That of words along these axes, the destination's fastest first, which are neither joined nor widened; both sides are aligned to so many bytes, up to
    /// [`VECTOR`], and what starts on a vector is taken to start on a sector.
    pub fn of_elements(
        given: impl Iterator<Item = Axis>,
        word: Width,
        aligned: [usize; 2],
    ) -> Self {
        let mut axes = [Axis::default(); MOST_AXES];
        let mut count = 0;
        for (place, axis) in axes.iter_mut().zip(given) {
            *place = axis;
            count += 1;
        }
        let aligned = aligned.map(to_sector);
        Canonical {
            axes,
            count,
            word,
            src_word_bytes: word.bytes(),
            held_word_bytes: word.bytes(),
            on_the_way: OnTheWay::Nothing,
            added: None,
            starts: [0, 0],
            aligned,
            from_end: None,
            descending: 0,
            sides: OnceCell::new(),
        }
    }

    /// The move of words of which the source's have so many bytes, and that are computed on the way. What the source's side is told of bytes, alignments included, is of the destination's words.
    pub fn computing(self, src_word_bytes: usize) -> Self {
        Canonical { src_word_bytes, on_the_way: OnTheWay::Computed, ..self }
    }

    /// The move of words of which the source's have `src_word_bytes` bytes, and which boxes hold as the source has them. What the source's side is told of bytes, alignments included, is of the destination's words.
    pub fn holding(self, src_word_bytes: usize) -> Self {
        Canonical { src_word_bytes, held_word_bytes: src_word_bytes, ..self }
    }

    /// The move of words to which others are added, that lie as the destination does.
    pub fn adding(self) -> Self {
        Canonical { on_the_way: OnTheWay::Added, ..self }
    }

    /// The move of words to which others are added, so far apart along these axes. Along the first they lie together, as they do in the destination.
    pub fn adding_apart(self, strides: impl Iterator<Item = isize>) -> Self {
        let mut added = [0; MOST_AXES];
        added.iter_mut().zip(strides).for_each(|(place, stride)| *place = stride);
        Canonical { on_the_way: OnTheWay::Added, added: Some(added), ..self }
    }

    /// This move from the other end of the axis along which what lies together in the source is in descending order, if it is elsewhere in the destination: there the source's strides are
    /// positive then, and the destination's, of which [`axes`](Self::axes) says how long they are, [negative](Self::stride_to).
    pub fn counted_from_end(&self) -> Option<Self> {
        let run = self.run() as isize;
        let is_descending = |axis: &Axis| axis.src == -run && axis.dst != run;
        let axis = self.axes().iter().position(is_descending)?;
        let mut other = self.clone();
        other.axes[axis].src = run;
        other.from_end = Some(axis);
        let [src, _] = other.ahead();
        Some(other.with_source_at(src.unsigned_abs()))
    }

    /// This move, whose axes have been changed, of a source that is known by a place `words` words away.
    fn with_source_at(mut self, words: usize) -> Self {
        self.sides = OnceCell::new();
        let bytes = (words * self.word_bytes()) as u64;
        self.aligned[0] = self.aligned[0].min(aligned(bytes));
        self
    }

    /// This move with positive strides of the source along its descending axes, which are [known](Self::is_descending) as such then: for boxes, which hold the source as it lies and
    /// gather it in any order. `None` if there are no such axes.
    pub fn with_ascending_source(&self) -> Option<Self> {
        let is_descending = |axis: &Axis| axis.src < 0;
        if !self.axes().iter().any(is_descending) {
            return None;
        }
        let mut ascending = self.clone();
        let mut far = 0;
        for (number, axis) in ascending.axes[..self.count].iter_mut().enumerate() {
            if is_descending(axis) {
                axis.src = -axis.src;
                ascending.descending |= 1 << number;
                far += (axis.length - 1) * axis.src as usize;
            }
        }
        // Where the source's lowest word is.
        Some(ascending.with_source_at(far))
    }

    /// This move in words of 2 bytes, if the destination has words of 4 or 8 bytes alone, with gaps between them that are part of a sector: of narrow words boxes store stretches that have gaps.
    pub fn in_narrow_words(&self) -> Option<Self> {
        let [_, to] = self.sides();
        let bytes = self.word_bytes();
        let serves = (4..=8).contains(&bytes) && to.together == 1 && to.has_little_gaps(bytes);
        if !serves || self.on_the_way != OnTheWay::Nothing || self.count == MOST_AXES {
            return None;
        }
        let narrow = Width::B2.bytes();
        let words = bytes / narrow;
        let mut axes = [Axis { length: words, src: 1, dst: 1 }; MOST_AXES];
        for (to, &Axis { length, src, dst }) in axes[1..].iter_mut().zip(self.axes()) {
            let [src, dst] = [src, dst].map(|stride| stride.checked_mul(words as isize));
            *to = Axis { length, src: src?, dst: dst? };
        }
        let (count, sides) = (self.count + 1, OnceCell::new());
        let (src_word_bytes, held_word_bytes) = (narrow, narrow);
        let word = Width::B2;
        Some(Canonical {
            axes,
            count,
            word,
            src_word_bytes,
            held_word_bytes,
            sides,
            ..self.clone()
        })
    }

    /// Whether the source is in descending order along an axis whose stride is positive.
    pub fn is_descending(&self, axis: usize) -> bool {
        self.descending >> axis & 1 == 1
    }

    /// Words from where the move starts to where launches do, on either side.
    pub fn ahead(&self) -> [isize; 2] {
        let Some(Axis { length, src, dst }) = self.from_end.map(|axis| self.axes[axis]) else {
            return [0, 0];
        };
        let last = length as isize - 1;
        [-last * src, last * dst]
    }

    /// Words from one index of an axis to the next in the destination, as launches go.
    pub fn stride_to(&self, axis: usize) -> isize {
        let Axis { dst, .. } = self.axes()[axis];
        if self.from_end == Some(axis) { -dst } else { dst }
    }

    /// Words of a stretch of the destination that lie together, at most, in what is added too.
    pub fn most_together(&self) -> usize {
        let Some(added) = &self.added else { return usize::MAX };
        let alike = self.axes().iter().zip(added).take_while(|(axis, added)| axis.dst == **added);
        alike.map(|(axis, _)| axis.dst as usize * axis.length).max().unwrap_or(1)
    }

    /// How far apart the indices of an axis are in what is added.
    pub fn added_stride(&self, axis: usize) -> isize {
        self.added.map_or(self.axes()[axis].dst, |added| added[axis])
    }

    /// Whether what is added lies as the destination does.
    pub fn is_added_alike(&self) -> bool {
        self.added.is_none()
    }

    /// Whether words are converted to wider or narrower ones before boxes hold them.
    pub fn changes_width(&self) -> bool {
        self.src_word_bytes != self.held_word_bytes
    }

    /// How many bytes `bytes` bytes of the source, a whole number of words, have where boxes hold them.
    pub fn in_image(&self, bytes: usize) -> usize {
        if !self.changes_width() {
            return bytes;
        }
        bytes * self.held_word_bytes / self.src_word_bytes
    }

    /// The bytes of the source that become so many bytes of the destination, one at least.
    pub fn in_source(&self, bytes: usize) -> usize {
        if self.src_word_bytes == self.word_bytes() {
            return bytes;
        }
        (bytes * self.src_word_bytes / self.word_bytes()).max(1)
    }

    /// The source's side and the destination's.
    pub fn sides(&self) -> &[Side; 2] {
        self.sides.get_or_init(|| {
            let [src, dst] = self.aligned;
            [(Which::Source, src), (Which::Destination, dst)]
                .map(|(which, address)| Side::of(which, self.axes(), address, self.word_bytes()))
        })
    }

    /// The axes, the destination's fastest first.
    pub fn axes(&self) -> &[Axis] {
        &self.axes[..self.count]
    }

    /// Whether on both sides all that is a sector or more apart starts on sectors.
    pub fn starts_on_sectors(&self) -> bool {
        let word = self.word_bytes();
        self.sides().iter().all(|side| {
            let strides = self.axes().iter().map(|axis| side.stride(axis));
            let apart = strides.filter(|stride| stride.unsigned_abs() * word >= SECTOR);
            starts_on(side.address, apart, word, SECTOR) == SECTOR
        })
    }

    /// Whether the source is repeated along an axis.
    pub fn repeats(&self) -> bool {
        self.axes().iter().any(|axis| axis.src == 0)
    }

    /// How many times each word of the source is moved.
    pub fn repeated(&self) -> usize {
        self.axes().iter().filter(|axis| axis.src == 0).map(|axis| axis.length).product()
    }

    /// Words to move.
    pub fn words(&self) -> usize {
        self.axes().iter().map(|axis| axis.length).product()
    }

    /// Bytes of a word.
    pub fn word_bytes(&self) -> usize {
        self.word.bytes()
    }

    /// Words that lie together on both sides wherever one does.
    pub fn run(&self) -> usize {
        match self.axes() {
            [Axis { length, src: 1, dst: 1 }, ..] if !self.is_descending(0) => *length,
            _ => 1,
        }
    }

    /// Bytes from where the move starts to the source's lowest word, and from there to behind the highest.
    pub fn source_range(&self) -> (isize, usize) {
        let (mut below, mut above) = (0, 1);
        for axis in self.axes() {
            let far = (axis.length as isize - 1) * axis.src;
            if far < 0 { below += far } else { above += far }
        }
        let bytes = self.src_word_bytes as isize;
        (below * bytes, ((above - below) * bytes) as usize)
    }

    /// Makes one axis of neighbours that lie together on both sides.
    fn join(&mut self) {
        let mut kept = 0;
        for next in 1..self.count {
            let (inner, outer) = (self.axes[kept], self.axes[next]);
            // What lies behind an axis may be further than can be counted.
            let behind = |stride: isize| stride.checked_mul(inner.length as isize);
            if (behind(inner.src), behind(inner.dst)) == (Some(outer.src), Some(outer.dst)) {
                self.axes[kept].length *= outer.length;
            } else {
                kept += 1;
                self.axes[kept] = outer;
            }
        }
        self.count = self.count.min(kept + 1);
    }

    /// Counts in the widest words that there are.
    fn widen(&mut self) {
        let [src, dst] = self.aligned;
        let all = self.axes().iter().filter(|axis| (axis.src, axis.dst) != (1, 1));
        let all =
            all.fold(self.run() | src | dst, |all, axis| all | (axis.src | axis.dst) as usize);
        self.word = width_dividing([all]);
        (self.src_word_bytes, self.held_word_bytes) = (self.word.bytes(), self.word.bytes());
        let log = self.word.bytes().trailing_zeros();
        if log == 0 {
            return;
        }
        for axis in &mut self.axes[1..self.count] {
            (axis.src, axis.dst) = (axis.src >> log, axis.dst >> log);
        }
        self.axes[0].length >>= log;
        if self.axes[0].length == 1 {
            self.axes.copy_within(1..self.count, 0);
            self.count -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::TensorLayout;

    fn canonical(bytes: usize, src: &TensorLayout, dst: &TensorLayout, align: usize) -> Canonical {
        Canonical::of(&TensorProblem {
            element_bytes: bytes,
            src,
            dst,
            src_align: align,
            dst_align: align,
        })
    }

    fn axis(length: usize, src: isize, dst: isize) -> Axis {
        Axis { length, src, dst }
    }

    #[test]
    fn what_lies_together_is_one_axis() {
        let src = TensorLayout::contiguous(&[4, 5, 6, 7], 4).unwrap();
        // A contiguous copy is one axis, in the widest words.
        let copy = canonical(4, &src, &src, 16);
        assert_eq!((copy.axes(), copy.word), ([axis(210, 1, 1)].as_slice(), Width::B16));
        // Channels first to channels last: two axes and a batch.
        let dst = TensorLayout::contiguous(&[4, 6, 7, 5], 4).unwrap();
        let turned = canonical(4, &src.permute_axes(&[0, 2, 3, 1]).unwrap(), &dst, 16);
        let expected = [axis(5, 42, 1), axis(42, 1, 5), axis(4, 210, 210)];
        assert_eq!((turned.axes(), turned.word), (expected.as_slice(), Width::B4));
        // The innermost axis stays: it joins the element.
        let dst = TensorLayout::contiguous(&[5, 4, 6, 7], 4).unwrap();
        let outer = canonical(4, &src.permute_axes(&[1, 0, 2, 3]).unwrap(), &dst, 16);
        let expected = [axis(21, 1, 1), axis(4, 105, 21), axis(5, 21, 84)];
        assert_eq!((outer.axes(), outer.word, outer.run()), (expected.as_slice(), Width::B8, 21));
    }

    #[test]
    fn words_divide_everything() {
        let src = TensorLayout::contiguous(&[8, 6], 12).unwrap();
        let dst = TensorLayout::contiguous(&[6, 8], 12).unwrap();
        let turned = canonical(12, &src.t(), &dst, 16);
        let expected = [axis(3, 1, 1), axis(8, 18, 3), axis(6, 3, 24)];
        assert_eq!((turned.axes(), turned.word), (expected.as_slice(), Width::B4));
        assert_eq!(canonical(12, &src.t(), &dst, 2).word, Width::B2);
        let bytes = TensorLayout::contiguous(&[8, 6], 1).unwrap();
        let steps = bytes.slice(1, .., 2).unwrap();
        let dst = TensorLayout::contiguous(&[8, 3], 1).unwrap();
        assert_eq!(canonical(1, &steps, &dst, 16).axes(), [axis(24, 2, 1)]);
    }

    #[test]
    fn the_destination_decides_the_direction() {
        let src = TensorLayout::contiguous(&[10, 4], 8).unwrap();
        let backwards = src.slice(0, .., -1).unwrap();
        let both = canonical(8, &backwards, &backwards, 16);
        assert_eq!((both.axes(), both.starts), ([axis(20, 1, 1)].as_slice(), [-288, -288]));
        let one = canonical(8, &src, &backwards, 16);
        assert_eq!(one.axes(), [axis(2, 1, 1), axis(10, -2, 2)]);
        assert_eq!((one.starts, one.aligned), ([288, -288], [16, 16]));
    }

    #[test]
    fn strides_as_long_as_can_be() {
        let far = TensorLayout::strided(&[64, 4], &[1 << 57, -1], 3, 1).unwrap();
        let near = TensorLayout::strided(&[64, 4], &[1, 64], 0, 1).unwrap();
        let axes = [axis(64, 1 << 57, 1), axis(4, -1, 64)];
        assert_eq!(canonical(1, &far, &near, 16).axes(), axes);
    }

    #[test]
    fn a_single_element_has_no_axes() {
        let one = TensorLayout::contiguous(&[1, 1, 1], 8).unwrap();
        let canonical = canonical(8, &one, &one, 16);
        assert_eq!(
            (canonical.axes(), canonical.word, canonical.words()),
            ([].as_slice(), Width::B8, 1)
        );
    }
}
