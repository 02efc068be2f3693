//! Layouts against a loop over all indices.

use super::*;
use proptest::prelude::*;

/// Every index of a shape, in row-major order.
fn indices(shape: &[usize]) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for &length in shape {
        all = all
            .iter()
            .flat_map(|index| (0..length).map(move |i| [index.as_slice(), &[i]].concat()))
            .collect();
    }
    all
}

/// The offset of one index.
fn offset(layout: &TensorLayout, index: &[usize]) -> usize {
    let steps = index.iter().zip(layout.strides());
    let steps: isize = steps.map(|(&index, &stride)| index as isize * stride).sum();
    layout.offset().checked_add_signed(steps).expect("an element before the memory")
}

/// The offsets of all elements, in row-major order.
fn offsets(layout: &TensorLayout) -> Vec<usize> {
    indices(layout.shape()).iter().map(|index| offset(layout, index)).collect()
}

/// Some layout of up to five axes: a contiguous one, its axes in some order, each sliced.
fn any_layout() -> impl Strategy<Value = TensorLayout> {
    let shape = proptest::collection::vec(0..5usize, 0..=5);
    let slices = proptest::collection::vec((0..5usize, 0..5usize, -3..=3isize), 5);
    (shape, Just(()).prop_perturb(|(), rng| rng), slices).prop_map(|(shape, mut rng, slices)| {
        let mut layout = TensorLayout::contiguous(&shape, 4).unwrap();
        let mut axes: Vec<usize> = (0..shape.len()).collect();
        for i in (1..axes.len()).rev() {
            axes.swap(i, rng.next_u32() as usize % (i + 1));
        }
        layout = layout.permute_axes(&axes).unwrap();
        for (axis, &(a, b, step)) in slices.iter().enumerate().take(shape.len()) {
            let length = layout.shape()[axis];
            let (a, b) = (a.min(length), b.min(length));
            let step = if step == 0 { 1 } else { step };
            layout = layout.slice(axis, a.min(b)..a.max(b), step).unwrap();
        }
        layout
    })
}

