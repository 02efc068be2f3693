//! Which channel an element has by where it lies in the destination, for kernels that compute in its order.

use super::operands::{Axis, DST, OTHER, Operands};
use crate::divide::packed_divisor;
use kernel_abi::arithmetic::{ChannelPlaces, pair_rows_bytes};

/// Elements from a memory's first to behind its last, and of all channels, at most: a kernel counts their bytes in 32 bits.
const MOST: usize = 1 << 30;

/// Elements before a memory's first that a vector may have that has it, at most.
const OF_VECTOR: usize = 16;

/// Bytes of shared memory that pairs take at most.
const MOST_PAIRS: usize = 8 << 10;

/// The channels of a memory in which they follow each other at equal distances, all of them between an index of any other axis and the next, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Places {
    /// Elements of a channel that follow each other, gaps between them included.
    inner: usize,
    channels: usize,
}

impl Places {
    /// Those of the destination; `None` where elements do not say what channel they have by where they lie.
    pub fn of(operands: &Operands) -> Option<Self> {
        let mut axes = operands.axes.iter();
        let channel = axes.find(|axis| axis.strides[OTHER] != 0)?;
        let others = operands.axes.iter().filter(|axis| *axis != channel);
        let inner = usize::try_from(channel.strides[DST]).ok().filter(|&inner| inner > 0)?;
        let all = inner.checked_mul(channel.length)?;
        let (mut within, mut extent) = (1, all);
        for &Axis { length, strides } in others {
            let stride = usize::try_from(strides[DST]).ok().filter(|&stride| stride > 0)?;
            let reached = stride.checked_mul(length - 1)?;
            match stride < inner {
                true => within += reached,
                false if stride.is_multiple_of(all) => extent = extent.checked_add(reached)?,
                false => return None,
            }
            if strides[OTHER] != 0 {
                return None;
            }
        }
        let serves = channel.strides[OTHER] == 1
            && within <= inner
            && (inner == 1 || inner >= operands.unit())
            && extent.checked_add(all)? <= MOST - OF_VECTOR;
        let channels = Places { inner, channels: channel.length };
        (serves && channels.pairs_bytes() <= MOST_PAIRS).then_some(channels)
    }

    /// Those of pixels of so many channels, which change with each element.
    pub fn of_pixels(channels: usize) -> Self {
        Places { inner: 1, channels }
    }

    /// Bytes of shared memory that pairs take.
    fn pairs_bytes(self) -> usize {
        if self.inner == 1 { pair_rows_bytes(self.channels) } else { 0 }
    }

    /// What a kernel is told of the channels of elements of `bytes` bytes, and the shared memory of its blocks with the pairs that wait there, behind `shared` bytes that blocks have anyway.
    pub fn told(self, bytes: usize, shared: u32) -> (ChannelPlaces, u32) {
        let all = self.inner * self.channels;
        let pairs = shared.next_multiple_of(size_of::<u64>() as u32);
        let told = ChannelPlaces {
            inner: packed_divisor(self.inner),
            channels: packed_divisor(self.channels),
            behind: (OF_VECTOR.next_multiple_of(all) * bytes) as u64,
            pairs: if self.inner == 1 { u64::from(pairs) } else { 0 },
        };
        (told, pairs + self.pairs_bytes() as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::super::operands::{Operand, Other};
    use super::*;
    use crate::TensorLayout;

    /// Those of bytes that lie so far apart along each axis, of which one has the channels.
    fn of(shape: &[usize], strides: &[isize], axis: usize) -> Option<Places> {
        let operand = |element_bytes, strides: &[isize]| {
            let from_first =
                |(length, stride): (&usize, &isize)| (length - 1) * stride.min(&0).unsigned_abs();
            let offset = shape.iter().zip(strides).map(from_first).sum();
            let layout = TensorLayout::strided(shape, strides, offset, element_bytes).unwrap();
            Operand { layout, element_bytes, align: 16 }
        };
        let mut other = vec![0; shape.len()];
        other[axis] = 1;
        let src = TensorLayout::contiguous(shape, 1).unwrap();
        let src = Operand { layout: src, element_bytes: 1, align: 16 };
        let table = Other::Channels(operand(8, &other));
        Places::of(&Operands::of(&src, &operand(1, strides), &table))
    }

    #[test]
    fn channels_are_told_by_where_elements_lie() {
        let is = |inner, channels| Some(Places { inner, channels });
        // Pixels and planes, without and with gaps.
        assert_eq!(of(&[9, 7, 5], &[1, 9, 63], 2), is(63, 5));
        assert_eq!(of(&[9, 7, 5], &[35, 5, 1], 2), is(1, 5));
        assert_eq!(of(&[9, 7, 5], &[40, 5, 1], 2), is(1, 5));
        assert_eq!(of(&[9, 7, 5], &[1, 10, 80], 2), is(80, 5));
        // Gaps behind each pixel, or rows that are no whole number of pixels apart.
        assert_eq!(of(&[9, 7, 5], &[42, 6, 1], 2), None);
        assert_eq!(of(&[9, 7, 5], &[36, 5, 1], 2), None);
        // Few elements of a channel in a row, and too many pairs.
        assert_eq!(of(&[9, 3, 5], &[15, 1, 3], 2), None);
        assert_eq!(of(&[9, 3, 1000], &[3000, 1000, 1], 2), None);
        assert_eq!(of(&[9, 30, 1000], &[30_000, 1, 30], 2), is(30, 1000));
        // More than are counted.
        assert_eq!(of(&[1 << 28, 4], &[4, 1], 1), None);
        assert_eq!(of(&[(1 << 28) - 5, 4], &[4, 1], 1), is(1, 4));
        // Mirrored pixels, which have places in the other direction, and mirrored channels.
        assert_eq!(of(&[9, 5], &[-5, 1], 1), is(1, 5));
        assert_eq!(of(&[9, 5], &[5, -1], 1), None);
    }

    #[test]
    fn no_vector_starts_before_the_first_element() {
        let (told, shared) = Places { inner: 1, channels: 5 }.told(2, 60);
        assert_eq!((told.behind, told.pairs, shared), (40, 64, 64 + 200));
        let (told, shared) = Places { inner: 100, channels: 5 }.told(4, 64);
        assert_eq!((told.behind, told.pairs, shared), (2000, 0, 64));
    }
}
