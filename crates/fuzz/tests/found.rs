//! What the targets have found, each as small as it can be.

// Linked for its fuzzer: `cargo xtask fuzz` builds this test too, with calls to it in every branch.
extern crate bolero as _;

use transpose::{Batch, Device, Error, Layout, Plan, TensorLayout};

/// A plan is a list of launches, and this would have been half a billion of them.
#[test]
fn plans_of_more_than_a_gpu_reaches_are_refused() {
    let bytes = (1 << 48) + 1;
    let src = TensorLayout::strided(&[4095], &[4], 18, 1).unwrap();
    let dst = TensorLayout::contiguous(&[4095], 1).unwrap();
    let facts = Device::simulated();
    let refused = Plan::moving_for_layouts(bytes, &src, &dst, facts.facts()).unwrap_err();
    assert!(matches!(refused, Error::TensorSizeOverflow { .. }), "{refused}");
    let most = TensorLayout::contiguous(&[1 << 42], 1).unwrap();
    assert!(Plan::moving_for_layouts(1, &most, &most, facts.facts()).is_ok());
}

/// A batch of nothing may be of any number.
#[test]
fn the_bytes_of_nothing_are_none() {
    let (src, dst) = (Layout::contiguous(65533, 2, 0), Layout::contiguous(2, 65533, 0));
    let batch = Batch { count: usize::MAX, src_stride: 0, dst_stride: usize::MAX };
    let device = Device::simulated();
    let plan = Plan::batched_for_layouts(0, src.unwrap(), dst.unwrap(), batch, device.facts());
    assert_eq!(plan.unwrap().kernel_names(), [""; 0]);
}

/// Rows of elements of no bytes do not take turns in memory, however near each other they start: planned word by word, this batch would be more
/// launches than memory holds.
#[test]
fn elements_of_no_bytes_do_not_take_turns() {
    let (src, dst) = (Layout::contiguous(65537, 2, 0), Layout::contiguous(2, 65537, 0));
    let batch = Batch { count: (1 << 42) - 1, src_stride: 65534, dst_stride: 17 };
    let device = Device::simulated();
    let plan = Plan::batched_for_layouts(0, src.unwrap(), dst.unwrap(), batch, device.facts());
    assert_eq!(plan.unwrap().kernel_names(), [""; 0]);
}
