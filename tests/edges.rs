//! Matrices at the edges of what there can be: elements of no bytes, gaps behind a single row, strides that mean nothing.

use bytemuck::{Pod, Zeroable};
use study::{Block, HostMatrix, Kernel, MemoryKind};
use transpose::simt::Checks;
use transpose::{
    Batch, Device, DeviceMatrix, Error, InPlace, InPlaceOptions, InPlacePlan, Plan, PlanCache,
    Strategy, TensorView,
};
use transpose_tests::on_both_devices;

on_both_devices! {
    gaps_are_zero,
    elements_of_no_bytes_move,
    elements_of_no_bytes_in_batches_and_windows,
    elements_of_no_bytes_in_place,
    elements_of_no_bytes_in_studies,
    strides_of_a_single_matrix_mean_nothing,
    rows_as_far_apart_as_can_be,
    strides_between_empty_matrices_mean_nothing,
    more_elements_of_no_bytes_than_there_can_be,
}

/// A type with one value, which takes no memory.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
struct Nothing;

/// Layouts whose rows follow each other although the leading dimension is larger than a row.
const GAPS: [(usize, usize, usize); 4] = [(1, 5, 8), (1, 0, 8), (0, 5, 8), (3, 4, 6)];

fn gaps_are_zero(device: &Device) {
    for (rows, cols, ld) in GAPS {
        // The memory has been somebody else's before.
        drop(DeviceMatrix::from_host(device, 1, rows * ld, &vec![!0u32; rows * ld]).unwrap());
        let elements = vec![7; rows * cols];
        let matrix = DeviceMatrix::from_host_with_ld(device, rows, cols, ld, &elements).unwrap();
        let all = matrix.window(0, 1, rows * ld, rows * ld).unwrap().to_host().unwrap();
        for (index, element) in all.into_iter().enumerate() {
            assert_eq!(element, if index % ld < cols { 7 } else { 0 }, "{rows} × {cols}: {index}");
        }
    }
}

/// Kernels never read memory that nobody has written, whatever window a matrix is looked at through.
#[test]
fn windows_on_gaps_read_what_was_written() {
    let device = Device::simulated_with(Checks::ALL);
    for (rows, cols, ld) in GAPS {
        let elements = vec![7u32; rows * cols];
        let matrix = DeviceMatrix::from_host_with_ld(&device, rows, cols, ld, &elements).unwrap();
        let window = matrix.window(0, 1, rows * ld, rows * ld).unwrap();
        window.transpose_into(&mut DeviceMatrix::zeroed(&device, rows * ld, 1).unwrap()).unwrap();
    }
}

const SHAPES: [(usize, usize); 6] =
    [(3, 5), (0, 5), (1, 1), (1, 12), (1000, 70_000), (1 << 40, 1 << 20)];

fn elements_of_no_bytes_move(device: &Device) {
    for (rows, cols) in SHAPES {
        let mut matrix =
            DeviceMatrix::<Nothing>::zeroed_with_ld(device, rows, cols, cols + 3).unwrap();
        let elements = matrix.to_host().unwrap();
        assert_eq!(elements.len(), rows * cols);
        matrix.copy_from_host(&elements).unwrap();
        matrix.copy_to_host(&mut elements.clone()).unwrap();
        let from_host = DeviceMatrix::from_host(device, rows, cols, &elements).unwrap();
        for &strategy in Strategy::ALL {
            let transposed = from_host.transposed_with(strategy).unwrap();
            assert_eq!(transposed.shape(), (cols, rows));
            assert_eq!(transposed.to_host().unwrap().len(), rows * cols);
        }
        let mut transposed = DeviceMatrix::<Nothing>::zeroed(device, cols, rows).unwrap();
        let plan = Plan::new(&matrix, &mut transposed, Strategy::Auto).unwrap();
        assert_eq!(plan.kernel_names(), [""; 0]);
        plan.run(&matrix, &mut transposed).unwrap();
        let mut cache = PlanCache::in_memory();
        Plan::measure(&matrix, &mut transposed, &mut cache).unwrap();
        assert!(Plan::candidates(&matrix, &mut transposed).unwrap().is_empty());
    }
    // Any other type of no bytes, and a wrong number of elements.
    assert!(DeviceMatrix::<[u64; 0]>::zeroed(device, 4, 5).unwrap().transposed().is_ok());
    assert!(DeviceMatrix::from_host(device, 4, 5, &[Nothing; 19]).is_err());
}

