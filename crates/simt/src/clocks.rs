//! What happens before what, between the warps of a block.
//!
//! Each warp counts the points at which it synchronised; its *clock* moves on
//! there. A barrier tells every warp that passes it the clocks of those that
//! came to it. An access of another warp *happens before* mine if I have been
//! told of a clock at least as late as the one it was made at. (These are vector
//! clocks with a component per warp.)
//!
//! Where a part of a warp synchronises, its other lanes have no share in that: each has the clock
//! of the latest point at which it took part, and what is later than that is not ordered for it.

use crate::registers::{LANES, lanes};

/// The clocks of a block's warps. They keep growing from block to block, so that
/// what an earlier block did is always long past.
#[derive(Debug)]
pub(crate) struct Clocks {
    /// Every warp's own clock.
    now: Vec<u32>,
    /// What each warp knows of each other's clock.
    known: Vec<Vec<u32>>,
    /// The clock at which each thread synchronised last.
    synchronised: Vec<u32>,
    /// What barriers have collected from those that came so far.
    collected: Vec<Vec<u32>>,
    /// The clock at which the block began.
    pub start: u32,
}

const BARRIERS: usize = 16;

/// Warps of a block, at most.
const MOST_WARPS: usize = 32;

/// What a warp knows of the clock of each of a block's.
pub(crate) type Known = [u32; MOST_WARPS];

impl Clocks {
    pub(crate) fn new(warps: usize) -> Clocks {
        Clocks {
            now: vec![0; warps],
            known: vec![vec![0; warps]; warps],
            synchronised: vec![0; warps * LANES],
            collected: vec![vec![0; warps]; BARRIERS],
            start: 0,
        }
    }

    /// Starts a new block; returns true if the clocks had to be set back, which
    /// makes all records of earlier accesses meaningless.
    pub(crate) fn begin_block(&mut self) -> bool {
        let latest = self.now.iter().copied().max().unwrap_or(0);
        let overflow = latest > u32::MAX / 2;
        self.start = if overflow { 1 } else { latest + 1 };
        self.now.fill(self.start);
        self.known.iter_mut().for_each(|known| known.fill(self.start - 1));
        self.synchronised.fill(self.start - 1);
        self.collected.iter_mut().for_each(|clocks| clocks.fill(self.start - 1));
        overflow
    }

    /// The clock of a warp.
    pub(crate) fn now(&self, warp: usize) -> u32 {
        self.now[warp]
    }

    /// What `warp` knows of the others now.
    pub(crate) fn known(&self, warp: usize) -> Known {
        let mut known = [0; MOST_WARPS];
        known[..self.known.len()].copy_from_slice(&self.known[warp]);
        known
    }

    /// Has `warp` know what `known` says, and `known` say what it knew.
    pub(crate) fn exchange_known(&mut self, warp: usize, known: &mut Known) {
        let warps = self.known.len();
        self.known[warp].swap_with_slice(&mut known[..warps]);
    }

    /// These lanes of `warp` synchronise among themselves.
    pub(crate) fn warp_synchronised(&mut self, warp: usize, mask: u32) {
        self.known[warp][warp] = self.now[warp];
        self.now[warp] += 1;
        self.take_part(warp, mask);
    }

    /// These lanes of `warp` come to barrier `id`.
    pub(crate) fn arrive(&mut self, warp: usize, mask: u32, id: usize) {
        self.warp_synchronised(warp, mask);
        join(&mut self.collected[id], &self.known[warp]);
    }

    /// These lanes of `warp` pass barrier `id`.
    pub(crate) fn pass(&mut self, warp: usize, mask: u32, id: usize) {
        join(&mut self.known[warp], &self.collected[id]);
        self.take_part(warp, mask);
    }

    fn take_part(&mut self, warp: usize, mask: u32) {
        let clock = self.known[warp][warp];
        lanes(mask).for_each(|lane| self.synchronised[warp * LANES + lane] = clock);
    }

    /// Barrier `id` is closed again.
    pub(crate) fn close(&mut self, id: usize) {
        self.collected[id].fill(self.start - 1);
    }

    /// Whether an access that thread `then` made at its warp's clock `clock`
    /// happens before what thread `now` does now.
    #[inline]
    pub(crate) fn happens_before(&self, then: u32, clock: u32, now: u32) -> bool {
        let (warp, mine) = ((then / 32) as usize, (now / 32) as usize);
        let took_part = |thread: u32| self.synchronised[thread as usize] >= clock;
        then == now
            // Of an earlier block, as most accesses that memory has seen are.
            || clock < self.start
            || self.known[mine][warp] >= clock
                && took_part(then)
                && (warp != mine || took_part(now))
    }
}

fn join(into: &mut [u32], from: &[u32]) {
    into.iter_mut().zip(from).for_each(|(into, from)| *into = (*into).max(*from));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_barrier_orders_those_that_pass_it() {
        let mut clocks = Clocks::new(3);
        clocks.begin_block();
        let made_at = clocks.now(0);
        assert!(!clocks.happens_before(0, made_at, 32));
        assert!(!clocks.happens_before(0, made_at, 1), "lanes of one warp are not ordered");
        assert!(clocks.happens_before(0, made_at, 0));
        for warp in [0, 1] {
            clocks.arrive(warp, u32::MAX, 5);
        }
        for warp in [0, 1] {
            clocks.pass(warp, u32::MAX, 5);
        }
        clocks.close(5);
        assert!(clocks.happens_before(0, made_at, 32));
        assert!(clocks.happens_before(0, made_at, 1));
        assert!(!clocks.happens_before(0, made_at, 64), "warp 2 did not pass");
        assert!(!clocks.happens_before(0, clocks.now(0), 32), "what comes after is not ordered");
    }

    #[test]
    fn a_barrier_forgets_who_passed_it_before() {
        let mut clocks = Clocks::new(2);
        clocks.begin_block();
        let made_at = clocks.now(0);
        for warp in [0, 1] {
            clocks.arrive(warp, u32::MAX, 3);
            if warp == 0 {
                clocks.pass(0, u32::MAX, 3);
                clocks.close(3);
            }
        }
        clocks.pass(1, u32::MAX, 3);
        assert!(!clocks.happens_before(0, made_at, 32));
    }

    #[test]
    fn earlier_blocks_are_past_and_order_is_transitive() {
        let mut clocks = Clocks::new(2);
        clocks.begin_block();
        let made_at = clocks.now(0);
        clocks.warp_synchronised(0, u32::MAX);
        assert!(clocks.happens_before(0, made_at, 1));
        assert!(!clocks.happens_before(0, made_at, 32));
        // Warp 0 tells a barrier and goes on; warp 1 passes.
        clocks.arrive(0, u32::MAX, 1);
        clocks.arrive(1, u32::MAX, 1);
        clocks.pass(1, u32::MAX, 1);
        assert!(clocks.happens_before(0, made_at, 32));
        let late = clocks.now(1);
        assert!(!clocks.begin_block());
        assert!(clocks.happens_before(32, late, 0));
    }
}
