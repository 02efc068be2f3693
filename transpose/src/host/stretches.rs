//! The elements of a tile on one side: where they lie in host memory, and how the same elements lie together on the device.
//! Pure arithmetic, and the copies between host memory and a ring of pinned memory.

use super::stores::{self, Stores};
use crate::Result;
use crate::device::Rows;
use crate::tensor::{MOST_AXES, TensorLayout};
use crate::transfer::{in_order, runs};
use bytemuck::Pod;
use smallvec::SmallVec;

/// The least bytes of a stretch that goes to memory past the caches.
const LEAST_FAR: usize = 1 << 10;

/// Where the memory of the two arrays starts, from which the offsets of their layouts count.
pub(super) struct Arrays<T> {
    pub src: *const T,
    pub dst: *mut T,
}

/// The elements of a host array in the order of its memory, each once.
pub(super) fn in_memory_order(layout: &TensorLayout) -> Result<TensorLayout> {
    in_order(layout)?.0.once()
}

/// The same indices in memory without gaps, in which the elements come in the order of the host's addresses; what is repeated
/// there is repeated here.
pub(super) fn packed(layout: &TensorLayout, element_bytes: usize) -> Result<TensorLayout> {
    let rank = layout.rank();
    let mut axes: [usize; MOST_AXES] = std::array::from_fn(|axis| axis);
    // The order of `in_order`, from the other end.
    axes[..rank].sort_by_key(|&axis| std::cmp::Reverse(layout.strides()[axis].unsigned_abs()));
    let (mut strides, mut offset, mut next) = ([0; MOST_AXES], 0, 1);
    for &axis in axes[..rank].iter().rev() {
        let length = layout.shape()[axis];
        if layout.strides()[axis] == 0 && length > 1 {
            continue;
        }
        strides[axis] = next as isize * layout.strides()[axis].signum();
        if layout.strides()[axis] < 0 {
            offset += (length - 1) * next;
        }
        next *= length;
    }
    TensorLayout::strided(layout.shape(), &strides[..rank], offset, element_bytes)
}

/// Copies that bring the elements of a host array together at `address`, or spread them from there: each of rows at one distance,
/// with where the first of them starts in host memory, in elements.
pub(super) fn copies(
    ordered: &TensorLayout,
    element_bytes: usize,
    address: u64,
) -> impl Iterator<Item = (Rows, usize)> + use<> {
    let run = ordered.run();
    let mut axes = ordered.joined().skip(usize::from(run > 1));
    let (count, pitch) = axes.next().unwrap_or((1, run as isize));
    let row_bytes = run * element_bytes;
    let host_pitch = pitch.unsigned_abs() * element_bytes;
    // Every `count`-th of the runs starts a copy.
    runs(ordered).step_by(count).enumerate().map(move |(number, start)| {
        let address = address + (number * count * row_bytes) as u64;
        (Rows { address, pitch: row_bytes, row_bytes, count, host_pitch }, start)
    })
}

/// One element of each `every` bytes of the stretches of an ordered array, and at least one of each stretch; `None` if there is one stretch.
pub(super) fn samples(
    ordered: &TensorLayout,
    element_bytes: usize,
    every: usize,
) -> Result<Option<TensorLayout>> {
    let (run, step) = (ordered.run(), (every / element_bytes).max(1));
    let (mut shape, mut strides) = (SmallVec::<[_; 4]>::new(), SmallVec::<[_; 4]>::new());
    for (length, stride) in ordered.joined().skip(usize::from(run > 1)) {
        shape.push(length);
        strides.push(stride);
    }
    if shape.is_empty() {
        return Ok(None);
    }
    shape.reverse();
    strides.reverse();
    if run > step {
        shape.push(run.div_ceil(step));
        strides.push(step as isize);
    }
    TensorLayout::strided(&shape, &strides, ordered.offset(), element_bytes).map(Some)
}

/// Brings the elements of a host array together at `packed`.
///
/// # Safety
/// The layout's elements can be read from `host` on, as many can be written from `packed` on, and neither is used by anybody else meanwhile.
pub(super) unsafe fn gather<T: Pod>(host: *const T, ordered: &TensorLayout, packed: *mut T) {
    let run = ordered.run();
    for (number, start) in runs(ordered).enumerate() {
        // SAFETY: the caller vouches for the elements, of which as many follow each other.
        unsafe { std::ptr::copy_nonoverlapping(host.add(start), packed.add(number * run), run) };
    }
}

/// Spreads elements that lie together to where they lie in a host array.
///
/// # Safety
/// Those of [`gather`], with reads and writes the other way round.
pub(super) unsafe fn scatter<T: Pod>(
    packed: *const T,
    host: *mut T,
    ordered: &TensorLayout,
    stores: Stores,
) {
    let run = ordered.run();
    // Of a shorter one too much is in lines that it shares with others.
    let stores = if run * size_of::<T>() < LEAST_FAR { Stores::Near } else { stores };
    for (number, start) in runs(ordered).enumerate() {
        // SAFETY: the caller vouches for the elements, of which as many follow each other.
        unsafe { stores::copy(packed.add(number * run), host.add(start), run, stores) };
    }
    stores::fence(stores);
}