fn elements_of_no_bytes_in_batches_and_windows(device: &Device) {
    let src = DeviceMatrix::<Nothing>::zeroed(device, 4, 6).unwrap();
    let mut dst = DeviceMatrix::<Nothing>::zeroed(device, 6, 4).unwrap();
    let window = src.window(7, 2, 3, 6).unwrap();
    assert_eq!(window.to_host().unwrap().len(), 6);
    window.transpose_into(dst.window_mut(1, 3, 2, 4).unwrap()).unwrap();
    assert!(src.window(16, 2, 3, 6).is_err());
    let batch = Batch { count: 4, src_stride: 6, dst_stride: 6 };
    let (first, to) = (src.window(0, 2, 3, 3).unwrap(), dst.window_mut(0, 3, 2, 2).unwrap());
    first.transpose_batched_into(to, batch).unwrap();
}

fn elements_of_no_bytes_in_place(device: &Device) {
    for (rows, cols) in SHAPES {
        for &algorithm in InPlace::ALL {
            let mut matrix = DeviceMatrix::<Nothing>::zeroed(device, rows, cols).unwrap();
            let Ok(mut plan) = InPlacePlan::new(&matrix, algorithm) else {
                panic!("{algorithm} does not serve {rows} × {cols} elements of no bytes");
            };
            plan.run(&mut matrix).unwrap();
            assert_eq!(matrix.shape(), (cols, rows));
            let mut plan = InPlacePlan::measure(&mut matrix, algorithm, 3).unwrap();
            assert_eq!(matrix.shape(), (cols, rows));
            plan.run_step_by_step(&mut matrix).unwrap();
            assert_eq!(matrix.to_host().unwrap().len(), rows * cols);
        }
    }
    let mut records = DeviceMatrix::<Nothing>::zeroed(device, 12, 5).unwrap();
    records.aos_to_asta(4).unwrap();
    assert_eq!(records.shape(), (15, 4));
    records.asta_to_aos(5).unwrap();
    records.aos_to_soa().unwrap();
    records.soa_to_asta_with(4, &InPlaceOptions::default()).unwrap();
    records.asta_to_soa(5).unwrap();
    records.soa_to_aos().unwrap();
    assert_eq!(records.shape(), (12, 5));
}

fn elements_of_no_bytes_in_studies(device: &Device) {
    let src = DeviceMatrix::<Nothing>::zeroed(device, 64, 96).unwrap();
    let mut same = DeviceMatrix::<Nothing>::zeroed(device, 64, 96).unwrap();
    Plan::copy(&src, &mut same).unwrap().run(&src, &mut same).unwrap();
    src.copy_into(&mut same).unwrap();
    let mut dst = DeviceMatrix::<Nothing>::zeroed(device, 96, 64).unwrap();
    study::run(Kernel::NaiveRow, Block { x: 16, y: 16 }, &src, &mut dst).unwrap();
    let expected = Kernel::NaiveRow.expected(&[Nothing; 64 * 96], 64, 96).unwrap();
    assert_eq!(expected, dst.to_host().unwrap());
    for kind in MemoryKind::ALL {
        let mut host = HostMatrix::<Nothing>::zeroed(device, kind, 3, 5).unwrap();
        assert_eq!(host.read().unwrap().len(), 15);
        host.write().unwrap().fill(Nothing);
    }
}

