//! Numbers that workers take, a few at a time and in order, and the first of them that failed. `crates/models` runs this file through all
//! interleavings.

use crate::sync::{AtomicU64, Mutex, Ordering::Relaxed, PoisonError};
use std::ops::Range;

/// The numbers below `count`, each for one worker.
pub(crate) struct Tickets<F> {
    count: u64,
    /// How many a worker takes at a time.
    chunk: u64,
    next: AtomicU64,
    done: AtomicU64,
    /// The lowest number that failed; later ones need not be done.
    failed: AtomicU64,
    fault: Mutex<Option<F>>,
}

impl<F> Tickets<F> {
    pub fn new(count: u64, chunk: u64) -> Self {
        let (next, done, failed) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(u64::MAX));
        Tickets { count, chunk, next, done, failed, fault: Mutex::new(None) }
    }

    /// The next numbers, if there are any.
    pub fn take(&self) -> Option<Range<u64>> {
        let start = self.next.fetch_add(self.chunk, Relaxed);
        let end = start.saturating_add(self.chunk).min(self.count);
        (start < end).then_some(start..end)
    }

    /// Notes that numbers were done; how many are now.
    pub fn note(&self, done: Range<u64>) -> u64 {
        let count = done.end - done.start;
        self.done.fetch_add(count, Relaxed) + count
    }

    /// Whether a number need not be done, for an earlier one has failed. Those before it are done, so that the first fault is the one
    /// that is told.
    pub fn is_moot(&self, number: u64) -> bool {
        number > self.failed.load(Relaxed)
    }

    /// Notes that a number has failed.
    pub fn fail(&self, number: u64, fault: F) {
        let mut first = self.fault.lock().unwrap_or_else(PoisonError::into_inner);
        if number < self.failed.load(Relaxed) {
            self.failed.store(number, Relaxed);
            *first = Some(fault);
        }
    }

    /// The fault of the lowest number, once all workers are done.
    pub fn first_fault(&self) -> Option<F> {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
