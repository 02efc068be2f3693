//! Defects on purpose, each for the sanitizer that is to see it: `cargo xtask sanitize` fails unless it does. A check that never fired is no check.

use std::cell::UnsafeCell;
use std::sync::Barrier;

/// Memory that two threads write, which nothing orders.
struct Shared(UnsafeCell<u64>);

// SAFETY: it is not: that is the defect.
unsafe impl Sync for Shared {}

#[test]
#[ignore = "a defect, for ThreadSanitizer"]
fn a_race() {
    let shared = Shared(UnsafeCell::new(0));
    // Both live while either writes: what a thread did that has ended, the sanitizer may have forgotten.
    let (begin, end) = (Barrier::new(2), Barrier::new(2));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let shared = &shared;
                begin.wait();
                // SAFETY: none: the other thread does the same.
                (0..1000).for_each(|_| unsafe { *shared.0.get() += 1 });
                end.wait();
            });
        }
    });
    println!("{}", shared.0.into_inner());
}

#[test]
#[ignore = "a defect, for AddressSanitizer"]
fn a_use_after_free() {
    let elements = vec![1u8; 64];
    let start = elements.as_ptr();
    drop(elements);
    // SAFETY: none: the memory was given back.
    println!("{}", unsafe { start.read_volatile() });
}

#[test]
#[ignore = "a defect, for AddressSanitizer"]
fn a_leak() {
    std::mem::forget(std::hint::black_box(vec![1u8; 64]));
}
