//! Blocks that hold parts of one whole, and wait for each other between reading and writing.
//!
//! What does not fit the shared memory of one multiprocessor fits that of several. Each block of a
//! group loads its part; when all parts are loaded, every place of the whole may be overwritten,
//! and each block stores what it holds. No data passes between blocks, only a count. A whole may also reach into
//! the places of the one before it, its *neighbour*: then it waits for the parts of that as well.
//!
//! # Nobody waits forever
//! Blocks take parts by tickets, in the order of the wholes, a ticket at a time until there are no more. A block
//! takes the next one when it has nothing left to wait for with the last. The launch is cooperative: all of its blocks run at
//! a time or none does. There are at least as many blocks as a whole has parts. Nothing else is relied on.
//!
//! Take the lowest whole of which a part is not loaded yet. All lower ones are loaded, so no block waits for those, and
//! a part of this one that is taken is loaded without waiting. If a part is not taken, then no part of a higher whole is,
//! so only blocks that have taken a part of this whole can be waiting: fewer than it has parts, fewer than there are blocks.
//! So some block does not wait. It stores what it has and takes the next ticket, which is a part of this whole. By and by all
//! are taken, and loaded. A neighbour is lower, and loaded before.
//!
//! Where there is a block to each part of all wholes, the block's number is its ticket, and there is no other: all parts are
//! taken, whoever waits. Where no block waits it is so by the launch.
//!
//! # Why the count is enough
//! In the terms of "Memory Consistency Model" in the PTX ISA. Elements are accessed by weak operations. Let L load an element
//! in one thread and S store to the same place in another, of the same whole or of the next. L precedes the atomic operation A by which
//! its block counts the part: by *program order* up to the block's barrier, which *synchronizes* with thread 0's, and by program
//! order from there. A is a *release pattern* on the counter (`.acq_rel`). Thread 0 of the other block read the count of all
//! parts from it by R, an *acquire pattern* (`ld.acquire`), and by the barrier and program order R precedes S. The counter is
//! zeroed before the launch and then changed by such atomics only, which are *morally strong* relative to each other: each
//! reads what the one before in *coherence order* wrote, so each precedes R in *observation order*, and A synchronizes with R. L, A, R, S
//! are therefore in *base causality order*, and in *causality order*, for L and S access one address by the generic proxy. There is no
//! *data-race*, and L does not read from S. Two stores never meet: a place is stored to once in a launch.
//!
//! L and S may be of different widths, where narrow words are moved by units and by vectors: a unit that one block loads and one that another
//! stores may overlap in part. What is said of them holds for each byte that they share. There is no data-race, so none of mixed sizes either, which
//! the model would say nothing about. And no access touches a byte outside its block's part of a whole.
//!
//! Tickets order nothing: only that each is taken once matters.

use super::strong::{fetch_add, load_acquire, take_number};
use crate::element::Element;
use cuda_std::thread;

/// The counters of one launch: tickets, then the parts loaded of each whole. All start at 0.
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
    /// Calls `work` with each whole, below `wholes`, and the part of it that this block takes.
    ///
    /// # Safety
    /// - All threads of the block call it, with nothing in shared memory, and `mailbox` is a word there.
    /// - `work` calls `loaded` once.
    /// - If blocks wait, the launch is cooperative and has `parts` blocks or more; else one block to each part.
    #[inline(always)]
    pub unsafe fn each_part(self, wholes: u32, mailbox: u32, work: impl Fn(u32, u32)) {
        let one_each = !self.waits || thread::grid_dim_x() == wholes * self.parts;
        let mut part = if one_each {
            thread::block_idx_x()
        } else {
            // SAFETY: all threads are here, and nothing is in shared memory.
            unsafe { self.next_part(mailbox) }
        };
        while part / self.parts < wholes {
            work(part / self.parts, part % self.parts);
            if one_each {
                return;
            }
            // What was in shared memory is no longer needed. The ticket is taken only now, when the block can begin to load:
            // taken while it stores, it would hide its latency, and the other blocks of the whole would wait as long as the stores
            // take (an H200: 2 to 8 % more time for a pass).
            thread::sync_threads();
            // SAFETY: all threads are here, and nothing is in shared memory.
            part = unsafe { self.next_part(mailbox) };
        }
    }

    /// Says that this block's part of `whole` is loaded, and waits until all of it is, and all of the whole before if it
    /// has that for a neighbour.
    ///
    /// # Safety
    /// All threads of the block call it; there is a counter for the whole.
    #[inline(always)]
    pub unsafe fn loaded(self, whole: u32, has_neighbour: bool) {
        thread::sync_threads();
        if !self.waits {
            return;
        }
        if thread::thread_idx_x() == 0 {
            // SAFETY: the counters of both wholes are inside the array.
            unsafe {
                fetch_add(self.counters.add(1 + whole as usize), 1);
                self.wait(whole);
                if has_neighbour && whole > 0 {
                    self.wait(whole - 1);
                }
            }
        }
        thread::sync_threads();
    }

    /// Waits until all parts of `whole` are loaded.
    ///
    /// # Safety
    /// There is a counter for the whole.
    #[inline(always)]
    unsafe fn wait(self, whole: u32) {
        // SAFETY: the caller's obligation.
        while unsafe { load_acquire(self.counters.add(1 + whole as usize)) } < self.parts {}
    }

    /// Takes a ticket and tells all threads of the block what is on it.
    ///
    /// # Safety
    /// The counters are those of the launch. All threads of the block call it; `mailbox` is a word of shared memory that nobody
    /// else uses from the last barrier before to the next one after this.
    #[inline(always)]
    unsafe fn next_part(self, mailbox: u32) -> u32 {
        if thread::thread_idx_x() == 0 {
            // SAFETY: the first counter is that of the tickets; the mailbox is ours.
            unsafe { take_number(self.counters).store_shared(mailbox) }
        }
        thread::sync_threads();
        // SAFETY: written before the barrier.
        let number = unsafe { u32::load_shared(mailbox) };
        thread::sync_threads();
        number
    }
}
