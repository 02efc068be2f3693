//! Safe calls stay safe whatever is dropped early, leaked, or used from several threads.

use std::sync::Barrier;
use transpose::{Device, DeviceMatrix};
use transpose_tests::{on_both_devices, simulator};

on_both_devices! {
    sources_dropped_while_they_are_read,
    matrices_leaked,
    devices_dropped_before_their_matrices,
    threads_share_a_device,
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
