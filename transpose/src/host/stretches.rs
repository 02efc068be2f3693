//! The elements of a tile on one side: where they lie in host memory, and how the same elements lie together on the device.
//! Pure arithmetic, and the copies between host memory and a ring of pinned memory.

use crate::Result;
use crate::device::Rows;
use crate::tensor::{MOST_AXES, TensorLayout};
use crate::transfer::{in_order, runs};
use bytemuck::Pod;

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
pub(super) unsafe fn scatter<T: Pod>(packed: *const T, host: *mut T, ordered: &TensorLayout) {
    let run = ordered.run();
    for (number, start) in runs(ordered).enumerate() {
        // SAFETY: the caller vouches for the elements, of which as many follow each other.
        unsafe { std::ptr::copy_nonoverlapping(packed.add(number * run), host.add(start), run) };
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
