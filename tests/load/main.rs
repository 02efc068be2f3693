//! Load: many threads with many streams each, problems at random, every result verified; and then memory is where it was.
//!
//! On a GPU, for `TRANSPOSE_LOAD_SECONDS` (60 unless set), in `TRANSPOSE_LOAD_THREADS` threads (64) of `TRANSPOSE_LOAD_STREAMS` streams
//! each (8): `cargo test --release --test load -- --ignored --nocapture`. Where other processes use the GPU meanwhile,
//! `TRANSPOSE_LOAD_SHARED` says so: what is free is then theirs to change, and is not asserted. `TRANSPOSE_LOAD_OPERATIONS` (100000) are
//! those after which no memory may be left, on either device.

mod operations;
mod resident;

use operations::{Dice, Sizes, operate};
use resident::resident_bytes;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};
use transpose::Device;

/// A number from the environment.
fn number(variable: &str, usual: usize) -> usize {
    std::env::var(variable).map_or(usual, |text| text.parse().expect("a number"))
}

/// How much of everything there is to be at a time.
#[derive(Clone, Copy)]
struct Load {
    threads: usize,
    streams: usize,
    sizes: Sizes,
}

impl Load {
    /// Operates in all threads while `go_on` says so, with the number of operations that were begun; returns how many there were.
    fn run(&self, device: &Device, seed: u64, go_on: impl Fn(usize) -> bool + Sync) -> usize {
        let (begun, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
        std::thread::scope(|scope| {
            for thread in 0..self.threads {
                let (go_on, begun, failed) = (&go_on, &begun, &failed);
                scope.spawn(move || {
                    let _failing = NoteOnPanic(failed);
                    let mut dice = Dice::new(seed + thread as u64);
                    let streams: Vec<_> =
                        (0..self.streams).map(|_| device.new_stream().unwrap()).collect();
                    // One that fails ends all.
                    while !failed.load(Relaxed) && go_on(begun.fetch_add(1, Relaxed)) {
                        operate(&mut dice, &streams, self.sizes);
                    }
                });
            }
        });
        // Each thread has begun one that it was told not to do.
        begun.into_inner() - self.threads
    }
}

/// Says that the thread it is in has panicked.
struct NoteOnPanic<'a>(&'a AtomicBool);

impl Drop for NoteOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.store(true, Relaxed);
        }
    }
}

/// One after the other: what is resident is the whole process's.
#[test]
fn on_the_simulator() {
    many_threads_of_many_streams();
    operations_leave_nothing_behind();
}

fn many_threads_of_many_streams() {
    let load = Load { threads: 64, streams: 8, sizes: Sizes { elements: 1 << 10 } };
    let device = Device::simulated();
    let before = device.memory().unwrap();
    let count = load.run(&device, 1, |begun| begun < 1000);
    assert_eq!((count, device.memory().unwrap()), (1000, before));
}

/// Whatever an operation kept, it would keep each time: ten bytes would be a megabyte.
fn operations_leave_nothing_behind() {
    let count = number("TRANSPOSE_LOAD_OPERATIONS", 100_000);
    const NOISE: usize = 1 << 20;
    let load = Load { threads: 2, streams: 2, sizes: Sizes { elements: 16 } };
    let device = Device::simulated();
    load.run(&device, 2, |begun| begun < count / 5);
    let before = resident_bytes();
    load.run(&device, 3, |begun| begun < count);
    if let (Some(before), Some(after)) = (before, resident_bytes()) {
        println!("{count} operations: {before} bytes resident before, {after} after");
        assert!(after < before + NOISE, "{} bytes are left", after - before);
    }
}

#[test]
#[ignore = "takes a minute of a GPU, or TRANSPOSE_LOAD_SECONDS"]
fn on_a_gpu() {
    // It has its own kernels and memory, and holds the context, so that what the load takes is what it adds.
    let Some(observer) = transpose_tests::gpu() else { return };
    let load = Load {
        threads: number("TRANSPOSE_LOAD_THREADS", 64),
        streams: number("TRANSPOSE_LOAD_STREAMS", 8),
        sizes: Sizes { elements: 1 << 16 },
    };
    let run = |limit: Duration| {
        let device = Device::cuda(0).unwrap();
        let start = Instant::now();
        let count = load.run(&device, 4, |_| start.elapsed() < limit);
        drop(device);
        (count, observer.memory().unwrap().free, resident_bytes().unwrap_or(0))
    };
    let limit = Duration::from_secs(number("TRANSPOSE_LOAD_SECONDS", 60) as u64);
    // What the driver keeps for so many threads and streams it takes at the first use.
    let (_, free_before, resident_before) = run(limit / 4);
    let (count, free_after, resident_after) = run(limit);
    println!(
        "{} threads × {} streams, {} s: {count} operations, none wrong; device memory free {free_before} before, {free_after} after; \
         resident {resident_before} before, {resident_after} after",
        load.threads,
        load.streams,
        limit.as_secs()
    );
    if std::env::var_os("TRANSPOSE_LOAD_SHARED").is_none() {
        const PAGE: u64 = 2 << 20;
        assert!(free_after + PAGE >= free_before, "device memory is not back");
    }
}

#[test]
#[ignore = "takes a minute of a GPU"]
fn operations_leave_nothing_behind_on_a_gpu() {
    let Some(device) = transpose_tests::gpu() else { return };
    let count = number("TRANSPOSE_LOAD_OPERATIONS", 100_000);
    let load = Load { threads: 1, streams: 2, sizes: Sizes { elements: 16 } };
    let start = Instant::now();
    load.run(&device, 5, |begun| begun < count / 5);
    let (before, free_before) = (resident_bytes(), device.memory().unwrap().free);
    load.run(&device, 6, |begun| begun < count);
    let (after, free_after) = (resident_bytes(), device.memory().unwrap().free);
    println!(
        "{count} operations in {:?}: resident {before:?} before, {after:?} after; device memory free {free_before} before, \
         {free_after} after",
        start.elapsed()
    );
    if let (Some(before), Some(after)) = (before, after) {
        assert!(after < before + (8 << 20), "{} bytes are left", after - before);
    }
}
