//! The block that a worker executes, as data: what its warps share.

use crate::launch::Launch;
use crate::local::Local;
use crate::memory::Allocation;
use crate::report::Findings;
use crate::watch::Watch;
use crate::weak::Weak;

/// The instruction at hand and who executes it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct At {
    pub pc: u32,
    pub warp: u32,
    pub mask: u32,
}

/// One of a block's 16 barriers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BarrierState {
    /// Threads that arrived, and the same with partial warps counted as whole ones.
    pub arrived: u32,
    pub counted: u32,
    /// Threads to wait for, where the instruction says.
    pub expected: Option<u32>,
    pub votes: u32,
    pub voters: u32,
}

impl BarrierState {
    pub(crate) fn arrive(&mut self, expected: Option<u32>, arrived: u32, counted: u32) {
        self.arrived += arrived;
        self.counted += counted;
        self.expected = self.expected.or(expected);
    }

    /// Adds the votes of a reducing barrier.
    pub(crate) fn reduce(&mut self, ayes: u32, mask: u32) {
        self.votes += (ayes & mask).count_ones();
        self.voters += mask.count_ones();
    }

    pub(crate) fn is_complete(&self, live: u32) -> bool {
        self.arrived > 0
            && match self.expected {
                Some(expected) => self.counted >= expected,
                None => self.arrived >= live,
            }
    }
}

/// The block that a worker executes, and what it keeps from block to block.
pub(crate) struct Cta<'k> {
    pub launch: &'k Launch<'k>,
    /// Index of the block, as `%ctaid` and counted row by row.
    pub block: [u32; 3],
    pub linear: u64,
    pub shared: Local,
    pub barriers: [BarrierState; 16],
    pub live_threads: u32,
    /// The allocation that was touched last.
    pub allocation: &'k Allocation,
    pub findings: Findings,
    /// Present where anything is to be observed.
    pub watch: Option<Box<Watch>>,
    /// Present where memory is weak.
    pub weak: Option<Box<Weak>>,
}

impl<'k> Cta<'k> {
    pub(crate) fn new(launch: &'k Launch<'k>) -> Cta<'k> {
        Cta {
            launch,
            block: [0; 3],
            linear: 0,
            shared: Local::default(),
            barriers: Default::default(),
            live_threads: 0,
            allocation: launch.nothing,
            findings: Findings::new(launch.findings_limit),
            watch: None,
            weak: None,
        }
    }
}