/// Shares of an array's elements in the order of its memory: each is elements that lie together once they are brought together.
#[derive(Clone, Copy)]
pub(super) struct Shares {
    ordered: TensorLayout,
    /// Of this axis a share has a piece, of those before it one index.
    axis: usize,
    pieces: usize,
    count: usize,
}

impl Shares {
    /// About `wanted` > 0 shares.
    pub fn new(ordered: &TensorLayout, wanted: usize) -> Self {
        let (mut axis, mut outer) = (0, 1);
        while axis + 1 < ordered.rank() && outer * ordered.shape()[axis] < wanted {
            outer *= ordered.shape()[axis];
            axis += 1;
        }
        let length = ordered.shape().get(axis).copied().unwrap_or(1);
        let pieces = wanted.div_ceil(outer).clamp(1, length);
        Shares { ordered: *ordered, axis, pieces, count: outer * pieces }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The share of a number below [`count`](Self::count), and how many elements lie before it.
    pub fn get(&self, number: usize) -> Result<(TensorLayout, usize)> {
        let (mut share, mut outer) = (self.ordered, number / self.pieces);
        let Some(&length) = share.shape().get(self.axis) else { return Ok((share, 0)) };
        let end = |piece: usize| piece * length / self.pieces;
        let (start, end) = (end(number % self.pieces), end(number % self.pieces + 1));
        let of_one: usize = share.shape()[self.axis + 1..].iter().product();
        let before = (outer * length + start) * of_one;
        share = share.slice(self.axis, start..end, 1)?;
        for axis in (0..self.axis).rev() {
            let length = self.ordered.shape()[axis];
            let at = outer % length;
            share = share.slice(axis, at..at + 1, 1)?;
            outer /= length;
        }
        Ok((share, before))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn layouts() -> impl Strategy<Value = TensorLayout> {
        let axis = (1..4usize, -9..10isize);
        proptest::collection::vec(axis, 0..5).prop_map(|axes| {
            let (shape, strides): (Vec<_>, Vec<_>) = axes.into_iter().unzip();
            TensorLayout::strided(&shape, &strides, 200, 4).unwrap()
        })
    }

    proptest! {
        /// What is gathered in the order of memory is found again by the packed layout.
        #[test]
        fn packed_elements_are_the_same(layout in layouts()) {
            let ordered = in_memory_order(&layout).unwrap();
            let gathered: Vec<usize> = ordered.offsets().collect();
            let packed = packed(&layout, 4).unwrap();
            let found: Vec<usize> = packed.offsets().map(|at| gathered[at]).collect();
            prop_assert_eq!(found, layout.offsets().collect::<Vec<_>>());
        }

        /// Shares are all elements, each where it lies when they are brought together.
        #[test]
        fn shares_are_the_elements(layout in layouts(), wanted in 1..40usize) {
            let ordered = in_memory_order(&layout).unwrap();
            let shares = Shares::new(&ordered, wanted);
            let mut found = Vec::new();
            for number in 0..shares.count() {
                let (share, before) = shares.get(number).unwrap();
                prop_assert_eq!(before, found.len());
                found.extend(share.offsets());
            }
            prop_assert_eq!(found, ordered.offsets().collect::<Vec<_>>());
            prop_assert!(shares.count() >= wanted.min(ordered.len()));
        }

        /// Samples are elements, and no stretch is without.
        #[test]
        fn samples_are_of_every_stretch(layout in layouts(), every in 1..30usize) {
            let ordered = in_memory_order(&layout).unwrap();
            let run = ordered.run();
            if let Some(samples) = samples(&ordered, 4, every).unwrap() {
                let found: Vec<usize> = samples.offsets().collect();
                let step = (every / 4).max(1);
                let expected: Vec<usize> = runs(&ordered)
                    .flat_map(|start| (start..start + run).step_by(step)).collect();
                prop_assert_eq!(found, expected);
            } else {
                prop_assert_eq!(run, ordered.len());
            }
        }

        /// The rows of the copies are the elements, in their order.
        #[test]
        fn copies_are_the_elements(layout in layouts()) {
            let ordered = in_memory_order(&layout).unwrap();
            let mut found = Vec::new();
            for (rows, start) in copies(&ordered, 4, 1000) {
                prop_assert_eq!(rows.address, 1000 + 4 * found.len() as u64);
                for row in 0..rows.count {
                    let first = start + row * rows.host_pitch / 4;
                    found.extend(first..first + rows.row_bytes / 4);
                }
            }
            prop_assert_eq!(found, ordered.offsets().collect::<Vec<_>>());
        }
    }
}
