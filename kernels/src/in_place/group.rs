//! Blocks that hold parts of one whole, and wait for each other between reading and writing.
//!
//! What does not fit the shared memory of one multiprocessor fits that of several. Each block of a
//! group loads its part; when all parts are loaded, every place of the whole may be overwritten,
//! and each block stores what it holds. No data passes between blocks, only a count.
//!
//! Blocks take their parts by a ticket and not by their index, so that a part with a lower ticket is
//! always held by a block that has started. The lowest unfinished group therefore gets all of its
//! blocks, as long as the GPU can hold one group: nobody waits forever.

use super::strong::{fence, fetch_add, load_acquire};
use cuda_std::thread;

/// The counters of one launch: a ticket, then the parts loaded of each whole. All start at 0.
#[derive(Clone, Copy)]
pub struct Group {
    /// The counters.
    pub counters: *mut u32,
    /// Parts of a whole.
    pub parts: u32,
    /// Whether anybody waits at all.
    pub waits: bool,
}

impl Group {
    /// The next part to take, the same for all threads of the block.
    ///
    /// # Safety
    /// All threads of the block call it, once; `mailbox` is a word of shared memory that nobody
    /// else uses before the next barrier after this.
    #[inline(always)]
    pub unsafe fn ticket(self, mailbox: u32) -> u64 {
        if !self.waits {
            return thread::block_idx_x() as u64;
        }
        use crate::element::Element;
        if thread::thread_idx_x() == 0 {
            // SAFETY: the first counter is the ticket; the mailbox is ours.
            unsafe { fetch_add(self.counters, 1).store_shared(mailbox) }
        }
        thread::sync_threads();
        // SAFETY: written before the barrier.
        let ticket = unsafe { u32::load_shared(mailbox) };
        thread::sync_threads();
        ticket as u64
    }

    /// Says that this block's part of `whole` is loaded, and waits until all of it and all of
    /// `neighbour` is.
    ///
    /// # Safety
    /// All threads of the block call it, once; the counters reach as far as both wholes.
    #[inline(always)]
    pub unsafe fn loaded(self, whole: u64, neighbour: Option<u64>) {
        if self.waits {
            fence();
        }
        thread::sync_threads();
        if self.waits {
            if thread::thread_idx_x() == 0 {
                // SAFETY: the counters of both wholes are inside the array.
                unsafe {
                    fetch_add(self.counters.add(1 + whole as usize), 1);
                    self.wait(whole);
                    if let Some(neighbour) = neighbour {
                        self.wait(neighbour);
                    }
                }
                fence();
            }
            thread::sync_threads();
        }
    }

    /// Waits until all parts of `whole` are loaded.
    ///
    /// # Safety
    /// The counters reach as far as `whole`.
    #[inline(always)]
    unsafe fn wait(self, whole: u64) {
        // SAFETY: the caller's obligation.
        while unsafe { load_acquire(self.counters.add(1 + whole as usize)) } < self.parts {}
    }
}
