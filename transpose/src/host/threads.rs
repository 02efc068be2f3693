//! Work that several threads share, each taking some of it until there is none.

use crate::Result;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{Builder, scope};

/// Has `threads` threads do the work, of which the caller's is one; fewer, where the system has no more. The first error that is found is the
/// answer, once all of them have ended.
pub(super) fn together(threads: usize, work: impl Fn() -> Result<()> + Sync) -> Result<()> {
    side_by_side(threads, work, 0, || Ok(()))
}

/// Like [`together`], and has `others` threads do other work beside, or fewer: it must be such that it need not be done.
pub(super) fn side_by_side(
    threads: usize,
    work: impl Fn() -> Result<()> + Sync,
    others: usize,
    beside: impl Fn() -> Result<()> + Sync,
) -> Result<()> {
    scope(|scope| {
        // Whoever is there does the work of those who are not.
        let same = (1..threads).map_while(|_| Builder::new().spawn_scoped(scope, &work).ok());
        let other = (0..others).map_while(|_| Builder::new().spawn_scoped(scope, &beside).ok());
        let others: Vec<_> = same.chain(other).collect();
        let mut ended = work();
        for other in others {
            ended = ended.and(other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        ended
    })
}

/// Numbers from 0 on, each of which one thread takes.
pub(super) struct Numbers {
    count: usize,
    /// The first that nobody has taken; what is not below the count is none.
    next: AtomicUsize,
}

impl Numbers {
    /// So many.
    pub(super) fn new(count: usize) -> Self {
        Numbers { count, next: AtomicUsize::new(0) }
    }

    /// The next one, if there is one left.
    pub(super) fn take(&self) -> Option<usize> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        (number < self.count).then_some(number)
    }

    /// Does some of the work. If that fails, or panics, no number is left for anybody.
    pub(super) fn or_stop(&self, work: impl FnOnce() -> Result<()>) -> Result<()> {
        let stop = Stop(self);
        work()?;
        std::mem::forget(stop);
        Ok(())
    }
}

/// Leaves no number to anybody when it goes.
struct Stop<'a>(&'a Numbers);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.next.store(self.0.count, Ordering::Relaxed);
    }
}
