//! A host array with its axes in the order of its memory. Pure arithmetic.

use crate::Result;
use crate::tensor::{MOST_AXES, TensorLayout, TensorView, TensorViewMut};
use bytemuck::Pod;

/// Which axes are walked backwards, and in which order axes are then taken.
pub(crate) struct Order {
    backwards: [bool; MOST_AXES],
    axes: [usize; MOST_AXES],
    rank: usize,
}

/// A layout with its axes from the farthest apart to the closest, each in the direction of rising addresses; and how it became so.
pub(crate) fn in_order(layout: &TensorLayout) -> Result<(TensorLayout, Order)> {
    let rank = layout.rank();
    let mut backwards = [false; MOST_AXES];
    let mut forwards = *layout;
    for (axis, &stride) in layout.strides().iter().enumerate() {
        if stride < 0 {
            backwards[axis] = true;
            forwards = forwards.slice(axis, .., -1)?;
        }
    }
    let mut axes: [usize; MOST_AXES] = std::array::from_fn(|axis| axis);
    axes[..rank].sort_by_key(|&axis| std::cmp::Reverse(forwards.strides()[axis]));
    let ordered = forwards.permute_axes(&axes[..rank])?;
    Ok((ordered, Order { backwards, axes, rank }))
}

/// Brings a view's axes into the order.
macro_rules! apply {
    ($name:ident, $view:ident) => {
        pub fn $name<'a, T: Pod>(&self, view: $view<'a, T>) -> Result<$view<'a, T>> {
            let mut view = view;
            for axis in 0..self.rank {
                if self.backwards[axis] {
                    view = view.slice(axis, .., -1)?;
                }
            }
            view.permute_axes(&self.axes[..self.rank])
        }
    };
}

impl Order {
    apply!(apply, TensorView);
    apply!(apply_mut, TensorViewMut);
}

impl TensorLayout {
    /// The first of the indices along the axes in which elements are repeated, which keep length 1.
    pub(crate) fn once(&self) -> Result<TensorLayout> {
        let mut once = *self;
        for axis in 0..self.rank() {
            if self.strides()[axis] == 0 && self.shape()[axis] > 1 {
                once = once.slice(axis, ..1, 1)?;
            }
        }
        Ok(once)
    }
}

/// Where the stretches of elements that lie together start, in row-major order. There are elements.
pub(crate) fn runs(layout: &TensorLayout) -> impl Iterator<Item = usize> + use<> {
    let layout = *layout;
    // The axes before those that make a run.
    let (mut outer, mut run) = (layout.rank(), layout.run());
    while run > 1 {
        outer -= 1;
        run /= layout.shape()[outer];
    }
    let mut index = [0; MOST_AXES];
    let mut next = Some(layout.offset());
    std::iter::from_fn(move || {
        let current = next?;
        let mut offset = current;
        let mut axis = outer;
        next = loop {
            let Some(previous) = axis.checked_sub(1) else { break None };
            axis = previous;
            let (length, stride) = (layout.shape()[axis], layout.strides()[axis]);
            index[axis] += 1;
            if index[axis] < length {
                break Some(offset.wrapping_add_signed(stride));
            }
            // Back to the axis's first index.
            index[axis] = 0;
            offset = offset.wrapping_add_signed(-(stride * (length as isize - 1)));
        };
        Some(current)
    })
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
        /// The runs are all elements, in the order of the indices.
        #[test]
        fn runs_are_the_elements(layout in layouts()) {
            let length = layout.run();
            let of_runs: Vec<usize> =
                runs(&layout).flat_map(|start| start..start + length).collect();
            prop_assert_eq!(of_runs, layout.offsets().collect::<Vec<_>>());
        }

        /// The order changes which element is named first, and none of them.
        #[test]
        fn an_order_keeps_the_elements(layout in layouts()) {
            let (ordered, _) = in_order(&layout).unwrap();
            prop_assert!(ordered.strides().is_sorted_by(|far, close| far >= close));
            prop_assert!(ordered.strides().iter().all(|&stride| stride >= 0));
            let sorted = |layout: &TensorLayout| {
                let mut offsets: Vec<usize> = layout.offsets().collect();
                offsets.sort_unstable();
                offsets
            };
            prop_assert_eq!(sorted(&ordered), sorted(&layout));
        }
    }
}
