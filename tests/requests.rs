//! Requests that cannot be met: each is refused with the numbers that say why.

use transpose::{Batch, Device, DeviceMatrix, Error, Facts, Plan, Strategy, TensorView};
use transpose_tests::{on_both_devices, takes_large};

on_both_devices! {
    shapes_that_do_not_fit,
    slices_that_do_not_fit,
    leading_dimensions_below_the_width,
    sizes_that_overflow,
    windows_that_reach_outside,
    elements_without_a_kernel,
    more_memory_than_there_is,
    memory_that_there_is,
    matrices_of_another_device,
    plans_for_other_matrices,
    batches_that_do_not_fit,
    facts_that_no_device_is_like,
}

fn message<T>(result: Result<T, Error>) -> String {
    match result {
        Ok(_) => panic!("the request was met"),
        Err(error) => error.to_string(),
    }
}

fn shapes_that_do_not_fit(device: &Device) {
    let src = DeviceMatrix::<u32>::zeroed(device, 3, 5).unwrap();
    let mut dst = DeviceMatrix::<u32>::zeroed(device, 3, 5).unwrap();
    assert_eq!(
        message(src.transpose_into(&mut dst)),
        "the transpose of a 3 × 5 matrix is 5 × 3, the destination is 3 × 5"
    );
    let copied = Plan::copy(&src, &mut DeviceMatrix::zeroed(device, 5, 3).unwrap());
    assert_eq!(message(copied), "a 3 × 5 matrix cannot be copied to one of 5 × 3");
    let copied = src.copy_into(&mut DeviceMatrix::zeroed(device, 4, 5).unwrap());
    assert_eq!(message(copied), "a 3 × 5 matrix cannot be copied to one of 4 × 5");
}

fn slices_that_do_not_fit(device: &Device) {
    assert_eq!(
        message(DeviceMatrix::from_host(device, 3, 5, &[0u8; 14])),
        "a 3 × 5 matrix has 15 elements, the slice has 14"
    );
}

fn leading_dimensions_below_the_width(device: &Device) {
    assert_eq!(
        message(DeviceMatrix::<u8>::zeroed_with_ld(device, 3, 5, 4)),
        "a leading dimension of 4 elements is below the 5 columns it has to hold"
    );
}

fn sizes_that_overflow(device: &Device) {
    for (rows, cols) in [(usize::MAX, 2), (1 << 62, 1), (1 << 32, 1 << 32)] {
        let result = DeviceMatrix::<u128>::zeroed(device, rows, cols);
        assert!(matches!(result, Err(Error::SizeOverflow { element_bytes: 16, .. })));
        let result = DeviceMatrix::<u128>::from_host(device, rows, cols, &[]);
        assert!(matches!(result, Err(Error::SizeOverflow { .. })));
    }
    // Also of no elements; what there may be has every operation.
    for (rows, cols) in [(usize::MAX, 0), (0, usize::MAX), (1 << 63, 0)] {
        let result = DeviceMatrix::<u8>::zeroed(device, rows, cols);
        assert!(matches!(result, Err(Error::SizeOverflow { .. })), "{rows} × {cols}");
    }
    for (rows, cols) in [(isize::MAX as usize, 0), (0, isize::MAX as usize)] {
        let mut matrix = DeviceMatrix::<u32>::zeroed(device, rows, cols).unwrap();
        matrix.fill(3).unwrap();
        matrix.copy_to_host_with_ld(&mut [], cols).unwrap();
        matrix.copy_from_host_with_ld(&[], cols).unwrap();
        let turned = TensorView::from(&matrix).t().to_tensor().unwrap();
        assert_eq!(turned.shape(), [cols, rows]);
        assert_eq!(matrix.transposed().unwrap().shape(), (cols, rows));
    }
}

fn windows_that_reach_outside(device: &Device) {
    let mut matrix = DeviceMatrix::<u16>::zeroed(device, 4, 8).unwrap();
    assert!(matrix.window(2, 3, 6, 8).is_ok());
    assert_eq!(
        message(matrix.window(11, 3, 6, 8)),
        "a window of 3 × 6 from element 11 on, rows 8 apart, ends at element 33; there are 32"
    );
    assert!(matrix.window_mut(usize::MAX, 1, 1, 1).is_err());
    assert!(matrix.window(0, usize::MAX, 2, 2).is_err());
}

fn elements_without_a_kernel(device: &Device) {
    let matrix = DeviceMatrix::<[u8; 3]>::zeroed(device, 4, 4).unwrap();
    assert_eq!(
        message(matrix.transposed_with(Strategy::Padded)),
        "this strategy moves elements of 1, 2, 4, 8 and 16 bytes, not of 3; `Auto` moves any"
    );
    assert!(matrix.transposed().is_ok());
}

fn more_memory_than_there_is(device: &Device) {
    let result = DeviceMatrix::<u8>::zeroed(device, 1 << 25, 1 << 25);
    assert!(matches!(result, Err(Error::OutOfMemory { bytes, .. }) if bytes == 1 << 50));
    // The refusal costs nothing: the device goes on.
    let matrix = DeviceMatrix::from_host(device, 1, 2, &[7u8, 8]).unwrap();
    assert_eq!(matrix.to_host().unwrap(), [7, 8]);
}

fn memory_that_there_is(device: &Device) {
    let memory = device.memory().unwrap();
    assert!(0 < memory.free && memory.free <= memory.total, "{memory:?}");
    let more = usize::try_from(memory.total).unwrap() + 1;
    let refused = DeviceMatrix::<u8>::zeroed(device, 1, more).unwrap_err();
    assert!(matches!(refused, Error::OutOfMemory { .. }), "{refused}");
    if let Some(ordinal) = device.cuda_ordinal() {
        assert!(ordinal < Device::cuda_count().unwrap());
        let devices = Device::all().unwrap();
        if takes_large(device) {
            assert_eq!(devices[ordinal as usize].facts(), device.facts());
        }
    }
}

