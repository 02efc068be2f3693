//! Every strategy × element width × shape × layout, on the simulator and on a GPU.

use proptest::prelude::{ProptestConfig, proptest};
use transpose::{Device, DeviceMatrix, Strategy};
use transpose_tests::{Case, check, check_widths, on_both_devices};

on_both_devices! {
    tile_edges,
    skinny_and_prime,
    layouts,
    empty,
    nan_payloads,
    copies,
    random_cases,
}

/// One element less than a tile, a tile, one more; the same around two tiles.
fn tile_edges(device: &Device) {
    const EDGES: [usize; 8] = [1, 2, 31, 32, 33, 63, 64, 65];
    for strategy in Strategy::ALL {
        for rows in EDGES {
            for cols in EDGES {
                check_widths(device, strategy, Case::tight(rows, cols));
            }
        }
    }
}

fn skinny_and_prime(device: &Device) {
    let shapes = [(1, 1000), (1000, 1), (2, 777), (777, 3), (5, 4099), (97, 101), (211, 127)];
    for strategy in Strategy::ALL {
        for (rows, cols) in shapes {
            check_widths(device, strategy, Case::tight(rows, cols));
        }
    }
}

/// Slack behind the rows and bases off by some elements, on either side alone and on both.
fn layouts(device: &Device) {
    let slacks_and_offsets = [(0, 0), (1, 0), (0, 1), (3, 5), (32, 32)];
    for strategy in Strategy::ALL {
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
    for strategy in Strategy::ALL {
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
    for strategy in Strategy::ALL {
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
        transpose::study::copy_into(&src, &mut dst).unwrap();
        assert_eq!(dst.to_host().unwrap(), host);
        let mut driver_copy = DeviceMatrix::zeroed(device, rows, cols).unwrap();
        transpose::study::driver_copy(&src, &mut driver_copy).unwrap();
        assert_eq!(driver_copy.to_host().unwrap(), host);
    }
}

fn random_cases(device: &Device) {
    let case = Case::any(0..150usize);
    let strategy = proptest::sample::select(Strategy::ALL.to_vec());
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(60) };
    proptest!(config, |(strategy in strategy, case in case)| check_widths(device, strategy, case));
}

/// The suite itself: its comparison must notice elements that were not moved.
#[test]
#[should_panic(expected = "the destination's buffer holds")]
fn the_check_notices_a_transpose_that_did_not_happen() {
    check::<u32>(&Device::simulated(), Case::tight(3, 4), |_, _| ());
}