proptest! {
    #[test]
    fn ranges_and_offsets_are_those_of_the_elements(layout in any_layout()) {
        let all = offsets(&layout);
        prop_assert_eq!(layout.len(), all.len());
        prop_assert_eq!(layout.offsets().collect::<Vec<_>>(), all.clone());
        if let (Some(&low), Some(&high)) = (all.iter().min(), all.iter().max()) {
            prop_assert_eq!(layout.range(), low..high + 1);
        } else {
            prop_assert!(layout.is_empty() && layout.range().is_empty());
        }
        let follows = all.windows(2).all(|pair| pair[0] + 1 == pair[1]);
        prop_assert_eq!(layout.is_contiguous(), follows);
        let mut distinct = all.clone();
        distinct.sort_unstable();
        distinct.dedup();
        prop_assert_eq!(distinct.len(), all.len());
        prop_assert!(layout.is_injective());
    }

    #[test]
    fn orders_of_axes_and_single_indices(layout in any_layout()) {
        let reversed = layout.t();
        let pairs = (0..layout.rank()).flat_map(|first| (0..=first).map(move |second| (first, second)));
        for (first, second) in pairs {
            let mut order: Vec<usize> = (0..layout.rank()).collect();
            order.swap(first, second);
            prop_assert_eq!(layout.swap_axes(first, second), layout.permute_axes(&order));
            prop_assert_eq!(layout.swap_axes(second, first), layout.permute_axes(&order));
        }
        for index in indices(layout.shape()) {
            let turned: Vec<usize> = index.iter().rev().copied().collect();
            prop_assert_eq!(offset(&reversed, &turned), offset(&layout, &index));
            for axis in 0..layout.rank() {
                let part = layout.index_axis(axis, index[axis]).unwrap();
                let mut rest = index.clone();
                rest.remove(axis);
                prop_assert_eq!(offset(&part, &rest), offset(&layout, &index));
                let more = layout.insert_axis(axis).unwrap();
                let mut longer = index.clone();
                longer.insert(axis, 0);
                prop_assert_eq!(offset(&more, &longer), offset(&layout, &index));
            }
        }
        for axis in 0..layout.rank() {
            let axes: Vec<usize> = (0..layout.rank()).map(|i| (i + axis) % layout.rank()).collect();
            let turned = layout.permute_axes(&axes).unwrap();
            for index in indices(turned.shape()) {
                let mut original = index.clone();
                axes.iter().zip(&index).for_each(|(&from, &i)| original[from] = i);
                prop_assert_eq!(offset(&turned, &index), offset(&layout, &original));
            }
        }
    }

    #[test]
    fn slices_and_halves(layout in any_layout(), at in 0..5usize, step in 1..4isize) {
        for axis in 0..layout.rank() {
            let length = layout.shape()[axis];
            let at = at.min(length);
            let (before, after) = layout.split_at(axis, at).unwrap();
            prop_assert_eq!(before.shape()[axis] + after.shape()[axis], length);
            for index in indices(layout.shape()) {
                let mut index_of_half = index.clone();
                let half = if index[axis] < at { &before } else { &after };
                index_of_half[axis] -= if index[axis] < at { 0 } else { at };
                prop_assert_eq!(offset(half, &index_of_half), offset(&layout, &index));
            }
            for backwards in [false, true] {
                let taken: Vec<usize> = match backwards {
                    false => (at..length).step_by(step as usize).collect(),
                    true => (at..length).rev().step_by(step as usize).collect(),
                };
                let step = if backwards { -step } else { step };
                let sliced = layout.slice(axis, at.., step).unwrap();
                prop_assert_eq!(sliced.shape()[axis], taken.len());
                for index in indices(sliced.shape()) {
                    let mut original = index.clone();
                    original[axis] = taken[index[axis]];
                    prop_assert_eq!(offset(&sliced, &index), offset(&layout, &original));
                }
            }
        }
    }

    /// What a reshape gives has the same elements in the same order; and it is refused only where no strides would do.
    #[test]
    fn reshapes(layout in any_layout(), divisors in proptest::collection::vec(1..6usize, 0..4)) {
        let mut shape = Vec::new();
        let mut rest = layout.len();
        for divisor in divisors {
            if rest % divisor == 0 {
                shape.push(divisor);
                rest /= divisor;
            }
        }
        shape.push(rest);
        let all = offsets(&layout);
        match layout.reshape(&shape) {
            Ok(reshaped) => {
                prop_assert_eq!(reshaped.shape(), shape.as_slice());
                prop_assert_eq!(offsets(&reshaped), all);
            }
            Err(error) => {
                let is_refused = matches!(error, Error::Reshape { .. });
                prop_assert!(is_refused, "{}", error);
                prop_assert!(!expressible(&shape, &all), "{:?} as {:?}", layout, shape);
            }
        }
        prop_assert!(layout.reshape(&[layout.len() + 1]).is_err());
    }

    #[test]
    fn repeated_elements(layout in any_layout(), front in 1..4usize) {
        let mut shape = layout.shape().to_vec();
        shape.iter_mut().filter(|length| **length == 1).for_each(|length| *length = 3);
        shape.insert(0, front);
        let wide = layout.broadcast(&shape).unwrap();
        for index in indices(&shape) {
            let pairs = index[1..].iter().zip(layout.shape());
            let original: Vec<usize> =
                pairs.map(|(&i, &length)| if length == 1 { 0 } else { i }).collect();
            prop_assert_eq!(offset(&wide, &index), offset(&layout, &original));
        }
        if front > 1 && !layout.is_empty() {
            prop_assert!(!wide.is_injective());
        }
    }
}

/// Whether some strides give a shape these offsets: those that the second index of each axis asks for.
fn expressible(shape: &[usize], offsets: &[usize]) -> bool {
    let mut strides = Vec::new();
    for axis in 0..shape.len() {
        let inner: usize = shape[axis + 1..].iter().product();
        let second = if shape[axis] > 1 { offsets[inner] } else { offsets[0] };
        strides.push(second as isize - offsets[0] as isize);
    }
    let by_strides = |index: &Vec<usize>| {
        let steps: isize =
            index.iter().zip(&strides).map(|(&i, &stride)| i as isize * stride).sum();
        offsets[0].checked_add_signed(steps)
    };
    indices(shape).iter().map(by_strides).eq(offsets.iter().map(|&offset| Some(offset)))
}

