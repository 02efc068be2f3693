//! Every strategy × element width × shape × layout, on the simulator and on a GPU.

use proptest::prelude::proptest;
use transpose::{Device, DeviceMatrix, Layout, MatrixView, MatrixViewMut, Plan, Strategy};
use transpose_tests::{Case, Element, cases, check, check_widths, on_both_devices};

on_both_devices! {
    tile_edges,
    skinny_and_prime,
    layouts,
    empty,
    nan_payloads,
    copies,
    copies_of_any_elements,
    memory_of_others,
    random_cases,
}

/// One element less than a tile, a tile, one more; the same around two tiles.
fn tile_edges(device: &Device) {
    const EDGES: [usize; 8] = [1, 2, 31, 32, 33, 63, 64, 65];
    for &strategy in Strategy::ALL {
        for rows in EDGES {
            for cols in EDGES {
                check_widths(device, strategy, Case::tight(rows, cols));
            }
        }
    }
}

fn skinny_and_prime(device: &Device) {
    let shapes = [(1, 1000), (1000, 1), (2, 777), (777, 3), (5, 4099), (97, 101), (211, 127)];
    for &strategy in Strategy::ALL {
        for (rows, cols) in shapes {
            check_widths(device, strategy, Case::tight(rows, cols));
        }
    }
}

/// Slack behind the rows and bases off by some elements, on either side alone and on both.
fn layouts(device: &Device) {
    let slacks_and_offsets = [(0, 0), (1, 0), (0, 1), (3, 5), (32, 32)];
    for &strategy in Strategy::ALL {
        for (src_slack, src_offset) in slacks_and_offsets {
            for (dst_slack, dst_offset) in slacks_and_offsets {
                let (rows, cols) = (37, 66);
                let case = Case { rows, cols, src_slack, dst_slack, src_offset, dst_offset };
                check_widths(device, strategy, case);
            }
        }
    }
}

fn empty(device: &Device) {
    for &strategy in Strategy::ALL {
        for (rows, cols) in [(0, 0), (0, 5), (5, 0)] {
            check_widths(device, strategy, Case::tight(rows, cols));
            let matrix = DeviceMatrix::<f32>::zeroed(device, rows, cols).unwrap();
            let transposed = matrix.transposed_with(strategy).unwrap();
            assert_eq!(transposed.shape(), (cols, rows));
            assert!(transposed.is_empty() && transposed.to_host().unwrap().is_empty());
        }
    }
}

/// A transpose moves bits: signalling NaNs and payloads arrive as they left.
fn nan_payloads(device: &Device) {
    let (rows, cols) = (67, 45);
    let bits =
        |index: u32| 0x7f80_0000 | (index % 2) << 31 | (index.wrapping_mul(2_654_435_761) >> 9) | 1;
    let host: Vec<f32> =
        (0..(rows * cols) as u32).map(|index| f32::from_bits(bits(index))).collect();
    let matrix = DeviceMatrix::from_host(device, rows, cols, &host).unwrap();
    for &strategy in Strategy::ALL {
        let transposed = matrix.transposed_with(strategy).unwrap().to_host().unwrap();
        for (index, element) in transposed.iter().enumerate() {
            let (col, row) = (index / rows, index % rows);
            assert_eq!(element.to_bits(), bits((row * cols + col) as u32), "{strategy}");
        }
    }
}

/// The copy kernel, checked as what it is: two transposes of the case's shape would hide its walk.
fn copies(device: &Device) {
    for (rows, cols) in [(1, 1), (32, 32), (33, 31), (100, 257)] {
        let host: Vec<u64> = (0..(rows * cols) as u64).collect();
        let src = DeviceMatrix::from_host(device, rows, cols, &host).unwrap();
        let mut dst = DeviceMatrix::zeroed_with_ld(device, rows, cols, cols + 3).unwrap();
        Plan::copy(&src, &mut dst).unwrap().run(&src, &mut dst).unwrap();
        assert_eq!(dst.to_host().unwrap(), host);
    }
}

/// By the driver, by the kernel, and row by row.
fn copies_of_any_elements(device: &Device) {
    fn copy<T: Element>(device: &Device) {
        for (rows, cols) in [(0, 5), (1, 1), (7, 1), (33, 31)] {
            let host: Vec<T> = (0..rows * cols).map(|index| T::scrambled(index, 1)).collect();
            for (src_slack, dst_slack) in [(0, 0), (2, 0), (0, 1), (3, 5)] {
                let src_ld = cols + src_slack;
                let src =
                    DeviceMatrix::from_host_with_ld(device, rows, cols, src_ld, &host).unwrap();
                let around = vec![T::scrambled(7, 2); (rows + 1) * (cols + dst_slack) + 1];
                let mut dst = DeviceMatrix::from_host(device, 1, around.len(), &around).unwrap();
                src.copy_into(dst.window_mut(1, rows, cols, cols + dst_slack).unwrap()).unwrap();
                let mut expected = around;
                for (row, elements) in host.chunks_exact(cols).enumerate() {
                    expected[1 + row * (cols + dst_slack)..][..cols].copy_from_slice(elements);
                }
                assert_eq!(dst.to_host().unwrap(), expected, "{rows} × {cols}");
            }
        }
    }
    copy::<u8>(device);
    copy::<u32>(device);
    copy::<[u8; 3]>(device);
    copy::<[u64; 5]>(device);
}

/// Memory that somebody else has, here that of two matrices, is read and written as any other.
fn memory_of_others(device: &Device) {
    let (rows, cols, ld) = (40, 50, 60);
    let host: Vec<u32> = (0..rows * ld).map(|index| index as u32).collect();
    let owner = DeviceMatrix::from_host(device, rows, ld, &host).unwrap();
    let target = DeviceMatrix::<u32>::zeroed(device, cols, rows).unwrap();
    let [from, to] = [(rows, cols, ld), (cols, rows, rows)]
        .map(|(rows, cols, ld)| Layout::new(rows, cols, ld, size_of::<u32>()).unwrap());
    // SAFETY: the two matrices live until the work is done, hold as many elements, and nothing else uses them meanwhile.
    let (src, dst) = unsafe {
        (
            MatrixView::<u32>::from_raw_parts(device, owner.device_address(), rows * ld, from)
                .unwrap(),
            MatrixViewMut::from_raw_parts(device, target.device_address(), cols * rows, to)
                .unwrap(),
        )
    };
    src.transpose_into(dst).unwrap();
    let transposed = target.to_host().unwrap();
    for (index, element) in transposed.into_iter().enumerate() {
        assert_eq!(element, host[index % rows * ld + index / rows]);
    }
}

fn random_cases(device: &Device) {
    let case = Case::any(0..150usize);
    let strategy = proptest::sample::select(Strategy::ALL);
    proptest!(cases(60), |(strategy in strategy, case in case)| check_widths(device, strategy, case));
}

/// The suite itself: its comparison must notice elements that were not moved.
#[test]
#[should_panic(expected = "the destination's buffer holds")]
fn the_check_notices_a_transpose_that_did_not_happen() {
    check::<u32>(&Device::simulated(), Case::tight(3, 4), |_, _| ());
}
