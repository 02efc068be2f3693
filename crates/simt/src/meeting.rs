//! Who wrote a piece of memory last and who read it, for accesses on several workers at once: what of two that race is seen. `crates/models` runs
//! this file through all interleavings.

use crate::sync::{AtomicU64, Ordering::SeqCst};

/// The records of one piece, 0 where there is none: the last writer, the last reader, and one that was forgotten for it.
#[derive(Clone, Copy)]
pub(crate) struct Cells<'a> {
    pub writer: &'a AtomicU64,
    pub reader: &'a AtomicU64,
    pub other_reader: &'a AtomicU64,
}

/// What an access knows of earlier ones.
pub(crate) trait Order {
    /// Whether an earlier access is past: this one comes after it.
    fn is_past(&self, then: u64) -> bool;
    /// Whether an earlier access and this one need no order, or have one.
    fn is_ordered(&self, then: u64) -> bool;
    /// Whether an earlier access was of the same block.
    fn is_ours(&self, then: u64) -> bool;
    /// Whether an earlier access was of the same warp.
    fn is_near(&self, then: u64) -> bool;
}

impl Cells<'_> {
    /// Notes a read; the writer that it races with, if it does.
    ///
    /// Swaps with sequential consistency, so that of a read and a write on two workers at least one sees the other.
    pub fn read(self, now: u64, order: &impl Order) -> Option<u64> {
        let before = self.reader.swap(now, SeqCst);
        if before != 0 && !order.is_past(before) {
            // A reader of another block stays a danger for ever; keep one of those. Else
            // one of another warp: a warp's own readers may all be past at once.
            let kept = self.other_reader.load(SeqCst);
            let is_less = order.is_past(kept) || (order.is_ours(kept) && !order.is_near(before));
            if kept == 0 || is_less {
                self.other_reader.store(before, SeqCst);
            }
        }
        let writer = self.writer.load(SeqCst);
        (!order.is_ordered(writer)).then_some(writer)
    }

    /// Notes a write; the writer that it races with, if it does.
    pub fn write(self, now: u64, order: &impl Order) -> Option<u64> {
        let writer = self.writer.swap(now, SeqCst);
        (!order.is_ordered(writer)).then_some(writer)
    }

    /// The reader that a write which was noted races with, if it does.
    pub fn racing_reader(self, order: &impl Order) -> Option<u64> {
        let readers = [self.reader, self.other_reader];
        readers.into_iter().map(|cell| cell.load(SeqCst)).find(|then| !order.is_ordered(*then))
    }
}