#[test]
fn what_is_not_there_is_refused_with_its_numbers() {
    let layout = TensorLayout::contiguous(&[2, 3, 4], 4).unwrap();
    for axes in [&[0, 1][..], &[0, 1, 1], &[0, 1, 3], &[0, 1, 2, 0]] {
        let refused = layout.permute_axes(axes);
        assert!(matches!(refused, Err(Error::NotAPermutation { rank: 3, .. })), "{axes:?}");
    }
    assert!(matches!(
        layout.slice(1, 2..4, 1),
        Err(Error::SliceOutOfBounds { axis: 1, start: 2, end: 4, step: 1, length: 3 })
    ));
    assert!(matches!(layout.slice(1, .., 0), Err(Error::SliceOutOfBounds { step: 0, .. })));
    assert!(matches!(layout.slice(3, .., 1), Err(Error::NoSuchAxis { axis: 3, axes: 3 })));
    assert!(matches!(layout.swap_axes(1, 3), Err(Error::NoSuchAxis { axis: 3, axes: 3 })));
    assert!(matches!(layout.swap_axes(7, 1), Err(Error::NoSuchAxis { axis: 7, axes: 3 })));
    assert!(matches!(
        layout.index_axis(2, 4),
        Err(Error::IndexOutOfBounds { axis: 2, index: 4, length: 4 })
    ));
    assert!(matches!(layout.split_at(0, 3), Err(Error::IndexOutOfBounds { index: 3, .. })));
    assert!(matches!(layout.insert_axis(4), Err(Error::NoSuchAxis { axis: 4, axes: 3 })));
    assert!(matches!(layout.broadcast(&[2, 3, 5]), Err(Error::Broadcast { .. })));
    assert!(matches!(layout.broadcast(&[3, 4]), Err(Error::Broadcast { .. })));
    assert!(matches!(layout.reshape(&[5, 5]), Err(Error::Reshape { .. })));
    assert!(matches!(
        TensorLayout::contiguous(&[1; 17], 1),
        Err(Error::TooManyAxes { axes: 17, most: 16 })
    ));
    let full = TensorLayout::contiguous(&[1; 16], 1).unwrap();
    assert!(matches!(full.insert_axis(0), Err(Error::TooManyAxes { axes: 17, .. })));
    let refused = TensorLayout::strided(&[2, 2], &[1], 0, 1);
    assert!(matches!(refused, Err(Error::StrideCount { axes: 2, strides: 1 })));
    let refused = TensorLayout::strided(&[4], &[-2], 5, 1);
    assert!(matches!(refused, Err(Error::TensorOutOfBounds { offset: 5, .. })));
    assert!(TensorLayout::strided(&[4], &[-2], 6, 1).is_ok());
}

#[test]
fn sizes_that_overflow_are_refused() {
    let overflows = |result| matches!(result, Err(Error::TensorSizeOverflow { .. }));
    assert!(overflows(TensorLayout::contiguous(&[1 << 31, 1 << 31], 2)));
    assert!(overflows(TensorLayout::contiguous(&[usize::MAX, 2], 1)));
    assert!(overflows(TensorLayout::contiguous(&[usize::MAX, 2, 0], 1)));
    assert!(overflows(TensorLayout::contiguous(&[usize::MAX], 0)));
    assert!(TensorLayout::contiguous(&[1 << 40, 0, 1 << 20], 16).is_ok());
    assert!(overflows(TensorLayout::strided(&[2], &[isize::MAX], 1, 1)));
    assert!(overflows(TensorLayout::strided(&[3, 3], &[isize::MAX, isize::MAX], 0, 1)));
    assert!(overflows(TensorLayout::strided(&[1], &[0], usize::MAX, 1)));
    let lowest = TensorLayout::strided(&[3], &[isize::MIN], usize::MAX / 2, 1);
    assert!(matches!(lowest, Err(Error::TensorOutOfBounds { .. })));
    let element = TensorLayout::contiguous(&[1], 1).unwrap();
    assert!(overflows(element.broadcast(&[1 << 40, 1 << 40])));
}

#[test]
fn strides_that_meet_are_seen() {
    let injective = |shape: &[usize], strides: &[isize]| {
        TensorLayout::strided(shape, strides, 100, 1).unwrap().is_injective()
    };
    assert!(injective(&[3, 4], &[4, 1]));
    assert!(injective(&[3, 4], &[-4, 1]));
    assert!(!injective(&[3, 4], &[3, 1]));
    assert!(!injective(&[3, 4], &[4, 0]));
    assert!(injective(&[3, 1], &[4, 0]));
    assert!(injective(&[3, 0], &[0, 0]));
    assert!(!injective(&[2, 2], &[1, -1]));
}