fn matrices_of_another_device(device: &Device) {
    let src = DeviceMatrix::<u32>::zeroed(device, 3, 5).unwrap();
    let mut dst = DeviceMatrix::<u32>::zeroed(&Device::simulated(), 5, 3).unwrap();
    assert!(matches!(src.transpose_into(&mut dst), Err(Error::DeviceMismatch { .. })));
}

fn plans_for_other_matrices(device: &Device) {
    let src = DeviceMatrix::<u32>::zeroed(device, 3, 5).unwrap();
    let mut dst = DeviceMatrix::<u32>::zeroed(device, 5, 3).unwrap();
    let plan = Plan::new(&src, &mut dst, Strategy::Padded).unwrap();
    plan.run(&src, &mut dst).unwrap();
    let mut wider = DeviceMatrix::<u32>::zeroed_with_ld(device, 5, 3, 4).unwrap();
    let error = plan.run(&src, &mut wider).unwrap_err();
    assert_eq!(
        format!("{error:#}"),
        "the plan is for other shapes, layouts, alignments or elements than it was given\n  \
         planned: 3 × 5 elements of 4 bytes, leading dimensions 5 and 3, addresses aligned to 16 and 16 bytes\n  \
         given: 3 × 5 elements of 4 bytes, leading dimensions 5 and 4, addresses aligned to 16 and 16 bytes"
    );
    // A plan may rely on how its matrices are aligned.
    let mut longer = DeviceMatrix::<u32>::zeroed(device, 1, 16).unwrap();
    assert!(plan.run(&src, longer.window_mut(0, 5, 3, 3).unwrap()).is_ok());
    let misaligned = plan.run(&src, longer.window_mut(1, 5, 3, 3).unwrap());
    assert!(matches!(misaligned, Err(Error::PlanMismatch { .. })));
}

fn batches_that_do_not_fit(device: &Device) {
    let src = DeviceMatrix::<u32>::zeroed(device, 1, 30).unwrap();
    let mut dst = DeviceMatrix::<u32>::zeroed(device, 1, 30).unwrap();
    let mut run = |count, src_stride, dst_stride| {
        let batch = Batch { count, src_stride, dst_stride };
        src.window(0, 2, 5, 5)
            .unwrap()
            .transpose_batched_into(dst.window_mut(0, 5, 2, 2).unwrap(), batch)
    };
    assert!(run(3, 10, 10).is_ok());
    assert!(run(3, 0, 10).is_ok());
    assert_eq!(
        message(run(4, 5, 10)),
        "4 matrices of 10 elements, 10 apart, do not fit the 30 elements that there are"
    );
    assert!(matches!(run(4, 10, 5), Err(Error::BatchOutOfBounds { stride: 10, .. })));
    assert!(matches!(run(usize::MAX, 2, 2), Err(Error::BatchOutOfBounds { .. })));
    assert_eq!(
        message(run(3, 10, 9)),
        "destinations of 10 elements, 9 elements apart, neither lie one behind the other nor side by side in the same rows"
    );
}

#[test]
fn a_gpu_that_is_not_there() {
    match Device::cuda(4095) {
        Ok(device) => panic!("there is a device 4095: {device}"),
        Err(Error::NoDevice { ordinal, count }) => assert!(ordinal == 4095 && count < 4095),
        Err(Error::NoDriver { reason, .. }) => assert_eq!(reason.lines().count(), 1, "{reason}"),
        Err(other) => panic!("{other}"),
    }
}

fn facts_that_no_device_is_like(device: &Device) {
    let with = |change: fn(&mut Facts)| {
        let mut facts = device.facts().clone();
        change(&mut facts);
        device.with_facts(facts)
    };
    assert_eq!(
        message(with(|facts| facts.multiprocessors = 0)),
        "no plans are made by such facts: there are 1 to 65536 multiprocessors"
    );
    assert!(with(|facts| facts.multiprocessors = usize::MAX).is_err());
    assert!(with(|facts| facts.block_shared = 0).is_err());
    assert!(with(|facts| facts.block_shared = facts.multiprocessor_shared + 1).is_err());
    // A device has no more shared memory than it has, whatever is planned for.
    assert!(with(|facts| facts.block_shared += 1).is_err());
    assert!(with(|facts| facts.multiprocessor_shared += 1).is_err());
    let waiting = with(|facts| facts.side_by_side = true);
    assert_eq!(waiting.is_ok(), device.facts().side_by_side);

    // The least of what is planned by, and the most.
    let numbers: Vec<u32> = (0..3000 * 7).collect();
    for change in [
        |facts: &mut Facts| {
            (facts.multiprocessors, facts.side_by_side) = (1, false);
            (facts.block_shared, facts.multiprocessor_shared) = (48 << 10, 48 << 10);
        },
        |facts: &mut Facts| {
            // More blocks than a device has room for must not wait for each other.
            (facts.multiprocessors, facts.side_by_side) = (1 << 16, false);
        },
    ] {
        let other = with(change).unwrap();
        let mut matrix = DeviceMatrix::from_host(&other, 3000, 7, &numbers).unwrap();
        let transposed = matrix.transposed().unwrap().to_host().unwrap();
        matrix.transpose_in_place().unwrap();
        assert_eq!(matrix.to_host().unwrap(), transposed);
        // It is the same device: matrices of the one handle go into those of the other.
        let back = DeviceMatrix::<u32>::zeroed(device, 3000, 7).unwrap();
        back.transpose_into(&mut matrix).unwrap();
    }
}
