//! Batches of matrices whose rows take turns in memory, on the simulator and on a GPU, against a loop.

use profile::count;
use proptest::prelude::*;
use transpose::{Batch, Device, DeviceMatrix, Error, Plan, PlanCache};
use transpose_tests::{Element, cases, on_both_devices};

on_both_devices! {
    batches_row_by_row,
    batches_that_overlap,
}

/// Matrices of which rows take turns in memory, on one side or on both, against a loop; nothing between the destination's rows changes.
fn batches_row_by_row(device: &Device) {
    fn check<T: Element>(
        device: &Device,
        [count, rows, cols, gap, start]: [usize; 5],
        is_apart: bool,
    ) {
        // The source's matrices too, or one after the other.
        let [src_stride, src_ld] =
            if is_apart { [rows * cols, cols] } else { [cols, count * cols] };
        let dst_stride = rows + gap;
        let dst_ld = count * dst_stride + gap;
        let host: Vec<T> = (0..count * rows * cols).map(|n| T::scrambled(n, 1)).collect();
        let canaries: Vec<T> = (0..start + cols * dst_ld).map(|n| T::scrambled(n, 2)).collect();
        let mut expected = canaries.clone();
        for (matrix, row, col) in
            (0..count * rows * cols).map(|n| (n / cols / rows, n / cols % rows, n % cols))
        {
            expected[start + matrix * dst_stride + col * dst_ld + row] =
                host[matrix * src_stride + row * src_ld + col];
        }
        let src = DeviceMatrix::from_host(device, 1, host.len(), &host).unwrap();
        let first = src.window(0, rows, cols, src_ld).unwrap();
        let batch = Batch { count, src_stride, dst_stride };
        for measured in [false, true] {
            let mut dst = DeviceMatrix::from_host(device, 1, canaries.len(), &canaries).unwrap();
            let mut to = dst.window_mut(start, cols, rows, dst_ld).unwrap();
            let result = match measured {
                false => first.transpose_batched_into(to, batch),
                true => {
                    Plan::measure_batched(first, to.reborrow(), batch, &mut PlanCache::in_memory())
                        .and_then(|plan| plan.run(first, to))
                }
            };
            result.unwrap();
            assert!(dst.to_host().unwrap() == expected, "{batch:?} of {rows} × {cols}");
        }
    }
    let sizes = (2..6usize, 1..40usize, 1..40usize, 0..3usize, 0..3usize, any::<bool>());
    proptest!(cases(12), |((count, rows, cols, gap, start, is_apart) in sizes)| {
        let of = [count, rows, cols, gap, start];
        check::<u8>(device, of, is_apart);
        check::<[u8; 3]>(device, of, is_apart);
        check::<u32>(device, of, is_apart);
        check::<u128>(device, of, is_apart);
    });
    // Large enough for the kernels of tensors to be worth a thought, and elements that no kernel of matrices is for.
    check::<u16>(device, [3, 170, 210, 0, 0], false);
    check::<[[u8; 23]; 11]>(device, [3, 12, 19, 1, 1], true);
}

/// Rows that take turns must leave room for each other.
fn batches_that_overlap(device: &Device) {
    let src = DeviceMatrix::<u16>::zeroed(device, 30, 10).unwrap();
    let first = src.window(0, 5, 4, 4).unwrap();
    let mut dst = DeviceMatrix::<u16>::zeroed(device, 30, 10).unwrap();
    let refused = |ld: usize, count: usize, dst_stride: usize, dst: &mut DeviceMatrix<u16>| {
        let to = dst.window_mut(0, 4, 5, ld).unwrap();
        first.transpose_batched_into(to, Batch { count, src_stride: 20, dst_stride }).err()
    };
    // Three rows of 5 in 15, in 14, and 4 apart; two that reach into the third row but one, and behind it.
    assert!(refused(15, 3, 5, &mut dst).is_none());
    for (ld, count, stride) in
        [(14, 3, 5), (15, 3, 4), (15, 4, 5), (15, 2, 13), (15, 2, 49), (15, 9, 0)]
    {
        let extent = 3 * ld + 5;
        match refused(ld, count, stride, &mut dst) {
            Some(Error::BatchOverlap { stride: told, extent: reached }) => {
                assert_eq!((told, reached), (stride, extent));
            }
            other => panic!("{ld}, {count}, {stride}: {other:?}"),
        }
    }
    assert!(refused(15, 2, 10, &mut dst).is_none());
    assert!(refused(15, 2, 50, &mut dst).is_none());
}

/// Whatever powers of two, or multiples of eight, small matrices of narrow words have for sides, their words lie in many banks.
#[test]
fn narrow_batches_meet_few_banks() {
    fn conflicts<T: Element>(rows: usize, cols: usize) -> f64 {
        let device = Device::simulated();
        let count_of = (1 << 16) / (rows * cols);
        let src = DeviceMatrix::<T>::zeroed(&device, count_of * rows, cols).unwrap();
        let mut dst = DeviceMatrix::<T>::zeroed(&device, count_of * cols, rows).unwrap();
        let batch = Batch { count: count_of, src_stride: rows * cols, dst_stride: rows * cols };
        let from = src.window(0, rows, cols, cols).unwrap();
        let mut to = dst.window_mut(0, cols, rows, rows).unwrap();
        let plan = Plan::batched(from, to.reborrow(), batch).unwrap();
        assert!(plan.to_string().contains("batch_b"), "{plan}");
        let counts = count(&device, || plan.run(from, to)).unwrap().unwrap();
        let loads = counts.shared_load;
        loads.wavefronts as f64 / loads.requests as f64
    }
    for (rows, cols) in
        [(2, 2), (16, 16), (8, 8), (64, 8), (128, 24), (24, 2), (256, 16), (8, 256), (64, 64)]
    {
        let times = [conflicts::<u8>(rows, cols), conflicts::<u16>(rows, cols)];
        assert!(times.iter().all(|&times| times < 3.1), "{rows} × {cols}: {times:?}");
    }
    let times = [conflicts::<u8>(512, 16), conflicts::<u8>(8, 1024), conflicts::<u8>(1024, 8)];
    assert!(times.iter().all(|&times| times < 2.6), "{times:?}");
    // No number of threads steps by whole matrices and groups of banks, and without gaps all lanes would meet in one.
    let times = conflicts::<u16>(235, 16);
    assert!(times < 4.0, "{times}");
}