fn strides_of_a_single_matrix_mean_nothing(device: &Device) {
    let host: Vec<[u8; 3]> = (0..70).map(|index| [index, 1, 2]).collect();
    let src = DeviceMatrix::from_host(device, 7, 10, &host).unwrap();
    let expected = src.transposed().unwrap().to_host().unwrap();
    for stride in [0, 1, usize::MAX / 2, usize::MAX] {
        let batch = |count| Batch { count, src_stride: stride, dst_stride: stride };
        let mut dst = DeviceMatrix::zeroed(device, 10, 7).unwrap();
        let plan = Plan::batched(&src, &mut dst, batch(1)).unwrap();
        plan.run(&src, &mut dst).unwrap();
        assert_eq!(dst.to_host().unwrap(), expected);
        let one = Plan::new(&src, &mut dst, Strategy::Auto).unwrap();
        assert_eq!(plan.to_string(), one.to_string());

        let mut untouched = DeviceMatrix::<[u8; 3]>::zeroed(device, 10, 7).unwrap();
        src.view().transpose_batched_into(&mut untouched, batch(0)).unwrap();
        assert_eq!(untouched.to_host().unwrap(), [[0; 3]; 70]);
    }
}

fn strides_between_empty_matrices_mean_nothing(device: &Device) {
    let src = DeviceMatrix::<u32>::zeroed(device, 0, 3).unwrap();
    let mut dst = DeviceMatrix::<u32>::zeroed(device, 3, 0).unwrap();
    for stride in [0, usize::MAX / 2, usize::MAX] {
        let batch = Batch { count: 2, src_stride: stride, dst_stride: 0 };
        let mut cache = PlanCache::in_memory();
        let plan = Plan::measure_batched(&src, &mut dst, batch, &mut cache).unwrap();
        assert_eq!(plan.kernel_names(), [""; 0]);
    }
}

/// Elements are counted, and their distances, in as many bits as bytes are.
fn more_elements_of_no_bytes_than_there_can_be(device: &Device) {
    let most = isize::MAX as usize;
    let matrix = DeviceMatrix::<Nothing>::zeroed(device, 1, most).unwrap();
    assert!(TensorView::from(&matrix).is_contiguous());
    for (rows, cols) in [(2, most), (1, most + 1)] {
        let refused = DeviceMatrix::<Nothing>::zeroed(device, rows, cols).map(drop);
        assert!(matches!(refused, Err(Error::SizeOverflow { .. })), "{refused:?}");
    }
}

/// The distance from the only row to the next may be any that a layout can have.
fn rows_as_far_apart_as_can_be(device: &Device) {
    let host: Vec<[u16; 3]> = (0..70).map(|index| [index, 1, 2]).collect();
    let src = DeviceMatrix::from_host(device, 1, 70, &host).unwrap();
    let mut dst = DeviceMatrix::zeroed(device, 70, 1).unwrap();
    let ld = isize::MAX as usize / 6;
    let row = src.window(0, 1, 70, ld).unwrap();
    row.transpose_into(&mut dst).unwrap();
    for plan in Plan::candidates(row, &mut dst).unwrap() {
        plan.run(row, &mut dst).unwrap();
    }
    let mut back = DeviceMatrix::zeroed(device, 1, 70).unwrap();
    dst.transpose_into(back.window_mut(0, 1, 70, ld).unwrap()).unwrap();
    assert_eq!(back.to_host().unwrap(), host);

    let src = DeviceMatrix::from_host(device, 1, 70, &[7u32; 70]).unwrap();
    let row = src.window(0, 1, 70, isize::MAX as usize / 4).unwrap();
    for &strategy in Strategy::ALL {
        let mut dst = DeviceMatrix::zeroed(device, 70, 1).unwrap();
        row.transpose_into_with(&mut dst, strategy).unwrap();
        assert_eq!(dst.to_host().unwrap(), [7; 70]);
    }
}
