//! Safe calls stay safe whatever is dropped early, leaked, used from several threads, or queued behind other work.

use std::sync::Barrier;
use transpose::{Device, DeviceMatrix, DeviceTensor, Plan, Strategy, TensorLayout};
use transpose_tests::{Element, on_both_devices, simulator, takes_large};

on_both_devices! {
    sources_dropped_while_they_are_read,
    matrices_leaked,
    devices_dropped_before_their_matrices,
    threads_share_a_device,
    copied_to_other_devices,
    one_after_the_other,
}

const ROWS: usize = 300;
const COLS: usize = 200;

fn numbers(first: u32) -> Vec<u32> {
    (first..).take(ROWS * COLS).collect()
}

fn is_transpose_of(transposed: &[u32], original: &[u32]) -> bool {
    transposed.iter().enumerate().all(|(i, &t)| t == original[i % ROWS * COLS + i / ROWS])
}

/// Work on a source is queued, the source is dropped, and its memory is handed out again.
fn sources_dropped_while_they_are_read(device: &Device) {
    for round in 0..20 {
        let host = numbers(round);
        let src = DeviceMatrix::from_host(device, ROWS, COLS, &host).unwrap();
        let transposed = src.transposed().unwrap();
        drop(src);
        let reused = DeviceMatrix::from_host(device, ROWS, COLS, &numbers(1000)).unwrap();
        assert!(is_transpose_of(&transposed.to_host().unwrap(), &host));
        drop(reused);
    }
}

fn matrices_leaked(device: &Device) {
    let host = numbers(3);
    let src = DeviceMatrix::from_host(device, ROWS, COLS, &host).unwrap();
    let mut dst = DeviceMatrix::zeroed(device, COLS, ROWS).unwrap();
    src.transpose_into(dst.view_mut()).unwrap();
    std::mem::forget(src);
    assert!(is_transpose_of(&dst.to_host().unwrap(), &host));
}

fn devices_dropped_before_their_matrices(device: &Device) {
    let own = if device.is_gpu() { Device::cuda(0).unwrap() } else { simulator().unwrap() };
    let host = numbers(5);
    let src = DeviceMatrix::from_host(&own, ROWS, COLS, &host).unwrap();
    drop(own);
    assert!(is_transpose_of(&src.transposed().unwrap().to_host().unwrap(), &host));
}

fn threads_share_a_device(device: &Device) {
    const THREADS: u32 = 8;
    let start = Barrier::new(THREADS as usize);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (device, start) = (device.clone(), &start);
            scope.spawn(move || {
                start.wait();
                let host = numbers(thread * 7);
                let src = DeviceMatrix::from_host(&device, ROWS, COLS, &host).unwrap();
                for _ in 0..5 {
                    let transposed = src.transposed().unwrap();
                    assert!(is_transpose_of(&transposed.to_host().unwrap(), &host));
                }
            });
        }
    });
}

/// A stream of the device, the device a second time, and a simulator: copies come after what was queued before, sources may go and change at once, and layouts
/// with their gaps stay.
fn copied_to_other_devices(device: &Device) {
    let again = if device.is_gpu() { Device::cuda(0).unwrap() } else { simulator().unwrap() };
    for other in [device.new_stream().unwrap(), again, simulator().unwrap()] {
        let host = numbers(11);
        let mut src = DeviceMatrix::zeroed_with_ld(device, COLS, ROWS, ROWS + 5).unwrap();
        let original = DeviceMatrix::from_host(device, ROWS, COLS, &host).unwrap();
        original.transpose_into(&mut src).unwrap();
        let copy = src.to_device(&other).unwrap();
        src.fill(0).unwrap();
        assert_eq!(copy.layout(), src.layout());
        let mut there = DeviceMatrix::zeroed(&other, ROWS, COLS).unwrap();
        copy.transpose_into(&mut there).unwrap();
        assert!(there.to_host().unwrap() == host);
        // There and back, and the first copy is gone before anybody waited.
        let back = copy.to_device(device).unwrap();
        drop(copy);
        assert!(is_transpose_of(&back.to_host().unwrap(), &host));

        let strided = TensorLayout::strided(&[COLS, ROWS], &[1, COLS as isize], 0, 4).unwrap();
        let src =
            DeviceTensor::<u32>::from_allocation(original.into_allocation(), strided).unwrap();
        let copy = src.to_device(&other).unwrap();
        drop(src);
        assert_eq!(copy.layout(), &strided);
        assert!(is_transpose_of(&copy.to_host().unwrap(), &host));

        let empty = DeviceTensor::<[u8; 33]>::zeroed(device, &[3, 0]).unwrap();
        assert_eq!(empty.to_device(&other).unwrap().shape(), [3, 0]);
    }
}

/// Every launch needs what the one before it has stored, and nobody waits between them.
fn one_after_the_other(device: &Device) {
    let (sides, turns) =
        if takes_large(device) { ([64, 1000, 2047], 100) } else { ([16, 33, 64], 2) };
    for side in sides {
        back_and_forth::<u8>(device, side, turns);
        back_and_forth::<u32>(device, side, turns);
        back_and_forth::<u64>(device, side, turns);
    }
}

/// Transposes a matrix in place, to another, there in place, and back, again and again: what is in either changes with
/// every launch. Kernels that wait by themselves follow each other and those that do not, which the strategies have.
fn back_and_forth<T: Element>(device: &Device, side: usize, turns: usize) {
    let original: Vec<T> = (0..side * side).map(|index| T::scrambled(index, 1)).collect();
    let mut here = DeviceMatrix::from_host(device, side, side, &original).unwrap();
    let mut there = DeviceMatrix::<T>::zeroed(device, side, side).unwrap();
    let plan = Plan::new(&here, &mut there, Strategy::Auto).unwrap();
    for turn in 0..turns {
        let back = [Strategy::Auto, Strategy::Naive, Strategy::Diagonal][turn % 3];
        here.transpose_in_place().unwrap();
        plan.clone().evict_last(turn % 2 == 1).run(&here, &mut there).unwrap();
        there.transpose_in_place().unwrap();
        there.transpose_into_with(&mut here, back).unwrap();
    }
    assert!(here.to_host().unwrap() == original, "{side} × {side} of {} bytes", size_of::<T>());
    let transposed = there.to_host().unwrap();
    let at = |row: usize, col: usize| transposed[row * side + col];
    assert!((0..side).all(|row| (0..side).all(|col| at(row, col) == original[col * side + row])));
}
